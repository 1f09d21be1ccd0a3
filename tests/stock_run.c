/* stock_run.c: the reference. Linked with unpatched Darknet only.
 *
 *   stock_run init CFG WEIGHTS
 *       makes the network and writes its random weights
 *   stock_run train CFG WEIGHTS NET OUT STEPS CALL MODE [ROWS...]
 *       trains STEPS mini-batches from WEIGHTS on made-up rows, CALL of them to a call
 *       of train_network (MODE network), one by one (MODE datum), or as the first after
 *       a resize to 32x32 (MODE resized), and writes all numbers to OUT. With ROWS..., stock's
 * arithmetic is run slice by slice: each mini-batch in slices of so many rows, statistics
 * pooled. stock_run predict CFG WEIGHTS NET OUT predicts the first net->batch made-up rows
 *   stock_run resave CFG WEIGHTS COPY
 *       loads WEIGHTS and writes them again
 */
#include "support.h"

#include "network.h"

#define MOST_SLICES 64

/* Statistics of one layer's slices, pooled in double precision: see the comment of
 * mgpu_pool for the formula. */
static void pool(int k, const int *rows, float (*means)[512], float (*variances)[512], layer l)
{
    int spatial = l.out_w * l.out_h;
    for(int c = 0; c < l.out_c; ++c) {
        double n = 0, mean = 0, squares = 0;
        for(int i = 0; i < k; ++i) n += rows[i] * spatial;
        for(int i = 0; i < k; ++i) mean += rows[i] * spatial / n * means[i][c];
        for(int i = 0; i < k; ++i) {
            double ni = rows[i] * spatial, off = means[i][c] - mean;
            squares += (ni - 1) * variances[i][c] + ni * off * off;
        }
        l.rolling_mean[c] = .99f * l.rolling_mean[c] + .01f * (float)mean;
        l.rolling_variance[c] =
            .99f * l.rolling_variance[c] + .01f * (float)(squares / (n - 1));
    }
}

typedef struct {
    float *cost; /* per layer */
    float **outputs;
    float (*means)[MOST_SLICES][512], (*variances)[MOST_SLICES][512];
} collected;

/* Runs rows `first`.. of mini-batch d as one slice; batch normalisation's running
 * arrays are put back as they were. */
static void run_slice(network *net, data d, int slice, int first, int rows, collected *c)
{
    float kept[2][512];
    set_batch_network(net, rows);
    get_next_batch(d, rows, first, net->input, net->truth);
    net->train = 1;
    float *rolling[net->n][2];
    for(int i = 0; i < net->n; ++i) { /* scratch for stock to move */
        layer *l = net->layers + i;
        if(!l->batch_normalize) continue;
        rolling[i][0] = l->rolling_mean;
        rolling[i][1] = l->rolling_variance;
        l->rolling_mean = kept[0];
        l->rolling_variance = kept[1];
    }
    forward_network(net);
    backward_network(net);
    for(int i = 0; i < net->n; ++i) {
        layer *l = net->layers + i;
        if(l->batch_normalize) {
            l->rolling_mean = rolling[i][0];
            l->rolling_variance = rolling[i][1];
            memcpy(c->means[i][slice], l->mean, l->out_c * sizeof(float));
            memcpy(c->variances[i][slice], l->variance, l->out_c * sizeof(float));
        }
        if(l->cost) c->cost[i] += l->cost[0];
        if(is_output(net, i)) {
            memcpy(c->outputs[i] + first * l->outputs, l->output,
                   sizeof(float) * rows * l->outputs);
        }
    }
}

static float train_sliced(network *net, data d, int k, const int *rows)
{
    int batch = net->batch, first = 0;
    collected c = {calloc(net->n, sizeof(float)), calloc(net->n, sizeof(float *)),
                   calloc(net->n, sizeof *c.means), calloc(net->n, sizeof *c.variances)};
    for(int i = 0; i < net->n; ++i) {
        c.outputs[i] = calloc(batch * net->layers[i].outputs, sizeof(float));
    }
    *net->seen += batch;
    for(int s = 0; s < k; ++s) {
        run_slice(net, d, s, first, rows[s], &c);
        first += rows[s];
    }
    set_batch_network(net, batch);
    for(int i = 0; i < net->n; ++i) {
        layer *l = net->layers + i;
        if(l->batch_normalize) pool(k, rows, c.means[i], c.variances[i], *l);
        if(l->cost) l->cost[0] = c.cost[i];
        if(is_output(net, i))
            memcpy(l->output, c.outputs[i], sizeof(float) * batch * l->outputs);
        free(c.outputs[i]);
    }
    calc_network_cost(net);
    if(*net->seen / batch % net->subdivisions == 0) update_network(net);
    free(c.outputs);
    free(c.cost);
    free(c.means);
    free(c.variances);
    return *net->cost / batch;
}

static float train_call(network *net, data d, const char *mode, int k, const int *rows)
{
    if(k) return train_sliced(net, d, k, rows);
    if(strcmp(mode, "datum")) return train_network(net, d);
    get_next_batch(d, net->batch, 0, net->input, net->truth);
    return train_network_datum(net) / net->batch;
}

static void train(int argc, char **argv)
{
    network *net = load_network(argv[2], argv[3], 0);
    int yolo = find_net(argv[4])->yolo, steps = atoi(argv[6]), call = atoi(argv[7]), k = 0;
    int rows[MOST_SLICES];
    float returned = 0;
    for(int i = 9; i < argc; ++i) rows[k++] = atoi(argv[i]);
    if(strcmp(argv[8], "resized") == 0) resize_network(net, 32, 32);
    for(int done = 0; done < steps; done += call) {
        int n = steps - done < call ? steps - done : call;
        data d = make_rows(net, yolo, done * net->batch, n * net->batch);
        returned = train_call(net, d, argv[8], k, rows);
        free_data(d);
    }
    snapshot s = take(net, returned);
    snapshot_write(&s, argv[5]);
}

static void predict(char **argv)
{
    network *net = load_network(argv[2], argv[3], 0);
    data d = make_rows(net, find_net(argv[4])->yolo, 0, net->batch);
    float *x = calloc((size_t)net->batch * net->inputs, sizeof *x);
    float *y = calloc((size_t)net->batch * net->truths, sizeof *y);
    get_next_batch(d, net->batch, 0, x, y);
    network_predict(net, x);
    snapshot s = take(net, 0);
    snapshot_write(&s, argv[5]);
}

int main(int argc, char **argv)
{
    gpu_index = -1;
    quiet();
    if(argc == 4 && strcmp(argv[1], "init") == 0) {
        srand(7);
        save_weights(parse_network_cfg(argv[2]), argv[3]);
    } else if(argc >= 9 && strcmp(argv[1], "train") == 0) {
        train(argc, argv);
    } else if(argc == 6 && strcmp(argv[1], "predict") == 0) {
        predict(argv);
    } else if(argc == 5 && strcmp(argv[1], "resave") == 0) {
        save_weights(load_network(argv[2], argv[3], 0), argv[4]);
    } else {
        return 2;
    }
    return 0;
}
