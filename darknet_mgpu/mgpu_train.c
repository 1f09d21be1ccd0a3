/* mgpu_train.c: darknet mgpu train <data> <cfg> [weights] ... */
#include "mgpu_cfg.h"
#include "mgpu_command.h"
#include "mgpu_error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOADERS 4 /* threads that read images */

typedef struct {
    network *net;
    mgpu_classes classes;
    mgpu_loader *loader;
    char *base;    /* of the file names: the cfg's name without its end */
    float average; /* of the loss; below 0: none yet */
} training;

static mgpu_images images_of(const network *net, const mgpu_classes *c, const char *cfg,
                             unsigned long long seed)
{
    mgpu_images o = {.paths = c->paths, .npaths = c->npaths, .labels = c->labels};
    o.classes = c->classes;
    o.w = net->w;
    o.h = net->h;
    o.min = net->min_ratio * net->w;
    o.max = net->max_ratio * net->w;
    o.center = net->center;
    o.flip = mgpu_cfg_net(cfg, "flip", 1);
    o.angle = net->angle;
    o.aspect = net->aspect ? net->aspect : 1;
    o.hue = net->hue;
    o.saturation = net->saturation ? net->saturation : 1;
    o.exposure = net->exposure ? net->exposure : 1;
    o.seed = seed;
    return o;
}

static void save(const training *t, const char *end)
{
    char name[4096];
    snprintf(name, sizeof name, "%s/%s%s", t->classes.backup, t->base, end);
    save_weights(t->net, name);
}

/* Stock's progress line. */
static void report(training *t, float loss, double seconds)
{
    network *net = t->net;
    t->average = t->average < 0 ? loss : t->average * .9f + loss * .1f;
    printf("%ld, %.3f: %f, %f avg, %f rate, %lf seconds, %ld images\n", get_current_batch(net),
           (float)*net->seen / t->classes.npaths, loss, t->average, get_current_rate(net),
           seconds, *net->seen);
    fflush(stdout);
}

static int train(training *t)
{
    network *net = t->net;
    size_t epoch = *net->seen / t->classes.npaths;
    while(get_current_batch(net) < (size_t)net->max_batches || net->max_batches == 0) {
        data d = mgpu_loader_next(t->loader);
        double start = what_time_is_it_now();
        float loss = train_network(net, d);
        if(!(loss == loss))
            return mgpu_fail("batch %zu: the loss is not a number", get_current_batch(net));
        report(t, loss, what_time_is_it_now() - start);
        if(*net->seen / t->classes.npaths > epoch) {
            char end[64];
            epoch = *net->seen / t->classes.npaths;
            snprintf(end, sizeof end, "_%zu.weights", epoch);
            save(t, end);
        }
        if(get_current_batch(net) % 1000 == 0) save(t, ".backup");
    }
    save(t, ".weights");
    return 0;
}

static int check_backup(const char *directory)
{
    struct stat st;
    if(stat(directory, &st) < 0) {
        return mgpu_fail(
            "backup directory %s: %s; make it, or name another with backup= in the "
            "data file",
            directory, strerror(errno));
    }
    if(!S_ISDIR(st.st_mode)) return mgpu_fail("backup=%s is not a directory", directory);
    if(access(directory, W_OK | X_OK) < 0) {
        return mgpu_fail("backup directory %s can not be written to", directory);
    }
    return 0;
}

/* Everything that can be refused before the first step. */
static int prepare(training *t, char **words, const mgpu_options *o, int clear)
{
    char *file = words[0], *cfg = words[1], *weights = words[2];
    if(mgpu_read_classes(file, "train", "data/train.list", &t->classes) < 0) return -1;
    if(check_backup(t->classes.backup) < 0) return -1;
    t->net = mgpu_load_network(cfg, weights, clear, o);
    if(!t->net || mgpu_check_classifier(t->net, &t->classes, cfg) < 0) return -1;
    if(t->net->random)
        return mgpu_fail("%s: random=1 is not supported by this command yet", cfg);
    if(t->net->max_batches && get_current_batch(t->net) >= (size_t)t->net->max_batches) {
        return mgpu_fail("%s has seen %zu batches of max_batches=%d: the run is over; -clear "
                         "starts a new one from its weights",
                         weights, get_current_batch(t->net), t->net->max_batches);
    }
    mgpu_images images = images_of(t->net, &t->classes, cfg, o->seed);
    t->base = basecfg(cfg);
    t->average = -1;
    t->loader = mgpu_loader_make(&images, t->net->batch * t->net->subdivisions,
                                 get_current_batch(t->net), LOADERS);
    return t->loader ? 0 : -1;
}

int mgpu_command_train(int argc, char **argv)
{
    char *words[3];
    int clear = 0, ngpus = 0;
    mgpu_device_list devices = {.n = 0};
    mgpu_options o = mgpu_default_options();
    const mgpu_argument table[] = {
        {"-gpus", MGPU_DEVICES, &devices, 0, 0},
        {"-ngpus", MGPU_INTEGER, &ngpus, 1, MGPU_HOST_DEVICES},
        {"-seed", MGPU_SEED, &o.seed, 0, 0},
        {"-clear", MGPU_FLAG, &clear, 0, 0},
        {"-cpu_merge", MGPU_INTEGER, &o.cpu_merge, 0, 1},
        {"-cpu_relocation", MGPU_INTEGER, &o.cpu_relocation, 0, 1},
    };
    if(mgpu_parse_arguments(argc, argv, table, sizeof table / sizeof *table, words, 2, 3) < 0 ||
       mgpu_choose_devices(&devices, ngpus, &o) < 0) {
        return 1;
    }
    training t = {0};
    int status = prepare(&t, words, &o, clear);
    if(status == 0) {
        network *net = t.net;
        printf("%s\n%d devices\n", t.base, net->nreplicas);
        printf("Learning Rate: %g, Momentum: %g, Decay: %g\n", net->learning_rate,
               net->momentum, net->decay);
        printf("%d\n", t.classes.npaths);
        status = train(&t);
    }
    mgpu_loader_free(t.loader);
    if(t.net) free_network(t.net);
    free(t.base);
    mgpu_free_classes(&t.classes);
    return status < 0;
}
