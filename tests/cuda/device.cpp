/* device.cpp: devices, errors, and the report at the end. */
#include "device.h"
#include "streams.h"

#include <cstdio>
#include <cstring>
#include <deque>

namespace fake_cuda
{

thread_local bool in_host_function;
static thread_local int current;
static thread_local cudaError_t last_error;

static std::deque<device> *make_devices()
{
    auto *all = new std::deque<device>;
    for(size_t i = 0; i < options().physical.size(); ++i) {
        device &d = all->emplace_back();
        d.number = (int)i;
        d.physical = options().physical[i];
        d.capacity = options().capacity[i];
        d.default_stream = make_queue(d, true);
    }
    return all;
}

/* Never destroyed: threads may still run when the program ends. */
static std::deque<device> &devices()
{
    static std::deque<device> *all = make_devices();
    return *all;
}

int device_count()
{
    return (int)devices().size();
}

device &device_at(int number)
{
    return devices()[number];
}

device &current_device()
{
    return devices()[current];
}

static bool is_device(int number)
{
    return number >= 0 && number < device_count();
}

void break_device(device &d, cudaError_t error, const char *why)
{
    int none = 0;
    if(!d.fault.compare_exchange_strong(none, error)) return;
    complain("device %d is broken from now on: %s (%s)", d.number, why,
             cudaGetErrorName(error));
    wake_waiting();
}

cudaError_t enter(const char *call)
{
    if(!device_count()) return cudaErrorNoDevice;
    if(in_host_function) {
        complain("%s is called by a stream's host function", call);
        return cudaErrorNotPermitted;
    }
    device &d = current_device();
    if(d.fault) return (cudaError_t)d.fault.load();
    int usual = !strcmp(call, "cudaMalloc") ? cudaErrorMemoryAllocation : cudaErrorUnknown;
    return (cudaError_t)ordered_failure(call, current, usual);
}

cudaError_t leave(cudaError_t error)
{
    if(error) last_error = error;
    return error;
}

static void report()
{
    if(!options().report) return;
    for(device &d : devices())
        fprintf(stderr,
                "fake_cuda: device %d: launches %ld gemms %ld convolutions %ld collectives %ld "
                "copies %ld bytes %ld streams %ld events %ld handles %ld allocations %zu "
                "peak %zu live %zu\n",
                d.number, d.launches.load(), d.gemms.load(), d.convolutions.load(),
                d.collectives.load(), d.copies.load(), d.bytes.load(), d.streams.load(),
                d.events.load(), d.handles.load(), d.allocations.load(), d.peak.load(),
                d.used.load());
}

__attribute__((destructor)) static void at_end()
{
    report();
}

} // namespace fake_cuda

using namespace fake_cuda;

/* ---- errors */

namespace
{
struct error_words {
    cudaError_t error;
    const char *name, *words;
};
} // namespace

static const error_words &words_of(cudaError_t error)
{
#define ROW(name, words)                                                                       \
    {                                                                                          \
        name, #name, words                                                                     \
    }
    static const error_words rows[] = {
        ROW(cudaSuccess, "no error"),
        ROW(cudaErrorInvalidValue, "invalid argument"),
        ROW(cudaErrorMemoryAllocation, "out of memory"),
        ROW(cudaErrorInitializationError, "initialization error"),
        ROW(cudaErrorInvalidConfiguration, "invalid configuration argument"),
        ROW(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
        ROW(cudaErrorStubLibrary, "CUDA driver is a stub library"),
        ROW(cudaErrorInsufficientDriver,
            "CUDA driver version is insufficient for CUDA runtime version"),
        ROW(cudaErrorNoDevice, "no CUDA-capable device is detected"),
        ROW(cudaErrorInvalidDevice, "invalid device ordinal"),
        ROW(cudaErrorECCUncorrectable, "uncorrectable ECC error encountered"),
        ROW(cudaErrorPeerAccessUnsupported,
            "peer access is not supported between these two devices"),
        ROW(cudaErrorInvalidResourceHandle, "invalid resource handle"),
        ROW(cudaErrorNotReady, "device not ready"),
        ROW(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
        ROW(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
        ROW(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
        ROW(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"),
        ROW(cudaErrorAssert, "device-side assert triggered"),
        ROW(cudaErrorHostMemoryAlreadyRegistered, "memory is already registered"),
        ROW(cudaErrorHostMemoryNotRegistered, "memory has not been registered"),
        ROW(cudaErrorMisalignedAddress, "misaligned address"),
        ROW(cudaErrorNoKernelImageForDevice,
            "no kernel image is available for execution on the device"),
        ROW(cudaErrorLaunchFailure, "unspecified launch failure"),
        ROW(cudaErrorNotPermitted, "operation not permitted"),
        ROW(cudaErrorNotSupported, "operation not supported"),
        ROW(cudaErrorSystemDriverMismatch,
            "system has unsupported display driver / cuda driver "
            "combination"),
        ROW(cudaErrorUnknown, "unknown error"),
    };
#undef ROW
    for(const error_words &row : rows)
        if(row.error == error) return row;
    static const error_words none = {error, "unrecognized error code",
                                     "unrecognized error code"};
    return none;
}

extern "C" const char *cudaGetErrorName(cudaError_t error)
{
    return words_of(error).name;
}

extern "C" const char *cudaGetErrorString(cudaError_t error)
{
    return words_of(error).words;
}

extern "C" cudaError_t cudaPeekAtLastError(void)
{
    if(device_count() && current_device().fault)
        return (cudaError_t)current_device().fault.load();
    return last_error;
}

extern "C" cudaError_t cudaGetLastError(void)
{
    cudaError_t error = cudaPeekAtLastError();
    last_error = cudaSuccess;
    return error;
}

/* ---- devices. These answer on a broken device too. */

extern "C" cudaError_t cudaGetDeviceCount(int *count)
{
    int error = ordered_failure("cudaGetDeviceCount", 0, cudaErrorInsufficientDriver);
    *count = error ? 0 : device_count();
    return leave(error ? (cudaError_t)error : *count ? cudaSuccess : cudaErrorNoDevice);
}

extern "C" cudaError_t cudaSetDevice(int number)
{
    if(!device_count()) return leave(cudaErrorNoDevice);
    if(!is_device(number)) return leave(cudaErrorInvalidDevice);
    int error = ordered_failure("cudaSetDevice", number, cudaErrorUnknown);
    if(!error) current = number;
    return leave((cudaError_t)error);
}

extern "C" cudaError_t cudaGetDevice(int *number)
{
    if(!device_count()) return leave(cudaErrorNoDevice);
    *number = current;
    return cudaSuccess;
}

extern "C" cudaError_t cudaDriverGetVersion(int *version)
{
    *version = device_count() ? CUDART_VERSION : 0;
    return cudaSuccess;
}

extern "C" cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

extern "C" cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int number)
{
    return runtime_call("cudaGetDeviceProperties", [=](device &) {
        if(!is_device(number)) return cudaErrorInvalidDevice;
        device &d = device_at(number);
        memset(prop, 0, sizeof *prop);
        snprintf(prop->name, sizeof prop->name, "Fake device %d", d.physical);
        prop->totalGlobalMem = d.capacity;
        prop->sharedMemPerBlock = 48 << 10;
        prop->warpSize = warpSize;
        prop->maxThreadsPerBlock = 1024;
        prop->maxThreadsDim[0] = prop->maxThreadsDim[1] = 1024;
        prop->maxThreadsDim[2] = 64;
        prop->maxGridSize[0] = 0x7fffffff;
        prop->maxGridSize[1] = prop->maxGridSize[2] = 65535;
        prop->major = 8;
        prop->multiProcessorCount = 4;
        prop->concurrentKernels = 1;
        prop->pciBusID = d.physical + 1;
        prop->asyncEngineCount = 2;
        prop->unifiedAddressing = 1;
        prop->streamPrioritiesSupported = 1;
        return cudaSuccess;
    });
}

extern "C" cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute,
                                              int number)
{
    return runtime_call("cudaDeviceGetAttribute", [=](device &) {
        struct cudaDeviceProp prop;
        cudaError_t error = cudaGetDeviceProperties(&prop, number);
        if(error) return error;
        switch(attribute) {
        case cudaDevAttrMaxThreadsPerBlock:
            *value = prop.maxThreadsPerBlock;
            break;
        case cudaDevAttrMaxSharedMemoryPerBlock:
            *value = (int)prop.sharedMemPerBlock;
            break;
        case cudaDevAttrWarpSize:
            *value = prop.warpSize;
            break;
        case cudaDevAttrMultiProcessorCount:
            *value = prop.multiProcessorCount;
            break;
        case cudaDevAttrUnifiedAddressing:
            *value = prop.unifiedAddressing;
            break;
        case cudaDevAttrComputeCapabilityMajor:
            *value = prop.major;
            break;
        case cudaDevAttrComputeCapabilityMinor:
            *value = prop.minor;
            break;
        case cudaDevAttrStreamPrioritiesSupported:
            *value = 1;
            break;
        default:
            return cudaErrorInvalidValue;
        }
        return cudaSuccess;
    });
}

extern "C" cudaError_t cudaDeviceGetPCIBusId(char *text, int length, int number)
{
    return runtime_call("cudaDeviceGetPCIBusId", [=](device &) {
        if(!is_device(number)) return cudaErrorInvalidDevice;
        char id[16];
        snprintf(id, sizeof id, "0000:%02X:00.0", device_at(number).physical + 1);
        if(length <= (int)strlen(id)) return cudaErrorInvalidValue;
        strcpy(text, id);
        return cudaSuccess;
    });
}

extern "C" cudaError_t cudaDeviceSynchronize(void)
{
    return runtime_call("cudaDeviceSynchronize", [](device &d) { return finish_device(d); });
}

/* ---- peer access */

extern "C" cudaError_t cudaDeviceCanAccessPeer(int *can, int number, int peer)
{
    return runtime_call("cudaDeviceCanAccessPeer", [=](device &) {
        if(!is_device(number) || !is_device(peer)) return cudaErrorInvalidDevice;
        *can = number != peer && options().peer_access;
        return cudaSuccess;
    });
}

extern "C" cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags)
{
    return runtime_call("cudaDeviceEnablePeerAccess", [=](device &d) {
        if(flags) return cudaErrorInvalidValue;
        if(!is_device(peer) || peer == d.number) return cudaErrorInvalidDevice;
        if(!options().peer_access) return cudaErrorPeerAccessUnsupported;
        unsigned bit = device_at(peer).bit();
        return d.peers.fetch_or(bit) & bit ? cudaErrorPeerAccessAlreadyEnabled : cudaSuccess;
    });
}

extern "C" cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
    return runtime_call("cudaDeviceDisablePeerAccess", [=](device &d) {
        if(!is_device(peer)) return cudaErrorInvalidDevice;
        unsigned bit = device_at(peer).bit();
        return d.peers.fetch_and(~bit) & bit ? cudaSuccess : cudaErrorPeerAccessNotEnabled;
    });
}
