/* streams.h: queues of work. A stream is a queue; so is each device's default stream.
 *
 * Work runs in the order of its queue, in whichever thread of the program gets to it:
 * when it is queued, or, deferred, when somebody waits for it. */
#ifndef FAKE_CUDA_STREAMS_H
#define FAKE_CUDA_STREAMS_H

#include "device.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace fake_cuda
{

/* An operation's place: reached when `number` operations of the queue are done. */
struct point {
    std::shared_ptr<queue> where;
    uint64_t number;
};

/* Operations of several queues that run as one, when all are there (a collective). */
struct meeting {
    struct part {
        point place;
        std::shared_ptr<bool> cancelled; /* the rank has given up */
    };
    size_t expected;
    std::vector<part> parts;
    std::vector<int> absent; /* ranks that have not come */
    bool done = false;
};

struct operation {
    std::function<void()> work;
    unsigned devices; /* bits: whose memory it touches */
    std::vector<point> after;
    std::shared_ptr<meeting> with;
    std::shared_ptr<bool> cancelled; /* of a meeting's part */
};

struct queue {
    device *of;
    bool blocking; /* waits for the default stream, and that for it */
    std::deque<std::shared_ptr<operation>> waiting;
    uint64_t queued = 0, done = 0;
    bool busy = false;      /* a thread runs the first of `waiting` */
    bool destroyed = false; /* goes once it is empty */
};

std::shared_ptr<queue> make_queue(device &d, bool blocking);

/* The stream's queue, the current device's default one for null, or null if there is no
 * such stream (said on stderr). */
std::shared_ptr<queue> queue_of(const char *call, cudaStream_t stream);
/* The same for work that has to run on device d. */
std::shared_ptr<queue> queue_on(const char *call, cudaStream_t stream, device &d);

uint64_t submit(const std::shared_ptr<queue> &q, unsigned devices, std::function<void()> work,
                std::vector<point> after = {});
/* A rank's part of a meeting: the last to come makes it possible. */
void submit_meeting(const std::shared_ptr<queue> &q, operation part, int rank);
/* Threads that wait look again whether they still have to. */
void wake_waiting();
void cancel_meetings(const std::shared_ptr<bool> &cancelled);

/* Block until the work is done. */
void finish(const std::shared_ptr<queue> &q, uint64_t number);
cudaError_t finish_queue(const std::shared_ptr<queue> &q);
cudaError_t finish_device(device &d);

} // namespace fake_cuda
#endif
