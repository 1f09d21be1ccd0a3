// in src/batchnorm_layer.c: mgpu_forward_batchnorm_gpu mgpu_backward_batchnorm_gpu -cudnnBatchNormalizationBackward -x_norm_gpu
// in src/connected_layer.c: -x_norm_gpu
// in src/convolutional_layer.c: -x_norm_gpu
// in src/deconvolutional_layer.c: -x_norm_gpu
//
// Batch normalisation on a CUDA device is the module's, with the CPU's formulas. cuDNN
// normalises with the biased variance: a network would train differently with and without
// it, and replicas could not pool their statistics. The normalised input is not kept.

@ forward @
typedef layer, network;
identifier l, net;
@@
void forward_batchnorm_layer_gpu(layer l, network net)
{
-   ...
+   mgpu_forward_batchnorm_gpu(l, net);
}

@ backward @
identifier l, net;
@@
void backward_batchnorm_layer_gpu(layer l, network net)
{
-   ...
+   mgpu_backward_batchnorm_gpu(l, net);
}

@ room @
identifier l;
expression E;
@@
(
- l.x_norm_gpu = E;
|
- l->x_norm_gpu = E;
|
- cuda_free(l->x_norm_gpu);
)
