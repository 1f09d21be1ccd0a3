// in src/network.c: mgpu_hooks mgpu_train_network mgpu_train_datum mgpu_predict mgpu_resize mgpu_free mgpu_reset_state
//
// Training, predicting, resizing and freeing a root are the module's work.
// A network without replicas goes on as it always did.

@ includes @
@@
#include "network.h"
+ #include "mgpu_hooks.h"

@ train @
typedef network;
typedef data;
identifier net, d;
@@
float train_network(network *net, data d)
{
+   if(net->replicas) return mgpu_train_network(net, d);
    ...
}

@ datum @
identifier net;
@@
float train_network_datum(network *net)
{
+   if(net->replicas) return mgpu_train_datum(net);
    ...
}

@ predict @
identifier net, input;
@@
float *network_predict(network *net, float *input)
{
+   if(net->replicas) return mgpu_predict(net, input);
    ...
}

@ resize @
identifier net, w, h;
@@
int resize_network(network *net, int w, int h)
{
+   if(net->replicas) mgpu_resize(net, w, h);
    ...
}

@ reset @
identifier net, b;
@@
void reset_network_state(network *net, int b)
{
+   if(net->replicas) mgpu_reset_state(net, b);
    ...
}

@ release @
identifier net;
@@
void free_network(network *net)
{
+   if(net->replicas) mgpu_free(net);
    ...
}
