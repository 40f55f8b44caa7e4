/* tensor.h: tensors, the scopes that own them, errors, memory and random numbers.
 *
 *     AgScope s = ag_begin(AG_NO_GRAD);                   everything created from here on lives until ag_end(s)
 *     Tensor *x = tensor_from(SHAPE(2, 2), (ag_real[]){ 1, 2, 3, 4 });
 *     tensor_print(x);
 *     ag_end(s);
 *
 * Operations and gradients are in autograd.h. */
#ifndef KAERU_TENSOR_H
#define KAERU_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "kaeru/types.h"

AG_PUBLIC_BEGIN

/* A dense row-major array with a shape, see "tensors" below. The struct is opaque. */
typedef struct Tensor Tensor;

/* ---- errors ------------------------------------------------------------------------------------------------------
 * There are two kinds.
 * Usage errors are mistakes of the program: shapes that do not fit, an index out of range, a tensor whose scope has ended.
 * A failed allocation is a usage error, too. The message names the operation, the shapes and the caller's line.
 * The error handler gets the message and must not return.
 * Other errors come from outside the program: files, text. The function returns false or NULL, and ag_error() returns the
 * message. */

typedef void AgErrorHandler(const char *message);
/* Installs a handler for usage errors of this thread, and of no other, and returns the former one. NULL restores the
 * default: print the message to stderr and abort. A handler may leave by longjmp, in C++ by throw: ag_end of a scope
 * that was open at the setjmp or try then frees all tensors, modules and memory of ag_alloc that were created inside it.
 * If the handler returns, kaeru calls abort(). */
AgErrorHandler *ag_on_usage_error(AgErrorHandler *handler);

#if defined(__GNUC__)
#ifdef __MINGW_PRINTF_FORMAT
#define AG_PRINTF(text, first) __attribute__((__format__(__MINGW_PRINTF_FORMAT, text, first)))
#else
#define AG_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))
#endif
#define AG_MUST_CHECK __attribute__((__warn_unused_result__))       /* false is an error that nothing else reports */
#else
#define AG_PRINTF(text, first)
#define AG_MUST_CHECK
#endif
/* Reports a usage error "what: message (at FILE:LINE)" to the handler. Does not return. */
AG_NORETURN void ag_usage_error(const char *what, const char *format, ...) AG_PRINTF(2, 3);

/* For functions that take a pointer: a usage error "what: NAME is NULL" if it is. */
void ag_check_pointer(const char *what, const char *name, const void *p);

/* Sets this thread's error message and returns false, so that a loader can end with `return ag_set_error(...)`. Messages, also
 * those of usage errors, are one line of at most 1,023 bytes. Control characters, characters that change the direction of text
 * and bytes that are not UTF-8 are \xNN in them, since what a message quotes may come from a file. */
bool ag_set_error(const char *format, ...) AG_PRINTF(1, 2);
/* The last message that was set; "" if none. */
const char *ag_error(void);

/* Records the stack of layer calls for error messages: a message from inside a layer also shows the layer's name. A layer's
 * function starts with AG_LAYER; the record ends when the function returns.
 *
 *     Tensor *nn_linear(Linear *l, Tensor *x)
 *     {
 *         AG_LAYER;
 *         return ag_linear(x, l->weight, l->bias);
 *     }
 */
#define AG_LAYER \
    __attribute__((cleanup(ag_layer_end), unused)) const int ag_layer = ag_layer_begin(__func__, AG_OF_PROGRAM)
/* of_program: the layer is a function of the program. Its calls have lines of the program themselves, so messages need no line
 * of the call of the layer. */
int  ag_layer_begin(const char *function, int of_program);
void ag_layer_end(const int *of_program);
#ifdef KAERU_INSIDE                         /* the library itself is compiled */
#define AG_OF_PROGRAM 0
#else
#define AG_OF_PROGRAM 1
#endif

/* ---- lines of calls ----------------------------------------------------------------------------------------------
 * Each function has a macro of its own name, which notes the file and the line of the call for messages. These macros are in
 * kaeru/calls/. Without them, messages say "a line that is not known": with -DKAERU_NO_LINES, in another language, and if a
 * function is called by a pointer. The name without parentheses behind it is the function: `f = nn_linear`. */

/* A call begins at this line of the program: notes it on this thread's stack of places. */
void ag_in(const char *file, int line);
/* The call has ended. */
void ag_out(void);
/* The same; returns p. */
void *ag_out_pointer(const void *p);

/* A call by a pointer with its line, by what it returns. What an argument calls by a pointer has this line, too. */
#define AG_CALL_VOID(call) (ag_in(__FILE__, __LINE__), call, ag_out())
#define AG_CALL_BOOL(call) (ag_in(__FILE__, __LINE__), ag_out_bool(call))
#ifdef __cplusplus
#define AG_CALL_POINTER(Type, call) (ag_in(__FILE__, __LINE__), ag_out_same(call))
extern "C++" {
template <class Type> inline Type *ag_out_same(Type *p)
{
    ag_out();
    return p;
}
}
#else
#define AG_CALL_POINTER(Type, call) (ag_in(__FILE__, __LINE__), (Type)ag_out_pointer(call))
#endif
static inline bool ag_out_bool(bool value)
{
    ag_out();
    return value;
}

/* For kaeru/calls/: defines NAME_call, which notes the line after its arguments have been computed, and calls NAME. */
#define AG_NAME_CALL(Type, name, parameters, arguments) \
    static inline Type name##_call parameters \
    { \
        ag_in(ag_file, ag_line); \
        Type ag_result = name arguments; \
        ag_out(); \
        return ag_result; \
    }
#define AG_NAME_CALL_VOID(name, parameters, arguments) \
    static inline void name##_call parameters \
    { \
        ag_in(ag_file, ag_line); \
        name arguments; \
        ag_out(); \
    }
#define AG_PLACE const char *ag_file, int ag_line

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Zeroed memory for n items of `size` bytes. Never NULL: memory that cannot be allocated is a usage error. Free it with
 * ag_free. If an error unwinds a scope that was open at this call, the memory is freed with that scope. */
void *ag_alloc(size_t n, size_t size);
/* The same, but owned by `owner` (a block from ag_alloc): freed when the owner is, or earlier with ag_free. */
void *ag_alloc_in(void *owner, size_t n, size_t size);

/* Changes the capacity of p from old_n to n items: keeps the old items, zeroes new ones, and returns the new address. The new
 * memory has p's owner, and owns what p owned. p may be NULL: then it is a new block, in ag_resize_in one of that owner. */
void *ag_resize(void *p, size_t old_n, size_t n, size_t size);
void *ag_resize_in(void *owner, void *p, size_t old_n, size_t n, size_t size);

/* Copies of a string, and of n bytes with a NUL behind them. */
char *ag_strdup(const char *s);
char *ag_strndup_in(void *owner, const char *s, size_t n);

/* Frees p and what it owns. p may be NULL. */
void  ag_free(void *p);

/* Makes `owner` the owner of p; NULL: none. */
void  ag_set_owner(void *p, void *owner);
/* The same for a part that its owner points to, as a module to its parameters: p alone cannot be freed or get another owner by
 * the functions above, which is a usage error that names `type`, a static text. Owner NULL: p is a part no more. */
void  ag_set_part(void *p, void *owner, const char *type);

/* Calls destroy(p) before p is freed, for objects that hold more than memory, for example an open file. The memory of such an
 * object is reused late, so that ag_check_object can tell that it was freed. If a usage error ends the function, p is not freed
 * yet; when it is, the function is not called again. */
void  ag_on_free(void *p, void (*destroy)(void *p));

/* Zeroed memory for one object that ag_check_object checks. Free it with ag_free. */
void *ag_object_new(size_t size);
/* A usage error "what: NAME is NULL", or "NAME was freed", unless p is an object of ag_object_new, or one with ag_on_free, that
 * was not freed. */
void ag_check_object(const char *what, const char *name, const void *p);

/* Zeroed memory that the innermost scope owns and frees. */
void *ag_scratch(size_t n, size_t size);

/* The memory of this thread's tensors. Released memory is cached for later tensors, so once shapes repeat, `system_calls` (the
 * number of requests to the system for memory) stays constant. Released memory of tensors of a megabyte or more is shared by
 * all threads, and each thread's `cached` counts all of it. That of large ones that no scope owns (ag_keep) is returned to the
 * system. */
typedef struct { size_t in_use, peak, cached; int64_t system_calls; } AgMemory;     /* bytes, bytes, bytes, count */
AgMemory ag_memory(void);
void ag_memory_reset_peak(void);

/* Returns cached memory to the system. On Linux it is all but a page of each 128 KiB of small objects; elsewhere, memory of
 * large tensors is returned when a whole chunk of 128 MiB or more is free. To use a tensor whose scope has ended is still a
 * usage error, but the message can no longer tell where the tensor was made. */
void ag_memory_trim(void);

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

#define AG_MAX_DIMS 8
/* A shape of 0 (a scalar) to 8 dimensions, each of size 0 or more. */
typedef struct { int ndim; int64_t dim[AG_MAX_DIMS]; } AgShape;
#ifdef __cplusplus
#define SHAPE(...) (ag_list_of<AgShape, int64_t>(__VA_ARGS__))
#else
#define SHAPE(...) \
    ((AgShape){ (int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), { __VA_ARGS__ } })
#endif
#define AG_SCALAR (AG_VALUE(AgShape){ 0, { 0 } })

/* A list of dimensions; negative ones count from the last: DIMS(-1), DIMS(0, 2). */
typedef struct { int n; int dim[AG_MAX_DIMS]; } AgDims;
#ifdef __cplusplus
#define DIMS(...) (ag_list_of<AgDims, int>(__VA_ARGS__))
extern "C++" {
template <class List, class Item, class... Number> List ag_list_of(Number... item)      /* `| 0`: a fraction does not compile */
{
    return List{ static_cast<int>(sizeof...(item)), { static_cast<Item>(item | 0)... } };
}
}
#else
#define DIMS(...) ((AgDims){ (int)(sizeof((int[]){ __VA_ARGS__ }) / sizeof(int)), { __VA_ARGS__ } })
#endif

typedef enum {
    AG_REAL,        /* ag_real: float32 (float64 in libkaeru_double) */
    AG_INT,         /* int32_t: token ids, indices, targets */
    AG_BOOL,        /* uint8_t 0 or 1: masks. In attention true is visible; in ag_masked_fill true is what is replaced */
    AG_PACKED       /* a frozen matrix in bfloat16: see ag_freeze_bf16 */
} AgDType;

/* Tensors filled with one value. The innermost open scope of this thread owns them, as every tensor that a function creates. */
Tensor *tensor_zeros(AgShape shape);
Tensor *tensor_ones(AgShape shape);
Tensor *tensor_full(AgShape shape, double value);

/* start, start + step, ... below stop: shape (ceil((stop-start)/step)). */
Tensor *tensor_arange(double start, double stop, double step);

/* Tensors of given values, row-major, which are copied. */
Tensor *tensor_from(AgShape shape, const ag_real *values);
Tensor *tensor_ints(AgShape shape, const int32_t *values);                /* NULL: zeros */
Tensor *tensor_bools(AgShape shape, const uint8_t *values);               /* NULL: false */

/* Random tensors, from this thread's generator. */
Tensor *tensor_uniform(AgShape shape, double low, double high);           /* in [low, high) */
Tensor *tensor_normal(AgShape shape, double mean, double deviation);
Tensor *tensor_randint(AgShape shape, int32_t low, int32_t high);         /* AG_INT in low..high-1 */

/* Shape and type of a tensor, also of one whose values were released. */
AgShape   tensor_shape(const Tensor *t);
int     tensor_ndim(const Tensor *t);
int64_t tensor_numel(const Tensor *t);                                    /* product of the sizes */
AgDType   tensor_dtype(const Tensor *t);
int64_t tensor_dim(const Tensor *t, int dim);                             /* size; dim -1: the last */

/* The values, row-major, to read. A usage error if t has another type, or if backward has released its values (see
 * ag_retain). */
const ag_real    *tensor_data(const Tensor *t);
const int32_t *tensor_int_data(const Tensor *t);
const uint8_t *tensor_bool_data(const Tensor *t);

/* The values of a leaf (data, parameters), to write. Each call counts as a write: if an operation that was recorded before has
 * read the values, ag_backward reports a usage error at it. Call it again for each write; do not keep the pointer. */
ag_real    *tensor_mutable_data(Tensor *t);
int32_t *tensor_mutable_int_data(Tensor *t);
uint8_t *tensor_mutable_bool_data(Tensor *t);

/* The value of a tensor of one element, of any type. */
double   tensor_item(const Tensor *t);

/* Copies values from src of the same shape and type into leaf dst. */
void tensor_copy(Tensor *dst, const Tensor *src);

/* Names t in messages, graphs and printed text; the name is copied. Returns t. */
Tensor *tensor_name(Tensor *t, const char *name);
const char *tensor_get_name(const Tensor *t);                             /* "" if none */

/* Prints as PyTorch does: 4 digits, scientific if magnitudes differ much; a long dimension shows its first and last 3 items. */
void tensor_fprint(FILE *out, const Tensor *t);
#define tensor_print(t) tensor_fprint(stdout, t)

/* Writes "(3, 4)" into text and returns text. */
#define AG_SHAPE_TEXT 192
const char *ag_shape_text(AgShape shape, char text[AG_SHAPE_TEXT]);
/* In C: the text of a shape for a message, valid in the block of the call. */
#define ag_shape_string(shape) ag_shape_text(shape, (char[AG_SHAPE_TEXT]){ 0 })

bool    ag_shape_equal(AgShape a, AgShape b);
/* The number of items. -1 if the sizes that are not 0 have a product of 2^63 or more; this holds for (2^62, 4, 0), too. */
int64_t ag_shape_numel(AgShape shape);

/* ---- lifetimes --------------------------------------------------------------------------------------------------- */

typedef enum {
    AG_RECORD,      /* operations are recorded if an input requires a gradient */
    AG_NO_GRAD      /* nothing is recorded: results are leaves, as data are: they can be written and can require a gradient */
} AgMode;
typedef struct { int depth; uint64_t serial; } AgScope;

/* Opens a scope on this thread. Scopes nest. The innermost scope owns every tensor that is created, and the memory of
 * ag_scratch. It owns nothing else: modules with their parameters, optimizers, caches, settings and memory of ag_alloc live
 * until the program frees them, unless an error unwinds (see ag_on_usage_error). ag_keep keeps a value longer than a scope. */
AgScope ag_begin(AgMode mode);

/* Ends the scope and frees what it owns. If an error handler has left scopes inside it by longjmp, they end, too; so do a
 * backward pass in it, and scopes of a library function, which a function of the program has left by longjmp or throw. */
void  ag_end(AgScope scope);
/* Ends the scope, but keeps the value of t: returns a tensor of the outer scope with that value and without its graph. */
Tensor *ag_end_return(AgScope scope, Tensor *t);
/* The same for n tensors t[0], t[1], ...: replaces each by its tensor of the outer scope. */
void ag_end_return_list(AgScope scope, Tensor **t, int n);

/* Whether operations of the innermost scope are recorded. */
bool ag_recording(void);

/* Sets in what numbers matrix products compute until the innermost scope ends, or from now on if no scope is open; returns what
 * was set before. Each thread has a setting of its own; the first is AG_FLOAT32.
 * With AG_BF16 the operands of linear, linear_cross_entropy, matmul, attention, self_attention and the convolutions, and of
 * their backward rules, are rounded to bfloat16: 8 bits of precision, the range of float. Sums, results and everything else
 * stay as they are. An operation's backward rule computes as the operation did. The bits are the same on every machine and any
 * number of threads. Intel's AMX computes such products several times as fast. */
AgPrecision ag_precision(AgPrecision precision);
AgPrecision ag_precision_now(void);                     /* what is set */

/* A copy of t's value that no scope owns; free it with tensor_free. It is a leaf that does not require a gradient. If an error
 * unwinds a scope that was open at this call, the copy is freed. */
Tensor *ag_keep(const Tensor *t);

/* A copy of t's value that the innermost scope owns: a leaf that does not require a gradient. */
Tensor *tensor_clone(const Tensor *t);

/* A zeroed leaf that no scope owns, as ag_keep's copies. */
Tensor *tensor_new_owned(AgShape shape, AgDType dtype);

/* Frees a tensor of ag_keep or tensor_new_owned; t may be NULL. A usage error if another object, such as a module, owns it. */
void tensor_free(Tensor *t);

/* ---- gradients of a tensor; autograd.h computes them ---------------------------------------------------------------- */

/* Sets whether a leaf (a tensor that no operation made) requires a gradient. Returns t. */
Tensor *tensor_set_requires_grad(Tensor *t, bool requires_grad);
bool tensor_requires_grad(const Tensor *t);                               /* of any tensor */

/* The gradient of a leaf or a retained tensor: a tensor of this scope that shares the gradient's memory. NULL if none. It is a
 * constant: a loss that is computed from it, such as a gradient penalty, has no gradient through it. */
Tensor *tensor_grad(Tensor *t);
/* The gradient as an array, to read and write; NULL if none. A write to it is not counted: see tensor_mutable_data. */
ag_real *tensor_grad_data(Tensor *t);

/* Removes the gradient, so that the next backward writes a new one instead of adding to it. */
void tensor_zero_grad(Tensor *t);

/* ---- random numbers ----------------------------------------------------------------------------------------------
 * Philox4x32-10: a pure function of (seed, counter), the same on every machine and any number of threads. Each thread has
 * one generator. Every random operation advances its counter. The two integers are the whole state. */
typedef struct { uint64_t seed, counter; } AgRandom;
void     ag_seed(uint64_t seed);                                        /* sets the counter to 0; the first seed is 0 */
AgRandom ag_random_state(void);
void     ag_set_random_state(AgRandom state);

uint32_t ag_random_u32(void);                                           /* uses one block of the generator */
double   ag_random_uniform(void);                                       /* [0, 1); uses one block */
int64_t  ag_random_below(int64_t n);                      /* 0..n-1 without bias, n >= 1 */

/* Writes a random order of 0..n-1. */
void     ag_random_permutation(int64_t n, int32_t *out);

/* The items of mini-batch number `step`, from 0 on, of a set of n: AG_INT (size), for ag_index_select of each tensor of the
 * set. n / size batches in turn are an epoch and have different items, in an order that is random and new in each epoch. A
 * rest of less than `size` items is left out of an epoch. The ids depend on the four arguments alone, not on this thread's
 * generator, so that a run resumes from its step. */
Tensor *ag_batch_ids(int64_t n, int64_t size, int64_t step, uint64_t seed);

/* ---- threads -----------------------------------------------------------------------------------------------------
 * Operations divide their work among threads of the library. A program may also call kaeru from threads of its own. Each of
 * them has its own scopes, random generator, precision, error handler, ag_error() and cache of memory. When it ends, its open
 * scopes end, and with them its tensors. One thread at a time may use a tensor, a module or another object, and the thread
 * that made an object frees it. A result of one thread's graph cannot be an input in another thread. */

/* Threads of the library: 1 to 256; 0: KAERU_THREADS, else one per processor. Not while another thread computes. */
void ag_set_threads(int n);
int  ag_threads(void);

#include "kaeru/calls/tensor.h"

AG_PUBLIC_END
#endif
