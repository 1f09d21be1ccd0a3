/* mgpu_task.h: what differs between training a classifier, tags and a detector: one row
 * of a table each. */
#ifndef MGPU_TASK_H
#define MGPU_TASK_H

#include "mgpu_data.h"
#include "mgpu_dataset.h"

typedef struct {
    const char *name;
    /* Checks the net against the data set, both read, and reads the labels. Returns 0, or -1
     * with mgpu_error(). */
    int (*check)(const network *net, mgpu_dataset *d, const char *cfg);
    /* What to load for the net, its sides included; the paths are set. */
    void (*source)(const network *net, const mgpu_dataset *d, mgpu_source *s);
    int needs_end;     /* 1: max_batches=0 is no training at all; else training without end */
    int epochs;        /* 1: saves at each epoch, and the progress line tells it */
    const char *final; /* how the last weights file's name ends */
    int backup_every;  /* batches */
} mgpu_task;

/* The task that `name` (-task) says, or that d's tag=1 or the net's last layers do. NULL
 * with mgpu_error() if they do not say, or contradict each other. */
const mgpu_task *mgpu_task_of(const network *net, const mgpu_dataset *d, const char *name,
                              const char *cfg);

#endif
