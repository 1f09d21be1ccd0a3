/* library.cpp: handles, and the checks before a library's work is queued. */
#include "library.h"
#include "memory.h"
#include "streams.h"

namespace fake_cuda
{

handle make_handle()
{
    device &d = current_device();
    ++d.handles;
    return {&d, nullptr};
}

void free_handle(handle &h)
{
    --h.of->handles;
}

int enter_create(const char *call, int failed)
{
    if(!device_count() || current_device().fault) return failed;
    return ordered_failure(call, current_device().number, failed);
}

int enter_library(const char *call, const handle *h, int no_handle, int failed)
{
    if(!h || !device_count()) return no_handle;
    if(h->of != &current_device()) {
        complain("%s: the handle is device %d's, the current device is %d", call, h->of->number,
                 current_device().number);
        return failed;
    }
    if(h->of->fault) return failed;
    return ordered_failure(call, h->of->number, failed);
}

bool set_stream(const char *call, handle &h, cudaStream_t stream)
{
    if(!queue_on(call, stream, *h.of)) return false;
    h.stream = stream;
    return true;
}

/* As the library reports it: a null pointer is an error, unless nothing is used. */
void library_work::uses(const void *p, size_t bytes)
{
    ++argument;
    if(!bytes) return;
    pointers.push_back(p);
    if(!p) {
        complain("%s on device %d: argument %d is null", call, h.of->number, argument);
        good = false;
    }
    if(good) good = check_argument(call, argument, p, bytes, *h.of);
}

bool library_work::queue(std::function<void()> work)
{
    auto q = queue_on(call, h.stream, *h.of);
    if(!good || !q) return false;
    device &d = *h.of;
    submit(q, d.bit() | d.peers, [work = std::move(work), used = pointers, name = call, &d] {
        work();
        for(const void *p : used) check_canaries_of(name, p, d);
    });
    return true;
}

} // namespace fake_cuda
