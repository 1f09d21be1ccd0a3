/* mgpu_images.c: passes over a layer's images.
 *
 * For each row and group of `block` channels the images have a run of spatial * block floats;
 * 16 of them at a time are one vector, in which lane k is of channel k % block. So planes and
 * blocks are the same loops, with another choice of what is in a channel's lanes. */
#ifdef DNNL
#include "mgpu_images.h"

#include <omp.h>
#include <string.h>

#define LANES 16

/* Groups are dealt out to the device's threads: what is computed does not depend on how many.
 */
#define EACH_THREAD _Pragma("omp parallel for if(omp_get_max_threads() > 1)")

typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));
typedef float loose_lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(4)));
typedef int choice __attribute__((vector_size(LANES * sizeof(float))));

static inline lanes all(float x)
{
    return (lanes){} + x;
}

/* Up to LANES floats; what is not there is as in `missing`. */
static inline lanes load(const float *x, size_t n, lanes missing)
{
    if(n >= LANES) return *(const loose_lanes *)x;
    memcpy(&missing, x, n * sizeof *x);
    return missing;
}

static inline void store(float *x, size_t n, lanes v)
{
    if(n >= LANES) {
        *(loose_lanes *)x = v;
    } else {
        memcpy(x, &v, n * sizeof *x);
    }
}

/* A number for each of a group's channels, in its lanes. */
static inline lanes of_channels(const float *x, int group, int block)
{
    lanes v = {0};
    for(int k = 0; k < LANES; ++k) v[k] = x[group * block + k % block];
    return v;
}

/* Adds each lane to its channel's number. */
static inline void fold(lanes v, int block, double *sums)
{
    for(int k = 0; k < LANES; ++k) sums[k % block] += v[k];
}

static inline lanes pick(choice which, lanes yes, lanes no)
{
    return (lanes)((which & (choice)yes) | (~which & (choice)no));
}

/* a(x), and what it derives to there; a is a constant where this is inlined. */
static inline lanes activated(lanes x, ACTIVATION a)
{
    if(a == LEAKY) return pick(x > 0, x, x * .1f);
    if(a == RELU) return pick(x > 0, x, all(0));
    return x;
}

static inline lanes derived(lanes x, lanes delta, ACTIVATION a)
{
    if(a == LEAKY) return pick(x > 0, delta, delta * .1f);
    if(a == RELU) return pick(x > 0, delta, all(0));
    return delta;
}

int mgpu_images_can(ACTIVATION a)
{
    return a == LINEAR || a == LEAKY || a == RELU;
}

/* ---- moments ---- */

/* Moments of one run, by channel: its mean and the sum of (x - mean)^2. */
static void run_moments(const float *x, size_t n, int block, double *mean, double *squares)
{
    double sums[LANES] = {0};
    float means[LANES] = {0};
    size_t count = n / block;
    lanes sum = all(0);
    for(size_t i = 0; i < n; i += LANES) sum += load(x + i, n - i, all(0));
    fold(sum, block, sums);
    for(int k = 0; k < block; ++k) {
        mean[k] = sums[k] / count;
        means[k] = (float)mean[k];
        mean[k] = means[k]; /* as is taken off */
        sums[k] -= mean[k] * count;
        squares[k] = 0;
    }
    lanes m = of_channels(means, 0, block);
    sum = all(0);
    for(size_t i = 0; i < n; i += LANES) {
        lanes off = load(x + i, n - i, m) - m;
        sum += off * off;
    }
    fold(sum, block, squares);
    for(int k = 0; k < block; ++k) { /* the rounding of the mean */
        squares[k] -= sums[k] * sums[k] / count;
        mean[k] += sums[k] / count;
    }
}

void mgpu_images_moments(mgpu_images im, const float *x, float *mean, float *variance)
{
    size_t n = (size_t)im.spatial * im.block;
    int groups = im.channels / im.block;
    EACH_THREAD for(int g = 0; g < groups; ++g)
    {
        double means[LANES] = {0}, squares[LANES] = {0}, m[LANES], s[LANES];
        for(int row = 0; row < im.rows; ++row) {
            run_moments(x + ((size_t)row * groups + g) * n, n, im.block, m, s);
            for(int k = 0; k < im.block; ++k) { /* Chan, Golub and LeVeque's pairwise rule */
                double off = m[k] - means[k];
                means[k] += off / (row + 1);
                squares[k] += s[k] + off * off * im.spatial * row / (row + 1);
            }
        }
        for(int k = 0; k < im.block; ++k) {
            mean[g * im.block + k] = means[k];
            variance[g * im.block + k] = squares[k] / ((double)im.rows * im.spatial - 1);
        }
    }
}

/* ---- passes ---- */

/* A run: its place, and its channels' numbers in their lanes. */
typedef struct {
    size_t at, n;
    lanes mean, scale, shift;
} run;

static inline run first_run(mgpu_images im, mgpu_affine f, int group)
{
    run r = {0, (size_t)im.spatial * im.block, all(0), all(1), all(0)};
    r.at = group * r.n;
    if(f.mean) r.mean = of_channels(f.mean, group, im.block);
    if(f.scale) r.scale = of_channels(f.scale, group, im.block);
    if(f.shift) r.shift = of_channels(f.shift, group, im.block);
    return r;
}

/* The same group's run in the next row. */
static inline void next_run(mgpu_images im, run *r)
{
    r->at += (size_t)im.channels * im.spatial;
}

#define INLINE static inline __attribute__((always_inline))

INLINE void activate(mgpu_images im, const float *x, mgpu_affine f, ACTIVATION a, float *y)
{
    EACH_THREAD for(int g = 0; g < im.channels / im.block; ++g)
    {
        run r = first_run(im, f, g);
        for(int row = 0; row < im.rows; ++row, next_run(im, &r)) {
            for(size_t i = 0; i < r.n; i += LANES) {
                lanes v = load(x + r.at + i, r.n - i, all(0));
                v = (v - r.mean) * r.scale + r.shift;
                store(y + r.at + i, r.n - i, activated(v, a));
            }
        }
    }
}

INLINE void sums(mgpu_images im, const float *x, mgpu_affine f, ACTIVATION a, float *delta,
                 float *sum, float *dot)
{
    EACH_THREAD for(int g = 0; g < im.channels / im.block; ++g)
    {
        run r = first_run(im, f, g);
        double s[LANES] = {0}, d[LANES] = {0};
        for(int row = 0; row < im.rows; ++row, next_run(im, &r)) {
            lanes of_delta = all(0), of_both = all(0);
            for(size_t i = 0; i < r.n; i += LANES) {
                lanes off = load(x + r.at + i, r.n - i, all(0)) - r.mean;
                lanes e = load(delta + r.at + i, r.n - i, all(0));
                e = derived(off * r.scale + r.shift, e, a);
                store(delta + r.at + i, r.n - i, e);
                of_delta += e;
                of_both += e * off;
            }
            fold(of_delta, im.block, s);
            fold(of_both, im.block, d);
        }
        for(int k = 0; k < im.block; ++k) {
            sum[g * im.block + k] = s[k];
            dot[g * im.block + k] = d[k];
        }
    }
}

/* A loop for each activation. */
void mgpu_images_activate(mgpu_images im, const float *x, mgpu_affine f, ACTIVATION a, float *y)
{
    if(a == LEAKY) {
        activate(im, x, f, LEAKY, y);
    } else if(a == RELU) {
        activate(im, x, f, RELU, y);
    } else {
        activate(im, x, f, LINEAR, y);
    }
}

void mgpu_images_sums(mgpu_images im, const float *x, mgpu_affine f, ACTIVATION a, float *delta,
                      float *sum, float *dot)
{
    if(a == LEAKY) {
        sums(im, x, f, LEAKY, delta, sum, dot);
    } else if(a == RELU) {
        sums(im, x, f, RELU, delta, sum, dot);
    } else {
        sums(im, x, f, LINEAR, delta, sum, dot);
    }
}

void mgpu_images_combine(mgpu_images im, const float *x, mgpu_affine f, const float *scale,
                         float *delta)
{
    EACH_THREAD for(int g = 0; g < im.channels / im.block; ++g)
    {
        run r = first_run(im, f, g);
        lanes by = of_channels(scale, g, im.block);
        for(int row = 0; row < im.rows; ++row, next_run(im, &r)) {
            for(size_t i = 0; i < r.n; i += LANES) {
                lanes v = load(x + r.at + i, r.n - i, all(0));
                lanes d = load(delta + r.at + i, r.n - i, all(0));
                v = (v - r.mean) * r.scale + r.shift;
                store(delta + r.at + i, r.n - i, d * by + v);
            }
        }
    }
}
#endif
