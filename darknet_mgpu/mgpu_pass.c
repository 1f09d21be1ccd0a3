/* mgpu_pass.c: every image of a list through a network, a batch at a time. */
#include "mgpu_pass.h"
#include "mgpu_error.h"
#include "mgpu_image.h"
#include "mgpu_tensors.h"
#include "mgpu_workers.h"
#include "mgpu.h" /* mgpu_select_row */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define READERS 4 /* threads that read images */
#define NMS .45f  /* of Darknet's detector commands, as the two below */
#define HIER .5f

typedef struct {
    int w, h;
    char error[512]; /* "": none */
} read_image;

/* One batch. Each reader writes to the rows number, number + READERS, ... */
typedef struct {
    network *net;
    image (*fit)(image, int, int);
    char **paths; /* of the rows */
    int rows;
    float *x; /* net->batch rows of net->inputs */
    read_image *read;
} batch;

static void read_rows(void *arg, int worker)
{
    batch *b = arg;
    for(int r = worker; r < b->rows; r += READERS) {
        float *row = b->x + (size_t)r * b->net->inputs;
        read_image *to = b->read + r;
        image im;
        *to = (read_image){0};
        memset(row, 0, b->net->inputs * sizeof *row);
        if(mgpu_image_read(b->paths[r], &im) < 0) {
            snprintf(to->error, sizeof to->error, "%s", mgpu_error());
            continue;
        }
        image fitted = b->fit(im, b->net->w, b->net->h);
        memcpy(row, fitted.data, b->net->inputs * sizeof *row);
        to->w = im.w;
        to->h = im.h;
        free_image(fitted);
        free_image(im);
    }
}

static int are_numbers(const float *x, int n)
{
    float sum = 0; /* 0 times what is no number is none */
    for(int i = 0; i < n; ++i) sum += 0 * x[i];
    return sum == 0;
}

/* Whether the selected row's outputs are: Darknet's box functions rely on it. */
static int has_numbers(const network *net)
{
    if(!are_numbers(net->output, net->outputs)) return 0;
    for(int i = 0; i < net->n; ++i) {
        const layer *l = net->layers + i;
        if(mgpu_layer_kind_of(l)->gathered && !are_numbers(l->output, l->outputs)) return 0;
    }
    return 1;
}

static int see_batch(const batch *b, int first, int (*see)(void *, const mgpu_view *),
                     void *state)
{
    for(int r = 0; r < b->rows; ++r) {
        const read_image *from = b->read + r;
        mgpu_view v = {.net = b->net, .path = b->paths[r], .number = first + r};
        v.w = from->w;
        v.h = from->h;
        if(mgpu_select_row(b->net, r) < 0) return -1;
        if(from->error[0])
            v.error = from->error;
        else if(!has_numbers(b->net))
            v.error = "what the network gives for it is not a number: its weights are no use";
        if(see(state, &v) < 0) return -1;
    }
    return 0;
}

int mgpu_pass(network *net, char **paths, int n, image (*fit)(image, int, int),
              int (*see)(void *state, const mgpu_view *v), void *state)
{
    batch b = {.net = net, .fit = fit};
    mgpu_workers *readers = mgpu_workers_make(READERS);
    if(!readers) return -1;
    b.x = calloc((size_t)net->batch * net->inputs, sizeof *b.x);
    b.read = calloc(net->batch, sizeof *b.read);
    int status = b.x && b.read ? 0 : mgpu_fail("no memory for %d images", net->batch);
    for(int first = 0; status == 0 && first < n; first += net->batch) {
        b.paths = paths + first;
        b.rows = n - first < net->batch ? n - first : net->batch;
        mgpu_workers_run(readers, read_rows, &b);
        status = network_predict(net, b.x) ? see_batch(&b, first, see, state) : -1;
    }
    mgpu_workers_free(readers);
    free(b.x);
    free(b.read);
    return status;
}

detection *mgpu_view_boxes(const mgpu_view *v, float threshold, int *n)
{
    int classes = v->net->layers[v->net->n - 1].classes;
    detection *found = get_network_boxes(v->net, v->w, v->h, threshold, HIER, 0, 0, n);
    for(int i = 0; i < *n; ++i) {
        box b = found[i].bbox;
        if(!isfinite(b.x) || !isfinite(b.y) || !isfinite(b.w) || !isfinite(b.h)) {
            memset(found[i].prob, 0, classes * sizeof(float));
        }
    }
    do_nms_sort(found, *n, classes, NMS);
    return found;
}

static float cut(double x, int most)
{
    return x < 0 ? 0 : x > most ? most : x;
}

mgpu_box mgpu_view_box(const mgpu_view *v, box b)
{
    return (mgpu_box){cut(b.x - b.w / 2., v->w), cut(b.y - b.h / 2., v->h),
                      cut(b.x + b.w / 2., v->w), cut(b.y + b.h / 2., v->h)};
}
