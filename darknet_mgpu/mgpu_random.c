/* mgpu_random.c: a counter-based generator in place of rand(). */
#include "mgpu_random.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#define ROUNDS 10
#define SHARED 0xffffffffu /* the last counter word of the shared stream */

static _Thread_local struct {
    int begun, muted;
    uint32_t key[2];
    uint32_t counter[4]; /* draws so far, row, step, step and purpose */
} stream;

static atomic_uint_fast64_t shared_seed = 1; /* as rand() starts */
static atomic_uint_fast32_t shared_start;    /* which of the seed's streams */
static int fixed;
static atomic_uint_fast64_t shared_count;

void mgpu_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for(int i = 0; i < ROUNDS; ++i) {
        uint64_t p0 = (uint64_t)0xD2511F53 * c0;
        uint64_t p1 = (uint64_t)0xCD9E8D57 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

void mgpu_random_begin(uint64_t seed, uint64_t step, unsigned purpose, uint32_t row)
{
    stream.begun = 1;
    stream.key[0] = (uint32_t)seed;
    stream.key[1] = (uint32_t)(seed >> 32);
    stream.counter[0] = 0;
    stream.counter[1] = row;
    stream.counter[2] = (uint32_t)step;
    stream.counter[3] = (uint32_t)(step >> 32 & 0xffff) | purpose << 16;
}

void mgpu_random_end(void)
{
    stream.begun = 0;
}

void mgpu_random_mute(int mute)
{
    stream.muted = mute;
}

int mgpu_rand(void)
{
    uint32_t out[4];
    if(stream.muted) return 0;
    if(stream.begun) {
        mgpu_philox(stream.counter, stream.key, out);
        ++stream.counter[0];
    } else {
        uint64_t count = atomic_fetch_add(&shared_count, 1);
        uint64_t seed = atomic_load(&shared_seed);
        uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
        uint32_t counter[4] = {(uint32_t)count, (uint32_t)(count >> 32),
                               (uint32_t)atomic_load(&shared_start), SHARED};
        mgpu_philox(counter, key, out);
    }
    return (int)(out[0] >> 1);
}

void mgpu_random_uniform(float *x, size_t n)
{
    uint32_t out[4];
    for(size_t i = 0; i < n; ++i) {
        if(i % 4 == 0) {
            mgpu_philox(stream.counter, stream.key, out);
            ++stream.counter[0];
        }
        x[i] = (out[i % 4] >> 8) * 0x1p-24f;
    }
}

void mgpu_srand(unsigned int seed)
{
    if(fixed) {
        atomic_fetch_add(&shared_start, 1);
    } else {
        atomic_store(&shared_seed, seed);
    }
    atomic_store(&shared_count, 0);
}

void mgpu_random_fix(uint64_t seed)
{
    fixed = 1;
    atomic_store(&shared_seed, seed);
    atomic_store(&shared_start, 0);
    atomic_store(&shared_count, 0);
}

float mgpu_rand_normal(void)
{
    double radius = (mgpu_rand() + 1.) / (RAND_MAX + 1.); /* in (0, 1]: log is finite */
    double angle = mgpu_rand() / (RAND_MAX + 1.) * 6.283185307179586;
    return (float)(sqrt(-2 * log(radius)) * cos(angle));
}
