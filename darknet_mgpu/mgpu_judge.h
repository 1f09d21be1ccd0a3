/* mgpu_judge.h: what `valid` counts and prints, for each task. */
#ifndef MGPU_JUDGE_H
#define MGPU_JUDGE_H

#include "mgpu_dataset.h"
#include "mgpu_pass.h"

typedef struct {
    float threshold;    /* of the probability, for precision and recall */
    const char *prefix; /* of results files; NULL: stock's */
} mgpu_judge_options;

/* What a judge's functions share; `own` is its own. */
typedef struct {
    const network *net;
    const mgpu_dataset *data;
    mgpu_judge_options options;
    int classes, images; /* images: judged */
    void *own;
} mgpu_trial;

typedef struct {
    int names; /* 1: data->names are read first */
    /* Makes t->own, the rest of *t being set. Returns 0, or -1 with mgpu_error(). */
    int (*begin)(mgpu_trial *t);
    /* Takes an image without error. Returns 0, or -1. */
    int (*see)(mgpu_trial *t, const mgpu_view *v);
    /* Prints the figures on stdout; t->images > 0. Returns 0, or -1. */
    int (*print)(mgpu_trial *t);
    /* Frees t->own, which may be NULL. Returns 0, or -1. */
    int (*end)(mgpu_trial *t);
} mgpu_judge;

extern const mgpu_judge mgpu_judge_classifier, mgpu_judge_tags, mgpu_judge_boxes;

#endif
