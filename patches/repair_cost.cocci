// in src/cost_layer.c: smoothed leave_out wgan_cpu truth -ratio -printf -qsort
//
// A cost layer computes on the CPU what it does on the GPU: smoothed truths, the seg and
// wgan types, and the thresh option. A masked truth takes an output out of the cost and its
// delta: on the CPU it overwrote the output, on the GPU it wrote through a null pointer.
// Smoothing leaves the truth itself alone, for the layers that read it after this one. The
// ratio option did no more than sort and print.

@ cost @
typedef cost_layer, network;
identifier l, net, each;
statement S;
expression size;
@@
+/* Truths drawn towards the mean, 1 of all inputs, where the delta will be. */
+static float *smoothed(cost_layer l, float *truth)
+{
+    int i;
+    for(i = 0; i < l.batch*l.inputs; ++i) l.delta[i] = (1 - l.smooth)*truth[i] + l.smooth/l.inputs;
+    return l.delta;
+}
+
+static void wgan_cpu(int n, float *pred, float *truth, float *delta, float *error)
+{
+    int i;
+    for(i = 0; i < n; ++i){
+        error[i] = truth[i] ? -pred[i] : pred[i];
+        delta[i] = (truth[i] > 0) ? 1 : -1;
+    }
+}
+
+/* What counts less, or not at all. */
+static void leave_out(cost_layer l, float *truth)
+{
+    int i;
+    for(i = 0; i < l.batch*l.inputs; ++i){
+        float scale = 1;
+        if(l.cost_type == SEG && truth[i] == 0) scale = l.noobject_scale;
+        if(l.cost_type == MASKED && truth[i] == SECRET_NUM) scale = 0;
+        l.delta[i] *= scale;
+        l.output[i] *= scale;
+        if(fabs(l.delta[i]) < l.thresh/l.inputs) l.delta[i] = 0;
+    }
+}
+
void forward_cost_layer(cost_layer l, network net)
{
    if(!net.truth) return;
-   if(l.cost_type == MASKED){
-       int each;
-       for(each = 0; each < size; ++each) S
-   }
+   float *truth = net.truth;
+   if(l.smooth) net.truth = smoothed(l, truth);
    if(l.cost_type == SMOOTH){
        ...
    }else if(l.cost_type == L1){
        ...
+   }else if(l.cost_type == WGAN){
+       wgan_cpu(l.batch*l.inputs, net.input, net.truth, l.delta, l.output);
    }else{
        ...
    }
+   leave_out(l, truth);
    ...
}

@ cost_gpu @
identifier l, net;
expression n, m, a, b, what, scale;
statement S;
@@
void forward_cost_layer_gpu(cost_layer l, network net)
{
    if(!net.truth) return;
+   float *truth = net.truth_gpu;
    if(l.smooth){
+       net.truth_gpu = l.delta_gpu;
+       copy_gpu(n, truth, 1, net.truth_gpu, 1);
        scal_gpu(n, a, net.truth_gpu, 1);
        add_gpu(n, b, net.truth_gpu, 1);
    }
    <...
(
-   scale_mask_gpu(m, what, 0, net.truth_gpu, scale);
+   scale_mask_gpu(m, what, 0, truth, scale);
|
-   mask_gpu(m, net.delta_gpu, SECRET_NUM, net.truth_gpu, 0);
+   mask_gpu(m, l.delta_gpu, SECRET_NUM, truth, 0);
+   mask_gpu(m, l.output_gpu, SECRET_NUM, truth, 0);
|
-   if(l.ratio) S
)
    ...>
}
