/* system.c: memory, threads and numbers on each system. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE             /* sched_getaffinity */
#endif
#include "system.h"

#ifndef _WIN32
#include <dirent.h>
#endif
#include <errno.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __APPLE__
#include <xlocale.h>
#elif defined(_WIN32)
#include <malloc.h>
#elif defined(__linux__)
#include <sys/syscall.h>
#endif
#ifdef __GLIBC__
#include <malloc.h>
#endif

static _Thread_local int64_t calls;

#ifdef _WIN32
void *system_aligned(size_t alignment, size_t bytes) { return _aligned_malloc(bytes, alignment); }
static void *zeroed(size_t bytes)
{
    void *p = system_aligned(64, bytes);
    return p ? memset(p, 0, bytes) : NULL;
}
void system_free(void *p) { _aligned_free(p); }
#else
void *system_aligned(size_t alignment, size_t bytes) { return aligned_alloc(alignment, bytes); }
static void *zeroed(size_t bytes) { return calloc(1, bytes); }
void system_free(void *p) { free(p); }
#endif

void *system_alloc(size_t bytes)
{
    calls++;
    size_t rounded = (bytes + 63) & ~(size_t)63;
    return rounded < bytes ? NULL : system_aligned(64, rounded ? rounded : 64);
}

void *system_zeroed(size_t bytes)
{
    calls++;
    return zeroed(bytes);
}

/* Of glibc, it is known that realloc leaves the memory where it is. AddressSanitizer's would not. */
bool system_shrink(void *p, size_t bytes)
{
#ifdef __GLIBC__
    size_t all = malloc_usable_size(p);
    if (all <= bytes) return true;
    system_return_pages((char *)p + bytes, all - bytes);
#ifdef HAVE_ASAN
    memory_poison((char *)p + bytes, all - bytes);
    return true;
#else
    void *left = realloc(p, bytes);
    if (!left || left == p) return true;
    p = left;                               /* another malloc in the place of glibc's */
#endif
#endif
    (void)bytes;
    system_free(p);
    return false;
}

int64_t system_calls(void)
{
    return calls;
}

void system_return_pages(void *p, size_t bytes)
{
#ifdef __linux__
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)p, end = begin + bytes;
    begin = (begin + page - 1) / page * page;
    end = end / page * page;
    if (begin < end) madvise((void *)begin, end - begin, MADV_DONTNEED);
#else
    (void)p, (void)bytes;
#endif
}

/* MemAvailable and SwapFree of /proc/meminfo, which Linux has. */
double system_free_memory(void)
{
    FILE *file = fopen("/proc/meminfo", "r");
    char line[128];
    double available = -1, swap = 0, kilobytes;
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "MemAvailable: %lf", &kilobytes) == 1) available = kilobytes * 1024;
        if (sscanf(line, "SwapFree: %lf", &kilobytes) == 1) swap = kilobytes * 1024;
    }
    if (file) fclose(file);
    return available < 0 ? -1 : available + swap;
}

/* ---- threads ------------------------------------------------------------------------------------------------------ */

#ifndef __wasi__                        /* the page has one thread */
int system_processors(void)
{
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
#endif
#ifdef _WIN32
    int n = pthread_num_processors_np();
#else
    long n = sysconf(_SC_NPROCESSORS_ONLN);
#endif
    return n > 0 ? (int)n : 1;
}

bool system_start_thread(pthread_t *thread, size_t stack_bytes, void *(*run)(void *), void *arg)
{
    pthread_attr_t attr;
    if (pthread_attr_init(&attr) != 0) return false;
    pthread_attr_setstacksize(&attr, stack_bytes);
#ifndef _WIN32
    sigset_t all, former;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &former);
#endif
    bool started = pthread_create(thread, &attr, run, arg) == 0;
#ifndef _WIN32
    pthread_sigmask(SIG_SETMASK, &former, NULL);
#endif
    pthread_attr_destroy(&attr);
    return started;
}
#endif

void system_at_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void))
{
#if defined(_WIN32) || defined(__wasi__)
    (void)before, (void)in_parent, (void)in_child;
#else
    pthread_atfork(before, in_parent, in_child);
#endif
}

bool system_allow_amx(void)
{
#if defined(__linux__) && defined(__x86_64__)
    enum { TILE_DATA = 18, REQUEST = 0x1023 };
    return syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
#else
    return false;
#endif
}

/* ---- numbers ------------------------------------------------------------------------------------------------------ */

#ifdef _WIN32
void *system_use_c_locale(void)
{
    _configthreadlocale(_ENABLE_PER_THREAD_LOCALE);
    char *former = _strdup(setlocale(LC_ALL, NULL));
    setlocale(LC_ALL, "C");
    return former;
}

void system_restore_locale(void *former)
{
    setlocale(LC_ALL, former);
    free(former);
}
#else
void *system_use_c_locale(void)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return c ? (void *)uselocale(c) : NULL;
}

void system_restore_locale(void *former)
{
    freelocale(uselocale((locale_t)former));
}
#endif

/* ---- files -------------------------------------------------------------------------------------------------------- */

#ifndef _WIN32
/* Whether the errno says that a system or a file system does not have this call. */
static bool is_lacking(int error)
{
    return error == EINVAL || error == ENOSYS || error == ENOTSUP || error == EOPNOTSUPP || error == ENOLCK;
}
#endif

/* A file system that cannot sync folders says so, which is no failure. */
int system_sync(int fd, bool folder)
{
#ifdef F_FULLFSYNC
    if (fcntl(fd, F_FULLFSYNC) == 0) return 0;      /* on macOS, fsync leaves data in the drive's cache */
#endif
#ifdef _WIN32
    return folder || _commit(fd) == 0 ? 0 : errno;
#else
    int result;
    do {
        result = fsync(fd);
    } while (result < 0 && errno == EINTR);
    return result == 0 || (folder && is_lacking(errno)) ? 0 : errno;
#endif
}

#if !defined(_WIN32) && !defined(__wasi__)
void system_each_name(const char *folder, void (*each)(void *arg, const char *name), void *arg)
{
    DIR *names = opendir(folder);
    for (struct dirent *entry; names && (entry = readdir(names)) != NULL;) each(arg, entry->d_name);
    if (names) closedir(names);
}
#endif
