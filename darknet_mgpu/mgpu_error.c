/* mgpu_error.c: the reason behind a failing return value, one per thread. */
#include "mgpu_error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local char reason[1024];
static void (*errors_end)(void);

int mgpu_fail(const char *format, ...)
{
    char text[sizeof reason]; /* the arguments may hold the old reason itself */
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    memcpy(reason, text, sizeof text);
    return -1;
}

const char *mgpu_error(void)
{
    return reason;
}

void mgpu_say_error(void)
{
    fflush(stdout);
    fprintf(stderr, "mgpu: %s\n", reason);
    if(!errors_end) return;
    errors_end();
    exit(1);
}

void mgpu_errors_end(void (*last)(void))
{
    errors_end = last;
}
