/* mgpu_device.h: where replicas run. A kind of device is one file and one row of the table.
 *
 * A replica on a host device reads the root's arenas in place, and its layers add their
 * gradients to an arena that the merge reads in place: most entries are NULL there, which means
 * that there is nothing to do. Unless it says otherwise an entry is called in the replica's own
 * thread, within a job (mgpu_workers.h), after open(); it ends the job by mgpu_job_fail(),
 * naming the device, if the device fails. Ranges are floats of the arenas W, U and G. */
#ifndef MGPU_DEVICE_H
#define MGPU_DEVICE_H

#include "mgpu_reduce.h"
#include "mgpu_replica.h"

struct mgpu_device {
    const char *name; /* as messages say it */

    /* How many there are, ids from 0 on; 0 with mgpu_error() saying why. Any thread. */
    int (*count)(void);

    /* Memory of the host that the device copies from and to, n floats, zeroed; NULL with
     * mgpu_error(). Any thread. */
    float *(*make_arena)(size_t n);
    void (*free_arena)(float *arena);

    /* Joins opened replicas that merge among themselves, if the kind can do more than copy
     * between them: shared->joined says so. Any thread. Returns 0, or -1 with mgpu_error(). */
    int (*join)(mgpu_shared *shared, mgpu_replica *replicas, int n);

    /* Binds the calling thread to r->device and makes r->place, what the replica has there. */
    void (*open)(mgpu_replica *r);
    void (*close)(mgpu_replica *r);

    /* Points the tensors of a network that runs there (r->net, or in the caller's thread the
     * root) to what the replica has there; detach() points them to nothing, before it is freed.
     */
    void (*attach)(mgpu_replica *r, network *net);
    void (*detach)(mgpu_replica *r, network *net);

    /* Begins to bring a bucket of the root's weights there; ready() has the next forward pass
     * wait for it. statistics() brings the running statistics, and blocks. */
    void (*publish)(mgpu_replica *r, int bucket);
    void (*ready)(mgpu_replica *r, int bucket);
    void (*statistics)(mgpu_replica *r);

    /* Begins to bring a bucket's gradient to r->gradients, and clears it on the device.
     * landed() blocks until it is there; any worker. */
    void (*collect)(mgpu_replica *r, int bucket);
    void (*landed)(mgpu_replica *r, int bucket);

    /* Begin to copy n floats from and to the device, in the order of what its layers do; `host`
     * may be any memory, but is not read or written after finish(). */
    void (*fetch)(mgpu_replica *r, float *host, const float *device, size_t n);
    void (*store)(mgpu_replica *r, float *device, const float *host, size_t n);

    /* Blocks until all that was begun is done. */
    void (*finish)(mgpu_replica *r);

    /* Where devices update themselves (r->shared->on_device). give() begins to bring the merged
     * gradient `sum` of a bucket there. reduce() begins to add up a bucket's gradients of all
     * devices, on all of them; only where r->shared->joined. merge() adds to the device's U the
     * gradients of the k replicas `from`, in their order; clear() zeroes its own. update()
     * applies a range of U by a rule. pull() brings W, U and Adam's moments to the root's
     * arenas, and push() takes them from there. merge(), pull() and push() block. */
    void (*give)(mgpu_replica *r, const float *sum, int bucket);
    void (*reduce)(mgpu_replica *r, int bucket);
    void (*merge)(mgpu_replica *r, mgpu_replica *const *from, int k);
    void (*clear)(mgpu_replica *r);
    void (*update)(mgpu_replica *r, size_t from, size_t to, mgpu_rule rule);
    void (*pull)(mgpu_replica *r);
    void (*push)(mgpu_replica *r);
};

/* The table: the kinds that this build has, and NULL. */
extern const mgpu_device *const mgpu_devices[];
extern const mgpu_device mgpu_host_device;
#ifdef GPU
extern const mgpu_device mgpu_cuda_device;
#endif

#endif
