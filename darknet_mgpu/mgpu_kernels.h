/* mgpu_kernels.h: what this module runs on a CUDA device. Arrays are in device memory, on the
 * calling thread's device; work is queued, and errors end as Darknet's do (check_error).
 * Sums are made in a fixed order. */
#ifndef MGPU_KERNELS_H
#define MGPU_KERNELS_H

#ifdef __cplusplus
extern "C" {
#endif

#include "darknet.h"

/* Values of `channels` channels in rows: value i of channel c in row r is
 * x[(r * channels + c) * size + i]. */
typedef struct {
    int rows, channels, size;
} mgpu_shape;

/* Each channel's mean and unbiased variance (n - 1); `copy` gets x. One pass over x. */
void mgpu_statistics_gpu(mgpu_shape s, const float *x, float *copy, float *mean,
                         float *variance);

/* running = .99 running + .01 batch, n floats each of mean and variance. */
void mgpu_move_statistics_gpu(int n, const float *mean, const float *variance,
                              float *running_mean, float *running_variance);

/* y = (x - mean) / (sqrt(variance) + 1e-6) * scale + bias. x may be y. */
void mgpu_normalize_gpu(mgpu_shape s, const float *x, const float *mean, const float *variance,
                        const float *scales, const float *biases, float *y);

/* Batch normalisation's sums over `delta`, which belongs to y: added to scale_updates and
 * bias_updates; mean_delta and variance_delta are those of mean and variance. One pass. */
void mgpu_batchnorm_sums_gpu(mgpu_shape s, const float *x, const float *delta,
                             const float *mean, const float *variance, const float *scales,
                             float *scale_updates, float *bias_updates, float *mean_delta,
                             float *variance_delta);

/* delta, of y, becomes that of x. */
void mgpu_batchnorm_delta_gpu(mgpu_shape s, const float *x, const float *mean,
                              const float *variance, const float *scales,
                              const float *mean_delta, const float *variance_delta,
                              float *delta);

/* In place of upsample_gpu: adds scale * small to each of the stride x stride places of
 * `large` (forward), or their sum, scaled, to `small`, which is batch x c x h x w. */
void mgpu_upsample_gpu(float *small, int w, int h, int c, int batch, int stride, int forward,
                       float scale, float *large);

/* In place of logistic_x_ent_gpu: cost and delta of n outputs, each a chance for a truth of 0
 * or
 * 1. A chance of just 0 or 1 is taken for one that is 1e-7 off. */
void mgpu_logistic_gpu(int n, const float *output, const float *truth, float *delta,
                       float *cost);

/* In place of forward_crop_layer_gpu: draws (cuda_random), then mgpu_crop_gpu. */
void mgpu_forward_crop_gpu(layer l, network net);

/* Crops net.input_gpu. Predicting, the middle; in training, by 8 numbers of 0..1 for each row,
 * l.rand_gpu:
 *   r[0], r[1]  saturation: how much, and whether divided (> .5)
 *   r[2], r[3]  exposure: likewise
 *   r[4], r[5]  columns at the left and rows at the top that are left out, as parts of all that
 *               could be
 *   r[6]        mirrored (> .5)
 *   r[7]        angle, from -angle to angle
 * and r[0..2] of the first row shift red, green and blue of all rows. Without saturation,
 * exposure, shift and angle it is forward_crop_layer. */
void mgpu_crop_gpu(layer l, network net);

#ifdef __cplusplus
}
#endif

#endif
