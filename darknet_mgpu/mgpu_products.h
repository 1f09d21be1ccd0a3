/* mgpu_products.h: matrix products by BLAS, in place of Darknet's loops. */
#ifndef MGPU_PRODUCTS_H
#define MGPU_PRODUCTS_H

/* The head of Darknet's gemm_cpu: C = alpha * op(A) * op(B) + beta * C, where A is m x k and
 * B is k x n after op, which transposes if ta (tb) is 1; rows lie lda, ldb, ldc floats
 * apart. Returns 1 if C holds it; 0, with C untouched, if this build has no BLAS and
 * Darknet's loops are to do it. */
int mgpu_product(int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda,
                 const float *b, int ldb, float beta, float *c, int ldc);

/* From now on BLAS uses one thread a call: replicas call it side by side. */
void mgpu_products_by_one_thread(void);

#endif
