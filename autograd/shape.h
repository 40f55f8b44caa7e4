/* shape.h: shapes, types, and the rules for operands of different shapes (broadcasting). */
#ifndef KAERU_SHAPE_H
#define KAERU_SHAPE_H

#include "tensor_struct.h"

/* ---- types ----------------------------------------------------------------------------------- */

/* Returns the number of bytes of an item. Items of AG_PACKED have at most that many. */
size_t dtype_size(AgDType dtype);
const char *dtype_name(AgDType dtype);

/* ---- shapes ---------------------------------------------------------------------------------- */

/* Returns the shape as text, for messages: "(2, 3)". */
#define shape_text ag_shape_string
/* Returns the numbers below n as text, for messages: "0..3". */
enum { RANGE_TEXT = 40 };
#define range_text(n) write_range(n, (char[RANGE_TEXT]){ 0 })
const char *write_range(int64_t n, char text[RANGE_TEXT]);

/* Checks a shape of the program: 0 to 8 dimensions, no negative size, no overflow. Returns the
 * number of items. */
int64_t check_shape(const char *what, const AgShape *shape);
/* Returns the number of a dimension, which may be negative, counted from the first one, and checks
 * that x has it. */
int  check_dim(const char *what, const Tensor *x, int dim);
/* Does the same for operations along a dimension, which take a scalar as a vector of one item. */
int  check_along(const char *what, const Tensor *x, int dim);

/* ---- broadcasting ---------------------------------------------------------------------------- */

/* Sets *y to the shape that a and b broadcast to. Returns false if there is none. */
bool  broadcast(const AgShape *a, const AgShape *b, AgShape *y);
bool  broadcasts_to(const AgShape *from, const AgShape *to);
/* Returns the shape that a and b broadcast to, and checks that there is one. */
AgShape broadcast_shape(const char *what, const Tensor *a, const Tensor *b);

/* Returns the size of dimension i of ndim, in a shape that may have fewer dimensions. */
int64_t size_in(const AgShape *s, int i, int ndim);

/* Sets the strides by which a walk over the shape `to` reads an array of shape t. Along a dimension
 * in which the array repeats, the stride is 0. */
void broadcast_strides(const AgShape *t, const AgShape *to, int64_t stride[AG_MAX_DIMS]);
/* Sets *walk to an iteration over `shape`, with the strides of a and b broadcast to it. */
void walk_over(const AgShape *shape, const AgShape *a, const AgShape *b, KWalk *walk);

/* ---- arrays with fewer dimensions ------------------------------------------------------------ */

/* Returns the number of rows of the last dimension. */
static inline int64_t row_count(const Tensor *x)
{
    int64_t rows = 1;
    for (int i = 0; i < x->shape.ndim - 1; i++) {
        rows *= x->shape.dim[i];
    }
    return rows;
}
/* An array seen as (outer, n, inner): the product of the dimensions before first..last, of these,
 * and of those behind them. */
typedef struct { int64_t outer, n, inner; } Along;
Along shape_along(const AgShape *shape, int first, int last);

#endif
