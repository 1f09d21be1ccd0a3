/* collectives.cpp: the arithmetic of collectives. */
#include "collectives.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace fake_cuda
{

bool collective::operator==(const collective &other) const
{
    return kind == other.kind && count == other.count && type == other.type && op == other.op &&
           root == other.root;
}

size_t bytes_of(ncclDataType_t type)
{
    switch(type) {
    case ncclInt8:
    case ncclUint8:
        return 1;
    case ncclInt32:
    case ncclFloat32:
        return 4;
    case ncclInt64:
    case ncclFloat64:
        return 8;
    }
    return 0;
}

size_t sent(const collective &c, int ranks)
{
    return c.kind == REDUCE_SCATTER ? c.count * ranks : c.count;
}

size_t received(const collective &c, int ranks, int rank)
{
    if(c.kind == REDUCE && rank != c.root) return 0;
    return c.kind == ALL_GATHER ? c.count * ranks : c.count;
}

template <class T> static T combine(ncclRedOp_t op, T a, T b)
{
    switch(op) {
    case ncclProd:
        return a * b;
    case ncclMax:
        return std::max(a, b);
    case ncclMin:
        return std::min(a, b);
    default:
        return a + b;
    }
}

template <class T>
static void reduce(const collective &c, const std::vector<rank_buffers> &ranks, char *result)
{
    T *sum = (T *)result;
    size_t n = sent(c, (int)ranks.size());
    memcpy(sum, ranks[0].send, n * sizeof(T));
    for(size_t r = 1; r < ranks.size(); ++r)
        for(size_t i = 0; i < n; ++i)
            sum[i] = combine(c.op, sum[i], ((const T *)ranks[r].send)[i]);
    if(c.op == ncclAvg)
        for(size_t i = 0; i < n; ++i) sum[i] /= (T)ranks.size();
}

static void reduce_any(const collective &c, const std::vector<rank_buffers> &ranks,
                       char *result)
{
    switch(c.type) {
    case ncclInt8:
        reduce<int8_t>(c, ranks, result);
        break;
    case ncclUint8:
        reduce<uint8_t>(c, ranks, result);
        break;
    case ncclInt32:
        reduce<int32_t>(c, ranks, result);
        break;
    case ncclInt64:
        reduce<int64_t>(c, ranks, result);
        break;
    case ncclFloat32:
        reduce<float>(c, ranks, result);
        break;
    case ncclFloat64:
        reduce<double>(c, ranks, result);
        break;
    }
}

/* What there is to receive is complete before anything is written: a rank may receive
 * where it sends from. */
void perform(const collective &c, const std::vector<rank_buffers> &ranks)
{
    size_t n = ranks.size(), part = c.count * bytes_of(c.type);
    std::vector<char> all(std::max<size_t>(1, n * part));
    if(c.kind == BROADCAST)
        memcpy(all.data(), ranks[c.root].send, part);
    else if(c.kind == ALL_GATHER)
        for(size_t r = 0; r < n; ++r) memcpy(&all[r * part], ranks[r].send, part);
    else
        reduce_any(c, ranks, all.data());
    for(size_t r = 0; r < n; ++r) {
        size_t bytes = received(c, (int)n, (int)r) * bytes_of(c.type);
        if(bytes)
            memcpy(ranks[r].receive, &all[c.kind == REDUCE_SCATTER ? r * part : 0], bytes);
    }
}

} // namespace fake_cuda
