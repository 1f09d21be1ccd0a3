/* collectives.h: what all ranks of a communicator do as one. */
#ifndef FAKE_CUDA_COLLECTIVES_H
#define FAKE_CUDA_COLLECTIVES_H

#include "nccl.h"

#include <vector>

namespace fake_cuda
{

enum collective_kind { ALL_REDUCE, REDUCE, BROADCAST, REDUCE_SCATTER, ALL_GATHER };

struct collective {
    const char *call;
    collective_kind kind;
    size_t count;
    ncclDataType_t type;
    ncclRedOp_t op;
    int root;

    bool operator==(const collective &other) const;
};

struct rank_buffers {
    const char *send;
    char *receive;
};

/* 0 for a type that there is not. */
size_t bytes_of(ncclDataType_t type);
/* Elements that one of `ranks` sends and receives. */
size_t sent(const collective &c, int ranks);
size_t received(const collective &c, int ranks, int rank);

/* Sums are made in the order of the ranks. */
void perform(const collective &c, const std::vector<rank_buffers> &ranks);

} // namespace fake_cuda
#endif
