/* test_command.c: the program itself: trains, says no in time, and stock reads what it
 * saved. Everything happens in a folder of its own. */
#include "program.h"

/* Two classes that differ in colour; told by the name, by a box, and by a tag. */
static int setup(void **state)
{
    (void)state;
    char list[2048] = "", boxed[2048] = "", name[64], text[64];
    assert_int_equal(run("mkdir images labels tags tags/images tags/labels"), 0);
    for(int i = 0; i < 40; ++i) {
        snprintf(name, sizeof name, "%02d_%s.ppm", i, i % 2 ? "reddish" : "bluish");
        put_image(name, i);
        sprintf(list + strlen(list), "%s\n", name);
        snprintf(name, sizeof name, "images/%02d.jpg", i);
        put_image(name, i);
        sprintf(boxed + strlen(boxed), "%s\n", name);
        snprintf(name, sizeof name, "labels/%02d.txt", i);
        snprintf(text, sizeof text, "%d 0.5 0.5 0.%d 0.4\n", i % 2, 2 + i % 5);
        put(name, text);
        snprintf(name, sizeof name, "tags/images/%02d.jpg", i);
        put_image(name, i);
        snprintf(name, sizeof name, "tags/labels/%02d.txt", i);
        put(name, i % 2 ? "1\n" : "0\n");
    }
    put("train.list", list);
    put("boxed.list", boxed);
    put("boxed.data", "classes=2\ntrain=boxed.list\nnames=names.list\nbackup=backup\n");
    assert_int_equal(run("sed s,^,tags/, boxed.list >tags.list"), 0);
    put("tags.data", "classes=2\ntrain=tags.list\nbackup=backup\n");
    put("detector.cfg", "[net]\nbatch=6\nsubdivisions=3\nmax_batches=3\n" NET YOLO_LAYERS);
    put("names.list", "bluish\nreddish\n");
    put("some.data", "classes=2\ntrain=train.list\nvalid=train.list\nlabels=names.list\n"
                     "backup=backup\ntop=2\n");
    put("small.cfg", "[net]\nbatch=8\nsubdivisions=2\nmax_batches=40\n" NET LAYERS);
    assert_int_equal(run("mkdir backup ro; chmod a-w ro"), 0);
    return 0;
}

static void test_train_and_valid(void **state)
{
    (void)state;
    const char *darknet = getenv("MGPU_DARKNET");
    if(run("%s mgpu train some.data small.cfg -gpus 0,1", darknet)) fail_msg("%s", out);
    /* 40 batches of 8 of 40 images: 8 epochs, 320 images, whatever the devices */
    assert_non_null(strstr(out, "\n1, 0.200: "));
    assert_non_null(strstr(out, "\n40, 8.000: "));
    assert_non_null(strstr(out, " 320 images\n"));
    assert_null(strstr(out, "\n41, "));
    for(int epoch = 1; epoch <= 8; ++epoch) {
        assert_int_equal(run("test -s backup/small_%d.weights", epoch), 0);
    }
    assert_int_equal(run("%s mgpu valid some.data small.cfg backup/small.weights", darknet), 0);
    assert_non_null(strstr(out, "top 1: 1.000000, top 2: 1.000000, 40 images"));
    char one[sizeof out];
    strcpy(one, last_line());
    for(int i = 0; i < 3; ++i) {
        static const char *const gpus[] = {"0", "0,1,2", "7,6,5,4,3,2,1,0"};
        assert_int_equal(
            run("%s mgpu valid some.data small.cfg backup/small_1.weights -gpus %s", darknet,
                gpus[i]),
            0);
        if(i) assert_string_equal(last_line(), one); /* the same for any N */
        strcpy(one, last_line());
    }
    put("crlf.data", "classes=2\r\nvalid=crlf.list\r\nlabels=crlf.names\r\n");
    put("crlf.list", "00_bluish.ppm\r\n\r\n01_reddish.ppm\r\n");
    put("crlf.names", "bluish\r\nreddish\r\n");
    assert_int_equal(run("%s mgpu valid crlf.data small.cfg backup/small.weights", darknet), 0);
    assert_non_null(strstr(out, "top 1: 1.000000, top 1: 1.000000, 2 images"));
    /* Stock reads it and sees the same. */
    assert_int_equal(run("%s classifier predict some.data small.cfg backup/small.weights "
                         "03_reddish.ppm",
                         getenv("MGPU_STOCK_DARKNET")),
                     0);
    assert_non_null(strstr(out, "%: reddish\n"));
    assert_true(strstr(out, "%: reddish\n") < strstr(out, "%: bluish\n"));
}

/* The same seed gives the same weights for 1, 2 and 8 devices, to rounding; the same
 * bytes on two runs. */
static void test_same_weights(void **state)
{
    (void)state;
    const char *darknet = getenv("MGPU_DARKNET");
    static const char *const devices[] = {"-gpus 0", "-gpus 0,1", "-ngpus 2", "-gpus 5,3"};
    for(int i = 0; i < 4; ++i) {
        assert_int_equal(
            run("%s mgpu train some.data small.cfg %s -seed 7", darknet, devices[i]), 0);
        assert_int_equal(run("cp backup/small.weights seed%d.weights", i), 0);
    }
    assert_int_equal(run("cmp seed1.weights seed2.weights && cmp seed1.weights seed3.weights"),
                     0);
    assert_true(weights_differ("seed0.weights", "seed1.weights") < 1e-3);
    assert_int_equal(run("%s mgpu train some.data small.cfg -gpus 0 -seed 8", darknet), 0);
    assert_int_equal(run("cmp -s backup/small.weights seed0.weights"), 1);
}

/* Stock's line and file names for detectors; checkpoints at the stated iterations
 * whatever the devices; a line a mini-batch and layer only when asked for. */
static void test_detector(void **state)
{
    (void)state;
    const char *darknet = getenv("MGPU_DARKNET");
    char one[sizeof out];
    assert_int_equal(run("rm -rf backup; mkdir backup"), 0);
    if(run("%s mgpu train boxed.data detector.cfg -gpus 0,1,2", darknet)) fail_msg("%s", out);
    assert_non_null(strstr(out, "\n3: "));
    assert_non_null(strstr(out, " 18 images\n"));
    assert_int_equal(count("Loaded: "), 3);
    assert_int_equal(count("Region"), 0);
    assert_int_equal(run("ls backup"), 0);
    assert_string_equal(out, "detector_final.weights\n");
    put("full.cfg",
        "[net]\nbatch=6\nsubdivisions=3\nmax_batches=1\n" NET YOLO_LAYERS "max=1\n");
    assert_int_equal(run("cp labels/03.txt kept; cat kept kept >labels/03.txt; "
                         "%s mgpu train boxed.data full.cfg; cp kept labels/03.txt; "
                         "rm backup/full*",
                         darknet),
                     0);
    assert_non_null(strstr(out, "1 of 40 images have more than 1 boxes"));
    assert_non_null(strstr(out, "e.g. images/03.jpg"));
    assert_non_null(strstr(out, "\n1: "));
    /* One step: the lines are one device's, figure by figure. */
    assert_int_equal(run("%s mgpu train boxed.data detector.cfg -gpus 0 -max_batches 1 "
                         "-verbose | grep Region",
                         darknet),
                     0);
    assert_int_equal(count("Region 2 Avg IOU: "), 3);
    strcpy(one, out);
    assert_int_equal(run("%s mgpu train boxed.data detector.cfg -gpus 0,1 -max_batches 1 "
                         "-verbose | grep Region",
                         darknet),
                     0);
    assert_string_equal(one, out);
    assert_int_equal(
        run("%s mgpu train boxed.data detector.cfg -gpus 4,2,0 -max_batches 205", darknet), 0);
    assert_non_null(strstr(out, "\n205: "));
    assert_int_equal(run("ls backup"), 0);
    assert_string_equal(out, "detector.backup\ndetector_100.weights\ndetector_200.weights\n"
                             "detector_final.weights\n");
    assert_int_equal(run("cmp backup/detector.backup backup/detector_200.weights"), 0);
    /* Mini-batches of two rows, cut: still a line each. */
    assert_int_equal(run("%s mgpu train boxed.data detector.cfg -ngpus 6 -max_batches 2 "
                         "-verbose",
                         darknet),
                     0);
    assert_int_equal(count("Region 2 Avg IOU: "), 6);
}

/* A detector that ends in a region layer, in mini-batches of two rows: trained, and validated
 * with the same figures on any number of devices. */
static void test_region(void **state)
{
    (void)state;
    const char *darknet = getenv("MGPU_DARKNET");
    char one[sizeof out];
    put("region.cfg",
        "[net]\nbatch=4\nsubdivisions=2\nmax_batches=3\n" NET
        "[convolutional]\nfilters=14\nsize=3\nstride=4\npad=1\nactivation=linear\n"
        "[region]\nanchors=1,1,2,2\nclasses=2\ncoords=4\nnum=2\nsoftmax=1\njitter=.1\n"
        "object_scale=5\nnoobject_scale=1\nclass_scale=1\ncoord_scale=1\nthresh=.6\n"
        "random=0\n");
    put("regions.data", "classes=2\ntrain=boxed.list\nvalid=boxed.list\nnames=names.list\n"
                        "backup=backup\n");
    assert_int_equal(run("%s mgpu train regions.data region.cfg -gpus 0,1,2", darknet), 0);
    for(int n = 1; n <= 3; ++n) {
        assert_int_equal(run("%s mgpu valid regions.data region.cfg "
                             "backup/region_final.weights -ngpus %d 2>/dev/null",
                             darknet, n),
                         0);
        if(n > 1) assert_string_equal(out, one);
        strcpy(one, out);
    }
    assert_non_null(strstr(out, "mAP"));
}

/* random=1: the size changes, on every replica; the same for any N. */
static void test_random_sizes(void **state)
{
    (void)state;
    const char *darknet = getenv("MGPU_DARKNET");
    put("sizes.cfg",
        "[net]\nbatch=2\nsubdivisions=2\nmax_batches=2\n" NET YOLO_LAYERS "random=1\n");
    for(int i = 0; i < 2; ++i) {
        int status =
            run("%s mgpu train boxed.data sizes.cfg -gpus %s", darknet, i ? "0,1" : "0");
        if(status) fail_msg("%s", out);
        assert_int_equal(count("Resizing\n608\n"), 1); /* the size of the last 200 batches */
        assert_int_equal(run("mv backup/sizes_final.weights sizes%d.weights", i), 0);
    }
    assert_true(weights_differ("sizes0.weights", "sizes1.weights") < 1e-4);
    /* Far from the end, another every ten batches: the first twelve of many. */
    assert_int_equal(run("sed -i s/learning_rate=.*/learning_rate=0.0001/ sizes.cfg"), 0);
    double loss[2];
    for(int i = 0; i < 2; ++i) {
        run("%s mgpu train boxed.data sizes.cfg -gpus %s -seed 3 -max_batches 1000 | sed "
            "'/^12: /q'",
            darknet, i ? "1,0" : "0");
        assert_int_equal(count("Resizing\n"), 2);
        const char *at = strstr(out, "\n12: ");
        if(!at) fail_msg("%s", out);
        loss[i] = atof(at + 5);
    }
    assert_true(loss[0] > 0 && fabs(loss[0] - loss[1]) < 1e-3 * loss[0]);
}

static void test_tags(void **state)
{
    (void)state;
    const char *darknet = getenv("MGPU_DARKNET");
    put("tags.cfg", "[net]\nbatch=8\nsubdivisions=2\nmax_batches=40\n" NET
                    "[convolutional]\nfilters=2\nsize=1\nactivation=linear\n[avgpool]\n"
                    "[logistic]\n");
    put("plain.cfg", "[net]\nbatch=8\nsubdivisions=2\nmax_batches=40\n" NET
                     "[connected]\noutput=2\nactivation=logistic\n[cost]\n");
    if(run("%s mgpu train tags.data tags.cfg -gpus 0,1", darknet)) fail_msg("%s", out);
    assert_non_null(strstr(out, "\n40, 8.000: "));
    float first = atof(strstr(out, "\n1, 0.200: ") + 11);
    float last = atof(strstr(out, "\n40, 8.000: ") + 12);
    if(!(last < .85f * first)) fail_msg("the loss went from %f to %f", first, last);
    assert_int_equal(run("test -s backup/tags_8.weights && test -s backup/tags.weights"), 0);
    assert_int_equal(run("%s mgpu train tags.data plain.cfg", darknet), 1);
    assert_non_null(strstr(last_line(), "write -task classifier (one label an image) or -task "
                                        "tag"));
    assert_int_equal(run("%s mgpu train tags.data plain.cfg -task tag -max_batches 2", darknet),
                     0);
    assert_int_equal(
        run("%s mgpu train some.data plain.cfg -task classifier -max_batches 2", darknet), 0);
    assert_int_equal(run("(cat tags.data; echo tag=1) >tag1.data; %s mgpu train tag1.data "
                         "plain.cfg -max_batches 2",
                         darknet),
                     0);
}

/* -max_batches is the end for the rate's policy too: batch 2 of 4 has half of it. */
static void test_max_batches(void **state)
{
    (void)state;
    const char *darknet = getenv("MGPU_DARKNET");
    put("poly.cfg", "[net]\nbatch=8\nmax_batches=40\npolicy=poly\npower=1\n" NET LAYERS);
    assert_int_equal(run("mkdir -p other; %s mgpu train some.data poly.cfg -max_batches 4 "
                         "-backup other",
                         darknet),
                     0);
    assert_non_null(strstr(out, " avg, 0.010000 rate"));
    assert_int_equal(run("test -s other/poly.weights && ! test -e backup/poly.weights"), 0);
    assert_int_equal(
        run("%s mgpu train some.data poly.cfg other/poly.weights -max_batches 4", darknet), 1);
    assert_non_null(strstr(last_line(), "-max_batches makes it longer"));
    assert_int_equal(
        run("%s mgpu train some.data poly.cfg other/poly.weights -max_batches 5", darknet), 0);
    assert_int_equal(count(" images\n"), 1);
}

/* -reproducible: the same bytes on one and on two devices; -sync_bn: three devices that cut a
 * mini-batch train as one; -shares and -share_device: as without. */
static void test_same_training(void **state)
{
    (void)state;
    const char *darknet = getenv("MGPU_DARKNET");
    static const char *const ways[][2] = {
        {"-gpus 0 -reproducible", "same0"},
        {"-gpus 0,1 -reproducible", "same1"},
        {"-gpus 0,1,2 -sync_bn", "synced"},
        {"-gpus 0,1,2", "cut"},
        {"-gpus 0,1 -shares 1,1", "shares"},
        {"-gpus 3,3 -share_device", "shared"},
        {"-gpus 0,1 -shares 3,1 -sync_bn", "unequal"},
    };
    for(size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
        assert_int_equal(run("%s mgpu train some.data small.cfg -max_batches 6 %s && "
                             "cp backup/small.weights %s.weights",
                             darknet, ways[i][0], ways[i][1]),
                         0);
    }
    assert_int_equal(
        run("cmp same0.weights same1.weights && cmp shares.weights shared.weights"), 0);
    assert_true(weights_differ("same0.weights", "shares.weights") < 1e-5);
    assert_true(weights_differ("same0.weights", "synced.weights") < 1e-4);
    assert_true(weights_differ("same0.weights", "unequal.weights") < 1e-4);
    assert_true(weights_differ("same0.weights", "cut.weights") > 1e-3);
}

/* Images that are missing or broken in mid-list are named, counted and skipped; lists may have
 * CRLF, blank lines, trailing blanks, and paths with blanks in them. */
static void test_bad_images(void **state)
{
    (void)state;
    const char *darknet = getenv("MGPU_DARKNET");
    assert_int_equal(run("cp 00_bluish.ppm 'a bluish one.ppm'; echo P6 >broken_reddish.ppm"),
                     0);
    put("holes.list", "none_reddish.ppm\r\n\r\na bluish one.ppm  \r\n01_reddish.ppm\t\n   \n"
                      "broken_reddish.ppm\nalso_none_bluish.ppm\n");
    put("holes.data", "classes=2\ntrain=holes.list\nlabels=names.list\nbackup=backup\n");
    assert_int_equal(
        run("rm -f backup/*; %s mgpu train holes.data small.cfg -max_batches 3", darknet), 0);
    assert_non_null(strstr(out, "image 1, none_reddish.ppm, is not there"));
    assert_non_null(strstr(out, "2 of 5 images are skipped"));
    assert_non_null(strstr(out, "broken_reddish.ppm can not be read and is skipped"));
    assert_int_equal(count("broken_reddish.ppm can not"), 1);
    assert_int_equal(run("test -s backup/small.weights"), 0);
    put("holes.list", "broken_reddish.ppm\n");
    assert_int_equal(run("%s mgpu train holes.data small.cfg -max_batches 3", darknet), 1);
    assert_non_null(strstr(out, "drawn one after the other can not be read"));
}

/* Refused before training: status 1, the last line says what and what to try, and
 * nothing is written. */
static void test_refused(void **state)
{
    (void)state;
    const char *darknet = getenv("MGPU_DARKNET");
    put("uneven.cfg", "[net]\nbatch=9\nsubdivisions=2\nmax_batches=2\n" NET LAYERS);
    put("gray.cfg", "[net]\nbatch=8\nmax_batches=2\nheight=12\nwidth=12\nchannels=1\n"
                    "[connected]\noutput=2\n[softmax]\n");
    put("three.cfg",
        "[net]\nbatch=8\nmax_batches=2\n" NET "[connected]\noutput=3\n[softmax]\n");
    put("yolo.cfg",
        "[net]\nbatch=2\nmax_batches=2\n" NET
        "[convolutional]\nfilters=7\nsize=1\n[yolo]\nmask=0\nanchors=3,3\nclasses=2\n"
        "num=1\n");
    put("wrongyolo.cfg", "[net]\nbatch=2\nmax_batches=2\n" NET
                         "[convolutional]\nfilters=8\nsize=1\n[yolo]\nmask=0\nanchors=3,3\n"
                         "classes=2\nnum=1\n");
    put("endless.cfg", "[net]\nbatch=6\nsubdivisions=3\n" NET YOLO_LAYERS);
    put("unsized.cfg", "[net]\nbatch=2\nmax_batches=2\n" NET
                       "[convolutional]\nfilters=2\nsize=1\n[connected]\noutput=7\n"
                       "[yolo]\nmask=0\nanchors=6,6\nclasses=2\nnum=1\nrandom=1\n");
    put("oblong.cfg", "[net]\nbatch=8\nmax_batches=2\nheight=12\nwidth=16\nchannels=3\n"
                      "[connected]\noutput=2\n[softmax]\n");
    put("noimage.data", "classes=2\ntrain=missing.list\nlabels=names.list\nbackup=backup\n");
    assert_int_equal(run("mkdir -p bad/images bad/labels; cp images/00.jpg bad/images; "
                         "echo 2 .5 .5 .1 .1 >bad/labels/00.txt; echo bad/images/00.jpg "
                         ">bad.list; "
                         "sed s/boxed.list/bad.list/ boxed.data >badbox.data"),
                     0);
    assert_int_equal(run("(cat some.data; echo tree=some.tree) >tree.data"), 0);
    put("unnamed.data", "classes=2\ntrain=boxed.list\nlabels=names.list\nbackup=backup\n");
    put("missing.list", "no_bluish.ppm\nnone_bluish.ppm\n");
    put("empty.list", "\n\n");
    put("nolist.data", "classes=2\ntrain=none.list\nlabels=names.list\nbackup=backup\n");
    put("empty.data", "classes=2\ntrain=empty.list\nlabels=names.list\nbackup=backup\n");
    put("labels.data", "classes=3\ntrain=train.list\nlabels=names.list\nbackup=backup\n");
    put("nobackup.data", "classes=2\ntrain=train.list\nlabels=names.list\nbackup=nowhere\n");
    put("filebackup.data",
        "classes=2\ntrain=train.list\nlabels=names.list\nbackup=some.data\n");
    put("garbage.weights", "this is not a weights file, but it is longer than its header");
    assert_int_equal(run("rm -rf backup; mkdir backup"), 0);
    static const char *const bad[][2] = {
        {"mgpu", "a command is missing"},
        {"mgpu trian", "there is no command 'trian'"},
        {"mgpu train", "2 words are missing"},
        {"mgpu train some.data", "1 words are missing"},
        {"mgpu train some.data small.cfg a.weights more", "one word too many"},
        {"mgpu train some.data small.cfg -gpus", "needs a value"},
        {"mgpu train some.data small.cfg -gpus 0,", "not a list of device ids"},
        {"mgpu train some.data small.cfg -gpus0,1", "write -gpus and its value apart"},
        {"mgpu train some.data small.cfg -gpus 0,0", "listed twice"},
        {"mgpu train some.data small.cfg -gpus 64", "they are 0..63"},
        {"mgpu train some.data small.cfg -gpus 0,1 -shares 3", "-shares has 1 of them for 2"},
        {"mgpu train some.data small.cfg -shares 3,1", "-shares has 2 of them for 0"},
        {"mgpu train some.data small.cfg -gpus 0,1 -shares 3,0", "there is no share 0"},
        {"mgpu train some.data small.cfg -ngpus 0", "not within 1..64"},
        {"mgpu train some.data small.cfg -gpus 0 -ngpus 2", "exclude each other"},
        {"mgpu train some.data small.cfg -cpu_merge 0", "need CUDA devices"},
        {"mgpu train none.data small.cfg", "data file none.data can not be read"},
        {"mgpu train . small.cfg", "data file . is not a regular file"},
        {"mgpu train some.data none.cfg", "cfg file none.cfg can not be read"},
        {"mgpu train some.data small.cfg none.weights",
         "weights file none.weights can not be read"},
        {"mgpu train some.data small.cfg garbage.weights", "garbage.weights"},
        {"mgpu train some.data uneven.cfg", "batch=9 can not be cut into subdivisions=2"},
        {"mgpu train some.data gray.cfg", "images have 3 channels"},
        {"mgpu train some.data three.cfg", "has 3 outputs"},
        {"mgpu train some.data yolo.cfg", "Darknet finds its boxes by replacing"},
        {"mgpu train unnamed.data small.cfg", "no image's path contains exactly one"},
        {"mgpu train boxed.data detector.cfg -task tag", "a detector ends in [yolo]"},
        {"mgpu train some.data small.cfg -task detector", "small.cfg ends in [softmax]"},
        {"mgpu train some.data small.cfg -task cook", "there is no such task"},
        {"mgpu train some.data small.cfg -task", "needs a value"},
        {"mgpu train boxed.data endless.cfg", "has no max_batches"},
        {"mgpu train boxed.data unsized.cfg", "Darknet can not resize layer 1, [connected]"},
        {"mgpu train some.data oblong.cfg", "Darknet cuts square images"},
        {"mgpu train some.data small.cfg -max_batches 0", "not within 1.."},
        {"mgpu train some.data small.cfg -backup nowhere", "name another with -backup"},
        {"mgpu train badbox.data detector.cfg", "class 2; the cfg's layers know 0..1"},
        {"mgpu train tree.data small.cfg", "tree= is not supported"},
        {"mgpu train noimage.data small.cfg", "none of its 2 images is there"},
        {"mgpu valid some.data detector.cfg none.weights", "none.weights can not be read"},
        {"mgpu train some.data wrongyolo.cfg", "must have the filters"},
        {"mgpu train nolist.data small.cfg", "list file none.list can not be read"},
        {"mgpu train empty.data small.cfg", "list file empty.list is empty"},
        {"mgpu train labels.data small.cfg", "classes=3, and names.list has 2 labels"},
        {"mgpu train nobackup.data small.cfg", "backup directory nowhere"},
        {"mgpu train filebackup.data small.cfg", "is not a directory"},
        {"mgpu train some.data small.cfg -backup /proc", "/proc can not be written to"},
        {"mgpu valid some.data small.cfg", "1 words are missing"},
        {"mgpu valid some.data small.cfg none.weights", "can not be read"},
    };
    for(size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        int status = run("%s %s", darknet, bad[i][0]);
        if(status != 1 || !strstr(last_line(), bad[i][1])) {
            fail_msg("%s: status %d, last line '%s'", bad[i][0], status, last_line());
        }
        assert_int_equal(run("test -z \"$(ls backup)\""), 0);
    }
}

/* A run that is over says so; -clear starts another from its weights. */
static void test_over(void **state)
{
    (void)state;
    const char *darknet = getenv("MGPU_DARKNET");
    put("short.cfg", "[net]\nbatch=8\nmax_batches=3\n" NET LAYERS);
    assert_int_equal(run("%s mgpu train some.data short.cfg", darknet), 0);
    assert_int_equal(run("cp backup/short.weights over.weights"), 0);
    assert_int_equal(run("%s mgpu train some.data short.cfg over.weights", darknet), 1);
    assert_non_null(strstr(last_line(), "the run is over"));
    assert_int_equal(run("%s mgpu train some.data short.cfg over.weights -clear", darknet), 0);
    assert_non_null(strstr(out, "\n3, 0.600: "));
}

/* Stock's own commands are there and fail with a status. */
static void test_stock_commands(void **state)
{
    (void)state;
    const char *darknet = getenv("MGPU_DARKNET");
    assert_int_equal(run("%s classifier predict some.data none.cfg x 01_reddish.ppm", darknet),
                     1);
    assert_int_equal(
        run("%s classifier predict some.data small.cfg over.weights 01_reddish.ppm", darknet),
        0);
    assert_non_null(strstr(out, "%: reddish"));
    assert_int_equal(
        run("%s classifier predict some.data small.cfg over.weights none.ppm", darknet), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_train_and_valid),
        cmocka_unit_test(test_same_weights),
        cmocka_unit_test(test_detector),
        cmocka_unit_test(test_region),
        cmocka_unit_test(test_random_sizes),
        cmocka_unit_test(test_tags),
        cmocka_unit_test(test_max_batches),
        cmocka_unit_test(test_same_training),
        cmocka_unit_test(test_bad_images),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_over),
        cmocka_unit_test(test_stock_commands),
    };
    return cmocka_run_group_tests_name("command", tests, setup, 0);
}
