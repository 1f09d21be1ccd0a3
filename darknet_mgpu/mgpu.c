/* mgpu.c: the public functions. */
#include "mgpu.h"
#include "mgpu_cfg.h"
#include "mgpu_checkpoint.h"
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
    return (mgpu_options){.cpu_merge = 1, .cpu_relocation = 1, .seed = 1};
}

static int check_options(const mgpu_options *o)
{
    if(o->ngpus < 0 || o->ngpus > MGPU_HOST_DEVICES || (o->ngpus && !o->gpus)) {
        return mgpu_fail("%d devices asked for; 1 to %d are possible", o->ngpus,
                         MGPU_HOST_DEVICES);
    }
    for(int i = 0; i < o->ngpus; ++i) {
        if(o->gpus[i] < 0 || o->gpus[i] >= MGPU_HOST_DEVICES) {
            return mgpu_fail("there is no device %d; host devices are 0..%d", o->gpus[i],
                             MGPU_HOST_DEVICES - 1);
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
    if(o->shares && !o->ngpus) return mgpu_fail("shares need a list of devices");
    if(!o->cpu_merge || !o->cpu_relocation) {
        return mgpu_fail(
            "cpu_merge=0 and cpu_relocation=0 need CUDA devices, which this module "
            "does not support yet; use 1");
    }
    return 0;
}

network *mgpu_load_network(char *cfg, char *weights, int clear, const mgpu_options *o)
{
    mgpu_options options = o ? *o : mgpu_default_options();
    int all[MGPU_HOST_DEVICES];
    if(check_options(&options) < 0 || mgpu_check_cfg(cfg) < 0) return 0;
    if(options.ngpus == 0) {
        options.ngpus = mgpu_cores() < MGPU_HOST_DEVICES ? mgpu_cores() : MGPU_HOST_DEVICES;
        for(int i = 0; i < options.ngpus; ++i) all[i] = i;
        options.gpus = all;
    }
    mgpu_srand((unsigned int)(options.seed ^ options.seed >> 32));
    mgpu_least_rows(options.predicts ? options.ngpus : 0);
    network *root = parse_network_cfg(cfg);
    mgpu_least_rows(0);
    if(mgpu_root_make(root, cfg, &options) < 0) {
        mgpu_replica_free_rest(root);
        free_network(root);
        return 0;
    }
    mgpu_say_notes(root, options.predicts);
    if(load_checked(root, weights, clear) < 0) {
        free_network(root);
        return 0;
    }
    return root;
}
