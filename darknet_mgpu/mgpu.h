/* mgpu.h: train one Darknet network on several devices.
 *
 * mgpu_load_network() returns an ordinary Darknet network, the root of a set of
 * replicas, one per device. It is used with Darknet's own functions:
 * train_network, train_network_datum, train_network_sgd, network_predict,
 * network_predict_data, network_predict_image, resize_network,
 * set_batch_network, load_weights, save_weights, get_network_boxes; it is freed
 * with free_network. Those functions are not to be called on the same root from
 * two threads at once; different roots are independent.
 */
#ifndef MGPU_H
#define MGPU_H

#include "darknet.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MGPU_HOST_DEVICES 64 /* host device ids are 0..63 */

typedef struct {
    const int *gpus;    /* device ids, in the order in which they get rows */
    int ngpus;          /* how many; 0 means one device per core, or per `threads` cores */
    int cpu_merge;      /* 1: gradients are merged and applied on the host */
    int cpu_relocation; /* 1: the root lives in host memory */
    const int *shares;  /* how much each device is to get; NULL: all the same */
    int threads;        /* cores that each host device uses; 1 by default */
    int share_device;   /* 1: a device may be listed more than once */
    int sync_bn;        /* 1: batch normalisation sees all of a mini-batch that is cut */
    int reproducible;   /* 1: the same bytes for any number of devices, see below */
    int verbose;        /* 1: detection layers print their line, one a mini-batch */
    int profile;        /* 1: where the time of training went is printed when it is freed */
    int nogpu;          /* 1: host devices, in a build with CUDA too */
    int deterministic;  /* 1: cuDNN sums in the same order in every run; reproducible
                         * says so, too */
    int tf32;     /* 1: products and convolutions may be rounded to TF32 on CUDA devices */
    int predicts; /* 1: only to predict: a mini-batch gets a row per device or more */
    unsigned long long seed; /* of the initial weights and of dropout */
} mgpu_options;

/* With `reproducible`, gradients are added up mini-batch by mini-batch: every number of devices
 * to which whole mini-batches are dealt out (up to subdivisions) gives the same bytes. */

/* Options that say: every core, merge on the host, root on the host, seed 1. */
mgpu_options mgpu_default_options(void);

/* Build the network of `cfg` and one replica of it on each device of `o` (NULL
 * means the default options). `weights` is a weights file or NULL; `clear` not 0
 * sets `seen` to 0 after loading.
 * Needs a cfg whose layers are all in the module's table, a whole weights file
 * (one that ends at a layer boundary loads as partial, and says so on stderr).
 * Draws the initial weights from o->seed, reseeding Darknet's generator.
 * Prints Darknet's table of layers on stderr, once.
 * Returns the root, owned by the caller, or NULL with mgpu_error() set. A cfg
 * that Darknet itself can not read ends the program, as in stock.
 * Blocks until all replicas are built and their threads are waiting. */
network *mgpu_load_network(char *cfg, char *weights, int clear, const mgpu_options *o);

/* Turn the merged outputs of the last call to image `row` (0 .. net->batch - 1),
 * so that get_network_boxes(), which reads the first, gives that image's boxes.
 * Holds until the next call or the next mgpu_select_row(). Returns 0, or -1 with
 * mgpu_error() set. */
int mgpu_select_row(network *net, int row);

/* Where devices update themselves (cpu_merge or cpu_relocation 0), the host's arrays of
 * weights, momentum and moments follow only when they are saved or the root runs by itself.
 * These bring them up to what the devices have, for a caller who reads them, and tell the
 * devices that a caller has written to the weights. Without effect on other networks. The first
 * blocks and returns 0, or -1 with mgpu_error(). */
int mgpu_pull_weights(network *net);
void mgpu_push_weights(network *net);

/* Why the last call of this thread returned NULL, a negative number or a loss
 * that is not a number. Never NULL; owned by the module; holds until the
 * thread's next failing call. */
const char *mgpu_error(void);

#ifdef __cplusplus
}
#endif
#endif
