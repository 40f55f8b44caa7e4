/* context.c: this thread's state: scopes, the arena that holds their tensors, and what happens when something is wrong.
 *
 * Everything is per thread, so that two threads can each train a model; nothing here takes a lock. */
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "tensor.h"

_Thread_local Context *this_context;

typedef struct Chunk {
    struct Chunk *next;
    size_t size;
} Chunk;
#define CHUNK_HEADER 64
#define CHUNK_SIZE (128 * 1024)

/* ---- birth and end ----------------------------------------------------------------------------------------------- */

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void context_end(void *p)
{
    Context *c = p;
    this_context = c;                       /* releasing needs it */
    while (c->depth > 0) {
        c->scope[c->depth - 1].failed = 0;  /* the program ends: whatever it still holds is its own */
        ag_end((Scope){ c->depth, c->scope[c->depth - 1].serial });
    }
    guard_thread_ends();
    ag_memory_trim();
    while (c->first) {
        Chunk *next = c->first->next;
        memory_unpoison((char *)c->first + CHUNK_HEADER, c->first->size);
        system_free(c->first);
        c->first = next;
    }
    this_context = NULL;
    free(c);
}

static void main_ends(void)
{
    if (this_context) context_end(this_context);
}

static void make_key(void)
{
    pthread_key_create(&key, context_end);
    atexit(main_ends);                      /* key destructors do not run when main returns */
}

Context *context_make(void)
{
    pthread_once(&once, make_key);
    Context *c = calloc(1, sizeof *c);
    if (!c) {
        fputs("kaeru: no memory to start\n", stderr);
        abort();
    }
    pthread_setspecific(key, c);
    this_context = c;
    const char *guard = getenv("KAERU_GUARD");
    c->guard = guard && strcmp(guard, "1") == 0;
    return c;
}

/* ---- arena ------------------------------------------------------------------------------------------------------- */

void *arena_alloc(Site at, const char *what, size_t bytes)
{
    Context *c = context();
    if (bytes > SIZE_MAX / 4) ag_usage_error(at, what, "no memory for %zu bytes", bytes);
    bytes = (bytes + 15) & ~(size_t)15;
    struct ArenaMark *mark = &c->scope[c->depth - 1].mark;      /* mark of the innermost: where it writes next */
    while (!mark->chunk || mark->used + bytes > mark->chunk->size) {
        Chunk *next = mark->chunk ? mark->chunk->next : c->first;
        if (!next || next->size < bytes) {
            size_t size = bytes > CHUNK_SIZE ? bytes : CHUNK_SIZE;
            Chunk *fresh = system_alloc(CHUNK_HEADER + size);
            if (!fresh) ag_usage_error(at, what, "no memory for the graph (%zu bytes)", size);
            fresh->size = size;
            fresh->next = next;
            if (mark->chunk) mark->chunk->next = fresh;
            else c->first = fresh;
            memory_poison((char *)fresh + CHUNK_HEADER, size);
            next = fresh;
        }
        mark->chunk = next;
        mark->used = 0;
    }
    void *p = (char *)mark->chunk + CHUNK_HEADER + mark->used;
    mark->used += bytes;
    memory_unpoison(p, bytes);
    return memset(p, 0, bytes);
}

void *ag_scratch_at(Site at, size_t n, size_t size)
{
    if (context()->depth == 0) ag_usage_error(at, "ag_scratch", "no scope is open to own the memory: call ag_begin first");
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes)) bytes = SIZE_MAX;
    return arena_alloc(at, "ag_scratch", bytes);
}

/* Forbids what lies between two marks: the ended scope's tensors. Under ag_guard the chunks behind the first mark,
 * which are all the scope's own then, are put away as they are. */
static void arena_close(Context *c, struct ArenaMark from, struct ArenaMark to)
{
    if (c->guard) {
        Chunk **next = from.chunk ? &from.chunk->next : &c->first;
        while (*next) {
            Chunk *dead = *next;
            *next = dead->next;
            memory_unpoison((char *)dead + CHUNK_HEADER, dead->size);
            guard_quarantine(dead);
        }
        return;
    }
    Chunk *chunk = from.chunk ? from.chunk : c->first;
    size_t used = from.chunk ? from.used : 0;
    while (chunk) {
        memory_poison((char *)chunk + CHUNK_HEADER + used, chunk->size - used);
        if (chunk == to.chunk) break;
        chunk = chunk->next;
        used = 0;
    }
}

/* ---- scopes ------------------------------------------------------------------------------------------------------ */

Scope ag_begin_at(Site at, AgMode mode)
{
    Context *c = context();
    if (c->depth == MAX_SCOPES)
        ag_usage_error(at, "ag_begin", "%d scopes are open already: is an ag_end missing?", c->depth);
    ScopeState *s = &c->scope[c->depth];
    *s = (ScopeState){ .mode = mode, .serial = ++c->serial, .tape = c->tape, .calls = c->calls };
    if (c->depth > 0) s->mark = c->scope[c->depth - 1].mark;
    if (c->guard && s->mark.chunk) s->mark.used = s->mark.chunk->size;      /* a chunk of its own: see arena_close */
    c->depth++;
    c->recording = mode == AG_RECORD;
    return (Scope){ c->depth, s->serial };
}

/* Frees what the tape has gained since the scope began. */
static void drop_tensors(Context *c, Tensor *until)
{
    while (c->tape != until) {
        Tensor *t = c->tape;
        c->tape = t->older;
        buffer_release(t->buffer);
        buffer_release(t->grad);
        buffer_release(t->kept_grad);
        buffer_release(t->saved);
        free(t->name);
        t->magic = TENSOR_DEAD;
        t->data = NULL;
        t->buffer = t->grad = t->kept_grad = t->saved = NULL;
        t->name = NULL;
    }
}

/* After an error, objects that were built inside the scope are lost to the program, which was thrown out of there; what
 * it has built since then it holds. */
static void drop_owned(Context *c, uint64_t begun, uint64_t failed)
{
    for (AgOwned *entry = c->owned; entry && entry->serial > begun;) {
        if (entry->serial > failed) {
            entry = entry->older;
            continue;
        }
        ag_disown(entry);
        entry->destroy(entry);
        entry = c->owned;                   /* the list may have lost more than this one */
    }
}

/* An error in the middle of backward leaves gradients on their way; none may meet those of a later pass. */
static void drop_pending_gradients(Context *c)
{
    for (Tensor *t = c->tape; t; t = t->older) {
        if (!t->op) continue;
        buffer_release(t->grad);
        t->grad = NULL;
    }
}

static void check_open(Site at, const char *what, const Context *c, Scope scope)
{
    if (scope.depth < 1 || scope.depth > c->depth || c->scope[scope.depth - 1].serial != scope.serial)
        ag_usage_error(at, what, "this scope has ended already");
}

void ag_end_at(Site at, Scope scope)
{
    Context *c = context();
    check_open(at, "ag_end", c, scope);
    ScopeState *s = &c->scope[scope.depth - 1], *innermost = &c->scope[c->depth - 1];
    uint64_t failed = 0;                    /* when an error was last reported in it or in what was begun inside it */
    for (ScopeState *inner = s; inner <= innermost; inner++)
        if (inner->failed > failed) failed = inner->failed;
    if (innermost != s && innermost->serial > failed)
        ag_usage_error(at, "ag_end", "scopes begun inside this one and still open: %d", c->depth - scope.depth);
    if (c->guard && !failed) guard_check(at, "ag_end");
    guard_trim();
    struct ArenaMark end = innermost->mark;
    if (failed) {
        drop_owned(c, s->serial, failed);
        c->calls = s->calls;
    }
    drop_tensors(c, s->tape);
    if (failed) drop_pending_gradients(c);
    c->depth = scope.depth - 1;
    struct ArenaMark start = c->depth > 0 ? c->scope[c->depth - 1].mark : (struct ArenaMark){ NULL, 0 };
    arena_close(c, start, end);
    c->recording = c->depth > 0 && c->scope[c->depth - 1].mode == AG_RECORD;
    if (c->depth == 0) {
        while (c->owned) ag_disown(c->owned);   /* finished without error: they are the program's own */
    }
}

Tensor *ag_end_return_at(Site at, Scope scope, Tensor *t)
{
    check_tensor(at, "ag_end_return", "t", t, t ? t->dtype : AG_REAL);
    Context *c = context();
    check_open(at, "ag_end_return", c, scope);
    if (scope.depth < 2 || scope.depth != c->depth)
        ag_usage_error(at, "ag_end_return", "the scope must be the innermost and have another around it");
    Shape shape = t->shape;
    DType dtype = t->dtype;
    Buffer *value = t->buffer;
    scratch_adopt(buffer_share(value));     /* nobody else holds it between the two scopes */
    ag_end_at(at, scope);
    Tensor *out = tensor_alias(at, "ag_end_return", &shape, dtype, value);
    scratch_end();
    return out;
}

bool ag_recording(void)
{
    return context()->recording;
}

/* ---- objects that an error frees --------------------------------------------------------------------------------- */

void ag_own(AgOwned *entry, void (*destroy)(AgOwned *self))
{
    Context *c = context();
    *entry = (AgOwned){ .destroy = destroy };
    if (c->depth == 0) return;              /* no scope that could unwind */
    entry->serial = ++c->serial;
    entry->older = c->owned;
    if (c->owned) c->owned->newer = entry;
    c->owned = entry;
}

void ag_disown(AgOwned *entry)
{
    if (!entry->serial) return;
    if (entry->newer) entry->newer->older = entry->older;
    else context()->owned = entry->older;
    if (entry->older) entry->older->newer = entry->newer;
    entry->newer = entry->older = NULL;
    entry->serial = 0;
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

AgErrorHandler *ag_on_usage_error(AgErrorHandler *handler)
{
    Context *c = context();
    AgErrorHandler *former = c->handler;
    c->handler = handler;
    return former;
}

void ag_enter(Site at, const char *name)
{
    Context *c = context();
    if (c->calls < MAX_CALLS) {
        c->call[c->calls].site = at;
        c->call[c->calls].name = name;
    }
    c->calls++;
}

Tensor *ag_leave(Tensor *result)
{
    Context *c = context();
    if (c->calls > 0) c->calls--;
    return result;
}

static bool same_place(Site a, Site b)
{
    return a.line == b.line && strcmp(a.file, b.file) == 0;
}

Site user_site_now(const Context *c)
{
    return c->calls > 0 ? c->call[0].site : (Site){ NULL, 0 };
}

const char *place_text(Site made, Site user_site, char text[PLACE_TEXT])
{
    int n = snprintf(text, PLACE_TEXT, "%s:%d", made.file, made.line);
    if (user_site.file && !same_place(made, user_site) && n >= 0 && n < PLACE_TEXT)
        snprintf(text + n, (size_t)(PLACE_TEXT - n), ", called from %s:%d", user_site.file, user_site.line);
    return text;
}

/* Adds to a text of `size` bytes that has n; what does not fit is left out. Returns the new n. */
static size_t append(char *text, size_t size, size_t n, const char *format, ...) AG_PRINTF(4, 5);
static size_t append(char *text, size_t size, size_t n, const char *format, ...)
{
    if (n + 1 >= size) return n;
    va_list list;
    va_start(list, format);
    int added = vsnprintf(text + n, size - n, format, list);
    va_end(list);
    return added < 0 ? n : n + (size_t)added < size ? n + (size_t)added : size - 1;
}

/* Adds the layers around a place, the innermost first. AG_CALL enters a layer before its arguments are evaluated; what
 * happens at the very place of its call is such an argument, not inside the layer. */
static size_t append_layers(Context *c, size_t n, Site inside)
{
    for (int i = (c->calls < MAX_CALLS ? c->calls : MAX_CALLS) - 1; i >= 0; i--) {
        Site around = c->call[i].site;
        if (same_place(inside, around)) continue;
        n = append(c->message, sizeof c->message, n, ", in %s called at %s:%d", c->call[i].name, around.file,
                   around.line);
        inside = around;
    }
    return n;
}

_Noreturn void ag_usage_error(Site at, const char *what, const char *format, ...)
{
    Context *c = context();
    char details[sizeof c->message];
    va_list list;
    va_start(list, format);
    vsnprintf(details, sizeof details, format, list);
    va_end(list);
    size_t n = append(c->message, sizeof c->message, 0, "%s: %s (at %s:%d", what, details, at.file, at.line);
    n = append_layers(c, n, at);
    append(c->message, sizeof c->message, n, ")");
    ScopeState *innermost = c->depth > 0 ? &c->scope[c->depth - 1] : NULL;
    if (innermost) innermost->failed = ++c->serial;         /* its ag_end, or that of one around it, unwinds */
    c->calls = innermost ? innermost->calls : 0;
    c->keep_graph = c->mark_unwritten = false;
    c->rule = NULL;
    scratch_end();
    if (c->handler) c->handler(c->message);
    else {
        fflush(stdout);                     /* abort would lose what the program has said so far */
        fprintf(stderr, "kaeru: %s\n", c->message);
    }
    abort();
}

bool ag_set_error(const char *format, ...)
{
    char error[sizeof context()->error];        /* apart, since the message may quote ag_error() */
    va_list list;
    va_start(list, format);
    vsnprintf(error, sizeof error, format, list);
    va_end(list);
    memcpy(context()->error, error, strlen(error) + 1);
    return false;
}

const char *ag_error(void)
{
    return context()->error;
}
