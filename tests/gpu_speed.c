/* gpu_speed.c: images per second of training on CUDA devices, and how fast the module copies.
 * Compiled against stock (-DSTOCK), which has one device and no copies of its own, and against
 * ours.
 *
 *   gpu_speed train CFG REPLICAS CARDS MERGE STEPS SECONDS
 *       trains on made-up rows that lie in memory, with REPLICAS on CARDS devices (1: they
 *       share the first), that merge on the host (MERGE host) or among themselves (devices).
 *       After two steps that are not counted, prints a line with the images per second of each
 *       of at most STEPS steps, until SECONDS have passed.
 *   gpu_speed copy CFG REPLICAS CARDS
 *       prints the GB/s at which all the weights of CFG come from the root to the replicas,
 *       and their gradients back: all replicas together, median of ROUNDS
 */
#include "support.h"
#ifndef STOCK
#include "mgpu.h"
#include "mgpu_device.h"
#include "mgpu_root.h"
#endif

#define UNCOUNTED 2
#define ROUNDS 9

#ifdef STOCK
static network *load(char **argv)
{
    return load_network(argv[2], 0, 0);
}
#else
static network *load(char **argv)
{
    int replicas = atoi(argv[3]), cards = atoi(argv[4]), ids[MGPU_HOST_DEVICES];
    mgpu_options o = mgpu_default_options();
    for(int i = 0; i < MGPU_HOST_DEVICES; ++i) ids[i] = cards > 1 ? i : 0;
    o.gpus = ids;
    o.ngpus = replicas;
    o.share_device = cards == 1;
    o.cpu_merge = o.cpu_relocation = !argv[5] || strcmp(argv[5], "devices") != 0;
    network *net = mgpu_load_network(argv[2], 0, 0, &o);
    if(net) return net;
    loud();
    fprintf(stderr, "gpu_speed: %s\n", mgpu_error());
    exit(1);
}
#endif

/* Ends the program where a device failed. */
static void step(network *net, data d)
{
    float loss = train_network(net, d);
    if(isfinite(loss)) return;
    loud();
    fprintf(stderr, "gpu_speed: the loss is not a number\n");
#ifndef STOCK
    fprintf(stderr, "gpu_speed: %s\n", mgpu_error());
#endif
    exit(1);
}

static void train(char **argv)
{
    int most = atoi(argv[6]), n = 0;
    double limit = atof(argv[7]), *speeds = calloc(most + 1, sizeof *speeds);
    network *net = load(argv);
    int rows = net->batch * net->subdivisions;
    data d = make_rows(net, net->layers[net->n - 1].type == YOLO, 0, rows);
    for(int i = 0; i < UNCOUNTED; ++i) step(net, d);
    double began = what_time_is_it_now(), before = began;
    while(n < most && before - began < limit) {
        step(net, d);
        double now = what_time_is_it_now();
        speeds[n++] = rows / (now - before);
        before = now;
    }
    loud();
    for(int i = 0; i < n; ++i) printf("%.3f\n", speeds[i]);
}

#ifndef STOCK
/* As a step begins, and as a backward pass ends. */
static void publish_all(void *arg, int worker)
{
    mgpu *m = arg;
    mgpu_replica *r = m->replicas + worker;
    for(int b = m->shared.nbuckets - 1; b >= 0; --b) m->shared.kind->publish(r, b);
    for(int b = 0; b < m->shared.nbuckets; ++b) m->shared.kind->ready(r, b);
    m->shared.kind->finish(r);
}

static void collect_all(void *arg, int worker)
{
    mgpu *m = arg;
    mgpu_replica *r = m->replicas + worker;
    for(int b = 0; b < m->shared.nbuckets; ++b) m->shared.kind->collect(r, b);
    for(int b = 0; b < m->shared.nbuckets; ++b) m->shared.kind->landed(r, b);
}

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of ROUNDS, in GB/s. */
static double rate(mgpu *m, mgpu_job job)
{
    double rates[ROUNDS], bytes = (double)m->n * m->layout.learned * sizeof(float);
    for(int i = -1; i < ROUNDS; ++i) { /* the first is not counted */
        double began = what_time_is_it_now();
        if(mgpu_workers_run(m->workers, job, m) < 0) {
            loud();
            fprintf(stderr, "gpu_speed: %s\n", mgpu_error());
            exit(1);
        }
        if(i >= 0) rates[i] = bytes / (what_time_is_it_now() - began) * 1e-9;
    }
    qsort(rates, ROUNDS, sizeof *rates, rising);
    return rates[ROUNDS / 2];
}

static void copy(char **argv)
{
    network *net = load(argv);
    double to = rate(net->mgpu, publish_all), from = rate(net->mgpu, collect_all);
    loud();
    printf("%.2f %.2f\n", to, from);
}
#endif

int main(int argc, char **argv)
{
    quiet();
    if(argc == 8 && strcmp(argv[1], "train") == 0) {
        train(argv);
        return 0;
    }
#ifndef STOCK
    if(argc == 5 && strcmp(argv[1], "copy") == 0) {
        copy(argv);
        return 0;
    }
#endif
    return 2;
}
