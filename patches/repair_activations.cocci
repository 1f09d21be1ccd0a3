// in src/activation_kernels.cu: fminf
//
// On the GPU elu and selu of a large input were not a number: 0 times an infinite power.

@ finite @
identifier f =~ "^s?elu_activate_kernel$";
identifier x;
@@
f(float x)
{
    <...
-   expf(x)
+   expf(fminf(x, 0))
    ...>
}
