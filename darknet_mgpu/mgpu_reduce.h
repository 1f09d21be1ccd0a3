/* mgpu_reduce.h: merge and update over ranges of memory. No threads, no devices,
 * no I/O. Ranges are [from, to) in floats; sums are made in a fixed order. */
#ifndef MGPU_REDUCE_H
#define MGPU_REDUCE_H

#include <stddef.h>

/* Darknet's momentum SGD or Adam, for the floats of one tensor. */
typedef struct {
    float rate;     /* SGD: learning rate / images per update; Adam: learning rate */
    float decay;    /* -decay * images per update; 0 where the tensor does not decay */
    float momentum; /* in 0..1 */
    float clip;     /* weights stay within -clip..clip; 0: anywhere */
    int adam;       /* 1: by mgpu_adam_range, and then: */
    float b1, b2;   /* of the moments */
    float eps;
    float unbias1, unbias2; /* 1 - b1^t and 1 - b2^t at update number t */
} mgpu_rule;

/* u += g[0] + g[1] + ..., in that order, and the g are set to 0. */
void mgpu_merge_range(float *u, float *const *g, int ng, size_t from, size_t to);

/* Merges likewise, then updates w: u += decay * w; w += rate * u; u *= momentum,
 * as Darknet's update_convolutional_layer does, in one pass. */
void mgpu_update_range(float *w, float *u, float *const *g, int ng, size_t from, size_t to,
                       mgpu_rule rule);

/* Merges likewise, then updates w and its moments m and v as Darknet's GPU code does
 * (adam_update_gpu), with the summed, not the average, gradient:
 * u += decay * w; m = b1 m + (1 - b1) u; v = b2 v + (1 - b2) u^2;
 * w += rate * (m / unbias1) / (sqrt(v / unbias2) + eps); u = 0
 * (Kingma, Ba: Adam, 2014, algorithm 1, uphill). */
void mgpu_adam_range(float *w, float *u, float *m, float *v, float *const *g, int ng,
                     size_t from, size_t to, mgpu_rule rule);

/* Part `i` of `n` of `length` floats: from and to, on borders of 16 floats (64
 * bytes), so that two workers never write to one cache line. */
void mgpu_part(size_t length, int i, int n, size_t *from, size_t *to);

#endif
