/* mgpu_sync.c: batch normalisation over a mini-batch whose rows are cut over replicas. */
#include "mgpu_sync.h"
#include "mgpu_error.h"
#include "mgpu_statistics.h"
#include "mgpu_workers.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    int values;
    const float *a, *b; /* what the part brought */
    int meetings;       /* that it has been to */
} contribution;

struct mgpu_sync {
    int parts;           /* that meet */
    int *workers;        /* which those are */
    contribution *given; /* written by its part before a meeting, read by all after it */
};

mgpu_sync *mgpu_sync_make(int n)
{
    mgpu_sync *s = calloc(1, sizeof *s);
    if(s) s->given = calloc(n, sizeof *s->given);
    if(s) s->workers = calloc(n, sizeof *s->workers);
    if(s && s->given && s->workers) return s;
    mgpu_sync_free(s);
    mgpu_fail("no memory for batch normalisation over %d devices", n);
    return 0;
}

void mgpu_sync_free(mgpu_sync *s)
{
    if(!s) return;
    free(s->workers);
    free(s->given);
    free(s);
}

void mgpu_sync_part(mgpu_sync *s, int part, int parts, int worker)
{
    s->parts = parts;
    s->workers[part] = worker;
    s->given[part].meetings = 0;
}

/* Blocks until all parts are there. */
static void meet_all(mgpu_sync *s, int part)
{
    int meeting = ++s->given[part].meetings;
    mgpu_job_reach(MGPU_MEETINGS, meeting);
    mgpu_job_await(MGPU_MEETINGS, meeting, s->workers, s->parts);
}

/* Combines channel c of all parts. */
typedef void (*combine)(const mgpu_sync *s, int part, size_t c, float *a, float *b);

static void meet(mgpu_sync *s, int part, int values, float *a, float *b, size_t length,
                 combine channel)
{
    float all_a[length], all_b[length];
    contribution *mine = s->given + part;
    mine->values = values;
    mine->a = a;
    mine->b = b;
    meet_all(s, part);
    for(size_t c = 0; c < length; ++c) channel(s, part, c, all_a + c, all_b + c);
    meet_all(s, part); /* all have read: now they may be replaced */
    memcpy(a, all_a, sizeof all_a);
    memcpy(b, all_b, sizeof all_b);
}

static void combine_moments(const mgpu_sync *s, int part, size_t c, float *mean,
                            float *variance)
{
    (void)part;
    int n[s->parts];
    float means[s->parts], variances[s->parts];
    for(int i = 0; i < s->parts; ++i) {
        const contribution *g = s->given + i;
        n[i] = g->values;
        means[i] = g->a[c];
        variances[i] = g->values > 1 ? g->b[c] : 0;
    }
    mgpu_pool(s->parts, n, means, variances, mean, variance);
}

static void combine_sums(const mgpu_sync *s, int part, size_t c, float *a, float *b)
{
    double sum_a = 0, sum_b = 0, all = 0;
    for(int i = 0; i < s->parts; ++i) {
        sum_a += s->given[i].a[c];
        sum_b += s->given[i].b[c];
        all += s->given[i].values;
    }
    *a = (float)(sum_a * s->given[part].values / all);
    *b = (float)(sum_b * s->given[part].values / all);
}

void mgpu_sync_moments(mgpu_sync *s, int part, int values, float *mean, float *variance,
                       size_t length)
{
    meet(s, part, values, mean, variance, length, combine_moments);
}

void mgpu_sync_sums(mgpu_sync *s, int part, int values, float *a, float *b, size_t length)
{
    meet(s, part, values, a, b, length, combine_sums);
}
