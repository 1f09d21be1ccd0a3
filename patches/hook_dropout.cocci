// in src/dropout_layer.c: mgpu_uniform
//
// In a replica dropout draws per row of the mini-batch, so that it does not depend
// on how the rows are cut.

@ draw @
typedef dropout_layer;
typedef network;
identifier l, net, i, r;
@@
void forward_dropout_layer(dropout_layer l, network net)
{
    int i;
    if (!net.train) return;
+   int drawn = mgpu_uniform(net, l.rand, l.batch, l.inputs);
    for(...; ...; ...){
-       float r = rand_uniform(0, 1);
+       float r = drawn ? l.rand[i] : rand_uniform(0, 1);
        ...
    }
}
