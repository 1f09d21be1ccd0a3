/* mgpu_valid.c: darknet mgpu valid <data> <cfg> <weights> ... */
#include "mgpu_command.h"
#include "mgpu_error.h"
#include "mgpu_task.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    int top1, topk, done;
} score;

/* One image as stock's `classifier valid` takes it: the middle, at the net's size. */
static void load(const char *path, const network *net, float *x)
{
    image im = load_image_color((char *)path, 0, 0);
    image crop = center_crop_image(im, net->w, net->h);
    memcpy(x, crop.data, net->inputs * sizeof(float));
    free_image(crop);
    free_image(im);
}

static void count(score *s, float *output, int outputs, int truth, int top)
{
    int best[top];
    top_k(output, outputs, top, best);
    s->top1 += best[0] == truth;
    for(int i = 0; i < top; ++i) s->topk += best[i] == truth;
    ++s->done;
}

/* Predicts all images, a batch at a time; the last batch may be short. */
static int validate(network *net, const mgpu_dataset *c, score *s)
{
    float *x = calloc((size_t)net->batch * net->inputs, sizeof *x);
    if(!x) return mgpu_fail("no memory for a batch of %d images", net->batch);
    for(int first = 0; first < c->npaths; first += net->batch) {
        int rows = c->npaths - first < net->batch ? c->npaths - first : net->batch;
        for(int r = 0; r < rows; ++r)
            load(c->paths[first + r], net, x + (size_t)r * net->inputs);
        float *output = network_predict(net, x);
        if(!output) break;
        for(int r = 0; r < rows; ++r) {
            int truth = mgpu_class_of(c->paths[first + r], c->labels, c->classes);
            count(s, output + (size_t)r * net->outputs, net->outputs, truth, c->top);
        }
    }
    free(x);
    return s->done == c->npaths ? 0 : -1;
}

int mgpu_command_valid(int argc, char **argv)
{
    char *words[3];
    int ngpus = 0;
    mgpu_list devices = {.n = 0};
    mgpu_options o = mgpu_default_options();
    const mgpu_argument table[] = {
        {"-gpus", MGPU_DEVICES, &devices, 0, 0},
        {"-ngpus", MGPU_INTEGER, &ngpus, 1, MGPU_HOST_DEVICES},
    };
    if(mgpu_parse_arguments(argc, argv, table, sizeof table / sizeof *table, words, 3, 3) < 0 ||
       mgpu_choose_devices(&devices, ngpus, 0, &o) < 0) {
        return 1;
    }
    mgpu_dataset c;
    score s = {0};
    if(mgpu_dataset_read(words[0], "valid", "data/train.list", &c) < 0) return 1;
    network *net = mgpu_load_network(words[1], words[2], 0, &o);
    const mgpu_task *task = net ? mgpu_task_of(net, &c, "classifier", words[1]) : 0;
    int status = task && mgpu_check_images(&c) == 0 ? task->check(net, &c, words[1]) : -1;
    if(status == 0 && (c.top < 1 || c.top > c.classes)) {
        status = mgpu_fail("%s: top=%d is not within 1..%d", words[0], c.top, c.classes);
    }
    if(status == 0) status = validate(net, &c, &s);
    if(status == 0) {
        printf("top 1: %f, top %d: %f, %d images\n", (float)s.top1 / s.done, c.top,
               (float)s.topk / s.done, s.done);
    }
    if(net) free_network(net);
    mgpu_dataset_free(&c);
    return status < 0;
}
