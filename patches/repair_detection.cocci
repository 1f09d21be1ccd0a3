// in src/detection_layer.c: softmax
//
// Predicting, a detection layer's classes are softmaxed on the GPU, too.

@ predicting @
typedef detection_layer, network;
identifier l, net;
@@
void forward_detection_layer_gpu(const detection_layer l, network net)
{
-   if(!net.train){
+   if(!net.train && !l.softmax){
        ...
    }
    ...
}
