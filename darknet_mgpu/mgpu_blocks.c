/* mgpu_blocks.c: layers that learn nothing, on images in blocks of channels. */
#ifdef DNNL
#include "mgpu_blocks.h"
#include "mgpu_hooks.h"
#include "activations.h"

#include <float.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define EACH_LANE _Pragma("omp simd") for(int k = 0; k < block; ++k)

/* Calls a function with `block` as a constant, for the compiler to make vectors of. */
#define CALL(f, ...)                                                                           \
    do {                                                                                       \
        if(block == 16) {                                                                      \
            f(__VA_ARGS__, 16);                                                                \
        } else {                                                                               \
            f(__VA_ARGS__, 8);                                                                 \
        }                                                                                      \
    } while(0)

/* ---- maxpool ---- */

/* The part of a window that lies within the image, along one side. */
typedef struct {
    int from, to;
} part;

static part within(int position, int stride, int pad, int size, int side)
{
    int from = position * stride - pad / 2, to = from + size;
    return (part){from < 0 ? 0 : from, to > side ? side : to};
}

/* One output place: the largest of each channel, the first of equals, and where it is. */
INLINE void take_largest(const float *image, int w, part y, part x, float *output, int *indexes,
                         const int block)
{
    EACH_LANE
    {
        output[k] = -FLT_MAX;
        indexes[k] = -1;
    }
    for(int i = y.from; i < y.to; ++i) {
        for(int j = x.from; j < x.to; ++j) {
            const float *from = image + (size_t)(i * w + j) * block;
            EACH_LANE
            {
                int larger = from[k] > output[k];
                output[k] = larger ? from[k] : output[k];
                indexes[k] = larger ? i * w + j : indexes[k];
            }
        }
    }
}

INLINE void forward_maxpool(const layer *l, const float *input, const int block)
{
    float *output = l->output;
    int *indexes = l->indexes;
    for(int g = 0; g < l->batch * l->c / block; ++g, input += l->h * l->w * block) {
        for(int i = 0; i < l->out_h; ++i) {
            part y = within(i, l->stride, l->pad, l->size, l->h);
            for(int j = 0; j < l->out_w; ++j, output += block, indexes += block) {
                part x = within(j, l->stride, l->pad, l->size, l->w);
                take_largest(input, l->w, y, x, output, indexes, block);
            }
        }
    }
}

INLINE void backward_maxpool(const layer *l, float *to, const int block)
{
    const float *delta = l->delta;
    const int *indexes = l->indexes;
    for(int g = 0; g < l->batch * l->c / block; ++g, to += l->h * l->w * block) {
        for(int i = 0; i < l->out_h; ++i) {
            part y = within(i, l->stride, l->pad, l->size, l->h);
            for(int j = 0; j < l->out_w; ++j, delta += block, indexes += block) {
                part x = within(j, l->stride, l->pad, l->size, l->w);
                for(int place = y.from * l->w; place < y.to * l->w; place += l->w) {
                    for(int at = place + x.from; at < place + x.to; ++at) {
                        float *sum = to + (size_t)at * block;
                        EACH_LANE sum[k] += indexes[k] == at ? delta[k] : 0;
                    }
                }
            }
        }
    }
}

void mgpu_blocks_forward_maxpool(layer l, network net, int block)
{
    CALL(forward_maxpool, &l, net.input);
}

void mgpu_blocks_backward_maxpool(layer l, network net, int block)
{
    if(net.delta) CALL(backward_maxpool, &l, net.delta);
}

/* ---- avgpool ---- */

INLINE void forward_avgpool(const layer *l, const float *input, const int block)
{
    int spatial = l->h * l->w;
    float *output = l->output;
    for(int g = 0; g < l->batch * l->c / block; ++g, output += block) {
        EACH_LANE output[k] = 0;
        for(int i = 0; i < spatial; ++i, input += block) EACH_LANE output[k] += input[k];
        EACH_LANE output[k] /= spatial;
    }
}

INLINE void backward_avgpool(const layer *l, float *to, const int block)
{
    int spatial = l->h * l->w;
    const float *delta = l->delta;
    for(int g = 0; g < l->batch * l->c / block; ++g, delta += block) {
        for(int i = 0; i < spatial; ++i, to += block) EACH_LANE to[k] += delta[k] / spatial;
    }
}

void mgpu_blocks_forward_avgpool(layer l, network net, int block)
{
    CALL(forward_avgpool, &l, net.input);
}

void mgpu_blocks_backward_avgpool(layer l, network net, int block)
{
    if(net.delta) CALL(backward_avgpool, &l, net.delta);
}

/* ---- dropout ---- */

/* l.rand is in the order of planes: row, channel, place. */
INLINE void drop(const layer *l, int channels, float *x, const int block)
{
    int spatial = l->inputs / channels;
    const float *drawn = l->rand;
    for(int g = 0; g < l->batch * channels / block; ++g, drawn += spatial * block) {
        for(int i = 0; i < spatial; ++i, x += block) {
            EACH_LANE x[k] = drawn[k * spatial + i] < l->probability ? 0 : x[k] * l->scale;
        }
    }
}

void mgpu_blocks_forward_dropout(layer l, network net, int block)
{
    if(!net.train) return;
    mgpu_uniform(net, l.rand, l.batch, l.inputs);
    CALL(drop, &l, l.out_c, net.input);
}

void mgpu_blocks_backward_dropout(layer l, network net, int block)
{
    if(net.delta) CALL(drop, &l, l.out_c, net.delta);
}

/* ---- shortcut ---- */

/* One side of it: images of c channels. */
typedef struct {
    int w, h, c;
} sizes;

/* out = s1 * out + s2 * add, where both have a place; the larger one's places are taken at
 * steps, as by Darknet's shortcut_cpu. */
INLINE void add_images(int batch, sizes from, const float *add, sizes to, float s1, float s2,
                       float *out, const int block)
{
    int stride = from.w > to.w ? from.w / to.w : 1, sample = to.w > from.w ? to.w / from.w : 1;
    int w = from.w < to.w ? from.w : to.w, h = from.h < to.h ? from.h : to.h;
    int groups = (from.c < to.c ? from.c : to.c) / block;
    for(int g = 0; g < batch * groups; ++g) {
        int row = g / groups, group = g % groups;
        const float *a = add + ((size_t)row * from.c / block + group) * from.h * from.w * block;
        float *o = out + ((size_t)row * to.c / block + group) * to.h * to.w * block;
        for(int i = 0; i < h; ++i) {
            for(int j = 0; j < w; ++j) {
                const float *x = a + ((size_t)i * stride * from.w + j * stride) * block;
                float *y = o + ((size_t)i * sample * to.w + j * sample) * block;
                EACH_LANE y[k] = s1 * y[k] + s2 * x[k];
            }
        }
    }
}

void mgpu_blocks_forward_shortcut(layer l, network net, int block)
{
    sizes from = {l.w, l.h, l.c}, to = {l.out_w, l.out_h, l.out_c};
    memcpy(l.output, net.input, (size_t)l.batch * l.outputs * sizeof *l.output);
    CALL(add_images, l.batch, from, net.layers[l.index].output, to, l.alpha, l.beta, l.output);
    activate_array(l.output, l.outputs * l.batch, l.activation);
}

void mgpu_blocks_backward_shortcut(layer l, network net, int block)
{
    sizes from = {l.w, l.h, l.c}, to = {l.out_w, l.out_h, l.out_c};
    float *other = net.layers[l.index].delta;
    gradient_array(l.output, l.outputs * l.batch, l.activation, l.delta);
    for(int i = 0; net.delta && i < l.batch * l.outputs; ++i)
        net.delta[i] += l.alpha * l.delta[i];
    if(other) CALL(add_images, l.batch, to, l.delta, from, 1, l.beta, other);
}
#endif
