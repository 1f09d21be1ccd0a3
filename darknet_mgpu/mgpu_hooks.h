/* mgpu_hooks.h: what the semantic patches in patches/ make Darknet call.
 * Included by patched Darknet files, so it needs nothing but darknet.h. What stands in place of
 * gemm_cpu and of Darknet's loops, and what builds for CUDA call besides, is declared in the
 * headers included here. */
#ifndef MGPU_HOOKS_H
#define MGPU_HOOKS_H

#include "mgpu_hooks_cuda.h"
#include "mgpu_loops.h"
#include "mgpu_products.h"

/* The head of Darknet's functions, called when `net` is a root. They do the
 * whole of that function's work, except mgpu_resize (the replicas' part: Darknet
 * goes on with the root) and mgpu_free (likewise). */
float mgpu_train_network(network *net, data d);
float mgpu_train_datum(network *net);
float *mgpu_predict(network *net, float *input);
void mgpu_resize(network *net, int w, int h);
void mgpu_free(network *net);

/* Before a root loads `file` into layers start..cutoff-1: ends the program with
 * status 1 and a reason if the file does not fit them. */
void mgpu_loading_weights(network *net, const char *file, int start, int cutoff);

/* Before a root is saved or runs by itself: brings its arrays up to what the devices have.
 * Without effect on other networks. */
void mgpu_settle(network *net);

/* Before a root updates itself: settles it; the devices then take its weights. */
void mgpu_updating(network *net);

/* After the [net] section was read: a replica that is being built gets its own
 * number of rows. */
void mgpu_parsed_options(network *net);

/* Before a layer's forward pass and after its backward pass; net.index is its place. In a
 * replica: has the device wait for the layer's weights, and its gradient is on its way. */
void mgpu_layer_begins(network net);
void mgpu_layer_ends(network net);

/* 1 if layer net.index's delta need not be zeroed: its backward pass finds it written. */
int mgpu_overwrites_delta(network net);

/* In batch normalisation's forward pass in training. In a replica: notes l.mean
 * and l.variance (l.out_c floats each) for the root and returns 1; elsewhere
 * returns 0 and the caller moves its running statistics. */
int mgpu_log_statistics(layer l, network net);

/* In batch normalisation, after l.mean and l.variance, or l.mean_delta and
 * l.variance_delta, were computed: in a replica that shares its mini-batch under sync_bn they
 * become those of the whole mini-batch. Blocks until the other replicas are there. */
void mgpu_pool_statistics(layer l, network net);
void mgpu_pool_deltas(layer l, network net);

/* The head of reset_network_state on a root: sequence b's state is zeroed where it lives. */
void mgpu_reset_state(network *net, int b);

/* For a layer that draws. In a replica: fills x, rows times n floats, with numbers from
 * [0, 1) that depend on the seed, the step, the layer and the row of the mini-batch, and
 * returns 1; elsewhere returns 0 and the caller draws as it always did. */
int mgpu_uniform(network net, float *x, int rows, int n);

/* In a crop layer, before row `row`. In a replica that trains: sets whether the row is mirrored
 * and which rows and columns of it are cut off, drawn as mgpu_uniform draws; elsewhere leaves
 * them as they are. */
void mgpu_crop(layer l, network net, int row, int *flip, int *down, int *right);

/* fprintf and printf that say nothing in a thread that builds or runs a replica. */
int mgpu_fprintf(FILE *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
int mgpu_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* In place of rand, srand and rand_normal; see mgpu_random.h. */
int mgpu_rand(void);
void mgpu_srand(unsigned int seed);
float mgpu_rand_normal(void);

/* In place of rand() % 2 for mirroring an image: 0 where the cfg says flip=0. */
int mgpu_flip(void);

/* Before an image that can not be read ends the program: 1 if this thread goes on with a blank
 * one, which mgpu_data.c then loads another for. */
int mgpu_image_failed(const char *reason);

/* Where this thread keeps why its last image could not be read. */
const char **mgpu_image_reason(void);

/* `darknet mgpu WORDS...`, all of main's words: returns the exit status, or -1 where main
 * is to go on with a command of Darknet's, which *argc and argv then name. */
int mgpu_command(int *argc, char **argv);

/* While a command of Darknet's runs under `darknet mgpu` (see mgpu_stock.h), else without
 * effect. At the head of load_network: the root of replicas that the command is to
 * work on, or NULL, and Darknet loads a plain network. */
network *mgpu_load_root(char *cfg, char *weights, int clear);

/* Where to save, and the list of images, instead of those that the command names itself. */
char *mgpu_backup(char *directory);
char *mgpu_image_list(char *file);

/* The number of a thread that is about to load rows, and its first words: see
 * mgpu_seed_loading. 0: it draws as it always did. */
size_t mgpu_number_loading(void);
void mgpu_loading(size_t number);

/* Where a network is: in builds without CUDA, always on the host. */
static inline int mgpu_on_host(network net)
{
#ifdef GPU
    return net.gpu_index < 0;
#else
    (void)net;
    return 1;
#endif
}

/* After main has read -i and -nogpu into gpu_index: ends the program with status 1 and a reason
 * if there is no such CUDA device. */
void mgpu_choose_device(void);

/* At the head of what Darknet has only for CUDA: ends the program with status 1 and a reason
 * if this thread's device is the host. */
void mgpu_needs_cuda(void);

/* The network's device becomes this thread's. */
void mgpu_bind_device(const network *net);

/* Copies the output of a layer of `net` to host memory, if it is not there. */
void mgpu_pull_output(const network *net, layer l);

/* Around a change of rows, the device being bound: what the workspace has room for at least,
 * and a larger one if the algorithms that were chosen for the new rows need it. */
size_t mgpu_workspace(const network *net);
void mgpu_fit_workspace(network *net, size_t room);

/* After the rows of a layer within a layer were set: chooses the algorithms for them. */
void mgpu_rows_set(layer *l);

/* Destroys what cuDNN keeps for a layer, but not for layers within it. */
void mgpu_free_descriptors(layer *l);

#endif
