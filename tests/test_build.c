/* test_build.c: properties that the compiler flags of the build guarantee. */
#include <float.h>
#include <stdlib.h>

#include "kaeru/autograd.h"
#include "suites.h"

START_TEST(real_has_the_width_of_the_library)
{
#ifdef KAERU_DOUBLE
    ck_assert_uint_eq(sizeof(ag_real), 8);
#else
    ck_assert_uint_eq(sizeof(ag_real), 4);
#endif
}
END_TEST

/* Messages name a source by its path in the project, for any build folder. */
START_TEST(file_names_are_paths_in_the_project)
{
    ck_assert_str_eq(__FILE__, "tests/test_build.c");
}
END_TEST

/* (1 + e)^2 - 1 - 2 e, for an e whose square is below the last bit of (1 + e)^2: 0 if the product is rounded before the sum,
 * e^2 with a fused multiply-add. */
START_TEST(products_are_rounded)
{
    volatile float e = FLT_EPSILON, one = 1.0f;
    float x = one + e, rest = x * x - (one + 2 * e);
    ck_assert(rest == 0.0f);
}
END_TEST

/* float expressions are not computed in a wider type. */
START_TEST(float_expressions_are_rounded_to_float)
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
    tcase_add_test(flags, file_names_are_paths_in_the_project);
    tcase_add_test(flags, products_are_rounded);
    tcase_add_test(flags, float_expressions_are_rounded_to_float);
    suite_add_tcase(suite, flags);
    return suite;
}
