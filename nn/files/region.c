/* region.c: small items lie side by side in chunks; a large one has a block of its own, so that it can grow without
 * leaving its old self behind. */
#include "region.h"

#include <stdint.h>
#include <string.h>

#include "kaeru/autograd.h"

typedef struct Block {
    struct Block *older, *newer;
    size_t size;
} Block;
#define ALIGNMENT 16
#define HEADER ((sizeof(Block) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT)

struct Region {
    AgOwned owned;
    Block *newest;
    char *next;                 /* where the current chunk is free, and how many bytes are left there */
    size_t left, chunk;         /* the next chunk's size */
};
enum { FIRST_CHUNK = 4096, LAST_CHUNK = 256 * 1024 };

/* Under AddressSanitizer each item has a block of its own, of its exact size, so that a byte beside it is seen. */
#if defined(__SANITIZE_ADDRESS__)
#define APART 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define APART 1
#endif
#endif
#ifdef APART
enum { ROUND_TO = 1, LARGE = 1 };
#else
enum { ROUND_TO = ALIGNMENT, LARGE = 32 * 1024 };
#endif

static void destroy(AgOwned *self)
{
    Region *r = (Region *)self;
    while (r->newest) {
        Block *older = r->newest->older;
        ag_free(r->newest);
        r->newest = older;
    }
    ag_free(r);
}

Region *region_new(void)
{
    Region *r = ag_alloc(1, sizeof *r);
    r->chunk = FIRST_CHUNK;
    ag_own(&r->owned, destroy);
    return r;
}

void region_free(Region *r)
{
    if (!r) return;
    ag_disown(&r->owned);
    destroy(&r->owned);
}

static char *new_block(Region *r, size_t size)
{
    Block *b = ag_alloc(HEADER + size, 1);
    b->size = size;
    b->older = r->newest;
    if (r->newest) r->newest->newer = b;
    r->newest = b;
    return (char *)b + HEADER;
}

/* n * size rounded up. */
static size_t bytes_of(size_t n, size_t size)
{
    if (size && n > (SIZE_MAX - HEADER - ALIGNMENT) / size)
        ag_usage_error(AG_HERE, "memory", "no memory for %zu items of %zu bytes", n, size);
    size_t bytes = (n * size + ROUND_TO - 1) / ROUND_TO * ROUND_TO;
    return bytes ? bytes : ROUND_TO;
}

void *region_alloc(Region *r, size_t n, size_t size)
{
    size_t bytes = bytes_of(n, size);
    if (bytes >= LARGE) return new_block(r, bytes);
    if (bytes > r->left) {
        size_t chunk = r->chunk > bytes ? r->chunk : LARGE;
        r->next = new_block(r, chunk);
        r->left = chunk;
        if (r->chunk < LAST_CHUNK) r->chunk *= 2;
    }
    void *p = r->next;
    r->next += bytes;
    r->left -= bytes;
    return p;
}

void *region_resize(Region *r, void *p, size_t old_n, size_t n, size_t size)
{
    size_t old_bytes = bytes_of(old_n, size), bytes = bytes_of(n, size);
    if (!p || old_bytes < LARGE) {
        void *larger = region_alloc(r, n, size);
        if (p && old_n) memcpy(larger, p, old_n * size);
        return larger;
    }
    Block *old = (Block *)(void *)((char *)p - HEADER);
    bool newest = r->newest == old;
    Block *b = ag_resize(old, HEADER + old->size, HEADER + bytes, 1);
    b->size = bytes;
    if (newest) r->newest = b;
    else b->newer->older = b;
    if (b->older) b->older->newer = b;
    return (char *)b + HEADER;
}

char *region_text(Region *r, const char *text, size_t n)
{
    char *copy = region_alloc(r, n + 1, 1);
    if (n) memcpy(copy, text, n);
    return copy;
}
