/* support.h: what the test programs and the reference on unpatched Darknet share:
 * nets, made-up rows, and a list of named arrays to compare. Needs only darknet.h. */
#ifndef SUPPORT_H
#define SUPPORT_H

#include "darknet.h"

#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(GPU) && !defined(STOCK)
#include "mgpu.h"

/* In builds for CUDA the tests of host devices can be run, too (scripts/run_tests). */
static inline mgpu_options options_by_environment(void)
{
    mgpu_options o = mgpu_default_options();
    o.nogpu = getenv("MGPU_TEST_HOST") != 0;
    o.deterministic = 1;
    return o;
}
#define mgpu_default_options options_by_environment
#endif

/* ---- nets: the [net] section is put before these ---- */

static const char net_header[] = "[net]\nbatch=%d\nsubdivisions=%d\nheight=16\nwidth=16\n"
                                 "channels=3\nlearning_rate=0.01\nmomentum=0.9\ndecay=0.0005\n"
                                 "policy=steps\nsteps=7,13\nscales=.5,.5\nburn_in=3\n";

typedef struct {
    const char *name;
    int batch_normalized;
    int flat; /* 1: some batch normalisation sees one value per channel and row */
    int yolo;
    const char *layers;
} test_net;

static const test_net test_nets[] = {
    {"plain", 0, 0, 0,
     "[convolutional]\nfilters=8\nsize=3\nstride=1\npad=1\nactivation=leaky\n"
     "[maxpool]\nsize=2\nstride=2\n"
     "[convolutional]\nfilters=12\nsize=3\nstride=2\npad=1\ngroups=2\nactivation=relu\n"
     "[maxpool]\nsize=3\nstride=1\n"
     "[connected]\noutput=24\nactivation=logistic\n"
     "[activation]\nactivation=tanh\n"
     "[connected]\noutput=10\nactivation=linear\n"
     "[softmax]\n"},
    {"normalised", 1, 0, 0,
     "[convolutional]\nbatch_normalize=1\nfilters=8\nsize=3\nstride=1\npad=1\nactivation="
     "leaky\n"
     "[maxpool]\nsize=2\nstride=2\n"
     "[convolutional]\nbatch_normalize=1\nfilters=12\nsize=1\nactivation=leaky\n"
     "learning_rate=.5\n"
     "[convolutional]\nbatch_normalize=1\nfilters=12\nsize=3\nstride=1\npad=1\nactivation="
     "linear\n"
     "[shortcut]\nfrom=-2\nactivation=leaky\n"
     "[convolutional]\nfilters=10\nsize=3\nstride=2\npad=1\nactivation=linear\n"
     "[avgpool]\n"
     "[softmax]\n"
     "[cost]\ntype=sse\n"},
    {"flat", 1, 1, 0,
     "[convolutional]\nbatch_normalize=1\nfilters=8\nsize=3\nstride=2\npad=1\nactivation="
     "leaky\n"
     "[connected]\nbatch_normalize=1\noutput=16\nactivation=leaky\n"
     "[connected]\noutput=10\nactivation=linear\n"
     "[logistic]\n"},
    {"yolo", 1, 0, 1,
     "[convolutional]\nbatch_normalize=1\nfilters=8\nsize=3\nstride=2\npad=1\nactivation="
     "leaky\n"
     "[convolutional]\nbatch_normalize=1\nfilters=8\nsize=3\nstride=2\npad=1\nactivation="
     "leaky\n"
     /* size 3, and nothing else reads what reorg does: 1x1 convolutions and reorg layers of
      * stock overwrite the delta below, and with it what a route has added */
     "[convolutional]\nfilters=14\nsize=3\npad=1\nactivation=linear\n"
     "[yolo]\nmask=2,3\nanchors=3,3, 5,6, 8,9, 14,12\nclasses=2\nnum=4\njitter=.1\n"
     "ignore_thresh=.5\ntruth_thresh=1\nrandom=0\n"
     "[route]\nlayers=-3\n"
     "[upsample]\nstride=2\n"
     "[route]\nlayers=-1,0\n"
     "[reorg]\nstride=2\n"
     "[convolutional]\nfilters=14\nsize=1\nactivation=linear\n"
     "[yolo]\nmask=0,1\nanchors=3,3, 5,6, 8,9, 14,12\nclasses=2\nnum=4\njitter=.1\n"
     "ignore_thresh=.5\ntruth_thresh=1\nrandom=0\n"},
    {"costs", 0, 0, 0,
     "[convolutional]\nfilters=6\nsize=3\nstride=2\npad=1\nactivation=elu\n"
     "[connected]\noutput=10\nactivation=logistic\n"
     "[cost]\ntype=smooth\n"}, /* all within 1: further off, stock's sign is wrong */
};

#define NNETS (int)(sizeof test_nets / sizeof *test_nets)

static inline const test_net *find_net(const char *name)
{
    for(int i = 0; i < NNETS; ++i) {
        if(strcmp(test_nets[i].name, name) == 0) return test_nets + i;
    }
    fprintf(stderr, "no net %s\n", name);
    exit(2);
}

static inline void write_cfg(const char *file, const test_net *net, int batch, int subdivisions)
{
    FILE *fp = fopen(file, "w");
    if(!fp) abort();
    fprintf(fp, net_header, batch, subdivisions);
    fputs(net->layers, fp);
    fclose(fp);
}

/* A softmax tree: three classes, and three more below the first. */
static inline void write_tree(const char *file)
{
    FILE *fp = fopen(file, "w");
    if(!fp) abort();
    fputs("a -1\nb -1\nc -1\nd 0\ne 0\nf 0\n", fp);
    fclose(fp);
}

/* ---- rows: a function of their number ---- */

static inline uint32_t mix(uint32_t a, uint32_t b)
{
    uint32_t h = a * 0x9E3779B1u ^ (b + 0x7F4A7C15u) * 0x85EBCA77u;
    h = (h ^ h >> 15) * 0x2C1B3C6Du;
    h = (h ^ h >> 12) * 0x297A2D39u;
    return h ^ h >> 15;
}

static inline float unit(uint32_t a, uint32_t b)
{
    return (mix(a, b) >> 8) / 16777216.f;
}

static inline void fill_row(const network *net, int yolo, int row, float *x, float *y)
{
    for(int i = 0; i < net->inputs; ++i) x[i] = unit(row, i);
    memset(y, 0, net->truths * sizeof *y);
    if(!yolo) {
        int class = mix(row, 1u << 20) % net->truths;
        y[class] = 1;
        x[class] += 2; /* something to learn */
        return;
    }
    for(int b = 0; b < 3; ++b) {
        for(int k = 0; k < 4; ++k) {
            y[b * 5 + k] =
                (k < 2 ? .1f : .15f) + (k < 2 ? .8f : .5f) * unit(row, 5000 + 4 * b + k);
        }
        y[b * 5 + 4] = mix(row, 6000 + b) % 2;
    }
}

static inline data make_rows(const network *net, int yolo, int first, int n)
{
    data d = {0};
    d.X = make_matrix(n, net->inputs);
    d.y = make_matrix(n, net->truths);
    for(int i = 0; i < n; ++i) fill_row(net, yolo, first + i, d.X.vals[i], d.y.vals[i]);
    return d;
}

/* ---- named arrays ---- */

typedef struct {
    char name[48];
    size_t n;
    float *values;
} named;

typedef struct {
    int n;
    named *arrays;
} snapshot;

static inline float *snapshot_add(snapshot *s, const char *name, int layer, const float *values,
                                  size_t n)
{
    s->arrays = realloc(s->arrays, (s->n + 1) * sizeof *s->arrays);
    named *a = s->arrays + s->n++;
    memset(a, 0, sizeof *a);
    snprintf(a->name, sizeof a->name, "%d.%s", layer, name);
    a->n = n;
    a->values = malloc(n * sizeof(float) + 1);
    if(values) memcpy(a->values, values, n * sizeof(float));
    return a->values;
}

static inline int is_output(const network *net, int i)
{
    int output = net->n - 1;
    while(net->layers[output].type == COST) --output;
    return i == output || net->layers[i].type == YOLO;
}

/* Every weight, bias, scale and running statistic, `seen`, the costs and the outputs of
 * `batch` rows. */
static inline snapshot take(const network *net, float returned)
{
    snapshot s = {0};
    for(int i = 0; i < net->n; ++i) {
        const layer *l = net->layers + i;
        if(l->type == CONVOLUTIONAL || l->type == CONNECTED) {
            size_t out = l->type == CONVOLUTIONAL ? l->n : l->outputs;
            size_t weights =
                l->type == CONVOLUTIONAL ? (size_t)l->nweights : (size_t)l->inputs * l->outputs;
            snapshot_add(&s, "weights", i, l->weights, weights);
            snapshot_add(&s, "biases", i, l->biases, out);
            if(l->batch_normalize) {
                snapshot_add(&s, "scales", i, l->scales, out);
                snapshot_add(&s, "rolling_mean", i, l->rolling_mean, out);
                snapshot_add(&s, "rolling_variance", i, l->rolling_variance, out);
            }
        }
        if(l->cost) snapshot_add(&s, "cost", i, l->cost, 1);
        if(is_output(net, i)) {
            snapshot_add(&s, "output", i, l->output, (size_t)net->batch * l->outputs);
        }
    }
    float seen = *net->seen;
    snapshot_add(&s, "seen", -1, &seen, 1);
    snapshot_add(&s, "net_cost", -1, net->cost, 1);
    snapshot_add(&s, "returned", -1, &returned, 1);
    return s;
}

static inline void snapshot_free(snapshot *s)
{
    for(int i = 0; i < s->n; ++i) free(s->arrays[i].values);
    free(s->arrays);
    *s = (snapshot){0};
}

static inline void snapshot_write(const snapshot *s, const char *file)
{
    FILE *fp = fopen(file, "wb");
    if(!fp) abort();
    fwrite(&s->n, sizeof s->n, 1, fp);
    for(int i = 0; i < s->n; ++i) {
        fwrite(s->arrays[i].name, sizeof s->arrays[i].name, 1, fp);
        fwrite(&s->arrays[i].n, sizeof s->arrays[i].n, 1, fp);
        fwrite(s->arrays[i].values, sizeof(float), s->arrays[i].n, fp);
    }
    fclose(fp);
}

static inline snapshot snapshot_read(const char *file)
{
    snapshot s = {0};
    int n;
    named a;
    FILE *fp = fopen(file, "rb");
    if(!fp) abort();
    if(fread(&n, sizeof n, 1, fp) != 1) exit(2);
    for(int i = 0; i < n; ++i) {
        if(fread(a.name, sizeof a.name, 1, fp) != 1) exit(2);
        if(fread(&a.n, sizeof a.n, 1, fp) != 1) exit(2);
        s.arrays = realloc(s.arrays, (s.n + 1) * sizeof *s.arrays);
        a.values = malloc(a.n * sizeof(float) + 1);
        if(fread(a.values, sizeof(float), a.n, fp) != a.n) exit(2);
        s.arrays[s.n++] = a;
    }
    fclose(fp);
    return s;
}

/* Relative L2 difference of two arrays; infinite if their lengths or a NaN differ. */
static inline double difference(const named *a, const named *b)
{
    double d = 0, sum = 0;
    if(a->n != b->n || strcmp(a->name, b->name)) return INFINITY;
    for(size_t i = 0; i < a->n; ++i) {
        double x = a->values[i], y = b->values[i];
        if(!(fabs(x) < 1e30) || !(fabs(y) < 1e30)) return INFINITY;
        d += (x - y) * (x - y);
        sum += y * y;
    }
    if(d == 0) return 0;
    return sum > 0 ? sqrt(d / sum) : INFINITY;
}

/* ---- silence: Darknet prints a lot ---- */

static int kept_streams[2] = {-1, -1};

static inline void quiet(void)
{
    fflush(stdout);
    fflush(stderr);
    int null = open("/dev/null", O_WRONLY);
    for(int i = 0; i < 2; ++i) {
        kept_streams[i] = dup(i + 1);
        dup2(null, i + 1);
    }
    close(null);
}

static inline void loud(void)
{
    fflush(stdout);
    fflush(stderr);
    for(int i = 0; i < 2; ++i) {
        dup2(kept_streams[i], i + 1);
        close(kept_streams[i]);
    }
}

#endif
