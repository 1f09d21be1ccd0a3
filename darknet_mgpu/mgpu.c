/* mgpu.c: make, train, predict and free a network with replicas.
 *
 * One training step, up to and including an update or to the end of a call:
 *
 *     rows -> plan -> scatter -> run -> merge -> update -> publish
 *                     (per replica, in parallel)   (root)
 *
 * Publishing is nothing here: replicas on the host read the root's weights in place.
 */
#include "mgpu.h"
#include "mgpu_checkpoint.h"
#include "mgpu_error.h"
#include "mgpu_hooks.h"
#include "mgpu_plan.h"
#include "mgpu_reduce.h"
#include "mgpu_replica.h"
#include "mgpu_statistics.h"
#include "mgpu_tensors.h"
#include "mgpu_workers.h"
#include "network.h" /* calc_network_cost */

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The rows of a call: row r of mini-batch k is x[k * batch + r], with its truth at
 * the same place of y (y NULL in prediction). Short truths are filled up with 0. */
typedef struct {
    float **x, **y;
    int truths; /* floats in each y */
} rows_of_call;

/* What the module keeps beside a root; network.mgpu of the root leads here. */
typedef struct mgpu {
    network *root;
    mgpu_shared shared;
    mgpu_layout layout;
    float *weights, *updates, *running; /* arenas W, U and R */

    int n;
    mgpu_replica *replicas;
    network **nets;      /* root->replicas: the replicas' networks */
    float **gradients;   /* arenas of replicas 1..n-1; replica 0 adds onto U itself */
    char (*errors)[256]; /* of each replica's last job; "" if it went well */
    mgpu_workers *workers;

    int ngathered, ncosts;
    int *gathered; /* layers whose outputs the root merges */
    int *costs;    /* layers that have a cost */
    int selected;  /* the row that stands first in the merged outputs */

    /* The step under way; the workers read it, and write to their slices' places. */
    mgpu_slice *slices;
    int nslices;
    float *logs; /* nslices times layout.running */
    size_t logs_size;
    float *slice_costs; /* nslices times ncosts */
    size_t slice_costs_size;
    rows_of_call rows; /* from the step's first mini-batch on */
    int minibatches;   /* of the step */
    mgpu_rule *rules;  /* one per tensor, of the update */
    int update;        /* 0: merge only */
} mgpu;

/* ---- scatter and run: in the replicas' threads ---- */

static void scatter(const mgpu *m, const mgpu_slice *s, network *net)
{
    int first = s->minibatch * m->root->batch + s->row;
    int truths = m->rows.y ? m->rows.truths : 0;
    for(int r = 0; r < s->rows; ++r) {
        memcpy(net->input + (size_t)r * net->inputs, m->rows.x[first + r],
               net->inputs * sizeof(float));
        if(!m->rows.y) continue;
        float *truth = net->truth + (size_t)r * net->truths;
        memcpy(truth, m->rows.y[first + r], truths * sizeof(float));
        memset(truth + truths, 0, (net->truths - truths) * sizeof(float));
    }
}

static void gather(const mgpu *m, const mgpu_slice *s, const network *net)
{
    for(int i = 0; i < m->ngathered; ++i) {
        const layer *from = net->layers + m->gathered[i],
                    *to = m->root->layers + m->gathered[i];
        memcpy(to->output + (size_t)s->row * to->outputs, from->output,
               (size_t)s->rows * to->outputs * sizeof(float));
    }
}

/* What a caller may have set in the root's layers since the last call. */
static void follow_root(const mgpu *m, network *net)
{
    for(int i = 0; i < net->n; ++i) {
        layer *to = net->layers + i, *from = m->root->layers + i;
        to->temperature = from->temperature;
        to->stopbackward = from->stopbackward;
        to->onlyforward = from->onlyforward;
    }
}

static void forward_backward(const mgpu *m, const mgpu_slice *s, network *net)
{
    int train = m->rows.y != 0;
    float *truth = net->truth;
    follow_root(m, net);
    *net->seen = *m->root->seen + (size_t)(s->minibatch + 1) * m->root->batch;
    net->train = train;
    if(!train) net->truth = 0;
    forward_network(net);
    net->truth = truth;
    if(train) backward_network(net);
}

static void run_slice(mgpu *m, int i)
{
    const mgpu_slice *s = m->slices + i;
    mgpu_replica *r = m->replicas + s->replica;
    mgpu_replica_set_rows(r, s->rows);
    r->log = m->logs + i * m->layout.running;
    scatter(m, s, r->net);
    forward_backward(m, s, r->net);
    for(int c = 0; c < m->ncosts; ++c) {
        m->slice_costs[i * m->ncosts + c] = r->net->layers[m->costs[c]].cost[0];
    }
    if(s->minibatch == m->minibatches - 1) gather(m, s, r->net);
}

static void run_slices(void *arg, int worker)
{
    mgpu *m = arg;
    for(int i = 0; i < m->nslices; ++i) {
        if(m->slices[i].replica == worker) run_slice(m, i);
    }
}

/* ---- merge and update: over ranges of the arenas, by all workers ---- */

static void reduce_part(void *arg, int worker)
{
    mgpu *m = arg;
    size_t from, to;
    mgpu_part(m->layout.learned, worker, m->n, &from, &to);
    if(!m->update) {
        mgpu_merge_range(m->updates, m->gradients, m->n - 1, from, to);
        return;
    }
    for(int i = 0; i < m->layout.n; ++i) {
        const mgpu_tensor *t = m->layout.tensors + i;
        if(t->kind->running) continue;
        size_t a = t->offset > from ? t->offset : from;
        size_t b = t->offset + t->length < to ? t->offset + t->length : to;
        if(a >= b) continue;
        mgpu_update_range(m->weights, m->updates, m->gradients, m->n - 1, a, b, m->rules[i]);
    }
}

/* The rules of Darknet's update_network for this batch. */
static void set_rules(mgpu *m)
{
    const network *root = m->root;
    int batch = root->batch * root->subdivisions;
    float rate = get_current_rate(m->root);
    ++*root->t;
    for(int i = 0; i < m->layout.n; ++i) {
        const mgpu_tensor *t = m->layout.tensors + i;
        float scaled = rate * root->layers[t->layer].learning_rate_scale;
        float decay = t->kind->decays ? -root->decay * batch : 0;
        m->rules[i] = (mgpu_rule){scaled / batch, decay, root->momentum};
    }
}

/* The cost layers' costs of mini-batch k, as the root would have summed them. */
static float merge_costs(mgpu *m, int k)
{
    for(int c = 0; c < m->ncosts; ++c) {
        float sum = 0;
        for(int i = 0; i < m->nslices; ++i) {
            if(m->slices[i].minibatch == k) sum += m->slice_costs[i * m->ncosts + c];
        }
        m->root->layers[m->costs[c]].cost[0] = sum;
    }
    calc_network_cost(m->root);
    return *m->root->cost;
}

static void merge_statistics(mgpu *m, int k)
{
    int rows[m->n], n = 0;
    float *logs[m->n];
    for(int i = 0; i < m->nslices; ++i) {
        if(m->slices[i].minibatch != k) continue;
        rows[n] = m->slices[i].rows;
        logs[n++] = m->logs + i * m->layout.running;
    }
    mgpu_replay(m->root, &m->layout, n, rows, logs);
}

/* ---- one step ---- */

static void fit_replica(void *arg, int worker)
{
    mgpu *m = arg;
    mgpu_replica *r = m->replicas + worker;
    int rows = 0;
    mgpu_silence(1);
    for(int i = 0; i < m->nslices; ++i) {
        if(m->slices[i].replica == worker && m->slices[i].rows > rows) rows = m->slices[i].rows;
    }
    m->errors[worker][0] = 0;
    if(mgpu_replica_fit(r, rows) < 0) {
        snprintf(m->errors[worker], sizeof *m->errors, "%s", mgpu_error());
    }
}

/* A buffer of at least n floats, whose contents are not kept when it grows. */
static int grow(float **buffer, size_t *size, size_t n)
{
    if(n <= *size) return 0;
    free(*buffer);
    *buffer = mgpu_arena_make(n);
    *size = *buffer ? n : 0;
    return *buffer ? 0 : -1;
}

/* Makes replicas large enough for their slices. */
static int fit_replicas(mgpu *m)
{
    int small = 0;
    for(int i = 0; i < m->nslices; ++i) {
        small |= m->replicas[m->slices[i].replica].capacity < m->slices[i].rows;
    }
    if(!small) return 0;
    mgpu_workers_run(m->workers, fit_replica, m);
    for(int i = 0; i < m->n; ++i) m->nets[i] = m->replicas[i].net;
    for(int i = 0; i < m->n; ++i) {
        if(m->errors[i][0])
            return mgpu_fail("device %d: %s", m->replicas[i].device, m->errors[i]);
    }
    return 0;
}

/* Plans a step, with room for its results and replicas that can run it. */
static int plan(mgpu *m, const mgpu_plan_sizes *sizes)
{
    int n = mgpu_plan(sizes, 0);
    mgpu_slice *slices = realloc(m->slices, n * sizeof *slices);
    if(!slices) return mgpu_fail("no memory for a plan of %d slices", n);
    m->slices = slices;
    m->nslices = mgpu_plan(sizes, slices);
    m->minibatches = sizes->count;
    if(grow(&m->logs, &m->logs_size, n * m->layout.running) < 0) return -1;
    if(grow(&m->slice_costs, &m->slice_costs_size, (size_t)n * m->ncosts) < 0) return -1;
    return fit_replicas(m);
}

/* Takes back what mgpu_select_row did. */
static void unselect(mgpu *m)
{
    network *root = m->root;
    if(m->selected) mgpu_select_row(root, 0);
    for(int i = 0; i < m->ngathered; ++i) root->layers[m->gathered[i]].batch = root->batch;
}

/* Trains on `count` mini-batches, at most up to an update. Adds their costs to sum. */
static int train_step(mgpu *m, int cut, int count, float *sum)
{
    network *root = m->root;
    mgpu_plan_sizes sizes = {.replicas = m->n, .batch = root->batch, .count = count};
    sizes.whole = !cut && mgpu_plan_whole(m->n, root->subdivisions);
    sizes.first = *root->seen / root->batch % root->subdivisions;
    sizes.min_rows = mgpu_min_rows(root);
    if(plan(m, &sizes) < 0) return -1;
    mgpu_workers_run(m->workers, run_slices, m);
    for(int k = 0; k < count; ++k) {
        *sum += merge_costs(m, k);
        merge_statistics(m, k);
    }
    *root->seen += (size_t)count * root->batch;
    m->update = *root->seen / root->batch % root->subdivisions == 0;
    if(m->update) set_rules(m);
    if(m->update || m->n > 1) mgpu_workers_run(m->workers, reduce_part, m);
    return 0;
}

/* Trains on n mini-batches; updates fall where stock's counter puts them.
 * Returns the sum of their costs, or NaN with mgpu_error(). */
static float train_rows(mgpu *m, rows_of_call rows, int n, int cut)
{
    network *root = m->root;
    float sum = 0;
    root->train = 1;
    unselect(m);
    m->rows = rows;
    while(n > 0) {
        int to_update = root->subdivisions - *root->seen / root->batch % root->subdivisions;
        int count = n < to_update ? n : to_update;
        if(train_step(m, cut, count, &sum) < 0) {
            fprintf(stderr, "mgpu: %s\n", mgpu_error());
            return NAN;
        }
        m->rows.x += count * root->batch;
        m->rows.y += count * root->batch;
        n -= count;
    }
    return sum;
}

/* ---- Darknet's functions on a root ---- */

float mgpu_train_network(network *net, data d)
{
    int wrong = 0;
    if(d.X.rows % net->batch || d.X.rows == 0 || d.y.rows != d.X.rows) {
        wrong = mgpu_fail("train_network: %d rows with %d truths are no multiple of batch %d",
                          d.X.rows, d.y.rows, net->batch);
    } else if(d.X.cols != net->inputs || d.y.cols > net->truths) {
        wrong = mgpu_fail("train_network: rows of %d numbers with %d truths, where the network "
                          "takes %d and at most %d",
                          d.X.cols, d.y.cols, net->inputs, net->truths);
    }
    if(wrong) {
        fprintf(stderr, "mgpu: %s\n", mgpu_error());
        return NAN;
    }
    rows_of_call rows = {d.X.vals, d.y.vals, d.y.cols};
    return train_rows(net->mgpu, rows, d.X.rows / net->batch, 0) / d.X.rows;
}

/* Pointers to n rows of `width` floats that lie one after the other. */
static void point(float **rows, float *base, int n, int width)
{
    for(int i = 0; i < n; ++i) rows[i] = base + (size_t)i * width;
}

float mgpu_train_datum(network *net)
{
    float *x[net->batch], *y[net->batch];
    point(x, net->input, net->batch, net->inputs);
    point(y, net->truth, net->batch, net->truths);
    return train_rows(net->mgpu, (rows_of_call){x, y, net->truths}, 1, 1);
}

float *mgpu_predict(network *net, float *input)
{
    mgpu *m = net->mgpu;
    float *x[net->batch];
    mgpu_plan_sizes sizes = {.replicas = m->n, .batch = net->batch, .count = 1, .min_rows = 1};
    unselect(m);
    point(x, input, net->batch, net->inputs);
    m->rows = (rows_of_call){.x = x};
    if(plan(m, &sizes) < 0) {
        fprintf(stderr, "mgpu: %s\n", mgpu_error());
        return 0;
    }
    mgpu_workers_run(m->workers, run_slices, m);
    return net->output;
}

typedef struct {
    mgpu *m;
    int w, h;
} resize_job;

static void resize_replica(void *arg, int worker)
{
    resize_job *job = arg;
    mgpu_replica_resize(job->m->replicas + worker, job->w, job->h);
}

void mgpu_resize(network *net, int w, int h)
{
    mgpu *m = net->mgpu;
    resize_job job = {m, w, h};
    unselect(m);
    mgpu_workers_run(m->workers, resize_replica, &job);
}

static void swap_rows(float *a, float *b, int n)
{
    for(int i = 0; i < n; ++i) {
        float kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

int mgpu_select_row(network *net, int row)
{
    mgpu *m = net->mgpu;
    if(!net->replicas) return mgpu_fail("mgpu_select_row: the network has no replicas");
    if(row < 0 || row >= net->batch) {
        return mgpu_fail("mgpu_select_row: row %d is not within 0..%d", row, net->batch - 1);
    }
    for(int i = 0; i < m->ngathered; ++i) {
        layer *l = net->layers + m->gathered[i];
        swap_rows(l->output, l->output + (size_t)m->selected * l->outputs, l->outputs);
        swap_rows(l->output, l->output + (size_t)row * l->outputs, l->outputs);
        /* Darknet takes a yolo layer's output of two rows for an image and its mirror. */
        if(l->type == YOLO && l->batch == 2) l->batch = 1;
    }
    m->selected = row;
    return 0;
}

void mgpu_loading_weights(network *net, const char *file, int start, int cutoff)
{
    if(mgpu_check_weights(net, file, start, cutoff) >= 0) return;
    fprintf(stderr, "%s\n", mgpu_error());
    exit(1);
}

/* ---- making and freeing ---- */

static void free_mgpu(mgpu *m)
{
    if(!m) return;
    mgpu_workers_free(m->workers);
    for(int i = 0; m->replicas && i < m->n; ++i) mgpu_replica_free(m->replicas + i);
    for(int i = 0; m->gradients && i < m->n - 1; ++i) free(m->gradients[i]);
    if(m->root) m->root->mgpu = m->root->replicas = 0;
    free((char *)m->shared.cfg);
    free(m->replicas);
    free(m->nets);
    free(m->gradients);
    free(m->errors);
    free(m->gathered);
    free(m->costs);
    free(m->slices);
    free(m->logs);
    free(m->slice_costs);
    free(m->rules);
    free(m->weights);
    free(m->updates);
    free(m->running);
    mgpu_layout_free(&m->layout);
    free(m);
}

void mgpu_free(network *net)
{
    mgpu *m = net->mgpu;
    mgpu_replica_detach(net, &m->layout);
    mgpu_replica_free_rest(net);
    free_mgpu(m);
}

static int has_layer(const mgpu *m, int i)
{
    const network *net = m->root;
    int output = net->n - 1;
    while(output > 0 && net->layers[output].type == COST) --output;
    return i == output || mgpu_layer_kind_of(net->layers + i)->gathered;
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
    m->gathered = calloc(root->n, sizeof *m->gathered);
    m->costs = calloc(root->n, sizeof *m->costs);
    m->rules = calloc(m->layout.n + 1, sizeof *m->rules);
    m->replicas = calloc(m->n, sizeof *m->replicas);
    m->gradients = calloc(m->n, sizeof *m->gradients);
    m->errors = calloc(m->n, sizeof *m->errors);
    m->nets = calloc(m->n, sizeof *m->nets);
    if(!m->gathered || !m->costs || !m->rules || !m->replicas || !m->gradients || !m->errors ||
       !m->nets) {
        return mgpu_fail("no memory for %d replicas", m->n);
    }
    for(int i = 0; i < m->n - 1; ++i) {
        m->gradients[i] = mgpu_arena_make(m->layout.learned);
        if(!m->gradients[i]) return -1;
    }
    return 0;
}

static int make_replicas(mgpu *m, const mgpu_options *o)
{
    network *root = m->root;
    mgpu_plan_sizes sizes = {.replicas = m->n, .batch = root->batch};
    sizes.count = root->subdivisions;
    sizes.whole = mgpu_plan_whole(m->n, root->subdivisions);
    sizes.min_rows = mgpu_min_rows(root);
    m->shared.layout = &m->layout;
    m->shared.root = root;
    m->shared.weights = m->weights;
    m->shared.running = m->running;
    for(int i = 0; i < m->n; ++i) {
        m->replicas[i] = (mgpu_replica){.shared = &m->shared, .device = o->gpus[i]};
        m->replicas[i].gradients = i ? m->gradients[i - 1] : m->updates;
    }
    m->workers = mgpu_workers_make(m->n);
    return m->workers ? plan(m, &sizes) : -1;
}

static int cores(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* What a user should know about this network on these devices; on stderr, once. */
static void say_once(const mgpu *m)
{
    const network *root = m->root;
    int whole = mgpu_plan_whole(m->n, root->subdivisions);
    int used = whole ? m->n : mgpu_plan_used(m->n, root->batch, mgpu_min_rows(root));
    if(m->n > cores()) fprintf(stderr, "mgpu: %d devices share %d cores\n", m->n, cores());
    if(used < m->n) {
        fprintf(stderr, "mgpu: %d of %d devices ha%s rows: raise batch\n", used, m->n,
                used == 1 ? "s" : "ve");
    }
    if(!whole && used > 1 && m->layout.running) {
        fprintf(
            stderr,
            "mgpu: a mini-batch of %d rows is cut over %d devices, and batch normalisation "
            "sees each slice alone; with subdivisions=%d or more it sees whole mini-batches\n",
            root->batch, used, m->n);
    }
    if(root->adam) {
        fprintf(stderr, "mgpu: adam=1 is ignored on host devices, as Darknet ignores it on the "
                        "CPU: this is momentum SGD\n");
    }
}

static int load_checked(network *net, char *weights, int clear)
{
    if(weights && weights[0]) {
        int given = mgpu_check_weights(net, weights, 0, net->n);
        if(given < 0) return -1;
        load_weights(net, weights);
        if(given < net->n) {
            fprintf(stderr,
                    "mgpu: %s gives weights to layers 0 to %d; layers %d to %d start anew\n",
                    weights, given - 1, given, net->n - 1);
        }
    }
    if(clear) *net->seen = 0;
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
    m->shared.cfg = strdup(cfg);
    int status = m->shared.cfg ? mgpu_layout_make(&m->layout, root) : mgpu_fail("no memory");
    if(status == 0) status = make_arenas(m);
    if(status == 0) {
        list_layers(m);
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
static int replicate(network *root, const char *cfg, const mgpu_options *o)
{
    mgpu *m = make_mgpu(root, cfg, o);
    if(!m) return -1;
    root->replicas = m->nets;
    root->nreplicas = m->n;
    root->mgpu = m;
    say_once(m);
    return 0;
}

mgpu_options mgpu_default_options(void)
{
    return (mgpu_options){.cpu_merge = 1, .cpu_relocation = 1, .seed = 1};
}

static int check_options(const mgpu_options *o)
{
    if(o->ngpus < 0 || o->ngpus > MGPU_HOST_DEVICES || (o->ngpus && !o->gpus)) {
        return mgpu_fail("%d devices asked for; 1 to %d are possible", o->ngpus,
                         MGPU_HOST_DEVICES);
    }
    for(int i = 0; i < o->ngpus; ++i) {
        if(o->gpus[i] < 0 || o->gpus[i] >= MGPU_HOST_DEVICES) {
            return mgpu_fail("there is no device %d; host devices are 0..%d", o->gpus[i],
                             MGPU_HOST_DEVICES - 1);
        }
        for(int j = 0; j < i; ++j) {
            if(o->gpus[j] == o->gpus[i])
                return mgpu_fail("device %d is listed twice", o->gpus[i]);
        }
    }
    if(o->sync_bn) return mgpu_fail("sync_bn=1 is not supported by this module yet; use 0");
    if(!o->cpu_merge || !o->cpu_relocation) {
        return mgpu_fail(
            "cpu_merge=0 and cpu_relocation=0 need CUDA devices, which this module "
            "does not support yet; use 1");
    }
    return 0;
}

static int check_cfg(const char *cfg)
{
    struct stat st;
    FILE *fp = cfg ? fopen(cfg, "r") : 0;
    if(!fp) {
        return mgpu_fail("cfg file %s can not be read: %s", cfg ? cfg : "(none)",
                         cfg ? strerror(errno) : "no name given");
    }
    int regular = fstat(fileno(fp), &st) == 0 && S_ISREG(st.st_mode);
    fclose(fp);
    return regular ? 0 : mgpu_fail("cfg file %s is not a regular file", cfg);
}

network *mgpu_load_network(char *cfg, char *weights, int clear, const mgpu_options *o)
{
    mgpu_options options = o ? *o : mgpu_default_options();
    int all[MGPU_HOST_DEVICES];
    if(check_options(&options) < 0 || check_cfg(cfg) < 0) return 0;
    if(options.ngpus == 0) {
        options.ngpus = cores() < MGPU_HOST_DEVICES ? cores() : MGPU_HOST_DEVICES;
        for(int i = 0; i < options.ngpus; ++i) all[i] = i;
        options.gpus = all;
    }
    mgpu_srand((unsigned int)(options.seed ^ options.seed >> 32));
    network *root = parse_network_cfg(cfg);
    if(replicate(root, cfg, &options) < 0) {
        mgpu_replica_free_rest(root);
        free_network(root);
        return 0;
    }
    if(load_checked(root, weights, clear) < 0) {
        free_network(root);
        return 0;
    }
    return root;
}
