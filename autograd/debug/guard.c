/* guard.c: finds writes outside of buffers, and uses of released memory, while ag_guard is on.
 *
 * Every buffer is then allocated by itself, with sentinels before and after it: bytes of a known value. They are checked after
 * each operation and each backward rule, so an error names the call that wrote out of bounds.
 * A released buffer is filled with NaN and stays allocated until the scope ends. A read of it computes NaN, and the next check
 * finds a write to it.
 * Tensors whose scope has ended are kept longer than otherwise (arena.c), so that an error can name one that is used late. */
#include <pthread.h>
#include <string.h>

#include "internal.h"

/* The header of a guarded buffer, in front of it. `link` is the pointer to this header: the head of a list, or the `next` of
 * the one before. */
typedef struct Guarded {
    struct Guarded *next, **link;
    Site site, user_site;       /* where it was allocated; see Tensor in internal.h */
    const char *what;
    size_t bytes;               /* the size without sentinels */
} Guarded;
enum { FRONT = 64, SENTINELS = 64, SENTINEL = 0xa5, POISON = 0xff };
_Static_assert(sizeof(Guarded) <= FRONT, "the buffer must stay aligned to 64 bytes");

/* A buffer may be released by another thread than the one that allocated it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Guarded *orphans;                                /* buffers of threads that have ended */

static Guarded *guarded(Buffer *b)
{
    return (Guarded *)((char *)b - FRONT);
}

static Buffer *buffer_of(Guarded *g)
{
    return (Buffer *)((char *)g + FRONT);
}

static void link_to(Guarded **list, Guarded *g)
{
    g->link = list;
    g->next = *list;
    if (g->next) g->next->link = &g->next;
    *list = g;
}

static void unlink_from_list(Guarded *g)
{
    *g->link = g->next;
    if (g->next) g->next->link = g->link;
}

/* ---- sentinels --------------------------------------------------------------------------------------------------- */

/* There are sentinels between the buffer's header and its values, and after the values. */
static uint8_t *before(Buffer *b)
{
    return (uint8_t *)(b + 1);
}

static uint8_t *after(Buffer *b)
{
    return (uint8_t *)buffer_data(b) + guarded(b)->bytes;
}

static size_t n_before(void)
{
    return BUFFER_HEADER - sizeof(Buffer);
}

static size_t n_after(Buffer *b)
{
    return b->size + SENTINELS - guarded(b)->bytes;
}

static void set_sentinels(Buffer *b)
{
    memset(before(b), SENTINEL, n_before());
    memset(after(b), SENTINEL, n_after(b));
}

/* The first byte that is not of that value; n if all are. */
static size_t first_other(const uint8_t *p, size_t n, uint8_t value)
{
    size_t i = 0;
    while (i < n && p[i] == value) i++;
    return i;
}

/* A write that was found: a copy of the buffer's header, and which byte was written. */
typedef struct { Guarded buffer; char text[96]; } BadWrite;

/* Whether a sentinel or a released byte was overwritten. Describes it in *w, and restores the bytes: it is reported once. */
static bool find_bad_write(Guarded *g, bool released, BadWrite *w)
{
    Buffer *b = buffer_of(g);
    size_t over = first_other(after(b), n_after(b), SENTINEL);
    size_t under = n_before();
    while (under > 0 && before(b)[under - 1] == SENTINEL) under--;
    size_t late = released ? first_other(buffer_data(b), g->bytes, POISON) : g->bytes;
    size_t size = sizeof w->text;
    if (over < n_after(b)) snprintf(w->text, size, "byte %zu after its %zu bytes was written", over, g->bytes);
    else if (under > 0) snprintf(w->text, size, "byte %zu before its first byte was written", n_before() - under + 1);
    else if (late < g->bytes) snprintf(w->text, size, "byte %zu of the released memory was written", late);
    else return false;
    w->buffer = *g;
    set_sentinels(b);
    if (released) memset(buffer_data(b), POISON, g->bytes);
    return true;
}

_Noreturn static void error_bad_write(Site at, const char *what, const BadWrite *w)
{
    char place[PLACE_TEXT];
    ag_usage_error(at, what, "the memory of %s (made at %s): %s since the last check", w->buffer.what,
                   place_text(w->buffer.site, w->buffer.user_site, place), w->text);
}

/* ---- buffers: allocated, in use, released, freed ----------------------------------------------------------------- */

Buffer *guard_alloc(size_t size)
{
    char *p = system_alloc(FRONT + BUFFER_HEADER + size + SENTINELS);
    return p ? (Buffer *)(p + FRONT) : NULL;
}

void guard_begin(Site at, const char *what, Buffer *b, size_t bytes)
{
    Guarded *g = guarded(b);
    *g = (Guarded){ .site = at, .user_site = user_site_now(context()), .what = what, .bytes = bytes };
    set_sentinels(b);
    memset(buffer_data(b), POISON, bytes);
    pthread_mutex_lock(&lock);
    link_to(&context()->guarded, g);
    pthread_mutex_unlock(&lock);
}

void guard_end(Buffer *b)
{
    Guarded *g = guarded(b);
    BadWrite w;
    bool bad = find_bad_write(g, false, &w);
    memset(buffer_data(b), POISON, g->bytes);
    pthread_mutex_lock(&lock);
    unlink_from_list(g);
    link_to(&context()->released, g);
    pthread_mutex_unlock(&lock);
    if (bad) error_bad_write(w.buffer.site, w.buffer.what, &w);
}

void guard_check(Site at, const char *what)
{
    Context *c = context();
    BadWrite w;
    bool bad = false;
    pthread_mutex_lock(&lock);
    for (Guarded *g = c->guarded; g && !bad; g = g->next) bad = find_bad_write(g, false, &w);
    for (Guarded *g = c->released; g && !bad; g = g->next) bad = find_bad_write(g, true, &w);
    pthread_mutex_unlock(&lock);
    if (bad) error_bad_write(at, what, &w);
}

void guard_trim(void)
{
    Context *c = context();
    while (c->released) {
        Guarded *g = c->released;
        unlink_from_list(g);
        system_free(g);
    }
}

void guard_thread_ends(void)
{
    Context *c = context();
    pthread_mutex_lock(&lock);
    while (c->guarded) {
        Guarded *g = c->guarded;
        unlink_from_list(g);
        link_to(&orphans, g);
    }
    pthread_mutex_unlock(&lock);
}

void ag_guard(bool on)
{
    context()->guard = on;
}
