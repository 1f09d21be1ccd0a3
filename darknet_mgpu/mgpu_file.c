/* mgpu_file.c: files and directories that somebody named. */
#include "mgpu_file.h"
#include "mgpu_error.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

int mgpu_check_backup(const char *directory)
{
    char trial[PATH_MAX];
    struct stat st;
    if(stat(directory, &st) < 0) {
        return mgpu_fail("backup directory %s: %s; make it, or name another with -backup or "
                         "with backup= in the data file",
                         directory, strerror(errno));
    }
    if(!S_ISDIR(st.st_mode)) return mgpu_fail("backup=%s is not a directory", directory);
    if(strlen(directory) > PATH_MAX - 512) {
        return mgpu_fail("backup directory: its path has more than %d bytes", PATH_MAX - 512);
    }
    snprintf(trial, sizeof trial, "%s/.mgpu_trial_XXXXXX", directory);
    int fd = mkstemp(trial);
    if(fd < 0) {
        return mgpu_fail("backup directory %s can not be written to: %s; name another with "
                         "-backup",
                         directory, strerror(errno));
    }
    close(fd);
    unlink(trial);
    return 0;
}
