/* call_faults.c: loaded before the C library (LD_PRELOAD), counts the calls by which a program changes files, from 0.
 * KAERU_CALL_FAULT="kill N" kills the program before call number N. "full N": from call number N on the disk is full, so files
 * can be removed and renamed, but not made or written. */
#define _GNU_SOURCE                     /* RTLD_NEXT */
#undef _FILE_OFFSET_BITS                /* with 64, the names open and open64 would be one */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Counts a call. Whether it fails: it needs room on the disk, which is full. */
static bool fails(bool needs_room)
{
    static long calls;
    const char *fault = getenv("KAERU_CALL_FAULT");
    if (!fault) {
        return false;
    }
    long at = atol(fault + strlen("kill ")), call = calls++;
    if (strncmp(fault, "kill", 4) == 0 && call == at) {
        raise(SIGKILL);
    }
    bool full = strncmp(fault, "full", 4) == 0 && call >= at && needs_room;
    if (full) {
        errno = ENOSPC;
    }
    return full;
}

/* The function of this name in the C library. POSIX allows this conversion, ISO C has none. */
#define REAL(type, name) type (*real) PARAMETERS_OF_##name; *(void **)&real = dlsym(RTLD_NEXT, #name)

#define PARAMETERS_OF_open   (const char *, int, ...)
#define PARAMETERS_OF_open64 (const char *, int, ...)
#define WRAP_OPEN(name)                                                         \
    int name(const char *path, int flags, ...)                                  \
    {                                                                           \
        REAL(int, name);                                                        \
        va_list list;                                                           \
        va_start(list, flags);                                                  \
        mode_t mode = flags & O_CREAT ? (mode_t)va_arg(list, int) : 0;          \
        va_end(list);                                                           \
        bool writes = (flags & (O_WRONLY | O_RDWR)) != 0;                       \
        return writes && fails(flags & O_CREAT) ? -1 : real(path, flags, mode); \
    }
WRAP_OPEN(open)
WRAP_OPEN(open64)

#define PARAMETERS_OF_fopen   (const char *, const char *)
#define PARAMETERS_OF_fopen64 (const char *, const char *)
#define WRAP_FOPEN(name)                                                        \
    FILE *name(const char *path, const char *mode)                              \
    {                                                                           \
        REAL(FILE *, name);                                                     \
        return *mode != 'r' && fails(true) ? NULL : real(path, mode);           \
    }
WRAP_FOPEN(fopen)
WRAP_FOPEN(fopen64)

/* What is printed is no call: it changes no file. */
static bool is_file(int fd)
{
    struct stat about;
    return fd > 2 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
}

#define PARAMETERS_OF_write (int, const void *, size_t)
ssize_t write(int fd, const void *bytes, size_t n)
{
    REAL(ssize_t, write);
    return is_file(fd) && fails(true) ? -1 : real(fd, bytes, n);
}

#define PARAMETERS_OF_fflush (FILE *)
int fflush(FILE *file)
{
    REAL(int, fflush);
    return file && is_file(fileno(file)) && fails(true) ? EOF : real(file);
}

#define PARAMETERS_OF_fclose (FILE *)
int fclose(FILE *file)
{
    REAL(int, fclose);
    if (is_file(fileno(file))) {
        fails(false);
    }
    return real(file);
}

/* Functions that need no room, but for mkdir. */
#define WRAP(name, room, parameters, arguments)                                 \
    int name parameters                                                         \
    {                                                                           \
        int (*real) parameters;                                                 \
        *(void **)&real = dlsym(RTLD_NEXT, #name);                              \
        return fails(room) ? -1 : real arguments;                               \
    }
WRAP(mkdir, true, (const char *path, mode_t mode), (path, mode))
WRAP(fsync, false, (int fd), (fd))
WRAP(ftruncate, false, (int fd, off_t size), (fd, size))
WRAP(rename, false, (const char *from, const char *to), (from, to))
WRAP(unlink, false, (const char *path), (path))
WRAP(remove, false, (const char *path), (path))
WRAP(rmdir, false, (const char *path), (path))
