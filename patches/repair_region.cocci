// in src/region_layer.c: activate_array gradient_array group_offset -temperature
//
// A region layer's deltas reach the layer below it, masks are activated, and a tree's
// classes are softmaxed group by group at each anchor and place, as on the GPU.

@ masks @
typedef layer;
typedef network;
identifier l, net, b, n, index;
@@
void forward_region_layer(const layer l, network net)
{
    <...
    activate_array(l.output + index, 2*l.w*l.h, LOGISTIC);
+   if(l.coords > 4){
+       index = entry_index(l, b, n*l.w*l.h, 4);
+       activate_array(l.output + index, (l.coords - 4)*l.w*l.h, LOGISTIC);
+   }
    index = entry_index(l, b, n*l.w*l.h, l.coords);
    ...>
}

@ tree_classes @
identifier l, net, i, count, size;
expression E;
@@
void forward_region_layer(const layer l, network net)
{
    <...
-   int count = E;
+   int index = entry_index(l, 0, 0, l.coords + 1);
    for(i = 0; ...; ...){
        int size = l.softmax_tree->group_size[i];
-       softmax_cpu(...);
-       count += size;
+       int group = index + l.softmax_tree->group_offset[i]*l.w*l.h;
+       softmax_cpu(net.input + group, size, l.batch*l.n, l.inputs/l.n, l.w*l.h, 1, l.w*l.h, 1, l.output + group);
    }
    ...>
}

@ backward @
identifier l, net;
@@
void backward_region_layer(const layer l, network net)
{
+   int b, n;
+   for(b = 0; b < l.batch; ++b){
+       for(n = 0; n < l.n; ++n){
+           int box = entry_index(l, b, n*l.w*l.h, 0);
+           int mask = entry_index(l, b, n*l.w*l.h, 4);
+           int object = entry_index(l, b, n*l.w*l.h, l.coords);
+           gradient_array(l.output + box, 2*l.w*l.h, LOGISTIC, l.delta + box);
+           if(l.coords > 4) gradient_array(l.output + mask, (l.coords - 4)*l.w*l.h, LOGISTIC, l.delta + mask);
+           if(!l.background) gradient_array(l.output + object, l.w*l.h, LOGISTIC, l.delta + object);
+       }
+   }
+   axpy_cpu(l.batch*l.inputs, 1, l.delta, 1, net.delta, 1);
}
