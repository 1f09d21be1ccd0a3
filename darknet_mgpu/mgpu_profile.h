/* mgpu_profile.h: where the time of training goes (-profile). */
#ifndef MGPU_PROFILE_H
#define MGPU_PROFILE_H

#include <stddef.h>

typedef enum {
    MGPU_FORWARD,
    MGPU_BACKWARD,
    MGPU_MERGE,
    MGPU_UPDATE,
    MGPU_PUBLISH,
    MGPU_PHASES
} mgpu_phase;

/* Of one replica. Written by its own thread only. */
typedef struct {
    int on;                        /* 0: nothing is measured */
    double seconds[MGPU_PHASES];   /* in each phase */
    size_t from_device, to_device; /* bytes */
} mgpu_profile;

/* Seconds of a clock that never goes back; 0 where nothing is measured. */
double mgpu_profile_begin(const mgpu_profile *p);

/* Adds what has passed since `began` to a phase. */
void mgpu_profile_end(mgpu_profile *p, mgpu_phase phase, double began);

/* Prints a line for each of n profiles, named by `kind` and their ids, on stderr. `seconds` is
 * how long all steps took: what is in no phase of a replica it spent waiting. */
void mgpu_profile_print(const char *kind, const int *ids, const mgpu_profile *const *profiles,
                        int n, double seconds, int steps);

#endif
