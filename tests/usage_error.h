/* usage_error.h: catches what ag_usage_error reports, so that a test can read the message and continue. */
#ifndef KAERU_TESTS_USAGE_ERROR_H
#define KAERU_TESTS_USAGE_ERROR_H

#include <check.h>
#include <setjmp.h>
#include <string.h>

#include "kaeru/autograd.h"

/* Without optimization gcc warns that a longjmp may change the compound literals of a statement. Nothing reads them after the
 * longjmp. A statement must not change a local variable that is read after the statement. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wclobbered"
#endif

/* A call that must report an error has no result to check. */
#pragma GCC diagnostic ignored "-Wunused-result"

/* Runs the statement in a scope that the error unwinds. Afterwards usage_message is the message, "" without an error. */
#define CATCH_USAGE_ERROR(statement) do {                                                     \
        usage_begin();                                                                        \
        if (setjmp(usage_escape) == 0) { statement; }                                         \
        usage_end();                                                                          \
    } while (0)

/* The statement must report a usage error whose message contains this part. */
#define EXPECT_USAGE_ERROR(part, statement) do {                                              \
        CATCH_USAGE_ERROR(statement);                                                         \
        ck_assert_msg(strstr(usage_message, part) != NULL,                                    \
                      "expected a usage error with \"%s\", got \"%s\"", part, usage_message); \
    } while (0)

/* The statement must report a usage error with exactly this message, at this line or, for a statement on the second line
 * of the macro's arguments, at the next. */
#define REPORTS(text, statement) do {                                                         \
        CATCH_USAGE_ERROR(statement);                                                         \
        check_usage_message(text, "at", __FILE__, __LINE__);                                  \
    } while (0)
/* The same for an error inside a function that is a layer of the library. */
#define REPORTS_IN(layer, text, statement) do {                                               \
        CATCH_USAGE_ERROR(statement);                                                         \
        check_usage_message(text, "in " layer " called at", __FILE__, __LINE__);              \
    } while (0)

extern _Thread_local jmp_buf usage_escape;
extern _Thread_local char usage_message[1024];
void usage_begin(void);
void usage_end(void);
void check_usage_message(const char *text, const char *where, const char *file, int line);

#endif
