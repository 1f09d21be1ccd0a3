/* test_stand_in.cu: what the CUDA stand-in does, and what it finds. Each case runs in a
 * child process with its own environment; what it says on stderr is part of the case. */
#include "cublas_v2.h"
#include "cuda_runtime.h"
#include "cudnn.h"
#include "curand.h"
#include "nccl.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

extern "C" {
#include <cmocka.h>
}

/* ---- a case, and how it runs */

struct test_case {
    const char *name;
    const char *settings; /* NAME=value ..., each FAKE_CUDA_NAME but CUDA_VISIBLE_DEVICES */
    void (*body)();
    int signal;       /* that ends it; 0: it ends well */
    const char *says; /* on stderr */
};

/* The body's checks; on failure the child ends. */
#define NEED(condition)                                                                        \
    do {                                                                                       \
        if(!(condition)) {                                                                     \
            printf("line %d: not so: %s\n", __LINE__, #condition);                             \
            fflush(stdout);                                                                    \
            _exit(97);                                                                         \
        }                                                                                      \
    } while(0)
#define GOOD(call) NEED((call) == cudaSuccess)

static void set_environment(const char *settings)
{
    std::string all = settings, one;
    for(size_t at = 0; at < all.size(); at += one.size() + 1) {
        one = all.substr(at, all.find(' ', at) - at);
        size_t equals = one.find('=');
        std::string name = one.substr(0, equals);
        if(name != "CUDA_VISIBLE_DEVICES") name = "FAKE_CUDA_" + name;
        setenv(name.c_str(), one.c_str() + equals + 1, 1);
    }
}

static void run_case(void **state)
{
    const test_case *test = (const test_case *)*state;
    char path[] = "/tmp/stand_in_XXXXXX";
    int file = mkstemp(path), status;
    fflush(stdout);
    pid_t child = fork();
    if(!child) {
        dup2(file, 2);
        for(int s : {SIGSEGV, SIGABRT}) signal(s, SIG_DFL); /* cmocka has its own */
        set_environment(test->settings);
        test->body();
        exit(0);
    }
    waitpid(child, &status, 0);
    std::string said;
    char text[4096];
    lseek(file, 0, SEEK_SET);
    for(ssize_t n; (n = read(file, text, sizeof text)) > 0;) said.append(text, n);
    close(file);
    unlink(path);
    bool well = WIFEXITED(status) && !WEXITSTATUS(status);
    bool as_meant = test->signal ? !well : well;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    as_meant = as_meant &&
               (!test->signal || (WIFSIGNALED(status) && WTERMSIG(status) == test->signal));
#endif
    if(!as_meant || said.find(test->says) == std::string::npos) {
        printf("%s (%s): status %d; it has to say '%s'; it says:\n%s\n", test->name,
               test->settings, status, test->says, said.c_str());
        fail();
    }
}

/* ---- helpers of the bodies */

static const int most = 1000;

/* An array of n floats on the current device: 0, 1, 2, ... */
static float *array(int n)
{
    std::vector<float> values(n);
    for(int i = 0; i < n; ++i) values[i] = (float)i;
    float *x;
    GOOD(cudaMalloc(&x, n * sizeof(float)));
    GOOD(cudaMemcpy(x, values.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    return x;
}

static float *array(const std::vector<float> &values)
{
    float *x;
    GOOD(cudaMalloc(&x, values.size() * sizeof(float)));
    GOOD(cudaMemcpy(x, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice));
    return x;
}

static std::vector<float> pull(const float *x, size_t n)
{
    std::vector<float> values(n);
    GOOD(cudaMemcpy(values.data(), x, n * sizeof(float), cudaMemcpyDeviceToHost));
    return values;
}

static std::vector<float> made_up(size_t n, unsigned seed)
{
    std::vector<float> values(n);
    for(float &v : values) {
        seed = seed * 1664525u + 1013904223u;
        v = (seed >> 8) / 8388608.f - 1;
    }
    return values;
}

static double difference(const std::vector<float> &a, const std::vector<float> &b)
{
    double sum = 0, all = 0;
    for(size_t i = 0; i < a.size(); ++i) {
        sum += (a[i] - (double)b[i]) * (a[i] - (double)b[i]);
        all += (double)b[i] * b[i];
    }
    return sqrt(sum / all);
}

static cudaStream_t stream_of_its_own()
{
    cudaStream_t s;
    GOOD(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    return s;
}

/* ---- kernels */

template <class T, int BY> __global__ void add(T *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if(i < n) x[i] += BY;
}

__host__ __device__ static float twice(float x)
{
    return 2 * x;
}

/* out += 2 sum of x, by a tree in shared memory. */
__global__ void tree(const float *x, int n, float *out)
{
    extern __shared__ float part[];
    __shared__ int times;
    int t = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y;
    if(t == threads - 1) times = 1;
    part[t] = 0;
    for(int i = blockIdx.x * threads + t; i < n; i += gridDim.x * threads)
        part[t] += twice(x[i]);
    __syncthreads();
    for(int k = threads / 2; k; k /= 2) {
        if(t < k) part[t] += part[t + k];
        __syncthreads();
    }
    if(!t) atomicAdd(out, times * part[0]);
}

/* Each thread takes what the thread before it leaves; right only with the barrier. */
__global__ void from_before(float *x, int barrier)
{
    __shared__ float left[64];
    int t = threadIdx.x;
    left[t] = 0;
    __syncthreads();
    left[t] = (float)t;
    if(barrier) __syncthreads();
    x[threadIdx.x] = t ? left[t - 1] : 0;
}

__global__ void write_at(float *x, int i)
{
    x[i] = 1;
}

/* ---- devices */

static void devices()
{
    int n, value, current;
    char id[16];
    struct cudaDeviceProp prop;
    size_t free_bytes, total;
    GOOD(cudaGetDeviceCount(&n));
    NEED(n == 2);
    GOOD(cudaDeviceGetPCIBusId(id, sizeof id, 0));
    NEED(!strcmp(id, "0000:03:00.0"));
    GOOD(cudaGetDeviceProperties(&prop, 1));
    NEED(prop.totalGlobalMem == 5 << 20 && !strcmp(prop.name, "Fake device 0"));
    GOOD(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 1));
    NEED(value == prop.major);
    NEED(cudaSetDevice(2) == cudaErrorInvalidDevice);
    NEED(cudaPeekAtLastError() == cudaErrorInvalidDevice);
    NEED(cudaGetLastError() == cudaErrorInvalidDevice && cudaGetLastError() == cudaSuccess);
    GOOD(cudaSetDevice(1));
    std::thread([&] { GOOD(cudaGetDevice(&current)); }).join();
    NEED(current == 0); /* each thread has its own */
    GOOD(cudaMemGetInfo(&free_bytes, &total));
    NEED(total == 5 << 20 && free_bytes == total);
    NEED(!strcmp(cudaGetErrorName(cudaErrorNoDevice), "cudaErrorNoDevice"));
}

static void no_devices()
{
    int n = 7;
    float *x;
    NEED(cudaGetDeviceCount(&n) == cudaErrorNoDevice && n == 0);
    NEED(cudaMalloc(&x, 4) == cudaErrorNoDevice);
    NEED(cudaSetDevice(0) == cudaErrorNoDevice);
    add<float, 1><<<1, 1>>>(nullptr, 0);
    NEED(cudaGetLastError() == cudaErrorNoDevice);
}

static void no_driver()
{
    int n = 7;
    NEED(cudaGetDeviceCount(&n) == cudaErrorInsufficientDriver && n == 0);
}

/* ---- kernels */

static void kernels()
{
    float *x = array(most), *sum;
    cudaStream_t s = stream_of_its_own();
    GOOD(cudaMalloc(&sum, sizeof(float)));
    GOOD(cudaMemsetAsync(sum, 0, sizeof(float), s));
    add<float, 2><<<(most + 127) / 128, 128, 0, s>>>(x, most);
    tree<<<dim3(3), dim3(16, 4), 64 * sizeof(float), s>>>(x, most, sum);
    GOOD(cudaStreamSynchronize(s));
    NEED(pull(sum, 1)[0] == 2 * (most * (most - 1) / 2 + 2 * most));
    NEED(pull(x, most)[999] == 1001);
    from_before<<<1, 64>>>(x, 1);
    std::vector<float> got = pull(x, 64);
    for(int t = 1; t < 64; ++t) NEED(got[t] == t - 1);
    GOOD(cudaGetLastError());
}

static void missing_barrier()
{
    float *x = array(64);
    from_before<<<1, 64>>>(x, 0);
    std::vector<float> got = pull(x, 64);
    int wrong = 0;
    for(int t = 1; t < 64; ++t) wrong += got[t] != t - 1;
    fprintf(stderr, "%d wrong", wrong);
}

static void bad_configuration()
{
    float *x = array(10);
    add<float, 1><<<1, 1025>>>(x, 10);
    NEED(cudaGetLastError() == cudaErrorInvalidConfiguration);
    add<float, 1><<<0, 32>>>(x, 10);
    NEED(cudaGetLastError() == cudaErrorInvalidConfiguration);
    NEED(pull(x, 10)[3] == 3);
}

/* ---- what is found. After the first three the device is broken. */

static void write_past_end()
{
    float *x = array(10);
    write_at<<<1, 1>>>(x, 10);
    NEED(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    NEED(cudaFree(x) == cudaErrorIllegalAddress &&
         cudaGetLastError() == cudaErrorIllegalAddress);
    NEED(cudaGetLastError() == cudaErrorIllegalAddress);
}

static void host_pointer()
{
    float x[10] = {0};
    add<float, 1><<<1, 10>>>(x, 10);
    NEED(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    NEED(x[0] == 0);
}

static void foreign_pointer()
{
    float *x = array(10);
    GOOD(cudaSetDevice(1));
    add<float, 1><<<1, 10>>>(x, 10);
    NEED(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    GOOD(cudaSetDevice(0)); /* is not broken */
    NEED(pull(x, 10)[2] == 2);
}

static void foreign_stream()
{
    cudaStream_t s = stream_of_its_own();
    GOOD(cudaSetDevice(1));
    float *x = array(10);
    add<float, 1><<<1, 10, 0, s>>>(x, 10);
    NEED(cudaGetLastError() == cudaErrorInvalidResourceHandle);
    GOOD(cudaDeviceSynchronize());
}

static void destroyed_stream()
{
    cudaStream_t s = stream_of_its_own();
    GOOD(cudaStreamDestroy(s));
    NEED(cudaStreamSynchronize(s) == cudaErrorInvalidResourceHandle);
}

static void copy_past_end()
{
    float *x = array(10), values[11];
    NEED(cudaMemcpy(values, x, sizeof values, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
    NEED(cudaMemset(x + 1, 0, 10 * sizeof(float)) == cudaErrorInvalidValue);
}

static void wrong_direction()
{
    float *x = array(10), values[10];
    NEED(cudaMemcpy(x, values, 40, cudaMemcpyDeviceToHost) == cudaErrorInvalidMemcpyDirection);
    GOOD(cudaMemcpy(x, values, 40, cudaMemcpyDefault));
}

static void double_free()
{
    float *x = array(10);
    GOOD(cudaFree(x));
    NEED(cudaFree(x) == cudaErrorInvalidValue);
}

static void fresh_memory()
{
    float *x, *y;
    GOOD(cudaMalloc(&x, 40));
    GOOD(cudaMalloc(&y, 0));
    NEED(!y && std::isnan(pull(x, 10)[9]));
    GOOD(cudaMallocHost(&y, 40));
    NEED(std::isnan(y[9]));
}

static void out_of_memory()
{
    float *x, *y;
    size_t free_bytes, total;
    GOOD(cudaMalloc(&x, 3 << 20));
    NEED(cudaMalloc(&y, 3 << 20) == cudaErrorMemoryAllocation && !y);
    GOOD(cudaMemGetInfo(&free_bytes, &total));
    NEED(free_bytes == 1 << 20 && total == 4 << 20);
    GOOD(cudaFree(x));
    NEED(cudaGetLastError() == cudaErrorMemoryAllocation);
    GOOD(cudaMalloc(&y, 4 << 20));
}

static void pinned_memory()
{
    float *pinned, *x = array(10), here[10];
    struct cudaPointerAttributes a;
    GOOD(cudaHostAlloc(&pinned, 40, cudaHostAllocPortable));
    GOOD(cudaPointerGetAttributes(&a, pinned + 3));
    NEED(a.type == cudaMemoryTypeHost && a.hostPointer == pinned + 3);
    GOOD(cudaPointerGetAttributes(&a, x));
    NEED(a.type == cudaMemoryTypeDevice && a.device == 0);
    GOOD(cudaPointerGetAttributes(&a, here));
    NEED(a.type == cudaMemoryTypeUnregistered);
    GOOD(cudaHostRegister(here, sizeof here, cudaHostRegisterDefault));
    NEED(cudaHostRegister(here, 4, 0) == cudaErrorHostMemoryAlreadyRegistered);
    GOOD(cudaMemcpyAsync(here, x, sizeof here, cudaMemcpyDeviceToHost, nullptr));
    GOOD(cudaDeviceSynchronize());
    NEED(here[9] == 9);
    GOOD(cudaHostUnregister(here));
    NEED(cudaHostUnregister(here) == cudaErrorHostMemoryNotRegistered);
    for(int i = 0; i < 10; ++i) pinned[i] = 1;
    add<float, 1><<<1, 10>>>(pinned, 10); /* a card reaches it too */
    GOOD(cudaDeviceSynchronize());
    NEED(pinned[9] == 2);
    GOOD(cudaFreeHost(pinned));
}

static void read_on_host()
{
    volatile float *x = array(10);
    fprintf(stderr, "reads %g", (double)x[3]);
}

/* ---- two devices */

static void peers()
{
    int can;
    float *x = array(10), *y;
    GOOD(cudaDeviceCanAccessPeer(&can, 1, 0));
    GOOD(cudaSetDevice(1));
    y = array(10);
    NEED(can == 1 && cudaDeviceDisablePeerAccess(0) == cudaErrorPeerAccessNotEnabled);
    GOOD(cudaDeviceEnablePeerAccess(0, 0));
    NEED(cudaDeviceEnablePeerAccess(0, 0) == cudaErrorPeerAccessAlreadyEnabled);
    add<float, 1><<<1, 10>>>(x, 10);
    GOOD(cudaDeviceSynchronize());
    GOOD(cudaMemcpyPeer(y, 1, x, 0, 40));
    NEED(pull(y, 10)[9] == 10);
}

static void no_peers()
{
    int can;
    float *x = array(10), *y;
    GOOD(cudaDeviceCanAccessPeer(&can, 1, 0));
    GOOD(cudaSetDevice(1));
    NEED(can == 0 && cudaDeviceEnablePeerAccess(0, 0) == cudaErrorPeerAccessUnsupported);
    GOOD(cudaMalloc(&y, 40));
    GOOD(cudaMemcpyPeerAsync(y, 1, x, 0, 40, nullptr));
    NEED(pull(y, 10)[9] == 9);
    NEED(cudaMemcpyPeer(y, 0, x, 0, 40) == cudaErrorInvalidValue);
}

static void threads_and_devices()
{
    std::vector<std::thread> all;
    for(int d = 0; d < 3; ++d)
        all.emplace_back([d] {
            GOOD(cudaSetDevice(d));
            float *x = array(most);
            for(int i = 0; i < 20; ++i) add<float, 1><<<8, 128>>>(x, most);
            NEED(pull(x, most)[7] == 27);
            GOOD(cudaFree(x));
        });
    for(std::thread &t : all) t.join();
}

/* ---- streams, deferred: what is not waited for has not happened */

static void not_waited_for()
{
    float *x = array(10), *pinned;
    cudaStream_t s = stream_of_its_own();
    GOOD(cudaMallocHost(&pinned, 40));
    pinned[5] = -1;
    add<float, 1><<<1, 10, 0, s>>>(x, 10);
    GOOD(cudaMemcpyAsync(pinned, x, 40, cudaMemcpyDeviceToHost, s));
    NEED(pinned[5] == -1);
    int questions = 1;
    while(cudaStreamQuery(s) == cudaErrorNotReady) ++questions;
    NEED(pinned[5] == 6 && questions == 3);
}

/* The second stream copies what the first one makes; `wait` or not. */
static float copied_by_second_stream(bool wait)
{
    float *x = array(10), *pinned;
    cudaStream_t first = stream_of_its_own(), second = stream_of_its_own();
    cudaEvent_t made;
    GOOD(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
    GOOD(cudaMallocHost(&pinned, 40));
    add<float, 1><<<1, 10, 0, first>>>(x, 10);
    GOOD(cudaEventRecord(made, first));
    if(wait) GOOD(cudaStreamWaitEvent(second, made, 0));
    GOOD(cudaMemcpyAsync(pinned, x, 40, cudaMemcpyDeviceToHost, second));
    GOOD(cudaStreamSynchronize(second));
    return pinned[5];
}

static void events()
{
    NEED(copied_by_second_stream(true) == 6);
    NEED(copied_by_second_stream(false) == 5);
}

static void default_stream()
{
    float *x = array(10), *y = array(10);
    cudaStream_t blocking, other = stream_of_its_own();
    GOOD(cudaStreamCreate(&blocking));
    add<float, 1><<<1, 10, 0, blocking>>>(x, 10);
    add<float, 1><<<1, 10, 0, other>>>(y, 10);
    NEED(pull(x, 10)[5] == 6); /* cudaMemcpy is the default stream's work */
    NEED(pull(y, 10)[5] == 5);
    add<float, 1><<<1, 10>>>(x, 10);
    add<float, 1><<<1, 10, 0, blocking>>>(x, 10);
    GOOD(cudaStreamSynchronize(blocking));
    GOOD(cudaStreamDestroy(other)); /* what it has left to do is done */
    GOOD(cudaDeviceSynchronize());
    NEED(pull(x, 10)[5] == 8 && pull(y, 10)[5] == 6);
}

static void count_up(void *p)
{
    int device;
    ++*(int *)p;
    NEED(cudaDeviceSynchronize() == cudaErrorNotPermitted);
    GOOD(cudaGetDevice(&device));
}

static void host_function()
{
    int calls = 0;
    cudaStream_t s = stream_of_its_own();
    GOOD(cudaLaunchHostFunc(s, count_up, &calls));
    GOOD(cudaLaunchHostFunc(s, count_up, &calls));
    GOOD(cudaStreamSynchronize(s));
    NEED(calls == 2);
}

static void timing()
{
    float ms = -1, *x = array(10);
    cudaEvent_t begin, end, untimed;
    GOOD(cudaEventCreate(&begin));
    GOOD(cudaEventCreate(&end));
    GOOD(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    NEED(cudaEventElapsedTime(&ms, begin, end) == cudaErrorInvalidResourceHandle);
    GOOD(cudaEventRecord(begin, nullptr));
    add<float, 1><<<1, 10>>>(x, 10);
    GOOD(cudaEventRecord(end, nullptr));
    GOOD(cudaEventRecord(untimed, nullptr));
    GOOD(cudaEventSynchronize(untimed));
    GOOD(cudaEventQuery(end));
    GOOD(cudaEventElapsedTime(&ms, begin, end));
    NEED(ms >= 0 &&
         cudaEventElapsedTime(&ms, begin, untimed) == cudaErrorInvalidResourceHandle);
    GOOD(cudaSetDevice(1));
    NEED(cudaEventRecord(begin, nullptr) == cudaErrorInvalidResourceHandle);
}

/* ---- errors on order */

static void third_allocation()
{
    float *x;
    GOOD(cudaMalloc(&x, 4));
    GOOD(cudaSetDevice(1));
    GOOD(cudaMalloc(&x, 4));
    GOOD(cudaMalloc(&x, 4));
    NEED(cudaMalloc(&x, 4) == cudaErrorMemoryAllocation);
    GOOD(cudaMalloc(&x, 4));
    NEED(cudaGetLastError() == cudaErrorMemoryAllocation && !cudaGetLastError());
}

static void from_second_copy_on()
{
    float *x, values[1] = {0};
    GOOD(cudaMalloc(&x, 4));
    GOOD(cudaMemcpyAsync(x, values, 4, cudaMemcpyHostToDevice, nullptr));
    for(int i = 0; i < 3; ++i)
        NEED(cudaMemcpyAsync(x, values, 4, cudaMemcpyHostToDevice, nullptr) ==
             cudaErrorECCUncorrectable);
}

/* The error comes when somebody waits, stays, and is this device's alone. */
static void broken_device()
{
    float *x = array(10);
    int device;
    cudaEvent_t e;
    GOOD(cudaEventCreate(&e));
    for(int i = 0; i < 3; ++i) add<float, 1><<<1, 10>>>(x, 10);
    GOOD(cudaPeekAtLastError());
    NEED(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
    NEED(cudaGetLastError() == cudaErrorLaunchFailure);
    NEED(cudaGetLastError() == cudaErrorLaunchFailure);
    NEED(cudaMalloc(&x, 4) == cudaErrorLaunchFailure);
    NEED(cudaEventRecord(e, nullptr) == cudaErrorLaunchFailure);
    GOOD(cudaGetDevice(&device));
    GOOD(cudaSetDevice(1));
    NEED(cudaGetLastError() == cudaErrorLaunchFailure && !cudaGetLastError());
    NEED(pull(array(10), 10)[5] == 5);
}

static void libraries_fail()
{
    float *x = array(16), one = 1;
    cublasHandle_t blas;
    cudnnHandle_t dnn;
    curandGenerator_t random;
    NEED(cublasCreate(&blas) == CUBLAS_STATUS_ALLOC_FAILED);
    NEED(!cublasCreate(&blas));
    NEED(!curandCreateGenerator(&random, CURAND_RNG_PSEUDO_DEFAULT));
    for(int i = 0; i < 2; ++i)
        NEED((cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, x, 2, x + 4, 2, &one,
                          x + 8, 2) == CUBLAS_STATUS_EXECUTION_FAILED) == (i == 1));
    NEED(curandGenerateUniform(random, x, 16) == CURAND_STATUS_LAUNCH_FAILURE);
    NEED(cudnnCreate(&dnn) == CUDNN_STATUS_NOT_INITIALIZED);
    GOOD(cudaDeviceSynchronize());
    NEED(!cublasDestroy(blas) && !curandDestroyGenerator(random));
}

static void report()
{
    float *x = array(10), *y = array(5);
    GOOD(cudaFree(y));
    stream_of_its_own();
    add<float, 1><<<1, 10>>>(x, 10);
    pull(x, 10);
}

/* ---- cuBLAS and cuRAND */

static cublasHandle_t blas()
{
    cublasHandle_t h;
    NEED(!cublasCreate(&h));
    return h;
}

/* C = alpha op(A) op(B) + beta C the plain way. */
static std::vector<float> plain_product(bool ta, bool tb, int m, int n, int k, float alpha,
                                        const std::vector<float> &A, int lda,
                                        const std::vector<float> &B, int ldb, float beta,
                                        std::vector<float> C, int ldc)
{
    for(int j = 0; j < n; ++j)
        for(int i = 0; i < m; ++i) {
            double sum = 0;
            for(int p = 0; p < k; ++p)
                sum += (double)A[ta ? i * lda + p : p * lda + i] *
                       B[tb ? p * ldb + j : j * ldb + p];
            float &c = C[j * ldc + i];
            c = (float)(alpha * sum + (beta ? beta * c : 0));
        }
    return C;
}

static void products()
{
    cublasHandle_t h = blas();
    int m = 19, n = 13, k = 300;
    float alpha = .5f;
    for(int which = 0; which < 8; ++which) {
        bool ta = which & 1, tb = which & 2;
        float beta = which & 4 ? -2.f : 0.f;
        int lda = (ta ? k : m) + 1, ldb = (tb ? n : k) + 2, ldc = m + 3;
        std::vector<float> A = made_up(lda * (ta ? m : k), 1),
                           B = made_up(ldb * (tb ? k : n), 2);
        std::vector<float> C = made_up(ldc * n, 3);
        float *a = array(A), *b = array(B), *c = array(C);
        if(!beta) GOOD(cudaMemset(c, 0xff, m * sizeof(float))); /* is not read */
        NEED(!cublasSgemm(h, ta ? CUBLAS_OP_T : CUBLAS_OP_N, tb ? CUBLAS_OP_T : CUBLAS_OP_N, m,
                          n, k, &alpha, a, lda, b, ldb, &beta, c, ldc));
        std::vector<float> want =
            plain_product(ta, tb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
        NEED(difference(pull(c, C.size()), want) < 1e-6);
    }
    NEED(!cublasDestroy(h));
}

/* An element's bits do not depend on the other rows and columns. */
static void products_in_parts()
{
    cublasHandle_t h = blas();
    const int n = 37, k = 700;
    float one = 1, zero = 0;
    float *a = array(made_up(n * k, 1)), *b = array(made_up(k * n, 2)), *whole = array(n * n);
    float *part = array(n * n);
    NEED(!cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, n, n, k, &one, a, n, b, k, &zero, whole, n));
    for(int i = 0; i < n; i += 5) {
        int rows = std::min(5, n - i);
        NEED(!cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, rows, n, k, &one, a + i, n, b, k, &zero,
                          part + i, n));
    }
    NEED(pull(whole, n * n) == pull(part, n * n));
    NEED(!cublasSetMathMode(h, CUBLAS_TF32_TENSOR_OP_MATH));
    NEED(!cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, n, n, k, &one, a, n, b, k, &zero, part, n));
    double rounded = difference(pull(part, n * n), pull(whole, n * n));
    NEED(rounded > 1e-5 && rounded < 1e-3);
    NEED(!cublasSgemmStridedBatched(h, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a, 2, 4, b, 2,
                                    4, &zero, part, 2, 4, 3));
    NEED(!cublasDestroy(h));
}

static void vectors()
{
    cublasHandle_t h = blas();
    float two = 2, *x = array(10), *y = array(10);
    NEED(!cublasSaxpy(h, 5, &two, x, 2, y, 1));
    NEED(!cublasSscal(h, 2, &two, y + 8, 1));
    std::vector<float> got = pull(y, 10);
    NEED(got[4] == 4 + 2 * 8 && got[5] == 5 && got[9] == 18);
    NEED(!cublasDestroy(h));
}

static void product_past_end()
{
    cublasHandle_t h = blas();
    float one = 1, *x = array(16), *y = array(15);
    NEED(cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, x, 4, x, 4, &one, y, 4) ==
         CUBLAS_STATUS_EXECUTION_FAILED);
    NEED(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    NEED(!cublasDestroy(h));
}

static void foreign_handle()
{
    cublasHandle_t h = blas();
    float one = 1, *x = array(16);
    GOOD(cudaSetDevice(1));
    NEED(cublasSscal(h, 4, &one, x, 1) == CUBLAS_STATUS_EXECUTION_FAILED);
    NEED(!cublasDestroy(h));
}

static void random_numbers()
{
    curandGenerator_t g;
    NEED(!curandCreateGenerator(&g, CURAND_RNG_PSEUDO_DEFAULT));
    float *x = array(4000), *y = array(4000);
    NEED(!curandSetPseudoRandomGeneratorSeed(g, 5) && !curandGenerateUniform(g, x, 4000));
    NEED(!curandSetPseudoRandomGeneratorSeed(g, 5) && !curandGenerateUniform(g, y, 1000));
    NEED(!curandGenerateUniform(g, y + 1000, 3000));
    std::vector<float> got = pull(x, 4000);
    double mean = 0;
    for(float v : got) {
        NEED(v > 0 && v <= 1);
        mean += v / 4000;
    }
    NEED(fabs(mean - .5) < .02 && got == pull(y, 4000));
    NEED(!curandSetPseudoRandomGeneratorSeed(g, 6) && !curandGenerateUniform(g, y, 4000));
    NEED(got != pull(y, 4000) && !curandDestroyGenerator(g));
}

/* ---- cuDNN */

struct shapes {
    int n, c, h, w, filters, size, stride, pad, groups;

    int out_h() const
    {
        return (h + 2 * pad - size) / stride + 1;
    }
    int out_w() const
    {
        return (w + 2 * pad - size) / stride + 1;
    }
    size_t xs() const
    {
        return (size_t)n * c * h * w;
    }
    size_t ys() const
    {
        return (size_t)n * filters * out_h() * out_w();
    }
    size_t ws() const
    {
        return (size_t)filters * (c / groups) * size * size;
    }
};

/* Calls f(index in x, in w, in y) for every product of a convolution. */
template <class F> static void each_product(const shapes &s, F f)
{
    int inputs = s.c / s.groups, outputs = s.filters / s.groups;
    for(int n = 0; n < s.n; ++n)
        for(int k = 0; k < s.filters; ++k)
            for(int row = 0; row < s.out_h(); ++row)
                for(int col = 0; col < s.out_w(); ++col)
                    for(int c = 0; c < inputs; ++c)
                        for(int i = 0; i < s.size; ++i)
                            for(int j = 0; j < s.size; ++j) {
                                int y = row * s.stride + i - s.pad,
                                    x = col * s.stride + j - s.pad;
                                if(y < 0 || x < 0 || y >= s.h || x >= s.w) continue;
                                int channel = k / outputs * inputs + c;
                                f(((n * s.c + channel) * s.h + y) * s.w + x,
                                  ((k * inputs + c) * s.size + i) * s.size + j,
                                  ((n * s.filters + k) * s.out_h() + row) * s.out_w() + col);
                            }
}

struct dnn {
    cudnnHandle_t handle;
    cudnnTensorDescriptor_t x, y;
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t conv;

    explicit dnn(const shapes &s, cudnnMathType_t math = CUDNN_FMA_MATH)
    {
        NEED(!cudnnCreate(&handle) && !cudnnCreateTensorDescriptor(&x));
        NEED(!cudnnCreateTensorDescriptor(&y) && !cudnnCreateFilterDescriptor(&w));
        NEED(!cudnnCreateConvolutionDescriptor(&conv));
        NEED(!cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, s.n, s.c, s.h,
                                         s.w));
        NEED(!cudnnSetTensor4dDescriptor(y, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, s.n, s.filters,
                                         s.out_h(), s.out_w()));
        NEED(!cudnnSetFilter4dDescriptor(w, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, s.filters,
                                         s.c / s.groups, s.size, s.size));
        NEED(!cudnnSetConvolution2dDescriptor(conv, s.pad, s.pad, s.stride, s.stride, 1, 1,
                                              CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
        NEED(!cudnnSetConvolutionGroupCount(conv, s.groups));
        NEED(!cudnnSetConvolutionMathType(conv, math));
    }
    ~dnn()
    {
        NEED(!cudnnDestroyTensorDescriptor(x) && !cudnnDestroyTensorDescriptor(y));
        NEED(!cudnnDestroyFilterDescriptor(w) && !cudnnDestroyConvolutionDescriptor(conv));
        NEED(!cudnnDestroy(handle));
    }
};

/* Each list names: one that is deterministic and fits, one that is unsupported, one that
 * wants more than 2 GB; and, backward, it begins with one that is not deterministic. */
template <class P> static void check_list(const P *results, int n, bool backward)
{
    int good = 0, unsupported = 0, large = 0;
    NEED(n >= 3 && (results[0].determinism == CUDNN_NON_DETERMINISTIC) == backward);
    for(int i = 0; i < n; ++i) {
        unsupported += results[i].status == CUDNN_STATUS_NOT_SUPPORTED;
        large += !results[i].status && results[i].memory > 2000000000u;
        good += !results[i].status && results[i].memory < 2000000000u &&
                results[i].determinism == CUDNN_DETERMINISTIC;
    }
    NEED(good && unsupported && large && results[0].mathType == CUDNN_FMA_MATH);
}

/* Every algorithm that fits gives y = alpha conv(x, w) + beta y, and its two derivatives. */
static void convolutions_of(const shapes &s)
{
    dnn d(s);
    float alpha = 1.5f, beta = -.5f;
    std::vector<float> x = made_up(s.xs(), 1), w = made_up(s.ws(), 2), y = made_up(s.ys(), 3);
    std::vector<double> sums[3];
    sums[0].resize(s.ys());
    sums[1].resize(s.xs());
    sums[2].resize(s.ws());
    each_product(s, [&](int i, int j, int k) {
        sums[0][k] += (double)x[i] * w[j];
        sums[1][i] += (double)w[j] * y[k];
        sums[2][j] += (double)x[i] * y[k];
    });
    const std::vector<float> *old[3] = {&y, &x, &w};
    std::vector<float> want[3];
    for(int kind = 0; kind < 3; ++kind)
        for(size_t i = 0; i < sums[kind].size(); ++i)
            want[kind].push_back((float)(alpha * sums[kind][i] + beta * (*old[kind])[i]));

    int n[3];
    cudnnConvolutionFwdAlgoPerf_t forward[8];
    cudnnConvolutionBwdDataAlgoPerf_t data[8];
    cudnnConvolutionBwdFilterAlgoPerf_t filter[8];
    NEED(!cudnnGetConvolutionForwardAlgorithm_v7(d.handle, d.x, d.w, d.conv, d.y, 8, n,
                                                 forward));
    NEED(!cudnnGetConvolutionBackwardDataAlgorithm_v7(d.handle, d.w, d.y, d.conv, d.x, 8, n + 1,
                                                      data));
    NEED(!cudnnGetConvolutionBackwardFilterAlgorithm_v7(d.handle, d.x, d.y, d.conv, d.w, 8,
                                                        n + 2, filter));
    check_list(forward, n[0], false);
    check_list(data, n[1], true);
    check_list(filter, n[2], true);
    float *dx = array(x), *dw = array(w), *dy = array(y), *space;
    GOOD(cudaMalloc(&space, 1 << 20));
    for(int i = 0; i < n[0]; ++i) {
        size_t bytes = 0;
        cudnnStatus_t status = cudnnGetConvolutionForwardWorkspaceSize(
            d.handle, d.x, d.w, d.conv, d.y, forward[i].algo, &bytes);
        NEED(status == forward[i].status && (status || bytes == forward[i].memory));
        if(status || bytes > 1 << 20) continue;
        NEED(!cudnnConvolutionForward(d.handle, &alpha, d.x, dx, d.w, dw, d.conv,
                                      forward[i].algo, space, bytes, &beta, d.y, dy));
        NEED(difference(pull(dy, s.ys()), want[0]) < 1e-6);
        GOOD(cudaMemcpy(dy, y.data(), y.size() * 4, cudaMemcpyHostToDevice));
    }
    for(int i = 0; i < n[1]; ++i) {
        if(data[i].status || data[i].memory > 1 << 20) continue;
        NEED(!cudnnConvolutionBackwardData(d.handle, &alpha, d.w, dw, d.y, dy, d.conv,
                                           data[i].algo, space, data[i].memory, &beta, d.x,
                                           dx));
        NEED(difference(pull(dx, s.xs()), want[1]) < 1e-6);
        GOOD(cudaMemcpy(dx, x.data(), x.size() * 4, cudaMemcpyHostToDevice));
    }
    for(int i = 0; i < n[2]; ++i) {
        if(filter[i].status || filter[i].memory > 1 << 20) continue;
        NEED(!cudnnConvolutionBackwardFilter(d.handle, &alpha, d.x, dx, d.y, dy, d.conv,
                                             filter[i].algo, space, filter[i].memory, &beta,
                                             d.w, dw));
        NEED(difference(pull(dw, s.ws()), want[2]) < 1e-6);
        GOOD(cudaMemcpy(dw, w.data(), w.size() * 4, cudaMemcpyHostToDevice));
    }
}

static void convolutions()
{
    convolutions_of({3, 4, 7, 6, 6, 3, 1, 1, 1});
    convolutions_of({2, 4, 8, 9, 6, 3, 2, 1, 2});
    convolutions_of({2, 3, 5, 5, 4, 1, 1, 0, 1});
    convolutions_of({1, 4, 9, 9, 4, 5, 2, 2, 4});
}

static const shapes small = {5, 4, 6, 6, 4, 3, 1, 1, 1};

/* The gradient of the weights, by an algorithm and a math type. */
static std::vector<float> filter_gradient(const dnn &d, cudnnConvolutionBwdFilterAlgo_t algo)
{
    float one = 1, zero = 0, *space;
    float *x = array(made_up(small.xs(), 1)), *y = array(made_up(small.ys(), 2)), *w;
    GOOD(cudaMalloc(&w, small.ws() * sizeof(float)));
    GOOD(cudaMalloc(&space, 1 << 20));
    NEED(!cudnnConvolutionBackwardFilter(d.handle, &one, d.x, x, d.y, y, d.conv, algo, space,
                                         1 << 20, &zero, d.w, w));
    return pull(w, small.ws());
}

static void determinism()
{
    dnn d(small);
    auto unsure = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0,
         sure = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1;
    NEED(filter_gradient(d, sure) == filter_gradient(d, sure));
    NEED(filter_gradient(d, unsure) != filter_gradient(d, unsure));
    dnn rounded(small, CUDNN_DEFAULT_MATH);
    double off = difference(filter_gradient(rounded, sure), filter_gradient(d, sure));
    NEED(off > 1e-5 && off < 1e-2);
}

static void small_workspace()
{
    dnn d(small);
    float one = 1, *x = array((int)small.xs()), *y = array((int)small.ys()),
          *w = array((int)small.ws());
    NEED(cudnnConvolutionForward(d.handle, &one, d.x, x, d.w, w, d.conv,
                                 CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, x, 16, &one,
                                 d.y, y) == CUDNN_STATUS_BAD_PARAM);
    NEED(cudnnConvolutionForward(d.handle, &one, d.x, x, d.w, w, d.conv,
                                 CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD, x, 16, &one, d.y,
                                 y) == CUDNN_STATUS_NOT_SUPPORTED);
    NEED(!strcmp(cudnnGetErrorString(CUDNN_STATUS_BAD_PARAM), "CUDNN_STATUS_BAD_PARAM"));
}

static void convolution_past_end()
{
    dnn d(small);
    float one = 1, *x = array((int)small.xs()), *y = array((int)small.ys()), *w = array(7);
    NEED(cudnnConvolutionForward(d.handle, &one, d.x, x, d.w, w, d.conv,
                                 CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, nullptr, 0, &one,
                                 d.y, y) == CUDNN_STATUS_EXECUTION_FAILED);
}

/* Against the formulas, in double precision. */
static void batch_normalization()
{
    const int n = 4, c = 3, plane = 5, values = n * plane;
    const double epsilon = 1e-5;
    std::vector<float> x = made_up(n * c * plane, 1), dy = made_up(n * c * plane, 2);
    std::vector<float> scale = made_up(c, 3), bias = made_up(c, 4), run = made_up(2 * c, 5);
    std::vector<float> y(x.size()), dx(x.size()), want_run = run, updates(2 * c);
    for(int k = 0; k < c; ++k) {
        double mean = 0, variance = 0, sum = 0, dot = 0;
        auto each = [&](auto f) {
            for(int i = 0; i < values; ++i) f((i / plane * c + k) * plane + i % plane);
        };
        each([&](int i) { mean += x[i] / (double)values; });
        each([&](int i) { variance += (x[i] - mean) * (x[i] - mean) / values; });
        double inverse = 1 / sqrt(variance + epsilon);
        each([&](int i) { y[i] = (float)((x[i] - mean) * inverse * scale[k] + bias[k]); });
        each([&](int i) { sum += dy[i], dot += dy[i] * (x[i] - mean) * inverse; });
        each([&](int i) {
            double xn = (x[i] - mean) * inverse;
            dx[i] = (float)(scale[k] * inverse * (dy[i] - sum / values - xn * dot / values));
        });
        want_run[k] = (float)(.9 * run[k] + .1 * mean);
        want_run[c + k] = (float)(.9 * run[c + k] + .1 * variance * values / (values - 1));
        updates[k] = (float)(scale[k] + dot);
        updates[c + k] = (float)(bias[k] + sum);
    }
    dnn d({n, c, 1, plane, c, 1, 1, 0, 1});
    cudnnTensorDescriptor_t channels;
    NEED(!cudnnCreateTensorDescriptor(&channels));
    NEED(
        !cudnnSetTensor4dDescriptor(channels, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, c, 1, 1));
    float one = 1, zero = 0, *gx = array(x), *gy, *gs = array(scale), *gb = array(bias),
          *gr = array(run);
    float *saved = array(2 * c), *gd = array(dy), *gu;
    GOOD(cudaMalloc(&gy, x.size() * 4));
    NEED(!cudnnBatchNormalizationForwardTraining(d.handle, CUDNN_BATCHNORM_SPATIAL, &one, &zero,
                                                 d.x, gx, d.x, gy, channels, gs, gb, .1, gr,
                                                 gr + c, epsilon, saved, saved + c));
    NEED(difference(pull(gy, y.size()), y) < 1e-6 &&
         difference(pull(gr, 2 * c), want_run) < 1e-6);
    std::vector<float> both = scale;
    both.insert(both.end(), bias.begin(), bias.end());
    gu = array(both);
    NEED(!cudnnBatchNormalizationBackward(d.handle, CUDNN_BATCHNORM_SPATIAL, &one, &zero, &one,
                                          &one, d.x, gx, d.x, gd, d.x, gy, channels, gs, gu,
                                          gu + c, epsilon, saved, saved + c));
    NEED(difference(pull(gy, y.size()), dx) < 1e-6 &&
         difference(pull(gu, 2 * c), updates) < 1e-6);
    NEED(!cudnnDestroyTensorDescriptor(channels));
}

/* ---- NCCL */

static const int ranks = 3;

/* Runs a function in a thread for each rank, on its device, with its communicator. */
template <class F> static void each_rank(F f)
{
    ncclUniqueId id;
    NEED(!ncclGetUniqueId(&id));
    std::vector<std::thread> threads;
    for(int rank = 0; rank < ranks; ++rank)
        threads.emplace_back([=] {
            ncclComm_t comm;
            int n, device;
            GOOD(cudaSetDevice(rank));
            NEED(!ncclCommInitRank(&comm, ranks, id, rank));
            NEED(!ncclCommCount(comm, &n) && !ncclCommCuDevice(comm, &device));
            NEED(n == ranks && device == rank);
            f(rank, comm);
        });
    for(std::thread &t : threads) t.join();
}

static void collectives()
{
    each_rank([](int rank, ncclComm_t comm) {
        const int n = 4;
        cudaStream_t s = stream_of_its_own();
        float *mine = array(ranks * n), *all, *one;
        for(int i = 0; i <= rank; ++i) add<float, 100><<<1, 32, 0, s>>>(mine, ranks * n);
        GOOD(cudaMalloc(&all, ranks * n * sizeof(float)));
        GOOD(cudaMalloc(&one, n * sizeof(float)));
        auto got = [&](const float *x, int i) {
            GOOD(cudaStreamSynchronize(s));
            return pull(x, i + 1)[i];
        };
        NEED(!ncclAllReduce(mine, all, ranks * n, ncclFloat, ncclSum, comm, s));
        NEED(got(all, 5) == 600 + 3 * 5);
        NEED(!ncclAllReduce(mine, all, n, ncclFloat, ncclMax, comm, s) && got(all, 2) == 302);
        NEED(!ncclAllReduce(mine, all, n, ncclFloat, ncclAvg, comm, s) && got(all, 2) == 202);
        NEED(!ncclReduceScatter(mine, one, n, ncclFloat, ncclSum, comm, s));
        NEED(got(one, 1) == 600 + 3 * (rank * n + 1));
        NEED(!ncclAllGather(mine, all, n, ncclFloat, comm, s) && got(all, 2 * n + 1) == 301);
        NEED(!ncclReduce(mine, all, n, ncclFloat, ncclSum, 1, comm, s));
        NEED(got(all, 1) == (rank == 1 ? 603 : 101));
        NEED(!ncclBroadcast(mine, mine, n, ncclFloat, 2, comm, s) && got(mine, 3) == 303);
        NEED(!ncclCommDestroy(comm));
    });
}

/* Sums come out the same on all ranks, in the order of the ranks. */
static void fixed_order()
{
    each_rank([](int rank, ncclComm_t comm) {
        const float values[ranks] = {1e8f, 1, -1e8f};
        float *x = array(std::vector<float>(1, values[rank]));
        NEED(!ncclAllReduce(x, x, 1, ncclFloat, ncclSum, comm, nullptr));
        NEED(pull(x, 1)[0] == 0);
        NEED(!ncclCommDestroy(comm));
    });
}

static void one_thread_in_a_group()
{
    ncclComm_t comms[ranks];
    float *x[ranks];
    NEED(!ncclCommInitAll(comms, ranks, nullptr));
    for(int i = 0; i < ranks; ++i) {
        GOOD(cudaSetDevice(i));
        x[i] = array(10);
    }
    NEED(!ncclGroupStart());
    for(int i = 0; i < ranks; ++i)
        NEED(!ncclAllReduce(x[i], x[i], 10, ncclFloat, ncclSum, comms[i], nullptr));
    NEED(!ncclGroupEnd());
    for(int i = 0; i < ranks; ++i) {
        GOOD(cudaSetDevice(i));
        NEED(pull(x[i], 10)[9] == 27 && !ncclCommDestroy(comms[i]));
    }
}

static void one_thread_without_group()
{
    ncclComm_t comms[2];
    float *x = array(10);
    NEED(!ncclCommInitAll(comms, 2, nullptr));
    NEED(!ncclAllReduce(x, x, 10, ncclFloat, ncclSum, comms[0], nullptr));
    GOOD(cudaSetDevice(1));
    x = array(10);
    NEED(ncclAllReduce(x, x, 10, ncclFloat, ncclSum, comms[1], nullptr) == ncclInvalidUsage);
    NEED(!ncclCommAbort(comms[0]) && !ncclCommAbort(comms[1]));
}

static void two_ranks_on_a_device()
{
    int list[2] = {1, 1};
    ncclComm_t comms[2];
    NEED(ncclCommInitAll(comms, 2, list) == ncclInvalidUsage);
}

static void different_calls()
{
    std::atomic<int> refused{0};
    each_rank([&refused](int rank, ncclComm_t comm) {
        float *x = array(10);
        ncclResult_t error =
            ncclAllReduce(x, x, rank == 1 ? 9 : 10, ncclFloat, ncclSum, comm, nullptr);
        refused += error == ncclInvalidUsage;
        if(error) NEED(error == ncclInvalidUsage);
        /* Long enough for all to have called: who is first is not fixed. */
        while(!refused) usleep(1000);
        usleep(100000);
        NEED(!ncclCommAbort(comm));
    });
    NEED(refused >= 1);
}

/* One rank's call fails; the others wait until they are told to give up. */
static void failed_rank()
{
    std::atomic<int> failed{0};
    each_rank([&failed](int rank, ncclComm_t comm) {
        float *x = array(10);
        ncclResult_t error = ncclAllReduce(x, x, 10, ncclFloat, ncclSum, comm, nullptr);
        NEED((error == ncclUnhandledCudaError) == (rank == 1));
        NEED(rank != 1 || !strcmp(ncclGetErrorString(error), "unhandled cuda error"));
        if(rank == 1) failed = 1;
        std::thread watcher([&] {
            while(!failed) usleep(1000);
            if(rank != 1) usleep(20000);
            NEED(!ncclCommAbort(comm));
        });
        GOOD(cudaStreamSynchronize(nullptr));
        watcher.join();
    });
}

static void rank_on_broken_device()
{
    each_rank([](int rank, ncclComm_t comm) {
        float *x = array(10);
        ncclResult_t error;
        add<float, 1><<<1, 10>>>(x, 10);
        if(rank == 1) NEED(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
        NEED(!ncclCommGetAsyncError(comm, &error) && (error != ncclSuccess) == (rank == 1));
        error = ncclAllReduce(x, x, 10, ncclFloat, ncclSum, comm, nullptr);
        NEED((error == ncclUnhandledCudaError) == (rank == 1));
        NEED(!ncclCommAbort(comm));
        NEED((cudaDeviceSynchronize() == cudaSuccess) == (rank != 1));
    });
}

static void absent_rank()
{
    each_rank([](int rank, ncclComm_t comm) {
        float *x = array(10);
        if(rank != 1) NEED(!ncclAllReduce(x, x, 10, ncclFloat, ncclSum, comm, nullptr));
        if(rank != 1) cudaDeviceSynchronize();
        sleep(10);
    });
}

/* All have called; one gives up, or its device breaks, before the collective is held. */
static void lost_rank()
{
    std::atomic<int> called{0};
    each_rank([&called](int rank, ncclComm_t comm) {
        float *x = array(10);
        add<float, 1><<<1, 10>>>(x, 10);
        NEED(!ncclAllReduce(x, x, 10, ncclFloat, ncclSum, comm, nullptr));
        bool gives_up = rank == 1 && !getenv("FAKE_CUDA_FAIL");
        if(gives_up) {
            NEED(!ncclCommAbort(comm));
            GOOD(cudaDeviceSynchronize());
        }
        ++called;
        while(called < ranks) usleep(1000);
        if(!gives_up) cudaDeviceSynchronize();
    });
}

/* ---- all cases */

#ifdef __SANITIZE_ADDRESS__
#define PAST_END SIGABRT, "use-after-poison"
#else
#define PAST_END 0, "write_at has written outside an allocation of 40 bytes"
#endif

static const test_case cases[] = {
    {"devices", "DEVICES=3 CUDA_VISIBLE_DEVICES=2,0,7,1 MEMORY_MB=5,6", devices, 0, ""},
    {"no devices", "DEVICES=0", no_devices, 0, ""},
    {"no visible devices", "DEVICES=2 CUDA_VISIBLE_DEVICES=", no_devices, 0, ""},
    {"no driver", "FAIL=cudaGetDeviceCount:1:0", no_driver, 0, ""},

    {"kernels", "", kernels, 0, ""},
    {"kernels, deferred", "ASYNC=1", kernels, 0, ""},
    {"kernels, guarded", "GUARD=1", kernels, 0, ""},
    {"kernels, reversed", "REVERSE=1", kernels, 0, ""},
    {"missing barrier", "", missing_barrier, 0, "0 wrong"},
    {"missing barrier, reversed", "REVERSE=1", missing_barrier, 0, "62 wrong"},
    {"bad configuration", "", bad_configuration, 0, "block 1025,1,1"},

    {"write past the end", "", write_past_end, PAST_END},
    {"host pointer", "", host_pointer, 0, "argument 1, 0x"},
    {"foreign pointer", "DEVICES=2", foreign_pointer, 0, "is memory of device 0"},
    {"foreign stream", "DEVICES=2", foreign_stream, 0, "the stream is device 0's"},
    {"destroyed stream", "", destroyed_stream, 0, "is no stream"},
    {"copy past the end", "", copy_past_end, 0, "44 bytes are past the end of the source"},
    {"wrong direction", "", wrong_direction, 0, "the target is on a device"},
    {"double free", "", double_free, 0, "is no allocation, or free already"},
    {"fresh memory", "", fresh_memory, 0, ""},
    {"out of memory", "MEMORY_MB=4", out_of_memory, 0, ""},
    {"out of memory, guarded", "MEMORY_MB=4 GUARD=1", out_of_memory, 0, ""},
    {"pinned memory", "GUARD=1", pinned_memory, 0, ""},
    {"host reads device memory", "", read_on_host, 0, "reads 3"},
    {"host reads device memory, guarded", "GUARD=1", read_on_host, SIGSEGV, ""},

    {"peers", "DEVICES=2", peers, 0, ""},
    {"peers, guarded and deferred", "DEVICES=2 GUARD=1 ASYNC=1", peers, 0, ""},
    {"no peers", "DEVICES=2 P2P=0", no_peers, 0, "not of the device that is said"},
    {"threads and devices", "DEVICES=3", threads_and_devices, 0, ""},
    {"threads and devices, deferred", "DEVICES=3 ASYNC=1 GUARD=1", threads_and_devices, 0, ""},

    {"not waited for", "ASYNC=1", not_waited_for, 0, ""},
    {"events", "ASYNC=1", events, 0, ""},
    {"default stream", "ASYNC=1", default_stream, 0, ""},
    {"host function", "", host_function, 0, "called by a stream's host function"},
    {"host function, deferred", "ASYNC=1", host_function, 0, ""},
    {"timing", "DEVICES=2", timing, 0, "the event is device 0's"},

    {"third allocation", "DEVICES=2 FAIL=cudaMalloc:3:1", third_allocation, 0, "as ordered"},
    {"second copy", "FAIL=cudaMemcpyAsync:2+:0:214", from_second_copy_on, 0,
     "nr 4 on device 0"},
    {"broken device", "DEVICES=2 ASYNC=1 FAIL=launch:2:0", broken_device, 0,
     "device 0 is broken"},
    {"libraries fail",
     "FAIL=cublasCreate:1:0:3,cublasSgemm:2:0,curandGenerateUniform:1:0,cudnnCreate:1:0",
     libraries_fail, 0, "as ordered"},
    {"bad order", "FAIL=cudaMalloc", no_driver, SIGABRT, "is not call:n:device"},
    {"report", "REPORT=1", report, 0,
     "device 0: launches 1 gemms 0 convolutions 0 collectives 0 copies 3 bytes 100 streams 1 "
     "events 0 handles 0 allocations 2 peak 512 live 256"},

    {"products", "", products, 0, ""},
    {"products, guarded and deferred", "GUARD=1 ASYNC=1", products, 0, ""},
    {"products in parts", "", products_in_parts, 0, ""},
    {"vectors", "", vectors, 0, ""},
    {"product past the end", "", product_past_end, 0, "argument 3 needs 64 bytes"},
    {"foreign handle", "DEVICES=2", foreign_handle, 0, "the handle is device 0's"},
    {"random numbers", "ASYNC=1", random_numbers, 0, ""},

    {"convolutions", "", convolutions, 0, ""},
    {"convolutions, guarded and deferred", "GUARD=1 ASYNC=1", convolutions, 0, ""},
    {"determinism", "", determinism, 0, ""},
    {"small workspace", "", small_workspace, 0, "a workspace of 16 bytes"},
    {"convolution past the end", "", convolution_past_end, 0, "argument 2 needs 576 bytes"},
    {"batch normalization", "", batch_normalization, 0, ""},

    {"collectives", "DEVICES=3", collectives, 0, ""},
    {"collectives, guarded and deferred", "DEVICES=3 GUARD=1 ASYNC=1", collectives, 0, ""},
    {"fixed order", "DEVICES=3", fixed_order, 0, ""},
    {"one thread in a group", "DEVICES=3", one_thread_in_a_group, 0, ""},
    {"one thread in a group, deferred", "DEVICES=3 ASYNC=1", one_thread_in_a_group, 0, ""},
    {"one thread without a group", "DEVICES=2", one_thread_without_group, 0, "outside a group"},
    {"two ranks on a device", "DEVICES=2", two_ranks_on_a_device, 0,
     "rank 0 on device 1, rank 1"},
    {"different calls", "DEVICES=3", different_calls, 0, "count 9"},
    {"failed rank", "DEVICES=3 FAIL=ncclAllReduce:1:1", failed_rank, 0, "as ordered"},
    {"failed rank, deferred", "DEVICES=3 ASYNC=1 FAIL=ncclAllReduce:1:1", failed_rank, 0, ""},
    {"rank on a broken device", "DEVICES=3 FAIL=launch:1:1", rank_on_broken_device, 0,
     "device 1"},
    {"rank that gives up", "DEVICES=3 ASYNC=1 TIMEOUT=1", lost_rank, SIGABRT,
     "a rank has given up"},
    {"rank whose device breaks", "DEVICES=3 ASYNC=1 TIMEOUT=1 FAIL=launch:1:2", lost_rank,
     SIGABRT, "a rank's device is broken"},
    {"absent rank", "DEVICES=3 TIMEOUT=1", absent_rank, SIGABRT, "a rank has not come 1"},
};

int main()
{
    std::vector<CMUnitTest> tests;
    for(const test_case &test : cases)
        tests.push_back({test.name, run_case, nullptr, nullptr, (void *)&test});
    return _cmocka_run_group_tests("stand_in", tests.data(), tests.size(), nullptr, nullptr);
}
