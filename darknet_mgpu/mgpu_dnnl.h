/* mgpu_dnnl.h: convolutions by oneDNN, on the host. All that is made with oneDNN is made here.
 */
#ifndef MGPU_DNNL_H
#define MGPU_DNNL_H

#include <stddef.h>

/* A convolution of `rows` images of c channels with n filters. Images are rows of planes
 * [c][h][w], or with `block` channels side by side, [c / block][h][w][block]; filters are
 * Darknet's [n][c / groups][size][size]. */
typedef struct {
    int rows, c, h, w, n, out_h, out_w, size, stride, pad, groups;
    int source_blocked, output_blocked; /* 1: in blocks of mgpu_dnnl_block() channels */
    int source_delta;                   /* 1: mgpu_dnnl_backward() is to give one */
} mgpu_dnnl_shape;

typedef struct mgpu_dnnl mgpu_dnnl;

/* How many channels this processor likes to have side by side; 0: planes. */
int mgpu_dnnl_block(void);

/* Makes what runs it, in the thread that will, on as many as OpenMP gives that. NULL with
 * mgpu_error() if oneDNN has no answer. Freed by mgpu_dnnl_free(); NULL is fine there. */
mgpu_dnnl *mgpu_dnnl_make(const mgpu_dnnl_shape *shape);
void mgpu_dnnl_free(mgpu_dnnl *d);

/* How many bytes, 64-byte aligned, the functions below want for `scratch`. */
size_t mgpu_dnnl_scratch(const mgpu_dnnl *d);

/* output = the convolution of source. Both functions end the job (mgpu_workers.h) if oneDNN
 * fails. */
void mgpu_dnnl_forward(const mgpu_dnnl *d, const float *source, const float *weights,
                       float *output, void *scratch);

/* gradient, as long as the filters, += the output's delta times source; and, where source_delta
 * is not NULL, source_delta = (with `add`, +=) what the output's delta makes of it. */
void mgpu_dnnl_backward(const mgpu_dnnl *d, const float *source, const float *weights,
                        const float *delta, float *gradient, float *source_delta, int add,
                        void *scratch);

#endif
