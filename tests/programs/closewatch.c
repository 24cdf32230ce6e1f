/* Preloaded into a program under test: whenever a file below $CLOSEWATCH_ROOT that was open for
 * writing is closed, compare fstat just before with stat just after, and append a line to
 * $CLOSEWATCH_LOG: "same PATH" or "DIFFERENT PATH size … mtime … inode …". A close that failed is
 * "failed PATH ERRNO"; a path that is gone or is another file by then says nothing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct watch {
    int active;
    char path[4096];
    struct stat before;
};

static void say(const char *format, ...) {
    const char *log = getenv("CLOSEWATCH_LOG");
    char line[8192];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT, 0644);
    if (fd >= 0) {
        (void)!syscall(SYS_write, fd, line, (size_t)length);
        syscall(SYS_close, fd);
    }
}

static void before(int fd, struct watch *watch) {
    const char *root = getenv("CLOSEWATCH_ROOT");
    char name[64];
    int saved = errno;
    watch->active = 0;
    if (root && getenv("CLOSEWATCH_LOG") && fd >= 0) {
        snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        ssize_t length = readlink(name, watch->path, sizeof watch->path - 1);
        int flags = (int)syscall(SYS_fcntl, fd, F_GETFL);
        if (length > 0 && flags >= 0 && (flags & O_ACCMODE) != O_RDONLY) {
            watch->path[length] = 0;
            watch->active = strncmp(watch->path, root, strlen(root)) == 0 &&
                            fstat(fd, &watch->before) == 0 && S_ISREG(watch->before.st_mode);
        }
    }
    errno = saved;
}

static void after(struct watch *watch, int result) {
    struct stat now;
    int saved = errno;
    if (!watch->active)
        return;
    if (result < 0)
        say("failed %s %d\n", watch->path, saved);
    else if (stat(watch->path, &now) == 0 && now.st_ino == watch->before.st_ino) {
        if (now.st_size == watch->before.st_size &&
            now.st_mtim.tv_sec == watch->before.st_mtim.tv_sec &&
            now.st_mtim.tv_nsec == watch->before.st_mtim.tv_nsec)
            say("same %s\n", watch->path);
        else
            say("DIFFERENT %s size %lld %lld mtime %lld.%09ld %lld.%09ld\n", watch->path,
                (long long)watch->before.st_size, (long long)now.st_size,
                (long long)watch->before.st_mtim.tv_sec, watch->before.st_mtim.tv_nsec,
                (long long)now.st_mtim.tv_sec, now.st_mtim.tv_nsec);
    }
    errno = saved;
}

int close(int fd) {
    struct watch watch;
    before(fd, &watch);
    int result = (int)syscall(SYS_close, fd);
    after(&watch, result);
    return result;
}

int fclose(FILE *stream) {
    static int (*real)(FILE *);
    struct watch watch;
    if (!real)
        real = (int (*)(FILE *))dlsym(RTLD_NEXT, "fclose");
    int fd = fileno(stream);
    int saved = errno;
    if (fd >= 0)
        fflush(stream);
    errno = saved;
    before(fd, &watch);
    int result = real(stream);
    after(&watch, result);
    return result;
}

int dup2(int from, int to) {
    struct watch watch;
    watch.active = 0;
    if (from != to)
        before(to, &watch);
    int result = from == to ? to : (int)syscall(SYS_dup3, from, to, 0);
    after(&watch, result < 0 ? result : 0);
    return result;
}
