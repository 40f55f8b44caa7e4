/* solution.c: the solution of the exercise write_backward; with MISTAKE, a solution with one of the usual errors. */
#include "exercise.h"

enum { NONE, NO_FORMULA, UNDONE, HALF, OVERWRITES_X, LAST_ROW, ONE_INPUT, UNDECLARED, NOT_A_NUMBER };
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
    for (int64_t k = 0; MISTAKE != UNDONE && k < tensor_numel(c->y); k++) {
        int64_t j = k % columns;
        ag_real to_x = c->dy[k] * 2 * w[j] * x[k], to_w = c->dy[k] * x[k] * x[k];
        if (MISTAKE == HALF) to_x /= 2;
        if (MISTAKE == NOT_A_NUMBER) to_w /= 0 * to_w;
        if (MISTAKE == OVERWRITES_X) dx[k] = to_x;
        else dx[k] += to_x;
        if (MISTAKE == LAST_ROW) dw[j] = to_w;
        else if (MISTAKE != ONE_INPUT) dw[j] += to_w;
    }
}

const AgCustom weighted_square = { "weighted_square", forward, backward,
                                   MISTAKE == UNDECLARED ? AG_NEEDS_X(0) : AG_NEEDS_X(0) + AG_NEEDS_X(1),
                                   "x1 x0^2",
                                   MISTAKE == NO_FORMULA ? NULL : "dx0 = dy 2 x1 x0, dx1 = sum of dy x0^2 over rows" };
