/* test_layers.c: every layer type of Darknet on the CPU, on one device.
 *
 * Where a delta is a derivative it is compared with finite differences: of the outputs
 * weighed by fixed numbers or, for a layer with a cost, of the cost. Layers whose deltas
 * are made by hand are in test_layer_rules.c. */
#include "mgpu_random.h"
#include "mgpu_replica.h"
#include "network.h"
#include "support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

typedef struct {
    const char *name;
    int batch, steps; /* rows are steps * batch, those of the first time step first */
    int h, w, c;
    const char *layers;
    double cost;      /* 0: outputs are weighed; else the delta is -cost times a derivative */
    double tolerance; /* relative, of each array; batch normalisation is off by O(1/n) */
} layer_case;

#define GRID 4, 5, 3 /* not square: swapped sides show */
#define FLAT 1, 1, 6
#define CLOSE 2e-3
#define CONV_TANH "[convolutional]\nfilters=4\nsize=3\npad=1\nactivation=tanh\n"

static const layer_case cases[] = {
    {"convolutional", 2, 1, GRID,
     "[convolutional]\nfilters=4\nsize=3\nstride=2\npad=1\nactivation=logistic\n", 0, CLOSE},
    {"convolutional groups", 2, 1, GRID,
     "[convolutional]\nfilters=6\ngroups=3\nsize=3\npad=1\nactivation=tanh\n", 0, CLOSE},
    {"convolutional 1x1", 2, 1, GRID,
     "[convolutional]\nfilters=4\nsize=1\nactivation=logistic\n", 0, CLOSE},
    {"convolutional 1x1 stride", 2, 1, GRID,
     "[convolutional]\nfilters=4\nsize=1\nstride=2\nactivation=logistic\n", 0, CLOSE},
    {"convolutional 1x1 padding", 2, 1, GRID,
     "[convolutional]\nfilters=4\nsize=1\npadding=1\nactivation=logistic\n", 0, CLOSE},
    {"convolutional normalised", 8, 1, GRID,
     "[convolutional]\nbatch_normalize=1\nfilters=4\nsize=3\npad=1\nactivation=logistic\n", 0,
     .02},
    {"deconvolutional", 2, 1, GRID,
     "[deconvolutional]\nfilters=2\nsize=3\nstride=2\npadding=1\nactivation=logistic\n", 0,
     CLOSE},
    {"deconvolutional normalised", 8, 1, GRID,
     "[deconvolutional]\nbatch_normalize=1\nfilters=2\nsize=2\nstride=2\nactivation=tanh\n", 0,
     .02},
    {"local", 2, 1, GRID, "[local]\nfilters=3\nsize=3\nstride=1\npad=1\nactivation=logistic\n",
     0, CLOSE},
    {"local size 1", 2, 1, GRID, "[local]\nfilters=2\nsize=1\npad=1\nactivation=tanh\n", 0,
     CLOSE},
    {"local size 2", 2, 1, GRID, "[local]\nfilters=2\nsize=2\npad=1\nactivation=tanh\n", 0,
     CLOSE},
    {"local size 5", 2, 1, GRID,
     "[local]\nfilters=2\nsize=5\nstride=2\npad=1\nactivation=tanh\n", 0, CLOSE},
    {"local no pad", 2, 1, GRID, "[local]\nfilters=2\nsize=3\nstride=1\nactivation=logistic\n",
     0, CLOSE},
    {"connected", 3, 1, FLAT, "[connected]\noutput=5\nactivation=tanh\n", 0, CLOSE},
    {"connected normalised", 64, 1, FLAT,
     "[connected]\nbatch_normalize=1\noutput=5\nactivation=logistic\n", 0, .04},
    {"batchnorm", 8, 1, GRID, "[batchnorm]\n", 0, .02},
    {"rnn", 3, 4, FLAT, "[rnn]\noutput=5\nactivation=logistic\n", 0, CLOSE},
    {"rnn shortcut", 3, 4, FLAT, "[rnn]\nshortcut=1\noutput=5\nactivation=tanh\n", 0, CLOSE},
    {"rnn normalised", 64, 3, FLAT, "[rnn]\nbatch_normalize=1\noutput=4\nactivation=logistic\n",
     0, .04},
    {"gru", 3, 4, FLAT, "[gru]\noutput=5\n", 0, CLOSE},
    {"gru tanh", 3, 4, FLAT, "[gru]\ntanh=1\noutput=5\n", 0, CLOSE},
    {"gru normalised", 64, 3, FLAT, "[gru]\nbatch_normalize=1\noutput=4\n", 0, .04},
    {"lstm", 3, 4, FLAT, "[lstm]\noutput=5\n", 0, CLOSE},
    {"lstm one step", 3, 1, FLAT, "[lstm]\noutput=5\n", 0, CLOSE},
    {"lstm normalised", 64, 3, FLAT, "[lstm]\nbatch_normalize=1\noutput=4\n", 0, .04},
    {"crnn", 2, 3, GRID, "[crnn]\nhidden_filters=3\noutput_filters=2\nactivation=logistic\n", 0,
     CLOSE},
    {"crnn shortcut", 2, 3, GRID,
     "[crnn]\nshortcut=1\nhidden_filters=3\noutput_filters=4\nactivation=tanh\n", 0, 5e-3},
    {"crnn normalised", 8, 2, GRID,
     "[crnn]\nbatch_normalize=1\nhidden_filters=2\noutput_filters=2\nactivation=logistic\n", 0,
     .03},
    {"rnn below gru", 2, 3, FLAT,
     "[rnn]\noutput=4\nactivation=tanh\n[gru]\noutput=4\n[lstm]\noutput=3\n", 0, 5e-3},
    {"activation", 2, 1, FLAT, "[activation]\nactivation=tanh\n", 0, CLOSE},
    {"avgpool", 2, 1, GRID, "[avgpool]\n", 0, CLOSE},
    {"maxpool", 2, 1, GRID, "[maxpool]\nsize=2\nstride=2\n", 0, CLOSE},
    {"upsample", 2, 1, GRID, "[upsample]\nstride=2\nscale=.5\n", 0, CLOSE},
    {"downsample", 2, 1, 4, 6, 3, "[upsample]\nstride=-2\n", 0, CLOSE},
    {"reorg", 2, 1, 4, 6, 4, "[reorg]\nstride=2\n", 0, CLOSE},
    {"reorg reverse", 2, 1, 4, 6, 4, "[reorg]\nstride=2\nreverse=1\n", 0, CLOSE},
    {"reorg flatten", 2, 1, GRID, "[reorg]\nflatten=1\n", 0, CLOSE},
    {"reorg extra", 2, 1, GRID, "[reorg]\nextra=7\n", 0, CLOSE},
    {"route", 2, 1, GRID,
     "[convolutional]\nfilters=4\nsize=3\npad=1\nactivation=tanh\n"
     "[convolutional]\nfilters=2\nsize=3\npad=1\nactivation=tanh\n[route]\nlayers=-1,0\n",
     0, CLOSE},
    {"shortcut", 2, 1, GRID,
     "[convolutional]\nfilters=4\nsize=3\npad=1\nactivation=tanh\n"
     "[convolutional]\nfilters=4\nsize=3\npad=1\nactivation=linear\n"
     "[shortcut]\nfrom=-2\nactivation=logistic\n",
     0, CLOSE},
    {"shortcut over 1x1", 2, 1, GRID,
     CONV_TANH "[convolutional]\nfilters=4\nsize=1\nactivation=logistic\n[shortcut]\nfrom=-2\n",
     0, CLOSE},
    {"shortcut over activation", 2, 1, GRID,
     CONV_TANH "[activation]\nactivation=logistic\n[shortcut]\nfrom=-2\n", 0, CLOSE},
    {"shortcut over batchnorm", 8, 1, GRID, CONV_TANH "[batchnorm]\n[shortcut]\nfrom=-2\n", 0,
     .02},
    {"route over reorg", 2, 1, 4, 6, 4,
     "[activation]\n[reorg]\nstride=2\n[route]\nlayers=-2,-1\n", 0, CLOSE},
    {"route over reorg reverse", 2, 1, 4, 6, 4,
     "[activation]\n[reorg]\nstride=2\nreverse=1\n[route]\nlayers=-2,-1\n", 0, CLOSE},
    {"route over reorg flatten", 2, 1, GRID,
     "[activation]\n[reorg]\nflatten=1\n[route]\nlayers=-2,-1\n", 0, CLOSE},
    {"route over downsample", 2, 1, 4, 6, 3,
     "[activation]\n[upsample]\nstride=-2\n[route]\nlayers=-2,-1\n", 0, CLOSE},
    {"dropout", 2, 1, FLAT,
     "[connected]\noutput=8\nactivation=linear\n[dropout]\nprobability=.4\n", 0, CLOSE},
    {"softmax", 3, 1, FLAT, "[softmax]\n", 1, CLOSE},
    {"softmax groups", 3, 1, FLAT, "[softmax]\ngroups=2\n", 1, CLOSE},
    {"softmax tree", 3, 1, FLAT, "[softmax]\ntree=tree\n", 1, CLOSE},
    {"softmax spatial", 2, 1, GRID, "[softmax]\nspatial=1\ntemperature=1\n", 1, CLOSE},
    {"logistic", 3, 1, FLAT, "[logistic]\n", 1, CLOSE},
    {"cost", 3, 1, FLAT, "[activation]\n[cost]\n", .5, CLOSE},
    {"cost scaled", 3, 1, FLAT, "[activation]\n[cost]\nscale=3\n", 1.5, CLOSE},
    {"cost masked", 3, 1, FLAT,
     "[connected]\noutput=6\nactivation=linear\n[cost]\ntype=masked\n", .5, CLOSE},
    {"cost L1", 3, 1, FLAT, "[activation]\n[cost]\ntype=L1\n", 1, CLOSE},
    {"cost smooth", 3, 1, FLAT, "[activation]\n[cost]\ntype=smooth\n", .5, CLOSE},
    {"cost smoothed", 3, 1, FLAT, "[activation]\n[cost]\nsmooth=.2\n", .5, CLOSE},
    {"cost seg", 3, 1, FLAT, "[activation]\n[cost]\ntype=seg\nnoobj=.3\n", .5, CLOSE},
    {"cost wgan", 3, 1, FLAT, "[activation]\n[cost]\ntype=wgan\n", 1, CLOSE},
};

/* ---- networks ---- */

static network *make(const layer_case *c)
{
    FILE *fp = fopen("layers.cfg", "w");
    assert_non_null(fp);
    fprintf(fp,
            "[net]\nbatch=%d\ntime_steps=%d\nheight=%d\nwidth=%d\nchannels=%d\n"
            "learning_rate=.25\nmomentum=0\ndecay=0\n",
            c->batch, c->steps, c->h, c->w, c->c);
    fputs(c->layers, fp);
    fclose(fp);
    quiet();
    network *net = parse_network_cfg("layers.cfg");
    loud();
    net->train = 1;
    net->delta = calloc((size_t)net->inputs * net->batch, sizeof(float));
    return net;
}

static void release(network *net)
{
    free(net->delta);
    mgpu_replica_free_rest(net);
    free_network(net);
}

/* What a network learns: value and gradient of every array, those of layers within
 * layers too. `fixed` ones have a gradient that Darknet never applies. */
typedef struct {
    char name[32];
    float *value, *gradient;
    int n, fixed;
} learned;

typedef struct {
    int n;
    learned arrays[48];
} all_learned;

static void add(all_learned *a, const char *layer, const char *name, float *value,
                float *gradient, int n)
{
    assert_true(a->n < 48);
    learned *to = a->arrays + a->n++;
    *to = (learned){.value = value, .gradient = gradient, .n = n};
    snprintf(to->name, sizeof to->name, "%s.%s", layer, name);
}

static void add_layer(all_learned *a, const char *name, const layer *l)
{
    int biases = l->type == CONNECTED || l->type == LOCAL ? l->outputs : l->out_c;
    int weights = l->inputs * l->outputs, before = a->n;
    if(l->type == LOCAL) weights = l->size * l->size * l->c * l->outputs;
    if(l->type == CONVOLUTIONAL || l->type == DECONVOLUTIONAL) weights = l->nweights;
    if(l->type != BATCHNORM) add(a, name, "weights", l->weights, l->weight_updates, weights);
    add(a, name, "biases", l->biases, l->bias_updates, biases);
    if(l->batch_normalize || l->type == BATCHNORM)
        add(a, name, "scales", l->scales, l->scale_updates, biases);
    for(int i = before; l->type == BATCHNORM && i < a->n; ++i) a->arrays[i].fixed = 1;
}

static all_learned learns(const network *net)
{
    all_learned a = {0};
    for(int i = 0; i < net->n; ++i) {
        const layer *l = net->layers + i;
        const struct {
            const char *name;
            const layer *l;
        } parts[] = {
            {"input", l->input_layer},
            {"self", l->self_layer},
            {"output", l->output_layer},
            {"uz", l->uz},
            {"wz", l->wz},
            {"ur", l->ur},
            {"wr", l->wr},
            {"uh", l->uh},
            {"wh", l->wh},
            {"uf", l->uf},
            {"wf", l->wf},
            {"ui", l->ui},
            {"wi", l->wi},
            {"ug", l->ug},
            {"wg", l->wg},
            {"uo", l->uo},
            {"wo", l->wo},
        };
        for(size_t k = 0; k < sizeof parts / sizeof *parts; ++k) {
            if(parts[k].l) add_layer(&a, parts[k].name, parts[k].l);
        }
        if(l->type == CONVOLUTIONAL || l->type == DECONVOLUTIONAL || l->type == LOCAL ||
           l->type == CONNECTED || l->type == BATCHNORM) {
            add_layer(&a, get_layer_string(l->type), l);
        }
    }
    return a;
}

/* Numbers within -1..1, all different: no two inputs of a maximum are close. */
static void fill_distinct(float *x, int n, int first)
{
    for(int i = 0; i < n; ++i) x[i] = ((i + first) * 7919L % n + .5f) / n * 2 - 1;
}

static void fill_learned(const all_learned *a, unsigned seed)
{
    for(int k = 0; k < a->n; ++k) {
        const learned *l = a->arrays + k;
        int scales = strstr(l->name, "scales") != 0;
        for(int i = 0; i < l->n; ++i) {
            l->value[i] = unit(seed + k, i) - .5f;
            if(scales) l->value[i] = 1 + .5f * l->value[i];
        }
    }
}

/* One class of six a row, one of each three for groups; a tree's open classes hidden. */
static void make_truth(const layer_case *c, network *net)
{
    for(int b = 0; net->truths && b < net->batch; ++b) {
        float *t = net->truth + b * net->truths;
        memset(t, 0, net->truths * sizeof *t);
        t[b % 3] = 1;
        if(strstr(c->layers, "groups")) t[3 + (b + 1) % 3] = 1;
        if(strstr(c->layers, "tree")) {
            for(int i = 3; i < 6; ++i) t[i] = b % 3 ? SECRET_NUM : i == 4;
        }
        if(strstr(c->layers, "[cost]")) { /* some far away, some near */
            for(int i = 0; i < 6; ++i) t[i] = 3 * (i % 3 - 1) + .1f * i;
            if(strstr(c->layers, "masked")) t[1] = SECRET_NUM;
            if(strstr(c->layers, "seg")) t[2] = t[4] = 0;
            for(int i = 0; strstr(c->layers, "wgan") && i < 6; ++i) t[i] = i % 2;
        }
        int places = net->h * net->w; /* a class for each */
        for(int i = 0; strstr(c->layers, "spatial") && i < net->truths; ++i)
            t[i] = (i % places + b) % net->c == i / places;
    }
}

/* ---- the state of recurrent layers ---- */

typedef struct {
    int n;
    float *arrays[16], *kept[16];
    int lengths[16];
} all_states;

static all_states states(const network *net)
{
    all_states s = {0};
    for(int i = 0; i < net->n; ++i) {
        const layer *l = net->layers + i;
        float *arrays[] = {l->state, l->h_cpu, l->c_cpu};
        for(int k = 0; k < 3 && l->type != CRNN; ++k) {
            if(!arrays[k]) continue;
            s.lengths[s.n] = l->outputs * l->batch;
            s.kept[s.n] = calloc(s.lengths[s.n], sizeof(float));
            s.arrays[s.n++] = arrays[k];
        }
    }
    return s;
}

static void keep(all_states *s)
{
    for(int i = 0; i < s->n; ++i)
        memcpy(s->kept[i], s->arrays[i], s->lengths[i] * sizeof(float));
}

static void restore(all_states *s)
{
    for(int i = 0; i < s->n; ++i)
        memcpy(s->arrays[i], s->kept[i], s->lengths[i] * sizeof(float));
}

static void free_states(all_states *s)
{
    for(int i = 0; i < s->n; ++i) free(s->kept[i]);
}

/* ---- finite differences ---- */

static float weight_of(int i)
{
    return unit(77, i) - .5f;
}

/* The forward pass from the kept state, and what the deltas are derivatives of. */
static double run(const layer_case *c, network *net, all_states *s)
{
    restore(s);
    mgpu_srand(5);
    forward_network(net);
    if(c->cost) return -c->cost * *net->cost;
    double sum = 0;
    for(int i = 0; i < net->outputs * net->batch; ++i)
        sum += (double)weight_of(i) * net->output[i];
    return sum;
}

static void derive(const layer_case *c, network *net, all_states *s, const all_learned *a)
{
    for(int k = 0; k < a->n; ++k)
        memset(a->arrays[k].gradient, 0, a->arrays[k].n * sizeof(float));
    if(net->delta) memset(net->delta, 0, (size_t)net->inputs * net->batch * sizeof(float));
    run(c, net, s);
    float *delta = net->layers[net->n - 1].delta;
    for(int i = 0; !c->cost && i < net->outputs * net->batch; ++i) delta[i] = weight_of(i);
    backward_network(net);
}

/* Relative difference of the gradients of n values from finite differences. */
static double compare(const layer_case *c, network *net, all_states *s, float *x,
                      const float *gradient, int n)
{
    double off = 0, sum = 0;
    float *g = malloc(n * sizeof *g);
    memcpy(g, gradient, n * sizeof *g);
    for(int i = 0; i < n; ++i) {
        float middle = x[i], step = strstr(c->layers, "maxpool") ? 1e-3f : 1e-2f;
        float up = middle + step, down = middle - step;
        x[i] = up;
        double difference = run(c, net, s);
        x[i] = down;
        difference = (difference - run(c, net, s)) / (up - down);
        x[i] = middle;
        off += (difference - g[i]) * (difference - g[i]);
        sum += difference * difference;
    }
    free(g);
    assert_true(sum > 0);
    return sqrt(off) / (sqrt(sum) + 1e-3);
}

static void prepare(const layer_case *c, network *net, const all_learned *a)
{
    fill_learned(a, 100);
    fill_distinct(net->input, net->inputs * net->batch, 0);
    make_truth(c, net);
}

/* A case's network after `calls` passes forward and backward, each from the state that the one
 * before left; with what it learns and the state before the last. */
static network *derived(const layer_case *c, int calls, all_learned *a, all_states *s)
{
    network *net = make(c);
    *a = learns(net);
    *s = states(net);
    prepare(c, net, a);
    for(int i = 0; i < calls; ++i) {
        if(i) keep(s);
        derive(c, net, s, a);
    }
    return net;
}

static float *copy(const float *x, int n)
{
    return memcpy(malloc(n * sizeof *x), x, n * sizeof *x);
}

/* The largest differences found, of cases without and with batch normalisation. */
static double found[2];
static int compared;

/* Deltas and gradients in the second call, so that recurrent layers start from a state. */
static void test_gradients(void **state)
{
    (void)state;
    for(size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const layer_case *c = cases + i;
        all_learned a;
        all_states s;
        network *net = derived(c, 2, &a, &s);
        double worst = compare(c, net, &s, net->input, net->delta, net->inputs * net->batch);
        for(int k = 0; k < a.n; ++k) {
            learned *l = a.arrays + k;
            double off = compare(c, net, &s, l->value, l->gradient, l->n);
            if(!(off <= worst)) worst = off;
        }
        compared += a.n + 1;
        double *most = found + (c->tolerance > CLOSE);
        if(!(worst <= *most)) *most = worst;
        if(!(worst <= c->tolerance)) fail_msg("%s: off by %g", c->name, worst);
        free_states(&s);
        release(net);
    }
}

/* An update moves every array by its gradient times rate / rows. */
static void test_updates(void **state)
{
    (void)state;
    for(size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const layer_case *c = cases + i;
        all_learned a;
        all_states s;
        network *net = derived(c, 2, &a, &s);
        float *before[48], *gradients[48];
        for(int k = 0; k < a.n; ++k) {
            before[k] = copy(a.arrays[k].value, a.arrays[k].n);
            gradients[k] = copy(a.arrays[k].gradient, a.arrays[k].n);
        }
        update_network(net);
        for(int k = 0; k < a.n; ++k) {
            learned *l = a.arrays + k;
            double moved = 0;
            for(int j = 0; j < l->n; ++j) {
                double by = l->fixed ? 0 : .25 * gradients[k][j] / net->batch;
                assert_true(fabs(l->value[j] - before[k][j] - by) <= 1e-6);
                moved += fabs(by);
            }
            if(!(moved > 0 || l->fixed)) fail_msg("%s: %s does not learn", c->name, l->name);
            free(before[k]);
            free(gradients[k]);
        }
        free_states(&s);
        release(net);
    }
}

/* What is saved comes back, into a network that predicts the same. */
static void test_saving(void **state)
{
    (void)state;
    for(size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const layer_case *c = cases + i;
        network *net = make(c), *again = make(c);
        all_learned a = learns(net), b = learns(again);
        all_states s = states(net);
        prepare(c, net, &a);
        derive(c, net, &s, &a); /* running statistics move */
        fill_learned(&b, 200);
        quiet();
        save_weights(net, "layers.weights");
        load_weights(again, "layers.weights");
        loud();
        for(int k = 0; k < a.n; ++k) {
            learned *l = a.arrays + k;
            if(!strcmp(l->name, "batchnorm.biases")) { /* the one that Darknet never saves */
                memcpy(b.arrays[k].value, l->value, l->n * sizeof(float));
            }
            assert_memory_equal(l->value, b.arrays[k].value, l->n * sizeof(float));
        }
        restore(&s); /* zeros */
        for(int k = 0; k < net->n; ++k)
            assert_int_equal(net->layers[k].type, again->layers[k].type);
        float *x = calloc((size_t)net->inputs * net->batch, sizeof(float));
        fill_distinct(x, net->inputs * net->batch, 3);
        float *p = network_predict(net, x), *q = network_predict(again, x);
        assert_memory_equal(p, q, (size_t)net->outputs * net->batch * sizeof(float));
        free(x);
        free_states(&s);
        release(net);
        release(again);
    }
}

/* ---- what is no derivative ---- */

/* The smooth option draws each output towards those around it, in a square of five by five. */
static void test_smooth(void **state)
{
    (void)state;
    layer_case c = {"smooth",
                    2,
                    1,
                    GRID,
                    "[convolutional]\nfilters=2\nsize=2\nactivation=linear\nsmooth=.2\n",
                    0,
                    0};
    network *net = make(&c);
    layer *l = net->layers;
    fill_distinct(net->input, net->inputs * net->batch, 0);
    forward_network(net);
    backward_network(net);
    for(int i = 0; i < l->outputs * l->batch; ++i) {
        double want = 0;
        for(int j = 0; j < l->outputs * l->batch; ++j) {
            int across = j % l->out_w - i % l->out_w;
            int down = j / l->out_w % l->out_h - i / l->out_w % l->out_h;
            int image = l->out_w * l->out_h;
            if(i / image != j / image || abs(across) > 2 || abs(down) > 2) continue;
            want += .2 * (l->output[j] - l->output[i]);
        }
        assert_true(fabs(l->delta[i] - want) < 1e-5);
    }
    release(net);
}

/* thresh=6 of 6 inputs: deltas within 1 are left out; a masked output stays what it is. */
static void test_left_out(void **state)
{
    (void)state;
    static const char *const layers[] = {"[activation]\n[cost]\nthresh=6\n",
                                         "[activation]\n[cost]\ntype=masked\n"};
    for(int masked = 0; masked < 2; ++masked) {
        layer_case c = {"left out", 3, 1, FLAT, layers[masked], 0, 0};
        network *net = make(&c);
        fill_distinct(net->input, 18, 0);
        make_truth(&c, net);
        int none = 0;
        forward_network(net);
        for(int i = 0; i < 18; ++i) {
            float delta = net->truth[i] - net->input[i];
            if(masked ? net->truth[i] == SECRET_NUM : fabsf(delta) < 1) delta = 0;
            none += delta == 0;
            assert_true(net->layers[1].delta[i] == delta);
            assert_true(net->layers[0].output[i] == net->input[i]);
        }
        assert_in_range(none, 1, 17);
        release(net);
    }
}

/* The cost of an output that is just 0 or 1, and the length of zeros, are numbers. */
static void test_finite(void **state)
{
    (void)state;
    layer_case c = {"certain", 3, 1, FLAT, "[logistic]\n", 0, 0};
    network *net = make(&c);
    for(int i = 0; i < 18; ++i) {
        net->input[i] = i % 3 ? 200 : -200;
        net->truth[i] = i % 2;
    }
    forward_network(net);
    assert_true(*net->cost > 9 * 16 && *net->cost < 9 * 17);
    release(net);
    c = (layer_case){"zeros", 3, 1, FLAT, "[l2norm]\n", 0, 0};
    net = make(&c);
    forward_network(net);
    for(int i = 0; i < 18; ++i) assert_true(net->output[i] == 0);
    release(net);
}

/* ---- the state goes on ---- */

static const char *const recurrent[] = {
    "[rnn]\noutput=5\nactivation=tanh\n",
    "[rnn]\nshortcut=1\noutput=5\nactivation=tanh\n",
    "[gru]\noutput=5\n",
    "[gru]\ntanh=1\noutput=5\n",
    "[lstm]\noutput=5\n",
    "[rnn]\noutput=4\nactivation=logistic\n[gru]\noutput=5\n[lstm]\noutput=3\n",
};

static void test_sequences(void **state)
{
    (void)state;
    for(size_t i = 0; i < 2 * sizeof recurrent / sizeof *recurrent; ++i) {
        layer_case c = {
            .batch = 2, .steps = 6, .h = 1, .w = 1, .c = 4, .layers = recurrent[i / 2]};
        network *whole = make(&c);
        c.steps = 3;
        network *half = make(&c);
        all_learned a = learns(whole), b = learns(half);
        fill_learned(&a, 100);
        fill_learned(&b, 100);
        whole->train = half->train = i % 2;
        int inputs = half->inputs * half->batch, outputs = half->outputs * half->batch;
        fill_distinct(whole->input, 2 * inputs, 0);
        forward_network(whole);
        for(int call = 0; call < 2; ++call) {
            memcpy(half->input, whole->input + call * inputs, inputs * sizeof(float));
            forward_network(half);
            assert_memory_equal(half->output, whole->output + call * outputs,
                                outputs * sizeof(float));
            if(half->train) backward_network(half);
        }
        release(whole);
        release(half);
    }
}

/* A crnn layer's state goes on in prediction; in training each call starts from none. */
static void test_images(void **state)
{
    (void)state;
    layer_case c = {.batch = 2, .steps = 4, .h = 4, .w = 5, .c = 3};
    c.layers = "[crnn]\nhidden_filters=3\noutput_filters=2\nactivation=logistic\n";
    network *whole = make(&c);
    c.steps = 2;
    network *half = make(&c);
    all_learned a = learns(whole), b = learns(half);
    fill_learned(&a, 100);
    fill_learned(&b, 100);
    assert_int_equal(whole->layers[0].out_h, 4);
    assert_int_equal(whole->layers[0].out_w, 5);
    size_t rows = half->outputs * half->batch;
    fill_distinct(whole->input, whole->inputs * whole->batch, 0);
    for(int train = 0; train < 2; ++train) {
        whole->train = half->train = train;
        forward_network(whole);
        for(int call = 0; call < 2; ++call) {
            memcpy(half->input, whole->input + call * half->inputs * half->batch,
                   half->inputs * half->batch * sizeof(float));
            forward_network(half);
            int same = !memcmp(half->output, whole->output + call * rows, rows * sizeof(float));
            assert_int_equal(same, !train || !call);
        }
    }
    release(whole);
    release(half);
}

/* A sequence that is reset starts anew, the other goes on. (Of an lstm layer Darknet resets
 * the output, not the cells, on the GPU too.) */
static void test_reset(void **state)
{
    (void)state;
    for(size_t i = 0; i < 4; ++i) {
        layer_case c = {.batch = 2, .steps = 1, .h = 1, .w = 1, .c = 4, .layers = recurrent[i]};
        network *net = make(&c);
        all_learned a = learns(net);
        fill_learned(&a, 100);
        fill_distinct(net->input, net->inputs * net->batch, 0);
        float first[10], second[10], *x = net->input;
        size_t row = net->outputs * sizeof(float);
        memcpy(first, network_predict(net, x), 2 * row);
        memcpy(second, network_predict(net, x), 2 * row);
        reset_network_state(net, 0);
        reset_network_state(net, 1);
        network_predict(net, x);
        reset_network_state(net, 1);
        float *third = network_predict(net, x);
        assert_memory_equal(third, second, row);
        assert_memory_equal(third + net->outputs, first + net->outputs, row);
        assert_memory_not_equal(third, first, row);
        release(net);
    }
}

/* ---- nothing below ---- */

/* Gradients are the same where no layer below wants a delta, and above a crop layer, which
 * has none. */
static void test_first(void **state)
{
    (void)state;
    for(size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const layer_case *c = cases + i;
        all_learned a;
        all_states s;
        network *net = derived(c, 1, &a, &s);
        float *gradients[48];
        for(int k = 0; k < a.n; ++k) {
            gradients[k] = copy(a.arrays[k].gradient, a.arrays[k].n);
        }
        free(net->delta);
        net->delta = 0;
        derive(c, net, &s, &a);
        for(int k = 0; k < a.n; ++k) {
            if(!a.arrays[k].fixed)
                assert_memory_equal(gradients[k], a.arrays[k].gradient,
                                    a.arrays[k].n * sizeof(float));
            free(gradients[k]);
        }
        free_states(&s);
        release(net);
    }
}

/* A crop layer has no delta either: what reads it still learns. */
static void test_above_crop(void **state)
{
    (void)state;
    static const char crop[] = "[crop]\ncrop_height=4\ncrop_width=4\n";
    static const char *const above[] = {
        "[maxpool]\nsize=2\nstride=2\n"
        "[convolutional]\nfilters=2\nsize=3\npad=1\nactivation=tanh\n",
        "[convolutional]\nfilters=3\nsize=3\npad=1\nactivation=tanh\n[route]\nlayers=-1,0\n",
        "[convolutional]\nfilters=3\nsize=3\npad=1\nactivation=tanh\n[shortcut]\nfrom=0\n",
        "[shortcut]\nfrom=0\n[convolutional]\nfilters=2\nsize=3\npad=1\nactivation=tanh\n",
    };
    for(size_t i = 0; i < sizeof above / sizeof *above; ++i) {
        char layers[512];
        snprintf(layers, sizeof layers, "%s%s", crop, above[i]);
        layer_case c = {.batch = 2, .steps = 1, .h = 5, .w = 6, .c = 3, .layers = layers};
        network *net = make(&c);
        all_learned a = learns(net);
        all_states s = {0};
        prepare(&c, net, &a);
        derive(&c, net, &s, &a);
        for(int k = 0; k < a.n; ++k) {
            learned *l = a.arrays + k;
            assert_true(compare(&c, net, &s, l->value, l->gradient, l->n) <= CLOSE);
        }
        release(net);
    }
}

/* pad=1 keeps the sides of a local layer whose size is odd, as stock counts them. */
static void test_local_sides(void **state)
{
    (void)state;
    for(int size = 1; size <= 7; size += 2) {
        for(int stride = 1; stride <= 2; ++stride) {
            char layers[128];
            snprintf(layers, sizeof layers, "[local]\nfilters=2\nsize=%d\nstride=%d\npad=1\n",
                     size, stride);
            layer_case c = {.batch = 1, .steps = 1, .h = 8, .w = 9, .c = 2, .layers = layers};
            network *net = make(&c);
            assert_int_equal(net->layers[0].out_h, 7 / stride + 1);
            assert_int_equal(net->layers[0].out_w, 8 / stride + 1);
            release(net);
        }
    }
}

int main(void)
{
    if(chdir(getenv("MGPU_SCRATCH"))) return 1;
    write_tree("tree");
    gpu_index = -1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients),   cmocka_unit_test(test_updates),
        cmocka_unit_test(test_saving),      cmocka_unit_test(test_sequences),
        cmocka_unit_test(test_images),      cmocka_unit_test(test_reset),
        cmocka_unit_test(test_first),       cmocka_unit_test(test_above_crop),
        cmocka_unit_test(test_local_sides), cmocka_unit_test(test_smooth),
        cmocka_unit_test(test_left_out),    cmocka_unit_test(test_finite),
    };
    int status = cmocka_run_group_tests_name("layers", tests, 0, 0);
    printf("%d arrays compared with finite differences; largest relative difference %.1e, with "
           "batch normalisation, whose derivative is off by O(1/n), %.1e\n",
           compared, found[0], found[1]);
    return status;
}
