/* networks.h: made-up rows for any network, and all its tensors in a list to compare. */
#ifndef NETWORKS_H
#define NETWORKS_H

#include "support.h"
#include "mgpu_error.h"
#include "mgpu_tensors.h"

/* A detection layer's truth: cells of object, classes, box. */
static inline void fill_grid(const layer *l, int row, float *y)
{
    int size = 1 + l->coords + l->classes;
    float *cell = y + (size_t)(mix(row, 7) % (l->side * l->side)) * size;
    cell[0] = 1;
    cell[1 + mix(row, 8) % l->classes] = 1;
    for(int i = 0; i < 4; ++i) cell[1 + l->classes + i] = .2f + .5f * unit(row, 20 + i);
}

/* An iseg layer's truth: 90 of a class and a mask; a negative class ends them. */
static inline void fill_masks(const layer *l, int row, float *y)
{
    int area = l->w * l->h;
    for(int i = 0; i < 2; ++i) {
        float *mask = y + i * (area + 1);
        mask[0] = (float)(mix(row, 9 + i) % l->classes);
        for(int j = 1; j <= area; ++j) mask[j] = j % 2 == i;
    }
    y[2 * (area + 1)] = -1;
}

/* Input x and truth y of a row, a function of its number, of the kind that `net` learns. */
static inline void make_row(const network *net, int row, float *x, float *y)
{
    const layer *l = net->layers + net->n - 1;
    if(l->type != DETECTION && l->type != ISEG) {
        fill_row(net, l->type == YOLO || l->type == REGION, row, x, y);
        return;
    }
    for(int i = 0; i < net->inputs; ++i) x[i] = unit(row, i);
    memset(y, 0, net->truths * sizeof *y);
    if(l->type == DETECTION) fill_grid(l, row, y);
    if(l->type == ISEG) fill_masks(l, row, y);
}

static inline data make_batch(const network *net, int first, int n)
{
    data d = {.X = make_matrix(n, net->inputs), .y = make_matrix(n, net->truths)};
    for(int i = 0; i < n; ++i) make_row(net, first + i, d.X.vals[i], d.y.vals[i]);
    return d;
}

/* All tensors, then the outputs and costs, in one list. */
static inline snapshot collect(network *net, float returned)
{
    snapshot s = {0};
    mgpu_layout layout;
    char name[40];
    if(mgpu_layout_make(&layout, net) < 0) exit(2);
    for(int i = 0; i < layout.n; ++i) {
        const mgpu_tensor *t = layout.tensors + i;
        snprintf(name, sizeof name, "%s %s", t->nested ? t->nested->name : "", t->kind->name);
        snapshot_add(&s, name, t->layer, *mgpu_tensor_value(net, t), t->length);
    }
    layer out = get_network_output_layer(net);
    snapshot_add(&s, "output", net->n, out.output, (size_t)net->batch * out.outputs);
    snapshot_add(&s, "cost", net->n, net->cost, 1);
    snapshot_add(&s, "returned", net->n, &returned, 1);
    float seen = *net->seen;
    snapshot_add(&s, "seen", net->n, &seen, 1);
    mgpu_layout_free(&layout);
    return s;
}

#endif
