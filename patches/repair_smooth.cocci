// in src/blas.c:
//
// Far from its truth the smooth cost's delta pointed away from it; on the GPU it does not.

@ sign @
identifier delta, i, diff;
@@
smooth_l1_cpu(...)
{
    <...
-   delta[i] = (diff < 0) ? 1 : -1;
+   delta[i] = (diff < 0) ? -1 : 1;
    ...>
}
