/* mgpu_compute.h: how the layers of a replica on a host device compute: convolutions by oneDNN,
 * batch normalisation and activation in one pass, and images in blocks of channels between
 * layers that all know them. Darknet's own functions stay where this has nothing better, and as
 * the reference that tests compare with. */
#ifndef MGPU_COMPUTE_H
#define MGPU_COMPUTE_H

#include "darknet.h"

typedef struct mgpu_compute mgpu_compute;

#ifdef DNNL
/* Takes over what it can of a replica's layers: their functions, and where their outputs and
 * deltas are. In the replica's own thread. To be called again, after mgpu_compute_free(), when
 * the network is resized. Returns NULL, which is fine for all functions here, where there is
 * nothing to take over; ends the job (mgpu_workers.h) if there is no memory. */
mgpu_compute *mgpu_compute_make(network *net);
void mgpu_compute_free(mgpu_compute *c);

/* How many threads the calling thread's networks compute with from now on. */
void mgpu_compute_threads(int n);

/* 1 if layer `index`'s delta is written, not added to, by the layer after it. */
int mgpu_compute_overwrites(const mgpu_compute *c, int index);

/* 1 if layer `index`'s output and delta are in blocks of mgpu_compute_block() channels. */
int mgpu_compute_blocked(const mgpu_compute *c, int index);
int mgpu_compute_block(void);
#else
static inline mgpu_compute *mgpu_compute_make(network *net)
{
    (void)net;
    return 0;
}

static inline void mgpu_compute_free(mgpu_compute *c)
{
    (void)c;
}

static inline void mgpu_compute_threads(int n)
{
    (void)n;
}

static inline int mgpu_compute_overwrites(const mgpu_compute *c, int index)
{
    (void)c, (void)index;
    return 0;
}

static inline int mgpu_compute_blocked(const mgpu_compute *c, int index)
{
    (void)c, (void)index;
    return 0;
}

static inline int mgpu_compute_block(void)
{
    return 0;
}
#endif

#endif
