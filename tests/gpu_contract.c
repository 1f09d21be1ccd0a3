/* gpu_contract.c: the contract on the CUDA devices of this machine, without a test library.
 *
 *   gpu_contract SECONDS [NET...]
 *       trains the nets of support.h (all, or those named) on 1, 2 and 4 replicas that share
 *       device 0 and, where there are several devices, on 1, 2 and 4 of those; by all four ways
 *       of cpu_merge and cpu_relocation. Prints on stdout a line for each claim, with the
 *       largest relative L2 differences and whether the bounds hold; on stderr what fails.
 *       Begins no case after SECONDS. Status 0: all cases were run, and all bounds hold.
 */
#include "support.h"
#include "mgpu.h"
#include "mgpu_cuda.h"

#include <float.h>

#define STEPS 20

/* How a batch is cut up, and whether batch normalisation sees whole mini-batches then. */
typedef struct {
    const char *name;
    int rows, subdivisions; /* of a mini-batch; of a batch */
    int sync_bn;
    int normalised; /* 1: only for nets with batch normalisation */
    int alone;      /* 1: each number of replicas trains in its own way: only the host agrees */
} shape;

static const shape shapes[] = {
    {"whole mini-batches", 4, 4, 0, 0, 0},
    {"cut mini-batches", 8, 1, 1, 0, 0},
    {"cut mini-batches, each part normalised alone", 8, 1, 0, 1, 1},
};

static const struct {
    int cpu_merge, cpu_relocation;
} ways[] = {{1, 1}, {1, 0}, {0, 1}, {0, 0}};

static const int counts[] = {1, 2, 4};

#define NSHAPES (int)(sizeof shapes / sizeof *shapes)
#define NWAYS (int)(sizeof ways / sizeof *ways)
#define NCOUNTS (int)(sizeof counts / sizeof *counts)

/* Where replicas run. */
typedef enum { HOST, SHARED, APART } place;

typedef struct {
    const test_net *net;
    const shape *shape;
    int way;
    place place;
    int replicas, reproducible;
} run_case;

/* All arrays after the first step and after the last. */
typedef struct {
    snapshot first, last;
} result;

/* A claim, and what was found: [0] after one step, [1] then of arrays that started at zero,
 * [2] after the last step. */
typedef struct {
    const char *name;
    double bounds[3], found[3];
    int cases, failed;
} claim;

enum { ALIKE_SHARED, ALIKE_APART, LIKE_HOST, SAME_BYTES, NCLAIMS };

static claim claims[NCLAIMS] = {
    {"2 and 4 replicas on one card, to one", {1e-6, 1e-5, 1e-4}, {0}, 0, 0},
    {"2 and 4 replicas on a card each, to one", {1e-6, 1e-5, 1e-4}, {0}, 0, 0},
    {"1, 2 and 4 replicas on cards, to host", {1e-4, 1e-4, INFINITY}, {0}, 0, 0},
    {"-reproducible: the same bytes", {0, 0, 0}, {0}, 0, 0},
};

/* cuDNN chooses its algorithms by the number of rows: a part of a mini-batch may be computed by
 * another than the whole, which rounds differently. */
#ifdef CUDNN
#define CUT 10
#else
#define CUT 1
#endif

static char cfg[] = "/tmp/gpu_contract_XXXXXX";
static double deadline;
static int unfinished; /* cases that were not begun */

static void say_case(const run_case *c)
{
    static const char *const places[] = {"host", "one card", "a card each"};
    fprintf(stderr,
            "%s, %s, cpu_merge %d, cpu_relocation %d, %d replicas (%s)%s: ", c->net->name,
            c->shape->name, ways[c->way].cpu_merge, ways[c->way].cpu_relocation, c->replicas,
            places[c->place], c->reproducible ? ", reproducible" : "");
}

/* ---- one training ---- */

static network *load(const run_case *c)
{
    static const int same[] = {0, 0, 0, 0}, others[] = {0, 1, 2, 3};
    mgpu_options o = mgpu_default_options();
    o.nogpu = c->place == HOST;
    o.gpus = c->place == SHARED ? same : others;
    o.share_device = c->place == SHARED;
    o.ngpus = c->replicas;
    o.sync_bn = c->shape->sync_bn && c->net->batch_normalized;
    o.reproducible = o.deterministic = c->reproducible;
    if(c->place != HOST) {
        o.cpu_merge = ways[c->way].cpu_merge;
        o.cpu_relocation = ways[c->way].cpu_relocation;
    }
    return mgpu_load_network(cfg, 0, 0, &o);
}

/* Trains up to step `to`. Returns the last loss. */
static float train(network *net, const run_case *c, int from, int to)
{
    float loss = 0;
    int rows = net->batch * net->subdivisions;
    for(int i = from; i < to; ++i) {
        data d = make_rows(net, c->net->yolo, i * rows, rows);
        loss = train_network(net, d);
        free_data(d);
    }
    return loss;
}

/* What the net has learned after a step and after STEPS of them, or on the host, which is
 * compared after one only, after that one. Returns 0, or -1 where it can not be trained. */
static int run(const run_case *c, result *r)
{
    *r = (result){0};
    quiet();
    network *net = load(c);
    float loss = net ? train(net, c, 0, 1) : NAN;
    int failed = !isfinite(loss) || mgpu_pull_weights(net) < 0;
    if(!failed) r->first = take(net, loss);
    if(!failed && c->place != HOST) {
        loss = train(net, c, 1, STEPS);
        failed = !isfinite(loss) || mgpu_pull_weights(net) < 0;
        if(!failed) r->last = take(net, loss);
    }
    if(net) free_network(net);
    loud();
    if(!failed) return 0;
    say_case(c);
    fprintf(stderr, "%s\n", mgpu_error());
    return -1;
}

static void free_result(result *r)
{
    snapshot_free(&r->first);
    snapshot_free(&r->last);
}

/* ---- comparing ---- */

static int started_at_zero(const char *name)
{
    return strstr(name, "biases") || strstr(name, "rolling");
}

/* As far as two arrays are apart for this claim: other bytes are never 0. */
static double apart(const claim *k, const named *a, const named *b)
{
    double d = difference(a, b);
    if(d > 0 || k != claims + SAME_BYTES) return d;
    return memcmp(a->values, b->values, a->n * sizeof(float)) ? DBL_MIN : 0;
}

/* Compares all arrays; `last` says after how many steps. Returns how many break a bound. */
static int compare(claim *k, const run_case *c, const snapshot *a, const snapshot *b, int last)
{
    int failed = a->n != b->n || a->n == 0;
    double worst = 0, factor = c->shape->subdivisions == 1 ? CUT : 1;
    for(int i = 0; !failed && i < a->n; ++i) {
        const char *name = a->arrays[i].name;
        int kind = last ? 2 : started_at_zero(name) ? 1 : 0;
        double d = apart(k, a->arrays + i, b->arrays + i);
        if(d > k->found[kind]) k->found[kind] = d;
        if(d <= k->bounds[kind] * factor || d <= worst) continue;
        worst = d;
        say_case(c);
        fprintf(stderr, "%s is off by %.1e after %d steps\n", name, d, last ? STEPS : 1);
    }
    return failed || worst > 0;
}

static void judge(claim *k, const run_case *c, const result *a, const result *b)
{
    int failed = compare(k, c, &a->first, &b->first, 0);
    if(c->place != HOST && k != claims + LIKE_HOST) {
        failed += compare(k, c, &a->last, &b->last, 1);
    }
    ++k->cases;
    k->failed += failed > 0;
}

/* ---- the sweep ---- */

static int in_time(void)
{
    if(what_time_is_it_now() < deadline) return 1;
    ++unfinished;
    return 0;
}

/* Trains one number of replicas and compares it with one replica and with the host. */
static void check_count(run_case c, const result *one, const result *host)
{
    result r;
    if(!in_time()) return;
    claim *alike = claims + (c.reproducible      ? SAME_BYTES
                             : c.place == SHARED ? ALIKE_SHARED
                                                 : ALIKE_APART);
    if(run(&c, &r) < 0) {
        ++alike->cases;
        ++alike->failed;
        return;
    }
    if(!c.shape->alone) judge(alike, &c, &r, one);
    if(!c.reproducible) judge(claims + LIKE_HOST, &c, &r, host);
    free_result(&r);
}

/* One way of one shape, on the cards; host[i] is what counts[i] host devices learned. */
static void check_way(run_case c, int cards, const result *host)
{
    result one;
    c.place = SHARED;
    c.replicas = 1;
    if(!in_time()) return;
    if(run(&c, &one) < 0) {
        ++claims[LIKE_HOST].cases;
        ++claims[LIKE_HOST].failed;
        return;
    }
    if(!c.reproducible) judge(claims + LIKE_HOST, &c, &one, host);
    for(int i = 1; i < NCOUNTS; ++i) {
        c.replicas = counts[i];
        c.place = SHARED;
        check_count(c, &one, host + i);
        c.place = APART;
        if(counts[i] <= cards) check_count(c, &one, host + i);
    }
    free_result(&one);
}

static void check_shape(const test_net *net, const shape *s, int cards)
{
    result host[NCOUNTS] = {{{0}, {0}}};
    write_cfg(cfg, net, s->rows * s->subdivisions, s->subdivisions);
    for(int i = 0; i < NCOUNTS; ++i) {
        run_case c = {net, s, 0, HOST, counts[i], 0};
        if(run(&c, host + i) < 0) exit(1);
    }
    for(int way = 0; way < NWAYS; ++way) {
        check_way((run_case){net, s, way, SHARED, 1, 0}, cards, host);
        if(s->subdivisions > 1) {
            check_way((run_case){net, s, way, SHARED, 1, 1}, cards, host);
        }
    }
    for(int i = 0; i < NCOUNTS; ++i) free_result(host + i);
}

static void sweep(const test_net *net, int cards)
{
    for(int i = 0; i < NSHAPES; ++i) {
        if(shapes[i].normalised && !net->batch_normalized) continue;
        check_shape(net, shapes + i, cards);
    }
}

/* ---- the verdict ---- */

static void print_claim(const claim *k)
{
    char last[16] = "-", verdict[64] = "held";
    if(k->cases == 0) {
        printf("not measured: %s\n", k->name);
        return;
    }
    if(k->bounds[2] < INFINITY) snprintf(last, sizeof last, "%.1e", k->found[2]);
    if(k->failed) snprintf(verdict, sizeof verdict, "NOT HELD (%d of", k->failed);
    printf("%-40s %8.1e %8.1e %8s  %s%s%d)\n", k->name, k->found[0], k->found[1], last, verdict,
           k->failed ? " " : " (", k->cases);
}

int main(int argc, char **argv)
{
    int cards = mgpu_cuda_count(), failed = 0, made;
    if(argc < 2) return 2;
    if(cards == 0) {
        fprintf(stderr, "gpu_contract: %s\n", mgpu_error());
        return 1;
    }
    if((made = mkstemp(cfg)) < 0) {
        perror(cfg);
        return 1;
    }
    close(made);
    deadline = what_time_is_it_now() + atof(argv[1]);
    for(int i = 0; argc == 2 && i < NNETS; ++i) sweep(test_nets + i, cards);
    for(int i = 2; i < argc; ++i) sweep(find_net(argv[i]), cards);
    remove(cfg);
    for(int i = 0; i < NCLAIMS; ++i) {
        print_claim(claims + i);
        failed += claims[i].failed;
    }
    if(unfinished)
        printf("not measured: what %d cases more would say (time is up)\n", unfinished);
    return failed || unfinished;
}
