/* faults.c: the functions of faults.h, and the functions that replace malloc and the like. */
#include "alloc.h"
#include "arena.h"
#include "faults.h"
#include "usage_error.h"

#ifdef __linux__
#include <malloc.h>
#endif
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

static _Atomic int64_t requests, bytes, live, countdown = -1;
static atomic_bool after, hit;

void faults_at(int64_t n, bool all_after)
{
    hit = false;
    after = all_after;
    countdown = n;
}

bool faults_hit(void)
{
    return hit;
}

int64_t faults_requests(void)
{
    return requests;
}

int64_t faults_bytes(void)
{
    return bytes;
}

int64_t faults_live(void)
{
    forget_freed_objects();
    return live;
}

/* Whether the job reached the failing request. */
static bool reaches(void (*job)(void), int64_t n, bool all_after)
{
    ag_memory_trim();
    int64_t before = faults_live();
    faults_at(n, all_after);
    CATCH_USAGE_ERROR(job());
    bool failed = hit;
    faults_at(-1, false);
    ag_memory_trim();
    int64_t left = faults_live() - before;
    ck_assert_msg(left == 0, "after request %d failed, %d blocks are left", (int)n, (int)left);
    bool reported = strstr(usage_message, "no memory") != NULL;
    if (failed && all_after) ck_assert_msg(reported, "request %d failed with \"%s\"", (int)n, usage_message);
    if (!failed) ck_assert_str_eq(usage_message, "");
    return failed;
}

int64_t faults_everywhere(void (*job)(void), bool all_after)
{
    if (!faults_work()) return 0;
    CATCH_USAGE_ERROR(job());                   /* for one-time allocations */
    int64_t n = 0;
    while (reaches(job, n, all_after)) n++;
    return n;
}

#ifdef HAVE_FAULTS
bool faults_work(void)
{
    return true;
}

static bool fails(size_t size)
{
    requests++;
    bytes += (int64_t)size;
    if (hit && after) return true;
    if (countdown < 0) return false;
    if (countdown-- > 0) return false;
    hit = true;
    return true;
}

static void *counted(void *p)
{
    if (p) live++;
    return p;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
char *__wrap_strdup(const char *s);
void __wrap_free(void *p);

void *__wrap_malloc(size_t size)
{
    return fails(size) ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails(n * size) ? NULL : counted(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t size)
{
#ifdef __linux__
    /* What system_shrink gives back is no request: nothing has to report that it fails. */
    if (p && size <= 4096 && malloc_usable_size(p) >= 65536) return __real_realloc(p, size);
#endif
    if (fails(size)) return NULL;
    return p ? __real_realloc(p, size) : counted(__real_malloc(size));
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    if (fails(size)) return NULL;
    void *p = __real_aligned_alloc(alignment, size);
    return size == ARENA_CHUNK ? p : counted(p);        /* a chunk of an arena is never freed */
}

char *__wrap_strdup(const char *s)
{
    size_t size = strlen(s) + 1;
    char *copy = __wrap_malloc(size);
    return copy ? memcpy(copy, s, size) : NULL;
}

void __wrap_free(void *p)
{
    if (p) live--;
    __real_free(p);
}
#else
bool faults_work(void)
{
    return false;
}
#endif
