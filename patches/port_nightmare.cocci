// in examples/nightmare.c: forward_network backward_network -forward_network_gpu -backward_network_gpu -copy_gpu -axpy_gpu
//
// nightmare works on the device of its network, be it the host: the deltas that it sets
// are computed in host memory, and the pass goes where the network is.

@ pass @
expression net;
@@
(
- forward_network_gpu(net)
+ forward_network(net)
|
- backward_network_gpu(net)
+ backward_network(net)
)

@ dream @
expression last, net, pixels, size;
@@
void optimize_picture(...)
{
    <...
    net->delta_gpu = cuda_make_array(pixels, size);
+   net->delta = pixels;
    ...
-   copy_gpu(last.outputs, last.output_gpu, 1, last.delta_gpu, 1);
-   cuda_pull_array(last.delta_gpu, last.delta, last.outputs);
+   cuda_pull_array(last.output_gpu, last.output, last.outputs);
+   copy_cpu(last.outputs, last.output, 1, last.delta, 1);
    ...>
}

@ rebuilt @
expression net, l, pixels, size, features;
@@
void reconstruct_picture(...)
{
    <...
-   cuda_push_array(net->input_gpu, pixels, size);
+   net->input = pixels;
    ...
    net->delta_gpu = cuda_make_array(...);
+   net->delta = delta.data;
+   net->truth = 0;
    ...
-   cuda_push_array(l.delta_gpu, features, l.outputs);
-   axpy_gpu(l.outputs, -1, l.output_gpu, 1, l.delta_gpu, 1);
+   cuda_pull_array(l.output_gpu, l.output, l.outputs);
+   copy_cpu(l.outputs, features, 1, l.delta, 1);
+   axpy_cpu(l.outputs, -1, l.output, 1, l.delta, 1);
+   cuda_push_array(l.delta_gpu, l.delta, l.outputs);
    ...>
}
