/* mgpu_images.h: a layer's images on the host, in either of two orders, and what is done to all
 * of them in one pass over memory: batch normalisation with activation, and pooling.
 *
 * Each function gives Darknet's result, with Darknet's formulas and epsilons; Darknet's loops
 * are the reference that tests compare these with. */
#ifndef MGPU_IMAGES_H
#define MGPU_IMAGES_H

#include "darknet.h"

/* rows * channels * spatial floats: rows of planes [channels][spatial], or, with block > 1, of
 * [channels / block][spatial][block]. */
typedef struct {
    int rows, channels, spatial, block; /* block: 1, 8 or 16, a divisor of channels */
} mgpu_images;

/* One activation that can be done on the way; others are Darknet's activate_array. */
int mgpu_images_can(ACTIVATION a);

/* mean[c] of x, and variance[c], the sum of (x - mean)^2 divided by its count less 1. */
void mgpu_images_moments(mgpu_images im, const float *x, float *mean, float *variance);

/* What becomes of x before its activation: (x - mean[c]) * scale[c] + shift[c]; a NULL mean is
 * 0, a NULL scale 1. */
typedef struct {
    const float *mean, *scale, *shift;
} mgpu_affine;

/* y = a(f(x)). x may be y. */
void mgpu_images_activate(mgpu_images im, const float *x, mgpu_affine f, ACTIVATION a,
                          float *y);

/* delta *= a'(f(x)); sum[c] = the sum of that, and dot[c] that of it times (x - f.mean[c]). */
void mgpu_images_sums(mgpu_images im, const float *x, mgpu_affine f, ACTIVATION a, float *delta,
                      float *sum, float *dot);

/* delta = scale[c] * delta + f(x). */
void mgpu_images_combine(mgpu_images im, const float *x, mgpu_affine f, const float *scale,
                         float *delta);

#endif
