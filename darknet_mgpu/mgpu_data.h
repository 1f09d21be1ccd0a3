/* mgpu_data.h: seeded batches of images, loaded ahead of the step. Row r of batch b
 * is a function of (seed, b, r): it does not depend on threads or devices. */
#ifndef MGPU_DATA_H
#define MGPU_DATA_H

#include "darknet.h"

/* Labelled images and how to vary them, in the meaning of Darknet's load_args. */
typedef struct {
    char **paths;
    int npaths;
    char **labels; /* a path that contains labels[k] is of class k */
    int classes;
    int w, h;     /* of a row */
    int min, max; /* the shorter side is resized to a size between them */
    int center;   /* 1: the middle is cut out, unvaried */
    int flip;     /* 1: mirror half of the images */
    float angle, aspect, hue, saturation, exposure;
    unsigned long long seed;
} mgpu_images;

typedef struct mgpu_loader mgpu_loader;

/* Starts `threads` threads that load batches of `rows` rows (3 * w * h floats, and
 * `classes` truths) from number `first` on. Copies *images, whose paths and labels
 * must outlive the loader. Returns NULL with mgpu_error(). An image that can not be
 * read ends the program, as in stock. */
mgpu_loader *mgpu_loader_make(const mgpu_images *images, int rows, size_t first, int threads);

/* Blocks until the next batch is there. It is the loader's; it holds until the next
 * call. */
data mgpu_loader_next(mgpu_loader *l);

/* Stops and joins the threads. NULL is fine. */
void mgpu_loader_free(mgpu_loader *l);

/* The class of a path: the first k for which it contains labels[k], else -1. */
int mgpu_class_of(const char *path, char **labels, int classes);

#endif
