// in src/lstm_layer.c: backward_lstm_layer prev_cell_cpu prev_state_cpu delta prev_cell_gpu first_cell
//
// An lstm layer learns on the CPU: it has deltas, and its backward pass is called. That
// pass starts without the last call's gradient of the cells, uses the state that the
// forward pass started from in the first step, and leaves the last step's for the next.
// So it does on the GPU.

@ room @
typedef layer;
typedef network;
identifier made;
expression size;
@@
+void backward_lstm_layer(layer l, network net);
+
layer make_lstm_layer(...)
{
    <...
    made.output = calloc(size, sizeof(float));
+   made.delta = calloc(size, sizeof(float));
    ...
    made.forward = forward_lstm_layer;
+   made.backward = backward_lstm_layer;
    ...>
}

@ forward @
typedef layer;
typedef network;
identifier l, net, i;
@@
void forward_lstm_layer(layer l, network net)
{
    ...
+   if(net.train){
+       copy_cpu(l.outputs*l.batch, l.h_cpu, 1, l.prev_state_cpu, 1);
+       copy_cpu(l.outputs*l.batch, l.c_cpu, 1, l.prev_cell_cpu, 1);
+   }
    for(i = 0; ...; ...){ ... }
}

@ backward @
identifier l, net, i;
@@
void backward_lstm_layer(layer l, network net)
{
    ...
+   float *first_state = l.prev_state_cpu;
+   float *first_cell = l.prev_cell_cpu;
+   fill_cpu(l.outputs*l.batch, 0, l.dc_cpu, 1);
    for(...; i >= 0; --i){
-       if (i != 0) copy_cpu(l.outputs*l.batch, l.cell_cpu - l.outputs*l.batch, 1, l.prev_cell_cpu, 1);
-       copy_cpu(l.outputs*l.batch, l.cell_cpu, 1, l.c_cpu, 1);
-       if (i != 0) copy_cpu(l.outputs*l.batch, l.output - l.outputs*l.batch, 1, l.prev_state_cpu, 1);
-       copy_cpu(l.outputs*l.batch, l.output, 1, l.h_cpu, 1);
+       l.prev_cell_cpu = (i == 0) ? first_cell : l.cell_cpu - l.outputs*l.batch;
+       l.prev_state_cpu = (i == 0) ? first_state : l.output - l.outputs*l.batch;
+       l.c_cpu = l.cell_cpu;
        ...
    }
}

@ forward_gpu @
identifier l, net, i;
@@
void forward_lstm_layer_gpu(layer l, network net)
{
    ...
+   if(net.train){
+       copy_gpu(l.outputs*l.batch, l.h_gpu, 1, l.prev_state_gpu, 1);
+       copy_gpu(l.outputs*l.batch, l.c_gpu, 1, l.prev_cell_gpu, 1);
+   }
    for(i = 0; ...; ...){ ... }
}

@ backward_gpu @
identifier l, net, i;
@@
void backward_lstm_layer_gpu(layer l, network net)
{
    ...
+   float *first_state = l.prev_state_gpu;
+   float *first_cell = l.prev_cell_gpu;
+   fill_gpu(l.outputs*l.batch, 0, l.dc_gpu, 1);
    for(...; i >= 0; --i){
-       if (i != 0) copy_gpu(l.outputs*l.batch, l.cell_gpu - l.outputs*l.batch, 1, l.prev_cell_gpu, 1);
-       copy_gpu(l.outputs*l.batch, l.cell_gpu, 1, l.c_gpu, 1);
-       if (i != 0) copy_gpu(l.outputs*l.batch, l.output_gpu - l.outputs*l.batch, 1, l.prev_state_gpu, 1);
-       copy_gpu(l.outputs*l.batch, l.output_gpu, 1, l.h_gpu, 1);
+       l.prev_cell_gpu = (i == 0) ? first_cell : l.cell_gpu - l.outputs*l.batch;
+       l.prev_state_gpu = (i == 0) ? first_state : l.output_gpu - l.outputs*l.batch;
+       l.c_gpu = l.cell_gpu;
        ...
    }
}
