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
 * before was visible to them. Only one thread may call it at a time.
 * Returns 0, or -1 with the mgpu_error() of the first worker that left its job by
 * mgpu_job_fail(). */
int mgpu_workers_run(mgpu_workers *w, mgpu_job job, void *arg);

/* Ends the calling worker's job here, with a reason, whatever functions it is within: what
 * they hold is lost. In a thread that is no worker it ends the program, with the reason on
 * stderr and status 1. */
_Noreturn void mgpu_job_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What workers count while they do a job. */
typedef enum {
    MGPU_MEETINGS,  /* of the replicas that share a mini-batch under sync_bn */
    MGPU_GRADIENTS, /* of which layers are complete */
    MGPU_MERGED,    /* which of those are merged */
    MGPU_COUNTS
} mgpu_count;

/* Workers that wait for one another during a job. mgpu_job_reach() says that the calling
 * worker has counted to n (from 1; never backwards). mgpu_job_await() blocks until each of the
 * k `workers` (NULL: all) has counted to n or ended its job. If another has failed, it ends the
 * calling worker's job without a reason of its own. */
void mgpu_job_reach(mgpu_count count, int n);
void mgpu_job_await(mgpu_count count, int n, const int *workers, int k);

/* 1 if another worker has failed in the calling worker's job. */
int mgpu_job_broken(void);

/* Ends the calling worker's job, because mgpu_job_broken(). */
_Noreturn void mgpu_job_stop(void);

/* Ends and joins the threads. NULL is fine. */
void mgpu_workers_free(mgpu_workers *w);

#endif
