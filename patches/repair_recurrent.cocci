// in src/rnn_layer.c: make_step_statistics mean variance
// in src/gru_layer.c: make_step_statistics mean variance
// in src/lstm_layer.c: make_step_statistics mean variance
// in src/crnn_layer.c: make_step_statistics mean variance
// in src/network.c: reset_state
//
// The layers within a recurrent layer run once for each time step. Where they normalise,
// the backward pass needs each step's mean and variance: they are kept, as x and x_norm
// are, instead of those of the last step alone. Where they do not, there is nothing to
// move along.
// Resetting a sequence's state does on the CPU what it does on the GPU.

@ keep @
typedef layer;
@@
+static void make_step_statistics(layer *l, int steps)
+{
+    if(!l->batch_normalize) return;
+    l->mean = realloc(l->mean, l->out_c*steps*sizeof(float));
+    l->variance = realloc(l->variance, l->out_c*steps*sizeof(float));
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
