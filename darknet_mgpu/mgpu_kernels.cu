/* mgpu_kernels.cu: kernels and the functions that launch them. */
#include "cuda_runtime.h"
#include "curand.h"
#include "cublas_v2.h"

extern "C" {
#include "cuda.h"
}
#include "mgpu_kernels.h"

/* Which of n pieces of work this thread does. */
__device__ static int piece(void)
{
    return (blockIdx.x + blockIdx.y * gridDim.x) * blockDim.x + threadIdx.x;
}

/* ---- batch normalisation: a block of BLOCK threads to a channel, or a thread to a value ---- */

/* Where value i of a channel's rows * size stands. */
__device__ static size_t place(mgpu_shape s, int channel, int i)
{
    return ((size_t)(i / s.size) * s.channels + channel) * s.size + i % s.size;
}

__device__ static int channel_of(mgpu_shape s, int i)
{
    return i / s.size % s.channels;
}

/* Mean and sum of squares about it, of `count` values (Welford 1962); combined pairwise (Chan,
 * Golub, LeVeque 1979). */
__global__ static void statistics_kernel(mgpu_shape s, const float *x, float *copy, float *mean,
                                         float *variance)
{
    __shared__ float means[BLOCK], squares[BLOCK];
    __shared__ int counts[BLOCK];
    int t = threadIdx.x, n = s.rows * s.size, count = 0;
    float m = 0, square = 0;
    for(int i = t; i < n; i += BLOCK) {
        size_t at = place(s, blockIdx.x, i);
        float value = x[at], off = value - m;
        copy[at] = value;
        m += off / ++count;
        square += off * (value - m);
    }
    means[t] = m;
    squares[t] = square;
    counts[t] = count;
    for(int half = BLOCK / 2; half; half /= 2) {
        __syncthreads();
        if(t >= half || !counts[t + half]) continue;
        float off = means[t + half] - means[t];
        float part = (float)counts[t + half] / (counts[t] + counts[t + half]);
        means[t] += off * part;
        squares[t] += squares[t + half] + off * off * counts[t] * part;
        counts[t] += counts[t + half];
    }
    if(t) return;
    mean[blockIdx.x] = means[0];
    variance[blockIdx.x] = squares[0] / (n - 1);
}

__global__ static void move_kernel(int n, const float *mean, const float *variance,
                                   float *running_mean, float *running_variance)
{
    int i = piece();
    if(i >= n) return;
    running_mean[i] = .99f * running_mean[i] + .01f * mean[i];
    running_variance[i] = .99f * running_variance[i] + .01f * variance[i];
}

__global__ static void normalize_kernel(mgpu_shape s, int n, const float *x, const float *mean,
                                        const float *variance, const float *scales,
                                        const float *biases, float *y)
{
    int i = piece();
    if(i >= n) return;
    int c = channel_of(s, i);
    y[i] = (x[i] - mean[c]) / (sqrtf(variance[c]) + .000001f) * scales[c] + biases[c];
}

__global__ static void sums_kernel(mgpu_shape s, const float *x, const float *delta,
                                   const float *mean, const float *variance,
                                   const float *scales, float *scale_updates,
                                   float *bias_updates, float *mean_delta,
                                   float *variance_delta)
{
    __shared__ float deltas[BLOCK], products[BLOCK];
    int t = threadIdx.x, c = blockIdx.x, n = s.rows * s.size;
    float m = mean[c], sum = 0, product = 0;
    for(int i = t; i < n; i += BLOCK) {
        size_t at = place(s, c, i);
        sum += delta[at];
        product += delta[at] * (x[at] - m);
    }
    deltas[t] = sum;
    products[t] = product;
    for(int half = BLOCK / 2; half; half /= 2) {
        __syncthreads();
        if(t >= half) continue;
        deltas[t] += deltas[t + half];
        products[t] += products[t + half];
    }
    if(t) return;
    float deviation = sqrtf(variance[c] + .00001f);
    bias_updates[c] += deltas[0];
    scale_updates[c] += products[0] / (sqrtf(variance[c]) + .000001f);
    mean_delta[c] = -scales[c] * deltas[0] / deviation;
    variance_delta[c] = -.5f * scales[c] * products[0] / (deviation * deviation * deviation);
}

__global__ static void delta_kernel(mgpu_shape s, int n, const float *x, const float *mean,
                                    const float *variance, const float *scales,
                                    const float *mean_delta, const float *variance_delta,
                                    float *delta)
{
    int i = piece();
    if(i >= n) return;
    int c = channel_of(s, i), values = s.rows * s.size;
    delta[i] = delta[i] * scales[c] / sqrtf(variance[c] + .00001f) +
               (2 * variance_delta[c] * (x[i] - mean[c]) + mean_delta[c]) / values;
}

void mgpu_statistics_gpu(mgpu_shape s, const float *x, float *copy, float *mean,
                         float *variance)
{
    statistics_kernel<<<s.channels, BLOCK>>>(s, x, copy, mean, variance);
    check_error(cudaPeekAtLastError());
}

void mgpu_move_statistics_gpu(int n, const float *mean, const float *variance,
                              float *running_mean, float *running_variance)
{
    move_kernel<<<cuda_gridsize(n), BLOCK>>>(n, mean, variance, running_mean, running_variance);
    check_error(cudaPeekAtLastError());
}

void mgpu_normalize_gpu(mgpu_shape s, const float *x, const float *mean, const float *variance,
                        const float *scales, const float *biases, float *y)
{
    int n = s.rows * s.channels * s.size;
    normalize_kernel<<<cuda_gridsize(n), BLOCK>>>(s, n, x, mean, variance, scales, biases, y);
    check_error(cudaPeekAtLastError());
}

void mgpu_batchnorm_sums_gpu(mgpu_shape s, const float *x, const float *delta,
                             const float *mean, const float *variance, const float *scales,
                             float *scale_updates, float *bias_updates, float *mean_delta,
                             float *variance_delta)
{
    sums_kernel<<<s.channels, BLOCK>>>(s, x, delta, mean, variance, scales, scale_updates,
                                       bias_updates, mean_delta, variance_delta);
    check_error(cudaPeekAtLastError());
}

void mgpu_batchnorm_delta_gpu(mgpu_shape s, const float *x, const float *mean,
                              const float *variance, const float *scales,
                              const float *mean_delta, const float *variance_delta,
                              float *delta)
{
    int n = s.rows * s.channels * s.size;
    delta_kernel<<<cuda_gridsize(n), BLOCK>>>(s, n, x, mean, variance, scales, mean_delta,
                                              variance_delta, delta);
    check_error(cudaPeekAtLastError());
}

/* ---- upsampling: a thread to a value that is written, so that sums have one order ---- */

__global__ static void spread_kernel(int n, const float *small, int w, int h, int stride,
                                     float scale, float *large)
{
    int i = piece();
    if(i >= n) return;
    int x = i % (w * stride), y = i / (w * stride) % (h * stride);
    int image = i / (w * stride) / (h * stride);
    large[i] += scale * small[(image * h + y / stride) * w + x / stride];
}

__global__ static void gather_kernel(int n, float *small, int w, int h, int stride, float scale,
                                     const float *large)
{
    int i = piece();
    if(i >= n) return;
    int x = i % w * stride, y = i / w % h * stride, image = i / w / h;
    const float *from = large + ((size_t)image * h * stride + y) * w * stride + x;
    float sum = 0;
    for(int k = 0; k < stride * stride; ++k) sum += from[k / stride * w * stride + k % stride];
    small[i] += scale * sum;
}

void mgpu_upsample_gpu(float *small, int w, int h, int c, int batch, int stride, int forward,
                       float scale, float *large)
{
    int n = w * h * c * batch;
    if(forward) {
        n *= stride * stride;
        spread_kernel<<<cuda_gridsize(n), BLOCK>>>(n, small, w, h, stride, scale, large);
    } else {
        gather_kernel<<<cuda_gridsize(n), BLOCK>>>(n, small, w, h, stride, scale, large);
    }
    check_error(cudaPeekAtLastError());
}

/* ---- the logistic cost ---- */

__global__ static void logistic_kernel(int n, const float *output, const float *truth,
                                       float *delta, float *cost)
{
    int i = piece();
    if(i >= n) return;
    float t = truth[i], p = output[i], off = p > 0 && p < 1 ? 0 : 1e-7f;
    cost[i] = -t * logf(p + off) - (1 - t) * logf(1 - p + off);
    delta[i] = t - p;
}

void mgpu_logistic_gpu(int n, const float *output, const float *truth, float *delta,
                       float *cost)
{
    logistic_kernel<<<cuda_gridsize(n), BLOCK>>>(n, output, truth, delta, cost);
    check_error(cudaPeekAtLastError());
}

/* ---- cropping: a thread to a value of the output ---- */

typedef struct {
    int w, h, c, out_w, out_h;
    int train, flip, coloured; /* coloured: saturation, exposure and shift hold */
    float angle, saturation, exposure, scale, translate, shift;
} crop;

/* A factor between 1 and `most`, or 1 by that. */
__device__ static float factor(float most, float how_much, float divided)
{
    float f = 1 + how_much * (most - 1);
    return divided > .5f ? 1 / f : f;
}

/* Value k of an image's place, as it is cropped: with its colours changed (in HSV a colour's
 * distance from its brightest part goes with the saturation, and all with the exposure) and
 * put on the layer's scale; 0 outside. r: the row's numbers, shifts: the first row's. */
__device__ static float level(crop a, const float *image, const float *r, const float *shifts,
                              int x, int y, int k)
{
    if(x < 0 || x >= a.w || y < 0 || y >= a.h) return 0;
    const float *at = image + y * a.w + x;
    int plane = a.w * a.h;
    float value = at[k * plane];
    if(!a.coloured) return value * a.scale + a.translate;
    float top = fmaxf(at[0], fmaxf(at[plane], at[2 * plane]));
    value = top - factor(a.saturation, r[0], r[1]) * (top - value);
    value *= factor(a.exposure, r[2], r[3]);
    value = fminf(1, fmaxf(0, value));
    return value * a.scale + a.translate + (shifts[k] - .5f) * a.shift;
}

/* Between four places. */
__device__ static float between(crop a, const float *image, const float *r, const float *shifts,
                                float x, float y, int k)
{
    int left = (int)floorf(x), top = (int)floorf(y);
    float right = x - left, down = y - top;
    return (1 - down) * ((1 - right) * level(a, image, r, shifts, left, top, k) +
                         right * level(a, image, r, shifts, left + 1, top, k)) +
           down * ((1 - right) * level(a, image, r, shifts, left, top + 1, k) +
                   right * level(a, image, r, shifts, left + 1, top + 1, k));
}

/* One of 0..most. */
__device__ static int offset_of(float r, int most)
{
    int offset = (int)(r * (most + 1));
    return offset < most ? offset : most;
}

__global__ static void crop_kernel(crop a, int n, const float *input, const float *numbers,
                                   float *output)
{
    int i = piece();
    if(i >= n) return;
    int column = i % a.out_w, line = i / a.out_w % a.out_h;
    int k = i / a.out_w / a.out_h % a.c, row = i / a.out_w / a.out_h / a.c;
    const float *image = input + (size_t)row * a.w * a.h * a.c, *r = numbers + 8 * row;
    int left = (a.w - a.out_w) / 2, top = (a.h - a.out_h) / 2;
    if(a.train) {
        left = offset_of(r[4], a.w - a.out_w);
        top = offset_of(r[5], a.h - a.out_h);
    }
    int x = a.train && a.flip && r[6] > .5f ? a.w - left - column - 1 : column + left;
    int y = line + top;
    if(!a.train || a.angle == 0) {
        output[i] = level(a, image, r, numbers, x, y, k);
        return;
    }
    float angle = (2 * r[7] - 1) * a.angle, across = x - a.w / 2.f, along = y - a.h / 2.f;
    output[i] = between(a, image, r, numbers,
                        cosf(angle) * across - sinf(angle) * along + a.w / 2.f,
                        sinf(angle) * across + cosf(angle) * along + a.h / 2.f, k);
}

void mgpu_crop_gpu(layer l, network net)
{
    int n = l.batch * l.outputs;
    crop a = {l.w, l.h, l.c, l.out_w, l.out_h, net.train, l.flip};
    a.coloured = net.train && l.c == 3 && (l.saturation != 1 || l.exposure != 1 || l.shift != 0);
    a.angle = l.angle * 3.14159265f / 180;
    a.saturation = l.saturation;
    a.exposure = l.exposure;
    a.shift = l.shift;
    a.scale = l.noadjust ? 1 : 2;
    a.translate = l.noadjust ? 0 : -1;
    crop_kernel<<<cuda_gridsize(n), BLOCK>>>(a, n, net.input_gpu, l.rand_gpu, l.output_gpu);
    check_error(cudaPeekAtLastError());
}

void mgpu_forward_crop_gpu(layer l, network net)
{
    if(net.train) cuda_random(l.rand_gpu, (size_t)l.batch * 8);
    mgpu_crop_gpu(l, net);
}
