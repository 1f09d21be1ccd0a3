// in examples/darknet.c: mgpu_choose_device -cuda_set_device
// in examples/lsd.c: mgpu_needs_cuda
//
// Whether there is a CUDA device, and the one that -i names, is asked before anything is
// done with it; commands that have only code for CUDA say so.

@ device @
expression E;
@@
int main(...)
{
    <...
-   if(gpu_index >= 0){ cuda_set_device(gpu_index); }
    ...>
}

@ asked @
statement S;
@@
int main(...)
{
    <...
    if(find_arg(argc, argv, "-nogpu")) S
+   mgpu_choose_device();
    ...>
}

@ only_cuda @
identifier f =~ "^train_";
@@
void f(...)
{
+   mgpu_needs_cuda();
    ...
}
