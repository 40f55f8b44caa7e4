/* custom.h: operations that the program defines. */
#ifndef KAERU_PUBLIC_CUSTOM_H
#define KAERU_PUBLIC_CUSTOM_H

#include "kaeru/shape.h"

AG_PUBLIC_BEGIN

/* If the operations of autograd.h are not enough, write your own: a loop for forward, and one for
 * backward. For y = x^3:
 *
 *     static void forward(const AgCustomCall *c)
 *     {
 *         const ag_real *x = tensor_data(c->in[0]);
 *         ag_real *y = tensor_mutable_data(c->y);
 *         for (int64_t i = 0; i < tensor_numel(c->y); i++) {
 *             y[i] = x[i] * x[i] * x[i];
 *         }
 *     }
 *
 *     static void backward(const AgCustomCall *c)
 *     {
 *         const ag_real *x = tensor_data(c->in[0]);
 *         for (int64_t i = 0; i < tensor_numel(c->y); i++) {
 *             c->dx[0][i] += c->dy[i] * 3 * x[i] * x[i];
 *         }
 *     }
 *
 *     static const AgCustom cube = { "cube", forward, backward, AG_NEEDS_X(0),
 *                                    "x^3", "dx = dy 3 x^2" };
 *     Tensor *y = ag_custom(&cube, tensor_shape(x), (Tensor *[]){ x }, 1, NULL, 0);
 *
 * It is then an operation like the others: ag_explain explains it, ag_graph_frame draws it, and
 * ag_find_nan searches its values. Check it with ag_gradcheck. */
enum { AG_CUSTOM_INPUTS = 16 };
#define AG_NEEDS_NONE 0
#define AG_NEEDS_X(i) (1 << (i))                    /* the value of input i */
#define AG_NEEDS_Y    (1 << AG_CUSTOM_INPUTS)       /* the value of the result */
typedef struct {
    Tensor *const *in;          /* the inputs; NULL for an absent one */
    int n;
    Tensor *y;                  /* forward writes its values, which begin as zeros */
    const void *args;           /* the copy of ag_custom's `args` */
    /* For backward; in forward, both are NULL: */
    const ag_real *dy;          /* the complete gradient of y */
    ag_real *const *dx;         /* backward adds the gradient of input i to dx[i]. NULL if the input
                                   requires none */
} AgCustomCall;
typedef struct {
    const char *name;
    void (*forward)(const AgCustomCall *c), (*backward)(const AgCustomCall *c);
    int needs;                  /* the values that backward reads: AG_NEEDS_X(0) | ... To read
                                   another value is a usage error */
    const char *forward_text, *backward_text;   /* formulas for ag_explain, with inputs x, or x0,
                                                   x1, ... NULL: none */
} AgCustom;
/* Computes and records y, of that shape, from n inputs of any type, 0 to AG_CUSTOM_INPUTS. The
 * `size` bytes at `args` are copied. `op` must outlive the graph. If backward needs other values,
 * compute them before the call and pass them as an input. */
Tensor *ag_custom(const AgCustom *op, AgShape shape, Tensor *const *in, int n, const void *args,
                  size_t size);

#include "kaeru/calls/custom.h"

AG_PUBLIC_END

#endif
