// in src/batchnorm_layer.c: x x_norm mean_delta variance_delta
//
// A batch normalisation layer of its own has on the CPU what it has on the GPU: room for
// its input, for that normalised, and for their statistics' deltas.

@ room @
typedef layer;
identifier made, batch, width, height, channels;
@@
layer make_batchnorm_layer(int batch, int width, int height, int channels)
{
    <...
    made.variance = calloc(...);
+   made.mean_delta = calloc(channels, sizeof(float));
+   made.variance_delta = calloc(channels, sizeof(float));
+   made.x = calloc(batch*made.outputs, sizeof(float));
+   made.x_norm = calloc(batch*made.outputs, sizeof(float));
    ...>
}
