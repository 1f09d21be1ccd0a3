/* mgpu_task.h: what differs between classifiers, tags and detectors: one row of a table
 * each. */
#ifndef MGPU_TASK_H
#define MGPU_TASK_H

#include "mgpu_data.h"
#include "mgpu_dataset.h"
#include "mgpu_judge.h"

typedef struct {
    const char *name;

    /* Training and validating.
     * Checks the net against the data set, both read, and reads the labels. Returns 0, or -1
     * with mgpu_error(). */
    int (*check)(const network *net, mgpu_dataset *d, const char *cfg);

    /* Training. What to load for the net, its sides included; the paths are set. */
    void (*source)(const network *net, const mgpu_dataset *d, mgpu_source *s);
    int needs_end;     /* 1: max_batches=0 is no training at all; else training without end */
    int epochs;        /* 1: saves at each epoch, and the progress line tells it */
    const char *final; /* how the last weights file's name ends */
    int backup_every;  /* batches */

    /* Validating and predicting. How an image is made the size of the net; */
    image (*fit_valid)(image im, int w, int h);
    image (*fit_predict)(image im, int w, int h);
    const mgpu_judge *judge; /* what valid counts */
    const char *names;       /* stock's default of the file of names */
    int boxes;               /* 1: boxes are found; else each output is a class's probability */
    float threshold;         /* predict shows probabilities above it, */
    int most;                /* and no more than so many; 0: all, -1: the data file's top= */
} mgpu_task;

/* The task that `name` (-task) says, or that d's tag=1 or the net's last layers do. NULL
 * with mgpu_error() if they do not say, or contradict each other. */
const mgpu_task *mgpu_task_of(const network *net, const mgpu_dataset *d, const char *name,
                              const char *cfg);

/* How many classes the net tells apart. */
int mgpu_task_classes(const mgpu_task *task, const network *net);

/* Whether the net takes images. Returns 0, or -1 with mgpu_error(). */
int mgpu_check_channels(const network *net, const char *cfg);

#endif
