/* mgpu_pass.h: every image of a list through a network, a batch at a time over all its
 * devices: what validating and predicting share. */
#ifndef MGPU_PASS_H
#define MGPU_PASS_H

#include "darknet.h"
#include "mgpu_boxes.h"

/* An image whose batch has been predicted. The network's outputs are turned to it:
 * net->output is its row of the output layer, get_network_boxes gives its boxes. */
typedef struct {
    network *net;
    const char *path;
    int number;        /* in the list, from 0 */
    const char *error; /* why there is no output; then nothing below holds */
    int w, h;          /* the image's, in pixels */
} mgpu_view;

/* Takes `net`, a root, over n images in their order. `fit` makes an image the size of the
 * net: Darknet's letterbox_image, center_crop_image. `see` is called for each image, in
 * order, with `state`, and stops the pass by a negative value. An image that can not be read,
 * or whose outputs are not numbers, is seen with its error. The last batch may be short.
 * Blocks until all are seen. Returns 0, or -1 with mgpu_error(). */
int mgpu_pass(network *net, char **paths, int n, image (*fit)(image, int, int),
              int (*see)(void *state, const mgpu_view *v), void *state);

/* The view's boxes in pixels of the image, with probabilities above `threshold`, after
 * non-maximum suppression as in Darknet's detector commands; *n of them. A box that is not
 * finite has no probability left. Freed by free_detections. */
detection *mgpu_view_boxes(const mgpu_view *v, float threshold, int *n);

/* A box of the view's, with its sides cut at the image's. */
mgpu_box mgpu_view_box(const mgpu_view *v, box b);

#endif
