/* test_tensors.c: the table of layer types and the layout of the arenas. */
#include "mgpu_error.h"
#include "mgpu_tensors.h"
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

static char cfg[512];

static network *make(const char *layers)
{
    FILE *fp = fopen(cfg, "w");
    assert_non_null(fp);
    fprintf(fp, net_header, 2, 1);
    fputs(layers, fp);
    fclose(fp);
    quiet();
    network *net = parse_network_cfg(cfg);
    loud();
    return net;
}

/* Names, lengths and the decay of each array, in the order of the layers. */
static void test_layout(void **state)
{
    (void)state;
    static const struct {
        int layer;
        const char *name;
        size_t length;
        int running, decays;
    } expected[] = {
        {0, "biases", 8, 0, 0},           {0, "scales", 8, 0, 0},
        {0, "weights", 8 * 3 * 9, 0, 1},  {0, "rolling_mean", 8, 1, 0},
        {0, "rolling_variance", 8, 1, 0}, {1, "biases", 16, 0, 0},
        {1, "scales", 16, 0, 0},          {1, "weights", 512 * 16, 0, 1},
        {1, "rolling_mean", 16, 1, 0},    {1, "rolling_variance", 16, 1, 0},
        {2, "biases", 10, 0, 0},          {2, "weights", 160, 0, 1},
    };
    mgpu_layout layout;
    network *net = make(find_net("flat")->layers);
    assert_int_equal(mgpu_layout_make(&layout, net), 0);
    assert_int_equal(layout.n, sizeof expected / sizeof *expected);
    size_t ends[2] = {0, 0};
    for(int i = 0; i < layout.n; ++i) {
        const mgpu_tensor *t = layout.tensors + i;
        assert_int_equal(t->layer, expected[i].layer);
        assert_string_equal(t->kind->name, expected[i].name);
        assert_int_equal(t->length, expected[i].length);
        assert_int_equal(t->kind->running, expected[i].running);
        assert_int_equal(t->kind->decays, expected[i].decays);
        size_t *end = ends + t->kind->running; /* apart, in order, on cache lines */
        assert_int_equal(t->offset % 16, 0);
        assert_true(t->offset >= *end && t->offset < *end + 16);
        *end = t->offset + t->length;
    }
    assert_in_range(layout.learned, ends[0], ends[0] + 15);
    assert_in_range(layout.running, ends[1], ends[1] + 15);
    layer *l = net->layers;
    assert_ptr_equal(*mgpu_tensor_value(net, layout.tensors + 2), l->weights);
    assert_ptr_equal(*mgpu_tensor_gradient(net, layout.tensors + 2), l->weight_updates);
    assert_ptr_equal(*mgpu_tensor_value(net, layout.tensors + 4), l->rolling_variance);
    assert_int_equal(mgpu_layout_matches(&layout, net), 0);
    free_plain(net);
    net = make(find_net("plain")->layers);
    assert_int_equal(mgpu_layout_matches(&layout, net), -1);
    free_plain(net);
    mgpu_layout_free(&layout);
}

/* A yolo layer's biases are anchors, not weights. */
static void test_anchors(void **state)
{
    (void)state;
    mgpu_layout layout;
    network *net = make(find_net("yolo")->layers);
    assert_int_equal(mgpu_layout_make(&layout, net), 0);
    for(int i = 0; i < layout.n; ++i) {
        assert_int_equal(net->layers[layout.tensors[i].layer].type, CONVOLUTIONAL);
    }
    mgpu_layout_free(&layout);
    free_plain(net);
}

/* What is not in the table is refused by number. */
static void test_refused(void **state)
{
    (void)state;
    static const char *const refused[][2] = {
        {"[nonesuch]\n", "not a layer that Darknet knows"},
    };
    for(size_t i = 0; i < sizeof refused / sizeof *refused; ++i) {
        char layers[512];
        mgpu_layout layout;
        snprintf(layers, sizeof layers,
                 "[convolutional]\nfilters=4\nsize=1\nactivation=linear\n%s", refused[i][0]);
        network *net = make(layers);
        assert_int_equal(mgpu_layout_make(&layout, net), -1);
        assert_non_null(strstr(mgpu_error(), "layer 1"));
        assert_non_null(strstr(mgpu_error(), refused[i][1]));
        assert_null(layout.tensors);
        free_plain(net);
    }
}

int main(void)
{
    snprintf(cfg, sizeof cfg, "%s/tensors.cfg", getenv("MGPU_SCRATCH"));
    gpu_index = -1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_anchors),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests_name("tensors", tests, 0, 0);
}
