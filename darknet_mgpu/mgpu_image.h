/* mgpu_image.h: pictures read and written without ending the program on a bad one. */
#ifndef MGPU_IMAGE_H
#define MGPU_IMAGE_H

#include "darknet.h"

/* Reads a picture as Darknet's load_image_color does: 3 channels of values in 0..1. Regular
 * files only. Returns 0 with *im, freed by free_image, or -1 with mgpu_error(), which names
 * the file. Any number of threads may read at once. */
int mgpu_image_read(const char *path, image *im);

/* Writes `im` (3 channels) to `path` as JPEG, at save_image's quality. Returns 0, or -1 with
 * mgpu_error(). */
int mgpu_image_write(image im, const char *path);

/* Darknet's pictures of letters, from data/labels of the working directory, or NULL if they
 * are not all there. */
image **mgpu_letters_read(void);
void mgpu_letters_free(image **letters);

/* Draws the outline of a box (pixels) in the colour of `class`, as Darknet does, and above
 * it `name` if there are letters. */
void mgpu_image_draw(image im, box b, int class, int classes, const char *name,
                     image **letters);

#endif
