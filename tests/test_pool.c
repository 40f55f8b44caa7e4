/* test_pool.c: a pool of its own, of which each block and each page is counted after every call, in random sequences of
 * calls.
 *
 * The test has large_buffers.c once more, with the system's functions replaced. It knows what each page is: in use, touched
 * (free, with memory), or fresh. From that alone it computes what the pool has to do. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suites.h"
#include "system.h"

enum { MOST_CHUNKS = 64, LIVE = 40, CALLS = 600 };
typedef enum { FRESH, TOUCHED, IN_USE } State;
typedef struct { void *memory; char *base; size_t bytes; unsigned char *page; } Chunk;
static Chunk chunk[MOST_CHUNKS];
static int chunks;
static size_t page_size, most_bytes;            /* most_bytes: that the system gives at once */
static size_t refused;                          /* bytes that it did not give, the last in this call of the pool */
static size_t returned, last_returned;          /* pages, in this call of the pool */
/* What the program has: the buffer, its pages with the header's, and the chunk's page at which they begin. */
static struct { char *p; size_t n, size, at; Chunk *of; } live[LIVE];
static int n_live;

/* The first block begins with a page in some chunks, and behind such a place in others. */
static void *chunk_alloc(size_t bytes)
{
    ck_assert_int_lt(chunks, MOST_CHUNKS);
    if (bytes > most_bytes) {
        refused = bytes;
        return NULL;
    }
    Chunk *c = &chunk[chunks];
    *c = (Chunk){ .memory = system_alloc(bytes + 2 * page_size), .bytes = bytes, .page = calloc(bytes / page_size, 1) };
    ck_assert(c->memory && c->page);
    c->base = (char *)(((uintptr_t)c->memory + page_size - 1) / page_size * page_size) + chunks++ % 2 * 64;
    return c->base;
}

static Chunk *chunk_of(const void *p)
{
    for (int i = 0; i < chunks; i++)
        if ((const char *)p >= chunk[i].base && (const char *)p < chunk[i].base + chunk[i].bytes) return &chunk[i];
    ck_abort_msg("no chunk has this address");
}

static size_t page_of(const Chunk *c, const void *p) { return (size_t)((const char *)p - c->base) / page_size; }

static size_t count(const Chunk *c, size_t at, size_t n, State state)
{
    size_t found = 0;
    for (size_t i = at; i < at + n; i++) found += c->page[i] == state;
    return found;
}

static void chunk_free(void *p)
{
    Chunk *c = chunk_of(p);
    ck_assert_ptr_eq(p, c->base);
    ck_assert_uint_eq(count(c, 0, c->bytes / page_size, FRESH), c->bytes / page_size);
    free(c->page);
    system_free(c->memory);
    *c = chunk[--chunks];
    for (int i = 0; i < n_live; i++) live[i].of = chunk_of(live[i].p);
}

/* The page before these has the block's header, so it is not returned, and counts like them. */
static void pages_return(void *p, size_t bytes)
{
    Chunk *c = chunk_of(p);
    size_t at = page_of(c, p), n = bytes / page_size + 1;
    ck_assert_uint_eq(count(c, at, n, TOUCHED), n);
    memset(c->page + at, FRESH, n);
    last_returned = n;
    returned += n;
    system_return_pages(p, bytes);
}

static void *own_alloc(size_t bytes, size_t *size);
static void own_free(void *p);
static size_t own_free_bytes(void);
static void own_trim(void);
#define large_alloc own_alloc
#define large_free own_free
#define large_free_bytes own_free_bytes
#define large_trim own_trim
#define system_alloc chunk_alloc
#define system_free chunk_free
#define system_return_pages pages_return
#include "../autograd/memory/large_buffers.c"

/* ---- what must be true after every call -------------------------------------------------------------------------- */

/* Blocks fill each chunk without overlapping, know their neighbors, and are what their pages are. Free neighbors of one kind
 * are joined. The list has each free block once, and the sums of bytes are right. One assertion for a block: Check writes down
 * each line with one that holds, which took most of the time. */
static void check_pool(void)
{
    size_t all = 0, touched = 0;
    int used = 0, unused = 0;
    for (Chunk *c = chunk; c < chunk + chunks; all += c++->bytes) {
        const LargeBlock *below = NULL;
        size_t at = 0;
        for (const LargeBlock *b = (LargeBlock *)(void *)c->base; b; below = b, b = b->above) {
            size_t first = at / page_size, n = (at + b->size) / page_size - first;
            ck_assert((const char *)b == c->base + at && b->below == below && b->size > 0 && b->size % PAGE == 0 &&
                      (b->above ? b->size < c->bytes - at : b->size == c->bytes - at) &&
                      count(c, first, n, !b->free ? IN_USE : b->touched ? TOUCHED : FRESH) == n &&
                      (!below || !b->free || !below->free || b->touched != below->touched));
            if (b->free && b->touched) touched += b->size;
            *(b->free ? &unused : &used) += 1;
            at += b->size;
        }
    }
    const LargeBlock *previous = NULL;
    for (const LargeBlock *b = free_blocks; b; previous = b, b = b->next)
        ck_assert(b->free && b->previous == previous && chunk_of(b) && unused-- > 0);
    ck_assert(used == n_live && unused == 0 && chunk_bytes == all && own_free_bytes() == touched);
}

/* How many fresh pages the best place for n pages has, and how many pages are free around it. False: there is no place. A place
 * begins where free pages of one kind begin. */
static bool best_place(size_t n, size_t *fresh, size_t *space)
{
    bool found = false;
    for (const Chunk *c = chunk; c < chunk + chunks; c++) {
        size_t pages = c->bytes / page_size;
        for (size_t begin = 0, end; begin < pages; begin = end + 1) {
            for (end = begin; end < pages && c->page[end] != IN_USE;) end++;
            for (size_t i = begin; i + n <= end; i++) {
                if (i > begin && c->page[i] == c->page[i - 1]) continue;
                size_t f = count(c, i, n, FRESH);
                if (found && (f > *fresh || (f == *fresh && end - begin >= *space))) continue;
                found = true;
                *fresh = f;
                *space = end - begin;
            }
        }
    }
    return found;
}

static size_t free_with_memory(void)
{
    size_t n = 0;
    for (const Chunk *c = chunk; c < chunk + chunks; c++) n += count(c, 0, c->bytes / page_size, TOUCHED);
    return n;
}

/* A block has an even number of pages, so that one that is returned has pages without its header. */
static void allocate(size_t n, size_t less)
{
    size_t fresh = n, space = 0, touched = free_with_memory(), bytes = n * page_size - LARGE_HEADER, size = 0;
    int before = chunks;
    bool fits = best_place(n, &fresh, &space);
    returned = last_returned = refused = 0;
    char *p = own_alloc(bytes - less, &size);
    if (!p) {
        ck_assert(!fits && n * page_size > most_bytes);
        return;
    }
    ck_assert_uint_eq(size, bytes);
    ck_assert_int_eq(chunks, fits ? before : before + 1);
    Chunk *c = chunk_of(p);
    ck_assert_uint_ge(c->bytes, refused / 4 / page_size * page_size);
    size_t at = page_of(c, p), end = at + n;
    ck_assert_uint_eq(at * page_size + LARGE_HEADER, (size_t)(p - c->base));
    ck_assert_uint_eq(count(c, at, n, IN_USE), 0);
    ck_assert_uint_eq(count(c, at, n, FRESH), fresh);
    size_t begin = at;
    while (begin > 0 && c->page[begin - 1] != IN_USE) begin--;
    while (end < c->bytes / page_size && c->page[end] != IN_USE) end++;
    if (fits) ck_assert_uint_eq(end - begin, space);
    /* as many pages of others as this needs, and not one block more */
    size_t others = touched - (n - fresh);
    ck_assert_uint_ge(returned, fresh < others ? fresh : others);
    ck_assert(returned == 0 || returned - last_returned < fresh);
    memset(c->page + at, IN_USE, n);
    p[0] = p[size - 1] = (char)n;
    live[n_live].p = p, live[n_live].n = n, live[n_live].size = size, live[n_live].at = at, live[n_live++].of = c;
}

static void release(int i)
{
    ck_assert(live[i].p[0] == (char)live[i].n && live[i].p[live[i].size - 1] == (char)live[i].n);
    own_free(live[i].p);
    memset(live[i].of->page + live[i].at, TOUCHED, live[i].n);
    live[i] = live[--n_live];
}

/* What is free has no pages afterwards, and a chunk without a buffer goes back to the system. */
static void trim(void)
{
    own_trim();
    ck_assert_uint_eq(free_with_memory(), 0);
    for (const Chunk *c = chunk; c < chunk + chunks; c++) ck_assert_uint_gt(count(c, 0, c->bytes / page_size, IN_USE), 0);
}

START_TEST(random_calls)
{
#ifdef __linux__                                /* elsewhere no page is returned */
    page_size = (size_t)sysconf(_SC_PAGESIZE);
    srand((unsigned)_i + 1);
    const size_t most = (size_t)2 << (4 + rand() % 9);          /* pages of a buffer */
    const int tendency = 30 + rand() % 40;                      /* percent of allocations */
    for (int k = 0; k < CALLS; k++) {
        int what = rand() % 100;
        most_bytes = rand() % 3 ? SIZE_MAX : most * page_size;
        if (rand() % 100 == 0) trim();
        else if (what < tendency && n_live < LIVE) allocate(2 * (1 + (size_t)rand() % most), (size_t)rand() % PAGE);
        else if (n_live > 0) release(rand() % n_live);
        check_pool();
    }
    while (n_live > 0) release(0);
    trim();
    check_pool();
    ck_assert(chunks == 0 && chunk_bytes == 0 && !free_blocks);
#endif
}
END_TEST

Suite *pool_suite(void)
{
    Suite *suite = suite_create("pool");
    TCase *calls = tcase_create("calls");
    tcase_add_loop_test(calls, random_calls, 0, 20);
    suite_add_tcase(suite, calls);
    return suite;
}
