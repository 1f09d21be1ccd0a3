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
    mgpu_shared shared;
    mgpu_layout layout;
    float *weights, *updates, *running; /* arenas W, U and R */
    float *moments[2];                  /* arenas m and v of Adam; NULL under SGD */

    int n;
    mgpu_replica *replicas;
    int *shares;         /* of the devices; NULL: the same */
    network **nets;      /* root->replicas: the replicas' networks */
    float **gradients;   /* each replica's arena; NULL for one that adds onto U itself */
    int reproducible;    /* 1: gradients are added mini-batch by mini-batch */
    int *logged;         /* the replicas' counters of logged steps */
    mgpu_sync *sync;     /* NULL without sync_bn */
    char (*errors)[256]; /* of each replica's last job; "" if it went well */
    mgpu_workers *workers;

    int ngathered, ncosts;
    int *gathered; /* layers whose outputs the root merges */
    int *costs;    /* layers that have a cost */
    int selected;  /* the row that stands first in the merged outputs */

    /* The step under way; the workers read it, and write to their slices' places. */
    mgpu_slice *slices;
    int nslices;
    int from, to;   /* the slices that are run now */
    float **merged; /* the gradients of those, to be added to U */
    int nmerged;
    int parts;   /* slices to a mini-batch */
    float *logs; /* nslices times time steps times layout.running */
    size_t logs_size;
    float *slice_costs; /* nslices times ncosts */
    size_t slice_costs_size;
    int nlines;       /* that a slice keeps of what its layers print: 0, or ngathered */
    mgpu_line *lines; /* nslices times nlines */
    mgpu_rows rows;   /* from the step's first mini-batch on */
    int minibatches;  /* of the step */
    mgpu_rule *rules; /* one per tensor, of the update */
    int update;       /* 0: merge only */
} mgpu;

/* Makes `root` the root of replicas on o's devices (at least one), built and waiting;
 * its tensors move into arenas. Returns 0, or -1 with mgpu_error() and the root as
 * Darknet made it. */
int mgpu_root_make(network *root, const char *cfg, const mgpu_options *o);

/* Takes the replicas from `root` and frees them and the arenas; the root's tensors are
 * then null. It is left for free_network. */
void mgpu_root_free(network *root);

#endif
