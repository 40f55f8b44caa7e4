/* errors.h: errors of two kinds, and warnings.
 *
 * Usage errors are mistakes of the program: shapes that do not fit, an index out of range, a tensor whose scope has ended.
 * A failed allocation is a usage error, too. The message names the operation, the shapes and the caller's line.
 * The error handler gets the message and must not return.
 * Other errors come from outside the program: files, text. The function returns false or NULL, and ag_error() returns the
 * message. */
#ifndef KAERU_PUBLIC_ERRORS_H
#define KAERU_PUBLIC_ERRORS_H

#include "kaeru/places.h"

AG_PUBLIC_BEGIN

/* ---- errors ------------------------------------------------------------------------------------------------------- */

typedef void AgErrorHandler(const char *message);
/* Installs a handler for usage errors of this thread, and of no other, and returns the former one. NULL restores the
 * default: print the message to stderr and abort. A handler may leave by longjmp, in C++ by throw: ag_end of a scope
 * that was open at the setjmp or try then frees all tensors, modules and memory of ag_alloc that were created inside it.
 * If the handler returns, kaeru calls abort(). */
AgErrorHandler *ag_on_usage_error(AgErrorHandler *handler);

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

/* ---- layers ------------------------------------------------------------------------------------------------------- */

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

/* ---- warnings ----------------------------------------------------------------------------------------------------- */

/* Tells "kaeru: warning: what: text (at FILE:LINE)" of the user's line while ag_warn is on, once for each format. */
void ag_warning(const char *what, const char *format, ...) AG_PRINTF(2, 3);
/* For optimizers: parameters are updated now. Returns whether ag_warn is on. */
bool ag_warn_of_step(void);

#include "kaeru/calls/errors.h"

AG_PUBLIC_END

#endif
