/* mgpu_step.c: one step of training or predicting, over all replicas.
 *
 * A step is what comes up to and including an update, or to the end of a call:
 *
 *     rows -> plan -> scatter -> run -> merge -> update -> publish
 *                     (per replica, in parallel)   (root)
 *
 * Where devices have memory of their own (mgpu_device.h), layers' gradients are on their way to
 * the host, and are added up there, while earlier layers are still in their backward pass; the
 * weights are updated when all devices are through, so that one that fails spoils nothing, and
 * published in the order in which the next forward pass needs them. Publishing is nothing on
 * the host, where replicas read the root's weights in place.
 */
#include "mgpu_step.h"
#include "mgpu_device.h"
#include "mgpu_error.h"
#include "mgpu_hooks.h"
#include "mgpu_statistics.h"
#include "network.h" /* calc_network_cost */

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- scatter and run: in the replicas' threads ---- */

static void scatter(const mgpu *m, const mgpu_slice *s, network *net)
{
    const mgpu_replica *replica = m->replicas + s->replica;
    int truths = m->rows.y ? m->rows.truths : 0;
    for(int r = 0; r < net->batch; ++r) {
        int from = s->minibatch * m->root->batch + mgpu_replica_row(replica, r);
        memcpy(net->input + (size_t)r * net->inputs, m->rows.x[from],
               net->inputs * sizeof(float));
        if(!m->rows.y) continue;
        float *truth = net->truth + (size_t)r * net->truths;
        memcpy(truth, m->rows.y[from], truths * sizeof(float));
        memset(truth + truths, 0, (net->truths - truths) * sizeof(float));
    }
}

/* The gathered layers' outputs, where Darknet has left them on the device. */
static void pull_outputs(const mgpu *m, mgpu_replica *r)
{
#ifdef GPU
    if(r->net->gpu_index < 0) return;
    for(int i = 0; i < m->ngathered; ++i) {
        layer *l = r->net->layers + m->gathered[i];
        mgpu_replica_fetch(r, l->output, l->output_gpu, (size_t)l->batch * l->outputs);
    }
    m->shared.kind->finish(r);
#else
    (void)m;
    (void)r;
#endif
}

static void gather(const mgpu *m, const mgpu_slice *s, const network *net)
{
    pull_outputs(m, m->replicas + s->replica);
    for(int i = 0; i < m->ngathered; ++i) {
        const layer *from = net->layers + m->gathered[i],
                    *to = m->root->layers + m->gathered[i];
        for(int r = 0; r < net->batch; r += s->rows) { /* each time step's rows */
            size_t row = mgpu_replica_row(m->replicas + s->replica, r);
            memcpy(to->output + row * to->outputs, from->output + (size_t)r * to->outputs,
                   (size_t)s->rows * to->outputs * sizeof(float));
        }
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

/* With -profile the time of a pass is that of the device, not of its commands. */
static void end_pass(mgpu_replica *r, mgpu_phase phase, double began)
{
    if(r->profile.on && r->shared->kind->finish) r->shared->kind->finish(r);
    mgpu_profile_end(&r->profile, phase, began);
}

static void forward_backward(const mgpu *m, const mgpu_slice *s, network *net)
{
    mgpu_replica *r = m->replicas + s->replica;
    int train = m->rows.y != 0;
    float *truth = net->truth;
    follow_root(m, net);
    *net->seen = *m->root->seen + (size_t)(s->minibatch + 1) * m->root->batch;
    net->train = train;
    if(!train) net->truth = 0;
    double began = mgpu_profile_begin(&r->profile);
    forward_network(net);
    net->truth = truth;
    end_pass(r, MGPU_FORWARD, began);
    if(!train) return;
    began = mgpu_profile_begin(&r->profile);
    backward_network(net);
    end_pass(r, MGPU_BACKWARD, began);
}

static void run_slice(mgpu *m, int i)
{
    const mgpu_slice *s = m->slices + i;
    mgpu_replica *r = m->replicas + s->replica;
    mgpu_replica_set_rows(r, s->rows);
    r->row = s->row;
    r->rows = s->rows;
    r->log = m->logs + i * m->root->time_steps * m->layout.running;
    memset(r->logged, 0, m->layout.running / MGPU_ALIGN * sizeof *r->logged);
    r->sync = m->parts > 1 ? m->sync : 0;
    r->part = i % m->parts;
    scatter(m, s, r->net);
    mgpu_keep_lines(m->lines + (size_t)i * m->nlines, m->rows.y ? m->nlines : 0);
    forward_backward(m, s, r->net);
    mgpu_keep_lines(0, 0);
    for(int c = 0; c < m->ncosts; ++c) {
        m->slice_costs[i * m->ncosts + c] = r->net->layers[m->costs[c]].cost[0];
    }
    if(s->minibatch == m->minibatches - 1) gather(m, s, r->net);
}

/* The last slice within from..to that is `worker`'s; -1: none. */
static int last_slice(const mgpu *m, int worker, int from, int to)
{
    for(int i = to - 1; i >= from; --i) {
        if(m->slices[i].replica == worker) return i;
    }
    return -1;
}

/* Brings what the device does not have yet of what it is to run with. */
static void bring(const mgpu *m, mgpu_replica *r)
{
    const mgpu_device *kind = m->shared.kind;
    if(!kind->publish) return;
    double began = mgpu_profile_begin(&r->profile);
    if(r->stale_weights && m->shared.on_device) {
        kind->push(r);
    } else if(r->stale_weights) {
        for(int b = m->shared.nbuckets - 1; b >= 0; --b) kind->publish(r, b);
        r->unready = m->shared.nbuckets;
    }
    if(r->stale_statistics && !m->rows.y) {
        kind->statistics(r);
        r->stale_statistics = 0;
    }
    r->stale_weights = 0;
    mgpu_profile_end(&r->profile, MGPU_PUBLISH, began);
}

/* Adds up the gradients that are on their way here, each layer's when the last is there, into
 * the first's; each worker does a part of each bucket. Not with `reproducible`, which adds them
 * to U one by one. */
static void merge_landing(mgpu *m, mgpu_replica *r)
{
    for(int b = 0; b < m->shared.nbuckets; ++b) {
        const mgpu_bucket *bucket = m->shared.buckets + b;
        mgpu_job_await(MGPU_GRADIENTS, b + 1, m->merging, m->nmerging);
        for(int i = 0; i < m->nmerging; ++i) {
            m->shared.kind->landed(m->replicas + m->merging[i], b);
        }
        if(m->reproducible || m->nmerged < 2) continue;
        double began = mgpu_profile_begin(&r->profile);
        size_t from, to;
        mgpu_part(bucket->to - bucket->from, r->number, m->n, &from, &to);
        mgpu_merge_range(m->merged[0], m->merged + 1, m->nmerged - 1, bucket->from + from,
                         bucket->from + to);
        mgpu_profile_end(&r->profile, MGPU_MERGE, began);
    }
}

static void run_slices(void *arg, int worker)
{
    mgpu *m = arg;
    mgpu_replica *r = m->replicas + worker;
    const mgpu_device *kind = m->shared.kind;
    int last = last_slice(m, worker, m->from, m->to);
    r->complete = 0;
    r->completed = 0;
    if(last >= 0) bring(m, r);
    for(int i = m->from; i <= last; ++i) {
        if(i == last) r->complete = m->complete;
        if(m->slices[i].replica == worker) run_slice(m, i);
    }
    if(m->complete && m->complete == kind->reduce) r->complete = m->complete; /* by all */
    mgpu_replica_complete(r, 0);
    if(m->complete && m->complete == kind->collect) merge_landing(m, r);
    if(kind->finish) kind->finish(r); /* the root reads what it logged, others its gradient */
}

/* ---- merge and update: over ranges of the arenas, by all workers ---- */

static void update_range(const mgpu *m, size_t from, size_t to, float *const *merged, int n)
{
    const mgpu_shared *s = &m->shared;
    for(int i = 0; i < m->layout.n; ++i) {
        const mgpu_tensor *t = m->layout.tensors + i;
        if(t->kind->running) continue;
        size_t a = t->offset > from ? t->offset : from;
        size_t b = t->offset + t->length < to ? t->offset + t->length : to;
        if(a >= b) continue;
        if(t->kind->fixed) {
            mgpu_merge_range(s->updates, merged, n, a, b);
        } else if(m->rules[i].adam) {
            mgpu_adam_range(s->weights, s->updates, s->moments[0], s->moments[1], merged, n, a,
                            b, m->rules[i]);
        } else {
            mgpu_update_range(s->weights, s->updates, merged, n, a, b, m->rules[i]);
        }
    }
}

static void reduce_range(mgpu *m, mgpu_replica *r, size_t from, size_t to)
{
    int n = m->nmerged;
    if(r->profile.on || !m->update) { /* else in one pass */
        double began = mgpu_profile_begin(&r->profile);
        mgpu_merge_range(m->shared.updates, m->merged, n, from, to);
        mgpu_profile_end(&r->profile, MGPU_MERGE, began);
        n = 0;
    }
    if(!m->update) return;
    double began = mgpu_profile_begin(&r->profile);
    update_range(m, from, to, m->merged, n);
    mgpu_profile_end(&r->profile, MGPU_UPDATE, began);
}

/* Begins to bring the updated weights to a device that has rows; to another, before it runs. */
static void publish(mgpu *m, mgpu_replica *r)
{
    int nbuckets = m->shared.nbuckets;
    r->stale_weights = last_slice(m, r->number, 0, m->nslices) < 0;
    if(r->stale_weights) return;
    for(int b = nbuckets - 1; b >= 0; --b) {
        mgpu_job_await(MGPU_MERGED, nbuckets - b, 0, 0);
        double began = mgpu_profile_begin(&r->profile);
        m->shared.kind->publish(r, b);
        mgpu_profile_end(&r->profile, MGPU_PUBLISH, began);
    }
    r->unready = nbuckets;
}

/* Where the root is updated on the host. */
static void reduce_part(void *arg, int worker)
{
    mgpu *m = arg;
    mgpu_replica *r = m->replicas + worker;
    size_t from, to;
    if(!m->shared.kind->publish) {
        mgpu_part(m->layout.learned, worker, m->n, &from, &to);
        reduce_range(m, r, from, to);
        return;
    }
    for(int b = m->shared.nbuckets - 1; b >= 0; --b) { /* as the next forward pass needs them */
        const mgpu_bucket *bucket = m->shared.buckets + b;
        mgpu_part(bucket->to - bucket->from, worker, m->n, &from, &to);
        reduce_range(m, r, bucket->from + from, bucket->from + to);
        mgpu_job_reach(MGPU_MERGED, m->shared.nbuckets - b);
    }
    if(m->update) publish(m, r);
}

/* Where devices update themselves: each adds all gradients to its own U. */
static void merge_on_device(void *arg, int worker)
{
    mgpu *m = arg;
    mgpu_replica *r = m->replicas + worker, *from[m->n];
    const mgpu_device *kind = m->shared.kind;
    double began = mgpu_profile_begin(&r->profile);
    if(r->stale_weights) kind->push(r);
    r->stale_weights = 0;
    if(m->merges) {
        for(int i = 0; i < m->nmerged; ++i) {
            for(int b = 0; b < m->shared.nbuckets; ++b) kind->give(r, m->merged[i], b);
            kind->merge(r, &r, 1);
        }
    } else if(m->complete) {
        kind->merge(r, &r, 1); /* its gradient is everyone's by now */
    } else {
        for(int i = 0; i < m->nmerging; ++i) from[i] = m->replicas + m->merging[i];
        kind->merge(r, from, m->nmerging);
    }
    mgpu_profile_end(&r->profile, MGPU_MERGE, began);
}

static void update_on_device(void *arg, int worker)
{
    mgpu *m = arg;
    mgpu_replica *r = m->replicas + worker;
    double began = mgpu_profile_begin(&r->profile);
    m->shared.kind->clear(r);
    for(int i = 0; m->update && i < m->layout.n; ++i) {
        const mgpu_tensor *t = m->layout.tensors + i;
        if(t->kind->running || t->kind->fixed) continue;
        m->shared.kind->update(r, t->offset, t->offset + t->length, m->rules[i]);
    }
    m->shared.kind->finish(r);
    mgpu_profile_end(&r->profile, MGPU_UPDATE, began);
}

/* Merges what was run, and updates if the batch is complete. */
static int reduce(mgpu *m)
{
    if(!m->shared.on_device) {
        if(!m->update && !m->nmerged) return 0;
        return mgpu_workers_run(m->workers, reduce_part, m);
    }
    m->behind = 1;
    if(mgpu_workers_run(m->workers, merge_on_device, m) < 0) return -1;
    return mgpu_workers_run(m->workers, update_on_device, m);
}

/* How a tensor is updated, by Darknet's update functions of its layer. */
static mgpu_rule rule_of(const network *root, const mgpu_tensor *t, float rate)
{
    const layer *l = mgpu_tensor_layer(root, t);
    int batch = root->batch * root->subdivisions;
    mgpu_rule rule = {.rate = rate * l->learning_rate_scale / batch,
                      .momentum = root->momentum};
    if(t->kind->decays) rule.decay = -root->decay * batch;
    if(mgpu_layer_kind_of(l)->clips && t->kind->decays) rule.clip = l->clip;
    if(!root->adam || mgpu_layer_kind_of(l)->sgd) return rule;
    rule.adam = 1; /* which decays every kind of tensor, and does not average */
    rule.rate = rate * l->learning_rate_scale;
    rule.decay = -root->decay * batch;
    rule.b1 = root->B1;
    rule.b2 = root->B2;
    rule.eps = root->eps;
    rule.unbias1 = 1 - powf(root->B1, *root->t);
    rule.unbias2 = 1 - powf(root->B2, *root->t);
    return rule;
}

/* The rules of Darknet's update_network for this batch. */
static void set_rules(mgpu *m)
{
    float rate = get_current_rate(m->root);
    ++*m->root->t;
    for(int i = 0; i < m->layout.n; ++i) {
        m->rules[i] = rule_of(m->root, m->layout.tensors + i, rate);
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
    for(int i = 0; i < m->n; ++i) m->replicas[i].stale_statistics = 1;
    int rows[m->n], n = 0;
    float *logs[m->n];
    for(int i = 0; i < m->nslices; ++i) {
        if(m->slices[i].minibatch != k) continue;
        rows[n] = m->slices[i].rows;
        logs[n++] = m->logs + i * m->root->time_steps * m->layout.running;
        if(m->sync) break; /* each slice's are the mini-batch's */
    }
    mgpu_replay(m->root, &m->layout, n, rows, logs);
}

/* The detection layers' lines of mini-batch k. */
static void print_lines(const mgpu *m, int k)
{
    int rows[m->n];
    mgpu_line lines[m->n], merged;
    for(int j = 0; j < m->nlines; ++j) {
        int n = 0;
        for(int i = 0; i < m->nslices; ++i) {
            if(m->slices[i].minibatch != k) continue;
            rows[n] = m->slices[i].rows;
            lines[n++] = m->lines[i * m->nlines + j];
        }
        if(!lines[0].format) break;
        mgpu_line_merge(lines, rows, n, &merged);
        mgpu_line_print(&merged);
    }
}

/* ---- one step ---- */

static void fit_replica(void *arg, int worker)
{
    mgpu *m = arg;
    mgpu_replica *r = m->replicas + worker;
    int rows = 0;
    for(int i = 0; i < m->nslices; ++i) {
        if(m->slices[i].replica == worker && m->slices[i].rows > rows) rows = m->slices[i].rows;
    }
    if(mgpu_replica_fit(r, rows) < 0) mgpu_job_fail("device %d: %s", r->device, mgpu_error());
}

/* A buffer of at least n floats, whose contents are not kept when it grows. */
static int grow(const mgpu_device *kind, float **buffer, size_t *size, size_t n)
{
    if(n <= *size) return 0;
    kind->free_arena(*buffer);
    *buffer = kind->make_arena(n);
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
    int status = mgpu_workers_run(m->workers, fit_replica, m);
    for(int i = 0; i < m->n; ++i) m->nets[i] = m->replicas[i].net;
    return status;
}

mgpu_plan_sizes mgpu_step_sizes(const mgpu *m, int cut)
{
    const network *root = m->root;
    mgpu_plan_sizes s = {.replicas = m->n, .shares = m->shares};
    s.batch = root->batch / root->time_steps;
    s.count = 1;
    s.min_rows = m->sync ? 1 : mgpu_min_rows(root);
    /* A sequence goes on from mini-batch to mini-batch where its state is. */
    s.whole = !cut && !mgpu_recurrent(root) && mgpu_plan_whole(&s, root->subdivisions);
    return s;
}

/* Plans a step, with room for its results and replicas that can run it. */
int mgpu_step_plan(mgpu *m, const mgpu_plan_sizes *sizes)
{
    if(sizes->batch < 1) {
        return mgpu_fail("a mini-batch of %d rows has not all of its %d time steps",
                         m->root->batch, m->root->time_steps);
    }
    int n = mgpu_plan(sizes, 0);
    mgpu_slice *slices = realloc(m->slices, n * sizeof *slices);
    if(!slices) return mgpu_fail("no memory for a plan of %d slices", n);
    m->slices = slices;
    m->nslices = mgpu_plan(sizes, slices);
    if(m->nlines) {
        free(m->lines);
        m->lines = calloc((size_t)n * m->nlines, sizeof *m->lines);
        if(!m->lines) return mgpu_fail("no memory for the layers' lines");
    }
    m->minibatches = sizes->count;
    m->parts = m->nslices / sizes->count;
    for(int i = 0; m->sync && i < m->parts; ++i) {
        mgpu_sync_part(m->sync, i, m->parts, m->slices[i].replica);
    }
    size_t logs = (size_t)n * m->root->time_steps * m->layout.running;
    if(grow(m->shared.kind, &m->logs, &m->logs_size, logs) < 0) return -1;
    size_t costs = (size_t)n * m->ncosts;
    if(grow(&mgpu_host_device, &m->slice_costs, &m->slice_costs_size, costs) < 0) return -1;
    return fit_replicas(m);
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
        /* Darknet takes a detection layer's output of two rows for an image and its mirror. */
        if((l->type == YOLO || l->type == REGION) && l->batch == 2) l->batch = 1;
    }
    m->selected = row;
    return 0;
}

/* Takes back what mgpu_select_row did. */
void mgpu_unselect(mgpu *m)
{
    network *root = m->root;
    if(m->selected) mgpu_select_row(root, 0);
    for(int i = 0; i < m->ngathered; ++i) root->layers[m->gathered[i]].batch = root->batch;
}

/* Where the slices that run together with slice `from` end. With `reproducible` no replica
 * has two mini-batches in it, so that each mini-batch's gradient is added to U as a whole. */
static int round_end(const mgpu *m, int from)
{
    int to = from, busy[m->n];
    if(!m->reproducible || m->parts > 1) return m->nslices;
    for(int i = 0; i < m->n; ++i) busy[i] = 0;
    while(to < m->nslices && !busy[m->slices[to].replica]) busy[m->slices[to++].replica] = 1;
    return to;
}

/* The replicas that run slices now, in the slices' order, each once; and their gradients, but
 * not of one that adds onto U itself. */
static void list_merging(mgpu *m)
{
    m->nmerging = m->nmerged = 0;
    for(int i = m->from; i < m->to; ++i) {
        int replica = m->slices[i].replica, listed = 0;
        for(int k = 0; k < m->nmerging; ++k) listed |= m->merging[k] == replica;
        if(listed) continue;
        m->merging[m->nmerging++] = replica;
        float *g = m->replicas[replica].gradients;
        if(g != m->shared.updates) m->merged[m->nmerged++] = g;
    }
}

/* What is kept of the slices' forward passes, in the order of the mini-batches. */
static void merge_forward(mgpu *m, int count, float *sum)
{
    for(int k = 0; k < count; ++k) {
        *sum += merge_costs(m, k);
        merge_statistics(m, k);
        print_lines(m, k);
    }
}

/* Runs the slices from..to. What is then in `merged` is to be added to U. */
static int run_round(mgpu *m)
{
    const mgpu_device *kind = m->shared.kind;
    list_merging(m);
    m->complete = m->merges ? kind->collect : 0;
    if(!m->merges && m->shared.joined && !m->reproducible) m->complete = kind->reduce;
    if(mgpu_workers_run(m->workers, run_slices, m) < 0) return -1;
    if(m->complete && m->complete == kind->collect && !m->reproducible) m->nmerged = 1;
    return 0;
}

/* A step ended midway: gradients of its slices are left over. */
static int spoilt(mgpu *m)
{
    m->broken = 1;
    return -1;
}

/* Trains on `count` mini-batches, at most up to an update. Adds their costs to sum. */
static int train_step(mgpu *m, int cut, int count, float *sum)
{
    network *root = m->root;
    mgpu_plan_sizes sizes = mgpu_step_sizes(m, cut);
    sizes.count = count;
    sizes.first = *root->seen / root->batch % root->subdivisions;
    if(mgpu_step_plan(m, &sizes) < 0) return -1;
    for(m->from = 0; m->from < m->nslices; m->from = m->to) {
        m->to = round_end(m, m->from);
        m->update = 0;
        if(run_round(m) < 0) return spoilt(m);
        if(m->to == m->nslices) {
            merge_forward(m, count, sum);
            *root->seen += (size_t)count * root->batch;
            m->update = *root->seen / root->batch % root->subdivisions == 0;
        }
        if(m->update) set_rules(m);
        if(reduce(m) < 0) {
            if(m->to == m->nslices) *root->seen -= (size_t)count * root->batch;
            return spoilt(m);
        }
    }
    return 0;
}

static int timed_step(mgpu *m, int cut, int count, float *sum)
{
    const mgpu_profile *p = &m->replicas[0].profile;
    double began = mgpu_profile_begin(p);
    if(m->broken) return mgpu_fail("a device failed in an earlier step; load the network anew");
    if(train_step(m, cut, count, sum) < 0) return -1;
    m->seconds += mgpu_profile_begin(p) - began;
    ++m->steps;
    return 0;
}

/* Trains on n mini-batches; updates fall where stock's counter puts them.
 * Returns the sum of their costs, or NaN with mgpu_error(). */
float mgpu_train_rows(mgpu *m, mgpu_rows rows, int n, int cut)
{
    network *root = m->root;
    float sum = 0;
    root->train = 1;
    mgpu_unselect(m);
    m->rows = rows;
    while(n > 0) {
        int to_update = root->subdivisions - *root->seen / root->batch % root->subdivisions;
        int count = n < to_update ? n : to_update;
        if(timed_step(m, cut, count, &sum) < 0) {
            mgpu_say_error();
            return NAN;
        }
        m->rows.x += count * root->batch;
        m->rows.y += count * root->batch;
        n -= count;
    }
    return sum;
}

int mgpu_predict_rows(mgpu *m, mgpu_rows rows)
{
    mgpu_plan_sizes sizes = mgpu_step_sizes(m, 1);
    sizes.min_rows = 1;
    mgpu_unselect(m);
    m->rows = rows;
    if(mgpu_step_plan(m, &sizes) < 0) return -1;
    m->from = 0;
    m->to = m->nslices;
    m->complete = 0;
    return mgpu_workers_run(m->workers, run_slices, m);
}

typedef struct {
    mgpu *m;
    const mgpu_slice *slices;
    int n, sequence;
} reset_job;

static void reset_replica(void *arg, int worker)
{
    const reset_job *job = arg;
    network *net = job->m->replicas[worker].net;
    for(int i = 0; i < job->n; ++i) {
        const mgpu_slice *s = job->slices + i;
        int b = job->sequence - s->row;
        if(s->replica == worker && net && b >= 0 && b < s->rows) reset_network_state(net, b);
    }
}

void mgpu_reset_state(network *net, int b)
{
    mgpu *m = net->mgpu;
    mgpu_plan_sizes sizes = mgpu_step_sizes(m, 1);
    mgpu_slice slices[m->n];
    reset_job job = {m, slices, mgpu_plan(&sizes, slices), b};
    if(mgpu_workers_run(m->workers, reset_replica, &job) < 0) mgpu_say_error();
}
