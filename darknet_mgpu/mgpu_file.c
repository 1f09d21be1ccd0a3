/* mgpu_file.c: opening files that somebody named. */
#include "mgpu_file.h"
#include "mgpu_error.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

FILE *mgpu_open(const char *path, const char *what)
{
    struct stat st;
    FILE *fp = 0;
    if(!path) {
        mgpu_fail("no %s is named", what);
    } else if(stat(path, &st) < 0) {
        mgpu_fail("%s %s can not be read: %s", what, path, strerror(errno));
    } else if(!S_ISREG(st.st_mode)) {
        mgpu_fail("%s %s is not a regular file", what, path);
    } else if(!(fp = fopen(path, "rb"))) {
        mgpu_fail("%s %s can not be read: %s", what, path, strerror(errno));
    }
    return fp;
}
