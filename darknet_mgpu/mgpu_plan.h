/* mgpu_plan.h: who runs which rows. Pure: sizes in, slices out. */
#ifndef MGPU_PLAN_H
#define MGPU_PLAN_H

/* What one replica runs in one go: rows of one mini-batch. */
typedef struct {
    int minibatch; /* 0 is the first mini-batch of the plan */
    int replica;
    int row;  /* first row within the mini-batch */
    int rows; /* at least 1 */
} mgpu_slice;

typedef struct {
    int replicas; /* how many the devices have */
    int batch;    /* rows of a mini-batch */
    int whole;    /* 1: mini-batch m goes to replica m mod `replicas`; 0: rows are cut */
    int first;    /* place of the first mini-batch within its update */
    int count;    /* mini-batches to plan */
    int min_rows; /* a cut never leaves fewer rows in a slice than this */
} mgpu_plan_sizes;

/* Whole mini-batches are dealt out where there are at least as many to an update
 * as there are replicas. It does not depend on how calls are split. */
int mgpu_plan_whole(int replicas, int subdivisions);

/* How many of the replicas get rows when a mini-batch is cut: all, unless that
 * would leave a slice with fewer than min_rows rows. At least 1. */
int mgpu_plan_used(int replicas, int batch, int min_rows);

/* Writes the slices in order of mini-batch, then row, and returns their number;
 * with slices NULL only returns it. `slices` holds at least count * replicas.
 * A cut gives the first batch mod n of n replicas one row more than the rest. */
int mgpu_plan(const mgpu_plan_sizes *s, mgpu_slice *slices);

/* The most rows that `replica` gets in one slice. 0: it stays idle. */
int mgpu_plan_rows(const mgpu_plan_sizes *s, int replica);

#endif
