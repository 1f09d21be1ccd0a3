/* mgpu_dataset.c: a .data file, with the images, labels and boxes that it leads to. */
#include "mgpu_dataset.h"
#include "mgpu_error.h"
#include "mgpu_file.h"
#include "option_list.h" /* kvp */
#include "utils.h"       /* find_replace */

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LONGEST_PATH 4000 /* Darknet builds a label's path in 4096 bytes */

static int check_file(const char *file, const char *what)
{
    FILE *fp = mgpu_open(file, what);
    if(fp) fclose(fp);
    return fp ? 0 : -1;
}

static void free_lines(char **lines, int n)
{
    for(int i = 0; i < n; ++i) free(lines[i]);
    free(lines);
}

/* Adds a copy of `line` without the blanks at its end, unless nothing is left. */
static int add_line(char ***lines, int *n, const char *line)
{
    size_t length = strlen(line);
    while(length && strchr(" \t\r\n", line[length - 1])) --length;
    if(length == 0) return 0;
    if((*n & (*n - 1)) == 0) { /* full: room for twice as many */
        char **more = realloc(*lines, (*n ? 2 * *n : 1) * sizeof *more);
        if(!more) return -1;
        *lines = more;
    }
    (*lines)[*n] = strndup(line, length);
    return (*lines)[*n] ? ++*n, 0 : -1;
}

/* The lines of a file that are not blank, without blanks at their ends; *n of them. */
static char **read_lines(const char *file, const char *what, int *n)
{
    char **lines = 0, *line = 0;
    size_t size = 0;
    int status = 0;
    FILE *fp = mgpu_open(file, what);
    *n = 0;
    if(!fp) return 0;
    while(status == 0 && getline(&line, &size, fp) >= 0) status = add_line(&lines, n, line);
    free(line);
    fclose(fp);
    if(status < 0) mgpu_fail("no memory for the lines of %s", file);
    if(status == 0 && *n == 0) mgpu_fail("%s %s is empty", what, file);
    if(status == 0 && *n) return lines;
    free_lines(lines, *n);
    *n = 0;
    return 0;
}

int mgpu_dataset_read(const char *file, const char *key, const char *list_default,
                      mgpu_dataset *d)
{
    *d = (mgpu_dataset){.file = file};
    if(check_file(file, "data file") < 0) return -1;
    d->options = read_data_cfg((char *)file);
    for(node *at = d->options->front; at; at = at->next) { /* a file with CRLF lines */
        kvp *pair = at->val;
        pair->val[strcspn(pair->val, "\r")] = 0;
    }
    d->backup = option_find_str(d->options, "backup", "/backup/");
    d->classes = option_find_int_quiet(d->options, "classes", 2);
    d->top = option_find_int_quiet(d->options, "top", 1);
    d->tag = option_find_int_quiet(d->options, "tag", 0);
    if(!key) return 0;
    if(mgpu_dataset_list(d, option_find_str(d->options, (char *)key, (char *)list_default)) ==
       0)
        return 0;
    mgpu_dataset_free(d);
    return -1;
}

int mgpu_dataset_list(mgpu_dataset *d, const char *file)
{
    d->list = file;
    d->paths = read_lines(file, "list file", &d->npaths);
    return d->paths ? 0 : -1;
}

int mgpu_dataset_paths(mgpu_dataset *d, char **paths, int n)
{
    d->list = "command line";
    d->paths = calloc(n, sizeof *d->paths);
    if(!d->paths) return mgpu_fail("no memory for %d paths", n);
    while(d->npaths < n) {
        d->paths[d->npaths] = strdup(paths[d->npaths]);
        if(!d->paths[d->npaths++]) return mgpu_fail("no memory for %d paths", n);
    }
    return 0;
}

int mgpu_dataset_labels(mgpu_dataset *d)
{
    char *labels = option_find_str(d->options, "labels", "data/labels.list");
    d->labels = read_lines(labels, "labels file", &d->nlabels);
    if(!d->labels) return -1;
    if(d->classes >= 1 && d->nlabels >= d->classes) return 0;
    return mgpu_fail("%s: classes=%d, and %s has %d labels", d->file, d->classes, labels,
                     d->nlabels);
}

int mgpu_dataset_names(mgpu_dataset *d, const char *names_default, int classes)
{
    char *file = option_find(d->options, "names");
    if(!file) file = option_find_str(d->options, "labels", (char *)names_default);
    d->names = read_lines(file, "names file", &d->nnames);
    if(!d->names) return -1;
    if(d->nnames >= classes) return 0;
    return mgpu_fail("%s has %d names; the network has %d classes", file, d->nnames, classes);
}

void mgpu_dataset_free(mgpu_dataset *d)
{
    free_lines(d->names, d->nnames);
    free_lines(d->labels, d->nlabels);
    free_lines(d->paths, d->npaths);
    for(node *at = d->options ? d->options->front : 0; at; at = at->next) {
        kvp *pair = at->val;
        free(pair->key); /* the whole line, value included */
        free(pair);
    }
    if(d->options) free_list(d->options);
    *d = (mgpu_dataset){0};
}

int mgpu_class_of(const char *path, char **labels, int classes)
{
    for(int k = 0; k < classes; ++k) {
        if(strstr(path, labels[k])) return k;
    }
    return -1;
}

/* Why there is no image to read at `path`; NULL: there may be one. */
static const char *image_problem(const char *path)
{
    struct stat st;
    if(strlen(path) > LONGEST_PATH) return "has a path of more than 4000 bytes";
    if(stat(path, &st) < 0 || access(path, R_OK) < 0) return "is not there or can not be read";
    return S_ISREG(st.st_mode) ? 0 : "is not a regular file";
}

int mgpu_check_images(const mgpu_dataset *d)
{
    for(int i = 0; i < d->npaths; ++i) {
        const char *problem = image_problem(d->paths[i]);
        if(!problem) continue;
        return mgpu_fail("%s: image %d of %d %s; paths are taken from the working directory; "
                         "it is %s",
                         d->list, i + 1, d->npaths, problem, d->paths[i]);
    }
    return 0;
}

int mgpu_skip_missing_images(mgpu_dataset *d)
{
    enum { NAMED = 5 };
    int kept = 0, all = d->npaths;
    for(int i = 0; i < all; ++i) {
        const char *problem = image_problem(d->paths[i]);
        if(!problem) {
            d->paths[kept++] = d->paths[i];
            continue;
        }
        if(i - kept < NAMED) {
            fprintf(stderr, "mgpu: %s: image %d, %s, %s\n", d->list, i + 1, d->paths[i],
                    problem);
        }
        free(d->paths[i]);
    }
    d->npaths = kept;
    if(kept < all) {
        fprintf(stderr, "mgpu: %s: %d of %d images are skipped\n", d->list, all - kept, all);
    }
    if(kept) return 0;
    return mgpu_fail("%s: none of its %d images is there; paths are taken from the working "
                     "directory",
                     d->list, all);
}

int mgpu_check_class_labels(const mgpu_dataset *d)
{
    int wrong = 0, first = 0;
    for(int i = d->npaths - 1; i >= 0; --i) {
        int n = 0;
        for(int k = 0; k < d->classes; ++k) n += strstr(d->paths[i], d->labels[k]) != 0;
        if(n == 1) continue;
        ++wrong;
        first = i;
    }
    if(wrong == d->npaths) {
        return mgpu_fail(
            "%s: no image's path contains exactly one of the labels of %s; e.g. %s", d->list,
            d->file, d->paths[0]);
    }
    if(wrong) {
        fprintf(stderr, "mgpu: %s: %d of %d images have not one label; e.g. %s\n", d->list,
                wrong, d->npaths, d->paths[first]);
    }
    return 0;
}

/* Where Darknet looks for an image's boxes or tags: replacements made one after the
 * other, each once. */
typedef struct {
    char *from, *to;
} replacement;

static replacement for_boxes[] = {
    {"images", "labels"}, {"JPEGImages", "labels"}, {"raw", "labels"}, {".jpg", ".txt"},
    {".png", ".txt"},     {".JPG", ".txt"},         {".JPEG", ".txt"},
};
static replacement for_tags[] = {{"images", "labels"}, {".jpg", ".txt"}};

static void replace(const char *path, const replacement *list, int n, char label[4096])
{
    snprintf(label, 4096, "%s", path);
    for(int i = 0; i < n; ++i) {
        char before[4096];
        strcpy(before, label);
        find_replace(before, list[i].from, list[i].to, label);
    }
}

static void box_file_of(const char *image, char file[4096])
{
    replace(image, for_boxes, sizeof for_boxes / sizeof *for_boxes, file);
}

static void tag_file_of(const char *image, char file[4096])
{
    replace(image, for_tags, sizeof for_tags / sizeof *for_tags, file);
}

box_label *mgpu_read_boxes(const char *image, int *n)
{
    char file[4096];
    box_file_of(image, file);
    return check_file(file, "box file") < 0 ? 0 : read_boxes(file, n);
}

int mgpu_read_tags(const char *image, char *tags, int classes)
{
    char file[4096];
    int tag;
    memset(tags, 0, classes);
    tag_file_of(image, file);
    if(strcmp(file, image) == 0 || access(file, F_OK) < 0) return 0;
    FILE *fp = mgpu_open(file, "tag file");
    if(!fp) return -1;
    while(fscanf(fp, "%d", &tag) == 1) {
        if(tag >= 0 && tag < classes) tags[tag] = 1;
    }
    fclose(fp);
    return 0;
}

/* How many boxes there are, or -1. */
static int check_boxes(FILE *fp, const char *file, int classes)
{
    char *line = 0;
    size_t size = 0;
    int status = 0, boxes = 0;
    for(int number = 1; status == 0 && getline(&line, &size, fp) >= 0; ++number) {
        int id, end = 0;
        float x, y, w, h;
        if(line[strspn(line, " \t\r\n")] == 0) continue;
        ++boxes;
        int got = sscanf(line, "%d %f %f %f %f %n", &id, &x, &y, &w, &h, &end);
        if(got != 5 || line[end]) {
            status = mgpu_fail("%s line %d: not `class x y width height`", file, number);
        } else if(id < 0 || id >= classes) {
            status = mgpu_fail("%s line %d: class %d; the cfg's layers know 0..%d", file,
                               number, id, classes - 1);
        } else if(!(fabsf(x) + fabsf(y) + fabsf(w) + fabsf(h) < 1e6f)) {
            status = mgpu_fail("%s line %d: a box in parts of the image's size is expected",
                               file, number);
        }
    }
    free(line);
    return status < 0 ? -1 : boxes;
}

int mgpu_check_box_files(const mgpu_dataset *d, int classes, int most)
{
    int full = 0, first = 0;
    for(int i = 0; i < d->npaths; ++i) {
        char file[4096];
        box_file_of(d->paths[i], file);
        if(strcmp(file, d->paths[i]) == 0) {
            return mgpu_fail("%s: image %d, %s: Darknet finds its boxes by replacing `images` "
                             "with `labels` and .jpg with .txt, and there is neither in it",
                             d->list, i + 1, d->paths[i]);
        }
        FILE *fp = mgpu_open(file, "box file");
        if(!fp) return -1;
        int boxes = check_boxes(fp, file, classes);
        fclose(fp);
        if(boxes < 0) return -1;
        if(boxes > most && ++full == 1) first = i;
    }
    if(full) {
        fprintf(stderr,
                "mgpu: %s: %d of %d images have more than %d boxes; training takes so many of "
                "them, drawn anew each time; e.g. %s\n",
                d->list, full, d->npaths, most, d->paths[first]);
    }
    return 0;
}

static int check_tags(FILE *fp, const char *file, int classes)
{
    int tag, got;
    while((got = fscanf(fp, "%d", &tag)) == 1) {
        if(tag < 0 || tag >= classes) {
            return mgpu_fail("%s: tag %d is not within 0..%d", file, tag, classes - 1);
        }
    }
    return got == EOF ? 0 : mgpu_fail("%s: only the numbers of tags are expected", file);
}

int mgpu_check_tag_files(const mgpu_dataset *d, int classes)
{
    int found = 0;
    for(int i = 0; i < d->npaths; ++i) {
        char file[4096];
        tag_file_of(d->paths[i], file);
        if(strcmp(file, d->paths[i]) == 0 || access(file, F_OK) < 0) continue;
        FILE *fp = mgpu_open(file, "tag file");
        if(!fp) return -1;
        int status = check_tags(fp, file, classes);
        fclose(fp);
        if(status < 0) return -1;
        ++found;
    }
    if(found) return 0;
    return mgpu_fail("%s: no image has a tag file; Darknet finds it by replacing `images` with "
                     "`labels` and .jpg with .txt, e.g. in %s",
                     d->list, d->paths[0]);
}
