/* scope.c: scopes, and the tape of tensors that they own.
 *
 * ag_begin opens a scope and ag_end frees the tensors that were made in it: those on the tape above
 * the place where the scope began. Their memory is in the arena (arena.c), their values are buffers
 * (buffers.c). tape.c adds operations to the tape, and walks it back. */
#include "alloc.h"
#include "arena.h"
#include "buffers.h"
#include "errors.h"
#include "program_calls.h"
#include "observe.h"
#include "scope.h"
#include "tensor_struct.h"
#include "thread.h"

#include <stdlib.h>

typedef struct {
    AgMode mode;
    uint64_t serial;
    uint64_t failed;            /* the serial number of the last error while it was the innermost;
                                   0: none */
    /* The state of the thread when the scope began. */
    Tensor *tape;               /* the newest tensor */
    ArenaMark mark;             /* the arena's position */
    int calls;                  /* layer_calls() */
    uint64_t running;           /* running.n */
    uint64_t functions;         /* running.functions */
    AgPrecision precision;
} OpenScope;

typedef struct {
    OpenScope scope[MAX_SCOPES];
    int depth;                  /* the number of open scopes */
    bool recording;             /* the innermost scope's mode is AG_RECORD */
    int pass;                   /* a backward pass runs in the scopes up to this depth; 0: no pass
                                   runs */
    int had_pass;               /* the depth of the deepest open scope in which a pass has begun */
    AgPrecision precision;      /* the precision of products */
    Tensor *tape;               /* the newest tensor */
    Arena arena;
} Scopes;
static _Thread_local void *state;

/* Notes a usage error, so that the next ag_end frees what the error has left. It also ends the
 * backward rule that was running. */
static void note_error(void)
{
    Scopes *s = state;
    set_running_rule(NULL);
    if (s->depth == 0) return;
    OpenScope *innermost = &s->scope[s->depth - 1];
    innermost->failed = thread_serial();
    layer_calls_end(innermost->calls);
}

static void trim_arena(void)
{
    Scopes *s = state;
    arena_trim(&s->arena);
}

/* Ends the scopes that the thread has left open at its end. */
static void end_of_scopes(void)
{
    Scopes *s = state;
    while (s->depth > 0) {
        OpenScope *innermost = &s->scope[s->depth - 1];
        innermost->failed = 0;              /* the program still has the blocks of ag_alloc */
        ag_end((AgScope){ s->depth, innermost->serial });
    }
    arena_leave(&s->arena);                 /* another thread may have one of the tensors */
}

static Scopes *scopes(void)
{
    static const StateKind kind = { .size = sizeof(Scopes), .failed = note_error,
                                    .trim = trim_arena, .end = end_of_scopes };
    return state ? state : thread_state(&state, &kind);
}

AgScope innermost_scope(void)
{
    const Scopes *s = scopes();
    return s->depth > 0 ? (AgScope){ s->depth, s->scope[s->depth - 1].serial } : (AgScope){ 0 };
}

bool scope_is_open(AgScope scope)
{
    const Scopes *s = scopes();
    return scope.depth >= 1 && scope.depth <= s->depth &&
           s->scope[scope.depth - 1].serial == scope.serial;
}

void scopes_have_pass(int depth)
{
    Scopes *s = scopes();
    s->pass = depth;
    if (depth > s->had_pass) {
        s->had_pass = depth;
    }
}

int scopes_of_pass(void)
{
    return scopes()->pass;
}

void check_scopes(const char *what, const char *whose, AgScope before)
{
    if (innermost_scope().serial != before.serial) {
        ag_usage_error(what, "%s ended a scope, or left one open", whose);
    }
}

/* ---- tensors of the innermost scope ---------------------------------------------------------- */

Tensor *tape(void)
{
    return scopes()->tape;
}

void *scope_alloc(const char *what, size_t bytes)
{
    Scopes *s = scopes();
    if (s->depth == 0) {
        ag_usage_error(what, "no scope is open to own the result: call ag_begin first");
    }
    void *p = arena_alloc(&s->arena, bytes);
    if (!p) {
        ag_usage_error(what, "no memory for %zu bytes", bytes);
    }
    return p;
}

void *ag_scratch(size_t n, size_t size)
{
    size_t bytes;
    bool too_many = __builtin_mul_overflow(n, size, &bytes);
    return scope_alloc(__func__, too_many ? SIZE_MAX : bytes);
}

Tensor *scope_tensor(const char *what)
{
    Scopes *s = scopes();
    Tensor *t = scope_alloc(what, sizeof *t);
    t->magic = TENSOR_ALIVE;
    t->precision = (uint8_t)s->precision;
    t->origin.thread = thread_id();
    t->origin.site = call_place();
    t->origin.user_site = outermost_layer()->site;
    t->origin.made_by = what;
    t->older = s->tape;
    s->tape = t;
    return t;
}

void tensor_release(void *tensor)
{
    Tensor *t = tensor;
    t->magic = TENSOR_DEAD;
    t->data = NULL;
    buffer_drop(&t->buffer);
    buffer_drop(&t->grad);
    buffer_drop(&t->kept_grad);
    buffer_drop(&t->packed.buffer);
    buffer_drop(&t->saved);
    for (int i = 0; i < SAVED_GRADIENTS; i++) {
        buffer_drop(&t->saved_gradient[i]);
    }
    free(t->origin.name);
    t->origin.name = NULL;
}

/* ---- scopes ---------------------------------------------------------------------------------- */

AgScope ag_begin(AgMode mode)
{
    Scopes *s = scopes();
    if (mode != AG_RECORD && mode != AG_NO_GRAD) {
        ag_usage_error(__func__, "%d is not an AgMode; expected AG_RECORD or AG_NO_GRAD",
                       (int)mode);
    }
    if (s->depth == MAX_SCOPES) {
        ag_usage_error(__func__, "%d scopes are open already: is an ag_end missing?", s->depth);
    }
    if (s->depth == 0) {
        blocks_begin();
    }
    OpenScope *begun = &s->scope[s->depth];
    *begun = (OpenScope){ .mode = mode, .serial = thread_serial(), .tape = s->tape,
                          .mark = arena_begin(&s->arena), .calls = layer_calls(),
                          .running = running.n, .functions = running.functions,
                          .precision = s->precision };
    s->depth++;
    s->recording = mode == AG_RECORD;
    return (AgScope){ s->depth, begun->serial };
}

/* Returns the scope, and checks that this thread has begun it and that it is open. */
static OpenScope *check_open(const char *what, AgScope scope)
{
    if (scope_is_open(scope)) return &scopes()->scope[scope.depth - 1];
    if (scope.serial == 0) {
        ag_usage_error(what, "the scope was not begun");
    }
    bool of_this_thread = scope.serial >> SERIAL_BITS == thread_serial() >> SERIAL_BITS;
    ag_usage_error(what, of_this_thread ? "this scope has ended already"
                                        : "another thread began this scope");
}

void check_inner(const char *what, AgScope scope)
{
    check_open(what, scope);
    if (scope.depth < 2 || scope.depth != scopes()->depth) {
        ag_usage_error(what, "the scope must be the innermost and have another around it");
    }
}

/* Returns the serial number of the last error in this scope or in one inside it; 0: there was
 * none. */
static uint64_t last_error(const Scopes *s, AgScope scope)
{
    uint64_t last = 0;
    for (int i = scope.depth - 1; i < s->depth; i++) {
        if (s->scope[i].failed > last) {
            last = s->scope[i].failed;
        }
    }
    return last;
}

/* Ends what the program may have left in the scope by longjmp, by an exception or after an error: a
 * backward pass, destructors, layers with the objects that they own and, after an error, the blocks
 * of ag_alloc. */
static void end_what_was_left(AgScope scope, uint64_t error)
{
    Scopes *s = scopes();
    const OpenScope *ended = &s->scope[scope.depth - 1];
    if (scope.depth <= s->had_pass) {
        /* The pass still runs if a rule in it ends the scope. That rule may run on after ag_end,
         * so had_pass stays: the end of the next scope ends what is left of the pass. */
        bool in_pass = scope.depth <= s->pass;
        s->had_pass = in_pass ? scope.depth : scope.depth - 1;
        thread_scope_ends(scope.depth, in_pass);
    }
    blocks_leave_destructors();
    void *owned;
    while (layer_is_left(ended->calls, &owned)) {
        ag_free(owned);
    }
    if ((observers_need & CHECK_MEMORY) && !error) {
        buffer_watch->check("ag_end", true);
    }
    buffers_end_scope();
    if (error) {
        blocks_unwind(ended->serial, error);
        if (!scope_is_open(scope)) {
            ag_usage_error("ag_end", "a destructor has ended this scope");
        }
        layer_calls_end(ended->calls);
    }
}

void ag_end(AgScope scope)
{
    Scopes *s = scopes();
    const OpenScope *ended = check_open(__func__, scope), *innermost = &s->scope[s->depth - 1];
    const uint64_t error = last_error(s, scope);
    /* scopes inside it may be open if an error, or a longjmp out of a pass, a layer or a function
       of the program, left them */
    bool left = scope.depth <= s->pass || layer_calls() > ended->calls ||
                running.functions > ended->functions;
    if (innermost != ended && innermost->serial > error && !left) {
        ag_usage_error(__func__, "scopes begun inside this one and still open: %d",
                       s->depth - scope.depth);
    }
    end_what_was_left(scope, error);
    while (s->tape != ended->tape) {
        Tensor *t = s->tape;
        s->tape = t->older;
        tensor_release(t);
    }
    s->depth = scope.depth - 1;
    arena_end(&s->arena, ended->mark);
    s->recording = s->depth > 0 && s->scope[s->depth - 1].mode == AG_RECORD;
    s->precision = ended->precision;
    running_calls_end(ended->running);
    running.functions = ended->functions;
    if (s->depth == 0) {
        blocks_end();
    }
}

AgPrecision ag_precision(AgPrecision precision)
{
    Scopes *s = scopes();
    AgPrecision former = s->precision;
    if (precision != AG_FLOAT32 && precision != AG_BF16) {
        ag_usage_error(__func__, "%d is not an AgPrecision; expected AG_FLOAT32 or AG_BF16",
                       (int)precision);
    }
    s->precision = precision;
    return former;
}

AgPrecision ag_precision_now(void)
{
    return scopes()->precision;
}

bool ag_recording(void)
{
    return scopes()->recording;
}
