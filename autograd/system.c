/* system.c: memory of the system, and marks in it for AddressSanitizer. */
#include "memory.h"

#include <stdlib.h>
#ifdef __linux__
#include <sys/mman.h>
#include <unistd.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#define HAVE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#endif
#endif
#ifdef HAVE_ASAN
#include <sanitizer/asan_interface.h>
#endif

void memory_poison(void *p, size_t bytes)
{
#ifdef HAVE_ASAN
    ASAN_POISON_MEMORY_REGION(p, bytes);
#else
    (void)p, (void)bytes;
#endif
}

void memory_unpoison(void *p, size_t bytes)
{
#ifdef HAVE_ASAN
    ASAN_UNPOISON_MEMORY_REGION(p, bytes);
#else
    (void)p, (void)bytes;
#endif
}

static _Thread_local int64_t calls;

void *system_alloc(size_t bytes)
{
    calls++;
    size_t rounded = (bytes + 63) & ~(size_t)63;
    return rounded < bytes ? NULL : aligned_alloc(64, rounded ? rounded : 64);
}

void *system_zeroed(size_t bytes)
{
    calls++;
    return calloc(1, bytes);
}

void system_free(void *p)
{
    free(p);
}

void system_return_pages(void *p, size_t bytes)
{
#ifdef __linux__
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = ((uintptr_t)p + page - 1) / page * page, end = ((uintptr_t)p + bytes) / page * page;
    if (begin < end) madvise((void *)begin, end - begin, MADV_DONTNEED);
#else
    (void)p, (void)bytes;
#endif
}

int64_t system_calls(void)
{
    return calls;
}
