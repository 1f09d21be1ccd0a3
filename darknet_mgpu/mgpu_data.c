/* mgpu_data.c: seeded batches of rows, loaded ahead of the step. */
#include "mgpu_data.h"
#include "mgpu_error.h"
#include "mgpu_random.h"
#include "data.h" /* load_data_blocking */
#include "mgpu_hooks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define DEPTH 3 /* batches in memory: one in use, two ahead */

typedef struct {
    data d;
    int left; /* rows still to load */
} batch;

struct mgpu_loader {
    mgpu_source source;
    int rows;
    size_t first;
    pthread_t *threads;
    int nthreads;
    batch ring[DEPTH]; /* batch k from `first` stands at k % DEPTH */

    /* The mutex protects all below, and batch.left. */
    pthread_mutex_t mutex;
    pthread_cond_t room;  /* a batch was used up, or the end */
    pthread_cond_t ready; /* a batch is complete */
    size_t next;          /* the next row to load, counted from batch `first` */
    size_t used;          /* batches given back by the user */
    size_t given;         /* batches given to the user */
    int stop;
    char *broken; /* by image: 1 if it was named as broken */
    int nbroken;
};

#define TRIES 1000 /* images that may be broken one after the other */

static _Thread_local int no_flip;
static _Thread_local struct {
    int tolerant;       /* 1: this thread can do without an image that is broken */
    const char *reason; /* why the one being loaded is; NULL: it is not */
} broken;

int mgpu_image_failed(const char *reason)
{
    if(broken.tolerant) broken.reason = reason ? reason : "no reason is known";
    return broken.tolerant;
}

/* Of the threads that Darknet's own commands load in. */
static struct {
    int seeded, flip;
    unsigned long long seed;
    atomic_size_t started;
} own;

void mgpu_seed_loading(unsigned long long seed, int flip)
{
    own.seeded = 1;
    own.seed = seed;
    own.flip = flip;
}

size_t mgpu_number_loading(void)
{
    return own.seeded ? atomic_fetch_add(&own.started, 1) + 1 : 0;
}

void mgpu_loading(size_t number)
{
    if(!number) return;
    no_flip = !own.flip;
    mgpu_random_begin(own.seed, number, MGPU_DRAW_LOAD, 0);
}

int mgpu_flip(void)
{
    int drawn = mgpu_rand() % 2;
    return drawn && !no_flip;
}

void mgpu_source_sides(const mgpu_source *s, size_t batch, load_args *args)
{
    const mgpu_scales *scales = &s->scales;
    if(scales->every) {
        size_t first = batch - batch % scales->every;
        mgpu_random_begin(s->seed, first, MGPU_DRAW_SCALE, 0);
        args->w = args->h = args->size = (mgpu_rand() % scales->count + scales->least) * 32;
        mgpu_random_end();
        if(scales->last && first + 200 > scales->end) {
            args->w = args->h = args->size = scales->last;
        }
    }
    if(s->max_ratio > 0) {
        args->min = s->min_ratio * args->w;
        args->max = s->max_ratio * args->w;
    }
}

/* Names a broken image, once. */
static void note_broken(mgpu_loader *l, int image)
{
    pthread_mutex_lock(&l->mutex);
    if(!l->broken[image]) {
        l->broken[image] = 1;
        fprintf(stderr, "mgpu: image %s can not be read and is skipped: %s (%d so far)\n",
                l->source.paths[image], broken.reason, ++l->nbroken);
    }
    pthread_mutex_unlock(&l->mutex);
}

/* Row `row` of batch `number`, as Darknet loads one image; in place of a broken one the next
 * that the row draws. */
static void load_row(mgpu_loader *l, size_t number, int row, data *d)
{
    const mgpu_source *s = &l->source;
    load_args args = s->args;
    mgpu_source_sides(s, number, &args);
    no_flip = !s->flip;
    mgpu_random_begin(s->seed, number, MGPU_DRAW_ROW, row);
    args.n = args.m = 1;
    args.d = d;
    broken.tolerant = 1;
    for(int i = 0;; ++i) {
        int image = mgpu_rand() % s->npaths;
        args.paths = s->paths + image;
        broken.reason = 0;
        load_data_blocking(args);
        if(!broken.reason) break;
        note_broken(l, image);
        free_data(*d);
        if(i + 1 < TRIES) continue;
        fprintf(stderr, "mgpu: %d images drawn one after the other can not be read\n", TRIES);
        exit(1);
    }
    broken.tolerant = 0;
    mgpu_random_end();
}

static void take_row(data *batch, int row, data *one)
{
    free(batch->X.vals[row]);
    free(batch->y.vals[row]);
    batch->X.vals[row] = one->X.vals[0];
    batch->y.vals[row] = one->y.vals[0];
    free(one->X.vals);
    free(one->y.vals);
}

static void *load(void *ptr)
{
    mgpu_loader *l = ptr;
    pthread_mutex_lock(&l->mutex);
    for(;;) {
        while(!l->stop && l->next / l->rows >= l->used + DEPTH) {
            pthread_cond_wait(&l->room, &l->mutex);
        }
        if(l->stop) break;
        size_t number = l->next / l->rows;
        int row = l->next++ % l->rows;
        batch *b = l->ring + number % DEPTH;
        pthread_mutex_unlock(&l->mutex);
        data one = {0};
        load_row(l, l->first + number, row, &one);
        take_row(&b->d, row, &one);
        pthread_mutex_lock(&l->mutex);
        b->d.X.cols = one.X.cols;
        b->d.y.cols = one.y.cols;
        if(--b->left == 0) pthread_cond_signal(&l->ready);
    }
    pthread_mutex_unlock(&l->mutex);
    return 0;
}

mgpu_loader *mgpu_loader_make(const mgpu_source *source, int rows, size_t first, int threads)
{
    mgpu_loader *l = calloc(1, sizeof *l);
    if(l) l->threads = calloc(threads, sizeof *l->threads);
    if(l) l->broken = calloc(source->npaths, 1);
    if(!l || !l->threads || !l->broken) {
        if(l) free(l->threads);
        if(l) free(l->broken);
        free(l);
        mgpu_fail("no memory to load images");
        return 0;
    }
    l->source = *source;
    l->rows = rows;
    l->first = first;
    pthread_mutex_init(&l->mutex, 0);
    pthread_cond_init(&l->room, 0);
    pthread_cond_init(&l->ready, 0);
    for(int i = 0; i < DEPTH; ++i) {
        l->ring[i].left = rows;
        l->ring[i].d.X = (matrix){.rows = rows, .vals = calloc(rows, sizeof(float *))};
        l->ring[i].d.y = (matrix){.rows = rows, .vals = calloc(rows, sizeof(float *))};
    }
    for(; l->nthreads < threads; ++l->nthreads) {
        if(pthread_create(l->threads + l->nthreads, 0, load, l)) {
            mgpu_loader_free(l);
            mgpu_fail("no thread could be started to load images");
            return 0;
        }
    }
    return l;
}

data mgpu_loader_next(mgpu_loader *l)
{
    pthread_mutex_lock(&l->mutex);
    if(l->given > l->used) {
        l->ring[l->used % DEPTH].left = l->rows;
        ++l->used;
        pthread_cond_broadcast(&l->room);
    }
    batch *b = l->ring + l->given % DEPTH;
    while(b->left) pthread_cond_wait(&l->ready, &l->mutex);
    ++l->given;
    pthread_mutex_unlock(&l->mutex);
    return b->d;
}

void mgpu_loader_free(mgpu_loader *l)
{
    if(!l) return;
    pthread_mutex_lock(&l->mutex);
    l->stop = 1;
    pthread_cond_broadcast(&l->room);
    pthread_mutex_unlock(&l->mutex);
    for(int i = 0; i < l->nthreads; ++i) pthread_join(l->threads[i], 0);
    for(int i = 0; i < DEPTH; ++i) free_data(l->ring[i].d);
    pthread_cond_destroy(&l->ready);
    pthread_cond_destroy(&l->room);
    pthread_mutex_destroy(&l->mutex);
    free(l->broken);
    free(l->threads);
    free(l);
}
