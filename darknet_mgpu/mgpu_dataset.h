/* mgpu_dataset.h: a .data file, with the images, labels and boxes that it leads to. */
#ifndef MGPU_DATASET_H
#define MGPU_DATASET_H

#include "darknet.h"

/* All is owned and freed by mgpu_dataset_free; strings without an owner are in options. */
typedef struct {
    const char *file;
    list *options;
    char *backup, *list; /* the directory to save to; the list file */
    int classes, top, tag;
    char **paths; /* npaths images */
    int npaths;
    char **labels; /* NULL until mgpu_dataset_labels */
    int nlabels;
} mgpu_dataset;

/* Reads `file` and the list of images under `key` ("train" or "valid"), with stock's
 * defaults. Returns 0, or -1 with mgpu_error(). */
int mgpu_dataset_read(const char *file, const char *key, const char *list_default,
                      mgpu_dataset *d);
void mgpu_dataset_free(mgpu_dataset *d);

/* Reads the labels file; there must be as many as classes. Returns 0, or -1. */
int mgpu_dataset_labels(mgpu_dataset *d);

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
 * 0..classes-1, finite numbers. */
int mgpu_check_box_files(const mgpu_dataset *d, int classes);
/* Tag files: numbers within 0..classes-1; an image may have none, but not all. */
int mgpu_check_tag_files(const mgpu_dataset *d, int classes);

#endif
