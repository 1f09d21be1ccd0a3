// in src/rnn_layer.c: prev_state prev_state_gpu shortcut -last_input
//
// An rnn layer's state is that of one time step, as on the GPU: it is not moved past its
// end. In training it goes on from call to call, and what it was before each step is kept
// for the backward pass, which leaves it alone. The input layer gets its delta before
// the self layer's activation is derived, as on the GPU. There the shortcut option holds,
// too, and the state is kept for each step, not made again of outputs.

@ room @
identifier made;
expression size;
@@
make_rnn_layer(...)
{
    <...
(
-   made.prev_state = calloc(size, sizeof(float));
+   made.prev_state = calloc(size * made.steps, sizeof(float));
|
-   made.prev_state_gpu = cuda_make_array(0, size);
+   made.prev_state_gpu = cuda_make_array(0, size * made.steps);
)
    ...>
}

@ forward @
typedef layer;
typedef network;
identifier l, net, i;
@@
void forward_rnn_layer(layer l, network net)
{
    ...
-   if(net.train) fill_cpu(l.outputs * l.batch, 0, l.state, 1);
    for(i = 0; i < l.steps; ++i){
+       if(net.train) copy_cpu(l.outputs*l.batch, l.state, 1, l.prev_state + i*l.outputs*l.batch, 1);
        ...
-       if(net.train) l.state += l.outputs*l.batch;
        ...
    }
}

@ backward @
identifier l, net, s, i, in, self, out;
@@
void backward_rnn_layer(layer l, network net)
{
    ...
-   l.state += l.outputs*l.batch*l.steps;
    for(...; i >= 0; --i){
-       copy_cpu(l.outputs * l.batch, in.output, 1, l.state, 1);
-       axpy_cpu(l.outputs * l.batch, 1, self.output, 1, l.state, 1);
-       s.input = l.state;
+       s.input = (i + 1 == l.steps) ? l.state : l.prev_state + (i + 1)*l.outputs*l.batch;
        s.delta = self.delta;
        backward_connected_layer(out, s);
-       l.state -= l.outputs*l.batch;
+       copy_cpu(l.outputs*l.batch, self.delta, 1, in.delta, 1);
+       if(i > 0 && l.shortcut) axpy_cpu(l.outputs*l.batch, 1, self.delta, 1, self.delta - l.outputs*l.batch, 1);
-       s.input = l.state;
+       s.input = l.prev_state + i*l.outputs*l.batch;
        ...
        backward_connected_layer(self, s);
-       copy_cpu(l.outputs*l.batch, self.delta, 1, in.delta, 1);
-       if (i > 0 && l.shortcut) axpy_cpu(l.outputs*l.batch, 1, self.delta, 1, self.delta - l.outputs*l.batch, 1);
        ...
    }
}

@ forward_gpu @
identifier l, net, i;
expression n;
@@
void forward_rnn_layer_gpu(layer l, network net)
{
    ...
    if(net.train){
        ...
-       copy_gpu(n, l.state_gpu, 1, l.prev_state_gpu, 1);
    }
    for(i = 0; i < l.steps; ++i){
+       if(net.train) copy_gpu(n, l.state_gpu, 1, l.prev_state_gpu + i*n, 1);
        ...
+       if(!l.shortcut)
        fill_gpu(n, 0, l.state_gpu, 1);
        ...
    }
}

@ backward_gpu @
identifier l, net, s, i, in, self, out, last_input, last_self;
statement S1, S2;
expression n;
@@
void backward_rnn_layer_gpu(layer l, network net)
{
    ...
-   float *last_input = in.output_gpu;
-   float *last_self = self.output_gpu;
    for(...; i >= 0; --i){
-       fill_gpu(n, 0, l.state_gpu, 1);
-       axpy_gpu(n, 1, in.output_gpu, 1, l.state_gpu, 1);
-       axpy_gpu(n, 1, self.output_gpu, 1, l.state_gpu, 1);
-       s.input_gpu = l.state_gpu;
+       s.input_gpu = (i + 1 == l.steps) ? l.state_gpu : l.prev_state_gpu + (i + 1)*n;
        s.delta_gpu = self.delta_gpu;
        backward_connected_layer_gpu(out, s);
-       if(i != 0) S1 else S2
        copy_gpu(n, self.delta_gpu, 1, in.delta_gpu, 1);
+       if(i > 0 && l.shortcut) axpy_gpu(n, 1, self.delta_gpu, 1, self.delta_gpu - n, 1);
-       s.input_gpu = l.state_gpu;
+       s.input_gpu = l.prev_state_gpu + i*n;
        ...
    }
-   fill_gpu(n, 0, l.state_gpu, 1);
-   axpy_gpu(n, 1, last_input, 1, l.state_gpu, 1);
-   axpy_gpu(n, 1, last_self, 1, l.state_gpu, 1);
}
