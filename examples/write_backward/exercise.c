/* exercise.c: write the backward rule of this operation, then run: sh examples/run.sh write_backward */
#include "exercise.h"

/* y[i][j] = w[j] x[i][j]^2, with x = in[0] (rows, columns) and w = in[1] (columns). */
static void forward(const AgCustomCall *c)
{
    const ag_real *x = tensor_data(c->in[0]), *w = tensor_data(c->in[1]);
    ag_real *y = tensor_mutable_data(c->y);
    int64_t rows = tensor_dim(c->y, 0), columns = tensor_dim(c->y, 1);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            y[i * columns + j] = w[j] * x[i * columns + j] * x[i * columns + j];
        }
    }
}

/* Given: dy, of y's shape, the derivative of the loss by each y[i][j]. To compute: dx, of x's shape, and dw, of w's shape.
 * By the chain rule they are the derivative of each y[i][j] by x[i][j] and by w[j], times dy[i][j]. Other operations may also
 * use x and w, so add to the values there: dx[...] += ... */
static void backward(const AgCustomCall *c)
{
    const ag_real *x = tensor_data(c->in[0]), *w = tensor_data(c->in[1]), *dy = c->dy;
    ag_real *dx = c->dx[0], *dw = c->dx[1];
    int64_t rows = tensor_dim(c->y, 0), columns = tensor_dim(c->y, 1);
    (void)x, (void)w, (void)dy, (void)dx, (void)dw;             /* no warning while they are unused */
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            /* your code; x[i][j] is x[i * columns + j] */
        }
    }
}

/* AG_NEEDS_X(0) + AG_NEEDS_X(1): the rule reads the values of both inputs. Then two formulas, which ag_explain prints; in
 * them, x0 is in[0], here x, and x1 is in[1], here w. The second formula is that of the rule, "dx0 = ..., dx1 = ...": write it,
 * too; NULL: none. */
const AgCustom weighted_square = { "weighted_square", forward, backward, AG_NEEDS_X(0) + AG_NEEDS_X(1),
                                   "x1 x0^2", NULL };
