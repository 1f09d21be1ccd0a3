/* dnn_batchnorm.cpp: spatial batch normalisation. A batch is normalised with its biased
 * variance; the running variance gets the unbiased one. */
#include "dnn.h"

#include <cmath>

namespace fake_cuda
{

/* Calls f(index) for every value of a channel. */
template <class F> static void each_value(const cudnnTensorStruct &t, int channel, F f)
{
    for(int n = 0; n < t.n; ++n) {
        size_t start = n * t.row() + channel * t.plane();
        for(size_t i = start; i < start + t.plane(); ++i) f(i);
    }
}

static void moments(const cudnnTensorStruct &t, int channel, const float *x, double *mean,
                    double *variance)
{
    double values = (double)t.n * t.plane(), sum = 0, squares = 0;
    each_value(t, channel, [&](size_t i) { sum += x[i]; });
    *mean = sum / values;
    each_value(t, channel, [&](size_t i) { squares += (x[i] - *mean) * (x[i] - *mean); });
    *variance = squares / values;
}

/* alpha value + beta old; what is overwritten is not read. */
static float blend(float alpha, double value, float beta, float old)
{
    return (float)(alpha * value + (beta ? beta * old : 0));
}

static bool same_shape(const cudnnTensorStruct &a, const cudnnTensorStruct &b)
{
    return a.n == b.n && a.c == b.c && a.h == b.h && a.w == b.w;
}

static cudnnStatus_t check(const char *call, cudnnHandle_t h, cudnnBatchNormMode_t mode,
                           const cudnnTensorStruct &x, const cudnnTensorStruct &per_channel)
{
    cudnnStatus_t status = enter_dnn(call, h);
    if(status) return status;
    if(mode != CUDNN_BATCHNORM_SPATIAL) return CUDNN_STATUS_NOT_SUPPORTED;
    return same_shape(per_channel, {1, x.c, 1, 1}) ? CUDNN_STATUS_SUCCESS
                                                   : CUDNN_STATUS_BAD_PARAM;
}

} // namespace fake_cuda

using namespace fake_cuda;

extern "C" cudnnStatus_t cudnnBatchNormalizationForwardTraining(
    cudnnHandle_t h, cudnnBatchNormMode_t mode, const void *alpha, const void *beta,
    const cudnnTensorDescriptor_t x_shape, const void *x, const cudnnTensorDescriptor_t y_shape,
    void *y, const cudnnTensorDescriptor_t per_channel, const void *scales, const void *biases,
    double factor, void *running_mean, void *running_variance, double epsilon, void *saved_mean,
    void *saved_inverse)
{
    cudnnStatus_t status = check(__func__, h, mode, *x_shape, *per_channel);
    if(status) return status;
    if(!same_shape(*x_shape, *y_shape)) return CUDNN_STATUS_BAD_PARAM;
    cudnnTensorStruct t = *x_shape;
    size_t channels = t.c * sizeof(float);
    library_work work(__func__, h->common);
    work.uses(x, t.bytes());
    work.uses(y, t.bytes());
    work.uses(scales, channels);
    work.uses(biases, channels);
    work.uses(running_mean, running_mean ? channels : 0);
    work.uses(running_variance, running_variance ? channels : 0);
    work.uses(saved_mean, saved_mean ? channels : 0);
    work.uses(saved_inverse, saved_inverse ? channels : 0);
    float a = *(const float *)alpha, b = *(const float *)beta, f = (float)factor;
    bool good = work.queue([=] {
        const float *in = (const float *)x, *scale = (const float *)scales;
        const float *bias = (const float *)biases;
        float *out = (float *)y, *means = (float *)running_mean;
        float *variances = (float *)running_variance;
        for(int c = 0; c < t.c; ++c) {
            double mean, variance, values = (double)t.n * t.plane();
            moments(t, c, in, &mean, &variance);
            double inverse = 1 / sqrt(variance + epsilon);
            each_value(t, c, [&](size_t i) {
                out[i] = blend(a, (in[i] - mean) * inverse * scale[c] + bias[c], b, out[i]);
            });
            double unbiased = values > 1 ? variance * values / (values - 1) : variance;
            if(means) means[c] = blend(f, mean, 1 - f, means[c]);
            if(variances) variances[c] = blend(f, unbiased, 1 - f, variances[c]);
            if(saved_mean) ((float *)saved_mean)[c] = (float)mean;
            if(saved_inverse) ((float *)saved_inverse)[c] = (float)inverse;
        }
    });
    return good ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

extern "C" cudnnStatus_t cudnnBatchNormalizationBackward(
    cudnnHandle_t h, cudnnBatchNormMode_t mode, const void *alpha, const void *beta,
    const void *alpha_updates, const void *beta_updates, const cudnnTensorDescriptor_t x_shape,
    const void *x, const cudnnTensorDescriptor_t dy_shape, const void *dy,
    const cudnnTensorDescriptor_t dx_shape, void *dx, const cudnnTensorDescriptor_t per_channel,
    const void *scales, void *scale_updates, void *bias_updates, double epsilon,
    const void *saved_mean, const void *saved_inverse)
{
    cudnnStatus_t status = check(__func__, h, mode, *x_shape, *per_channel);
    if(status) return status;
    if(!same_shape(*x_shape, *dy_shape) || !same_shape(*x_shape, *dx_shape) ||
       !saved_mean != !saved_inverse)
        return CUDNN_STATUS_BAD_PARAM;
    cudnnTensorStruct t = *x_shape;
    size_t channels = t.c * sizeof(float);
    library_work work(__func__, h->common);
    work.uses(x, t.bytes());
    work.uses(dy, t.bytes());
    work.uses(dx, t.bytes());
    work.uses(scales, channels);
    work.uses(scale_updates, channels);
    work.uses(bias_updates, channels);
    work.uses(saved_mean, saved_mean ? channels : 0);
    work.uses(saved_inverse, saved_inverse ? channels : 0);
    float a = *(const float *)alpha, b = *(const float *)beta;
    float au = *(const float *)alpha_updates, bu = *(const float *)beta_updates;
    bool good = work.queue([=] {
        const float *in = (const float *)x, *delta = (const float *)dy;
        const float *scale = (const float *)scales;
        float *out = (float *)dx, *ds = (float *)scale_updates, *db = (float *)bias_updates;
        for(int c = 0; c < t.c; ++c) {
            double mean, variance, values = (double)t.n * t.plane(), sum = 0, dot = 0;
            moments(t, c, in, &mean, &variance);
            double inverse = 1 / sqrt(variance + epsilon);
            if(saved_mean) mean = ((const float *)saved_mean)[c];
            if(saved_inverse) inverse = ((const float *)saved_inverse)[c];
            each_value(t, c, [&](size_t i) {
                sum += delta[i];
                dot += delta[i] * (in[i] - mean) * inverse;
            });
            each_value(t, c, [&](size_t i) {
                double normalized = (in[i] - mean) * inverse;
                double d = scale[c] * inverse * (delta[i] - (sum + normalized * dot) / values);
                out[i] = blend(a, d, b, out[i]);
            });
            ds[c] = blend(au, dot, bu, ds[c]);
            db[c] = blend(au, sum, bu, db[c]);
        }
    });
    return good ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}
