/* autograd.c: the examples of autograd.h, of more_functions.h, and of the headers that they include. */
#include <math.h>

#include "example.h"

static void tensors(void)
{
    EXAMPLE(tensor_from) {
        Tensor *x = tensor_from(SHAPE(2, 3), (ag_real[]){ 1, 2, 3, 4, 5, 6 });
        Tensor *ids = tensor_ints(SHAPE(3), (int32_t[]){ 7, 8, 9 });
        tensor_print(x);
        tensor_print(ids);
    }
    EXAMPLE(tensor_arange) {
        tensor_print(tensor_arange(0, 1, 0.25));
    }
    EXAMPLE(tensor_normal) {
        ag_seed(42);
        tensor_print(tensor_normal(SHAPE(2, 3), 0, 1));                 /* the same numbers on every machine */
    }
    EXAMPLE(ag_batch_ids) {
        for (int64_t step = 0; step < 4; step++)                        /* two epochs of 6 items */
            tensor_print(ag_batch_ids(6, 3, step, 0));
    }
    EXAMPLE(tensor_data) {
        Tensor *x = tensor_arange(0, 4, 1);
        const ag_real *values = tensor_data(x);
        printf("%g of %lld\n", (double)values[3], (long long)tensor_numel(x));
    }
    EXAMPLE(ag_end_return) {
        AgScope inner = ag_begin(AG_NO_GRAD);
        Tensor *x = tensor_ones(SHAPE(1000, 1000));
        Tensor *sum = ag_end_return(inner, ag_sum(x));                  /* x is freed, the sum stays */
        tensor_print(sum);
    }
    EXAMPLE(ag_end_return_list) {
        AgScope inner = ag_begin(AG_NO_GRAD);
        Tensor *x = tensor_arange(0, 1000, 1), *both[] = { ag_sum(x), ag_max(x) };
        ag_end_return_list(inner, both, 2);
        printf("%g %g\n", tensor_item(both[0]), tensor_item(both[1]));
    }
    EXAMPLE(tensor_clone) {
        Tensor *x = tensor_ones(SHAPE(2)), *y = tensor_clone(x);
        tensor_mutable_data(y)[0] = 5;                                  /* x stays as it is */
        tensor_print(x);
    }
    EXAMPLE(ag_precision) {
        Tensor *a = tensor_full(SHAPE(1, 1), 1.001), *b = tensor_ones(SHAPE(1, 1));
        AgScope half = ag_begin(AG_NO_GRAD);
        ag_precision(AG_BF16);
        printf("%.4f, ", tensor_item(ag_matmul(a, b)));                 /* 1.001 has too many digits for bfloat16 */
        ag_end(half);
        printf("%.4f\n", tensor_item(ag_matmul(a, b)));
    }
}

static void gradients(void)
{
    EXAMPLE(ag_backward) {
        Tensor *w = tensor_set_requires_grad(tensor_full(AG_SCALAR, 3), true);
        Tensor *loss = ag_mul(w, w);
        ag_backward(loss);
        printf("loss %g, dw %g\n", tensor_item(loss), tensor_item(tensor_grad(w)));
    }
    EXAMPLE(ag_retain) {
        Tensor *x = variable(tensor_full(AG_SCALAR, 2));
        Tensor *h = ag_retain(ag_exp(x));
        ag_backward(ag_mul(h, h));
        tensor_print(tensor_grad(h));
    }
    EXAMPLE(ag_grad) {
        Tensor *w = variable(tensor_full(AG_SCALAR, 3)), *x = variable(tensor_arange(0, 3, 1)), *slope;
        ag_grad(ag_sum(ag_mul(w, ag_mul(x, x))), &x, 1, &slope);
        tensor_print(slope);
        printf("%s\n", tensor_grad(w) ? "w has a gradient" : "w has none");
    }
    EXAMPLE(ag_detach) {
        Tensor *x = variable(tensor_full(AG_SCALAR, 2));
        ag_backward(ag_mul(x, ag_detach(x)));                           /* one of the factors is a constant */
        tensor_print(tensor_grad(x));
    }
    EXAMPLE(ag_explain) {
        Tensor *x = tensor_name(variable(tensor_full(AG_SCALAR, 2)), "x");
        ag_explain(stdout, ag_tanh(ag_scale(x, 0.5)));
    }
    EXAMPLE(ag_grad_recorded) {
        Tensor *x = variable(tensor_arange(0, 3, 1)), *slope;
        ag_grad_recorded(ag_sum(ag_mul(x, ag_mul(x, x))), &x, 1, &slope);       /* 3 x^2 */
        ag_backward(ag_sum(slope));
        tensor_print(tensor_grad(x));
    }
    EXAMPLE(ag_jvp) {
        Tensor *x = variable(tensor_arange(0, 3, 1)), *one = tensor_ones(SHAPE(3));
        Tensor *slope = ag_jvp(ag_mul(x, ag_mul(x, x)), &x, &one, 1);
        tensor_print(slope);
        tensor_print(ag_jvp(slope, &x, &one, 1));
    }
    EXAMPLE(ag_tangentcheck) {
        Tensor *x = variable(tensor_arange(1, 4, 1));
        printf("%s\n", ag_tangentcheck(ag_exp(ag_mul(x, x)), &x, 1, 3, stdout) ? "right" : "wrong");
    }
    EXAMPLE(ag_fill) {
        Tensor *w = tensor_zeros(SHAPE(3));
        ag_fill(w, 0.5);
        tensor_print(w);
    }
}

/* cube(in, arg) for ag_gradcheck. */
static Tensor *cube(Tensor **in, void *arg)
{
    (void)arg;
    return ag_mul(in[0], ag_mul(in[0], in[0]));
}

static void functions(void)
{
    EXAMPLE(ag_gradcheck) {
        /* static Tensor *cube(Tensor **in, void *arg) { return ag_mul(in[0], ag_mul(in[0], in[0])); } */
        Tensor *x = variable(tensor_arange(1, 4, 1));
        printf("%s\n", ag_gradcheck(cube, NULL, &x, 1, stdout) ? "right" : "wrong");
    }
    EXAMPLE(ag_recompute) {
        Tensor *x = variable(tensor_arange(1, 4, 1));
        AgMark begin = ag_mark();
        Tensor *y = ag_mul(x, ag_mul(x, x));
        ag_recompute(begin, y, AG_PRODUCTS);                            /* the inner product is released */
        ag_backward(ag_sum(y));                                         /* and computed again */
        tensor_print(tensor_grad(x));                                   /* 3 x^2 */
    }
}

static void compositions(void)
{
    EXAMPLE(ag_sum) {
        Tensor *x = tensor_arange(1, 5, 1);
        printf("%g %g\n", tensor_item(ag_sum(x)), tensor_item(ag_mean(x)));
    }
    EXAMPLE(ag_max) {
        printf("%g\n", tensor_item(ag_max(tensor_arange(1, 5, 1))));
    }
    EXAMPLE(ag_transpose) {
        tensor_print(ag_transpose(tensor_from(SHAPE(2, 3), (ag_real[]){ 1, 2, 3, 4, 5, 6 }), 0, 1));
    }
    EXAMPLE(ag_stack) {
        Tensor *a = tensor_arange(0, 3, 1), *b = tensor_arange(3, 6, 1);
        tensor_print(ag_stack((Tensor *[]){ a, b }, 2, 0));
    }
    EXAMPLE(ag_flip) {
        tensor_print(ag_flip(tensor_from(SHAPE(2, 3), (ag_real[]){ 1, 2, 3, 4, 5, 6 }), 1));
    }
    EXAMPLE(ag_any) {
        Tensor *mask = tensor_bools(SHAPE(3, 2), (uint8_t[]){ 0, 0, 0, 1, 1, 1 });
        tensor_print(ag_any(mask, DIMS(1), false));
        tensor_print(ag_all(mask, DIMS(1), false));
    }
    EXAMPLE(ag_split) {
        Tensor *part[3];
        ag_split(tensor_arange(0, 6, 1), 3, 0, part);
        tensor_print(part[2]);
    }
    EXAMPLE(ag_unsqueeze) {
        Tensor *a = tensor_zeros(SHAPE(2)), *b = tensor_ones(SHAPE(2));
        tensor_print(ag_concat((Tensor *[]){ ag_unsqueeze(a, 0), ag_unsqueeze(b, 0) }, 2, 0));    /* a stack */
    }
    EXAMPLE(ag_activate) {
        tensor_print(ag_activate(AG_RELU, tensor_arange(-1, 2, 1)));
    }
    EXAMPLE(ag_linear_activate) {
        Tensor *x = tensor_ones(SHAPE(2)), *weight = tensor_from(SHAPE(2, 2), (ag_real[]){ 1, 1, -1, -1 });
        tensor_print(ag_linear_activate(x, weight, NULL, AG_RELU));
    }
    EXAMPLE(ag_conv1d) {
        Tensor *x = tensor_from(SHAPE(1, 1, 5), (ag_real[]){ 0, 0, 1, 0, 0 });
        Tensor *weight = tensor_from(SHAPE(1, 1, 3), (ag_real[]){ 1, 2, 3 });
        tensor_print(ag_conv1d(x, weight, NULL, 1, 1));                 /* products with a window: not turned round */
    }
    EXAMPLE(ag_pad) {
        tensor_print(ag_pad(tensor_ones(SHAPE(2)), 0, 1, 2));
    }
    EXAMPLE(ag_pad_with) {
        tensor_print(ag_pad_with(tensor_int_arange(1, 3, 1), 0, 0, 2, -100));
    }
    EXAMPLE(ag_unbind) {
        Tensor *part[2], *x = tensor_from(SHAPE(2, 3), (ag_real[]){ 1, 2, 3, 4, 5, 6 });
        tensor_print(ag_select(x, 1, -1));
        ag_unbind(x, 2, 0, part);
        tensor_print(part[1]);
    }
    EXAMPLE(ag_mul_scalar) {
        tensor_print(ag_mul_scalar(tensor_arange(0, 4, 1), 0.5));
    }
    EXAMPLE(ag_normalize) {
        Tensor *x = tensor_from(SHAPE(2), (ag_real[]){ 3, 4 });
        printf("%g\n", tensor_item(ag_norm_dims(x, DIMS(0), false)));
        tensor_print(ag_normalize(x, 0, 1e-12));
    }
    EXAMPLE(tensor_int_arange) {
        tensor_print(tensor_int_arange(0, 10, 3));
        tensor_print(tensor_int_full(SHAPE(2), 7));
    }
    EXAMPLE(ag_int_mul) {
        Tensor *row = tensor_int_arange(0, 3, 1), *column = tensor_ints(SHAPE(3), (int32_t[]){ 2, 0, 1 });
        tensor_print(ag_int_add(ag_int_mul(row, tensor_int_full(AG_SCALAR, 10)), column));
    }
    EXAMPLE(ag_nonzero) {
        tensor_print(ag_nonzero(ag_compare_scalar(AG_GT, tensor_from(SHAPE(4), (ag_real[]){ 1, 0, 3, 0 }), 0)));
    }
    EXAMPLE(ag_logaddexp) {
        tensor_print(ag_logaddexp(tensor_zeros(SHAPE(1)), tensor_full(SHAPE(1), -20)));
    }
    EXAMPLE(ag_logsumexp) {
        tensor_print(ag_logsumexp(tensor_from(SHAPE(2), (ag_real[]){ 1000, 1000 }), 0, false));
    }
    EXAMPLE(ag_huber_loss) {
        Tensor *x = tensor_from(SHAPE(2), (ag_real[]){ 0.5, 10 });
        tensor_print(ag_huber_loss(x, tensor_zeros(SHAPE(2)), 1));      /* the mean of 0.125 and 9.5 */
    }
    EXAMPLE(ag_topk) {
        Tensor *ids, *x = tensor_from(SHAPE(5), (ag_real[]){ 3, 1, 4, 1, 5 });
        tensor_print(ag_topk(x, 2, 0, &ids));
        tensor_print(ids);
    }
    EXAMPLE(ag_cast) {
        Tensor *x = tensor_from(SHAPE(3), (ag_real[]){ -1.7f, 0, 2.5f });
        tensor_print(ag_cast(x, AG_INT));
        tensor_print(ag_cast(x, AG_BOOL));
    }
    EXAMPLE(ag_to_bf16) {
        Tensor *pairs = ag_to_bf16(tensor_from(SHAPE(4), (ag_real[]){ 1, 1.001f, 1000, 1001 }));
        char text[AG_SHAPE_TEXT];
        puts(ag_shape_text(tensor_shape(pairs), text));
        tensor_print(ag_from_bf16(pairs));                              /* a number has 8 bits */
    }
    EXAMPLE(ag_attention_cached) {
        Tensor *k = tensor_zeros(SHAPE(1, 16, 8)), *v = tensor_ones(SHAPE(1, 16, 8));       /* room for 16 positions */
        Tensor *q = tensor_normal(SHAPE(1, 1, 8), 0, 1);
        AgAttention how = { .heads = 2, .causal = true };
        ag_precision(AG_BF16);
        tensor_print(ag_attention_cached(q, ag_to_bf16(k), ag_to_bf16(v), 4, NULL, how));
    }
    EXAMPLE(ag_rope_table) {
        Tensor *frequencies = ag_rope_frequencies(4, 10000);
        tensor_print(frequencies);
        tensor_print(ag_rope_table(frequencies, 0, 2));
    }
    EXAMPLE(ag_multinomial) {
        Tensor *p = tensor_from(SHAPE(2, 3), (ag_real[]){ 1, 0, 3, 0, 1, 0 });
        tensor_print(ag_multinomial(p, 6));
    }
    EXAMPLE(ag_interpolate2d) {
        Tensor *x = tensor_from(SHAPE(1, 1, 1, 2), (ag_real[]){ 0, 4 });
        tensor_print(ag_interpolate2d(x, 1, 4, AG_NEAREST));
        tensor_print(ag_interpolate2d(x, 1, 4, AG_BILINEAR));
    }
    EXAMPLE(ag_argmax) {
        tensor_print(ag_argmax(tensor_from(SHAPE(2, 3), (ag_real[]){ 1, 3, 3, 0, NAN, 9 }), 1, false));
    }
    EXAMPLE(ag_compare) {
        Tensor *a = tensor_from(SHAPE(3), (ag_real[]){ 1, 2, NAN });
        tensor_print(ag_compare(AG_LE, a, tensor_full(AG_SCALAR, 2)));
        tensor_print(ag_compare_scalar(AG_NE, a, 2));
    }
    EXAMPLE(ag_one_hot) {
        tensor_print(ag_one_hot(tensor_ints(SHAPE(2), (int32_t[]){ 2, 0 }), 3));
    }
    EXAMPLE(ag_and) {
        Tensor *a = tensor_bools(SHAPE(3), (uint8_t[]){ 1, 1, 0 }), *b = tensor_bools(SHAPE(3), (uint8_t[]){ 1, 0, 0 });
        tensor_print(ag_and(a, b));
        tensor_print(ag_not(a));
    }
}

int main(void)
{
    tensors();
    gradients();
    functions();
    compositions();
    return 0;
}
