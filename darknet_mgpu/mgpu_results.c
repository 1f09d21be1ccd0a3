/* mgpu_results.c: the results files of Darknet's `detector valid`. */
#include "mgpu_results.h"
#include "mgpu_boxes.h"
#include "mgpu_error.h"
#include "option_list.h" /* option_find */

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    const char *name, *prefix, *end;
    int per_class; /* 1: a file for each class, named by it */
    int first;     /* the number of the first pixel */
    const char *head, *between, *tail;
    void (*print)(FILE *fp, const mgpu_view *v, const char *id, int class, float p, mgpu_box s);
} format;

struct mgpu_results {
    const format *format;
    int classes, nfiles, lines;
    FILE **files;
};

static void print_voc(FILE *fp, const mgpu_view *v, const char *id, int class, float p,
                      mgpu_box s)
{
    (void)v, (void)class;
    fprintf(fp, "%s %f %f %f %f %f\n", id, p, s.left, s.top, s.right, s.bottom);
}

static void print_imagenet(FILE *fp, const mgpu_view *v, const char *id, int class, float p,
                           mgpu_box s)
{
    (void)id;
    fprintf(fp, "%d %d %f %f %f %f %f\n", v->number + 1, class + 1, p, s.left, s.top, s.right,
            s.bottom);
}

/* COCO numbers its 80 classes 1 to 90, without some. */
static int coco_category(int class)
{
    static const int skipped[] = {12, 26, 29, 30, 45, 66, 68, 69, 71, 83};
    int category = class + 1;
    for(size_t i = 0; i < sizeof skipped / sizeof *skipped; ++i) {
        if(category >= skipped[i]) ++category;
    }
    return category;
}

/* The image's number: what follows the last _, else the last /, of its path. */
static int coco_image(const char *path)
{
    const char *at = strrchr(path, '_');
    if(!at) at = strrchr(path, '/');
    return atoi(at ? at + 1 : path);
}

static void print_coco(FILE *fp, const mgpu_view *v, const char *id, int class, float p,
                       mgpu_box s)
{
    (void)id;
    fprintf(fp,
            "{\"image_id\":%d, \"category_id\":%d, \"bbox\":[%f, %f, %f, %f], \"score\":%f}",
            coco_image(v->path), coco_category(class), s.left, s.top, s.right - s.left,
            s.bottom - s.top, p);
}

static const format formats[] = {
    {"voc", "comp4_det_test_", ".txt", 1, 1, "", "", "", print_voc},
    {"coco", "coco_results", ".json", 0, 0, "[\n", ",\n", "\n]\n", print_coco},
    {"imagenet", "imagenet-detection", ".txt", 0, 0, "", "", "", print_imagenet},
};

static const format *find_format(const mgpu_dataset *d, int classes)
{
    const char *name = option_find(d->options, "eval");
    for(size_t i = 0; i < sizeof formats / sizeof *formats; ++i) {
        if(strcmp(formats[i].name, name ? name : "voc")) continue;
        if(formats[i].print != print_coco || classes <= 80) return formats + i;
        mgpu_fail("%s: eval=coco has 80 classes, the network %d", d->file, classes);
        return 0;
    }
    mgpu_fail("%s: eval=%s; voc, coco and imagenet are known", d->file, name);
    return 0;
}

static const char *directory_of(const mgpu_dataset *d)
{
    const char *directory = option_find(d->options, "results");
    return directory ? directory : "results";
}

const char *mgpu_results_absent(const mgpu_dataset *d)
{
    int asked = option_find(d->options, "results") != 0;
    return asked || access(directory_of(d), F_OK) == 0 ? 0 : directory_of(d);
}

static int open_results(mgpu_results *r, const mgpu_dataset *d, const char *prefix)
{
    char path[PATH_MAX];
    const char *class = r->format->per_class ? d->names[r->nfiles] : "";
    snprintf(path, sizeof path, "%s/%s%s%s", directory_of(d),
             prefix ? prefix : r->format->prefix, class, r->format->end);
    FILE *fp = fopen(path, "w");
    if(!fp) {
        return mgpu_fail("results file %s can not be written: %s; results= in the data file "
                         "names a directory",
                         path, strerror(errno));
    }
    fputs(r->format->head, fp);
    r->files[r->nfiles++] = fp;
    return 0;
}

mgpu_results *mgpu_results_open(const mgpu_dataset *d, const char *prefix, int classes)
{
    const format *format = find_format(d, classes);
    mgpu_results *r = format ? calloc(1, sizeof *r) : 0;
    if(r) r->files = calloc(classes, sizeof *r->files);
    if(!r || !r->files) {
        if(format) mgpu_fail("no memory for results files");
        free(r);
        return 0;
    }
    r->format = format;
    r->classes = classes;
    int n = format->per_class ? classes : 1;
    while(r->nfiles < n) {
        if(open_results(r, d, prefix) == 0) continue;
        for(int i = 0; i < r->nfiles; ++i) fclose(r->files[i]);
        free(r->files);
        free(r);
        return 0;
    }
    return r;
}

/* A box's sides, counted from the format's first pixel, and cut at the image's by stock's
 * rule: the left at the left, the right at the right. */
static mgpu_box within(box b, int first, int w, int h)
{
    mgpu_box s = {b.x - b.w / 2. + first, b.y - b.h / 2. + first, b.x + b.w / 2. + first,
                  b.y + b.h / 2. + first};
    if(s.left < first) s.left = first;
    if(s.top < first) s.top = first;
    if(s.right > w) s.right = w;
    if(s.bottom > h) s.bottom = h;
    return s;
}

void mgpu_results_add(mgpu_results *r, const mgpu_view *v, const detection *boxes, int n)
{
    char *id = basecfg((char *)v->path);
    for(int i = 0; i < n; ++i) {
        mgpu_box s = within(boxes[i].bbox, r->format->first, v->w, v->h);
        for(int class = 0; class < r->classes; ++class) {
            if(boxes[i].prob[class] == 0) continue;
            FILE *fp = r->files[r->format->per_class ? class : 0];
            if(r->lines++) fputs(r->format->between, fp);
            r->format->print(fp, v, id, class, boxes[i].prob[class], s);
        }
    }
    free(id);
}

int mgpu_results_close(mgpu_results *r)
{
    int wrong = 0;
    for(int i = 0; r && i < r->nfiles; ++i) {
        fputs(r->format->tail, r->files[i]);
        wrong |= ferror(r->files[i]) != 0;
        wrong |= fclose(r->files[i]) != 0;
    }
    if(r) free(r->files);
    free(r);
    return wrong ? mgpu_fail("results files: not all could be written: %s", strerror(errno))
                 : 0;
}
