// in include/darknet.h: mgpu_thread MGPU_THREAD_INT
// in src/cuda.c: -gpu_index
//
// Which device a thread works on is the thread's own: replicas on several devices are
// built and run at the same time. The variable itself is in mgpu_hooks.c.

@ declared @
declarer name MGPU_THREAD_INT;
@@
- extern int gpu_index;
+ #include "mgpu_thread.h"
+ MGPU_THREAD_INT(gpu_index);

@ defined @
@@
- int gpu_index = 0;
