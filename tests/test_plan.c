/* test_plan.c: who runs which rows. */
#include "mgpu_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define MOST 4096

static mgpu_slice slices[MOST];

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
        assert_in_range(slices[i].rows, 1, mgpu_plan_rows(s, slices[i].replica));
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
    for(int replicas = 1; replicas <= 9; ++replicas) {
        for(int batch = 1; batch <= 13; ++batch) {
            for(int count = 1; count <= 6; ++count) {
                for(int whole = 0; whole <= 1; ++whole) {
                    for(int min_rows = 1; min_rows <= 2; ++min_rows) {
                        check_cover(&(mgpu_plan_sizes){.replicas = replicas,
                                                       .batch = batch,
                                                       .whole = whole,
                                                       .first = 1,
                                                       .count = count,
                                                       .min_rows = min_rows});
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
    assert_true(mgpu_plan_whole(4, 4));
    assert_true(mgpu_plan_whole(3, 4));
    assert_false(mgpu_plan_whole(5, 4));
    assert_true(mgpu_plan_whole(1, 1));
}

static void test_cut(void **state)
{
    (void)state;
    mgpu_plan_sizes s = {.replicas = 3, .batch = 8, .count = 1, .min_rows = 1};
    assert_int_equal(mgpu_plan(&s, slices), 3);
    assert_int_equal(slices[0].rows, 3);
    assert_int_equal(slices[1].rows, 3);
    assert_int_equal(slices[2].rows, 2);
    assert_int_equal(mgpu_plan_rows(&s, 2), 2);
}

/* Fewer rows than devices: the last ones idle. */
static void test_idle(void **state)
{
    (void)state;
    mgpu_plan_sizes s = {.replicas = 8, .batch = 3, .count = 1, .min_rows = 1};
    assert_int_equal(mgpu_plan(&s, slices), 3);
    assert_int_equal(mgpu_plan_rows(&s, 3), 0);
    assert_int_equal(mgpu_plan_used(8, 3, 1), 3);
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
    assert_int_equal(mgpu_plan_used(4, 5, 2), 2);
    assert_int_equal(mgpu_plan_used(4, 1, 2), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cover),    cmocka_unit_test(test_whole),
        cmocka_unit_test(test_cut),      cmocka_unit_test(test_idle),
        cmocka_unit_test(test_min_rows),
    };
    return cmocka_run_group_tests_name("plan", tests, 0, 0);
}
