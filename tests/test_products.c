/* test_products.c: matrix products against plain loops in double precision, whoever
 * does them: OpenBLAS in the build for speed, Darknet's loops elsewhere. */
#include "mgpu_products.h"
#include "gemm.h"
#include "support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static float *numbers(size_t n, uint32_t seed)
{
    float *x = malloc(n * sizeof *x);
    for(size_t i = 0; i < n; ++i) x[i] = unit(seed, i) - .5f;
    return x;
}

/* Rows lie `gap` floats further apart than they are long; what lies between must stay. */
static void check(int ta, int tb, int m, int n, int k, float alpha, float beta, int gap)
{
    int lda = (ta ? m : k) + gap, ldb = (tb ? k : n) + gap, ldc = n + gap;
    float *a = numbers((size_t)(ta ? k : m) * lda, 1);
    float *b = numbers((size_t)(tb ? n : k) * ldb, 2);
    float *c = numbers((size_t)m * ldc, 3), *before = numbers((size_t)m * ldc, 3);
    double off = 0, size = 0;
    gemm_cpu(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    for(int i = 0; i < m; ++i) {
        for(int j = 0; j < n; ++j) {
            double sum = 0;
            for(int p = 0; p < k; ++p) {
                sum += (double)a[ta ? p * lda + i : i * lda + p] *
                       b[tb ? j * ldb + p : p * ldb + j];
            }
            double right = alpha * sum + beta * before[i * ldc + j];
            off += (c[i * ldc + j] - right) * (c[i * ldc + j] - right);
            size += right * right;
        }
        for(int j = n; j < ldc; ++j) assert_true(c[i * ldc + j] == before[i * ldc + j]);
    }
    if(!(sqrt(off / size) < 1e-6)) {
        fail_msg("ta=%d tb=%d %dx%dx%d alpha=%g beta=%g: off by %g", ta, tb, m, n, k, alpha,
                 beta, sqrt(off / size));
    }
    free(a);
    free(b);
    free(c);
    free(before);
}

static void test_product(void **state)
{
    (void)state;
    static const int sizes[][3] = {{1, 1, 1},   {1, 7, 3},    {5, 1, 9},   {3, 4, 1},
                                   {16, 16, 9}, {33, 65, 70}, {64, 49, 27}};
    static const float factors[][2] = {{1, 1}, {1, 0}, {.5f, 2}};
    for(size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
        for(int t = 0; t < 4; ++t) {
            for(int f = 0; f < 3; ++f) {
                for(int gap = 0; gap < 2; ++gap) {
                    check(t & 1, t >> 1, sizes[s][0], sizes[s][1], sizes[s][2], factors[f][0],
                          factors[f][1], 3 * gap);
                }
            }
        }
    }
}

/* The build for speed does have them; the build to compare with stock does not. */
static void test_who(void **state)
{
    (void)state;
    float one = 1, two = 2, sum = 3;
    int done = mgpu_product(0, 0, 1, 1, 1, 1, &one, 1, &two, 1, 1, &sum, 1);
    assert_int_equal(done, strcmp(getenv("MGPU_VARIANT"), "fast") == 0);
    assert_true(sum == (done ? 5 : 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_product),
        cmocka_unit_test(test_who),
    };
    return cmocka_run_group_tests_name("products", tests, 0, 0);
}
