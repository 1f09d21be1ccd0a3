/* mgpu_command.h: the subcommands of `darknet mgpu`, one file each, and what they
 * share. Only here is anything printed on failure and the program's status decided. */
#ifndef MGPU_COMMAND_H
#define MGPU_COMMAND_H

#include "mgpu_arguments.h"
#include "mgpu_data.h"

/* Each takes the words after its name and returns the exit status; on 1,
 * mgpu_error() says why and the caller prints it. */
int mgpu_command_train(int argc, char **argv);
int mgpu_command_valid(int argc, char **argv);

/* A .data file of a classifier. Owned strings and lists, freed by
 * mgpu_free_classes. */
typedef struct {
    list *options;
    char *backup;
    char **labels, **paths;
    int classes, nlabels, npaths, top;
} mgpu_classes;

/* Reads `file`, its labels and the list under `key` ("train" or "valid"), with
 * stock's defaults. Returns 0, or -1 with mgpu_error(). */
int mgpu_read_classes(const char *file, const char *key, const char *list_default,
                      mgpu_classes *c);
void mgpu_free_classes(mgpu_classes *c);

/* Returns 0 if `net` is a classifier of c's classes on images of 3 channels, or -1
 * with mgpu_error(). */
int mgpu_check_classifier(const network *net, const mgpu_classes *c, const char *cfg);

#endif
