/* mgpu_tensors.c: the one table of layer types, and the arenas laid out by it. */
#include "mgpu_tensors.h"
#include "mgpu_error.h"

#include <stdlib.h>
#include <string.h>

static size_t per_filter(const layer *l)
{
    return l->n;
}

static size_t per_filter_weight(const layer *l)
{
    return l->nweights;
}

static size_t per_output(const layer *l)
{
    return l->outputs;
}

static size_t per_connection(const layer *l)
{
    return (size_t)l->inputs * l->outputs;
}

/* A local layer has weights of its own for each place of its output. */
static size_t per_place_weight(const layer *l)
{
    return (size_t)l->size * l->size * l->c * l->n * l->out_w * l->out_h;
}

static size_t per_channel(const layer *l)
{
    return l->c;
}

#define FIELD(f) offsetof(layer, f)
#ifdef GPU
#define VALUE(f) .name = #f, .value = FIELD(f), .value_gpu = FIELD(f##_gpu)
#define GRADIENT(g) .gradient = FIELD(g), .gradient_gpu = FIELD(g##_gpu)
#else
#define VALUE(f) .name = #f, .value = FIELD(f)
#define GRADIENT(g) .gradient = FIELD(g)
#endif
#define LEARNED(f, g) VALUE(f), GRADIENT(g)
#define RUNNING(f) VALUE(f), .running = 1, .batch_normalized = 1

static const mgpu_tensor_kind convolutional[] = {
    {LEARNED(biases, bias_updates), .length = per_filter},
    {LEARNED(scales, scale_updates), .length = per_filter, .batch_normalized = 1},
    {LEARNED(weights, weight_updates), .length = per_filter_weight, .decays = 1},
    {RUNNING(rolling_mean), .length = per_filter},
    {RUNNING(rolling_variance), .length = per_filter},
};

static const mgpu_tensor_kind connected[] = {
    {LEARNED(biases, bias_updates), .length = per_output},
    {LEARNED(scales, scale_updates), .length = per_output, .batch_normalized = 1},
    {LEARNED(weights, weight_updates), .length = per_connection, .decays = 1},
    {RUNNING(rolling_mean), .length = per_output},
    {RUNNING(rolling_variance), .length = per_output},
};

static const mgpu_tensor_kind local[] = {
    {LEARNED(biases, bias_updates), .length = per_output},
    {LEARNED(weights, weight_updates), .length = per_place_weight, .decays = 1},
};

/* Not learned by Darknet, and its biases are not in weights files. */
static const mgpu_tensor_kind batchnorm[] = {
    {LEARNED(biases, bias_updates), .length = per_channel, .fixed = 1, .unsaved = 1},
    {LEARNED(scales, scale_updates), .length = per_channel, .fixed = 1},
    {VALUE(rolling_mean), .running = 1, .length = per_channel},
    {VALUE(rolling_variance), .running = 1, .length = per_channel},
};

#define NESTED(f)                                                                              \
    {                                                                                          \
#f, FIELD(f)                                                                           \
    }
static const mgpu_nested rnn[] = {NESTED(input_layer), NESTED(self_layer),
                                  NESTED(output_layer)};
static const mgpu_nested gru[] = {NESTED(wz), NESTED(wr), NESTED(wh),
                                  NESTED(uz), NESTED(ur), NESTED(uh)};
static const mgpu_nested lstm[] = {NESTED(wi), NESTED(wf), NESTED(wo), NESTED(wg),
                                   NESTED(ui), NESTED(uf), NESTED(uo), NESTED(ug)};

#define LAYERS(a) .nnested = sizeof(a) / sizeof *(a), .nested = (a)
#define KINDS(a) .nkinds = sizeof(a) / sizeof *(a), .kinds = (a)

static const mgpu_layer_kind layer_kinds[] = {
    {CONVOLUTIONAL, "convolutional", .resized = 1, .clips = 1, KINDS(convolutional)},
    {CONNECTED, "connected", KINDS(connected)},
    {MAXPOOL, "maxpool", .resized = 1},
    {AVGPOOL, "avgpool", .resized = 1},
    {ROUTE, "route", .resized = 1},
    {SHORTCUT, "shortcut", .resized = 1},
    {UPSAMPLE, "upsample", .resized = 1},
    {REORG, "reorg", .resized = 1},
    {ACTIVE, "activation", .resized = 0},
    {DROPOUT, "dropout", .resized = 0},
    {SOFTMAX, "softmax", .resized = 0},
    {LOGXENT, "logistic", .resized = 0},
    {COST, "cost", .resized = 1},
    {YOLO, "yolo", .resized = 1, .gathered = 1},
    {DECONVOLUTIONAL, "deconvolutional", .resized = 0, KINDS(convolutional)},
    {LOCAL, "local", .sgd = 1, KINDS(local)},
    {BATCHNORM, "batchnorm", .resized = 0, KINDS(batchnorm)},
    {RNN, "rnn", LAYERS(rnn)},
    {GRU, "gru", LAYERS(gru)},
    {LSTM, "lstm", LAYERS(lstm)},
    {CRNN, "crnn", LAYERS(rnn)},
    {REGION, "region", .resized = 1, .gathered = 1},
    {DETECTION, "detection", .gathered = 1},
    {ISEG, "iseg", .gathered = 1},
    {L2NORM, "l2norm", .resized = 0},
    {NORMALIZATION, "normalization", .resized = 1},
    {CROP, "crop", .resized = 1},
};

const mgpu_layer_kind *mgpu_layer_kind_of(const layer *l)
{
    /* Darknet leaves a section that it does not know as a layer of zeros, whose
     * type reads as convolutional but which has no forward pass. */
    if(!l->forward) return 0;
    for(size_t i = 0; i < sizeof layer_kinds / sizeof *layer_kinds; ++i) {
        if(layer_kinds[i].type == l->type) return layer_kinds + i;
    }
    return 0;
}

layer *mgpu_nested_layer(const layer *l, const mgpu_nested *nested)
{
    return *(layer *const *)((const char *)l + nested->field);
}

int mgpu_each_layer(const network *net, int (*visit)(void *arg, const layer *l), void *arg)
{
    for(int i = 0; i < net->n; ++i) {
        const mgpu_layer_kind *kind = mgpu_layer_kind_of(net->layers + i);
        int stop = visit(arg, net->layers + i);
        for(int j = 0; !stop && kind && j < kind->nnested; ++j) {
            stop = visit(arg, mgpu_nested_layer(net->layers + i, kind->nested + j));
        }
        if(stop) return stop;
    }
    return 0;
}

int mgpu_recurrent(const network *net)
{
    for(int i = 0; i < net->n; ++i) {
        const mgpu_layer_kind *kind = mgpu_layer_kind_of(net->layers + i);
        if(kind && kind->nnested) return 1;
    }
    return 0;
}

/* Calls visit for each array of layer i, or of a layer within it. */
static int each_of_layer(const network *net, int i, const mgpu_nested *nested,
                         int (*visit)(void *, mgpu_tensor), void *arg)
{
    const layer *l = net->layers + i;
    if(nested) l = mgpu_nested_layer(l, nested);
    const mgpu_layer_kind *kind = mgpu_layer_kind_of(l);
    if(!kind) {
        return mgpu_fail("layer %d: not a layer that Darknet knows; check its [section]", i);
    }
    for(int k = 0; k < kind->nkinds; ++k) {
        const mgpu_tensor_kind *t = kind->kinds + k;
        if(t->batch_normalized && !l->batch_normalize) continue;
        if(visit(arg, (mgpu_tensor){i, nested, t, 0, t->length(l)}) < 0) return -1;
    }
    for(int k = 0; !nested && k < kind->nnested; ++k) {
        if(each_of_layer(net, i, kind->nested + k, visit, arg) < 0) return -1;
    }
    return 0;
}

static int append(void *arg, mgpu_tensor t)
{
    mgpu_layout *layout = arg;
    mgpu_tensor *grown = realloc(layout->tensors, (layout->n + 1) * sizeof t);
    if(!grown) return mgpu_fail("no memory for the table of tensors");
    layout->tensors = grown;
    size_t *end = t.kind->running ? &layout->running : &layout->learned;
    t.offset = *end;
    *end += (t.length + MGPU_ALIGN - 1) / MGPU_ALIGN * MGPU_ALIGN;
    layout->tensors[layout->n++] = t;
    return 0;
}

int mgpu_layout_make(mgpu_layout *layout, const network *net)
{
    *layout = (mgpu_layout){0};
    for(int i = 0; i < net->n; ++i) {
        if(each_of_layer(net, i, 0, append, layout) == 0) continue;
        mgpu_layout_free(layout);
        return -1;
    }
    return 0;
}

int mgpu_buckets(const mgpu_layout *layout, size_t least, mgpu_bucket *buckets)
{
    int n = 0;
    mgpu_bucket b = {.from = layout->learned, .to = layout->learned};
    for(int i = layout->n - 1; i >= 0; --i) {
        const mgpu_tensor *t = layout->tensors + i, *below = i ? t - 1 : 0;
        if(!t->kind->running) {
            b.from = t->offset;
            b.layer = t->layer;
        }
        int whole = !below || below->layer != t->layer;
        if(!whole || b.to - b.from < least) continue;
        if(buckets) buckets[n] = b;
        ++n;
        b.to = b.from;
    }
    if(b.to == 0) return n; /* what is left at the first layers is a bucket too */
    if(buckets) buckets[n] = b;
    return n + 1;
}

void mgpu_layout_free(mgpu_layout *layout)
{
    free(layout->tensors);
    *layout = (mgpu_layout){0};
}

int mgpu_layout_matches(const mgpu_layout *layout, const network *net)
{
    mgpu_layout other;
    if(mgpu_layout_make(&other, net) < 0) return -1;
    int same = other.n == layout->n;
    for(int i = 0; same && i < other.n; ++i) {
        const mgpu_tensor *a = other.tensors + i, *b = layout->tensors + i;
        same = a->layer == b->layer && a->nested == b->nested && a->kind == b->kind &&
               a->length == b->length;
    }
    mgpu_layout_free(&other);
    return same ? 0 : mgpu_fail("the cfg file no longer describes the network made from it");
}

layer *mgpu_tensor_layer(const network *net, const mgpu_tensor *t)
{
    layer *l = net->layers + t->layer;
    return t->nested ? mgpu_nested_layer(l, t->nested) : l;
}

static float **field(layer *l, size_t offset)
{
    return (float **)((char *)l + offset);
}

float **mgpu_tensor_value(network *net, const mgpu_tensor *t)
{
    return field(mgpu_tensor_layer(net, t), t->kind->value);
}

float **mgpu_tensor_gradient(network *net, const mgpu_tensor *t)
{
    return field(mgpu_tensor_layer(net, t), t->kind->gradient);
}

float *mgpu_arena_make(size_t n)
{
    size_t bytes =
        (n ? (n + MGPU_ALIGN - 1) / MGPU_ALIGN * MGPU_ALIGN : MGPU_ALIGN) * sizeof(float);
    float *arena = aligned_alloc(MGPU_ALIGN * sizeof(float), bytes);
    if(!arena) {
        mgpu_fail("no memory for an arena of %zu MB", bytes >> 20);
        return 0;
    }
    return memset(arena, 0, bytes);
}
