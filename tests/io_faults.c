/* io_faults.c: the functions of io_faults.h, and the functions that replace open and the like. */
#include "io_faults.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "kaeru/autograd.h"

static int64_t countdown = -1;
static bool after, hit, kills;
static _Atomic int open_files;           /* processes of a test may be threads (processes.h) */
static const char *failed;              /* the function of the first call that failed */
static int wanted_error;
static int64_t most = -1;               /* bytes that one call reads or writes */
static void (*inside_fsync)(void);
static const char *refused;             /* the function of which the next calls fail; NULL: none */
static int refused_error;
static int64_t refused_calls;
static bool refused_late;
enum { MAX_CALLS = 4096 };
static const char *call[MAX_CALLS];     /* the functions of the first calls */
static int calls;

void io_faults_at(int64_t n, bool all_after)
{
    countdown = n;
    after = all_after;
    hit = false;
    calls = 0;
}

void io_faults_kill_at(int64_t n)
{
    io_faults_at(n, false);
    kills = true;
}

bool io_faults_end(bool done)
{
    bool was_hit = hit;
    const char *function = failed;
    io_faults_at(-1, false);
    if (done) ck_assert_msg(!was_hit || strcmp(function, "close") == 0, "%s failed, and that was not reported", function);
    else ck_assert_msg(was_hit, "no call failed: %s", ag_error());
    return was_hit;
}

void io_faults_error(int error)
{
    wanted_error = error;
}

void io_faults_refuse(const char *function, int error, int64_t n, bool late)
{
    refused = function;
    refused_error = error;
    refused_calls = n;
    refused_late = late;
    hit = false;
}

void io_faults_most(int64_t n)
{
    most = n;
}

void io_faults_inside_fsync(void (*f)(void))
{
    inside_fsync = f;
}

int io_faults_calls(void)
{
    return calls;
}

const char *io_faults_call(int i)
{
    return call[i];
}

int io_faults_before(const char *function, const char *first)
{
    int count = 0;
    for (int i = 0; i < calls && strcmp(call[i], first) != 0; i++) count += strcmp(call[i], function) == 0;
    return count;
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

/* Whether this call of a function, that a program can do without, fails. If so, sets errno. */
static bool is_refused(const char *function)
{
    if (!refused || strcmp(function, refused) != 0 || refused_calls == 0) return false;
    refused_calls--;
    hit = true;
    errno = refused_error;
    return true;
}

/* What `fails` does; the caller holds the lock. */
static bool count_call(const char *function, int error)
{
    if (!refused_late && is_refused(function)) return true;
    if (calls < MAX_CALLS) call[calls++] = function;
    bool now = countdown == 0 || (hit && after && countdown != -1);
    if (countdown > 0) countdown--;
    else if (countdown == 0 && !after) countdown = -1;
    if (!now) return false;
    if (kills) raise(SIGKILL);
    if (!hit) failed = function;
    hit = true;
    errno = wanted_error ? wanted_error : error;
    return true;
}

/* Whether this call of a function fails. If so, sets errno. */
static bool fails(const char *function, int error)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    bool failed_now = count_call(function, error);
    pthread_mutex_unlock(&lock);
    return failed_now;
}

/* With 64-bit offsets the C library can have a function under a second name. */
#define BOTH(DEFINE, name) DEFINE(name, #name) DEFINE(name##64, #name)

#define WRAP_OPEN(name, function)                                               \
    int __real_##name(const char *path, int flags, ...) __attribute__((weak));  \
    int __wrap_##name(const char *path, int flags, ...);                        \
    int __wrap_##name(const char *path, int flags, ...)                         \
    {                                                                           \
        va_list list;                                                           \
        va_start(list, flags);                                                  \
        int mode = flags & O_CREAT ? va_arg(list, int) : 0;                     \
        va_end(list);                                                           \
        if (fails(function, EACCES)) return -1;                                 \
        int fd = __real_##name(path, flags, mode);                              \
        open_files += fd >= 0;                                                  \
        return fd;                                                              \
    }
BOTH(WRAP_OPEN, open)

/* With _FORTIFY_SOURCE, a call of open without a mode may become one of these. */
#define WRAP_OPEN_2(name)                                                       \
    int __real_##name(const char *path, int flags) __attribute__((weak));       \
    int __wrap_##name(const char *path, int flags);                             \
    int __wrap_##name(const char *path, int flags)                              \
    {                                                                           \
        if (fails("open", EACCES)) return -1;                                   \
        int fd = __real_##name(path, flags);                                    \
        open_files += fd >= 0;                                                  \
        return fd;                                                              \
    }
WRAP_OPEN_2(__open_2)
WRAP_OPEN_2(__open64_2)

static size_t part_of(size_t n)
{
    return most >= 0 && (uint64_t)most < n ? (size_t)most : n;
}

#define WRAP_PREAD(name, function)                                                                          \
    ssize_t __real_##name(int fd, void *out, size_t n, off_t offset) __attribute__((weak));                 \
    ssize_t __wrap_##name(int fd, void *out, size_t n, off_t offset);                                       \
    ssize_t __wrap_##name(int fd, void *out, size_t n, off_t offset)                                        \
    {                                                                                                       \
        return fails(function, EIO) ? -1 : __real_##name(fd, out, part_of(n), offset);                      \
    }
BOTH(WRAP_PREAD, pread)

#define WRAP_PWRITE(name, function)                                                                         \
    ssize_t __real_##name(int fd, const void *bytes, size_t n, off_t offset) __attribute__((weak));         \
    ssize_t __wrap_##name(int fd, const void *bytes, size_t n, off_t offset);                               \
    ssize_t __wrap_##name(int fd, const void *bytes, size_t n, off_t offset)                                \
    {                                                                                                       \
        return fails(function, ENOSPC) ? -1 : __real_##name(fd, bytes, part_of(n), offset);                 \
    }
BOTH(WRAP_PWRITE, pwrite)

#define WRAP_MMAP(name, function)                                                                               \
    void *__real_##name(void *at, size_t n, int access, int flags, int fd, off_t offset) __attribute__((weak)); \
    void *__wrap_##name(void *at, size_t n, int access, int flags, int fd, off_t offset);                       \
    void *__wrap_##name(void *at, size_t n, int access, int flags, int fd, off_t offset)                        \
    {                                                                                                           \
        return fails(function, ENOMEM) ? MAP_FAILED : __real_##name(at, n, access, flags, fd, offset);          \
    }
BOTH(WRAP_MMAP, mmap)

ssize_t __real_read(int fd, void *out, size_t n);
ssize_t __wrap_read(int fd, void *out, size_t n);
ssize_t __wrap_read(int fd, void *out, size_t n)
{
    return fails("read", EIO) ? -1 : __real_read(fd, out, part_of(n));
}

ssize_t __real_write(int fd, const void *bytes, size_t n);
ssize_t __wrap_write(int fd, const void *bytes, size_t n);
ssize_t __wrap_write(int fd, const void *bytes, size_t n)
{
    return fails("write", ENOSPC) ? -1 : __real_write(fd, bytes, part_of(n));
}

/* Calls that the code can do without, if they fail in the right way: io_faults_at does not count them. */
#define WRAP_STAT(name, function)                                               \
    int __real_##name(const char *path, struct stat *status) __attribute__((weak));     \
    int __wrap_##name(const char *path, struct stat *status);                   \
    int __wrap_##name(const char *path, struct stat *status)                    \
    {                                                                           \
        return is_refused(function) ? -1 : __real_##name(path, status);         \
    }
BOTH(WRAP_STAT, stat)

#define WRAP_FSTAT(name, function)                                              \
    int __real_##name(int fd, struct stat *status) __attribute__((weak));       \
    int __wrap_##name(int fd, struct stat *status);                             \
    int __wrap_##name(int fd, struct stat *status)                              \
    {                                                                           \
        return is_refused(function) ? -1 : __real_##name(fd, status);           \
    }
BOTH(WRAP_FSTAT, fstat)

int __real_flock(int fd, int how);
int __wrap_flock(int fd, int how);
int __wrap_flock(int fd, int how)
{
    return is_refused("flock") ? -1 : __real_flock(fd, how);
}

int __real_fchmod(int fd, mode_t mode);
int __wrap_fchmod(int fd, mode_t mode);
int __wrap_fchmod(int fd, mode_t mode)
{
    return is_refused("fchmod") ? -1 : __real_fchmod(fd, mode);
}

ssize_t __real_readlink(const char *path, char *out, size_t n);
ssize_t __wrap_readlink(const char *path, char *out, size_t n);
ssize_t __wrap_readlink(const char *path, char *out, size_t n)
{
    return is_refused("readlink") ? -1 : __real_readlink(path, out, n);
}

int __real_unlink(const char *path);
int __wrap_unlink(const char *path);
int __wrap_unlink(const char *path)
{
    return is_refused("unlink") ? -1 : __real_unlink(path);
}

int __real_poll(struct pollfd *fds, nfds_t n, int ms);
int __wrap_poll(struct pollfd *fds, nfds_t n, int ms);
int __wrap_poll(struct pollfd *fds, nfds_t n, int ms)
{
    return is_refused("poll") ? -1 : __real_poll(fds, n, ms);
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    struct stat status;
    if (inside_fsync) inside_fsync();
    if (refused && __real_fstat(fd, &status) == 0 && S_ISDIR(status.st_mode) && is_refused("fsync of a folder")) return -1;
    return fails("fsync", EIO) ? -1 : __real_fsync(fd);
}

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to)
{
    if (fails("rename", EACCES)) return -1;
    int result = __real_rename(from, to);
    return refused_late && is_refused("rename") ? -1 : result;
}

int __real_dup(int fd);
int __wrap_dup(int fd);
int __wrap_dup(int fd)
{
    if (fails("dup", EMFILE)) return -1;
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
    return fails("close", EIO) ? -1 : result;
}
#else
bool io_faults_work(void)
{
    return false;
}
#endif
