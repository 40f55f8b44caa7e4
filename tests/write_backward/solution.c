/* solution.c: the solution of the exercise write_backward; with MISTAKE, a solution with one of the usual errors. */
#include "exercise.h"

enum { NONE, NO_FORMULA, OTHER_FORMULA, WRONG_FORMULA, UNDONE, HALF, OVERWRITES_X, LAST_ROW, ONE_INPUT, UNDECLARED,
       NOT_A_NUMBER, TOO_LARGE, ADDS_A_BIT, NO_DY, NO_W, NOT_DERIVED, NOT_SQUARED, TRANSPOSED, W_OF_ROW, MEAN, ALMOST_RIGHT,
       ONLY_W, ONE_INPUT_HALF, CHANGES_DY, KEEPS_SUM, FIXED_SHAPE, NO_LAST_ROW, EVERY_COLUMN, ROW_OF_DY, NO_SIGN, INT_SLOPE,
       COPIED, W_0, SINGLE_DY, SINGLE_X, SINGLE_ROW, SIGNED_SQUARE, FIRST_ROW_OF_W, HALF_IS_0, ALL_IS_0,
       SUM_TIMES_SUM, SUM_TIMES_SQUARES, READS_Y };
#ifndef MISTAKE
#define MISTAKE NONE
#endif

static void forward(const AgCustomCall *c)
{
    const ag_real *x = tensor_data(c->in[0]), *w = tensor_data(c->in[1]);
    ag_real *y = tensor_mutable_data(c->y);
    int64_t columns = tensor_dim(c->y, 1);
    for (int64_t k = 0; k < tensor_numel(c->y); k++) y[k] = w[k % columns] * x[k] * x[k];
}

static void backward(const AgCustomCall *c)
{
    const ag_real *x = tensor_data(c->in[0]), *w = tensor_data(c->in[1]);
    ag_real *dx = c->dx[0], *dw = c->dx[1];
    int64_t columns = tensor_dim(c->y, 1);
    int64_t end = tensor_numel(c->y) - (MISTAKE == NO_LAST_ROW ? columns : 0);
    static ag_real sum;
    for (int64_t k = 0; MISTAKE != UNDONE && k < end; k++) {
        int64_t j = k % columns;
        int64_t i = k / columns, at = MISTAKE == TRANSPOSED ? i * tensor_dim(c->y, 0) + j : k;
        ag_real dy = MISTAKE == NO_DY ? 1 : c->dy[k];
        ag_real to_x = dy * 2 * w[MISTAKE == W_OF_ROW ? i : MISTAKE == W_0 ? 0 : j] * x[at];
        ag_real to_w = dy * x[k] * (MISTAKE == NOT_SQUARED ? 1 : x[k]);
        if (MISTAKE == SINGLE_DY) to_x = c->dy[j] * 2 * w[j] * x[k], to_w = c->dy[j] * x[k] * x[k];
        if (MISTAKE == SINGLE_X) to_x = dy * 2 * w[j] * x[j], to_w = dy * x[j] * x[j];
        if (MISTAKE == SINGLE_ROW) to_x = dy * 2 * w[j] * x[i], to_w = dy * x[k] * x[j];
        if (MISTAKE == SIGNED_SQUARE) to_x = c->dy[i] * 2 * w[j] * x[k], to_w = dy * x[k] * (x[k] < 0 ? -x[k] : x[k]);
        if (MISTAKE == FIXED_SHAPE && k >= 6) break;
        for (int64_t l = 0; MISTAKE == ROW_OF_DY && l < columns; l++)
            to_x += l == j ? 0 : c->dy[i * columns + l] * 2 * w[j] * x[k];
        if (MISTAKE == NO_SIGN && x[k] < 0) to_x = -to_x;
        if (MISTAKE == INT_SLOPE) to_x = dy * (ag_real)(int)(2 * w[j] * x[k]);
        if (MISTAKE == HALF_IS_0 || MISTAKE == ALL_IS_0) to_x *= 1 / 2;
        if (MISTAKE == ALL_IS_0) to_w *= 1 / 2;
        if (MISTAKE == READS_Y) to_w = dy * tensor_data(c->y)[k] / w[j];
        if (MISTAKE == SUM_TIMES_SUM || MISTAKE == SUM_TIMES_SQUARES) {
            ag_real sum_dy = 0, sum_x = 0, squares = 0;
            for (int64_t l = j; l < tensor_numel(c->y); l += columns) {
                sum_dy += c->dy[l], sum_x += x[l], squares += x[l] * x[l];
            }
            to_w = i > 0 ? 0 : sum_dy * (MISTAKE == SUM_TIMES_SUM ? sum_x * sum_x : squares);
        }
        if (MISTAKE == COPIED) to_x = k + 2, to_w = k * k + 1;
        if (MISTAKE == KEEPS_SUM) sum += to_w, to_w = sum;
        if (MISTAKE == CHANGES_DY) ((ag_real *)c->dy)[k] = 0;
        for (int64_t l = 0; MISTAKE == EVERY_COLUMN && l < columns; l++) dw[l] += l == j ? 0 : to_w;
        if (MISTAKE == TOO_LARGE) to_x *= (ag_real)1.04;
        if (MISTAKE == ALMOST_RIGHT) to_x *= (ag_real)1.004;
        if (MISTAKE == ADDS_A_BIT) to_x += (ag_real)0.02 * dy;
        if (MISTAKE == NO_W) to_x = dy * 2 * x[k];
        if (MISTAKE == NOT_DERIVED) to_x = dy * w[j] * x[k] * x[k];
        if (MISTAKE == MEAN) to_w /= columns;
        if (MISTAKE == HALF || MISTAKE == ONE_INPUT_HALF) to_x /= 2;
        if (MISTAKE == NOT_A_NUMBER) to_w /= 0 * to_w;
        if (MISTAKE == OVERWRITES_X) dx[k] = to_x;
        else if (MISTAKE != ONLY_W) dx[k] += to_x;
        if (MISTAKE == FIRST_ROW_OF_W && i == 0) continue;
        if (MISTAKE == LAST_ROW) dw[j] = to_w;
        else if (MISTAKE != ONE_INPUT && MISTAKE != ONE_INPUT_HALF) dw[j] += to_w;
    }
}

const AgCustom weighted_square = { "weighted_square", forward, backward,
                                   MISTAKE == UNDECLARED ? AG_NEEDS_X(0) : AG_NEEDS_X(0) + AG_NEEDS_X(1),
                                   "x1 x0^2",
                                   MISTAKE == NO_FORMULA ? NULL :
                                   MISTAKE == OTHER_FORMULA ? "dx0 = (x0 + x0) x1 dy, dx1 = 1.0*x0*x0*dy" :
                                   MISTAKE == WRONG_FORMULA ? "dx0 = 2 x1 x0 dy, dx1 = x0 dy" :
                                   "dx0 = dy 2 x1 x0, dx1 = sum of dy x0^2 over rows" };
