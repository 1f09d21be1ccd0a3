/* mgpu_reduce.h: merge and update over ranges of memory. No threads, no devices,
 * no I/O. Ranges are [from, to) in floats; sums are made in a fixed order. */
#ifndef MGPU_REDUCE_H
#define MGPU_REDUCE_H

#include <stddef.h>

/* Darknet's momentum SGD, for the floats of one tensor. */
typedef struct {
    float rate;     /* learning rate / images per update */
    float decay;    /* -decay * images per update; 0 where the tensor does not decay */
    float momentum; /* in 0..1 */
} mgpu_rule;

/* u += g[0] + g[1] + ..., in that order, and the g are set to 0. */
void mgpu_merge_range(float *u, float *const *g, int ng, size_t from, size_t to);

/* Merges likewise, then updates w: u += decay * w; w += rate * u; u *= momentum,
 * as Darknet's update_convolutional_layer does, in one pass. */
void mgpu_update_range(float *w, float *u, float *const *g, int ng, size_t from, size_t to,
                       mgpu_rule rule);

/* Part `i` of `n` of `length` floats: from and to, on borders of 16 floats (64
 * bytes), so that two workers never write to one cache line. */
void mgpu_part(size_t length, int i, int n, size_t *from, size_t *to);

#endif
