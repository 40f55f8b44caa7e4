/* errors.h: errors of two kinds, and warnings.
 *
 * Usage errors are mistakes of the program: shapes that do not fit, an index out of range, a tensor
 * whose scope has ended. A failed allocation is a usage error, too. The message names the
 * operation, the shapes and the caller's line. The error handler gets the message. It must not
 * return.
 *
 * Other errors come from outside the program, from files and texts. The function then returns false
 * or NULL, and ag_error() returns the message (nn_load is in checkpoint.h):
 *
 *     if (!nn_load("model.bin", model)) {
 *         fprintf(stderr, "%s\n", ag_error());
 *     }
 */
#ifndef KAERU_PUBLIC_ERRORS_H
#define KAERU_PUBLIC_ERRORS_H

#include "kaeru/places.h"

AG_PUBLIC_BEGIN

/* ---- errors ---------------------------------------------------------------------------------- */

typedef void AgErrorHandler(const char *message);
/* Installs a handler for usage errors of this thread. Returns the former one. NULL restores the
 * default, which prints the message to stderr and aborts. If a handler returns, kaeru calls
 * abort().
 *
 * A handler may leave by longjmp, in C++ by throw. The program then calls ag_end for a scope that
 * was open at the setjmp or try. This frees all tensors, modules and memory of ag_alloc that were
 * created inside that scope. */
AgErrorHandler *ag_on_usage_error(AgErrorHandler *handler);

/* Reports a usage error, "what: message (at FILE:LINE)", to the handler. Does not return. */
AG_NORETURN void ag_usage_error(const char *what, const char *format, ...) AG_PRINTF(2, 3);

/* Checks a pointer that a function takes. If it is NULL, this is a usage error, "what: NAME is
 * NULL". If ag_error() has a message, it follows: a function that reads a file may have failed. */
void ag_check_pointer(const char *what, const char *name, const void *p);

/* Sets this thread's error message. Returns false, so that a function can end with
 * `return ag_set_error(...)`. A message, also that of a usage error, is one line of at most 1,023
 * bytes. It may quote a file, so control characters, characters that change the direction of text,
 * and bytes that are not UTF-8 become \xNN. */
bool ag_set_error(const char *format, ...) AG_PRINTF(1, 2);
/* Returns the last message that was set, "" if there is none. */
const char *ag_error(void);

/* ---- layers ---------------------------------------------------------------------------------- */

/* Begins the function of a layer. An error message from inside the layer then also shows the name
 * of the layer and the line that called it. ag_layer_end is called when the function returns.
 *
 *     Tensor *nn_linear(Linear *l, Tensor *x)
 *     {
 *         AG_LAYER;
 *         return ag_linear(x, l->weight, l->bias);
 *     }
 */
#define AG_LAYER \
    __attribute__((cleanup(ag_layer_end), unused)) \
    const int ag_layer = ag_layer_begin(__func__, AG_OF_PROGRAM)
/* AG_LAYER calls these. of_program: the layer is a function of the program. The calls in it have
 * lines of the program, so a message needs no line of the call of the layer. */
int  ag_layer_begin(const char *function, int of_program);
void ag_layer_end(const int *of_program);
#ifdef KAERU_INSIDE                         /* the library itself is compiled */
#define AG_OF_PROGRAM 0
#else
#define AG_OF_PROGRAM 1
#endif

/* ---- warnings -------------------------------------------------------------------------------- */

/* While ag_warn is on, writes "kaeru: warning: what: text (at FILE:LINE)" to stderr, with the
 * user's line, once for each format. */
void ag_warning(const char *what, const char *format, ...) AG_PRINTF(2, 3);
/* Tells the warnings that an optimizer begins to update parameters. Returns whether ag_warn is
 * on. */
bool ag_warn_of_step(void);

#include "kaeru/calls/errors.h"

AG_PUBLIC_END

#endif
