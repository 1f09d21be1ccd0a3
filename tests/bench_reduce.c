/* bench_reduce.c: how fast merging and updating goes through memory, against what this
 * machine's memory gives in the same run.
 *
 *   bench_reduce [THREADS]
 *       for 1, 2, 4 and 8 replicas a line: replicas, GB/s of mgpu_update_range on all threads,
 *       GB/s of a triad, a[i] = b[i] + s * c[i], right before and after it, and their ratio;
 *       medians of ROUNDS
 *
 * Bytes are what the loops read and write: 12 a float of the triad; of the update 16, for
 * weight and momentum, and 8 for each gradient that is added (of one device's none is: its
 * layers add to the momentum itself). */
#include "mgpu_reduce.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FLOATS ((size_t)16 << 20) /* 64 MB an array: more than a cache */
#define ROUNDS 9
#define MOST 64

static pthread_barrier_t barrier;
static float *arrays[10]; /* w, u, g... */
static int threads, merged;
static double seconds[2];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static void triad(float *restrict a, const float *restrict b, const float *restrict c, size_t n)
{
    for(size_t i = 0; i < n; ++i) a[i] = b[i] + .5f * c[i];
}

static void run(int what, size_t from, size_t to)
{
    static const mgpu_rule rule = {.rate = 1e-6f, .decay = -1e-3f, .momentum = .9f};
    if(what)
        mgpu_update_range(arrays[0], arrays[1], arrays + 2, merged, from, to, rule);
    else
        triad(arrays[9] + from, arrays[0] + from, arrays[1] + from, to - from);
}

/* All threads do their part of one, then of the other; thread 0 takes the time. */
static void *work(void *number)
{
    size_t from, to;
    int me = (int)(size_t)number;
    mgpu_part(FLOATS, me, threads, &from, &to);
    for(int what = 0; what < 2; ++what) {
        pthread_barrier_wait(&barrier);
        double began = now();
        run(what, from, to);
        pthread_barrier_wait(&barrier);
        if(!me) seconds[what] = now() - began;
    }
    return 0;
}

static void run_all(void)
{
    pthread_t thread[MOST];
    for(int i = 0; i < threads; ++i) pthread_create(thread + i, 0, work, (void *)(size_t)i);
    for(int i = 0; i < threads; ++i) pthread_join(thread[i], 0);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x)
{
    qsort(x, ROUNDS, sizeof *x, by_size);
    return x[ROUNDS / 2];
}

int main(int argc, char **argv)
{
    cpu_set_t set;
    threads = argc > 1                                 ? atoi(argv[1])
              : sched_getaffinity(0, sizeof set, &set) ? 1
                                                       : CPU_COUNT(&set);
    if(threads < 1 || threads > MOST) return 2;
    pthread_barrier_init(&barrier, 0, threads);
    for(int i = 0; i < 10; ++i) {
        arrays[i] = aligned_alloc(64, FLOATS * sizeof(float));
        if(!arrays[i]) return 1;
        memset(arrays[i], 0, FLOATS * sizeof(float));
    }
    printf("replicas, update GB/s, triad GB/s, ratio; %d threads\n", threads);
    for(int replicas = 1; replicas <= 8; replicas *= 2) {
        double update[ROUNDS], memory[ROUNDS], ratio[ROUNDS];
        merged = replicas - 1;
        for(int round = -1; round < ROUNDS; ++round) {
            run_all();
            if(round < 0) continue;
            memory[round] = 12e-9 * FLOATS / seconds[0];
            update[round] = (16 + 8 * merged) * 1e-9 * FLOATS / seconds[1];
            ratio[round] = update[round] / memory[round];
        }
        printf("%d %.1f %.1f %.2f\n", replicas, median(update), median(memory), median(ratio));
    }
    return 0;
}
