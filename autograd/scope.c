/* scope.c: this thread's state, and the scopes that own its tensors.
 *
 * All state but the pool of large buffers is per thread, so two threads can each train a model. Only the pool takes a lock. */
#include "internal.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

_Thread_local Context *this_context;

/* ---- construction and destruction of the thread's state ------------------------------------------------------------ */

static atomic_uint_fast64_t contexts;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void context_destroy(void *p)
{
    Context *c = p;
    this_context = c;                       /* buffer_release needs it */
    bool used_later = c->guard && c->depth > 0;         /* another thread may have one of the tensors */
    while (c->depth > 0) {
        c->scope[c->depth - 1].failed = 0;  /* the thread ends: blocks that the program still has are not freed */
        ag_end((AgScope){ c->depth, c->scope[c->depth - 1].serial });
    }
    guard_thread_ends();
    if (used_later) arena_keep(&c->arena);
    context_trim(c);
    this_context = NULL;
    free(c);
}

static void at_exit(void)
{
    if (this_context) context_destroy(this_context);
    pool_trim();
}

static void make_key(void)
{
    pthread_key_create(&key, context_destroy);
    atexit(at_exit);                        /* key destructors do not run when main returns */
}

Context *context_make(void)
{
    pthread_once(&once, make_key);
    Context *c = calloc(1, sizeof *c);
    if (!c) {
        fputs("kaeru: no memory to start\n", stderr);
        abort();
    }
    c->serial = atomic_fetch_add(&contexts, 1) << 40;           /* a scope of another thread has another number */
    pthread_setspecific(key, c);
    this_context = c;
    const char *guard = getenv("KAERU_GUARD");
    c->guard = guard && strcmp(guard, "1") == 0;
    return c;
}

/* ---- memory of the innermost scope ------------------------------------------------------------------------------- */

void *scope_alloc(AgSite at, const char *what, size_t bytes)
{
    void *p = arena_alloc(&context()->arena, bytes);
    if (!p) ag_usage_error(at, what, "no memory for %zu bytes", bytes);
    return p;
}

void *ag_scratch_at(AgSite at, size_t n, size_t size)
{
    if (context()->depth == 0)
        ag_usage_error(at, "ag_scratch", "no scope is open to own the memory: call ag_begin first");
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes)) bytes = SIZE_MAX;
    return scope_alloc(at, "ag_scratch", bytes);
}

/* ---- scopes ------------------------------------------------------------------------------------------------------ */

AgScope ag_begin_at(AgSite at, AgMode mode)
{
    Context *c = context();
    if (mode != AG_RECORD && mode != AG_NO_GRAD)
        ag_usage_error(at, "ag_begin", "%d is not an AgMode; expected AG_RECORD or AG_NO_GRAD", (int)mode);
    if (c->depth == MAX_SCOPES)
        ag_usage_error(at, "ag_begin", "%d scopes are open already: is an ag_end missing?", c->depth);
    ScopeState *s = &c->scope[c->depth];
    *s = (ScopeState){ .mode = mode, .serial = ++c->serial, .tape = c->tape, .calls = c->calls,
                       .precision = c->precision };
    s->mark = arena_begin(&c->arena);
    c->depth++;
    c->recording = mode == AG_RECORD;
    return (AgScope){ c->depth, s->serial };
}

/* Releases the tensors that were created since the scope began. */
static void release_tensors(Context *c, Tensor *until)
{
    while (c->tape != until) {
        Tensor *t = c->tape;
        c->tape = t->older;
        buffer_release(t->buffer);
        buffer_release(t->grad);
        buffer_release(t->kept_grad);
        buffer_release(t->saved);
        release_saved_gradients(t);
        free(t->name);
        t->magic = TENSOR_DEAD;
        t->data = NULL;
        t->buffer = t->grad = t->kept_grad = t->saved = NULL;
        t->name = NULL;
    }
}

/* An error during backward leaves partial gradients, which must not be added to those of a later pass. */
void release_pending_gradients(void)
{
    Context *c = context();
    for (Tensor *t = c->tape; t; t = t->older) {
        if (!t->op) continue;
        buffer_release(t->grad);
        t->grad = NULL;
    }
}

static void check_open(AgSite at, const char *what, const Context *c, AgScope scope)
{
    if (scope.depth < 1 || scope.depth > c->depth || c->scope[scope.depth - 1].serial != scope.serial)
        ag_usage_error(at, what, (scope.serial ^ c->serial) >> 40 ? "another thread began this scope" :
                       "this scope has ended already");
}

void ag_end_at(AgSite at, AgScope scope)
{
    Context *c = context();
    check_open(at, "ag_end", c, scope);
    ScopeState *s = &c->scope[scope.depth - 1], *innermost = &c->scope[c->depth - 1];
    uint64_t failed = 0;                    /* the last error reported in this scope or in one inside it */
    for (ScopeState *inner = s; inner <= innermost; inner++)
        if (inner->failed > failed) failed = inner->failed;
    if (innermost != s && innermost->serial > failed)
        ag_usage_error(at, "ag_end", "scopes begun inside this one and still open: %d", c->depth - scope.depth);
    if (c->guard && !failed) guard_check_all(at, "ag_end");
    guard_trim();
    if (failed) {
        blocks_unwind(s->serial, failed);
        c->calls = s->calls;
    }
    release_tensors(c, s->tape);
    c->depth = scope.depth - 1;
    arena_end(&c->arena, s->mark);
    c->recording = c->depth > 0 && c->scope[c->depth - 1].mode == AG_RECORD;
    c->precision = s->precision;
    if (c->depth == 0) blocks_forget();     /* no scope is left that an error could unwind */
}

Tensor *ag_end_return_at(AgSite at, AgScope scope, Tensor *t)
{
    check_any(at, "ag_end_return", "t", t);
    Context *c = context();
    check_open(at, "ag_end_return", c, scope);
    if (scope.depth < 2 || scope.depth != c->depth)
        ag_usage_error(at, "ag_end_return", "the scope must be the innermost and have another around it");
    AgShape shape = t->shape;
    AgDType dtype = t->dtype;
    Buffer *value = t->buffer;
    scratch_adopt(buffer_share(value));     /* keeps the value between the two scopes */
    ag_end_at(at, scope);
    Tensor *out = tensor_alias(at, "ag_end_return", &shape, dtype, value);
    scratch_end();
    return out;
}

Tensor *call_function(AgSite at, const char *what, AgFunction *f, Tensor **in, void *arg)
{
    int depth = context()->depth;
    Tensor *result = f(in, arg);
    if (context()->depth != depth)
        ag_usage_error(at, what, "f must end the scopes that it begins: %d were open before its call, %d after it", depth,
                       context()->depth);
    check_tensor(at, what, "the result of f", result, AG_REAL);
    return result;
}

AgPrecision ag_precision_at(AgSite at, AgPrecision precision)
{
    AgPrecision former = context()->precision;
    if (precision != AG_FLOAT32 && precision != AG_BF16)
        ag_usage_error(at, "ag_precision", "%d is not an AgPrecision; expected AG_FLOAT32 or AG_BF16", (int)precision);
    context()->precision = precision;
    return former;
}

AgPrecision ag_precision_now(void)
{
    return context()->precision;
}

bool ag_recording(void)
{
    return context()->recording;
}

