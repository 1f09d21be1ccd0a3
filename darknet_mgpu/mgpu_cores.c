/* mgpu_cores.c: the processor cores that this process may use. */
#include "mgpu_cores.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 1024 /* processors */

/* A file's first line; "" if there is none. */
static const char *first_line(char *line, int size, const char *path)
{
    FILE *f = fopen(path, "r");
    line[0] = 0;
    if(f) {
        if(!fgets(line, size, f)) line[0] = 0;
        fclose(f);
    }
    return line;
}

/* ---- processors and cores ---- */

/* The first processor of the core that `processor` is of. */
static int core_of(const char *root, int processor)
{
    char path[4096], line[256];
    snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
             root, processor);
    first_line(line, sizeof line, path);
    return line[0] >= '0' && line[0] <= '9' ? atoi(line) : processor;
}

int mgpu_cores_order(const char *root, int *processors, int n)
{
    int cores[MOST], others[MOST] = {0}, ncores = 0, nothers = 0;
    for(int i = 0; i < n; ++i) {
        int core = core_of(root, processors[i]), seen = 0;
        for(int k = 0; k < ncores; ++k) seen |= cores[k] == core;
        if(seen) {
            others[nothers++] = processors[i];
        } else {
            cores[ncores] = core;
            processors[ncores++] = processors[i];
        }
    }
    memcpy(processors + ncores, others, nothers * sizeof *others);
    return ncores;
}

/* ---- control groups ---- */

static int quota(double time, double period)
{
    if(time <= 0 || period <= 0) return INT_MAX;
    double cores = time / period;
    return cores > 1 ? (int)(cores + .999) : 1;
}

static int limit_of(const char *root, const char *group, int version)
{
    char path[8192], line[256];
    double time = 0, period = 0;
    if(version == 2) {
        snprintf(path, sizeof path, "%s/sys/fs/cgroup%s/cpu.max", root, group);
        return sscanf(first_line(line, sizeof line, path), "%lf %lf", &time, &period) == 2
                   ? quota(time, period)
                   : INT_MAX;
    }
    snprintf(path, sizeof path, "%s/sys/fs/cgroup/cpu%s/cpu.cfs_quota_us", root, group);
    time = atof(first_line(line, sizeof line, path));
    snprintf(path, sizeof path, "%s/sys/fs/cgroup/cpu%s/cpu.cfs_period_us", root, group);
    period = atof(first_line(line, sizeof line, path));
    return quota(time, period);
}

/* The least limit of a group and of those above it. */
static int least_limit(const char *root, char *group, int version)
{
    int least = INT_MAX;
    for(;;) {
        int limit = limit_of(root, strcmp(group, "/") ? group : "", version);
        char *slash = strrchr(group, '/');
        if(limit < least) least = limit;
        if(!slash || !*group) return least;
        *slash = 0;
    }
}

/* A line of /proc/self/cgroup is number:controllers:/group; version 2 has no controllers. */
static int has_cpu(const char *controllers)
{
    for(const char *at = controllers; at; at = strchr(at, ',')) {
        at += *at == ',';
        if(strncmp(at, "cpu", 3) == 0 && (at[3] == ',' || !at[3])) return 1;
    }
    return 0;
}

int mgpu_cores_limit(const char *root)
{
    char path[4096], line[4096], controllers[256];
    int least = INT_MAX;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *f = fopen(path, "r");
    while(f && fgets(line, sizeof line, f)) {
        char *first = strchr(line, ':'), *second = first ? strchr(first + 1, ':') : 0;
        if(!second || second - first > (int)sizeof controllers) continue;
        *second = 0;
        snprintf(controllers, sizeof controllers, "%s", first + 1);
        second[1 + strcspn(second + 1, "\n")] = 0;
        if(controllers[0] && !has_cpu(controllers)) continue;
        int limit = least_limit(root, second + 1, controllers[0] ? 1 : 2);
        if(limit < least) least = limit;
    }
    if(f) fclose(f);
    return least;
}

/* ---- this process ---- */

static int processors[MOST], nprocessors, ncores;

static void look(void)
{
    cpu_set_t set;
    if(sched_getaffinity(0, sizeof set, &set) == 0) {
        for(int i = 0; i < MOST && i < CPU_SETSIZE; ++i) {
            if(CPU_ISSET(i, &set)) processors[nprocessors++] = i;
        }
    }
    ncores = mgpu_cores_order("", processors, nprocessors);
    int limit = mgpu_cores_limit("");
    if(ncores > limit) ncores = limit;
    if(ncores < 1) ncores = 1;
}

int mgpu_cores(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, look);
    return ncores;
}

void mgpu_cores_pin(int number, int n, int threads)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if(n * threads != mgpu_cores() || n * threads > nprocessors) return;
    for(int i = 0; i < threads; ++i) CPU_SET(processors[number * threads + i], &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}
