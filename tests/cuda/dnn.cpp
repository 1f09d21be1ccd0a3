/* dnn.cpp: cuDNN's handles, descriptors, and lists of algorithms. */
#include "dnn.h"

#include <algorithm>

namespace fake_cuda
{

cudnnStatus_t enter_dnn(const char *call, cudnnHandle_t h)
{
    return (cudnnStatus_t)enter_library(call, h ? &h->common : nullptr,
                                        CUDNN_STATUS_NOT_INITIALIZED,
                                        CUDNN_STATUS_EXECUTION_FAILED);
}

bool convolution::good() const
{
    int g = conv.groups;
    return g > 0 && x.n == y.n && x.c == w.c * g && y.c == w.k && w.k % g == 0 &&
           y.h == (x.h + 2 * conv.pad_h - w.h) / conv.stride_h + 1 &&
           y.w == (x.w + 2 * conv.pad_w - w.w) / conv.stride_w + 1;
}

/* ---- algorithms, the fastest first. In each list one is of no use here, and one wants
 * more memory than most cards have; backward, the fastest are not deterministic. */

static const algorithm forward_list[] = {
    {CUDNN_CONVOLUTION_FWD_ALGO_FFT, CUDNN_STATUS_SUCCESS, CUDNN_DETERMINISTIC,
     algorithm::HUGE_SPACE},
    {CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD, CUDNN_STATUS_NOT_SUPPORTED, CUDNN_DETERMINISTIC,
     algorithm::NONE},
    {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, CUDNN_STATUS_SUCCESS,
     CUDNN_DETERMINISTIC, algorithm::PATCHES},
    {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, CUDNN_STATUS_SUCCESS, CUDNN_DETERMINISTIC,
     algorithm::NONE}};

static const algorithm backward_data_list[] = {
    {CUDNN_CONVOLUTION_BWD_DATA_ALGO_0, CUDNN_STATUS_SUCCESS, CUDNN_NON_DETERMINISTIC,
     algorithm::NONE},
    {CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD, CUDNN_STATUS_NOT_SUPPORTED, CUDNN_DETERMINISTIC,
     algorithm::NONE},
    {CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT, CUDNN_STATUS_SUCCESS, CUDNN_DETERMINISTIC,
     algorithm::HUGE_SPACE},
    {CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, CUDNN_STATUS_SUCCESS, CUDNN_DETERMINISTIC,
     algorithm::PATCHES}};

static const algorithm backward_filter_list[] = {
    {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0, CUDNN_STATUS_SUCCESS, CUDNN_NON_DETERMINISTIC,
     algorithm::NONE},
    {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT, CUDNN_STATUS_SUCCESS, CUDNN_DETERMINISTIC,
     algorithm::HUGE_SPACE},
    {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED, CUDNN_STATUS_NOT_SUPPORTED,
     CUDNN_DETERMINISTIC, algorithm::NONE},
    {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, CUDNN_STATUS_SUCCESS, CUDNN_DETERMINISTIC,
     algorithm::PATCHES}};

static const int list_length = 4;

static const algorithm *list_of(convolution_kind kind)
{
    return kind == FORWARD         ? forward_list
           : kind == BACKWARD_DATA ? backward_data_list
                                   : backward_filter_list;
}

size_t algorithm::memory(const convolution &c) const
{
    return workspace == NONE ? 0 : workspace == PATCHES ? c.patch_bytes() : (size_t)1 << 40;
}

const algorithm *find_algorithm(convolution_kind kind, int number)
{
    const algorithm *list = list_of(kind);
    for(int i = 0; i < list_length; ++i)
        if(list[i].number == number) return list + i;
    return nullptr;
}

template <class P>
static cudnnStatus_t list_algorithms(const char *call, cudnnHandle_t h, convolution_kind kind,
                                     const convolution &c, int wanted, int *given, P *results)
{
    cudnnStatus_t status = enter_dnn(call, h);
    if(status) return status;
    if(wanted < 1 || !c.good()) return CUDNN_STATUS_BAD_PARAM;
    *given = std::min(wanted, list_length);
    for(int i = 0; i < *given; ++i) {
        const algorithm &a = list_of(kind)[i];
        results[i] = {};
        results[i].algo = (decltype(results[i].algo))a.number;
        results[i].status = a.status;
        results[i].time = a.status ? -1.f : i + 1.f;
        results[i].memory = a.memory(c);
        results[i].determinism = a.determinism;
        results[i].mathType = c.conv.math;
    }
    return status;
}

static cudnnStatus_t workspace_size(const char *call, cudnnHandle_t h, convolution_kind kind,
                                    const convolution &c, int number, size_t *bytes)
{
    cudnnStatus_t status = enter_dnn(call, h);
    if(status) return status;
    const algorithm *a = find_algorithm(kind, number);
    if(!c.good()) return CUDNN_STATUS_BAD_PARAM;
    if(!a || a->status) return CUDNN_STATUS_NOT_SUPPORTED;
    *bytes = a->memory(c);
    return status;
}

} // namespace fake_cuda

using namespace fake_cuda;

extern "C" size_t cudnnGetVersion(void)
{
    return CUDNN_VERSION;
}

extern "C" const char *cudnnGetErrorString(cudnnStatus_t status)
{
    switch(status) {
    case CUDNN_STATUS_SUCCESS:
        return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_NOT_INITIALIZED:
        return "CUDNN_STATUS_NOT_INITIALIZED";
    case CUDNN_STATUS_BAD_PARAM:
        return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_NOT_SUPPORTED:
        return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_INTERNAL_ERROR:
        return "CUDNN_STATUS_INTERNAL_ERROR";
    case CUDNN_STATUS_ALLOC_FAILED:
        return "CUDNN_STATUS_ALLOC_FAILED";
    case CUDNN_STATUS_EXECUTION_FAILED:
        return "CUDNN_STATUS_EXECUTION_FAILED";
    }
    return "CUDNN_UNKNOWN_STATUS";
}

extern "C" cudnnStatus_t cudnnCreate(cudnnHandle_t *h)
{
    int status = enter_create("cudnnCreate", CUDNN_STATUS_NOT_INITIALIZED);
    if(!status) *h = new cudnnContext{make_handle()};
    return (cudnnStatus_t)status;
}

extern "C" cudnnStatus_t cudnnDestroy(cudnnHandle_t h)
{
    if(!h) return CUDNN_STATUS_NOT_INITIALIZED;
    free_handle(h->common);
    delete h;
    return CUDNN_STATUS_SUCCESS;
}

extern "C" cudnnStatus_t cudnnSetStream(cudnnHandle_t h, cudaStream_t stream)
{
    cudnnStatus_t status = enter_dnn("cudnnSetStream", h);
    if(!status && !set_stream("cudnnSetStream", h->common, stream))
        status = CUDNN_STATUS_BAD_PARAM;
    return status;
}

extern "C" cudnnStatus_t cudnnGetStream(cudnnHandle_t h, cudaStream_t *stream)
{
    if(!h) return CUDNN_STATUS_NOT_INITIALIZED;
    *stream = h->common.stream;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- descriptors */

extern "C" cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *tensor)
{
    *tensor = new cudnnTensorStruct{};
    return CUDNN_STATUS_SUCCESS;
}

extern "C" cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensor,
                                                    cudnnTensorFormat_t format,
                                                    cudnnDataType_t type, int n, int c, int h,
                                                    int w)
{
    if(!tensor || n < 1 || c < 1 || h < 1 || w < 1) return CUDNN_STATUS_BAD_PARAM;
    if(format != CUDNN_TENSOR_NCHW || type != CUDNN_DATA_FLOAT)
        return CUDNN_STATUS_NOT_SUPPORTED;
    *tensor = {n, c, h, w};
    return CUDNN_STATUS_SUCCESS;
}

extern "C" cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor)
{
    delete tensor;
    return CUDNN_STATUS_SUCCESS;
}

extern "C" cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t *filter)
{
    *filter = new cudnnFilterStruct{};
    return CUDNN_STATUS_SUCCESS;
}

extern "C" cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filter,
                                                    cudnnDataType_t type,
                                                    cudnnTensorFormat_t format, int k, int c,
                                                    int h, int w)
{
    if(!filter || k < 1 || c < 1 || h < 1 || w < 1) return CUDNN_STATUS_BAD_PARAM;
    if(format != CUDNN_TENSOR_NCHW || type != CUDNN_DATA_FLOAT)
        return CUDNN_STATUS_NOT_SUPPORTED;
    *filter = {k, c, h, w};
    return CUDNN_STATUS_SUCCESS;
}

extern "C" cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filter)
{
    delete filter;
    return CUDNN_STATUS_SUCCESS;
}

extern "C" cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *conv)
{
    *conv = new cudnnConvolutionStruct{0, 0, 1, 1, 1, CUDNN_DEFAULT_MATH};
    return CUDNN_STATUS_SUCCESS;
}

extern "C" cudnnStatus_t
cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t conv, int pad_h, int pad_w,
                                int stride_h, int stride_w, int dilation_h, int dilation_w,
                                cudnnConvolutionMode_t mode, cudnnDataType_t type)
{
    if(!conv || pad_h < 0 || pad_w < 0 || stride_h < 1 || stride_w < 1)
        return CUDNN_STATUS_BAD_PARAM;
    if(dilation_h != 1 || dilation_w != 1 || mode != CUDNN_CROSS_CORRELATION ||
       type != CUDNN_DATA_FLOAT)
        return CUDNN_STATUS_NOT_SUPPORTED;
    conv->pad_h = pad_h;
    conv->pad_w = pad_w;
    conv->stride_h = stride_h;
    conv->stride_w = stride_w;
    return CUDNN_STATUS_SUCCESS;
}

extern "C" cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t conv,
                                                       int groups)
{
    if(!conv || groups < 1) return CUDNN_STATUS_BAD_PARAM;
    conv->groups = groups;
    return CUDNN_STATUS_SUCCESS;
}

extern "C" cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t conv,
                                                     cudnnMathType_t math)
{
    if(!conv) return CUDNN_STATUS_BAD_PARAM;
    conv->math = math;
    return CUDNN_STATUS_SUCCESS;
}

extern "C" cudnnStatus_t cudnnGetConvolutionMathType(cudnnConvolutionDescriptor_t conv,
                                                     cudnnMathType_t *math)
{
    if(!conv) return CUDNN_STATUS_BAD_PARAM;
    *math = conv->math;
    return CUDNN_STATUS_SUCCESS;
}

extern "C" cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t conv)
{
    delete conv;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- choosing an algorithm */

extern "C" cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(
    cudnnHandle_t h, const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
    const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t y, const int wanted,
    int *given, cudnnConvolutionFwdAlgoPerf_t *results)
{
    return list_algorithms(__func__, h, FORWARD, {*x, *y, *w, *conv}, wanted, given, results);
}

extern "C" cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t h, const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t dx, const int wanted,
    int *given, cudnnConvolutionBwdDataAlgoPerf_t *results)
{
    return list_algorithms(__func__, h, BACKWARD_DATA, {*dx, *dy, *w, *conv}, wanted, given,
                           results);
}

extern "C" cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t h, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t conv, const cudnnFilterDescriptor_t dw, const int wanted,
    int *given, cudnnConvolutionBwdFilterAlgoPerf_t *results)
{
    return list_algorithms(__func__, h, BACKWARD_FILTER, {*x, *dy, *dw, *conv}, wanted, given,
                           results);
}

extern "C" cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(
    cudnnHandle_t h, const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
    const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t y,
    cudnnConvolutionFwdAlgo_t number, size_t *bytes)
{
    return workspace_size(__func__, h, FORWARD, {*x, *y, *w, *conv}, number, bytes);
}

extern "C" cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t h, const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t conv, const cudnnTensorDescriptor_t dx,
    cudnnConvolutionBwdDataAlgo_t number, size_t *bytes)
{
    return workspace_size(__func__, h, BACKWARD_DATA, {*dx, *dy, *w, *conv}, number, bytes);
}

extern "C" cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t h, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t conv, const cudnnFilterDescriptor_t dw,
    cudnnConvolutionBwdFilterAlgo_t number, size_t *bytes)
{
    return workspace_size(__func__, h, BACKWARD_FILTER, {*x, *dy, *dw, *conv}, number, bytes);
}
