/* memory.h: device memory and pinned memory. */
#ifndef FAKE_CUDA_MEMORY_H
#define FAKE_CUDA_MEMORY_H

#include "device.h"

namespace fake_cuda
{

struct allocation {
    const char *start;
    size_t size;
    int device;  /* its number; -1: pinned memory of the host */
    long number; /* counts the allocations of the device */

    size_t left(const void *p) const
    {
        return size - ((const char *)p - start);
    }
};

/* The allocation that p points into, or to the end of. */
bool find(const void *p, allocation *found);

/* Whether work on device d may use `bytes` bytes from p (null is nobody's business). If
 * not, says so and breaks the device, as a card would when it gets to the work. */
bool check_argument(const char *call, int argument, const void *p, size_t bytes, device &d);

/* Looks for writes past the ends of a device's allocations, or of one of them. */
void check_canaries(device &d);
void check_canaries_of(const char *call, const void *p, device &d);

/* Opens the memory of devices (bits) for work, where it is guarded. */
class access
{
    unsigned devices;

  public:
    explicit access(unsigned bits);
    ~access();
    access(const access &) = delete;
};

} // namespace fake_cuda
#endif
