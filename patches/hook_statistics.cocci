// in src/batchnorm_layer.c: mgpu_hooks mgpu_log_statistics mgpu_pool_statistics mgpu_pool_deltas
//
// Replicas that share a mini-batch may pool its statistics and their gradients.
// A replica logs the mean and variance of its rows, for the root to apply in
// the order of the mini-batches; it never moves running statistics itself.

@ includes @
@@
#include "batchnorm_layer.h"
+ #include "mgpu_hooks.h"

@ running @
typedef layer;
typedef network;
identifier l, net;
@@
void forward_batchnorm_layer(layer l, network net)
{
    <...
+   if(!mgpu_log_statistics(l, net)){
    scal_cpu(l.out_c, .99, l.rolling_mean, 1);
    axpy_cpu(l.out_c, .01, l.mean, 1, l.rolling_mean, 1);
    scal_cpu(l.out_c, .99, l.rolling_variance, 1);
    axpy_cpu(l.out_c, .01, l.variance, 1, l.rolling_variance, 1);
+   }
    ...>
}

@ forward @
typedef layer;
typedef network;
identifier l, net;
@@
void forward_batchnorm_layer(layer l, network net)
{
    <...
    variance_cpu(...);
+   mgpu_pool_statistics(l, net);
    ...>
}

@ backward @
typedef layer;
typedef network;
identifier l, net;
@@
void backward_batchnorm_layer(layer l, network net)
{
    <...
    variance_delta_cpu(...);
+   mgpu_pool_deltas(l, net);
    ...>
}
