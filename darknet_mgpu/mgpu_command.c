/* mgpu_command.c: `darknet mgpu ...`: the table of subcommands. */
#include "mgpu_command.h"
#include "mgpu_error.h"
#include "mgpu_file.h"
#include "mgpu_hooks.h"
#include "option_list.h" /* kvp */

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *usage;
} commands[] = {
    {"train", mgpu_command_train,
     "train <data> <cfg> [weights] [-gpus 0,1] [-ngpus N] [-seed S] [-clear]"},
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

static int check_file(const char *file, const char *what)
{
    FILE *fp = mgpu_open(file, what);
    if(fp) fclose(fp);
    return fp ? 0 : -1;
}

/* The lines of a file that are not empty; *n of them. */
static char **read_lines(const char *file, const char *what, int *n)
{
    if(check_file(file, what) < 0) return 0;
    list *lines = get_paths((char *)file);
    char **array = (char **)list_to_array(lines);
    *n = 0;
    for(int i = 0; i < lines->size; ++i) {
        array[i][strcspn(array[i], "\r")] = 0;
        if(array[i][0])
            array[(*n)++] = array[i];
        else
            free(array[i]);
    }
    free_list(lines);
    if(*n) return array;
    free(array);
    mgpu_fail("%s %s is empty", what, file);
    return 0;
}

int mgpu_read_classes(const char *file, const char *key, const char *list_default,
                      mgpu_classes *c)
{
    *c = (mgpu_classes){0};
    if(check_file(file, "data file") < 0) return -1;
    c->options = read_data_cfg((char *)file);
    for(node *at = c->options->front; at; at = at->next) { /* a file with CRLF lines */
        kvp *pair = at->val;
        pair->val[strcspn(pair->val, "\r")] = 0;
    }
    c->backup = option_find_str(c->options, "backup", "/backup/");
    c->classes = option_find_int(c->options, "classes", 2);
    c->top = option_find_int_quiet(c->options, "top", 1);
    char *labels = option_find_str(c->options, "labels", "data/labels.list");
    char *paths = option_find_str(c->options, (char *)key, (char *)list_default);
    c->labels = read_lines(labels, "labels file", &c->nlabels);
    if(c->labels) c->paths = read_lines(paths, "list file", &c->npaths);
    if(c->paths && c->classes >= 1 && c->nlabels >= c->classes) return 0;
    if(c->paths) {
        mgpu_fail("%s: classes=%d, and %s has %d labels", file, c->classes, labels, c->nlabels);
    }
    mgpu_free_classes(c);
    return -1;
}

static void free_lines(char **lines, int n)
{
    for(int i = 0; i < n; ++i) free(lines[i]);
    free(lines);
}

void mgpu_free_classes(mgpu_classes *c)
{
    free_lines(c->labels, c->nlabels);
    free_lines(c->paths, c->npaths);
    for(node *at = c->options ? c->options->front : 0; at; at = at->next) {
        kvp *pair = at->val;
        free(pair->key); /* the whole line, value included */
        free(pair);
    }
    if(c->options) free_list(c->options);
    *c = (mgpu_classes){0};
}

int mgpu_check_classifier(const network *net, const mgpu_classes *c, const char *cfg)
{
    if(net->layers[net->n - 1].type == YOLO) {
        return mgpu_fail("%s is a detector; this command takes classifiers only, so far", cfg);
    }
    if(net->inputs != net->w * net->h * 3) {
        return mgpu_fail("%s takes %dx%dx%d; images have 3 channels", cfg, net->w, net->h,
                         net->c);
    }
    if(net->outputs != c->classes) {
        return mgpu_fail("%s has %d outputs, and the data file says classes=%d", cfg,
                         net->outputs, c->classes);
    }
    return 0;
}
