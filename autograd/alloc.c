/* alloc.c: the blocks of ag_alloc. A block can own others, which are freed with it (the idea of
 * talloc, Tridgell 2004): a module owns its parameters, a parsed file its parts. Functions that
 * build such objects need no clean-up code.
 *
 * A thread has a list of the blocks without an owner that it has allocated while a scope was open.
 * If an error unwinds the scope, the blocks that were allocated inside it are freed. At the end of
 * the outermost scope the list becomes empty: the blocks live until the program frees them.
 *
 * Three things make the file longer than that. Use after free is reported with the object's name,
 * where that costs little. A destructor may end by an error or a longjmp, and may free other
 * objects. And owners may form a chain of any length, so nothing here is recursive. */
#include "alloc.h"
#include "errors.h"
#include "program_calls.h"
#include "system.h"
#include "thread.h"

#include <string.h>

/* What stands before the memory that the program gets. */
typedef struct Block {
    struct Block *owner;
    struct Block *first;            /* the newest of the blocks that it owns */
    struct Block *older, *newer;    /* its neighbors among its owner's blocks, or in the thread's
                                       list */
    void (*destroy)(void *p);       /* a function to call before the block is freed, or NULL */
    const char *part_of;            /* the type of the owner, if only that may free the block */
    uint64_t serial;                /* the time of its allocation, if it is in the thread's list;
                                       else 0 */
    uint32_t magic;                 /* BLOCK_ALIVE, BLOCK_ENDS or BLOCK_DEAD */
    bool large;                     /* LARGE_BYTES or more */
} Block;

/* The states of a block. Its destructor runs while it is BLOCK_ENDS. */
enum { BLOCK_ALIVE = 0x626c6f63, BLOCK_ENDS = 0x656e6473, BLOCK_DEAD = 0x64656164 };

enum { HEADER = (sizeof(Block) + 15) / 16 * 16 };
/* The system may unmap a block of LARGE_BYTES when it is freed. KEPT_BYTES of it are kept. */
enum { LARGE_BYTES = 64 * 1024, KEPT_BYTES = HEADER + 1024 };
/* The number of freed blocks whose headers are kept, and of calls of ag_free that may run. */
enum { QUARANTINE = 4096, MOST_CALLS = 64 };

/* A call of ag_free, in which a destructor runs. */
typedef struct {
    Block *root, *now;              /* the argument of ag_free; the block whose destructor runs */
    uintptr_t frame;                /* the address of the call on the stack */
} Freeing;

typedef struct {
    bool in_scope;                  /* a scope is open */
    Freeing freeing[MOST_CALLS];    /* the running calls of ag_free, each by a destructor of the
                                       one before it */
    int calls;                      /* the number of them */
    Block *newest;                  /* the list of the blocks that an error would free */
    Block *quarantine[QUARANTINE];  /* the last freed blocks that were large or had a destructor */
    unsigned n_quarantined;
} Blocks;
static _Thread_local void *state;

void forget_freed_objects(void)
{
    Blocks *here = state;
    for (int i = 0; here && i < QUARANTINE; i++) {
        system_free(here->quarantine[i]);
        here->quarantine[i] = NULL;
    }
}

static void destroy_nothing(void *p)
{
    (void)p;
}

/* Ends the destructors that were called from deeper in the stack than `frame`: an error, or a
 * longjmp of the program, has left them. Their objects are alive again and can be freed, without a
 * second call of these destructors. */
static void leave_destructors(uintptr_t frame)
{
    Blocks *here = state;
    while (here && here->calls > 0 && here->freeing[here->calls - 1].frame <= frame) {
        const Freeing *f = &here->freeing[--here->calls];
        for (Block *b = f->now; b != f->root->owner; b = b->owner) {
            b->magic = BLOCK_ALIVE;
            if (b->destroy) {
                b->destroy = destroy_nothing;
            }
        }
    }
}

void blocks_leave_destructors(void)
{
    leave_destructors(UINTPTR_MAX);
}

/* Leaves the blocks that still exist to the program. Any thread may free them. */
static void end_of_thread(void)
{
    blocks_end();
    forget_freed_objects();
}

static Blocks *blocks(void)
{
    static const StateKind kind = { .size = sizeof(Blocks), .failed = blocks_leave_destructors,
                                    .end = end_of_thread };
    return state ? state : thread_state(&state, &kind);
}

static Block *block_of(void *p) { return (Block *)(void *)((char *)p - HEADER); }
static void *data_of(Block *b) { return (char *)b + HEADER; }

/* Returns the head of the list that the block is in, or NULL if it is in none. */
static Block **list_of(const Block *b)
{
    if (b->owner) return &b->owner->first;
    return b->serial ? &blocks()->newest : NULL;
}

static void insert(Block *b)
{
    Block **list = list_of(b);
    if (!list) return;
    b->older = *list;
    b->newer = NULL;
    if (b->older) {
        b->older->newer = b;
    }
    *list = b;
}

static void take_out(Block *b)
{
    Block **list = list_of(b);
    if (!list) return;
    if (b->newer) {
        b->newer->older = b->older;
    } else {
        *list = b->older;
    }
    if (b->older) {
        b->older->newer = b->newer;
    }
    b->older = b->newer = NULL;
}

/* Returns a block that is in no list. The error of too little memory is that of the function that
 * the program has called: a layer, or `what`. */
static Block *block_new(const char *what, size_t n, size_t size)
{
    size_t bytes;
    bool too_many = __builtin_mul_overflow(n, size, &bytes) || bytes > PTRDIFF_MAX - HEADER;
    Block *b = too_many ? NULL : system_zeroed(HEADER + bytes);
    if (!b) {
        const char *layer = outermost_layer()->function;
        ag_usage_error(layer ? layer : what, "no memory for %zu items of %zu bytes", n, size);
    }
    b->magic = BLOCK_ALIVE;
    b->large = bytes >= LARGE_BYTES;
    return b;
}

static bool is_alive(void *p)
{
    return block_of(p)->magic == BLOCK_ALIVE || block_of(p)->magic == BLOCK_ENDS;
}

/* Checks that the block is not being freed. */
static void check_lasts(const char *what, void *p)
{
    if (block_of(p)->magic == BLOCK_ENDS) {
        ag_usage_error(what, "this object is being freed: its own destructor calls %s, or was left "
                       "by longjmp or throw", what);
    }
}

/* Checks that p is memory of ag_alloc that was not freed. */
static void check_block(const char *what, const char *name, void *p)
{
    ag_check_pointer(what, name, p);
    if (!is_alive(p)) {
        ag_usage_error(what, "%s was freed, or is not memory of ag_alloc", name);
    }
}

static void *alloc(const char *what, void *owner, size_t n, size_t size)
{
    if (owner) {
        check_block(what, "the owner", owner);
    }
    Block *b = block_new(what, n, size);
    b->owner = owner ? block_of(owner) : NULL;
    b->serial = !owner && blocks()->in_scope ? thread_serial() : 0;
    insert(b);
    return data_of(b);
}

void *ag_alloc(size_t n, size_t size) { return alloc(__func__, NULL, n, size); }
void *ag_alloc_in(void *owner, size_t n, size_t size) { return alloc(__func__, owner, n, size); }

void *ag_object_new(size_t size)
{
    enum { LEAST = 16 };    /* functions that take any object look for a mark in its first bytes */
    void *p = alloc(__func__, NULL, 1, size < LEAST ? LEAST : size);
    block_of(p)->destroy = destroy_nothing;
    return p;
}

void ag_check_object(const char *what, const char *name, const void *p)
{
    ag_check_pointer(what, name, p);
    if (!is_alive((void *)p) || !block_of((void *)p)->destroy) {
        ag_usage_error(what, "%s was freed, or is not an object of kaeru", name);
    }
}

bool block_has_owner(void *p)
{
    return block_of(p)->owner != NULL;
}

/* Releases the memory of a block that is in no list. The headers of objects and of large arrays go
 * to the quarantine, so that a later use of one is an error that can name it. */
static void discard(Block *b)
{
    b->magic = BLOCK_DEAD;
    if (b->large && !system_shrink(b, KEPT_BYTES)) return;  /* it has freed all of the block */
    if (!b->large && !b->destroy) {
        system_free(b);
        return;
    }
    Blocks *here = blocks();
    Block **place = &here->quarantine[here->n_quarantined++ % QUARANTINE];
    system_free(*place);
    *place = b;
}

/* Gives b the owner of `old`, its position in the list, and what it owns. */
static void replace(Block *old, Block *b)
{
    Block **list = list_of(old);
    const bool large = b->large;
    *b = *old;
    b->large = large;
    if (b->newer) {
        b->newer->older = b;
    } else if (list) {
        *list = b;
    }
    if (b->older) {
        b->older->newer = b;
    }
    for (Block *part = b->first; part; part = part->older) {
        part->owner = b;
    }
}

void *ag_resize_in(void *owner, void *p, size_t old_n, size_t n, size_t size)
{
    if (!p) return alloc("ag_resize", owner, n, size);
    check_block("ag_resize", "p", p);
    check_lasts("ag_resize", p);
    Block *old = block_of(p);
    Block *b = block_new("ag_resize", n, size);
    if (old_n && n) {
        memcpy(data_of(b), p, (old_n < n ? old_n : n) * size);
    }
    replace(old, b);
    discard(old);
    return data_of(b);
}

void *ag_resize(void *p, size_t old_n, size_t n, size_t size)
{
    return ag_resize_in(NULL, p, old_n, n, size);
}

static char *copy_text(const char *what, void *owner, const char *s, size_t n)
{
    size_t bytes = n < SIZE_MAX ? n + 1 : n;    /* SIZE_MAX is too many anyhow */
    char *copy = alloc(what, owner, bytes, 1);
    if (n) {
        memcpy(copy, s, n);
    }
    return copy;
}

char *ag_strndup_in(void *owner, const char *s, size_t n)
{
    if (n > 0) {
        ag_check_pointer(__func__, "s", s);
    }
    return copy_text(__func__, owner, s, n);
}

char *ag_strdup(const char *s)
{
    ag_check_pointer(__func__, "s", s);
    return copy_text(__func__, NULL, s, strlen(s));
}

/* Checks that the block is not a part of another object. */
static void check_whole(const char *what, void *p)
{
    const char *owner = block_of(p)->part_of;
    if (owner) {
        ag_usage_error(what, "this is a part of a %s, which frees it", owner);
    }
}

/* Returns whether `owner` owns b, directly or through other blocks. b may be NULL. */
static bool is_above(const Block *owner, const Block *b)
{
    while (b && b->owner != owner) {
        b = b->owner;
    }
    return b != NULL;
}

static void set_owner(const char *what, void *p, void *owner)
{
    if (owner) {
        check_block(what, "the owner", owner);
    }
    check_lasts(what, p);
    Block *b = block_of(p), *new_owner = owner ? block_of(owner) : NULL;
    if (b == new_owner || (b->first && is_above(b, new_owner))) {
        ag_usage_error(what, "p would own itself: p is the owner, or owns it");
    }
    take_out(b);
    b->owner = new_owner;
    b->serial = 0;
    insert(b);
}

void ag_set_owner(void *p, void *owner)
{
    check_block(__func__, "p", p);
    check_whole(__func__, p);
    set_owner(__func__, p, owner);
}

void ag_set_part(void *p, void *owner, const char *type)
{
    check_block(__func__, "p", p);
    if (owner) {
        ag_check_pointer(__func__, "the type", type);
    }
    set_owner(__func__, p, owner);
    block_of(p)->part_of = owner ? type : NULL;
}

void ag_on_free(void *p, void (*destroy)(void *p))
{
    check_block(__func__, "p", p);
    ag_check_pointer(__func__, "the function", (const void *)(uintptr_t)destroy);
    block_of(p)->destroy = destroy;
}

/* Calls the destructor of b, which `root` owns or is. */
static void call_destructor(Block *root, Block *b)
{
    Blocks *here = blocks();
    const int call = here->calls;
    b->magic = BLOCK_ENDS;
    here->freeing[call] = (Freeing){ root, b, (uintptr_t)__builtin_frame_address(0) };
    here->calls = call + 1;
    const Calls before = function_begins();
    if (b->destroy) {
        b->destroy(data_of(b));
    }
    function_ends(before);
    here->calls = call;
}

/* Frees a block and what it owns: goes down to a block that owns nothing, frees it, and goes up to
 * its owner again. */
static void destroy(Block *root)
{
    Block *b = root;
    while (true) {
        if (b->magic == BLOCK_ALIVE) {
            call_destructor(root, b);
            /* the destructor caught an error, then freed its object */
            if (b->magic == BLOCK_DEAD) return;
        }
        if (b->first) {
            b = b->first;
            continue;
        }
        Block *owner = b->owner;
        const bool done = b == root;
        take_out(b);
        discard(b);
        if (done) return;
        b = owner;
    }
}

/* Checks that no destructor that runs now belongs to an object below b. */
static void check_destructors(const char *what, const Block *b)
{
    const Blocks *here = blocks();
    if (here->calls == MOST_CALLS) {
        ag_usage_error(what, "%d destructors call each other: expected objects that own others",
                       MOST_CALLS);
    }
    for (int i = 0; i < here->calls; i++) {
        if (is_above(b, here->freeing[i].root)) {
            ag_usage_error(what, "the destructor of an object calls this for its owner");
        }
    }
}

void block_free(const char *what, void *p)
{
    Block *b = block_of(p);
    if (b->magic == BLOCK_DEAD) {
        ag_usage_error(what, "this object was freed already");
    }
    /* needed if no scope is open, whose end would do it */
    leave_destructors((uintptr_t)__builtin_frame_address(0));
    Block **list = b->magic == BLOCK_ALIVE ? list_of(b) : NULL;
    /* it says to be the newest of this thread's list, and is not: it is in that of another one */
    if (list && !b->newer && *list != b) {
        ag_usage_error(what, "this object was made in another thread, whose scope has not ended");
    }
    if (!is_alive(p)) {
        ag_usage_error(what, "this is not memory of ag_alloc; a scope frees its tensors, "
                       "tensor_free a tensor of ag_keep");
    }
    check_lasts(what, p);
    check_whole(what, p);
    check_destructors(what, b);
    destroy(b);
}

void ag_free(void *p)
{
    if (!p) return;
    AG_LAYER;
    block_free(__func__, p);
}

void layer_frees(void *p)
{
    layers_disown(p);
    ag_free(p);
}

void blocks_unwind(uint64_t begun, uint64_t failed)
{
    Block *b = blocks()->newest;
    while (b && b->serial > begun) {
        if (b->serial > failed) {       /* allocated after the error: the program still has it */
            b = b->older;
        } else {
            destroy(b);
            b = blocks()->newest;       /* from the start: a destructor may have freed others */
        }
    }
}

void blocks_begin(void)
{
    blocks()->in_scope = true;
}

void blocks_end(void)
{
    Blocks *here = blocks();
    while (here->newest) {
        Block *b = here->newest;
        take_out(b);
        b->serial = 0;
    }
    here->in_scope = false;
}
