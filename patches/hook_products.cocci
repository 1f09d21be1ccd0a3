// in src/gemm.c: mgpu_product
//
// Matrix products go to BLAS where the build has it.

@ product @
identifier TA, TB, M, N, K, ALPHA, A, lda, B, ldb, BETA, C, ldc;
@@
void gemm_cpu(int TA, int TB, int M, int N, int K, float ALPHA, float *A, int lda, float *B,
              int ldb, float BETA, float *C, int ldc)
{
+   if(mgpu_product(TA, TB, M, N, K, ALPHA, A, lda, B, ldb, BETA, C, ldc)) return;
    ...
}
