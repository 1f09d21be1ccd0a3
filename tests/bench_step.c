/* bench_step.c: one network, some training steps on made-up rows; its speed and its
 * memory. Compiled against stock (-DSTOCK) and against ours.
 *
 *   bench_step CFG DEVICES STEPS [reproducible]
 *       prints images (of recurrent nets, time steps) per second after the first step, the
 * resident size now and its highest, in MB; stock takes DEVICES to be 1
 */
#include "support.h"
#ifndef STOCK
#include "mgpu.h"
#endif

static network *load(char *cfg, int devices, int reproducible)
{
#ifdef STOCK
    (void)devices, (void)reproducible;
    return load_network(cfg, 0, 0);
#else
    int ids[MGPU_HOST_DEVICES];
    mgpu_options o = mgpu_default_options();
    for(int i = 0; i < MGPU_HOST_DEVICES; ++i) ids[i] = i;
    o.gpus = ids;
    o.ngpus = devices;
    o.reproducible = reproducible;
    network *net = mgpu_load_network(cfg, 0, 0, &o);
    if(net) return net;
    loud();
    fprintf(stderr, "bench_step: %s\n", mgpu_error());
    exit(1);
#endif
}

/* A number of kB from /proc/self/status, in MB. */
static double status_mb(const char *key)
{
    char line[256];
    double mb = 0;
    FILE *fp = fopen("/proc/self/status", "r");
    while(fp && fgets(line, sizeof line, fp)) {
        if(strncmp(line, key, strlen(key)) == 0) mb = atof(line + strlen(key)) / 1024;
    }
    if(fp) fclose(fp);
    return mb;
}

int main(int argc, char **argv)
{
    if(argc != 4 && argc != 5) return 2;
    int steps = atoi(argv[3]);
    gpu_index = -1;
    quiet();
    network *net = load(argv[1], atoi(argv[2]), argc == 5);
    int rows = net->batch * net->subdivisions;
    data d = make_rows(net, net->layers[net->n - 1].type == YOLO, 0, rows);
    train_network(net, d);
    double start = what_time_is_it_now();
    for(int i = 1; i < steps; ++i) train_network(net, d);
    double seconds = what_time_is_it_now() - start;
    loud();
    printf("%.2f %.0f %.0f\n", steps > 1 ? rows * (steps - 1) / seconds : 0,
           status_mb("VmRSS:"), status_mb("VmHWM:"));
    return 0;
}
