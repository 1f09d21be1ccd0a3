/* mgpu_arguments.h: strict command lines, by table. */
#ifndef MGPU_ARGUMENTS_H
#define MGPU_ARGUMENTS_H

#include "mgpu.h"

typedef struct {
    int ids[MGPU_HOST_DEVICES];
    int n;
} mgpu_device_list;

typedef enum { MGPU_FLAG, MGPU_INTEGER, MGPU_SEED, MGPU_TEXT, MGPU_DEVICES } mgpu_argument_type;

/* One option. `to` is an int (flag: set to 1; integer), an unsigned long long (seed),
 * a char * (text) or an mgpu_device_list. An integer is within min..max. */
typedef struct {
    const char *name; /* with its dash */
    mgpu_argument_type type;
    void *to;
    int min, max;
} mgpu_argument;

/* Takes the options of `table` from argv and leaves the other words in `words` (at
 * least `least`, at most `most` of them, the rest of the array set to NULL). Every
 * option may come once. Returns 0, or -1 with mgpu_error(). */
int mgpu_parse_arguments(int argc, char **argv, const mgpu_argument *table, int n, char **words,
                         int least, int most);

/* "0,1,3": ids within 0..63, each once. Returns 0, or -1 with mgpu_error(). */
int mgpu_parse_devices(const char *text, mgpu_device_list *devices);

/* Sets o->gpus and o->ngpus from -gpus (points into *devices), or -ngpus (0..ngpus-1,
 * written to *devices), or neither (one per core). Returns 0, or -1 with mgpu_error() if
 * both were given. */
int mgpu_choose_devices(mgpu_device_list *devices, int ngpus, mgpu_options *o);

#endif
