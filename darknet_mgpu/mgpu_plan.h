/* mgpu_plan.h: who runs which rows. Pure: sizes in, slices out. */
#ifndef MGPU_PLAN_H
#define MGPU_PLAN_H

/* What one replica runs in one go: rows of one mini-batch. In a recurrent network what is
 * called a row here is a sequence, the rows of all its time steps. */
typedef struct {
    int minibatch; /* 0 is the first mini-batch of the plan */
    int replica;
    int row;  /* first row within the mini-batch */
    int rows; /* at least 1 */
} mgpu_slice;

typedef struct {
    int replicas;      /* how many the devices have */
    const int *shares; /* how much each is to get, relative to the others; NULL: the same */
    int batch;         /* rows of a mini-batch */
    int whole;         /* 1: mini-batches are dealt out in turn; 0: rows are cut */
    int first;         /* place of the first mini-batch within its update */
    int count;         /* mini-batches to plan */
    int min_rows;      /* a cut never leaves fewer rows in a slice than this */
} mgpu_plan_sizes;

/* The replica that mini-batch m of an update goes to, where they are dealt out whole: m mod
 * `replicas` with equal shares; else the one that then has the least for its share, the
 * first of them. */
int mgpu_plan_turn(const mgpu_plan_sizes *s, int m);

/* 1 if whole mini-batches are dealt out: where each replica gets one of an update's
 * `subdivisions`. It does not depend on how calls are split. */
int mgpu_plan_whole(const mgpu_plan_sizes *s, int subdivisions);

/* Writes how many rows each replica gets of a mini-batch that is cut, by shares, what is
 * left going to those that were cut shortest, the first of them. Replicas that would get
 * fewer than min_rows get none: those with the smallest share first, the last of them.
 * Returns how many get rows, at least 1. `rows` holds s->replicas. */
int mgpu_plan_cut(const mgpu_plan_sizes *s, int *rows);

/* Writes the slices in order of mini-batch, then row, and returns their number;
 * with slices NULL only returns it. `slices` holds at least count * replicas.
 * A cut into equal shares gives the first batch mod n of n replicas one row more. */
int mgpu_plan(const mgpu_plan_sizes *s, mgpu_slice *slices);

#endif
