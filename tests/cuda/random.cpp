/* random.cpp: cuRAND. The i-th number of a generator is a function of its seed and i. */
#include "curand.h"
#include "library.h"

#include <cstdint>

struct curandGenerator_st {
    fake_cuda::handle common;
    uint64_t seed, next;
};

namespace fake_cuda
{

/* A mix of all bits (the finalizer of MurmurHash3). */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 33) * 0xff51afd7ed558ccdull;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ull;
    return x ^ x >> 33;
}

static float uniform(uint64_t seed, uint64_t i)
{
    return ((mix(mix(seed) + i + 1) >> 40) + 1) * 0x1p-24f;
}

static curandStatus_t enter(const char *call, curandGenerator_t g)
{
    return (curandStatus_t)enter_library(call, g ? &g->common : nullptr,
                                         CURAND_STATUS_NOT_INITIALIZED,
                                         CURAND_STATUS_LAUNCH_FAILURE);
}

} // namespace fake_cuda

using namespace fake_cuda;

extern "C" curandStatus_t curandCreateGenerator(curandGenerator_t *g, curandRngType_t)
{
    int status = enter_create("curandCreateGenerator", CURAND_STATUS_INITIALIZATION_FAILED);
    if(!status) *g = new curandGenerator_st{make_handle(), 0, 0};
    return (curandStatus_t)status;
}

extern "C" curandStatus_t curandDestroyGenerator(curandGenerator_t g)
{
    if(!g) return CURAND_STATUS_NOT_INITIALIZED;
    free_handle(g->common);
    delete g;
    return CURAND_STATUS_SUCCESS;
}

extern "C" curandStatus_t curandSetStream(curandGenerator_t g, cudaStream_t stream)
{
    curandStatus_t status = enter("curandSetStream", g);
    if(!status && !set_stream("curandSetStream", g->common, stream))
        status = CURAND_STATUS_TYPE_ERROR;
    return status;
}

extern "C" curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t g,
                                                             unsigned long long seed)
{
    if(!g) return CURAND_STATUS_NOT_INITIALIZED;
    g->seed = seed;
    g->next = 0;
    return CURAND_STATUS_SUCCESS;
}

extern "C" curandStatus_t curandGenerateUniform(curandGenerator_t g, float *output, size_t n)
{
    curandStatus_t status = enter("curandGenerateUniform", g);
    if(status) return status;
    library_work work("curandGenerateUniform", g->common);
    work.uses(output, n * sizeof(float));
    uint64_t seed = g->seed, first = g->next;
    g->next += n;
    return work.queue([=] {
        for(size_t i = 0; i < n; ++i) output[i] = uniform(seed, first + i);
    })
               ? CURAND_STATUS_SUCCESS
               : CURAND_STATUS_LAUNCH_FAILURE;
}
