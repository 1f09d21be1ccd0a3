/* fake_cuda_kernels.h: what a .cu file needs besides the runtime's functions. The fake
 * nvcc turns `kernel<<<grid, block, shared, stream>>>(...)` into
 * `fake_cuda::kernel<&kernel>("kernel", fake_cuda::config(grid, block, shared, stream))(...)`.
 */
#ifndef FAKE_CUDA_KERNELS_H
#define FAKE_CUDA_KERNELS_H

#include <cmath>
#include <functional>
#include <tuple>
#include <type_traits>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
/* A thread of the host runs one block at a time. */
#define __shared__ static thread_local

extern __thread uint3 threadIdx;
extern __thread uint3 blockIdx;
extern __thread dim3 blockDim;
extern __thread dim3 gridDim;
static const int warpSize = 32;

/* Parks the calling thread of the block until all others have come here or returned. */
void __syncthreads();

template <class A, class B> static inline std::common_type_t<A, B> min(A a, B b)
{
    return a < b ? a : b;
}

template <class A, class B> static inline std::common_type_t<A, B> max(A a, B b)
{
    return a > b ? a : b;
}

static inline float3 make_float3(float x, float y, float z)
{
    float3 all = {x, y, z};
    return all;
}

static inline float rsqrtf(float x)
{
    return 1.f / sqrtf(x);
}

template <class T> static inline T __ldg(const T *address)
{
    return *address;
}

template <class T> static inline T atomicAdd(T *address, T value)
{
    T old;
    __atomic_load(address, &old, __ATOMIC_RELAXED);
    T sum = old + value;
    while(
        !__atomic_compare_exchange(address, &old, &sum, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        sum = old + value;
    return old;
}

namespace fake_cuda
{

struct config {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
    config(dim3 g, dim3 b, size_t bytes = 0, cudaStream_t s = nullptr)
        : grid(g), block(b), shared(bytes), stream(s)
    {
    }
};

/* Gives threadIdx the next thread of the block that has not begun; 0 if all have. */
extern __thread unsigned int threads_left;
extern __thread int reverse_threads;

static inline bool next_thread()
{
    if(!threads_left) return false;
    unsigned int left = threads_left--;
    unsigned int i = reverse_threads ? left - 1 : blockDim.x * blockDim.y * blockDim.z - left;
    threadIdx.x = i;
    threadIdx.y = threadIdx.z = 0;
    if(i >= blockDim.x) {
        threadIdx.x = i % blockDim.x;
        i /= blockDim.x;
        threadIdx.y = i % blockDim.y;
        threadIdx.z = i / blockDim.y;
    }
    return true;
}

/* The block's `extern __shared__` array. */
void *dynamic_shared();

/* Queues a launch after checking it. `threads` runs every thread of a block not begun yet. */
void launch(const char *name, const config &where, const std::vector<const void *> &pointers,
            std::function<void()> threads);

template <auto F> class kernel;

template <class... P, void (*F)(P...)> class kernel<F>
{
    const char *name;
    config where;

    template <class T> static void collect(std::vector<const void *> &pointers, T argument)
    {
        if constexpr(std::is_pointer_v<T> && !std::is_function_v<std::remove_pointer_t<T>>)
            pointers.push_back((const void *)argument);
    }

  public:
    kernel(const char *n, const config &c) : name(n), where(c)
    {
    }

    void operator()(P... arguments) const
    {
        std::vector<const void *> pointers;
        (collect<P>(pointers, arguments), ...);
        std::tuple<P...> all(arguments...);
        launch(name, where, pointers, [all] {
            while(next_thread()) std::apply(F, all);
        });
    }
};

} // namespace fake_cuda
#endif
