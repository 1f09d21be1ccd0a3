/* test_cuda_layers.c: every layer type on a CUDA device against the same on the host.
 *
 * Each case's network is made twice in this process, on the host and on device 0, with the same
 * weights, rows and truths. Compared are every layer's outputs and deltas, the costs, the delta
 * at the input, gradients and running statistics in two mini-batches, what both then predict,
 * and the weights after updates. test_layers.c and test_layer_rules.c show that the host is
 * right. Bounds are on the relative L2 difference of an array. */
#include "networks.h"
#ifdef GPU
#include "cuda.h"
#include "mgpu_cuda.h"
#include "mgpu_hooks.h"
#include "mgpu_reduce.h"
#include "mgpu_replica.h"
#endif

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#ifdef GPU
typedef struct {
    const char *name;
    int batch, steps, h, w, c;
    const char *layers;
    int resized; /* 1: resize_network can do it */
} layer_case;

#define CLOSE 1e-5

#define GRID 4, 1, 6, 8, 3
#define FLAT 4, 1, 1, 1, 6
#define OVER_TIME 4, 3, 1, 1, 6
/* For reorg, which writes to some places more than once, in an order that threads do not keep,
 * where the channels are no multiple of the square of its stride. */
#define CONV8 "[convolutional]\nfilters=8\nsize=3\npad=1\n"
#define CONV "[convolutional]\nfilters=6\nsize=3\nstride=1\npad=1\nactivation=leaky\n"
/* Reads the last layer and the one below it, which so gets two deltas. */
#define BOTH "[route]\nlayers=-2,-1\n"
#define OUT "[connected]\noutput=5\nactivation=linear\n[softmax]\n"
#define ANCHORS "anchors=3,3, 6,4, 4,9, 12,10\n"
#define SMALL_ANCHORS "anchors=.6,.5, 1.5,2\n"

static const layer_case cases[] = {
    {"convolutional", GRID,
     "[convolutional]\nfilters=8\nsize=3\nstride=2\npad=1\nactivation=logistic\n"
     "[convolutional]\nfilters=6\ngroups=2\nsize=3\npad=1\nactivation=tanh\n"
     "[convolutional]\nfilters=4\nsize=5\nactivation=elu\npadding=1\n",
     1},
    {"convolutional 1x1", GRID,
     CONV "[convolutional]\nfilters=6\nsize=1\nactivation=leaky\n[shortcut]\nfrom=-2\n"
          "[convolutional]\nfilters=4\nsize=1\nstride=2\nactivation=leaky\n"
          "[convolutional]\nfilters=4\nsize=1\npadding=1\nactivation=tanh\n",
     0},
    {"convolutional normalised", GRID,
     "[convolutional]\nbatch_normalize=1\nfilters=6\nsize=3\nstride=1\npad=1\nactivation="
     "leaky\n"
     "[maxpool]\nsize=2\nstride=2\n"
     "[convolutional]\nbatch_normalize=1\nfilters=12\nsize=1\nactivation=leaky\n",
     1},
    {"convolutional smooth", GRID,
     "[convolutional]\nfilters=6\nsize=3\nstride=1\nsmooth=.2\nactivation=leaky\n" CONV, 0},
    {"deconvolutional", GRID,
     CONV "[deconvolutional]\nfilters=4\nsize=3\nstride=2\npadding=1\nactivation=leaky\n", 0},
    {"deconvolutional normalised", GRID,
     "[deconvolutional]\nbatch_normalize=1\nfilters=4\nsize=2\nstride=2\nactivation=tanh\n", 0},
    {"connected", FLAT,
     "[connected]\noutput=9\nactivation=tanh\n[connected]\noutput=5\nactivation=linear\n", 0},
    {"connected, large deltas", FLAT,
     "[connected]\noutput=9\nactivation=linear\n[connected]\noutput=5\nactivation=linear\n"
     "[cost]\nscale=9\n",
     0},
    {"connected normalised", 16, 1, 1, 1, 6,
     "[connected]\nbatch_normalize=1\noutput=9\nactivation=leaky\n" OUT, 0},
    {"local", GRID, CONV "[local]\nfilters=3\nsize=3\nstride=2\npad=1\nactivation=leaky\n" OUT,
     0},
    {"batchnorm", GRID, "[batchnorm]\n" CONV "[batchnorm]\n", 0},
    {"l2norm", GRID, CONV "[l2norm]\n", 0},
    {"normalization", GRID, CONV "[normalization]\nalpha=.1\nsize=5\n", 1},
    {"maxpool", GRID,
     CONV "[maxpool]\nsize=2\nstride=2\n[maxpool]\nsize=3\nstride=1\n[maxpool]\nsize=2\n"
          "stride=1\npadding=1\n",
     1},
    {"avgpool", GRID, CONV "[avgpool]\n", 1},
    {"upsample", GRID,
     CONV "[upsample]\nstride=2\nscale=.5\n" CONV "[upsample]\nstride=-2\n[upsample]\n", 1},
    {"reorg", GRID, CONV8 "[reorg]\nstride=2\n" CONV, 1},
    {"reorg reverse", GRID, CONV8 "[reorg]\nstride=2\nreverse=1\n", 0},
    {"reorg flatten", GRID, CONV "[reorg]\nflatten=1\n[reorg]\nflatten=1\nreverse=1\n", 0},
    {"reorg extra", GRID, CONV "[reorg]\nextra=7\n", 0},
    {"route and shortcut", GRID,
     CONV CONV "[shortcut]\nfrom=-2\nactivation=leaky\nalpha=.5\nbeta=2\n[route]\nlayers=-1,0\n"
               "[convolutional]\nfilters=4\nsize=3\nstride=2\npad=1\n[shortcut]\nfrom=0\n",
     0},
    {"a route over activation", GRID, CONV "[activation]\nactivation=tanh\n" BOTH, 0},
    {"a route over batchnorm", GRID, CONV "[batchnorm]\n" BOTH, 0},
    {"a route over normalization", GRID, CONV "[normalization]\n" BOTH, 0},
    {"a route over l2norm", GRID, CONV "[l2norm]\n" BOTH, 0},
    {"a route over reorg", GRID, CONV8 "[reorg]\nstride=2\nreverse=0\n" BOTH, 0},
    {"a route over reorg flatten", GRID, CONV "[reorg]\nflatten=1\n" BOTH, 0},
    {"a route over upsample", GRID, CONV "[upsample]\nstride=2\n" BOTH, 0},
    {"a route over downsample", GRID, CONV "[upsample]\nstride=-2\n" BOTH, 0},
    {"a route over maxpool", GRID, CONV "[maxpool]\nsize=2\nstride=2\n" BOTH, 0},
    {"a route over avgpool", GRID, CONV "[avgpool]\n" BOTH, 0},
    {"a route over 1x1", GRID, CONV "[convolutional]\nfilters=3\nsize=1\n" BOTH, 0},
    {"a route over deconvolutional", GRID,
     CONV "[deconvolutional]\nfilters=2\nsize=2\nstride=2\n" BOTH, 0},
    {"a route over local", GRID, CONV "[local]\nfilters=2\nsize=3\npad=1\n" BOTH, 0},
    {"a route over connected", GRID, CONV "[connected]\noutput=3\n" BOTH, 0},
    {"after a crop", 4, 1, 8, 9, 3,
     "[crop]\ncrop_height=8\ncrop_width=9\n[shortcut]\nfrom=0\n" CONV "[route]\nlayers=-1,0\n",
     0},
    {"rnn", OVER_TIME, "[rnn]\noutput=5\nactivation=tanh\n" OUT, 0},
    {"rnn shortcut", OVER_TIME, "[rnn]\nshortcut=1\noutput=5\nactivation=tanh\n" OUT, 0},
    {"rnn normalised", 8, 3, 1, 1, 6,
     "[rnn]\nbatch_normalize=1\noutput=4\nactivation=leaky\n" OUT, 0},
    {"gru", OVER_TIME, "[gru]\noutput=5\n[gru]\ntanh=1\noutput=4\n" OUT, 0},
    {"gru normalised", 8, 3, 1, 1, 6, "[gru]\nbatch_normalize=1\noutput=4\n" OUT, 0},
    {"lstm", OVER_TIME, "[lstm]\noutput=5\n[lstm]\noutput=4\n" OUT, 0},
    {"lstm one step", 4, 1, 1, 1, 6, "[lstm]\noutput=5\n" OUT, 0},
    {"lstm normalised", 8, 3, 1, 1, 6, "[lstm]\nbatch_normalize=1\noutput=4\n" OUT, 0},
    {"crnn", 2, 3, 4, 5, 3,
     "[crnn]\nhidden_filters=3\noutput_filters=2\nactivation=logistic\n" OUT, 0},
    {"crnn shortcut", 2, 3, 4, 5, 3,
     "[crnn]\nshortcut=1\nhidden_filters=3\noutput_filters=4\nactivation=tanh\n" OUT, 0},
    {"crnn normalised", 4, 2, 4, 5, 3,
     "[crnn]\nbatch_normalize=1\nhidden_filters=2\noutput_filters=2\nactivation=leaky\n" OUT,
     0},
    {"softmax", FLAT, "[connected]\noutput=6\n[softmax]\ngroups=2\ntemperature=2\n", 0},
    {"softmax tree", FLAT, "[connected]\noutput=6\n[softmax]\ntree=tree\n", 0},
    {"softmax spatial", GRID, CONV "[softmax]\nspatial=1\ntemperature=.5\n", 0},
    {"logistic", FLAT, "[connected]\noutput=6\nactivation=linear\n[logistic]\n", 0},
    {"cost", FLAT, "[connected]\noutput=6\n[cost]\nscale=3\n", 0},
    {"cost smoothed", FLAT, "[connected]\noutput=6\n[cost]\nsmooth=.1\n", 0},
    {"cost thresh", FLAT, "[connected]\noutput=6\nactivation=linear\n[cost]\nthresh=9\n", 0},
    {"cost masked", FLAT, "[connected]\noutput=6\nactivation=linear\n[cost]\ntype=masked\n", 0},
    {"cost seg", FLAT, "[connected]\noutput=6\nactivation=linear\n[cost]\ntype=seg\nnoobj=.3\n",
     0},
    {"cost smooth", FLAT, "[connected]\noutput=6\nactivation=linear\n[cost]\ntype=smooth\n", 0},
    {"cost L1", FLAT, "[connected]\noutput=6\nactivation=linear\n[cost]\ntype=L1\n", 0},
    {"cost wgan", FLAT,
     "[connected]\noutput=6\nactivation=linear\n[cost]\ntype=wgan\nsmooth=.2\n", 0},
    {"truth of a layer", FLAT,
     "[connected]\noutput=6\ntruth=1\n[connected]\noutput=6\nactivation=linear\n[cost]\n", 0},
    {"yolo", 3, 1, 4, 5, 16,
     "[activation]\nactivation=linear\n[yolo]\nmask=1,3\nclasses=3\nnum=4\nignore_thresh=.2\n"
     "truth_thresh=.8\n" ANCHORS,
     0},
    {"yolo, two of them", 3, 1, 8, 8, 3,
     CONV "[convolutional]\nfilters=14\nsize=1\nactivation=linear\n"
          "[yolo]\nmask=2,3\nclasses=2\nnum=4\n" ANCHORS "[route]\nlayers=-3\n[upsample]\n"
          "stride=2\n[convolutional]\nfilters=14\nsize=3\npad=1\nactivation=linear\n"
          "[yolo]\nmask=0,1\nclasses=2\nnum=4\n" ANCHORS,
     1},
    {"region", 3, 1, 4, 5, 16,
     "[activation]\nactivation=linear\n[region]\nclasses=3\nnum=2\nsoftmax=1\nthresh=.2\n"
     "object_scale=5\ncoord_scale=2\n" SMALL_ANCHORS,
     0},
    {"region, background", 3, 1, 4, 5, 16,
     "[activation]\nactivation=linear\n[region]\nclasses=3\nnum=2\nsoftmax=1\nbackground=1\n"
     "rescore=1\nbias_match=1\n" SMALL_ANCHORS,
     0},
    {"region, masks", 3, 1, 4, 5, 20,
     "[activation]\nactivation=linear\n[region]\nclasses=3\ncoords=6\nnum=2\nmask_scale="
     "2\n" SMALL_ANCHORS,
     0},
    {"region, tree", 3, 1, 4, 5, 22,
     "[activation]\nactivation=linear\n[region]\nclasses=6\nnum=2\nsoftmax=1\ntree="
     "tree\n" SMALL_ANCHORS,
     0},
    {"detection", 3, 1, 1, 1, 9,
     "[connected]\noutput=52\nactivation=linear\n[detection]\nside=2\nclasses=3\ncoords=4\n"
     "num=2\nsqrt=1\nrescore=1\nobject_scale=2\nnoobject_scale=.5\ncoord_scale=5\n",
     0},
    {"detection, softmax", 3, 1, 1, 1, 9,
     "[connected]\noutput=52\nactivation=linear\n[detection]\nside=2\nclasses=3\ncoords=4\n"
     "num=2\nsoftmax=1\n",
     0},
    {"iseg", 3, 1, 4, 5, 6, "[activation]\nactivation=linear\n[iseg]\nclasses=2\nids=4\n", 0},
    {"iseg, no ids", 3, 1, 4, 5, 2,
     "[activation]\nactivation=linear\n[iseg]\nclasses=2\nids=0\n", 0},
};

#define NCASES (int)(sizeof cases / sizeof *cases)

/* ---- networks ---- */

static network *make(const layer_case *c, const char *more, int device)
{
    FILE *fp = fopen("cuda_layers.cfg", "w");
    assert_non_null(fp);
    fprintf(fp,
            "[net]\nbatch=%d\ntime_steps=%d\nheight=%d\nwidth=%d\nchannels=%d\n"
            "learning_rate=.02\nmomentum=.9\ndecay=.001\n%s%s",
            c->batch, c->steps, c->h, c->w, c->c, more, c->layers);
    fclose(fp);
    gpu_index = device;
    if(device >= 0) cuda_set_device(device);
    quiet();
    network *net = parse_network_cfg("cuda_layers.cfg");
    loud();
    net->train = 1;
    return net;
}

static void release(network *net)
{
    gpu_index = net->gpu_index;
    mgpu_replica_free_rest(net);
    free_network(net);
}

/* The delta below the first layer, which a network on its own does not have. */
static void make_delta(network *net)
{
    size_t n = (size_t)net->inputs * net->batch;
    gpu_index = net->gpu_index;
    net->delta = calloc(n, sizeof(float));
    if(gpu_index >= 0) net->delta_gpu = cuda_make_array(0, n);
}

static void free_delta(network *net)
{
    gpu_index = net->gpu_index;
    free(net->delta);
    cuda_free(net->delta_gpu);
    net->delta = net->delta_gpu = 0;
}

/* A case's two networks, with each tensor's place on the host and on the device. */
typedef struct {
    const layer_case *c;
    network *host, *device;
    mgpu_layout layout;
} both;

static float *on_device(const both *b, const mgpu_tensor *t, size_t field)
{
    return *(float **)((char *)mgpu_tensor_layer(b->device, t) + field);
}

/* Values of their own for every tensor; variances and scales are around 1. */
static void fill_tensors(both *b)
{
    for(int i = 0; i < b->layout.n; ++i) {
        const mgpu_tensor *t = b->layout.tensors + i;
        float *x = *mgpu_tensor_value(b->host, t);
        int one = strstr(t->kind->name, "scales") || strstr(t->kind->name, "variance");
        for(size_t k = 0; k < t->length; ++k) x[k] = one + .5f * (unit(100 + i, k) - .5f);
        cuda_push_array(on_device(b, t, t->kind->value_gpu), x, t->length);
    }
}

static both make_both(const layer_case *c, const char *more)
{
    both b = {.c = c, .host = make(c, more, -1), .device = make(c, more, 0)};
    assert_int_equal(mgpu_layout_make(&b.layout, b.host), 0);
    assert_int_equal(mgpu_layout_matches(&b.layout, b.device), 0);
    fill_tensors(&b);
    return b;
}

static void release_both(both *b)
{
    mgpu_layout_free(&b->layout);
    release(b->host);
    release(b->device);
}

/* A tree's open classes; costs near and far, masked, of both signs. */
static void change_truth(const layer_case *c, network *net)
{
    for(int b = 0; net->truths && b < net->batch; ++b) {
        float *t = net->truth + b * net->truths;
        for(int i = 3; strstr(c->layers, "[softmax]\ntree") && i < 6; ++i)
            t[i] = b % 3 ? SECRET_NUM : i == 4;
        for(int i = 0; strstr(c->layers, "[cost]") && i < net->truths; ++i)
            t[i] = 2 * (i % 3 - 1);
        if(strstr(c->layers, "type=masked")) t[b % net->truths] = SECRET_NUM;
    }
}

/* Three boxes, the second in the first one's place, with masks where the layer has them. */
static void fill_boxes(const layer *l, int row, float *y)
{
    int size = l->coords + 1;
    memset(y, 0, l->truths * sizeof *y);
    for(int t = 0; t < 3; ++t, y += size) {
        for(int k = 0; k < l->coords; ++k)
            y[k] = .1f + .7f * unit(row, 10 * (t - (t == 1)) + k);
        y[l->coords] = (float)((row + t) % l->classes);
    }
}

static void fill_rows(const layer_case *c, network *net, int first)
{
    LAYER_TYPE last = net->layers[net->n - 1].type;
    int boxes = last == YOLO || last == REGION || last == DETECTION || last == ISEG;
    for(int r = 0; r < net->batch; ++r) {
        float *x = net->input + (size_t)r * net->inputs;
        float *y = net->truth + (size_t)r * net->truths;
        if(boxes) make_row(net, first + r, x, y);
        if(last == REGION) fill_boxes(net->layers + net->n - 1, first + r, y);
        for(int i = 0; i < net->inputs; ++i) x[i] = 2 * unit(first + r, i) - 1;
        for(int i = 0; !boxes && i < net->truths; ++i) y[i] = i == (first + r) % net->truths;
    }
    change_truth(c, net);
}

/* ---- comparing ---- */

/* The largest difference found in each case. */
static double found[NCASES];
static int compared;

static double off(const float *x, const float *y, size_t n)
{
    double d = 0, size = 0;
    for(size_t i = 0; i < n; ++i) {
        d += (y[i] - x[i]) * (double)(y[i] - x[i]);
        size += x[i] * (double)x[i];
    }
    return sqrt(d) / (sqrt(size) + 1e-4);
}

/* n floats of the host and of the device. */
static void compare(const layer_case *c, const char *where, const char *what, const float *host,
                    float *device, size_t n)
{
    float *y = calloc(n + 1, sizeof *y);
    gpu_index = 0;
    cuda_pull_array(device, y, n);
    double d = off(host, y, n);
    free(y);
    ++compared;
    if(!(d <= CLOSE)) fail_msg("%s: %s %s is off by %g", c->name, where, what, d);
    if(c >= cases && c < cases + NCASES) found[c - cases] = fmax(found[c - cases], d);
}

static void compare_layers(const both *b, const char *when)
{
    for(int i = 0; i < b->host->n; ++i) {
        const layer *h = b->host->layers + i, *d = b->device->layers + i;
        const mgpu_layer_kind *kind = mgpu_layer_kind_of(h);
        size_t n = (size_t)h->outputs * h->batch * (kind->nnested ? h->steps : 1);
        char where[64];
        snprintf(where, sizeof where, "%s, layer %d", when, i);
        if(h->type != COST) compare(b->c, where, "output", h->output, d->output_gpu, n);
        if(!b->host->train || !h->delta) continue;
        compare(b->c, where, "delta", h->delta, d->delta_gpu, n);
        if(h->cost && fabs(*d->cost - *h->cost) > CLOSE * (1 + fabs(*h->cost)))
            fail_msg("%s: %s: cost is %g, not %g", b->c->name, where, *d->cost, *h->cost);
    }
}

static void compare_tensors(const both *b, const char *when, int gradients)
{
    for(int i = 0; i < b->layout.n; ++i) {
        const mgpu_tensor *t = b->layout.tensors + i;
        char what[64];
        snprintf(what, sizeof what, "layer %d %s %s%s", t->layer,
                 t->nested ? t->nested->name : "", t->kind->name,
                 gradients ? "' gradient" : "");
        if(!gradients) {
            compare(b->c, when, what, *mgpu_tensor_value(b->host, t),
                    on_device(b, t, t->kind->value_gpu), t->length);
        } else if(!t->kind->running) {
            compare(b->c, when, what, *mgpu_tensor_gradient(b->host, t),
                    on_device(b, t, t->kind->gradient_gpu), t->length);
        }
    }
}

/* ---- the cases ---- */

/* A network without a cost is pulled in some direction. */
static void pull(network *net)
{
    layer *l = net->layers + net->n - 1;
    for(int i = 0; i < net->n; ++i) {
        if(net->layers[i].cost) return;
    }
    int n = net->outputs * net->batch;
    for(int i = 0; i < n; ++i) l->delta[i] = unit(77, i) - .5f;
    cuda_push_array(l->delta_gpu, l->delta, n);
}

static void step(const layer_case *c, network *net, int first)
{
    gpu_index = net->gpu_index;
    fill_rows(c, net, first);
    quiet();
    forward_network(net);
    pull(net);
    backward_network(net);
    loud();
}

/* Two mini-batches without an update; recurrent layers start the second from a state. */
static void check_passes(both *b)
{
    make_delta(b->host);
    make_delta(b->device);
    for(int i = 0; i < 2; ++i) {
        const char *when = i ? "second mini-batch" : "first mini-batch";
        step(b->c, b->host, 100 * i);
        step(b->c, b->device, 100 * i);
        compare_layers(b, when);
        compare_tensors(b, when, 1);
        compare_tensors(b, when, 0);
        if(b->host->layers[0].type == CROP) continue;
        size_t n = (size_t)b->host->inputs * b->host->batch, some = 0;
        for(size_t k = 0; k < n; ++k) some += b->host->delta[k] != 0;
        assert_true(some > n / 10);
        compare(b->c, when, "delta of the input", b->host->delta, b->device->delta_gpu, n);
    }
    free_delta(b->host);
    free_delta(b->device);
}

/* Twice; between them the second sequence's state is reset. */
static void check_prediction(both *b)
{
    for(int i = 0; i < 2; ++i) {
        network *nets[] = {b->host, b->device};
        float *y[2];
        for(int k = 0; k < 2; ++k) {
            gpu_index = nets[k]->gpu_index;
            nets[k]->train = 0;
            if(i) reset_network_state(nets[k], 1);
            fill_rows(b->c, nets[k], 200 + 100 * i);
            quiet();
            y[k] = network_predict(nets[k], nets[k]->input);
            loud();
        }
        compare_layers(b, "prediction");
        double d = off(y[0], y[1], (size_t)b->host->outputs * b->host->batch);
        if(!(d <= CLOSE)) fail_msg("%s: what is returned is off by %g", b->c->name, d);
    }
    b->host->train = b->device->train = 1;
}

static void test_passes(void **state)
{
    (void)state;
    for(int i = 0; i < NCASES; ++i) {
        both b = make_both(cases + i, "");
        check_passes(&b);
        check_prediction(&b);
        for(int side = 0; cases[i].resized && side < 2; ++side) {
            network *nets[] = {b.host, b.device};
            for(int k = 0; k < 2; ++k) {
                gpu_index = nets[k]->gpu_index;
                quiet();
                resize_network(nets[k], side ? 8 : 12, side ? 8 : 10);
                loud();
            }
            check_passes(&b);
            check_prediction(&b);
        }
        release_both(&b);
    }
}

/* ---- updates ---- */

/* What Adam, or for what does not learn by it SGD, makes of the host's gradients: the module's
 * own, which test_reduce.c shows to be right. Darknet's CPU code does without. */
static void update_host_by_adam(both *b, float *const *moments, int t)
{
    network *net = b->host;
    int batch = net->batch * net->subdivisions;
    float rate = get_current_rate(net);
    for(int i = 0; i < b->layout.n; ++i) {
        const mgpu_tensor *tensor = b->layout.tensors + i;
        const mgpu_layer_kind *kind = mgpu_layer_kind_of(mgpu_tensor_layer(net, tensor));
        if(tensor->kind->running || tensor->kind->fixed) continue;
        mgpu_rule rule = {.rate = rate,
                          .decay = -net->decay * batch,
                          .momentum = net->momentum,
                          .b1 = net->B1,
                          .b2 = net->B2,
                          .eps = net->eps,
                          .unbias1 = 1 - powf(net->B1, t),
                          .unbias2 = 1 - powf(net->B2, t)};
        float *w = *mgpu_tensor_value(net, tensor), *u = *mgpu_tensor_gradient(net, tensor);
        if(kind->sgd) {
            rule.rate /= batch;
            rule.decay *= tensor->kind->decays;
            mgpu_update_range(w, u, 0, 0, 0, tensor->length, rule);
        } else {
            mgpu_adam_range(w, u, moments[2 * i], moments[2 * i + 1], 0, 0, 0, tensor->length,
                            rule);
        }
    }
}

/* Two updates, with a mini-batch before each. */
static void check_updates(both *b, int adam)
{
    float *moments[2 * b->layout.n + 1];
    for(int i = 0; i < 2 * b->layout.n; ++i)
        moments[i] = calloc(b->layout.tensors[i / 2].length, sizeof(float));
    for(int t = 1; t <= 2; ++t) {
        step(b->c, b->host, 100 * t);
        step(b->c, b->device, 100 * t);
        gpu_index = -1;
        if(adam) {
            update_host_by_adam(b, moments, t);
        } else {
            update_network(b->host);
        }
        gpu_index = 0;
        update_network(b->device);
        compare_tensors(b, adam ? "after Adam," : "after an update,", 0);
    }
    for(int i = 0; i < 2 * b->layout.n; ++i) free(moments[i]);
}

static void test_updates(void **state)
{
    (void)state;
    for(int i = 0; i < 2 * NCASES; ++i) {
        int adam = i % 2;
        both b = make_both(cases + i / 2, adam ? "adam=1\n" : "");
        check_updates(&b, adam);
        release_both(&b);
    }
}

/* clip holds for convolutional weights, after the update. */
static void test_clip(void **state)
{
    (void)state;
    both b = make_both(cases, "clip=.1\n");
    step(b.c, b.host, 0);
    step(b.c, b.device, 0);
    gpu_index = -1;
    update_network(b.host);
    gpu_index = 0;
    update_network(b.device);
    int clipped = 0;
    for(int i = 0; i < b.layout.n; ++i) {
        const mgpu_tensor *t = b.layout.tensors + i;
        float *x = *mgpu_tensor_value(b.host, t);
        for(size_t k = 0; t->kind->decays && k < t->length; ++k) {
            clipped += fabsf(x[k]) > .1f;
            x[k] = fmaxf(-.1f, fminf(.1f, x[k]));
        }
    }
    assert_true(clipped > 0);
    compare_tensors(&b, "clipped,", 0);
    release_both(&b);
}

/* ---- what layers draw, and inputs far off ---- */

/* What is dropped is dropped by the numbers drawn, in the delta as well. */
static void test_dropout(void **state)
{
    (void)state;
    const layer_case c = {"dropout", GRID,
                          "[activation]\nactivation=linear\n[dropout]\nprobability=.4\n", 0};
    network *net = make(&c, "", 0);
    int n = net->inputs * net->batch, dropped = 0;
    layer *l = net->layers + 1;
    float *drawn = calloc(n, sizeof *drawn), *y = calloc(n, sizeof *y);
    for(int i = 0; i < n; ++i) net->input[i] = unit(1, i) + .5f;
    forward_network(net);
    cuda_pull_array(l->rand_gpu, drawn, n);
    cuda_pull_array(l->output_gpu, y, n);
    for(int i = 0; i < n; ++i) {
        float kept = drawn[i] < .4f ? 0 : net->input[i] / .6f;
        assert_true(fabsf(y[i] - kept) < 1e-6f);
        dropped += kept == 0;
    }
    assert_true(dropped > n * .3 && dropped < n * .5);
    cuda_push_array(l->delta_gpu, net->input, n);
    backward_network(net);
    cuda_pull_array(l->delta_gpu, y, n);
    for(int i = 0; i < n; ++i) {
        assert_true(fabsf(y[i] - (drawn[i] < .4f ? 0 : net->input[i] / .6f)) < 1e-6f);
    }
    free(drawn);
    free(y);
    release(net);
}

#define CROPPED "[crop]\ncrop_height=3\ncrop_width=4\nflip=1\n"

/* Value k of a place of row b, as a crop layer takes it. */
static float pixel(const network *net, int b, int k, int y, int x)
{
    return 2 * net->input[((b * net->c + k) * net->h + y) * net->w + x] - 1;
}

static void assert_window(network *net, float *y, int b, int flip, int down, int right)
{
    const layer *l = net->layers;
    for(int i = 0; i < l->outputs; ++i) {
        int column = i % l->out_w, line = i / l->out_w % l->out_h;
        int k = i / l->out_w / l->out_h;
        int x = flip ? l->w - right - column - 1 : right + column;
        float want = pixel(net, b, k, down + line, x);
        if(!(fabsf(y[b * l->outputs + i] - want) < 1e-6f)) {
            fail_msg("flip %d, down %d, right %d: value %d of row %d is %g, not %g", flip, down,
                     right, i, b, y[b * l->outputs + i], want);
        }
    }
}

/* A crop layer's window is that of its numbers, for every window, mirrored or not, and for
 * images of any channels; and when it predicts, the middle, as on the host. */
static void test_crop(void **state)
{
    (void)state;
    for(int channels = 1; channels <= 4; ++channels) {
        layer_case c = {"crop", 2, 1, 6, 9, channels, CROPPED, 0};
        network *net = make(&c, "", 0);
        layer *l = net->layers;
        network inner = *net;
        float numbers[16] = {0}, *y = calloc(2 * l->outputs, sizeof *y);
        for(int i = 0; i < 2 * net->inputs; ++i) net->input[i] = unit(3, i);
        cuda_push_array(net->input_gpu, net->input, 2 * net->inputs);
        for(int i = 0; i < 4 * 6 * 2; ++i) {
            int down = i % 4, right = i / 4 % 6, flip = i / 24;
            for(int b = 0; b < 2; ++b) {
                mgpu_crop_numbers(l, b ? !flip : flip, down, right, numbers + 8 * b);
            }
            cuda_push_array(l->rand_gpu, numbers, 16);
            mgpu_crop_gpu(*l, inner);
            cuda_pull_array(l->output_gpu, y, 2 * l->outputs);
            assert_window(net, y, 0, flip, down, right);
            assert_window(net, y, 1, !flip, down, right);
        }
        inner.train = 0;
        mgpu_crop_gpu(*l, inner);
        cuda_pull_array(l->output_gpu, y, 2 * l->outputs);
        for(int b = 0; b < 2; ++b) assert_window(net, y, b, 0, 3 / 2, 5 / 2);
        cuda_pull_array(net->input_gpu, y, l->outputs); /* the input is as it was */
        assert_memory_equal(y, net->input, l->outputs * sizeof *y);
        free(y);
        release(net);
    }
}

/* What a network on its own draws makes windows, all of them in time. */
static void test_crop_draws(void **state)
{
    (void)state;
    layer_case c = {"crop", 2, 1, 3, 6, 1, CROPPED, 0};
    network *net = make(&c, "", 0);
    int seen[6] = {0};
    for(int i = 0; i < 2 * net->inputs; ++i) net->input[i] = unit(4, i);
    for(int i = 0; i < 60; ++i) {
        forward_network(net);
        for(int window = 0; window < 6; ++window) {
            int right = window / 2, flip = window % 2;
            float first = pixel(net, 0, 0, 0, flip ? 5 - right : right);
            seen[window] += fabsf(net->output[0] - first) < 1e-6f;
        }
    }
    for(int window = 0; window < 6; ++window) assert_true(seen[window] > 0);
    release(net);
}

/* A colour's saturation and value multiplied, by way of hue. */
static void change_colour(const float *from, double saturation, double value, double *to)
{
    double top = fmax(from[0], fmax(from[1], from[2]));
    double bottom = fmin(from[0], fmin(from[1], from[2]));
    double s = (top - bottom) / top * saturation, v = top * value;
    double hue = from[0] == top   ? fmod((from[1] - from[2]) / (top - bottom) + 6, 6)
                 : from[1] == top ? 2 + (from[2] - from[0]) / (top - bottom)
                                  : 4 + (from[0] - from[1]) / (top - bottom);
    for(int k = 0; k < 3; ++k) {
        double away = fmod(hue - 2 * k + 12, 6);
        if(away > 3) away = 6 - away;
        double part = fmin(1, fmax(0, away - 1)); /* 0 at the colour's own hue */
        to[k] = fmin(1, fmax(0, v * (1 - s * part)));
    }
}

/* Saturation, exposure and shift by a row's numbers; a quarter turn. */
static void test_crop_colours(void **state)
{
    (void)state;
    layer_case c = {"crop",
                    2,
                    1,
                    4,
                    4,
                    3,
                    "[crop]\ncrop_height=4\ncrop_width=4\nsaturation=1.5\nexposure=2\n"
                    "shift=.2\n",
                    0};
    network *net = make(&c, "", 0);
    layer *l = net->layers;
    float numbers[16] = {.3f, .1f, .6f, .9f, 0, 0, 0, .5f, .8f, .7f, .2f, .4f, 0, 0, 0, .5f};
    float y[2 * 48];
    for(int i = 0; i < 2 * net->inputs; ++i) net->input[i] = unit(5, i);
    cuda_push_array(net->input_gpu, net->input, 96);
    cuda_push_array(l->rand_gpu, numbers, 16);
    mgpu_crop_gpu(*l, *net);
    cuda_pull_array(l->output_gpu, y, 96);
    double saturation[] = {1 + .3 * .5, 1 / (1 + .8 * .5)}, value[] = {1 / 1.6, 1.2};
    for(int i = 0; i < 32; ++i) {
        int b = i / 16, at = b * 48 + i % 16;
        float from[3] = {net->input[at], net->input[at + 16], net->input[at + 32]};
        double to[3];
        change_colour(from, saturation[b], value[b], to);
        for(int k = 0; k < 3; ++k) {
            double want = 2 * to[k] - 1 + (numbers[k] - .5) * .2;
            assert_true(fabs(y[at + 16 * k] - want) < 1e-5);
        }
    }
    l->saturation = l->exposure = 1;
    l->shift = 0;
    l->angle = 90;
    numbers[7] = 1;
    cuda_push_array(l->rand_gpu, numbers, 16);
    mgpu_crop_gpu(*l, *net);
    cuda_pull_array(l->output_gpu, y, 48);
    for(int i = 0; i < 48; ++i) {
        int column = i % 4, line = i / 4 % 4;
        float want = line ? pixel(net, 0, i / 16, column, 4 - line) : 0; /* 0: from outside */
        assert_true(fabsf(y[i] - want) < 1e-4f);
    }
    release(net);
}

/* Every activation, near zero and far from it. */
static void test_activations(void **state)
{
    (void)state;
    static const char *const names[] = {"logistic", "loggy",  "relu",    "elu",  "selu",
                                        "relie",    "ramp",   "leaky",   "tanh", "plse",
                                        "stair",    "linear", "hardtan", "lhtan"};
    for(size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        char layers[64];
        snprintf(layers, sizeof layers, "[activation]\nactivation=%s\n", names[i]);
        layer_case c = {names[i], GRID, layers, 0};
        both b = {.c = &c, .host = make(&c, "", -1), .device = make(&c, "", 0)};
        network *nets[] = {b.host, b.device};
        for(int k = 0; k < 2; ++k) {
            int n = nets[k]->inputs * nets[k]->batch;
            gpu_index = nets[k]->gpu_index;
            make_delta(nets[k]);
            for(int j = 0; j < n; ++j)
                nets[k]->input[j] = (2 * unit(6, j) - 1) * (j % 2 ? 2 : 150);
            forward_network(nets[k]);
            layer *l = nets[k]->layers;
            for(int j = 0; j < n; ++j) l->delta[j] = unit(7, j);
            cuda_push_array(l->delta_gpu, l->delta, n);
            backward_network(nets[k]);
        }
        compare_layers(&b, "activated");
        for(int k = 0; k < 2; ++k) {
            free_delta(nets[k]);
            release(nets[k]);
        }
    }
}

/* Outputs that are just 0 or 1 have a finite cost, the same on both. */
static void test_certain(void **state)
{
    (void)state;
    layer_case c = {"certain", FLAT, "[logistic]\n", 0};
    float cost[2];
    for(int k = 0; k < 2; ++k) {
        network *net = make(&c, "", k - 1);
        for(int i = 0; i < 24; ++i) {
            net->input[i] = i % 3 ? 200 : -200;
            net->truth[i] = i % 2;
        }
        forward_network(net);
        cost[k] = *net->cost;
        release(net);
    }
    assert_true(cost[0] > 100 && cost[0] < 400);
    assert_true(fabsf(cost[1] - cost[0]) < 1e-4f * cost[0]);
}

/* ---- saving, and the memory of the device ---- */

/* Weights saved from the device are those saved from the host, and come back to it. */
static void test_saving(void **state)
{
    (void)state;
    for(int i = 0; i < NCASES; ++i) {
        both b = make_both(cases + i, "");
        step(b.c, b.host, 0); /* running statistics move */
        step(b.c, b.device, 0);
        network *again = make(cases + i, "", 0);
        quiet();
        save_weights(b.device, "device.weights");
        load_weights(again, "device.weights");
        loud();
        network *device = b.device;
        for(int k = 0; k < b.layout.n; ++k) {
            const mgpu_tensor *t = b.layout.tensors + k;
            if(!t->kind->unsaved) continue;
            float *x = *mgpu_tensor_value(b.host, t);
            b.device = again;
            cuda_push_array(on_device(&b, t, t->kind->value_gpu), x, t->length);
        }
        b.device = again;
        compare_tensors(&b, "saved and loaded,", 0);
        b.device = device;
        release(again);
        release_both(&b);
    }
}

static size_t live(void)
{
    size_t rest = 0, all = 0;
    assert_int_equal(cudaMemGetInfo(&rest, &all), cudaSuccess);
    return all - rest;
}

/* Building, training, resizing and freeing leaves nothing on the device. */
static void test_memory(void **state)
{
    (void)state;
    static const char *const options[] = {"", "adam=1\n"};
    for(int i = 0; i < 2 * NCASES; ++i) {
        const layer_case *c = cases + i / 2;
        cuda_set_device(0);
        size_t before = live();
        network *net = make(c, options[i % 2], 0);
        assert_true(live() > before);
        step(c, net, 0);
        update_network(net);
        quiet();
        for(int side = 6; c->resized && side <= 8; ++side)
            resize_network(net, 2 * side, 2 * side);
        loud();
        release(net);
        cuda_set_device(0);
        if(live() != before) fail_msg("%s leaves %zu bytes", c->name, live() - before);
    }
}

int main(void)
{
    if(chdir(getenv("MGPU_SCRATCH"))) return 1;
    write_tree("tree");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_passes),       cmocka_unit_test(test_updates),
        cmocka_unit_test(test_clip),         cmocka_unit_test(test_dropout),
        cmocka_unit_test(test_crop),         cmocka_unit_test(test_crop_draws),
        cmocka_unit_test(test_crop_colours), cmocka_unit_test(test_activations),
        cmocka_unit_test(test_certain),      cmocka_unit_test(test_saving),
        cmocka_unit_test(test_memory),
    };
    int status = cmocka_run_group_tests_name("cuda_layers", tests, 0, 0);
    printf("%d arrays compared with the host; largest relative difference by case:\n",
           compared);
    for(int i = 0; i < NCASES; ++i) {
        printf("%s%s %.1e", i ? ", " : "", cases[i].name, found[i]);
    }
    puts("");
    return status;
}
#else
int main(void)
{
    puts("cuda_layers: not a build for CUDA devices");
    return 0;
}
#endif
