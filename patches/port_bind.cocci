// in src/network.c: mgpu_bind_device mgpu_pull_output mgpu_fit_workspace
// in src/parser.c: mgpu_bind_device -cuda_set_device
// in src/lstm_layer.c: gpu_index
// in src/gru_layer.c: gpu_index
// in src/rnn_layer.c: output_gpu delta_gpu
// in src/crnn_layer.c: output_gpu delta_gpu
//
// A network's device, be it the host, is the thread's before its memory is touched; a
// network on the host has no arrays elsewhere.

@ batch @
typedef network;
identifier net, b;
@@
void set_batch_network(network *net, int b)
{
+   mgpu_bind_device(net);
+   size_t room = mgpu_workspace(net);
    ...
+   mgpu_fit_workspace(net, room);
}

@ state @
identifier net;
@@
void reset_network_state(network *net, ...)
{
+   mgpu_bind_device(net);
    ...
}

@ freed @
identifier net;
@@
void free_network(network *net)
{
+   mgpu_bind_device(net);
    ...
}

@ again @
identifier net;
@@
int resize_network(network *net, ...)
{
    <...
    cuda_free(net->workspace);
+   if(!mgpu_on_host(*net)) net->workspace = 0;
    ...>
}

@ looked_at @
typedef image, layer;
identifier net, i, l;
@@
image get_network_image_layer(network *net, int i)
{
    layer l = ...;
+   mgpu_pull_output(net, l);
    ...
}

@ files @
identifier f =~ "^(save|load)_weights_upto$";
identifier net;
@@
f(network *net, ...)
{
    <...
-   if(net->gpu_index >= 0){ cuda_set_device(net->gpu_index); }
+   mgpu_bind_device(net);
    ...>
}

@ within @
identifier s, net;
@@
    network s = {0};
    s.train = net.train;
+   s.gpu_index = net.gpu_index;

@ steps @
identifier l;
identifier array =~ "_gpu$";
expression E;
@@
increment_layer(layer *l, ...)
{
    <...
-   l->array += E;
+   if(l->array) l->array += E;
    ...>
}
