/* places.h: notes the file and the line of each call, for messages.
 *
 * Each function has a macro of its own name, which notes the file and the line of the call. These
 * macros are in kaeru/calls/. A name without parentheses behind it is the function itself, as in `f
 * = nn_linear`. Calls without the macros are possible: with -DKAERU_NO_LINES, from another
 * language, or by a pointer. Messages then say "a line that is not known", but a call by a pointer
 * can note its line:
 *
 *     Tensor *y = AG_CALL_POINTER(Tensor, f(layer, x));
 */
#ifndef KAERU_PUBLIC_PLACES_H
#define KAERU_PUBLIC_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kaeru/types.h"

AG_PUBLIC_BEGIN

#if defined(__GNUC__)
#ifdef __MINGW_PRINTF_FORMAT
#define AG_PRINTF(text, first) __attribute__((__format__(__MINGW_PRINTF_FORMAT, text, first)))
#else
#define AG_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))
#endif
/* The result must be used: false is an error that nothing else reports. */
#define AG_MUST_CHECK __attribute__((__warn_unused_result__))
#else
#define AG_PRINTF(text, first)
#define AG_MUST_CHECK
#endif

/* 0. If the condition, a constant, is false, a C program does not compile, with this message. */
#ifdef __cplusplus
#define AG_ASSERT(condition, message) 0
#else
#define AG_ASSERT(condition, message) \
    (0 * (int)sizeof(struct { _Static_assert(condition, message); char unused; }))
#endif

/* Notes that a call begins at this line of the program, on this thread's stack of places. */
void ag_in(const char *file, int line);
/* Notes that the call has ended. */
void ag_out(void);
/* Does the same, and returns p. */
void *ag_out_pointer(const void *p);

/* Call a function by a pointer and note the line. There is one for each kind of result: none, a
 * bool, a pointer. Calls by a pointer within the arguments get the same line. */
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

/* For kaeru/calls/: defines NAME_call, which notes the line and calls NAME. The arguments are
 * computed before. */
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

AG_PUBLIC_END

#endif
