// in src/yolo_layer.c: mgpu_hooks mgpu_on_host
// in src/region_layer.c: mgpu_hooks mgpu_on_host
// in src/iseg_layer.c: mgpu_hooks mgpu_on_host
//
// In a build for CUDA a network may still be in host memory. What these layers do on the
// host alone is asked of the network when it runs, not of the preprocessor.

@ includes @
@@
#include "cuda.h"
+ #include "mgpu_hooks.h"

@ compiled_out @
typedef layer;
typedef network;
identifier f =~ "^forward_(yolo|region|iseg)_layer$";
identifier l, net, b;
expression E1, E2, E3;
statement S;
@@
f(const layer l, network net)
{
    <+...
(
-   S
&
    for(b = E1; b < l.batch; E2){ <+... activate_array(E3, ..., LOGISTIC) ...+> }
)
    ...+>
}

@ asked @
identifier compiled_out.f;
identifier l, net;
statement compiled_out.S;
@@
f(const layer l, network net)
{
    <...
    memcpy(l.output, ...);
+   if(mgpu_on_host(net)){ S }
    ...>
}

@ classes_compiled_out @
identifier l, net;
statement S, S1, S2;
@@
void forward_region_layer(const layer l, network net)
{
    <+...
(
-   S
&
    if(l.softmax_tree) S1 else if(l.softmax) S2
)
    ...+>
}

@ classes_asked @
identifier l, net;
statement S1;
statement classes_compiled_out.S;
@@
void forward_region_layer(const layer l, network net)
{
    <...
    if(mgpu_on_host(net)) S1
+   if(mgpu_on_host(net)){ S }
    ...>
}
