// in src/activation_layer.c: axpy_cpu axpy_gpu
// in src/batchnorm_layer.c: axpy_cpu
// in src/normalization_layer.c: axpy_cpu axpy_gpu
// in src/reorg_layer.c: workspace workspace_size axpy_cpu axpy_gpu
// in src/blas.c: out
//
// A layer adds its delta to that of the layer below, where a shortcut or a route may have
// put theirs; these overwrote it.

@ copied @
expression n, from;
identifier f =~ "^backward_(activation|batchnorm)_layer(_gpu)?$";
identifier net;
@@
f(...)
{
    <...
(
-   copy_cpu(n, from, 1, net.delta, 1)
+   axpy_cpu(n, 1, from, 1, net.delta, 1)
|
-   copy_gpu(n, from, 1, net.delta_gpu, 1)
+   axpy_gpu(n, 1, from, 1, net.delta_gpu, 1)
)
    ...>
}

@ normalised @
typedef layer, network;
identifier made;
@@
+static void add_normalized_delta(layer l, network net)
+{
+    int n = l.outputs*l.batch;
+    pow_cpu(n, -l.beta, l.norms, 1, l.squared, 1);
+    mul_cpu(n, l.delta, 1, l.squared, 1);
+    axpy_cpu(n, 1, l.squared, 1, net.delta, 1);
+}
+
+#ifdef GPU
+static void add_normalized_delta_gpu(layer l, network net)
+{
+    int n = l.outputs*l.batch;
+    pow_gpu(n, -l.beta, l.norms_gpu, 1, l.squared_gpu, 1);
+    mul_gpu(n, l.delta_gpu, 1, l.squared_gpu, 1);
+    axpy_gpu(n, 1, l.squared_gpu, 1, net.delta_gpu, 1);
+}
+#endif
+
layer make_normalization_layer(...)
{
    <...
(
-   made.backward = backward_normalization_layer;
+   made.backward = add_normalized_delta;
|
-   made.backward_gpu = backward_normalization_layer_gpu;
+   made.backward_gpu = add_normalized_delta_gpu;
)
    ...>
}

@ room @
identifier made, size;
@@
make_reorg_layer(...)
{
    ...
    made.output = calloc(size, sizeof(float));
+   made.workspace_size = size*sizeof(float);
    ...
}

@ room_resized @
identifier l, size;
@@
resize_reorg_layer(...)
{
    ...
    l->output = realloc(l->output, size*sizeof(float));
+   l->workspace_size = size*sizeof(float);
    ...
}

@ reorganised @
identifier l, net, i;
statement S;
@@
void backward_reorg_layer(const layer l, network net)
{
    int i;
+   float *below = net.delta;
+   net.delta = net.workspace;
+   fill_cpu(l.inputs*l.batch, 0, net.delta, 1);
    S
+   axpy_cpu(l.inputs*l.batch, 1, net.delta, 1, below, 1);
}

@ reorganised_gpu @
identifier l, net;
statement S;
@@
void backward_reorg_layer_gpu(layer l, network net)
{
+   float *below = net.delta_gpu;
+   net.delta_gpu = net.workspace;
+   fill_gpu(l.inputs*l.batch, 0, net.delta_gpu, 1);
    S
+   axpy_gpu(l.inputs*l.batch, 1, net.delta_gpu, 1, below, 1);
}

@ upsampled @
identifier out, in;
expression to, from, scale;
@@
upsample_cpu(...)
{
    <...
-   out[to] = scale*in[from]
+   out[to] = out[to] + scale*in[from]
    ...>
}
