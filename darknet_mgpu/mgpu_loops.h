/* mgpu_loops.h: Darknet's loops that a step spends its time in, written for vectors.
 *
 * Each function does what Darknet's of that name does, and returns 1; or 0, with nothing
 * done, where Darknet's own loop is to run: for a case that it does not know, or while
 * mgpu_tuned is 0. Darknet's loops are the reference that tests compare these with. */
#ifndef MGPU_LOOPS_H
#define MGPU_LOOPS_H

#include "darknet.h"

/* 1: these loops are used. Builds whose results are compared with stock's to the bit, or
 * that look for faults in Darknet's own loops, start with 0. */
extern int mgpu_tuned;

/* An image of channels * height * width to columns: row (c, i, j) of the result, for
 * channel c and place i, j in the kernel, has what the kernel sees there from each of its
 * positions; 0 outside the image. */
int mgpu_im2col(const float *image, int channels, int height, int width, int size, int stride,
                int pad, float *columns);

/* The reverse: adds each number of the columns onto where it came from. */
int mgpu_col2im(const float *columns, int channels, int height, int width, int size, int stride,
                int pad, float *image);

/* x = a(x), and delta = delta * a'(x) where x is a's output; n floats each. */
int mgpu_activate(float *x, int n, ACTIVATION a);
int mgpu_gradient(const float *x, int n, ACTIVATION a, float *delta);

/* Batch normalisation's sums over a channel's batch * spatial numbers; x and delta are
 * batch * filters * spatial floats, the others filters:
 * mean[f] is the mean of x; variance[f] the sum of (x - mean)^2, divided by its count less 1;
 * mean_delta[f] = -sum(delta) / sqrt(variance + .00001);
 * variance_delta[f] = -sum(delta * (x - mean)) / 2 * (variance + .00001)^(-3/2). */
int mgpu_mean(const float *x, int batch, int filters, int spatial, float *mean);
int mgpu_variance(const float *x, const float *mean, int batch, int filters, int spatial,
                  float *variance);
int mgpu_mean_delta(const float *delta, const float *variance, int batch, int filters,
                    int spatial, float *mean_delta);
int mgpu_variance_delta(const float *x, const float *delta, const float *mean,
                        const float *variance, int batch, int filters, int spatial,
                        float *variance_delta);

#endif
