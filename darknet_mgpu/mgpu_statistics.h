/* mgpu_statistics.h: batch statistics logged by replicas, pooled and replayed by
 * the root. A log has the layout of the arena R: at a rolling_mean's offset the
 * batch mean, at a rolling_variance's offset the batch variance. */
#ifndef MGPU_STATISTICS_H
#define MGPU_STATISTICS_H

#include "mgpu_tensors.h"

/* Mean and unbiased variance of n values, from those of k groups of them:
 * n = n_1 + ... + n_k, mean = sum(n_i mean_i) / n,
 * variance = (sum((n_i - 1) variance_i) + sum(n_i (mean_i - mean)^2)) / (n - 1)
 * (Chan, Golub, LeVeque 1979, formula for combining). Reads mean and variance of
 * group i from means[i] and variances[i]. One group is passed on unchanged. */
void mgpu_pool(int k, const int *n, const float *means, const float *variances, float *mean,
               float *variance);

/* Moves the running statistics of `net` by one mini-batch that was run in k slices
 * of sequences[i] sequences (rows, where there are no time steps), as stock does:
 * r = .99 r + .01 batch. logs[i] holds net->time_steps logs, one after the other; layers
 * that are not recurrent log once, over all time steps. */
void mgpu_replay(network *net, const mgpu_layout *layout, int k, const int *sequences,
                 float *const *logs);

/* 1 if some layer of `net` normalises over the batch. */
int mgpu_has_batch_normalisation(const network *net);

/* Fewest sequences in a slice for which every batch-normalised layer of `net` sees more
 * than one value per channel: 1 or 2. */
int mgpu_min_rows(const network *net);

#endif
