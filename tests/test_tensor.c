/* test_tensor.c: tensors as arrays: construction, reading, broadcasting by NumPy's rules, shape operations on every type, and
 * operations without gradients. The expected values come from loops over indices, without strides. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "expected.h"
#include "kaeru/autograd.h"
#include "suites.h"
#include "usage_error.h"

static AgScope scope;

static void begin(void)
{
    ag_seed(1);
    scope = ag_begin(AG_NO_GRAD);
}

static void end(void)
{
    ag_end(scope);
}

static void check_ints(Tensor *t, AgShape shape, const int32_t *values)
{
    ck_assert(ag_shape_equal(tensor_shape(t), shape));
    ck_assert_int_eq(tensor_dtype(t), AG_INT);
    for (int64_t i = 0; i < tensor_numel(t); i++) ck_assert_int_eq(tensor_int_data(t)[i], values[i]);
}
#define CHECK_INTS(t, shape, ...) check_ints(t, shape, (int32_t[]){ __VA_ARGS__ })

static void check_bools(Tensor *t, AgShape shape, const uint8_t *values)
{
    ck_assert(ag_shape_equal(tensor_shape(t), shape));
    ck_assert_int_eq(tensor_dtype(t), AG_BOOL);
    for (int64_t i = 0; i < tensor_numel(t); i++) ck_assert_int_eq(tensor_bool_data(t)[i], values[i]);
}
#define CHECK_BOOLS(t, shape, ...) check_bools(t, shape, (uint8_t[]){ __VA_ARGS__ })

/* ---- construction and reading ------------------------------------------------------------------------------------ */

START_TEST(constructing)
{
    begin();
    CHECK(tensor_zeros(SHAPE(2, 2)), SHAPE(2, 2), 0, 0, 0, 0);
    CHECK(tensor_ones(SHAPE(3)), SHAPE(3), 1, 1, 1);
    CHECK(tensor_full(AG_SCALAR, -2.5), AG_SCALAR, -2.5);
    ag_real values[] = { 1, 2, 3, 4 };
    Tensor *copy = tensor_from(SHAPE(2, 1, 2), values);
    values[0] = 9;
    CHECK(copy, SHAPE(2, 1, 2), 1, 2, 3, 4);
    CHECK_INTS(tensor_ints(SHAPE(2), NULL), SHAPE(2), 0, 0);
    CHECK_INTS(tensor_ints(SHAPE(2), (int32_t[]){ INT32_MIN, INT32_MAX }), SHAPE(2), INT32_MIN, INT32_MAX);
    CHECK_BOOLS(tensor_bools(SHAPE(2), NULL), SHAPE(2), 0, 0);
    CHECK_BOOLS(tensor_bools(SHAPE(3), (uint8_t[]){ 0, 1, 200 }), SHAPE(3), 0, 1, 1);
    ck_assert_int_eq(tensor_numel(tensor_zeros(SHAPE(3, 0, 5))), 0);
    ck_assert_ptr_nonnull(tensor_data(tensor_zeros(SHAPE(0))));
    ck_assert_int_eq(tensor_numel(tensor_from(SHAPE(0), values)), 0);
    end();
}
END_TEST

START_TEST(counting)
{
    begin();
    CHECK(tensor_arange(0, 3, 1), SHAPE(3), 0, 1, 2);
    CHECK(tensor_arange(1, 2, 0.25), SHAPE(4), 1, 1.25, 1.5, 1.75);
    CHECK(tensor_arange(0, 1.1, 0.5), SHAPE(3), 0, 0.5, 1);
    CHECK(tensor_arange(3, 0, -1), SHAPE(3), 3, 2, 1);
    ck_assert_int_eq(tensor_numel(tensor_arange(3, 0, 1)), 0);
    ck_assert_int_eq(tensor_numel(tensor_arange(2, 2, 1)), 0);
    Tensor *many = tensor_arange(0, 1000, 1);
    ck_assert_int_eq(tensor_numel(many), 1000);
    ck_assert(tensor_data(many)[999] == 999);
    end();
}
END_TEST

START_TEST(reading)
{
    begin();
    Tensor *t = tensor_zeros(SHAPE(2, 3, 4));
    ck_assert_int_eq(tensor_ndim(t), 3);
    ck_assert_int_eq(tensor_numel(t), 24);
    ck_assert_int_eq(tensor_dtype(t), AG_REAL);
    ck_assert_int_eq(tensor_dim(t, 0), 2);
    ck_assert_int_eq(tensor_dim(t, -1), 4);
    ck_assert_int_eq(tensor_dim(t, -3), 2);
    ck_assert(tensor_item(tensor_full(SHAPE(1, 1, 1), 7)) == 7);
    ck_assert(tensor_item(tensor_ints(AG_SCALAR, (int32_t[]){ -5 })) == -5);
    ck_assert(tensor_item(tensor_bools(SHAPE(1), (uint8_t[]){ 1 })) == 1);
    Tensor *source = tensor_arange(0, 24, 1);
    tensor_copy(t, ag_reshape(source, SHAPE(2, 3, 4)));
    ck_assert(tensor_data(t)[23] == 23);
    tensor_copy(t, t);
    tensor_mutable_data(t)[5] = -1;
    ck_assert(tensor_data(source)[5] == 5);
    end();
}
END_TEST

START_TEST(names)
{
    begin();
    Tensor *t = tensor_zeros(AG_SCALAR);
    ck_assert_str_eq(tensor_get_name(t), "");
    char name[] = "fc.weight";
    ck_assert_ptr_eq(tensor_name(t, name), t);
    name[0] = 'X';
    ck_assert_str_eq(tensor_get_name(t), "fc.weight");
    ck_assert_str_eq(tensor_get_name(tensor_name(t, tensor_get_name(t))), "fc.weight");
    ck_assert_str_eq(tensor_get_name(tensor_name(t, "")), "");
    end();
}
END_TEST

/* ---- broadcasting ------------------------------------------------------------------------------------------------ */

typedef struct { AgShape a, b, y; } Fit;
static const Fit fits[] = {
    { { 0, { 0 } }, { 0, { 0 } }, { 0, { 0 } } },
    { { 1, { 4 } }, { 0, { 0 } }, { 1, { 4 } } },
    { { 1, { 1 } }, { 1, { 4 } }, { 1, { 4 } } },
    { { 2, { 2, 3 } }, { 2, { 2, 3 } }, { 2, { 2, 3 } } },
    { { 2, { 2, 3 } }, { 1, { 3 } }, { 2, { 2, 3 } } },
    { { 2, { 2, 3 } }, { 2, { 2, 1 } }, { 2, { 2, 3 } } },
    { { 2, { 4, 1 } }, { 1, { 5 } }, { 2, { 4, 5 } } },
    { { 3, { 2, 1, 3 } }, { 2, { 4, 1 } }, { 3, { 2, 4, 3 } } },
    { { 3, { 2, 3, 4 } }, { 3, { 1, 3, 1 } }, { 3, { 2, 3, 4 } } },
    { { 4, { 1, 3, 1, 2 } }, { 3, { 1, 5, 2 } }, { 4, { 1, 3, 5, 2 } } },
    { { 4, { 2, 3, 4, 5 } }, { 4, { 2, 1, 4, 1 } }, { 4, { 2, 3, 4, 5 } } },
    { { 8, { 2, 1, 2, 1, 2, 1, 2, 1 } }, { 8, { 1, 2, 1, 2, 1, 2, 1, 2 } }, { 8, { 2, 2, 2, 2, 2, 2, 2, 2 } } },
    { { 8, { 1, 1, 1, 1, 1, 1, 1, 1 } }, { 1, { 3 } }, { 8, { 1, 1, 1, 1, 1, 1, 1, 3 } } },
    { { 2, { 0, 3 } }, { 1, { 3 } }, { 2, { 0, 3 } } },
    { { 2, { 0, 1 } }, { 2, { 1, 4 } }, { 2, { 0, 4 } } },
    { { 1, { 0 } }, { 1, { 1 } }, { 1, { 0 } } },
    { { 3, { 2, 0, 3 } }, { 3, { 2, 1, 1 } }, { 3, { 2, 0, 3 } } },
    { { 2, { 17, 19 } }, { 2, { 17, 1 } }, { 2, { 17, 19 } } },
    { { 2, { 130, 70 } }, { 1, { 70 } }, { 2, { 130, 70 } } },
};
static const Fit misfits[] = {
    { { 1, { 2 } }, { 1, { 3 } }, { 0, { 0 } } },
    { { 2, { 2, 3 } }, { 1, { 2 } }, { 0, { 0 } } },
    { { 2, { 2, 3 } }, { 2, { 3, 2 } }, { 0, { 0 } } },
    { { 1, { 0 } }, { 1, { 2 } }, { 0, { 0 } } },
    { { 3, { 2, 3, 4 } }, { 3, { 2, 2, 4 } }, { 0, { 0 } } },
};
enum { N_FITS = sizeof fits / sizeof *fits, N_MISFITS = sizeof misfits / sizeof *misfits };

/* The indices of item i of a shape. */
static void indices(const AgShape *s, int64_t i, int64_t *at)
{
    for (int d = s->ndim - 1; d >= 0; d--) {
        at[d] = i % s->dim[d];
        i /= s->dim[d];
    }
}

/* The item of a tensor of shape `own` for these indices of the broadcast shape. */
static int64_t item_at(const AgShape *own, const AgShape *shape, const int64_t *at)
{
    int64_t i = 0;
    for (int d = 0; d < own->ndim; d++) {
        int64_t index = at[d + shape->ndim - own->ndim];
        i = i * own->dim[d] + (own->dim[d] == 1 ? 0 : index);
    }
    return i;
}

static double apply(int op, double a, double b)
{
    switch (op) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * b;
    case 3: return a / b;
    case 4: return a > b ? a : b;
    default: return a < b ? a : b;
    }
}

START_TEST(shapes_broadcast_as_in_numpy)
{
    static Tensor *(*const ops[])(Tensor *, Tensor *) = { ag_add, ag_sub, ag_mul, ag_div,
                                                                ag_maximum, ag_minimum };
    begin();
    for (int swap = 0; swap < 2; swap++) {
        AgShape sa = swap ? fits[_i].b : fits[_i].a, sb = swap ? fits[_i].a : fits[_i].b, sy = fits[_i].y;
        Tensor *a = tensor_normal(sa, 0, 1), *b = tensor_uniform(sb, 0.5, 2);
        for (int op = 0; op < 6; op++) {
            Tensor *y = ops[op](a, b);
            ck_assert(ag_shape_equal(tensor_shape(y), sy));
            for (int64_t i = 0; i < tensor_numel(y); i++) {
                int64_t at[AG_MAX_DIMS];
                indices(&sy, i, at);
                double expected = apply(op, (double)tensor_data(a)[item_at(&sa, &sy, at)],
                                        (double)tensor_data(b)[item_at(&sb, &sy, at)]);
                ck_assert(tensor_data(y)[i] == (ag_real)expected);
            }
        }
        Tensor *mask = ag_compare(AG_GT, a, b), *ints = ag_compare(AG_LE, tensor_ints(sa, NULL), tensor_ints(sb, NULL));
        for (int64_t i = 0; i < tensor_numel(mask); i++) {
            int64_t at[AG_MAX_DIMS];
            indices(&sy, i, at);
            bool greater = tensor_data(a)[item_at(&sa, &sy, at)] > tensor_data(b)[item_at(&sb, &sy, at)];
            ck_assert_int_eq(tensor_bool_data(mask)[i], greater);
            ck_assert_int_eq(tensor_bool_data(ints)[i], 1);
        }
        Tensor *expanded = ag_expand(a, sy);
        Tensor *both = ag_and(ag_compare_scalar(AG_GT, a, 0), ag_compare_scalar(AG_GT, b, 1));
        for (int64_t i = 0; i < tensor_numel(expanded); i++) {
            int64_t at[AG_MAX_DIMS];
            indices(&sy, i, at);
            ag_real va = tensor_data(a)[item_at(&sa, &sy, at)], vb = tensor_data(b)[item_at(&sb, &sy, at)];
            ck_assert(tensor_data(expanded)[i] == va);
            ck_assert_int_eq(tensor_bool_data(both)[i], va > 0 && vb > 1);
        }
    }
    end();
}
END_TEST

START_TEST(shapes_that_do_not_fit)
{
    AgShape a = misfits[_i].a, b = misfits[_i].b;
    EXPECT_USAGE_ERROR("add: shapes ", ag_add(tensor_zeros(a), tensor_zeros(b)));
    EXPECT_USAGE_ERROR("mul: shapes ", ag_mul(tensor_zeros(b), tensor_zeros(a)));
    EXPECT_USAGE_ERROR("compare: shapes ", ag_compare(AG_EQ, tensor_ints(a, NULL), tensor_ints(b, NULL)));
    EXPECT_USAGE_ERROR("and: shapes ", ag_and(tensor_bools(a, NULL), tensor_bools(b, NULL)));
}
END_TEST

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

/* The numbers 0, 1, 2, ... in a shape, in any type; a bool is whether the number is odd. */
static Tensor *numbered(AgShape shape, AgDType dtype)
{
    Tensor *t = dtype == AG_REAL ? tensor_zeros(shape)
              : dtype == AG_INT ? tensor_ints(shape, NULL) : tensor_bools(shape, NULL);
    for (int64_t i = 0; i < tensor_numel(t); i++) {
        if (dtype == AG_REAL) tensor_mutable_data(t)[i] = (ag_real)i;
        else if (dtype == AG_INT) tensor_mutable_int_data(t)[i] = (int32_t)i;
        else tensor_mutable_bool_data(t)[i] = i % 2;
    }
    return t;
}

static int item(Tensor *t, int64_t i)
{
    AgDType dtype = tensor_dtype(t);
    return dtype == AG_REAL ? (int)tensor_data(t)[i] : dtype == AG_INT ? tensor_int_data(t)[i] : tensor_bool_data(t)[i];
}

static void check_items(Tensor *t, AgDType dtype, AgShape shape, const int *values)
{
    ck_assert(ag_shape_equal(tensor_shape(t), shape));
    ck_assert_int_eq(tensor_dtype(t), dtype);
    for (int64_t i = 0; i < tensor_numel(t); i++)
        ck_assert_int_eq(item(t, i), dtype == AG_BOOL ? values[i] % 2 : values[i]);
}
#define ITEMS(t, shape, ...) check_items(t, (AgDType)_i, shape, (int[]){ __VA_ARGS__ })

START_TEST(reshaping)
{
    begin();
    Tensor *t = numbered(SHAPE(2, 3), (AgDType)_i);
    ITEMS(ag_reshape(t, SHAPE(3, 2)), SHAPE(3, 2), 0, 1, 2, 3, 4, 5);
    ITEMS(ag_reshape(t, SHAPE(-1)), SHAPE(6), 0, 1, 2, 3, 4, 5);
    ITEMS(ag_reshape(t, SHAPE(1, -1, 1, 3)), SHAPE(1, 2, 1, 3), 0, 1, 2, 3, 4, 5);
    ITEMS(ag_reshape(numbered(SHAPE(1, 1), (AgDType)_i), AG_SCALAR), AG_SCALAR, 0);
    ITEMS(ag_reshape(numbered(AG_SCALAR, (AgDType)_i), SHAPE(1, -1)), SHAPE(1, 1), 0);
    ITEMS(ag_reshape(numbered(SHAPE(0, 3), (AgDType)_i), SHAPE(3, 0)), SHAPE(3, 0), 0);
    ITEMS(ag_reshape(numbered(SHAPE(0, 3), (AgDType)_i), SHAPE(-1, 3)), SHAPE(0, 3), 0);
    ITEMS(ag_squeeze(numbered(SHAPE(2, 1, 3), (AgDType)_i), 1), SHAPE(2, 3), 0, 1, 2, 3, 4, 5);
    ITEMS(ag_squeeze(numbered(SHAPE(1), (AgDType)_i), -1), AG_SCALAR, 0);
    ITEMS(ag_unsqueeze(t, 0), SHAPE(1, 2, 3), 0, 1, 2, 3, 4, 5);
    ITEMS(ag_unsqueeze(t, 1), SHAPE(2, 1, 3), 0, 1, 2, 3, 4, 5);
    ITEMS(ag_unsqueeze(t, -1), SHAPE(2, 3, 1), 0, 1, 2, 3, 4, 5);
    ITEMS(ag_unsqueeze(t, -3), SHAPE(1, 2, 3), 0, 1, 2, 3, 4, 5);
    end();
}
END_TEST

START_TEST(permuting)
{
    begin();
    Tensor *t = numbered(SHAPE(2, 3), (AgDType)_i);
    ITEMS(ag_permute(t, DIMS(1, 0)), SHAPE(3, 2), 0, 3, 1, 4, 2, 5);
    ITEMS(ag_transpose(t, 0, -1), SHAPE(3, 2), 0, 3, 1, 4, 2, 5);
    ITEMS(ag_permute(t, DIMS(0, 1)), SHAPE(2, 3), 0, 1, 2, 3, 4, 5);
    ITEMS(ag_permute(numbered(AG_SCALAR, (AgDType)_i), (AgDims){ 0, { 0 } }), AG_SCALAR, 0);
    ITEMS(ag_permute(numbered(SHAPE(3, 0), (AgDType)_i), DIMS(1, 0)), SHAPE(0, 3), 0);
    AgShape shape = SHAPE(2, 3, 1, 2, 2, 1, 3, 2), turned = SHAPE(3, 2, 2, 1, 2, 3, 2, 1);
    AgDims order = DIMS(6, 0, 3, 2, 7, 1, 4, -3);
    Tensor *x = numbered(shape, (AgDType)_i), *y = ag_permute(x, order);
    ck_assert(ag_shape_equal(tensor_shape(y), turned));
    for (int64_t i = 0; i < tensor_numel(y); i++) {
        int64_t at[AG_MAX_DIMS], from[AG_MAX_DIMS];
        indices(&turned, i, at);
        for (int d = 0; d < 8; d++) from[(order.dim[d] + 8) % 8] = at[d];
        ck_assert_int_eq(item(y, i), item(x, item_at(&shape, &shape, from)));
    }
    end();
}
END_TEST

START_TEST(slicing)
{
    begin();
    Tensor *t = numbered(SHAPE(3, 4), (AgDType)_i);
    ITEMS(ag_slice(t, 0, 1, 2), SHAPE(1, 4), 4, 5, 6, 7);
    ITEMS(ag_slice(t, 0, -1, 3), SHAPE(1, 4), 8, 9, 10, 11);
    ITEMS(ag_slice(t, 1, 1, 3), SHAPE(3, 2), 1, 2, 5, 6, 9, 10);
    ITEMS(ag_slice(t, -1, -2, -1), SHAPE(3, 1), 2, 6, 10);
    ITEMS(ag_slice(t, 1, 0, 4), SHAPE(3, 4), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
    ITEMS(ag_slice(t, 1, 2, 2), SHAPE(3, 0), 0);
    ITEMS(ag_slice(t, 0, 3, 3), SHAPE(0, 4), 0);
    ITEMS(ag_slice(numbered(SHAPE(2, 3, 2), (AgDType)_i), 1, 1, 2), SHAPE(2, 1, 2), 2, 3, 8, 9);
    Tensor *part[2], *first = ag_split(t, 2, 1, part);
    ck_assert_ptr_eq(first, part[0]);
    ITEMS(part[0], SHAPE(3, 2), 0, 1, 4, 5, 8, 9);
    ITEMS(part[1], SHAPE(3, 2), 2, 3, 6, 7, 10, 11);
    ITEMS(ag_split(t, 1, 0, part), SHAPE(3, 4), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
    end();
}
END_TEST

START_TEST(joining)
{
    begin();
    Tensor *a = numbered(SHAPE(2, 2), (AgDType)_i), *b = numbered(SHAPE(2, 3), (AgDType)_i),
        *none = numbered(SHAPE(2, 0), (AgDType)_i);
    ITEMS(ag_concat(((Tensor *[]){ a, b, none, a }), 4, 1), SHAPE(2, 7), 0, 1, 0, 1, 2, 0, 1, 2, 3, 3, 4, 5, 2, 3);
    ITEMS(ag_concat(((Tensor *[]){ a, a }), 2, 0), SHAPE(4, 2), 0, 1, 2, 3, 0, 1, 2, 3);
    ITEMS(ag_concat(((Tensor *[]){ a, a }), 2, -2), SHAPE(4, 2), 0, 1, 2, 3, 0, 1, 2, 3);
    ITEMS(ag_concat(&b, 1, 0), SHAPE(2, 3), 0, 1, 2, 3, 4, 5);
    ITEMS(ag_expand(numbered(SHAPE(2, 1), (AgDType)_i), SHAPE(2, 2, 3)), SHAPE(2, 2, 3), 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1,
          1);
    ITEMS(ag_expand(numbered(SHAPE(1, 3), (AgDType)_i), SHAPE(0, 3)), SHAPE(0, 3), 0);
    ITEMS(ag_detach(a), SHAPE(2, 2), 0, 1, 2, 3);
    Tensor *kept = ag_keep(b);
    ITEMS(kept, SHAPE(2, 3), 0, 1, 2, 3, 4, 5);
    tensor_free(kept);
    end();
}
END_TEST

START_TEST(gathering)
{
    begin();
    Tensor *x = tensor_from(SHAPE(2, 3), (ag_real[]){ 1, 2, 3, 4, 5, 6 });
    Tensor *wider = tensor_ints(SHAPE(2, 4), (int32_t[]){ 0, 0, 2, 1, 1, 2, 0, 0 });
    CHECK(ag_gather(x, 1, wider), SHAPE(2, 4), 1, 1, 3, 2, 5, 6, 4, 4);
    CHECK(ag_gather(x, 0, tensor_ints(SHAPE(1, 3), (int32_t[]){ 1, 0, 1 })), SHAPE(1, 3), 4, 2, 6);
    CHECK(ag_gather(x, -1, tensor_ints(SHAPE(2, 1), (int32_t[]){ 2, 0 })), SHAPE(2, 1), 3, 4);
    end();
}
END_TEST

/* ---- sums over every set of dimensions --------------------------------------------------------------------------- */

START_TEST(sums_over_any_set_of_dimensions)
{
    begin();
    AgShape shape = SHAPE(2, 3, 4, 2);
    Tensor *x = tensor_normal(shape, 0.5, 1);
    for (int set = 0; set < 16; set++) {
        AgDims dims = { 0, { 0 } };
        AgShape kept = shape, dropped = { 0, { 0 } };
        for (int d = 3; d >= 0; d--)
            if (set >> d & 1) dims.dim[dims.n++] = d % 2 ? d : d - 4;
        int64_t count = 1;
        for (int d = 0; d < 4; d++) {
            if (set >> d & 1) count *= shape.dim[d], kept.dim[d] = 1;
            else dropped.dim[dropped.ndim++] = shape.dim[d];
        }
        double sum[48] = { 0 }, squares[48] = { 0 };
        for (int64_t i = 0; i < 48; i++) {
            int64_t at[AG_MAX_DIMS];
            indices(&shape, i, at);
            sum[item_at(&kept, &shape, at)] += (double)tensor_data(x)[i];
        }
        for (int64_t i = 0; i < 48; i++) {
            int64_t at[AG_MAX_DIMS];
            indices(&shape, i, at);
            double off = (double)tensor_data(x)[i] - sum[item_at(&kept, &shape, at)] / (double)count;
            squares[item_at(&kept, &shape, at)] += off * off;
        }
        for (int keep = 0; keep < 2; keep++) {
            Tensor *total = ag_sum_dims(x, dims, keep), *mean = ag_mean_dims(x, dims, keep);
            Tensor *biased = ag_var_dims(x, dims, false, keep), *unbiased = ag_var_dims(x, dims, true, keep);
            ck_assert(ag_shape_equal(tensor_shape(total), keep ? kept : dropped));
            ck_assert(ag_shape_equal(tensor_shape(unbiased), keep ? kept : dropped));
            for (int64_t i = 0; i < tensor_numel(total); i++) {
                ck_assert_double_eq_tol((double)tensor_data(total)[i], sum[i], 1e-5);
                ck_assert_double_eq_tol((double)tensor_data(mean)[i], sum[i] / (double)count, 1e-6);
                ck_assert_double_eq_tol((double)tensor_data(biased)[i], squares[i] / (double)count, 1e-5);
                if (count > 1)
                    ck_assert_double_eq_tol((double)tensor_data(unbiased)[i], squares[i] / (double)(count - 1), 1e-5);
                else ck_assert(isnan((double)tensor_data(unbiased)[i]));
            }
        }
    }
    CHECK(ag_sum(tensor_ones(SHAPE(3, 5))), AG_SCALAR, 15);
    CHECK(ag_mean(tensor_arange(0, 5, 1)), AG_SCALAR, 2);
    CHECK(ag_max(tensor_from(SHAPE(2, 2), (ag_real[]){ -4, -1, -3, -2 })), AG_SCALAR, -1);
    end();
}
END_TEST

/* The additions have one order, whether the dimensions behind are one or several: no copy, no other sum. */
START_TEST(sums_do_not_depend_on_the_dimensions_behind)
{
    begin();
    Tensor *x = tensor_normal(SHAPE(1000, 6), 0, 1);
    const AgDims rows = { 1, { 0 } };
    Tensor *one = ag_sum_dims(x, rows, false), *several = ag_sum_dims(ag_reshape(x, SHAPE(1000, 1, 2, 3)), rows, false);
    ck_assert_mem_eq(tensor_data(several), tensor_data(one), 6 * sizeof(ag_real));
    end();
}
END_TEST

START_TEST(sums_of_empty_tensors)
{
    begin();
    CHECK(ag_sum(tensor_zeros(SHAPE(0))), AG_SCALAR, 0);
    CHECK(ag_sum_dims(tensor_zeros(SHAPE(2, 0)), DIMS(1), false), SHAPE(2), 0, 0);
    ck_assert_int_eq(tensor_numel(ag_sum_dims(tensor_zeros(SHAPE(2, 0)), DIMS(0), false)), 0);
    /* reduced dimensions that are not neighbors: the memory of the sums had other values before */
    AgScope s = ag_begin(AG_NO_GRAD);
    for (int i = 0; i < 8; i++) tensor_full(SHAPE(3), 7);
    ag_end(s);
    CHECK(ag_sum_dims(tensor_zeros(SHAPE(0, 3, 2)), DIMS(0, 2), false), SHAPE(3), 0, 0, 0);
    CHECK(ag_mean_dims(tensor_zeros(SHAPE(2, 3, 0)), DIMS(0, 2), false), SHAPE(3), NAN, NAN, NAN);
    ck_assert_int_eq(tensor_numel(ag_sum_dims(tensor_zeros(SHAPE(2, 0, 2)), DIMS(0, 2), false)), 0);
    Tensor *nothing[] = { ag_mean(tensor_zeros(SHAPE(0, 3))),
                          ag_var_dims(tensor_zeros(SHAPE(0)), DIMS(0), false, false),
                          ag_var_dims(tensor_zeros(SHAPE(0)), DIMS(0), true, false) };
    for (int i = 0; i < 3; i++) ck_assert_msg(isnan(tensor_item(nothing[i])), "%d", i);      /* 0/0, as in NumPy */
    end();
}
END_TEST

START_TEST(largest_and_smallest)
{
    begin();
    Tensor *x = tensor_from(SHAPE(2, 3), (ag_real[]){ 3, -1, 3, 0, 5, -2 });
    CHECK(ag_max_dim(x, 1, false), SHAPE(2), 3, 5);
    CHECK(ag_max_dim(x, 0, true), SHAPE(1, 3), 3, 5, 3);
    CHECK(ag_min_dim(x, -1, true), SHAPE(2, 1), -1, -2);
    CHECK(ag_min_dim(x, 0, false), SHAPE(3), 0, -1, -2);
    ck_assert(isnan(tensor_item(ag_max(tensor_from(SHAPE(3), (ag_real[]){ 1, (ag_real)NAN, 3 })))));
    end();
}
END_TEST

/* ---- numbers far from 1 ------------------------------------------------------------------------------------------ */

/* The variance of `row` and 1/2 of its gradient times the number of items, which is x - mean. */
static void check_variance(Tensor *x, int dim, const double *row, int n, double tolerance)
{
    double mean = 0, squares = 0;
    for (int i = 0; i < n; i++) mean += row[i] / n;
    for (int i = 0; i < n; i++) squares += (row[i] - mean) * (row[i] - mean);
    Tensor *var = ag_var_dims(x, DIMS(dim), false, false);
    ck_assert_double_eq_tol((double)tensor_data(var)[0], squares / n, tolerance);
    ag_backward(ag_sum(var));
    int64_t step = tensor_numel(x) / n;
    for (int i = 0; i < n; i++)
        ck_assert_double_eq_tol((double)tensor_grad_data(x)[i * step] * n / 2, row[i] - mean, tolerance);
}

START_TEST(variance_at_a_large_mean)
{
    static const double spread[] = { 0, 1, 3, 5, 6, 7, 8.5 };
    static const double means[] = { 0, 1e3, 1e6, -1e6 };
    begin();
    for (int m = 0; m < 4; m++) {
        AgScope s = ag_begin(AG_RECORD);
        Tensor *along = tensor_zeros(SHAPE(7)), *across = tensor_zeros(SHAPE(7, 3));
        for (int i = 0; i < 21; i++) {
            if (i < 7) tensor_mutable_data(along)[i] = (ag_real)(means[m] + spread[i]);
            tensor_mutable_data(across)[i] = (ag_real)(means[m] + spread[i / 3]);
        }
        check_variance(tensor_set_requires_grad(along, true), 0, spread, 7, 4e-6);
        check_variance(tensor_set_requires_grad(across, true), 0, spread, 7, 4e-6);
        ag_end(s);
    }
    CHECK(ag_var_dims(tensor_full(SHAPE(2, 7), 1e6 + 0.3), DIMS(1), true, false), SHAPE(2), 0, 0);
    CHECK(ag_var_dims(tensor_full(SHAPE(7, 2), 1e6 + 0.3), DIMS(0), true, false), SHAPE(2), 0, 0);
    end();
}
END_TEST

/* The sum is infinite in floats; and one item is: then the others have infinite gradients, as in PyTorch. */
START_TEST(variance_where_the_sum_is_infinite)
{
    const double large = 3.4e38, inf = (double)INFINITY, none = (double)NAN;
    for (int across = 0; across < 2; across++) {
        AgScope s = ag_begin(AG_RECORD);
        const int dim = across ? 0 : 1;
        const AgShape shape = across ? SHAPE(40, 3) : SHAPE(3, 40);
        Tensor *x = tensor_set_requires_grad(tensor_full(shape, large), true), *var = ag_var_dims(x, DIMS(dim), false, false);
        CHECK(var, SHAPE(3), 0, 0, 0);
        ag_backward(ag_sum(var));
        for (int i = 0; i < 120; i++) ck_assert_double_eq((double)tensor_grad_data(x)[i], 0);
        static const double rows[][3] = { { 1, 2, INFINITY }, { -INFINITY, 1, 2 }, { INFINITY, 1, -INFINITY } };
        const double slopes[][3] = { { -inf, -inf, none }, { none, inf, inf }, { none, none, none } };
        for (int k = 0; k < 3; k++) {
            x = tensor_zeros(across ? SHAPE(3, 1) : SHAPE(1, 3));
            for (int i = 0; i < 3; i++) tensor_mutable_data(x)[i] = (ag_real)rows[k][i];
            var = ag_var_dims(tensor_set_requires_grad(x, true), DIMS(dim), false, false);
            CHECK(var, SHAPE(1), none);
            ag_backward(ag_sum(var));
            CHECK(tensor_grad(x), tensor_shape(x), slopes[k][0], slopes[k][1], slopes[k][2]);
        }
        ag_end(s);
    }
}
END_TEST

/* One item has no deviation from its own mean, whatever the item and the gradient are. */
START_TEST(a_norm_of_one_item_has_no_gradient)
{
    static const AgNorm kinds[] = { { .eps = 1e-5, .eps_inside = true }, { .eps = 1e-5 }, { .eps = 0 },
                                    { .eps = 1e-12, .eps_inside = true } };
    enum { ROWS = 37 };
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        AgScope s = ag_begin(AG_RECORD);
        Tensor *x = tensor_zeros(SHAPE(ROWS, 1)), *gamma = tensor_full(SHAPE(1), 1.7), *factor = tensor_zeros(SHAPE(ROWS, 1));
        ag_fill_normal(x, 3, 100);
        ag_fill_normal(factor, 0, 1);
        tensor_set_requires_grad(x, true);
        Tensor *y = ag_layer_norm(x, gamma, NULL, kinds[k]);
        ag_backward(ag_sum(ag_mul(y, factor)));
        for (int i = 0; i < ROWS; i++) ck_assert_double_eq((double)tensor_grad_data(x)[i], 0);
        ag_end(s);
    }
}
END_TEST

START_TEST(log_softmax_of_large_numbers)
{
    begin();
    Tensor *y = ag_log_softmax(tensor_full(SHAPE(1, 2), 1e30), -1);
    for (int i = 0; i < 2; i++) ck_assert_double_eq_tol((double)tensor_data(y)[i], -0.693147180559945, 1e-7);
    end();
}
END_TEST

/* The loss and the gradient of 2 x 5 logits. */
static void loss_at(double offset, double smoothing, ag_real out[11])
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_zeros(SHAPE(2, 5)), true);
    for (int i = 0; i < 10; i++) tensor_mutable_data(x)[i] = (ag_real)(offset + 0.25 * (i * i % 7));
    Tensor *loss = ag_cross_entropy(x, tensor_ints(SHAPE(2), (int32_t[]){ 1, 4 }), AG_MEAN, -100, smoothing);
    out[10] = (ag_real)tensor_item(loss);
    ag_backward(loss);
    memcpy(out, tensor_grad_data(x), 10 * sizeof *out);
    ag_end(s);
}

/* These sums are exact, so that the same number added to all logits changes nothing. */
START_TEST(cross_entropy_of_large_logits)
{
    static const double offsets[] = { 1e3, 1e4, 1e6, -1e6 };
    begin();
    for (int i = 0; i < 8; i++) {
        ag_real expected[11], got[11];
        loss_at(0, i % 2 * 0.1, expected);
        loss_at(offsets[i / 2], i % 2 * 0.1, got);
        for (int k = 0; k < 11; k++) ck_assert_double_eq((double)got[k], (double)expected[k]);
    }
    end();
}
END_TEST

static double least_normal(void)
{
    return sizeof(ag_real) == 4 ? 0x1p-126 : 0x1p-1022;
}

/* Far below 0 the erf form of GELU and its gradient are 0, before their values would be subnormal. */
START_TEST(gelu_erf_far_from_0)
{
    enum { N = 4000 };
    const double least = least_normal();
    begin();
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_zeros(SHAPE(N)), true);
    for (int i = 2; i < N; i++) tensor_mutable_data(x)[i] = (ag_real)(-0.0125 * i);
    tensor_mutable_data(x)[0] = -(ag_real)INFINITY;
    tensor_mutable_data(x)[1] = (ag_real)-1e30;
    Tensor *y = ag_gelu_erf(x);
    for (int i = 0; i < N; i++) {
        double v = (double)tensor_data(y)[i];
        ck_assert_msg(v == 0 || -v >= least, "%g: %g", (double)tensor_data(x)[i], v);
        ck_assert(v == 0 || (double)tensor_data(x)[i] > -40);
    }
    ag_backward(ag_sum(y));
    for (int i = 0; i < N; i++) {
        double v = (double)tensor_grad_data(x)[i];
        ck_assert_msg(v == 0 || fabs(v) >= least, "%g: gradient %g", (double)tensor_data(x)[i], v);
        ck_assert(v == 0 || (double)tensor_data(x)[i] > -40);
    }
    ag_end(s);
    end();
}
END_TEST

/* A subnormal gradient ends at a ReLU: arithmetic with it is slow. */
START_TEST(relu_passes_no_subnormal_gradient)
{
    const double least = least_normal();
    const double dy[] = { least, -least, least / 2, -least / 2, least / 1024, (double)INFINITY, 3 };
    const double expected[] = { least, -least, 0, 0, 0, (double)INFINITY, 3 };
    begin();
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_ones(SHAPE(7)), true), *seed = tensor_zeros(SHAPE(7));
    for (int i = 0; i < 7; i++) tensor_mutable_data(seed)[i] = (ag_real)dy[i];
    ag_backward_from(ag_relu(x), seed);
    for (int i = 0; i < 7; i++) ck_assert_double_eq((double)tensor_grad_data(x)[i], expected[i]);
    ag_end(s);
    end();
}
END_TEST

/* ---- operations without gradients -------------------------------------------------------------------------------- */

START_TEST(the_place_of_the_largest)
{
    begin();
    Tensor *x = tensor_from(SHAPE(2, 3), (ag_real[]){ 3, -1, 3, -2, 5, -2 });
    CHECK_INTS(ag_argmax(x, 1, false), SHAPE(2), 0, 1);                  /* the first of equals */
    CHECK_INTS(ag_argmax(x, 0, true), SHAPE(1, 3), 0, 1, 0);
    CHECK_INTS(ag_argmax(x, -2, false), SHAPE(3), 0, 1, 0);
    ag_real none = (ag_real)NAN, most = (ag_real)INFINITY;
    CHECK_INTS(ag_argmax(tensor_from(SHAPE(4), (ag_real[]){ 1, none, most, none }), 0, false), AG_SCALAR, 1);
    CHECK_INTS(ag_argmax(tensor_from(SHAPE(2), (ag_real[]){ -most, -most }), 0, false), AG_SCALAR, 0);
    CHECK_INTS(ag_argmax(tensor_zeros(SHAPE(0, 2)), 1, false), SHAPE(0), 0);
    Tensor *wide = tensor_normal(SHAPE(3, 1000), 0, 1), *best = ag_argmax(wide, 1, false);
    for (int row = 0; row < 3; row++) {
        int64_t first = 0;
        for (int64_t i = 0; i < 1000; i++)
            if (tensor_data(wide)[row * 1000 + i] > tensor_data(wide)[row * 1000 + first]) first = i;
        ck_assert_int_eq(tensor_int_data(best)[row], first);
    }
    end();
}
END_TEST

START_TEST(comparing)
{
    begin();
    ag_real none = (ag_real)NAN;
    Tensor *a = tensor_from(SHAPE(4), (ag_real[]){ 1, 2, 3, none }), *b = tensor_from(SHAPE(4), (ag_real[]){ 2, 2, 2, none });
    static const uint8_t expected[6][4] = { { 0, 1, 0, 0 }, { 1, 0, 1, 1 }, { 1, 0, 0, 0 }, { 1, 1, 0, 0 },
                                            { 0, 0, 1, 0 }, { 0, 1, 1, 0 } };
    Tensor *i = tensor_ints(SHAPE(3), (int32_t[]){ 1, 2, 3 }), *two = tensor_ints(AG_SCALAR, (int32_t[]){ 2 });
    for (int how = AG_EQ; how <= AG_GE; how++) {
        check_bools(ag_compare((AgCompare)how, a, b), SHAPE(4), expected[how]);
        check_bools(ag_compare_scalar((AgCompare)how, a, 2), SHAPE(4), expected[how]);
        check_bools(ag_compare((AgCompare)how, i, two), SHAPE(3), expected[how]);
        check_bools(ag_compare_scalar((AgCompare)how, i, 2), SHAPE(3), expected[how]);
    }
    Tensor *t = tensor_bools(SHAPE(2), (uint8_t[]){ 0, 1 });
    CHECK_BOOLS(ag_compare(AG_EQ, t, tensor_bools(SHAPE(2), (uint8_t[]){ 1, 1 })), SHAPE(2), 0, 1);
    CHECK_BOOLS(ag_compare_scalar(AG_NE, t, 1), SHAPE(2), 1, 0);
    CHECK_BOOLS(ag_compare_scalar(AG_EQ, tensor_full(SHAPE(1), 0.1), 0.1), SHAPE(1), 1);
    Tensor *far = tensor_ints(SHAPE(2), (int32_t[]){ INT32_MAX, INT32_MIN });
    CHECK_BOOLS(ag_compare_scalar(AG_LT, far, 2147483647.5), SHAPE(2), 1, 1);
    Tensor *odd = tensor_ints(SHAPE(2), (int32_t[]){ 16777216, 16777217 });             /* a float is rounded to the first */
    CHECK_BOOLS(ag_compare_scalar(AG_EQ, odd, 16777217), SHAPE(2), 0, 1);
    CHECK_BOOLS(ag_compare(AG_LT, far, tensor_ints(SHAPE(1), (int32_t[]){ INT32_MAX })), SHAPE(2), 0, 1);
    end();
}
END_TEST

START_TEST(masks)
{
    begin();
    Tensor *a = tensor_bools(SHAPE(2, 1), (uint8_t[]){ 0, 1 }), *b = tensor_bools(SHAPE(3), (uint8_t[]){ 1, 0, 1 });
    CHECK_BOOLS(ag_and(a, b), SHAPE(2, 3), 0, 0, 0, 1, 0, 1);
    CHECK_BOOLS(ag_or(a, b), SHAPE(2, 3), 1, 0, 1, 1, 1, 1);
    Tensor *two = tensor_bools(SHAPE(1), NULL);
    tensor_mutable_bool_data(two)[0] = 2;                       /* every byte but 0 is true */
    CHECK_BOOLS(ag_and(two, b), SHAPE(3), 1, 0, 1);
    Tensor *some = tensor_bools(SHAPE(3, 2), (uint8_t[]){ 0, 0, 0, 1, 1, 1 });
    CHECK_BOOLS(ag_any(some, DIMS(1), false), SHAPE(3), 0, 1, 1);
    CHECK_BOOLS(ag_all(some, DIMS(1), true), SHAPE(3, 1), 0, 0, 1);
    CHECK_BOOLS(ag_any(some, DIMS(0, 1), false), AG_SCALAR, 1);
    CHECK_BOOLS(ag_any(tensor_bools(SHAPE(1, 0), NULL), DIMS(1), false), SHAPE(1), 0);
    CHECK_BOOLS(ag_all(tensor_bools(SHAPE(1, 0), NULL), DIMS(1), false), SHAPE(1), 1);
    CHECK_BOOLS(ag_flip(some, 0), SHAPE(3, 2), 1, 1, 0, 1, 0, 0);
    CHECK_BOOLS(ag_not(b), SHAPE(3), 0, 1, 0);
    Tensor *x = tensor_arange(1, 4, 1);
    CHECK(ag_where(b, x, tensor_full(AG_SCALAR, -1)), SHAPE(3), 1, -1, 3);
    CHECK(ag_where(a, x, ag_neg(x)), SHAPE(2, 3), -1, -2, -3, 1, 2, 3);
    CHECK(ag_masked_fill(x, b, (double)-INFINITY), SHAPE(3), (double)-INFINITY, 2, (double)-INFINITY);
    Tensor *none = tensor_full(SHAPE(3), (double)NAN);
    CHECK(ag_where(b, x, none), SHAPE(3), 1, (double)NAN, 3);            /* NaN that is not chosen has no effect */
    CHECK(ag_masked_fill(none, tensor_bools(SHAPE(3), (uint8_t[]){ 1, 1, 1 }), 7), SHAPE(3), 7, 7, 7);
    end();
}
END_TEST

START_TEST(ints)
{
    begin();
    CHECK_INTS(tensor_int_full(SHAPE(2, 1), -7), SHAPE(2, 1), -7, -7);
    CHECK_INTS(tensor_int_arange(2, 9, 3), SHAPE(3), 2, 5, 8);
    CHECK_INTS(tensor_int_arange(2, 8, 3), SHAPE(2), 2, 5);
    CHECK_INTS(tensor_int_arange(1, -4, -2), SHAPE(3), 1, -1, -3);
    CHECK_INTS(tensor_int_arange(INT32_MIN, INT32_MAX, INT32_MAX), SHAPE(3), INT32_MIN, -1, INT32_MAX - 1);
    ck_assert_int_eq(tensor_numel(tensor_int_arange(3, 3, 1)), 0);
    ck_assert_int_eq(tensor_numel(tensor_int_arange(3, 9, -1)), 0);
    ck_assert_int_eq(tensor_numel(tensor_int_arange(9, 3, 1)), 0);
    Tensor *a = tensor_ints(SHAPE(2, 1), (int32_t[]){ 3, -5 }), *b = tensor_ints(SHAPE(3), (int32_t[]){ 1 << 24, 1, 0 });
    CHECK_INTS(ag_int_add(a, b), SHAPE(2, 3), (1 << 24) + 3, 4, 3, (1 << 24) - 5, -4, -5);
    CHECK_INTS(ag_int_mul(b, a), SHAPE(2, 3), 3 << 24, 3, 0, -5 * (1 << 24), -5, 0);
    CHECK_BOOLS(ag_compare(AG_LT, ag_int_mul(a, tensor_int_full(AG_SCALAR, 2)), b), SHAPE(2, 3), 1, 0, 0, 1, 1, 1);
    CHECK_BOOLS(ag_compare_scalar(AG_GE, tensor_int_arange(0, 3, 1), 1), SHAPE(3), 0, 1, 1);
    Tensor *far = tensor_ints(SHAPE(2), (int32_t[]){ INT32_MAX, INT32_MIN });
    CHECK_INTS(ag_int_add(far, tensor_ints(SHAPE(2), (int32_t[]){ 0, INT32_MAX })), SHAPE(2), INT32_MAX, -1);
    EXPECT_USAGE_ERROR("ag_int_add: 2147483647 + 1 at item 0 is beyond AG_INT", ag_int_add(far, tensor_int_full(AG_SCALAR, 1)));
    EXPECT_USAGE_ERROR("ag_int_mul: -2147483648 * -1 at item 1 is", ag_int_mul(far, tensor_int_full(AG_SCALAR, -1)));
    end();
}
END_TEST

START_TEST(ids_where_a_mask_is_true)
{
    begin();
    Tensor *mask = tensor_bools(SHAPE(2, 3), (uint8_t[]){ 0, 1, 1, 0, 0, 1 }), *x = tensor_arange(0, 6, 1);
    CHECK_INTS(ag_nonzero(mask), SHAPE(3), 1, 2, 5);
    CHECK(ag_index_select(x, 0, ag_nonzero(mask)), SHAPE(3), 1, 2, 5);
    tensor_mutable_bool_data(mask)[0] = 2;                      /* every byte but 0 is true */
    CHECK_INTS(ag_nonzero(mask), SHAPE(4), 0, 1, 2, 5);
    CHECK_INTS(ag_nonzero(tensor_bools(AG_SCALAR, (uint8_t[]){ 1 })), SHAPE(1), 0);
    ck_assert_int_eq(tensor_numel(ag_nonzero(tensor_bools(SHAPE(4), NULL))), 0);
    ck_assert_int_eq(tensor_numel(ag_nonzero(tensor_bools(SHAPE(0, 4), NULL))), 0);
    end();
}
END_TEST

/* Of ints and masks; test_torch.c has reals. */
START_TEST(items_and_padding)
{
    begin();
    Tensor *i = tensor_ints(SHAPE(2, 3), (int32_t[]){ 1, 2, 3, 4, 5, 6 }), *part[3];
    Tensor *mask = tensor_bools(SHAPE(2), (uint8_t[]){ 1, 0 });
    CHECK_INTS(ag_select(i, 0, 1), SHAPE(3), 4, 5, 6);
    CHECK_INTS(ag_select(i, -1, -3), SHAPE(2), 1, 4);
    CHECK_BOOLS(ag_select(mask, 0, 0), AG_SCALAR, 1);
    CHECK_INTS(ag_unbind(i, 3, 1, part), SHAPE(2), 1, 4);
    CHECK_INTS(part[1], SHAPE(2), 2, 5);
    CHECK_INTS(part[2], SHAPE(2), 3, 6);
    CHECK_INTS(ag_pad_with(i, 1, 0, 1, -100), SHAPE(2, 4), 1, 2, 3, -100, 4, 5, 6, -100);
    CHECK_INTS(ag_pad(i, 0, 1, 0), SHAPE(3, 3), 0, 0, 0, 1, 2, 3, 4, 5, 6);
    CHECK_BOOLS(ag_pad_with(mask, 0, 1, 2, 1), SHAPE(5), 1, 1, 0, 1, 1);
    CHECK(ag_pad_with(tensor_ones(SHAPE(1)), -1, 1, 0, (double)-INFINITY), SHAPE(2), (double)-INFINITY, 1);
    end();
}
END_TEST

START_TEST(casts)
{
    begin();
    Tensor *x = tensor_from(SHAPE(6), (ag_real[]){ (ag_real)-2.9, (ag_real)-0.5, 0, (ag_real)0.99, 3, (ag_real)-2147483648.0 });
    Tensor *i = ag_cast(x, AG_INT), *b = ag_cast(x, AG_BOOL);
    ck_assert_mem_eq(tensor_int_data(i), ((int32_t[]){ -2, 0, 0, 0, 3, INT32_MIN }), 6 * sizeof(int32_t));
    ck_assert_mem_eq(tensor_bool_data(b), ((uint8_t[]){ 1, 1, 0, 1, 1, 1 }), 6);
    CHECK(ag_cast(i, AG_REAL), SHAPE(6), -2, 0, 0, 0, 3, -2147483648.0);
    CHECK(ag_cast(b, AG_REAL), SHAPE(6), 1, 1, 0, 1, 1, 1);
    ck_assert_mem_eq(tensor_int_data(ag_cast(b, AG_INT)), ((int32_t[]){ 1, 1, 0, 1, 1, 1 }), 6 * sizeof(int32_t));
    ck_assert_mem_eq(tensor_bool_data(ag_cast(i, AG_BOOL)), ((uint8_t[]){ 1, 0, 0, 0, 1, 1 }), 6);
    ck_assert(ag_cast(x, AG_REAL) == x);
    ck_assert(tensor_bool_data(ag_cast(tensor_full(SHAPE(1), (double)NAN), AG_BOOL))[0]);
    Tensor *odd = tensor_ints(SHAPE(2), (int32_t[]){ 1 << 24, (1 << 24) + 1 });
    if (sizeof(ag_real) == sizeof(float))
        EXPECT_USAGE_ERROR("cast: 16777217 at item 1 does not fit AG_REAL", ag_cast(odd, AG_REAL));
    else
        CHECK(ag_cast(odd, AG_REAL), SHAPE(2), 1 << 24, (1 << 24) + 1);
    end();
}
END_TEST

START_TEST(sorted)
{
    begin();
    ag_real nan = (ag_real)NAN;
    Tensor *x = tensor_from(SHAPE(2, 5), (ag_real[]){ 3, 1, nan, 1, -2, 5, (ag_real)-0.0, 0, 5, (ag_real)INFINITY }), *ids;
    CHECK(ag_slice(ag_sort(x, 1, false, &ids), 1, 0, 4), SHAPE(2, 4), -2, 1, 1, 3, 0, 0, 5, 5);
    ck_assert_mem_eq(tensor_int_data(ids), ((int32_t[]){ 4, 1, 3, 0, 2, 1, 2, 0, 3, 4 }), 10 * sizeof(int32_t));
    CHECK(ag_slice(ag_sort(x, -1, true, &ids), 1, 1, 5), SHAPE(2, 4), 3, 1, 1, -2, 5, 5, 0, 0);
    ck_assert_mem_eq(tensor_int_data(ids), ((int32_t[]){ 2, 0, 1, 3, 4, 4, 0, 3, 1, 2 }), 10 * sizeof(int32_t));
    CHECK(ag_topk(ag_slice(x, 1, 3, 5), 1, 0, &ids), SHAPE(1, 2), 5, (double)INFINITY);
    ck_assert_mem_eq(tensor_int_data(ids), ((int32_t[]){ 1, 1 }), 2 * sizeof(int32_t));
    ck_assert_int_eq(tensor_numel(ag_topk(x, 0, 1, NULL)), 0);
    Tensor *many = ag_cast(ag_cast(tensor_normal(SHAPE(1000, 3), 0, 1), AG_INT), AG_REAL);
    Tensor *order = ag_sort(many, 0, false, &ids);
    for (int i = 3; i < 3000; i++) {
        ag_real before = tensor_data(order)[i - 3], now = tensor_data(order)[i];
        ck_assert(before < now || (before == now && tensor_int_data(ids)[i - 3] < tensor_int_data(ids)[i]));
    }
    end();
}
END_TEST

/* The largest are the first of all in descending order, with NaN, infinities and equal items. */
START_TEST(the_largest_of_many)
{
    begin();
    for (int64_t n = 1; n <= 40; n += 13) {
        Tensor *x = ag_cast(ag_cast(tensor_normal(SHAPE(3, n, 2), 0, 3), AG_INT), AG_REAL), *all, *ids;
        tensor_mutable_data(x)[n] = (ag_real)NAN;
        tensor_mutable_data(x)[n + 1] = (ag_real)-INFINITY;
        tensor_mutable_data(x)[3 * n] = (ag_real)INFINITY;
        tensor_mutable_data(x)[5 * n] = tensor_mutable_data(x)[5 * n - 1] = (ag_real)NAN;
        ag_sort(x, 1, true, &all);
        for (int64_t k = 0; k <= n; k++) {
            const Tensor *largest = ag_topk(x, k, 1, &ids), *first = ag_slice(all, 1, 0, k);
            ck_assert_mem_eq(tensor_int_data(ids), tensor_int_data(first), (size_t)(6 * k) * sizeof(int32_t));
            ck_assert_mem_eq(tensor_data(largest), tensor_data(ag_gather(x, 1, ids)), (size_t)(6 * k) * sizeof(ag_real));
        }
    }
    end();
}
END_TEST

/* Of more items than one tile of the copy has, and of each size of an item. */
START_TEST(transposes_of_several_tiles)
{
    begin();
    enum { ROWS = 70, COLUMNS = 131 };
    Tensor *i = tensor_randint(SHAPE(2, ROWS, COLUMNS), 0, 1000), *x = ag_cast(i, AG_REAL);
    Tensor *mask = ag_compare_scalar(AG_LT, i, 500);
    const int32_t *turned = tensor_int_data(ag_transpose(i, 1, 2));
    const ag_real *reals_turned = tensor_data(ag_transpose(x, 1, 2));
    const uint8_t *bools_turned = tensor_bool_data(ag_transpose(mask, 1, 2));
    for (int64_t at = 0; at < tensor_numel(i); at++) {
        int64_t matrix = at / (ROWS * COLUMNS), row = at / COLUMNS % ROWS, column = at % COLUMNS;
        int64_t to = (matrix * COLUMNS + column) * ROWS + row;
        int32_t item = tensor_int_data(i)[at];
        ck_assert(turned[to] == item && reals_turned[to] == (ag_real)item && bools_turned[to] == (item < 500));
    }
    end();
}
END_TEST

/* The gradients of sums along each dimension, of more columns than are summed at once. */
START_TEST(running_sums_of_many_columns)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_ones(SHAPE(2, 3, 517)), true);
    Tensor *y = ag_cumsum(ag_cumsum(x, 1), 0);
    for (int i = 0; i < 2 * 3 * 517; i++)
        ck_assert(tensor_data(y)[i] == (ag_real)((i / 517 % 3 + 1) * (i / (3 * 517) + 1)));
    ag_backward(ag_add(ag_sum(y), ag_sum(ag_cumsum(x, 1))));
    for (int i = 0; i < 2 * 3 * 517; i++)
        ck_assert(tensor_grad_data(x)[i] == (ag_real)((3 - i / 517 % 3) * (2 - i / (3 * 517)) + (3 - i / 517 % 3)));
    ag_end(s);
}
END_TEST

START_TEST(logsumexp_of_extremes)
{
    begin();
    double inf = (double)INFINITY;
    Tensor *x = tensor_from(SHAPE(4, 2), (ag_real[]){ (ag_real)-inf, (ag_real)-inf, (ag_real)inf, 0, 1000, 1000, -1000,
                                                     (ag_real)-inf });
    const ag_real *y = tensor_data(ag_logsumexp(x, -1, false));
    ck_assert(y[0] == (ag_real)-inf && y[1] == (ag_real)inf);
    ck_assert_double_eq_tol((double)y[2], 1000.6931472, 1e-4);
    ck_assert(y[3] == -1000);
    end();
}
END_TEST

START_TEST(one_hot)
{
    begin();
    Tensor *ids = tensor_ints(SHAPE(1, 3), (int32_t[]){ 2, 0, 3 });
    CHECK(ag_one_hot(ids, 4), SHAPE(1, 3, 4), 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1);
    CHECK(ag_one_hot(tensor_ints(AG_SCALAR, NULL), 2), SHAPE(2), 1, 0);
    ck_assert_int_eq(tensor_numel(ag_one_hot(tensor_ints(SHAPE(0), NULL), 0)), 0);
    ck_assert(!tensor_requires_grad(ag_one_hot(ids, 4)));
    end();
}
END_TEST

static double last_of(Tensor *t) { return (double)tensor_data(t)[tensor_numel(t) - 1]; }

/* One float cannot count beyond 2^24, and a chain of a million additions is 1 % off. 3/4 of the terms have the same id. */
enum { EQUAL_IDS = 1000000 };

static Tensor *mostly_1(AgShape shape, int64_t step)
{
    Tensor *ids = tensor_ints(shape, NULL);
    for (int64_t i = 0; i < tensor_numel(ids); i++) tensor_mutable_int_data(ids)[i] = i / step % 4 == 0 ? 0 : 1;
    return ids;
}

/* Sums of 0.1 over EQUAL_IDS ids: t has `inner` sums for id 0, then for id 1, and again for each outer one; id 2 has none. */
static void check_sums(const char *what, const Tensor *t, int64_t inner)
{
    for (int64_t i = 0; i < tensor_numel(t); i++) {
        double expected = (i / inner % 3 == 0 ? 0.25 : i / inner % 3 == 1 ? 0.75 : 0) * EQUAL_IDS * (double)(ag_real)0.1;
        double found = (double)tensor_data(t)[i];
        ck_assert_msg(fabs(found - expected) <= 1e-6 * expected, "%s: item %lld is %.9g, expected %.9g", what, (long long)i,
                      found, expected);
    }
}

/* _i + 1 threads. */
START_TEST(sums_over_many_equal_ids)
{
    AgScope s = ag_begin(AG_RECORD);
    ag_set_threads(_i + 1);
#define TABLE(...) tensor_set_requires_grad(tensor_zeros(SHAPE(__VA_ARGS__)), true)
    Tensor *table = TABLE(3, 2), *x = TABLE(2, 3), *y = TABLE(3, 2), *ids = mostly_1(SHAPE(EQUAL_IDS), 1);
    ag_backward(ag_scale(ag_sum(ag_embedding(table, ids)), 0.1));
    check_sums("embedding", tensor_grad(table), 2);
    ag_backward(ag_scale(ag_sum(ag_index_select(x, 1, ids)), 0.1));
    check_sums("index_select", tensor_grad(x), 1);
    Tensor *pairs = mostly_1(SHAPE(EQUAL_IDS, 2), 2);
    ag_backward(ag_scale(ag_sum(ag_gather(y, 0, pairs)), 0.1));
    check_sums("gather", tensor_grad(y), 2);
    Tensor *tenth = tensor_full(SHAPE(EQUAL_IDS, 2), 0.1);
    check_sums("index_add", ag_index_add(tensor_zeros(SHAPE(3, 2)), 0, ids, tenth), 2);
    check_sums("scatter_add", ag_scatter_add(tensor_zeros(SHAPE(3, 2)), 0, pairs, tenth), 2);
#undef TABLE
    ag_set_threads(0);
    ag_end(s);
}
END_TEST

/* Whether two numbers are equal up to rounding: of the same sign if they are 0, both infinite, or both NaN. */
static bool nearly_same(double found, double expected)
{
    if (isnan(expected) || isinf(expected) || expected == 0)
        return isnan(expected) ? isnan(found) : found == expected && !signbit(found) == !signbit(expected);
    return fabs(found - expected) <= 1e-5 * fabs(expected);
}

/* Whole and odd are properties of the exponent that was given, not of the float that it is rounded to. */
START_TEST(powers_by_exponents_that_are_rounded)
{
    static const double exponents[] = { 16777215, 16777217, 16777219, -16777217, 0x1.fffffffffffffp+52, 0x1p53, 0x1p60,
                                        2.0000001, 1.00000001, 3.00000001, -1.00000001, 2.99999999, 4.00000001, 1e-9, -1e-9,
                                        4194304.0001, 0.5, -0.5, 2, 1, 3, -1, 2.5, 4, 5 };
    static const double items[] = { -1, 1, -0.0, 0, -INFINITY, INFINITY, -1.5, 1.5 };
    AgScope s = ag_begin(AG_RECORD);
    for (size_t i = 0; i < sizeof exponents / sizeof *exponents; i++) {
        for (size_t k = 0; k < sizeof items / sizeof *items; k++) {
            double p = exponents[i], at = items[k], slope = p * pow(at, p - 1);
            Tensor *x = tensor_set_requires_grad(tensor_full(SHAPE(1), at), true), *y = ag_pow_scalar(x, p);
            double value = tensor_item(y);
            ag_backward(ag_sum(y));
            double found = tensor_item(tensor_grad(x));
            if (fabs(at) == 1.5 && fabs(p) > 1000) {                /* beyond the range of a float */
                double expected = isnan(pow(at, p)) ? (double)NAN : copysign(value, pow(at, p));
                ck_assert_msg(nearly_same(value, expected), "%g^%.17g is %g", at, p, value);
            } else {
                ck_assert_msg(nearly_same(value, pow(at, p)), "%g^%.17g is %g, not %g", at, p, value, pow(at, p));
                ck_assert_msg(nearly_same(found, slope), "the slope of %g^%.17g is %g, not %g", at, p, found, slope);
            }
        }
    }
    ag_end(s);
}
END_TEST

/* Values and slopes where a function's definition changes. */
START_TEST(functions_at_their_limits)
{
    AgScope s = ag_begin(AG_RECORD);
    const bool is_float = sizeof(ag_real) == sizeof(float);
#define MANY(x) tensor_set_requires_grad(tensor_full(SHAPE(17), x), true)
    ck_assert_double_eq_tol(last_of(ag_sin(MANY(1e5))), 0.03574879797201651, 1e-6);
    ck_assert_double_eq_tol(last_of(ag_cos(MANY(-1e5))), -0.99936080743821214, 1e-6);
    ck_assert_double_eq_tol(last_of(ag_sin(MANY(1.5e5))), 0.9985620082661048, 1e-7);
    ck_assert_double_eq_tol(last_of(ag_cos(MANY(-1.5e5))), 0.05360891388159102, 1e-7);
    ck_assert(last_of(ag_pow_scalar(MANY(-1), 2000001)) == -1 && last_of(ag_pow_scalar(MANY(-1), 2000002)) == 1);
    double half = last_of(ag_pow(MANY(0.5), MANY(1000)));
    ck_assert_msg(is_float ? half == 0 : half == 0x1p-1000, "%g", half);
    double silu = last_of(ag_silu(MANY(-100))), erf = last_of(ag_gelu_erf(MANY(-25)));
    ck_assert(signbit(silu) && signbit(erf) && (silu == 0) == is_float && (erf == 0) == is_float);      /* else subnormal */
    ck_assert(last_of(ag_softmax(tensor_from(SHAPE(2), (ag_real[]){ 0, -70 }), 0)) > 0);
    Tensor *x = MANY(-100), *low = MANY(-1), *high = MANY(2), *zero = MANY(0), *two = MANY(2), *less = MANY(-1);
    Tensor *y = ag_gelu(x);
    ck_assert(last_of(y) == 0);
    ag_backward(ag_sum(ag_add(ag_add(y, ag_clamp(low, -1, 2)), ag_clamp(high, -1, 2))));
    ck_assert(last_of(tensor_grad(x)) == 0 && last_of(tensor_grad(low)) == 1 && last_of(tensor_grad(high)) == 1);
    ag_backward(ag_sum(ag_add(ag_pow(zero, two), ag_pow(ag_detach(zero), less))));
    ck_assert(last_of(tensor_grad(two)) == 0 && last_of(tensor_grad(less)) == -INFINITY);
#undef MANY
    ag_end(s);
}
END_TEST

Suite *tensor_suite(void)
{
    Suite *suite = suite_create("tensor");
    TCase *construction_and_reading = tcase_create("construction and reading");
    tcase_add_test(construction_and_reading, constructing);
    tcase_add_test(construction_and_reading, counting);
    tcase_add_test(construction_and_reading, reading);
    tcase_add_test(construction_and_reading, names);
    suite_add_tcase(suite, construction_and_reading);
    TCase *broadcasting = tcase_create("broadcasting");
    tcase_add_loop_test(broadcasting, shapes_broadcast_as_in_numpy, 0, N_FITS);
    tcase_add_loop_test(broadcasting, shapes_that_do_not_fit, 0, N_MISFITS);
    suite_add_tcase(suite, broadcasting);
    TCase *shapes = tcase_create("shapes");
    tcase_add_loop_test(shapes, reshaping, AG_REAL, AG_BOOL + 1);
    tcase_add_loop_test(shapes, permuting, AG_REAL, AG_BOOL + 1);
    tcase_add_loop_test(shapes, slicing, AG_REAL, AG_BOOL + 1);
    tcase_add_loop_test(shapes, joining, AG_REAL, AG_BOOL + 1);
    tcase_add_test(shapes, gathering);
    suite_add_tcase(suite, shapes);
    TCase *reducing = tcase_create("reducing");
    tcase_add_test(reducing, sums_over_any_set_of_dimensions);
    tcase_add_test(reducing, sums_do_not_depend_on_the_dimensions_behind);
    tcase_add_test(reducing, sums_of_empty_tensors);
    tcase_add_test(reducing, largest_and_smallest);
    suite_add_tcase(suite, reducing);
    TCase *large = tcase_create("numbers far from 1");
    tcase_add_test(large, variance_at_a_large_mean);
    tcase_add_test(large, variance_where_the_sum_is_infinite);
    tcase_add_test(large, a_norm_of_one_item_has_no_gradient);
    tcase_add_test(large, log_softmax_of_large_numbers);
    tcase_add_test(large, cross_entropy_of_large_logits);
    tcase_add_test(large, gelu_erf_far_from_0);
    tcase_add_test(large, relu_passes_no_subnormal_gradient);
    suite_add_tcase(suite, large);
    TCase *plain = tcase_create("without gradients");
    tcase_add_test(plain, the_place_of_the_largest);
    tcase_add_test(plain, comparing);
    tcase_add_test(plain, masks);
    tcase_add_test(plain, one_hot);
    tcase_add_test(plain, ints);
    tcase_add_test(plain, ids_where_a_mask_is_true);
    tcase_add_test(plain, items_and_padding);
    tcase_add_test(plain, casts);
    tcase_add_test(plain, sorted);
    tcase_add_test(plain, transposes_of_several_tiles);
    tcase_add_test(plain, the_largest_of_many);
    tcase_add_test(plain, running_sums_of_many_columns);
    tcase_add_test(plain, logsumexp_of_extremes);
    tcase_add_test(plain, powers_by_exponents_that_are_rounded);
    tcase_add_test(plain, functions_at_their_limits);
    tcase_add_loop_test(plain, sums_over_many_equal_ids, 0, 3);
    suite_add_tcase(suite, plain);
    return suite;
}
