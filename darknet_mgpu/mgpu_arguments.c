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

int mgpu_parse_devices(const char *text, mgpu_device_list *devices)
{
    const char *at = text;
    devices->n = 0;
    for(;;) {
        unsigned long long id;
        if(parse_number(at, &at, &id) < 0 || (*at && *at != ',')) {
            return mgpu_fail("-gpus %s is not a list of device ids; write it like 0,1", text);
        }
        if(id >= MGPU_HOST_DEVICES) {
            return mgpu_fail("-gpus %s: there is no device %llu; host devices are 0..%d", text,
                             id, MGPU_HOST_DEVICES - 1);
        }
        for(int i = 0; i < devices->n; ++i) {
            if(devices->ids[i] == (int)id) {
                return mgpu_fail("-gpus %s: device %llu is listed twice", text, id);
            }
        }
        devices->ids[devices->n++] = (int)id;
        if(!*at++) return 0;
    }
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

static int parse_value(const mgpu_argument *a, char *text)
{
    const char *end;
    if(a->type == MGPU_INTEGER) return parse_integer(a, text);
    if(a->type == MGPU_DEVICES) return mgpu_parse_devices(text, a->to);
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

static int unknown(const mgpu_argument *table, int n, const char *word)
{
    for(int i = 0; i < n; ++i) {
        size_t length = strlen(table[i].name);
        if(table[i].type != MGPU_FLAG && strncmp(table[i].name, word, length) == 0) {
            return mgpu_fail("%s: write %s and its value apart, as %s %s", word, table[i].name,
                             table[i].name, word + length);
        }
    }
    return mgpu_fail("%s is not an option of this command", word);
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
        if(!a) return unknown(table, n, argv[i]);
        if(seen[a - table]++) return mgpu_fail("%s is given twice", a->name);
        if(a->type == MGPU_FLAG) {
            *(int *)a->to = 1;
        } else if(++i == argc) {
            return mgpu_fail("%s needs a value after it", a->name);
        } else if(parse_value(a, argv[i]) < 0) {
            return -1;
        }
    }
    if(nwords < least) return mgpu_fail("%d words are missing", least - nwords);
    while(nwords < most) words[nwords++] = 0;
    return 0;
}

int mgpu_choose_devices(mgpu_device_list *devices, int ngpus, mgpu_options *o)
{
    if(ngpus && devices->n) return mgpu_fail("-gpus and -ngpus exclude each other");
    for(int i = 0; i < ngpus; ++i) devices->ids[i] = i;
    if(ngpus) devices->n = ngpus;
    o->gpus = devices->ids;
    o->ngpus = devices->n;
    return 0;
}
