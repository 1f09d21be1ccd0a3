/* mgpu_cuda.c: handles and errors of CUDA's libraries. */
#ifdef GPU
#include "mgpu_cuda.h"
#include "mgpu_error.h"
#include "mgpu_hooks.h"
#include "mgpu_stock.h"

#include <pthread.h>
#include <time.h>

_Thread_local mgpu_cuda_modes_t mgpu_cuda_modes;

/* What a thread holds of one device; handles are null until they are asked for. */
typedef struct context {
    int device;
    cublasHandle_t blas;
    curandGenerator_t random;
#ifdef CUDNN
    cudnnHandle_t dnn;
#endif
    struct context *next;
} context;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key; /* each thread's list of contexts */

int mgpu_cuda_count(void)
{
    int n = 0;
    cudaError_t status = cudaGetDeviceCount(&n);
    if(status == cudaSuccess && n > 0) return n;
    cudaGetLastError(); /* it is told here */
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    mgpu_fail("there is no CUDA device (%s%s%s); -nogpu runs on host devices",
              status == cudaSuccess ? "none found" : cudaGetErrorString(status),
              visible ? ", CUDA_VISIBLE_DEVICES=" : "", visible ? visible : "");
    return 0;
}

const char *mgpu_cuda_reason(cudaError_t status)
{
    static _Thread_local char reason[256];
    size_t all = 0, rest = 0;
    const char *advice = "";
    if(status == cudaErrorNoKernelImageForDevice) advice = "; build with ARCH= for this card";
    if(status != cudaErrorMemoryAllocation) {
        snprintf(reason, sizeof reason, "%s%s", cudaGetErrorString(status), advice);
    } else {
        cudaMemGetInfo(&rest, &all);
        snprintf(reason, sizeof reason,
                 "out of memory, %zu of %zu MB free; raise subdivisions, or give this device a "
                 "smaller share (-shares)",
                 rest >> 20, all >> 20);
    }
    cudaGetLastError(); /* it is told here */
    return reason;
}

void mgpu_cuda_error(cudaError_t status)
{
    cudaError_t earlier = cudaGetLastError();
    if(status == cudaSuccess) status = earlier;
    if(status != cudaSuccess) mgpu_cuda_fail("", mgpu_cuda_reason(status));
}

void mgpu_blas_check(cublasStatus_t status, const char *what)
{
    if(status == CUBLAS_STATUS_SUCCESS) return;
    char why[64];
    snprintf(why, sizeof why, "cuBLAS returned status %d", (int)status);
    mgpu_cuda_fail(what, why);
}

void mgpu_random_check(curandStatus_t status, const char *what)
{
    if(status == CURAND_STATUS_SUCCESS) return;
    char why[64];
    snprintf(why, sizeof why, "cuRAND returned status %d", (int)status);
    mgpu_cuda_fail(what, why);
}

/* Goes on where a device has failed: there is nothing to lose on it any more. */
static void free_contexts(void *list)
{
    int before = gpu_index;
    for(context *c = list, *next; c; c = next) {
        next = c->next;
        cudaSetDevice(c->device);
        if(c->blas) cublasDestroy(c->blas);
        if(c->random) curandDestroyGenerator(c->random);
#ifdef CUDNN
        if(c->dnn) cudnnDestroy(c->dnn);
#endif
        free(c);
    }
    if(before >= 0) cudaSetDevice(before);
}

static void make_key(void)
{
    if(pthread_key_create(&key, free_contexts)) error("pthread_key_create failed");
}

void mgpu_cuda_free_handles(void)
{
    pthread_once(&once, make_key);
    free_contexts(pthread_getspecific(key));
    pthread_setspecific(key, 0);
}

/* This thread's context of its device. */
static context *current(void)
{
    pthread_once(&once, make_key);
    context *list = pthread_getspecific(key);
    for(context *c = list; c; c = c->next) {
        if(c->device == gpu_index) return c;
    }
    context *c = calloc(1, sizeof *c);
    if(!c) error("no memory for a CUDA device's handles");
    c->device = gpu_index;
    c->next = list;
    if(pthread_setspecific(key, c)) error("pthread_setspecific failed");
    return c;
}

cublasHandle_t mgpu_blas_handle(void)
{
    context *c = current();
    if(c->blas) return c->blas;
    mgpu_blas_check(cublasCreate(&c->blas), "making a handle");
    cublasMath_t math = mgpu_cuda_modes.tf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH;
    mgpu_blas_check(cublasSetMathMode(c->blas, math), "setting how to multiply");
    return c->blas;
}

void mgpu_cuda_random(float *x_gpu, size_t n)
{
    if(mgpu_draw(x_gpu, n)) return;
    context *c = current();
    if(!c->random) {
        mgpu_random_check(curandCreateGenerator(&c->random, CURAND_RNG_PSEUDO_DEFAULT),
                          "making a generator");
        mgpu_random_check(curandSetPseudoRandomGeneratorSeed(c->random, time(0)), "seeding");
    }
    mgpu_random_check(curandGenerateUniform(c->random, x_gpu, n), "drawing");
}

#ifdef CUDNN
cudnnHandle_t mgpu_cudnn_handle(void)
{
    context *c = current();
    if(!c->dnn) MGPU_DNN(cudnnCreate(&c->dnn));
    return c->dnn;
}
#endif

void mgpu_choose_device(void)
{
    gpu_index = mgpu_stock_device(gpu_index);
    if(gpu_index < 0) return;
    int n = mgpu_cuda_count();
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if(n && gpu_index >= n) {
        mgpu_fail("there is no CUDA device %d; devices are 0..%d%s%s%s", gpu_index, n - 1,
                  visible ? " (CUDA_VISIBLE_DEVICES=" : "", visible ? visible : "",
                  visible ? ")" : "");
    }
    if(gpu_index >= n) {
        fprintf(stderr, "%s\n", mgpu_error());
        exit(1);
    }
    cuda_set_device(gpu_index);
}

void mgpu_needs_cuda(void)
{
    if(gpu_index >= 0) return;
    fprintf(stderr, "Darknet has this command for CUDA devices only; leave -nogpu out\n");
    exit(1);
}

void mgpu_bind_device(const network *net)
{
    cuda_set_device(net->gpu_index);
}

void mgpu_pull_output(const network *net, layer l)
{
    mgpu_bind_device(net);
    if(l.output_gpu) cuda_pull_array(l.output_gpu, l.output, (size_t)l.outputs * l.batch);
}

#else
#include "mgpu_hooks.h"

void mgpu_choose_device(void)
{
}

void mgpu_needs_cuda(void)
{
    fprintf(stderr, "Darknet has this command for CUDA devices only; build with GPU=1\n");
    exit(1);
}

void mgpu_bind_device(const network *net)
{
    (void)net;
}

void mgpu_pull_output(const network *net, layer l)
{
    (void)net;
    (void)l;
}
#endif
