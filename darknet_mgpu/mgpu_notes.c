/* mgpu_notes.c: what a user should know about a network on its devices. */
#include "mgpu_notes.h"
#include "mgpu_cores.h"
#include "mgpu_device.h"
#include "mgpu_statistics.h"
#include "mgpu_step.h"

static int on_host(const network *root)
{
    const mgpu *m = root->mgpu;
    return m->shared.kind == &mgpu_host_device;
}

static void say_cores(const network *root)
{
    const mgpu *m = root->mgpu;
    int n = m->n, threads = m->shared.threads;
    if(!on_host(root) || n * threads <= mgpu_cores()) return;
    fprintf(stderr, "mgpu: devices and threads: %d x %d share %d cores\n", n, threads,
            mgpu_cores());
}

static void say_devices(const network *root)
{
    const mgpu *m = root->mgpu;
    mgpu_plan_sizes sizes = mgpu_step_sizes(m, 0);
    int n = m->n, rows[n], used = sizes.whole ? n : mgpu_plan_cut(&sizes, rows);
    if(used < n) {
        fprintf(stderr, "mgpu: %d of %d devices ha%s rows: raise batch\n", used, n,
                used == 1 ? "s" : "ve");
    }
    if(!sizes.whole && used > 1 && !m->sync && mgpu_has_batch_normalisation(root)) {
        fprintf(stderr,
                "mgpu: a mini-batch of %d rows is cut over %d devices, and batch normalisation "
                "sees each slice alone; with %s or sync_bn it sees whole mini-batches\n",
                root->batch, used,
                mgpu_recurrent(root) ? "one device" : "subdivisions of at least the devices");
    }
    if(!sizes.whole && used > 1 && m->reproducible) {
        fprintf(stderr,
                "mgpu: the rows of a mini-batch are cut: reproducible holds for numbers "
                "of devices up to subdivisions=%d\n",
                root->subdivisions);
    }
}

/* ---- what a cfg says that has no effect, as in Darknet's own code ---- */

static int has_dot(const network *net, const layer *l)
{
    (void)net;
    return l->type == CONVOLUTIONAL && l->dot > 0;
}

static int smooth_elsewhere(const network *net, const layer *l)
{
    (void)net;
    return l->smooth != 0 && l->type != CONVOLUTIONAL && l->type != COST;
}

static int has_ratio(const network *net, const layer *l)
{
    (void)net;
    return l->type == COST && l->ratio != 0;
}

static int crops_more(const network *net, const layer *l)
{
    (void)net;
    return l->type == CROP &&
           (l->angle != 0 || l->saturation > 1 || l->exposure > 1 || l->shift != 0);
}

static int not_updated(const network *net, const layer *l)
{
    (void)net;
    return l->type == BATCHNORM;
}

static int sgd_in_adam(const network *net, const layer *l)
{
    return net->adam && mgpu_layer_kind_of(l)->sgd;
}

static int not_clipped(const network *net, const layer *l)
{
    if(net->clip == 0) return 0;
    const mgpu_layer_kind *kind = mgpu_layer_kind_of(l);
    return !kind->clips && (kind->nkinds || kind->nnested) && l->type != BATCHNORM;
}

static int own_rate(const network *net, const layer *l)
{
    (void)net;
    return mgpu_layer_kind_of(l)->nnested && l->learning_rate_scale != 1;
}

static const struct {
    int (*holds)(const network *net, const layer *l);
    int host; /* 1: of host devices only */
    const char *text;
} notes[] = {
    {has_dot, 0, "dot= has no effect"},
    {smooth_elsewhere, 0, "smooth= has no effect but in convolutional and cost layers"},
    {has_ratio, 0, "ratio= has no effect"},
    {crops_more, 1, "angle=, saturation=, exposure= and shift= have no effect on host devices"},
    {not_updated, 0, "Darknet does not update its scales and biases"},
    {own_rate, 0,
     "learning_rate= has no effect: Darknet does not hand it to the layers within"},
    {sgd_in_adam, 0, "learns by momentum SGD in spite of adam=1, as in Darknet"},
    {not_clipped, 0,
     "clip= does not hold for it: Darknet clips the weights of convolutional layers"},
};

static void say_ignored(const network *net)
{
    for(int i = 0; i < net->n; ++i) {
        const layer *l = net->layers + i;
        for(size_t k = 0; k < sizeof notes / sizeof *notes; ++k) {
            if(notes[k].host && !on_host(net)) continue;
            if(!notes[k].holds(net, l)) continue;
            fprintf(stderr, "mgpu: layer %d, [%s]: %s\n", i, mgpu_layer_kind_of(l)->name,
                    notes[k].text);
        }
    }
}

void mgpu_say_notes(const network *root, int predicts)
{
    say_cores(root);
    if(predicts) return;
    say_devices(root);
    say_ignored(root);
}
