/* mgpu_step.h: one step of training or predicting, over all replicas. */
#ifndef MGPU_STEP_H
#define MGPU_STEP_H

#include "mgpu_root.h"

/* The sizes of a step's plan, but for where it begins and how long it is. With `cut` rows are
 * cut over the replicas even where mini-batches could be dealt out whole. */
mgpu_plan_sizes mgpu_step_sizes(const mgpu *m, int cut);

/* Plans a step, makes room for its results and replicas large enough to run it.
 * Returns 0, or -1 with mgpu_error() and nothing changed that matters. */
int mgpu_step_plan(mgpu *m, const mgpu_plan_sizes *sizes);

/* Trains on n mini-batches of net->batch rows; updates fall where stock's counter puts
 * them. With `cut` rows are cut over the replicas even where mini-batches could be dealt
 * out whole. Blocks until all is done. Returns the sum of the mini-batches' costs, or NaN
 * with mgpu_error(), said on stderr too. */
float mgpu_train_rows(mgpu *m, mgpu_rows rows, int n, int cut);

/* Predicts net->batch rows (rows.y is NULL); the root's outputs are then theirs.
 * Returns 0, or -1 with mgpu_error(). */
int mgpu_predict_rows(mgpu *m, mgpu_rows rows);

/* Undoes mgpu_select_row: the merged outputs stand in the order of the rows. */
void mgpu_unselect(mgpu *m);

#endif
