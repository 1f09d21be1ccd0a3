// in src/connected_layer.c: -constrain_gpu
//
// A connected layer's delta is not cut off at 1 on the GPU, as it is not on the CPU.

@ whole @
@@
backward_connected_layer_gpu(...)
{
-   constrain_gpu(...);
    ...
}
