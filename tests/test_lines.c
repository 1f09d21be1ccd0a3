/* test_lines.c: the lines of detection layers, merged over slices. */
#include "mgpu_lines.h"
#include "support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static mgpu_line line(const char *format, ...)
{
    mgpu_line l;
    va_list args;
    va_start(args, format);
    mgpu_line_set(&l, format, args);
    va_end(args);
    return l;
}

static const char yolo[] = "Region %d Avg IOU: %f, Class: %f, Obj: %f, No Obj: %f, .5R: %f, "
                           ".75R: %f,  count: %d\n";

/* What mgpu_line_print prints. */
static const char *printed(const mgpu_line *l)
{
    static char text[512];
    char path[600];
    snprintf(path, sizeof path, "%s/line", getenv("MGPU_SCRATCH"));
    fflush(stdout);
    int out = dup(1), file = open(path, O_CREAT | O_TRUNC | O_RDWR, 0600);
    dup2(file, 1);
    mgpu_line_print(l);
    fflush(stdout);
    dup2(out, 1);
    lseek(file, 0, SEEK_SET);
    ssize_t n = read(file, text, sizeof text - 1);
    text[n > 0 ? n : 0] = 0;
    close(file);
    close(out);
    return text;
}

static void test_one_slice(void **state)
{
    (void)state;
    char right[512];
    mgpu_line l = line(yolo, 82, .25, .5, .125, .0625, 1., 0., 7), merged;
    mgpu_line_merge(&l, (int[]){4}, 1, &merged);
    snprintf(right, sizeof right, yolo, 82, .25, .5, .125, .0625, 1., 0., 7);
    assert_string_equal(printed(&merged), right);
}

/* Averages over objects weigh by count, those over places by rows; slices without an
 * object have 0/0. */
static void test_three_slices(void **state)
{
    (void)state;
    char right[512];
    mgpu_line merged, l[3];
    l[0] = line(yolo, 16, .5, .25, 1., .5, 1., 0., 1);
    l[1] = line(yolo, 16, NAN, NAN, NAN, .25, NAN, NAN, 0);
    l[2] = line(yolo, 16, .25, .5, 0., .125, .5, .5, 3);
    mgpu_line_merge(l, (int[]){2, 1, 1}, 3, &merged);
    snprintf(right, sizeof right, yolo, 16, .3125, .4375, .25, .34375, .625, .375, 4);
    assert_string_equal(printed(&merged), right);
    l[0] = l[2] = l[1];
    mgpu_line_merge(l, (int[]){1, 1, 1}, 3, &merged);
    assert_non_null(strstr(printed(&merged), "Avg IOU: nan"));
    assert_non_null(strstr(printed(&merged), "No Obj: 0.250000"));
    assert_non_null(strstr(printed(&merged), "count: 0\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_slice),
        cmocka_unit_test(test_three_slices),
    };
    return cmocka_run_group_tests_name("lines", tests, 0, 0);
}
