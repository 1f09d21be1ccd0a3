/* test_valid.c: darknet mgpu valid and predict, on nets whose weights are made by hand: they
 * see one box in the middle, half of the net's side, and tell red from blue. */
#include "mgpu.h"
#include "program.h"

#define IMAGES 40

#define SEES(filters)                                                                          \
    "[convolutional]\nfilters=" #filters "\nsize=12\nstride=12\nactivation=linear\n"
#define SEES_BOXES                                                                             \
    SEES(7)                                                                                    \
    "[yolo]\nmask=0\nanchors=6,6\nclasses=2\nnum=1\nignore_thresh=.5\ntruth_thresh=1\n"

/* No batch normalisation: after one step its running statistics are far from what they
 * stand for, and all probabilities are 1. */
#define CELLS "[convolutional]\nfilters=14\nsize=1\nactivation=linear\n[yolo]\n"
#define ANCHORS                                                                                \
    "anchors=2,2, 3,5, 6,3, 9,8\nclasses=2\nnum=4\njitter=.1\nignore_thresh=.5\n"              \
    "truth_thresh=1\nrandom=0\n"
#define TWO_YOLOS                                                                              \
    "[convolutional]\nfilters=8\nsize=3\nstride=2\npad=1\nactivation=leaky\n"                  \
    "[convolutional]\nfilters=8\nsize=3\nstride=2\npad=1\nactivation=leaky\n" CELLS            \
    "mask=2,3\n" ANCHORS "[route]\nlayers=-4\n" CELLS "mask=0,1\n" ANCHORS

static const char *darknet;

/* Weights of one layer of 12x12 filters: `plain` ones of a constant output, then one for
 * blue and one for red. NAN as `strength` makes useless ones. */
static void put_weights(const char *name, const float *plain, int nplain, float strength)
{
    char path[1024];
    int32_t version[3] = {0, 2, 0};
    uint64_t seen = 0;
    float biases[16] = {0}, filter[3][144];
    snprintf(path, sizeof path, "%s/%s", getenv("MGPU_SCRATCH"), name);
    FILE *fp = fopen(path, "wb");
    assert_non_null(fp);
    for(int i = 0; i < nplain; ++i) biases[i] = plain[i];
    fwrite(version, sizeof version, 1, fp);
    fwrite(&seen, sizeof seen, 1, fp);
    fwrite(biases, sizeof(float), nplain + 2, fp);
    for(int f = 0; f < nplain + 2; ++f) {
        int sign = f < nplain ? 0 : f == nplain ? -1 : 1; /* of red minus blue */
        for(int k = 0; k < 144; ++k) {
            filter[0][k] = sign ? sign * strength / 144 : 0;
            filter[1][k] = 0;
            filter[2][k] = -filter[0][k];
        }
        fwrite(filter, sizeof filter, 1, fp);
    }
    fclose(fp);
}

static int setup(void **state)
{
    (void)state;
    static const float middle[] = {0, 0, 0, 0, 4};
    char list[4096] = "", name[64];
    darknet = getenv("MGPU_DARKNET");
    assert_int_equal(run("mkdir images labels results other pictures"), 0);
    for(int i = 0; i < IMAGES; ++i) {
        snprintf(name, sizeof name, "images/%02d_%s.jpg", i, i % 2 ? "reddish" : "bluish");
        put_image(name, i);
        sprintf(list + strlen(list), "%s\n", name);
        snprintf(name, sizeof name, "labels/%02d_%s.txt", i, i % 2 ? "reddish" : "bluish");
        put(name, i % 2 ? "1 .5 .5 .5 .5\n" : "0 .5 .5 .5 .5\n");
    }
    put("all.list", list);
    put("names.list", "bluish\nreddish\n");
    put("all.data", "classes=2\nvalid=all.list\nnames=names.list\nresults=results\n");
    put("class.data", "classes=2\nvalid=all.list\nlabels=names.list\ntop=2\n");
    put("boxes.cfg", "[net]\nbatch=6\nsubdivisions=1\n" NET SEES_BOXES);
    put("single.cfg", "[net]\nbatch=1\nsubdivisions=1\n" NET SEES_BOXES);
    put("class.cfg", "[net]\nbatch=6\nsubdivisions=1\n" NET SEES(2) "[softmax]\n");
    put("tags.cfg", "[net]\nbatch=6\nsubdivisions=1\n" NET SEES(2) "[logistic]\n");
    put_weights("boxes.weights", middle, 5, 16);
    put_weights("useless.weights", middle, 5, NAN);
    put_weights("class.weights", 0, 0, 16);
    return 0;
}

/* Runs `valid ARGS`, its figures alone, and expects them and a status. */
static void expect(int status, const char *arguments, const char *figures)
{
    char end[sizeof out];
    assert_int_equal(run("%s mgpu valid %s >figures", darknet, arguments), status);
    strcpy(end, last_line());
    assert_int_equal(run("cat figures"), 0);
    if(strcmp(out, figures)) fail_msg("valid %s: %s (%s)", arguments, out, end);
}

static void test_boxes(void **state)
{
    (void)state;
    static const char figures[] =
        "bluish: 20 boxes, 20 found, 20 right, precision 1.000000, recall 1.000000, AP@.5 "
        "1.000000, AP@.5:.95 1.000000\n"
        "reddish: 20 boxes, 20 found, 20 right, precision 1.000000, recall 1.000000, AP@.5 "
        "1.000000, AP@.5:.95 1.000000\n"
        "40 images, threshold 0.5: 40 boxes, 40 found, 40 right, precision 1.000000, recall "
        "1.000000, mAP@.5 1.000000, mAP@.5:.95 1.000000\n";
    expect(0, "all.data boxes.cfg boxes.weights -gpus 0", figures);
    expect(0, "all.data boxes.cfg boxes.weights -gpus 0,1,2", figures);
    expect(0, "all.data single.cfg boxes.weights -gpus 3,1", figures);
}

/* Another dataset of the same images: `count` of them, the box of number i by `label`. */
static void put_labels(const char *folder, const char *const *labels, int count)
{
    char list[4096] = "", text[4096], name[128];
    assert_int_equal(run("mkdir -p %s/images %s/labels", folder, folder), 0);
    for(int i = 0; i < count; ++i) {
        snprintf(name, sizeof name, "%s/images/%d.jpg", folder, i);
        put_image(name, i);
        sprintf(list + strlen(list), "%s\n", name);
        snprintf(name, sizeof name, "%s/labels/%d.txt", folder, i);
        put(name, labels[i]);
    }
    snprintf(name, sizeof name, "%s.list", folder);
    put(name, list);
    snprintf(text, sizeof text, "valid=%s\nnames=names.list\nresults=results\n", name);
    snprintf(name, sizeof name, "%s.data", folder);
    put(name, text);
}

/* Blue images are even. Overlaps by hand: .5 x .5 in .5 x .25 is 1/2, in .6 x .5 5/6, and
 * the first two thirds of the thresholds. No box, another class, a box too small to count,
 * one of two boxes, and far too many. */
static void test_figures(void **state)
{
    (void)state;
    char many[200 * 32 + 1] = "";
    for(int i = 0; i < 200; ++i) strcat(many, "1 0.9 0.9 0.1 0.1\n");
    const char *const labels[] = {
        "0 .5 .5 .5 .25\n", "1 .5 .5 .6 .5\n",    "",
        "0 .5 .5 .5 .5\n",  "0 .5 .5 .5 .0005\n", "1 .1 .1 .1 .1\n1 .5 .5 .5 .5\n"};
    put_labels("some", labels, 6);
    /* Red: 1 and 5 are right, 3 wrong; the order of the three is by score. Blue: 0 is right
     * up to .5; 2 and 4 are wrong. */
    assert_int_equal(run("%s mgpu valid some.data boxes.cfg boxes.weights -gpus 0,1", darknet),
                     0);
    assert_int_equal(count("bluish: 2 boxes, 3 found, 1 right, precision 0.333333, recall "
                           "0.500000, AP@.5 "),
                     1);
    assert_int_equal(count("reddish: 3 boxes, 3 found, 2 right, precision 0.666667, recall "
                           "0.666667, AP@.5 "),
                     1);
    assert_int_equal(count("6 images, threshold 0.5: 5 boxes, 6 found, 3 right, precision "
                           "0.500000, recall 0.600000, mAP@.5 "),
                     1);
    const char *const crowd[] = {"0 .5 .5 .5 .5\n", many};
    put_labels("crowd", crowd, 2);
    expect(
        0, "crowd.data boxes.cfg boxes.weights -ngpus 2 -thresh .99",
        "bluish: 1 boxes, 0 found, 0 right, precision -, recall 0.000000, AP@.5 1.000000, "
        "AP@.5:.95 1.000000\n"
        "reddish: 200 boxes, 0 found, 0 right, precision -, recall 0.000000, AP@.5 0.000000, "
        "AP@.5:.95 0.000000\n"
        "2 images, threshold 0.99: 201 boxes, 0 found, 0 right, precision -, recall "
        "0.000000, mAP@.5 0.500000, mAP@.5:.95 0.500000\n");
}

/* 28x14 pixels are letterboxed: half the net's side is all of the image's height. An image
 * one pixel wide ends the box's sense, not the program. */
static void test_letterbox(void **state)
{
    (void)state;
    const char *const labels[] = {"0 .5 .5 .5 1\n", "1 .5 .5 1 .5\n"};
    put_labels("wide", labels, 2);
    put_picture("wide/images/0.jpg", 0, 28, 14);
    put_picture("wide/images/1.jpg", 1, 14, 28);
    assert_int_equal(run("%s mgpu valid wide.data boxes.cfg boxes.weights", darknet), 0);
    assert_int_equal(count("mAP@.5 1.000000, mAP@.5:.95 1.000000"), 1);
    put_picture("wide/images/1.jpg", 1, 1, 600);
    assert_int_equal(run("%s mgpu valid wide.data boxes.cfg boxes.weights", darknet), 0);
    assert_int_equal(count("2 images, threshold 0.5: 2 boxes"), 1);
    assert_int_equal(count("nan"), 0);
    assert_int_equal(run("grep -E 'nan|inf' results/comp4*"), 1);
}

/* The same numbers, to rounding, and the same words. */
static void same_files(const char *one, const char *other)
{
    static char text[2][sizeof out];
    char *at[2], *token[2];
    int tokens = 0;
    for(int i = 0; i < 2; ++i) {
        assert_int_equal(run("cat %s", i ? other : one), 0);
        assert_true(strlen(out) < sizeof out - 1);
        strcpy(text[i], out);
    }
    for(;; ++tokens) {
        for(int i = 0; i < 2; ++i) {
            token[i] = strtok_r(tokens ? 0 : text[i], " :,[]{}\n", at + i);
        }
        if(!token[0] || !token[1]) break;
        double x = atof(token[0]), y = atof(token[1]);
        if(strcmp(token[0], token[1]) && !(x && fabs(x - y) < 1e-3 * fabs(x))) {
            fail_msg("%s: %s, and %s in %s", one, token[0], token[1], other);
        }
    }
    assert_true(!token[0] && !token[1] && tokens > 100);
}

static const struct {
    const char *eval;
    int stock; /* 1: to be compared with stock's, which reads 200 classes for ImageNet */
    const char *mine, *files[2];
} results[] = {
    {"voc", 1, "mine_reddish.txt", {"comp4_det_test_bluish.txt", "comp4_det_test_reddish.txt"}},
    {"coco", 1, "mine_.json", {"coco_results.json", 0}},
    {"imagenet", 0, "mine_.txt", {"imagenet-detection.txt", 0}},
};

/* Writes results[k] on n devices and compares it with what is in results/. */
static void compare_results(int k, int n)
{
    assert_int_equal(
        run("%s mgpu valid eval.data yolo.cfg other/yolo_final.weights -ngpus %d", darknet, n),
        0);
    assert_int_equal(count("4 images, threshold 0.5: 0 boxes"), 1);
    if(n == 1 && !results[k].stock) assert_int_equal(run("cp other/*.txt results"), 0);
    for(int i = 0; i < 2 && results[k].files[i]; ++i) {
        char mine[128], stocks[128];
        snprintf(mine, sizeof mine, "other/%s", results[k].files[i]);
        snprintf(stocks, sizeof stocks, "results/%s", results[k].files[i]);
        same_files(mine, stocks);
    }
}

/* Stock's own `detector valid` writes the same files for the same weights: many boxes an
 * image, of two sizes of cells, images of several shapes, any N, the last batch short. */
static void test_results(void **state)
{
    (void)state;
    static const char *const labels[] = {"", "", "", ""};
    put("yolo.cfg", "[net]\nbatch=3\nsubdivisions=1\nmax_batches=1\n" NET TWO_YOLOS);
    put_labels("shapes", labels, 4);
    put_picture("shapes/images/1.jpg", 1, 40, 17);
    put_picture("shapes/images/2.jpg", 2, 9, 31);
    put("train.data", "classes=2\ntrain=all.list\nnames=names.list\nbackup=other\n");
    assert_int_equal(run("%s mgpu train train.data yolo.cfg -seed 5", darknet), 0);
    for(int k = 0; k < 3; ++k) {
        assert_int_equal(run("rm -f results/* other/*txt other/*json; (grep -v results "
                             "shapes.data; echo eval=%s; echo results=other) >eval.data; sed "
                             "s/other/results/ eval.data >stock.data",
                             results[k].eval),
                         0);
        int status = !results[k].stock
                         ? 0
                         : run("%s detector valid stock.data yolo.cfg other/yolo_final.weights",
                               getenv("MGPU_STOCK_DARKNET"));
        if(status) fail_msg("%s", out);
        compare_results(k, 1);
        compare_results(k, 2);
        compare_results(k, 3);
        compare_results(k, 8);
        assert_int_equal(run("%s mgpu valid eval.data yolo.cfg other/yolo_final.weights -out "
                             "mine_; test -s other/%s",
                             darknet, results[k].mine),
                         0);
    }
    int image, class;
    float p;
    assert_int_equal(run("head -n 1 other/imagenet-detection.txt"), 0);
    assert_int_equal(sscanf(out, "%d %d %f", &image, &class, &p), 3);
    assert_true(image == 1 && (class == 1 || class == 2) && p > .005 && p < 1);
}

/* Every device gets rows: a mini-batch has at least one for each. */
static void test_rows(void **state)
{
    (void)state;
    static const int gpus[] = {0, 1, 2, 3, 4, 5, 6, 7};
    mgpu_options o = mgpu_default_options();
    char cfg[1024];
    snprintf(cfg, sizeof cfg, "%s/boxes.cfg", getenv("MGPU_SCRATCH"));
    o.gpus = gpus;
    for(int n = 1; n <= 8; n += 7) {
        for(o.predicts = 0; o.predicts < 2; ++o.predicts) {
            o.ngpus = n;
            quiet();
            network *net = mgpu_load_network(cfg, 0, 0, &o);
            loud();
            assert_non_null(net);
            assert_int_equal(net->batch, o.predicts && n == 8 ? 8 : 6);
            free_network(net);
        }
    }
}

static void test_classifier(void **state)
{
    (void)state;
    for(int n = 1; n <= 8; n = n < 3 ? n + 1 : n + 5) {
        char arguments[128];
        snprintf(arguments, sizeof arguments, "class.data class.cfg class.weights -ngpus %d",
                 n);
        expect(0, arguments, "top 1: 1.000000, top 2: 1.000000, 40 images\n");
    }
    assert_int_equal(run("sed s/top=2/top=3/ class.data >top.data; %s mgpu valid top.data "
                         "class.cfg class.weights",
                         darknet),
                     1);
    assert_string_equal(last_line(), "darknet mgpu valid: top.data: top=3 is not within 1..2");
}

/* Tags 0 and 1 are seen right in four of six images; the fifth has both, the last none. */
static void test_tags(void **state)
{
    (void)state;
    static const char *const labels[] = {"0", "1\n", "0 0\r\n", "1", "0 1\n", ""};
    static const char figures[] =
        "bluish: 3 tags, 3 found, 3 right, precision 1.000000, recall 1.000000, AP 1.000000\n"
        "reddish: 3 tags, 3 found, 2 right, precision 0.666667, recall 0.666667, AP ";
    put_labels("tagged", labels, 6);
    assert_int_equal(run("rm tagged/labels/5.txt; echo classes=2 >>tagged.data"), 0);
    char one[sizeof out];
    for(int n = 1; n <= 8; n = n < 3 ? n + 1 : n + 5) {
        assert_int_equal(run("%s mgpu valid tagged.data tags.cfg class.weights -ngpus %d "
                             "2>messages",
                             darknet, n),
                         0);
        if(strncmp(out, figures, strlen(figures))) fail_msg("%s", out);
        if(n > 1) assert_string_equal(out, one);
        strcpy(one, out);
    }
    assert_non_null(strstr(out, "6 images, threshold 0.5: 6 tags, 6 found, 5 right, precision "
                                "0.833333, recall 0.833333, mAP "));
}

/* Lists as other systems and people write them. */
static void test_lists(void **state)
{
    (void)state;
    assert_int_equal(
        run("mkdir -p 'my images' 'my labels'; cp images/00_bluish.jpg 'my images/a "
            "b.jpg'; cp labels/00_bluish.txt 'my labels/a b.txt'"),
        0);
    put("odd.list", "\r\n  \nmy images/a b.jpg \t\r\n\n\nimages/01_reddish.jpg  ");
    put("odd.data", "classes=2\r\nvalid=odd.list\r\nnames=odd.names\r\nresults=results\r\n");
    put("odd.names", "bluish  \r\n\r\nreddish\t");
    expect(0, "odd.data boxes.cfg boxes.weights",
           "bluish: 1 boxes, 1 found, 1 right, precision 1.000000, recall 1.000000, AP@.5 "
           "1.000000, AP@.5:.95 1.000000\n"
           "reddish: 1 boxes, 1 found, 1 right, precision 1.000000, recall 1.000000, AP@.5 "
           "1.000000, AP@.5:.95 1.000000\n"
           "2 images, threshold 0.5: 2 boxes, 2 found, 2 right, precision 1.000000, recall "
           "1.000000, mAP@.5 1.000000, mAP@.5:.95 1.000000\n");
    assert_int_equal(run("test -s results/comp4_det_test_bluish.txt && grep -q '^a b 0.9' "
                         "results/comp4_det_test_bluish.txt"),
                     0);
}

/* Broken images are named and counted; the figures are over the others. */
static void test_broken(void **state)
{
    (void)state;
    static const char *const labels[] = {"0 .5 .5 .5 .5", "1 .5 .5 .5 .5", "0 .5 .5 .5 .5",
                                         "1 .5 .5 .5 .5"};
    static const char figures[] =
        "bluish: 1 boxes, 1 found, 1 right, precision 1.000000, recall 1.000000, AP@.5 "
        "1.000000, AP@.5:.95 1.000000\n"
        "reddish: 1 boxes, 1 found, 1 right, precision 1.000000, recall 1.000000, AP@.5 "
        "1.000000, AP@.5:.95 1.000000\n"
        "2 images, threshold 0.5: 2 boxes, 2 found, 2 right, precision 1.000000, recall "
        "1.000000, mAP@.5 1.000000, mAP@.5:.95 1.000000\n";
    put_labels("broken", labels, 4);
    put("broken/images/1.jpg", "this is no picture");
    put("broken/images/2.jpg", "");
    for(int n = 1; n <= 3; ++n) {
        char arguments[128];
        snprintf(arguments, sizeof arguments, "broken.data boxes.cfg boxes.weights -ngpus %d",
                 n);
        expect(1, arguments, figures);
    }
    assert_int_equal(run("%s mgpu valid broken.data boxes.cfg boxes.weights", darknet), 1);
    assert_non_null(strstr(out, "mgpu: image 2 of 4: broken/images/1.jpg: "));
    assert_non_null(strstr(out, "mgpu: image 3 of 4: broken/images/2.jpg: "));
    assert_non_null(strstr(last_line(), "2 of 4 images could not be judged"));
    expect(1, "all.data boxes.cfg useless.weights", "");
    assert_int_equal(run("%s mgpu valid all.data boxes.cfg useless.weights", darknet), 1);
    assert_non_null(strstr(out, "is not a number"));
    assert_non_null(strstr(last_line(), "40 of 40 images could not be judged"));
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const good[] = {"0 .5 .5 .5 .5", "1 .5 .5 .5 .5"};
    static const char *const outside[] = {"0 .5 .5 .5 .5", "2 .5 .5 .5 .5"};
    static const char *const nan[] = {"0 .5 .5 .5 .5", "1 .5 nan .5 .5"};
    put_labels("good", good, 2);
    put_labels("outside", outside, 2);
    put_labels("notnumber", nan, 2);
    put_weights("gray.weights", 0, 0, 1);
    assert_int_equal(run("truncate -s %d gray.weights", 20 + 4 * (2 + 2 * 144)), 0);
    put("gray.cfg", "[net]\nbatch=1\nheight=12\nwidth=12\nchannels=1\n" SEES(2) "[softmax]\n");
    assert_int_equal(
        run("cp -r good gone; rm gone/images/1.jpg; sed s/good/gone/ good.list >gone.list; sed "
            "s/good/gone/ good.data >gone.data; (grep -v results good.data; echo "
            "results=nowhere) >nowhere.data; (cat good.data; echo eval=pascal) >eval.data; "
            "grep -v names good.data >nameless.data; echo bluish >one.names; sed "
            "s/names.list/one.names/ good.data >few.data"),
        0);
    static const char *const bad[][2] = {
        {"valid outside.data boxes.cfg boxes.weights",
         "line 1: class 2; the cfg's layers know"},
        {"valid notnumber.data boxes.cfg boxes.weights", "line 1: a box in parts"},
        {"valid gone.data boxes.cfg boxes.weights", "image 2 of 2 is not there"},
        {"valid nowhere.data boxes.cfg boxes.weights", "results file nowhere/comp4_det_test_"},
        {"valid eval.data boxes.cfg boxes.weights", "eval=pascal; voc, coco and imagenet"},
        {"valid nameless.data boxes.cfg boxes.weights", "names file data/names.list can not"},
        {"valid few.data boxes.cfg boxes.weights", "one.names has 1 names; the network has 2"},
        {"valid good.data boxes.cfg boxes.weights -thresh 0",
         "-thresh 0: boxes are looked for"},
        {"valid good.data boxes.cfg boxes.weights -thresh 1.5", "not within 0..1"},
        {"valid good.data boxes.cfg boxes.weights -thresh half", "not a number"},
        {"predict all.data boxes.cfg boxes.weights", "no image is named"},
        {"predict all.data boxes.cfg boxes.weights a.jpg -list all.list", "exclude each other"},
        {"predict all.data boxes.cfg boxes.weights -list none.list",
         "none.list can not be read"},
        {"predict all.data boxes.cfg boxes.weights a.jpg -out nowhere", "-out nowhere: "},
        {"predict all.data boxes.cfg boxes.weights a.jpg -out all.data", "is not a directory"},
        {"predict all.data class.cfg class.weights a.jpg -out other", "-out is for boxes"},
        {"predict all.data gray.cfg gray.weights a.jpg", "images have 3 channels"},
        {"predict all.data boxes.cfg boxes.weights a.jpg -top 0", "not within 1.."},
        {"predict all.data boxes.cfg", "1 words are missing"},
    };
    for(size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        int status = run("%s mgpu %s >figures", darknet, bad[i][0]);
        if(status != 1 || !strstr(last_line(), bad[i][1])) {
            fail_msg("%s: status %d, last line '%s'", bad[i][0], status, last_line());
        }
        assert_int_equal(run("test ! -s figures"), 0);
    }
}

/* Runs `predict ARGS` and leaves its lines, and nothing else, in `out`. */
static int predict(const char *arguments)
{
    int status = run("%s mgpu predict %s 2>messages >lines", darknet, arguments);
    assert_int_equal(run("cat lines"), 0);
    return status;
}

/* Blanks the digits of probabilities, which the processor may round otherwise. */
static void blank(void)
{
    for(char *at = out; (at = strstr(at, "ty\": 0.")); ++at) {
        for(char *c = at + 7; *c >= '0' && *c <= '9'; ++c) *c = '#';
    }
}

static void test_predict_boxes(void **state)
{
    (void)state;
    static const char lines[] =
        "{\"image\": \"images/01_reddish.jpg\", \"width\": 14, \"height\": 14, \"boxes\": "
        "[{\"class\": 1, \"name\": \"reddish\", \"probability\": 0.######, \"x\": 3.50, \"y\": "
        "3.50, \"w\": 7.00, \"h\": 7.00}]}\n"
        "{\"image\": \"wide.ppm\", \"width\": 28, \"height\": 14, \"boxes\": "
        "[{\"class\": 0, \"name\": \"bluish\", \"probability\": 0.######, \"x\": 7.00, \"y\": "
        "0.00, \"w\": 14.00, \"h\": 14.00}]}\n";
    put_picture("wide.ppm", 0, 28, 14);
    for(int n = 1; n <= 3; ++n) {
        char arguments[128];
        snprintf(arguments, sizeof arguments,
                 "all.data boxes.cfg boxes.weights images/01_reddish.jpg wide.ppm -ngpus %d",
                 n);
        assert_int_equal(predict(arguments), 0);
        blank();
        assert_string_equal(out, lines);
    }
    /* What the picture shows: the box's outline in a pure colour; inside, what was there. */
    assert_int_equal(predict("all.data boxes.cfg boxes.weights wide.ppm -out pictures -thresh "
                             ".9"),
                     0);
    assert_non_null(strstr(out, ", \"picture\": \"pictures/1_wide.jpg\"}\n"));
    char path[1024];
    snprintf(path, sizeof path, "%s/pictures/1_wide.jpg", getenv("MGPU_SCRATCH"));
    image im = load_image_color(path, 0, 0);
    assert_true(im.w == 28 && im.h == 14);
    float *green = im.data + 28 * 14;
    assert_true(green[7 * 28 + 7] > green[7 * 28 + 14] + .2 ||
                im.data[7 * 28 + 7] > im.data[7 * 28 + 14] + .2);
    free_image(im);
    assert_int_equal(predict("all.data boxes.cfg boxes.weights wide.ppm -thresh 1"), 0);
    assert_string_equal(
        out, "{\"image\": \"wide.ppm\", \"width\": 28, \"height\": 14, \"boxes\": []}\n");
}

static void test_predict_classes(void **state)
{
    (void)state;
    assert_int_equal(predict("class.data class.cfg class.weights images/01_reddish.jpg"), 0);
    blank();
    assert_string_equal(
        out, "{\"image\": \"images/01_reddish.jpg\", \"width\": 14, \"height\": 14, "
             "\"classes\": [{\"class\": 1, \"name\": \"reddish\", \"probability\": "
             "0.######}, {\"class\": 0, \"name\": \"bluish\", \"probability\": 0.######}]}\n");
    assert_int_equal(predict("class.data class.cfg class.weights images/00_bluish.jpg -top 1"),
                     0);
    assert_non_null(strstr(out, "[{\"class\": 0, "));
    assert_int_equal(count("\"class\": "), 1);
    assert_int_equal(predict("class.data tags.cfg class.weights -list all.list"), 0);
    assert_int_equal(count("{\"image\": "), IMAGES);
    assert_int_equal(count("\"class\": "), IMAGES); /* those above .5 */
}

/* Images that fail have a line with their error; the others are done; status 1. Names may
 * hold anything. */
static void test_predict_broken(void **state)
{
    (void)state;
    put("no\"pic\\ture\t.jpg", "nothing");
    put("bad.list",
        "none.jpg\r\nno\"pic\\ture\t.jpg\n\nimages/00_bluish.jpg\n.\n\xff\xc3\xa9.jpg");
    assert_int_equal(predict("all.data boxes.cfg boxes.weights -list bad.list -gpus 1,0"), 1);
    assert_int_equal(count("\n"), 5);
    assert_int_equal(count("\"error\": "), 4);
    assert_non_null(strstr(out,
                           "{\"image\": \"none.jpg\", \"error\": \"image none.jpg can not be "
                           "read: No such file or directory\"}\n"));
    assert_non_null(strstr(out, "{\"image\": \"no\\\"pic\\\\ture\\u0009.jpg\", \"error\": \""));
    assert_non_null(strstr(out, "{\"image\": \"images/00_bluish.jpg\", \"width\": 14, "));
    assert_non_null(
        strstr(out, "{\"image\": \".\", \"error\": \"image . is not a regular file"));
    assert_non_null(strstr(out, "{\"image\": \"\\ufffd\xc3\xa9.jpg\", "));
    assert_int_equal(run("cat messages"), 0);
    assert_non_null(strstr(out, "mgpu: image 2 of 5: no\"pic"));
    assert_string_equal(last_line(),
                        "darknet mgpu predict: 4 of 5 images failed, as said above");
    assert_int_equal(predict("all.data boxes.cfg useless.weights images/00_bluish.jpg"), 1);
    assert_non_null(strstr(out, "\"error\": \"what the network gives for it is not a number"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_boxes),          cmocka_unit_test(test_figures),
        cmocka_unit_test(test_letterbox),      cmocka_unit_test(test_results),
        cmocka_unit_test(test_rows),           cmocka_unit_test(test_classifier),
        cmocka_unit_test(test_tags),           cmocka_unit_test(test_lists),
        cmocka_unit_test(test_broken),         cmocka_unit_test(test_refused),
        cmocka_unit_test(test_predict_boxes),  cmocka_unit_test(test_predict_classes),
        cmocka_unit_test(test_predict_broken),
    };
    return cmocka_run_group_tests_name("valid", tests, setup, 0);
}
