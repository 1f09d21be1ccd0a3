/* test_notes.c: what is said at the start about devices and about what a cfg asks in vain. */
#include "support.h"
#include "mgpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static char cfg[512], said[65536];

/* Loads the cfg and keeps what is said on stderr. */
static void load(const char *net, const char *layers, mgpu_options o, int n)
{
    static const int ids[] = {0, 1, 2, 3, 4, 5, 6, 7};
    char file[600];
    FILE *fp = fopen(cfg, "w");
    fprintf(fp, "[net]\nheight=8\nwidth=8\nchannels=3\n%s%s", net, layers);
    fclose(fp);
    snprintf(file, sizeof file, "%s.said", cfg);
    o.gpus = ids;
    o.ngpus = n;
    fflush(stderr);
    int kept = dup(2), fd = open(file, O_RDWR | O_CREAT | O_TRUNC, 0600);
    dup2(fd, 2);
    network *root = mgpu_load_network(cfg, 0, 0, &o);
    fflush(stderr);
    dup2(kept, 2);
    close(kept);
    if(!root) fail_msg("%s", mgpu_error());
    free_network(root);
    ssize_t length = pread(fd, said, sizeof said - 1, 0);
    said[length < 0 ? 0 : length] = 0;
    close(fd);
}

static void expect(const char *text)
{
    if(!strstr(said, text)) fail_msg("'%s' is not said in: %s", text, said);
}

#define CONV "[convolutional]\nfilters=4\nsize=1\n"

/* Each thing that has no effect is said once, with its layer; a plain cfg has none. */
static void test_ignored(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"", "[convolutional]\nfilters=4\nsize=1\ndot=.1\n", "layer 0, [convolutional]: dot="},
        {"", CONV "[softmax]\nsmooth=.1\n", "layer 1, [softmax]: smooth="},
        {"", CONV "[cost]\ntype=sse\nratio=.2\n", "layer 1, [cost]: ratio="},
        {"", "[crop]\ncrop_height=4\ncrop_width=4\nangle=3\n" CONV, "layer 0, [crop]: angle="},
        {"", CONV "[batchnorm]\n", "layer 1, [batchnorm]: Darknet does not update"},
        {"adam=1\n", "[local]\nfilters=2\nsize=3\nstride=1\npad=1\n", "in spite of adam=1"},
        {"", "[rnn]\noutput=3\nlearning_rate=.5\n", "layer 0, [rnn]: learning_rate="},
        {"clip=1\n", "[connected]\noutput=3\n", "layer 0, [connected]: clip="},
    };
    mgpu_options o = mgpu_default_options();
    o.nogpu = 1; /* CUDA devices do some of this */
    for(size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        load(cases[i][0], cases[i][1], o, 1);
        expect(cases[i][2]);
        const char *first = strstr(said, "mgpu: layer");
        assert_null(strstr(first + 1, "mgpu: layer"));
    }
    load("adam=1\nclip=1\n", CONV "smooth=.1\n[softmax]\nspatial=1\n", o, 1);
    assert_null(strstr(said, "mgpu: "));
    load("", CONV "[cost]\ntype=seg\nnoobj=.5\nthresh=.2\nsmooth=.1\n", o, 1);
    assert_null(strstr(said, "mgpu: "));
}

static void test_devices(void **state)
{
    (void)state;
    static const char bn[] = "[convolutional]\nbatch_normalize=1\nfilters=4\nsize=1\n";
    mgpu_options o = mgpu_default_options();
    load("batch=2\n", CONV, o, 3);
    expect("mgpu: 2 of 3 devices have rows: raise batch\n");
    load("batch=4\n", bn, o, 2);
    expect("batch normalisation sees each slice alone");
    load("batch=4\nsubdivisions=2\n", bn, o, 2);
    assert_null(strstr(said, "each slice"));
    o.threads = 1024;
    load("batch=4\n", CONV, o, 2);
    expect("mgpu: devices and threads: 2 x 1024 share ");
    o.threads = 1;
    o.sync_bn = o.reproducible = 1;
    load("batch=4\n", bn, o, 2);
    assert_null(strstr(said, "each slice"));
    expect("reproducible holds for numbers of devices up to subdivisions=1\n");
    load("batch=4\nsubdivisions=2\n", bn, o, 2);
    assert_null(strstr(said, "reproducible"));
}

int main(void)
{
    gpu_index = -1;
    snprintf(cfg, sizeof cfg, "%s/notes.cfg", getenv("MGPU_SCRATCH"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ignored),
        cmocka_unit_test(test_devices),
    };
    return cmocka_run_group_tests_name("notes", tests, 0, 0);
}
