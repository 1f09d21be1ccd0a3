// in src/rnn_layer.c: make_step_statistics mean variance mean_gpu variance_gpu
// in src/gru_layer.c: make_step_statistics mean variance mean_gpu variance_gpu
// in src/lstm_layer.c: make_step_statistics mean variance mean_gpu variance_gpu
// in src/crnn_layer.c: make_step_statistics mean variance mean_gpu variance_gpu
// in src/network.c: reset_state hidden
//
// The layers within a recurrent layer run once for each time step. Where they normalise,
// the backward pass needs each step's mean and variance: they are kept, as x and x_norm
// are, instead of those of the last step alone. Where they do not, there is nothing to
// move along.
// Resetting a sequence's state does on the CPU what it does on the GPU, where a crnn's is
// as long as its hidden layer.

@ keep @
typedef layer;
@@
+static void make_step_statistics(layer *l, int steps)
+{
+    if(!l->batch_normalize) return;
+    l->mean = realloc(l->mean, l->out_c*steps*sizeof(float));
+    l->variance = realloc(l->variance, l->out_c*steps*sizeof(float));
+#ifdef GPU
+    cuda_free(l->mean_gpu);
+    cuda_free(l->variance_gpu);
+    l->mean_gpu = cuda_make_array(0, l->out_c*steps);
+    l->variance_gpu = cuda_make_array(0, l->out_c*steps);
+#endif
+}
+
static void increment_layer(layer *l, int steps)
{
    ...
-   l->x += num;
-   l->x_norm += num;
+   if(l->batch_normalize){
+       l->x += num;
+       l->x_norm += num;
+       l->mean += l->out_c*steps;
+       l->variance += l->out_c*steps;
+   }
    ...
}

@ keep_gpu @
identifier num;
@@
static void increment_layer(layer *l, int steps)
{
    <...
-   if(l->x_gpu) l->x_gpu += num;
-   if(l->x_norm_gpu) l->x_norm_gpu += num;
+   if(l->x_gpu){
+       l->x_gpu += num;
+       l->mean_gpu += l->out_c*steps;
+       l->variance_gpu += l->out_c*steps;
+   }
    ...>
}

@ make @
identifier f =~ "^make_(rnn|gru|lstm|crnn)_layer$";
identifier made, part;
expression E;
@@
f(...)
{
    <...
    made.part->batch = E;
+   make_step_statistics(made.part, made.steps);
    ...>
}

@ reset @
typedef network;
identifier net, b, i;
@@
+static void reset_state(layer l, int b)
+{
+    int n = l.type == CRNN ? l.hidden : l.outputs;
+    if(l.state) fill_cpu(n, 0, l.state + n*b, 1);
+    if(l.h_cpu) fill_cpu(n, 0, l.h_cpu + n*b, 1);
+}
+
void reset_network_state(network *net, int b)
{
    ...
    for(i = 0; ...; ...){
+       reset_state(net->layers[i], b);
        ...
    }
}

@ reset_gpu @
identifier net, b, i, l;
@@
void reset_network_state(network *net, int b)
{
    <...
    layer l = net->layers[i];
+   int n = l.type == CRNN ? l.hidden : l.outputs;
    if(l.state_gpu){
-       fill_gpu(l.outputs, 0, l.state_gpu + l.outputs*b, 1);
+       fill_gpu(n, 0, l.state_gpu + n*b, 1);
    }
    ...>
}
