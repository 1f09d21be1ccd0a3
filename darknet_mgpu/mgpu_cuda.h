/* mgpu_cuda.h: CUDA's libraries as this module uses them. Empty in builds without CUDA.
 * What Darknet itself calls is in mgpu_hooks_cuda.h. */
#ifndef MGPU_CUDA_H
#define MGPU_CUDA_H

#ifdef GPU
#include "mgpu_hooks_cuda.h"

/* How the calling thread's networks compute products and convolutions. Set before they are
 * built. */
typedef struct {
    int deterministic; /* 1: only algorithms whose sums have a fixed order */
    int tf32;          /* 1: tensor cores may round what they multiply to 10 bits of mantissa */
} mgpu_cuda_modes_t;

extern _Thread_local mgpu_cuda_modes_t mgpu_cuda_modes;

/* How many devices CUDA sees; 0 with mgpu_error() saying why none. */
int mgpu_cuda_count(void);

/* What an error means, with what to try; holds until the thread's next call. Forgets it. */
const char *mgpu_cuda_reason(cudaError_t status);

/* Ends the job of a replica's thread, and in any other thread the program, with a line that
 * names the device and, of a replica, the layer. */
_Noreturn void mgpu_cuda_fail(const char *what, const char *why);

/* What the running layer of this thread's replica draws, n floats at x_gpu; 0: this thread has
 * no replica, and nothing was drawn. */
int mgpu_draw(float *x_gpu, size_t n);

/* The eight numbers that Darknet's kernels take for a row of crop layer `l`, for a crop that is
 * mirrored or not and leaves out so many rows above and columns at the left. */
void mgpu_crop_numbers(const layer *l, int flip, int down, int right, float *numbers);

/* Ends the program with status 1, naming this thread's device, if `status` is an error of the
 * library: `what` says what was tried. */
void mgpu_blas_check(cublasStatus_t status, const char *what);
void mgpu_random_check(curandStatus_t status, const char *what);

/* Destroys this thread's handles on all devices. A thread that ends does it by itself. */
void mgpu_cuda_free_handles(void);

#endif
#endif
