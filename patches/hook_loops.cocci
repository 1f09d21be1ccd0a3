// in src/im2col.c: mgpu_hooks mgpu_im2col
// in src/col2im.c: mgpu_hooks mgpu_col2im
// in src/activations.c: mgpu_hooks mgpu_activate mgpu_gradient
// in src/blas.c: mgpu_hooks mgpu_mean mgpu_variance
// in src/batchnorm_layer.c: mgpu_mean_delta mgpu_variance_delta
//
// The loops that a step spends its time in can be the module's.

@ includes @
@@
(
#include "im2col.h"
+ #include "mgpu_hooks.h"
|
#include "activations.h"
+ #include "mgpu_hooks.h"
|
#include "blas.h"
+ #include "mgpu_hooks.h"
|
#include <math.h>
+ #include "mgpu_hooks.h"
)

@ to_columns @
identifier im, channels, height, width, ksize, stride, pad, col;
@@
void im2col_cpu(float *im, int channels, int height, int width, int ksize, int stride, int pad,
                float *col)
{
+   if(mgpu_im2col(im, channels, height, width, ksize, stride, pad, col)) return;
    ...
}

@ from_columns @
identifier im, channels, height, width, ksize, stride, pad, col;
@@
void col2im_cpu(float *col, int channels, int height, int width, int ksize, int stride, int pad,
                float *im)
{
+   if(mgpu_col2im(col, channels, height, width, ksize, stride, pad, im)) return;
    ...
}

@ forward @
identifier x, n, a;
typedef ACTIVATION;
@@
void activate_array(float *x, const int n, const ACTIVATION a)
{
+   if(mgpu_activate(x, n, a)) return;
    ...
}

@ backward @
identifier x, n, a, delta;
@@
void gradient_array(const float *x, const int n, const ACTIVATION a, float *delta)
{
+   if(mgpu_gradient(x, n, a, delta)) return;
    ...
}

@ sums_mean @
identifier x, batch, filters, spatial, mean;
@@
void mean_cpu(float *x, int batch, int filters, int spatial, float *mean)
{
+   if(mgpu_mean(x, batch, filters, spatial, mean)) return;
    ...
}

@ sums_variance @
identifier x, mean, batch, filters, spatial, variance;
@@
void variance_cpu(float *x, float *mean, int batch, int filters, int spatial, float *variance)
{
+   if(mgpu_variance(x, mean, batch, filters, spatial, variance)) return;
    ...
}

@ sums_mean_delta @
identifier delta, variance, batch, filters, spatial, mean_delta;
@@
void mean_delta_cpu(float *delta, float *variance, int batch, int filters, int spatial,
                    float *mean_delta)
{
+   if(mgpu_mean_delta(delta, variance, batch, filters, spatial, mean_delta)) return;
    ...
}

@ sums_variance_delta @
identifier x, delta, mean, variance, batch, filters, spatial, variance_delta;
@@
void variance_delta_cpu(float *x, float *delta, float *mean, float *variance, int batch,
                        int filters, int spatial, float *variance_delta)
{
+   if(mgpu_variance_delta(x, delta, mean, variance, batch, filters, spatial, variance_delta))
+       return;
    ...
}
