/* mgpu_reduce_cuda.h: merge and update in a CUDA device's memory, as mgpu_reduce.h does on the
 * host. All work on the calling thread's device, in order with what Darknet's layers do there,
 * and return before it is done. Launch errors are left for cudaGetLastError. */
#ifndef MGPU_REDUCE_CUDA_H
#define MGPU_REDUCE_CUDA_H

#include "mgpu_reduce.h"

#ifdef __cplusplus
extern "C" {
#endif

/* u += g, n floats. */
void mgpu_merge_gpu(float *u, const float *g, size_t n);

/* Update of n floats of w by u (and Adam's moments m and v) by the rule; rule.adam decides.
 * The formulas are those of mgpu_update_range and mgpu_adam_range. */
void mgpu_update_gpu(float *w, float *u, float *m, float *v, size_t n, mgpu_rule rule);

#ifdef __cplusplus
}
#endif
#endif
