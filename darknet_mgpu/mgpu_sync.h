/* mgpu_sync.h: batch normalisation over a mini-batch whose rows are cut over replicas
 * (-sync_bn). The replicas' threads meet at each layer that normalises and combine what they
 * have, each by itself and all in the same order, so that all get the same bytes. */
#ifndef MGPU_SYNC_H
#define MGPU_SYNC_H

#include <stddef.h>

typedef struct mgpu_sync mgpu_sync;

/* For up to n parts at a time. NULL with mgpu_error(). Freed by mgpu_sync_free. */
mgpu_sync *mgpu_sync_make(int n);
void mgpu_sync_free(mgpu_sync *s);

/* In the next job `parts` workers meet; `worker` is the one that calls as `part`. Called for
 * each part before the job. */
void mgpu_sync_part(mgpu_sync *s, int part, int parts, int worker);

/* Both are called within a job (mgpu_workers.h) and block until every part has called, with the
 * same length. `values` is how many numbers
 * of a channel this part has; mean, variance and the sums are `length` floats, replaced. */

/* Mean and unbiased variance of a part's numbers become those of all parts' (mgpu_pool); of
 * a part with one number the variance is not read. */
void mgpu_sync_moments(mgpu_sync *s, int part, int values, float *mean, float *variance,
                       size_t length);

/* Sums over a part's numbers, which the caller will divide by `values`, become what, divided
 * so, is the sum over all parts' numbers divided by their count. */
void mgpu_sync_sums(mgpu_sync *s, int part, int values, float *a, float *b, size_t length);

#endif
