// in src/network.c: update delta
// in src/route_layer.c: delta
// in src/shortcut_layer.c: net.delta delta
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

@ sum @
identifier l, net;
@@
void backward_shortcut_layer(const layer l, network net)
{
    <...
(
+   if(net.delta)
    axpy_cpu(...);
|
+   if(net.layers[l.index].delta)
    shortcut_cpu(...);
)
    ...>
}

@ route @
identifier delta;
@@
backward_route_layer(...)
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
