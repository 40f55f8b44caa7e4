/* test_print.c: tensors as text, against PyTorch (fixtures/make_print.py). */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "expected.h"
#include "kaeru/autograd.h"
#include "suites.h"

/* ---- the tensors of make_print.py -------------------------------------------------------------------------------- */

static Tensor *wave(AgShape shape)
{
    Tensor *t = tensor_zeros(shape);
    for (int64_t i = 0; i < tensor_numel(t); i++) tensor_mutable_data(t)[i] = (ag_real)(i * 37 % 101 - 50) / 16;
    return t;
}

static Tensor *row_of(int n, const float *values)
{
    Tensor *t = tensor_zeros(SHAPE(n));
    for (int i = 0; i < n; i++) tensor_mutable_data(t)[i] = (ag_real)values[i];
    return t;
}
#define REALS(...) row_of((int)(sizeof((float[]){ __VA_ARGS__ }) / sizeof(float)), (float[]){ __VA_ARGS__ })

static Tensor *counting(int32_t from, AgShape shape)
{
    Tensor *t = tensor_ints(shape, NULL);
    for (int64_t i = 0; i < tensor_numel(t); i++) tensor_mutable_int_data(t)[i] = from + (int32_t)i;
    return t;
}

static Tensor *number(float x)
{
    return ag_reshape(REALS(x), AG_SCALAR);
}

static Tensor *trained(Tensor *t)
{
    return tensor_set_requires_grad(t, true);
}

static Tensor *long_with_plain_edges(void)
{
    Tensor *t = tensor_full(SHAPE(1006), 1e-9);
    for (int i = 0; i < 3; i++) tensor_mutable_data(t)[i] = tensor_mutable_data(t)[1005 - i] = 1;
    return t;
}

static Tensor *make(int i)
{
    switch (i) {
    case 0: return number(3.25f);
    case 1: return number(3);
    case 2: return number(0.00001f);
    case 3: return counting(-3, AG_SCALAR);
    case 4: return tensor_bools(AG_SCALAR, (uint8_t[]){ 1 });
    case 5: return tensor_zeros(SHAPE(0));
    case 6: return tensor_zeros(SHAPE(0, 3));
    case 7: return tensor_zeros(SHAPE(2, 0, 3));
    case 8: return tensor_ints(SHAPE(3), (int32_t[]){ 0, -100, 5 });
    case 9: return counting(0, SHAPE(100));
    case 10: return counting(0, SHAPE(1000));
    case 11: return counting(0, SHAPE(1001));
    case 12: return counting(-6, SHAPE(3, 4));
    case 13: return tensor_bools(SHAPE(2, 2), (uint8_t[]){ 1, 0, 1, 1 });
    case 14: return REALS(0, -1, 2, 300);
    case 15: return REALS(1, 1001);
    case 16: return REALS(1e8f, 1e8f);
    case 17: return REALS(2e8f);
    case 18: return REALS(0.0f, -0.0f);
    case 19: return REALS(1.5f, -2, 3);
    case 20: return REALS(0.5f, 501);
    case 21: return REALS(0.00005f, 0.00002f);
    case 22: return REALS(0x1p-149f, 0x1.fffffep127f);
    case 23: return REALS(123456.789f, 99999);
    case 24: return REALS((float)NAN, (float)INFINITY, -(float)INFINITY);
    case 25: return REALS((float)NAN, (float)INFINITY, -(float)INFINITY, -1.5f, 0);
    case 26: return REALS((float)NAN, 1, -(float)INFINITY);
    case 27: return REALS((float)NAN, 1, 1e-5f, -(float)INFINITY);
    case 28: return REALS(0, 1e-5f, -1);
    case 29: return wave(SHAPE(67));
    case 30: return wave(SHAPE(3, 30));
    case 31: return wave(SHAPE(2, 3, 4));
    case 32: return wave(SHAPE(2, 1, 2, 3));
    case 33: return tensor_ones(SHAPE(1, 1, 1, 2, 1, 1, 1, 1));
    case 34: return wave(SHAPE(1001));
    case 35: return wave(SHAPE(40, 40));
    case 36: return wave(SHAPE(1002, 1));
    case 37: return wave(SHAPE(2, 700));
    case 38: return wave(SHAPE(10, 10, 20));
    case 39: return wave(SHAPE(8, 2, 7, 12));
    case 40: return long_with_plain_edges();
    case 41: return trained(wave(SHAPE(5)));
    case 42: return trained(tensor_arange(0, 13 * 64, 64));
    case 43: return trained(wave(SHAPE(7)));
    case 44: return trained(tensor_zeros(SHAPE(0, 2)));
    default: return NULL;
    }
}

/* The n-th text of the fixture; its name is written to `name`. NULL after the last. */
static char *expected_text(int n, char name[64])
{
    FILE *f = fopen(TEST_FIXTURES "/torch_print.txt", "r");
    ck_assert_ptr_nonnull(f);
    char line[256], *text = calloc(1, 1 << 16);
    ck_assert_ptr_nonnull(text);
    int at = -1;
    while (fgets(line, sizeof line, f)) {
        if (line[0] == '#' && ++at == n) snprintf(name, 64, "%.*s", (int)strcspn(line + 2, "\n"), line + 2);
        else if (line[0] != '#' && at == n) strcat(text, line);
    }
    fclose(f);
    if (at >= n) return text;
    free(text);
    return NULL;
}

START_TEST(tensors_print_as_in_pytorch)
{
    AgScope s = ag_begin(AG_RECORD);
    int n = 0;
    for (char name[64] = "", *expected; (expected = expected_text(n, name)) != NULL; n++) {
        Tensor *t = make(n);
        ck_assert_msg(t != NULL, "no tensor for \"%s\"", name);
        char *text = printed(t);
        ck_assert_msg(strcmp(text, expected) == 0, "%s:\n%s\nPyTorch:\n%s", name, text, expected);
        free(text);
        free(expected);
    }
    ck_assert_ptr_null(make(n));
    ck_assert_int_gt(n, 40);
    ag_end(s);
}
END_TEST

START_TEST(results_name_their_operation)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *y = ag_neg(trained(REALS(1, -2.5f)));
    char *text = printed(y);
    ck_assert_str_eq(text, "tensor([-1.0000,  2.5000], op=neg)\n");
    free(text);
    ag_end(s);
}
END_TEST

START_TEST(printing_to_the_terminal)
{
    fflush(stdout);
    int saved = dup(1);
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    dup2(fileno(file), 1);
    AgScope s = ag_begin(AG_RECORD);
    tensor_print(REALS(1, 2));
    ag_end(s);
    fflush(stdout);
    dup2(saved, 1);
    close(saved);
    char line[64];
    rewind(file);
    ck_assert_ptr_nonnull(fgets(line, sizeof line, file));
    ck_assert_str_eq(line, "tensor([1., 2.])\n");
    fclose(file);
}
END_TEST

START_TEST(shapes_as_text)
{
    char text[AG_SHAPE_TEXT];
    ck_assert_str_eq(ag_shape_text(AG_SCALAR, text), "()");
    ck_assert_str_eq(ag_shape_text(SHAPE(3), text), "(3,)");
    ck_assert_str_eq(ag_shape_text(SHAPE(3, 0, 4), text), "(3, 0, 4)");
    int64_t m = INT64_MIN;
    ck_assert_uint_eq(strlen(ag_shape_text(SHAPE(m, m, m, m, m, m, m, m), text)), 8 * 20 + 7 * 2 + 2); /* the longest */
}
END_TEST

Suite *print_suite(void)
{
    Suite *suite = suite_create("print");
    TCase *text = tcase_create("text");
    tcase_add_test(text, tensors_print_as_in_pytorch);
    tcase_add_test(text, results_name_their_operation);
    tcase_add_test(text, printing_to_the_terminal);
    tcase_add_test(text, shapes_as_text);
    suite_add_tcase(suite, text);
    return suite;
}
