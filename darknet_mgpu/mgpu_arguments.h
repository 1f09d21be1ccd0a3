/* mgpu_arguments.h: strict command lines, by table. */
#ifndef MGPU_ARGUMENTS_H
#define MGPU_ARGUMENTS_H

#include "mgpu.h"

/* A list of device ids, or of shares. */
typedef struct {
    int values[MGPU_HOST_DEVICES];
    int n;
} mgpu_list;

#define MGPU_MOST_SHARE 1000

typedef enum {
    MGPU_FLAG,
    MGPU_INTEGER,
    MGPU_REAL,
    MGPU_SEED,
    MGPU_TEXT,
    MGPU_DEVICES,
    MGPU_SHARES
} mgpu_argument_type;

/* One option. `to` is an int (flag: set to 1; integer), a float (real), an unsigned long
 * long (seed), a char * (text) or an mgpu_list. A number is within min..max. */
typedef struct {
    const char *name; /* with its dash */
    mgpu_argument_type type;
    void *to;
    int min, max;
} mgpu_argument;

/* Rows of a table: how the devices of the mgpu_options `o` work, whatever they do; and what is
 * said only where they train. */
#define MGPU_DEVICE_ARGUMENTS(o)                                                               \
    {"-threads", MGPU_INTEGER, &(o)->threads, 1, 1024},                                        \
        {"-nogpu", MGPU_FLAG, &(o)->nogpu, 0, 0}, {"-tf32", MGPU_FLAG, &(o)->tf32, 0, 0},      \
    {                                                                                          \
        "-deterministic", MGPU_FLAG, &(o)->deterministic, 0, 0                                 \
    }
#define MGPU_TRAINING_ARGUMENTS(o)                                                             \
    {"-share_device", MGPU_FLAG, &(o)->share_device, 0, 0},                                    \
        {"-sync_bn", MGPU_FLAG, &(o)->sync_bn, 0, 0},                                          \
        {"-reproducible", MGPU_FLAG, &(o)->reproducible, 0, 0},                                \
        {"-verbose", MGPU_FLAG, &(o)->verbose, 0, 0},                                          \
        {"-profile", MGPU_FLAG, &(o)->profile, 0, 0},                                          \
        {"-cpu_merge", MGPU_INTEGER, &(o)->cpu_merge, 0, 1},                                   \
    {                                                                                          \
        "-cpu_relocation", MGPU_INTEGER, &(o)->cpu_relocation, 0, 1                            \
    }

/* Takes the options of `table` from argv and leaves the other words in `words` (at
 * least `least`, at most `most` of them, the rest of the array set to NULL). Every
 * option may come once. Returns 0, or -1 with mgpu_error(). */
int mgpu_parse_arguments(int argc, char **argv, const mgpu_argument *table, int n, char **words,
                         int least, int most);

/* Takes the options of `table` from argv, an array of *argc + 1 pointers, and leaves all
 * other words, unknown options too, in their order with a NULL after them; *argc is then
 * their number. Every option may come once. Returns 0, or -1 with mgpu_error(). */
int mgpu_take_arguments(int *argc, char **argv, const mgpu_argument *table, int n);

/* "0,1,3": ids within 0..63, at most 64 of them. Returns 0, or -1 with mgpu_error(). */
int mgpu_parse_devices(const char *text, mgpu_list *devices);

/* "3,1": shares within 1..MGPU_MOST_SHARE. Returns 0, or -1 with mgpu_error(). */
int mgpu_parse_shares(const char *text, mgpu_list *shares);

/* Sets o->gpus and o->ngpus from -gpus (points into *devices), or -ngpus (0..ngpus-1,
 * written to *devices), or neither (one per core); and o->shares from -shares (points into
 * *shares; NULL: there is no such option). Returns 0, or -1 with mgpu_error() if both were
 * given, or if there are not as many shares as devices. */
int mgpu_choose_devices(mgpu_list *devices, int ngpus, const mgpu_list *shares,
                        mgpu_options *o);

#endif
