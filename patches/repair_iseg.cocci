// in src/iseg_layer.c: truth
//
// Predicting, an iseg layer has no truth to compare with.

@ predicting @
typedef layer;
typedef network;
identifier l, net, b;
@@
void forward_iseg_layer(const layer l, network net)
{
    ...
+   if(!net.truth) return;
    for(b = 0; ...; ...){
        ...
        memset(l.counts, ...);
        ...
    }
    ...
}
