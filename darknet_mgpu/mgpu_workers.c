/* mgpu_workers.c: one thread per replica. They sleep between jobs. */
#include "mgpu_workers.h"
#include "mgpu_error.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    struct mgpu_workers *all;
    pthread_t thread;
    int number;
} worker;

struct mgpu_workers {
    worker *workers;
    int n; /* threads that run */

    /* The mutex protects all below. */
    pthread_mutex_t mutex;
    pthread_cond_t start; /* a new round, or the end */
    pthread_cond_t done;  /* `busy` reached 0 */
    unsigned long round;  /* counts the jobs given out */
    int busy;             /* workers that have not finished this round */
    int stop;
    mgpu_job job;
    void *arg;
};

static void *work(void *ptr)
{
    worker *self = ptr;
    mgpu_workers *w = self->all;
    unsigned long seen = 0;
    pthread_mutex_lock(&w->mutex);
    for(;;) {
        while(!w->stop && w->round == seen) pthread_cond_wait(&w->start, &w->mutex);
        if(w->stop) break;
        seen = w->round;
        mgpu_job job = w->job;
        void *arg = w->arg;
        pthread_mutex_unlock(&w->mutex);
        job(arg, self->number);
        pthread_mutex_lock(&w->mutex);
        if(--w->busy == 0) pthread_cond_signal(&w->done);
    }
    pthread_mutex_unlock(&w->mutex);
    return 0;
}

static int start_all(mgpu_workers *w, int n)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    int status = 0;
    while(w->n < n && !status) {
        worker *self = w->workers + w->n;
        self->all = w;
        self->number = w->n;
        status = pthread_create(&self->thread, 0, work, self);
        if(!status) ++w->n;
    }
    pthread_sigmask(SIG_SETMASK, &old, 0);
    if(!status) return 0;
    return mgpu_fail("thread %d of %d could not be started: %s; use fewer devices", w->n + 1, n,
                     strerror(status));
}

mgpu_workers *mgpu_workers_make(int n)
{
    mgpu_workers *w = calloc(1, sizeof *w);
    if(w) w->workers = calloc(n, sizeof *w->workers);
    if(!w || !w->workers) {
        mgpu_fail("no memory for %d workers", n);
        free(w);
        return 0;
    }
    pthread_mutex_init(&w->mutex, 0);
    pthread_cond_init(&w->start, 0);
    pthread_cond_init(&w->done, 0);
    if(start_all(w, n) < 0) {
        mgpu_workers_free(w);
        return 0;
    }
    return w;
}

void mgpu_workers_run(mgpu_workers *w, mgpu_job job, void *arg)
{
    pthread_mutex_lock(&w->mutex);
    w->job = job;
    w->arg = arg;
    w->busy = w->n;
    ++w->round;
    pthread_cond_broadcast(&w->start);
    while(w->busy) pthread_cond_wait(&w->done, &w->mutex);
    pthread_mutex_unlock(&w->mutex);
}

void mgpu_workers_free(mgpu_workers *w)
{
    if(!w) return;
    pthread_mutex_lock(&w->mutex);
    w->stop = 1;
    pthread_cond_broadcast(&w->start);
    pthread_mutex_unlock(&w->mutex);
    for(int i = 0; i < w->n; ++i) pthread_join(w->workers[i].thread, 0);
    pthread_cond_destroy(&w->done);
    pthread_cond_destroy(&w->start);
    pthread_mutex_destroy(&w->mutex);
    free(w->workers);
    free(w);
}
