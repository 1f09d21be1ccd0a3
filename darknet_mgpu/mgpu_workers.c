/* mgpu_workers.c: one thread per replica. They sleep between jobs. */
#include "mgpu_workers.h"
#include "mgpu_error.h"

#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    struct mgpu_workers *all;
    pthread_t thread;
    int number;
    jmp_buf leave;           /* out of the job */
    int failed;              /* 1: it left its last job */
    char reason[1024];       /* why; "" if another worker failed first */
    int counts[MGPU_COUNTS]; /* in the running job; under the mutex */
} worker;

static _Thread_local worker *self; /* NULL in a thread that is no worker */

struct mgpu_workers {
    worker *workers;
    int n; /* threads that run */

    /* The mutex protects all below. */
    pthread_mutex_t mutex;
    pthread_cond_t start; /* a new round, or the end */
    pthread_cond_t done;  /* `busy` reached 0 */
    pthread_cond_t moved; /* a worker has counted, or ended its job */
    unsigned long round;  /* counts the jobs given out */
    int busy;             /* workers that have not finished this round */
    int stop;
    mgpu_job job;
    void *arg;

    atomic_int broken; /* a worker failed in this round */
};

static _Noreturn void leave(void)
{
    mgpu_workers *w = self->all;
    self->failed = 1;
    atomic_store(&w->broken, 1);
    longjmp(self->leave, 1);
}

void mgpu_job_fail(const char *format, ...)
{
    char reason[sizeof self->reason];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    if(!self) {
        fflush(stdout);
        fprintf(stderr, "mgpu: %s\n", reason);
        exit(1);
    }
    memcpy(self->reason, reason, sizeof reason);
    leave();
}

void mgpu_job_stop(void)
{
    leave();
}

int mgpu_job_broken(void)
{
    return self && atomic_load(&self->all->broken);
}

void mgpu_job_reach(mgpu_count count, int n)
{
    mgpu_workers *w = self->all;
    pthread_mutex_lock(&w->mutex);
    self->counts[count] = n;
    pthread_cond_broadcast(&w->moved);
    pthread_mutex_unlock(&w->mutex);
}

static int reached(const mgpu_workers *w, mgpu_count count, int n, const int *workers, int k)
{
    for(int i = 0; i < k; ++i) {
        if(w->workers[workers ? workers[i] : i].counts[count] < n) return 0;
    }
    return 1;
}

void mgpu_job_await(mgpu_count count, int n, const int *workers, int k)
{
    mgpu_workers *w = self->all;
    if(!workers) k = w->n;
    pthread_mutex_lock(&w->mutex);
    while(!atomic_load(&w->broken) && !reached(w, count, n, workers, k)) {
        pthread_cond_wait(&w->moved, &w->mutex);
    }
    pthread_mutex_unlock(&w->mutex);
    if(atomic_load(&w->broken)) mgpu_job_stop();
}

static void set_counts(worker *who, int n)
{
    for(int i = 0; i < MGPU_COUNTS; ++i) who->counts[i] = n;
}

static void run_job(mgpu_job job, void *arg)
{
    self->failed = 0;
    self->reason[0] = 0;
    if(!setjmp(self->leave)) job(arg, self->number);
}

static void *work(void *ptr)
{
    self = ptr;
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
        run_job(job, arg);
        pthread_mutex_lock(&w->mutex);
        set_counts(self, INT_MAX);
        pthread_cond_broadcast(&w->moved);
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
        worker *next = w->workers + w->n;
        next->all = w;
        next->number = w->n;
        status = pthread_create(&next->thread, 0, work, next);
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
    pthread_cond_init(&w->moved, 0);
    if(start_all(w, n) < 0) {
        mgpu_workers_free(w);
        return 0;
    }
    return w;
}

/* The reason of the first worker that has one of its own. */
static int first_failure(const mgpu_workers *w)
{
    for(int i = 0; i < w->n; ++i) {
        if(w->workers[i].failed && w->workers[i].reason[0]) {
            return mgpu_fail("%s", w->workers[i].reason);
        }
    }
    return 0;
}

int mgpu_workers_run(mgpu_workers *w, mgpu_job job, void *arg)
{
    pthread_mutex_lock(&w->mutex);
    atomic_store(&w->broken, 0);
    for(int i = 0; i < w->n; ++i) set_counts(w->workers + i, 0);
    w->job = job;
    w->arg = arg;
    w->busy = w->n;
    ++w->round;
    pthread_cond_broadcast(&w->start);
    while(w->busy) pthread_cond_wait(&w->done, &w->mutex);
    pthread_mutex_unlock(&w->mutex);
    return first_failure(w);
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
    pthread_cond_destroy(&w->moved);
    pthread_cond_destroy(&w->start);
    pthread_mutex_destroy(&w->mutex);
    free(w->workers);
    free(w);
}
