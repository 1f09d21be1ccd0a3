/* mgpu_dataset.h: a .data file, with the images, labels and boxes that it leads to. */
#ifndef MGPU_DATASET_H
#define MGPU_DATASET_H

#include "darknet.h"

/* All is owned and freed by mgpu_dataset_free; strings without an owner are in options. */
typedef struct {
    const char *file;
    list *options;
    char *backup;     /* the directory to save to */
    const char *list; /* where the paths are from: the list file */
    int classes, top, tag;
    char **paths; /* npaths images */
    int npaths;
    char **labels; /* NULL until mgpu_dataset_labels */
    int nlabels;
    char **names; /* NULL until mgpu_dataset_names */
    int nnames;
} mgpu_dataset;

/* Reads `file` and the list of images under `key` ("train" or "valid"), with stock's
 * defaults; key NULL: no list. Of list and labels files, blanks at a line's end and blank
 * lines do not count. Returns 0, or -1 with mgpu_error(). */
int mgpu_dataset_read(const char *file, const char *key, const char *list_default,
                      mgpu_dataset *d);
/* For a dataset without a list: the images are those listed in `file`, or the n paths,
 * which are copied. Return 0, or -1 with mgpu_error(). */
int mgpu_dataset_list(mgpu_dataset *d, const char *file);
int mgpu_dataset_paths(mgpu_dataset *d, char **paths, int n);
void mgpu_dataset_free(mgpu_dataset *d);

/* Reads the labels file; there must be as many as classes. Returns 0, or -1. */
int mgpu_dataset_labels(mgpu_dataset *d);

/* Reads the file of `names`, else of `labels`, else names_default: what outputs are
 * called. There must be as many as classes. Returns 0, or -1. */
int mgpu_dataset_names(mgpu_dataset *d, const char *names_default, int classes);

/* The boxes of an image's box file, *n of them; see Darknet's read_boxes. NULL with
 * mgpu_error(), else freed by the caller. */
box_label *mgpu_read_boxes(const char *image, int *n);
/* Sets tags[k], one of `classes`, to 1 where the image has tag k, else to 0. No file: no
 * tags. Returns 0, or -1. */
int mgpu_read_tags(const char *image, char *tags, int classes);

/* The class of a path: the first k for which it contains labels[k], else -1. */
int mgpu_class_of(const char *path, char **labels, int classes);

/* Each of these reads what training would come across, and returns 0, or -1 with
 * mgpu_error() naming the first file and line that it would stumble over.
 * Images: regular files that can be read. */
int mgpu_check_images(const mgpu_dataset *d);
/* Takes images that are not there out of the list, naming the first of them and their number
 * on stderr. Returns 0, or -1 if none is left. */
int mgpu_skip_missing_images(mgpu_dataset *d);
/* Class labels: some image's path contains one; says on stderr where it is not one. */
int mgpu_check_class_labels(const mgpu_dataset *d);
/* Box files: there for every image, each line `class x y width height`, classes within
 * 0..classes-1, finite numbers. Says on stderr how many images have more than `most`. */
int mgpu_check_box_files(const mgpu_dataset *d, int classes, int most);
/* Tag files: numbers within 0..classes-1; an image may have none, but not all. */
int mgpu_check_tag_files(const mgpu_dataset *d, int classes);

#endif
