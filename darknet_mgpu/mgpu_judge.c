/* mgpu_judge.c: what `valid` counts and prints, for each task. */
#include "mgpu_judge.h"
#include "mgpu_boxes.h"
#include "mgpu_error.h"
#include "mgpu_results.h"

#include <math.h>
#include <stdlib.h>

/* ---- classifier: the share of images whose class is the first, or among the first ---- */

typedef struct {
    int top1, topk;
} hits;

static int begin_classifier(mgpu_trial *t)
{
    const mgpu_dataset *d = t->data;
    if(d->top < 1 || d->top > t->classes) {
        return mgpu_fail("%s: top=%d is not within 1..%d", d->file, d->top, t->classes);
    }
    t->own = calloc(1, sizeof(hits));
    return t->own ? 0 : mgpu_fail("no memory");
}

static int see_classifier(mgpu_trial *t, const mgpu_view *v)
{
    hits *h = t->own;
    int truth = mgpu_class_of(v->path, t->data->labels, t->classes);
    int best[t->data->top];
    top_k(v->net->output, v->net->outputs, t->data->top, best);
    h->top1 += best[0] == truth;
    for(int i = 0; i < t->data->top; ++i) h->topk += best[i] == truth;
    return 0;
}

static int print_classifier(mgpu_trial *t)
{
    const hits *h = t->own;
    printf("top 1: %f, top %d: %f, %d images\n", (float)h->top1 / t->images, t->data->top,
           (float)h->topk / t->images, t->images);
    return 0;
}

static int end_classifier(mgpu_trial *t)
{
    free(t->own);
    return 0;
}

const mgpu_judge mgpu_judge_classifier = {.begin = begin_classifier,
                                          .see = see_classifier,
                                          .print = print_classifier,
                                          .end = end_classifier};

/* ---- what is found in an image: boxes, or tags as boxes of the whole image ---- */

typedef struct {
    mgpu_boxes found, truths;
    mgpu_results *results; /* NULL: none are written */
    char *tags;            /* of one image */
} finds;

static finds *make_finds(mgpu_trial *t)
{
    finds *f = calloc(1, sizeof *f);
    if(f) f->tags = calloc(t->classes, 1);
    t->own = f;
    if(f && f->tags) return f;
    mgpu_fail("no memory for %d classes", t->classes);
    return 0;
}

static int end_finds(mgpu_trial *t)
{
    finds *f = t->own;
    if(!f) return 0;
    int status = mgpu_results_close(f->results);
    mgpu_boxes_free(&f->found);
    mgpu_boxes_free(&f->truths);
    free(f->tags);
    free(f);
    return status;
}

static double mean(const double *x, int n)
{
    double sum = 0;
    for(int i = 0; i < n; ++i) sum += x[i];
    return sum / n;
}

/* Prints `name value`, or `name -` where there is no value. */
static void print_value(const char *name, double x)
{
    if(isnan(x))
        printf(", %s -", name);
    else
        printf(", %s %f", name, x);
}

/* Precision and recall, then as many of the averages as there are names for. */
static void print_figures(const mgpu_class_figures *f, const char *const average[2])
{
    print_value("precision", f->precision);
    print_value("recall", f->recall);
    print_value(average[0], f->average[0]);
    if(average[1]) print_value(average[1], mean(f->average, MGPU_OVERLAPS));
    printf("\n");
}

/* A line a class and one over all. `things` is what is found; `average` and `means` name
 * the averages of a class and over classes. */
static int print_finds(mgpu_trial *t, const char *things, const char *const average[2],
                       const char *const means[2])
{
    finds *f = t->own;
    mgpu_class_figures *figures = calloc(t->classes, sizeof *figures);
    if(!figures) return mgpu_fail("no memory for %d classes", t->classes);
    int status =
        mgpu_boxes_judge(&f->found, &f->truths, t->classes, t->options.threshold, figures);
    for(int c = 0; status == 0 && c < t->classes; ++c) {
        printf("%s: %d %s, %d found, %d right", t->data->names[c], figures[c].truths, things,
               figures[c].found, figures[c].right);
        print_figures(figures + c, average);
    }
    if(status == 0) {
        mgpu_class_figures all = mgpu_figures_mean(figures, t->classes);
        printf("%d images, threshold %g: %d %s, %d found, %d right", t->images,
               t->options.threshold, all.truths, things, all.found, all.right);
        print_figures(&all, means);
    }
    free(figures);
    return status;
}

/* ---- tags ---- */

static int begin_tags(mgpu_trial *t)
{
    return make_finds(t) ? 0 : -1;
}

static int see_tags(mgpu_trial *t, const mgpu_view *v)
{
    finds *f = t->own;
    mgpu_marked m = {.image = v->number, .box = {0, 0, 1, 1}};
    if(mgpu_read_tags(v->path, f->tags, t->classes) < 0) return -1;
    for(m.class = 0; m.class < t->classes; ++m.class) {
        m.score = v->net->output[m.class];
        if(mgpu_boxes_add(&f->found, m) < 0) return -1;
        if(f->tags[m.class] && mgpu_boxes_add(&f->truths, m) < 0) return -1;
    }
    return 0;
}

static int print_tags(mgpu_trial *t)
{
    return print_finds(t, "tags", (const char *[2]){"AP"}, (const char *[2]){"mAP"});
}

const mgpu_judge mgpu_judge_tags = {
    .names = 1, .begin = begin_tags, .see = see_tags, .print = print_tags, .end = end_finds};

/* ---- boxes ---- */

#define LEAST_SCORE .005f /* of Darknet's `detector valid` */
#define LEAST_SIDE .001f  /* training takes no smaller boxes */

static int begin_boxes(mgpu_trial *t)
{
    finds *f = make_finds(t);
    if(!f) return -1;
    if(t->options.threshold < LEAST_SCORE) {
        return mgpu_fail("-thresh %g: boxes are looked for from %g on", t->options.threshold,
                         LEAST_SCORE);
    }
    const char *absent = t->options.prefix ? 0 : mgpu_results_absent(t->data);
    if(absent) {
        fprintf(stderr, "mgpu: no results files: there is no directory %s\n", absent);
        return 0;
    }
    f->results = mgpu_results_open(t->data, t->options.prefix, t->classes);
    return f->results ? 0 : -1;
}

static int add_truths(finds *f, const mgpu_view *v)
{
    int n, status = 0;
    box_label *labels = mgpu_read_boxes(v->path, &n);
    if(!labels) return -1;
    for(int i = 0; status == 0 && i < n; ++i) {
        const box_label *l = labels + i;
        if(l->w < LEAST_SIDE || l->h < LEAST_SIDE) continue;
        box b = {l->x * v->w, l->y * v->h, l->w * v->w, l->h * v->h};
        mgpu_marked m = {.image = v->number, .class = l->id, .box = mgpu_view_box(v, b)};
        status = mgpu_boxes_add(&f->truths, m);
    }
    free(labels);
    return status;
}

static int see_boxes(mgpu_trial *t, const mgpu_view *v)
{
    finds *f = t->own;
    int n, status = add_truths(f, v);
    if(status < 0) return -1;
    detection *boxes = mgpu_view_boxes(v, LEAST_SCORE, &n);
    if(f->results) mgpu_results_add(f->results, v, boxes, n);
    for(int i = 0; i < n; ++i) {
        mgpu_marked m = {.image = v->number, .box = mgpu_view_box(v, boxes[i].bbox)};
        for(m.class = 0; status == 0 && m.class < t->classes; ++m.class) {
            m.score = boxes[i].prob[m.class];
            if(m.score > 0) status = mgpu_boxes_add(&f->found, m);
        }
    }
    free_detections(boxes, n);
    return status;
}

static int print_boxes(mgpu_trial *t)
{
    return print_finds(t, "boxes", (const char *[2]){"AP@.5", "AP@.5:.95"},
                       (const char *[2]){"mAP@.5", "mAP@.5:.95"});
}

const mgpu_judge mgpu_judge_boxes = {
    .names = 1, .begin = begin_boxes, .see = see_boxes, .print = print_boxes, .end = end_finds};
