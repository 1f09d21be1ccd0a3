/* test_checkpoint.c: weights files are checked before they are loaded. */
#include "mgpu_checkpoint.h"
#include "mgpu_error.h"
#include "mgpu_replica.h"
#include "support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* Frees a network without replicas, with what Darknet's free_network forgets. */
static void free_plain(network *net)
{
    mgpu_replica_free_rest(net);
    free_network(net);
}

static char cfg[512], file[512];
static network *net;
static long size; /* of the whole file */

static network *make(const char *name)
{
    write_cfg(cfg, find_net(name), 4, 1);
    quiet();
    network *made = parse_network_cfg(cfg);
    loud();
    return made;
}

static void save(const network *n)
{
    quiet();
    save_weights((network *)n, file);
    loud();
    FILE *fp = fopen(file, "rb");
    fseek(fp, 0, SEEK_END);
    size = ftell(fp);
    fclose(fp);
}

static int check(void)
{
    return mgpu_check_weights(net, file, 0, net->n);
}

static void refuse(const char *why)
{
    assert_int_equal(check(), -1);
    if(!strstr(mgpu_error(), why)) fail_msg("'%s' does not say '%s'", mgpu_error(), why);
    assert_non_null(strstr(mgpu_error(), file));
}

static int setup(void **state)
{
    (void)state;
    net = make("flat");
    save(net);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free_plain(net);
    return 0;
}

#define HEADER 20
#define LAYER0 (4 * (8 * 4 + 8 * 27))
#define LAYER1 (4 * (16 * 4 + 512 * 16))
#define LAYER2 (4 * (10 + 160))

/* Every length that a cut file can have: only whole layers pass. */
static void test_cut(void **state)
{
    (void)state;
    assert_int_equal(size, HEADER + LAYER0 + LAYER1 + LAYER2);
    assert_int_equal(check(), net->n);
    assert_int_equal(truncate(file, HEADER + LAYER0 + LAYER1 + LAYER2 - 1), 0);
    refuse("ends inside layer 2");
    assert_int_equal(truncate(file, HEADER + LAYER0 + LAYER1), 0);
    assert_int_equal(check(), 2);
    assert_int_equal(truncate(file, HEADER + LAYER0 + 4 * 16), 0); /* at a border of tensors */
    refuse("ends inside layer 1");
    assert_int_equal(truncate(file, HEADER + LAYER0), 0);
    assert_int_equal(check(), 1);
    for(long n = 0; n < HEADER + LAYER0; ++n) {
        assert_int_equal(truncate(file, HEADER + LAYER0 - 1 - n), 0);
        assert_int_equal(check(), -1);
    }
    refuse("holds no weights");
}

static void test_left_over(void **state)
{
    (void)state;
    FILE *fp = fopen(file, "ab");
    fputc(0, fp);
    fclose(fp);
    refuse("1 bytes more");
    assert_int_equal(mgpu_check_weights(net, file, 0, 1), 1); /* a wanted part of it is fine */
}

static void test_unreadable(void **state)
{
    (void)state;
    unlink(file);
    refuse("No such file");
    const char *folder = getenv("MGPU_SCRATCH");
    assert_int_equal(mgpu_check_weights(net, folder, 0, net->n), -1);
    assert_non_null(strstr(mgpu_error(), "not a regular file"));
}

/* The options of a cfg that change what a file holds. */
static void test_options(void **state)
{
    (void)state;
    layer *l = net->layers;
    l[0].dontload = 1;
    refuse("bytes more");
    l[0].dontload = 0;
    l[0].dontloadscales = 1;
    refuse("bytes more");
    assert_int_equal(truncate(file, size - 4 * 8 * 3), 0);
    assert_int_equal(check(), net->n);
    l[0].dontloadscales = 0;
    l[0].numload = 4;
    assert_int_equal(truncate(file, size - LAYER0 / 2), 0);
    assert_int_equal(check(), net->n);
    l[0].numload = 9; /* more than there are: Darknet would write past its arrays */
    assert_int_equal(check(), -1);
    assert_non_null(strstr(mgpu_error(), "numload=9"));
}

/* The older header, 0.1, has a `seen` of 4 bytes. */
static void test_old_header(void **state)
{
    (void)state;
    char rest[HEADER + LAYER0 + LAYER1 + LAYER2];
    FILE *fp = fopen(file, "rb");
    assert_int_equal(fread(rest, 1, sizeof rest, fp), sizeof rest);
    fclose(fp);
    int header[4] = {0, 1, 0, 77};
    fp = fopen(file, "wb");
    fwrite(header, sizeof header, 1, fp);
    fwrite(rest + HEADER, 1, sizeof rest - HEADER, fp);
    fclose(fp);
    assert_int_equal(check(), net->n);
}

/* A file of another cfg. */
static void test_other_cfg(void **state)
{
    (void)state;
    for(int i = 0; i < NNETS; ++i) {
        if(strcmp(test_nets[i].name, "flat") == 0) continue;
        network *other = make(test_nets[i].name);
        save(other);
        assert_int_equal(check(), -1);
        free_plain(other);
    }
}

int main(void)
{
    snprintf(cfg, sizeof cfg, "%s/check.cfg", getenv("MGPU_SCRATCH"));
    snprintf(file, sizeof file, "%s/check.weights", getenv("MGPU_SCRATCH"));
    gpu_index = -1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(test_left_over, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unreadable, setup, teardown),
        cmocka_unit_test_setup_teardown(test_options, setup, teardown),
        cmocka_unit_test_setup_teardown(test_old_header, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_cfg, setup, teardown),
    };
    return cmocka_run_group_tests_name("checkpoint", tests, 0, 0);
}
