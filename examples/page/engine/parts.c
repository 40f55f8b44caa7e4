/* parts.c: three parts of a Transformer alone: the softmax of scores, layer norm, and positions. */
#include <math.h>

#include "engine.h"
#include "kaeru/attention.h"

/* ---- softmax ----------------------------------------------------------------------------------------------------- */

/* The products q.k of a query of K standard normal numbers with n such keys: (1,n). */
static Tensor *draw_scores(int n, int64_t k)
{
    return ag_linear(tensor_normal(SHAPE(1, k), 0, 1), tensor_normal(SHAPE(n, k), 0, 1), NULL);
}

/* Prints {scores, weights} of n keys; `scaled`: of q.k / sqrt(K). */
void EXPORT(softmax_scores)(int n, int k, int scaled, int seed)
{
    AgScope scope = ag_begin(AG_NO_GRAD);
    ag_seed((uint64_t)seed);
    Tensor *scores = ag_scale(draw_scores(n, k), scaled ? 1 / sqrt(k) : 1);
    putchar('{');
    json_reals("scores", tensor_data(scores), n);
    putchar(',');
    json_reals("weights", tensor_data(ag_softmax(scores, -1)), n);
    putchar('}');
    ag_end(scope);
}

/* Prints [[largest, gradient] of q.k, [..] of q.k / sqrt(K)]: means over `draws` draws of the largest weight, and of the
 * norm of the gradient at the scores where that of the weights is n standard normal numbers. */
void EXPORT(softmax_means)(int n, int k, int draws)
{
    double largest[2] = { 0, 0 }, gradient[2] = { 0, 0 };
    ag_seed(0);
    for (int i = 0; i < draws; i++) {
        AgScope scope = ag_begin(AG_RECORD);
        Tensor *products = draw_scores(n, k), *dy = tensor_normal(SHAPE(1, n), 0, 1);
        for (int scaled = 0; scaled < 2; scaled++) {
            Tensor *scores = tensor_set_requires_grad(ag_scale(products, scaled ? 1 / sqrt(k) : 1), true);
            Tensor *p = ag_softmax(scores, -1);
            largest[scaled] += tensor_item(ag_max(p));
            ag_backward(ag_sum(ag_mul(p, dy)));
            gradient[scaled] += sqrt(ag_grad_sum_squares(scores));
        }
        ag_end(scope);
    }
    for (int scaled = 0; scaled < 2; scaled++) {
        printf(scaled ? ",[" : "[[");
        json_number(largest[scaled] / draws);
        putchar(',');
        json_number(gradient[scaled] / draws);
        putchar(']');
    }
    putchar(']');
}

/* ---- layer norm -------------------------------------------------------------------------------------------------- */

/* Reads n numbers x and n numbers dy from engine_numbers. Prints {y, dx}; `rms`: of RMS norm. */
void EXPORT(norm_look)(int n, int rms)
{
    AgScope scope = ag_begin(AG_RECORD);
    const ag_real *numbers = the_numbers(2 * n);
    Tensor *x = tensor_set_requires_grad(tensor_from(SHAPE(1, n), numbers), true);
    Tensor *dy = tensor_from(SHAPE(1, n), numbers + n);
    Tensor *y = rms ? ag_rms_norm(x, NULL, 1e-5) : ag_layer_norm(x, NULL, NULL, AG_NORM_PYTORCH);
    putchar('{');
    json_reals("y", tensor_data(y), n);
    ag_backward(ag_sum(ag_mul(y, dy)));
    putchar(',');
    json_reals("dx", tensor_data(tensor_grad(x)), n);
    putchar('}');
    ag_end(scope);
}

/* ---- positions --------------------------------------------------------------------------------------------------- */

/* Prints {table, products}: the vectors of `length` positions, of `width` numbers each, and their inner products. */
void EXPORT(positions_look)(int length, int width)
{
    AgScope scope = ag_begin(AG_NO_GRAD);
    PositionalEncoding *positions = nn_positional_encoding_new(width, 0, length);
    Tensor *table = ag_reshape(positions->pe, SHAPE(length, width)), *products = ag_linear(table, table, NULL);
    putchar('{');
    json_reals("table", tensor_data(table), tensor_numel(table));
    putchar(',');
    json_reals("products", tensor_data(products), tensor_numel(products));
    putchar('}');
    ag_free(positions);
    ag_end(scope);
}

/* ---- masks ------------------------------------------------------------------------------------------------------- */

/* Attention of n words to each other, of which the last `padded` are padding, with the causal mask, that of the padding, both
 * or none. Prints {scores, mask, weights, sums, gradient, keys}: sums of each row of weights; the gradient at the scores; for
 * each word the norm of the gradient at its key and value. `after`: softmax of all scores, whose hidden weights become 0. */
void EXPORT(masks_look)(int n, int padded, int causal, int padding, int after, int seed)
{
    enum { K = 8 };
    AgScope scope = ag_begin(AG_RECORD);
    ag_seed((uint64_t)seed);
    Tensor *ids = tensor_ints(SHAPE(1, n), NULL);
    for (int i = 0; i < n; i++) {
        tensor_mutable_int_data(ids)[i] = i < n - padded;
    }
    Tensor *visible = ag_compare(AG_GE, ids, tensor_ints(SHAPE(n, 1), NULL));               /* all */
    visible = causal ? ag_and(visible, nn_causal_mask(n)) : visible;
    visible = padding ? ag_and(visible, nn_padding_mask(ids, 0)) : visible;
    Tensor *q = tensor_normal(SHAPE(1, n, K), 0, 1), *k = tensor_set_requires_grad(tensor_normal(SHAPE(1, n, K), 0, 1), true);
    Tensor *v = tensor_set_requires_grad(tensor_normal(SHAPE(1, n, K), 0, 1), true), *dz = tensor_normal(SHAPE(1, n, K), 0, 1);
    Tensor *scores = ag_retain(ag_scale(ag_matmul(q, ag_transpose(k, 1, 2)), 1 / sqrt(K)));
    Tensor *weights = after ? ag_mul(ag_softmax(scores, -1), ag_cast(visible, AG_REAL)) : ag_masked_softmax(scores, visible, 1);
    ag_retain(weights);
    ag_backward(ag_sum(ag_mul(ag_matmul(weights, v), dz)));
    Tensor *squares = ag_add(ag_mul(tensor_grad(k), tensor_grad(k)), ag_mul(tensor_grad(v), tensor_grad(v)));
    const struct { const char *key; Tensor *t; } all[] = {
        { "scores", scores }, { "mask", ag_cast(visible, AG_REAL) }, { "weights", weights },
        { "sums", ag_sum_dims(weights, DIMS(-1), false) }, { "gradient", tensor_grad(scores) },
        { "keys", ag_sqrt(ag_sum_dims(squares, DIMS(-1), false)) },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        putchar(i ? ',' : '{');
        json_reals(all[i].key, tensor_data(all[i].t), tensor_numel(all[i].t));
    }
    putchar('}');
    ag_end(scope);
}
