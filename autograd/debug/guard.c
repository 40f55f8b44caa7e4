/* guard.c: finds writes outside of buffers, and uses of released memory, while ag_guard is on.
 *
 * Every buffer then has sentinels before and after its bytes: bytes of a known value. They are checked after each operation and
 * each backward rule, so an error names the call that wrote out of bounds.
 * A released buffer is filled with NaN, and no other gets its memory until the scope ends. A read of it computes NaN, and the
 * end of the scope finds a write to it.
 * The values that a backward rule will read are hashed when its operation reads them, and again before the rule runs: a write
 * through a pointer is not counted as a write in place (values_to_write), and the hash finds it.
 * Tensors whose scope has ended are kept longer than otherwise (arena.c), so that an error can name one that is used late. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "buffers.h"
#include "checks.h"
#include "errors.h"
#include "guard.h"
#include "hash.h"
#include "kaeru/debug.h"
#include "kaeru/tensor.h"
#include "kernels.h"
#include "observe.h"
#include "observers.h"
#include "op.h"
#include "shape.h"
#include "tensor_struct.h"
#include "thread.h"

enum { SENTINEL = 0xa5, POISON = 0xff };

typedef struct {
    Buffer *buffer;
    Place site, user_site;      /* where it was allocated; see Tensor in tensor.h */
    const char *what;
    const void *thread;         /* that allocated the buffer or has released it, and checks it */
    bool released;
} Guarded;

/* The buffers of all threads: one may be released by another thread than the one that allocated it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Guarded *guarded;
static size_t n_guarded, capacity;
static _Thread_local size_t released;       /* how many of them this thread has released */

/* ---- sentinels --------------------------------------------------------------------------------------------------- */

/* There are sentinels between the buffer's header and its values, and after the values. */
static uint8_t *before(Buffer *b) { return (uint8_t *)(b + 1); }
static size_t n_before(void) { return BUFFER_HEADER - sizeof(Buffer); }
static size_t used_bytes(const Buffer *b) { return b->size - b->slack; }
static uint8_t *after(Buffer *b) { return (uint8_t *)buffer_data(b) + used_bytes(b); }

/* The first byte that is not of that value; n if all are. */
static size_t first_other(const uint8_t *p, size_t bytes, uint8_t value)
{
    if (bytes > 0 && p[0] == value && memcmp(p, p + 1, bytes - 1) == 0) return bytes;   /* as is usual: memcmp is fast */
    size_t i = 0;
    while (i < bytes && p[i] == value) i++;
    return i;
}

static void fill(Guarded *g)
{
    memset(before(g->buffer), SENTINEL, n_before());
    memset(after(g->buffer), SENTINEL, SENTINELS);
    if (g->released) memset(buffer_data(g->buffer), POISON, used_bytes(g->buffer));
}

/* A write that was found: a copy of the entry, and which byte was written. */
typedef struct { Guarded in; char text[96]; } BadWrite;

/* Whether a sentinel was overwritten, or a byte of a released buffer: in *w. Restores the bytes, so it is reported once. */
static bool find_bad_write(Guarded *g, BadWrite *w)
{
    Buffer *b = g->buffer;
    size_t bytes = used_bytes(b), size = sizeof w->text;
    size_t over = first_other(after(b), SENTINELS, SENTINEL);
    size_t under = n_before();
    while (under > 0 && before(b)[under - 1] == SENTINEL) under--;
    size_t late = g->released ? first_other(buffer_data(b), bytes, POISON) : bytes;
    if (over < SENTINELS) snprintf(w->text, size, "byte %zu after its %zu bytes was written", over, bytes);
    else if (under > 0) snprintf(w->text, size, "byte %zu before its first byte was written", n_before() - under + 1);
    else if (late < bytes) snprintf(w->text, size, "byte %zu of the released memory was written", late);
    else return false;
    w->in = *g;
    fill(g);
    return true;
}

_Noreturn static void error_bad_write(const char *what, const BadWrite *w)
{
    ag_usage_error(what, "the memory of %s (made at %s): %s since the last check", w->in.what,
                   place_text(w->in.site, w->in.user_site), w->text);
}

/* ---- buffers: allocated, checked, released ----------------------------------------------------------------------- */

static bool guard_begin(const char *what, Buffer *b)
{
    Guarded g = { b, call_place(), outermost_layer()->site, what, thread_id(), false };
    pthread_mutex_lock(&lock);
    if (n_guarded == capacity) {
        Guarded *larger = realloc(guarded, (2 * n_guarded + 64) * sizeof *guarded);
        if (larger) guarded = larger;
        if (larger) capacity = 2 * n_guarded + 64;
    }
    bool listed = n_guarded < capacity;
    if (listed) guarded[n_guarded++] = g;
    pthread_mutex_unlock(&lock);
    memset(buffer_data(b), POISON, used_bytes(b));
    if (listed) fill(&g);
    return listed;
}

static void guard_end(Buffer *b)
{
    BadWrite w;
    pthread_mutex_lock(&lock);
    size_t i = n_guarded - 1;
    while (guarded[i].buffer != b) i--;
    bool bad = find_bad_write(&guarded[i], &w);
    guarded[i].thread = thread_id();
    guarded[i].released = true;
    fill(&guarded[i]);
    pthread_mutex_unlock(&lock);
    released++;
    if (bad) error_bad_write(w.in.what, &w);
}

static void guard_check(const char *what, bool all)
{
    BadWrite w;
    bool bad = false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n_guarded && !bad; i++)
        bad = guarded[i].thread == thread_id() && (all || !guarded[i].released) && find_bad_write(&guarded[i], &w);
    pthread_mutex_unlock(&lock);
    if (bad) error_bad_write(what, &w);
}

static Buffer *guard_take_released(void)
{
    Buffer *b = NULL;
    if (released == 0) return NULL;
    released--;
    pthread_mutex_lock(&lock);
    for (size_t i = n_guarded; i-- > 0 && !b;) {
        if (guarded[i].thread != thread_id() || !guarded[i].released) continue;
        b = guarded[i].buffer;
        guarded[i] = guarded[--n_guarded];
    }
    pthread_mutex_unlock(&lock);
    return b;
}

/* ---- values that a rule will read --------------------------------------------------------------------------------- */

/* A hash of 0 means that there is no value. With a seed of 0 or 1, zeros and small whole numbers could have that hash. */
#define SEED UINT64_C(0x9e3779b97f4a7c15)

static void hash_values(Tensor *y, bool check)
{
    for (int i = 0; y->hash && i <= y->n_in; i++) {
        const Tensor *x = read_by_rule(y, i);
        uint64_t hash = x && x->data ? hash_bytes(x->data, (size_t)x->numel * dtype_size(x->dtype), SEED) : 0;
        if (check && hash && hash != y->hash[i]) error_written("ag_backward", y, i);
        y->hash[i] = hash;
    }
}

/* ---- what is checked when ------------------------------------------------------------------------------------------ */

static void see(Event event, Tensor *t)
{
    if (event == COMPUTED || event == RULE_ENDS) guard_check(t->origin.made_by, false);
    if (event == COMPUTED || event == RULE_BEGINS) hash_values(t, event == RULE_BEGINS);
}

void ag_guard(bool on)
{
    observe(GUARD, on ? see : NULL, CHECK_MEMORY);
}

const BufferWatch guard_watch = { guard_begin, guard_end, guard_check, guard_take_released };
