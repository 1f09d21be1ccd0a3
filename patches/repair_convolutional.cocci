// in src/convolutional_layer.c: imd smooth stride
// in src/convolutional_kernels.cu: imd out_w stride
//
// A 1x1 convolution adds its delta to that of the layer below, where a shortcut or a
// route may have put theirs; it overwrote it. Its input is taken as it is only where
// im2col would change nothing: with a stride or padding of its own it would.
// The smooth option holds on the CPU, too, and has the sides of the output.

@ forward @
@@
forward_convolutional_layer(...)
{
    <...
-   l.size == 1
+   (l.size == 1 && l.stride == 1 && !l.pad)
    ...>
}

@ forward_gpu @
@@
forward_convolutional_layer_gpu(...)
{
    <...
-   l.size == 1
+   (l.size == 1 && l.stride == 1 && !l.pad)
    ...>
}

@ backward @
identifier f =~ "^backward_convolutional_layer(_gpu)?$";
identifier product =~ "^gemm(_gpu)?$";
symbol imd;
expression c, n, k, m, a, b;
@@
f(...)
{
    <...
(
-   l.size == 1
+   (l.size == 1 && l.stride == 1 && !l.pad)
|
-   l.size != 1
+   !(l.size == 1 && l.stride == 1 && !l.pad)
|
-   product(1, 0, n, k, m, 1, a, n, b, k, 0, c, k)
+   product(1, 0, n, k, m, 1, a, n, b, k, c == imd, c, k)
)
    ...>
}

@ smooth @
typedef convolutional_layer, network;
identifier l, net;
@@
+/* Each output is drawn towards those around it in a square of size by size. */
+static void smooth_delta(convolutional_layer l, int size, float rate)
+{
+    int i, j;
+    for(i = 0; i < l.batch*l.outputs; ++i){
+        int x = i % l.out_w, y = i/l.out_w % l.out_h;
+        for(j = 0; j < size*size; ++j){
+            int right = j % size - size/2, down = j/size - size/2;
+            if(x + right < 0 || x + right >= l.out_w || y + down < 0 || y + down >= l.out_h) continue;
+            l.delta[i] += rate*(l.output[i + down*l.out_w + right] - l.output[i]);
+        }
+    }
+}
+
void backward_convolutional_layer(convolutional_layer l, network net)
{
    ...
+   if(l.smooth) smooth_delta(l, 5, l.smooth);
    gradient_array(...);
    ...
}

@ smooth_gpu @
identifier f =~ "^backward_convolutional_layer_gpu$";
@@
f(...)
{
    <...
-   smooth_layer(l, 5, l.smooth);
+   layer sides = l;
+   sides.w = l.out_w;
+   sides.h = l.out_h;
+   sides.c = l.out_c;
+   smooth_layer(sides, 5, l.smooth);
    ...>
}
