/* mgpu_tensors.h: the one table of layer types, and the arenas laid out by it.
 *
 * A tensor is one learnable or running array of a layer. Tensors are found by the
 * layer's type, never by a pointer being non-null: a yolo layer's `biases` are
 * anchors. Everything that merges, updates, saves or compares iterates over them. */
#ifndef MGPU_TENSORS_H
#define MGPU_TENSORS_H

#include "darknet.h"

#include <stddef.h>

/* One kind of array of a layer type. */
typedef struct {
    const char *name; /* the field of struct layer, e.g. "weights" */
    size_t value;     /* where in struct layer its pointer is */
    size_t gradient;  /* the same of its gradient */
#ifdef GPU
    size_t value_gpu,
        gradient_gpu; /* the same of their counterparts in a CUDA device's memory */
#endif
    size_t (*length)(const layer *l); /* floats */
    int batch_normalized;             /* 1: only with batch_normalize */
    int running;                      /* 1: a running statistic: no gradient, not learned */
    int decays;                       /* 1: decays under SGD */
    int fixed;                        /* 1: has a gradient, which Darknet never applies */
    int unsaved;                      /* 1: not in weights files */
} mgpu_tensor_kind;

/* One field of struct layer that points to a layer within the layer. */
typedef struct {
    const char *name; /* the field, e.g. "input_layer" */
    size_t field;     /* where in struct layer it is */
} mgpu_nested;

/* One layer type. */
typedef struct {
    LAYER_TYPE type;
    const char *name; /* as a cfg spells it */
    int resized;      /* 1: resize_network can do it */
    int gathered;     /* 1: its outputs are merged into the root even in mid-network */
    int clips;        /* 1: the cfg's clip= holds for its weights */
    int sgd;          /* 1: learns by SGD even where the cfg says adam=1 */
    int nkinds;
    const mgpu_tensor_kind *kinds;
    /* Layers within it, each of a type of this table: it is recurrent, runs them once for
     * each time step, and has a state for each sequence. */
    int nnested;
    const mgpu_nested *nested;
} mgpu_layer_kind;

/* One array of one layer of a network. */
typedef struct {
    int layer;
    const mgpu_nested *nested; /* which layer within that layer; NULL: itself */
    const mgpu_tensor_kind *kind;
    size_t offset; /* floats, in the arena W (and U, G) or, if running, R */
    size_t length; /* floats */
} mgpu_tensor;

/* All arrays of a network, in the order of its layers. */
typedef struct {
    int n;
    mgpu_tensor *tensors;
    size_t learned; /* floats of W, U and each G, padding included */
    size_t running; /* floats of R and of one log of statistics */
} mgpu_layout;

/* Whole layers that lie next to each other in the arenas: what is merged and published in one
 * go. It is complete in a backward pass when that is through with `layer`, its first. */
typedef struct {
    int layer;
    size_t from, to; /* floats, in W, U and G */
} mgpu_bucket;

/* Writes the buckets of at least `least` floats each that make up the arenas, from the last
 * layer to the first, and returns their number; with buckets NULL only returns it. */
int mgpu_buckets(const mgpu_layout *layout, size_t least, mgpu_bucket *buckets);

/* The row of a layer's type, or NULL if the type is not in the table. */
const mgpu_layer_kind *mgpu_layer_kind_of(const layer *l);

#define MGPU_ALIGN 16 /* floats, 64 bytes: offsets in arenas are multiples of it */

/* Lays out `net`'s tensors: offsets in layer order, each a multiple of 16 floats.
 * Returns 0, or -1 with mgpu_error() naming the layer that can not be replicated.
 * The layout is freed by mgpu_layout_free; it keeps no pointer into `net`. */
int mgpu_layout_make(mgpu_layout *layout, const network *net);
void mgpu_layout_free(mgpu_layout *layout);

/* Returns 0 if `net` has exactly the arrays of `layout`, else -1 with mgpu_error(). */
int mgpu_layout_matches(const mgpu_layout *layout, const network *net);

/* The layer whose array it is, a layer within a layer or not. */
layer *mgpu_tensor_layer(const network *net, const mgpu_tensor *t);

/* The layer that a field of `l` points to. */
layer *mgpu_nested_layer(const layer *l, const mgpu_nested *nested);

/* Calls visit for each layer of `net` in order, layers within layers too, after the one
 * that they are in; stops at the first that returns not 0, and returns that. */
int mgpu_each_layer(const network *net, int (*visit)(void *arg, const layer *l), void *arg);

/* 1 if `net` has layers that run over time steps. */
int mgpu_recurrent(const network *net);

/* Where a tensor's pointers stand in `net`'s layer. The second only for tensors
 * that are not running. */
float **mgpu_tensor_value(network *net, const mgpu_tensor *t);
float **mgpu_tensor_gradient(network *net, const mgpu_tensor *t);

/* An arena of n floats, zeroed, 64-byte aligned; NULL with mgpu_error() if there is
 * no memory. Never NULL for n = 0. Freed by free(). */
float *mgpu_arena_make(size_t n);

#endif
