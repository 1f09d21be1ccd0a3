/* mgpu_profile.c: where the time of training goes (-profile). */
#include "mgpu_profile.h"

#include <stdio.h>
#include <time.h>

double mgpu_profile_begin(const mgpu_profile *p)
{
    struct timespec t;
    if(!p->on) return 0;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

void mgpu_profile_end(mgpu_profile *p, mgpu_phase phase, double began)
{
    if(p->on) p->seconds[phase] += mgpu_profile_begin(p) - began;
}

static void print_one(const char *kind, int id, const mgpu_profile *p, double seconds)
{
    double waiting = seconds;
    for(int i = 0; i < MGPU_PHASES; ++i) waiting -= p->seconds[i];
    fprintf(stderr, "%5s %2d %9.3f %9.3f %9.3f %9.3f %9.3f %9.3f %10.1f %10.1f\n", kind, id,
            p->seconds[MGPU_FORWARD], p->seconds[MGPU_BACKWARD], waiting > 0 ? waiting : 0,
            p->seconds[MGPU_MERGE], p->seconds[MGPU_UPDATE], p->seconds[MGPU_PUBLISH],
            p->from_device / 1e6, p->to_device / 1e6);
}

void mgpu_profile_print(const char *kind, const int *ids, const mgpu_profile *const *profiles,
                        int n, double seconds, int steps)
{
    fprintf(stderr,
            "mgpu: profile of %d steps, %.3f seconds in all; seconds of each device and MB "
            "copied\n%-8s %9s %9s %9s %9s %9s %9s %10s %10s\n",
            steps, seconds, "device", "forward", "backward", "waiting", "merge", "update",
            "publish", "MB from", "MB to");
    for(int i = 0; i < n; ++i) print_one(kind, ids[i], profiles[i], seconds);
}
