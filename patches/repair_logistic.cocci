// in src/blas.c: finite
// in src/logistic_layer.c: mgpu_logistic_gpu
//
// The cost of an output that is just 0 or 1 is finite on the CPU, as it is on the GPU, where
// that of the others is now what it is on the CPU.

@ finite @
identifier error, i, t, p;
@@
logistic_x_ent_cpu(...)
{
    <...
    error[i] = -t*log(p) - (1 - t)*log(1 - p);
+   int finite = p > 0 && p < 1;
+   if(!finite) error[i] = -t*log(p + .0000001) - (1 - t)*log(1 - p + .0000001);
    ...>
}

@ gpu @
@@
forward_logistic_layer_gpu(...)
{
    <...
-   logistic_x_ent_gpu
+   mgpu_logistic_gpu
    (...)
    ...>
}
