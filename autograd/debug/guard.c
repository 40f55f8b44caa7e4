/* guard.c: buffers between sentinels, for programs that write where they should not.
 *
 * While ag_guard is on, every buffer is a piece of memory of its own, with bytes of a known value before and behind it.
 * After each operation and each backward rule all of them are looked at, so that an overrun is found beside the call
 * that did it. A buffer that was given back is full of NaN and waits for the end of the scope before the system gets
 * it: who reads it then computes NaN, who writes to it is found. Of ended scopes the memory that held their tensors is
 * kept for a while, so that a tensor that is used too late still says which one it was. */
#include <pthread.h>
#include <string.h>

#include "internal.h"

/* In front of a guarded buffer. `at` is what points here: the head of a list, or the `next` of another. */
typedef struct Guarded {
    struct Guarded *next, **at;
    Site site, user_site;           /* where it was made, see tensor.h */
    const char *what;
    size_t bytes;               /* asked for; what follows them is sentinel */
} Guarded;
enum { FRONT = 64, BEHIND = 64, SENTINEL = 0xa5, POISON = 0xff };
_Static_assert(sizeof(Guarded) <= FRONT, "the buffer's header must stay on a cache line of its own");

/* A buffer may end on another thread than it began. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Guarded *orphans;                                /* of threads that have ended */

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
    g->at = list;
    g->next = *list;
    if (g->next) g->next->at = &g->next;
    *list = g;
}

static void unlink_from_list(Guarded *g)
{
    *g->at = g->next;
    if (g->next) g->next->at = g->at;
}

/* ---- sentinels --------------------------------------------------------------------------------------------------- */

/* What lies between the header and the values, and behind the values. */
static uint8_t *before(Buffer *b)
{
    return (uint8_t *)(b + 1);
}

static uint8_t *behind(Buffer *b)
{
    return (uint8_t *)buffer_data(b) + guarded(b)->bytes;
}

static size_t n_before(void)
{
    return BUFFER_HEADER - sizeof(Buffer);
}

static size_t n_behind(Buffer *b)
{
    return b->size + BEHIND - guarded(b)->bytes;
}

static void set_sentinels(Buffer *b)
{
    memset(before(b), SENTINEL, n_before());
    memset(behind(b), SENTINEL, n_behind(b));
}

/* The first byte that is not of that value; n if all are. */
static size_t first_other(const uint8_t *p, size_t n, uint8_t value)
{
    size_t i = 0;
    while (i < n && p[i] == value) i++;
    return i;
}

typedef struct { Guarded about; char text[96]; } Damage;

/* Whether something is wrong with it; describes that, and makes it good, so that it is told once. */
static bool damaged(Guarded *g, bool released, Damage *d)
{
    Buffer *b = buffer_of(g);
    size_t over = first_other(behind(b), n_behind(b), SENTINEL);
    size_t under = n_before();
    while (under > 0 && before(b)[under - 1] == SENTINEL) under--;
    size_t late = released ? first_other(buffer_data(b), g->bytes, POISON) : g->bytes;
    size_t size = sizeof d->text;
    if (over < n_behind(b)) snprintf(d->text, size, "byte %zu behind its %zu bytes was written", over, g->bytes);
    else if (under > 0) snprintf(d->text, size, "byte %zu before its first was written", n_before() - under + 1);
    else if (late < g->bytes) snprintf(d->text, size, "byte %zu was written after it was given back", late);
    else return false;
    d->about = *g;
    set_sentinels(b);
    if (released) memset(buffer_data(b), POISON, g->bytes);
    return true;
}

_Noreturn static void tell(Site at, const char *what, const Damage *d)
{
    char place[PLACE_TEXT];
    ag_usage_error(at, what, "the memory of %s (made at %s): %s since the last check", d->about.what,
              place_text(d->about.site, d->about.user_site, place), d->text);
}

/* ---- a buffer's life --------------------------------------------------------------------------------------------- */

Buffer *guard_alloc(size_t size)
{
    char *p = system_alloc(FRONT + BUFFER_HEADER + size + BEHIND);
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
    Damage d;
    bool bad = damaged(g, false, &d);
    memset(buffer_data(b), POISON, g->bytes);
    pthread_mutex_lock(&lock);
    unlink_from_list(g);
    link_to(&context()->released, g);
    pthread_mutex_unlock(&lock);
    if (bad) tell(d.about.site, d.about.what, &d);
}

void guard_check(Site at, const char *what)
{
    Context *c = context();
    Damage d;
    bool bad = false;
    pthread_mutex_lock(&lock);
    for (Guarded *g = c->guarded; g && !bad; g = g->next) bad = damaged(g, false, &d);
    for (Guarded *g = c->released; g && !bad; g = g->next) bad = damaged(g, true, &d);
    pthread_mutex_unlock(&lock);
    if (bad) tell(at, what, &d);
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

void guard_quarantine(void *block)
{
    Context *c = context();
    void **quarantine = &c->quarantine[c->n_quarantined++ % QUARANTINE];
    system_free(*quarantine);
    *quarantine = block;
}

void guard_empty_quarantine(void)
{
    Context *c = context();
    for (int i = 0; i < QUARANTINE; i++) {
        system_free(c->quarantine[i]);
        c->quarantine[i] = NULL;
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
