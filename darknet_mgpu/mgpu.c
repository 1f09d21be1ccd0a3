/* mgpu.c: the public functions. */
#include "mgpu.h"
#include "mgpu_cfg.h"
#include "mgpu_checkpoint.h"
#include "mgpu_cores.h"
#include "mgpu_device.h"
#include "mgpu_cuda.h"
#include "mgpu_error.h"
#include "mgpu_notes.h"
#include "mgpu_random.h"
#include "mgpu_root.h"

#include <stdlib.h>

static int load_checked(network *net, char *weights, int clear)
{
    if(weights && weights[0]) {
        int given = mgpu_check_weights(net, weights, 0, net->n);
        if(given < 0) return -1;
        load_weights(net, weights);
        if(given < net->n) {
            fprintf(stderr,
                    "mgpu: %s gives weights to layers 0 to %d; layers %d to %d start anew\n",
                    weights, given - 1, given, net->n - 1);
        }
    }
    if(clear) *net->seen = 0;
    return 0;
}

mgpu_options mgpu_default_options(void)
{
    return (mgpu_options){.cpu_merge = 1, .cpu_relocation = 1, .threads = 1, .seed = 1};
}

/* The kind of the devices that are asked for. */
static const mgpu_device *kind_of(const mgpu_options *o)
{
#ifdef GPU
    if(!o->nogpu) return &mgpu_cuda_device;
#endif
    (void)o;
    return &mgpu_host_device;
}

static int check_ids(const mgpu_device *kind, int count, const mgpu_options *o)
{
    for(int i = 0; i < o->ngpus; ++i) {
        if(o->gpus[i] < 0 || o->gpus[i] >= count) {
            return mgpu_fail("there is no device %d; %s devices are 0..%d", o->gpus[i],
                             kind->name, count - 1);
        }
        for(int j = 0; j < i && !o->share_device; ++j) {
            if(o->gpus[j] != o->gpus[i]) continue;
            return mgpu_fail("device %d is listed twice; if several replicas are to share it, "
                             "say share_device",
                             o->gpus[i]);
        }
        if(o->shares && o->shares[i] < 1) {
            return mgpu_fail("device %d has a share of %d; shares are 1 and more", o->gpus[i],
                             o->shares[i]);
        }
    }
    return 0;
}

static int check_options(const mgpu_device *kind, int count, const mgpu_options *o)
{
    if(o->ngpus < 0 || o->ngpus > MGPU_HOST_DEVICES || (o->ngpus && !o->gpus)) {
        return mgpu_fail("%d devices asked for; 1 to %d are possible", o->ngpus,
                         MGPU_HOST_DEVICES);
    }
    if(check_ids(kind, count, o) < 0) return -1;
    if(o->threads < 1) return mgpu_fail("%d threads a device; at least 1", o->threads);
    if(o->shares && !o->ngpus) return mgpu_fail("shares need a list of devices");
    if((!o->cpu_merge || !o->cpu_relocation) && !kind->update) {
        return mgpu_fail("cpu_merge=0 and cpu_relocation=0 need CUDA devices; %s devices share "
                         "the root's memory: use 1",
                         kind->name);
    }
    return 0;
}

/* Lists all devices in `all`, on the host as many as there are cores for. */
static void list_all(const mgpu_device *kind, int count, mgpu_options *o, int *all)
{
    if(kind == &mgpu_host_device) count = mgpu_cores() / o->threads;
    if(count < 1) count = 1;
    o->ngpus = count < MGPU_HOST_DEVICES ? count : MGPU_HOST_DEVICES;
    for(int i = 0; i < o->ngpus; ++i) all[i] = i;
    o->gpus = all;
}

static network *make_root(char *cfg, const mgpu_device *kind, const mgpu_options *o)
{
    mgpu_srand((unsigned int)(o->seed ^ o->seed >> 32));
    mgpu_least_rows(o->predicts ? o->ngpus : 0);
#ifdef GPU
    mgpu_cuda_modes = (mgpu_cuda_modes_t){o->deterministic || o->reproducible, o->tf32};
    cuda_set_device(o->cpu_relocation ? -1 : o->gpus[0]); /* where Darknet builds the root */
#endif
    network *root = parse_network_cfg(cfg);
    mgpu_least_rows(0);
    if(mgpu_root_make(root, cfg, kind, o) == 0) return root;
    mgpu_replica_free_rest(root);
    free_network(root);
    return 0;
}

network *mgpu_load_network(char *cfg, char *weights, int clear, const mgpu_options *o)
{
    mgpu_options options = o ? *o : mgpu_default_options();
    const mgpu_device *kind = kind_of(&options);
    int all[MGPU_HOST_DEVICES], count = kind->count();
    if(count == 0 || check_options(kind, count, &options) < 0 || mgpu_check_cfg(cfg) < 0) {
        return 0;
    }
    if(options.ngpus == 0) list_all(kind, count, &options, all);
    network *root = make_root(cfg, kind, &options);
    if(!root) return 0;
    mgpu_say_notes(root, options.predicts);
    if(load_checked(root, weights, clear) < 0) {
        free_network(root);
        return 0;
    }
    return root;
}

int mgpu_pull_weights(network *net)
{
    return net->replicas ? mgpu_root_settle(net) : 0;
}

void mgpu_push_weights(network *net)
{
    if(net->replicas) mgpu_root_changed(net);
}
