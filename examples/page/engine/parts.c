/* parts.c: three parts of a Transformer alone: the softmax of scores, layer norm, and positions. */
#include <math.h>

#include "engine.h"
#include "kaeru/attention.h"

/* ---- softmax ----------------------------------------------------------------------------------------------------- */

/* A query of K standard normal numbers and the scores of n such keys: q.k, or q.k / sqrt(K). */
static Tensor *draw_scores(int n, int64_t k, bool scaled)
{
    Tensor *q = tensor_normal(SHAPE(1, k), 0, 1), *keys = tensor_normal(SHAPE(n, k), 0, 1);
    return ag_scale(ag_linear(q, keys, NULL), scaled ? 1 / sqrt((double)k) : 1);
}

/* Prints {scores, weights} of n keys. */
void EXPORT(softmax_scores)(int n, int k, int scaled, int seed)
{
    AgScope scope = ag_begin(AG_NO_GRAD);
    ag_seed((uint64_t)seed);
    Tensor *scores = draw_scores(n, k, scaled);
    putchar('{');
    json_reals("scores", tensor_data(scores), n);
    putchar(',');
    json_reals("weights", tensor_data(ag_softmax(scores, -1)), n);
    putchar('}');
    ag_end(scope);
}

/* Prints [largest, gradient]: means over `draws` draws of the largest weight, and of the norm of the gradient at the scores
 * where the gradient of the weights is a row of n standard normal numbers. */
void EXPORT(softmax_means)(int n, int k, int scaled, int draws)
{
    double largest = 0, gradient = 0;
    ag_seed(0);
    for (int i = 0; i < draws; i++) {
        AgScope scope = ag_begin(AG_RECORD);
        Tensor *scores = tensor_set_requires_grad(ag_detach(draw_scores(n, k, scaled)), true);
        Tensor *p = ag_softmax(scores, -1);
        largest += tensor_item(ag_max(p));
        ag_backward(ag_sum(ag_mul(p, tensor_normal(SHAPE(1, n), 0, 1))));
        gradient += sqrt(ag_grad_sum_squares(scores));
        ag_end(scope);
    }
    putchar('[');
    json_number(largest / draws);
    putchar(',');
    json_number(gradient / draws);
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
