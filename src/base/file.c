/* Whole-file input and output; see file.h. */
#include "base/file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

tombac_status tb_file_read(const char *path, size_t limit, tb_text *text, tombac_error **error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return tb_fail_errno(error, "cannot read '%s'", path);
    char block[1 << 16];
    size_t total = 0;
    for (;;) {
        ssize_t got = read(fd, block, sizeof block);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            tombac_status status = tb_fail_errno(error, "cannot read '%s'", path);
            close(fd);
            return status;
        }
        if (got == 0) break;
        total += (size_t)got;
        if (limit && total > limit) {
            close(fd);
            return tb_fail(error, TOMBAC_ERROR_IO, "'%s' is larger than %zu bytes", path, limit);
        }
        tb_text_append(text, block, (size_t)got);
    }
    close(fd);
    return text->bad ? tb_fail_memory(error) : TOMBAC_OK;
}

static bool write_all(int fd, const char *data, size_t size)
{
    while (size) {
        ssize_t put = write(fd, data, size);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return false;
        data += put;
        size -= (size_t)put;
    }
    return true;
}

/* Creates PATH.<digits> with the process's default rights. mkostemp would give 0600, and the file mode mask, needed to correct
 * that, can only be read by changing it for all threads. */
static int create_beside(const char *path, tb_text *name)
{
    enum { ATTEMPTS = 100 };
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        struct timespec time;
        clock_gettime(CLOCK_MONOTONIC, &time);
        name->size = 0;
        tb_text_printf(name, "%s.%x-%lx-%x", path, (unsigned)getpid(), time.tv_nsec, (unsigned)attempt);
        if (name->bad) return -1;
        int fd = open(name->data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

tombac_status tb_file_write_atomic(const char *path, const void *data, size_t size, tombac_error **error)
{
    tb_text name = {0};
    int fd = create_beside(path, &name);
    tombac_status status = TOMBAC_OK;
    if (fd < 0) {
        status = name.bad ? tb_fail_memory(error) : tb_fail_errno(error, "cannot write '%s'", path);
        tb_text_free(&name);
        return status;
    }
    bool written = write_all(fd, data, size);
    written = close(fd) == 0 && written;
    if (!written || rename(name.data, path) != 0) {
        status = tb_fail_errno(error, "cannot write '%s'", path);
        unlink(name.data);
    }
    tb_text_free(&name);
    return status;
}

tombac_status tb_folder_create(const char *path, tombac_error **error)
{
    char *copy = strdup(path);
    if (!copy) return tb_fail_memory(error);
    tombac_status status = TOMBAC_OK;
    for (char *p = copy + 1; status == TOMBAC_OK; p++) {
        if (*p != '/' && *p != 0) continue;
        char kept = *p;
        *p = 0;
        if (mkdir(copy, 0777) != 0 && errno != EEXIST) status = tb_fail_errno(error, "cannot create folder '%s'", copy);
        *p = kept;
        if (!kept) break;
    }
    free(copy);
    return status;
}

char *tb_folder_of_code(const void *address)
{
    Dl_info info;
    char real[PATH_MAX];
    if (!dladdr(address, &info) || !info.dli_fname) return NULL;
    /* For the main program dli_fname is argv[0], which need not be a path. */
    if (!strchr(info.dli_fname, '/') || !realpath(info.dli_fname, real)) {
        if (!realpath("/proc/self/exe", real)) return NULL;
    }
    char *slash = strrchr(real, '/');
    if (!slash) return NULL;
    *slash = 0;
    return strdup(real[0] ? real : "/");
}
