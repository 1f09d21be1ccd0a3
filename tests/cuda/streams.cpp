/* streams.cpp: queues, streams and events. One mutex protects all of them; it is not held
 * while an operation works. */
#include "streams.h"
#include "memory.h"

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>

struct CUstream_st {
    std::shared_ptr<fake_cuda::queue> q;
};

struct CUevent_st {
    fake_cuda::device *of;
    bool timed;
    fake_cuda::point at; /* of the last record; none before */
    std::shared_ptr<double> time;
};

namespace fake_cuda
{

typedef std::unique_lock<std::mutex> guard;

namespace
{
struct everything {
    std::mutex mutex;
    std::condition_variable progress; /* an operation is done, or one has come to a meeting */
    std::vector<std::shared_ptr<queue>> queues;
    std::set<cudaStream_t> streams;
    std::set<cudaEvent_t> events;
};
} // namespace

static everything &all()
{
    static auto *e = new everything;
    return *e;
}

std::shared_ptr<queue> make_queue(device &d, bool blocking)
{
    auto q = std::make_shared<queue>();
    q->of = &d;
    q->blocking = blocking;
    guard lock(all().mutex);
    all().queues.push_back(q);
    return q;
}

static bool advance(guard &lock, const std::shared_ptr<queue> &q, uint64_t number,
                    bool patient);

/* Why a meeting can not be held, or null. Without a rank, the others wait. */
static const char *hindrance(const meeting &m)
{
    if(m.done) return nullptr;
    if(m.parts.size() < m.expected) return "a rank has not come";
    for(const meeting::part &part : m.parts) {
        if(*part.cancelled) return "a rank has given up";
        if(part.place.where->of->fault) return "a rank's device is broken";
    }
    return nullptr;
}

static bool dropped(const queue &q, const operation &op)
{
    return q.of->fault || (op.cancelled && *op.cancelled);
}

/* Until the meeting can be held: with patience; without, only if it can be now. */
static bool all_came(guard &lock, const queue &q, const operation &op, bool patient)
{
    auto end = std::chrono::system_clock::now() + std::chrono::seconds(options().timeout);
    while(const char *why = hindrance(*op.with)) {
        if(dropped(q, op)) return true;
        if(!patient) return false;
        if(all().progress.wait_until(lock, end) == std::cv_status::timeout) {
            std::string ranks;
            for(int rank : op.with->absent) ranks += " " + std::to_string(rank);
            complain("device %d has waited %d s for a collective: %s%s", q.of->number,
                     options().timeout, why, ranks.c_str());
            abort();
        }
    }
    return true;
}

/* Whether everything has been done that the operation waits for. */
static bool ready(guard &lock, const queue &q, const operation &op, bool patient)
{
    for(const point &p : op.after)
        if(!advance(lock, p.where, p.number, patient)) return false;
    if(!op.with) return true;
    for(;;) {
        if(!all_came(lock, q, op, patient)) return false;
        if(op.with->done || dropped(q, op)) return true;
        std::vector<meeting::part> parts = op.with->parts;
        for(const meeting::part &part : parts)
            if(!advance(lock, part.place.where, part.place.number - 1, patient)) return false;
        /* What had to be done first may have broken a device. */
        if(!hindrance(*op.with)) return true;
    }
}

/* Does the first operation of the queue. What a device has broken under is dropped. */
static void run_first(guard &lock, queue &q)
{
    std::shared_ptr<operation> op = q.waiting.front();
    q.busy = true;
    bool drop = dropped(q, *op);
    lock.unlock();
    if(!drop) {
        access open(op->devices);
        op->work();
    }
    op->work = nullptr;
    lock.lock();
    q.waiting.pop_front();
    q.busy = false;
    if(op->with && !drop) op->with->done = true;
    ++q.done;
    all().progress.notify_all();
}

/* Runs the queue up to `number` operations. Without patience it stops at a meeting that
 * is not complete, and says no. */
static bool advance(guard &lock, const std::shared_ptr<queue> &q, uint64_t number, bool patient)
{
    while(q->done < number) {
        if(q->busy) {
            all().progress.wait(lock);
            continue;
        }
        std::shared_ptr<operation> next = q->waiting.front();
        if(!ready(lock, *q, *next, patient)) return false;
        /* The lock was open meanwhile. */
        if(!q->busy && !q->waiting.empty() && q->waiting.front() == next) run_first(lock, *q);
    }
    return true;
}

static void forget_destroyed()
{
    auto &queues = all().queues;
    for(size_t i = queues.size(); i-- > 0;)
        if(queues[i]->destroyed && queues[i]->waiting.empty()) queues.erase(queues.begin() + i);
}

/* The default stream and the blocking streams of a device wait for each other. */
static void wait_for_default(const std::shared_ptr<queue> &q, std::vector<point> &after)
{
    const std::shared_ptr<queue> &common = q->of->default_stream;
    for(const std::shared_ptr<queue> &other : all().queues) {
        bool meets = q == common ? other->of == q->of && other->blocking : other == common;
        if(q->blocking && meets && other != q && other->done < other->queued)
            after.push_back({other, other->queued});
    }
}

static uint64_t enqueue(guard &lock, const std::shared_ptr<queue> &q, operation op)
{
    wait_for_default(q, op.after);
    q->waiting.push_back(std::make_shared<operation>(std::move(op)));
    uint64_t number = ++q->queued;
    if(!options().deferred) advance(lock, q, number, false);
    return number;
}

uint64_t submit(const std::shared_ptr<queue> &q, unsigned devices, std::function<void()> work,
                std::vector<point> after)
{
    guard lock(all().mutex);
    return enqueue(lock, q, {std::move(work), devices, std::move(after), nullptr, nullptr});
}

void submit_meeting(const std::shared_ptr<queue> &q, operation part, int rank)
{
    guard lock(all().mutex);
    auto &absent = part.with->absent;
    for(size_t i = 0; i < absent.size(); ++i)
        if(absent[i] == rank) absent.erase(absent.begin() + i);
    part.with->parts.push_back({{q, q->queued + 1}, part.cancelled});
    all().progress.notify_all();
    enqueue(lock, q, std::move(part));
}

void wake_waiting()
{
    guard lock(all().mutex);
    all().progress.notify_all();
}

void cancel_meetings(const std::shared_ptr<bool> &cancelled)
{
    guard lock(all().mutex);
    *cancelled = true;
    all().progress.notify_all();
}

void finish(const std::shared_ptr<queue> &q, uint64_t number)
{
    guard lock(all().mutex);
    advance(lock, q, number, true);
}

cudaError_t finish_queue(const std::shared_ptr<queue> &q)
{
    {
        guard lock(all().mutex);
        advance(lock, q, q->queued, true);
    }
    check_canaries(*q->of);
    return (cudaError_t)q->of->fault.load();
}

cudaError_t finish_device(device &d)
{
    {
        guard lock(all().mutex);
        std::vector<std::shared_ptr<queue>> queues = all().queues;
        for(const std::shared_ptr<queue> &q : queues)
            if(q->of == &d) advance(lock, q, q->queued, true);
        forget_destroyed();
    }
    check_canaries(d);
    return (cudaError_t)d.fault.load();
}

std::shared_ptr<queue> queue_of(const char *call, cudaStream_t stream)
{
    if(!stream) return current_device().default_stream;
    guard lock(all().mutex);
    if(all().streams.count(stream)) return stream->q;
    complain("%s: %p is no stream", call, (void *)stream);
    return nullptr;
}

std::shared_ptr<queue> queue_on(const char *call, cudaStream_t stream, device &d)
{
    std::shared_ptr<queue> q = stream ? queue_of(call, stream) : d.default_stream;
    if(!q || q->of == &d) return q;
    complain("%s on device %d: the stream is device %d's", call, d.number, q->of->number);
    return nullptr;
}

/* Whether the point is reached. Deferred work moves on by one operation per question. */
static bool poll(const std::shared_ptr<queue> &q, uint64_t number)
{
    guard lock(all().mutex);
    if(q->done >= number) return true;
    advance(lock, q, options().deferred ? q->done + 1 : number, false);
    return !options().deferred && q->done >= number;
}

static double now()
{
    std::chrono::duration<double, std::milli> t =
        std::chrono::steady_clock::now().time_since_epoch();
    return t.count();
}

static bool is_event(const char *call, cudaEvent_t event)
{
    guard lock(all().mutex);
    if(all().events.count(event)) return true;
    complain("%s: %p is no event", call, (void *)event);
    return false;
}

} // namespace fake_cuda

using namespace fake_cuda;

/* ---- streams */

extern "C" cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags,
                                                    int)
{
    return runtime_call("cudaStreamCreate", [=](device &d) {
        if(flags & ~cudaStreamNonBlocking) return cudaErrorInvalidValue;
        *stream = new CUstream_st{make_queue(d, !(flags & cudaStreamNonBlocking))};
        guard lock(all().mutex);
        all().streams.insert(*stream);
        ++d.streams;
        return cudaSuccess;
    });
}

extern "C" cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
    return cudaStreamCreateWithPriority(stream, flags, 0);
}

extern "C" cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}

extern "C" cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    return runtime_call("cudaDeviceGetStreamPriorityRange", [=](device &) {
        *least = 0;
        *greatest = -1;
        return cudaSuccess;
    });
}

/* Returns at once: what is queued is still done. */
extern "C" cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    return runtime_call("cudaStreamDestroy", [=](device &) {
        if(!stream || !queue_of("cudaStreamDestroy", stream))
            return cudaErrorInvalidResourceHandle;
        guard lock(all().mutex);
        stream->q->destroyed = true;
        --stream->q->of->streams;
        all().streams.erase(stream);
        delete stream;
        forget_destroyed();
        return cudaSuccess;
    });
}

extern "C" cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    return runtime_call("cudaStreamSynchronize", [=](device &) {
        auto q = queue_of("cudaStreamSynchronize", stream);
        return q ? finish_queue(q) : cudaErrorInvalidResourceHandle;
    });
}

extern "C" cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    return runtime_call("cudaStreamQuery", [=](device &) {
        auto q = queue_of("cudaStreamQuery", stream);
        if(!q) return cudaErrorInvalidResourceHandle;
        uint64_t number;
        {
            guard lock(all().mutex);
            number = q->queued;
        }
        return poll(q, number) ? (cudaError_t)q->of->fault.load() : cudaErrorNotReady;
    });
}

extern "C" cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                           unsigned int flags)
{
    return runtime_call("cudaStreamWaitEvent", [=](device &) {
        if(flags) return cudaErrorInvalidValue;
        auto q = queue_of("cudaStreamWaitEvent", stream);
        if(!q || !is_event("cudaStreamWaitEvent", event)) return cudaErrorInvalidResourceHandle;
        std::vector<point> after;
        {
            guard lock(all().mutex);
            if(event->at.where) after.push_back(event->at);
        }
        if(!after.empty())
            submit(
                q, 0, [] {}, after);
        return cudaSuccess;
    });
}

extern "C" cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function,
                                          void *data)
{
    return runtime_call("cudaLaunchHostFunc", [=](device &) {
        auto q = queue_of("cudaLaunchHostFunc", stream);
        if(!q) return cudaErrorInvalidResourceHandle;
        submit(q, 0, [=] {
            in_host_function = true;
            function(data);
            in_host_function = false;
        });
        return cudaSuccess;
    });
}

/* ---- events */

extern "C" cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    return runtime_call("cudaEventCreate", [=](device &d) {
        if(flags & ~(cudaEventBlockingSync | cudaEventDisableTiming))
            return cudaErrorInvalidValue;
        *event = new CUevent_st{&d, !(flags & cudaEventDisableTiming), {nullptr, 0}, nullptr};
        guard lock(all().mutex);
        all().events.insert(*event);
        ++d.events;
        return cudaSuccess;
    });
}

extern "C" cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

extern "C" cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    return runtime_call("cudaEventDestroy", [=](device &) {
        if(!is_event("cudaEventDestroy", event)) return cudaErrorInvalidResourceHandle;
        guard lock(all().mutex);
        --event->of->events;
        all().events.erase(event);
        delete event;
        return cudaSuccess;
    });
}

extern "C" cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    return runtime_call("cudaEventRecord", [=](device &) {
        auto q = queue_of("cudaEventRecord", stream);
        if(!q || !is_event("cudaEventRecord", event)) return cudaErrorInvalidResourceHandle;
        if(event->of != q->of) {
            complain("cudaEventRecord: the event is device %d's, the stream device %d's",
                     event->of->number, q->of->number);
            return cudaErrorInvalidResourceHandle;
        }
        auto time = std::make_shared<double>(0);
        uint64_t number = submit(q, 0, [time] { *time = now(); });
        guard lock(all().mutex);
        event->at = {q, number};
        event->time = time;
        return cudaSuccess;
    });
}

extern "C" cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    return runtime_call("cudaEventSynchronize", [=](device &) {
        if(!is_event("cudaEventSynchronize", event)) return cudaErrorInvalidResourceHandle;
        guard lock(all().mutex);
        point at = event->at;
        if(at.where) advance(lock, at.where, at.number, true);
        return (cudaError_t)event->of->fault.load();
    });
}

extern "C" cudaError_t cudaEventQuery(cudaEvent_t event)
{
    return runtime_call("cudaEventQuery", [=](device &) {
        if(!is_event("cudaEventQuery", event)) return cudaErrorInvalidResourceHandle;
        point at;
        {
            guard lock(all().mutex);
            at = event->at;
        }
        if(at.where && !poll(at.where, at.number)) return cudaErrorNotReady;
        return (cudaError_t)event->of->fault.load();
    });
}

extern "C" cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    return runtime_call("cudaEventElapsedTime", [=](device &) {
        const char *call = "cudaEventElapsedTime";
        if(!is_event(call, start) || !is_event(call, end))
            return cudaErrorInvalidResourceHandle;
        guard lock(all().mutex);
        for(cudaEvent_t e : {start, end}) {
            if(!e->timed || !e->at.where) return cudaErrorInvalidResourceHandle;
            if(e->at.where->done < e->at.number) return cudaErrorNotReady;
        }
        *ms = (float)(*end->time - *start->time);
        return cudaSuccess;
    });
}
