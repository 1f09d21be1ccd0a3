// in examples/darknet.c: mgpu_hooks mgpu_command
//
// `darknet mgpu ...` is the module's.

@ includes @
@@
#include "darknet.h"
+ #include "mgpu_hooks.h"

@ dispatch @
identifier argc, argv;
@@
int main(int argc, char **argv)
{
+   if(argc > 1 && 0 == strcmp(argv[1], "mgpu")){
+       gpu_index = -1;
+       return mgpu_command(argc - 2, argv + 2);
+   }
    ...
}
