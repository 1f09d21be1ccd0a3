/* mgpu_dnnl.c: convolutions by oneDNN 2 or 3, on the host.
 *
 * Of the algorithms the first one on a list is taken that there is for the shape, never the
 * fastest of a trial: replicas with equal work compute it alike. Scratch memory is the
 * caller's. */
#ifdef DNNL
#include "mgpu_dnnl.h"
#include "mgpu_error.h"
#include "mgpu_workers.h"

#include <oneapi/dnnl/dnnl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- oneDNN 2 and 3 ---- */

#if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t description;
#else
typedef const dnnl_memory_desc_t *description;
#endif

static description describe(int n, const dnnl_dims_t dims, dnnl_format_tag_t tag)
{
#if DNNL_VERSION_MAJOR >= 3
    dnnl_memory_desc_t d;
    if(dnnl_memory_desc_create_with_tag(&d, n, dims, dnnl_f32, tag) != dnnl_success) return 0;
#else
    dnnl_memory_desc_t *d = malloc(sizeof *d);
    if(d && dnnl_memory_desc_init_by_tag(d, n, dims, dnnl_f32, tag) != dnnl_success) {
        free(d);
        return 0;
    }
#endif
    return d;
}

static void forget(description d)
{
#if DNNL_VERSION_MAJOR >= 3
    if(d) dnnl_memory_desc_destroy((dnnl_memory_desc_t)d);
#else
    free((void *)d);
#endif
}

static int append_sum(dnnl_post_ops_t ops)
{
#if DNNL_VERSION_MAJOR >= 3
    return dnnl_post_ops_append_sum(ops, 1, 0, dnnl_undef) == dnnl_success;
#else
    return dnnl_post_ops_append_sum(ops, 1) == dnnl_success;
#endif
}

/* What a convolution is of. */
typedef struct {
    description source, weights, output;
    dnnl_dims_t strides, dilates, pads;
} operands;

/* ---- the processor ---- */

static dnnl_engine_t processor;
static int block;

static void find_processor(void)
{
    if(dnnl_engine_create(&processor, dnnl_cpu, 0) != dnnl_success) return;
    dnnl_cpu_isa_t isa = dnnl_get_effective_cpu_isa();
    if((isa & dnnl_cpu_isa_avx2) == dnnl_cpu_isa_avx2) block = 8;
    if((isa & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core) block = 16;
}

static dnnl_engine_t engine(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_processor);
    return processor;
}

int mgpu_dnnl_block(void)
{
    engine();
    return block;
}

/* ---- one convolution ---- */

/* What oneDNN runs for a convolution: the passes, and copies to the order that it wants an
 * array in and back. A copy that is not needed is not made: its `run` is null. */
typedef enum {
    FORWARD,
    BACKWARD_DATA,
    BACKWARD_WEIGHTS,
    SOURCE_IN,
    OUTPUT_OUT,
    DELTA_IN,         /* the output's */
    SOURCE_DELTA_OUT, /* in its place, */
    SOURCE_DELTA_ADD, /* or to what is there */
    GRADIENT_ADD,
    WEIGHTS_OF_FORWARD,
    WEIGHTS_OF_BACKWARD,
    STEPS
} step_name;

typedef struct {
    dnnl_primitive_desc_t described;
    dnnl_primitive_t run;
    dnnl_memory_t from, with, to, scratch; /* `with`: the second of two that go in */
    size_t scratch_bytes;
} step;

struct mgpu_dnnl {
    dnnl_stream_t stream;
    step steps[STEPS];
    /* Where in the scratch memory copies are, and what steps want, bytes; the source's at 0. */
    size_t output_at, result_at, weights_at, rest_at, scratch;
};

static size_t rounded(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static description argument(const mgpu_dnnl *d, step_name of, dnnl_query_t what)
{
    return dnnl_primitive_desc_query_md(d->steps[of].described, what, 0);
}

static dnnl_memory_t memory_of(description d)
{
    dnnl_memory_t m = 0;
    if(d) dnnl_memory_create(&m, d, processor, DNNL_MEMORY_NONE);
    return m;
}

static dnnl_primitive_attr_t attributes(int add)
{
    dnnl_primitive_attr_t a = 0;
    dnnl_post_ops_t ops = 0;
    if(dnnl_primitive_attr_create(&a) != dnnl_success) return 0;
    dnnl_primitive_attr_set_scratchpad_mode(a, dnnl_scratchpad_mode_user);
    if(!add) return a;
    if(dnnl_post_ops_create(&ops) == dnnl_success && append_sum(ops))
        dnnl_primitive_attr_set_post_ops(a, ops);
    dnnl_post_ops_destroy(ops);
    return a;
}

static int finish_step(mgpu_dnnl *d, step_name name, description from, description with,
                       description to)
{
    step *s = d->steps + name;
    if(dnnl_primitive_create(&s->run, s->described) != dnnl_success) return 0;
    description scratch = argument(d, name, dnnl_query_scratchpad_md);
    s->from = memory_of(from);
    s->with = memory_of(with);
    s->to = memory_of(to);
    s->scratch_bytes = scratch ? dnnl_memory_desc_get_size(scratch) : 0;
    s->scratch = s->scratch_bytes ? memory_of(scratch) : 0;
    return s->from && s->to && (s->with || !with) && (s->scratch || !s->scratch_bytes);
}

static void free_step(step *s)
{
    dnnl_memory_t memory[] = {s->from, s->with, s->to, s->scratch};
    for(int i = 0; i < 4; ++i) {
        if(memory[i]) dnnl_memory_destroy(memory[i]);
    }
    if(s->run) dnnl_primitive_destroy(s->run);
    if(s->described) dnnl_primitive_desc_destroy(s->described);
}

/* The passes, in the words of oneDNN 3 and 2. `forward` is the described forward pass. */
static dnnl_status_t describe_pass(dnnl_primitive_desc_t *p, step_name what,
                                   dnnl_alg_kind_t how, const operands *o,
                                   const_dnnl_primitive_desc_t forward,
                                   const_dnnl_primitive_attr_t attr)
{
#if DNNL_VERSION_MAJOR >= 3
    if(what == FORWARD)
        return dnnl_convolution_forward_primitive_desc_create(
            p, processor, dnnl_forward_training, how, o->source, o->weights, 0, o->output,
            o->strides, o->dilates, o->pads, o->pads, attr);
    if(what == BACKWARD_DATA)
        return dnnl_convolution_backward_data_primitive_desc_create(
            p, processor, how, o->source, o->weights, o->output, o->strides, o->dilates,
            o->pads, o->pads, forward, attr);
    return dnnl_convolution_backward_weights_primitive_desc_create(
        p, processor, how, o->source, o->weights, 0, o->output, o->strides, o->dilates, o->pads,
        o->pads, forward, attr);
#else
    dnnl_convolution_desc_t c;
    dnnl_status_t status;
    if(what == FORWARD)
        status = dnnl_dilated_convolution_forward_desc_init(
            &c, dnnl_forward_training, how, o->source, o->weights, 0, o->output, o->strides,
            o->dilates, o->pads, o->pads);
    else if(what == BACKWARD_DATA)
        status = dnnl_dilated_convolution_backward_data_desc_init(
            &c, how, o->source, o->weights, o->output, o->strides, o->dilates, o->pads,
            o->pads);
    else
        status = dnnl_dilated_convolution_backward_weights_desc_init(
            &c, how, o->source, o->weights, 0, o->output, o->strides, o->dilates, o->pads,
            o->pads);
    return status == dnnl_success ? dnnl_primitive_desc_create(p, &c, attr, processor, forward)
                                  : status;
#endif
}

static const dnnl_query_t arguments[][3] = {
    [FORWARD] = {dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md},
    [BACKWARD_DATA] = {dnnl_query_diff_dst_md, dnnl_query_weights_md, dnnl_query_diff_src_md},
    [BACKWARD_WEIGHTS] = {dnnl_query_src_md, dnnl_query_diff_dst_md,
                          dnnl_query_diff_weights_md},
};

/* Winograd's way with three by three filters is there for some processors and versions. */
static int make_pass(mgpu_dnnl *d, step_name name, const operands *o, int winograd)
{
    static const dnnl_alg_kind_t ways[] = {dnnl_convolution_winograd, dnnl_convolution_direct};
    const dnnl_query_t *asked = arguments[name];
    dnnl_primitive_attr_t attr = attributes(0);
    dnnl_status_t status = dnnl_unimplemented;
    for(int i = !winograd; i < 2 && status != dnnl_success; ++i) {
        status = describe_pass(&d->steps[name].described, name, ways[i], o,
                               d->steps[FORWARD].described, attr);
    }
    dnnl_primitive_attr_destroy(attr);
    return status == dnnl_success &&
           finish_step(d, name, argument(d, name, asked[0]), argument(d, name, asked[1]),
                       argument(d, name, asked[2]));
}

static int make_copy(mgpu_dnnl *d, step_name name, description from, description to, int add)
{
    if(!add && dnnl_memory_desc_equal(from, to)) return 1;
    dnnl_primitive_attr_t attr = attributes(add);
    dnnl_status_t status = dnnl_reorder_primitive_desc_create(&d->steps[name].described, from,
                                                              processor, to, processor, attr);
    dnnl_primitive_attr_destroy(attr);
    return status == dnnl_success && finish_step(d, name, from, 0, to);
}

/* ---- making one ---- */

/* In the order that Darknet's array has; with `any`, in the one that oneDNN likes best, but of
 * few channels, like those of a picture, as they are. */
static description describe_images(const mgpu_dnnl_shape *s, int of_output, int any)
{
    const dnnl_dims_t in = {s->rows, s->c, s->h, s->w},
                      out = {s->rows, s->n, s->out_h, s->out_w};
    dnnl_format_tag_t tag = any && (of_output || s->c >= 4) ? dnnl_format_tag_any : dnnl_nchw;
    if(of_output ? s->output_blocked : s->source_blocked)
        tag = block == 16 ? dnnl_nChw16c : dnnl_nChw8c;
    return describe(4, of_output ? out : in, tag);
}

static description describe_weights(const mgpu_dnnl_shape *s, int any)
{
    const dnnl_dims_t of_groups = {s->groups, s->n / s->groups, s->c / s->groups, s->size,
                                   s->size},
                      of_one = {s->n, s->c, s->size, s->size};
    if(s->groups > 1) return describe(5, of_groups, any ? dnnl_format_tag_any : dnnl_goihw);
    return describe(4, of_one, any ? dnnl_format_tag_any : dnnl_oihw);
}

/* The forward pass chooses the order of images; the backward passes take it. */
static int make_passes(mgpu_dnnl *d, const mgpu_dnnl_shape *s)
{
    int winograd = s->size == 3 && s->stride == 1 && s->groups == 1;
    description any[] = {describe_images(s, 0, 1), describe_weights(s, 1),
                         describe_images(s, 1, 1)};
    operands o = {any[0], any[1], any[2], {s->stride, s->stride}, {0, 0}, {s->pad, s->pad}};
    int ok = any[0] && any[1] && any[2] && make_pass(d, FORWARD, &o, winograd);
    if(ok) {
        o.source = argument(d, FORWARD, dnnl_query_src_md);
        o.output = argument(d, FORWARD, dnnl_query_dst_md);
        ok = make_pass(d, BACKWARD_WEIGHTS, &o, winograd) &&
             (!s->source_delta || make_pass(d, BACKWARD_DATA, &o, winograd));
    }
    for(int i = 0; i < 3; ++i) forget(any[i]);
    return ok;
}

static size_t copy_bytes(const mgpu_dnnl *d, step_name name, description of)
{
    return d->steps[name].run ? rounded(dnnl_memory_desc_get_size(of)) : 0;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static int make_copies(mgpu_dnnl *d, const mgpu_dnnl_shape *s, description source,
                       description output, description plain)
{
    description in = argument(d, FORWARD, dnnl_query_src_md),
                out = argument(d, FORWARD, dnnl_query_dst_md),
                weights = argument(d, FORWARD, dnnl_query_weights_md),
                gradient = argument(d, BACKWARD_WEIGHTS, dnnl_query_diff_weights_md);
    if(!make_copy(d, SOURCE_IN, source, in, 0) || !make_copy(d, OUTPUT_OUT, out, output, 0) ||
       !make_copy(d, DELTA_IN, output, out, 0) ||
       !make_copy(d, WEIGHTS_OF_FORWARD, plain, weights, 0) ||
       !make_copy(d, GRADIENT_ADD, gradient, plain, 1))
        return 0;
    size_t result = copy_bytes(d, GRADIENT_ADD, gradient);
    size_t kept = copy_bytes(d, WEIGHTS_OF_FORWARD, weights);
    if(s->source_delta) {
        weights = argument(d, BACKWARD_DATA, dnnl_query_weights_md);
        if(!make_copy(d, SOURCE_DELTA_OUT, in, source, 0) ||
           !make_copy(d, SOURCE_DELTA_ADD, in, source, 1) ||
           !make_copy(d, WEIGHTS_OF_BACKWARD, plain, weights, 0))
            return 0;
        result = larger(result, copy_bytes(d, SOURCE_DELTA_ADD, in));
        kept = larger(kept, copy_bytes(d, WEIGHTS_OF_BACKWARD, weights));
    }
    d->output_at = copy_bytes(d, SOURCE_IN, in);
    d->result_at = d->output_at + copy_bytes(d, OUTPUT_OUT, out);
    d->weights_at = d->result_at + result;
    d->rest_at = d->weights_at + kept;
    return 1;
}

static int make_all(mgpu_dnnl *d, const mgpu_dnnl_shape *s)
{
    description source = describe_images(s, 0, 0), output = describe_images(s, 1, 0),
                plain = describe_weights(s, 0);
    int ok =
        source && output && plain &&
        dnnl_stream_create(&d->stream, processor, dnnl_stream_default_flags) == dnnl_success &&
        make_passes(d, s) && make_copies(d, s, source, output, plain);
    forget(source);
    forget(output);
    forget(plain);
    for(int i = 0; i < STEPS; ++i) {
        size_t bytes = d->rest_at + d->steps[i].scratch_bytes;
        if(bytes > d->scratch) d->scratch = bytes;
    }
    return ok;
}

mgpu_dnnl *mgpu_dnnl_make(const mgpu_dnnl_shape *s)
{
    mgpu_dnnl *d = engine() ? calloc(1, sizeof *d) : 0;
    if(d && make_all(d, s)) return d;
    mgpu_dnnl_free(d);
    mgpu_fail("oneDNN has no convolution of %d rows of %dx%dx%d with %d filters of %dx%d",
              s->rows, s->w, s->h, s->c, s->n, s->size, s->size);
    return 0;
}

void mgpu_dnnl_free(mgpu_dnnl *d)
{
    if(!d) return;
    for(int i = 0; i < STEPS; ++i) free_step(d->steps + i);
    if(d->stream) dnnl_stream_destroy(d->stream);
    free(d);
}

size_t mgpu_dnnl_scratch(const mgpu_dnnl *d)
{
    return d->scratch;
}

/* ---- running it ---- */

static void run(const mgpu_dnnl *d, step_name name, const float *from, const float *with,
                float *to, char *scratch)
{
    static const int names[][3] = {
        [FORWARD] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
        [BACKWARD_DATA] = {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC},
        [BACKWARD_WEIGHTS] = {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS},
        [SOURCE_IN] = {DNNL_ARG_FROM, 0, DNNL_ARG_TO},
    };
    const int *name_of = names[name < SOURCE_IN ? name : SOURCE_IN];
    const step *s = d->steps + name;
    dnnl_exec_arg_t args[] = {{name_of[0], s->from},
                              {name_of[2], s->to},
                              {DNNL_ARG_SCRATCHPAD, s->scratch},
                              {name_of[1], s->with}};
    dnnl_memory_set_data_handle(s->from, (void *)from);
    dnnl_memory_set_data_handle(s->to, to);
    if(s->scratch) dnnl_memory_set_data_handle(s->scratch, scratch + d->rest_at);
    if(s->with) dnnl_memory_set_data_handle(s->with, (void *)with);
    dnnl_status_t status = dnnl_primitive_execute(s->run, d->stream, s->with ? 4 : 3, args);
    if(status == dnnl_success) status = dnnl_stream_wait(d->stream);
    if(status != dnnl_success) mgpu_job_fail("oneDNN returned status %d", (int)status);
}

static void *within(char *scratch, size_t bytes)
{
    return scratch + bytes;
}

/* x in the order that a step wants, which may be a copy at `copy`. */
static const float *bring(const mgpu_dnnl *d, step_name name, const float *x, void *copy,
                          char *scratch)
{
    if(!d->steps[name].run) return x;
    run(d, name, x, 0, copy, scratch);
    return copy;
}

void mgpu_dnnl_forward(const mgpu_dnnl *d, const float *source, const float *weights,
                       float *output, void *scratch)
{
    char *at = scratch;
    const float *in = bring(d, SOURCE_IN, source, at, at);
    const float *w = bring(d, WEIGHTS_OF_FORWARD, weights, within(at, d->weights_at), at);
    int copied = d->steps[OUTPUT_OUT].run != 0;
    float *out = copied ? within(at, d->output_at) : output;
    run(d, FORWARD, in, w, out, at);
    if(copied) run(d, OUTPUT_OUT, out, 0, output, at);
}

void mgpu_dnnl_backward(const mgpu_dnnl *d, const float *source, const float *weights,
                        const float *delta, float *gradient, float *source_delta, int add,
                        void *scratch)
{
    char *at = scratch;
    float *result = within(at, d->result_at);
    const float *in = bring(d, SOURCE_IN, source, at, at);
    const float *out = bring(d, DELTA_IN, delta, within(at, d->output_at), at);
    run(d, BACKWARD_WEIGHTS, in, out, result, at);
    run(d, GRADIENT_ADD, result, 0, gradient, at);
    if(!source_delta) return;
    const float *w = bring(d, WEIGHTS_OF_BACKWARD, weights, within(at, d->weights_at), at);
    int in_place = !add && !d->steps[SOURCE_DELTA_OUT].run;
    run(d, BACKWARD_DATA, out, w, in_place ? source_delta : result, at);
    if(!in_place)
        run(d, add ? SOURCE_DELTA_ADD : SOURCE_DELTA_OUT, result, 0, source_delta, at);
}
#endif
