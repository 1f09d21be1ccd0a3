// in src/parser.c: mgpu_hooks mgpu_parsed_options mgpu_loading_weights
//
// A replica is built for its own number of rows; a root checks a weights file
// against its layers before the first byte of it is taken.

@ includes @
@@
#include "parser.h"
+ #include "mgpu_hooks.h"

@ options @
typedef network;
identifier options, net;
@@
network *parse_network_cfg(...)
{
    ...
    parse_net_options(options, net);
+   mgpu_parsed_options(net);
    ...
}

@ weights @
identifier net, filename, start, cutoff;
@@
void load_weights_upto(network *net, char *filename, int start, int cutoff)
{
+   if(net->replicas) mgpu_loading_weights(net, filename, start, cutoff);
    ...
}
