/* mgpu_replica.c: a network on one device, beside the root whose weights it uses. */
#include "mgpu_replica.h"
#include "mgpu_device.h"
#include "mgpu_error.h"
#include "mgpu_hooks.h"
#include "mgpu_random.h"
#include "mgpu_workers.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local int building_rows, least_rows, silent;
static _Thread_local struct {
    mgpu_line *lines;
    int room;
} kept;

void mgpu_building(int rows)
{
    building_rows = rows;
    mgpu_random_mute(rows != 0);
}

void mgpu_least_rows(int rows)
{
    least_rows = rows;
}

void mgpu_silence(int on)
{
    silent = on;
}

void mgpu_keep_lines(mgpu_line *lines, int n)
{
    kept.lines = lines;
    kept.room = n;
}

void mgpu_parsed_options(network *net)
{
    if(net->batch < least_rows * net->time_steps) net->batch = least_rows * net->time_steps;
    if(building_rows) net->batch = building_rows * net->time_steps;
}

int mgpu_fprintf(FILE *f, const char *format, ...)
{
    if(silent || building_rows) return 0;
    va_list args;
    va_start(args, format);
    int n = vfprintf(f, format, args);
    va_end(args);
    return n;
}

int mgpu_printf(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = 0;
    if(kept.room > 0) {
        mgpu_line_set(kept.lines++, format, args);
        --kept.room;
    } else if(!silent && !building_rows) {
        n = vprintf(format, args);
    }
    va_end(args);
    return n;
}

/* The replica that `net` is of; NULL: it is a root or a plain network. */
static mgpu_replica *replica_of(const network *net)
{
    return net->replicas ? 0 : net->mgpu;
}

void mgpu_layer_begins(network net)
{
    mgpu_replica *r = replica_of(&net);
    if(!r) return;
    r->phase = "forward pass";
    r->layer = net.index;
    const mgpu_bucket *buckets = r->shared->buckets;
    for(; r->unready && buckets[r->unready - 1].layer <= net.index; --r->unready) {
        r->shared->kind->ready(r, r->unready - 1);
    }
}

int mgpu_overwrites_delta(network net)
{
    const mgpu_replica *r = replica_of(&net);
    return r && mgpu_compute_overwrites(r->compute, net.index);
}

void mgpu_layer_ends(network net)
{
    mgpu_replica *r = replica_of(&net);
    if(!r) return;
    r->phase = "backward pass";
    r->layer = net.index;
    mgpu_replica_complete(r, net.index);
}

void mgpu_replica_complete(mgpu_replica *r, int layer)
{
    const mgpu_shared *s = r->shared;
    if(!r->complete || r->completed == s->nbuckets) return;
    int before = r->completed;
    while(r->completed < s->nbuckets && layer <= s->buckets[r->completed].layer) {
        r->complete(r, r->completed++);
    }
    if(r->completed > before) mgpu_job_reach(MGPU_GRADIENTS, r->completed);
}

/* Two arrays of a layer with a number for each channel, where its network runs. */
typedef struct {
    float *a, *b;
} pair;

static pair moments(const layer *l, const network *net)
{
#ifdef GPU
    if(net->gpu_index >= 0) return (pair){l->mean_gpu, l->variance_gpu};
#endif
    (void)net;
    return (pair){l->mean, l->variance};
}

static pair deltas(const layer *l, const network *net)
{
#ifdef GPU
    if(net->gpu_index >= 0) return (pair){l->mean_delta_gpu, l->variance_delta_gpu};
#endif
    (void)net;
    return (pair){l->mean_delta, l->variance_delta};
}

int mgpu_log_statistics(layer l, network net)
{
    mgpu_replica *r = replica_of(&net);
    if(!r) return 0;
    size_t mean = l.rolling_mean - r->shared->running;
    size_t variance = l.rolling_variance - r->shared->running;
    float *log = r->log + r->logged[mean / MGPU_ALIGN]++ * r->shared->layout->running;
    pair from = moments(&l, &net);
    mgpu_replica_fetch(r, log + mean, from.a, l.out_c);
    mgpu_replica_fetch(r, log + variance, from.b, l.out_c);
    return 1;
}

/* Has the other parts' numbers join the layer's own. */
static void pool(layer l, network net, pair of,
                 void (*meet)(mgpu_sync *, int, int, float *, float *, size_t))
{
    mgpu_replica *r = replica_of(&net);
    if(!r || !r->sync) return;
    float a[l.out_c], b[l.out_c];
    mgpu_replica_fetch(r, a, of.a, l.out_c);
    mgpu_replica_fetch(r, b, of.b, l.out_c);
    if(r->shared->kind->finish) r->shared->kind->finish(r);
    meet(r->sync, r->part, l.batch * l.out_w * l.out_h, a, b, l.out_c);
    mgpu_replica_store(r, of.a, a, l.out_c);
    mgpu_replica_store(r, of.b, b, l.out_c);
    if(r->shared->kind->finish) r->shared->kind->finish(r);
}

void mgpu_pool_statistics(layer l, network net)
{
    pool(l, net, moments(&l, &net), mgpu_sync_moments);
}

void mgpu_pool_deltas(layer l, network net)
{
    pool(l, net, deltas(&l, &net), mgpu_sync_sums);
}

int mgpu_replica_row(const mgpu_replica *r, int i)
{
    const network *root = r->shared->root;
    int step = i / r->rows, sequences = root->batch / root->time_steps;
    return step * sequences + r->row + i % r->rows;
}

/* What layer net.index draws for row i of the replica, from here to mgpu_random_end(). */
static void begin_row(const mgpu_replica *r, network net, int i)
{
    size_t minibatch = *net.seen / r->shared->root->batch;
    mgpu_random_begin(r->shared->seed, minibatch, MGPU_DRAW_LAYER + net.index,
                      mgpu_replica_row(r, i));
}

void mgpu_crop(layer l, network net, int row, int *flip, int *down, int *right)
{
    const mgpu_replica *r = replica_of(&net);
    if(!r || !net.train) return;
    begin_row(r, net, row);
    *flip = l.flip && mgpu_rand() % 2;
    *down = mgpu_rand() % (l.h - l.out_h + 1);
    *right = mgpu_rand() % (l.w - l.out_w + 1);
    mgpu_random_end();
}

int mgpu_uniform(network net, float *x, int rows, int n)
{
    const mgpu_replica *r = replica_of(&net);
    if(!r) return 0;
    for(int i = 0; i < rows; ++i) {
        begin_row(r, net, i);
        mgpu_random_uniform(x + (size_t)i * n, n);
    }
    mgpu_random_end();
    return 1;
}

void mgpu_replica_fetch(mgpu_replica *r, float *host, const float *device, size_t n)
{
    if(r->shared->kind->fetch) {
        r->shared->kind->fetch(r, host, device, n);
    } else {
        memcpy(host, device, n * sizeof *host);
    }
}

void mgpu_replica_store(mgpu_replica *r, float *device, const float *host, size_t n)
{
    if(r->shared->kind->store) {
        r->shared->kind->store(r, device, host, n);
    } else {
        memcpy(device, host, n * sizeof *host);
    }
}

static void move_into(float **field, float *arena, size_t length, int keep)
{
    if(keep) memcpy(arena, *field, length * sizeof(float));
    free(*field);
    *field = arena;
}

void mgpu_replica_attach(network *net, const mgpu_layout *layout, float *weights,
                         float *gradients, float *running, int keep)
{
    for(int i = 0; i < layout->n; ++i) {
        const mgpu_tensor *t = layout->tensors + i;
        float *values = t->kind->running ? running : weights;
        move_into(mgpu_tensor_value(net, t), values + t->offset, t->length, keep);
        if(t->kind->running) continue;
        move_into(mgpu_tensor_gradient(net, t), gradients + t->offset, t->length, keep);
    }
}

void mgpu_replica_detach(network *net, const mgpu_layout *layout)
{
    for(int i = 0; i < layout->n; ++i) {
        const mgpu_tensor *t = layout->tensors + i;
        *mgpu_tensor_value(net, t) = 0;
        if(!t->kind->running) *mgpu_tensor_gradient(net, t) = 0;
    }
}

/* Arrays of a layer that Darknet's free_layer forgets. */
static const size_t forgotten[] = {
    offsetof(layer, loss),     offsetof(layer, mask),           offsetof(layer, counts),
    offsetof(layer, bias_m),   offsetof(layer, bias_v),         offsetof(layer, scale_m),
    offsetof(layer, scale_v),  offsetof(layer, prev_state_cpu), offsetof(layer, prev_cell_cpu),
    offsetof(layer, cell_cpu), offsetof(layer, f_cpu),          offsetof(layer, i_cpu),
    offsetof(layer, g_cpu),    offsetof(layer, o_cpu),          offsetof(layer, c_cpu),
    offsetof(layer, temp_cpu), offsetof(layer, temp2_cpu),      offsetof(layer, temp3_cpu),
    offsetof(layer, dc_cpu),   offsetof(layer, dh_cpu),
};

#ifdef GPU
/* The same in a CUDA device's memory. */
static const size_t forgotten_gpu[] = {
    offsetof(layer, loss_gpu),      offsetof(layer, bias_m_gpu),  offsetof(layer, bias_v_gpu),
    offsetof(layer, scale_m_gpu),   offsetof(layer, scale_v_gpu), offsetof(layer, cell_gpu),
    offsetof(layer, prev_cell_gpu), offsetof(layer, f_gpu),       offsetof(layer, i_gpu),
    offsetof(layer, g_gpu),         offsetof(layer, o_gpu),       offsetof(layer, c_gpu),
    offsetof(layer, temp_gpu),      offsetof(layer, temp2_gpu),   offsetof(layer, temp3_gpu),
    offsetof(layer, dc_gpu),        offsetof(layer, dh_gpu),
};

static void free_forgotten_gpu(const layer *l)
{
    for(size_t i = 0; i < sizeof forgotten_gpu / sizeof *forgotten_gpu; ++i) {
        cuda_free(*(float *const *)((const char *)l + forgotten_gpu[i]));
    }
}
#endif

static void free_forgotten(layer *l)
{
#ifdef GPU
    free_forgotten_gpu(l);
#endif
    for(size_t i = 0; i < sizeof forgotten / sizeof *forgotten; ++i) {
        free(*(void **)((char *)l + forgotten[i]));
    }
    for(int i = 0; l->sums && i < 90; ++i)
        free(l->sums[i]); /* as many as an iseg layer makes */
    free(l->sums);
}

/* Layers within a layer, which may share its output and delta. */
static void free_nested(layer *l)
{
    const mgpu_layer_kind *kind = mgpu_layer_kind_of(l);
    for(int i = 0; kind && i < kind->nnested; ++i) {
        layer *nested = mgpu_nested_layer(l, kind->nested + i);
        if(l->output == nested->output) l->output = 0;
        if(l->delta == nested->delta) l->delta = 0;
#ifdef GPU
        if(l->output_gpu == nested->output_gpu) l->output_gpu = 0;
        if(l->delta_gpu == nested->delta_gpu) l->delta_gpu = 0;
#endif
        free_forgotten(nested);
        free_layer(*nested);
        free(nested);
    }
}

static void free_workspace(network *net)
{
#ifdef GPU
    if(net->gpu_index >= 0) {
        cuda_free(net->workspace);
        return;
    }
#endif
    free(net->workspace);
}

void mgpu_replica_free_rest(network *net)
{
    mgpu_bind_device(net);
    for(int i = 0; i < net->n; ++i) {
        free_nested(net->layers + i);
        free_forgotten(net->layers + i);
    }
    free_workspace(net);
    free(net->seen);
    free(net->t);
    free(net->cost);
    free(net->scales);
    free(net->steps);
}

static network *build(mgpu_replica *r, int rows)
{
    const mgpu_shared *s = r->shared;
    FILE *cfg = fopen(s->cfg, "r");
    if(!cfg) {
        mgpu_fail("%s, needed to build a replica, is gone", s->cfg);
        return 0;
    }
    fclose(cfg);
    mgpu_building(rows);
    network *net = parse_network_cfg((char *)s->cfg);
    mgpu_building(0);
    if(net->n != s->root->n || mgpu_layout_matches(s->layout, net) < 0) {
        mgpu_fail("%s has changed since the network was made from it", s->cfg);
        mgpu_replica_free_rest(net);
        free_network(net);
        return 0;
    }
    mgpu_replica_attach(net, s->layout, s->weights, r->gradients, s->running, 0);
    net->mgpu = r;
    return net;
}

static void free_compute(mgpu_replica *r)
{
    mgpu_compute_free(r->compute);
    r->compute = 0;
}

static void take_over(mgpu_replica *r)
{
    if(mgpu_on_host(*r->net)) r->compute = mgpu_compute_make(r->net);
}

static void resize(mgpu_replica *r, int w, int h)
{
    mgpu_replica_set_rows(r, r->capacity); /* Darknet sizes its arrays by the rows of now */
    resize_network(r->net, w, h);
}

int mgpu_replica_fit(mgpu_replica *r, int rows)
{
    if(rows <= r->capacity) return 0;
    mgpu_replica_free(r);
    r->phase = "building";
    r->net = build(r, rows);
    if(!r->net) return -1;
    if(r->shared->kind->attach) r->shared->kind->attach(r, r->net);
    r->capacity = rows;
    network *root = r->shared->root;
    if(r->net->w != root->w || r->net->h != root->h) resize(r, root->w, root->h);
    take_over(r);
    return 0;
}

void mgpu_replica_set_rows(mgpu_replica *r, int rows)
{
    network *net = r->net;
    if(net->batch == rows * net->time_steps) return;
    set_batch_network(net, rows * net->time_steps);
    size_t room = mgpu_workspace(net);
    for(int i = 0; i < net->n; ++i) {
        layer *l = net->layers + i;
        const mgpu_layer_kind *kind = mgpu_layer_kind_of(l);
        if(kind->nnested) l->batch = rows; /* these run time steps one after the other */
        for(int k = 0; k < kind->nnested; ++k) {
            layer *nested = mgpu_nested_layer(l, kind->nested + k);
            nested->batch = rows;
            mgpu_rows_set(nested);
        }
    }
    mgpu_fit_workspace(net, room);
}

void mgpu_replica_resize(mgpu_replica *r, int w, int h)
{
    if(!r->net) return;
    free_compute(r);
    resize(r, w, h);
    take_over(r);
}

void mgpu_replica_free(mgpu_replica *r)
{
    if(!r->net) return;
    free_compute(r);
    if(r->shared->kind->detach) r->shared->kind->detach(r, r->net);
    mgpu_replica_detach(r->net, r->shared->layout);
    mgpu_replica_free_rest(r->net);
    free_network(r->net);
    r->net = 0;
    r->capacity = 0;
}
