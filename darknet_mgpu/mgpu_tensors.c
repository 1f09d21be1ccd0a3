/* mgpu_tensors.c: the one table of layer types, and the arenas laid out by it. */
#include "mgpu_tensors.h"
#include "mgpu_error.h"

#include <stdlib.h>
#include <string.h>

#define ALIGN 16 /* floats: 64 bytes */

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

#define FIELD(f) offsetof(layer, f)
#define LEARNED(f, g) .name = #f, .value = FIELD(f), .gradient = FIELD(g)
#define RUNNING(f) .name = #f, .value = FIELD(f), .running = 1, .batch_normalized = 1

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

#define KINDS(a) .nkinds = sizeof(a) / sizeof *(a), .kinds = (a)
#define LATER .refused = "not supported by this module yet"

static const mgpu_layer_kind layer_kinds[] = {
    {CONVOLUTIONAL, "convolutional", .resized = 1, KINDS(convolutional)},
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
    {DECONVOLUTIONAL, "deconvolutional", LATER},
    {LOCAL, "local", LATER},
    {BATCHNORM, "batchnorm", LATER},
    {RNN, "rnn", LATER},
    {GRU, "gru", LATER},
    {LSTM, "lstm", LATER},
    {CRNN, "crnn", LATER},
    {REGION, "region", .resized = 1, LATER},
    {DETECTION, "detection", LATER},
    {ISEG, "iseg", LATER},
    {L2NORM, "l2norm", LATER},
    {NORMALIZATION, "normalization", .resized = 1, LATER},
    {CROP, "crop", .resized = 1, LATER},
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

static int check_layer(const network *net, int i, const mgpu_layer_kind *kind)
{
    if(!kind)
        return mgpu_fail("layer %d: not a layer that Darknet knows; check its [section]", i);
    if(kind->refused) return mgpu_fail("layer %d: [%s] is %s", i, kind->name, kind->refused);
    if(net->layers[i].type == SOFTMAX && net->layers[i].softmax_tree) {
        return mgpu_fail("layer %d: [softmax] with a tree is not supported by this module yet",
                         i);
    }
    return 0;
}

/* Calls visit for each array that `net` has, in layer order. */
static int each_tensor(const network *net, int (*visit)(void *, mgpu_tensor), void *arg)
{
    for(int i = 0; i < net->n; ++i) {
        const layer *l = net->layers + i;
        const mgpu_layer_kind *kind = mgpu_layer_kind_of(l);
        if(check_layer(net, i, kind) < 0) return -1;
        for(int k = 0; k < kind->nkinds; ++k) {
            const mgpu_tensor_kind *t = kind->kinds + k;
            if(t->batch_normalized && !l->batch_normalize) continue;
            if(visit(arg, (mgpu_tensor){i, t, 0, t->length(l)}) < 0) return -1;
        }
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
    *end += (t.length + ALIGN - 1) / ALIGN * ALIGN;
    layout->tensors[layout->n++] = t;
    return 0;
}

int mgpu_layout_make(mgpu_layout *layout, const network *net)
{
    *layout = (mgpu_layout){0};
    if(each_tensor(net, append, layout) == 0) return 0;
    mgpu_layout_free(layout);
    return -1;
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
        same = a->layer == b->layer && a->kind == b->kind && a->length == b->length;
    }
    mgpu_layout_free(&other);
    return same ? 0 : mgpu_fail("the cfg file no longer describes the network made from it");
}

static float **field(network *net, int i, size_t offset)
{
    return (float **)((char *)(net->layers + i) + offset);
}

float **mgpu_tensor_value(network *net, const mgpu_tensor *t)
{
    return field(net, t->layer, t->kind->value);
}

float **mgpu_tensor_gradient(network *net, const mgpu_tensor *t)
{
    return field(net, t->layer, t->kind->gradient);
}

float *mgpu_arena_make(size_t n)
{
    size_t bytes = (n ? (n + ALIGN - 1) / ALIGN * ALIGN : ALIGN) * sizeof(float);
    float *arena = aligned_alloc(ALIGN * sizeof(float), bytes);
    if(!arena) {
        mgpu_fail("no memory for an arena of %zu MB", bytes >> 20);
        return 0;
    }
    return memset(arena, 0, bytes);
}
