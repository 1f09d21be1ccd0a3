// in src/softmax_layer.c: SECRET_NUM spatial
// in src/blas_kernels.cu: -int
//
// Classes that a tree's truth leaves open cost nothing and get no delta, as on the GPU.
// The spatial option holds on the CPU, too; on the GPU it went past a row's end. There the
// largest input is found as it is, not cut to a whole number.

@ mask @
typedef softmax_layer;
typedef network;
identifier l, net;
@@
void forward_softmax_layer(const softmax_layer l, network net)
{
    <...
    softmax_x_ent_cpu(...);
+   int i;
+   for(i = 0; l.softmax_tree && i < l.batch*l.inputs; ++i){
+       if(net.truth[i] == SECRET_NUM) l.delta[i] = l.loss[i] = 0;
+   }
    ...>
}

@ spatial @
identifier l, net;
@@
void forward_softmax_layer(const softmax_layer l, network net)
{
    if(l.softmax_tree){
        ...
+   }else if(l.spatial){
+       softmax_cpu(net.input, l.c, l.batch, l.inputs, l.w*l.h, 1, l.w*l.h, l.temperature, l.output);
    }else{
        ...
    }
    ...
}

@ spatial_gpu @
identifier l, net;
@@
void forward_softmax_layer_gpu(const softmax_layer l, network net)
{
    <...
    softmax_gpu(net.input_gpu, l.c,
-   l.batch*l.c, l.inputs/l.c,
+   l.batch, l.inputs,
    l.w*l.h, 1, l.w*l.h,
-   1,
+   l.temperature,
    l.output_gpu)
    ...>
}

@ largest @
identifier val;
expression E;
@@
softmax_device(...)
{
    <...
-   int val = E;
+   float val = E;
    ...>
}
