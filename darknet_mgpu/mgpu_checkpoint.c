/* mgpu_checkpoint.c: weights files, checked before they are loaded. */
#include "mgpu_checkpoint.h"
#include "mgpu_error.h"
#include "mgpu_file.h"
#include "mgpu_tensors.h"

#include <sys/stat.h>

/* The header's length in bytes, by its version; -1 if the file is shorter. */
static long header_bytes(FILE *fp)
{
    int version[3];
    if(fread(version, sizeof(int), 3, fp) != 3) return -1;
    int wide = version[0] * 10LL + version[1] >= 2 && version[0] < 1000 && version[1] < 1000;
    return sizeof version + (wide ? sizeof(size_t) : sizeof(int));
}

/* Floats that Darknet reads into one layer, not counting layers within it. */
static size_t own_floats(const layer *l, const mgpu_layer_kind *kind)
{
    size_t floats = 0;
    for(int k = 0; k < kind->nkinds; ++k) {
        const mgpu_tensor_kind *t = kind->kinds + k;
        if(t->unsaved) continue;
        if(t->batch_normalized && (!l->batch_normalize || l->dontloadscales)) continue;
        floats += t->length(l);
    }
    return floats;
}

/* Bytes that Darknet reads for layer i; -1 if it would read past its arrays. */
static long long layer_bytes(const network *net, int i)
{
    layer l = net->layers[i];
    const mgpu_layer_kind *kind = mgpu_layer_kind_of(&l);
    if(l.dontload || !kind) return 0;
    if((l.type == CONVOLUTIONAL || l.type == DECONVOLUTIONAL) && l.numload) {
        if(l.numload < 0 || l.numload > l.n) return -1;
        l.nweights = l.nweights / l.n * l.numload;
        l.n = l.numload;
    }
    size_t floats = own_floats(&l, kind);
    for(int k = 0; k < kind->nnested; ++k) {
        const layer *nested = mgpu_nested_layer(&l, kind->nested + k);
        floats += own_floats(nested, mgpu_layer_kind_of(nested));
    }
    return floats * sizeof(float);
}

/* Walks the layers through `size` bytes of which `at` are the header. */
static int walk(const network *net, const char *file, int start, int cutoff, long long size,
                long long at)
{
    int last = net->n < cutoff ? net->n : cutoff;
    for(int i = start; i < last; ++i) {
        long long bytes = layer_bytes(net, i);
        if(bytes < 0) {
            return mgpu_fail("layer %d: numload=%d is not within its %d filters", i,
                             net->layers[i].numload, net->layers[i].n);
        }
        if(bytes == 0) continue;
        if(at == size && i > start) return i;
        if(at + bytes > size) {
            return mgpu_fail(
                "%s ends inside layer %d ([%s], bytes %lld to %lld of %lld): it is cut "
                "short or belongs to another cfg",
                file, i, mgpu_layer_kind_of(net->layers + i)->name, at, at + bytes, size);
        }
        at += bytes;
    }
    if(at < size && cutoff >= net->n) {
        return mgpu_fail("%s has %lld bytes more than the cfg's layers take: it belongs to "
                         "another cfg",
                         file, size - at);
    }
    return last;
}

int mgpu_check_weights(const network *net, const char *file, int start, int cutoff)
{
    struct stat st;
    FILE *fp = mgpu_open(file, "weights file");
    if(!fp) return -1;
    if(fstat(fileno(fp), &st) < 0) st.st_size = 0;
    long header = header_bytes(fp);
    fclose(fp);
    if(header < 0 || header >= st.st_size) {
        return mgpu_fail(
            "%s holds no weights: it has %lld bytes, and the header alone takes %ld", file,
            (long long)st.st_size, header < 0 ? 20L : header);
    }
    return walk(net, file, start, cutoff, st.st_size, header);
}
