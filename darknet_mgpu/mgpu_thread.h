/* mgpu_thread.h: how patched Darknet declares a variable that each thread has for itself. It
 * is read by C, C++ and CUDA compilers, and by spatch, which does not know __thread. */
#ifndef MGPU_THREAD_H
#define MGPU_THREAD_H

#define MGPU_THREAD_INT(name) extern __thread int name

#endif
