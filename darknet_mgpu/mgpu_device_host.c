/* mgpu_device_host.c: host devices, threads of this process; and the table of kinds. */
#include "mgpu_device.h"
#include "mgpu.h"
#include "mgpu_cores.h"

#include <stdlib.h>

static int count(void)
{
    return MGPU_HOST_DEVICES;
}

static void free_arena(float *arena)
{
    free(arena);
}

/* Darknet's layers ask gpu_index where they are to run. */
static void open_host(mgpu_replica *r)
{
    mgpu_cores_pin(r->number, r->shared->n, r->shared->threads);
    mgpu_compute_threads(r->shared->threads);
#ifdef GPU
    gpu_index = -1;
#endif
}

const mgpu_device mgpu_host_device = {
    .name = "host",
    .count = count,
    .make_arena = mgpu_arena_make,
    .free_arena = free_arena,
    .open = open_host,
};

const mgpu_device *const mgpu_devices[] = {
    &mgpu_host_device,
#ifdef GPU
    &mgpu_cuda_device,
#endif
    0,
};
