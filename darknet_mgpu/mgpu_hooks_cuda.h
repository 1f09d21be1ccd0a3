/* mgpu_hooks_cuda.h: what the semantic patches in patches/ make Darknet's code for CUDA call,
 * in C and in .cu files. Empty in builds without CUDA. */
#ifndef MGPU_HOOKS_CUDA_H
#define MGPU_HOOKS_CUDA_H

#ifdef GPU
#include "mgpu_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* After a CUDA call: ends the program with status 1 and a line that names this thread's device
 * if `status` or an earlier call's is an error. */
void mgpu_cuda_error(cudaError_t status);

/* This thread's handle on its device, made at first use. */
cublasHandle_t mgpu_blas_handle(void);

/* Fills x_gpu with n numbers from (0, 1]. */
void mgpu_cuda_random(float *x_gpu, size_t n);

/* In place of forward_batchnorm_layer_gpu and backward_batchnorm_layer_gpu. */
void mgpu_forward_batchnorm_gpu(layer l, network net);
void mgpu_backward_batchnorm_gpu(layer l, network net);

#ifdef CUDNN
cudnnHandle_t mgpu_cudnn_handle(void);

/* A call of cuDNN, unless this thread's device is the host. */
#define MGPU_DNN(call)                                                                         \
    do {                                                                                       \
        if(gpu_index >= 0) mgpu_dnn_check(call, #call);                                        \
    } while(0)

/* Ends the program with status 1, naming this thread's device and the function at the head of
 * `call`, if `status` is an error. */
void mgpu_dnn_check(cudnnStatus_t status, const char *call);

/* Once the descriptors of a convolutional layer are set: chooses how to convolve on this
 * thread's device, and makes the layer's workspace_size large enough for it. */
void mgpu_choose_algorithms(layer *l);
#endif

#ifdef __cplusplus
}
#endif
#endif
#endif
