/* device.h: the table of devices, the current one, and what every call goes through. */
#ifndef FAKE_CUDA_DEVICE_H
#define FAKE_CUDA_DEVICE_H

#include "cuda_runtime.h"
#include "settings.h"

#include <atomic>
#include <memory>

namespace fake_cuda
{

struct queue;

struct device {
    int number;   /* as the program counts */
    int physical; /* as the machine counts */
    size_t capacity;

    /* An error that came after its call had returned: every later call gives it. */
    std::atomic<int> fault{0};
    std::atomic<unsigned> peers{0}; /* bit i: kernels may use device i's memory */
    std::shared_ptr<queue> default_stream;

    /* Counted for the report. */
    std::atomic<long> launches{0}, gemms{0}, convolutions{0}, collectives{0}, copies{0};
    std::atomic<long> bytes{0}; /* copied */
    std::atomic<long> streams{0}, events{0}, handles{0};
    std::atomic<size_t> used{0}, peak{0}, allocations{0};

    unsigned bit() const
    {
        return 1u << number;
    }
};

int device_count();
device &device_at(int number);
device &current_device();

/* The device breaks: what is queued on it is dropped. */
void break_device(device &d, cudaError_t error, const char *why);

/* What comes before a call's own work: is there a device, is the call ordered to fail, is
 * the device broken, does a host function call. */
cudaError_t enter(const char *call);
/* Keeps an error for cudaGetLastError. */
cudaError_t leave(cudaError_t error);

/* A call of the runtime: `body` gets the current device. */
template <class F> cudaError_t runtime_call(const char *name, F body)
{
    cudaError_t error = enter(name);
    return leave(error ? error : body(current_device()));
}

/* Set while a host function of a stream runs. */
extern thread_local bool in_host_function;

} // namespace fake_cuda
#endif
