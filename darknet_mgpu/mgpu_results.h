/* mgpu_results.h: the results files of Darknet's `detector valid`: each box found, for the
 * tools of the VOC, COCO and ImageNet challenges. */
#ifndef MGPU_RESULTS_H
#define MGPU_RESULTS_H

#include "mgpu_dataset.h"
#include "mgpu_pass.h"

typedef struct mgpu_results mgpu_results;

/* Opens the files: in the directory of the data file's results= (stock's default:
 * "results"), of the format of its eval= (voc, coco or imagenet; default voc), with names
 * that begin with `prefix` (NULL: stock's). The dataset's names are read. Returns NULL with
 * mgpu_error(). */
mgpu_results *mgpu_results_open(const mgpu_dataset *d, const char *prefix, int classes);

/* Where mgpu_results_open would write, if it is not there and the data file does not ask for
 * it; else NULL. */
const char *mgpu_results_absent(const mgpu_dataset *d);

/* Writes an image's n boxes. */
void mgpu_results_add(mgpu_results *r, const mgpu_view *v, const detection *boxes, int n);

/* Ends and closes the files; NULL is fine. Returns 0, or -1 with mgpu_error() if not all was
 * written. */
int mgpu_results_close(mgpu_results *r);

#endif
