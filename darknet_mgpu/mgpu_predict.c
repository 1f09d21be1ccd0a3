/* mgpu_predict.c: darknet mgpu predict <data> <cfg> <weights> <image...> ... : a line of
 * JSON for each image, on stdout. */
#include "mgpu_command.h"
#include "mgpu_error.h"
#include "mgpu_image.h"
#include "mgpu_json.h"
#include "mgpu_task.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct {
    char *task, *list, *out; /* NULL: not given */
    float threshold;         /* below 0: the task's */
    int most;                /* 0: the task's */
} predict_options;

typedef struct {
    network *net;
    mgpu_dataset data;
    const mgpu_task *task;
    predict_options options;
    int classes, failed;
    image **letters;
} prediction;

/* One class's probability, of the whole image or of a box. */
typedef struct {
    int class;
    float probability;
    box where;
} shown;

static int by_probability(const void *one, const void *other)
{
    const shown *a = one, *b = other;
    if(a->probability != b->probability) return a->probability > b->probability ? -1 : 1;
    return a->class < b->class ? -1 : a->class > b->class;
}

/* Keeps probability p, if it is to be shown. */
static void show(const prediction *p, shown *list, int *n, int class, float probability,
                 box where)
{
    if(probability > p->options.threshold) list[(*n)++] = (shown){class, probability, where};
}

/* What is to be shown of an image, *n of them, best first; NULL with mgpu_error(). */
static shown *choose(const prediction *p, const mgpu_view *v, int *n)
{
    int boxes = 0;
    detection *found = p->task->boxes ? mgpu_view_boxes(v, p->options.threshold, &boxes) : 0;
    size_t room = (size_t)p->classes * (p->task->boxes ? boxes : 1);
    shown *list = malloc((room + 1) * sizeof *list);
    *n = 0;
    for(int c = 0; list && c < p->classes; ++c) {
        if(!p->task->boxes) show(p, list, n, c, v->net->output[c], (box){0});
        for(int i = 0; i < boxes; ++i) show(p, list, n, c, found[i].prob[c], found[i].bbox);
    }
    if(found) free_detections(found, boxes);
    if(list && *n) qsort(list, *n, sizeof *list, by_probability);
    if(list && p->options.most && *n > p->options.most) *n = p->options.most;
    if(!list) mgpu_fail("no memory for %zu boxes", room);
    return list;
}

static void print_shown(const prediction *p, const mgpu_view *v, const shown *s)
{
    printf("{\"class\": %d, \"name\": ", s->class);
    mgpu_json_string(stdout, p->data.names[s->class]);
    printf(", \"probability\": %f", s->probability);
    if(p->task->boxes) {
        mgpu_box b = mgpu_view_box(v, s->where);
        printf(", \"x\": %.2f, \"y\": %.2f, \"w\": %.2f, \"h\": %.2f", b.left, b.top,
               b.right - b.left, b.bottom - b.top);
    }
    printf("}");
}

/* Draws what is shown on the image and writes it as NUMBER_NAME.jpg. */
static int draw(const prediction *p, const mgpu_view *v, const shown *list, int n,
                char picture[PATH_MAX])
{
    image im;
    char *name = basecfg((char *)v->path);
    snprintf(picture, PATH_MAX, "%s/%d_%s.jpg", p->options.out, v->number + 1, name);
    free(name);
    if(mgpu_image_read(v->path, &im) < 0) return -1;
    for(int i = n - 1; i >= 0; --i) { /* the best on top */
        const char *class = p->data.names[list[i].class];
        mgpu_image_draw(im, list[i].where, list[i].class, p->classes, class, p->letters);
    }
    int status = mgpu_image_write(im, picture);
    free_image(im);
    return status;
}

static void print_error(prediction *p, const mgpu_view *v, const char *error)
{
    printf(", \"error\": ");
    mgpu_json_string(stdout, error);
    fprintf(stderr, "mgpu: image %d of %d: %s: %s\n", v->number + 1, p->data.npaths, v->path,
            error);
    ++p->failed;
}

static int see(void *state, const mgpu_view *v)
{
    prediction *p = state;
    char picture[PATH_MAX];
    int n = 0;
    shown *list = v->error ? 0 : choose(p, v, &n);
    if(!v->error && !list) return -1;
    printf("{\"image\": ");
    mgpu_json_string(stdout, v->path);
    if(v->error) {
        print_error(p, v, v->error);
    } else {
        printf(", \"width\": %d, \"height\": %d, \"%s\": [", v->w, v->h,
               p->task->boxes ? "boxes" : "classes");
        for(int i = 0; i < n; ++i) {
            if(i) printf(", ");
            print_shown(p, v, list + i);
        }
        printf("]");
    }
    if(list && p->options.out) {
        if(draw(p, v, list, n, picture) < 0) {
            print_error(p, v, mgpu_error());
        } else {
            printf(", \"picture\": ");
            mgpu_json_string(stdout, picture);
        }
    }
    printf("}\n");
    free(list);
    return 0;
}

static int check_out(const prediction *p, const char *cfg)
{
    struct stat st;
    const char *out = p->options.out;
    if(!out) return 0;
    if(!p->task->boxes) return mgpu_fail("-out is for boxes to draw, and %s finds none", cfg);
    if(stat(out, &st) < 0) return mgpu_fail("-out %s: %s; make it", out, strerror(errno));
    return S_ISDIR(st.st_mode) ? 0 : mgpu_fail("-out %s is not a directory", out);
}

/* The images named by words, or by a list. */
static int choose_images(prediction *p, char **words, int n)
{
    if(p->options.list && n)
        return mgpu_fail("%s: images and -list exclude each other", *words);
    if(p->options.list) return mgpu_dataset_list(&p->data, p->options.list);
    return n ? mgpu_dataset_paths(&p->data, words, n)
             : mgpu_fail("no image is named; write some, or -list FILE");
}

static int prepare(prediction *p, char **words, const mgpu_options *o)
{
    char *cfg = words[1];
    int n = 0;
    while(words[3 + n]) ++n;
    if(mgpu_dataset_read(words[0], 0, 0, &p->data) < 0) return -1;
    if(choose_images(p, words + 3, n) < 0) return -1;
    p->net = mgpu_load_network(cfg, words[2], 0, o);
    if(!p->net) return -1;
    p->task = mgpu_task_of(p->net, &p->data, p->options.task, cfg);
    if(!p->task || mgpu_check_channels(p->net, cfg) < 0 || check_out(p, cfg) < 0) return -1;
    p->classes = mgpu_task_classes(p->task, p->net);
    if(p->options.threshold < 0) p->options.threshold = p->task->threshold;
    if(!p->options.most) p->options.most = p->task->most < 0 ? p->data.top : p->task->most;
    if(p->options.out) p->letters = mgpu_letters_read();
    return mgpu_dataset_names(&p->data, p->task->names, p->classes);
}

static int predict(prediction *p)
{
    const mgpu_dataset *d = &p->data;
    if(mgpu_pass(p->net, d->paths, d->npaths, p->task->fit_predict, see, p) < 0) return -1;
    if(fflush(stdout) || ferror(stdout)) return mgpu_fail("not all lines could be written");
    if(!p->failed) return 0;
    return mgpu_fail("%d of %d images failed, as said above", p->failed, d->npaths);
}

int mgpu_command_predict(int argc, char **argv)
{
    char *words[argc + 4];
    int ngpus = 0;
    mgpu_list devices = {.n = 0};
    mgpu_options o = mgpu_default_options();
    prediction p = {.options.threshold = -1};
    const mgpu_argument table[] = {
        {"-gpus", MGPU_DEVICES, &devices, 0, 0},
        {"-ngpus", MGPU_INTEGER, &ngpus, 1, MGPU_HOST_DEVICES},
        MGPU_DEVICE_ARGUMENTS(&o),
        {"-task", MGPU_TEXT, &p.options.task, 0, 0},
        {"-list", MGPU_TEXT, &p.options.list, 0, 0},
        {"-thresh", MGPU_REAL, &p.options.threshold, 0, 1},
        {"-top", MGPU_INTEGER, &p.options.most, 1, INT_MAX},
        {"-out", MGPU_TEXT, &p.options.out, 0, 0},
    };
    if(mgpu_parse_arguments(argc, argv, table, sizeof table / sizeof *table, words, 3,
                            argc + 4) < 0 ||
       mgpu_choose_devices(&devices, ngpus, 0, &o) < 0) {
        return 1;
    }
    o.predicts = 1;
    int status = prepare(&p, words, &o);
    if(status == 0) status = predict(&p);
    mgpu_letters_free(p.letters);
    if(p.net) free_network(p.net);
    mgpu_dataset_free(&p.data);
    return status < 0;
}
