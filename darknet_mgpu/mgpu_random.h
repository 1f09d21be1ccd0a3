/* mgpu_random.h: a counter-based generator in place of rand().
 *
 * Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as
 * 1, 2, 3, SC11): number k of a stream is a function of the stream's name and k,
 * so streams need no state of each other and come out the same on any thread. */
#ifndef MGPU_RANDOM_H
#define MGPU_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* The four words of block `counter` under `key`. */
void mgpu_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* Until mgpu_random_end(), what this thread draws is the stream named by seed,
 * step (48 bits), purpose (16 bits) and row. Streams do not nest. */
void mgpu_random_begin(uint64_t seed, uint64_t step, unsigned purpose, uint32_t row);
void mgpu_random_end(void);

/* Fills x with n numbers of [0, 1) from the stream that this thread has begun. */
void mgpu_random_uniform(float *x, size_t n);

/* What a stream is drawn for, mgpu_random_begin's `purpose`: each its own streams. */
enum {
    MGPU_DRAW_ROW = 1,   /* a row of data: step is the number of the batch */
    MGPU_DRAW_SCALE = 2, /* the size of the next batches */
    MGPU_DRAW_LOAD = 3, /* rows that Darknet's own commands load: step is the thread's number */
    MGPU_DRAW_LAYER = 16 /* and up, by layer number: step is the number of the mini-batch */
};

/* While `mute` is not 0, this thread's draws are all 0 and use nothing up. */
void mgpu_random_mute(int mute);

/* 0..RAND_MAX (2^31 - 1), from this thread's stream; where it has begun none, from
 * one stream that the whole process shares. */
int mgpu_rand(void);

/* Starts the shared stream again, at `seed`. A thread's own stream is untouched. */
void mgpu_srand(unsigned int seed);

/* From now on the shared stream is `seed`'s first, and each mgpu_srand() begins the next of
 * its streams, whatever seed it names: Darknet's own commands seed with the time of day. */
void mgpu_random_fix(uint64_t seed);

/* Normal with mean 0 and variance 1, by Box and Muller's transform. */
float mgpu_rand_normal(void);

#endif
