/* mgpu_device_cuda.c: CUDA devices.
 *
 * What layers do is issued to the device's default stream; copies have a stream of their own
 * beside it, and events keep the two in order. A replica's tensors are in arenas on the device,
 * at the offsets of the root's. */
#ifdef GPU
#include "mgpu_cuda.h"
#include "mgpu_device.h"
#include "mgpu_error.h"
#include "mgpu.h"
#include "mgpu_hooks.h"
#include "mgpu_random_cuda.h"
#include "mgpu_reduce_cuda.h"
#include "mgpu_workers.h"

#include <stdlib.h>
#include <time.h>
#ifdef NCCL
#include <nccl.h>
#endif

/* What a replica has on its device. */
typedef struct {
    float *weights, *gradients, *running; /* arenas W, G and R */
    float *updates, *moments[2];          /* U, m and v, where the device updates itself */
    float *staging;                       /* STAGING floats of another device's gradient */
    cudaStream_t copies;
    cudaEvent_t computed;   /* what was issued to the default stream so far */
    cudaEvent_t *landed;    /* of each bucket: its gradient is on the host */
    cudaEvent_t *published; /* of each bucket: the root's weights are here */
    float *crop;            /* the host's numbers for a crop layer's rows */
#ifdef NCCL
    ncclComm_t comm;
#endif
} place;

#define STAGING ((size_t)4 << 20)

/* The replica whose thread this is. */
static _Thread_local mgpu_replica *current;

static place *place_of(const mgpu_replica *r)
{
    return r->place;
}

/* ---- errors ---- */

static _Noreturn void fail(const mgpu_replica *r, const char *what, const char *why)
{
    const network *net = r->net;
    char where[128] = "";
    if(net && r->layer < net->n && (r->phase[0] == 'f' || r->phase[0] == 'b')) {
        snprintf(where, sizeof where, ", noticed in the %s at layer %d (%s)", r->phase,
                 r->layer, mgpu_layer_kind_of(net->layers + r->layer)->name);
    }
    mgpu_job_fail("CUDA device %d: %s%s%s%s", r->device, what, *what ? ": " : "", why, where);
}

void mgpu_cuda_fail(const char *what, const char *why)
{
    if(current) fail(current, what, why);
    mgpu_job_fail("CUDA device %d: %s%s%s", gpu_index, what, *what ? ": " : "", why);
}

static void check(cudaError_t status, const char *what)
{
    if(status != cudaSuccess) mgpu_cuda_fail(what, mgpu_cuda_reason(status));
}

/* ---- memory of the host ---- */

static float *make_arena(size_t n)
{
    float *arena;
    size_t bytes = (n ? n : 1) * sizeof *arena;
    cudaError_t status = cudaHostAlloc((void **)&arena, bytes, cudaHostAllocPortable);
    if(status != cudaSuccess) {
        mgpu_fail("no memory for an arena of %zu MB that CUDA devices can copy from: %s",
                  bytes >> 20, cudaGetErrorString(cudaGetLastError()));
        return 0;
    }
    return memset(arena, 0, bytes);
}

static void free_arena(float *arena)
{
    if(arena) cudaFreeHost(arena);
}

/* ---- open and close ---- */

static void *make_room(const mgpu_replica *r, size_t n, size_t size)
{
    void *p = calloc(n + 1, size);
    if(!p) mgpu_job_fail("CUDA device %d: no memory of the host for it", r->device);
    return p;
}

static float *make_floats(size_t n)
{
    float *x;
    size_t bytes = (n ? n : 1) * sizeof *x;
    check(cudaMalloc((void **)&x, bytes), "making an arena");
    check(cudaMemsetAsync(x, 0, bytes, 0), "clearing an arena");
    return x;
}

static cudaEvent_t make_event(void)
{
    cudaEvent_t event;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
    return event;
}

static cudaEvent_t *make_events(const mgpu_replica *r)
{
    int n = r->shared->nbuckets;
    cudaEvent_t *events = make_room(r, n, sizeof *events);
    for(int i = 0; i < n; ++i) events[i] = make_event();
    return events;
}

/* For messages: a device without room says so before Darknet is built on it. */
static void open_device(mgpu_replica *r)
{
    const mgpu_shared *s = r->shared;
    size_t n = s->layout->learned;
    current = r;
    mgpu_cuda_modes = (mgpu_cuda_modes_t){s->deterministic, s->tf32};
    cuda_set_device(r->device);
    place *p = r->place = make_room(r, 1, sizeof *p);
    p->weights = make_floats(n);
    p->gradients = make_floats(n);
    p->running = make_floats(s->layout->running);
    if(s->on_device) {
        p->updates = make_floats(n);
        for(int i = 0; i < 2 && s->moments[i]; ++i) p->moments[i] = make_floats(n);
        p->staging = make_floats(n < STAGING ? n : STAGING);
    }
    check(cudaStreamCreateWithFlags(&p->copies, cudaStreamNonBlocking), "making a stream");
    p->computed = make_event();
    p->landed = make_events(r);
    p->published = make_events(r);
}

static void free_events(cudaEvent_t *events, int n)
{
    for(int i = 0; events && i < n; ++i) {
        if(events[i]) cudaEventDestroy(events[i]);
    }
    free(events);
}

/* Goes on where a device fails: there is nothing left to lose on it. */
static void close_device(mgpu_replica *r)
{
    place *p = r->place;
    if(!p) return;
    float *arenas[] = {p->weights,    p->gradients,  p->running, p->updates,
                       p->moments[0], p->moments[1], p->staging};
    for(size_t i = 0; i < sizeof arenas / sizeof *arenas; ++i) {
        if(arenas[i]) cudaFree(arenas[i]);
    }
#ifdef NCCL
    if(p->comm) ncclCommDestroy(p->comm);
#endif
    if(p->computed) cudaEventDestroy(p->computed);
    free_events(p->landed, r->shared->nbuckets);
    free_events(p->published, r->shared->nbuckets);
    if(p->copies) cudaStreamDestroy(p->copies);
    mgpu_cuda_free_handles();
    free(p->crop);
    free(p);
    r->place = 0;
    current = 0;
}

static float **field(network *net, const mgpu_tensor *t, size_t offset)
{
    return (float **)((char *)mgpu_tensor_layer(net, t) + offset);
}

/* Moves Darknet's array into an arena, or with `arena` null to nothing. */
static void move(float **array, float *arena, size_t offset)
{
    if(arena && *array) cuda_free(*array);
    *array = arena ? arena + offset : 0;
}

static void point(network *net, const mgpu_layout *layout, float *values, float *gradients,
                  float *running)
{
    for(int i = 0; i < layout->n; ++i) {
        const mgpu_tensor *t = layout->tensors + i;
        const mgpu_tensor_kind *kind = t->kind;
        move(field(net, t, kind->value_gpu), kind->running ? running : values, t->offset);
        if(!kind->running) move(field(net, t, kind->gradient_gpu), gradients, t->offset);
    }
}

/* A root that runs there has its momentum where Darknet's update functions look for it. */
static void attach(mgpu_replica *r, network *net)
{
    place *p = r->place;
    point(net, r->shared->layout, p->weights, net == r->net ? p->gradients : p->updates,
          p->running);
}

static void detach(mgpu_replica *r, network *net)
{
    point(net, r->shared->layout, 0, 0, 0);
}

/* ---- to and from the root ---- */

/* What is issued to the stream of copies from now on waits for what layers do now. */
static void wait_computed(place *p)
{
    check(cudaEventRecord(p->computed, 0), "recording an event");
    check(cudaStreamWaitEvent(p->copies, p->computed, 0), "ordering copies");
}

static void copy_in(mgpu_replica *r, float *device, const float *host, size_t n, cudaStream_t s)
{
    r->profile.to_device += n * sizeof *host;
    check(cudaMemcpyAsync(device, host, n * sizeof *host, cudaMemcpyHostToDevice, s),
          "copying to it");
}

static void copy_out(mgpu_replica *r, float *host, const float *device, size_t n,
                     cudaStream_t s)
{
    r->profile.from_device += n * sizeof *host;
    check(cudaMemcpyAsync(host, device, n * sizeof *host, cudaMemcpyDeviceToHost, s),
          "copying from it");
}

static void publish(mgpu_replica *r, int bucket)
{
    place *p = r->place;
    const mgpu_bucket *b = r->shared->buckets + bucket;
    wait_computed(p);
    copy_in(r, p->weights + b->from, r->shared->weights + b->from, b->to - b->from, p->copies);
    check(cudaEventRecord(p->published[bucket], p->copies), "recording an event");
}

static void ready(mgpu_replica *r, int bucket)
{
    check(cudaStreamWaitEvent(0, place_of(r)->published[bucket], 0), "waiting for weights");
}

static void finish(mgpu_replica *r)
{
    (void)r;
    check(cudaStreamSynchronize(0), "finishing");
}

static void statistics(mgpu_replica *r)
{
    copy_in(r, place_of(r)->running, r->shared->running, r->shared->layout->running, 0);
    finish(r);
}

static void collect(mgpu_replica *r, int bucket)
{
    place *p = r->place;
    const mgpu_bucket *b = r->shared->buckets + bucket;
    size_t n = b->to - b->from;
    wait_computed(p);
    copy_out(r, r->gradients + b->from, p->gradients + b->from, n, p->copies);
    check(cudaMemsetAsync(p->gradients + b->from, 0, n * sizeof(float), p->copies), "clearing");
    check(cudaEventRecord(p->landed[bucket], p->copies), "recording an event");
    if(bucket + 1 < r->shared->nbuckets) return;
    check(cudaStreamWaitEvent(0, p->landed[bucket], 0), "ordering layers");
}

/* Called for another's replica too: its error is its own. */
static void landed(mgpu_replica *r, int bucket)
{
    cudaError_t status = cudaEventSynchronize(place_of(r)->landed[bucket]);
    if(status != cudaSuccess)
        fail(r, "bringing a gradient to the host", mgpu_cuda_reason(status));
}

static void fetch(mgpu_replica *r, float *host, const float *device, size_t n)
{
    copy_out(r, host, device, n, 0);
}

static void store(mgpu_replica *r, float *device, const float *host, size_t n)
{
    copy_in(r, device, host, n, 0);
}

/* ---- devices that update themselves ---- */

static void give(mgpu_replica *r, const float *sum, int bucket)
{
    const mgpu_bucket *b = r->shared->buckets + bucket;
    copy_in(r, place_of(r)->gradients + b->from, sum + b->from, b->to - b->from, 0);
}

static void clear(mgpu_replica *r)
{
    size_t bytes = r->shared->layout->learned * sizeof(float);
    check(cudaMemsetAsync(place_of(r)->gradients, 0, bytes, 0), "clearing gradients");
}

/* U += the gradient that another device has, piece by piece. */
static void merge_other(mgpu_replica *r, const mgpu_replica *other)
{
    place *p = r->place;
    size_t n = r->shared->layout->learned;
    for(size_t at = 0; at < n; at += STAGING) {
        size_t k = n - at < STAGING ? n - at : STAGING;
        const float *from = place_of(other)->gradients + at;
        check(cudaMemcpyPeerAsync(p->staging, r->device, from, other->device, k * sizeof *from,
                                  0),
              "copying a gradient from another device");
        r->profile.to_device += k * sizeof *from;
        mgpu_merge_gpu(p->updates + at, p->staging, k);
    }
}

#ifdef NCCL
/* NCCL's kernels wait for one another: a device that fails would keep the others for good. */
static void wait_reduced(mgpu_replica *r)
{
    place *p = r->place;
    for(;;) {
        cudaError_t status = cudaStreamQuery(p->copies);
        if(status == cudaSuccess) return;
        if(status != cudaErrorNotReady) check(status, "adding up gradients by NCCL");
        cudaGetLastError(); /* not to be taken for a later call's */
        if(mgpu_job_broken()) {
            ncclCommAbort(p->comm);
            p->comm = 0;
            mgpu_job_stop();
        }
        nanosleep(&(struct timespec){0, 20000}, 0);
    }
}

static void reduce(mgpu_replica *r, int bucket)
{
    place *p = r->place;
    const mgpu_bucket *b = r->shared->buckets + bucket;
    float *g = p->gradients + b->from;
    wait_computed(p);
    ncclResult_t status =
        ncclAllReduce(g, g, b->to - b->from, ncclFloat, ncclSum, p->comm, p->copies);
    if(status != ncclSuccess) fail(r, "adding up gradients", ncclGetErrorString(status));
    r->profile.from_device += (b->to - b->from) * sizeof *g;
    if(bucket + 1 == r->shared->nbuckets) wait_reduced(r);
}

/* NCCL has one rank a device: replicas that share one copy between them instead. */
static int join(mgpu_shared *shared, mgpu_replica *replicas, int n)
{
    int ids[MGPU_HOST_DEVICES] = {0};
    ncclComm_t comms[n];
    for(int i = 0; i < n; ++i) {
        ids[i] = replicas[i].device;
        for(int k = 0; k < i; ++k) {
            if(ids[k] == ids[i]) return 0;
        }
    }
    ncclResult_t status = ncclCommInitAll(comms, n, ids);
    if(status != ncclSuccess) {
        return mgpu_fail("NCCL could not join %d devices: %s; use cpu_merge=1", n,
                         ncclGetErrorString(status));
    }
    for(int i = 0; i < n; ++i) place_of(replicas + i)->comm = comms[i];
    shared->joined = 1;
    return 0;
}
#endif

static void merge(mgpu_replica *r, mgpu_replica *const *from, int k)
{
    place *p = r->place;
    for(int i = 0; i < k; ++i) {
        if(from[i] == r) {
            mgpu_merge_gpu(p->updates, p->gradients, r->shared->layout->learned);
        } else {
            merge_other(r, from[i]);
        }
    }
    check(cudaGetLastError(), "adding up gradients");
    finish(r);
}

static void update(mgpu_replica *r, size_t from, size_t to, mgpu_rule rule)
{
    place *p = r->place;
    float *m = p->moments[0], *v = p->moments[1];
    mgpu_update_gpu(p->weights + from, p->updates + from, m ? m + from : 0, v ? v + from : 0,
                    to - from, rule);
    check(cudaGetLastError(), "updating");
}

/* Arena by arena, what the root has and the device keeps. */
static int each_arena(mgpu_replica *r, float *root[4], float *device[4])
{
    const mgpu_shared *s = r->shared;
    const place *p = r->place;
    float *roots[] = {s->weights, s->updates, s->moments[0], s->moments[1]};
    float *devices[] = {p->weights, p->updates, p->moments[0], p->moments[1]};
    int n = 0;
    for(int i = 0; i < 4; ++i) {
        if(!roots[i]) continue;
        root[n] = roots[i];
        device[n++] = devices[i];
    }
    return n;
}

static void pull(mgpu_replica *r)
{
    float *root[4], *device[4];
    int n = each_arena(r, root, device);
    for(int i = 0; i < n; ++i) copy_out(r, root[i], device[i], r->shared->layout->learned, 0);
    finish(r);
}

static void push(mgpu_replica *r)
{
    float *root[4], *device[4];
    int n = each_arena(r, root, device);
    for(int i = 0; i < n; ++i) copy_in(r, device[i], root[i], r->shared->layout->learned, 0);
    finish(r);
}

/* ---- what layers draw ---- */

void mgpu_crop_numbers(const layer *l, int flip, int down, int right, float *numbers)
{
    int wide = l->w - l->out_w, high = l->h - l->out_h;
    numbers[4] = wide ? (float)right / wide : 0;
    numbers[5] = high ? (float)down / high : 0;
    numbers[6] = flip;
}

/* What a crop layer's kernels take for each row: as mgpu_crop draws, and for the colours, which
 * layers on the host leave alone, what mgpu_uniform does. */
static void draw_crop(mgpu_replica *r, const layer *l, network net, float *x)
{
    place *p = r->place;
    free(p->crop);
    p->crop = make_room(r, (size_t)l->batch * 8, sizeof *p->crop);
    mgpu_uniform(net, p->crop, l->batch, 8);
    for(int row = 0; row < l->batch; ++row) {
        int flip = 0, down = 0, right = 0;
        mgpu_crop(*l, net, row, &flip, &down, &right);
        mgpu_crop_numbers(l, flip, down, right, p->crop + row * 8);
    }
    store(r, x, p->crop, (size_t)l->batch * 8);
    finish(r);
}

int mgpu_draw(float *x_gpu, size_t n)
{
    mgpu_replica *r = current;
    if(!r || !r->net) return 0;
    network net = *r->net;
    net.index = r->layer;
    const layer *l = net.layers + r->layer;
    if(l->type == CROP) {
        draw_crop(r, l, net, x_gpu);
        return 1;
    }
    const network *root = r->shared->root;
    mgpu_uniform_gpu(x_gpu, l->batch, n / l->batch, r->shared->seed, *net.seen / root->batch,
                     MGPU_DRAW_LAYER + r->layer, r->row, r->rows,
                     root->batch / root->time_steps);
    check(cudaGetLastError(), "drawing");
    return 1;
}

const mgpu_device mgpu_cuda_device = {
    .name = "CUDA",
    .count = mgpu_cuda_count,
    .make_arena = make_arena,
    .free_arena = free_arena,
#ifdef NCCL
    .join = join,
    .reduce = reduce,
#endif
    .open = open_device,
    .close = close_device,
    .attach = attach,
    .detach = detach,
    .publish = publish,
    .ready = ready,
    .statistics = statistics,
    .collect = collect,
    .landed = landed,
    .fetch = fetch,
    .store = store,
    .finish = finish,
    .give = give,
    .merge = merge,
    .clear = clear,
    .update = update,
    .pull = pull,
    .push = push,
};
#endif
