/* Fails the N-th file operation below a folder: loaded by LD_PRELOAD.
 *
 *   FAULT_BELOW  the folder; operations elsewhere always succeed
 *   FAULT_KIND   enospc: writes fail from the N-th on; eio: the N-th operation fails; short: writes from the N-th on write
 *                half of their bytes
 *   FAULT_AT     N, counted from 1; 0 never fails
 *   FAULT_LOG    a file that gets one byte per operation
 *   FAULT_SYNCED a file that gets the path of everything that is synced, one per line
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum operation { READ, WRITE, OTHER };

static const char *below;
static char kind;
static long at, count;
static int counter = -1;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void set_up(void) {
    if (below) return;
    const char *folder = getenv("FAULT_BELOW"), *how = getenv("FAULT_KIND"), *when = getenv("FAULT_AT");
    const char *log = getenv("FAULT_LOG");
    kind = how ? how[0] : 0;
    at = when ? atol(when) : 0;
    if (log) counter = REAL(open)(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    below = folder ? folder : "//";
}

static int is_below(const char *path) {
    char here[PATH_MAX];
    if (path[0] != '/') return getcwd(here, sizeof here) && here[0] == '/' && is_below(here);
    return strncmp(path, below, strlen(below)) == 0;
}

static int fd_is_below(int fd) {
    char link[64], path[PATH_MAX];
    set_up();
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return 0;
    path[n] = 0;
    /* A pipe has a name that is no path. */
    return path[0] == '/' && is_below(path);
}

/* 0: succeed, 1: write half, else an error number. */
static int fault(enum operation operation) {
    long now = __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
    if (counter >= 0) {
        ssize_t ignored = REAL(write)(counter, "x", 1);
        (void)ignored;
    }
    if (at == 0) return 0;
    if (kind == 'e' && now == at && getenv("FAULT_KIND")[1] == 'i') return EIO;
    if (kind == 'e' && now >= at && getenv("FAULT_KIND")[1] == 'n' && operation != READ) return ENOSPC;
    if (kind == 's' && now >= at && operation == WRITE) return 1;
    return 0;
}

#define FAIL(operation, ...)                                                                                         \
    int failed = fault(operation);                                                                                   \
    if (failed > 1) {                                                                                                \
        errno = failed;                                                                                              \
        return __VA_ARGS__;                                                                                          \
    }

ssize_t write(int fd, const void *bytes, size_t length) {
    if (fd_is_below(fd)) {
        FAIL(WRITE, -1)
        if (failed == 1 && length > 1) length /= 2;
    }
    return REAL(write)(fd, bytes, length);
}

ssize_t writev(int fd, const struct iovec *parts, int n) {
    if (fd_is_below(fd)) {
        FAIL(WRITE, -1)
        if (failed == 1 && n > 1) n = 1;
    }
    return REAL(writev)(fd, parts, n);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t place) {
    if (fd_is_below(fd)) {
        FAIL(WRITE, -1)
        if (failed == 1 && length > 1) length /= 2;
    }
    return REAL(pwrite64)(fd, bytes, length, place);
}

ssize_t read(int fd, void *bytes, size_t length) {
    if (fd_is_below(fd)) {
        FAIL(READ, -1)
    }
    return REAL(read)(fd, bytes, length);
}

ssize_t pread64(int fd, void *bytes, size_t length, off64_t place) {
    if (fd_is_below(fd)) {
        FAIL(READ, -1)
    }
    return REAL(pread64)(fd, bytes, length, place);
}

int open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(more, mode_t) : 0;
    va_end(more);
    set_up();
    if (is_below(path)) {
        FAIL((flags & O_CREAT) ? OTHER : READ, -1)
    }
    return REAL(open64)(path, flags, mode);
}

/* Notes what is synced. */
static void note(int fd) {
    const char *name = getenv("FAULT_SYNCED");
    char link[64], path[PATH_MAX];
    if (!name) return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return;
    path[n] = '\n';
    int list = REAL(open)(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ssize_t ignored = REAL(write)(list, path, n + 1);
    (void)ignored;
    REAL(close)(list);
}

int fsync(int fd) {
    if (fd_is_below(fd)) {
        note(fd);
        FAIL(OTHER, -1)
    }
    return REAL(fsync)(fd);
}

int fdatasync(int fd) {
    if (fd_is_below(fd)) {
        FAIL(OTHER, -1)
    }
    return REAL(fdatasync)(fd);
}

int ftruncate64(int fd, off64_t length) {
    if (fd_is_below(fd)) {
        FAIL(OTHER, -1)
    }
    return REAL(ftruncate64)(fd, length);
}

int rename(const char *from, const char *to) {
    set_up();
    if (is_below(to)) {
        FAIL(OTHER, -1)
    }
    return REAL(rename)(from, to);
}

int mkdir(const char *path, mode_t mode) {
    set_up();
    if (is_below(path)) {
        FAIL(OTHER, -1)
    }
    return REAL(mkdir)(path, mode);
}
