// in src/batchnorm_layer.c: -cudnnSetTensor4dDescriptor -cudnnCreateTensorDescriptor
// in src/connected_layer.c: -cudnnSetTensor4dDescriptor -cudnnCreateTensorDescriptor
// in src/rnn_layer.c: -cudnnSetTensor4dDescriptor
// in src/gru_layer.c: -cudnnSetTensor4dDescriptor
// in src/lstm_layer.c: -cudnnSetTensor4dDescriptor
// in src/network.c: -cudnnSetTensor4dDescriptor
//
// Layers that do not convolve had descriptors for cuDNN's batch normalisation, which is not
// used (gpu_batchnorm.cocci), and described layers that had made none.

@ made @
@@
- cudnnCreateTensorDescriptor(...);

@ described @
@@
- cudnnSetTensor4dDescriptor(...);

@ left @
identifier net, i, l;
@@
- if(net->layers[i].type == DECONVOLUTIONAL){
-     layer *l = net->layers + i;
- }
