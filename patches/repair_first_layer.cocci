// in src/network.c: update delta update_gpu delta_gpu
// in src/route_layer.c: delta
// in src/shortcut_layer.c: net.delta delta net.delta_gpu delta_gpu
//
// The first layer of a network, or one above a crop layer, has no layer below it that
// wants a delta: what neither learns nor hands on a delta elsewhere has nothing to do in
// the backward pass, and wrote through a null pointer.

@ skip @
typedef network;
typedef layer;
identifier root, net, l, i;
@@
void backward_network(network *root)
{
    ...
    for(i = ...; i >= 0; --i){
        ...
+       if(!net.delta && !l.update && l.type != ROUTE && l.type != SHORTCUT) continue;
        l.backward(l, net);
        ...
    }
}

@ skip_gpu @
identifier root, net, l, i;
@@
void backward_network_gpu(network *root)
{
    ...
    for(i = ...; i >= 0; --i){
        ...
+       if(!net.delta_gpu && !l.update_gpu && l.type != ROUTE && l.type != SHORTCUT) continue;
        l.backward_gpu(l, net);
        ...
    }
}

@ sum @
identifier f =~ "^backward_shortcut_layer(_gpu)?$";
identifier l, net;
@@
f(const layer l, network net)
{
    <...
(
+   if(net.delta)
    axpy_cpu(...);
|
+   if(net.layers[l.index].delta)
    shortcut_cpu(...);
|
+   if(net.delta_gpu)
    axpy_gpu(...);
|
+   if(net.layers[l.index].delta_gpu)
    shortcut_gpu(...);
)
    ...>
}

@ route @
identifier f =~ "^backward_route_layer(_gpu)?$";
identifier delta;
@@
f(...)
{
    <...
    float *delta = ...;
    ...
+   if(delta)
    for(...; ...; ...){
        ...
    }
    ...>
}
