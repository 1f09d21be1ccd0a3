/* mgpu_random_cuda.h: the streams of mgpu_random.h, drawn on a CUDA device. */
#ifndef MGPU_RANDOM_CUDA_H
#define MGPU_RANDOM_CUDA_H

#include "mgpu_random.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fills x, rows times n floats in the calling thread's device, row by row with what
 * mgpu_random_uniform gives for the stream (seed, step, purpose, row). Row i is row
 * first + i % width + i / width * stride of its stream's names. Returns before it is done. */
void mgpu_uniform_gpu(float *x, int rows, int n, uint64_t seed, uint64_t step, unsigned purpose,
                      int first, int width, int stride);

#ifdef __cplusplus
}
#endif
#endif
