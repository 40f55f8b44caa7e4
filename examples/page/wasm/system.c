/* system.c: what the library needs of its system, in place of autograd/system/system.c: one thread, one process, one locale. */
#include "system.h"

#include <stdlib.h>

static int64_t calls;

void *system_aligned(size_t alignment, size_t bytes) { return aligned_alloc(alignment, bytes); }
void system_free(void *p) { free(p); }
int64_t system_calls(void) { return calls; }

void *system_alloc(size_t bytes)
{
    calls++;
    size_t rounded = (bytes + 63) & ~(size_t)63;
    return rounded < bytes ? NULL : system_aligned(64, rounded ? rounded : 64);
}

void *system_zeroed(size_t bytes)
{
    calls++;
    return calloc(1, bytes);
}

void system_return_pages(void *p, size_t bytes) { (void)p, (void)bytes; }
void memory_poison(void *p, size_t bytes) { (void)p, (void)bytes; }
void memory_unpoison(void *p, size_t bytes) { (void)p, (void)bytes; }
void system_at_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void))
{
    (void)before, (void)in_parent, (void)in_child;
}

/* A page has the C locale. */
void *system_use_c_locale(void) { return &calls; }
void system_restore_locale(void *former) { (void)former; }
