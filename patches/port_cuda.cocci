// in src/cuda.c: mgpu_hooks mgpu_cuda_error mgpu_blas_handle mgpu_cudnn_handle mgpu_cuda_random -assert -printf
// in src/gemm.c: cudaDeviceSynchronize -cudaThreadSynchronize
//
// A build for CUDA has networks in host memory, too: where the thread's device is none
// (gpu_index < 0), nothing is allocated or copied on a device. Errors name the device,
// and handles belong to a thread and a device.

@ includes @
@@
#include "cuda.h"
+ #include "mgpu_hooks.h"

@ synchronize @
@@
- cudaThreadSynchronize()
+ cudaDeviceSynchronize()

@ set @
identifier n;
@@
void cuda_set_device(int n)
{
    gpu_index = n;
+   if(n < 0) return;
    ...
}

@ check @
typedef cudaError_t;
identifier status;
@@
void check_error(cudaError_t status)
{
-   ...
+   mgpu_cuda_error(status);
}

@ blas @
typedef cublasHandle_t;
@@
cublasHandle_t blas_handle()
{
-   ...
+   return mgpu_blas_handle();
}

@ dnn @
typedef cudnnHandle_t;
@@
cudnnHandle_t cudnn_handle()
{
-   ...
+   return mgpu_cudnn_handle();
}

@ random @
identifier x_gpu, n;
@@
void cuda_random(float *x_gpu, size_t n)
{
-   ...
+   if(gpu_index >= 0) mgpu_cuda_random(x_gpu, n);
}

@ allocate @
identifier f =~ "^cuda_make_(int_)?array$";
identifier x, n;
type T;
@@
T *f(T *x, size_t n)
{
+   if(gpu_index < 0) return 0;
    ...
}

@ release @
identifier f =~ "^cuda_(free|(push|pull)_array)$";
parameter list P;
@@
void f(P)
{
+   if(gpu_index < 0) return;
    ...
}
