/* test_data.c: batches that depend on the seed, the batch's number and the row alone. */
#include "mgpu_data.h"
#include "mgpu_error.h"
#include "mgpu_hooks.h"
#include "mgpu_random.h"
#include "support.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>
#include <cmocka.h>

#define IMAGES 6
#define ROWS 5

static char *paths[IMAGES];
static char *labels[] = {"cat", "dog"};

static mgpu_source images(void)
{
    mgpu_source o = {.paths = paths, .npaths = IMAGES, .flip = 1, .seed = 3};
    o.args.type = CLASSIFICATION_DATA;
    o.args.labels = labels;
    o.args.classes = 2;
    o.args.w = o.args.h = o.args.size = o.args.min = 12;
    o.args.max = 16;
    o.args.angle = 10;
    o.args.aspect = 1.2;
    o.args.hue = .1;
    o.args.saturation = o.args.exposure = 1.5;
    return o;
}

static int setup(void **state)
{
    (void)state;
    for(int i = 0; i < IMAGES; ++i) {
        paths[i] = malloc(600);
        snprintf(paths[i], 600, "%s/%d_%s.jpg", getenv("MGPU_SCRATCH"), i, labels[i % 2]);
        FILE *fp = fopen(paths[i], "wb");
        fprintf(fp, "P6\n20 18\n255\n");
        for(int k = 0; k < 20 * 18 * 3; ++k) fputc(mix(i, k) & 255, fp);
        fclose(fp);
        char label[600];
        snprintf(label, 600, "%s/%d_%s.txt", getenv("MGPU_SCRATCH"), i, labels[i % 2]);
        fp = fopen(label, "w");
        fprintf(fp, "%d 0.25 0.5 0.2 0.4\n", i % 2);
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
static float *batches(mgpu_source o, size_t first, int n, int threads)
{
    mgpu_loader *l = mgpu_loader_make(&o, ROWS, first, threads);
    assert_non_null(l);
    int width = o.args.w * o.args.h * 3 + (o.args.num_boxes ? 5 * o.args.num_boxes : 2);
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
    mgpu_source o = images();
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
    mgpu_source o = images();
    o.args.center = 1;
    o.flip = 0;
    o.args.hue = 0;
    o.args.saturation = o.args.exposure = 1;
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

/* Boxes follow the images through jitter and mirroring; the same for any threads. */
static void test_boxes(void **state)
{
    (void)state;
    mgpu_source o = images();
    o.args.type = DETECTION_DATA;
    o.args.num_boxes = 2;
    o.args.jitter = .3;
    float *one = batches(o, 3, 4, 1), *many = batches(o, 3, 4, 5);
    size_t width = 12 * 12 * 3 + 10;
    assert_memory_equal(one, many, sizeof(float) * 4 * ROWS * width);
    int mirrored = 0;
    for(int r = 0; r < 4 * ROWS; ++r) {
        const float *box = one + r * width + 12 * 12 * 3;
        assert_true(box[0] > 0 && box[0] < 1 && box[2] > 0 && box[2] <= 1);
        assert_true(box[4] == 0 || box[4] == 1);
        assert_true(box[5] == 0); /* one box an image */
        mirrored += box[0] > .5f; /* all are drawn left of the middle */
    }
    assert_in_range(mirrored, 1, 4 * ROWS - 1);
    o.flip = 0;
    o.args.jitter = 0;
    free(one);
    one = batches(o, 3, 4, 2);
    for(int r = 0; r < 4 * ROWS; ++r) {
        const float *box = one + r * width + 12 * 12 * 3;
        assert_true(box[0] < .5f);
    }
    free(one);
    free(many);
}

/* Multi-scale: sides are drawn per block of batches, of the seed, and the last are fixed. */
static void test_scales(void **state)
{
    (void)state;
    mgpu_source o = images();
    load_args a = {0};
    o.min_ratio = .5;
    o.max_ratio = 2;
    mgpu_source_sides(&o, 7, &a);
    assert_int_equal(a.w, 0); /* not multi-scale: as they are */
    o.scales = (mgpu_scales){.every = 10, .least = 10, .count = 10, .last = 608, .end = 1000};
    int sides[100], seen[20] = {0}, kinds = 0;
    for(int b = 0; b < 1000; ++b) {
        mgpu_source_sides(&o, b, &a);
        assert_true(a.w == a.h && a.w == a.size && a.w % 32 == 0);
        assert_true(a.min == a.w / 2 && a.max == a.w * 2);
        if(b % 10) assert_int_equal(a.w, sides[b / 10]);
        sides[b / 10] = a.w;
        assert_in_range(a.w, 320, 608);
        if(b > 800) assert_true(b % 10 || a.w == 608);
        ++seen[a.w / 32];
    }
    for(int i = 10; i < 20; ++i) kinds += seen[i] > 0;
    assert_int_equal(kinds, 10);
    o.seed = 9;
    int same = 0;
    for(int b = 0; b < 80; ++b) {
        mgpu_source_sides(&o, b * 10, &a);
        same += a.w == sides[b];
    }
    assert_in_range(same, 0, 30);
    /* The rows have them. */
    o.scales = (mgpu_scales){.every = 2, .least = 1, .count = 3};
    mgpu_loader *l = mgpu_loader_make(&o, ROWS, 5, 3);
    for(int b = 5; b < 15; ++b) {
        data d = mgpu_loader_next(l);
        mgpu_source_sides(&o, b, &a);
        assert_int_equal(d.X.cols, a.w * a.w * 3);
    }
    mgpu_loader_free(l);
}

/* In place of a broken image a row gets the next that it draws; which rows have which does not
 * depend on threads. */
static void test_broken(void **state)
{
    (void)state;
    char *kept = paths[2], broken[600];
    snprintf(broken, sizeof broken, "%s/broken_cat.jpg", getenv("MGPU_SCRATCH"));
    FILE *fp = fopen(broken, "wb");
    fputs("not an image", fp);
    fclose(fp);
    mgpu_source o = images();
    float *whole = batches(o, 0, 4, 1);
    paths[2] = broken;
    quiet();
    float *one = batches(o, 0, 4, 1), *four = batches(o, 0, 4, 4);
    loud();
    paths[2] = kept;
    size_t row = WIDTH;
    int same = 0;
    for(int r = 0; r < 4 * ROWS; ++r) {
        assert_memory_equal(one + r * row, four + r * row, row * sizeof *one);
        float spread = 0; /* of a blank image: 0 */
        for(size_t i = 1; i < row - 2; ++i) spread += fabsf(one[r * row + i] - one[r * row]);
        assert_true(spread > 1);
        same += memcmp(one + r * row, whole + r * row, row * sizeof *one) == 0;
    }
    assert_in_range(same, 4 * ROWS / 2, 4 * ROWS - 1); /* all but those that had drawn it */
    free(whole);
    free(one);
    free(four);
}

static int threads(void)
{
    int n = 0;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    while(readdir(tasks)) ++n;
    closedir(tasks);
    return n;
}

/* Stopped at any time, asked for a batch or not: no thread stays, and nothing leaks (the
 * address sanitizer's build sees that). */
static void test_stop(void **state)
{
    (void)state;
    mgpu_source o = images();
    int before = threads();
    for(int i = 0; i < 60; ++i) {
        mgpu_loader *l = mgpu_loader_make(&o, ROWS, 0, 4);
        assert_non_null(l);
        if(i % 3 == 2) assert_non_null(mgpu_loader_next(l).X.vals[ROWS - 1]);
        usleep(i * 50);
        mgpu_loader_free(l);
        /* A joined thread is listed until the kernel has cleared it away. */
        for(int wait = 0; threads() != before && wait < 1000; ++wait) usleep(1000);
        assert_int_equal(threads(), before);
    }
    mgpu_loader_free(0);
}

/* Threads that Darknet's commands load in are numbered as they are started; what they draw is
 * a function of number and seed. */
static void test_own_threads(void **state)
{
    (void)state;
    int draws[3];
    assert_int_equal(mgpu_number_loading(), 0);
    for(int i = 0; i < 3; ++i) {
        mgpu_seed_loading(i == 2 ? 8 : 7, 1);
        assert_int_equal(mgpu_number_loading(), i + 1);
        mgpu_loading(5);
        draws[i] = mgpu_rand();
    }
    assert_int_equal(draws[0], draws[1]);
    assert_int_not_equal(draws[0], draws[2]);
    mgpu_loading(6);
    assert_int_not_equal(mgpu_rand(), draws[2]);
    int mirrored = 0;
    for(int i = 0; i < 100; ++i) mirrored += mgpu_flip();
    assert_in_range(mirrored, 20, 80);
    mgpu_seed_loading(7, 0);
    mgpu_loading(7);
    for(int i = 0; i < 100; ++i) assert_int_equal(mgpu_flip(), 0);
    mgpu_random_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_make_no_difference),
        cmocka_unit_test(test_seed),
        cmocka_unit_test(test_plain_images),
        cmocka_unit_test(test_boxes),
        cmocka_unit_test(test_scales),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_own_threads),
    };
    return cmocka_run_group_tests_name("data", tests, setup, teardown);
}
