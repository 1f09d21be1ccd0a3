/* mgpu_train.c: darknet mgpu train <data> <cfg> [weights] ... */
#include "mgpu_cfg.h"
#include "mgpu_command.h"
#include "mgpu_error.h"
#include "mgpu_file.h"
#include "mgpu_root.h"
#include "mgpu_task.h"
#include "mgpu_tensors.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define LOADERS 4 /* threads that read images */

typedef struct {
    char *task, *backup; /* NULL: as cfg and data file say */
    int clear, max_batches;
} train_options;

typedef struct {
    network *net;
    mgpu_dataset data;
    const mgpu_task *task;
    mgpu_source source;
    mgpu_loader *loader;
    const char *backup; /* the directory to save to */
    char *base;         /* of the file names: the cfg's name without its end */
    float average;      /* of the loss; below 0: none yet */
} training;

static void save(const training *t, const char *end)
{
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s/%s%s", t->backup, t->base, end);
    save_weights(t->net, name);
}

static void save_numbered(const training *t, size_t number)
{
    char end[64];
    snprintf(end, sizeof end, "_%zu.weights", number);
    save(t, end);
}

/* Stock's progress line of the task. */
static void report(training *t, float loss, double seconds)
{
    network *net = t->net;
    t->average = t->average < 0 ? loss : t->average * .9f + loss * .1f;
    printf("%zu", get_current_batch(net));
    if(t->task->epochs) printf(", %.3f", (float)*net->seen / t->data.npaths);
    printf(": %f, %f avg, %f rate, %lf seconds, %zu images\n", loss, t->average,
           get_current_rate(net), seconds, *net->seen);
    fflush(stdout);
}

/* Saves what is due after a batch; `epoch` is the one before it. */
static void save_due(const training *t, size_t epoch)
{
    size_t batch = get_current_batch(t->net), now = *t->net->seen / t->data.npaths;
    if(t->task->epochs && now > epoch) save_numbered(t, now);
    if(batch % t->task->backup_every == 0) save(t, ".backup");
    if(t->task->epochs) return;
    if(batch % 10000 == 0 || (batch < 1000 && batch % 100 == 0)) save_numbered(t, batch);
}

/* Gives the network the sides that the next batch has. */
static void resize(training *t)
{
    load_args args = t->source.args;
    mgpu_source_sides(&t->source, get_current_batch(t->net), &args);
    if(args.w == t->net->w && args.h == t->net->h) return;
    printf("Resizing\n%d\n", args.w);
    resize_network(t->net, args.w, args.h);
}

/* After a batch without a loss. */
static int stopped(const training *t)
{
    char why[1024];
    snprintf(why, sizeof why, "%s", mgpu_error());
    size_t batch = get_current_batch(t->net);
    if(mgpu_root_rescue(t->net, t->backup, t->base)) return mgpu_fail("%s", why);
    return mgpu_fail("batch %zu: the loss is not a number", batch);
}

static int train(training *t)
{
    network *net = t->net;
    while(get_current_batch(net) < (size_t)net->max_batches || net->max_batches == 0) {
        size_t epoch = *net->seen / t->data.npaths;
        resize(t);
        double start = what_time_is_it_now();
        data d = mgpu_loader_next(t->loader);
        printf("Loaded: %lf seconds\n", what_time_is_it_now() - start);
        start = what_time_is_it_now();
        float loss = train_network(net, d);
        if(!(loss == loss)) return stopped(t);
        report(t, loss, what_time_is_it_now() - start);
        save_due(t, epoch);
    }
    save(t, t->task->final);
    return 0;
}

/* Whether the run has an end that is still to come. */
static int check_end(const training *t, const char *cfg, const char *weights)
{
    const network *net = t->net;
    size_t done = get_current_batch(t->net);
    if(net->max_batches == 0 && t->task->needs_end) {
        return mgpu_fail(
            "%s has no max_batches, and this task trains that many batches; set it "
            "there or with -max_batches",
            cfg);
    }
    if(net->max_batches == 0 || done < (size_t)net->max_batches) return 0;
    return mgpu_fail("%s has seen %zu batches of max_batches=%d: the run is over; -clear "
                     "starts a new one from its weights, -max_batches makes it longer",
                     weights ? weights : cfg, done, net->max_batches);
}

/* Whether Darknet can resize every layer, where training would ask for it. */
static int check_resizing(const training *t, const char *cfg)
{
    const network *net = t->net;
    if(!t->source.scales.every) return 0;
    for(int i = 0; i < net->n && net->layers[i].type != AVGPOOL; ++i) {
        const mgpu_layer_kind *kind = mgpu_layer_kind_of(net->layers + i);
        if(kind->resized) continue;
        return mgpu_fail("%s: random=1 changes the size of the images, and Darknet can not "
                         "resize layer %d, [%s]; set random=0",
                         cfg, i, kind->name);
    }
    return 0;
}

static void fill_source(training *t, const char *cfg, unsigned long long seed)
{
    mgpu_source *s = &t->source;
    s->args = get_base_args(t->net);
    s->args.center = 0; /* as in Darknet's own training */
    s->paths = t->data.paths;
    s->npaths = t->data.npaths;
    s->flip = mgpu_cfg_net(cfg, "flip", 1);
    s->seed = seed;
    t->task->source(t->net, &t->data, s);
}

/* Everything that can be refused before the first step. */
static int prepare(training *t, char **words, const mgpu_options *o, const train_options *own)
{
    char *cfg = words[1], *weights = words[2];
    if(mgpu_dataset_read(words[0], "train", "data/train.list", &t->data) < 0) return -1;
    t->backup = own->backup ? own->backup : t->data.backup;
    if(mgpu_check_backup(t->backup) < 0) return -1;
    t->net = mgpu_load_network(cfg, weights, own->clear, o);
    if(!t->net) return -1;
    if(own->max_batches) t->net->max_batches = own->max_batches;
    t->task = mgpu_task_of(t->net, &t->data, own->task, cfg);
    if(!t->task || check_end(t, cfg, weights) < 0) return -1;
    if(mgpu_skip_missing_images(&t->data) < 0 || t->task->check(t->net, &t->data, cfg) < 0)
        return -1;
    fill_source(t, cfg, o->seed);
    if(check_resizing(t, cfg) < 0) return -1;
    t->base = basecfg(cfg);
    t->average = -1;
    t->loader = mgpu_loader_make(&t->source, t->net->batch * t->net->subdivisions,
                                 get_current_batch(t->net), LOADERS);
    return t->loader ? 0 : -1;
}

int mgpu_command_train(int argc, char **argv)
{
    char *words[3];
    int ngpus = 0;
    train_options own = {0};
    mgpu_list devices = {.n = 0}, shares = {.n = 0};
    mgpu_options o = mgpu_default_options();
    const mgpu_argument table[] = {
        {"-gpus", MGPU_DEVICES, &devices, 0, 0},
        {"-ngpus", MGPU_INTEGER, &ngpus, 1, MGPU_HOST_DEVICES},
        {"-shares", MGPU_SHARES, &shares, 0, 0},
        MGPU_DEVICE_ARGUMENTS(&o),
        MGPU_TRAINING_ARGUMENTS(&o),
        {"-seed", MGPU_SEED, &o.seed, 0, 0},
        {"-clear", MGPU_FLAG, &own.clear, 0, 0},
        {"-task", MGPU_TEXT, &own.task, 0, 0},
        {"-max_batches", MGPU_INTEGER, &own.max_batches, 1, INT_MAX},
        {"-backup", MGPU_TEXT, &own.backup, 0, 0},
    };
    if(mgpu_parse_arguments(argc, argv, table, sizeof table / sizeof *table, words, 2, 3) < 0 ||
       mgpu_choose_devices(&devices, ngpus, &shares, &o) < 0) {
        return 1;
    }
    training t = {0};
    int status = prepare(&t, words, &o, &own);
    if(status == 0) {
        network *net = t.net;
        printf("%s\n%d devices\n", t.base, net->nreplicas);
        printf("Learning Rate: %g, Momentum: %g, Decay: %g\n", net->learning_rate,
               net->momentum, net->decay);
        printf("%d\n", t.data.npaths);
        status = train(&t);
    }
    mgpu_loader_free(t.loader);
    if(t.net) free_network(t.net);
    free(t.base);
    mgpu_dataset_free(&t.data);
    return status < 0;
}
