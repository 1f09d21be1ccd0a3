/* mgpu_valid.c: darknet mgpu valid <data> <cfg> <weights> ... */
#include "mgpu_command.h"
#include "mgpu_error.h"
#include "mgpu_task.h"

typedef struct {
    network *net;
    mgpu_dataset data;
    const mgpu_task *task;
    mgpu_trial trial;
    int failed; /* images */
} validation;

static int see(void *state, const mgpu_view *v)
{
    validation *own = state;
    if(v->error) {
        fprintf(stderr, "mgpu: image %d of %d: %s: %s\n", v->number + 1, own->data.npaths,
                v->path, v->error);
        ++own->failed;
        return 0;
    }
    ++own->trial.images;
    return own->task->judge->see(&own->trial, v);
}

/* Everything that can be refused before the first image is loaded. */
static int prepare(validation *v, char **words, const mgpu_options *o, const char *task)
{
    char *cfg = words[1];
    mgpu_dataset *d = &v->data;
    if(mgpu_dataset_read(words[0], "valid", "data/train.list", d) < 0) return -1;
    v->net = mgpu_load_network(cfg, words[2], 0, o);
    if(!v->net) return -1;
    v->task = mgpu_task_of(v->net, d, task, cfg);
    if(!v->task || mgpu_check_images(d) < 0 || v->task->check(v->net, d, cfg) < 0) return -1;
    v->trial.net = v->net;
    v->trial.data = d;
    v->trial.classes = mgpu_task_classes(v->task, v->net);
    if(v->task->judge->names && mgpu_dataset_names(d, v->task->names, v->trial.classes) < 0) {
        return -1;
    }
    return v->task->judge->begin(&v->trial);
}

static int validate(validation *v)
{
    const mgpu_dataset *d = &v->data;
    if(mgpu_pass(v->net, d->paths, d->npaths, v->task->fit_valid, see, v) < 0) return -1;
    if(v->trial.images && v->task->judge->print(&v->trial) < 0) return -1;
    if(!v->failed) return 0;
    return mgpu_fail("%d of %d images could not be judged, as said above; the figures are over "
                     "the other %d",
                     v->failed, d->npaths, v->trial.images);
}

int mgpu_command_valid(int argc, char **argv)
{
    char *words[3], *task = 0;
    int ngpus = 0;
    mgpu_list devices = {.n = 0};
    mgpu_options o = mgpu_default_options();
    validation v = {.trial.options.threshold = .5f};
    const mgpu_argument table[] = {
        {"-gpus", MGPU_DEVICES, &devices, 0, 0},
        {"-ngpus", MGPU_INTEGER, &ngpus, 1, MGPU_HOST_DEVICES},
        MGPU_DEVICE_ARGUMENTS(&o),
        {"-task", MGPU_TEXT, &task, 0, 0},
        {"-thresh", MGPU_REAL, &v.trial.options.threshold, 0, 1},
        {"-out", MGPU_TEXT, &v.trial.options.prefix, 0, 0},
    };
    if(mgpu_parse_arguments(argc, argv, table, sizeof table / sizeof *table, words, 3, 3) < 0 ||
       mgpu_choose_devices(&devices, ngpus, 0, &o) < 0) {
        return 1;
    }
    o.predicts = 1;
    int status = prepare(&v, words, &o, task);
    if(status == 0) status = validate(&v);
    if(v.task && v.task->judge->end(&v.trial) < 0) status = -1;
    if(v.net) free_network(v.net);
    mgpu_dataset_free(&v.data);
    return status < 0;
}
