/* test_dataset.c: a .data file, and what its images, labels and boxes are refused for. */
#include "mgpu_dataset.h"
#include "mgpu_error.h"
#include "support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>
#include <cmocka.h>

#define IMAGES 3

static char folder[512], list_file[600], data_file[600];

static void put(const char *name, const char *text)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *fp = fopen(path, "w");
    assert_non_null(fp);
    fputs(text, fp);
    fclose(fp);
}

static int setup(void **state)
{
    (void)state;
    char text[8192] = "";
    snprintf(folder, sizeof folder, "%s", getenv("MGPU_SCRATCH"));
    snprintf(list_file, sizeof list_file, "%s/train.list", folder);
    snprintf(data_file, sizeof data_file, "%s/some.data", folder);
    for(int i = 0; i < IMAGES; ++i) {
        char name[64];
        snprintf(name, sizeof name, "%d_%s.jpg", i, i % 2 ? "dog" : "cat");
        put(name, "not looked into");
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s/%s\n", folder, name);
    }
    put("train.list", text);
    put("names.list", "cat\ndog\n");
    snprintf(text, sizeof text,
             "# a comment\nclasses = 2\ntrain = %s\nlabels = %s/names.list\nbackup=%s\ntop=2\n"
             "tag=1\n",
             list_file, folder, folder);
    put("some.data", text);
    return 0;
}

static mgpu_dataset read_data(void)
{
    mgpu_dataset d;
    if(mgpu_dataset_read(data_file, "train", "none", &d) < 0) fail_msg("%s", mgpu_error());
    return d;
}

static void test_read(void **state)
{
    (void)state;
    mgpu_dataset d = read_data();
    assert_int_equal(d.npaths, IMAGES);
    assert_string_equal(d.backup, folder);
    assert_string_equal(d.list, list_file);
    assert_true(d.classes == 2 && d.top == 2 && d.tag == 1);
    assert_null(d.labels);
    assert_int_equal(mgpu_dataset_labels(&d), 0);
    assert_string_equal(d.labels[1], "dog");
    assert_int_equal(mgpu_class_of("a/3_dog.png", d.labels, 2), 1);
    assert_int_equal(mgpu_class_of("a/3_cow.png", d.labels, 2), -1);
    assert_int_equal(mgpu_class_of("cat_dog", d.labels, 2), 0);
    assert_int_equal(mgpu_check_images(&d), 0);
    assert_int_equal(mgpu_check_class_labels(&d), 0);
    mgpu_dataset_free(&d);
    mgpu_dataset_free(&d);
    assert_int_equal(mgpu_dataset_read(data_file, "valid", "/nonexistent/list", &d), -1);
    assert_non_null(strstr(mgpu_error(), "list file /nonexistent/list can not be read"));
}

/* Blank lines and blanks at a line's end do not count; others belong to the path. */
static void test_lines(void **state)
{
    (void)state;
    char file[1200], *paths[] = {"one", "an other"};
    mgpu_dataset d;
    snprintf(file, sizeof file, "%s/odd.list", folder);
    put("odd.list", "\r\n a b/c d.png \t\r\n \t \n\nlast");
    assert_int_equal(mgpu_dataset_read(data_file, 0, 0, &d), 0);
    assert_int_equal(d.npaths, 0);
    assert_int_equal(mgpu_dataset_list(&d, file), 0);
    assert_int_equal(d.npaths, 2);
    assert_string_equal(d.paths[0], " a b/c d.png");
    assert_string_equal(d.paths[1], "last");
    mgpu_dataset_free(&d);
    put("odd.list", " \r\n\n\t");
    assert_int_equal(mgpu_dataset_read(data_file, 0, 0, &d), 0);
    assert_int_equal(mgpu_dataset_list(&d, file), -1);
    assert_non_null(strstr(mgpu_error(), "odd.list is empty"));
    assert_int_equal(mgpu_dataset_paths(&d, paths, 2), 0);
    assert_string_equal(d.paths[1], "an other");
    /* Without names= those of labels= */
    assert_int_equal(mgpu_dataset_names(&d, "none", 3), -1);
    assert_non_null(strstr(mgpu_error(), "names.list has 2 names; the network has 3 classes"));
    mgpu_dataset_free(&d);
    assert_int_equal(mgpu_dataset_read(data_file, 0, 0, &d), 0);
    assert_int_equal(mgpu_dataset_names(&d, "none", 2), 0);
    assert_string_equal(d.names[1], "dog");
    mgpu_dataset_free(&d);
}

static void test_images(void **state)
{
    (void)state;
    mgpu_dataset d = read_data();
    char *good = d.paths[1], missing[600], longest[5000];
    snprintf(missing, sizeof missing, "%s/none.jpg", folder);
    d.paths[1] = missing;
    assert_int_equal(mgpu_check_images(&d), -1);
    assert_non_null(strstr(mgpu_error(), "image 2 of 3"));
    assert_non_null(strstr(mgpu_error(), "none.jpg"));
    d.paths[1] = folder;
    assert_int_equal(mgpu_check_images(&d), -1);
    assert_non_null(strstr(mgpu_error(), "is not a regular file"));
    memset(longest, '/', sizeof longest);
    longest[sizeof longest - 1] = 0;
    d.paths[1] = longest;
    assert_int_equal(mgpu_check_images(&d), -1);
    assert_non_null(strstr(mgpu_error(), "more than 4000 bytes"));
    d.paths[1] = good;
    mgpu_dataset_free(&d);
}

static void test_class_labels(void **state)
{
    (void)state;
    mgpu_dataset d = read_data();
    mgpu_dataset_labels(&d);
    char *good = d.paths[1];
    d.paths[1] = "no/label.jpg"; /* said, and trained on all the same, as in stock */
    quiet();
    int status = mgpu_check_class_labels(&d);
    loud();
    assert_int_equal(status, 0);
    d.paths[1] = good;
    for(int i = 0; i < d.nlabels; ++i) d.labels[i][0] = '?';
    assert_int_equal(mgpu_check_class_labels(&d), -1);
    assert_non_null(strstr(mgpu_error(), "exactly one of the labels"));
    mgpu_dataset_free(&d);
    put("names.list", "cat\n");
    d = read_data();
    assert_int_equal(mgpu_dataset_labels(&d), -1);
    assert_non_null(strstr(mgpu_error(), "classes=2"));
    mgpu_dataset_free(&d);
    put("names.list", "cat\ndog\n");
}

static void test_boxes(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"0 .5 .5 .2 .2\n2 .5 .5 .2 .2\n",
         "1_dog.txt line 2: class 2; the cfg's layers know 0..1"},
        {"-1 .5 .5 .2 .2\n", "line 1: class -1"},
        {"0 .5 .5 .2\n", "line 1: not `class x y width height`"},
        {"\n\n0 .5 .5 .2 .2 .1\n", "line 3: not"},
        {"dog .5 .5 .2 .2\n", "line 1: not"},
        {"0 .5 nan .2 .2\n", "line 1: a box in parts"},
        {"0 .5 .5 1e30 .2\n", "line 1: a box in parts"},
        {"0 .5 -inf 1 .2\n", "line 1: a box in parts"},
    };
    mgpu_dataset d = read_data();
    assert_int_equal(mgpu_check_box_files(&d, 2, 90), -1);
    assert_non_null(strstr(mgpu_error(), "0_cat.txt"));
    put("0_cat.txt", "0 .5 .5 .2 .2\r\n1 0.1 0.1 0.1 0.1  \n");
    put("1_dog.txt", "");
    put("2_cat.txt", "1 .5 .5 1.5 .2");
    if(mgpu_check_box_files(&d, 2, 90)) fail_msg("%s", mgpu_error());
    quiet();
    int full = mgpu_check_box_files(&d, 2, 0);
    loud();
    assert_int_equal(full, 0); /* too many is said, and no error */
    int n;
    box_label *boxes = mgpu_read_boxes(d.paths[0], &n);
    assert_int_equal(n, 2);
    assert_true(boxes[1].id == 1 && boxes[1].w == .1f);
    free(boxes);
    assert_null(mgpu_read_boxes("no/such/image.jpg", &n));
    for(size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        put("1_dog.txt", bad[i][0]);
        assert_int_equal(mgpu_check_box_files(&d, 2, 90), -1);
        if(!strstr(mgpu_error(), bad[i][1])) fail_msg("%s", mgpu_error());
    }
    char *good = d.paths[0];
    d.paths[0] = "0_cat.bmp";
    assert_int_equal(mgpu_check_box_files(&d, 2, 90), -1);
    assert_non_null(strstr(mgpu_error(), "there is neither in it"));
    d.paths[0] = good;
    mgpu_dataset_free(&d);
}

static void test_tags(void **state)
{
    (void)state;
    mgpu_dataset d = read_data();
    put("0_cat.txt", "0 1\n");
    put("1_dog.txt", "");
    put("2_cat.txt", "1\n");
    if(mgpu_check_tag_files(&d, 2)) fail_msg("%s", mgpu_error());
    char tags[2] = {7, 7};
    assert_int_equal(mgpu_read_tags(d.paths[2], tags, 2), 0);
    assert_true(tags[0] == 0 && tags[1] == 1);
    assert_int_equal(mgpu_read_tags("no/such/image.jpg", tags, 2), 0);
    assert_true(tags[0] == 0 && tags[1] == 0);
    put("2_cat.txt", "2\n");
    assert_int_equal(mgpu_check_tag_files(&d, 2), -1);
    assert_non_null(strstr(mgpu_error(), "tag 2 is not within 0..1"));
    put("2_cat.txt", "-1\n");
    assert_int_equal(mgpu_check_tag_files(&d, 2), -1);
    put("2_cat.txt", "1 dog\n");
    assert_int_equal(mgpu_check_tag_files(&d, 2), -1);
    assert_non_null(strstr(mgpu_error(), "only the numbers of tags"));
    for(int i = 0; i < IMAGES; ++i) {
        char path[1200];
        snprintf(path, sizeof path, "%s/%d_%s.txt", folder, i, i % 2 ? "dog" : "cat");
        unlink(path);
    }
    assert_int_equal(mgpu_check_tag_files(&d, 2), -1);
    assert_non_null(strstr(mgpu_error(), "no image has a tag file"));
    mgpu_dataset_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),   cmocka_unit_test(test_lines),
        cmocka_unit_test(test_images), cmocka_unit_test(test_class_labels),
        cmocka_unit_test(test_boxes),  cmocka_unit_test(test_tags),
    };
    return cmocka_run_group_tests_name("dataset", tests, setup, 0);
}
