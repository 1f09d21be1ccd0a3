/* mgpu_statistics.c: batch statistics logged by replicas, pooled and replayed by
 * the root. */
#include "mgpu_statistics.h"

void mgpu_pool(int k, const int *n, const float *means, const float *variances, float *mean,
               float *variance)
{
    *mean = means[0];
    *variance = variances[0];
    if(k == 1) return;
    double all = 0, sum = 0, squares = 0;
    for(int i = 0; i < k; ++i) {
        all += n[i];
        sum += (double)n[i] * means[i];
    }
    for(int i = 0; i < k; ++i) {
        double off = means[i] - sum / all;
        squares += (n[i] - 1.) * variances[i] + n[i] * off * off;
    }
    *mean = (float)(sum / all);
    *variance = (float)(squares / (all - 1));
}

/* Stock's recurrence and its constants, in its order of operations. */
static void move(float *running, float batch)
{
    *running *= .99f;
    *running += .01f * batch;
}

static void replay_layer(float *mean, float *variance, size_t length, int k, const int *n,
                         float *const *logs, size_t mean_at, size_t variance_at)
{
    float means[k], variances[k];
    for(size_t c = 0; c < length; ++c) {
        for(int i = 0; i < k; ++i) {
            means[i] = logs[i][mean_at + c];
            variances[i] = logs[i][variance_at + c];
        }
        float m, v;
        mgpu_pool(k, n, means, variances, &m, &v);
        move(mean + c, m);
        move(variance + c, v);
    }
}

void mgpu_replay(network *net, const mgpu_layout *layout, int k, const int *sequences,
                 float *const *logs)
{
    int n[k], steps = net->time_steps;
    float *at[k];
    const mgpu_tensor *mean = 0; /* the table lists a layer's mean before its variance */
    for(int t = 0; t < layout->n; ++t) {
        const mgpu_tensor *tensor = layout->tensors + t;
        if(!tensor->kind->running) continue;
        if(!mean) {
            mean = tensor;
            continue;
        }
        const layer *l = mgpu_tensor_layer(net, tensor);
        int times = tensor->nested ? steps : 1;
        for(int i = 0; i < k; ++i) n[i] = sequences[i] * (steps / times) * l->out_w * l->out_h;
        for(int time = 0; time < times; ++time) {
            for(int i = 0; i < k; ++i) at[i] = logs[i] + time * layout->running;
            replay_layer(*mgpu_tensor_value(net, mean), *mgpu_tensor_value(net, tensor),
                         tensor->length, k, n, at, mean->offset, tensor->offset);
        }
        mean = 0;
    }
}

static int normalises(void *arg, const layer *l)
{
    (void)arg;
    return l->batch_normalize || l->type == BATCHNORM;
}

static int one_value(void *arg, const layer *l)
{
    return normalises(arg, l) && l->out_w * l->out_h == 1;
}

int mgpu_has_batch_normalisation(const network *net)
{
    return mgpu_each_layer(net, normalises, 0);
}

int mgpu_min_rows(const network *net)
{
    return mgpu_each_layer(net, one_value, 0) ? 2 : 1;
}
