/* mgpu_workers.h: one thread per replica. They sleep between jobs. */
#ifndef MGPU_WORKERS_H
#define MGPU_WORKERS_H

typedef struct mgpu_workers mgpu_workers;

/* What a worker runs: the argument of mgpu_workers_run and the worker's number. */
typedef void (*mgpu_job)(void *arg, int worker);

/* Starts n >= 1 threads. Signals stay with the threads that the program has
 * already. Returns NULL with mgpu_error() set. Freed by mgpu_workers_free. */
mgpu_workers *mgpu_workers_make(int n);

/* Has every worker run job(arg, its number) once; returns when all are done.
 * What the workers wrote is then visible to the caller, and what the caller wrote
 * before was visible to them. Only one thread may call it at a time. */
void mgpu_workers_run(mgpu_workers *w, mgpu_job job, void *arg);

/* Ends and joins the threads. NULL is fine. */
void mgpu_workers_free(mgpu_workers *w);

#endif
