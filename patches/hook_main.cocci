// in examples/darknet.c: mgpu_hooks mgpu_command
//
// `darknet mgpu ...` is the module's, which leaves Darknet's own commands to main.

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
+       int status = mgpu_command(&argc, argv);
+       if(status >= 0) return status;
+   }
    ...
}
