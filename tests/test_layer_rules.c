/* test_layer_rules.c: layers whose deltas are made by hand, against the rules written out.
 *
 * Each case makes a network whose last layer is the one in question, runs it forward and
 * backward on made-up numbers, and compares its outputs, its cost and the delta that it
 * hands down with what a plain reading of the rule gives, in double precision. */
#include "mgpu_random.h"
#include "mgpu_replica.h"
#include "support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

typedef struct {
    double *output, *delta; /* of the layer */
} expected;

typedef struct {
    const char *name;
    int h, w, c;
    const char *layer;
    void (*truth)(const layer *l, float *truth);
    void (*rule)(const layer *l, const network *net, expected *e);
    void (*down)(const layer *l, const network *net,
                 expected *e); /* what becomes of the delta on its way */
    size_t seen;
    int resized; /* resize_network can do it */
} rule_case;

#define ROWS 3

static network *make(const rule_case *c)
{
    FILE *fp = fopen("rules.cfg", "w");
    assert_non_null(fp);
    fprintf(fp, "[net]\nbatch=%d\nheight=%d\nwidth=%d\nchannels=%d\n%s", ROWS, c->h, c->w, c->c,
            c->layer);
    fclose(fp);
    quiet();
    network *net = parse_network_cfg("rules.cfg");
    loud();
    net->train = 1;
    *net->seen = c->seen;
    return net;
}

static void release(network *net)
{
    mgpu_replica_free_rest(net);
    free_network(net);
}

static void assert_close(const char *name, const char *what, const float *x, const double *y,
                         int n)
{
    for(int i = 0; i < n; ++i) {
        if(!(fabs(x[i] - y[i]) <= 1e-5 * (1 + fabs(y[i]))))
            fail_msg("%s: %s %d is %g, not %g", name, what, i, x[i], y[i]);
    }
}

static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

static double slope(double y)
{
    return y * (1 - y);
}

/* ---- layers that scale ---- */

/* Windows of squares along the channels: the first holds size/2 of them, each next one
 * gains a channel and, once it is full, loses one. */
static void rule_normalization(const layer *l, const network *net, expected *e)
{
    int size = 5, places = l->h * l->w;
    for(int b = 0; b < ROWS; ++b) {
        for(int p = 0; p < places; ++p) {
            const float *x = net->input + b * l->inputs + p;
            double norm = l->kappa;
            for(int k = 0; k < l->c; ++k) {
                for(int j = 0; k == 0 && j < size / 2 && j < l->c; ++j)
                    norm += l->alpha * pow(x[j * places], 2);
                int gained = k + size / 2, lost = k - (size - 1) / 2 - 1;
                if(k && gained < l->c) norm += l->alpha * pow(x[gained * places], 2);
                if(lost >= 0) norm -= l->alpha * pow(x[lost * places], 2);
                int at = b * l->inputs + k * places + p;
                e->output[at] = net->input[at] * pow(norm, -l->beta);
                e->delta[at] = l->delta[at];
            }
        }
    }
}

/* The delta is scaled as the output was. */
static void down_normalization(const layer *l, const network *net, expected *e)
{
    for(int i = 0; i < ROWS * l->inputs; ++i) e->delta[i] *= e->output[i] / net->input[i];
}

/* Each place's channels get length 1; the delta goes down as it is. */
static void rule_l2norm(const layer *l, const network *net, expected *e)
{
    int places = l->h * l->w;
    for(int i = 0; i < ROWS * l->inputs; ++i) {
        const float *x = net->input + i / l->inputs * l->inputs + i % places;
        double sum = 0;
        for(int k = 0; k < l->c; ++k) sum += pow(x[k * places], 2);
        e->output[i] = net->input[i] / sqrt(sum);
        e->delta[i] = l->delta[i];
    }
}

/* ---- boxes ---- */

typedef struct {
    double x, y, w, h;
} rect;

static rect rect_of(const float *f)
{
    return (rect){f[0], f[1], f[2], f[3]};
}

static double overlap(double a, double aw, double b, double bw)
{
    return fmin(a + aw / 2, b + bw / 2) - fmax(a - aw / 2, b - bw / 2);
}

static double iou(rect a, rect b)
{
    double w = overlap(a.x, a.w, b.x, b.w), h = overlap(a.y, a.h, b.y, b.h);
    double both = w < 0 || h < 0 ? 0 : w * h;
    return both / (a.w * a.h + b.w * b.h - both);
}

static rect centred(rect r)
{
    return (rect){0, 0, r.w, r.h};
}

/* Boxes on a grid, as yolo and region layers have them. */
typedef struct {
    const layer *l;
    const network *net;
    expected *e;
    int coords, per_anchor;
    double across, down; /* what anchors are counted in */
} grid;

static int at(const grid *g, int b, int n, int place, int entry)
{
    int places = g->l->w * g->l->h;
    return b * g->l->outputs + (n * g->per_anchor + entry) * places + place;
}

/* The box that anchor `anchor` predicts with the n-th of the layer's groups of entries. */
static rect predicted(const grid *g, int b, int n, int anchor, int place)
{
    const double *o = g->e->output;
    return (rect){(place % g->l->w + o[at(g, b, n, place, 0)]) / g->l->w,
                  (place / g->l->w + o[at(g, b, n, place, 1)]) / g->l->h,
                  exp(o[at(g, b, n, place, 2)]) * g->l->biases[2 * anchor] / g->across,
                  exp(o[at(g, b, n, place, 3)]) * g->l->biases[2 * anchor + 1] / g->down};
}

static void pull_box(const grid *g, int b, int n, int anchor, int place, rect to, double scale)
{
    const double want[] = {to.x * g->l->w - place % g->l->w, to.y * g->l->h - place / g->l->w,
                           log(to.w * g->across / g->l->biases[2 * anchor]),
                           log(to.h * g->down / g->l->biases[2 * anchor + 1])};
    for(int k = 0; k < 4; ++k) {
        int i = at(g, b, n, place, k);
        g->e->delta[i] = scale * (want[k] - g->e->output[i]);
    }
}

/* Entry pulled towards `want`. */
static void pull(const grid *g, int b, int n, int place, int entry, double want, double scale)
{
    int i = at(g, b, n, place, entry);
    g->e->delta[i] = scale * (want - g->e->output[i]);
}

static const float *truth_of(const grid *g, int b, int t)
{
    const float *truth = g->net->truth + b * g->l->truths + t * (g->coords + 1);
    return t < g->l->max_boxes && truth[0] ? truth : 0;
}

static double best_iou(const grid *g, int b, rect r)
{
    double best = 0;
    const float *truth;
    for(int t = 0; (truth = truth_of(g, b, t)); ++t) best = fmax(best, iou(r, rect_of(truth)));
    return best;
}

/* One class against all others; where another box has been here, this class is added. */
static void pull_class(const grid *g, int b, int n, int place, int first, int class, int adds,
                       double scale)
{
    int more = adds && g->e->delta[at(g, b, n, place, first)] != 0;
    for(int k = 0; k < g->l->classes; ++k) {
        if(k == class || !more) pull(g, b, n, place, first + k, k == class, scale);
    }
}

static void truth_boxes(const layer *l, float *truth)
{
    int size = l->coords ? l->coords + 1 : 5;
    for(int b = 0; b < ROWS; ++b) {
        for(int t = 0; t < 3; ++t) { /* the second in the first one's place */
            float *f = truth + b * l->truths + t * size;
            for(int k = 0; k < size - 1; ++k)
                f[k] = .1f + .7f * unit(b, 10 * (t - (t == 1)) + k);
            if(t == 1) f[2] *= 1.1f;
            f[size - 1] = (b + t) % l->classes;
        }
    }
}

static void rule_yolo(const layer *l, const network *net, expected *e)
{
    grid g = {l, net, e, 4, 5 + l->classes, net->w, net->h};
    int places = l->w * l->h;
    for(int b = 0; b < ROWS; ++b) {
        for(int i = 0; i < l->outputs; ++i) {
            float x = net->input[b * l->outputs + i];
            int entry = i / places % g.per_anchor;
            e->output[b * l->outputs + i] = entry == 2 || entry == 3 ? x : logistic(x);
        }
        for(int i = 0; i < l->n * places; ++i) {
            double best =
                best_iou(&g, b, predicted(&g, b, i / places, l->mask[i / places], i % places));
            if(!(best > l->ignore_thresh)) pull(&g, b, i / places, i % places, 4, 0, 1);
        }
        const float *truth;
        for(int t = 0; (truth = truth_of(&g, b, t)); ++t) {
            int place = (int)(truth[1] * l->h) * l->w + (int)(truth[0] * l->w);
            int anchor = 0;
            double best = 0;
            for(int k = 0; k < l->total; ++k) {
                rect r = {0, 0, l->biases[2 * k] / net->w, l->biases[2 * k + 1] / net->h};
                double here = iou(r, centred(rect_of(truth)));
                if(here > best) best = here, anchor = k;
            }
            for(int n = 0; n < l->n; ++n) {
                if(l->mask[n] != anchor) continue;
                pull_box(&g, b, n, anchor, place, rect_of(truth), 2 - truth[2] * truth[3]);
                pull(&g, b, n, place, 4, 1, 1);
                pull_class(&g, b, n, place, 5, truth[4], 1, 1);
            }
        }
    }
}

/* Classes of a tree: those of each group from the given class up to the root's. */
static void pull_tree(const grid *g, int b, int n, int place, int class, double scale)
{
    const tree *t = g->l->softmax_tree;
    for(; class >= 0; class = t->parent[class]) {
        int group = t->group[class];
        for(int k = 0; k < t->group_size[group]; ++k) {
            int other = t->group_offset[group] + k;
            pull(g, b, n, place, g->coords + 1 + other, other == class, scale);
        }
    }
}

/* y = softmax(x) over n entries `stride` apart. */
static void softmax_of(const float *x, double *y, int n, int stride)
{
    double sum = 0;
    for(int k = 0; k < n; ++k) sum += exp(x[k * stride]);
    for(int k = 0; k < n; ++k) y[k * stride] = exp(x[k * stride]) / sum;
}

static void activate_region(const grid *g)
{
    const layer *l = g->l;
    int places = l->w * l->h, first = g->coords + 1;
    for(int i = 0; i < ROWS * l->outputs; ++i) {
        int entry = i / places % g->per_anchor;
        int linear = entry == 2 || entry == 3 || (entry == l->coords && l->background);
        float x = g->net->input[i];
        g->e->output[i] = linear ? x : logistic(x);
    }
    for(int i = 0; i < ROWS * l->outputs && l->softmax && !l->softmax_tree; ++i) {
        if(i / places % g->per_anchor != first - l->background) continue;
        softmax_of(g->net->input + i, g->e->output + i, l->classes + l->background, places);
    }
    for(int i = 0; i < ROWS * l->n * places && l->softmax_tree; ++i) {
        for(int k = 0; k < l->softmax_tree->groups; ++k) {
            int j = at(g, i / (l->n * places), i / places % l->n, i % places,
                       first + l->softmax_tree->group_offset[k]);
            softmax_of(g->net->input + j, g->e->output + j, l->softmax_tree->group_size[k],
                       places);
        }
    }
}

static void pull_background(const grid *g, int b)
{
    const layer *l = g->l;
    int places = l->w * l->h;
    for(int i = 0; i < l->n * places; ++i) {
        int n = i / places, place = i % places;
        double best = best_iou(g, b, predicted(g, b, n, n, place));
        if(!(best > l->thresh))
            pull(g, b, n, place, l->coords, l->background, l->noobject_scale);
        rect prior = {(place % l->w + .5) / l->w, (place / l->w + .5) / l->h,
                      l->biases[2 * n] / l->w, l->biases[2 * n + 1] / l->h};
        if(*g->net->seen < 12800) pull_box(g, b, n, n, place, prior, .01);
    }
}

static void pull_truth(const grid *g, int b, const float *truth)
{
    const layer *l = g->l;
    int place = (int)(truth[1] * l->h) * l->w + (int)(truth[0] * l->w);
    int n = 0;
    double best = 0;
    for(int k = 0; k < l->n; ++k) {
        rect r = predicted(g, b, k, k, place);
        if(l->bias_match) r.w = l->biases[2 * k] / l->w, r.h = l->biases[2 * k + 1] / l->h;
        double here = iou(centred(r), centred(rect_of(truth)));
        if(here > best) best = here, n = k;
    }
    double found = iou(predicted(g, b, n, n, place), rect_of(truth));
    pull_box(g, b, n, n, place, rect_of(truth), l->coord_scale * (2 - truth[2] * truth[3]));
    for(int k = 4; k < l->coords; ++k)
        pull(g, b, n, place, k, truth[1 + k], (int)l->mask_scale);
    double object = l->background ? 0 : l->rescore ? found : 1;
    pull(g, b, n, place, l->coords, object, l->object_scale);
    int class = truth[l->coords];
    if(l->softmax_tree)
        pull_tree(g, b, n, place, class, l->class_scale);
    else
        pull_class(g, b, n, place, l->coords + 1, class, !l->softmax, l->class_scale);
}

/* An image of a class, without a box: the likeliest place is told its class. */
static void pull_image_class(const grid *g, int b, int class)
{
    const layer *l = g->l;
    int places = l->w * l->h, likeliest = 0;
    double best = 0;
    for(int i = 0; i < l->n * places; ++i) {
        double p = g->e->output[at(g, b, i / places, i % places, l->coords)];
        for(int k = class; k >= 0; k = l->softmax_tree->parent[k])
            p *= g->e->output[at(g, b, i / places, i % places, l->coords + 1 + k)];
        if(p > best) best = p, likeliest = i;
        pull(g, b, i / places, i % places, l->coords, 0, l->noobject_scale);
    }
    int n = likeliest / places, place = likeliest % places;
    pull_tree(g, b, n, place, class, l->class_scale);
    g->e->delta[at(g, b, n, place, l->coords)] = 0;
}

static void truth_tree(const layer *l, float *truth)
{
    truth_boxes(l, truth);
    float image[] = {999999, 999999, 999999, 999999, 4};
    memcpy(truth + l->truths, image, sizeof image);
}

static void rule_region(const layer *l, const network *net, expected *e)
{
    grid g = {l, net, e, l->coords, l->coords + 1 + l->classes, l->w, l->h};
    activate_region(&g);
    for(int b = 0; b < ROWS; ++b) {
        const float *truth = truth_of(&g, b, 0);
        if(l->softmax_tree && truth[0] > 100000) {
            pull_image_class(&g, b, truth[l->coords]);
            continue;
        }
        pull_background(&g, b);
        for(int t = 0; (truth = truth_of(&g, b, t)); ++t) pull_truth(&g, b, truth);
    }
}

/* The logistic function is derived where it was applied to places, masks and objectness;
 * classes go down as they are. */
static void down_region(const layer *l, const network *net, expected *e)
{
    (void)net;
    for(int i = 0; i < ROWS * l->outputs; ++i) {
        int entry = i / (l->w * l->h) % (l->coords + 1 + l->classes);
        int linear = entry == 2 || entry == 3 || entry > l->coords;
        if(entry == l->coords && l->background) linear = 1;
        if(!linear) e->delta[i] *= slope(e->output[i]);
    }
}

/* ---- detection ---- */

static void truth_cells(const layer *l, float *truth)
{
    int size = 1 + l->classes + l->coords;
    for(int i = 0; i < ROWS * l->side * l->side; ++i) {
        float *f = truth + i * size;
        if(i % 3 == 1) continue;
        f[0] = 1;
        f[1 + i % l->classes] = 1;
        for(int k = 0; k < 4; ++k) f[1 + l->classes + k] = .05f + .9f * unit(i, k);
    }
}

/* The box of a cell that overlaps its truth most or, if none does, is nearest. */
static int responsible(const layer *l, const double *boxes, rect truth)
{
    int best = -1;
    double most = 0, nearest = 20;
    for(int j = 0; j < l->n; ++j) {
        const double *o = boxes + 4 * j;
        rect r = {o[0] / l->side, o[1] / l->side, o[2], o[3]};
        if(l->sqrt) r.w *= r.w, r.h *= r.h;
        double here = iou(r, truth);
        double off = sqrt(pow(r.x - truth.x, 2) + pow(r.y - truth.y, 2) +
                          pow(r.w - truth.w, 2) + pow(r.h - truth.h, 2));
        if(most > 0 || here > 0) {
            if(here > most) most = here, best = j;
        } else if(off < nearest) {
            nearest = off, best = j;
        }
    }
    return best;
}

static void rule_detection(const layer *l, const network *net, expected *e)
{
    int cells = l->side * l->side;
    for(int i = 0; i < ROWS * l->outputs; ++i) e->output[i] = net->input[i];
    for(int i = 0; i < ROWS * cells; ++i) {
        int row = i / cells * l->outputs, cell = i % cells;
        int classes = row + cell * l->classes, objects = row + cells * l->classes + cell * l->n;
        int boxes = row + cells * (l->classes + l->n) + cell * l->n * 4;
        const float *truth = net->truth + i * (1 + l->classes + l->coords);
        if(l->softmax) softmax_of(net->input + classes, e->output + classes, l->classes, 1);
        for(int j = 0; j < l->n; ++j)
            e->delta[objects + j] = -l->noobject_scale * e->output[objects + j];
        if(!truth[0]) continue;
        for(int k = 0; k < l->classes; ++k)
            e->delta[classes + k] = l->class_scale * (truth[1 + k] - e->output[classes + k]);
        const float *box = truth + 1 + l->classes;
        rect want = {box[0] / l->side, box[1] / l->side, box[2], box[3]};
        int j = responsible(l, e->output + boxes, want);
        const double *o = e->output + boxes + 4 * j;
        rect r = {o[0] / l->side, o[1] / l->side, l->sqrt ? o[2] * o[2] : o[2],
                  l->sqrt ? o[3] * o[3] : o[3]};
        double object = l->rescore ? iou(r, want) : 1;
        e->delta[objects + j] = l->object_scale * (object - e->output[objects + j]);
        for(int k = 0; k < 4; ++k) {
            double to = l->sqrt && k > 1 ? sqrt(box[k]) : box[k];
            e->delta[boxes + 4 * j + k] = l->coord_scale * (to - o[k]);
        }
    }
}

/* ---- iseg ---- */

static void truth_instances(const layer *l, float *truth)
{
    int places = l->w * l->h;
    for(int b = 0; b < ROWS; ++b) {
        float *f = truth + b * l->truths;
        for(int i = 0; i < 3; ++i, f += places + 1) {
            f[0] = (i + b) % l->classes;
            for(int k = 0; k < places; ++k) f[1 + k] = i < 2 && mix(b, k) % 3 == (unsigned)i;
        }
        f[0] = -1;
    }
}

/* A place's embedding goes a fixed step towards its instance's mean and as far from each
 * other instance's, shrinks, and all that counts a hundredth. Instances without places do
 * not count. */
static void rule_iseg(const layer *l, const network *net, expected *e)
{
    int places = l->w * l->h;
    for(int i = 0; i < ROWS * l->outputs; ++i) {
        int class = i / places % l->c < l->classes;
        e->output[i] = class ? logistic(net->input[i]) : net->input[i];
        e->delta[i] = -e->output[i] * (class ? 1 : .1);
    }
    for(int b = 0; b < ROWS; ++b) {
        const float *truth = net->truth + b * l->truths;
        double *o = e->output + b * l->outputs, *d = e->delta + b * l->outputs;
        double means[3][8] = {{0}};
        int counts[3] = {0};
        for(int i = 0; i < 3 * places; ++i) {
            const float *instance = truth + i / places * (places + 1);
            int k = i % places, class = instance[0];
            if(!instance[1 + k]) continue;
            d[class * places + k] = instance[1 + k] - o[class * places + k];
            ++counts[i / places];
            for(int z = 0; z < l->extra; ++z)
                means[i / places][z] += o[(l->classes + z) * places + k];
        }
        for(int i = 0; i < 3 * 3 * places * l->extra; ++i) {
            int own = i / l->extra / places / 3, other = i / l->extra / places % 3;
            int k = i / l->extra % places, z = i % l->extra,
                here = (l->classes + z) * places + k;
            if(!truth[own * (places + 1) + 1 + k] || !counts[other]) continue;
            double towards = means[other][z] / counts[other] - o[here] < 0 ? -.1 : .1;
            d[here] += own == other ? towards : -towards;
        }
        for(int i = l->classes * places; i < l->outputs; ++i) d[i] *= .01;
    }
}

/* ---- the cases ---- */

#define ANCHORS "anchors=3,3, 6,4, 4,9, 12,10\n"
#define SMALL_ANCHORS "anchors=.6,.5, 1.5,2\n"

static const rule_case cases[] = {
    {"normalization", 3, 4, 7, "[normalization]\nalpha=.1\n", 0, rule_normalization,
     down_normalization, .resized = 1},
    {"normalization, 1 channel", 3, 4, 1, "[normalization]\nalpha=.1\n", 0, rule_normalization,
     down_normalization, .resized = 1},
    {"normalization, 2 channels", 3, 4, 2, "[normalization]\nalpha=.1\n", 0, rule_normalization,
     down_normalization, .resized = 1},
    {"l2norm", 3, 4, 5, "[l2norm]\n", 0, rule_l2norm, .resized = 0},
    {"yolo", 4, 5, 16, "[yolo]\nmask=1,3\nclasses=3\nnum=4\nignore_thresh=.2\n" ANCHORS,
     truth_boxes, rule_yolo, .resized = 1},
    {"region", 4, 5, 16,
     "[region]\nclasses=3\nnum=2\nsoftmax=1\nthresh=.2\nobject_scale=5\ncoord_scale=2\n"
     "class_scale=.5\nnoobject_scale=.7\n" SMALL_ANCHORS,
     truth_boxes, rule_region, down_region, 0, 1},
    {"region, seen", 4, 5, 16,
     "[region]\nclasses=3\nnum=2\nrescore=1\nbias_match=1\nthresh=.2\n" SMALL_ANCHORS,
     truth_boxes, rule_region, down_region, 20000, 1},
    {"region, background", 4, 5, 16,
     "[region]\nclasses=3\nnum=2\nsoftmax=1\nbackground=1\n" SMALL_ANCHORS, truth_boxes,
     rule_region, down_region, 20000, 1},
    {"region, masks", 4, 5, 20,
     "[region]\nclasses=3\ncoords=6\nnum=2\nsoftmax=1\nmask_scale=2\n" SMALL_ANCHORS,
     truth_boxes, rule_region, down_region, 0, 1},
    {"region, tree", 4, 5, 22,
     "[region]\nclasses=6\nnum=2\nsoftmax=1\ntree=tree\n" SMALL_ANCHORS, truth_tree,
     rule_region, down_region, 0, 1},
    {"detection", 1, 1, 4 * 13,
     "[detection]\nside=2\nclasses=3\ncoords=4\nnum=2\nsqrt=1\nrescore=1\nobject_scale=2\n"
     "noobject_scale=.5\ncoord_scale=5\n",
     truth_cells, rule_detection, .resized = 0},
    {"detection, softmax", 1, 1, 4 * 13,
     "[detection]\nside=2\nclasses=3\ncoords=4\nnum=2\nsoftmax=1\nclass_scale=3\n", truth_cells,
     rule_detection, .resized = 0},
    {"iseg", 4, 5, 6, "[iseg]\nclasses=2\nids=4\n", truth_instances, rule_iseg, .resized = 0},
    {"iseg, no ids", 4, 5, 2, "[iseg]\nclasses=2\nids=0\n", truth_instances, rule_iseg,
     .resized = 0},
};

static void check(const rule_case *c, network *net)
{
    layer *l = net->layers;
    int n = net->inputs * net->batch;
    float *x = net->input;
    expected e = {calloc(n, sizeof(double)), calloc(n, sizeof(double))};
    net->delta = calloc(n, sizeof(float));
    for(int i = 0; i < n; ++i) {
        x[i] = 4 * unit(1, i) - 2;
        net->delta[i] = c->truth ? 1 : 0; /* those of the cases with a truth are added */
    }
    if(c->truth) c->truth(l, net->truth);
    quiet();
    forward_network(net);
    loud();
    for(int i = 0; i < n && !c->truth; ++i) l->delta[i] = unit(2, i) - .5f;
    c->rule(l, net, &e);
    assert_close(c->name, "output", l->output, e.output, n);
    assert_close(c->name, "delta", l->delta, e.delta, n);
    double cost = 0;
    for(int i = 0; i < n; ++i) cost += e.delta[i] * e.delta[i];
    if(l->cost) assert_close(c->name, "cost", l->cost, &cost, 1);
    if(c->down) c->down(l, net, &e);
    backward_network(net);
    for(int i = 0; i < n && c->truth; ++i) e.delta[i] += 1;
    assert_close(c->name, "delta below", net->delta, e.delta, n);
    float *y = network_predict(net, x); /* without a truth */
    assert_close(c->name, "prediction", y, e.output, n);
    free(net->delta);
    free(e.output);
    free(e.delta);
}

static void test_rules(void **state)
{
    (void)state;
    for(size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const rule_case *c = cases + i;
        network *net = make(c);
        check(c, net);
        if(c->resized) {
            quiet();
            resize_network(net, c->w + 2, c->h + 1);
            loud();
            check(c, net);
        }
        release(net);
    }
}

/* A crop layer predicts with the middle; in training each output row is some window of its
 * input row, mirrored or not. Values 0..1 become -1..1. */
static void test_crop(void **state)
{
    (void)state;
    const rule_case c = {
        .h = 5, .w = 6, .c = 2, .layer = "[crop]\ncrop_height=3\ncrop_width=2\nflip=1\n"};
    network *net = make(&c);
    for(int i = 0; i < net->inputs * net->batch; ++i) net->input[i] = unit(1, i);
    for(int train = 0; train < 2; ++train) {
        net->train = train;
        forward_network(net);
        backward_network(net);
        for(int b = 0; b < ROWS; ++b) {
            int found = 0;
            for(int window = 0; window < 3 * 5 * 2; ++window) {
                int down = window / 10, right = window / 2 % 5, flip = window % 2, same = 1;
                if(!train && (down != 1 || right != 2 || flip)) continue;
                for(int i = 0; i < 12; ++i) {
                    int column = right + (flip ? 1 - i % 2 : i % 2);
                    int from = column + 6 * (down + i / 2 % 3 + 5 * (i / 6 + 2 * b));
                    same &= fabs(net->output[b * 12 + i] - (2 * net->input[from] - 1)) < 1e-6;
                }
                found += same;
            }
            assert_true(found > 0);
        }
    }
    release(net);
}

int main(void)
{
    if(chdir(getenv("MGPU_SCRATCH"))) return 1;
    write_tree("tree");
    gpu_index = -1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_crop),
    };
    return cmocka_run_group_tests_name("layer_rules", tests, 0, 0);
}
