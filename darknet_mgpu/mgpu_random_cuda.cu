/* mgpu_random_cuda.cu: the streams of mgpu_random.h, drawn on a CUDA device. */
#include "mgpu_random_cuda.h"

#include "cuda_runtime.h"

#define THREADS 256
#define MOST_BLOCKS 4096
#define ROUNDS 10

/* mgpu_philox, of mgpu_random.c. */
__device__ static void philox(uint32_t c[4], uint32_t k0, uint32_t k1)
{
    for(int i = 0; i < ROUNDS; ++i) {
        uint64_t p0 = (uint64_t)0xD2511F53 * c[0];
        uint64_t p1 = (uint64_t)0xCD9E8D57 * c[2];
        c[0] = (uint32_t)(p1 >> 32) ^ c[1] ^ k0;
        c[1] = (uint32_t)p1;
        c[2] = (uint32_t)(p0 >> 32) ^ c[3] ^ k1;
        c[3] = (uint32_t)p0;
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
}

/* Each thread draws blocks of four numbers of a row. */
__global__ static void uniform(float *x, size_t rows, int n, uint64_t seed, uint64_t step,
                               uint32_t purpose, int first, int width, int stride)
{
    size_t quarter = (n + 3) / 4, all = (size_t)gridDim.x * blockDim.x;
    for(size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < rows * quarter; i += all) {
        int row = i / quarter, block = i % quarter;
        uint32_t c[4] = {(uint32_t)block, (uint32_t)(first + row % width + row / width * stride),
                         (uint32_t)step, (uint32_t)(step >> 32 & 0xffff) | purpose << 16};
        philox(c, (uint32_t)seed, (uint32_t)(seed >> 32));
        float *to = x + (size_t)row * n + (size_t)block * 4;
        for(int k = 0; k < 4 && block * 4 + k < n; ++k) to[k] = (c[k] >> 8) * 0x1p-24f;
    }
}

void mgpu_uniform_gpu(float *x, int rows, int n, uint64_t seed, uint64_t step, unsigned purpose,
                      int first, int width, int stride)
{
    size_t blocks = ((size_t)rows * ((n + 3) / 4) + THREADS - 1) / THREADS;
    if(blocks > MOST_BLOCKS) blocks = MOST_BLOCKS;
    if(blocks) {
        uniform<<<blocks, THREADS>>>(x, rows, n, seed, step, purpose, first, width, stride);
    }
}
