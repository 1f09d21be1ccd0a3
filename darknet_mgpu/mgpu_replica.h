/* mgpu_replica.h: a network on one device, beside the root whose weights it uses. */
#ifndef MGPU_REPLICA_H
#define MGPU_REPLICA_H

#include "mgpu_compute.h"
#include "mgpu_lines.h"
#include "mgpu_profile.h"
#include "mgpu_sync.h"
#include "mgpu_tensors.h"

typedef struct mgpu_device mgpu_device; /* mgpu_device.h */
typedef struct mgpu_replica mgpu_replica;

/* What all replicas of one root share. */
typedef struct {
    const char *cfg;
    network *root;
    const mgpu_layout *layout;
    const mgpu_device *kind; /* of all its devices */
    unsigned long long seed; /* of what layers draw */
    int nbuckets;
    mgpu_bucket *buckets;
    int n;       /* replicas */
    int threads; /* see mgpu_options, as the next two */
    int deterministic, tf32;
    int on_device; /* 1: the devices update themselves */
    int joined;    /* 1: they can add up their gradients by kind->reduce */

    /* The root's arenas W, U, m and v (NULL under SGD) and R. Host replicas read W and R in
     * place; under on_device W, U, m and v are the devices', and these follow on demand. */
    float *weights, *updates, *moments[2], *running;
} mgpu_shared;

struct mgpu_replica {
    const mgpu_shared *shared;
    int number;            /* among the replicas */
    int device;            /* its id */
    void *place;           /* what it has there, the kind's own; NULL: not opened, or nothing */
    int capacity;          /* sequences that `net` was built for; 0: not built yet */
    network *net;          /* Darknet's network; its activations are its own */
    mgpu_compute *compute; /* how its layers compute on the host; NULL: as Darknet's do */
    float *gradients;      /* arena of layout->learned floats; zero when an update begins */
    int row, rows;         /* of the mini-batch: the running slice, in sequences */
    /* Where the running slice's batch statistics go: a log of layout->running floats for each
     * time step; and, at a rolling_mean's offset / 16, how many steps its layer has logged. */
    float *log;
    int *logged;
    mgpu_sync *sync; /* NULL: no other replica has rows of the running slice's mini-batch */
    int part;        /* there */

    const char *phase; /* what it does now, for messages: "forward pass", ... */
    int layer;         /* at which layer */

    /* Where a device copies: 1 if the root's weights or running statistics are to be brought
     * there before it runs; and the buckets below `unready` are still to be waited for. */
    int stale_weights, stale_statistics, unready;
    /* What is done with each bucket when the backward pass is through with it (NULL: nothing,
     * as more of the replica's slices follow), and with how many it was done. */
    void (*complete)(mgpu_replica *r, int bucket);
    int completed;

    mgpu_profile profile;
};

/* Builds r->net anew if it has fewer than `rows` sequences (rows times time steps), at the
 * root's width and height; `gradients`, kept, is where its layers add up. Runs in the replica's
 * own thread. Draws and prints nothing. Returns 0, or -1 with mgpu_error(). */
int mgpu_replica_fit(mgpu_replica *r, int rows);

/* Calls r->complete for the buckets that the backward pass was through with when it was
 * through with `layer`, and counts them for the other workers (MGPU_GRADIENTS). */
void mgpu_replica_complete(mgpu_replica *r, int layer);

/* Begin to copy n floats between the host and where r runs; see mgpu_device.h. */
void mgpu_replica_fetch(mgpu_replica *r, float *host, const float *device, size_t n);
void mgpu_replica_store(mgpu_replica *r, float *device, const float *host, size_t n);

/* Makes r->net run `rows` (at most its capacity) sequences from now on. */
void mgpu_replica_set_rows(mgpu_replica *r, int rows);

/* Which row of the mini-batch is row i of r->net: rows are time-major, row t * B + b is time
 * step t of sequence b of B. */
int mgpu_replica_row(const mgpu_replica *r, int i);

/* Gives r->net the root's new width and height. */
void mgpu_replica_resize(mgpu_replica *r, int w, int h);

/* Frees r->net, if it is there; the arenas are not the replica's. */
void mgpu_replica_free(mgpu_replica *r);

/* Points net's tensors into the arenas, freeing what they pointed to. With `keep`
 * the values are taken along first. */
void mgpu_replica_attach(network *net, const mgpu_layout *layout, float *weights,
                         float *gradients, float *running, int keep);

/* Sets net's tensors' pointers to null, so that free_layer leaves the arenas. */
void mgpu_replica_detach(network *net, const mgpu_layout *layout);

/* Frees what Darknet's free_network forgets: workspace, counters, losses, masks and
 * the learning-rate steps. For networks that share none of it. */
void mgpu_replica_free_rest(network *net);

/* While `rows` is not 0, the calling thread builds a replica of that many sequences:
 * parsing takes that batch, draws give 0, and nothing is printed. */
void mgpu_building(int rows);

/* While `rows` is not 0, a network that the calling thread parses and that is no replica
 * gets a mini-batch of at least that many rows. */
void mgpu_least_rows(int rows);

/* The calling thread runs replicas: Darknet's layers print nothing in it. */
void mgpu_silence(int silent);

/* In a silent thread: the next `n` lines that layers print are kept in `lines`; more are
 * dropped. n = 0: all are. */
void mgpu_keep_lines(mgpu_line *lines, int n);

#endif
