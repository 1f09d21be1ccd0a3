/* test_workers.c: threads that run a job each and wait for the next. */
#include "mgpu_workers.h"
#include "mgpu_error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

static int runs[64];
static pthread_t threads[64];

static void count(void *arg, int worker)
{
    runs[worker] += *(int *)arg;
    if(runs[worker] == *(int *)arg) threads[worker] = pthread_self();
    if(!pthread_equal(threads[worker], pthread_self())) runs[worker] = -1000000;
}

/* Every worker runs every job once, always in its own thread; plain variables are safe
 * between jobs. */
static void test_every_worker_once(void **state)
{
    (void)state;
    for(int n = 1; n <= 64; n *= 4) {
        mgpu_workers *w = mgpu_workers_make(n);
        assert_non_null(w);
        memset(runs, 0, sizeof runs);
        int add = 3;
        for(int round = 0; round < 200; ++round) mgpu_workers_run(w, count, &add);
        for(int i = 0; i < 64; ++i) assert_int_equal(runs[i], i < n ? 600 : 0);
        mgpu_workers_free(w);
    }
    mgpu_workers_free(0);
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

/* Workers that wait use no processor time to speak of. */
static void test_sleep(void **state)
{
    (void)state;
    mgpu_workers *w = mgpu_workers_make(8);
    int add = 1;
    mgpu_workers_run(w, count, &add);
    double before = cpu_seconds();
    nanosleep(&(struct timespec){0, 300000000}, 0);
    double used = cpu_seconds() - before;
    mgpu_workers_free(w);
    assert_true(used < .1); /* eight spinning threads would use .6 and more */
}

static void note_mask(void *arg, int worker)
{
    pthread_sigmask(SIG_SETMASK, 0, (sigset_t *)arg + worker);
}

/* Signals are left to the threads that the program had. */
static void test_signals(void **state)
{
    (void)state;
    sigset_t masks[2], mine;
    mgpu_workers *w = mgpu_workers_make(2);
    mgpu_workers_run(w, note_mask, masks);
    mgpu_workers_free(w);
    pthread_sigmask(SIG_SETMASK, 0, &mine);
    assert_false(sigismember(&mine, SIGINT));
    for(int i = 0; i < 2; ++i) {
        assert_true(sigismember(masks + i, SIGINT));
        assert_true(sigismember(masks + i, SIGTERM));
    }
}

/* ---- jobs that fail, and workers that wait for one another ---- */

static int reached[8];

static void fail_second(void *arg, int worker)
{
    const int *failing = arg;
    if(worker == failing[0] || worker == failing[1]) mgpu_job_fail("worker %d fails", worker);
    reached[worker] = 1;
}

/* The first worker's reason is kept, the others' jobs end as they are, the next job is as good
 * as ever. */
static void test_failing(void **state)
{
    (void)state;
    mgpu_workers *w = mgpu_workers_make(4);
    memset(reached, 0, sizeof reached);
    assert_int_equal(mgpu_workers_run(w, fail_second, (int[]){2, 1}), -1);
    assert_string_equal(mgpu_error(), "worker 1 fails");
    for(int i = 0; i < 4; ++i) assert_int_equal(reached[i], i == 0 || i == 3);
    assert_int_equal(mgpu_workers_run(w, fail_second, (int[]){-1, -1}), 0);
    for(int i = 0; i < 4; ++i) assert_int_equal(reached[i], 1);
    mgpu_workers_free(w);
}

static void relay(void *arg, int worker)
{
    int *baton = arg;
    for(int turn = worker; turn < 40; turn += 4) {
        int before = (turn + 3) % 4;
        if(turn) mgpu_job_await(MGPU_MEETINGS, turn, &before, 1);
        if((*baton)++ != turn) mgpu_job_fail("turn %d came early", turn);
        mgpu_job_reach(MGPU_MEETINGS, turn + 1);
    }
}

/* Each turn waits for the one before; counts begin anew with each job. */
static void test_waiting(void **state)
{
    (void)state;
    mgpu_workers *w = mgpu_workers_make(4);
    for(int round = 0; round < 50; ++round) {
        int baton = 0;
        assert_int_equal(mgpu_workers_run(w, relay, &baton), 0);
        assert_int_equal(baton, 40);
    }
    mgpu_workers_free(w);
}

static void wait_for_first(void *arg, int worker)
{
    const int *fails = arg;
    if(worker == 0 && *fails) mgpu_job_fail("gone");
    if(worker == 0) return; /* ended: no longer waited for */
    mgpu_job_await(MGPU_MERGED, 3, 0, 0);
    reached[worker] = 1;
}

static void count_and_wait(void *arg, int worker)
{
    if(worker) mgpu_job_reach(MGPU_MERGED, 3);
    wait_for_first(arg, worker);
}

/* Nobody waits for ever: neither for one that has ended nor for one that has failed. */
static void test_waiting_for_nobody(void **state)
{
    (void)state;
    mgpu_workers *w = mgpu_workers_make(3);
    memset(reached, 0, sizeof reached);
    assert_int_equal(mgpu_workers_run(w, count_and_wait, (int[]){0}), 0);
    assert_int_equal(reached[1] + reached[2], 2);
    memset(reached, 0, sizeof reached);
    assert_int_equal(mgpu_workers_run(w, wait_for_first, (int[]){1}), -1);
    assert_string_equal(mgpu_error(), "gone");
    assert_int_equal(reached[1] + reached[2], 0);
    mgpu_workers_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_worker_once),
        cmocka_unit_test(test_failing),
        cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_waiting_for_nobody),
        cmocka_unit_test(test_sleep),
        cmocka_unit_test(test_signals),
    };
    return cmocka_run_group_tests_name("workers", tests, 0, 0);
}
