/* memory.cpp: allocations stand between canaries: words that nobody may write. */
#include "memory.h"
#include "streams.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <vector>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)0)
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)0)
#endif

namespace fake_cuda
{

static const size_t alignment = 256;
static const size_t page = 4096;

/* Guarded memory of a device: one range of addresses, closed but for device work. */
namespace
{
struct arena {
    char *start = nullptr;
    size_t reserved = 0, top = 0;
    int open = 0; /* how many work on it */
    std::multimap<size_t, char *> unused;
};

struct tables {
    std::mutex mutex; /* protects all here; arenas have their own */
    std::map<const char *, allocation> allocations;
    std::mutex arena_mutex;
    arena arenas[32];
};
} // namespace

static tables &all()
{
    static auto *t = new tables;
    return *t;
}

/* ---- guarding */

static void protect(int number, int protection)
{
    arena &a = all().arenas[number];
    if(a.top) mprotect(a.start, a.top, protection);
}

access::access(unsigned bits) : devices(options().guard ? bits : 0)
{
    if(!devices) return;
    std::lock_guard<std::mutex> lock(all().arena_mutex);
    for(int i = 0; i < device_count(); ++i)
        if(devices >> i & 1 && !all().arenas[i].open++) protect(i, PROT_READ | PROT_WRITE);
}

access::~access()
{
    if(!devices) return;
    std::lock_guard<std::mutex> lock(all().arena_mutex);
    for(int i = 0; i < device_count(); ++i)
        if(devices >> i & 1 && !--all().arenas[i].open) protect(i, PROT_NONE);
}

/* Called with the device open. */
static char *take_guarded(device &d, size_t bytes)
{
    std::lock_guard<std::mutex> lock(all().arena_mutex);
    arena &a = all().arenas[d.number];
    if(!a.start) {
        a.reserved = 8 * d.capacity;
        a.start = (char *)mmap(nullptr, a.reserved, PROT_NONE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if(a.start == MAP_FAILED) abort();
    }
    auto old = a.unused.find(bytes);
    if(old != a.unused.end()) {
        char *p = old->second;
        a.unused.erase(old);
        return p;
    }
    if(a.top + bytes > a.reserved) return nullptr;
    char *p = a.start + a.top;
    a.top += (bytes + page - 1) / page * page;
    protect(d.number, PROT_READ | PROT_WRITE);
    return p;
}

static char *take(device &d, size_t bytes)
{
    return options().guard ? take_guarded(d, bytes) : (char *)aligned_alloc(alignment, bytes);
}

static void give_back(device &d, char *block, size_t bytes)
{
    if(!options().guard) {
        free(block);
        return;
    }
    std::lock_guard<std::mutex> lock(all().arena_mutex);
    all().arenas[d.number].unused.emplace(bytes, block);
}

/* A device without allocations begins anew, so that what is opened and closed stays small. */
static void reset(device &d)
{
    if(d.used || !options().guard) return;
    std::lock_guard<std::mutex> lock(all().arena_mutex);
    arena &a = all().arenas[d.number];
    protect(d.number, PROT_NONE);
    madvise(a.start, a.top, MADV_DONTNEED);
    a.unused.clear();
    a.top = 0;
}

/* ---- canaries: before an allocation, and from its last byte on */

/* As a float it is no number, and other than fresh memory's. */
static unsigned char canary(const char *p)
{
    static const unsigned char word[4] = {0xa5, 0xa5, 0xf5, 0xff};
    return word[(uintptr_t)p % 4];
}

static size_t block_bytes(size_t size)
{
    return alignment + (size + alignment - 1) / alignment * alignment + alignment;
}

static void set_canaries(char *start, size_t size)
{
    char *block = start - alignment, *end = block + block_bytes(size);
    for(char *p = block; p < start; ++p) *p = canary(p);
    for(char *p = start + size; p < end; ++p) *p = canary(p);
    ASAN_POISON_MEMORY_REGION(block, alignment);
    ASAN_POISON_MEMORY_REGION(start + size, end - start - size);
}

#ifdef __SANITIZE_ADDRESS__
/* The address sanitizer sees a write there when it happens. */
static bool intact(const allocation &)
{
    return true;
}
#else
static bool intact(const allocation &a)
{
    const char *block = a.start - alignment, *end = block + block_bytes(a.size);
    for(const char *p = block; p < a.start; ++p)
        if((unsigned char)*p != canary(p)) return false;
    for(const char *p = a.start + a.size; p < end; ++p)
        if((unsigned char)*p != canary(p)) return false;
    return true;
}
#endif

static void report_write(device &d, const allocation &a, const char *call)
{
    complain(
        "device %d: %s has written outside an allocation of %zu bytes (nr %ld of the device)",
        d.number, call, a.size, a.number);
    break_device(d, cudaErrorIllegalAddress, "a write out of bounds");
}

void check_canaries(device &d)
{
    if(d.fault) return;
    access open(d.bit());
    std::lock_guard<std::mutex> lock(all().mutex);
    for(const auto &entry : all().allocations)
        if(entry.second.device == d.number && !intact(entry.second)) {
            report_write(d, entry.second, "something");
            return;
        }
}

void check_canaries_of(const char *call, const void *p, device &d)
{
    allocation a;
    if(d.fault || !find(p, &a) || a.device != d.number) return;
    if(!intact(a)) report_write(d, a, call);
}

/* ---- finding */

bool find(const void *p, allocation *found)
{
    std::lock_guard<std::mutex> lock(all().mutex);
    auto entry = all().allocations.upper_bound((const char *)p);
    if(entry == all().allocations.begin()) return false;
    *found = (--entry)->second;
    return (const char *)p <= found->start + found->size;
}

bool check_argument(const char *call, int argument, const void *p, size_t bytes, device &d)
{
    allocation a;
    if(!p) return true;
    if(!find(p, &a)) {
        complain("%s on device %d: argument %d, %p, is no device memory", call, d.number,
                 argument, p);
    } else if(a.device >= 0 && a.device != d.number && !(d.peers >> a.device & 1)) {
        complain("%s on device %d: argument %d, %p, is memory of device %d", call, d.number,
                 argument, p, a.device);
    } else if(bytes > a.left(p)) {
        complain("%s on device %d: argument %d needs %zu bytes, its allocation has %zu left",
                 call, d.number, argument, bytes, a.left(p));
    } else {
        return true;
    }
    break_device(d, cudaErrorIllegalAddress, call);
    return false;
}

/* ---- allocating */

static cudaError_t allocate(device &d, void **pointer, size_t size)
{
    *pointer = nullptr;
    if(!size) return cudaSuccess;
    std::lock_guard<std::mutex> lock(all().mutex);
    size_t rounded = (size + alignment - 1) / alignment * alignment;
    if(rounded > d.capacity - d.used) return cudaErrorMemoryAllocation;
    access open(d.bit());
    char *block = take(d, block_bytes(size));
    if(!block) return cudaErrorMemoryAllocation;
    char *start = block + alignment;
    memset(start, 0xff, size); /* floats that are no numbers */
    set_canaries(start, size);
    all().allocations[start] = {start, size, d.number, (long)++d.allocations};
    d.used += rounded;
    d.peak = std::max(d.peak.load(), d.used.load());
    *pointer = start;
    return cudaSuccess;
}

/* Takes the allocation that starts at p out of the table. */
static bool remove(const void *p, bool pinned, allocation *removed)
{
    std::lock_guard<std::mutex> lock(all().mutex);
    auto entry = all().allocations.find((const char *)p);
    if(entry == all().allocations.end() || (entry->second.device < 0) != pinned) return false;
    *removed = entry->second;
    all().allocations.erase(entry);
    return true;
}

static cudaError_t release(char *start)
{
    allocation a;
    if(!find(start, &a) || a.start != start || a.device < 0) {
        complain("cudaFree: %p is no allocation, or free already", (void *)start);
        return cudaErrorInvalidValue;
    }
    device &d = device_at(a.device);
    cudaError_t error = finish_device(d);
    if(error) return error;
    if(!remove(start, false, &a)) return cudaErrorInvalidValue;
    access open(d.bit());
    ASAN_UNPOISON_MEMORY_REGION(start - alignment, block_bytes(a.size));
    memset(start, 0xff, a.size);
    give_back(d, start - alignment, block_bytes(a.size));
    d.used -= (a.size + alignment - 1) / alignment * alignment;
    reset(d);
    return cudaSuccess;
}

static void pin(void *p, size_t size)
{
    std::lock_guard<std::mutex> lock(all().mutex);
    all().allocations[(char *)p] = {(char *)p, size, -1, 0};
}

static void finish_all_devices()
{
    for(int i = 0; i < device_count(); ++i) finish_device(device_at(i));
}

} // namespace fake_cuda

using namespace fake_cuda;

extern "C" cudaError_t cudaMalloc(void **pointer, size_t size)
{
    return runtime_call("cudaMalloc", [=](device &d) { return allocate(d, pointer, size); });
}

extern "C" cudaError_t cudaFree(void *pointer)
{
    return runtime_call(
        "cudaFree", [=](device &) { return pointer ? release((char *)pointer) : cudaSuccess; });
}

extern "C" cudaError_t cudaMemGetInfo(size_t *available, size_t *total)
{
    return runtime_call("cudaMemGetInfo", [=](device &d) {
        *total = d.capacity;
        *available = d.capacity - d.used;
        return cudaSuccess;
    });
}

extern "C" cudaError_t cudaHostAlloc(void **pointer, size_t size, unsigned int)
{
    return runtime_call("cudaHostAlloc", [=](device &) {
        *pointer = nullptr;
        if(!size) return cudaSuccess;
        *pointer = aligned_alloc(page, (size + page - 1) / page * page);
        if(!*pointer) return cudaErrorMemoryAllocation;
        memset(*pointer, 0xff, size);
        pin(*pointer, size);
        return cudaSuccess;
    });
}

extern "C" cudaError_t cudaMallocHost(void **pointer, size_t size)
{
    return cudaHostAlloc(pointer, size, cudaHostAllocDefault);
}

extern "C" cudaError_t cudaFreeHost(void *pointer)
{
    return runtime_call("cudaFreeHost", [=](device &) {
        allocation a;
        if(!pointer) return cudaSuccess;
        finish_all_devices();
        if(!remove(pointer, true, &a)) {
            complain("cudaFreeHost: %p is no pinned memory", pointer);
            return cudaErrorInvalidValue;
        }
        free(pointer);
        return cudaSuccess;
    });
}

extern "C" cudaError_t cudaHostRegister(void *pointer, size_t size, unsigned int)
{
    return runtime_call("cudaHostRegister", [=](device &) {
        allocation a;
        if(!pointer || !size) return cudaErrorInvalidValue;
        if(find(pointer, &a) && a.left(pointer)) return cudaErrorHostMemoryAlreadyRegistered;
        pin(pointer, size);
        return cudaSuccess;
    });
}

extern "C" cudaError_t cudaHostUnregister(void *pointer)
{
    return runtime_call("cudaHostUnregister", [=](device &) {
        allocation a;
        finish_all_devices();
        return remove(pointer, true, &a) ? cudaSuccess : cudaErrorHostMemoryNotRegistered;
    });
}

extern "C" cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes,
                                                const void *pointer)
{
    return runtime_call("cudaPointerGetAttributes", [=](device &) {
        allocation a;
        memset(attributes, 0, sizeof *attributes);
        if(!find(pointer, &a)) {
            attributes->type = cudaMemoryTypeUnregistered;
            attributes->device = -2;
            attributes->hostPointer = (void *)pointer;
            return cudaSuccess;
        }
        bool pinned = a.device < 0;
        attributes->type = pinned ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
        attributes->device = pinned ? current_device().number : a.device;
        attributes->devicePointer = (void *)pointer;
        attributes->hostPointer = pinned ? (void *)pointer : nullptr;
        return cudaSuccess;
    });
}
