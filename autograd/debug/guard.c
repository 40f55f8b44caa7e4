/* guard.c: finds writes outside of buffers, and uses of released memory, while ag_guard is on.
 *
 * Every buffer is then allocated by itself, with sentinels before and after it: bytes of a known value. They are checked after
 * each operation and each backward rule, so an error names the call that wrote out of bounds.
 * A released buffer is filled with NaN and stays allocated until the scope ends. A read of it computes NaN. Each check looks
 * for writes to the next CHECKED_BYTES of released memory, and the end of the scope to all of it.
 * The values that a backward rule will read are hashed when its operation reads them, and again before the rule runs: a write
 * through a pointer is not counted as a write in place (values_to_write), and the hash finds it.
 * Leaves remember which backward pass wrote their gradient last: two passes at once, of two threads, would lose a part of it.
 * Tensors whose scope has ended are kept longer than otherwise (arena.c), so that an error can name one that is used late. */
#include <pthread.h>
#include <string.h>

#include "internal.h"

/* The header of a guarded buffer, in front of it. `link` is the pointer to this header: the head of a list, or the `next` of
 * the one before. */
typedef struct Guarded {
    struct Guarded *next, **link;
    AgSite site, user_site;     /* where it was allocated; see Tensor in internal.h */
    const char *what;
    size_t bytes;               /* the size without sentinels */
    size_t checked;             /* released: the bytes that this round of checks has seen */
} Guarded;
enum { FRONT = 128, SENTINELS = 64, SENTINEL = 0xa5, POISON = 0xff, CHECKED_BYTES = 64 * 1024 };
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

static void set_sentinels(Buffer *b)
{
    memset(before(b), SENTINEL, n_before());
    memset(after(b), SENTINEL, SENTINELS);
}

/* The first byte that is not of that value; n if all are. */
static size_t first_other(const uint8_t *p, size_t n, uint8_t value)
{
    if (n > 0 && p[0] == value && memcmp(p, p + 1, n - 1) == 0) return n;      /* as is usual: memcmp is fast */
    size_t i = 0;
    while (i < n && p[i] == value) i++;
    return i;
}

/* A write that was found: a copy of the buffer's header, and which byte was written. */
typedef struct { Guarded buffer; char text[96]; } BadWrite;

/* Whether a sentinel, or one of the released bytes first..end-1, was overwritten. Describes it in *w, and restores the bytes:
 * it is reported once. */
static bool find_bad_write(Guarded *g, size_t first, size_t end, BadWrite *w)
{
    Buffer *b = buffer_of(g);
    size_t over = first_other(after(b), SENTINELS, SENTINEL);
    size_t under = n_before();
    while (under > 0 && before(b)[under - 1] == SENTINEL) under--;
    size_t late = first + first_other((uint8_t *)buffer_data(b) + first, end - first, POISON);
    size_t size = sizeof w->text;
    if (over < SENTINELS) snprintf(w->text, size, "byte %zu after its %zu bytes was written", over, g->bytes);
    else if (under > 0) snprintf(w->text, size, "byte %zu before its first byte was written", n_before() - under + 1);
    else if (late < end) snprintf(w->text, size, "byte %zu of the released memory was written", late);
    else return false;
    w->buffer = *g;
    set_sentinels(b);
    memset((char *)buffer_data(b) + first, POISON, end - first);
    return true;
}

_Noreturn static void error_bad_write(AgSite at, const char *what, const BadWrite *w)
{
    char place[PLACE_TEXT];
    ag_usage_error(at, what, "the memory of %.*s (made at %s): %s since the last check", name_length(w->buffer.what),
                   w->buffer.what, place_text(w->buffer.site, w->buffer.user_site, place), w->text);
}

/* ---- buffers: allocated, in use, released, freed ----------------------------------------------------------------- */

Buffer *guard_alloc(size_t size)
{
    char *p = system_alloc(FRONT + BUFFER_HEADER + size + SENTINELS);
    return p ? (Buffer *)(p + FRONT) : NULL;
}

void guard_begin(AgSite at, const char *what, Buffer *b, size_t bytes)
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
    Context *c = context();
    Guarded *g = guarded(b);
    BadWrite w;
    bool bad = find_bad_write(g, 0, 0, &w);
    memset(buffer_data(b), POISON, g->bytes);
    pthread_mutex_lock(&lock);
    unlink_from_list(g);
    link_to(&c->released, g);
    pthread_mutex_unlock(&lock);
    c->released_bytes += g->bytes;
    if (bad) error_bad_write(w.buffer.site, w.buffer.what, &w);
}

/* Looks for a write to the next n bytes of released memory. */
static bool find_late_write(Context *c, size_t n, BadWrite *w)
{
    if (n > c->released_bytes) n = c->released_bytes;
    bool bad = false;
    while (n > 0 && !bad) {
        if (!c->released) {                                     /* a new round */
            c->released = c->released_seen;
            c->released->link = &c->released;
            c->released_seen = NULL;
        }
        Guarded *g = c->released;
        size_t end = n < g->bytes - g->checked ? g->checked + n : g->bytes;
        bad = find_bad_write(g, g->checked, end, w);
        n -= end - g->checked;
        g->checked = end;
        if (end < g->bytes) continue;
        g->checked = 0;
        unlink_from_list(g);
        link_to(&c->released_seen, g);
    }
    return bad;
}

static void check_memory(AgSite at, const char *what, size_t released_bytes)
{
    Context *c = context();
    BadWrite w;
    bool bad = false;
    pthread_mutex_lock(&lock);
    for (Guarded *g = c->guarded; g && !bad; g = g->next) bad = find_bad_write(g, 0, 0, &w);
    pthread_mutex_unlock(&lock);
    if (bad || find_late_write(c, released_bytes, &w)) error_bad_write(at, what, &w);
}

void guard_check(AgSite at, const char *what)
{
    check_memory(at, what, CHECKED_BYTES);
}

void guard_check_all(AgSite at, const char *what)
{
    check_memory(at, what, SIZE_MAX);
}

static void free_list(Guarded **list)
{
    while (*list) {
        Guarded *g = *list;
        unlink_from_list(g);
        system_free(g);
    }
}

void guard_trim(void)
{
    Context *c = context();
    free_list(&c->released);
    free_list(&c->released_seen);
    c->released_bytes = 0;
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

/* ---- values that a rule will read --------------------------------------------------------------------------------- */

uint64_t guard_hash(const Tensor *t)
{
    const uint64_t factor = 0x9e3779b97f4a7c15;
    size_t n = (size_t)t->numel * dtype_size(t->dtype);
    const char *p = t->data;
    uint64_t h[4] = { n, 1, 2, 3 }, word[4];                    /* four chains, which the processor computes side by side */
    for (; n > 0; n -= n < sizeof word ? n : sizeof word, p += sizeof word) {
        if (n < sizeof word) memset(word, 0, sizeof word);
        memcpy(word, p, n < sizeof word ? n : sizeof word);
        for (int i = 0; i < 4; i++) h[i] = (h[i] ^ word[i]) * factor ^ h[i] >> 32;
    }
    for (int i = 1; i < 4; i++) h[0] = (h[0] ^ h[i]) * factor ^ h[0] >> 32;
    return h[0];
}

/* ---- backward passes of several threads -------------------------------------------------------------------------- */

/* The passes that are running, by number. */
enum { MAX_PASSES = 64 };
static uint64_t running[MAX_PASSES], last_pass;

static uint64_t *place_of(uint64_t pass)
{
    int i = 0;
    while (i < MAX_PASSES && running[i] != pass) i++;
    return i < MAX_PASSES ? &running[i] : NULL;
}

void guard_backward_begins(AgSite at)
{
    Context *c = context();
    c->pass_site = at;
    pthread_mutex_lock(&lock);
    uint64_t *place = place_of(0);
    c->pass = ++last_pass;
    if (place) *place = c->pass;
    pthread_mutex_unlock(&lock);
}

void guard_backward_ends(void)
{
    Context *c = context();
    pthread_mutex_lock(&lock);
    uint64_t *place = c->pass ? place_of(c->pass) : NULL;
    if (place) *place = 0;
    c->pass = 0;
    pthread_mutex_unlock(&lock);
}

void guard_gradient(Tensor *leaf)
{
    Context *c = context();
    if (!c->pass) return;
    pthread_mutex_lock(&lock);
    bool shared = leaf->pass && leaf->pass != c->pass && place_of(leaf->pass);
    leaf->pass = c->pass;
    pthread_mutex_unlock(&lock);
    char made[PLACE_TEXT];
    if (shared)
        ag_usage_error(c->pass_site, "ag_backward", "another thread runs backward to %s (made at %s), too: a part of its "
                       "gradient can be lost; give each thread a model of its own", leaf->name ? leaf->name : leaf->made_by,
                       place_text(leaf->site, leaf->user_site, made));
}

void ag_guard(bool on)
{
    context()->guard = on;
}
