/* mgpu_root.h: what the module keeps beside a root, made and freed. */
#ifndef MGPU_ROOT_H
#define MGPU_ROOT_H

#include "mgpu.h"
#include "mgpu_plan.h"
#include "mgpu_reduce.h"
#include "mgpu_replica.h"
#include "mgpu_workers.h"

/* The rows of a call: row r of mini-batch k is x[k * batch + r], with its truth at
 * the same place of y (y NULL in prediction). Short truths are filled up with 0. */
typedef struct {
    float **x, **y;
    int truths; /* floats in each y */
} mgpu_rows;

/* What the module keeps beside a root; network.mgpu of the root leads here. */
typedef struct {
    network *root;
    mgpu_shared shared; /* the root's arenas too */
    mgpu_layout layout;

    int n;
    mgpu_replica *replicas;
    int *shares;      /* of the devices; NULL: the same */
    network **nets;   /* root->replicas: the replicas' networks */
    int reproducible; /* 1: gradients are added mini-batch by mini-batch */
    int merges;       /* 1: gradients are added up on the host (cpu_merge) */
    int *logged;      /* the replicas' counters of logged steps */
    mgpu_sync *sync;  /* NULL without sync_bn */
    mgpu_workers *workers;
    int broken; /* 1: a device failed in a step: no more training */
    int behind; /* 1: the root's arenas W, U, m and v are older than the devices' */

    int ngathered, ncosts;
    int *gathered; /* layers whose outputs the root merges */
    int *costs;    /* layers that have a cost */
    int selected;  /* the row that stands first in the merged outputs */

    /* The step under way; the workers read it, and write to their slices' places. */
    mgpu_slice *slices;
    int nslices;
    int from, to; /* the slices that are run now */
    int *merging; /* the replicas that run them, in the slices' order */
    int nmerging;
    float **merged; /* gradients to be added to U: those of `merging` or their sum */
    int nmerged;
    void (*complete)(mgpu_replica *r, int bucket); /* of each replica's last slice now */
    int parts;                                     /* slices to a mini-batch */
    float *logs; /* nslices times time steps times layout.running; the kind's arena */
    size_t logs_size;
    float *slice_costs; /* nslices times ncosts */
    size_t slice_costs_size;
    int nlines;       /* that a slice keeps of what its layers print: 0, or ngathered */
    mgpu_line *lines; /* nslices times nlines */
    mgpu_rows rows;   /* from the step's first mini-batch on */
    int minibatches;  /* of the step */
    mgpu_rule *rules; /* one per tensor, of the update */
    int update;       /* 0: merge only */

    int steps;      /* since the beginning, */
    double seconds; /* and how long they took, under -profile */
} mgpu;

/* Makes `root` the root of replicas on o's devices of a kind (at least one), built and waiting;
 * its tensors move into arenas. Returns 0, or -1 with mgpu_error() and the root as
 * Darknet made it. */
int mgpu_root_make(network *root, const char *cfg, const mgpu_device *kind,
                   const mgpu_options *o);

/* Brings the root's arenas up to what the devices have, and a root that lives on a device up to
 * its arenas. Blocks. Returns 0, or -1 with mgpu_error(). */
int mgpu_root_settle(network *root);

/* After a step of training failed: saves the root's weights, which that step has not touched,
 * to directory/base.backup, and says so; or says that no device has them any more. Returns 1;
 * 0 without effect where no step has failed. */
int mgpu_root_rescue(network *root, const char *directory, const char *base);

/* The root's weights were set from outside: the devices take them before they run again. */
void mgpu_root_changed(network *root);

/* Takes the replicas from `root` and frees them and the arenas; the root's tensors are
 * then null. It is left for free_network. */
void mgpu_root_free(network *root);

#endif
