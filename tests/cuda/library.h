/* library.h: what the handles of cuBLAS, cuRAND and cuDNN have in common. */
#ifndef FAKE_CUDA_LIBRARY_H
#define FAKE_CUDA_LIBRARY_H

#include "device.h"

#include <functional>
#include <vector>

namespace fake_cuda
{

struct handle {
    device *of;
    cudaStream_t stream;
};

/* A handle of the current device; counted. */
handle make_handle();
void free_handle(handle &h);

/* Whether the library may work: 0, or one of its two statuses. A handle of another device
 * than the current one is an error. */
int enter_create(const char *call, int failed);
int enter_library(const char *call, const handle *h, int no_handle, int failed);

bool set_stream(const char *call, handle &h, cudaStream_t stream);

/* One call's work on the device, and the memory that it uses. */
class library_work
{
    const char *call;
    handle &h;
    bool good = true;
    int argument = 0;
    std::vector<const void *> pointers;

  public:
    library_work(const char *name, handle &with) : call(name), h(with)
    {
    }
    void uses(const void *p, size_t bytes);
    /* False if the arguments are bad. */
    bool queue(std::function<void()> work);
};

/* C = alpha op(A) op(B) + beta C; columns are contiguous. The second form rounds A and B
 * to 11 bits first, as a card with tensor cores does where it may (TF32). */
void multiply(bool ta, bool tb, int m, int n, int k, float alpha, const float *A, int lda,
              const float *B, int ldb, float beta, float *C, int ldc);
void multiply_rounded(bool ta, bool tb, int m, int n, int k, float alpha, const float *A,
                      int lda, const float *B, int ldb, float beta, float *C, int ldc);

} // namespace fake_cuda
#endif
