/* gpu_card.c: what cards there are, what CUDA, and what the bus to the first card gives.
 *
 *   gpu_card list
 *       a line for each card: its name, memory and compute capability. Status 1 without a card
 *   gpu_card versions
 *       of CUDA, and of cuDNN and NCCL where this is built with them
 *   gpu_card copy MB
 *       GB/s to the card and from it: of one cudaMemcpy of MB, which is what the bus gives; of
 *       a cudaMemcpyAsync of a quarter of that; and of one each way at once, each its own. All
 *       in pinned memory of the host; medians of ROUNDS
 */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef CUDNN
#include <cudnn.h>
#endif
#ifdef NCCL
#include <nccl.h>
#endif

#define ROUNDS 9

static void check(cudaError_t status, const char *what)
{
    if(status == cudaSuccess) return;
    fprintf(stderr, "gpu_card: %s: %s\n", what, cudaGetErrorString(status));
    exit(1);
}

static void list(void)
{
    int n = 0;
    struct cudaDeviceProp card;
    cudaError_t status = cudaGetDeviceCount(&n);
    if(status != cudaSuccess || n == 0) {
        fprintf(stderr, "there is no CUDA device (%s)\n",
                status == cudaSuccess ? "none found" : cudaGetErrorString(status));
        exit(1);
    }
    for(int i = 0; i < n; ++i) {
        check(cudaGetDeviceProperties(&card, i), "asking for a card's properties");
        printf("card %d: %s, %zu MB, compute capability %d.%d\n", i, card.name,
               card.totalGlobalMem >> 20, card.major, card.minor);
    }
}

static void versions(void)
{
    int driver = 0, library = 0;
    check(cudaDriverGetVersion(&driver), "asking for the driver's version");
    check(cudaRuntimeGetVersion(&library), "asking for CUDA's version");
    printf("CUDA %d.%d (the driver's %d.%d)", library / 1000, library % 1000 / 10,
           driver / 1000, driver % 1000 / 10);
#ifdef CUDNN
    int dnn = (int)cudnnGetVersion(), major = dnn < 10000 ? 1000 : 10000; /* up to 8, from 9 */
    printf(", cuDNN %d.%d.%d", dnn / major, dnn % major / 100, dnn % 100);
#endif
#ifdef NCCL
    int nccl = 0;
    ncclGetVersion(&nccl);
    printf(", NCCL %d.%d.%d", nccl / 10000, nccl % 10000 / 100, nccl % 100);
#endif
    printf("\n");
}

/* ---- the bus ---- */

/* A block in pinned memory and one on the card for each way, with streams of their own. */
static char *host[2], *card[2];
static cudaStream_t streams[2];

enum { TO, FROM, BOTH };

static void start(int way, size_t bytes)
{
    char *target = way == TO ? card[TO] : host[FROM],
         *source = way == TO ? host[TO] : card[FROM];
    check(cudaMemcpyAsync(target, source, bytes,
                          way == TO ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost,
                          streams[way]),
          "copying");
}

static void copy_streamed(int ways, size_t bytes)
{
    for(int way = TO; way <= FROM; ++way) {
        if(ways == BOTH || ways == way) start(way, bytes);
    }
    for(int way = TO; way <= FROM; ++way) check(cudaStreamSynchronize(streams[way]), "copying");
}

static void copy_block(int way, size_t bytes)
{
    if(way == TO) {
        check(cudaMemcpy(card[TO], host[TO], bytes, cudaMemcpyHostToDevice), "copying");
    } else {
        check(cudaMemcpy(host[FROM], card[FROM], bytes, cudaMemcpyDeviceToHost), "copying");
    }
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* GB/s of each way. */
static double rate(void (*copy)(int, size_t), int way, size_t bytes)
{
    double rates[ROUNDS];
    copy(way, bytes);
    for(int i = 0; i < ROUNDS; ++i) {
        double began = seconds();
        copy(way, bytes);
        rates[i] = bytes / (seconds() - began) * 1e-9;
    }
    qsort(rates, ROUNDS, sizeof *rates, rising);
    return rates[ROUNDS / 2];
}

static void copy(size_t bytes)
{
    check(cudaSetDevice(0), "taking the first card");
    for(int i = 0; i < 2; ++i) {
        check(cudaHostAlloc((void **)&host[i], bytes, cudaHostAllocPortable), "pinned memory");
        check(cudaMalloc((void **)&card[i], bytes), "memory of the card");
        check(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking), "a stream");
        memset(host[i], 1, bytes);
        check(cudaMemset(card[i], 1, bytes), "memory of the card");
    }
    check(cudaDeviceSynchronize(), "clearing");
    printf("block %.2f %.2f\n", rate(copy_block, TO, bytes), rate(copy_block, FROM, bytes));
    printf("streamed %.2f %.2f\n", rate(copy_streamed, TO, bytes / 4),
           rate(copy_streamed, FROM, bytes / 4));
    printf("both %.2f\n", rate(copy_streamed, BOTH, bytes / 4));
}

int main(int argc, char **argv)
{
    if(argc == 2 && strcmp(argv[1], "list") == 0) {
        list();
    } else if(argc == 2 && strcmp(argv[1], "versions") == 0) {
        versions();
    } else if(argc == 3 && strcmp(argv[1], "copy") == 0 && atoi(argv[2]) > 0) {
        copy((size_t)atoi(argv[2]) << 20);
    } else {
        return 2;
    }
    return 0;
}
