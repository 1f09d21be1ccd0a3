/* mgpu_task.c: what differs between classifiers, tags and detectors. */
#include "mgpu_task.h"
#include "mgpu_error.h"
#include "mgpu_tensors.h"
#include "option_list.h" /* option_find */

#include <string.h>

int mgpu_check_channels(const network *net, const char *cfg)
{
    if(net->inputs == net->w * net->h * 3) return 0;
    return mgpu_fail("%s takes %dx%dx%d; images have 3 channels", cfg, net->w, net->h, net->c);
}

static int check_outputs(const network *net, const mgpu_dataset *d, const char *cfg)
{
    if(mgpu_check_channels(net, cfg) < 0) return -1;
    if(net->w != net->h) {
        return mgpu_fail("%s: width=%d and height=%d: Darknet cuts square images for this task",
                         cfg, net->w, net->h);
    }
    if(net->outputs == d->classes) return 0;
    return mgpu_fail("%s has %d outputs, and the data file says classes=%d", cfg, net->outputs,
                     d->classes);
}

static int check_classifier(const network *net, mgpu_dataset *d, const char *cfg)
{
    if(option_find(d->options, "tree")) {
        return mgpu_fail("%s: tree= is not supported by this module yet", d->file);
    }
    if(mgpu_dataset_labels(d) < 0 || check_outputs(net, d, cfg) < 0) return -1;
    return mgpu_check_class_labels(d);
}

static int check_tag(const network *net, mgpu_dataset *d, const char *cfg)
{
    if(check_outputs(net, d, cfg) < 0) return -1;
    return mgpu_check_tag_files(d, d->classes);
}

static int check_detector(const network *net, mgpu_dataset *d, const char *cfg)
{
    if(mgpu_check_channels(net, cfg) < 0) return -1;
    const layer *l = net->layers + net->n - 1;
    return mgpu_check_box_files(d, l->classes, l->max_boxes);
}

/* The sizes of Darknet's `classifier train`. */
static void classifier_source(const network *net, const mgpu_dataset *d, mgpu_source *s)
{
    s->args.type = CLASSIFICATION_DATA;
    s->args.labels = d->labels;
    s->args.classes = d->classes;
    s->min_ratio = net->min_ratio;
    s->max_ratio = net->max_ratio;
    if(net->random) s->scales = (mgpu_scales){.every = 40, .least = 4, .count = 11};
}

static void tag_source(const network *net, const mgpu_dataset *d, mgpu_source *s)
{
    classifier_source(net, d, s);
    s->args.type = TAG_DATA;
    s->args.labels = 0;
}

/* The sizes of Darknet's `detector train`. */
static void detector_source(const network *net, const mgpu_dataset *d, mgpu_source *s)
{
    const layer *l = net->layers + net->n - 1;
    (void)d;
    s->args.type = DETECTION_DATA;
    s->args.classes = l->classes;
    s->args.jitter = l->jitter;
    s->args.num_boxes = l->max_boxes;
    s->args.coords = l->coords;
    if(l->random) {
        s->scales = (mgpu_scales){.every = 10, .least = 10, .count = 10};
        s->scales.end = net->max_batches;
        s->scales.last = 608;
    }
}

static const mgpu_task tasks[] = {
    {.name = "classifier",
     .check = check_classifier,
     .source = classifier_source,
     .epochs = 1,
     .final = ".weights",
     .backup_every = 1000,
     .fit_valid = center_crop_image, /* as Darknet's classifier valid and predict do */
     .fit_predict = letterbox_image,
     .judge = &mgpu_judge_classifier,
     .names = "data/labels.list",
     .threshold = -1, /* all */
     .most = -1},
    {.name = "tag",
     .check = check_tag,
     .source = tag_source,
     .epochs = 1,
     .final = ".weights",
     .backup_every = 1000,
     .fit_valid = center_crop_image,
     .fit_predict = center_crop_image,
     .judge = &mgpu_judge_tags,
     .names = "data/tags.txt",
     .threshold = .5f},
    {.name = "detector",
     .check = check_detector,
     .source = detector_source,
     .needs_end = 1,
     .final = "_final.weights",
     .backup_every = 100,
     .fit_valid = letterbox_image,
     .fit_predict = letterbox_image,
     .judge = &mgpu_judge_boxes,
     .names = "data/names.list",
     .boxes = 1,
     .threshold = .5f},
};

int mgpu_task_classes(const mgpu_task *task, const network *net)
{
    return task->boxes ? net->layers[net->n - 1].classes : net->outputs;
}

static const mgpu_task *find(const char *name)
{
    for(size_t i = 0; i < sizeof tasks / sizeof *tasks; ++i) {
        if(strcmp(tasks[i].name, name) == 0) return tasks + i;
    }
    mgpu_fail("-task %s: there is no such task; write classifier, tag or detector", name);
    return 0;
}

const mgpu_task *mgpu_task_of(const network *net, const mgpu_dataset *d, const char *name,
                              const char *cfg)
{
    int last = net->n - 1;
    while(last > 0 && net->layers[last].type == COST) --last;
    LAYER_TYPE type = net->layers[last].type;
    int detects = type == YOLO || type == REGION;
    const mgpu_task *task = name ? find(name) : 0;
    if(task && detects != (task == find("detector"))) {
        mgpu_fail("-task %s: %s ends in [%s]; a detector ends in [yolo] or [region], and only "
                  "a detector",
                  name, cfg, mgpu_layer_kind_of(net->layers + last)->name);
        return 0;
    }
    if(task || name) return task;
    if(detects) return find("detector");
    if(d->tag || type == LOGXENT) return find("tag");
    if(type == SOFTMAX) return find("classifier");
    mgpu_fail("%s ends in [%s]%s, which does not say what it learns: write -task classifier "
              "(one label an image) or -task tag (any number of them)",
              cfg, mgpu_layer_kind_of(net->layers + last)->name,
              last < net->n - 1 ? " and [cost]" : "");
    return 0;
}
