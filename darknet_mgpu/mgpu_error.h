/* mgpu_error.h: the reason behind a failing return value, one per thread. */
#ifndef MGPU_ERROR_H
#define MGPU_ERROR_H

/* Sets what mgpu_error() returns (cut at 1023 bytes) and returns -1. */
int mgpu_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The reason of this thread's last mgpu_fail(); also declared in mgpu.h. */
const char *mgpu_error(void);

/* Prints mgpu_error() on stderr, for functions of Darknet's whose callers do not look for
 * errors; after mgpu_errors_end() it then calls `last` and ends the program with status 1. */
void mgpu_say_error(void);
void mgpu_errors_end(void (*last)(void));

#endif
