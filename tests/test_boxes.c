/* test_boxes.c: precision, recall and average precision, against values by hand. */
#include "mgpu_boxes.h"
#include "support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static mgpu_boxes found, truths;

static void add(mgpu_boxes *b, int image, int class, float score, float left, float top,
                float right, float bottom)
{
    mgpu_marked m = {image, class, score, {left, top, right, bottom}, 0};
    assert_int_equal(mgpu_boxes_add(b, m), 0);
}

static void judge(int classes, float threshold, mgpu_class_figures *figures)
{
    assert_int_equal(mgpu_boxes_judge(&found, &truths, classes, threshold, figures), 0);
    mgpu_boxes_free(&found);
    mgpu_boxes_free(&truths);
}

static void near(double a, double b)
{
    if(!(fabs(a - b) < 1e-9)) fail_msg("%.12f is not %.12f", a, b);
}

static void test_overlap(void **state)
{
    (void)state;
    mgpu_box a = {0, 0, 2, 2};
    near(mgpu_overlap(a, a), 1);
    near(mgpu_overlap(a, (mgpu_box){1, 0, 3, 2}), 2. / 6);
    near(mgpu_overlap(a, (mgpu_box){0, 0, 1, 2}), .5);
    near(mgpu_overlap(a, (mgpu_box){2, 0, 4, 2}), 0); /* side by side */
    near(mgpu_overlap(a, (mgpu_box){5, 5, 6, 6}), 0);
    near(mgpu_overlap(a, (mgpu_box){1, 1, 1, 1}), 0); /* empty */
    near(mgpu_overlap((mgpu_box){1, 1, 1, 1}, (mgpu_box){1, 1, 1, 1}), 0);
}

/* Four truths; by score: right, wrong, right, wrong, right. Precisions at the right ones:
 * 1, 2/3, 3/5; the fourth truth is never found. (1 + 2/3 + 3/5) / 4. */
static void test_area(void **state)
{
    (void)state;
    static const int right[] = {1, 0, 1, 0, 1};
    mgpu_class_figures f;
    for(int i = 0; i < 4; ++i) add(&truths, i, 0, 0, 0, 0, 1, 1);
    for(int i = 0, image = 0; i < 5; ++i) {
        float at = right[i] ? 0 : 5;
        add(&found, right[i] ? image++ : 0, 0, .9f - .1f * i, at, at, at + 1, at + 1);
    }
    judge(1, .65f, &f); /* .9, .8, .7 */
    near(f.average[0], (1 + 2. / 3 + 3. / 5) / 4);
    near(f.average[9], f.average[0]);
    assert_true(f.truths == 4 && f.found == 3 && f.right == 2);
    near(f.precision, 2. / 3);
    near(f.recall, .5);
}

/* Wrong, right, right: precisions 0, 1/2, 2/3; raised, both right ones count 2/3. */
static void test_raised(void **state)
{
    (void)state;
    mgpu_class_figures f;
    for(int i = 0; i < 2; ++i) add(&truths, i, 0, 0, 0, 0, 1, 1);
    add(&found, 1, 0, .2f, 0, 0, 1, 1);
    add(&found, 0, 0, .3f, 0, 0, 1, 1);
    add(&found, 7, 0, .4f, 0, 0, 1, 1); /* in an image without boxes */
    judge(1, .5f, &f);
    near(f.average[0], 2. / 3);
    assert_true(f.found == 0 && f.right == 0);
    assert_true(isnan(f.precision));
    near(f.recall, 0);
}

/* Of two at one truth the better scored is right, the other wrong, even though another
 * truth that it overlaps less is free. */
static void test_duplicates(void **state)
{
    (void)state;
    mgpu_class_figures f;
    add(&truths, 0, 0, 0, 0, 0, 10, 10);
    add(&truths, 0, 0, 0, 0, 3, 10, 13); /* overlaps the first by 70 / 130 */
    add(&found, 0, 0, .9f, 0, 0, 10, 10);
    add(&found, 0, 0, .8f, 0, 0, 10, 10);
    judge(1, .5f, &f);
    assert_true(f.found == 2 && f.right == 1);
    near(f.average[0], .5);
    near(f.average[9], .5);
}

/* Overlaps of exactly .5 and .75: right up to there. */
static void test_thresholds(void **state)
{
    (void)state;
    mgpu_class_figures f;
    add(&truths, 0, 0, 0, 0, 0, 4, 4);
    add(&truths, 1, 0, 0, 0, 0, 4, 4);
    add(&found, 0, 0, .9f, 0, 0, 4, 2);
    add(&found, 1, 0, .8f, 0, 0, 4, 3);
    judge(1, .5f, &f);
    near(f.average[0], 1);
    for(int k = 1; k <= 5; ++k) near(f.average[k], .25); /* the second alone: 1/2 of 1/2 */
    for(int k = 6; k < MGPU_OVERLAPS; ++k) near(f.average[k], 0);
}

/* Equal scores go in the order in which they were added, at any length. */
static void test_ties(void **state)
{
    (void)state;
    mgpu_class_figures f;
    for(int wrong_first = 0; wrong_first < 2; ++wrong_first) {
        add(&truths, 0, 0, 0, 0, 0, 1, 1);
        for(int i = 0; i < 1000; ++i) {
            int right = wrong_first ? i == 999 : i == 0;
            add(&found, right ? 0 : 1, 0, .5f, 0, 0, 1, 1);
        }
        judge(1, .5f, &f);
        near(f.average[0], wrong_first ? 1e-3 : 1);
        assert_int_equal(f.found, 0); /* a score of .5 is not above .5 */
    }
}

/* Classes are apart; one without truths does not count in the mean, one that is never
 * found counts 0. */
static void test_classes(void **state)
{
    (void)state;
    mgpu_class_figures f[4], mean;
    add(&truths, 0, 2, 0, 0, 0, 1, 1);
    add(&truths, 0, 0, 0, 0, 0, 1, 1);
    add(&truths, 1, 2, 0, 0, 0, 1, 1);
    add(&found, 0, 3, .9f, 0, 0, 1, 1);
    add(&found, 0, 0, .8f, 0, 0, 1, 1);
    add(&found, 0, 3, .7f, 0, 0, 1, 1);
    judge(4, .1f, f);
    near(f[0].average[0], 1);
    assert_true(isnan(f[1].average[0]) && isnan(f[1].precision) && isnan(f[1].recall));
    near(f[2].average[0], 0);
    assert_true(isnan(f[3].average[0]));
    near(f[3].precision, 0);
    mean = mgpu_figures_mean(f, 4);
    near(mean.average[0], .5);
    assert_true(mean.truths == 3 && mean.found == 3 && mean.right == 1);
    near(mean.precision, 1. / 3);
    near(mean.recall, 1. / 3);
}

static void test_nothing(void **state)
{
    (void)state;
    mgpu_class_figures f;
    judge(1, .5f, &f);
    assert_true(f.truths == 0 && f.found == 0 && isnan(f.average[0]));
    assert_true(isnan(mgpu_figures_mean(&f, 1).average[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_overlap),    cmocka_unit_test(test_area),
        cmocka_unit_test(test_raised),     cmocka_unit_test(test_duplicates),
        cmocka_unit_test(test_thresholds), cmocka_unit_test(test_ties),
        cmocka_unit_test(test_classes),    cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests_name("boxes", tests, 0, 0);
}
