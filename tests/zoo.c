/* zoo.c: one cfg, two steps, on several devices against one.
 *
 *   zoo CFG
 *       prints a row of docs/zoo.md: the largest relative L2 difference of a tensor after the
 *       first and after the second step, with 2 and 3 devices, and a verdict:
 *       same                  within 1e-5 after the first step, 1e-3 after the second
 *       same after one step   the second step is chaotic: rounding grows beyond that
 *       different
 *       refused: WHY
 *       Ends with status 1 if it is different, 2 if it is refused.
 *
 * One device is the reference: test_contract.c and test_replicas.c compare that with stock
 * and with Darknet without replicas. Where rows are cut and the net normalises over the
 * batch, -sync_bn is used. */
#include "networks.h"
#include "mgpu.h"
#include "mgpu_statistics.h"

enum { NSTEPS = 2 };

static network *load(char *cfg, int n, int sync)
{
    static const int ids[] = {0, 1, 2};
    mgpu_options o = mgpu_default_options();
    o.gpus = ids;
    o.ngpus = n;
    o.sync_bn = sync;
    return mgpu_load_network(cfg, 0, 0, &o);
}

static void train(network *net, int step)
{
    int rows = net->batch * net->subdivisions;
    data d = make_batch(net, step * rows, rows);
    train_network(net, d);
    free_data(d);
}

/* The largest difference of a tensor; of what starts at zero, and of costs and outputs, a
 * tenth, as the contract's bound for them is ten times as wide. */
static double largest(const snapshot *ours, const snapshot *theirs, const char **name)
{
    double most = 0;
    for(int i = 0; i < ours->n; ++i) {
        const char *a = ours->arrays[i].name;
        double d = difference(ours->arrays + i, theirs->arrays + i);
        if(strstr(a, "weights") == 0 && strstr(a, "scales") == 0) d /= 10;
        if(d > most || d != d) {
            most = d;
            *name = a;
        }
    }
    return most;
}

static int verdict(double most[NSTEPS], int synced, const char *name)
{
    const char *with = synced ? " with `-sync_bn`" : "";
    if(most[0] <= 1e-5 && most[1] <= 1e-3) return printf(" same%s |\n", with), 0;
    if(most[0] <= 1e-5) return printf(" same%s after one step |\n", with), 0;
    return printf(" different: %s |\n", name), 1;
}

int main(int argc, char **argv)
{
    if(argc != 2) return 2;
    double most[NSTEPS] = {0};
    const char *name = "";
    snapshot theirs[NSTEPS];
    int synced = 0;
    gpu_index = -1;
    quiet();
    for(int n = 1; n <= 3; ++n) {
        network *net = load(argv[1], n, 1);
        if(!net) {
            loud();
            printf(" | | refused: %s |\n", mgpu_error());
            return 2;
        }
        synced |= mgpu_has_batch_normalisation(net) && n > net->subdivisions;
        for(int step = 0; step < NSTEPS; ++step) {
            train(net, step);
            snapshot ours = collect(net, 0);
            if(n == 1) {
                theirs[step] = ours;
                continue;
            }
            double d = largest(&ours, theirs + step, &name);
            if(!(d <= most[step])) most[step] = d;
            snapshot_free(&ours);
        }
        free_network(net);
    }
    loud();
    printf(" %.0e | %.0e |", most[0], most[1]);
    return verdict(most, synced, name);
}
