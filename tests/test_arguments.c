/* test_arguments.c: strict command lines. */
#include "mgpu_arguments.h"
#include "mgpu_error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static void test_devices(void **state)
{
    (void)state;
    mgpu_list d;
    assert_int_equal(mgpu_parse_devices("0", &d), 0);
    assert_int_equal(d.n, 1);
    assert_int_equal(mgpu_parse_devices("3,0,63", &d), 0);
    assert_int_equal(d.n, 3);
    assert_int_equal(d.values[0], 3);
    assert_int_equal(d.values[2], 63);
    static const char *const bad[][2] = {
        {"", "not a list"},        {"0,", "not a list"},
        {",0", "not a list"},      {"0,,1", "not a list"},
        {"a", "not a list"},       {"-1", "not a list"},
        {"0, 1", "not a list"},    {"+1", "not a list"},
        {"0x1", "not a list"},     {"1.5", "not a list"},
        {"64", "no device id 64"}, {"0,99", "no device id 99"},
        {"0;1", "not a list"},     {"99999999999999999999", "not a list"},
    };
    for(size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        assert_int_equal(mgpu_parse_devices(bad[i][0], &d), -1);
        if(!strstr(mgpu_error(), bad[i][1])) fail_msg("%s: %s", bad[i][0], mgpu_error());
    }
}

typedef struct {
    mgpu_list devices;
    int flag, number;
    unsigned long long seed;
    float real;
    char *text, *words[2];
} parsed;

/* By mgpu_take_arguments, where n is not NULL. */
static int parse_words(parsed *p, int *n, int argc, char **argv)
{
    *p = (parsed){.number = -7};
    const mgpu_argument table[] = {
        {"-gpus", MGPU_DEVICES, &p->devices, 0, 0},   {"-flag", MGPU_FLAG, &p->flag, 0, 0},
        {"-number", MGPU_INTEGER, &p->number, -3, 9}, {"-seed", MGPU_SEED, &p->seed, 0, 0},
        {"-text", MGPU_TEXT, &p->text, 0, 0},         {"-real", MGPU_REAL, &p->real, 0, 1},
    };
    if(n) return mgpu_take_arguments(n, argv, table, 6);
    return mgpu_parse_arguments(argc, argv, table, 6, p->words, 1, 2);
}

static int take(parsed *p, int *n, char **argv)
{
    return parse_words(p, n, 0, argv);
}

static int parse(parsed *p, char *line)
{
    char *argv[32];
    int argc = 0;
    for(char *word = strtok(line, " "); word; word = strtok(0, " ")) argv[argc++] = word;
    return parse_words(p, 0, argc, argv);
}

static void test_good_lines(void **state)
{
    (void)state;
    parsed p;
    char line[] =
        "a -gpus 0,1 -flag -number -3 b -seed 18446744073709551615 -text x -real 2.5e-1";
    assert_int_equal(parse(&p, line), 0);
    assert_string_equal(p.words[0], "a");
    assert_string_equal(p.words[1], "b");
    assert_int_equal(p.devices.n, 2);
    assert_int_equal(p.flag, 1);
    assert_int_equal(p.number, -3);
    assert_true(p.seed == 18446744073709551615ull);
    assert_string_equal(p.text, "x");
    assert_true(p.real == .25f);
    char shorter[] = "only";
    assert_int_equal(parse(&p, shorter), 0);
    assert_null(p.words[1]);
    assert_int_equal(p.number, -7);
}

static void test_bad_lines(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"", "1 words are missing"},
        {"-flag", "1 words are missing"},
        {"a b c", "c: one word too many"},
        {"a -gpus", "-gpus needs a value"},
        {"a -gpus0,1", "write -gpus and its value apart, as -gpus 0,1"},
        {"a -gpu 0", "-gpu is not an option"},
        {"a -flags", "-flags is not an option"},
        {"a -number 10", "not within -3..9"},
        {"a -number -4", "not within -3..9"},
        {"a -number x", "not a whole number"},
        {"a -number 3x", "not a whole number"},
        {"a -number 99999999999", "not a whole number"},
        {"a -real 1.1", "-real 1.1: not within 0..1"},
        {"a -real -.1", "not within 0..1"},
        {"a -real nan", "not within 0..1"},
        {"a -real .5x", "not a number"},
        {"a -real x", "not a number"},
        {"a -seed -1", "not a whole number"},
        {"a -seed 18446744073709551616", "not a whole number"},
        {"a -flag -flag", "-flag is given twice"},
        {"a -seed 1 -seed 2", "-seed is given twice"},
        {"a -", "- is not an option"},
    };
    for(size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        parsed p;
        char line[128];
        strcpy(line, bad[i][0]);
        assert_int_equal(parse(&p, line), -1);
        if(!strstr(mgpu_error(), bad[i][1])) fail_msg("%s: %s", bad[i][0], mgpu_error());
    }
}

static void test_shares(void **state)
{
    (void)state;
    mgpu_list shares;
    assert_int_equal(mgpu_parse_shares("3,1,1000", &shares), 0);
    assert_int_equal(shares.n, 3);
    assert_int_equal(shares.values[2], 1000);
    static const char *const bad[][2] = {
        {"", "not a list of shares"},     {"3,", "not a list"}, {"3,x", "not a list"},
        {"0,1", "there is no share 0; "}, {"-3", "not a list"}, {"1001", "no share 1001"},
        {"1.5,1", "not a list"},
    };
    for(size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        assert_int_equal(mgpu_parse_shares(bad[i][0], &shares), -1);
        if(!strstr(mgpu_error(), bad[i][1])) fail_msg("%s: %s", bad[i][0], mgpu_error());
    }
}

/* Options are taken from between words, and options of somebody else's, that stay. */
static void test_taken(void **state)
{
    (void)state;
    parsed p;
    char *line[] = {"a", "-theirs", "-flag", "3", "-number", "2", "b", "-flags", 0};
    char *bad[] = {"a", "-number2", 0}, *end[] = {"a", "-number", 0};
    int n = 8;
    assert_int_equal(take(&p, &n, line), 0);
    assert_int_equal(n, 5);
    static const char *const left[] = {"a", "-theirs", "3", "b", "-flags"};
    for(int i = 0; i < 5; ++i) assert_string_equal(line[i], left[i]);
    assert_null(line[5]);
    assert_int_equal(p.flag, 1);
    assert_int_equal(p.number, 2);
    n = 2;
    assert_int_equal(take(&p, &n, bad), -1);
    assert_non_null(strstr(mgpu_error(), "apart, as -number 2"));
    assert_int_equal(take(&p, &n, end), -1);
    assert_non_null(strstr(mgpu_error(), "needs a value"));
}

static void test_choice(void **state)
{
    (void)state;
    mgpu_list d = {{5, 2}, 2}, shares = {{3, 1}, 2};
    mgpu_options o;
    assert_int_equal(mgpu_choose_devices(&d, 0, &shares, &o), 0);
    assert_int_equal(o.ngpus, 2);
    assert_int_equal(o.gpus[0], 5);
    assert_int_equal(o.shares[0], 3);
    assert_int_equal(mgpu_choose_devices(&d, 3, 0, &o), -1);
    d.n = 0;
    assert_int_equal(mgpu_choose_devices(&d, 3, 0, &o), 0);
    assert_int_equal(o.ngpus, 3);
    assert_int_equal(o.gpus[2], 2);
    assert_null(o.shares);
    assert_int_equal(mgpu_choose_devices(&d, 0, &shares, &o), -1);
    assert_non_null(strstr(mgpu_error(), "-shares has 2 of them for 3 devices"));
    d.n = 0;
    assert_int_equal(mgpu_choose_devices(&d, 0, 0, &o), 0);
    assert_int_equal(o.ngpus, 0);
    assert_int_equal(mgpu_choose_devices(&d, 0, &shares, &o), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices),   cmocka_unit_test(test_good_lines),
        cmocka_unit_test(test_bad_lines), cmocka_unit_test(test_shares),
        cmocka_unit_test(test_taken),     cmocka_unit_test(test_choice),
    };
    return cmocka_run_group_tests_name("arguments", tests, 0, 0);
}
