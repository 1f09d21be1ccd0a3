/* mgpu_plan.c: who runs which rows. Pure: sizes in, slices out. */
#include "mgpu_plan.h"

static int share(const mgpu_plan_sizes *s, int replica)
{
    return s->shares ? s->shares[replica] : 1;
}

/* The replica with the least for its share after it got one more of what dealt[] counts. */
static int next_turn(const mgpu_plan_sizes *s, const int *dealt)
{
    int best = 0;
    for(int i = 1; i < s->replicas; ++i) {
        long long mine = (dealt[i] + 1LL) * share(s, best);
        if(mine < (dealt[best] + 1LL) * share(s, i)) best = i;
    }
    return best;
}

/* Deals out mini-batches 0 to m; the last one's replica. */
static int deal(const mgpu_plan_sizes *s, int m, int *dealt)
{
    int turn = 0;
    for(int i = 0; i < s->replicas; ++i) dealt[i] = 0;
    for(int k = 0; k <= m; ++k) ++dealt[turn = next_turn(s, dealt)];
    return turn;
}

int mgpu_plan_turn(const mgpu_plan_sizes *s, int m)
{
    int dealt[s->replicas];
    return s->shares ? deal(s, m, dealt) : m % s->replicas;
}

int mgpu_plan_whole(const mgpu_plan_sizes *s, int subdivisions)
{
    int dealt[s->replicas];
    deal(s, subdivisions - 1, dealt);
    for(int i = 0; i < s->replicas; ++i) {
        if(!dealt[i]) return 0;
    }
    return 1;
}

/* Rows by shares, over the replicas whose rows are not -1. */
static void cut(const mgpu_plan_sizes *s, int *rows)
{
    long long all = 0, rest[s->replicas];
    int left = s->batch;
    for(int i = 0; i < s->replicas; ++i) all += rows[i] < 0 ? 0 : share(s, i);
    for(int i = 0; i < s->replicas; ++i) {
        rest[i] = -1;
        if(rows[i] < 0) continue;
        rows[i] = (int)((long long)s->batch * share(s, i) / all);
        rest[i] = (long long)s->batch * share(s, i) % all;
        left -= rows[i];
    }
    for(; left > 0; --left) {
        int most = 0;
        for(int i = 1; i < s->replicas; ++i) {
            if(rest[i] > rest[most]) most = i;
        }
        ++rows[most];
        rest[most] = -1;
    }
}

/* The replica to do without, as it or another would get too few rows; -1: none. */
static int too_many(const mgpu_plan_sizes *s, const int *rows)
{
    int used = 0, small = 0, least = -1;
    for(int i = 0; i < s->replicas; ++i) {
        if(rows[i] < 0) continue;
        ++used;
        small |= rows[i] < (s->min_rows > 1 ? s->min_rows : 1);
        if(least < 0 || share(s, i) <= share(s, least)) least = i;
    }
    return small && used > 1 ? least : -1;
}

int mgpu_plan_cut(const mgpu_plan_sizes *s, int *rows)
{
    int used = s->replicas;
    for(int i = 0; i < s->replicas; ++i) rows[i] = 0;
    cut(s, rows);
    for(int i; (i = too_many(s, rows)) >= 0; --used) {
        rows[i] = -1;
        cut(s, rows);
    }
    for(int i = 0; i < s->replicas; ++i) {
        if(rows[i] < 0) rows[i] = 0;
    }
    return used;
}

static int plan_cut(const mgpu_plan_sizes *s, int minibatch, mgpu_slice *slices)
{
    int rows[s->replicas], row = 0, n = 0;
    int used = mgpu_plan_cut(s, rows);
    for(int i = 0; slices && i < s->replicas; ++i) {
        if(rows[i] == 0) continue;
        slices[n++] = (mgpu_slice){minibatch, i, row, rows[i]};
        row += rows[i];
    }
    return used;
}

int mgpu_plan(const mgpu_plan_sizes *s, mgpu_slice *slices)
{
    int n = 0;
    for(int m = 0; m < s->count; ++m) {
        if(!s->whole) {
            n += plan_cut(s, m, slices ? slices + n : slices);
        } else {
            if(slices)
                slices[n] = (mgpu_slice){m, mgpu_plan_turn(s, s->first + m), 0, s->batch};
            ++n;
        }
    }
    return n;
}
