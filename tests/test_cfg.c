/* test_cfg.c: what Darknet's parser would choke on is refused, with the line. */
#include "mgpu_cfg.h"
#include "mgpu_error.h"
#include "support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>
#include <cmocka.h>

static char cfg[512];

static int check(const char *text)
{
    FILE *fp = fopen(cfg, "w");
    fputs(text, fp);
    fclose(fp);
    return mgpu_check_cfg(cfg);
}

static void test_good(void **state)
{
    (void)state;
    for(int i = 0; i < NNETS; ++i) {
        write_cfg(cfg, test_nets + i, 12, 4);
        if(mgpu_check_cfg(cfg)) fail_msg("%s", mgpu_error());
    }
    assert_int_equal(check("# a comment\n; another\n [ net ] \r\n batch = 8 \n\n[softmax]\n"),
                     0);
    assert_int_equal(mgpu_cfg_net(cfg, "batch", 1), 8);
    assert_int_equal(mgpu_cfg_net(cfg, "flip", 1), 1);
    assert_int_equal(check("[network]\nflip=0\n[softmax]\nbatch=3\n[upsample]\nstride=-2\n"),
                     0);
    assert_int_equal(mgpu_cfg_net(cfg, "flip", 1), 0);
    assert_int_equal(mgpu_cfg_net(cfg, "batch", 1), 1);
}

#define NET "[net]\nbatch=4\n"

static void test_bad(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"", "describes no network"},
        {"\n\n# nothing\n", "describes no network"},
        {NET, "describes no network"},
        {NET "[cost]\n", "describes no network"},
        {"batch=4\n[net]\n", "line 1: there is no [section]"},
        {"\1\2\3rubbish", "is this a cfg file?"},
        {"[convolutional]\nfilters=2\n", "line 1: [convolutional]: the first section"},
        {NET "[net]\n", "line 3: [net]: the first section, and no other"},
        {NET "[dropout]\n[softmax]\n", "line 3: layer 0: [dropout] needs a layer before it"},
        {NET "[softmax]\n[nonesuch]\n", "line 4: layer 1: [nonesuch] is not a layer"},
        {"[net]\nbatch=0\n[softmax]\n", "line 2: [net] batch=0"},
        {"[net]\nbatch=-4\n[softmax]\n", "batch=-4"},
        {"[net]\nbatch=many\n[softmax]\n", "batch=many"},
        {"[net]\nbatch=99999999999999999999\n[softmax]\n", "is not a whole number within"},
        {"[net]\nbatch=4\nsubdivisions=0\n[softmax]\n", "line 3: [net] subdivisions=0"},
        {"[net]\nbatch=9\nsubdivisions=2\n[softmax]\n", "batch=9 can not be cut"},
        {"[net]\nsubdivisions=2\n[softmax]\n", "batch=1 can not be cut"},
        {"[net]\nwidth=-1\n[softmax]\n", "width=-1"},
        {"[net]\ntime_steps=0\n[softmax]\n", "time_steps=0"},
        {NET "[convolutional]\nstride=0\n", "line 4: [convolutional] stride=0"},
        {NET "[convolutional]\nsize=0\n", "size=0"},
        {NET "[convolutional]\nfilters=-1\n", "filters=-1"},
        {NET "[convolutional]\ngroups=0\n", "groups=0"},
        {NET "[maxpool]\nstride=0\n", "[maxpool] stride=0"},
        {NET "[upsample]\nstride=0\n", "[upsample] stride=0"},
        {NET "[connected]\noutput=0\n", "output=0"},
        {NET "[route]\nlayers=-1\n", "layer 0 has no such layer before it"},
        {NET "[softmax]\n[route]\nlayers=-1,1\n", "layer 1 has no such layer before it"},
        {NET "[softmax]\n[route]\nlayers=\n", "has no such layer"},
        {NET "[softmax]\n[route]\nlayers=0,\n", "has no such layer"},
        {NET "[softmax]\n[route]\n", "[route] before it needs layers="},
        {NET "[softmax]\n[shortcut]\nfrom=-2\n", "layer 1 has no such layer before it"},
        {NET "[softmax]\n[shortcut]\n[softmax]\n", "[shortcut] before it needs from="},
        {"[net]\npolicy=steps\nsteps=1,2,3\nscales=.1,.1\n[softmax]\n", "3 steps need as many"},
        {NET "[yolo]\nnum=1\nanchors=1,2,3,4\n", "num=1, too few"},
        {NET "[yolo]\nnum=2\nanchors=1,2,3,4\nmask=2\n", "num=2, too few"},
        {NET "[yolo]\nnum=2\nmask=-1\n", "num=2, too few"},
    };
    for(size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        assert_int_equal(check(bad[i][0]), -1);
        if(!strstr(mgpu_error(), bad[i][1])) fail_msg("'%s': %s", bad[i][0], mgpu_error());
        assert_non_null(strstr(mgpu_error(), cfg));
    }
}

static void test_no_file(void **state)
{
    (void)state;
    char fifo[600];
    snprintf(fifo, sizeof fifo, "%s/fifo", getenv("MGPU_SCRATCH"));
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(mgpu_check_cfg(0), -1);
    assert_int_equal(mgpu_check_cfg(fifo), -1); /* and does not wait for a writer */
    assert_non_null(strstr(mgpu_error(), "not a regular file"));
    assert_int_equal(mgpu_check_cfg(getenv("MGPU_SCRATCH")), -1);
    assert_int_equal(mgpu_check_cfg("/nonexistent"), -1);
    assert_non_null(strstr(mgpu_error(), "No such file"));
}

int main(void)
{
    snprintf(cfg, sizeof cfg, "%s/check.cfg", getenv("MGPU_SCRATCH"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_no_file),
    };
    return cmocka_run_group_tests_name("cfg", tests, 0, 0);
}
