/* test_compute.c: layers as replicas on the host compute them (mgpu_compute.c), against
 * Darknet's own functions: one step of training from the same weights, then predicting, on one
 * device, and on two and three that share a mini-batch, with a thread each or several. The
 * bounds are of the relative L2 difference of every tensor, gradient and output: what another
 * order of adding makes, and Winograd's way with three by three filters, which rounds by 1e-6
 * for each layer. */
#include "networks.h"
#include "mgpu.h"
#include "mgpu_loops.h"
#include "mgpu_root.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define BOUND 1e-5
/* Of biases and gradients: what is left of sums that cancel. Of predictions: running variances
 * are still small, and what is divided by them is large. */
#define LOOSE_BOUND 1e-3

typedef struct {
    const char *name;
    int side, channels; /* of the images */
    int blocks;         /* layers whose output is in blocks, where the processor has them */
    const char *layers;
} layer_case;

#define CONV(n, size, stride, activation)                                                      \
    "[convolutional]\nfilters=" #n "\nsize=" #size "\nstride=" #stride                         \
    "\npad=1\nactivation=" #activation "\n"
#define NORMAL(n, size, stride, activation)                                                    \
    "[convolutional]\nbatch_normalize=1\nfilters=" #n "\nsize=" #size "\nstride=" #stride      \
    "\npad=1\nactivation=" #activation "\n"
#define POOL(size, stride) "[maxpool]\nsize=" #size "\nstride=" #stride "\n"
#define END CONV(5, 1, 1, linear) "[avgpool]\n[softmax]\n"

static const layer_case cases[] = {
    {"blocks throughout", 12, 3, 4,
     NORMAL(16, 3, 1, leaky) POOL(2, 2) NORMAL(32, 3, 1, leaky) NORMAL(16, 1, 1, relu) END},
    {"planes", 11, 3, 0, NORMAL(6, 3, 1, leaky) POOL(2, 2) NORMAL(7, 3, 2, leaky) END},
    {"planes and blocks", 9, 3, 2,
     NORMAL(16, 3, 1, leaky) NORMAL(7, 3, 1, leaky) NORMAL(32, 3, 1, leaky) END},
    {"no batch normalisation", 9, 3, 2, CONV(16, 3, 1, leaky) CONV(16, 3, 2, relu) END},
    {"other activations", 9, 3, 3,
     NORMAL(16, 3, 1, elu) CONV(16, 3, 1, logistic) NORMAL(16, 1, 1, tanh) END},
    {"first layers", 17, 4, 2, NORMAL(16, 7, 2, leaky) POOL(2, 2) END},
    {"one channel", 13, 1, 1, NORMAL(16, 5, 1, leaky) END},
    {"strides and sizes", 23, 3, 4,
     NORMAL(16, 3, 2, leaky) NORMAL(16, 5, 3, leaky) NORMAL(32, 2, 1, leaky)
         NORMAL(16, 1, 2, leaky) END},
    {"padding", 10, 3, 2,
     "[convolutional]\nbatch_normalize=1\nfilters=16\nsize=3\npadding=0\nactivation=leaky\n"
     "[convolutional]\nfilters=16\nsize=3\npadding=2\nstride=2\nactivation=leaky\n" END},
    {"groups", 8, 3, 3,
     NORMAL(16, 3, 1, leaky) "[convolutional]\nbatch_normalize=1\nfilters=32\nsize=3\npad=1\n"
                             "groups=2\nactivation=leaky\n" NORMAL(16, 1, 1, leaky) END},
    {"pooling", 19, 3, 5,
     NORMAL(16, 3, 1, leaky) POOL(2, 1) POOL(3, 2) POOL(3, 1) CONV(16, 3, 1, linear) END},
    {"average", 8, 3, 1,
     NORMAL(16, 3, 1, leaky) "[avgpool]\n[connected]\noutput=5\n[softmax]\n"},
    {"dropout", 8, 3, 4,
     NORMAL(16, 3, 1, leaky) POOL(2, 2) "[dropout]\nprobability=.4\n" NORMAL(16, 3, 1, leaky)
         END},
    {"dropout on planes", 8, 3, 0, NORMAL(6, 3, 1, leaky) "[dropout]\nprobability=.4\n" END},
    {"shortcut", 8, 3, 4,
     NORMAL(16, 3, 1, leaky) NORMAL(16, 3, 1, leaky) NORMAL(
         16, 3, 1, linear) "[shortcut]\nfrom=-3\nactivation=leaky\nalpha=.5\nbeta=2\n" END},
    {"shortcut to more channels", 8, 3, 3,
     NORMAL(16, 3, 1, leaky)
         NORMAL(32, 3, 2, leaky) "[shortcut]\nfrom=-2\nactivation=linear\n" END},
    {"shortcut to fewer channels", 8, 3, 3,
     NORMAL(32, 3, 1, leaky)
         NORMAL(16, 3, 1, leaky) "[shortcut]\nfrom=-2\nactivation=linear\n" END},
    {"shortcut to a larger image", 8, 3, 2,
     NORMAL(16, 3, 2, leaky) "[upsample]\nstride=2\n"
                             "[shortcut]\nfrom=-2\nactivation=linear\n" NORMAL(16, 3, 1, leaky)
                                 NORMAL(16, 3, 1, leaky) END},
    {"route of blocks", 8, 3, 4,
     NORMAL(16, 3, 1, leaky) NORMAL(32, 3, 1, leaky)
         NORMAL(16, 3, 1, leaky) "[route]\nlayers=-1,-3\n" END},
    {"route of both", 8, 3, 1,
     NORMAL(16, 3, 1, leaky) NORMAL(16, 3, 1, leaky)
         NORMAL(7, 3, 1, leaky) "[route]\nlayers=-1,-2\n" END},
    {"route of one, read twice", 8, 3, 4,
     NORMAL(16, 3, 1, leaky)
         NORMAL(16, 3, 1, leaky) "[route]\nlayers=-2\n" NORMAL(16, 3, 1, leaky) END},
    {"upsample", 6, 3, 1,
     NORMAL(16, 3, 2, leaky) NORMAL(16, 1, 1, leaky) "[upsample]\nstride=2\n" END},
    {"others between", 8, 3, 1,
     NORMAL(16, 3, 1, leaky) NORMAL(16, 3, 1, leaky) "[normalization]\n" NORMAL(
         16, 3, 1, leaky) "[activation]\nactivation=relu\n" END},
    {"smooth and binary", 8, 3, 2,
     NORMAL(16, 3, 1, leaky) "[convolutional]\nfilters=16\nsize=3\npad=1\nbinary=1\n"
                             "activation=leaky\n" NORMAL(16, 3, 1, leaky)
                                 NORMAL(16, 3, 1, leaky) END},
    {"layers that stay", 8, 3, 3,
     NORMAL(16, 3, 1, leaky) NORMAL(16, 3, 1, leaky) "stopbackward=1\n" NORMAL(16, 3, 1, leaky)
         END},
    {"one place", 1, 16, 2, NORMAL(16, 1, 1, leaky) NORMAL(32, 1, 1, leaky) END},
};

#define NCASES (int)(sizeof cases / sizeof *cases)

static char cfg[512];
static double worst[2];

static void write_case(const layer_case *c)
{
    FILE *fp = fopen(cfg, "w");
    assert_non_null(fp);
    fprintf(fp,
            "[net]\nbatch=12\nsubdivisions=2\nheight=%d\nwidth=%d\nchannels=%d\n"
            "learning_rate=.01\nmomentum=.9\ndecay=.0005\n%s",
            c->side, c->side, c->channels, c->layers);
    fclose(fp);
}

static network *load(int tuned, int devices, int threads)
{
    static int ids[] = {0, 1, 2, 3};
    mgpu_options o = mgpu_default_options();
    o.gpus = ids;
    o.ngpus = devices;
    o.nogpu = 1;
    o.threads = threads;
    o.sync_bn = 1;
    mgpu_tuned = tuned;
    quiet();
    network *net = mgpu_load_network(cfg, 0, 0, &o);
    loud();
    if(!net) fail_msg("%s", mgpu_error());
    return net;
}

/* A step of training, one more mini-batch, and what is predicted of another. */
static snapshot run(network *net, int tuned)
{
    mgpu_tuned = tuned;
    data d = make_batch(net, 0, 3 * net->batch);
    float *x = calloc((size_t)net->batch * net->inputs, sizeof *x);
    for(int i = 0; i < net->batch; ++i)
        memcpy(x + (size_t)i * net->inputs, d.X.vals[2 + i], net->inputs * sizeof *x);
    quiet();
    float returned = train_network(net, d);
    loud();
    snapshot s = collect(net, returned);
    quiet();
    network_predict(net, x);
    loud();
    layer out = get_network_output_layer(net);
    snapshot_add(&s, "predicted", net->n, out.output, (size_t)net->batch * out.outputs);
    free_data(d);
    free(x);
    return s;
}

static int loose(const char *name)
{
    return strstr(name, "bias") || strstr(name, "update") || strstr(name, "predicted");
}

static void compare(const char *name, int devices, const snapshot *ours, const snapshot *theirs)
{
    assert_int_equal(ours->n, theirs->n);
    for(int i = 0; i < ours->n; ++i) {
        double off = difference(ours->arrays + i, theirs->arrays + i);
        int is_loose = loose(ours->arrays[i].name);
        if(off > worst[is_loose]) worst[is_loose] = off;
        if(!(off < (is_loose ? LOOSE_BOUND : BOUND)))
            fail_msg("%s, %d devices: %s is off by %.1e", name, devices, ours->arrays[i].name,
                     off);
    }
}

/* With U, which has the gradients of a part of a batch and momentum. */
static snapshot with_updates(network *net, snapshot s)
{
    const mgpu *m = net->mgpu;
    for(int i = 0; i < m->layout.n; ++i) {
        const mgpu_tensor *t = m->layout.tensors + i;
        if(t->kind->running) continue;
        snapshot_add(&s, "update", t->layer, m->shared.updates + t->offset, t->length);
    }
    return s;
}

static void check_blocks(const layer_case *c, const network *net)
{
    const mgpu *m = net->mgpu;
    int blocks = 0;
    for(int i = 0; i < net->n; ++i) blocks += mgpu_compute_blocked(m->replicas[0].compute, i);
    if(blocks != (mgpu_compute_block() > 1 ? c->blocks : 0))
        fail_msg("%s: %d layers have blocks, not %d", c->name, blocks, c->blocks);
}

static void check(const layer_case *c, int side)
{
    static const int devices[] = {1, 2, 3, 1, 2}, threads[] = {1, 1, 1, 2, 3};
    write_case(c);
    network *net = load(0, 1, 1);
    if(side) resize_network(net, side, side);
    snapshot theirs = with_updates(net, run(net, 0));
    quiet();
    free_network(net);
    loud();
    for(int i = 0; i < 5; ++i) {
        net = load(1, devices[i], threads[i]);
        if(side) resize_network(net, side, side);
        snapshot ours = with_updates(net, run(net, 1));
        check_blocks(c, net);
        compare(c->name, devices[i], &ours, &theirs);
        snapshot_free(&ours);
        quiet();
        free_network(net);
        loud();
    }
    snapshot_free(&theirs);
}

static void test_layers(void **state)
{
    (void)state;
    for(int i = 0; i < NCASES; ++i) check(cases + i, 0);
}

/* A new size, before the first step and between two. */
static void test_resized(void **state)
{
    (void)state;
    check(cases, 20);
    write_case(cases);
    network *nets[] = {load(0, 1, 1), load(1, 2, 1)};
    snapshot s[2];
    for(int i = 0; i < 2; ++i) {
        snapshot first = run(nets[i], i);
        snapshot_free(&first);
        quiet();
        resize_network(nets[i], 16, 16);
        resize_network(nets[i], 12, 12);
        loud();
        s[i] = run(nets[i], i);
    }
    compare("resized", 2, s + 1, s);
    for(int i = 0; i < 2; ++i) {
        snapshot_free(s + i);
        quiet();
        free_network(nets[i]);
        loud();
    }
}

int main(void)
{
    snprintf(cfg, sizeof cfg, "%s/compute.cfg", getenv("MGPU_SCRATCH"));
    gpu_index = -1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers),
        cmocka_unit_test(test_resized),
    };
    int status = cmocka_run_group_tests(tests, 0, 0);
    printf("%d nets, blocks of %d; largest relative difference %.1e, of biases, gradients and "
           "predictions "
           "%.1e\n",
           NCASES, mgpu_compute_block(), worst[0], worst[1]);
    return status;
}
