/* nccl.cpp: communicators, groups, and how the ranks' calls become one collective. */
#include "collectives.h"
#include "memory.h"
#include "streams.h"

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

namespace fake_cuda
{

namespace
{
/* One collective on its way: the ranks that have called, and with what. */
struct round {
    collective what;
    int came = 0;
    std::shared_ptr<meeting> ranks;
    std::vector<rank_buffers> buffers;
    std::once_flag once;
    std::thread::id caller; /* of the last call outside a group */
};

/* A communicator of all ranks. */
struct clique {
    int ranks;
    std::map<int, int> devices; /* of each rank that has come */
    bool refused = false;       /* two ranks on one device */
    std::map<uint64_t, std::shared_ptr<round>> rounds;
};
} // namespace

} // namespace fake_cuda

struct ncclComm {
    std::shared_ptr<fake_cuda::clique> all;
    int rank;
    fake_cuda::device *of;
    uint64_t calls;
    std::shared_ptr<bool> aborted;
};

namespace fake_cuda
{

namespace
{
struct call_of_rank {
    ncclComm_t comm;
    collective what;
    rank_buffers buffers;
    cudaStream_t stream;
};

struct group {
    int depth = 0;
    std::vector<ncclComm_t *> made;
    std::vector<call_of_rank> calls;
    ncclResult_t error = ncclSuccess;
};
} // namespace

static thread_local group mine;
static std::mutex mutex; /* protects cliques and rounds */
static std::condition_variable rank_came;
static std::map<uint64_t, std::shared_ptr<clique>> cliques; /* not complete yet */

/* ---- communicators */

/* Until all ranks are there. What has been refused is freed. */
static ncclResult_t wait_for_ranks(ncclComm_t *comm)
{
    std::unique_lock<std::mutex> lock(mutex);
    clique &all = *(*comm)->all;
    auto end = std::chrono::system_clock::now() + std::chrono::seconds(options().timeout);
    while(!all.refused && (int)all.devices.size() < all.ranks)
        if(rank_came.wait_until(lock, end) == std::cv_status::timeout) {
            complain("ncclCommInitRank: rank %d has waited %d s; %zu of %d are there",
                     (*comm)->rank, options().timeout, all.devices.size(), all.ranks);
            abort();
        }
    if(!all.refused) return ncclSuccess;
    --(*comm)->of->handles;
    delete *comm;
    *comm = nullptr;
    return ncclInvalidUsage;
}

static bool join(clique &all, int rank, int device)
{
    for(const auto &other : all.devices)
        if(other.second == device || other.first == rank) {
            complain(
                "ncclCommInitRank: rank %d on device %d, rank %d on device %d: a device and "
                "a rank have one communicator",
                other.first, other.second, rank, device);
            all.refused = true;
        }
    all.devices[rank] = device;
    rank_came.notify_all();
    return !all.refused;
}

/* Makes a rank on the current device; the last one takes the clique from the table. */
static ncclComm_t make_rank(uint64_t id, int ranks, int rank)
{
    std::lock_guard<std::mutex> lock(mutex);
    std::shared_ptr<clique> &all = cliques[id];
    if(!all) {
        all = std::make_shared<clique>();
        all->ranks = ranks;
    }
    device &d = current_device();
    auto comm = new ncclComm{all, rank, &d, 0, std::make_shared<bool>(false)};
    ++d.handles;
    join(*all, rank, d.number);
    if((int)all->devices.size() == ranks) cliques.erase(id);
    return comm;
}

static uint64_t new_id()
{
    static uint64_t last;
    std::lock_guard<std::mutex> lock(mutex);
    return ++last;
}

/* ---- collectives */

static ncclResult_t enter_nccl(const char *call, device &d)
{
    if(d.fault) return ncclUnhandledCudaError;
    return (ncclResult_t)ordered_failure(call, d.number, ncclUnhandledCudaError);
}

static void note(ncclResult_t error)
{
    if(!mine.error) mine.error = error;
}

/* The round that this call of the rank belongs to, or null: the ranks do not call the
 * same, or one thread calls for several and would wait for itself. */
static std::shared_ptr<round> round_of(const call_of_rank &c, bool grouped)
{
    clique &all = *c.comm->all;
    std::shared_ptr<round> &r = all.rounds[c.comm->calls];
    if(!r) {
        r = std::make_shared<round>();
        r->what = c.what;
        r->ranks = std::make_shared<meeting>();
        r->ranks->expected = all.ranks;
        r->buffers.resize(all.ranks);
        for(int i = 0; i < all.ranks; ++i) r->ranks->absent.push_back(i);
    } else if(!(r->what == c.what)) {
        complain("rank %d calls %s, count %zu, where another calls %s, count %zu (or another "
                 "type, operation or root)",
                 c.comm->rank, c.what.call, c.what.count, r->what.call, r->what.count);
        return nullptr;
    } else if(!grouped && r->caller == std::this_thread::get_id()) {
        complain("%s: one thread calls for several ranks outside a group", c.what.call);
        return nullptr;
    }
    if(!grouped) r->caller = std::this_thread::get_id();
    return r;
}

static ncclResult_t start(const call_of_rank &c, bool grouped)
{
    ncclComm_t comm = c.comm;
    device &d = *comm->of;
    auto q = c.stream ? queue_on(c.what.call, c.stream, d) : d.default_stream;
    if(!q) return ncclInvalidArgument;
    std::shared_ptr<round> r;
    unsigned devices = 0;
    {
        std::lock_guard<std::mutex> lock(mutex);
        r = round_of(c, grouped);
        if(!r) return ncclInvalidUsage;
        r->buffers[comm->rank] = c.buffers;
        for(const auto &other : comm->all->devices) devices |= 1u << other.second;
        if(++r->came == comm->all->ranks) comm->all->rounds.erase(comm->calls);
        ++comm->calls;
    }
    ++d.collectives;
    operation part;
    part.devices = devices;
    part.with = r->ranks;
    part.cancelled = comm->aborted;
    part.work = [r] { std::call_once(r->once, [&] { perform(r->what, r->buffers); }); };
    submit_meeting(q, std::move(part), comm->rank);
    return ncclSuccess;
}

/* A call, now or at the end of its group. */
static ncclResult_t call(ncclComm_t comm, const collective &what, const void *send,
                         void *receive, cudaStream_t stream)
{
    if(!comm) return ncclInvalidArgument;
    device &d = *comm->of;
    ncclResult_t error = enter_nccl(what.call, d);
    size_t size = bytes_of(what.type);
    int ranks = comm->all->ranks;
    if(!error && (!size || what.root < 0 || what.root >= ranks)) error = ncclInvalidArgument;
    size_t sends = what.kind == BROADCAST && comm->rank != what.root ? 0 : sent(what, ranks);
    size_t receives = received(what, ranks, comm->rank);
    if(!error && ((sends && !send) || (receives && !receive))) error = ncclInvalidArgument;
    if(!error && ((sends && !check_argument(what.call, 1, send, sends * size, d)) ||
                  (receives && !check_argument(what.call, 2, receive, receives * size, d))))
        error = ncclUnhandledCudaError;
    if(error) {
        note(error);
        return error;
    }
    call_of_rank c = {comm, what, {(const char *)send, (char *)receive}, stream};
    if(!mine.depth) return start(c, false);
    mine.calls.push_back(c);
    return ncclSuccess;
}

} // namespace fake_cuda

using namespace fake_cuda;

extern "C" ncclResult_t ncclGetVersion(int *version)
{
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}

extern "C" const char *ncclGetErrorString(ncclResult_t result)
{
    switch(result) {
    case ncclSuccess:
        return "no error";
    case ncclUnhandledCudaError:
        return "unhandled cuda error";
    case ncclSystemError:
        return "unhandled system error";
    case ncclInternalError:
        return "internal error";
    case ncclInvalidArgument:
        return "invalid argument";
    case ncclInvalidUsage:
        return "invalid usage";
    case ncclRemoteError:
        return "remote process exited or there was a network error";
    case ncclInProgress:
        return "NCCL operation in progress";
    }
    return "unknown result code";
}

/* ---- communicators */

extern "C" ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    uint64_t number = new_id();
    memset(id, 0, sizeof *id);
    memcpy(id, &number, sizeof number);
    return ncclSuccess;
}

extern "C" ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank)
{
    if(!device_count()) return ncclUnhandledCudaError;
    if(ranks < 1 || rank < 0 || rank >= ranks) return ncclInvalidArgument;
    ncclResult_t error = enter_nccl("ncclCommInitRank", current_device());
    if(error) return error;
    uint64_t number;
    memcpy(&number, &id, sizeof number);
    *comm = make_rank(number, ranks, rank);
    if(!mine.depth) return wait_for_ranks(comm);
    mine.made.push_back(comm);
    return ncclSuccess;
}

extern "C" ncclResult_t ncclCommInitAll(ncclComm_t *comms, int n, const int *devices)
{
    ncclUniqueId id;
    int before;
    if(cudaGetDevice(&before)) return ncclUnhandledCudaError;
    if(n < 1) return ncclInvalidArgument;
    ncclGetUniqueId(&id);
    ncclGroupStart();
    for(int i = 0; i < n; ++i) {
        ncclResult_t error = cudaSetDevice(devices ? devices[i] : i)
                                 ? ncclUnhandledCudaError
                                 : ncclCommInitRank(comms + i, n, id, i);
        if(!error) continue;
        for(ncclComm_t *made : mine.made) ncclCommDestroy(*made);
        mine.made.clear();
        ncclGroupEnd();
        cudaSetDevice(before);
        return error;
    }
    cudaSetDevice(before);
    return ncclGroupEnd();
}

extern "C" ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    if(!comm) return ncclInvalidArgument;
    --comm->of->handles;
    delete comm;
    return ncclSuccess;
}

extern "C" ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    if(!comm) return ncclInvalidArgument;
    cancel_meetings(comm->aborted);
    return ncclCommDestroy(comm);
}

extern "C" ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
    if(!comm) return ncclInvalidArgument;
    *error = comm->of->fault ? ncclUnhandledCudaError : ncclSuccess;
    return ncclSuccess;
}

extern "C" ncclResult_t ncclCommCount(const ncclComm_t comm, int *count)
{
    if(!comm) return ncclInvalidArgument;
    *count = comm->all->ranks;
    return ncclSuccess;
}

extern "C" ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *number)
{
    if(!comm) return ncclInvalidArgument;
    *number = comm->of->number;
    return ncclSuccess;
}

extern "C" ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank)
{
    if(!comm) return ncclInvalidArgument;
    *rank = comm->rank;
    return ncclSuccess;
}

/* ---- groups */

extern "C" ncclResult_t ncclGroupStart(void)
{
    ++mine.depth;
    return ncclSuccess;
}

/* Does what the group has put off, or, if one of its calls failed, none of it. */
extern "C" ncclResult_t ncclGroupEnd(void)
{
    if(!mine.depth) return ncclInvalidUsage;
    if(--mine.depth) return ncclSuccess;
    group g;
    std::swap(g, mine);
    for(ncclComm_t *comm : g.made) {
        ncclResult_t error = wait_for_ranks(comm);
        if(!g.error) g.error = error;
    }
    for(const call_of_rank &c : g.calls)
        if(!g.error) g.error = start(c, true);
    return g.error;
}

/* ---- collectives */

extern "C" ncclResult_t ncclAllReduce(const void *send, void *receive, size_t count,
                                      ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                                      cudaStream_t stream)
{
    return call(comm, {__func__, ALL_REDUCE, count, type, op, 0}, send, receive, stream);
}

extern "C" ncclResult_t ncclReduce(const void *send, void *receive, size_t count,
                                   ncclDataType_t type, ncclRedOp_t op, int root,
                                   ncclComm_t comm, cudaStream_t stream)
{
    return call(comm, {__func__, REDUCE, count, type, op, root}, send, receive, stream);
}

extern "C" ncclResult_t ncclBroadcast(const void *send, void *receive, size_t count,
                                      ncclDataType_t type, int root, ncclComm_t comm,
                                      cudaStream_t stream)
{
    return call(comm, {__func__, BROADCAST, count, type, ncclSum, root}, send, receive, stream);
}

extern "C" ncclResult_t ncclReduceScatter(const void *send, void *receive, size_t count,
                                          ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                                          cudaStream_t stream)
{
    return call(comm, {__func__, REDUCE_SCATTER, count, type, op, 0}, send, receive, stream);
}

extern "C" ncclResult_t ncclAllGather(const void *send, void *receive, size_t count,
                                      ncclDataType_t type, ncclComm_t comm, cudaStream_t stream)
{
    return call(comm, {__func__, ALL_GATHER, count, type, ncclSum, 0}, send, receive, stream);
}
