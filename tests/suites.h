/* suites.h: the suites of this program. SUITES is the list in tests/meson.build: SUITE(kernels) SUITE(json) ... */
#ifndef KAERU_SUITES_H
#define KAERU_SUITES_H

#include <check.h>

#define SUITE(name) Suite *name##_suite(void);
SUITES
#undef SUITE

#endif
