/* zoo.c: one cfg, two steps, on several devices against one.
 *
 *   zoo CFG
 *       prints a row of docs/zoo.md: the largest relative L2 difference of a tensor after the
 *       first and after the second step, with 2 and 3 devices, its noise after each, and a
 *       verdict:
 *       same                  each tensor within its bound after both steps
 *       same after one step   the second step is chaotic: rounding grows beyond the bound
 *       different
 *       refused: WHY
 *       Ends with status 1 if it is different, 2 if it is refused.
 *
 * One device is the reference: test_contract.c and test_replicas.c compare that with stock
 * and with Darknet without replicas. A tensor's bound is 1e-5, 1e-4 for what starts at zero
 * and for outputs and costs, and 1e-3 after the second step; or, where that is more, ten
 * times its noise: how far it is from itself on the one device with Darknet's own loops in
 * place of ours, which add in another order; with weights that are off by their last bit; or,
 * where no layer draws numbers for its row, with each mini-batch's rows in the reverse order;
 * whichever is most. (A bias below batch normalisation
 * has a gradient of next to nothing: what is left of it is noise.) Where rows are cut and the
 * net normalises over the batch, -sync_bn is used. */
#include "mgpu_loops.h"
#include "networks.h"
#include "mgpu.h"
#include "mgpu_statistics.h"

enum { NSTEPS = 2, OWN_LOOPS = 0, NUDGED, REVERSED, NOISES, NONE };

static network *load(char *cfg, int n, int sync)
{
    static const int ids[] = {0, 1, 2};
    mgpu_options o = mgpu_default_options();
    o.gpus = ids;
    o.ngpus = n;
    o.sync_bn = sync;
    return mgpu_load_network(cfg, 0, 0, &o);
}

static void reverse(float **rows, int n)
{
    for(int i = 0; i < n / 2; ++i) {
        float *kept = rows[i];
        rows[i] = rows[n - 1 - i];
        rows[n - 1 - i] = kept;
    }
}

/* Moves every weight by its last bit, up or down. */
static void nudge(network *net)
{
    mgpu_layout layout;
    if(mgpu_layout_make(&layout, net) < 0) exit(2);
    for(int i = 0; i < layout.n; ++i) {
        float *w = *mgpu_tensor_value(net, layout.tensors + i);
        for(size_t k = 0; k < layout.tensors[i].length; ++k) {
            w[k] = nextafterf(w[k], mix(i, k) & 1 ? INFINITY : -INFINITY);
        }
    }
    mgpu_layout_free(&layout);
}

static void train(network *net, int step, int reversed)
{
    int rows = net->batch * net->subdivisions;
    data d = make_batch(net, step * rows, rows);
    for(int i = 0; reversed && i < rows; i += net->batch) {
        reverse(d.X.vals + i, net->batch);
        reverse(d.y.vals + i, net->batch);
    }
    train_network(net, d);
    free_data(d);
}

/* Relative L2 difference, but for numbers that are none in both: a net without a cost layer
 * divides its cost by 0. */
static double apart(const named *a, const named *b)
{
    int none = 1;
    for(size_t i = 0; i < a->n; ++i) none &= a->values[i] != a->values[i];
    for(size_t i = 0; i < b->n; ++i) none &= b->values[i] != b->values[i];
    return none ? 0 : difference(a, b);
}

static double bound_of(const char *name, int step)
{
    if(step) return 1e-3;
    return strstr(name, "weights") || strstr(name, "scales") ? 1e-5 : 1e-4;
}

typedef struct {
    double most;  /* difference of a tensor */
    double noise; /* the largest on one device */
    double times; /* the bound; more than 1: different */
    const char *name;
} result;

static void compare(const snapshot *ours, const snapshot *theirs,
                    const snapshot noise[NOISES][NSTEPS], int step, result *r)
{
    for(int i = 0; i < ours->n; ++i) {
        const named *a = ours->arrays + i, *b = theirs->arrays + i;
        double d = apart(a, b), bound = bound_of(a->name, step);
        double own = 0;
        for(int k = 0; k < NOISES; ++k) {
            int moved = k == REVERSED && strstr(b->name, "output"); /* its rows are */
            if(noise[k][step].n && !moved) own = fmax(own, apart(noise[k][step].arrays + i, b));
        }
        if(own > r->noise) r->noise = own;
        if(10 * own > bound) bound = 10 * own;
        if(d > r->most) r->most = d;
        if(!(d / bound > r->times)) continue;
        r->times = d / bound;
        r->name = b->name;
    }
}

static int verdict(const result r[NSTEPS], int synced, int no_loss)
{
    const char *with = synced ? " with `-sync_bn`" : "";
    if(no_loss) with = "; it has no loss";
    if(r[0].times > 1) return printf(" different: %s |\n", r[0].name), 1;
    return printf(" same%s%s |\n", with, r[1].times > 1 ? " after one step" : ""), 0;
}

static int draws(const network *net)
{
    for(int i = 0; i < net->n; ++i) {
        if(net->layers[i].type == DROPOUT || net->layers[i].type == CROP) return 1;
    }
    return 0;
}

/* Both steps on n devices with that noise: what came out of each; nothing where the noise
 * would be another training. */
static int run(char *cfg, int n, int noise, snapshot out[NSTEPS], int *synced)
{
    network *net = load(cfg, n, 1);
    if(!net) return -1;
    if(noise == REVERSED && (draws(net) || mgpu_recurrent(net))) {
        free_network(net);
        return 0;
    }
    if(noise == NUDGED) nudge(net);
    mgpu_tuned = noise != OWN_LOOPS;
    *synced |= mgpu_has_batch_normalisation(net) && n > net->subdivisions;
    for(int step = 0; step < NSTEPS; ++step) {
        train(net, step, noise == REVERSED);
        out[step] = collect(net, 0);
    }
    free_network(net);
    return 0;
}

int main(int argc, char **argv)
{
    if(argc != 2) return 2;
    snapshot theirs[NSTEPS], ours[NSTEPS], noise[NOISES][NSTEPS] = {{{0}}};
    result results[NSTEPS] = {{0, 0, 0, ""}, {0, 0, 0, ""}};
    int synced = 0;
    gpu_index = -1;
    quiet();
    if(run(argv[1], 1, NONE, theirs, &synced) < 0) {
        loud();
        printf(" | | | | refused: %s |\n", mgpu_error());
        return 2;
    }
    const named *cost = theirs[0].arrays + theirs[0].n - 3; /* cost, returned, seen */
    int no_loss = cost->values[0] != cost->values[0];
    for(int k = 0; k < NOISES; ++k) run(argv[1], 1, k, noise[k], &synced);
    for(int n = 2; n <= 3; ++n) {
        run(argv[1], n, NONE, ours, &synced);
        for(int step = 0; step < NSTEPS; ++step) {
            compare(ours + step, theirs + step, noise, step, results + step);
            snapshot_free(ours + step);
        }
    }
    loud();
    for(int i = 0; i < NSTEPS; ++i) printf(" %.0e | %.0e |", results[i].most, results[i].noise);
    return verdict(results, synced, no_loss);
}
