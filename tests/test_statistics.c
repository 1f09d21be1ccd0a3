/* test_statistics.c: batch statistics pooled and replayed. */
#include "mgpu_statistics.h"
#include "blas.h"
#include "mgpu_replica.h"
#include "support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* Frees a network without replicas, with what Darknet's free_network forgets. */
static void free_plain(network *net)
{
    mgpu_replica_free_rest(net);
    free_network(net);
}

/* Pooled mean and variance of slices are those of all values together, for any cut. */
static void test_pool(void **state)
{
    (void)state;
    static const int cuts[][4] = {{12},      {6, 6},    {7, 5},      {1, 11},
                                  {4, 4, 4}, {5, 4, 3}, {3, 3, 3, 3}};
    for(size_t c = 0; c < sizeof cuts / sizeof *cuts; ++c) {
        float x[12], means[4], variances[4], mean, variance;
        double all = 0, squares = 0;
        for(int i = 0; i < 12; ++i) all += x[i] = 100 + unit(c, i);
        for(int i = 0; i < 12; ++i) squares += (x[i] - all / 12) * (x[i] - all / 12);
        int k = 0, at = 0;
        for(; k < 4 && cuts[c][k]; at += cuts[c][k++]) {
            double sum = 0, off = 0;
            int n = cuts[c][k];
            for(int i = at; i < at + n; ++i) sum += x[i];
            for(int i = at; i < at + n; ++i) off += (x[i] - sum / n) * (x[i] - sum / n);
            means[k] = sum / n;
            variances[k] = n > 1 ? off / (n - 1) : 0;
        }
        mgpu_pool(k, cuts[c], means, variances, &mean, &variance);
        assert_true(fabs(mean - all / 12) < 2e-5);
        assert_true(fabs(variance - squares / 11) < 1e-4 * squares / 11);
    }
}

/* One slice is passed on to the bit, and moved as Darknet's own lines move it. */
static void test_replay_as_stock(void **state)
{
    (void)state;
    char cfg[512];
    mgpu_layout layout;
    snprintf(cfg, sizeof cfg, "%s/statistics.cfg", getenv("MGPU_SCRATCH"));
    write_cfg(cfg, find_net("normalised"), 4, 1);
    quiet();
    network *net = parse_network_cfg(cfg);
    loud();
    assert_int_equal(mgpu_layout_make(&layout, net), 0);
    float *log = mgpu_arena_make(layout.running), *expected = mgpu_arena_make(layout.running);
    int rows = 4;
    for(int step = 0; step < 30; ++step) {
        for(size_t i = 0; i < layout.running; ++i) log[i] = unit(step, i);
        mgpu_replay(net, &layout, 1, &rows, &log);
        scal_cpu(layout.running, .99, expected, 1);
        axpy_cpu(layout.running, .01, log, 1, expected, 1);
    }
    for(int i = 0; i < layout.n; ++i) {
        const mgpu_tensor *t = layout.tensors + i;
        if(!t->kind->running) continue;
        for(size_t k = 0; k < t->length; ++k) {
            float ours = (*mgpu_tensor_value(net, t))[k], stock = expected[t->offset + k];
            assert_true(fabsf(ours - stock) <= 2e-7f * stock);
        }
    }
    free(log);
    free(expected);
    mgpu_layout_free(&layout);
    free_plain(net);
}

static void test_min_rows(void **state)
{
    (void)state;
    char cfg[512];
    snprintf(cfg, sizeof cfg, "%s/rows.cfg", getenv("MGPU_SCRATCH"));
    for(int i = 0; i < NNETS; ++i) {
        write_cfg(cfg, test_nets + i, 4, 1);
        quiet();
        network *net = parse_network_cfg(cfg);
        loud();
        assert_int_equal(mgpu_min_rows(net), test_nets[i].flat ? 2 : 1);
        free_plain(net);
    }
}

int main(void)
{
    gpu_index = -1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool),
        cmocka_unit_test(test_replay_as_stock),
        cmocka_unit_test(test_min_rows),
    };
    return cmocka_run_group_tests_name("statistics", tests, 0, 0);
}
