/* test_build.c: what the flags of the build promise to the rest. */
#include <float.h>
#include <stdlib.h>

#include "kaeru/autograd.h"
#include "suites.h"

START_TEST(real_has_the_width_of_the_library)
{
#ifdef KAERU_DOUBLE
    ck_assert_uint_eq(sizeof(real), 8);
#else
    ck_assert_uint_eq(sizeof(real), 4);
#endif
}
END_TEST

/* Messages name sources by their path in the project, wherever it was built. */
START_TEST(places_are_paths_in_the_project)
{
    ck_assert_str_eq(AG_HERE.file, "tests/test_build.c");
}
END_TEST

/* (1 + e)^2 - 1 - 2 e is e^2 if the product is not rounded before the sum, as a fused multiply-add would do, and 0 if
 * it is, for an e whose square lies below the last digit. */
START_TEST(products_are_rounded)
{
    volatile float e = FLT_EPSILON, one = 1.0f;
    float x = one + e, rest = x * x - (one + 2 * e);
    ck_assert(rest == 0.0f);
}
END_TEST

/* float expressions are not carried in wider registers. */
START_TEST(floats_are_floats)
{
    volatile float one = 1.0f, small = FLT_EPSILON / 4;
    ck_assert(one + small - one == 0.0f);
    ck_assert_int_eq(FLT_EVAL_METHOD, 0);
}
END_TEST

Suite *build_suite(void)
{
    Suite *suite = suite_create("build");
    TCase *flags = tcase_create("flags");
    tcase_add_test(flags, real_has_the_width_of_the_library);
    tcase_add_test(flags, places_are_paths_in_the_project);
    tcase_add_test(flags, products_are_rounded);
    tcase_add_test(flags, floats_are_floats);
    suite_add_tcase(suite, flags);
    return suite;
}
