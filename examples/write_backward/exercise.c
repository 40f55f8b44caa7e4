/* exercise.c: the backward rule of this operation is yours to write. Then: sh examples/run.sh write_backward */
#include "exercise.h"

/* y[i][j] = w[j] x[i][j]^2, with x = in[0] (rows, columns) and w = in[1] (columns). */
static void forward(const AgCustomCall *c)
{
    const real *x = tensor_data(c->in[0]), *w = tensor_data(c->in[1]);
    real *y = tensor_data(c->y);
    int64_t rows = tensor_dim(c->y, 0), columns = tensor_dim(c->y, 1);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            y[i * columns + j] = w[j] * x[i * columns + j] * x[i * columns + j];
        }
    }
}

/* There is dy, of y's shape: the derivative of the loss by each y[i][j]. Wanted are dx, of x's shape, and dw, of w's,
 * by the chain rule: the derivative of each y[i][j] by x[i][j] and by w[j], times dy[i][j]. Others may use x and w,
 * too, so add to what is there: dx[...] += ... */
static void backward(const AgCustomCall *c)
{
    const real *x = tensor_data(c->in[0]), *w = tensor_data(c->in[1]), *dy = c->dy;
    real *dx = c->dx[0], *dw = c->dx[1];
    int64_t rows = tensor_dim(c->y, 0), columns = tensor_dim(c->y, 1);
    (void)x, (void)w, (void)dy, (void)dx, (void)dw;             /* no warning, as long as they are not used */
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            /* your lines; x[i][j] is x[i * columns + j] */
        }
    }
}

/* The rule reads the values of both inputs, and says so. Then come two formulas, for ag_explain to print: in them x0
 * stands for in[0], here x, and x1 for in[1], here w. The second is the rule's, "dx0 = ..., dx1 = ...": yours, too;
 * NULL: none. */
const AgCustom weighted_square = { "weighted_square", forward, backward, AG_NEEDS_X(0) + AG_NEEDS_X(1),
                                   "x1 x0^2", NULL };
