/* mgpu_reduce_cuda.cu: merge and update in a CUDA device's memory. */
#include "mgpu_reduce_cuda.h"

#include "cuda_runtime.h"

#define THREADS 256
#define MOST_BLOCKS 4096 /* more work is done by each thread in strides */

static unsigned blocks(size_t n)
{
    size_t k = (n + THREADS - 1) / THREADS;
    return k < MOST_BLOCKS ? k : MOST_BLOCKS;
}

__global__ static void merge(float *u, const float *g, size_t n)
{
    size_t stride = (size_t)gridDim.x * blockDim.x;
    for(size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        u[i] += g[i];
    }
}

__device__ static float clipped(float w, mgpu_rule rule)
{
    if(rule.clip == 0) return w;
    return w > rule.clip ? rule.clip : w < -rule.clip ? -rule.clip : w;
}

__global__ static void update(float *w, float *u, size_t n, mgpu_rule rule)
{
    size_t stride = (size_t)gridDim.x * blockDim.x;
    for(size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        float d = u[i];
        if(rule.decay != 0) d += rule.decay * w[i];
        w[i] = clipped(w[i] + rule.rate * d, rule);
        u[i] = d * rule.momentum;
    }
}

__global__ static void adam(float *w, float *u, float *m, float *v, size_t n, mgpu_rule rule)
{
    size_t stride = (size_t)gridDim.x * blockDim.x;
    for(size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        float d = u[i] + rule.decay * w[i];
        m[i] = rule.b1 * m[i] + (1 - rule.b1) * d;
        v[i] = rule.b2 * v[i] + (1 - rule.b2) * (d * d);
        float by = rule.rate * (m[i] / rule.unbias1) / (sqrtf(v[i] / rule.unbias2) + rule.eps);
        w[i] = clipped(w[i] + by, rule);
        u[i] = 0;
    }
}

void mgpu_merge_gpu(float *u, const float *g, size_t n)
{
    if(n) merge<<<blocks(n), THREADS>>>(u, g, n);
}

void mgpu_update_gpu(float *w, float *u, float *m, float *v, size_t n, mgpu_rule rule)
{
    if(n == 0) return;
    if(rule.adam) {
        adam<<<blocks(n), THREADS>>>(w, u, m, v, n, rule);
    } else {
        update<<<blocks(n), THREADS>>>(w, u, n, rule);
    }
}
