/* mgpu_cores.h: the processor cores that this process may use, and which thread runs where. */
#ifndef MGPU_CORES_H
#define MGPU_CORES_H

/* At least 1: physical cores, of which two hyperthreads are one, that the process may run on,
 * and no more than its control groups (a container's limit) give it the time of. */
int mgpu_cores(void);

/* Has the calling thread, worker `number` of `n` with `threads` cores each, run on cores of its
 * own, where the workers take all cores there are; else the system places it, as other
 * programs may have their threads where we would. */
void mgpu_cores_pin(int number, int n, int threads);

/* What the two above are made of. `root` stands before the paths of /proc and /sys: "".
 * mgpu_cores_order() sorts n logical processors so that the first of each core come first, and
 * returns the number of cores; mgpu_cores_limit() is how many cores' time the control groups
 * give, rounded up; INT_MAX: no limit. */
int mgpu_cores_order(const char *root, int *processors, int n);
int mgpu_cores_limit(const char *root);

#endif
