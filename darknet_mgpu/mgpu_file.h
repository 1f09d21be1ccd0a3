/* mgpu_file.h: opening files that somebody named. */
#ifndef MGPU_FILE_H
#define MGPU_FILE_H

#include <stdio.h>

/* Opens `path` for reading if it is a regular file; never waits, as opening a fifo would.
 * `what` says in an error what the file was to be ("weights file"). Returns NULL with
 * mgpu_error(); else closed by the caller. */
FILE *mgpu_open(const char *path, const char *what);

#endif
