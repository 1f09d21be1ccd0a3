/* mgpu_arguments.c: strict command lines, by table. */
#include "mgpu_arguments.h"
#include "mgpu_error.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* A whole decimal number up to `end` (one past its last digit is *end). */
static int parse_number(const char *text, const char **end, unsigned long long *value)
{
    char *stop;
    if(*text < '0' || *text > '9') return -1;
    errno = 0;
    *value = strtoull(text, &stop, 10);
    *end = stop;
    return errno ? -1 : 0;
}

/* "0,1,3", each within least..most; `what` is in a message a list of what. */
static int parse_list(const char *option, const char *text, const char *what, int least,
                      int most, mgpu_list *list)
{
    const char *at = text;
    list->n = 0;
    for(;;) {
        unsigned long long value;
        if(parse_number(at, &at, &value) < 0 || (*at && *at != ',')) {
            return mgpu_fail("%s %s is not a list of %ss; write it like 1,2", option, text,
                             what);
        }
        if(value < (unsigned)least || value > (unsigned)most) {
            return mgpu_fail("%s %s: there is no %s %llu; they are %d..%d", option, text, what,
                             value, least, most);
        }
        if(list->n == MGPU_HOST_DEVICES) {
            return mgpu_fail("%s %s: more than %d of them", option, text, MGPU_HOST_DEVICES);
        }
        list->values[list->n++] = (int)value;
        if(!*at++) return 0;
    }
}

int mgpu_parse_devices(const char *text, mgpu_list *devices)
{
    return parse_list("-gpus", text, "device id", 0, MGPU_HOST_DEVICES - 1, devices);
}

int mgpu_parse_shares(const char *text, mgpu_list *shares)
{
    return parse_list("-shares", text, "share", 1, MGPU_MOST_SHARE, shares);
}

static int parse_integer(const mgpu_argument *a, const char *text)
{
    const char *end;
    unsigned long long value;
    int negative = *text == '-';
    if(parse_number(text + negative, &end, &value) < 0 || *end || value > INT_MAX) {
        return mgpu_fail("%s %s: not a whole number", a->name, text);
    }
    int number = negative ? -(int)value : (int)value;
    if(number < a->min || number > a->max) {
        return mgpu_fail("%s %s: not within %d..%d", a->name, text, a->min, a->max);
    }
    *(int *)a->to = number;
    return 0;
}

static int parse_real(const mgpu_argument *a, const char *text)
{
    char *end;
    float number = strtof(text, &end);
    if(end == text || *end) return mgpu_fail("%s %s: not a number", a->name, text);
    if(!(number >= a->min && number <= a->max)) {
        return mgpu_fail("%s %s: not within %d..%d", a->name, text, a->min, a->max);
    }
    *(float *)a->to = number;
    return 0;
}

static int parse_value(const mgpu_argument *a, char *text)
{
    const char *end;
    if(a->type == MGPU_REAL) return parse_real(a, text);
    if(a->type == MGPU_INTEGER) return parse_integer(a, text);
    if(a->type == MGPU_DEVICES) return mgpu_parse_devices(text, a->to);
    if(a->type == MGPU_SHARES) return mgpu_parse_shares(text, a->to);
    if(a->type == MGPU_TEXT) {
        *(char **)a->to = text;
        return *text ? 0 : mgpu_fail("%s has an empty value", a->name);
    }
    if(parse_number(text, &end, a->to) < 0 || *end) {
        return mgpu_fail("%s %s: not a whole number of at most 64 bits", a->name, text);
    }
    return 0;
}

static const mgpu_argument *find(const mgpu_argument *table, int n, const char *word)
{
    for(int i = 0; i < n; ++i) {
        if(strcmp(table[i].name, word) == 0) return table + i;
    }
    return 0;
}

/* The option that `word` begins with, value and all; NULL if there is none. */
static const mgpu_argument *glued(const mgpu_argument *table, int n, const char *word)
{
    for(int i = 0; i < n; ++i) {
        size_t length = strlen(table[i].name);
        if(table[i].type != MGPU_FLAG && strncmp(table[i].name, word, length) == 0) {
            return table + i;
        }
    }
    return 0;
}

static int not_apart(const mgpu_argument *a, const char *word)
{
    return mgpu_fail("%s: write %s and its value apart, as %s %s", word, a->name, a->name,
                     word + strlen(a->name));
}

/* Takes option `a` at argv[*i] with its value, and leaves *i at its last word. */
static int take(const mgpu_argument *a, int argc, char **argv, int *i, char *seen)
{
    if((*seen)++) return mgpu_fail("%s is given twice", a->name);
    if(a->type == MGPU_FLAG) {
        *(int *)a->to = 1;
        return 0;
    }
    if(++*i == argc) return mgpu_fail("%s needs a value after it", a->name);
    return parse_value(a, argv[*i]);
}

int mgpu_parse_arguments(int argc, char **argv, const mgpu_argument *table, int n, char **words,
                         int least, int most)
{
    int nwords = 0;
    char seen[n + 1];
    memset(seen, 0, sizeof seen);
    for(int i = 0; i < argc; ++i) {
        if(argv[i][0] != '-') {
            if(nwords == most) return mgpu_fail("%s: one word too many", argv[i]);
            words[nwords++] = argv[i];
            continue;
        }
        const mgpu_argument *a = find(table, n, argv[i]);
        if(!a) {
            a = glued(table, n, argv[i]);
            return a ? not_apart(a, argv[i])
                     : mgpu_fail("%s is not an option of this command", argv[i]);
        }
        if(take(a, argc, argv, &i, seen + (a - table)) < 0) return -1;
    }
    if(nwords < least) return mgpu_fail("%d words are missing", least - nwords);
    while(nwords < most) words[nwords++] = 0;
    return 0;
}

int mgpu_take_arguments(int *argc, char **argv, const mgpu_argument *table, int n)
{
    int left = 0;
    char seen[n + 1];
    memset(seen, 0, sizeof seen);
    for(int i = 0; i < *argc; ++i) {
        const mgpu_argument *a = find(table, n, argv[i]);
        if(!a) {
            a = glued(table, n, argv[i]);
            if(a) return not_apart(a, argv[i]);
            argv[left++] = argv[i];
        } else if(take(a, *argc, argv, &i, seen + (a - table)) < 0) {
            return -1;
        }
    }
    argv[left] = 0;
    *argc = left;
    return 0;
}

int mgpu_choose_devices(mgpu_list *devices, int ngpus, const mgpu_list *shares, mgpu_options *o)
{
    if(ngpus && devices->n) return mgpu_fail("-gpus and -ngpus exclude each other");
    for(int i = 0; i < ngpus; ++i) devices->values[i] = i;
    if(ngpus) devices->n = ngpus;
    if(shares && shares->n && shares->n != devices->n) {
        return mgpu_fail("-shares has %d of them for %d devices; one for each of -gpus is "
                         "needed",
                         shares->n, devices->n);
    }
    o->gpus = devices->values;
    o->ngpus = devices->n;
    o->shares = shares && shares->n ? shares->values : 0;
    return 0;
}
