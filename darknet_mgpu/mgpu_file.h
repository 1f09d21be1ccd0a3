/* mgpu_file.h: files and directories that somebody named. */
#ifndef MGPU_FILE_H
#define MGPU_FILE_H

#include <stdio.h>

/* Opens `path` for reading if it is a regular file; never waits, as opening a fifo would.
 * `what` says in an error what the file was to be ("weights file"). Returns NULL with
 * mgpu_error(); else closed by the caller. */
FILE *mgpu_open(const char *path, const char *what);

/* Whether weights can be saved in `directory` later. Files are made only then, so one is
 * made now and taken away again, as permissions alone tell root nothing. Paths of up to 500
 * bytes more fit into PATH_MAX. Returns 0, or -1 with mgpu_error(). */
int mgpu_check_backup(const char *directory);

#endif
