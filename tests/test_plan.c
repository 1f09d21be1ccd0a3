/* test_plan.c: who runs which rows. */
#include "mgpu_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define MOST 4096

static mgpu_slice slices[MOST];
static int cut[64];

/* Every row of every mini-batch is run exactly once, in order, by a replica there is. */
static void check_cover(const mgpu_plan_sizes *s)
{
    int n = mgpu_plan(s, slices);
    assert_in_range(n, s->count, MOST);
    assert_int_equal(n, mgpu_plan(s, 0));
    int minibatch = 0, row = 0;
    for(int i = 0; i < n; ++i) {
        assert_int_equal(slices[i].minibatch, minibatch);
        assert_int_equal(slices[i].row, row);
        assert_in_range(slices[i].replica, 0, s->replicas - 1);
        assert_in_range(slices[i].rows, 1, s->batch);
        row += slices[i].rows;
        if(row == s->batch) {
            ++minibatch;
            row = 0;
        }
    }
    assert_int_equal(minibatch, s->count);
    assert_int_equal(row, 0);
}

static void test_cover(void **state)
{
    (void)state;
    static const int shares[] = {3, 1, 2, 2, 7, 1, 1, 5, 1};
    for(int replicas = 1; replicas <= 9; ++replicas) {
        for(int batch = 1; batch <= 13; ++batch) {
            for(int count = 1; count <= 6; ++count) {
                for(int whole = 0; whole <= 1; ++whole) {
                    for(int min_rows = 1; min_rows <= 2; ++min_rows) {
                        mgpu_plan_sizes s = {.replicas = replicas,
                                             .batch = batch,
                                             .whole = whole,
                                             .first = 1,
                                             .count = count,
                                             .min_rows = min_rows};
                        check_cover(&s);
                        s.shares = shares;
                        check_cover(&s);
                    }
                }
            }
        }
    }
}

/* Mini-batch m goes to replica m mod N, counted from the update before, so that how a
 * batch is split into calls makes no difference. */
static void test_whole(void **state)
{
    (void)state;
    mgpu_plan_sizes s = {.replicas = 3, .batch = 5, .whole = 1, .first = 2, .count = 4};
    assert_int_equal(mgpu_plan(&s, slices), 4);
    static const int expected[] = {2, 0, 1, 2};
    for(int i = 0; i < 4; ++i) {
        assert_int_equal(slices[i].replica, expected[i]);
        assert_int_equal(slices[i].rows, 5);
    }
    for(int replicas = 1; replicas <= 5; ++replicas) {
        s.replicas = replicas;
        assert_int_equal(mgpu_plan_whole(&s, 4), replicas <= 4);
        assert_int_equal(mgpu_plan_whole(&s, 1), replicas == 1);
    }
}

/* Mini-batches dealt out by shares: 3 to 1 is three of four, in any order of the shares, and
 * whole where each device gets one. */
static void test_turns(void **state)
{
    (void)state;
    static const int three_one[] = {3, 1}, one_three[] = {1, 3}, two_one_one[] = {2, 1, 1};
    static const int expected[][8] = {
        {0, 0, 0, 1, 0, 0, 0, 1}, {1, 1, 0, 1, 1, 1, 0, 1}, {0, 0, 1, 2, 0, 0, 1, 2}};
    const int *shares[] = {three_one, one_three, two_one_one};
    for(int i = 0; i < 3; ++i) {
        mgpu_plan_sizes s = {.replicas = i < 2 ? 2 : 3, .shares = shares[i]};
        int given[3] = {0};
        for(int m = 0; m < 8; ++m) {
            assert_int_equal(mgpu_plan_turn(&s, m), expected[i][m]);
            ++given[mgpu_plan_turn(&s, m)];
        }
        for(int r = 0; r < s.replicas; ++r) assert_int_equal(given[r], 2 * shares[i][r]);
        assert_int_equal(mgpu_plan_whole(&s, 4), 1);
        assert_int_equal(mgpu_plan_whole(&s, 2), 0);
    }
}

/* Rows cut by shares: each gets its part, what is left goes to those cut shortest; who would
 * get too few gets none, the smallest share first. */
static void test_shares(void **state)
{
    (void)state;
    static const int shares[] = {3, 1, 2};
    static const int expected[][4] = {/* rows, then what each device gets */
                                      {12, 6, 2, 4}, {6, 3, 1, 2}, {7, 4, 1, 2}, {8, 4, 1, 3},
                                      {3, 2, 0, 1},  {2, 1, 0, 1}, {1, 1, 0, 0}};
    for(size_t i = 0; i < sizeof expected / sizeof *expected; ++i) {
        mgpu_plan_sizes s = {
            .replicas = 3, .shares = shares, .batch = expected[i][0], .min_rows = 1};
        mgpu_plan_cut(&s, cut);
        for(int r = 0; r < 3; ++r) assert_int_equal(cut[r], expected[i][r + 1]);
    }
    mgpu_plan_sizes s = {.replicas = 3, .shares = shares, .batch = 6, .min_rows = 2};
    assert_int_equal(mgpu_plan_cut(&s, cut), 2);
    assert_int_equal(cut[0], 4); /* 3.6 and 2.4 */
    assert_int_equal(cut[1], 0);
    assert_int_equal(cut[2], 2);
}

static void test_cut(void **state)
{
    (void)state;
    mgpu_plan_sizes s = {.replicas = 3, .batch = 8, .count = 1, .min_rows = 1};
    assert_int_equal(mgpu_plan(&s, slices), 3);
    assert_int_equal(slices[0].rows, 3);
    assert_int_equal(slices[1].rows, 3);
    assert_int_equal(slices[2].rows, 2);
}

/* Fewer rows than devices: the last ones idle. */
static void test_idle(void **state)
{
    (void)state;
    mgpu_plan_sizes s = {.replicas = 8, .batch = 3, .count = 1, .min_rows = 1};
    assert_int_equal(mgpu_plan(&s, slices), 3);
    assert_int_equal(mgpu_plan_cut(&s, cut), 3);
    for(int i = 0; i < 8; ++i) assert_int_equal(cut[i], i < 3);
}

/* No slice of one row where that would be one value per channel, unless the mini-batch
 * itself has one. */
static void test_min_rows(void **state)
{
    (void)state;
    for(int batch = 2; batch < 20; ++batch) {
        for(int replicas = 1; replicas < 20; ++replicas) {
            mgpu_plan_sizes s = {
                .replicas = replicas, .batch = batch, .count = 1, .min_rows = 2};
            int n = mgpu_plan(&s, slices);
            for(int i = 0; i < n; ++i) assert_in_range(slices[i].rows, 2, batch);
        }
    }
    mgpu_plan_sizes five = {.replicas = 4, .batch = 5, .min_rows = 2}, one = five;
    one.batch = 1;
    assert_int_equal(mgpu_plan_cut(&five, cut), 2);
    assert_int_equal(mgpu_plan_cut(&one, cut), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cover),    cmocka_unit_test(test_whole),
        cmocka_unit_test(test_turns),    cmocka_unit_test(test_shares),
        cmocka_unit_test(test_cut),      cmocka_unit_test(test_idle),
        cmocka_unit_test(test_min_rows),
    };
    return cmocka_run_group_tests_name("plan", tests, 0, 0);
}
