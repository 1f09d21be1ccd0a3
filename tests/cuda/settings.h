/* settings.h: the environment variables FAKE_CUDA_*, and errors on order. */
#ifndef FAKE_CUDA_SETTINGS_H
#define FAKE_CUDA_SETTINGS_H

#include <cstddef>
#include <vector>

namespace fake_cuda
{

struct settings {
    std::vector<int> physical;    /* the cards that CUDA_VISIBLE_DEVICES leaves, in its order */
    std::vector<size_t> capacity; /* bytes of each of them */
    bool deferred;                /* work runs only at synchronisation points */
    bool guard;                   /* device memory faults outside device work */
    bool reverse;                 /* threads and blocks run last to first */
    bool peer_access;
    bool report;
    int timeout; /* seconds a rank waits for others before the program ends */
};

const settings &options();

/* Whether FAKE_CUDA_FAIL orders this call on this device to fail. Returns the error, which
 * is `otherwise` where the order has none, or 0. Counts the calls. */
int ordered_failure(const char *call, int device, int otherwise);

/* One line on stderr, beginning with `fake_cuda: `. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

} // namespace fake_cuda
#endif
