/* blas.cpp: cuBLAS. Every element of a product is summed in one order, which depends on k
 * alone. */
#include "cublas_v2.h"
#include "library.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

struct cublasContext {
    fake_cuda::handle common;
    cublasMath_t mode;
};

namespace fake_cuda
{

/* Rows and columns of the tiles in which a product is made; terms summed at a time. */
static const int tile_rows = 8, tile_columns = 4, terms = 256;

typedef float column __attribute__((vector_size(tile_rows * sizeof(float))));

namespace
{
struct matrix {
    const float *data;
    size_t row, col; /* steps from a row to the next, and from a column */
    float at(size_t i, size_t j) const
    {
        return data[i * row + j * col];
    }
};
} // namespace

static matrix operand(const float *data, bool transposed, int ld)
{
    return transposed ? matrix{data, (size_t)ld, 1} : matrix{data, 1, (size_t)ld};
}

/* C[0..rows)[0..columns) += alpha * A B for terms [from, to); `panel` is A's packed part. */
static void add_tile(const column *panel, const matrix &B, int j, int rows, int columns,
                     int from, int to, float alpha, float *C, int ldc)
{
    column sums[tile_columns] = {};
    for(int p = from; p < to; ++p)
        for(int c = 0; c < tile_columns; ++c)
            sums[c] += panel[p - from] * (c < columns ? B.at(p, j + c) : 0.f);
    for(int c = 0; c < columns; ++c)
        for(int r = 0; r < rows; ++r) C[(size_t)(j + c) * ldc + r] += alpha * sums[c][r];
}

static void scale(float *C, int m, int n, int ldc, float beta)
{
    for(int j = 0; j < n; ++j) {
        float *c = C + (size_t)j * ldc;
        if(beta == 0) memset(c, 0, m * sizeof(float));
        if(beta != 0 && beta != 1)
            for(int i = 0; i < m; ++i) c[i] *= beta;
    }
}

void multiply(bool ta, bool tb, int m, int n, int k, float alpha, const float *a, int lda,
              const float *b, int ldb, float beta, float *C, int ldc)
{
    matrix A = operand(a, ta, lda), B = operand(b, tb, ldb);
    column panel[terms];
    scale(C, m, n, ldc, beta);
    for(int i = 0; i < m; i += tile_rows) {
        int rows = std::min(tile_rows, m - i);
        for(int from = 0; from < k; from += terms) {
            int to = std::min(k, from + terms);
            for(int p = from; p < to; ++p)
                for(int r = 0; r < tile_rows; ++r)
                    panel[p - from][r] = r < rows ? A.at(i + r, p) : 0;
            for(int j = 0; j < n; j += tile_columns)
                add_tile(panel, B, j, rows, std::min(tile_columns, n - j), from, to, alpha,
                         C + i, ldc);
        }
    }
}

/* Elements from the first to the last of a matrix in memory. */
static size_t extent(bool transposed, int rows, int columns, int ld)
{
    if(transposed) std::swap(rows, columns);
    return rows && columns ? (size_t)(columns - 1) * ld + rows : 0;
}

static std::vector<float> rounded(const float *from, size_t n)
{
    std::vector<float> all(from, from + n);
    for(float &x : all) {
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        bits = (bits + 0x1000) & 0xffffe000u;
        memcpy(&x, &bits, sizeof bits);
    }
    return all;
}

void multiply_rounded(bool ta, bool tb, int m, int n, int k, float alpha, const float *a,
                      int lda, const float *b, int ldb, float beta, float *C, int ldc)
{
    std::vector<float> A = rounded(a, extent(ta, m, k, lda));
    std::vector<float> B = rounded(b, extent(tb, k, n, ldb));
    multiply(ta, tb, m, n, k, alpha, A.data(), lda, B.data(), ldb, beta, C, ldc);
}

static cublasStatus_t enter(const char *call, cublasHandle_t h)
{
    return (cublasStatus_t)enter_library(call, h ? &h->common : nullptr,
                                         CUBLAS_STATUS_NOT_INITIALIZED,
                                         CUBLAS_STATUS_EXECUTION_FAILED);
}

static cublasStatus_t outcome(bool good)
{
    return good ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

/* Bytes of a vector. */
static size_t span(int n, int step)
{
    return n > 0 ? ((size_t)(n - 1) * step + 1) * sizeof(float) : 0;
}

} // namespace fake_cuda

using namespace fake_cuda;

extern "C" cublasStatus_t cublasCreate(cublasHandle_t *h)
{
    cublasStatus_t status =
        (cublasStatus_t)enter_create("cublasCreate", CUBLAS_STATUS_NOT_INITIALIZED);
    if(status) return status;
    *h = new cublasContext{make_handle(), CUBLAS_DEFAULT_MATH};
    return status;
}

extern "C" cublasStatus_t cublasDestroy(cublasHandle_t h)
{
    if(!h) return CUBLAS_STATUS_NOT_INITIALIZED;
    free_handle(h->common);
    delete h;
    return CUBLAS_STATUS_SUCCESS;
}

extern "C" cublasStatus_t cublasSetStream(cublasHandle_t h, cudaStream_t stream)
{
    cublasStatus_t status = enter("cublasSetStream", h);
    if(!status && !set_stream("cublasSetStream", h->common, stream))
        status = CUBLAS_STATUS_INVALID_VALUE;
    return status;
}

extern "C" cublasStatus_t cublasGetStream(cublasHandle_t h, cudaStream_t *stream)
{
    if(!h) return CUBLAS_STATUS_NOT_INITIALIZED;
    *stream = h->common.stream;
    return CUBLAS_STATUS_SUCCESS;
}

extern "C" cublasStatus_t cublasSetMathMode(cublasHandle_t h, cublasMath_t mode)
{
    if(!h) return CUBLAS_STATUS_NOT_INITIALIZED;
    h->mode = mode;
    return CUBLAS_STATUS_SUCCESS;
}

extern "C" cublasStatus_t cublasGetMathMode(cublasHandle_t h, cublasMath_t *mode)
{
    if(!h) return CUBLAS_STATUS_NOT_INITIALIZED;
    *mode = h->mode;
    return CUBLAS_STATUS_SUCCESS;
}

extern "C" cublasStatus_t
cublasSgemmStridedBatched(cublasHandle_t h, cublasOperation_t transa, cublasOperation_t transb,
                          int m, int n, int k, const float *alpha, const float *A, int lda,
                          long long int stride_a, const float *B, int ldb,
                          long long int stride_b, const float *beta, float *C, int ldc,
                          long long int stride_c, int count)
{
    const char *call = "cublasSgemm";
    cublasStatus_t status = enter(call, h);
    if(status) return status;
    bool ta = transa != CUBLAS_OP_N, tb = transb != CUBLAS_OP_N;
    if(m < 0 || n < 0 || k < 0 || count < 0 || lda < std::max(1, ta ? k : m) ||
       ldb < std::max(1, tb ? n : k) || ldc < std::max(1, m))
        return CUBLAS_STATUS_INVALID_VALUE;
    if(!m || !n || !count) return CUBLAS_STATUS_SUCCESS;
    size_t others = (size_t)(count - 1), size = sizeof(float);
    library_work work(call, h->common);
    work.uses(A, (others * stride_a + extent(ta, m, k, lda)) * size);
    work.uses(B, (others * stride_b + extent(tb, k, n, ldb)) * size);
    work.uses(C, (others * stride_c + extent(false, m, n, ldc)) * size);
    ++h->common.of->gemms;
    auto product = h->mode == CUBLAS_TF32_TENSOR_OP_MATH ? multiply_rounded : multiply;
    float scale_ab = *alpha, scale_c = *beta;
    return outcome(work.queue([=] {
        for(int i = 0; i < count; ++i)
            product(ta, tb, m, n, k, scale_ab, A + i * stride_a, lda, B + i * stride_b, ldb,
                    scale_c, C + i * stride_c, ldc);
    }));
}

extern "C" cublasStatus_t cublasSgemm(cublasHandle_t h, cublasOperation_t transa,
                                      cublasOperation_t transb, int m, int n, int k,
                                      const float *alpha, const float *A, int lda,
                                      const float *B, int ldb, const float *beta, float *C,
                                      int ldc)
{
    return cublasSgemmStridedBatched(h, transa, transb, m, n, k, alpha, A, lda, 0, B, ldb, 0,
                                     beta, C, ldc, 0, 1);
}

extern "C" cublasStatus_t cublasSaxpy(cublasHandle_t h, int n, const float *alpha,
                                      const float *x, int incx, float *y, int incy)
{
    cublasStatus_t status = enter("cublasSaxpy", h);
    if(status) return status;
    if(incx < 1 || incy < 1) return CUBLAS_STATUS_NOT_SUPPORTED;
    library_work work("cublasSaxpy", h->common);
    work.uses(x, span(n, incx));
    work.uses(y, span(n, incy));
    float a = *alpha;
    return outcome(work.queue([=] {
        for(int i = 0; i < n; ++i) y[(size_t)i * incy] += a * x[(size_t)i * incx];
    }));
}

extern "C" cublasStatus_t cublasSscal(cublasHandle_t h, int n, const float *alpha, float *x,
                                      int incx)
{
    cublasStatus_t status = enter("cublasSscal", h);
    if(status) return status;
    if(incx < 1) return CUBLAS_STATUS_INVALID_VALUE;
    library_work work("cublasSscal", h->common);
    work.uses(x, span(n, incx));
    float a = *alpha;
    return outcome(work.queue([=] {
        for(int i = 0; i < n; ++i) x[(size_t)i * incx] *= a;
    }));
}
