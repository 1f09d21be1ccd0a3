/* mgpu_root.c: what the module keeps beside a root, made and freed. */
#include "mgpu_root.h"
#include "mgpu_error.h"
#include "mgpu_products.h"
#include "mgpu_statistics.h"
#include "mgpu_step.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static void free_mgpu(mgpu *m)
{
    if(!m) return;
    mgpu_workers_free(m->workers);
    for(int i = 0; m->replicas && i < m->n; ++i) mgpu_replica_free(m->replicas + i);
    for(int i = 0; m->gradients && i < m->n; ++i) free(m->gradients[i]);
    if(m->root) m->root->mgpu = m->root->replicas = 0;
    free((char *)m->shared.cfg);
    free(m->replicas);
    free(m->nets);
    free(m->shares);
    free(m->gradients);
    free(m->merged);
    free(m->logged);
    mgpu_sync_free(m->sync);
    free(m->errors);
    free(m->gathered);
    free(m->costs);
    free(m->slices);
    free(m->logs);
    free(m->slice_costs);
    free(m->lines);
    free(m->rules);
    free(m->weights);
    free(m->updates);
    free(m->moments[0]);
    free(m->moments[1]);
    free(m->running);
    mgpu_layout_free(&m->layout);
    free(m);
}

void mgpu_root_free(network *root)
{
    mgpu *m = root->mgpu;
    mgpu_replica_detach(root, &m->layout);
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

/* All memory whose size is known once the root is; mgpu_fail() if there is none. */
static int make_arenas(mgpu *m)
{
    network *root = m->root;
    m->weights = mgpu_arena_make(m->layout.learned);
    m->updates = mgpu_arena_make(m->layout.learned);
    m->running = mgpu_arena_make(m->layout.running);
    if(!m->weights || !m->updates || !m->running) return -1;
    for(int i = 0; root->adam && i < 2; ++i) {
        m->moments[i] = mgpu_arena_make(m->layout.learned);
        if(!m->moments[i]) return -1;
    }
    m->gathered = calloc(root->n, sizeof *m->gathered);
    m->costs = calloc(root->n, sizeof *m->costs);
    m->rules = calloc(m->layout.n + 1, sizeof *m->rules);
    m->replicas = calloc(m->n, sizeof *m->replicas);
    m->gradients = calloc(m->n, sizeof *m->gradients);
    m->merged = calloc(m->n, sizeof *m->merged);
    m->logged = calloc(m->n, (m->layout.running / MGPU_ALIGN + 1) * sizeof *m->logged);
    m->errors = calloc(m->n, sizeof *m->errors);
    m->nets = calloc(m->n, sizeof *m->nets);
    if(!m->gathered || !m->costs || !m->rules || !m->replicas || !m->gradients || !m->merged ||
       !m->logged || !m->errors || !m->nets) {
        return mgpu_fail("no memory for %d replicas", m->n);
    }
    for(int i = m->reproducible ? 0 : 1; i < m->n; ++i) {
        m->gradients[i] = mgpu_arena_make(m->layout.learned);
        if(!m->gradients[i]) return -1;
    }
    return 0;
}

static int make_replicas(mgpu *m, const mgpu_options *o)
{
    network *root = m->root;
    mgpu_plan_sizes sizes = mgpu_step_sizes(m, 0);
    sizes.count = root->subdivisions;
    m->shared.layout = &m->layout;
    m->shared.root = root;
    m->shared.seed = o->seed;
    m->shared.weights = m->weights;
    m->shared.running = m->running;
    for(int i = 0; i < m->n; ++i) {
        m->replicas[i] = (mgpu_replica){.shared = &m->shared, .device = o->gpus[i]};
        m->replicas[i].gradients = m->gradients[i] ? m->gradients[i] : m->updates;
        m->replicas[i].logged = m->logged + i * (m->layout.running / MGPU_ALIGN + 1);
    }
    m->workers = mgpu_workers_make(m->n);
    if(!m->workers || mgpu_step_plan(m, &sizes) < 0) return -1;
    malloc_trim(0); /* building leaves holes as large as the weights, once a replica */
    return 0;
}

static mgpu *make_mgpu(network *root, const char *cfg, const mgpu_options *o)
{
    mgpu *m = calloc(1, sizeof *m);
    if(!m) {
        mgpu_fail("no memory for the replicas of %s", cfg);
        return 0;
    }
    m->n = o->ngpus;
    m->root = root;
    m->reproducible = o->reproducible;
    m->shared.cfg = strdup(cfg);
    int status = m->shared.cfg ? mgpu_layout_make(&m->layout, root) : mgpu_fail("no memory");
    if(status == 0 && o->sync_bn) {
        m->sync = mgpu_sync_make(m->n);
        if(!m->sync) status = -1;
    }
    if(status == 0 && o->shares) {
        m->shares = calloc(m->n, sizeof *m->shares);
        if(m->shares) memcpy(m->shares, o->shares, m->n * sizeof *m->shares);
        if(!m->shares) status = mgpu_fail("no memory");
    }
    if(status == 0) status = make_arenas(m);
    if(status == 0) {
        list_layers(m);
        m->nlines = o->verbose ? m->ngathered : 0;
        mgpu_replica_attach(root, &m->layout, m->weights, m->updates, m->running, 1);
        status = make_replicas(m, o);
        if(status < 0) mgpu_replica_detach(root, &m->layout);
    }
    if(status == 0) return m;
    free_mgpu(m);
    return 0;
}

/* Makes `root` the root of replicas. Returns 0, or -1 with mgpu_error() and the root
 * as Darknet made it. */
int mgpu_root_make(network *root, const char *cfg, const mgpu_options *o)
{
    mgpu_products_by_one_thread();
    mgpu *m = make_mgpu(root, cfg, o);
    if(!m) return -1;
    root->replicas = m->nets;
    root->nreplicas = m->n;
    root->mgpu = m;
    return 0;
}
