/* settings.cpp: the environment, read once. */
#include "settings.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

namespace fake_cuda
{

static const int most_devices = 16;

static const char *variable(const char *name)
{
    const char *value = getenv((std::string("FAKE_CUDA_") + name).c_str());
    return value && *value ? value : nullptr;
}

static int number(const char *name, int otherwise)
{
    const char *value = variable(name);
    return value ? atoi(value) : otherwise;
}

static std::vector<std::string> split(const char *list, char separator)
{
    std::vector<std::string> parts(1);
    for(; list && *list; ++list) {
        if(*list == separator)
            parts.emplace_back();
        else
            parts.back() += *list;
    }
    return parts;
}

/* As the driver reads it: the list ends at the first entry that is no device. */
static std::vector<int> visible_devices(int devices)
{
    std::vector<int> visible;
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    if(!list) {
        for(int i = 0; i < devices; ++i) visible.push_back(i);
        return visible;
    }
    for(const std::string &part : split(list, ',')) {
        char *end;
        long device = strtol(part.c_str(), &end, 10);
        if(end == part.c_str() || *end || device < 0 || device >= devices) break;
        visible.push_back((int)device);
    }
    return visible;
}

static settings read_settings()
{
    settings s;
    int devices = number("DEVICES", 1);
    if(devices < 0) devices = 0;
    if(devices > most_devices) devices = most_devices;
    s.physical = visible_devices(devices);
    std::vector<std::string> sizes = split(variable("MEMORY_MB"), ',');
    for(int card : s.physical) {
        size_t which = (size_t)card < sizes.size() ? card : sizes.size() - 1;
        long megabytes = sizes[which].empty() ? 2048 : atol(sizes[which].c_str());
        s.capacity.push_back((size_t)megabytes << 20);
    }
    s.deferred = number("ASYNC", 0);
    s.guard = number("GUARD", 0);
    s.reverse = number("REVERSE", 0);
    s.peer_access = number("P2P", 1);
    s.report = number("REPORT", 0);
    s.timeout = number("TIMEOUT", 60);
    return s;
}

const settings &options()
{
    static const settings all = read_settings();
    return all;
}

/* ---- errors on order: call:n:device[:error], more of them after commas; with n+ the
 * n-th call and all that follow. */

namespace
{
struct order {
    std::string call;
    long nth;
    bool onwards;
    int device;
    int error; /* 0: the usual one */
    long calls;
};

std::mutex orders_mutex; /* protects the counts */
} // namespace

static std::vector<order> read_orders()
{
    std::vector<order> orders;
    const char *list = variable("FAIL");
    if(!list) return orders;
    for(const std::string &part : split(list, ',')) {
        std::vector<std::string> fields = split(part.c_str(), ':');
        if(fields.size() < 3 || fields.size() > 4 || atol(fields[1].c_str()) < 1) {
            complain("FAKE_CUDA_FAIL: '%s' is not call:n:device[:error]", part.c_str());
            abort();
        }
        order o = {fields[0],
                   atol(fields[1].c_str()),
                   fields[1].back() == '+',
                   atoi(fields[2].c_str()),
                   fields.size() > 3 ? atoi(fields[3].c_str()) : 0,
                   0};
        orders.push_back(o);
    }
    return orders;
}

int ordered_failure(const char *call, int device, int otherwise)
{
    static std::vector<order> orders = read_orders();
    if(orders.empty()) return 0;
    std::lock_guard<std::mutex> lock(orders_mutex);
    for(order &o : orders) {
        if(o.device != device || o.call != call) continue;
        ++o.calls;
        if(o.calls == o.nth || (o.onwards && o.calls > o.nth)) {
            complain("%s nr %ld on device %d fails, as ordered", call, o.calls, device);
            return o.error ? o.error : otherwise;
        }
    }
    return 0;
}

void complain(const char *format, ...)
{
    char line[512];
    int n = snprintf(line, sizeof line, "fake_cuda: ");
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line + n, sizeof line - n - 1, format, arguments);
    va_end(arguments);
    strcat(line, "\n");
    fputs(line, stderr);
}

} // namespace fake_cuda
