/* mgpu_loops.c: Darknet's loops that a step spends its time in, written for vectors. */
#include "mgpu_loops.h"
#include "mgpu_hooks.h"

#include <math.h>
#include <string.h>

#ifdef MGPU_BLAS
int mgpu_tuned = 1;
#else
int mgpu_tuned = 0;
#endif

/* Of the kernel's positions along one side, `first` to `end` - 1 see the image at `offset`
 * within the kernel; the others see the padding. */
typedef struct {
    int first, end;
} inside;

static inline inside range(int positions, int side, int stride, int pad, int offset)
{
    int before = pad - offset; /* places left of the image at position 0 */
    int first = before > 0 ? (before + stride - 1) / stride : 0;
    int end = (side - 1 + before) < 0 ? 0 : (side - 1 + before) / stride + 1;
    if(end > positions) end = positions;
    if(first > end) first = end;
    return (inside){first, end};
}

int mgpu_im2col(const float *image, int channels, int height, int width, int size, int stride,
                int pad, float *columns)
{
    if(!mgpu_tuned) return 0;
    int rows = (height + 2 * pad - size) / stride + 1;
    int cols = (width + 2 * pad - size) / stride + 1;
    for(int k = 0; k < channels * size * size; ++k) {
        int i = k / size % size, j = k % size;
        const float *from = image + (size_t)(k / size / size) * height * width;
        inside y = range(rows, height, stride, pad, i), x = range(cols, width, stride, pad, j);
        for(int r = 0; r < rows; ++r, columns += cols) {
            if(r < y.first || r >= y.end) {
                memset(columns, 0, cols * sizeof *columns);
                continue;
            }
            const float *line = from + (size_t)(r * stride + i - pad) * width + j - pad;
            memset(columns, 0, x.first * sizeof *columns);
            if(stride == 1) {
                memcpy(columns + x.first, line + x.first, (x.end - x.first) * sizeof *columns);
            } else {
                for(int c = x.first; c < x.end; ++c) columns[c] = line[c * stride];
            }
            memset(columns + x.end, 0, (cols - x.end) * sizeof *columns);
        }
    }
    return 1;
}

int mgpu_col2im(const float *restrict columns, int channels, int height, int width, int size,
                int stride, int pad, float *restrict image)
{
    if(!mgpu_tuned) return 0;
    int rows = (height + 2 * pad - size) / stride + 1;
    int cols = (width + 2 * pad - size) / stride + 1;
    for(int k = 0; k < channels * size * size; ++k) {
        int i = k / size % size, j = k % size;
        float *to = image + (size_t)(k / size / size) * height * width;
        inside y = range(rows, height, stride, pad, i), x = range(cols, width, stride, pad, j);
        for(int r = y.first; r < y.end; ++r) {
            const float *from = columns + ((size_t)k * rows + r) * cols;
            float *line = to + (size_t)(r * stride + i - pad) * width + j - pad;
            if(stride == 1) {
                for(int c = x.first; c < x.end; ++c) line[c] += from[c];
            } else {
                for(int c = x.first; c < x.end; ++c) line[c * stride] += from[c];
            }
        }
    }
    return 1;
}

int mgpu_activate(float *x, int n, ACTIVATION a)
{
    if(!mgpu_tuned) return 0;
    switch(a) {
    case LINEAR:
        return 1;
    case LEAKY:
        for(int i = 0; i < n; ++i) x[i] = x[i] > 0 ? x[i] : .1f * x[i];
        return 1;
    case RELU:
        for(int i = 0; i < n; ++i) x[i] = x[i] > 0 ? x[i] : 0;
        return 1;
    default:
        return 0;
    }
}

int mgpu_gradient(const float *restrict x, int n, ACTIVATION a, float *restrict delta)
{
    if(!mgpu_tuned) return 0;
    switch(a) {
    case LINEAR:
        return 1;
    case LEAKY:
        for(int i = 0; i < n; ++i) delta[i] = x[i] > 0 ? delta[i] : .1f * delta[i];
        return 1;
    case RELU:
        for(int i = 0; i < n; ++i) delta[i] = x[i] > 0 ? delta[i] : 0;
        return 1;
    default:
        return 0;
    }
}

/* The sums below are the same in any build: 16 partial ones, then those. */
#define SUM _Pragma("omp simd reduction(+ : sum) simdlen(16)")

int mgpu_mean(const float *x, int batch, int filters, int spatial, float *mean)
{
    if(!mgpu_tuned) return 0;
    for(int f = 0; f < filters; ++f) {
        float all = 0;
        for(int b = 0; b < batch; ++b) {
            const float *from = x + ((size_t)b * filters + f) * spatial;
            float sum = 0;
            SUM for(int i = 0; i < spatial; ++i) sum += from[i];
            all += sum;
        }
        mean[f] = all / ((float)batch * spatial);
    }
    return 1;
}

int mgpu_variance(const float *x, const float *mean, int batch, int filters, int spatial,
                  float *variance)
{
    if(!mgpu_tuned) return 0;
    for(int f = 0; f < filters; ++f) {
        float all = 0, m = mean[f];
        for(int b = 0; b < batch; ++b) {
            const float *from = x + ((size_t)b * filters + f) * spatial;
            float sum = 0;
            SUM for(int i = 0; i < spatial; ++i) sum += (from[i] - m) * (from[i] - m);
            all += sum;
        }
        variance[f] = all / ((float)batch * spatial - 1);
    }
    return 1;
}

int mgpu_mean_delta(const float *delta, const float *variance, int batch, int filters,
                    int spatial, float *mean_delta)
{
    if(!mgpu_tuned) return 0;
    for(int f = 0; f < filters; ++f) {
        float all = 0;
        for(int b = 0; b < batch; ++b) {
            const float *from = delta + ((size_t)b * filters + f) * spatial;
            float sum = 0;
            SUM for(int i = 0; i < spatial; ++i) sum += from[i];
            all += sum;
        }
        mean_delta[f] = -all / sqrtf(variance[f] + .00001f);
    }
    return 1;
}

int mgpu_variance_delta(const float *x, const float *delta, const float *mean,
                        const float *variance, int batch, int filters, int spatial,
                        float *variance_delta)
{
    if(!mgpu_tuned) return 0;
    for(int f = 0; f < filters; ++f) {
        float all = 0, m = mean[f];
        for(int b = 0; b < batch; ++b) {
            size_t start = ((size_t)b * filters + f) * spatial;
            const float *d = delta + start, *from = x + start;
            float sum = 0;
            SUM for(int i = 0; i < spatial; ++i) sum += d[i] * (from[i] - m);
            all += sum;
        }
        variance_delta[f] = -.5f * all * powf(variance[f] + .00001f, -1.5f);
    }
    return 1;
}
