/* test_graph.c: what operations record, and backward: values used several times, several losses, which values stay and which
 * are released. */
#include <stdlib.h>
#include <string.h>

#include "kaeru/autograd.h"
#include "suites.h"
#include "usage_error.h"

static Tensor *leaf(AgShape shape, const ag_real *values)
{
    return tensor_set_requires_grad(tensor_from(shape, values), true);
}

static Tensor *number(double x)
{
    return tensor_set_requires_grad(tensor_full(AG_SCALAR, x), true);
}

static double slope(Tensor *t)
{
    return tensor_item(tensor_grad(t));
}

/* ---- sums of paths ----------------------------------------------------------------------------------------------- */

START_TEST(a_value_added_to_itself_twice)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *a = number(1), *b = ag_add(a, a), *c = ag_add(b, b);
    ag_backward(c);
    ck_assert(tensor_item(c) == 4 && slope(a) == 4);
    ag_end(s);
}
END_TEST

START_TEST(a_diamond)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = number(1.5), *u = ag_scale(x, 2), *v = ag_add(ag_scale(x, 3), number(1));
    ag_backward(ag_mul(u, v));                                  /* 2x (3x + 1): slope 12x + 2 */
    ck_assert(slope(x) == 20);
    ag_end(s);
}
END_TEST

START_TEST(a_value_used_at_three_depths)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = number(2), *y = ag_mul(x, ag_mul(x, ag_mul(x, x)));
    ag_backward(y);
    ck_assert(tensor_item(y) == 16 && slope(x) == 32);
    ag_end(s);
}
END_TEST

START_TEST(the_same_input_twice_in_one_list)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = leaf(SHAPE(2), (ag_real[]){ 3, 5 }), *h = ag_mul(x, x);
    Tensor *y = ag_concat(((Tensor *[]){ h, x, h, h }), 4, 0);
    Tensor *w = tensor_from(SHAPE(8), (ag_real[]){ 1, 2, 10, 20, 100, 200, 1000, 2000 });
    ag_backward(ag_sum(ag_mul(y, w)));
    ck_assert(tensor_grad_data(x)[0] == 2 * 3 * 1101 + 10);
    ck_assert(tensor_grad_data(x)[1] == 2 * 5 * 2202 + 20);
    ag_end(s);
}
END_TEST

START_TEST(the_programs_control_flow_builds_the_graph)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = number(0.5), *y = x;
    for (int i = 0; tensor_item(y) < 10; i++) y = i % 2 ? ag_add(y, y) : ag_scale(y, 3);
    ag_backward(y);                                             /* 0.5 * 3 * 2 * 3 * 2 = 18, linear in x */
    ck_assert(tensor_item(y) == 18 && slope(x) == 36);
    ag_end(s);
}
END_TEST

START_TEST(gradients_of_passes_add_up_until_they_are_cleared)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = number(3);
    for (int i = 1; i <= 3; i++) {
        ag_backward(ag_mul(x, x));
        ck_assert(slope(x) == 6 * i);
    }
    tensor_zero_grad(x);
    ck_assert_ptr_null(tensor_grad(x));
    ck_assert_ptr_null(tensor_grad_data(x));
    ag_backward(ag_mul(x, x));
    ck_assert(slope(x) == 6);
    ag_end(s);
}
END_TEST

/* A matrix times a batch of matrices without columns: its gradient is 0, and the rule writes it once. Without rows, the
 * products are 0. */
START_TEST(products_of_empty_matrices)
{
    ag_guard(true);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *a = leaf(SHAPE(2, 3), (ag_real[]){ 1, 2, 3, 4, 5, 6 }), *y = ag_matmul(a, tensor_zeros(SHAPE(50, 3, 0)));
    ck_assert_int_eq(tensor_numel(y), 0);
    CATCH_USAGE_ERROR(ag_backward(ag_sum(y)));
    ck_assert_str_eq(usage_message, "");
    for (int i = 0; i < 6; i++) ck_assert(tensor_grad_data(a)[i] == 0);
    const ag_real *zeros = tensor_data(ag_matmul(tensor_zeros(SHAPE(2, 0)), tensor_zeros(SHAPE(50, 0, 3))));
    for (int i = 0; i < 300; i++) ck_assert(zeros[i] == 0);
    ag_end(s);
    ag_guard(false);
}
END_TEST

/* The rule of add gives both inputs the same gradient; each leaf must have its own memory. */
START_TEST(leaves_never_share_a_gradient)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *a = leaf(SHAPE(2), (ag_real[]){ 1, 2 }), *b = leaf(SHAPE(2), (ag_real[]){ 3, 4 });
    ag_backward(ag_sum(ag_reshape(ag_add(a, b), SHAPE(2, 1))));
    ag_grad_scale(a, 8);
    ck_assert(tensor_grad_data(a)[0] == 8 && tensor_grad_data(b)[0] == 1);
    tensor_mutable_data(tensor_grad(b))[1] = 5;                         /* the gradient shares its memory with its tensor */
    ck_assert(tensor_grad_data(b)[1] == 5 && tensor_grad_data(a)[1] == 8);
    ag_end(s);
}
END_TEST

/* ---- several losses ---------------------------------------------------------------------------------------------- */

enum { ROWS = 7, WIDTH = 5 };

typedef struct { Tensor *x, *w, *v; } Net;

static Net net_new(void)
{
    ag_seed(11);
    Net n = { tensor_new_owned(SHAPE(ROWS, WIDTH), AG_REAL), tensor_new_owned(SHAPE(WIDTH, WIDTH), AG_REAL),
              tensor_new_owned(SHAPE(WIDTH, 1), AG_REAL) };
    Tensor *each[] = { n.x, n.w, n.v };
    for (int i = 0; i < 3; i++) ag_fill_normal(tensor_set_requires_grad(each[i], true), 0, 1);
    return n;
}

static void net_free(Net n)
{
    tensor_free(n.x);
    tensor_free(n.w);
    tensor_free(n.v);
}

static void net_clear(Net n)
{
    tensor_zero_grad(n.x);
    tensor_zero_grad(n.w);
    tensor_zero_grad(n.v);
}

static Tensor *trunk(Net n)
{
    return ag_tanh(ag_matmul(n.x, n.w));
}

static Tensor *first_loss(Tensor *h)
{
    return ag_mean(ag_mul(h, h));
}

static Tensor *second_loss(Net n, Tensor *h)
{
    return ag_sum(ag_sigmoid(ag_matmul(h, n.v)));
}

/* `which`: bit 0: the first loss, bit 1: the second loss, bit 2: backward from the second loss first. */
static void gradients(Net n, int which, ag_real out[3][ROWS * WIDTH])
{
    net_clear(n);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *h = trunk(n), *one = NULL, *two = NULL;
    if (which & 1) one = first_loss(h);
    if (which & 2) two = second_loss(n, h);
    if (which & 4) ag_backward(two), two = NULL;
    if (one) ag_backward(one);
    if (two) ag_backward(two);
    Tensor *each[] = { n.x, n.w, n.v };
    memset(out, 0, sizeof(ag_real[3][ROWS * WIDTH]));
    for (int i = 0; i < 3; i++)
        if (tensor_grad_data(each[i]))
            memcpy(out[i], tensor_grad_data(each[i]), (size_t)tensor_numel(each[i]) * sizeof(ag_real));
    ag_end(s);
}

START_TEST(two_losses_on_one_tape_equal_the_sum_of_two_runs)
{
    Net n = net_new();
    ag_real one[3][ROWS * WIDTH], two[3][ROWS * WIDTH], both[3][ROWS * WIDTH], other_order[3][ROWS * WIDTH];
    gradients(n, 1, one);
    gradients(n, 2, two);
    gradients(n, 3, both);
    gradients(n, 7, other_order);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < ROWS * WIDTH; j++) {
            ck_assert(both[i][j] == one[i][j] + two[i][j]);
            ck_assert(other_order[i][j] == both[i][j]);
        }
    ck_assert(both[1][0] != one[1][0] && both[1][0] != two[1][0]);
    net_free(n);
}
END_TEST

START_TEST(a_shared_part_stays_until_the_last_loss_has_passed)
{
    Net n = net_new();
    AgScope s = ag_begin(AG_RECORD);
    Tensor *product = ag_matmul(n.x, n.w), *h = ag_tanh(product);
    Tensor *one = first_loss(h), *only_two = ag_matmul(h, n.v), *two = ag_sum(ag_sigmoid(only_two));
    ag_backward(one);
    ck_assert_int_eq(tensor_numel(h), ROWS * WIDTH);
    ck_assert(tensor_data(h)[0] >= -1 && tensor_data(only_two) != NULL);
    ag_backward(two);
    EXPECT_USAGE_ERROR("released by backward", tensor_data(h));
    EXPECT_USAGE_ERROR("released by backward", tensor_data(only_two));
    ck_assert(tensor_item(one) > 0 && tensor_item(two) > 0);    /* losses stay */
    ag_end(s);
    net_free(n);
}
END_TEST

START_TEST(a_loss_made_of_losses)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = number(2), *one = ag_mul(x, x), *two = ag_mul(one, x), *all = ag_add(one, two);
    ag_backward(one);                                           /* 2x = 4 */
    ag_backward(all);                                           /* 2x + 3x^2 = 16 */
    ck_assert(slope(x) == 20);
    ck_assert(tensor_item(one) == 4 && tensor_item(all) == 12);
    ag_end(s);
}
END_TEST

START_TEST(a_value_that_no_loss_uses_has_no_effect)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = number(2), *h = ag_mul(x, x), *unused = ag_exp(h), *loss = ag_scale(h, 3);
    ag_backward(loss);
    ck_assert(slope(x) == 12);
    ck_assert(tensor_data(unused) != NULL);                     /* it may be another loss */
    tensor_zero_grad(x);
    ag_backward(unused);                                        /* e^(x^2) 2x */
    ck_assert_double_eq_tol(slope(x), 4 * ag_math_exp(4), 1e-3);
    ag_end(s);
}
END_TEST

/* ---- which values stay and which are released -------------------------------------------------------------------- */

START_TEST(retained_values_and_gradients_stay)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = leaf(SHAPE(2), (ag_real[]){ 1, 2 }), *h = ag_retain(ag_mul(x, x)), *g = ag_scale(h, 5);
    Tensor *one = ag_sum(g), *two = ag_sum(ag_mul(h, h));
    ck_assert_ptr_null(tensor_grad(h));
    ag_backward(one);
    ck_assert(tensor_data(h)[1] == 4 && tensor_grad_data(h)[1] == 5);
    ag_backward(two);                                           /* adds to a retained gradient, as for a leaf: 5 + 2h */
    ck_assert(tensor_grad_data(h)[0] == 7 && tensor_grad_data(h)[1] == 13);
    ck_assert(tensor_grad_data(x)[0] == 14 && tensor_grad_data(x)[1] == 52);
    ck_assert_ptr_null(tensor_grad(g));
    tensor_zero_grad(h);
    ck_assert_ptr_null(tensor_grad(h));
    EXPECT_USAGE_ERROR("tensor_data: the value of t (scale made at tests/test_graph.c:", tensor_data(g));
    EXPECT_USAGE_ERROR("was released by backward; call ag_retain on it first", ag_neg(g));
    EXPECT_USAGE_ERROR("released by backward", ag_retain(g));
    ck_assert_int_eq(tensor_dim(g, 0), 2);                      /* the shape stays */
    ag_end(s);
}
END_TEST

START_TEST(the_loss_has_a_gradient_of_one)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *loss = ag_mul(number(3), number(2));
    ag_backward(loss);
    ck_assert(slope(loss) == 1 && tensor_item(loss) == 6);
    ag_end(s);
}
END_TEST

START_TEST(backward_keep_can_be_repeated)
{
    Net n = net_new();
    ag_real once[3][ROWS * WIDTH], w[WIDTH * WIDTH];
    gradients(n, 1, once);
    net_clear(n);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *h = trunk(n), *loss = first_loss(h);
    size_t in_use = ag_memory().in_use;
    ag_backward_keep(loss);
    memcpy(w, tensor_grad_data(n.w), sizeof w);
    ck_assert_mem_eq(w, once[1], sizeof w);
    ck_assert_uint_ge(ag_memory().in_use, in_use);
    ck_assert(tensor_data(h) != NULL);                          /* every value is still there and can be used */
    ag_backward_keep(ag_scale(loss, 1));
    for (int i = 0; i < WIDTH * WIDTH; i++) ck_assert(tensor_grad_data(n.w)[i] == 2 * w[i]);
    ag_backward(loss);
    for (int i = 0; i < WIDTH * WIDTH; i++) ck_assert(tensor_grad_data(n.w)[i] == 2 * w[i] + w[i]);
    ag_end(s);
    net_free(n);
}
END_TEST

START_TEST(the_error_of_a_second_backward_names_the_remedy)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = number(2), *h = ag_retain(ag_mul(x, x)), *loss = ag_scale(h, 3);
    ag_backward(loss);
    EXPECT_USAGE_ERROR("ag_backward: an earlier backward has run through scale (made at tests/test_graph.c:",
                       ag_backward(loss));
    EXPECT_USAGE_ERROR("use ag_backward_keep for the earlier one", ag_backward(ag_neg(h)));
    ck_assert(slope(x) == 12);
    ag_end(s);
}
END_TEST

START_TEST(backward_from_a_given_gradient)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = leaf(SHAPE(2, 1), (ag_real[]){ 2, 3 }), *y = ag_mul(x, x);
    Tensor *dy = tensor_from(SHAPE(2, 1), (ag_real[]){ 10, 100 });
    ag_backward_from(y, dy);
    ck_assert(tensor_grad_data(x)[0] == 40 && tensor_grad_data(x)[1] == 600);
    Tensor *z = ag_mul(x, x);
    ag_backward_from(z, z);                                     /* its own value as the gradient: 2x^3 */
    ck_assert(tensor_grad_data(x)[0] == 56 && tensor_grad_data(x)[1] == 654);
    ag_backward_from(x, dy);                                    /* also from a leaf */
    ck_assert(tensor_grad_data(x)[0] == 66);
    EXPECT_USAGE_ERROR("ag_backward_from: y (2, 1) and dy (2,) differ in shape", ag_backward_from(y, tensor_ones(SHAPE(2))));
    EXPECT_USAGE_ERROR("ag_backward_from: dy is NULL", ag_backward_from(y, NULL));
    ag_end(s);
}
END_TEST

/* ---- without recording ------------------------------------------------------------------------------------------- */

START_TEST(detach_stops_gradients)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = number(3), *h = ag_mul(x, x), *cut = ag_detach(h);
    ck_assert(!tensor_requires_grad(cut) && tensor_requires_grad(h));
    Tensor *loss = ag_mul(h, cut);
    ag_backward(loss);
    ck_assert(slope(x) == 9 * 6);
    ck_assert(tensor_item(cut) == 9);                        /* its value is still there, although h's is released */
    ag_end(s);
}
END_TEST

START_TEST(operations_record_only_if_an_input_requires_grad)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = number(3), *constant = tensor_full(AG_SCALAR, 2);
    ck_assert(ag_recording());
    ck_assert(!tensor_requires_grad(ag_mul(constant, constant)));
    AgScope inner = ag_begin(AG_NO_GRAD);
    ck_assert(!ag_recording());
    Tensor *y = ag_mul(x, x);
    ck_assert(!tensor_requires_grad(y) && tensor_item(y) == 9);
    AgScope again = ag_begin(AG_RECORD);
    ck_assert(tensor_requires_grad(ag_mul(x, x)));
    ag_end(again);
    ck_assert(!ag_recording());
    ag_end(inner);
    ck_assert(ag_recording());
    EXPECT_USAGE_ERROR("ag_backward: the loss does not require a gradient", ag_backward(ag_mul(constant, constant)));
    EXPECT_USAGE_ERROR("expected one item", ag_backward(ag_mul(leaf(SHAPE(2), (ag_real[]){ 1, 2 }), x)));
    ag_end(s);
}
END_TEST

/* The gradient of a leaf that is itself the loss adds up, too. */
START_TEST(backward_from_a_leaf)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = number(5);
    ag_backward(x);
    ck_assert(slope(x) == 1);
    ag_backward(x);
    ck_assert(slope(x) == 2);
    ag_end(s);
}
END_TEST

/* The rule of relu writes into the gradient of its result, unless a caller wants to read it. */
START_TEST(a_retained_result_keeps_its_own_gradient)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = leaf(SHAPE(4), (ag_real[]){ 1, -1, 2, -2 }), *y = ag_retain(ag_relu(ag_neg(ag_neg(x))));
    ag_backward(ag_sum(ag_scale(y, 3)));
    for (int i = 0; i < 4; i++) {
        ck_assert(tensor_grad_data(y)[i] == 3);
        ck_assert(tensor_grad_data(x)[i] == (i % 2 ? 0 : 3));
    }
    ag_end(s);
}
END_TEST

START_TEST(a_leaf_without_requires_grad_gets_no_gradient)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = number(3), *w = tensor_full(AG_SCALAR, 4);
    ag_backward(ag_mul(x, w));
    ck_assert(slope(x) == 4);
    ck_assert_ptr_null(tensor_grad(w));
    tensor_set_requires_grad(w, true);
    ag_backward(ag_mul(x, w));
    ck_assert(slope(w) == 3 && slope(x) == 8);
    Tensor *made = ag_neg(x);
    EXPECT_USAGE_ERROR("tensor_set_requires_grad: t was made by neg; only a leaf can be set",
                       tensor_set_requires_grad(made, false));
    EXPECT_USAGE_ERROR("expected AG_REAL", tensor_set_requires_grad(tensor_ints(SHAPE(1), NULL), true));
    ag_end(s);
}
END_TEST

/* ---- scopes ------------------------------------------------------------------------------------------------------ */

START_TEST(gradients_pass_through_inner_scopes)
{
    AgScope outer = ag_begin(AG_RECORD);
    Tensor *x = number(2), *h = ag_mul(x, x);
    for (int i = 1; i <= 3; i++) {
        AgScope inner = ag_begin(AG_RECORD);
        ag_backward_keep(ag_scale(h, i));
        ag_end(inner);
    }
    ck_assert(slope(x) == 4 + 8 + 12);
    ck_assert(tensor_item(h) == 4);
    ag_end(outer);
}
END_TEST

START_TEST(a_result_can_outlive_its_scope)
{
    AgScope outer = ag_begin(AG_RECORD);
    Tensor *x = number(2);
    AgScope inner = ag_begin(AG_RECORD);
    Tensor *y = ag_mul(ag_mul(x, x), x);
    y = ag_end_return(inner, y);
    ck_assert(tensor_item(y) == 8 && !tensor_requires_grad(y));
    ag_backward(ag_mul(y, x));
    ck_assert(slope(x) == 8);
    AgScope ints = ag_begin(AG_NO_GRAD);
    Tensor *ids = ag_end_return(ints, tensor_ints(SHAPE(2), (int32_t[]){ 4, 5 }));
    ck_assert_int_eq(tensor_int_data(ids)[1], 5);
    AgScope several = ag_begin(AG_NO_GRAD);
    Tensor *both[] = { tensor_ints(SHAPE(1), (int32_t[]){ 7 }), number(3), NULL };
    both[2] = both[1];
    ag_end_return_list(several, both, 3);
    number(9);                                              /* would get the memory of a value that was freed */
    ck_assert(tensor_int_data(both[0])[0] == 7 && tensor_item(both[1]) == 3 && tensor_item(both[2]) == 3);
    EXPECT_USAGE_ERROR("end_return_list: 0 tensors", ag_end_return_list(outer, both, 0));
    ag_end(outer);
}
END_TEST

START_TEST(a_clone_has_memory_of_its_own)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = number(2), *y = tensor_clone(x), *mask = tensor_clone(tensor_bools(SHAPE(0, 2), NULL));
    tensor_mutable_data(y)[0] = 3;
    ck_assert(tensor_item(x) == 2 && tensor_item(y) == 3 && !tensor_requires_grad(y));
    ck_assert(tensor_dtype(mask) == AG_BOOL && ag_shape_equal(tensor_shape(mask), SHAPE(0, 2)));
    ag_end(s);
}
END_TEST

START_TEST(a_kept_copy_outlives_every_scope)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = number(2), *kept = ag_keep(ag_mul(x, x));
    ag_end(s);
    ck_assert(tensor_item(kept) == 4 && !tensor_requires_grad(kept));
    tensor_set_requires_grad(kept, true);
    s = ag_begin(AG_RECORD);
    ag_backward(ag_mul(kept, kept));
    ag_end(s);
    ck_assert(*tensor_grad_data(kept) == 8);
    tensor_free(kept);
    tensor_free(NULL);
}
END_TEST

/* ---- values written between an operation and its backward rule ----------------------------------------------------- */

/* Backward must report that `writer` wrote what a rule reads. `write` changes w or `other` after the forward pass. */
#define EXPECT_STALE(reader, which, writer, write) do {                                                                   \
        AgScope scope = ag_begin(AG_RECORD);                                                                                \
        Tensor *w = leaf(SHAPE(2), (ag_real[]){ 3, 5 }), *other = leaf(SHAPE(2), (ag_real[]){ 1, 2 });                         \
        Tensor *loss = ag_sum(ag_mul(w, ag_reshape(other, SHAPE(2))));                                                    \
        const int line = __LINE__;                                                                                        \
        write;                                                                                                            \
        char text[400];                                                                                                   \
        snprintf(text, sizeof text, "ag_backward: the rule of %s (made at %s:%d) reads %s, but %s wrote it at %s:%d after "\
                 "%s had read it; write it after backward, or give %s a copy (ag_keep) (at", reader, __FILE__, line, which, \
                 writer, __FILE__, line, reader, reader);                                                                 \
        EXPECT_USAGE_ERROR(text, ag_backward(loss));                                                                      \
        ag_end(scope);                                                                                                    \
    } while (0)

START_TEST(a_write_before_backward_is_reported)
{
    AgAdam adam = { 1e-3, 0.9, 0.999, 1e-8, 0, false };
    AgSgd sgd = { .lr = 1 };
    ag_real g[2] = { 1, 1 }, m[2] = { 0 };
    EXPECT_STALE("mul", "input 0", "ag_fill", ag_fill(w, 0));
    EXPECT_STALE("mul", "input 0", "ag_fill_uniform", ag_fill_uniform(w, 0, 1));
    EXPECT_STALE("mul", "input 0", "ag_fill_normal", ag_fill_normal(w, 0, 1));
    EXPECT_STALE("mul", "input 0", "tensor_copy", tensor_copy(w, other));
    EXPECT_STALE("mul", "input 0", "tensor_mutable_data", tensor_mutable_data(w)[0] = 1);
    EXPECT_STALE("mul", "input 0, rate", "ag_fill", ag_fill(tensor_name(w, "rate"), 0));
    EXPECT_STALE("mul", "input 0", "ag_adam_update_part", ag_adam_update_part(w, 0, 2, g, m, m, &adam, 1, 1));
    EXPECT_STALE("mul", "input 0", "ag_sgd_update_part", ag_sgd_update_part(w, 0, 2, g, NULL, &sgd, true, 1));
    /* through a tensor that shares its memory */
    EXPECT_STALE("mul", "input 1", "ag_fill", ag_fill(other, 0));
    EXPECT_STALE("mul", "input 0", "ag_fill", ag_fill(ag_detach(w), 0));
}
END_TEST

/* A result, a mask and ids are values that rules read, too. */
START_TEST(every_kind_of_value_is_watched)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = leaf(SHAPE(1, 2), (ag_real[]){ 3, 5 }), *mask = tensor_bools(SHAPE(2), (uint8_t[]){ 1, 0 });
    Tensor *y = ag_tanh(x), *filled = ag_masked_fill(x, mask, 0), *row = ag_embedding(x, tensor_ints(SHAPE(1), NULL));
    ag_fill(ag_detach(y), 1);
    EXPECT_USAGE_ERROR("reads its result, but ag_fill wrote it at tests/test_graph.c:", ag_backward(ag_sum(y)));
    tensor_mutable_bool_data(mask)[0] = 0;
    EXPECT_USAGE_ERROR("reads input 1, but tensor_mutable_bool_data wrote it", ag_backward(ag_sum(filled)));
    ag_backward(ag_sum(row));
    Tensor *ids = tensor_ints(SHAPE(1), NULL), *rows = ag_embedding(x, ids);
    tensor_mutable_int_data(ids)[0] = 0;
    EXPECT_USAGE_ERROR("reads input 1, but tensor_mutable_int_data wrote it", ag_backward(ag_sum(rows)));
    Tensor *q = leaf(SHAPE(1, 1, 2), (ag_real[]){ 3, 5 }), *visible = tensor_bools(SHAPE(1, 1, 1, 1), (uint8_t[]){ 1 });
    Tensor *a = ag_attention(q, q, q, visible, (AgAttention){ .heads = 1 });
    tensor_mutable_bool_data(visible)[0] = 0;
    EXPECT_USAGE_ERROR("the rule of attention (made at", ag_backward(ag_sum(a)));
    ag_end(s);
}
END_TEST

/* Values that no rule reads may change: a sum's inputs, values of a graph that is released, values written before. */
START_TEST(a_write_that_no_rule_sees_is_allowed)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *w = leaf(SHAPE(2), (ag_real[]){ 3, 5 });
    ag_fill(w, 2);
    Tensor *loss = ag_sum(ag_mul(w, w)), *sum = ag_sum(ag_add(w, w));
    ag_backward(loss);
    ag_fill(w, 7);
    ag_backward(sum);
    ck_assert(tensor_data(tensor_grad(w))[0] == 4 + 2);
    EXPECT_USAGE_ERROR("w was made by mul and is part of a graph; only leaves are written", {
        Tensor *x = ag_mul(w, w);
        ag_fill(x, 1);
    });
    ag_end(s);
}
END_TEST

/* ---- gradients of some tensors ----------------------------------------------------------------------------------- */

static void count_call(void *arg, Tensor *t)
{
    (void)t;
    ++*(int *)arg;
}

static void end_watch(void *arg, Tensor *t)
{
    count_call(arg, t);
    ag_watch_backward((AgWatch){ 0 });
}

START_TEST(a_watch_can_end_itself)
{
    int calls = 0;
    AgScope s = ag_begin(AG_RECORD);
    Tensor *a = number(2), *b = number(5);
    ag_watch_backward((AgWatch){ .complete = end_watch, .arg = &calls });
    ag_backward(ag_mul(a, b));
    ck_assert(calls == 1 && slope(a) == 5 && slope(b) == 2);
    ag_end(s);
}
END_TEST

/* y = w x^2 with x = a b: dy/dx = 2 w x, dy/da = 2 w x b. */
START_TEST(ag_grad_leaves_all_else_alone)
{
    int calls = 0;
    AgScope s = ag_begin(AG_RECORD);
    Tensor *w = number(3), *a = number(2), *b = number(5), *unused = number(1), *x = ag_mul(a, b), *out[4];
    ag_backward(ag_mul(w, w));
    Tensor *y = ag_mul(w, ag_mul(x, x));
    ag_watch_backward((AgWatch){ count_call, count_call, &calls });
    for (int i = 0; i < 2; i++) {
        ag_grad(y, (Tensor *[]){ x, a, unused, a }, 4, out);
        ck_assert(tensor_item(out[0]) == 60 && tensor_item(out[1]) == 300 && !out[2] && tensor_item(out[3]) == 300);
        ck_assert(slope(w) == 6 && !tensor_grad_data(a) && !tensor_grad_data(b) && !tensor_grad_data(x));
        ck_assert(!tensor_requires_grad(out[0]));
    }
    ck_assert_int_eq(calls, 0);
    ag_watch_backward((AgWatch){ NULL, NULL, NULL });
    ag_grad(y, (Tensor *[]){ w }, 1, out);
    ck_assert(tensor_item(out[0]) == 100 && slope(w) == 6);
    ag_backward(y);
    ck_assert(slope(w) == 106 && slope(a) == 300 && slope(b) == 120);
    ck_assert_msg(!tensor_grad_data(x), "x was not retained");
    ck_assert(tensor_item(out[0]) == 100);
    EXPECT_USAGE_ERROR("item 1 of in does not require a gradient",
                       ag_grad(y, (Tensor *[]){ w, tensor_ones(AG_SCALAR) }, 2, out));
    ck_assert(slope(w) == 106);
    ag_end(s);
}
END_TEST

START_TEST(an_error_in_ag_grad_leaves_the_gradients)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *w = number(3), *x = number(2), *written = number(5), *out[2];
    ag_backward(ag_mul(w, w));
    Tensor *result = ag_mul(x, x), *y = ag_mul(ag_mul(result, w), ag_mul(written, x));
    tensor_mutable_data(written)[0] = 1;
    EXPECT_USAGE_ERROR("reads input 0", ag_grad(y, (Tensor *[]){ w, result }, 2, out));
    ck_assert(slope(w) == 6 && !tensor_grad_data(x));
    ag_backward(ag_mul(result, w));
    ck_assert_msg(slope(w) == 10 && !tensor_grad_data(result), "result was not retained");
    ag_end(s);
}
END_TEST

START_TEST(ag_grad_keeps_the_gradient_of_a_retained_result)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *a = number(2), *x = ag_retain(ag_mul(a, a)), *out;
    ag_backward_keep(ag_scale(x, 7));
    ag_grad(ag_mul(x, x), &x, 1, &out);
    ck_assert(tensor_item(out) == 8 && slope(x) == 7 && slope(a) == 28);
    ag_grad(ag_mul(x, x), &a, 1, &out);
    ck_assert(tensor_item(out) == 32 && slope(x) == 7 && slope(a) == 28);
    ag_end(s);
}
END_TEST

/* Each rule has one input. */
START_TEST(a_leaf_that_is_frozen_after_the_forward_pass_gets_no_gradient)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_from(SHAPE(2, 2), (ag_real[]){ 1, 2, 3, 4 }), true);
    Tensor *ids = tensor_ints(SHAPE(2), (int32_t[]){ 1, 0 }), *mask = tensor_bools(SHAPE(2, 2), (uint8_t[]){ 0, 1, 0, 1 });
    Tensor *y[] = {
        ag_sin(x), ag_sum(x), ag_mean_dims(x, DIMS(0), true), ag_max_dim(x, 1, false), ag_softmax(x, 1), ag_log_softmax(x, 1),
        ag_transpose(x, 0, 1), ag_slice(x, 0, 1, 2), ag_cumsum(x, 0), ag_dropout(x, 0.5), ag_masked_fill(x, mask, 0),
        ag_cross_entropy(x, ids, AG_MEAN, -100, 0), ag_index_select(x, 0, ids), ag_reshape(x, SHAPE(4))
    };
    Tensor *w = number(3), *loss = ag_mul(w, w);
    for (size_t i = 0; i < sizeof y / sizeof *y; i++) loss = ag_add(loss, ag_sum(y[i]));
    tensor_set_requires_grad(x, false);
    ag_backward(loss);
    ck_assert(!tensor_grad_data(x) && slope(w) == 6);
    ag_end(s);
}
END_TEST

START_TEST(a_pass_does_not_change_the_gradient_that_an_operation_has_read)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *w = number(3), *h = ag_retain(ag_scale(w, 1)), *loss = ag_mul(h, h);
    ag_backward_keep(loss);
    Tensor *g = tensor_grad(h), *p = ag_mul(g, w);
    ag_backward_keep(loss);
    ck_assert(tensor_item(g) == 6 && slope(h) == 12);
    tensor_zero_grad(w);
    ag_backward(p);
    ck_assert(slope(w) == 6);
    ag_end(s);
}
END_TEST

static jmp_buf inner;
static void leave_inner(const char *message)
{
    (void)message;
    longjmp(inner, 1);
}

static void make_an_error(void *arg, Tensor *leaf)
{
    (void)leaf;
    AgErrorHandler *former = ag_on_usage_error(leave_inner);
    AgScope s = ag_begin(AG_NO_GRAD);
    if (setjmp(inner) == 0) ag_neg(NULL);
    ag_end(s);
    ag_on_usage_error(former);
    ++*(int *)arg;
}

START_TEST(an_error_within_a_pass_ends_it)
{
    int errors = 0;
    AgScope s = ag_begin(AG_RECORD);
    Tensor *a = number(2), *b = number(5), *loss = ag_mul(ag_mul(a, a), b);
    ag_watch_backward((AgWatch){ NULL, make_an_error, &errors });
    EXPECT_USAGE_ERROR("ag_backward: an error in a rule or in a function of ag_watch_backward has ended this pass",
                       ag_backward(loss));
    ag_watch_backward((AgWatch){ make_an_error, NULL, &errors });
    EXPECT_USAGE_ERROR("has ended this pass", ag_backward(ag_mul(b, b)));
    ag_watch_backward((AgWatch){ NULL, NULL, NULL });
    ck_assert_int_eq(errors, 2);
    tensor_zero_grad(a);
    tensor_zero_grad(b);
    ag_backward(ag_mul(a, b));
    ck_assert(slope(a) == 5 && slope(b) == 2);
    ag_end(s);
}
END_TEST

Suite *graph_suite(void)
{
    Suite *suite = suite_create("graph");
    TCase *paths = tcase_create("paths");
    tcase_add_test(paths, a_value_added_to_itself_twice);
    tcase_add_test(paths, a_diamond);
    tcase_add_test(paths, a_value_used_at_three_depths);
    tcase_add_test(paths, the_same_input_twice_in_one_list);
    tcase_add_test(paths, the_programs_control_flow_builds_the_graph);
    tcase_add_test(paths, gradients_of_passes_add_up_until_they_are_cleared);
    tcase_add_test(paths, products_of_empty_matrices);
    tcase_add_test(paths, leaves_never_share_a_gradient);
    tcase_add_test(paths, a_leaf_that_is_frozen_after_the_forward_pass_gets_no_gradient);
    tcase_add_test(paths, a_pass_does_not_change_the_gradient_that_an_operation_has_read);
    tcase_add_test(paths, an_error_within_a_pass_ends_it);
    suite_add_tcase(suite, paths);
    TCase *losses = tcase_create("several losses");
    tcase_add_test(losses, two_losses_on_one_tape_equal_the_sum_of_two_runs);
    tcase_add_test(losses, a_shared_part_stays_until_the_last_loss_has_passed);
    tcase_add_test(losses, a_loss_made_of_losses);
    tcase_add_test(losses, a_value_that_no_loss_uses_has_no_effect);
    suite_add_tcase(suite, losses);
    TCase *stays = tcase_create("what stays");
    tcase_add_test(stays, retained_values_and_gradients_stay);
    tcase_add_test(stays, the_loss_has_a_gradient_of_one);
    tcase_add_test(stays, backward_from_a_leaf);
    tcase_add_test(stays, a_retained_result_keeps_its_own_gradient);
    tcase_add_test(stays, backward_keep_can_be_repeated);
    tcase_add_test(stays, the_error_of_a_second_backward_names_the_remedy);
    tcase_add_test(stays, backward_from_a_given_gradient);
    suite_add_tcase(suite, stays);
    TCase *some = tcase_create("gradients of some tensors");
    tcase_add_test(some, a_watch_can_end_itself);
    tcase_add_test(some, ag_grad_leaves_all_else_alone);
    tcase_add_test(some, an_error_in_ag_grad_leaves_the_gradients);
    tcase_add_test(some, ag_grad_keeps_the_gradient_of_a_retained_result);
    suite_add_tcase(suite, some);
    TCase *cuts = tcase_create("what is not recorded");
    tcase_add_test(cuts, detach_stops_gradients);
    tcase_add_test(cuts, operations_record_only_if_an_input_requires_grad);
    tcase_add_test(cuts, a_leaf_without_requires_grad_gets_no_gradient);
    suite_add_tcase(suite, cuts);
    TCase *writes = tcase_create("writes in place");
    tcase_add_test(writes, a_write_before_backward_is_reported);
    tcase_add_test(writes, every_kind_of_value_is_watched);
    tcase_add_test(writes, a_write_that_no_rule_sees_is_allowed);
    suite_add_tcase(suite, writes);
    TCase *scopes = tcase_create("scopes");
    tcase_add_test(scopes, gradients_pass_through_inner_scopes);
    tcase_add_test(scopes, a_result_can_outlive_its_scope);
    tcase_add_test(scopes, a_clone_has_memory_of_its_own);
    tcase_add_test(scopes, a_kept_copy_outlives_every_scope);
    suite_add_tcase(suite, scopes);
    return suite;
}
