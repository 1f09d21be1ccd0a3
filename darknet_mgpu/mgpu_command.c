/* mgpu_command.c: `darknet mgpu ...`: the table of subcommands. */
#include "mgpu_command.h"
#include "mgpu_error.h"
#include "mgpu_hooks.h"

#include <string.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *usage;
} commands[] = {
    {"train", mgpu_command_train,
     "train <data> <cfg> [weights] [-gpus 0,1] [-ngpus N] [-seed S] [-clear]\n"
     "              [-task classifier|tag|detector] [-max_batches N] [-backup DIR] [-verbose]"},
    {"valid", mgpu_command_valid, "valid <data> <cfg> <weights> [-gpus 0,1] [-ngpus N]"},
};

#define NCOMMANDS (int)(sizeof commands / sizeof *commands)

static void usage(void)
{
    for(int i = 0; i < NCOMMANDS; ++i) {
        fprintf(stderr, "%s darknet mgpu %s\n", i ? "      " : "usage:", commands[i].usage);
    }
}

int mgpu_command(int argc, char **argv)
{
    for(int i = 0; argc > 0 && i < NCOMMANDS; ++i) {
        if(strcmp(argv[0], commands[i].name)) continue;
        int status = commands[i].run(argc - 1, argv + 1);
        fflush(stdout);
        if(status) fprintf(stderr, "darknet mgpu %s: %s\n", argv[0], mgpu_error());
        return status;
    }
    usage();
    if(argc > 0)
        fprintf(stderr, "darknet mgpu: there is no command '%s'\n", argv[0]);
    else
        fprintf(stderr, "darknet mgpu: a command is missing\n");
    return 1;
}
