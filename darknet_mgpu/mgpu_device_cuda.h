/* mgpu_device_cuda.h: CUDA's libraries as this module and patched Darknet use them. Empty in
 * builds without CUDA. What Darknet itself calls is in mgpu_hooks.h. */
#ifndef MGPU_DEVICE_CUDA_H
#define MGPU_DEVICE_CUDA_H

#ifdef GPU
#include "darknet.h"

/* How products and convolutions are computed, on every device. Set before the first network
 * is made. */
typedef struct {
    int deterministic; /* 1: only algorithms whose sums have a fixed order */
    int tf32;          /* 1: tensor cores may round their inputs to 10 bits of mantissa */
} mgpu_cuda_modes_t;

extern mgpu_cuda_modes_t mgpu_cuda_modes;

/* Ends the program with status 1, naming this thread's device, if `status` is an error of the
 * library: `what` says what was tried. */
void mgpu_blas_check(cublasStatus_t status, const char *what);
void mgpu_random_check(curandStatus_t status, const char *what);

/* Destroys this thread's handles on all devices. A thread that ends does it by itself. */
void mgpu_cuda_free_handles(void);

#endif
#endif
