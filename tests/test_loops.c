/* test_loops.c: the tuned loops against Darknet's. */
#include "mgpu_loops.h"
#include "activations.h"
#include "blas.h"
#include "col2im.h"
#include "im2col.h"
#include "support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static float *numbers(size_t n, uint32_t seed)
{
    float *x = malloc((n + 1) * sizeof *x);
    for(size_t i = 0; i <= n; ++i) x[i] = unit(seed, i) - .5f;
    return x;
}

/* To columns, and back, to the bit. */
static void check_columns(int channels, int h, int w, int size, int stride, int pad)
{
    int rows = (h + 2 * pad - size) / stride + 1, cols = (w + 2 * pad - size) / stride + 1;
    size_t n = (size_t)channels * size * size * rows * cols, pixels = (size_t)channels * h * w;
    float *image = numbers(pixels, 1), *to[2], *back[2];
    for(mgpu_tuned = 0; mgpu_tuned < 2; ++mgpu_tuned) {
        to[mgpu_tuned] = numbers(n, 2);
        back[mgpu_tuned] = numbers(pixels, 3);
        im2col_cpu(image, channels, h, w, size, stride, pad, to[mgpu_tuned]);
        col2im_cpu(to[mgpu_tuned], channels, h, w, size, stride, pad, back[mgpu_tuned]);
    }
    if(memcmp(to[0], to[1], (n + 1) * sizeof(float))) {
        fail_msg("im2col of %dx%dx%d, size %d, stride %d, pad %d", channels, h, w, size, stride,
                 pad);
    }
    if(memcmp(back[0], back[1], (pixels + 1) * sizeof(float))) {
        fail_msg("col2im of %dx%dx%d, size %d, stride %d, pad %d", channels, h, w, size, stride,
                 pad);
    }
    free(image);
    for(int i = 0; i < 2; ++i) {
        free(to[i]);
        free(back[i]);
    }
}

static void test_columns(void **state)
{
    (void)state;
    for(int size = 1; size <= 5; ++size) {
        for(int stride = 1; stride <= 3; ++stride) {
            for(int pad = 0; pad <= 5; ++pad) {
                for(int h = 1; h <= 7; ++h) {
                    for(int w = 1; w <= 7; w += 2) {
                        if(h + 2 * pad < size || w + 2 * pad < size) continue;
                        check_columns(2, h, w, size, stride, pad);
                    }
                }
            }
        }
    }
    check_columns(3, 28, 33, 3, 1, 1);
    check_columns(1, 20, 20, 11, 4, 5);
}

/* Every activation, forward and backward, to the last bit but one. */
static void test_activations(void **state)
{
    (void)state;
    enum { N = 1003 };
    for(ACTIVATION a = LOGISTIC; a <= SELU; ++a) {
        float *x[2], *delta[2];
        for(mgpu_tuned = 0; mgpu_tuned < 2; ++mgpu_tuned) {
            x[mgpu_tuned] = numbers(N, 4);
            delta[mgpu_tuned] = numbers(N, 5);
            x[mgpu_tuned][5] = 0;
            activate_array(x[mgpu_tuned], N, a);
            gradient_array(x[mgpu_tuned], N, a, delta[mgpu_tuned]);
        }
        for(int i = 0; i <= N; ++i) {
            assert_true(fabsf(x[0][i] - x[1][i]) <= 1.2e-7f * fabsf(x[0][i]));
            assert_true(fabsf(delta[0][i] - delta[1][i]) <= 1.2e-7f * fabsf(delta[0][i]));
        }
        for(int i = 0; i < 2; ++i) {
            free(x[i]);
            free(delta[i]);
        }
    }
}

/* Batch normalisation's sums: differences of whole arrays, as the order of adding is
 * another. */
static void check_sums(int batch, int filters, int spatial)
{
    size_t n = (size_t)batch * filters * spatial;
    float *x = numbers(n, 6), *delta = numbers(n, 7), *got[2];
    for(mgpu_tuned = 0; mgpu_tuned < 2; ++mgpu_tuned) {
        float *g = got[mgpu_tuned] = calloc(4 * filters + 1, sizeof *g);
        mean_cpu(x, batch, filters, spatial, g);
        variance_cpu(x, g, batch, filters, spatial, g + filters);
        mean_delta_cpu(delta, g + filters, batch, filters, spatial, g + 2 * filters);
        variance_delta_cpu(x, delta, g, g + filters, batch, filters, spatial, g + 3 * filters);
    }
    for(int part = 0; part < 4; ++part) {
        float *a = got[0] + part * filters, *b = got[1] + part * filters;
        named plain = {"", filters, a}, tuned = {"", filters, b};
        double d = difference(&plain, &tuned);
        if(!(d < 1e-5)) fail_msg("sum %d of %dx%dx%d: %g", part, batch, filters, spatial, d);
    }
    assert_true(got[1][4 * filters] == 0);
    free(x);
    free(delta);
    free(got[0]);
    free(got[1]);
}

static void test_sums(void **state)
{
    (void)state;
    for(int batch = 1; batch <= 3; ++batch) {
        for(int spatial = 3; spatial <= 70; ++spatial) check_sums(batch, 5, spatial);
    }
    check_sums(4, 1, 1);
    check_sums(16, 3, 784);
}

int main(void)
{
    int start = mgpu_tuned, fast = strcmp(getenv("MGPU_VARIANT"), "fast") == 0;
    if(start != fast) {
        fprintf(stderr, "the tuned loops are used in the build for speed, and only there\n");
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_activations),
        cmocka_unit_test(test_sums),
    };
    return cmocka_run_group_tests_name("loops", tests, 0, 0);
}
