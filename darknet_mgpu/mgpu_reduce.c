/* mgpu_reduce.c: merge and update over ranges of memory. */
#include "mgpu_reduce.h"

#include <math.h>

#define LINE 16 /* floats to a cache line */

/* Blocks keep u in the first-level cache while replica after replica is added. */
#define BLOCK 1024

static void add_and_clear(float *restrict u, float *restrict g, size_t n)
{
    for(size_t i = 0; i < n; ++i) {
        u[i] += g[i];
        g[i] = 0;
    }
}

static void apply(float *restrict w, float *restrict u, size_t n, mgpu_rule rule)
{
    if(rule.decay != 0) {
        for(size_t i = 0; i < n; ++i) u[i] += rule.decay * w[i];
    }
    for(size_t i = 0; i < n; ++i) {
        w[i] += rule.rate * u[i];
        u[i] *= rule.momentum;
    }
}

static void clip(float *w, size_t n, float most)
{
    for(size_t i = 0; i < n; ++i) w[i] = w[i] > most ? most : w[i] < -most ? -most : w[i];
}

static void apply_adam(float *restrict w, float *restrict u, float *restrict m,
                       float *restrict v, size_t n, mgpu_rule rule)
{
    for(size_t i = 0; i < n; ++i) {
        float d = u[i] + rule.decay * w[i];
        m[i] = rule.b1 * m[i] + (1 - rule.b1) * d;
        v[i] = rule.b2 * v[i] + (1 - rule.b2) * (d * d);
        w[i] += rule.rate * (m[i] / rule.unbias1) / (sqrtf(v[i] / rule.unbias2) + rule.eps);
        u[i] = 0;
    }
}

void mgpu_merge_range(float *u, float *const *g, int ng, size_t from, size_t to)
{
    for(size_t at = from; at < to; at += BLOCK) {
        size_t n = to - at < BLOCK ? to - at : BLOCK;
        for(int i = 0; i < ng; ++i) add_and_clear(u + at, g[i] + at, n);
    }
}

void mgpu_update_range(float *w, float *u, float *const *g, int ng, size_t from, size_t to,
                       mgpu_rule rule)
{
    for(size_t at = from; at < to; at += BLOCK) {
        size_t n = to - at < BLOCK ? to - at : BLOCK;
        for(int i = 0; i < ng; ++i) add_and_clear(u + at, g[i] + at, n);
        apply(w + at, u + at, n, rule);
        if(rule.clip != 0) clip(w + at, n, rule.clip);
    }
}

void mgpu_adam_range(float *w, float *u, float *m, float *v, float *const *g, int ng,
                     size_t from, size_t to, mgpu_rule rule)
{
    for(size_t at = from; at < to; at += BLOCK) {
        size_t n = to - at < BLOCK ? to - at : BLOCK;
        for(int i = 0; i < ng; ++i) add_and_clear(u + at, g[i] + at, n);
        apply_adam(w + at, u + at, m + at, v + at, n, rule);
        if(rule.clip != 0) clip(w + at, n, rule.clip);
    }
}

void mgpu_part(size_t length, int i, int n, size_t *from, size_t *to)
{
    size_t lines = (length + LINE - 1) / LINE;
    *from = lines * i / n * LINE;
    *to = lines * (i + 1) / n * LINE;
    if(*from > length) *from = length;
    if(*to > length) *to = length;
}
