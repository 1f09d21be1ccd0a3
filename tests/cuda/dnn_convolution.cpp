/* dnn_convolution.cpp: convolutions as products with an image's patches. */
#include "dnn.h"

#include <atomic>
#include <cstring>
#include <vector>

namespace fake_cuda
{

namespace
{
/* One call's arrays; the one that is written is among them. */
struct arrays {
    float *x, *w, *y, *patches;
    float alpha, beta;
    int first; /* the image to begin with */
};
} // namespace

/* Calls f(patch, pixel) for every place of a group's patches that lies in the image. */
template <class F> static void each_place(const convolution &c, F f)
{
    size_t patch = 0;
    for(int channel = 0; channel < c.w.c; ++channel)
        for(int i = 0; i < c.w.h; ++i)
            for(int j = 0; j < c.w.w; ++j)
                for(int row = 0; row < c.y.h; ++row)
                    for(int col = 0; col < c.y.w; ++col, ++patch) {
                        int y = row * c.conv.stride_h + i - c.conv.pad_h;
                        int x = col * c.conv.stride_w + j - c.conv.pad_w;
                        if(y >= 0 && y < c.x.h && x >= 0 && x < c.x.w)
                            f(patch, ((size_t)channel * c.x.h + y) * c.x.w + x);
                    }
}

/* One group of one image; row-major matrices are their transposes to multiply(). */
static void convolve_group(convolution_kind kind, const convolution &c, const arrays &a, int n,
                           int group, float beta)
{
    int outputs = c.w.k / c.conv.groups, rows = (int)c.w.row(), pixels = (int)c.y.plane();
    float *x = a.x + n * c.x.row() + group * c.w.c * c.x.plane();
    float *w = a.w + group * outputs * c.w.row();
    float *y = a.y + n * c.y.row() + group * outputs * c.y.plane();
    float *patches = a.patches;
    auto product = c.conv.math == CUDNN_FMA_MATH ? multiply : multiply_rounded;
    if(kind == BACKWARD_DATA) {
        product(false, true, pixels, rows, outputs, a.alpha, y, pixels, w, rows, 0, patches,
                pixels);
        for(size_t i = 0; i < c.w.c * c.x.plane(); ++i) x[i] = beta ? x[i] * beta : 0;
        each_place(c, [=](size_t patch, size_t pixel) { x[pixel] += patches[patch]; });
        return;
    }
    memset(patches, 0, c.patch_bytes());
    each_place(c, [=](size_t patch, size_t pixel) { patches[patch] = x[pixel]; });
    if(kind == FORWARD)
        product(false, false, pixels, outputs, rows, a.alpha, patches, pixels, w, rows, beta, y,
                pixels);
    else
        product(true, false, rows, outputs, pixels, a.alpha, patches, pixels, y, pixels, beta,
                w, rows);
}

static void convolve(convolution_kind kind, const convolution &c, arrays a)
{
    std::vector<float> own(a.patches ? 0 : c.patch_bytes() / sizeof(float));
    if(!a.patches) a.patches = own.data();
    for(int i = 0; i < c.x.n; ++i)
        for(int group = 0; group < c.conv.groups; ++group) {
            float beta = kind == BACKWARD_FILTER && i ? 1 : a.beta;
            convolve_group(kind, c, a, (a.first + i) % c.x.n, group, beta);
        }
}

/* A non-deterministic algorithm begins with another image each time. */
static int first_image(const algorithm &a, const convolution &c)
{
    static std::atomic<unsigned> calls;
    return a.determinism == CUDNN_DETERMINISTIC ? 0 : calls++ % c.x.n;
}

static cudnnStatus_t run(const char *call, cudnnHandle_t h, convolution_kind kind, int number,
                         const convolution &c, arrays a, size_t workspace)
{
    cudnnStatus_t status = enter_dnn(call, h);
    if(status) return status;
    const algorithm *chosen = find_algorithm(kind, number);
    if(!c.good()) return CUDNN_STATUS_BAD_PARAM;
    if(!chosen || chosen->status) return CUDNN_STATUS_NOT_SUPPORTED;
    if(workspace < chosen->memory(c)) {
        complain("%s: a workspace of %zu bytes, the algorithm needs %zu", call, workspace,
                 chosen->memory(c));
        return CUDNN_STATUS_BAD_PARAM;
    }
    library_work work(call, h->common);
    work.uses(a.x, c.x.bytes());
    work.uses(a.w, c.w.bytes());
    work.uses(a.y, c.y.bytes());
    work.uses(a.patches, chosen->memory(c));
    if(chosen->workspace == algorithm::NONE) a.patches = nullptr;
    a.first = first_image(*chosen, c);
    ++h->common.of->convolutions;
    bool good = work.queue([=] { convolve(kind, c, a); });
    return good ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

} // namespace fake_cuda

using namespace fake_cuda;

static float number(const void *scalar)
{
    return *(const float *)scalar;
}

extern "C" cudnnStatus_t cudnnConvolutionForward(
    cudnnHandle_t h, const void *alpha, const cudnnTensorDescriptor_t x_shape, const void *x,
    const cudnnFilterDescriptor_t w_shape, const void *w,
    const cudnnConvolutionDescriptor_t conv, cudnnConvolutionFwdAlgo_t algo, void *workspace,
    size_t bytes, const void *beta, const cudnnTensorDescriptor_t y_shape, void *y)
{
    arrays a = {(float *)x,    (float *)w,   (float *)y, (float *)workspace,
                number(alpha), number(beta), 0};
    return run(__func__, h, FORWARD, algo, {*x_shape, *y_shape, *w_shape, *conv}, a, bytes);
}

extern "C" cudnnStatus_t
cudnnConvolutionBackwardData(cudnnHandle_t h, const void *alpha,
                             const cudnnFilterDescriptor_t w_shape, const void *w,
                             const cudnnTensorDescriptor_t dy_shape, const void *dy,
                             const cudnnConvolutionDescriptor_t conv,
                             cudnnConvolutionBwdDataAlgo_t algo, void *workspace, size_t bytes,
                             const void *beta, const cudnnTensorDescriptor_t dx_shape, void *dx)
{
    arrays a = {(float *)dx,  (float *)w, (float *)dy, (float *)workspace, number(alpha),
                number(beta), 0};
    return run(__func__, h, BACKWARD_DATA, algo, {*dx_shape, *dy_shape, *w_shape, *conv}, a,
               bytes);
}

extern "C" cudnnStatus_t cudnnConvolutionBackwardFilter(
    cudnnHandle_t h, const void *alpha, const cudnnTensorDescriptor_t x_shape, const void *x,
    const cudnnTensorDescriptor_t dy_shape, const void *dy,
    const cudnnConvolutionDescriptor_t conv, cudnnConvolutionBwdFilterAlgo_t algo,
    void *workspace, size_t bytes, const void *beta, const cudnnFilterDescriptor_t dw_shape,
    void *dw)
{
    arrays a = {
        (float *)x, (float *)dw, (float *)dy, (float *)workspace, number(alpha), number(beta),
        0};
    return run(__func__, h, BACKWARD_FILTER, algo, {*x_shape, *dy_shape, *dw_shape, *conv}, a,
               bytes);
}
