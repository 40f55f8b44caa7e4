/* guard.c: finds writes outside of buffers, and uses of released memory, while ag_guard is on.
 *
 * Every buffer is then allocated by itself, with sentinels before and after it: bytes of a known value. They are checked after
 * each operation and each backward rule, so an error names the call that wrote out of bounds.
 * A released buffer is filled with NaN and stays allocated until the scope ends. A read of it computes NaN, and the end of the
 * scope finds a write to it.
 * The values that a backward rule will read are hashed when its operation reads them, and again before the rule runs: a write
 * through a pointer is not counted as a write in place (values_to_write), and the hash finds it.
 * Leaves remember which thread's backward pass writes their gradient: two passes at once would lose a part of it.
 * Tensors whose scope has ended are kept longer than otherwise (arena.c), so that an error can name one that is used late. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* The header of a guarded buffer, in front of it. `link` is the pointer to this header: the head of a list, or the `next` of
 * the one before. */
typedef struct Guarded {
    struct Guarded *next, **link;
    const void *thread;         /* that allocated it, and checks it */
    AgSite site, user_site;     /* where it was allocated; see Tensor in internal.h */
    const char *what;
    size_t bytes;               /* the size without sentinels */
} Guarded;
enum { FRONT = 128, SENTINELS = 64, SENTINEL = 0xa5, POISON = 0xff };
_Static_assert(sizeof(Guarded) <= FRONT, "the buffer must stay aligned to 64 bytes");

typedef struct {
    Guarded *released;          /* buffers that this thread has released */
    Tensor *loss;               /* of the backward pass that runs; NULL: none */
    AgSite pass_site;
} Guard;
static _Thread_local void *state;

static void forget_pass(void);

static Guard *guard(void)
{
    static const StateKind kind = { .size = sizeof(Guard), .failed = forget_pass, .trim = guard_trim };
    return state ? state : thread_state(&state, &kind);
}

/* Of all threads: a buffer may be released by another thread than the one that allocated it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Guarded *in_use;

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

/* Whether a sentinel was overwritten, or a byte of the buffer, if it is released. Describes it in *w, and restores the bytes:
 * it is reported once. */
static bool find_bad_write(Guarded *g, bool released, BadWrite *w)
{
    Buffer *b = buffer_of(g);
    size_t over = first_other(after(b), SENTINELS, SENTINEL);
    size_t under = n_before();
    while (under > 0 && before(b)[under - 1] == SENTINEL) under--;
    size_t late = released ? first_other(buffer_data(b), g->bytes, POISON) : g->bytes;
    size_t size = sizeof w->text;
    if (over < SENTINELS) snprintf(w->text, size, "byte %zu after its %zu bytes was written", over, g->bytes);
    else if (under > 0) snprintf(w->text, size, "byte %zu before its first byte was written", n_before() - under + 1);
    else if (late < g->bytes) snprintf(w->text, size, "byte %zu of the released memory was written", late);
    else return false;
    w->buffer = *g;
    set_sentinels(b);
    if (released) memset(buffer_data(b), POISON, g->bytes);
    return true;
}

_Noreturn static void error_bad_write(AgSite at, const char *what, const BadWrite *w)
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

void guard_begin(AgSite at, const char *what, Buffer *b, size_t bytes)
{
    Guarded *g = guarded(b);
    *g = (Guarded){ .thread = thread_id(), .site = at, .user_site = user_call().site, .what = what, .bytes = bytes };
    set_sentinels(b);
    memset(buffer_data(b), POISON, bytes);
    pthread_mutex_lock(&lock);
    link_to(&in_use, g);
    pthread_mutex_unlock(&lock);
}

void guard_end(Buffer *b)
{
    Guarded *g = guarded(b);
    BadWrite w;
    pthread_mutex_lock(&lock);
    bool bad = find_bad_write(g, false, &w);
    unlink_from_list(g);
    pthread_mutex_unlock(&lock);
    memset(buffer_data(b), POISON, g->bytes);
    link_to(&guard()->released, g);
    if (bad) error_bad_write(w.buffer.site, w.buffer.what, &w);
}

static void check_memory(AgSite at, const char *what, bool released)
{
    BadWrite w;
    bool bad = false;
    pthread_mutex_lock(&lock);
    for (Guarded *g = in_use; g && !bad; g = g->next) bad = g->thread == thread_id() && find_bad_write(g, false, &w);
    pthread_mutex_unlock(&lock);
    for (Guarded *g = released ? guard()->released : NULL; g && !bad; g = g->next) bad = find_bad_write(g, true, &w);
    if (bad) error_bad_write(at, what, &w);
}

void guard_scope_ends(AgSite at)
{
    check_memory(at, "ag_end", true);
}

void guard_trim(void)
{
    Guard *g = state;
    while (g && g->released) {
        Guarded *released = g->released;
        unlink_from_list(released);
        system_free(released);
    }
}

/* ---- values that a rule will read --------------------------------------------------------------------------------- */

static uint64_t hash_of(const Tensor *t)
{
    size_t n = (size_t)t->numel * dtype_size(t->dtype);
    uint64_t hash = n, word = 0;
    for (const char *p = t->data; n > 0; n -= n < sizeof word ? n : sizeof word, p += sizeof word) {
        if (n < sizeof word) word = 0;
        memcpy(&word, p, n < sizeof word ? n : sizeof word);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15;
        hash ^= hash >> 32;
    }
    return hash;
}

static void hash_values(Tensor *y)
{
    for (int i = 0; y->hash && i <= y->n_in; i++) {
        const Tensor *x = read_by_rule(y, i);
        if (x && x->data) y->hash[i] = hash_of(x);
    }
}

static void check_hashes(AgSite at, Tensor *y)
{
    for (int i = 0; y->hash && i <= y->n_in; i++) {
        const Tensor *x = read_by_rule(y, i);
        if (x && x->data && y->hash[i] != hash_of(x)) error_written(at, y, i);
    }
}

/* ---- backward passes of several threads -------------------------------------------------------------------------- */

static void check_only_pass(Tensor *leaf)
{
    const Guard *g = guard();
    if (!g->loss) return;
    pthread_mutex_lock(&lock);
    bool shared = leaf->pass && leaf->pass != thread_id();
    if (!shared) leaf->pass = thread_id();
    pthread_mutex_unlock(&lock);
    char made[PLACE_TEXT];
    if (shared)
        ag_usage_error(g->pass_site, "ag_backward", "another thread runs backward to %s (made at %s), too: a part of its "
                       "gradient can be lost; give each thread a model of its own", leaf->name ? leaf->name : leaf->made_by,
                       place_text(leaf->site, leaf->user_site, made));
}

static void forget_leaf(Tensor *x)
{
    if (x && !x->op && x->pass == thread_id()) x->pass = NULL;
}

static void forget_pass(void)
{
    Tensor *loss = guard()->loss;
    if (!loss) return;
    pthread_mutex_lock(&lock);
    forget_leaf(loss);
    for (const Tensor *y = loss; y; y = y->older)
        for (int i = 0; i < y->n_in; i++) forget_leaf(y->in[i]);
    pthread_mutex_unlock(&lock);
    guard()->loss = NULL;
}

/* ---- what is checked when ------------------------------------------------------------------------------------------ */

static void check(Event event, AgSite at, Tensor *t)
{
    bool computed = event == COMPUTED || event == COMPUTED_UNCHECKED;
    if (computed || event == RULE_ENDS) check_memory(t->site, t->made_by, false);
    if (computed) hash_values(t);
    if (event == RULE_BEGINS) check_hashes(at, t);
    if (event == GRADIENT) check_only_pass(t);
    if (event == PASS_BEGINS) {
        guard()->loss = t;
        guard()->pass_site = at;
    }
    if (event == PASS_ENDS) forget_pass();
}

static _Thread_local bool decided;          /* ag_guard was called, or guard_from_environment */

void ag_guard(bool on)
{
    observer[GUARD] = on ? check : NULL;
    decided = true;
}

void guard_from_environment(void)
{
    const char *guard = getenv("KAERU_GUARD");
    if (!decided) ag_guard(guard && strcmp(guard, "1") == 0);
}
