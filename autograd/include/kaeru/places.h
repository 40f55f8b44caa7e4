/* places.h: the file and the line of each call, for messages.
 *
 * Each function has a macro of its own name, which notes the file and the line of the call. These macros are in kaeru/calls/.
 * Without them, messages say "a line that is not known": with -DKAERU_NO_LINES, in another language, and if a function is
 * called by a pointer. The name without parentheses behind it is the function: `f = nn_linear`. */
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
#define AG_MUST_CHECK __attribute__((__warn_unused_result__))       /* false is an error that nothing else reports */
#else
#define AG_PRINTF(text, first)
#define AG_MUST_CHECK
#endif

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

AG_PUBLIC_END

#endif
