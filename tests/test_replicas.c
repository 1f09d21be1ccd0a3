/* test_replicas.c: every layer type, optimizer and way to cut: N devices against one.
 *
 * Reference: patched Darknet's own train_network on a network without replicas, or, where
 * that draws numbers or has no such optimizer, one device. test_contract.c shows that one
 * device is unpatched stock; test_layers.c that the repaired layers are right. Bounds on the
 * relative L2 difference of every tensor are the contract's: 1e-6 after one step, 1e-5 for
 * tensors that started at zero and for costs, which are sums of many, 1e-4 after more. */
#include "networks.h"
#include "mgpu.h"
#include "mgpu_replica.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static int ids[] = {0, 1, 2, 3, 4, 5, 6, 7};
static const int counts[] = {1, 2, 3, 4, 8};

typedef struct {
    const char *name, *net; /* net: added to the [net] section */
    int side;               /* of images; 0: 16 */
    const char *layers;
    int drawn;  /* 1: one device is the reference, as it draws by row */
    int normed; /* 1: batch normalisation: compared with sync_bn where rows are cut */
    int loose;  /* 1: only the first step is compared */
} kind;

#define CONV "[convolutional]\nfilters=6\nsize=3\nstride=2\npad=1\nactivation=leaky\n"
#define CONV_BN                                                                                \
    "[convolutional]\nbatch_normalize=1\nfilters=6\nsize=3\nstride=2\npad=1\nactivation="      \
    "leaky\n"
#define OUT "[connected]\noutput=5\nactivation=linear\n[softmax]\n"

static const kind kinds[] = {
    {"deconvolutional", "", 0,
     CONV "[deconvolutional]\nfilters=4\nsize=2\nstride=2\nactivation=leaky\n" OUT, 0, 0, 0},
    {"deconvolutional normalised", "", 0,
     CONV "[deconvolutional]\nbatch_normalize=1\nfilters=4\nsize=2\nstride=2\nactivation="
          "leaky\n" OUT,
     0, 1, 0},
    {"local", "", 0, CONV "[local]\nfilters=3\nsize=3\nstride=1\npad=1\nactivation=leaky\n" OUT,
     0, 0, 0},
    {"batchnorm", "", 0, CONV "[batchnorm]\n" OUT, 0, 1, 0},
    {"l2norm", "", 0, CONV "[l2norm]\n" OUT, 0, 0, 0},
    {"normalization", "", 0, CONV "[normalization]\nsize=5\n" OUT, 0, 0, 0},
    {"dropout", "", 0, CONV "[dropout]\nprobability=.5\n" OUT, 1, 0, 0},
    {"crop", "", 0, "[crop]\ncrop_height=12\ncrop_width=12\nflip=1\n" CONV OUT, 1, 0, 0},
    {"region", "", 0,
     CONV "[convolutional]\nfilters=14\nsize=1\nactivation=linear\n"
          "[region]\nanchors=1,1,2,3\nclasses=2\ncoords=4\nnum=2\nsoftmax=1\nobject_scale=5\n"
          "noobject_scale=1\nclass_scale=1\ncoord_scale=1\nthresh=.6\nbias_match=1\n",
     0, 0, 0},
    {"detection", "", 0,
     CONV "[connected]\noutput=108\nactivation=linear\n"
          "[detection]\nclasses=2\ncoords=4\nrescore=1\nside=3\nnum=2\nsoftmax=0\nsqrt=1\n"
          "object_scale=1\nnoobject_scale=.5\nclass_scale=1\ncoord_scale=5\n",
     0, 0, 0},
    {"iseg", "", 0,
     CONV "[convolutional]\nfilters=5\nsize=1\nactivation=linear\n[iseg]\nclasses=2\nids=3\n",
     0, 0, 0},
    {"rnn", "time_steps=3\n", 0, "[rnn]\noutput=6\nactivation=tanh\n" OUT, 0, 0, 0},
    {"rnn normalised", "time_steps=3\n", 0,
     "[rnn]\nbatch_normalize=1\noutput=6\nactivation=leaky\n" OUT, 0, 1, 0},
    {"gru", "time_steps=3\n", 0, "[gru]\noutput=6\n" OUT, 0, 0, 0},
    {"lstm", "time_steps=3\n", 0, "[lstm]\noutput=6\n" OUT, 0, 0, 0},
    {"lstm normalised", "time_steps=3\n", 0, "[lstm]\nbatch_normalize=1\noutput=6\n" OUT, 0, 1,
     0},
    {"rnn and dropout", "time_steps=2\n", 0,
     "[rnn]\noutput=6\nactivation=tanh\n[dropout]\nprobability=.3\n[lstm]\noutput=5\n" OUT, 1,
     0, 0},
    {"crnn", "time_steps=2\n", 8,
     "[crnn]\nhidden_filters=4\noutput_filters=4\nactivation=leaky\n" OUT, 0, 0, 0},
    {"crnn normalised", "time_steps=2\n", 8,
     "[crnn]\nbatch_normalize=1\nhidden_filters=4\noutput_filters=4\nactivation=leaky\n" OUT, 0,
     1, 0},
    {"adam", "adam=1\n", 0, CONV_BN CONV OUT, 1, 1, 0},
    {"adam over time", "adam=1\ntime_steps=2\n", 0, "[gru]\noutput=6\n" OUT, 1, 0, 0},
    {"clip", "clip=.1\n", 0, CONV CONV OUT, 1, 0, 0},
};

#define NKINDS (int)(sizeof kinds / sizeof *kinds)

static char cfg[512], weights[512];

static void write_kind(const kind *k, int batch, int subdivisions)
{
    FILE *fp = fopen(cfg, "w");
    int side = k->side ? k->side : 16;
    fprintf(fp,
            "[net]\nbatch=%d\nsubdivisions=%d\nheight=%d\nwidth=%d\nchannels=3\n"
            "learning_rate=0.01\nmomentum=0.9\ndecay=0.0005\nmax_batches=100\n%s%s",
            batch, subdivisions, side, side, k->net, k->layers);
    fclose(fp);
}

typedef struct {
    int n, sync, reproducible, datum;
    const int *shares;
    int steps; /* batches */
} way;

static network *load(const way *w)
{
    if(w->n == 0) {
        network *net = parse_network_cfg(cfg);
        load_weights(net, weights);
        return net;
    }
    mgpu_options o = mgpu_default_options();
    o.gpus = ids;
    o.ngpus = w->n;
    o.sync_bn = w->sync;
    o.reproducible = w->reproducible;
    o.shares = w->shares;
    network *net = mgpu_load_network(cfg, weights, 0, &o);
    if(!net) fail_msg("%s", mgpu_error());
    return net;
}

static void release(const way *w, network *net)
{
    if(w->n == 0) mgpu_replica_free_rest(net);
    free_network(net);
}

/* w->n devices; 0: Darknet without replicas. */
static snapshot run(const way *w)
{
    float returned = 0;
    quiet();
    network *net = load(w);
    for(int step = 0; step < w->steps; ++step) {
        int rows = net->batch * net->subdivisions;
        data d = make_batch(net, step * rows, rows);
        if(w->datum) {
            get_next_batch(d, net->batch, 0, net->input, net->truth);
            returned = train_network_datum(net);
        } else {
            returned = train_network(net, d);
        }
        if(step % 3 == 2) reset_network_state(net, net->batch / net->time_steps - 1);
        free_data(d);
    }
    snapshot s = collect(net, returned);
    release(w, net);
    loud();
    return s;
}

static void init(const kind *k, int batch, int subdivisions)
{
    write_kind(k, batch, subdivisions);
    quiet();
    srand(11);
    network *net = parse_network_cfg(cfg);
    save_weights(net, weights);
    mgpu_replica_free_rest(net);
    free_network(net);
    loud();
}

static double most[3];
static int compared;

static void compare(const kind *k, const char *how, const way *w, const snapshot *ours,
                    const snapshot *theirs)
{
    int plain = strcmp(getenv("MGPU_VARIANT"), "plain") == 0;
    assert_int_equal(ours->n, theirs->n);
    for(int i = 0; i < ours->n; ++i) {
        const named *a = ours->arrays + i;
        int zero = strstr(a->name, "biases") || strstr(a->name, "rolling") ||
                   strstr(a->name, "cost") || strstr(a->name, "returned");
        int which = w->steps > 1 ? 2 : zero;
        double bound = (which == 2 ? 1e-4 : which ? 1e-5 : 1e-6) * (plain ? 1 : 100);
        double d = difference(a, theirs->arrays + i);
        if(d > most[which]) most[which] = d;
        ++compared;
        if(d <= bound) continue;
        fail_msg("[%s], %s, %d devices%s, %d steps: %s is off by %g, more than %g", k->name,
                 how, w->n, w->sync ? " with sync_bn" : "", w->steps, a->name, d, bound);
    }
}

/* `rows` to a mini-batch (of `steps` time steps each), one step and then several. */
static void check(const kind *k, int sequences, int subdivisions, int datum)
{
    int times = strstr(k->net, "time_steps=3") ? 3 : strstr(k->net, "time_steps=2") ? 2 : 1;
    init(k, sequences * subdivisions, subdivisions);
    for(int steps = 1; steps <= (k->loose ? 1 : 6); steps += 5) {
        way one = {.n = k->drawn, .datum = datum, .steps = steps};
        snapshot theirs = run(&one);
        for(size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
            way w = {.n = counts[i], .datum = datum, .steps = steps};
            w.sync = k->normed && (datum || times > 1 || counts[i] > subdivisions);
            snapshot ours = run(&w);
            compare(k,
                    datum              ? "datum"
                    : subdivisions > 1 ? "subdivisions"
                                       : "cut",
                    &w, &ours, &theirs);
            snapshot_free(&ours);
        }
        snapshot_free(&theirs);
    }
}

/* Every kind: whole mini-batches and rows that are cut. */
static void test_layers(void **state)
{
    (void)state;
    for(int i = 0; i < NKINDS; ++i) {
        check(kinds + i, 5, 1, 0);
        check(kinds + i, 4, 3, 0);
        check(kinds + i, 6, 1, 1);
    }
}

static void same_bytes(const char *what, const snapshot *a, const snapshot *b)
{
    assert_int_equal(a->n, b->n);
    for(int i = 0; i < a->n; ++i) {
        if(memcmp(a->arrays[i].values, b->arrays[i].values, a->arrays[i].n * sizeof(float))) {
            fail_msg("%s: %s differs", what, a->arrays[i].name);
        }
    }
}

/* reproducible: the same bytes for every number of devices that gets whole mini-batches, with
 * shares too; without it they are not. */
static void test_reproducible(void **state)
{
    (void)state;
    static const int shares[] = {3, 1, 2};
    static const kind nets[] = {
        {"normalised", "", 0, CONV_BN CONV_BN OUT, 0, 0, 0},
        {"dropout and adam", "adam=1\n", 0, CONV "[dropout]\n" OUT, 0, 0, 0},
    };
    for(int i = 0; i < 2; ++i) {
        init(nets + i, 16, 8);
        way w = {.n = 1, .reproducible = 1, .steps = 5};
        snapshot one = run(&w);
        for(w.n = 2; w.n <= 8; ++w.n) {
            snapshot many = run(&w);
            same_bytes(nets[i].name, &many, &one);
            snapshot_free(&many);
        }
        w.n = 3;
        w.shares = shares;
        snapshot unequal = run(&w);
        same_bytes("shares", &unequal, &one);
        w.reproducible = 0;
        snapshot free_order = run(&w);
        assert_memory_not_equal(free_order.arrays[0].values, one.arrays[0].values,
                                one.arrays[0].n * sizeof(float));
        snapshot_free(&one);
        snapshot_free(&unequal);
        snapshot_free(&free_order);
    }
}

/* Shares change who computes what, not what comes out. */
static void test_shares(void **state)
{
    (void)state;
    static const int shares[] = {3, 1, 2};
    const kind plain = {"plain", "", 0, CONV CONV OUT, 0, 0, 0};
    for(int subdivisions = 1; subdivisions <= 6; subdivisions += 5) {
        init(&plain, 12, subdivisions);
        snapshot theirs = run(&(way){.n = 0, .steps = 3});
        way w = {.n = 3, .shares = shares, .steps = 3};
        snapshot ours = run(&w);
        compare(&plain, "shares", &w, &ours, &theirs);
        snapshot_free(&ours);
        snapshot_free(&theirs);
    }
}

static const float *weights_of(const snapshot *s, int layer, size_t *n)
{
    char name[48];
    snprintf(name, sizeof name, "%d. weights", layer);
    for(int i = 0; i < s->n; ++i) {
        if(strcmp(s->arrays[i].name, name)) continue;
        *n = s->arrays[i].n;
        return s->arrays[i].values;
    }
    fail_msg("there is no %s", name);
    return 0;
}

/* One step of a net with that line in [net]; the weights file is the one written last. */
static snapshot one_step(const char *line, const char *layers)
{
    kind k = {"optimizer", line, 0, layers, 0, 0, 0};
    write_kind(&k, 4, 1);
    return run(&(way){.n = 1, .steps = 1});
}

/* Adam's first step moves a weight by the learning rate, .01, up or down; a local layer learns
 * by SGD all the same; clip holds for convolutional weights, and for no others. */
static void test_optimizers(void **state)
{
    (void)state;
    static const char layers[] = "[convolutional]\nfilters=3\nsize=3\nstride=2\n" OUT;
    static const char with_local[] =
        "[local]\nfilters=3\nsize=3\nstride=2\npad=1\nactivation=linear\n[softmax]\n";
    size_t n = 0, most = 0;
    init(&(kind){"optimizer", "", 0, layers, 0, 0, 0}, 4, 1);
    snapshot before = run(&(way){.n = 1, .steps = 0});
    snapshot plain = one_step("", layers), clipped = one_step("clip=.05\n", layers);
    snapshot adam = one_step("adam=1\n", layers);
    const float *w = weights_of(&before, 0, &n), *a = weights_of(&adam, 0, &n);
    for(size_t i = 0; i < n; ++i) most += fabs(fabs(a[i] - w[i]) - .01) < 2e-4;
    assert_true(most > n * 9 / 10);
    const float *c = weights_of(&clipped, 0, &n);
    w = weights_of(&plain, 0, &n);
    for(size_t i = 0; i < n; ++i) assert_true(c[i] == fminf(.05f, fmaxf(-.05f, w[i])));
    w = weights_of(&plain, 1, &n);
    assert_memory_equal(weights_of(&clipped, 1, &n), w, n * sizeof *w);
    for(most = 0; n--;) most += fabsf(w[n]) > .05f;
    assert_true(most > 0);
    init(&(kind){"optimizer", "", 0, with_local, 0, 0, 0}, 4, 1);
    snapshot sgd = one_step("", with_local), still_sgd = one_step("adam=1\n", with_local);
    same_bytes("local", &still_sgd, &sgd);
    snapshot_free(&before);
    snapshot_free(&plain);
    snapshot_free(&adam);
    snapshot_free(&clipped);
    snapshot_free(&sgd);
    snapshot_free(&still_sgd);
}

/* What a recurrent net predicts goes on from its state, sequence by sequence, and
 * reset_network_state reaches the replica that has it. */
static void test_state(void **state)
{
    (void)state;
    static const char *const layers[] = {"[rnn]\noutput=6\nactivation=tanh\n" OUT,
                                         "[gru]\noutput=6\n" OUT, "[lstm]\noutput=6\n" OUT};
    for(int i = 0; i < 3; ++i) {
        kind k = {"state", "", 8, layers[i], 0, 0, 0};
        init(&k, 5, 1);
        way ways[] = {{.n = 0}, {.n = 3}};
        snapshot got[2] = {{0}, {0}};
        for(int j = 0; j < 2; ++j) {
            quiet();
            network *net = load(ways + j);
            for(int step = 0; step < 4; ++step) {
                data d = make_batch(net, 5 * step, 5);
                float *x = calloc(5 * net->inputs, sizeof *x), *y = calloc(5 * net->truths, 4);
                get_next_batch(d, 5, 0, x, y);
                if(step == 2) reset_network_state(net, 3);
                network_predict(net, x);
                snapshot_add(got + j, "output", step, net->output, 5 * net->outputs);
                free(x);
                free(y);
                free_data(d);
            }
            release(ways + j, net);
            loud();
        }
        compare(&k, "predicting", &(way){.n = 3, .steps = 1}, got + 1, got);
        assert_memory_not_equal(got[0].arrays[0].values, got[0].arrays[1].values, 20);
        snapshot_free(got);
        snapshot_free(got + 1);
    }
}

int main(void)
{
    const char *scratch = getenv("MGPU_SCRATCH");
    snprintf(cfg, sizeof cfg, "%s/replicas.cfg", scratch);
    snprintf(weights, sizeof weights, "%s/replicas.weights", scratch);
    gpu_index = -1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares),     cmocka_unit_test(test_reproducible),
        cmocka_unit_test(test_optimizers), cmocka_unit_test(test_state),
        cmocka_unit_test(test_layers),
    };
    int status = cmocka_run_group_tests_name("replicas", tests, 0, 0);
    printf(
        "%d arrays compared with one device; largest relative difference after one step %.1e, "
        "of arrays that started at zero %.1e, after more steps %.1e\n",
        compared, most[0], most[1], most[2]);
    return status;
}
