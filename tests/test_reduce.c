/* test_reduce.c: merging and updating ranges of memory. */
#include "mgpu_reduce.h"
#include "mgpu_tensors.h"

#include "convolutional_layer.h"
#include "support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define N 5000

static float *numbers(uint32_t seed)
{
    float *a = malloc(N * sizeof *a);
    for(int i = 0; i < N; ++i) a[i] = unit(seed, i) - .5f;
    return a;
}

/* u + g0 + g1 + ..., in that order, and the g are zero afterwards; nothing outside the
 * range is touched. */
static void test_merge(void **state)
{
    (void)state;
    for(int ng = 0; ng <= 8; ++ng) {
        float *g[8], *u = numbers(1), *expected = numbers(1);
        for(int k = 0; k < ng; ++k) g[k] = numbers(2 + k);
        for(int i = 7; i < N - 9; ++i) {
            for(int k = 0; k < ng; ++k) expected[i] += g[k][i];
        }
        mgpu_merge_range(u, g, ng, 7, N - 9);
        assert_memory_equal(u, expected, N * sizeof *u);
        for(int k = 0; k < ng; ++k) {
            for(int i = 0; i < N; ++i) {
                if(i >= 7 && i < N - 9)
                    assert_true(g[k][i] == 0);
                else
                    assert_true(g[k][i] == unit(2 + k, i) - .5f);
            }
            free(g[k]);
        }
        free(u);
        free(expected);
    }
}

/* The bits of Darknet's own update of a convolutional layer: weights decay, biases and
 * scales do not. */
static void test_update(void **state)
{
    (void)state;
    layer l = {0};
    l.n = N;
    l.nweights = N;
    l.learning_rate_scale = .5f;
    l.biases = numbers(1);
    l.bias_updates = numbers(2);
    l.scales = numbers(3);
    l.scale_updates = numbers(4);
    l.weights = numbers(5);
    l.weight_updates = numbers(6);
    update_args a = {.batch = 48, .learning_rate = .013f, .momentum = .9f, .decay = .0005f};
    mgpu_rule rule = {.rate = a.learning_rate * l.learning_rate_scale / a.batch,
                      .momentum = a.momentum};
    mgpu_rule decaying = rule;
    decaying.decay = -a.decay * a.batch;
    float *w[3] = {numbers(1), numbers(3), numbers(5)};
    float *u[3] = {numbers(2), numbers(4), numbers(6)};
    for(int i = 0; i < 3; ++i)
        mgpu_update_range(w[i], u[i], 0, 0, 0, N, i == 2 ? decaying : rule);
    update_convolutional_layer(l, a);
    float *stock_w[3] = {l.biases, l.scales, l.weights};
    float *stock_u[3] = {l.bias_updates, l.scale_updates, l.weight_updates};
    for(int i = 0; i < 3; ++i) {
        for(int k = 0; k < N; ++k) {
            assert_true(fabsf(w[i][k] - stock_w[i][k]) <= 1e-7f * fabsf(stock_w[i][k]));
            assert_true(fabsf(u[i][k] - stock_u[i][k]) <=
                        2e-7f * fabsf(stock_u[i][k]) + 1e-10f);
        }
        free(w[i]);
        free(u[i]);
        free(stock_w[i]);
        free(stock_u[i]);
    }
}

/* The merge that goes with an update is the same sum, and two parts are the whole. */
static void test_merge_with_update(void **state)
{
    (void)state;
    mgpu_rule rule = {.rate = .01f, .decay = -.02f, .momentum = .9f};
    float *w1 = numbers(1), *u1 = numbers(2), *g1[2] = {numbers(3), numbers(4)};
    float *w2 = numbers(1), *u2 = numbers(2), *g2[2] = {numbers(3), numbers(4)};
    mgpu_merge_range(u1, g1, 2, 0, N);
    mgpu_update_range(w1, u1, 0, 0, 0, N, rule);
    mgpu_update_range(w2, u2, g2, 2, 0, 1234, rule);
    mgpu_update_range(w2, u2, g2, 2, 1234, N, rule);
    assert_memory_equal(w1, w2, N * sizeof *w1);
    assert_memory_equal(u1, u2, N * sizeof *u1);
    for(int i = 0; i < 2; ++i) {
        free(g1[i]);
        free(g2[i]);
    }
    free(w1);
    free(w2);
    free(u1);
    free(u2);
}

/* Three updates by Adam with decay, against the rule in double precision; in two parts, with a
 * gradient to merge; and nothing outside the range is touched. */
static void test_adam(void **state)
{
    (void)state;
    const double b1 = .9, b2 = .999, eps = 1e-7, rate = .01, decay = .02;
    float *w = numbers(1), *u = calloc(N, sizeof *u), *g = calloc(N, sizeof *g);
    float *m = calloc(N, sizeof *m), *v = calloc(N, sizeof *v);
    double x[N], mean[N] = {0}, square[N] = {0};
    for(int i = 0; i < N; ++i) x[i] = w[i];
    for(int t = 1; t <= 3; ++t) {
        mgpu_rule rule = {.adam = 1, .rate = rate, .decay = -decay, .b1 = b1, .b2 = b2};
        rule.eps = eps;
        rule.unbias1 = 1 - powf(rule.b1, t);
        rule.unbias2 = 1 - powf(rule.b2, t);
        for(int i = 0; i < N; ++i) u[i] = unit(20 + t, i) - .5f;
        for(int i = 0; i < N; ++i) g[i] = unit(30 + t, i) - .3f;
        for(int i = 5; i < N - 3; ++i) {
            double d = (double)u[i] + g[i] - decay * x[i];
            mean[i] = b1 * mean[i] + (1 - b1) * d;
            square[i] = b2 * square[i] + (1 - b2) * d * d;
            x[i] += rate * (mean[i] / (1 - pow(b1, t))) /
                    (sqrt(square[i] / (1 - pow(b2, t))) + eps);
        }
        mgpu_adam_range(w, u, m, v, &g, 1, 5, 1000, rule);
        mgpu_adam_range(w, u, m, v, &g, 1, 1000, N - 3, rule);
        for(int i = 5; i < N - 3; ++i) assert_true(u[i] == 0 && g[i] == 0);
        assert_true(u[4] != 0 && u[N - 3] != 0 && g[4] != 0);
    }
    for(int i = 0; i < N; ++i)
        assert_true(fabs(w[i] - x[i]) <= 2e-4 * rate + 1e-6 * fabs(x[i]));
    for(int i = 5; i < N - 3; ++i) assert_true(fabs(m[i] - mean[i]) <= 1e-6);
    /* 1 - b2 is computed in floats, as in Darknet: off by 5e-5. */
    for(int i = 5; i < N - 3; ++i) assert_true(fabs(v[i] - square[i]) <= 1e-4 * square[i]);
    free(w);
    free(u);
    free(g);
    free(m);
    free(v);
}

/* Weights stay within -clip..clip after the update; momentum is not touched by it. */
static void test_clip(void **state)
{
    (void)state;
    mgpu_rule rule = {.rate = 1, .momentum = .5f};
    float *w[2] = {numbers(1), numbers(1)}, *u[2] = {numbers(2), numbers(2)};
    mgpu_update_range(w[0], u[0], 0, 0, 0, N, rule);
    rule.clip = .25f;
    mgpu_update_range(w[1], u[1], 0, 0, 0, N, rule);
    for(int i = 0; i < N; ++i) {
        assert_true(w[1][i] == fminf(.25f, fmaxf(-.25f, w[0][i])));
        assert_true(u[1][i] == u[0][i]);
    }
    for(int i = 0; i < 2; ++i) {
        free(w[i]);
        free(u[i]);
    }
}

/* Parts are disjoint, in order, cover everything, and start on cache lines. */
static void test_parts(void **state)
{
    (void)state;
    for(size_t length = 0; length < 200; ++length) {
        for(int n = 1; n <= 9; ++n) {
            size_t at = 0, from, to;
            for(int i = 0; i < n; ++i) {
                mgpu_part(length, i, n, &from, &to);
                assert_int_equal(from, at);
                assert_true(from == length || from % 16 == 0);
                assert_true(to >= from);
                at = to;
            }
            assert_int_equal(at, length);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_update),
        cmocka_unit_test(test_merge_with_update),
        cmocka_unit_test(test_adam),
        cmocka_unit_test(test_clip),
        cmocka_unit_test(test_parts),
    };
    return cmocka_run_group_tests_name("reduce", tests, 0, 0);
}
