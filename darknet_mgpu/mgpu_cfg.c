/* mgpu_cfg.c: a cfg file, checked before Darknet's parser reads it. */
#include "mgpu_cfg.h"
#include "mgpu_error.h"
#include "mgpu_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every section that Darknet knows, aliases included. */
static const char *const sections[] = {
    "net",  "network",       "conv",      "convolutional", "deconv",    "deconvolutional",
    "conn", "connected",     "max",       "maxpool",       "avg",       "avgpool",
    "soft", "softmax",       "crop",      "cost",          "detection", "region",
    "yolo", "iseg",          "local",     "activation",    "logistic",  "l2norm",
    "crnn", "gru",           "lstm",      "rnn",           "reorg",     "dropout",
    "lrn",  "normalization", "batchnorm", "route",         "upsample",  "shortcut",
};

/* Whole numbers that Darknet divides by, or makes room by. */
static const struct {
    const char *section, *key; /* section NULL: in every layer */
    int min, max;
} numbers[] = {
    {"net", "batch", 1, 1 << 20},      {"net", "subdivisions", 1, 1 << 20},
    {"net", "width", 0, 1 << 16},      {"net", "height", 0, 1 << 16},
    {"net", "channels", 0, 1 << 16},   {"net", "inputs", 0, 1 << 28},
    {"net", "time_steps", 1, 1 << 16}, {"upsample", "stride", -64, 64},
    {0, "stride", 1, 1 << 16},         {0, "size", 1, 1 << 16},
    {0, "filters", 1, 1 << 20},        {0, "output", 1, 1 << 26},
    {0, "groups", 1, 1 << 20},         {0, "padding", 0, 1 << 16},
    {0, "classes", 1, 1 << 20},        {0, "num", 1, 1 << 10},
    {0, "hidden_filters", 1, 1 << 20}, {0, "output_filters", 1, 1 << 20},
};

/* Options that hold layer numbers. */
static const char *const references[][2] = {{"route", "layers"}, {"shortcut", "from"}};

typedef struct {
    const char *file;
    FILE *fp;
    int line;         /* of the file, from 1 */
    char section[32]; /* without its brackets; "" before the first */
    int layer;        /* -1 in [net] */
    char *text;       /* the line, without blanks */
    size_t size;
    int refers;  /* the section has its layer numbers */
    int outputs; /* layers that are not [cost] */
    int batch, subdivisions, steps, scales, num, anchors, mask;
} reader;

/* The next line without its blanks, as Darknet's strip() leaves it. 0 at the end. */
static int next_line(reader *r)
{
    if(getline(&r->text, &r->size, r->fp) < 0) return 0;
    char *to = r->text;
    for(const char *from = r->text; *from; ++from) {
        if(!strchr(" \t\r\n", *from)) *to++ = *from;
    }
    *to = 0;
    ++r->line;
    return 1;
}

static int count_list(const char *value)
{
    int n = 1;
    for(; *value; ++value) n += *value == ',';
    return n;
}

static int check_number(const reader *r, const char *key, const char *value)
{
    for(size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
        const char *section = numbers[i].section;
        if(strcmp(key, numbers[i].key)) continue;
        if(section ? strcmp(section, r->section) : r->layer < 0) continue;
        long number = strtol(value, 0, 10);
        if(number >= numbers[i].min && number <= numbers[i].max &&
           (number || strcmp(key, "stride"))) {
            return 0;
        }
        return mgpu_fail("%s line %d: [%s] %s=%s is not a whole number within %d..%d", r->file,
                         r->line, r->section, key, value, numbers[i].min, numbers[i].max);
    }
    return 0;
}

static int check_references(reader *r, const char *key, const char *value)
{
    for(size_t i = 0; i < sizeof references / sizeof *references; ++i) {
        if(strcmp(r->section, references[i][0]) || strcmp(key, references[i][1])) continue;
        r->refers = 1;
        for(const char *at = value; at; at = strchr(at, ',')) {
            if(*at == ',') ++at;
            char *end;
            long number = strtol(at, &end, 10);
            if(number < 0) number += r->layer;
            if(end == at || number < 0 || number >= r->layer) {
                return mgpu_fail("%s line %d: [%s] %s=%s: layer %d has no such layer before it",
                                 r->file, r->line, r->section, key, value, r->layer);
            }
        }
    }
    return 0;
}

static void note_lengths(reader *r, const char *key, const char *value)
{
    if(strcmp(key, "steps") == 0) r->steps = count_list(value);
    if(strcmp(key, "scales") == 0) r->scales = count_list(value);
    if(strcmp(key, "num") == 0) r->num = atoi(value);
    if(strcmp(key, "anchors") == 0) r->anchors = count_list(value);
    if(strcmp(key, "batch") == 0 && r->layer < 0) r->batch = atoi(value);
    if(strcmp(key, "subdivisions") == 0) r->subdivisions = atoi(value);
    for(const char *at = value; strcmp(key, "mask") == 0 && at; at = strchr(at, ',')) {
        if(*at == ',') ++at;
        int number = atoi(at);
        if(number > r->mask) r->mask = number;
        if(number < 0) r->mask = INT_MAX;
    }
}

static int check_option(reader *r)
{
    char *value = strchr(r->text, '=');
    if(!*r->section) {
        return mgpu_fail("%s line %d: there is no [section] before it; is this a cfg file?",
                         r->file, r->line);
    }
    if(!value) return 0; /* Darknet says so and goes on */
    *value++ = 0;
    note_lengths(r, r->text, value);
    if(check_number(r, r->text, value) < 0) return -1;
    return check_references(r, r->text, value);
}

/* What can be said only when all of a section has been read. */
static int end_section(reader *r)
{
    if(!*r->section) return 0;
    if(r->steps > r->scales && r->layer < 0) {
        return mgpu_fail("%s: %d steps need as many scales, not %d", r->file, r->steps,
                         r->scales);
    }
    if(r->layer < 0 && r->batch % r->subdivisions) {
        return mgpu_fail("%s: batch=%d can not be cut into subdivisions=%d equal parts",
                         r->file, r->batch, r->subdivisions);
    }
    for(size_t i = 0; i < sizeof references / sizeof *references; ++i) {
        if(strcmp(r->section, references[i][0]) == 0 && !r->refers) {
            return mgpu_fail("%s line %d: [%s] before it needs %s=", r->file, r->line,
                             r->section, references[i][1]);
        }
    }
    if(strcmp(r->section, "yolo") == 0 && (r->anchors > 2 * r->num || r->mask >= r->num)) {
        return mgpu_fail(
            "%s line %d: [yolo] before it has num=%d, too few for its anchors or mask", r->file,
            r->line, r->num);
    }
    return 0;
}

static int begin_section(reader *r)
{
    int first = !*r->section;
    size_t length = strcspn(r->text + 1, "]");
    snprintf(r->section, sizeof r->section, "%.*s", (int)length, r->text + 1);
    int net = strcmp(r->section, "net") == 0 || strcmp(r->section, "network") == 0;
    if(first != net) {
        return mgpu_fail("%s line %d: [%s]: the first section, and no other, must be [net]",
                         r->file, r->line, r->section);
    }
    r->layer += !first;
    r->outputs += !first && strcmp(r->section, "cost");
    if(r->layer == 0 && strcmp(r->section, "dropout") == 0) {
        return mgpu_fail("%s line %d: layer 0: [dropout] needs a layer before it", r->file,
                         r->line);
    }
    r->refers = r->steps = r->scales = r->anchors = 0;
    r->mask = -1;
    r->num = r->batch = r->subdivisions = 1;
    for(size_t i = 0; i < sizeof sections / sizeof *sections; ++i) {
        if(strcmp(sections[i], r->section) == 0) return 0;
    }
    return mgpu_fail("%s line %d: layer %d: [%s] is not a layer that Darknet knows", r->file,
                     r->line, r->layer, r->section);
}

static int check_lines(reader *r)
{
    while(next_line(r)) {
        int status = 0;
        if(*r->text == '[') {
            status = end_section(r);
            if(status == 0) status = begin_section(r);
        } else if(*r->text && *r->text != '#' && *r->text != ';') {
            status = check_option(r);
        }
        if(status < 0) return -1;
    }
    if(end_section(r) < 0) return -1;
    if(r->outputs) return 0;
    return mgpu_fail("%s describes no network: it has no layers, or only [cost]", r->file);
}

int mgpu_check_cfg(const char *file)
{
    reader r = {.file = file, .layer = -1, .fp = mgpu_open(file, "cfg file")};
    if(!r.fp) return -1;
    int status = check_lines(&r);
    free(r.text);
    fclose(r.fp);
    return status;
}

int mgpu_cfg_net(const char *file, const char *key, int otherwise)
{
    reader r = {.file = file, .fp = fopen(file, "r")};
    int in = 0;
    size_t length = strlen(key);
    while(r.fp && in < 2 && next_line(&r)) {
        in += *r.text == '[';
        if(strncmp(r.text, key, length) == 0 && r.text[length] == '=') {
            otherwise = atoi(r.text + length + 1);
        }
    }
    free(r.text);
    if(r.fp) fclose(r.fp);
    return otherwise;
}
