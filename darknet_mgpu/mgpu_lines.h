/* mgpu_lines.h: the lines that detection layers print in every forward pass, kept by the
 * replicas and merged to what one device would have printed. */
#ifndef MGPU_LINES_H
#define MGPU_LINES_H

#include <stdarg.h>

#define MGPU_LINE_VALUES 12

/* One layer's line of one slice: a format of %d and %f, and what belongs there. */
typedef struct {
    const char *format; /* NULL: none */
    double values[MGPU_LINE_VALUES];
} mgpu_line;

/* Takes the arguments of printf(format, args). */
void mgpu_line_set(mgpu_line *line, const char *format, va_list args);

/* The line of a whole mini-batch from those of its n slices, with rows[i] rows each and
 * all of one format. What is named `count` is summed; other whole numbers are the same in
 * all. Of the averages, `No Obj`, `Any Obj` and `All Cat` are over all places, as many in
 * each row; the others are over the objects, `count` of them, and not a number without. */
void mgpu_line_merge(const mgpu_line *lines, const int *rows, int n, mgpu_line *merged);

/* Prints it on stdout. */
void mgpu_line_print(const mgpu_line *line);

#endif
