/* mgpu_batchnorm_cuda.c: batch normalisation on a CUDA device, with the CPU's formulas and in
 * its steps, statistics pooled and logged between them. Replaces Darknet's, and cuDNN's. */
#ifdef GPU
#include "mgpu_hooks.h"
#include "mgpu_kernels.h"

#include "blas.h"

static mgpu_shape shape_of(const layer *l)
{
    return (mgpu_shape){l->batch, l->out_c, l->out_w * l->out_h};
}

void mgpu_forward_batchnorm_gpu(layer l, network net)
{
    mgpu_shape s = shape_of(&l);
    float *x = l.type == BATCHNORM ? net.input_gpu : l.output_gpu;
    if(!net.train) {
        mgpu_normalize_gpu(s, x, l.rolling_mean_gpu, l.rolling_variance_gpu, l.scales_gpu,
                           l.biases_gpu, l.output_gpu);
        return;
    }
    mgpu_statistics_gpu(s, x, l.x_gpu, l.mean_gpu, l.variance_gpu);
    mgpu_pool_statistics(l, net);
    if(!mgpu_log_statistics(l, net)) {
        mgpu_move_statistics_gpu(l.out_c, l.mean_gpu, l.variance_gpu, l.rolling_mean_gpu,
                                 l.rolling_variance_gpu);
    }
    mgpu_normalize_gpu(s, l.x_gpu, l.mean_gpu, l.variance_gpu, l.scales_gpu, l.biases_gpu,
                       l.output_gpu);
}

void mgpu_backward_batchnorm_gpu(layer l, network net)
{
    mgpu_shape s = shape_of(&l);
    if(!net.train) {
        l.mean_gpu = l.rolling_mean_gpu;
        l.variance_gpu = l.rolling_variance_gpu;
    }
    mgpu_batchnorm_sums_gpu(s, l.x_gpu, l.delta_gpu, l.mean_gpu, l.variance_gpu, l.scales_gpu,
                            l.scale_updates_gpu, l.bias_updates_gpu, l.mean_delta_gpu,
                            l.variance_delta_gpu);
    mgpu_pool_deltas(l, net);
    mgpu_batchnorm_delta_gpu(s, l.x_gpu, l.mean_gpu, l.variance_gpu, l.scales_gpu,
                             l.mean_delta_gpu, l.variance_delta_gpu, l.delta_gpu);
    if(l.type == BATCHNORM) {
        axpy_gpu(l.outputs * l.batch, 1, l.delta_gpu, 1, net.delta_gpu, 1);
    }
}
#endif
