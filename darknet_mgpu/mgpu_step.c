/* mgpu_step.c: one step of training or predicting, over all replicas.
 *
 * A step is what comes up to and including an update, or to the end of a call:
 *
 *     rows -> plan -> scatter -> run -> merge -> update -> publish
 *                     (per replica, in parallel)   (root)
 *
 * Publishing is nothing here: replicas on the host read the root's weights in place.
 */
#include "mgpu_step.h"
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

static void gather(const mgpu *m, const mgpu_slice *s, const network *net)
{
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

static void run_slices(void *arg, int worker)
{
    mgpu *m = arg;
    for(int i = m->from; i < m->to; ++i) {
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
        mgpu_merge_range(m->updates, m->merged, m->nmerged, from, to);
        return;
    }
    for(int i = 0; i < m->layout.n; ++i) {
        const mgpu_tensor *t = m->layout.tensors + i;
        if(t->kind->running) continue;
        size_t a = t->offset > from ? t->offset : from;
        size_t b = t->offset + t->length < to ? t->offset + t->length : to;
        if(a >= b) continue;
        if(t->kind->fixed) {
            mgpu_merge_range(m->updates, m->merged, m->nmerged, a, b);
        } else if(m->rules[i].adam) {
            mgpu_adam_range(m->weights, m->updates, m->moments[0], m->moments[1], m->merged,
                            m->nmerged, a, b, m->rules[i]);
        } else {
            mgpu_update_range(m->weights, m->updates, m->merged, m->nmerged, a, b, m->rules[i]);
        }
    }
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
    if(m->sync && m->parts > 1) mgpu_sync_parts(m->sync, m->parts);
    size_t logs = (size_t)n * m->root->time_steps * m->layout.running;
    if(grow(&m->logs, &m->logs_size, logs) < 0) return -1;
    if(grow(&m->slice_costs, &m->slice_costs_size, (size_t)n * m->ncosts) < 0) return -1;
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

/* The gradients of the slices that were run, in their order, each once; but none of a replica
 * that added onto U itself. */
static void list_gradients(mgpu *m)
{
    m->nmerged = 0;
    for(int i = m->from; i < m->to; ++i) {
        float *g = m->gradients[m->slices[i].replica];
        int listed = g == 0;
        for(int k = 0; k < m->nmerged; ++k) listed |= m->merged[k] == g;
        if(!listed) m->merged[m->nmerged++] = g;
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
        mgpu_workers_run(m->workers, run_slices, m);
        list_gradients(m);
        if(m->to == m->nslices) {
            merge_forward(m, count, sum);
            *root->seen += (size_t)count * root->batch;
            m->update = *root->seen / root->batch % root->subdivisions == 0;
        }
        if(m->update) set_rules(m);
        if(m->update || m->nmerged) mgpu_workers_run(m->workers, reduce_part, m);
    }
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
        if(train_step(m, cut, count, &sum) < 0) {
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
    mgpu_workers_run(m->workers, run_slices, m);
    return 0;
}

void mgpu_reset_state(network *net, int b)
{
    mgpu *m = net->mgpu;
    mgpu_plan_sizes sizes = mgpu_step_sizes(m, 1);
    mgpu_slice slices[m->n];
    int n = mgpu_plan(&sizes, slices);
    for(int i = 0; i < n; ++i) {
        const mgpu_slice *s = slices + i;
        if(b < s->row || b >= s->row + s->rows) continue;
        network *replica = m->replicas[s->replica].net;
        if(replica) reset_network_state(replica, b - s->row);
    }
}
