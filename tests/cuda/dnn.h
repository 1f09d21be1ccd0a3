/* dnn.h: what cuDNN's handle and descriptors hold. Tensors are floats in NCHW order. */
#ifndef FAKE_CUDA_DNN_H
#define FAKE_CUDA_DNN_H

#include "cudnn.h"
#include "library.h"

struct cudnnContext {
    fake_cuda::handle common;
};

struct cudnnTensorStruct {
    int n, c, h, w;

    size_t plane() const
    {
        return (size_t)h * w;
    }
    size_t row() const
    {
        return c * plane();
    }
    size_t bytes() const
    {
        return n * row() * sizeof(float);
    }
};

struct cudnnFilterStruct {
    int k, c, h, w; /* outputs, inputs of a group */

    size_t row() const
    {
        return (size_t)c * h * w;
    }
    size_t bytes() const
    {
        return k * row() * sizeof(float);
    }
};

struct cudnnConvolutionStruct {
    int pad_h, pad_w, stride_h, stride_w, groups;
    cudnnMathType_t math;
};

namespace fake_cuda
{

cudnnStatus_t enter_dnn(const char *call, cudnnHandle_t h);

/* The three works of a convolution: y of x and w, dx of w and dy, dw of x and dy. */
enum convolution_kind { FORWARD, BACKWARD_DATA, BACKWARD_FILTER };

/* One convolution's shapes; good() says whether they go together. */
struct convolution {
    cudnnTensorStruct x, y;
    cudnnFilterStruct w;
    cudnnConvolutionStruct conv;

    bool good() const;
    /* An image's patches of one group: a row for each place of the filter. */
    size_t patch_rows() const
    {
        return w.row();
    }
    size_t patch_bytes() const
    {
        return w.row() * y.plane() * sizeof(float);
    }
};

/* A candidate of the lists that cudnnGetConvolution...Algorithm_v7 give. */
struct algorithm {
    int number;
    cudnnStatus_t status;
    cudnnDeterminism_t determinism;
    enum { NONE, PATCHES, HUGE_SPACE } workspace;

    size_t memory(const convolution &c) const;
};

/* Null if there is no such algorithm. */
const algorithm *find_algorithm(convolution_kind kind, int number);

} // namespace fake_cuda
#endif
