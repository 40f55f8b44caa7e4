/* io_faults.c: the functions of io_faults.h, and the functions that replace open and the like. */
#include "io_faults.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

static int64_t countdown = -1;
static bool after, hit;
static int open_files;

void io_faults_at(int64_t n, bool all_after)
{
    countdown = n;
    after = all_after;
    hit = false;
}

bool io_faults_hit(void)
{
    return hit;
}

int io_faults_open(void)
{
    return open_files;
}

#ifdef HAVE_FAULTS
bool io_faults_work(void)
{
    return true;
}

/* Whether this call fails. If so, sets errno. */
static bool fails(int error)
{
    bool now = countdown == 0 || (hit && after && countdown != -1);
    if (countdown > 0) countdown--;
    else if (countdown == 0 && !after) countdown = -1;
    if (!now) return false;
    hit = true;
    errno = error;
    return true;
}

/* With 64-bit offsets the C library can have a function under a second name. */
#define BOTH(DEFINE, name) DEFINE(name) DEFINE(name##64)

#define WRAP_OPEN(name)                                                         \
    int __real_##name(const char *path, int flags, ...) __attribute__((weak));  \
    int __wrap_##name(const char *path, int flags, ...);                        \
    int __wrap_##name(const char *path, int flags, ...)                         \
    {                                                                           \
        va_list list;                                                           \
        va_start(list, flags);                                                  \
        int mode = flags & O_CREAT ? va_arg(list, int) : 0;                     \
        va_end(list);                                                           \
        if (fails(EACCES)) return -1;                                   \
        int fd = __real_##name(path, flags, mode);                              \
        open_files += fd >= 0;                                                  \
        return fd;                                                              \
    }
BOTH(WRAP_OPEN, open)

#define WRAP_PREAD(name)                                                                                    \
    ssize_t __real_##name(int fd, void *out, size_t n, off_t offset) __attribute__((weak));                 \
    ssize_t __wrap_##name(int fd, void *out, size_t n, off_t offset);                                       \
    ssize_t __wrap_##name(int fd, void *out, size_t n, off_t offset)                                        \
    {                                                                                                       \
        return fails(EIO) ? -1 : __real_##name(fd, out, n, offset);                                \
    }
BOTH(WRAP_PREAD, pread)

#define WRAP_FTRUNCATE(name)                                                    \
    int __real_##name(int fd, off_t size) __attribute__((weak));                \
    int __wrap_##name(int fd, off_t size);                                      \
    int __wrap_##name(int fd, off_t size)                                       \
    {                                                                           \
        return fails(EIO) ? -1 : __real_##name(fd, size);          \
    }
BOTH(WRAP_FTRUNCATE, ftruncate)

#define WRAP_MMAP(name)                                                                                         \
    void *__real_##name(void *at, size_t n, int access, int flags, int fd, off_t offset) __attribute__((weak)); \
    void *__wrap_##name(void *at, size_t n, int access, int flags, int fd, off_t offset);                       \
    void *__wrap_##name(void *at, size_t n, int access, int flags, int fd, off_t offset)                        \
    {                                                                                                           \
        return fails(ENOMEM) ? MAP_FAILED : __real_##name(at, n, access, flags, fd, offset);            \
    }
BOTH(WRAP_MMAP, mmap)

ssize_t __real_read(int fd, void *out, size_t n);
ssize_t __wrap_read(int fd, void *out, size_t n);
ssize_t __wrap_read(int fd, void *out, size_t n)
{
    return fails(EIO) ? -1 : __real_read(fd, out, n);
}

ssize_t __real_write(int fd, const void *bytes, size_t n);
ssize_t __wrap_write(int fd, const void *bytes, size_t n);
ssize_t __wrap_write(int fd, const void *bytes, size_t n)
{
    return fails(ENOSPC) ? -1 : __real_write(fd, bytes, n);
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    return fails(EIO) ? -1 : __real_fsync(fd);
}

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to)
{
    return fails(EACCES) ? -1 : __real_rename(from, to);
}

int __real_dup(int fd);
int __wrap_dup(int fd);
int __wrap_dup(int fd)
{
    if (fails(EMFILE)) return -1;
    int copy = __real_dup(fd);
    open_files += copy >= 0;
    return copy;
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
    int result = __real_close(fd);
    open_files -= result == 0;
    return fails(EIO) ? -1 : result;
}
#else
bool io_faults_work(void)
{
    return false;
}
#endif
