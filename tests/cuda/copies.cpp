/* copies.cpp: cudaMemcpy and cudaMemset in their forms. */
#include "memory.h"
#include "streams.h"

#include <cstring>

namespace fake_cuda
{

namespace
{
/* One side of a copy. */
struct side {
    bool known; /* device memory or pinned */
    allocation a;

    explicit side(const void *p)
    {
        known = find(p, &a);
    }
    bool on_device() const
    {
        return known && a.device >= 0;
    }
    unsigned bit() const
    {
        return on_device() ? 1u << a.device : 0;
    }
};
} // namespace

static bool fits(const char *call, const side &s, const void *p, size_t bytes, const char *name)
{
    if(!s.known || bytes <= s.a.left(p)) return true;
    complain("%s: %zu bytes are past the end of the %s, which has %zu left", call, bytes, name,
             s.a.left(p));
    return false;
}

static bool right_direction(const side &to, const side &from, enum cudaMemcpyKind kind)
{
    bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    return kind == cudaMemcpyDefault ||
           (to.on_device() == to_device && from.on_device() == from_device);
}

/* Queues a copy; gives its number. */
static cudaError_t queue_copy(const char *call, void *to, const void *from, size_t bytes,
                              enum cudaMemcpyKind kind, const std::shared_ptr<queue> &q,
                              uint64_t *number)
{
    side target(to), source(from);
    if(!right_direction(target, source, kind)) {
        complain("%s: direction %d, but the target is on %s and the source on %s", call, kind,
                 target.on_device() ? "a device" : "the host",
                 source.on_device() ? "a device" : "the host");
        return cudaErrorInvalidMemcpyDirection;
    }
    if(!fits(call, target, to, bytes, "target") || !fits(call, source, from, bytes, "source"))
        return cudaErrorInvalidValue;
    unsigned devices = target.bit() | source.bit();
    for(int i = 0; i < device_count(); ++i)
        if(devices >> i & 1 && device_at(i).fault)
            return (cudaError_t)device_at(i).fault.load();
    ++q->of->copies;
    q->of->bytes += (long)bytes;
    *number = submit(q, devices, [=] { memmove(to, from, bytes); });
    return cudaSuccess;
}

/* Copies from pageable memory take a copy of it before they return; those to pageable
 * memory are done when they return. */
static cudaError_t copy_async(const char *call, void *to, const void *from, size_t bytes,
                              enum cudaMemcpyKind kind, cudaStream_t stream)
{
    auto q = queue_of(call, stream);
    if(!q) return cudaErrorInvalidResourceHandle;
    if(!bytes) return cudaSuccess;
    uint64_t number;
    cudaError_t error = queue_copy(call, to, from, bytes, kind, q, &number);
    if(!error && (!side(to).known || !side(from).known)) finish(q, number);
    return error;
}

static cudaError_t copy(const char *call, void *to, const void *from, size_t bytes,
                        enum cudaMemcpyKind kind)
{
    auto q = queue_of(call, nullptr);
    if(!bytes) return cudaSuccess;
    uint64_t number;
    cudaError_t error = queue_copy(call, to, from, bytes, kind, q, &number);
    if(error) return error;
    /* As on a card, the host does not wait for a copy within a device. */
    if(side(to).on_device() && side(from).on_device()) return cudaSuccess;
    finish(q, number);
    check_canaries(*q->of);
    return (cudaError_t)q->of->fault.load();
}

static bool is_on(const void *p, int number)
{
    allocation a;
    return find(p, &a) && a.device == number;
}

static cudaError_t check_peers(const char *call, const void *to, int to_device,
                               const void *from, int from_device)
{
    int n = device_count();
    if(to_device < 0 || to_device >= n || from_device < 0 || from_device >= n)
        return cudaErrorInvalidDevice;
    if(is_on(to, to_device) && is_on(from, from_device)) return cudaSuccess;
    complain("%s: a pointer is not of the device that is said", call);
    return cudaErrorInvalidValue;
}

static cudaError_t set(const char *call, void *to, int value, size_t bytes, cudaStream_t stream)
{
    side target(to);
    auto q = queue_of(call, stream);
    if(!q) return cudaErrorInvalidResourceHandle;
    if(!bytes) return cudaSuccess;
    if(!target.on_device() || !fits(call, target, to, bytes, "target")) {
        complain("%s: %p is not %zu bytes of device memory", call, to, bytes);
        return cudaErrorInvalidValue;
    }
    submit(q, target.bit(), [=] { memset(to, value, bytes); });
    return cudaSuccess;
}

} // namespace fake_cuda

using namespace fake_cuda;

extern "C" cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes,
                                  enum cudaMemcpyKind kind)
{
    return runtime_call("cudaMemcpy",
                        [=](device &) { return copy("cudaMemcpy", to, from, bytes, kind); });
}

extern "C" cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                                       enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return runtime_call("cudaMemcpyAsync", [=](device &) {
        return copy_async("cudaMemcpyAsync", to, from, bytes, kind, stream);
    });
}

/* In order with all other work of both devices. */
extern "C" cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from,
                                      int from_device, size_t bytes)
{
    return runtime_call("cudaMemcpyPeer", [=](device &d) {
        const char *call = "cudaMemcpyPeer";
        cudaError_t error = check_peers(call, to, to_device, from, from_device);
        if(!error) error = finish_device(device_at(from_device));
        if(!error) error = finish_device(device_at(to_device));
        if(!error) error = copy(call, to, from, bytes, cudaMemcpyDeviceToDevice);
        return error ? error : finish_queue(d.default_stream);
    });
}

extern "C" cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from,
                                           int from_device, size_t bytes, cudaStream_t stream)
{
    return runtime_call("cudaMemcpyPeerAsync", [=](device &) {
        const char *call = "cudaMemcpyPeerAsync";
        cudaError_t error = check_peers(call, to, to_device, from, from_device);
        return error ? error
                     : copy_async(call, to, from, bytes, cudaMemcpyDeviceToDevice, stream);
    });
}

extern "C" cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
    return runtime_call("cudaMemset",
                        [=](device &) { return set("cudaMemset", to, value, bytes, nullptr); });
}

extern "C" cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    return runtime_call("cudaMemsetAsync", [=](device &) {
        return set("cudaMemsetAsync", to, value, bytes, stream);
    });
}
