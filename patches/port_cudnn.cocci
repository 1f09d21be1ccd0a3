// in src/convolutional_layer.c: MGPU_DNN mgpu_choose_algorithms -cudnnGetConvolutionForwardAlgorithm -cudnnGetConvolutionBackwardDataAlgorithm -cudnnGetConvolutionBackwardFilterAlgorithm
// in src/convolutional_kernels.cu: mgpu_hooks_cuda MGPU_DNN
// in src/deconvolutional_layer.c: mgpu_hooks MGPU_DNN
// in src/layer.c: mgpu_hooks mgpu_free_descriptors
//
// cuDNN 8 and later: algorithms are chosen from a list, not by a limit of memory. Each
// call's status is looked at, a network on the host makes no calls, and descriptors are
// destroyed with their layer.

@ includes @
@@
(
#include "cublas_v2.h"
+ #include "mgpu_hooks_cuda.h"
|
#include "deconvolutional_layer.h"
+ #include "mgpu_hooks.h"
|
#include "layer.h"
+ #include "mgpu_hooks.h"
)

@ choose @
typedef layer;
identifier l;
@@
void cudnn_convolutional_setup(layer *l)
{
    <...
-   cudnnGetConvolutionForwardAlgorithm(...);
-   cudnnGetConvolutionBackwardDataAlgorithm(...);
-   cudnnGetConvolutionBackwardFilterAlgorithm(...);
+   mgpu_choose_algorithms(l);
    ...>
}

@ checked @
identifier f =~ "^cudnn[A-Z]";
expression list E;
@@
- f(E);
+ MGPU_DNN(f(E));

@ released @
identifier l;
@@
void free_layer(layer l)
{
+   mgpu_free_descriptors(&l);
    ...
}
