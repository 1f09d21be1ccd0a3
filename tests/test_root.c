/* test_root.c: a root is an ordinary network, and says why where it can not be one. */
#include "support.h"
#include "mgpu.h"
#include "mgpu_hooks.h"
#include "mgpu_replica.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <pthread.h>
#include <sys/wait.h>
#include <cmocka.h>

static char cfg[512], weights[512];
static const int ids[] = {0, 1, 2, 3, 4, 5, 6, 7};

static mgpu_options devices(int n)
{
    mgpu_options o = mgpu_default_options();
    o.gpus = ids;
    o.ngpus = n;
    return o;
}

static network *load(const char *file, int n)
{
    mgpu_options o = devices(n);
    quiet();
    network *net = mgpu_load_network(cfg, (char *)file, 0, &o);
    loud();
    return net;
}

static network *make(const char *name, int batch, int subdivisions, int n)
{
    write_cfg(cfg, find_net(name), batch, subdivisions);
    network *net = load(0, n);
    if(!net) fail_msg("%s", mgpu_error());
    return net;
}

static float *made_input(const network *net, int first, int rows)
{
    data d = make_rows(net, net->truths == 450, first, rows);
    float *x = malloc((size_t)rows * net->inputs * sizeof *x);
    for(int r = 0; r < rows; ++r) {
        memcpy(x + (size_t)r * net->inputs, d.X.vals[r], net->inputs * sizeof *x);
    }
    free_data(d);
    return x;
}

static void refuse(const mgpu_options *o, const char *file, const char *why)
{
    quiet();
    network *net = mgpu_load_network(cfg, (char *)file, 0, o);
    loud();
    assert_null(net);
    if(!strstr(mgpu_error(), why)) fail_msg("'%s' does not say '%s'", mgpu_error(), why);
}

static void test_refused(void **state)
{
    (void)state;
    static const int twice[] = {0, 1, 0}, high[] = {0, 64}, low[] = {-1};
    mgpu_options o = devices(2);
    write_cfg(cfg, find_net("plain"), 4, 1);
    o.gpus = twice;
    o.ngpus = 3;
    refuse(&o, 0, "device 0 is listed twice");
    o.gpus = high;
    o.ngpus = 2;
    refuse(&o, 0, "there is no device 64; ");
    o.gpus = low;
    o.ngpus = 1;
    refuse(&o, 0, "there is no device -1");
    o.ngpus = 65;
    refuse(&o, 0, "65 devices asked for");
    o = devices(2);
    o.shares = twice;
    refuse(&o, 0, "device 0 has a share of 0");
    o = devices(2);
    o.nogpu = 1;
    o.cpu_merge = 0;
    refuse(&o, 0, "need CUDA devices");
    o = devices(2);
    o.nogpu = 1;
    o.cpu_relocation = 0;
    refuse(&o, 0, "need CUDA devices");
    o = devices(2);
    refuse(&o, "/nonexistent/a.weights", "can not be read");
    refuse(&o, cfg, "another cfg");
    char *kept = strdup(cfg);
    strcpy(cfg, getenv("MGPU_SCRATCH"));
    refuse(&o, 0, "not a regular file");
    strcat(cfg, "/none.cfg");
    refuse(&o, 0, "can not be read");
    strcpy(cfg, kept);
    free(kept);
}

/* Each replica is built for the rows it gets, and shares the root's weights. */
static void test_replicas(void **state)
{
    (void)state;
    static const int rows[] = {3, 3, 2};
    network *net = make("normalised", 8, 1, 3);
    assert_int_equal(net->nreplicas, 3);
    for(int i = 0; i < 3; ++i) {
        assert_int_equal(net->replicas[i]->batch, rows[i]);
        assert_ptr_equal(net->replicas[i]->layers[0].weights, net->layers[0].weights);
        assert_ptr_equal(net->replicas[i]->layers[0].rolling_mean, net->layers[0].rolling_mean);
        assert_ptr_not_equal(net->replicas[i]->layers[0].output, net->layers[0].output);
    }
#ifndef GPU /* on CUDA devices each replica has a gradient that is brought there */
    assert_ptr_equal(net->replicas[0]->layers[0].weight_updates, net->layers[0].weight_updates);
#endif
    assert_ptr_not_equal(net->replicas[1]->layers[0].weight_updates,
                         net->layers[0].weight_updates);
    free_network(net);
}

/* Building replicas draws nothing: the seed alone decides the weights. */
static void test_seed(void **state)
{
    (void)state;
    int after[2];
    snapshot s[3];
    for(int i = 0; i < 2; ++i) {
        network *net = make("normalised", 4, 1, i ? 4 : 1);
        after[i] = mgpu_rand();
        s[i] = take(net, 0);
        free_network(net);
    }
    assert_int_equal(after[0], after[1]);
    for(int i = 0; i < s[0].n; ++i)
        assert_true(difference(s[0].arrays + i, s[1].arrays + i) == 0);
    mgpu_options o = devices(1);
    o.seed = 2;
    quiet();
    network *net = mgpu_load_network(cfg, 0, 0, &o);
    loud();
    s[2] = take(net, 0);
    assert_true(difference(s[2].arrays, s[0].arrays) > .5);
    free_network(net);
    for(int i = 0; i < 3; ++i) snapshot_free(s + i);
}

/* The boxes of each image of a batch are those that it has alone. */
static void test_select_row(void **state)
{
    (void)state;
    for(int batch = 2; batch <= 5; ++batch) {
        network *net = make("yolo", batch, 1, 2);
        float *x = made_input(net, 0, batch);
        int alone[8], n;
        float first[8];
        for(int r = 0; r < batch; ++r) {
            set_batch_network(net, 1);
            network_predict(net, x + (size_t)r * net->inputs);
            detection *dets = get_network_boxes(net, 16, 16, .5, .5, 0, 1, alone + r);
            first[r] = alone[r] ? dets[0].bbox.x : 0;
            free_detections(dets, alone[r]);
        }
        set_batch_network(net, batch);
        network_predict(net, x);
        snapshot before = take(net, 0);
        for(int r = batch - 1; r >= 0; --r) {
            assert_int_equal(mgpu_select_row(net, r), 0);
            detection *dets = get_network_boxes(net, 16, 16, .5, .5, 0, 1, &n);
            assert_int_equal(n, alone[r]);
            if(n) assert_true(fabsf(dets[0].bbox.x - first[r]) < 1e-5);
            free_detections(dets, n);
        }
        snapshot after = take(net, 0);
        for(int i = 0; i < before.n; ++i) {
            assert_true(difference(after.arrays + i, before.arrays + i) == 0);
        }
        assert_int_equal(mgpu_select_row(net, batch), -1);
        assert_non_null(strstr(mgpu_error(), "not within 0.."));
        assert_int_equal(mgpu_select_row(net, -1), -1);
        snapshot_free(&before);
        snapshot_free(&after);
        free(x);
        free_network(net);
    }
}

/* A selected row does not outlive the next call, nor a smaller batch or size. */
static void test_select_then_call(void **state)
{
    (void)state;
    network *net = make("yolo", 4, 1, 2);
    float *x = made_input(net, 0, 4);
    network_predict(net, x);
    snapshot fresh = take(net, 0);
    mgpu_select_row(net, 3);
    network_predict(net, x);
    snapshot again = take(net, 0);
    for(int i = 0; i < fresh.n; ++i) {
        assert_true(difference(fresh.arrays + i, again.arrays + i) == 0);
    }
    mgpu_select_row(net, 3);
    set_batch_network(net, 1);
    network_predict(net, x);
    quiet();
    resize_network(net, 32, 32);
    loud();
    free(x);
    x = made_input(net, 0, 1);
    network_predict(net, x);
    snapshot_free(&fresh);
    snapshot_free(&again);
    free(x);
    free_network(net);
}

/* forward_network is not the module's: it runs the root alone, which is whole. */
static void test_root_alone(void **state)
{
    (void)state;
    network *net = make("normalised", 6, 1, 3);
    float *x = made_input(net, 0, 6);
    network_predict(net, x);
    snapshot replicated = take(net, 0);
    memcpy(net->input, x, sizeof(float) * 6 * net->inputs);
    net->train = 0;
    forward_network(net);
    snapshot alone = take(net, 0);
    for(int i = 0; i < alone.n; ++i) {
        if(strstr(alone.arrays[i].name, "output")) {
            assert_true(difference(alone.arrays + i, replicated.arrays + i) < 1e-6);
        }
    }
    snapshot_free(&replicated);
    snapshot_free(&alone);
    free(x);
    free_network(net);
}

/* Weights are changed in place, by loading too, and the replicas see it. */
static void test_weights_in_place(void **state)
{
    (void)state;
    network *net = make("plain", 4, 1, 2);
    float *x = made_input(net, 0, 4), first, second;
    quiet();
    save_weights(net, weights);
    loud();
    first = network_predict(net, x)[0];
    scal_cpu(net->layers[6].inputs * 10, 3, net->layers[6].weights, 1);
    mgpu_push_weights(net); /* without effect on the host */
    second = network_predict(net, x)[0];
    assert_true(fabsf(first - second) > 1e-4);
    quiet();
    load_weights(net, weights);
    loud();
    assert_true(network_predict(net, x)[0] == first);
    free(x);
    free_network(net);
}

/* load_weights on a root ends the program if the file does not fit. */
static void test_load_exits(void **state)
{
    (void)state;
    network *net = make("plain", 4, 1, 1);
    quiet();
    save_weights(net, weights);
    loud();
    assert_int_equal(truncate(weights, 1000), 0);
    pid_t child = fork();
    if(child == 0) {
        quiet();
        load_weights(net, weights);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
    free_network(net);
}

/* A file that ends at a layer's border gives its layers their weights; the others keep
 * what the seed gave them. */
static void test_partial(void **state)
{
    (void)state;
    network *net = make("flat", 4, 1, 1);
    scal_cpu(net->layers[0].nweights, 2, net->layers[0].weights, 1);
    float kept = net->layers[1].weights[0], scaled = net->layers[0].weights[0];
    quiet();
    save_weights_upto(net, weights, 1);
    loud();
    free_network(net);
    net = load(weights, 2);
    assert_non_null(net);
    assert_true(net->layers[0].weights[0] == scaled);
    assert_true(net->layers[1].weights[0] == kept);
    free_network(net);
}

/* Rows that do not fit: not a number, a reason, and nothing has changed. */
static void test_wrong_rows(void **state)
{
    (void)state;
    network *net = make("plain", 4, 1, 2);
    data d = make_rows(net, 0, 0, 8);
    snapshot before = take(net, 0);
    data wrong[4] = {d, d, d, d};
    wrong[0].X.rows = 7;
    wrong[1].X.cols = net->inputs - 1;
    wrong[2].y.cols = net->truths + 1;
    wrong[3].X.rows = 0;
    for(int i = 0; i < 4; ++i) {
        quiet();
        float loss = train_network(net, wrong[i]);
        loud();
        uint32_t bits; /* Darknet's -Ofast code can not be asked isnan() */
        memcpy(&bits, &loss, sizeof bits);
        assert_true((bits & 0x7fffffff) > 0x7f800000);
        assert_non_null(strstr(mgpu_error(), "train_network"));
    }
    snapshot after = take(net, 0);
    for(int i = 0; i < before.n; ++i) {
        assert_true(difference(before.arrays + i, after.arrays + i) == 0);
    }
    snapshot_free(&before);
    snapshot_free(&after);
    free_data(d);
    free_network(net);
}

/* train_network_sgd draws rows and trains on them with train_network_datum: of rows
 * that are all the same it can only draw that one. */
static void test_sgd(void **state)
{
    (void)state;
    snapshot s[2];
    for(int i = 0; i < 2; ++i) {
        network *net = make("plain", 6, 1, 2);
        data d = make_rows(net, 0, 0, 6);
        for(int r = 1; r < 6; ++r) {
            memcpy(d.X.vals[r], d.X.vals[0], net->inputs * sizeof(float));
            memcpy(d.y.vals[r], d.y.vals[0], net->truths * sizeof(float));
        }
        if(i == 0) {
            train_network_sgd(net, d, 3);
        } else {
            for(int k = 0; k < 3; ++k) {
                get_next_batch(d, 6, 0, net->input, net->truth);
                train_network_datum(net);
            }
        }
        s[i] = take(net, 0);
        free_data(d);
        free_network(net);
    }
    for(int i = 0; i < s[0].n; ++i)
        assert_true(difference(s[0].arrays + i, s[1].arrays + i) == 0);
    snapshot_free(s);
    snapshot_free(s + 1);
}

/* Calls of one mini-batch are the same as one call of them all, to the bit where whole
 * mini-batches are dealt out: a plan does not depend on how a call is split. */
static void test_split_calls(void **state)
{
    (void)state;
    snapshot s[2];
    for(int i = 0; i < 2; ++i) {
        network *net = make("normalised", 12, 3, 2);
        data d = make_rows(net, 0, 0, 12);
        for(int k = 0; i && k < 3; ++k) {
            data part = d;
            part.X.rows = part.y.rows = 4;
            part.X.vals += 4 * k;
            part.y.vals += 4 * k;
            train_network(net, part);
        }
        if(i == 0) train_network(net, d);
        s[i] = take(net, 0);
        free_data(d);
        free_network(net);
    }
    for(int i = 0; i < s[0].n; ++i) {
        assert_true(difference(s[0].arrays + i, s[1].arrays + i) < 1e-6);
    }
    snapshot_free(s);
    snapshot_free(s + 1);
}

/* A call that ends in mid-batch leaves the whole gradient so far in the root, as stock
 * does, and none in the replicas. */
static void test_gradient_in_root(void **state)
{
    (void)state;
    float *gradients[2];
    int n = 0;
    for(int i = 0; i < 2; ++i) {
        network *net = make("plain", 12, 2, i + 1);
        data d = make_rows(net, 0, 0, 6);
        get_next_batch(d, 6, 0, net->input, net->truth);
        train_network_datum(net);
        n = net->layers[0].nweights;
        gradients[i] = malloc(n * sizeof(float));
        memcpy(gradients[i], net->layers[0].weight_updates, n * sizeof(float));
        for(int k = 0; i && k < n; ++k) {
            assert_true(net->replicas[1]->layers[0].weight_updates[k] == 0);
        }
        free_data(d);
        free_network(net);
    }
    for(int k = 0; k < n; ++k) {
        assert_true(fabsf(gradients[0][k] - gradients[1][k]) <
                    1e-4f * fabsf(gradients[0][k]) + 1e-7f);
    }
    free(gradients[0]);
    free(gradients[1]);
}

/* network_predict_data with a ragged end, and network_predict_image, which leaves the
 * batch at 1. */
static void test_predict_data(void **state)
{
    (void)state;
    network *net = make("normalised", 4, 1, 2);
    data d = make_rows(net, 0, 0, 7);
    matrix p = network_predict_data(net, d);
    for(int r = 0; r < 7; ++r) {
        set_batch_network(net, 1);
        float *out = network_predict(net, d.X.vals[r]);
        for(int k = 0; k < net->outputs; ++k) assert_true(fabsf(out[k] - p.vals[r][k]) < 1e-6);
    }
    image im = float_to_image(16, 16, 3, d.X.vals[2]);
    float *out = network_predict_image(net, im);
    for(int k = 0; k < net->outputs; ++k) assert_true(fabsf(out[k] - p.vals[2][k]) < 1e-4);
    assert_int_equal(net->batch, 1);
    free_matrix(p);
    free_data(d);
    free_network(net);
}

/* After a smaller batch and a larger one, replicas are as large as they need to be. */
static void test_batch_changes(void **state)
{
    (void)state;
    network *net = make("flat", 8, 1, 4); /* two rows each */
    data d = make_rows(net, 0, 0, 8);
    set_batch_network(net, 3); /* one device, three rows */
    data part = d;
    part.X.rows = part.y.rows = 3;
    float loss = train_network(net, part);
    assert_true(loss > 0 && loss < 100);
    assert_int_equal(net->replicas[0]->batch, 3);
    set_batch_network(net, 8);
    loss = train_network(net, d);
    assert_true(loss > 0 && loss < 100);
    assert_int_equal(net->replicas[3]->batch, 2);
    free_data(d);
    free_network(net);
}

static void *train_one(void *arg)
{
    network *net = arg;
    data d = make_rows(net, 0, 0, 24);
    for(int i = 0; i < 3; ++i) train_network(net, d);
    free_data(d);
    return 0;
}

/* Two roots train at the same time as they would one after the other. */
static void test_two_roots(void **state)
{
    (void)state;
    network *nets[3];
    snapshot s[3];
    pthread_t threads[2];
    for(int i = 0; i < 3; ++i) nets[i] = make("normalised", 12, 3, 2);
    for(int i = 0; i < 2; ++i) pthread_create(threads + i, 0, train_one, nets[i]);
    for(int i = 0; i < 2; ++i) pthread_join(threads[i], 0);
    train_one(nets[2]);
    for(int i = 0; i < 3; ++i) {
        s[i] = take(nets[i], 0);
        free_network(nets[i]);
    }
    for(int i = 0; i < s[0].n; ++i) {
        assert_true(difference(s[0].arrays + i, s[2].arrays + i) == 0);
        assert_true(difference(s[1].arrays + i, s[2].arrays + i) == 0);
    }
    for(int i = 0; i < 3; ++i) snapshot_free(s + i);
}

/* What a caller sets in the root's layers holds in the replicas. */
/* Dropout draws per row of the mini-batch: the same for any number of devices, other rows
 * in other batches, another seed another training. */
static float *train_dropout(int ndevices, unsigned long long seed, size_t *n)
{
    mgpu_options o = devices(ndevices);
    o.seed = seed;
    quiet();
    network *net = mgpu_load_network(cfg, weights, 0, &o);
    for(int i = 0; i < 4; ++i) {
        data d = make_rows(net, 0, 12 * i, 12);
        train_network(net, d);
        free_data(d);
    }
    loud();
    const layer *l = net->layers + 2;
    *n = (size_t)l->inputs * l->outputs;
    float *w = malloc(*n * sizeof *w);
    memcpy(w, l->weights, *n * sizeof *w);
    free_network(net);
    return w;
}

static double apart(const float *a, const float *b, size_t n)
{
    double d = 0, sum = 0;
    for(size_t i = 0; i < n; ++i) {
        d += (a[i] - b[i]) * (a[i] - b[i]);
        sum += b[i] * b[i];
    }
    return sqrt(d / sum);
}

static void test_dropout(void **state)
{
    (void)state;
    size_t n;
    for(int subdivisions = 1; subdivisions <= 4; subdivisions *= 2) {
        FILE *fp = fopen(cfg, "w");
        fprintf(fp, net_header, 12, subdivisions);
        fputs("[convolutional]\nfilters=8\nsize=3\nstride=2\npad=1\nactivation=leaky\n"
              "[dropout]\nprobability=.4\n"
              "[connected]\noutput=10\nactivation=linear\n[softmax]\n",
              fp);
        fclose(fp);
        mgpu_options o = devices(1);
        quiet();
        network *net = mgpu_load_network(cfg, 0, 0, &o);
        save_weights(net, weights);
        loud();
        free_network(net);
        float *one = train_dropout(1, 5, &n), *other = train_dropout(1, 6, &n);
        assert_true(apart(one, other, n) > 1e-3);
        for(int k = 2; k <= 8; k = k < 4 ? k + 1 : 2 * k) {
            float *more = train_dropout(k, 5, &n);
            assert_true(apart(more, one, n) < 1e-5);
            free(more);
        }
        free(one);
        free(other);
    }
}

/* What is dropped: a part of `probability`, scaled to keep the mean. */
static void test_dropped(void **state)
{
    (void)state;
    FILE *fp = fopen(cfg, "w");
    fprintf(fp, net_header, 40, 1);
    fputs("[convolutional]\nfilters=1\nsize=1\n[dropout]\nprobability=.25\n[softmax]\n", fp);
    fclose(fp);
    network *net = load(0, 2);
    data d = make_rows(net, 0, 0, 40);
    memset(net->layers[0].weights, 0, 3 * sizeof(float));
    net->layers[0].biases[0] = 3;
    net->layers[0].activation = LINEAR;
    for(int i = 0; i < 2; ++i) net->replicas[i]->layers[0].activation = LINEAR;
    quiet();
    train_network(net, d);
    loud();
    int dropped = 0, n = 20 * net->layers[0].outputs, same = 0;
    const float *a = net->replicas[0]->layers[0].output,
                *b = net->replicas[1]->layers[0].output;
    for(int i = 0; i < n; ++i) {
        assert_true(a[i] == 0 || a[i] == 4);
        dropped += a[i] == 0;
        same += a[i] == b[i];
    }
    assert_true(fabs(dropped / (double)n - .25) < .02);
    assert_true(fabs(same / (double)n - (.25 * .25 + .75 * .75)) < .02);
    free_data(d);
    free_network(net);
}

static void test_temperature(void **state)
{
    (void)state;
    network *net = make("plain", 4, 1, 2);
    float *x = made_input(net, 0, 4);
    set_temp_network(net, .01);
    float cold = network_predict(net, x)[0];
    set_temp_network(net, 100);
    float hot = network_predict(net, x)[0];
    assert_true(fabsf(hot - .1f) < .01f);
    assert_true(fabsf(cold - .1f) > .01f);
    free(x);
    free_network(net);
}

/* Layers under stopbackward get no gradient, but decay and move their statistics. */
static void test_stopbackward(void **state)
{
    (void)state;
    network *net = make("normalised", 4, 1, 2);
    data d = make_rows(net, 0, 0, 4);
    float before = net->layers[0].weights[0], kept = net->layers[5].weights[0];
    float bias = net->layers[0].biases[0];
    net->layers[3].stopbackward = 1;
    net->burn_in = 0;
    train_network(net, d);
    train_network(net, d);
    assert_true(net->layers[0].weights[0] != before);
    assert_true(fabsf(net->layers[0].weights[0] - before) < 1e-4 * fabsf(before));
    assert_true(net->layers[0].biases[0] == bias);
    assert_true(net->layers[0].rolling_variance[0] > 0);
    assert_true(fabsf(net->layers[5].weights[0] - kept) > 1e-4 * fabsf(kept));
    free_data(d);
    free_network(net);
}

/* What get_network_image() shows is the root's own, under a softmax too, whose layer has no
 * image: what the root alone would have there. */
static void test_image(void **state)
{
    (void)state;
    size_t n = 4 * 6 * 6 * 5;
    for(int devices = 1; devices <= 3; ++devices) {
        FILE *fp = fopen(cfg, "w");
        fprintf(fp, net_header, 4, 1);
        fputs("[convolutional]\nfilters=5\nsize=3\nstride=3\npad=1\nactivation=tanh\n"
              "[softmax]\ngroups=36\n",
              fp);
        fclose(fp);
        network *net = load(0, devices);
        assert_non_null(net);
        float *x = made_input(net, 0, 4);
        network_predict(net, x);
        image im = get_network_image(net);
        assert_int_equal(im.w * im.h * im.c, 6 * 6 * 5);
        float *shown = malloc(n * sizeof *shown);
        memcpy(shown, im.data, n * sizeof *shown);
        memcpy(net->input, x, 4 * net->inputs * sizeof *x);
        net->train = 0;
        forward_network(net);
        for(size_t k = 0; k < n; ++k) assert_true(fabsf(shown[k] - im.data[k]) < 1e-6);
        assert_true(fabsf(im.data[0]) > 1e-6);
        free(shown);
        free(x);
        free_network(net);
    }
}

int main(void)
{
    snprintf(cfg, sizeof cfg, "%s/root.cfg", getenv("MGPU_SCRATCH"));
    snprintf(weights, sizeof weights, "%s/root.weights", getenv("MGPU_SCRATCH"));
    gpu_index = -1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_replicas),
        cmocka_unit_test(test_seed),
        cmocka_unit_test(test_select_row),
        cmocka_unit_test(test_select_then_call),
        cmocka_unit_test(test_root_alone),
        cmocka_unit_test(test_weights_in_place),
        cmocka_unit_test(test_load_exits),
        cmocka_unit_test(test_partial),
        cmocka_unit_test(test_wrong_rows),
        cmocka_unit_test(test_sgd),
        cmocka_unit_test(test_split_calls),
        cmocka_unit_test(test_gradient_in_root),
        cmocka_unit_test(test_predict_data),
        cmocka_unit_test(test_batch_changes),
        cmocka_unit_test(test_two_roots),
        cmocka_unit_test(test_dropout),
        cmocka_unit_test(test_dropped),
        cmocka_unit_test(test_temperature),
        cmocka_unit_test(test_stopbackward),
        cmocka_unit_test(test_image),
    };
    return cmocka_run_group_tests_name("root", tests, 0, 0);
}
