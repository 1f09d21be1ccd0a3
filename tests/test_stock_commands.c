/* test_stock_commands.c: Darknet's own commands under `darknet mgpu`: the same weights, lines
 * and files whatever the devices; the same bytes from the same seed, whatever the threads
 * that load; and those that can not gain say so and run. */
#include "program.h"

#define HEAD                                                                                   \
    "height=12\nwidth=12\nchannels=3\nlearning_rate=0.02\nmomentum=0.9\ndecay=0.0005\n"        \
    "min_crop=12\nmax_crop=13\nhue=.1\nsaturation=1.5\nexposure=1.5\n"
#define CONV                                                                                   \
    "[convolutional]\nbatch_normalize=1\nfilters=8\nsize=3\nstride=2\npad=1\nactivation="      \
    "leaky\n"
#define POOLED CONV "[convolutional]\nfilters=2\nsize=1\nactivation=linear\n[avgpool]\n"

/* 40 images of two classes, with a box, tags, a number and a mask each. */
static void put_data(void)
{
    char list[2048] = "", name[64], text[256];
    assert_int_equal(run("mkdir -p set/images set/labels set/mask tag/images tag/labels "
                         "number/images number/labels results backup"),
                     0);
    for(int i = 0; i < 40; ++i) {
        const char *color = i % 2 ? "reddish" : "bluish";
        static const char *const sets[] = {"set", "tag", "number"};
        for(int k = 0; k < 3; ++k) {
            snprintf(name, sizeof name, "%s/images/%02d_%s.jpg", sets[k], i, color);
            put_image(name, i);
            snprintf(name, sizeof name, "%s/labels/%02d_%s.txt", sets[k], i, color);
            if(k == 0) snprintf(text, sizeof text, "%d 0.5 0.5 0.%d 0.4\n", i % 2, 2 + i % 5);
            if(k == 1) snprintf(text, sizeof text, i % 3 ? "%d\n" : "%d 2\n", i % 2);
            if(k == 2) snprintf(text, sizeof text, "%g\n", i / 40.);
            put(name, text);
        }
        sprintf(list + strlen(list), "set/images/%02d_%s.jpg\n", i, color);
        snprintf(name, sizeof name, "set/mask/%02d_%s.txt", i, color);
        snprintf(text, sizeof text, "%d %d,60\n%d 30,%d\n", i % 2, 20 + i, 2 + i % 70, 50 + i);
        put(name, text);
    }
    put("set.list", list);
    assert_int_equal(run("sed s,^set,tag, set.list >tag.list; sed s,^set,number, set.list "
                         ">number.list"),
                     0);
}

static int setup(void **state)
{
    (void)state;
    put_data();
    put("names.list", "bluish\nreddish\n");
    put("set.data", "classes=2\ntrain=set.list\nvalid=set.list\ntest=set.list\nlabels=names."
                    "list\nnames=names.list\nbackup=backup\ntop=1\nresults=results\n");
    put("number.data", "classes=1\ntrain=number.list\nbackup=backup\n");
    put("classifier.cfg",
        "[net]\nbatch=16\nsubdivisions=4\nmax_batches=6\n" HEAD POOLED "[softmax]\n");
    put("regressor.cfg", "[net]\nbatch=8\nsubdivisions=1\nmax_batches=6\n" HEAD
                         "[connected]\noutput=8\nactivation=leaky\n[connected]\noutput=1\n"
                         "activation=linear\n[cost]\n");
    put("segmenter.cfg", "[net]\nbatch=8\nsubdivisions=4\nmax_batches=6\n" HEAD CONV
                         "[convolutional]\nfilters=80\nsize=1\nactivation=linear\n"
                         "[logistic]\n");
    put("isegmenter.cfg", "[net]\nbatch=8\nsubdivisions=4\nmax_batches=2\n" HEAD CONV
                          "[convolutional]\nfilters=100\nsize=1\nactivation=linear\n"
                          "[logistic]\n");
    put("rnn.cfg", "[net]\nbatch=6\nmax_batches=5\ninputs=256\nlearning_rate=0.1\n"
                   "[connected]\noutput=256\nactivation=linear\n[softmax]\n");
    put("tag.cfg", "[net]\nbatch=256\nsubdivisions=4\nmax_batches=8\n" HEAD CONV
                   "[convolutional]\nfilters=3\nsize=1\nactivation=linear\n[avgpool]\n"
                   "[logistic]\n");
    put("detector.cfg", "[net]\nbatch=6\nsubdivisions=3\nmax_batches=3\n" HEAD CONV
                        "[convolutional]\nfilters=7\nsize=1\nstride=2\nactivation=linear\n"
                        "[yolo]\nmask=0\nanchors=6,6\nclasses=2\nnum=1\njitter=.1\n"
                        "ignore_thresh=.5\ntruth_thresh=1\n");
    put("super.cfg", "[net]\nbatch=6\nsubdivisions=3\nmax_batches=4\nheight=3\nwidth=3\n"
                     "channels=3\nlearning_rate=0.001\n"
                     "[convolutional]\nfilters=3\nsize=3\npad=1\nactivation=leaky\n"
                     "[upsample]\nstride=4\n[cost]\n");
    put("go.cfg", "[net]\nbatch=6\nsubdivisions=2\nmax_batches=4\nheight=19\nwidth=19\n"
                  "channels=3\nlearning_rate=0.01\n"
                  "[convolutional]\nfilters=2\nsize=3\nstride=3\npad=1\nactivation=relu\n"
                  "[connected]\noutput=363\nactivation=linear\n[cost]\n");
    put("cifar.cfg", "[net]\nbatch=100\nmax_batches=3\nheight=32\nwidth=32\nchannels=3\n"
                     "learning_rate=0.01\n"
                     "[convolutional]\nfilters=4\nsize=3\nstride=8\npad=1\nactivation=leaky\n"
                     "[connected]\noutput=10\nactivation=linear\n[softmax]\n");
    return 0;
}

/* Trains by `words` with the devices and seed given and keeps the weights as `name`. */
static void train(const char *words, const char *end, const char *options, const char *name)
{
    char task[32];
    snprintf(task, sizeof task, "%.*s", (int)strcspn(words, " "), words);
    int status = run("%s mgpu %s %s", getenv("MGPU_DARKNET"), words, options);
    if(status) fail_msg("%s %s: %s", words, options, out);
    char copy[sizeof out];
    strcpy(copy, out);
    assert_int_equal(run("mv backup/%s%s.weights %s && rm -f backup/*", task, end, name), 0);
    strcpy(out, copy);
}

/* The same weights to rounding for 1, 2 and 3 devices, the same bytes for the same devices and
 * seed, other weights for another seed. Leaves the last run's words in `out`. */
static void same_for_any_devices(const char *words, const char *end)
{
    train(words, end, "-seed 4 -gpus 0", "another");
    train(words, end, "-seed 3 -gpus 0", "one");
    train(words, end, "-seed 3 -gpus 0,1", "two");
    train(words, end, "-gpus 2,0,1 -seed 3", "three");
    double d[] = {weights_differ("two", "one"), weights_differ("three", "one"),
                  weights_differ("another", "one")};
    printf("%s: 2 devices %.1e, 3 devices %.1e, another seed %.1e\n", words, d[0], d[1], d[2]);
    assert_true(d[0] < 1e-5);
    assert_true(d[1] < 1e-5);
    assert_true(d[2] > 1e-4);
    char copy[sizeof out];
    strcpy(copy, out);
    train(words, end, "-gpus 2,0,1 -seed 3", "again");
    assert_int_equal(run("cmp three again"), 0);
    strcpy(out, copy);
}

/* The whole batch is the cfg's, whatever the devices: counters, epochs, rate, names. */
static void test_classifier(void **state)
{
    (void)state;
    same_for_any_devices("classifier train set.data classifier.cfg", "");
    assert_non_null(strstr(out, "\n1, 0.400: "));
    assert_non_null(strstr(out, "\n6, 2.400: "));
    assert_non_null(strstr(out, " 0.020000 rate, "));
    assert_non_null(strstr(out, " 96 images\n"));
    assert_null(strstr(out, "\n7, "));
    assert_int_equal(run("sed s/subdivisions=4// classifier.cfg >cut.cfg; %s mgpu classifier "
                         "train set.data cut.cfg -gpus 0,1; rm backup/*",
                         getenv("MGPU_DARKNET")),
                     0);
    assert_non_null(strstr(out, "a mini-batch of 16 rows is cut over 2 devices"));
    /* It prints what it did not train on as well, mini-batch by mini-batch. */
    char lines[sizeof out];
    for(int i = 0; i < 3; ++i) {
        static const char *const gpus[] = {"0", "0,1", "2,1,0"};
        assert_int_equal(
            run("%s mgpu classifier test set.data classifier.cfg one -gpus %s 2>said | "
                "grep jpg",
                getenv("MGPU_DARKNET"), gpus[i]),
            0);
        assert_int_equal(count("set/images/"), 36);
        if(i) assert_string_equal(out, lines);
        strcpy(lines, out);
    }
}

static void test_detector(void **state)
{
    (void)state;
    same_for_any_devices("detector train set.data detector.cfg", "_final");
    assert_int_equal(count("Loaded: "), 3);
    assert_non_null(strstr(out, "\n3: "));
    assert_non_null(strstr(out, " 18 images\n"));
    assert_int_equal(count("Region"), 0);
    train("detector train set.data detector.cfg", "_final", "-seed 3 -ngpus 3 -verbose",
          "again");
    assert_int_equal(count("Region 2 Avg IOU: "), 9);
    assert_int_equal(run("cmp three again"), 0);
}

/* random=1: another size every ten batches, on every replica. */
static void test_random_sizes(void **state)
{
    (void)state;
    put("detector_sizes.cfg", "");
    assert_int_equal(run("(sed s/max_batches=3/max_batches=2/ detector.cfg; echo random=1) "
                         ">detector_sizes.cfg; sed -i 's/batch=6/batch=2/; "
                         "s/subdivisions=3/subdivisions=2/' detector_sizes.cfg"),
                     0);
    for(int i = 0; i < 2; ++i) {
        int status = run("%s mgpu detector train set.data detector_sizes.cfg -gpus %s",
                         getenv("MGPU_DARKNET"), i ? "0,1" : "0");
        if(status) fail_msg("%s", out);
        assert_non_null(strstr(out, "Resizing\n608\n"));
        assert_int_equal(run("mv backup/detector_sizes_final.weights sizes%d", i), 0);
    }
    assert_true(weights_differ("sizes1", "sizes0") < 1e-4);
}

static void test_regressor(void **state)
{
    (void)state;
    same_for_any_devices("regressor train number.data regressor.cfg", "");
    assert_non_null(strstr(out, "\n6, 1.200: "));
}

static void test_segmenter(void **state)
{
    (void)state;
    same_for_any_devices("segmenter train set.data segmenter.cfg", "");
    assert_non_null(strstr(out, "\n6, 1.200: "));
}

static void test_isegmenter(void **state)
{
    (void)state;
    same_for_any_devices("isegmenter train set.data isegmenter.cfg", "");
    assert_non_null(strstr(out, "\n2, 0.400: "));
}

/* -seed is the module's in training, and the text that Darknet starts from elsewhere. */
static void test_rnn(void **state)
{
    (void)state;
    put("text",
        "It was the best of times, it was the worst of times, it was the age of wisdom.");
    same_for_any_devices("rnn train rnn.cfg -file text -backup backup", "_final");
    assert_non_null(strstr(out, "\n5: "));
    assert_int_equal(run("sed s/batch=6/batch=1/ rnn.cfg >say.cfg; %s mgpu rnn generate "
                         "say.cfg one -seed 'Once upon' -len 5 -srand 1 -gpus 0,1 2>said",
                         getenv("MGPU_DARKNET")),
                     0);
    assert_int_equal(strncmp(out, "Once upon", 9), 0);
    assert_int_equal(run("grep \"'rnn generate' does not train\" said"), 0);
}

/* The detectors of the first yolo, which end in [detection]. */
static void test_grids(void **state)
{
    (void)state;
    static const char net[] = "[net]\nbatch=8\nsubdivisions=4\nmax_batches=4\n" HEAD CONV
                              "[connected]\noutput=108\nactivation=linear\n"
                              "[detection]\nclasses=2\ncoords=4\nrescore=1\nside=3\nnum=2\n"
                              "softmax=0\nsqrt=1\njitter=.1\nobject_scale=1\n"
                              "noobject_scale=.5\nclass_scale=1\ncoord_scale=5\n";
    put("yolo.cfg", net);
    put("coco.cfg", net);
    same_for_any_devices("yolo train yolo.cfg -backup backup -list set.list", "_final");
    assert_non_null(strstr(out, " 32 images\n"));
    same_for_any_devices("coco train coco.cfg -backup backup -list set.list", "_final");
    assert_non_null(strstr(out, " 32 images\n"));
}

/* Commands that save, and look for images, where nobody else has a directory. */
static void test_tag(void **state)
{
    (void)state;
    same_for_any_devices("tag train tag.cfg -backup backup -list tag.list", "");
    assert_non_null(strstr(out, "\n8, 51.200: "));
}

static void test_super(void **state)
{
    (void)state;
    same_for_any_devices("super train super.cfg -backup backup -list set.list", "_final");
    assert_non_null(strstr(out, " 24 images\n"));
}

static void test_go(void **state)
{
    (void)state;
    char move[96] = {'1', '1'};
    char path[1024];
    snprintf(path, sizeof path, "%s/moves", getenv("MGPU_SCRATCH"));
    FILE *fp = fopen(path, "wb");
    assert_non_null(fp);
    for(int i = 0; i < 50; ++i) {
        move[2] = i % 19;
        move[3] = i % 7;
        for(int k = 40; k < 95; ++k) move[k] = mix(i, k) & 0x55;
        fwrite(move, sizeof move, 1, fp);
    }
    fclose(fp);
    put("none.weights", "");
    same_for_any_devices("go train go.cfg '' moves -backup backup", "");
    assert_non_null(strstr(out, "\n4, 0.480: "));
}

/* 10,000 images in each file, all that Darknet asks for. */
static void test_cifar(void **state)
{
    (void)state;
    char path[1024];
    assert_int_equal(run("mkdir -p data/cifar/cifar-10-batches-bin"), 0);
    snprintf(path, sizeof path, "%s/data/cifar/cifar-10-batches-bin/test_batch.bin",
             getenv("MGPU_SCRATCH"));
    FILE *fp = fopen(path, "wb");
    assert_non_null(fp);
    for(int i = 0; i < 10000; ++i) {
        unsigned char image[3073];
        image[0] = i % 10;
        for(int k = 1; k < 3073; ++k) image[k] = (i * 7 + k * (1 + i % 10)) & 255;
        fwrite(image, sizeof image, 1, fp);
    }
    fclose(fp);
    put("data/cifar/labels.txt", "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n");
    assert_int_equal(run("cd data/cifar/cifar-10-batches-bin; for i in 1 2 3 4 5; do ln "
                         "test_batch.bin data_batch_$i.bin; done"),
                     0);
    train("cifar train cifar.cfg -backup backup", "", "-gpus 0", "one");
    train("cifar train cifar.cfg -backup backup", "", "-gpus 0,1,2", "three");
    assert_non_null(strstr(out, "\n3, 0.006: "));
    double d = weights_differ("three", "one");
    printf("cifar train: 3 devices %.1e\n", d);
    assert_true(d < 1e-5);
    char top[2][64] = {"", ""};
    for(int i = 0; i < 2; ++i) {
        assert_int_equal(run("%s mgpu cifar test cifar.cfg one -gpus %s",
                             getenv("MGPU_DARKNET"), i ? "0,1,2" : "0"),
                         0);
        assert_int_equal(sscanf(strstr(out, "top1: "), "top1: %63[0-9.]", top[i]), 1);
    }
    assert_string_equal(top[0], top[1]);
    assert_int_equal(run("rm -r data"), 0);
}

/* What can not gain says so, runs, and gives what it gives without `mgpu`. */
static void test_on_one(void **state)
{
    (void)state;
    const char *darknet = getenv("MGPU_DARKNET");
    static const char *const commands[][2] = {
        {"classifier predict", "set.data classifier.cfg one set/images/01_reddish.jpg"},
        {"classifier valid", "set.data classifier.cfg one"},
        {"detector valid", "set.data detector.cfg found.weights -out here"},
        {"ops", "classifier.cfg"},
        {"partial", "classifier.cfg one part 1"},
    };
    train("classifier train set.data classifier.cfg", "", "", "one");
    train("detector train set.data detector.cfg", "_final", "", "found.weights");
    for(size_t i = 0; i < sizeof commands / sizeof *commands; ++i) {
        char line[256], plain[2000];
        snprintf(line, sizeof line, "%s %s", commands[i][0], commands[i][1]);
        int status = run("%s %s 2>/dev/null", darknet, line);
        if(status) fail_msg("%s: %s", line, out);
        snprintf(plain, sizeof plain, "%.1990s", out);
        status = run("%s mgpu %s -gpus 0,1 2>said", darknet, line);
        if(status) fail_msg("%s: %s", line, out);
        if(strncmp(out, plain, strlen(plain))) fail_msg("%s: %s\nnot %s", line, out, plain);
        status = run("grep \"'%s' does not train or predict with several devices: it runs on "
                     "one\" said",
                     commands[i][0]);
        assert_int_equal(status, 0);
    }
}

/* Refused with status 1 and a reason, before anything is trained or written. */
static void test_refused(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"detector", "3 words are missing"},
        {"detector trian set.data detector.cfg", "no command 'detector trian'"},
        {"detector train set.data", "1 words are missing"},
        {"detector train set.data detector.cfg -gpus 0,", "not a list of device ids"},
        {"detector train set.data detector.cfg -gpus0,1", "write -gpus and its value apart"},
        {"detector train set.data detector.cfg -gpus 0 -gpus 1", "given twice"},
        {"detector train set.data detector.cfg -gpus", "needs a value"},
        {"detector train set.data detector.cfg -gpus 0 -ngpus 2", "exclude each other"},
        {"detector train set.data detector.cfg -cpu_merge 0", "need CUDA devices"},
        {"detector train set.data none.cfg", "none.cfg can not be read"},
        {"detector train set.data detector.cfg set.data", "set.data ends inside layer 0"},
        {"detector train set.data detector.cfg -backup none", "name another with -backup"},
        {"detector train set.data detector.cfg -list set.list", "no list of images"},
        {"detector valid set.data detector.cfg one -backup backup", "saves no checkpoints"},
        {"segmenter train set.data uneven.cfg", "can not be cut into subdivisions=2"},
        {"go train go.cfg '' moves", "backup directory /home/"},
        {"average classifier.cfg", "2 words are missing"},
        {"rnn train classifier.cfg -file none -backup backup", "Couldn't open file: none"},
    };
    put("uneven.cfg", "[net]\nbatch=9\nsubdivisions=2\nmax_batches=2\n" HEAD
                      "[convolutional]\nfilters=2\nsize=1\n[softmax]\n");
    for(size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        int status = run("%s mgpu %s", getenv("MGPU_DARKNET"), bad[i][0]);
        if(status != 1 || !strstr(last_line(), bad[i][1])) {
            fail_msg("%s: status %d, last line '%s'", bad[i][0], status, last_line());
        }
        assert_int_equal(run("test -z \"$(ls backup)\""), 0);
    }
    /* What a step can not run ends the program too: 1,024 rows in batches of 10. */
    assert_int_equal(run("sed s/batch=256/batch=40/ tag.cfg >tag40.cfg; "
                         "TSAN_OPTIONS=$TSAN_OPTIONS:report_thread_leaks=0 %s mgpu tag train "
                         "tag40.cfg -backup backup -list tag.list",
                         getenv("MGPU_DARKNET")),
                     1);
    assert_non_null(strstr(last_line(), "1024 rows with 1024 truths are no multiple"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classifier),   cmocka_unit_test(test_detector),
        cmocka_unit_test(test_random_sizes), cmocka_unit_test(test_regressor),
        cmocka_unit_test(test_segmenter),    cmocka_unit_test(test_tag),
        cmocka_unit_test(test_grids),        cmocka_unit_test(test_super),
        cmocka_unit_test(test_go),           cmocka_unit_test(test_isegmenter),
        cmocka_unit_test(test_rnn),          cmocka_unit_test(test_cifar),
        cmocka_unit_test(test_on_one),       cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests_name("stock commands", tests, setup, 0);
}
