/* mgpu_hooks.c: Darknet's functions on a root. */
#include "mgpu_hooks.h"
#include "mgpu.h"
#include "mgpu_checkpoint.h"
#include "mgpu_error.h"
#include "mgpu_step.h"

#include <math.h>
#include <stdlib.h>

__thread int gpu_index;

float mgpu_train_network(network *net, data d)
{
    int wrong = 0;
    if(d.X.rows % net->batch || d.X.rows == 0 || d.y.rows != d.X.rows) {
        wrong = mgpu_fail("train_network: %d rows with %d truths are no multiple of batch %d",
                          d.X.rows, d.y.rows, net->batch);
    } else if(d.X.cols != net->inputs || d.y.cols > net->truths) {
        wrong = mgpu_fail("train_network: rows of %d numbers with %d truths, where the network "
                          "takes %d and at most %d",
                          d.X.cols, d.y.cols, net->inputs, net->truths);
    }
    if(wrong) {
        mgpu_say_error();
        return NAN;
    }
    mgpu_rows rows = {d.X.vals, d.y.vals, d.y.cols};
    return mgpu_train_rows(net->mgpu, rows, d.X.rows / net->batch, 0) / d.X.rows;
}

/* Pointers to n rows of `width` floats that lie one after the other. */
static void point(float **rows, float *base, int n, int width)
{
    for(int i = 0; i < n; ++i) rows[i] = base + (size_t)i * width;
}

float mgpu_train_datum(network *net)
{
    float *x[net->batch], *y[net->batch];
    point(x, net->input, net->batch, net->inputs);
    point(y, net->truth, net->batch, net->truths);
    return mgpu_train_rows(net->mgpu, (mgpu_rows){x, y, net->truths}, 1, 1);
}

float *mgpu_predict(network *net, float *input)
{
    float *x[net->batch];
    point(x, input, net->batch, net->inputs);
    if(mgpu_predict_rows(net->mgpu, (mgpu_rows){.x = x}) == 0) return net->output;
    mgpu_say_error();
    return 0;
}

void mgpu_updating(network *net)
{
    mgpu_settle(net);
    mgpu_push_weights(net);
}

typedef struct {
    mgpu *m;
    int w, h;
} resize_job;

static void resize_replica(void *arg, int worker)
{
    resize_job *job = arg;
    mgpu_replica_resize(job->m->replicas + worker, job->w, job->h);
}

void mgpu_resize(network *net, int w, int h)
{
    mgpu *m = net->mgpu;
    resize_job job = {m, w, h};
    mgpu_unselect(m);
    if(mgpu_workers_run(m->workers, resize_replica, &job) == 0) return;
    m->broken = 1; /* the next call says so */
    mgpu_say_error();
}

void mgpu_loading_weights(network *net, const char *file, int start, int cutoff)
{
    if(mgpu_check_weights(net, file, start, cutoff) < 0) {
        fprintf(stderr, "%s\n", mgpu_error());
        exit(1);
    }
    mgpu_settle(net);
    mgpu_root_changed(net);
}

void mgpu_settle(network *net)
{
    if(mgpu_pull_weights(net) < 0) mgpu_say_error();
}

void mgpu_free(network *net)
{
    mgpu_root_free(net);
}

const char **mgpu_image_reason(void)
{
    static _Thread_local const char *reason;
    return &reason;
}
