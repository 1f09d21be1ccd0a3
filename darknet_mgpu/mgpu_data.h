/* mgpu_data.h: seeded batches of rows, loaded ahead of the step by Darknet's own loading
 * functions. Row r of batch b is a function of (seed, b, r): it does not depend on threads
 * or devices. */
#ifndef MGPU_DATA_H
#define MGPU_DATA_H

#include "darknet.h"

/* Multi-scale training: every so many batches another side, drawn from `count` multiples
 * of 32 from least * 32 on. In the last 200 batches before `end`, if `last` is not 0, it
 * is `last`. every = 0: the side stays. */
typedef struct {
    int every, least, count, last;
    size_t end;
} mgpu_scales;

/* What to load. `args` as for Darknet's load_data; its n, m, d and threads are not read. */
typedef struct {
    load_args args;
    char **paths;
    int npaths;
    float min_ratio, max_ratio; /* args.min and max, in parts of the side; 0: as in args */
    int flip;                   /* 1: mirror half of the images, as Darknet does */
    unsigned long long seed;
    mgpu_scales scales;
} mgpu_source;

typedef struct mgpu_loader mgpu_loader;

/* Starts `threads` threads that load batches of `rows` rows from number `first` on. Copies
 * *source; what it points to must outlive the loader. Returns NULL with mgpu_error(). A
 * file that can not be read ends the program, as in stock. */
mgpu_loader *mgpu_loader_make(const mgpu_source *source, int rows, size_t first, int threads);

/* Blocks until the next batch is there. It is the loader's; it holds until the next
 * call. */
data mgpu_loader_next(mgpu_loader *l);

/* Stops and joins the threads. NULL is fine. */
void mgpu_loader_free(mgpu_loader *l);

/* Sets the sides (and args.size, min and max) of batch number `batch` in *args. */
void mgpu_source_sides(const mgpu_source *source, size_t batch, load_args *args);

/* From now on the threads in which Darknet's own commands load their rows draw from streams
 * of `seed`, named by the order in which the threads are started, so that rows do not
 * depend on their timing; without `flip` they mirror none. */
void mgpu_seed_loading(unsigned long long seed, int flip);

#endif
