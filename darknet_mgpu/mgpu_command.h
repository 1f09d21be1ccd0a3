/* mgpu_command.h: the subcommands of `darknet mgpu`, one file each, and what they
 * share. Only here is anything printed on failure and the program's status decided. */
#ifndef MGPU_COMMAND_H
#define MGPU_COMMAND_H

#include "mgpu_arguments.h"

/* Each takes the words after its name and returns the exit status; on 1,
 * mgpu_error() says why and the caller prints it. */
int mgpu_command_train(int argc, char **argv);
int mgpu_command_valid(int argc, char **argv);
int mgpu_command_predict(int argc, char **argv);

#endif
