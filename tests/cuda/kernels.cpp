/* kernels.cpp: launches. A launch is checked, queued, and run block by block. */
#include "cuda_runtime.h"
#include "fibers.h"
#include "memory.h"
#include "streams.h"

#include <cstring>
#include <string>

__thread uint3 threadIdx;
__thread uint3 blockIdx;
__thread dim3 blockDim;
__thread dim3 gridDim;

void __syncthreads()
{
    fake_cuda::park();
}

namespace fake_cuda
{

__thread unsigned int threads_left;
__thread int reverse_threads;

static const unsigned most_threads = 1024, most_shared = 48 << 10;

static thread_local std::vector<float> shared;

void *dynamic_shared()
{
    return shared.data();
}

static unsigned product(const dim3 &d)
{
    return d.x * d.y * d.z;
}

static void run_grid(const config &where, const std::function<void()> &threads)
{
    unsigned blocks = product(where.grid);
    reverse_threads = options().reverse;
    gridDim = where.grid;
    blockDim = where.block;
    for(unsigned i = 0; i < blocks; ++i) {
        unsigned b = reverse_threads ? blocks - 1 - i : i;
        blockIdx = {b % gridDim.x, b / gridDim.x % gridDim.y, b / gridDim.x / gridDim.y};
        if(where.shared) shared.assign(where.shared / sizeof(float) + 1, NAN);
        threads_left = product(where.block);
        run_block(threads, [] { return threads_left > 0; });
    }
}

static bool good_config(const config &c)
{
    const dim3 &b = c.block, &g = c.grid;
    return b.x && b.y && b.z && b.x <= most_threads && b.y <= most_threads && b.z <= 64 &&
           product(b) <= most_threads && g.x && g.y && g.z && g.x <= 0x7fffffff &&
           g.y <= 65535 && g.z <= 65535 && c.shared <= most_shared;
}

static cudaError_t check_launch(const char *name, const config &where, device &d)
{
    if(!good_config(where)) {
        complain("%s on device %d: grid %u,%u,%u block %u,%u,%u shared %zu is no configuration",
                 name, d.number, where.grid.x, where.grid.y, where.grid.z, where.block.x,
                 where.block.y, where.block.z, where.shared);
        return cudaErrorInvalidConfiguration;
    }
    return queue_on(name, where.stream, d) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

void launch(const char *name, const config &where, const std::vector<const void *> &pointers,
            std::function<void()> threads)
{
    runtime_call("cudaLaunchKernel", [&](device &d) {
        cudaError_t error = check_launch(name, where, d);
        if(error) return error;
        ++d.launches;
        auto q = queue_on(name, where.stream, d);
        int failure = ordered_failure("launch", d.number, cudaErrorLaunchFailure);
        submit(q, d.bit() | d.peers, [=, &d] {
            if(failure) return break_device(d, (cudaError_t)failure, name);
            for(size_t i = 0; i < pointers.size(); ++i)
                if(!check_argument(name, (int)i + 1, pointers[i], 0, d)) return;
            run_grid(where, threads);
            for(const void *p : pointers) check_canaries_of(name, p, d);
        });
        return cudaSuccess;
    });
}

} // namespace fake_cuda
