/* mgpu_command.c: `darknet mgpu ...`: the table of subcommands; then Darknet's own. */
#include "mgpu_command.h"
#include "mgpu_error.h"
#include "mgpu_hooks.h"
#include "mgpu_stock.h"

#include <string.h>

#define ON_GPU "\n              [-threads N] [-nogpu] [-tf32] [-deterministic]"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *usage;
} commands[] = {
    {"train", mgpu_command_train,
     "train <data> <cfg> [weights] [-gpus 0,1] [-ngpus N] [-seed S] [-clear]\n"
     "              [-shares 3,1] [-share_device] [-sync_bn] [-reproducible]\n"
     "              [-task classifier|tag|detector] [-max_batches N] [-backup DIR] [-verbose]\n"
     "              [-profile] [-cpu_merge 0|1] [-cpu_relocation 0|1]" ON_GPU},
    {"valid", mgpu_command_valid,
     "valid <data> <cfg> <weights> [-gpus 0,1] [-ngpus N] [-task classifier|tag|detector]\n"
     "              [-thresh P] [-out PREFIX]" ON_GPU},
    {"predict", mgpu_command_predict,
     "predict <data> <cfg> <weights> <image...> [-list FILE] [-gpus 0,1] [-ngpus N]\n"
     "              [-task classifier|tag|detector] [-thresh P] [-top K] [-out DIR]" ON_GPU},
};

#define NCOMMANDS (int)(sizeof commands / sizeof *commands)

static void usage(void)
{
    for(int i = 0; i < NCOMMANDS; ++i) {
        fprintf(stderr, "%s darknet mgpu %s\n", i ? "      " : "usage:", commands[i].usage);
    }
    fprintf(stderr, "       darknet mgpu <Darknet's own command> ... [-gpus 0,1] [-ngpus N] "
                    "[-seed S]\n"
                    "              [-shares 3,1] [-share_device] [-sync_bn] [-reproducible]\n"
                    "              [-backup DIR] [-list FILE] [-verbose] [-profile]\n"
                    "              [-cpu_merge 0|1] [-cpu_relocation 0|1]" ON_GPU "\n");
}

/* The status of a command; -1 where Darknet's main goes on with one of its own. */
static int run(int *argc, char **argv)
{
    const char *name = argv[2];
    for(int i = 0; i < NCOMMANDS; ++i) {
        if(strcmp(name, commands[i].name) == 0) return commands[i].run(*argc - 3, argv + 3);
    }
    int status = mgpu_stock_prepare(argc, argv);
    if(status == 0) return -1;
    if(status < 0) return 1;
    usage();
    mgpu_fail("there is no command '%s'", name);
    return 1;
}

int mgpu_command(int *argc, char **argv)
{
    if(*argc < 3) {
        usage();
        fprintf(stderr, "darknet mgpu: a command is missing\n");
        return 1;
    }
    const char *name = argv[2];
    int status = run(argc, argv);
    fflush(stdout);
    if(status > 0) fprintf(stderr, "darknet mgpu %s: %s\n", name, mgpu_error());
    return status;
}
