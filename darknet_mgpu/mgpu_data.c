/* mgpu_data.c: seeded batches of images, loaded ahead of the step. */
#include "mgpu_data.h"
#include "mgpu_error.h"
#include "mgpu_random.h"
#include "image.h" /* random_augment_image */

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 3 /* batches in memory: one in use, two ahead */

typedef struct {
    data d;
    int left; /* rows still to load */
} batch;

struct mgpu_loader {
    mgpu_images images;
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
};

int mgpu_class_of(const char *path, char **labels, int classes)
{
    for(int k = 0; k < classes; ++k) {
        if(strstr(path, labels[k])) return k;
    }
    return -1;
}

static void load_row(const mgpu_images *o, float *x, float *y)
{
    char *path = o->paths[mgpu_rand() % o->npaths];
    image im = load_image_color(path, 0, 0);
    image crop =
        o->center ? center_crop_image(im, o->w, o->h)
                  : random_augment_image(im, o->angle, o->aspect, o->min, o->max, o->w, o->h);
    if(o->flip && mgpu_rand() % 2) flip_image(crop);
    random_distort_image(crop, o->hue, o->saturation, o->exposure);
    memcpy(x, crop.data, sizeof(float) * o->w * o->h * 3);
    free_image(crop);
    free_image(im);
    int n = 0;
    for(int k = 0; k < o->classes; ++k) n += y[k] = strstr(path, o->labels[k]) != 0;
    if(n != 1) fprintf(stderr, "mgpu: %s contains %d of the labels, not one\n", path, n);
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
        mgpu_random_begin(l->images.seed, l->first + number, MGPU_DRAW_ROW, row);
        load_row(&l->images, b->d.X.vals[row], b->d.y.vals[row]);
        mgpu_random_end();
        pthread_mutex_lock(&l->mutex);
        if(--b->left == 0) pthread_cond_signal(&l->ready);
    }
    pthread_mutex_unlock(&l->mutex);
    return 0;
}

mgpu_loader *mgpu_loader_make(const mgpu_images *images, int rows, size_t first, int threads)
{
    mgpu_loader *l = calloc(1, sizeof *l);
    if(l) l->threads = calloc(threads, sizeof *l->threads);
    if(!l || !l->threads) {
        free(l);
        mgpu_fail("no memory to load images");
        return 0;
    }
    l->images = *images;
    l->rows = rows;
    l->first = first;
    pthread_mutex_init(&l->mutex, 0);
    pthread_cond_init(&l->room, 0);
    pthread_cond_init(&l->ready, 0);
    for(int i = 0; i < DEPTH; ++i) {
        l->ring[i].left = rows;
        l->ring[i].d.X = make_matrix(rows, images->w * images->h * 3);
        l->ring[i].d.y = make_matrix(rows, images->classes);
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
    free(l->threads);
    free(l);
}
