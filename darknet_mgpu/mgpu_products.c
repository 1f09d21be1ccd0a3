/* mgpu_products.c: matrix products by OpenBLAS, where the build has it (MGPU_BLAS). */
#include "mgpu_products.h"
#include "mgpu_hooks.h"

#ifdef MGPU_BLAS
#include <cblas.h>

int mgpu_product(int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda,
                 const float *b, int ldb, float beta, float *c, int ldc)
{
    cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans,
                m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    return 1;
}

void mgpu_products_by_one_thread(void)
{
    openblas_set_num_threads(1);
}

#else

int mgpu_product(int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda,
                 const float *b, int ldb, float beta, float *c, int ldc)
{
    (void)ta, (void)tb, (void)m, (void)n, (void)k, (void)alpha, (void)a, (void)lda;
    (void)b, (void)ldb, (void)beta, (void)c, (void)ldc;
    return 0;
}

void mgpu_products_by_one_thread(void)
{
}

#endif
