/* program.h: what tests of the program itself share: running it in a folder of the test's
 * own, and making and comparing the files there. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <cmocka.h>

static char out[65536];

/* Runs a shell command in the test's folder and returns its exit status; `out` then
 * holds what it printed, stderr included. */
static inline int run(const char *format, ...)
{
    char command[4096];
    int n = snprintf(command, sizeof command, "cd %s && ( ", getenv("MGPU_SCRATCH"));
    va_list args;
    va_start(args, format);
    n += vsnprintf(command + n, sizeof command - n, format, args);
    va_end(args);
    snprintf(command + n, sizeof command - n, " ) >log 2>&1");
    int status = system(command);
    snprintf(command, sizeof command, "%s/log", getenv("MGPU_SCRATCH"));
    FILE *fp = fopen(command, "r");
    out[fread(out, 1, sizeof out - 1, fp)] = 0;
    fclose(fp);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static inline const char *last_line(void)
{
    size_t n = strlen(out);
    while(n && out[n - 1] == '\n') out[--n] = 0;
    const char *at = strrchr(out, '\n');
    return at ? at + 1 : out;
}

static inline void put(const char *name, const char *text)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", getenv("MGPU_SCRATCH"), name);
    FILE *fp = fopen(path, "w");
    assert_non_null(fp);
    fputs(text, fp);
    fclose(fp);
}

/* How often `text` stands in `out`. */
static inline int count(const char *text)
{
    int n = 0;
    for(const char *at = out; (at = strstr(at, text)); ++at) ++n;
    return n;
}

#define NET                                                                                    \
    "height=12\nwidth=12\nchannels=3\nlearning_rate=0.02\nmomentum=0.9\ndecay=0.0005\nflip="   \
    "0\n"                                                                                      \
    "min_crop=12\nmax_crop=13\n"
#define LAYERS                                                                                 \
    "[convolutional]\nbatch_normalize=1\nfilters=8\nsize=3\nstride=2\npad=1\nactivation="      \
    "leaky\n"                                                                                  \
    "[convolutional]\nfilters=2\nsize=1\nactivation=linear\n[avgpool]\n[softmax]\n"

#define YOLO_LAYERS                                                                            \
    "[convolutional]\nbatch_normalize=1\nfilters=8\nsize=3\nstride=4\npad=1\nactivation="      \
    "leaky\n"                                                                                  \
    "[convolutional]\nfilters=7\nsize=1\nstride=2\nactivation=linear\n"                        \
    "[yolo]\nmask=0\nanchors=6,6\nclasses=2\nnum=1\njitter=.1\nignore_thresh=.5\n"             \
    "truth_thresh=1\n"

/* w x h pixels, reddish (i odd) or bluish. */
static inline void put_picture(const char *name, int i, int w, int h)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", getenv("MGPU_SCRATCH"), name);
    FILE *fp = fopen(path, "wb");
    assert_non_null(fp);
    fprintf(fp, "P6\n%d %d\n255\n", w, h);
    for(int k = 0; k < w * h * 3; ++k) {
        int mine = k % 3 == (i % 2 ? 0 : 2);
        fputc((mix(i, k) & 127) + 128 * mine, fp);
    }
    fclose(fp);
}

static inline void put_image(const char *name, int i)
{
    put_picture(name, i, 14, 14);
}

/* The floats of a weights file's tensors, to be freed; *n is their number. */
static inline float *read_weights(const char *name, size_t *n)
{
    char path[1024];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", getenv("MGPU_SCRATCH"), name);
    FILE *fp = fopen(path, "rb");
    if(!fp) fail_msg("%s is not there", name);
    assert_int_equal(fstat(fileno(fp), &st), 0);
    assert_true(st.st_size > 20);
    *n = (st.st_size - 20) / sizeof(float);
    float *x = malloc(*n * sizeof(float));
    fseek(fp, 20, SEEK_SET);
    assert_int_equal(fread(x, sizeof(float), *n, fp), *n);
    fclose(fp);
    return x;
}

/* The relative L2 difference of two weights files; not a number where they hold one. */
static inline double weights_differ(const char *one, const char *other)
{
    size_t n, m;
    float *x = read_weights(one, &n), *y = read_weights(other, &m);
    assert_int_equal(n, m);
    double d = 0, sum = 0;
    for(size_t i = 0; i < n; ++i) {
        d += (x[i] - y[i]) * (x[i] - y[i]);
        sum += y[i] * y[i];
    }
    free(x);
    free(y);
    return sqrt(d / sum);
}

#endif
