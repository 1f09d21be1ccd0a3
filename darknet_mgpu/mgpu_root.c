/* mgpu_root.c: what the module keeps beside a root, made and freed. */
#include "mgpu_root.h"
#include "mgpu_device.h"
#include "mgpu_error.h"
#include "mgpu_products.h"
#include "mgpu_statistics.h"
#include "mgpu_step.h"

#include <limits.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static void free_replica(void *arg, int worker)
{
    mgpu *m = arg;
    mgpu_replica_free(m->replicas + worker);
}

static void close_replica(void *arg, int worker)
{
    mgpu *m = arg;
    if(m->shared.kind->close) m->shared.kind->close(m->replicas + worker);
}

static void free_arenas(mgpu *m)
{
    void (*free_arena)(float *) = m->shared.kind->free_arena;
    for(int i = 0; m->replicas && i < m->n; ++i) {
        if(m->replicas[i].gradients != m->shared.updates) free_arena(m->replicas[i].gradients);
    }
    free_arena(m->shared.weights);
    free_arena(m->shared.updates);
    free_arena(m->shared.moments[0]);
    free_arena(m->shared.moments[1]);
    free_arena(m->shared.running);
    free_arena(m->logs);
}

static void free_mgpu(mgpu *m)
{
    if(!m) return;
    if(m->workers) {
        mgpu_workers_run(m->workers, free_replica, m); /* which ends where a device is gone */
        mgpu_workers_run(m->workers, close_replica, m);
    }
    mgpu_workers_free(m->workers);
    free_arenas(m);
    if(m->root) m->root->mgpu = m->root->replicas = 0;
    free((char *)m->shared.cfg);
    free(m->shared.buckets);
    free(m->replicas);
    free(m->nets);
    free(m->shares);
    free(m->merging);
    free(m->merged);
    free(m->logged);
    mgpu_sync_free(m->sync);
    free(m->gathered);
    free(m->costs);
    free(m->slices);
    free(m->slice_costs);
    free(m->lines);
    free(m->rules);
    mgpu_layout_free(&m->layout);
    free(m);
}

static void print_profile(const mgpu *m)
{
    int ids[m->n];
    const mgpu_profile *profiles[m->n];
    if(!m->replicas[0].profile.on) return;
    for(int i = 0; i < m->n; ++i) {
        ids[i] = m->replicas[i].device;
        profiles[i] = &m->replicas[i].profile;
    }
    mgpu_profile_print(m->shared.kind->name, ids, profiles, m->n, m->seconds, m->steps);
}

/* 1 if the root runs on the first device, with the device's weights. */
static int root_on_device(const mgpu *m)
{
#ifdef GPU
    return m->root->gpu_index >= 0;
#else
    (void)m;
    return 0;
#endif
}

static void detach_root(mgpu *m)
{
    if(root_on_device(m)) m->shared.kind->detach(m->replicas, m->root);
    mgpu_replica_detach(m->root, &m->layout);
}

void mgpu_root_free(network *root)
{
    mgpu *m = root->mgpu;
    print_profile(m);
    detach_root(m);
    mgpu_replica_free_rest(root);
    free_mgpu(m);
}

/* The layer that get_network_image() shows: not the output where that is a softmax. */
static int image_layer(const network *net)
{
    int i = net->n - 1;
    while(i >= 0 && !(net->layers[i].out_w && net->layers[i].out_h && net->layers[i].out_c))
        --i;
    return i;
}

/* Whether the root has the outputs of layer i. */
static int has_layer(const mgpu *m, int i)
{
    const network *net = m->root;
    int output = net->n - 1;
    while(output > 0 && net->layers[output].type == COST) --output;
    return i == output || i == image_layer(net) ||
           mgpu_layer_kind_of(net->layers + i)->gathered;
}

static void list_layers(mgpu *m)
{
    for(int i = 0; i < m->root->n; ++i) {
        if(has_layer(m, i)) m->gathered[m->ngathered++] = i;
        if(m->root->layers[i].cost) m->costs[m->ncosts++] = i;
    }
}

/* The arenas; mgpu_fail() if there is no memory. */
static int make_arenas(mgpu *m)
{
    mgpu_shared *s = &m->shared;
    float *(*make)(size_t) = s->kind->make_arena;
    s->weights = make(m->layout.learned);
    s->updates = make(m->layout.learned);
    s->running = make(m->layout.running);
    if(!s->weights || !s->updates || !s->running) return -1;
    for(int i = 0; m->root->adam && i < 2; ++i) {
        s->moments[i] = make(m->layout.learned);
        if(!s->moments[i]) return -1;
    }
    for(int i = 0; i < m->n; ++i) {
        mgpu_replica *r = m->replicas + i;
        /* Where layers add to an arena that is read in place, the first can add to U itself. */
        int in_place = i == 0 && !m->reproducible && !s->kind->collect;
        r->gradients = in_place ? s->updates : make(m->layout.learned);
        if(!r->gradients) return -1;
    }
    return 0;
}

#define BUCKET (256 << 10) /* floats: a copy of a megabyte keeps a bus busy */

/* All other memory whose size is known once the root is. */
static int make_tables(mgpu *m)
{
    network *root = m->root;
    m->shared.nbuckets = mgpu_buckets(&m->layout, BUCKET, 0);
    m->shared.buckets = calloc(m->shared.nbuckets + 1, sizeof *m->shared.buckets);
    m->gathered = calloc(root->n, sizeof *m->gathered);
    m->costs = calloc(root->n, sizeof *m->costs);
    m->rules = calloc(m->layout.n + 1, sizeof *m->rules);
    m->replicas = calloc(m->n, sizeof *m->replicas);
    m->merging = calloc(m->n, sizeof *m->merging);
    m->merged = calloc(m->n, sizeof *m->merged);
    m->logged = calloc(m->n, (m->layout.running / MGPU_ALIGN + 1) * sizeof *m->logged);
    m->nets = calloc(m->n, sizeof *m->nets);
    if(!m->shared.buckets || !m->gathered || !m->costs || !m->rules || !m->replicas ||
       !m->merging || !m->merged || !m->logged || !m->nets) {
        return mgpu_fail("no memory for %d replicas", m->n);
    }
    mgpu_buckets(&m->layout, BUCKET, m->shared.buckets);
    return 0;
}

static void fill_shared(mgpu *m, const mgpu_options *o)
{
    mgpu_shared *s = &m->shared;
    s->layout = &m->layout;
    s->root = m->root;
    s->n = m->n;
    s->threads = o->threads;
    s->seed = o->seed;
    s->deterministic = o->deterministic || o->reproducible;
    s->tf32 = o->tf32;
    s->on_device = s->kind->update && (!o->cpu_merge || !o->cpu_relocation);
    for(int i = 0; i < m->n; ++i) {
        m->replicas[i] = (mgpu_replica){.shared = s, .number = i, .device = o->gpus[i]};
        m->replicas[i].stale_weights = m->replicas[i].stale_statistics = 1;
        m->replicas[i].logged = m->logged + i * (m->layout.running / MGPU_ALIGN + 1);
        m->replicas[i].profile.on = o->profile;
    }
}

static void open_replica(void *arg, int worker)
{
    mgpu *m = arg;
    mgpu_replica *r = m->replicas + worker;
    mgpu_silence(1);
    r->phase = "opening";
    m->shared.kind->open(r);
}

/* Opens the devices and builds as much of the replicas as an ordinary step needs. */
static int make_replicas(mgpu *m)
{
    const mgpu_device *kind = m->shared.kind;
    mgpu_plan_sizes sizes = mgpu_step_sizes(m, 0);
    sizes.count = m->root->subdivisions;
    m->workers = mgpu_workers_make(m->n);
    if(!m->workers || mgpu_workers_run(m->workers, open_replica, m) < 0) return -1;
    if(!m->merges && kind->join && kind->join(&m->shared, m->replicas, m->n) < 0) return -1;
    if(mgpu_step_plan(m, &sizes) < 0) return -1;
    malloc_trim(0); /* building leaves holes as large as the weights, once a replica */
    return 0;
}

static int copy_options(mgpu *m, const char *cfg, const mgpu_options *o)
{
    m->n = o->ngpus;
    m->reproducible = o->reproducible;
    m->merges = o->cpu_merge;
    m->shared.cfg = strdup(cfg);
    if(!m->shared.cfg) return mgpu_fail("no memory");
    if(o->sync_bn) {
        m->sync = mgpu_sync_make(m->n);
        if(!m->sync) return -1;
    }
    if(!o->shares) return 0;
    m->shares = calloc(m->n, sizeof *m->shares);
    if(!m->shares) return mgpu_fail("no memory");
    memcpy(m->shares, o->shares, m->n * sizeof *m->shares);
    return 0;
}

static int attach_root(mgpu *m)
{
    mgpu_shared *s = &m->shared;
    mgpu_replica_attach(m->root, &m->layout, s->weights, s->updates, s->running, 1);
    if(make_replicas(m) < 0) {
        mgpu_replica_detach(m->root, &m->layout);
        return -1;
    }
    if(root_on_device(m)) s->kind->attach(m->replicas, m->root);
    return 0;
}

static mgpu *make_mgpu(network *root, const char *cfg, const mgpu_device *kind,
                       const mgpu_options *o)
{
    mgpu *m = calloc(1, sizeof *m);
    if(!m) {
        mgpu_fail("no memory for the replicas of %s", cfg);
        return 0;
    }
    m->root = root;
    m->shared.kind = kind;
    int status = copy_options(m, cfg, o);
    if(status == 0) status = mgpu_layout_make(&m->layout, root);
    if(status == 0) status = make_tables(m);
    if(status == 0) {
        fill_shared(m, o);
        list_layers(m);
        m->nlines = o->verbose ? m->ngathered : 0;
        status = make_arenas(m);
    }
    if(status == 0) status = attach_root(m);
    if(status == 0) return m;
    free_mgpu(m);
    return 0;
}

int mgpu_root_make(network *root, const char *cfg, const mgpu_device *kind,
                   const mgpu_options *o)
{
    mgpu_products_by_one_thread();
    mgpu *m = make_mgpu(root, cfg, kind, o);
    if(!m) return -1;
    root->replicas = m->nets;
    root->nreplicas = m->n;
    root->mgpu = m;
    return 0;
}

/* ---- the root and what the devices have ---- */

typedef struct {
    mgpu *m;
    int worker; /* the one that works; the others have nothing to do */
} single_job;

static void pull_arenas(void *arg, int worker)
{
    single_job *job = arg;
    if(worker == job->worker) job->m->shared.kind->pull(job->m->replicas + worker);
}

static void bring_statistics(void *arg, int worker)
{
    single_job *job = arg;
    if(worker == job->worker) job->m->shared.kind->statistics(job->m->replicas + worker);
}

/* All devices have the same: if one has failed, the next is asked. */
static int pull(mgpu *m)
{
    for(single_job job = {m, 0}; m->behind && job.worker < m->n; ++job.worker) {
        if(mgpu_workers_run(m->workers, pull_arenas, &job) == 0) m->behind = 0;
    }
    return m->behind ? -1 : 0;
}

int mgpu_root_settle(network *root)
{
    mgpu *m = root->mgpu;
    if(pull(m) < 0) return -1;
    if(root_on_device(m) && m->replicas[0].stale_statistics) {
        if(mgpu_workers_run(m->workers, bring_statistics, &(single_job){m, 0}) < 0) return -1;
        m->replicas[0].stale_statistics = 0;
    }
    return 0;
}

void mgpu_root_changed(network *root)
{
    mgpu *m = root->mgpu;
    for(int i = 0; i < m->n; ++i) {
        m->replicas[i].stale_weights = m->replicas[i].stale_statistics = 1;
    }
}

/* A root's device may be the one that failed: from now on it is on the host, if only to be
 * saved and freed. What it has on the device goes with the program. */
static void leave_device(network *root)
{
#ifdef GPU
    if(root->gpu_index < 0) return;
    cuda_set_device(root->gpu_index = -1);
    root->workspace = 0;
#else
    (void)root;
#endif
}

int mgpu_root_rescue(network *root, const char *directory, const char *base)
{
    mgpu *m = root->mgpu;
    char name[PATH_MAX];
    if(!m->broken) return 0;
    leave_device(root);
    if(pull(m) < 0) {
        fprintf(stderr, "mgpu: no device has the weights any more: %s\n", mgpu_error());
        return 1;
    }
    snprintf(name, sizeof name, "%s/%s.backup", directory, base);
    save_weights(root, name);
    fprintf(stderr,
            "mgpu: the weights after batch %zu, the last that was complete, are in %s\n",
            get_current_batch(root), name);
    return 1;
}
