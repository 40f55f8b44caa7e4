/* misuse.h: catches what ag_usage_error reports, so that a test can read the message and go on. */
#ifndef KAERU_TESTS_MISUSE_H
#define KAERU_TESTS_MISUSE_H

#include <check.h>
#include <setjmp.h>
#include <string.h>

#include "kaeru/autograd.h"

/* Without optimization gcc warns that a longjmp may spoil the compound literals of AG_HERE, which nobody reads after
 * it. A statement must not change a local variable that is read after it. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wclobbered"
#endif

/* Runs the statement in a scope that the error unwinds. The message, or "" if there was none, is in misuse_message. */
#define CATCH_MISUSE(statement) do {                                              \
        misuse_begin();                                                           \
        if (setjmp(misuse_escape) == 0) { statement; }                            \
        misuse_end();                                                             \
    } while (0)

/* The statement must be misuse whose message has this part. */
#define EXPECT_MISUSE(part, statement) do {                                       \
        CATCH_MISUSE(statement);                                                  \
        ck_assert_msg(strstr(misuse_message, part) != NULL,                       \
                      "expected misuse with \"%s\", got \"%s\"", part, misuse_message); \
    } while (0)

extern jmp_buf misuse_escape;
extern char misuse_message[1024];
void misuse_begin(void);
void misuse_end(void);

#endif
