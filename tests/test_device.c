/* test_device.c: what every kind of device promises (mgpu_device.h), one list of cases over all
 * kinds of this build. The reference is Darknet's network on the host, without replicas. */
#include "networks.h"
#include "mgpu.h"
#include "mgpu_device.h"
#include "mgpu_root.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define ROWS 4
#define CLOSE 1e-5

static const mgpu_device *kind;
static char cfg[512];

/* What the jobs below work on: a root with two replicas on devices 0 and 1. */
typedef struct {
    network *root;
    mgpu *m;
    float *before, *after; /* layout.learned floats for the case's use */
} fixture;

static fixture set_up(int on_device)
{
    static int ids[] = {0, 1};
    mgpu_options o = mgpu_default_options();
    o.gpus = ids;
    o.ngpus = 2;
    o.nogpu = kind == &mgpu_host_device;
    o.cpu_merge = !on_device;
    quiet();
    network *root = mgpu_load_network(cfg, 0, 0, &o);
    loud();
    if(!root) fail_msg("%s", mgpu_error());
    mgpu *m = root->mgpu;
    return (fixture){root, m, mgpu_arena_make(m->layout.learned),
                     mgpu_arena_make(m->layout.learned)};
}

static void tear_down(fixture *f)
{
    free(f->before);
    free(f->after);
    quiet();
    free_network(f->root);
    loud();
}

static void run(fixture *f, mgpu_job job)
{
    if(mgpu_workers_run(f->m->workers, job, f) < 0)
        fail_msg("%s: %s", kind->name, mgpu_error());
}

static double off(const float *a, const float *b, size_t n)
{
    double d = 0, size = 0;
    for(size_t i = 0; i < n; ++i) {
        d += (a[i] - b[i]) * (double)(a[i] - b[i]);
        size += a[i] * (double)a[i];
    }
    return sqrt(d / (size > 0 ? size : 1));
}

/* ---- memory ---- */

static void test_arena(void **state)
{
    (void)state;
    assert_true(kind->count() >= 2);
    for(size_t n = 0; n < 5000; n += 1234) {
        float *arena = kind->make_arena(n);
        assert_non_null(arena);
        assert_int_equal((uintptr_t)arena % 64, 0);
        for(size_t i = 0; i < n; ++i) assert_true(arena[i] == 0);
        kind->free_arena(arena);
    }
    kind->free_arena(0);
}

/* What is stored in a layer's array is what is fetched from it. */
static void there_and_back(void *arg, int worker)
{
    fixture *f = arg;
    mgpu_replica *r = f->m->replicas + worker;
    float out[8], in[8];
    layer *l = r->net->layers;
    float *there = l->output;
#ifdef GPU
    if(kind == &mgpu_cuda_device) there = l->output_gpu;
#endif
    for(int i = 0; i < 8; ++i) out[i] = worker * 100 + i;
    mgpu_replica_store(r, there + 3, out, 8);
    mgpu_replica_fetch(r, in, there + 3, 8);
    if(kind->finish) kind->finish(r);
    if(memcmp(out, in, sizeof in)) mgpu_job_fail("other numbers came back");
}

static void test_there_and_back(void **state)
{
    (void)state;
    fixture f = set_up(0);
    run(&f, there_and_back);
    tear_down(&f);
}

/* ---- weights there, gradients back ---- */

static data batch_of(const network *net)
{
    return make_rows(net, 0, 0, ROWS);
}

/* A whole mini-batch, by each replica, with the root's weights of now. */
static void pass(void *arg, int worker)
{
    fixture *f = arg;
    mgpu_replica *r = f->m->replicas + worker;
    network *net = r->net;
    data d = batch_of(f->root);
    for(int b = f->m->shared.nbuckets - 1; b >= 0 && kind->publish; --b) kind->publish(r, b);
    r->unready = kind->publish ? f->m->shared.nbuckets : 0;
    mgpu_replica_set_rows(r, r->capacity);
    r->rows = r->capacity;
    for(int i = 0; i < net->batch; ++i) {
        memcpy(net->input + (size_t)i * net->inputs, d.X.vals[i], net->inputs * sizeof(float));
        memcpy(net->truth + (size_t)i * net->truths, d.y.vals[i], net->truths * sizeof(float));
    }
    net->train = 1;
    r->complete = kind->collect;
    r->completed = 0;
    forward_network(net);
    backward_network(net);
    mgpu_replica_complete(r, 0);
    for(int b = 0; b < f->m->shared.nbuckets && kind->landed; ++b) kind->landed(r, b);
    free_data(d);
}

/* The same by a plain network on the host. */
static void reference(fixture *f, float *gradient, int rows)
{
    const mgpu_layout *layout = &f->m->layout;
    quiet();
    network *net = parse_network_cfg(cfg);
    loud();
    set_batch_network(net, rows);
    data d = batch_of(net);
    for(int i = 0; i < layout->n; ++i) {
        const mgpu_tensor *t = layout->tensors + i;
        memcpy(*mgpu_tensor_value(net, t), f->m->shared.weights + t->offset,
               t->length * sizeof(float));
    }
    get_next_batch(d, rows, 0, net->input, net->truth);
    net->train = 1;
    forward_network(net);
    backward_network(net);
    for(int i = 0; i < layout->n; ++i) {
        const mgpu_tensor *t = layout->tensors + i;
        memcpy(gradient + t->offset, *mgpu_tensor_gradient(net, t), t->length * sizeof(float));
    }
    free_data(d);
    mgpu_replica_free_rest(net);
    free_network(net);
}

/* Twice, with other weights: what is collected is that pass's gradient alone. */
static void test_passes(void **state)
{
    (void)state;
    fixture f = set_up(0);
    size_t n = f.m->layout.learned;
    int rows = f.m->replicas[0].capacity;
    for(int round = 0; round < 2; ++round) {
        for(size_t i = 0; i < n; ++i) f.m->shared.weights[i] *= round ? .5f : 1;
        reference(&f, f.before, rows);
        run(&f, pass);
        for(int i = 0; i < 2; ++i) {
            assert_true(off(f.before, f.m->replicas[i].gradients, n) < CLOSE);
            memset(f.m->replicas[i].gradients, 0, n * sizeof(float)); /* as a merge does */
        }
    }
    tear_down(&f);
}

/* ---- devices that update themselves ---- */

static const mgpu_rule sgd = {.rate = .01f, .decay = -.1f, .momentum = .9f, .clip = .5f};
static const mgpu_rule adam = {.rate = .01f,
                               .decay = -.1f,
                               .adam = 1,
                               .b1 = .9f,
                               .b2 = .999f,
                               .eps = 1e-7f,
                               .unbias1 = .1f,
                               .unbias2 = .001f};

static float number(size_t i, int of)
{
    return 2 * unit((unsigned)i, of) - 1;
}

/* Both devices have the root's arenas; then each gets a gradient of its own. */
static void give_gradients(void *arg, int worker)
{
    fixture *f = arg;
    mgpu_replica *r = f->m->replicas + worker;
    for(size_t i = 0; i < f->m->layout.learned; ++i) r->gradients[i] = number(i, 10 + worker);
    kind->push(r);
    kind->clear(r);
    for(int b = 0; b < f->m->shared.nbuckets; ++b) kind->give(r, r->gradients, b);
    kind->finish(r);
}

static void merge_both(void *arg, int worker)
{
    fixture *f = arg;
    mgpu_replica *both[] = {f->m->replicas, f->m->replicas + 1};
    kind->merge(f->m->replicas + worker, both, 2);
}

static void update_all(void *arg, int worker)
{
    fixture *f = arg;
    mgpu_replica *r = f->m->replicas + worker;
    kind->clear(r);
    kind->update(r, 0, f->m->layout.learned, f->root->adam ? adam : sgd);
    kind->finish(r);
}

static void pull_second(void *arg, int worker)
{
    fixture *f = arg;
    if(worker == 1) kind->pull(f->m->replicas + worker);
}

/* Devices merge and update as mgpu_reduce.c does; the second's arenas are what comes back. */
static void check_update(int by_adam)
{
    fixture f = set_up(1);
    mgpu_shared *s = &f.m->shared;
    size_t n = f.m->layout.learned;
    float *w = mgpu_arena_make(n), *u = mgpu_arena_make(n), *m1 = mgpu_arena_make(n),
          *v = mgpu_arena_make(n), *g[2] = {f.before, f.after};
    f.root->adam = by_adam;
    for(size_t i = 0; i < n; ++i) {
        w[i] = s->weights[i] = number(i, 1);
        u[i] = s->updates[i] = number(i, 2);
        g[0][i] = number(i, 10);
        g[1][i] = number(i, 11);
        if(!by_adam) continue;
        m1[i] = s->moments[0][i] = number(i, 3);
        v[i] = s->moments[1][i] = 1 + number(i, 4);
    }
    run(&f, give_gradients);
    run(&f, merge_both);
    run(&f, update_all);
    run(&f, pull_second);
    if(by_adam) {
        mgpu_adam_range(w, u, m1, v, g, 2, 0, n, adam);
        assert_true(off(m1, s->moments[0], n) < 1e-6);
        assert_true(off(v, s->moments[1], n) < 1e-6);
    } else {
        mgpu_update_range(w, u, g, 2, 0, n, sgd);
    }
    assert_true(off(w, s->weights, n) < 1e-6);
    assert_true(off(u, s->updates, n) < 1e-6);
    f.m->behind = 0;
    free(w);
    free(u);
    free(m1);
    free(v);
    tear_down(&f);
}

static void test_update(void **state)
{
    (void)state;
    if(!kind->update) skip();
    check_update(0);
}

static void test_adam(void **state)
{
    (void)state;
    if(!kind->update) skip();
    FILE *fp = fopen(cfg, "r+");
    char line[4096] = "[net]\nadam=1\n";
    size_t head = strlen(line), n = fread(line + head, 1, sizeof line - head, fp);
    memmove(line + head, line + head + strlen("[net]\n"), n - strlen("[net]\n"));
    rewind(fp);
    fwrite(line, 1, head + n - strlen("[net]\n"), fp);
    fclose(fp);
    check_update(1);
}

int main(void)
{
    int status = 0;
    snprintf(cfg, sizeof cfg, "%s/device.cfg", getenv("MGPU_SCRATCH"));
    for(int i = 0; (kind = mgpu_devices[i]); ++i) {
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_arena),  cmocka_unit_test(test_there_and_back),
            cmocka_unit_test(test_passes), cmocka_unit_test(test_update),
            cmocka_unit_test(test_adam),
        };
        write_cfg(cfg, find_net("plain"), ROWS, 2);
        printf("-- %s devices\n", kind->name);
        status += cmocka_run_group_tests_name(kind->name, tests, 0, 0);
    }
    return status;
}
