/* test_data.c: batches that depend on the seed, the batch's number and the row alone. */
#include "mgpu_data.h"
#include "mgpu_error.h"
#include "support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>
#include <cmocka.h>

#define IMAGES 6
#define ROWS 5

static char *paths[IMAGES];
static char *labels[] = {"cat", "dog"};

static mgpu_images images(void)
{
    mgpu_images o = {.paths = paths, .npaths = IMAGES, .labels = labels, .classes = 2};
    o.w = o.h = o.min = 12;
    o.max = 16;
    o.flip = 1;
    o.angle = 10;
    o.aspect = 1.2;
    o.hue = .1;
    o.saturation = o.exposure = 1.5;
    o.seed = 3;
    return o;
}

static int setup(void **state)
{
    (void)state;
    for(int i = 0; i < IMAGES; ++i) {
        paths[i] = malloc(600);
        snprintf(paths[i], 600, "%s/%d_%s.ppm", getenv("MGPU_SCRATCH"), i, labels[i % 2]);
        FILE *fp = fopen(paths[i], "wb");
        fprintf(fp, "P6\n20 18\n255\n");
        for(int k = 0; k < 20 * 18 * 3; ++k) fputc(mix(i, k) & 255, fp);
        fclose(fp);
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for(int i = 0; i < IMAGES; ++i) free(paths[i]);
    return 0;
}

/* Batches first..first+n-1, as one array. */
static float *batches(mgpu_images o, size_t first, int n, int threads)
{
    mgpu_loader *l = mgpu_loader_make(&o, ROWS, first, threads);
    assert_non_null(l);
    int width = o.w * o.h * 3 + o.classes;
    float *all = malloc(sizeof(float) * n * ROWS * width);
    for(int b = 0; b < n; ++b) {
        data d = mgpu_loader_next(l);
        assert_int_equal(d.X.rows, ROWS);
        assert_int_equal(d.X.cols + d.y.cols, width);
        for(int r = 0; r < ROWS; ++r) {
            float *row = all + (size_t)(b * ROWS + r) * width;
            memcpy(row, d.X.vals[r], d.X.cols * sizeof(float));
            memcpy(row + d.X.cols, d.y.vals[r], d.y.cols * sizeof(float));
        }
    }
    mgpu_loader_free(l);
    return all;
}

#define WIDTH (12 * 12 * 3 + 2)
#define BATCH (ROWS * WIDTH)

static void test_threads_make_no_difference(void **state)
{
    (void)state;
    float *one = batches(images(), 0, 8, 1);
    for(int threads = 2; threads <= 9; threads += 3) {
        float *many = batches(images(), 0, 8, threads);
        assert_memory_equal(one, many, sizeof(float) * 8 * BATCH);
        free(many);
    }
    float *later = batches(images(), 5, 3, 2); /* as after a resume */
    assert_memory_equal(later, one + 5 * BATCH, sizeof(float) * 3 * BATCH);
    free(later);
    free(one);
}

static void test_seed(void **state)
{
    (void)state;
    mgpu_images o = images();
    float *a = batches(o, 0, 2, 2);
    o.seed = 4;
    float *b = batches(o, 0, 2, 2);
    assert_memory_not_equal(a, b, sizeof(float) * BATCH);
    assert_memory_not_equal(a, a + BATCH, sizeof(float) * BATCH);
    free(a);
    free(b);
}

/* Without variation rows are the images themselves; flip=0 never mirrors. */
static void test_plain_images(void **state)
{
    (void)state;
    mgpu_images o = images();
    o.center = 1;
    o.flip = 0;
    o.hue = 0;
    o.saturation = o.exposure = 1;
    float *a = batches(o, 0, 6, 2);
    for(int r = 0; r < 6 * ROWS; ++r) {
        int known = 0;
        for(int i = 0; i < IMAGES; ++i) {
            image im = load_image_color(paths[i], 0, 0), crop = center_crop_image(im, 12, 12);
            double d = 0;
            for(int k = 0; k < 12 * 12 * 3; ++k) d += fabs(crop.data[k] - a[r * WIDTH + k]);
            if(d < 1e-2 && a[r * WIDTH + WIDTH - 2 + i % 2] == 1) ++known;
            free_image(im);
            free_image(crop);
        }
        assert_int_equal(known, 1);
    }
    free(a);
}

static void test_class_of(void **state)
{
    (void)state;
    assert_int_equal(mgpu_class_of("a/3_dog.png", labels, 2), 1);
    assert_int_equal(mgpu_class_of("a/3_cow.png", labels, 2), -1);
    assert_int_equal(mgpu_class_of("cat_dog", labels, 2), 0);
}

/* A loader that nobody asks stops at once, and one that is asked for a while too. */
static void test_stop(void **state)
{
    (void)state;
    mgpu_images o = images();
    mgpu_loader_free(mgpu_loader_make(&o, ROWS, 0, 4));
    mgpu_loader_free(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_make_no_difference),
        cmocka_unit_test(test_seed),
        cmocka_unit_test(test_plain_images),
        cmocka_unit_test(test_class_of),
        cmocka_unit_test(test_stop),
    };
    return cmocka_run_group_tests_name("data", tests, setup, teardown);
}
