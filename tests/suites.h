/* suites.h: the suites. SUITES is the list of those of this program, ALL_SUITES that of all in tests/meson.build:
 * SUITE(kernels) SUITE(json) ... What all files include does not depend on the parts that are built, so that ccache has it. */
#ifndef KAERU_SUITES_H
#define KAERU_SUITES_H

#include <check.h>

/* Check records the place of each assertion that holds, to name the last one if the test crashes. A record is a system call,
 * so a loop of a million assertions takes seconds. Here an assertion that repeats is recorded once. */
static inline void mark_point_once(const char *file, int line)
{
    static _Thread_local int last;
    if (line != last) _mark_point(file, line);
    last = line;
}
#define _mark_point(file, line) mark_point_once(file, line)

/* The plain loops run on one thread, and do not round subnormal numbers to 0. */
#ifdef WITHOUT_FAST
enum { HAS_FAST_KERNELS = 0 };
#else
enum { HAS_FAST_KERNELS = 1 };
#endif
/* Without the part memory, a buffer that is released returns to the system. */
#ifdef WITHOUT_MEMORY
enum { KEEPS_MEMORY = 0 };
#else
enum { KEEPS_MEMORY = 1 };
#endif

#define SUITE(name) Suite *name##_suite(void);
ALL_SUITES
#undef SUITE

#endif
