// in src/network.c: mgpu_layer_begins mgpu_layer_ends mgpu_overwrites_delta mgpu_settle mgpu_updating
// in src/parser.c: mgpu_settle
//
// A replica waits for a layer's weights before its forward pass, and its gradient is on its
// way to the root when its backward pass is done. A delta that is written, not added to, is not
// zeroed. A root that is saved or run by itself has
// what its devices have.

@ forward @
identifier l, f =~ "^forward";
@@
    net.index = i;
    ...
+   mgpu_layer_begins(net);
    l.f(l, net);

@ delta @
identifier l;
@@
    if(l.delta
+      && !mgpu_overwrites_delta(net)
    ){
        fill_cpu(l.outputs * l.batch, 0, l.delta, 1);
    }

@ backward @
identifier l, b =~ "^backward";
@@
    l.b(l, net);
+   mgpu_layer_ends(net);

@ itself @
typedef network;
identifier net;
@@
void forward_network(network *net)
{
+   mgpu_settle(net);
    ...
}

@ update @
typedef network;
identifier net;
@@
void update_network(network *net)
{
+   mgpu_updating(net);
    ...
}

@ parser @
@@
#include "parser.h"
+ #include "mgpu_hooks.h"

@ save @
typedef network;
identifier net, filename, cutoff;
@@
void save_weights_upto(network *net, char *filename, int cutoff)
{
+   mgpu_settle(net);
    ...
}
