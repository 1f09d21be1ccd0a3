/* mgpu_cudnn.c: how convolutions are computed by cuDNN. Algorithms are chosen by cuDNN's own
 * list for the card and the sizes, which is the same at every run, and not by timing them. */
#include "mgpu_hooks.h"

#ifdef CUDNN
#if CUDNN_MAJOR < 8
#error "CUDNN=1 needs cuDNN 8 or later"
#endif
#include "convolutional_layer.h"
#include "mgpu_cuda.h"
#include "mgpu_tensors.h"

/* As much workspace as stock Darknet allows a layer, bytes. */
#define MOST_WORKSPACE 2000000000

void mgpu_dnn_check(cudnnStatus_t status, const char *call)
{
    if(status == CUDNN_STATUS_SUCCESS) return;
    char what[80];
    snprintf(what, sizeof what, "%.*s", (int)strcspn(call, "("), call);
    mgpu_cuda_fail(what, cudnnGetErrorString(status));
}

static int allowed(cudnnStatus_t status, cudnnDeterminism_t determinism)
{
    return status == CUDNN_STATUS_SUCCESS &&
           (!mgpu_cuda_modes.deterministic || determinism == CUDNN_DETERMINISTIC);
}

/* Whether an algorithm that needs `size` bytes may be taken; if so the layer asks for them. The
 * list's own figure may be for another kind of multiplication. */
static int fits(layer *l, cudnnStatus_t status, size_t size)
{
    if(status != CUDNN_STATUS_SUCCESS || size > MOST_WORKSPACE) return 0;
    if(size > l->workspace_size) l->workspace_size = size;
    return 1;
}

static void none(const layer *l, const char *pass)
{
    char why[256];
    snprintf(why, sizeof why,
             "cuDNN has no%s algorithm for the %s of a convolution of %d rows of %dx%dx%d with "
             "%d filters of %dx%d in %d MB",
             mgpu_cuda_modes.deterministic ? " deterministic" : "", pass, l->batch, l->w, l->h,
             l->c, l->n, l->size, l->size, MOST_WORKSPACE >> 20);
    mgpu_cuda_fail("", why);
}

static void choose_forward(layer *l, cudnnHandle_t dnn)
{
    cudnnConvolutionFwdAlgoPerf_t found[CUDNN_CONVOLUTION_FWD_ALGO_COUNT];
    int n = 0;
    MGPU_DNN(cudnnGetConvolutionForwardAlgorithm_v7(
        dnn, l->srcTensorDesc, l->weightDesc, l->convDesc, l->dstTensorDesc,
        CUDNN_CONVOLUTION_FWD_ALGO_COUNT, &n, found));
    for(int i = 0; i < n; ++i) {
        size_t size = 0;
        if(!allowed(found[i].status, found[i].determinism)) continue;
        cudnnStatus_t status = cudnnGetConvolutionForwardWorkspaceSize(
            dnn, l->srcTensorDesc, l->weightDesc, l->convDesc, l->dstTensorDesc, found[i].algo,
            &size);
        if(!fits(l, status, size)) continue;
        l->fw_algo = found[i].algo;
        return;
    }
    none(l, "output");
}

static void choose_backward_data(layer *l, cudnnHandle_t dnn)
{
    cudnnConvolutionBwdDataAlgoPerf_t found[CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT];
    int n = 0;
    MGPU_DNN(cudnnGetConvolutionBackwardDataAlgorithm_v7(
        dnn, l->weightDesc, l->ddstTensorDesc, l->convDesc, l->dsrcTensorDesc,
        CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT, &n, found));
    for(int i = 0; i < n; ++i) {
        size_t size = 0;
        if(!allowed(found[i].status, found[i].determinism)) continue;
        cudnnStatus_t status = cudnnGetConvolutionBackwardDataWorkspaceSize(
            dnn, l->weightDesc, l->ddstTensorDesc, l->convDesc, l->dsrcTensorDesc,
            found[i].algo, &size);
        if(!fits(l, status, size)) continue;
        l->bd_algo = found[i].algo;
        return;
    }
    none(l, "delta");
}

static void choose_backward_filter(layer *l, cudnnHandle_t dnn)
{
    cudnnConvolutionBwdFilterAlgoPerf_t found[CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT];
    int n = 0;
    MGPU_DNN(cudnnGetConvolutionBackwardFilterAlgorithm_v7(
        dnn, l->srcTensorDesc, l->ddstTensorDesc, l->convDesc, l->dweightDesc,
        CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT, &n, found));
    for(int i = 0; i < n; ++i) {
        size_t size = 0;
        if(!allowed(found[i].status, found[i].determinism)) continue;
        cudnnStatus_t status = cudnnGetConvolutionBackwardFilterWorkspaceSize(
            dnn, l->srcTensorDesc, l->ddstTensorDesc, l->convDesc, l->dweightDesc,
            found[i].algo, &size);
        if(!fits(l, status, size)) continue;
        l->bf_algo = found[i].algo;
        return;
    }
    none(l, "gradient");
}

void mgpu_choose_algorithms(layer *l)
{
    if(gpu_index < 0) return;
    cudnnHandle_t dnn = mgpu_cudnn_handle();
    MGPU_DNN(cudnnSetConvolutionMathType(l->convDesc, mgpu_cuda_modes.tf32 ? CUDNN_DEFAULT_MATH
                                                                           : CUDNN_FMA_MATH));
    choose_forward(l, dnn);
    choose_backward_data(l, dnn);
    choose_backward_filter(l, dnn);
}

void mgpu_rows_set(layer *l)
{
    if(l->type == CONVOLUTIONAL) cudnn_convolutional_setup(l);
}

static int larger(void *arg, const layer *l)
{
    size_t *most = arg;
    if(l->workspace_size > *most) *most = l->workspace_size;
    return 0;
}

size_t mgpu_workspace(const network *net)
{
    size_t most = 0;
    mgpu_each_layer(net, larger, &most);
    return most;
}

void mgpu_fit_workspace(network *net, size_t room)
{
    size_t most = mgpu_workspace(net);
    if(gpu_index < 0 || most <= room) return;
    cuda_free(net->workspace);
    net->workspace = cuda_make_array(0, (most - 1) / sizeof(float) + 1);
}

void mgpu_free_descriptors(layer *l)
{
    cudnnTensorDescriptor_t tensors[] = {l->srcTensorDesc, l->dstTensorDesc, l->dsrcTensorDesc,
                                         l->ddstTensorDesc, l->normTensorDesc};
    for(size_t i = 0; i < sizeof tensors / sizeof *tensors; ++i) {
        if(tensors[i]) MGPU_DNN(cudnnDestroyTensorDescriptor(tensors[i]));
    }
    if(l->weightDesc) MGPU_DNN(cudnnDestroyFilterDescriptor(l->weightDesc));
    if(l->dweightDesc) MGPU_DNN(cudnnDestroyFilterDescriptor(l->dweightDesc));
    if(l->convDesc) MGPU_DNN(cudnnDestroyConvolutionDescriptor(l->convDesc));
}

#else

void mgpu_rows_set(layer *l)
{
    (void)l;
}

size_t mgpu_workspace(const network *net)
{
    (void)net;
    return 0;
}

void mgpu_fit_workspace(network *net, size_t room)
{
    (void)net;
    (void)room;
}

void mgpu_free_descriptors(layer *l)
{
    (void)l;
}
#endif
