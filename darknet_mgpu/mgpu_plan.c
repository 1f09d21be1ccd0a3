/* mgpu_plan.c: who runs which rows. Pure: sizes in, slices out. */
#include "mgpu_plan.h"

int mgpu_plan_whole(int replicas, int subdivisions)
{
    return replicas <= subdivisions;
}

int mgpu_plan_used(int replicas, int batch, int min_rows)
{
    int most = batch / (min_rows > 1 ? min_rows : 1);
    if(most < 1) most = 1;
    return replicas < most ? replicas : most;
}

static int cut_rows(int batch, int used, int replica)
{
    return batch / used + (replica < batch % used);
}

static int plan_cut(const mgpu_plan_sizes *s, int minibatch, mgpu_slice *slices)
{
    int used = mgpu_plan_used(s->replicas, s->batch, s->min_rows);
    int row = 0;
    for(int i = 0; slices && i < used; ++i) {
        int rows = cut_rows(s->batch, used, i);
        slices[i] = (mgpu_slice){minibatch, i, row, rows};
        row += rows;
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
            if(slices) slices[n] = (mgpu_slice){m, (s->first + m) % s->replicas, 0, s->batch};
            ++n;
        }
    }
    return n;
}

int mgpu_plan_rows(const mgpu_plan_sizes *s, int replica)
{
    if(s->whole) return s->batch;
    int used = mgpu_plan_used(s->replicas, s->batch, s->min_rows);
    return replica < used ? cut_rows(s->batch, used, replica) : 0;
}
