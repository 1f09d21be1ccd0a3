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
#include "mgpu_statistics.h"
#include "network.h" /* calc_network_cost */

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    r->row = s->row;
    r->log = m->logs + i * m->layout.running;
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

/* Plans a step, with room for its results and replicas that can run it. */
int mgpu_step_plan(mgpu *m, const mgpu_plan_sizes *sizes)
{
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
    if(grow(&m->logs, &m->logs_size, n * m->layout.running) < 0) return -1;
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
        /* Darknet takes a yolo layer's output of two rows for an image and its mirror. */
        if(l->type == YOLO && l->batch == 2) l->batch = 1;
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

/* Trains on `count` mini-batches, at most up to an update. Adds their costs to sum. */
static int train_step(mgpu *m, int cut, int count, float *sum)
{
    network *root = m->root;
    mgpu_plan_sizes sizes = {.replicas = m->n, .batch = root->batch, .count = count};
    sizes.whole = !cut && mgpu_plan_whole(m->n, root->subdivisions);
    sizes.first = *root->seen / root->batch % root->subdivisions;
    sizes.min_rows = mgpu_min_rows(root);
    if(mgpu_step_plan(m, &sizes) < 0) return -1;
    mgpu_workers_run(m->workers, run_slices, m);
    for(int k = 0; k < count; ++k) {
        *sum += merge_costs(m, k);
        merge_statistics(m, k);
        print_lines(m, k);
    }
    *root->seen += (size_t)count * root->batch;
    m->update = *root->seen / root->batch % root->subdivisions == 0;
    if(m->update) set_rules(m);
    if(m->update || m->n > 1) mgpu_workers_run(m->workers, reduce_part, m);
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
            fprintf(stderr, "mgpu: %s\n", mgpu_error());
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
    mgpu_plan_sizes sizes = {
        .replicas = m->n, .batch = m->root->batch, .count = 1, .min_rows = 1};
    mgpu_unselect(m);
    m->rows = rows;
    if(mgpu_step_plan(m, &sizes) < 0) return -1;
    mgpu_workers_run(m->workers, run_slices, m);
    return 0;
}
