/* test_random.c: the counter-based generator. */
#include "mgpu_random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <pthread.h>
#include <cmocka.h>

/* The answers that the authors of Philox publish with it, for 10 rounds. */
static void test_known_answers(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for(size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        uint32_t out[4];
        mgpu_philox(known[i].counter, known[i].key, out);
        assert_memory_equal(out, known[i].out, sizeof out);
    }
}

static void *draw(void *to)
{
    int *out = to;
    mgpu_random_begin(5, 77, 1, 3);
    for(int i = 0; i < 100; ++i) out[i] = mgpu_rand();
    mgpu_random_end();
    return 0;
}

/* A stream is its name's, whatever is drawn elsewhere and on whatever thread. */
static void test_streams(void **state)
{
    (void)state;
    int here[100], there[100];
    pthread_t thread;
    mgpu_rand();
    draw(here);
    pthread_create(&thread, 0, draw, there);
    pthread_join(thread, 0);
    assert_memory_equal(here, there, sizeof here);
    mgpu_random_begin(5, 77, 1, 4);
    assert_int_not_equal(mgpu_rand(), here[0]);
    mgpu_random_begin(5, 78, 1, 3);
    assert_int_not_equal(mgpu_rand(), here[0]);
    mgpu_random_begin(5, 77, 2, 3);
    assert_int_not_equal(mgpu_rand(), here[0]);
    mgpu_random_begin(6, 77, 1, 3);
    assert_int_not_equal(mgpu_rand(), here[0]);
    mgpu_random_end();
}

static void test_shared(void **state)
{
    (void)state;
    mgpu_srand(9);
    int first = mgpu_rand(), second = mgpu_rand();
    assert_int_not_equal(first, second);
    mgpu_srand(9);
    assert_int_equal(mgpu_rand(), first);
    mgpu_random_mute(1);
    assert_int_equal(mgpu_rand(), 0);
    mgpu_random_mute(0);
    assert_int_equal(mgpu_rand(), second); /* muted draws use nothing up */
}

/* A fixed seed holds, whatever mgpu_srand() is told; each call begins another stream. */
static void test_fixed(void **state)
{
    (void)state;
    int draws[2][3];
    for(int i = 0; i < 2; ++i) {
        mgpu_random_fix(1ull << 40);
        for(int k = 0; k < 3; ++k) {
            draws[i][k] = mgpu_rand();
            mgpu_srand(100 * i + k);
        }
    }
    for(int k = 0; k < 3; ++k) assert_int_equal(draws[0][k], draws[1][k]);
    assert_int_not_equal(draws[0][0], draws[0][1]);
    assert_int_not_equal(draws[0][1], draws[0][2]);
    mgpu_random_fix(0);
    assert_int_not_equal(mgpu_rand(), draws[0][0]); /* all 64 bits count */
}

static void test_distribution(void **state)
{
    (void)state;
    double sum = 0, squares = 0, uniform = 0;
    int n = 200000;
    mgpu_srand(1);
    for(int i = 0; i < n; ++i) {
        double x = mgpu_rand_normal();
        sum += x;
        squares += x * x;
        int r = mgpu_rand();
        assert_in_range(r, 0, RAND_MAX);
        uniform += r / (RAND_MAX + 1.);
    }
    assert_true(fabs(sum / n) < .01);
    assert_true(fabs(squares / n - 1) < .02);
    assert_true(fabs(uniform / n - .5) < .005);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers), cmocka_unit_test(test_streams),
        cmocka_unit_test(test_shared),        cmocka_unit_test(test_distribution),
        cmocka_unit_test(test_fixed),
    };
    return cmocka_run_group_tests_name("random", tests, 0, 0);
}
