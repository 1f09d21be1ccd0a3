// in src/blas.c: sum
// in src/l2norm_layer.c: -scales_gpu
//
// An l2norm layer leaves zeros alone on the CPU, too, where it divided them by their length.
// Its delta goes down as it is on the GPU, too, which first added something to it.

@ zero @
identifier sum;
@@
l2normalize_cpu(...)
{
    <...
    sum = sqrtf(sum);
+   if(sum == 0) sum = 1;
    ...>
}

@ delta @
identifier l;
expression n;
@@
backward_l2norm_layer_gpu(...)
{
-   axpy_gpu(n, 1, l.scales_gpu, 1, l.delta_gpu, 1);
    ...
}
