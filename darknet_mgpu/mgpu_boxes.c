/* mgpu_boxes.c: precision, recall and average precision of found boxes. */
#include "mgpu_boxes.h"
#include "mgpu_error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int mgpu_boxes_add(mgpu_boxes *b, mgpu_marked marked)
{
    if(b->n == b->room) {
        int room = b->room ? 2 * b->room : 256;
        mgpu_marked *list = realloc(b->list, room * sizeof *list);
        if(!list) return mgpu_fail("no memory for %d boxes", room);
        b->list = list;
        b->room = room;
    }
    marked.order = b->n;
    b->list[b->n++] = marked;
    return 0;
}

void mgpu_boxes_free(mgpu_boxes *b)
{
    free(b->list);
    *b = (mgpu_boxes){0};
}

static double side(float low, float high)
{
    return high > low ? (double)high - low : 0;
}

double mgpu_overlap(mgpu_box a, mgpu_box b)
{
    double w = side(fmaxf(a.left, b.left), fminf(a.right, b.right));
    double h = side(fmaxf(a.top, b.top), fminf(a.bottom, b.bottom));
    double both = side(a.left, a.right) * side(a.top, a.bottom) +
                  side(b.left, b.right) * side(b.top, b.bottom);
    return both > 0 ? w * h / (both - w * h) : 0;
}

/* Found: by class, then descending score, then order. */
static int by_score(const void *one, const void *other)
{
    const mgpu_marked *a = one, *b = other;
    if(a->class != b->class) return a->class < b->class ? -1 : 1;
    if(a->score != b->score) return a->score > b->score ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Truths: by class, then image, then order. */
static int by_image(const void *one, const void *other)
{
    const mgpu_marked *a = one, *b = other;
    if(a->class != b->class) return a->class < b->class ? -1 : 1;
    if(a->image != b->image) return a->image < b->image ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* A class's part of the lists, and room for what its judging takes. */
typedef struct {
    const mgpu_marked *found, *truths;
    int nfound, ntruths;
    int *match;      /* per found: the truth that it overlaps most; -1: none */
    double *overlap; /* per found: with that one */
    char *right;     /* per found */
    char *taken;     /* per truth */
} part;

/* The first truth of an image that is not before it. */
static int first_of_image(const part *p, int image)
{
    int low = 0, high = p->ntruths;
    while(low < high) {
        int middle = (low + high) / 2;
        if(p->truths[middle].image < image)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void find_matches(part *p)
{
    for(int i = 0; i < p->nfound; ++i) {
        const mgpu_marked *f = p->found + i;
        p->match[i] = -1;
        p->overlap[i] = 0;
        int t = first_of_image(p, f->image);
        for(; t < p->ntruths && p->truths[t].image == f->image; ++t) {
            double overlap = mgpu_overlap(f->box, p->truths[t].box);
            if(overlap <= p->overlap[i]) continue;
            p->match[i] = t;
            p->overlap[i] = overlap;
        }
    }
}

static void find_right(part *p, double wanted)
{
    memset(p->taken, 0, p->ntruths);
    for(int i = 0; i < p->nfound; ++i) {
        int t = p->match[i];
        p->right[i] = t >= 0 && p->overlap[i] >= wanted && !p->taken[t];
        if(p->right[i]) p->taken[t] = 1;
    }
}

/* The area under the raised curve. From the last to the first: a precision counts as the
 * largest from there on, and recall grows by 1 / ntruths where one is right. */
static double area(const part *p)
{
    double sum = 0, best = 0;
    int right = 0;
    for(int i = 0; i < p->nfound; ++i) right += p->right[i];
    for(int i = p->nfound - 1; i >= 0; --i) {
        double precision = (double)right / (i + 1);
        if(precision > best) best = precision;
        if(!p->right[i]) continue;
        sum += best;
        --right;
    }
    return sum / p->ntruths;
}

static void set_ratios(mgpu_class_figures *f)
{
    f->precision = f->found ? (double)f->right / f->found : NAN;
    f->recall = f->truths ? (double)f->right / f->truths : NAN;
}

static void judge_class(part *p, float threshold, mgpu_class_figures *f)
{
    *f = (mgpu_class_figures){.truths = p->ntruths};
    find_matches(p);
    for(int k = 0; k < MGPU_OVERLAPS; ++k) {
        find_right(p, (50 + 5 * k) / 100.);
        f->average[k] = p->ntruths ? area(p) : NAN;
        for(int i = 0; k == 0 && i < p->nfound && p->found[i].score > threshold; ++i) {
            ++f->found;
            f->right += p->right[i];
        }
    }
    set_ratios(f);
}

static int end_of_class(const mgpu_boxes *b, int from, int class)
{
    while(from < b->n && b->list[from].class == class) ++from;
    return from;
}

int mgpu_boxes_judge(mgpu_boxes *found, mgpu_boxes *truths, int classes, float threshold,
                     mgpu_class_figures *figures)
{
    part p = {.match = malloc((found->n + 1) * sizeof *p.match),
              .overlap = malloc((found->n + 1) * sizeof *p.overlap),
              .right = malloc(found->n + 1),
              .taken = malloc(truths->n + 1)};
    int ok = p.match && p.overlap && p.right && p.taken;
    if(ok && found->n) qsort(found->list, found->n, sizeof *found->list, by_score);
    if(ok && truths->n) qsort(truths->list, truths->n, sizeof *truths->list, by_image);
    for(int class = 0, f = 0, t = 0; ok && class < classes; ++class) {
        p.found = found->list + f;
        p.truths = truths->list + t;
        p.nfound = end_of_class(found, f, class) - f;
        p.ntruths = end_of_class(truths, t, class) - t;
        judge_class(&p, threshold, figures + class);
        f += p.nfound;
        t += p.ntruths;
    }
    free(p.match);
    free(p.overlap);
    free(p.right);
    free(p.taken);
    return ok ? 0 : mgpu_fail("no memory to judge %d boxes", found->n);
}

mgpu_class_figures mgpu_figures_mean(const mgpu_class_figures *figures, int classes)
{
    mgpu_class_figures m = {0};
    int with = 0;
    for(int c = 0; c < classes; ++c) {
        m.truths += figures[c].truths;
        m.found += figures[c].found;
        m.right += figures[c].right;
        if(!figures[c].truths) continue;
        ++with;
        for(int k = 0; k < MGPU_OVERLAPS; ++k) m.average[k] += figures[c].average[k];
    }
    for(int k = 0; k < MGPU_OVERLAPS; ++k) m.average[k] = with ? m.average[k] / with : NAN;
    set_ratios(&m);
    return m;
}
