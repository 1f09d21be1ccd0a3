/* mgpu_boxes.h: precision, recall and average precision of found boxes. Pure: boxes in,
 * figures out.
 *
 * Rules, as in the PASCAL VOC challenge's development kit of 2010 and later: class by
 * class, what was found is gone through by descending score. Each is compared with the true
 * box of its image and class that it overlaps most; it is right if the overlap
 * (intersection over union, continuous, without VOC's added pixel) is at least the wanted
 * one and no other was right for that true box before; else it is wrong. Average precision
 * is the area under the precision-recall curve, after each precision was raised to the
 * largest at the same or a larger recall ("all points"). COCO's tool differs: it looks for
 * the best true box that is still free, and takes precision at 101 recalls.
 * Of equal scores, what was added first comes first. */
#ifndef MGPU_BOXES_H
#define MGPU_BOXES_H

#define MGPU_OVERLAPS 10 /* .50, .55, ..., .95 */

/* Corners, in one unit for all boxes of an image. */
typedef struct {
    float left, top, right, bottom;
} mgpu_box;

typedef struct {
    int image, class;
    float score; /* not read in true boxes */
    mgpu_box box;
    int order; /* set by mgpu_boxes_add */
} mgpu_marked;

/* {0} is an empty list. */
typedef struct {
    mgpu_marked *list;
    int n, room;
} mgpu_boxes;

/* Figures of one class. NaN where there is nothing to divide by. */
typedef struct {
    int truths, found, right;      /* found: with a score above the threshold; right: of
                                      these, at an overlap of .5 */
    double precision, recall;      /* right / found, right / truths */
    double average[MGPU_OVERLAPS]; /* precision, over all that was found */
} mgpu_class_figures;

/* Adds a copy. Returns 0, or -1 with mgpu_error(). */
int mgpu_boxes_add(mgpu_boxes *b, mgpu_marked marked);

void mgpu_boxes_free(mgpu_boxes *b);

/* Intersection over union; 0 where both are empty. */
double mgpu_overlap(mgpu_box a, mgpu_box b);

/* The figures of class 0..classes-1 into figures[class]. Sorts both lists. Returns 0, or
 * -1 with mgpu_error(). */
int mgpu_boxes_judge(mgpu_boxes *found, mgpu_boxes *truths, int classes, float threshold,
                     mgpu_class_figures *figures);

/* Figures over classes: truths, found and right are sums, precision and recall follow from
 * them, averages are means over the classes that have truths. */
mgpu_class_figures mgpu_figures_mean(const mgpu_class_figures *figures, int classes);

#endif
