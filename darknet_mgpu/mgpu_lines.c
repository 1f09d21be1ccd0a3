/* mgpu_lines.c: the lines that detection layers print, merged over slices. */
#include "mgpu_lines.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The next conversion of a format, `%d` or `%f`, and the words before it. */
typedef struct {
    const char *text, *end; /* of the words */
    char type;              /* 'd' or 'f'; 0: there is none, only words */
} item;

static const char *next(const char *format, item *i)
{
    i->text = format;
    i->end = format + strcspn(format, "%");
    i->type = *i->end ? i->end[1] : 0;
    return i->type ? i->end + 2 : i->end;
}

static int ends_in(const item *i, const char *name)
{
    const char *end = i->end;
    size_t length = strlen(name);
    while(end > i->text && (end[-1] == ' ' || end[-1] == ':')) --end;
    return (size_t)(end - i->text) >= length && strncmp(end - length, name, length) == 0;
}

/* Over places, not objects. "Obj" alone is over objects. */
static int over_places(const item *i)
{
    return ends_in(i, "No Obj") || ends_in(i, "Any Obj") || ends_in(i, "All Cat");
}

void mgpu_line_set(mgpu_line *line, const char *format, va_list args)
{
    item i;
    *line = (mgpu_line){.format = format};
    for(int v = 0; v < MGPU_LINE_VALUES; ++v) {
        format = next(format, &i);
        if(!i.type) break;
        line->values[v] = i.type == 'd' ? va_arg(args, int) : va_arg(args, double);
    }
}

/* Where `count` stands among the values; -1: nowhere. */
static int find_count(const char *format)
{
    item i;
    for(int v = 0; v < MGPU_LINE_VALUES; ++v) {
        format = next(format, &i);
        if(!i.type) break;
        if(i.type == 'd' && ends_in(&i, "count")) return v;
    }
    return -1;
}

static double average(const mgpu_line *lines, const int *rows, int n, int v, int count)
{
    double sum = 0, weights = 0;
    for(int s = 0; s < n; ++s) {
        double weight = count < 0 ? rows[s] : lines[s].values[count];
        if(weight == 0) continue; /* the value is 0 / 0 */
        sum += weight * lines[s].values[v];
        weights += weight;
    }
    return weights ? sum / weights : NAN;
}

void mgpu_line_merge(const mgpu_line *lines, const int *rows, int n, mgpu_line *merged)
{
    const char *format = lines->format;
    int count = find_count(format);
    item i;
    *merged = *lines;
    if(n == 1) return;
    for(int v = 0; v < MGPU_LINE_VALUES; ++v) {
        format = next(format, &i);
        if(!i.type) break;
        if(i.type == 'f') {
            merged->values[v] = average(lines, rows, n, v, over_places(&i) ? -1 : count);
        } else if(v == count) {
            for(int s = 1; s < n; ++s) merged->values[v] += lines[s].values[v];
        }
    }
}

void mgpu_line_print(const mgpu_line *line)
{
    const char *format = line->format;
    item i = {.type = 1};
    for(int v = 0; i.type; ++v) {
        format = next(format, &i);
        printf("%.*s", (int)(i.end - i.text), i.text);
        if(v >= MGPU_LINE_VALUES) break;
        if(i.type == 'd') printf("%d", (int)line->values[v]);
        if(i.type == 'f') printf("%f", line->values[v]);
    }
}
