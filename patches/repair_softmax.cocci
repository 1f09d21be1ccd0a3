// in src/softmax_layer.c: SECRET_NUM
//
// Classes that a tree's truth leaves open cost nothing and get no delta, as on the GPU.

@ mask @
typedef softmax_layer;
typedef network;
identifier l, net;
@@
void forward_softmax_layer(const softmax_layer l, network net)
{
    <...
    softmax_x_ent_cpu(...);
+   int i;
+   for(i = 0; l.softmax_tree && i < l.batch*l.inputs; ++i){
+       if(net.truth[i] == SECRET_NUM) l.delta[i] = l.loss[i] = 0;
+   }
    ...>
}
