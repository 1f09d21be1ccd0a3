/* test_cores.c: hyperthreads and control groups, in made-up trees of /sys and /proc. */
#include "mgpu_cores.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static char root[512];

/* Writes `text` to a file below the root, with its folders. */
static void put(const char *path, const char *text)
{
    char command[2048];
    snprintf(command, sizeof command,
             "mkdir -p \"$(dirname '%s%s')\" && printf %%s '%s' >'%s%s'", root, path, text,
             root, path);
    assert_int_equal(system(command), 0);
}

static void clear(void)
{
    char command[1024];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    assert_int_equal(system(command), 0);
}

static void siblings(int processor, const char *list)
{
    char path[128];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
             processor);
    put(path, list);
}

static void test_hyperthreads(void **state)
{
    (void)state;
    clear();
    siblings(0, "0,4\n");
    siblings(1, "1,5\n");
    siblings(4, "0,4\n");
    siblings(5, "1,5\n");
    siblings(6, "6-7\n");
    siblings(7, "6-7\n");
    int all[] = {0, 1, 4, 5, 6, 7}, sorted[] = {0, 1, 6, 4, 5, 7};
    assert_int_equal(mgpu_cores_order(root, all, 6), 3);
    assert_memory_equal(all, sorted, sizeof all);
    int second[] = {4, 5}; /* the other threads of the cores are not ours */
    assert_int_equal(mgpu_cores_order(root, second, 2), 2);
    int unknown[] = {8, 9};
    assert_int_equal(mgpu_cores_order(root, unknown, 2), 2);
}

static void test_groups(void **state)
{
    (void)state;
    clear();
    assert_int_equal(mgpu_cores_limit(root), INT_MAX);
    put("/proc/self/cgroup", "0::/a/b\n");
    assert_int_equal(mgpu_cores_limit(root), INT_MAX);
    put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    assert_int_equal(mgpu_cores_limit(root), INT_MAX);
    put("/sys/fs/cgroup/a/cpu.max", "350000 100000\n");
    assert_int_equal(mgpu_cores_limit(root), 4);
    put("/sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
    assert_int_equal(mgpu_cores_limit(root), 1);
    put("/sys/fs/cgroup/a/b/cpu.max", "200000 100000\n");
    assert_int_equal(mgpu_cores_limit(root), 2);
}

/* In a container the group's path is the host's, but its files are at the top. */
static void test_containers(void **state)
{
    (void)state;
    clear();
    put("/proc/self/cgroup", "0::/docker/123\n");
    put("/sys/fs/cgroup/cpu.max", "150000 100000\n");
    assert_int_equal(mgpu_cores_limit(root), 2);
}

static void test_old_groups(void **state)
{
    (void)state;
    clear();
    put("/proc/self/cgroup", "5:cpuset:/x\n4:cpuacct,cpu:/y\n1:name=systemd:/z\n");
    put("/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "100000\n");
    put("/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/cpu/y/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu/y/cpu.cfs_period_us", "100000\n");
    assert_int_equal(mgpu_cores_limit(root), INT_MAX);
    put("/sys/fs/cgroup/cpu/y/cpu.cfs_quota_us", "300000\n");
    assert_int_equal(mgpu_cores_limit(root), 3);
}

typedef struct {
    int number, n, threads;
    cpu_set_t before, after;
} pinned;

static void *pin(void *arg)
{
    pinned *p = arg;
    sched_getaffinity(0, sizeof p->before, &p->before);
    mgpu_cores_pin(p->number, p->n, p->threads);
    sched_getaffinity(0, sizeof p->after, &p->after);
    return 0;
}

static pinned pin_one(int number, int n, int threads)
{
    pinned p = {number, n, threads, {{0}}, {{0}}};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, 0, pin, &p), 0);
    pthread_join(thread, 0);
    return p;
}

/* Workers that take all cores have one each, and no two the same; others stay free. */
static void test_pinned(void **state)
{
    (void)state;
    int n = mgpu_cores();
    assert_true(n >= 1);
    cpu_set_t all;
    CPU_ZERO(&all);
    for(int i = 0; i < n; ++i) {
        pinned p = pin_one(i, n, 1);
        assert_int_equal(CPU_COUNT(&p.after), 1);
        CPU_OR(&all, &all, &p.after);
    }
    assert_int_equal(CPU_COUNT(&all), n);
    pinned whole = pin_one(0, 1, n), many = pin_one(0, n + 1, 1);
    assert_int_equal(CPU_COUNT(&whole.after), n);
    assert_true(CPU_EQUAL(&many.before, &many.after));
    if(n == 1) return;
    pinned few = pin_one(0, n - 1, 1);
    assert_true(CPU_EQUAL(&few.before, &few.after));
}

int main(void)
{
    snprintf(root, sizeof root, "%s/root", getenv("MGPU_SCRATCH"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hyperthreads), cmocka_unit_test(test_groups),
        cmocka_unit_test(test_containers),   cmocka_unit_test(test_old_groups),
        cmocka_unit_test(test_pinned),
    };
    return cmocka_run_group_tests(tests, 0, 0);
}
