/* mgpu_compute.c: how the layers of a replica on a host device compute. */
#ifdef DNNL
#include "mgpu_compute.h"
#include "mgpu_blocks.h"
#include "mgpu_dnnl.h"
#include "mgpu_error.h"
#include "mgpu_hooks.h"
#include "mgpu_images.h"
#include "mgpu_replica.h"
#include "mgpu_workers.h"
#include "activations.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* A convolution for so many rows. */
typedef struct convolution {
    int rows;
    mgpu_dnnl *run;
    struct convolution *next;
} convolution;

typedef struct {
    int blocked;    /* 1: its output and delta are in blocks */
    int overwrites; /* 1: it writes the delta below instead of adding to it */
    convolution *convolutions;
    float *sums; /* of a convolutional layer: FIGURES numbers for each filter */
} item;

#define FIGURES 4 /* as many as its backward pass keeps at a time */

struct mgpu_compute {
    int n, block;
    void *scratch;
    size_t scratch_bytes;
    item items[];
};

static mgpu_compute *compute_of(const network *net)
{
    const mgpu_replica *r = net->mgpu;
    return r->compute;
}

/* ---- convolutional layers ---- */

static mgpu_dnnl_shape shape_of(const mgpu_compute *c, const network *net, const layer *l)
{
    int i = net->index;
    return (mgpu_dnnl_shape){
        .rows = l->batch,
        .c = l->c,
        .h = l->h,
        .w = l->w,
        .n = l->n,
        .out_h = l->out_h,
        .out_w = l->out_w,
        .size = l->size,
        .stride = l->stride,
        .pad = l->pad,
        .groups = l->groups,
        .source_blocked = i && c->items[i - 1].blocked,
        .output_blocked = c->items[i].blocked,
        .source_delta = i && net->layers[i - 1].delta,
    };
}

static void make_room(mgpu_compute *c, size_t bytes)
{
    if(bytes <= c->scratch_bytes) return;
    free(c->scratch);
    c->scratch_bytes = 0;
    c->scratch = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if(!c->scratch) mgpu_job_fail("no memory for %zu MB of workspace", bytes >> 20);
    c->scratch_bytes = bytes;
}

static convolution *make_convolution(void)
{
    convolution *v = calloc(1, sizeof *v);
    if(v) return v;
    mgpu_job_fail("no memory for a convolution");
}

/* The layer's convolution for its rows of now. */
static mgpu_dnnl *ready(mgpu_compute *c, const network *net, const layer *l)
{
    item *it = c->items + net->index;
    convolution *found = it->convolutions;
    while(found && found->rows != l->batch) found = found->next;
    if(!found) {
        mgpu_dnnl_shape shape = shape_of(c, net, l);
        found = make_convolution();
        found->next = it->convolutions;
        it->convolutions = found;
        found->rows = l->batch;
        found->run = mgpu_dnnl_make(&shape);
        if(!found->run) mgpu_job_fail("%s", mgpu_error());
        make_room(c, mgpu_dnnl_scratch(found->run));
    }
    return found->run;
}

static mgpu_images images_of(const mgpu_compute *c, const network *net, const layer *l)
{
    int block = c->items[net->index].blocked ? c->block : 1;
    return (mgpu_images){l->batch, l->n, l->out_h * l->out_w, block};
}

/* Darknet's batch normalisation, as it does it: another epsilon forward than backward. */
static float normal_scale(const layer *l, const float *variance, int f)
{
    return l->scales[f] / (sqrtf(variance[f]) + .000001f);
}

static void normalise(const mgpu_compute *c, const layer *l, const network *net, ACTIVATION a)
{
    mgpu_images im = images_of(c, net, l);
    float *scale = c->items[net->index].sums;
    const float *mean = l->rolling_mean, *variance = l->rolling_variance;
    if(net->train) {
        mean = l->mean;
        variance = l->variance;
        mgpu_images_moments(im, l->x, l->mean, l->variance);
        mgpu_pool_statistics(*l, *net);
        mgpu_log_statistics(*l, *net);
    }
    for(int f = 0; f < l->n; ++f) scale[f] = normal_scale(l, variance, f);
    mgpu_images_activate(im, l->x, (mgpu_affine){mean, scale, l->biases}, a, l->output);
}

static void forward_convolutional(layer l, network net)
{
    mgpu_compute *c = compute_of(&net);
    mgpu_dnnl *run = ready(c, &net, &l);
    ACTIVATION a = mgpu_images_can(l.activation) ? l.activation : LINEAR;
    mgpu_dnnl_forward(run, net.input, l.weights, l.batch_normalize ? l.x : l.output,
                      c->scratch);
    if(l.batch_normalize) {
        normalise(c, &l, &net, a);
    } else {
        mgpu_affine biased = {.shift = l.biases};
        mgpu_images_activate(images_of(c, &net, &l), l.output, biased, a, l.output);
    }
    if(a != l.activation) activate_array(l.output, l.outputs * l.batch, l.activation);
}

static void backward_normalise(const mgpu_compute *c, const layer *l, const network *net,
                               ACTIVATION a)
{
    mgpu_images im = images_of(c, net, l);
    float *scale = c->items[net->index].sums, *sum = scale + l->n, *dot = sum + l->n,
          *by = dot + l->n;
    float values = (float)im.rows * im.spatial;
    for(int f = 0; f < l->n; ++f) scale[f] = normal_scale(l, l->variance, f);
    mgpu_images_sums(im, l->x, (mgpu_affine){l->mean, scale, l->biases}, a, l->delta, sum, dot);
    for(int f = 0; f < l->n; ++f) {
        float v = l->variance[f] + .00001f;
        l->bias_updates[f] += sum[f];
        l->scale_updates[f] += dot[f] / (sqrtf(l->variance[f]) + .000001f);
        by[f] = l->scales[f] / sqrtf(v);
        l->mean_delta[f] = -sum[f] * by[f];
        l->variance_delta[f] = -.5f * dot[f] * l->scales[f] * powf(v, -1.5f);
    }
    mgpu_pool_deltas(*l, *net);
    for(int f = 0; f < l->n; ++f) {
        sum[f] = l->mean_delta[f] / values;
        dot[f] = l->variance_delta[f] * 2 / values;
    }
    mgpu_images_combine(im, l->x, (mgpu_affine){l->mean, dot, sum}, by, l->delta);
}

static void backward_bias(const mgpu_compute *c, const layer *l, const network *net,
                          ACTIVATION a)
{
    float *sum = c->items[net->index].sums, *dot = sum + l->n;
    mgpu_images_sums(images_of(c, net, l), l->output, (mgpu_affine){0, 0, 0}, a, l->delta, sum,
                     dot);
    for(int f = 0; f < l->n; ++f) l->bias_updates[f] += sum[f];
}

static void backward_convolutional(layer l, network net)
{
    mgpu_compute *c = compute_of(&net);
    mgpu_dnnl *run = ready(c, &net, &l);
    ACTIVATION a = mgpu_images_can(l.activation) ? l.activation : LINEAR;
    if(a != l.activation) gradient_array(l.output, l.outputs * l.batch, l.activation, l.delta);
    if(l.batch_normalize) {
        backward_normalise(c, &l, &net, a);
    } else {
        backward_bias(c, &l, &net, a);
    }
    mgpu_dnnl_backward(run, net.input, l.weights, l.delta, l.weight_updates, net.delta,
                       !c->items[net.index].overwrites, c->scratch);
}

/* ---- layers that learn nothing ---- */

#define ON_BLOCKS(kind)                                                                        \
    static void forward_##kind(layer l, network net)                                           \
    {                                                                                          \
        mgpu_blocks_forward_##kind(l, net, compute_of(&net)->block);                           \
    }                                                                                          \
    static void backward_##kind(layer l, network net)                                          \
    {                                                                                          \
        mgpu_blocks_backward_##kind(l, net, compute_of(&net)->block);                          \
    }
ON_BLOCKS(maxpool)
ON_BLOCKS(avgpool)
ON_BLOCKS(dropout)
ON_BLOCKS(shortcut)

/* ---- what is taken over, and what is in blocks ---- */

static int is_plain_convolution(const layer *l)
{
    return !l->binary && !l->xnor && l->smooth == 0;
}

static int any(const layer *l)
{
    (void)l;
    return 1;
}

/* In which order a layer's output is; all of these read either. */
typedef enum {
    PLANES,
    EITHER,
    AS_READ /* blocks where all that it reads is in blocks, else planes */
} order;

/* What layers of a type do. Functions NULL: Darknet's, which do not ask for the order. */
static const struct {
    LAYER_TYPE type;
    int (*holds)(const layer *l); /* of which layers it says so */
    int always;                   /* 1: taken over where it reads planes, too */
    order writes;
    void (*forward)(layer l, network net), (*backward)(layer l, network net);
} kinds[] = {
    {CONVOLUTIONAL, is_plain_convolution, 1, EITHER, forward_convolutional,
     backward_convolutional},
    {MAXPOOL, any, 0, AS_READ, forward_maxpool, backward_maxpool},
    {AVGPOOL, any, 0, PLANES, forward_avgpool, backward_avgpool},
    {DROPOUT, any, 0, AS_READ, forward_dropout, backward_dropout},
    {SHORTCUT, any, 0, AS_READ, forward_shortcut, backward_shortcut},
    {ROUTE, any, 0, AS_READ, 0, 0},
};

static int kind_of(const layer *l)
{
    for(int i = 0; i < (int)(sizeof kinds / sizeof *kinds); ++i) {
        if(kinds[i].type == l->type && kinds[i].holds(l)) return i;
    }
    return -1;
}

/* Calls visit(of, i) for each layer i whose output layer `reader` reads. */
static void each_source(const network *net, int reader, void (*visit)(void *of, int i),
                        void *of)
{
    const layer *l = net->layers + reader;
    if(l->type == ROUTE) {
        for(int i = 0; i < l->n; ++i) visit(of, l->input_layers[i]);
        return;
    }
    if(reader) visit(of, reader - 1);
    if(l->type == SHORTCUT) visit(of, l->index);
}

typedef struct {
    mgpu_compute *c;
    int sources,
        blocked; /* of one layer: how many it reads, and how many of those have blocks */
    int changed;
} survey;

static void count_source(void *of, int i)
{
    survey *s = of;
    ++s->sources;
    s->blocked += s->c->items[i].blocked;
}

static void forbid(void *of, int i)
{
    survey *s = of;
    s->changed |= s->c->items[i].blocked;
    s->c->items[i].blocked = 0;
}

/* Takes away blocks that layer i does not let be: those that it reads and does not know, and
 * all around a layer that would have to change the order. */
static void check_blocks(survey *s, const network *net, int i)
{
    int kind = kind_of(net->layers + i);
    s->sources = s->blocked = 0;
    each_source(net, i, count_source, s);
    int whole = s->sources && s->blocked == s->sources && s->c->items[i].blocked;
    if(kind >= 0 && (kinds[kind].writes != AS_READ || whole)) return;
    each_source(net, i, forbid, s);
    forbid(s, i);
}

/* Starts with blocks wherever a layer can write them, and takes away what does not fit. */
static void choose_blocks(mgpu_compute *c, const network *net)
{
    for(int i = 0; i + 1 < c->n; ++i) { /* the last layer's are the network's output */
        const layer *l = net->layers + i;
        int kind = kind_of(l);
        c->items[i].blocked = c->block > 1 && kind >= 0 && kinds[kind].writes != PLANES &&
                              l->out_c % c->block == 0;
    }
    survey s = {.c = c, .changed = 1};
    while(s.changed) {
        s.changed = 0;
        for(int i = 0; i < c->n; ++i) check_blocks(&s, net, i);
    }
}

static void count_reader(void *of, int i)
{
    ++((int *)of)[i];
}

/* A convolution that is the only one to read what is below need not add to the delta there. A
 * dropout layer's output and delta are those of the layer below it. */
static void choose_overwriting(mgpu_compute *c, const network *net)
{
    int readers[c->n];
    memset(readers, 0, sizeof readers);
    for(int i = 0; i < c->n; ++i) each_source(net, i, count_reader, readers);
    for(int i = 1; i < c->n; ++i) {
        int kind = kind_of(net->layers + i), alone = 1, below = i - 1;
        for(; below > 0 && net->layers[below].type == DROPOUT; --below)
            alone &= readers[below] == 1;
        alone &= readers[below] == 1;
        c->items[i].overwrites = kind >= 0 && kinds[kind].always && alone;
    }
}

/* A vector does not lie in two lines of the cache. */
static int align(float **array, size_t n)
{
    if(!*array) return 1;
    float *aligned = aligned_alloc(64, (n * sizeof **array + 63) / 64 * 64);
    if(!aligned) return 0;
    free(*array);
    *array = aligned;
    return 1;
}

static int take_over(mgpu_compute *c, network *net, int i)
{
    layer *l = net->layers + i;
    int kind = kind_of(l), reads = i && c->items[i - 1].blocked;
    size_t n = (size_t)l->batch * l->outputs;
    if(l->type == DROPOUT && i) {
        l->output = net->layers[i - 1].output;
        l->delta = net->layers[i - 1].delta;
    }
    if(kind < 0 || !kinds[kind].forward || !(kinds[kind].always || reads)) return 1;
    l->forward = kinds[kind].forward;
    l->backward = kinds[kind].backward;
    if(l->type != DROPOUT && (!align(&l->output, n) || !align(&l->delta, n))) return 0;
    if(l->type != CONVOLUTIONAL) return 1;
    c->items[i].sums = calloc((size_t)l->n * FIGURES, sizeof(float));
    return c->items[i].sums && (!l->batch_normalize || align(&l->x, n));
}

static int anything(const network *net)
{
    for(int i = 0; i < net->n; ++i) {
        int kind = kind_of(net->layers + i);
        if(kind >= 0 && kinds[kind].always) return 1;
    }
    return 0;
}

mgpu_compute *mgpu_compute_make(network *net)
{
    if(!mgpu_tuned || !anything(net)) return 0;
    mgpu_compute *c = calloc(1, sizeof *c + net->n * sizeof *c->items);
    int ok = c != 0;
    if(ok) {
        c->n = net->n;
        c->block = mgpu_dnnl_block();
        choose_blocks(c, net);
        choose_overwriting(c, net);
    }
    for(int i = 0; ok && i < net->n; ++i) ok = take_over(c, net, i);
    if(!ok) mgpu_job_fail("no memory for the layers' arrays");
    const layer last = get_network_output_layer(net);
    net->output = last.output;
    return c;
}

void mgpu_compute_free(mgpu_compute *c)
{
    if(!c) return;
    for(int i = 0; i < c->n; ++i) {
        for(convolution *v = c->items[i].convolutions, *next; v; v = next) {
            next = v->next;
            mgpu_dnnl_free(v->run);
            free(v);
        }
        free(c->items[i].sums);
    }
    free(c->scratch);
    free(c);
}

void mgpu_compute_threads(int n)
{
    omp_set_num_threads(n);
}

int mgpu_compute_overwrites(const mgpu_compute *c, int index)
{
    return c && index + 1 < c->n && c->items[index + 1].overwrites;
}

int mgpu_compute_blocked(const mgpu_compute *c, int index)
{
    return c && c->items[index].blocked;
}

int mgpu_compute_block(void)
{
    return mgpu_dnnl_block();
}
#endif
