/* shape.h: shapes, types, and NumPy's rules for operands of different shapes. */
#ifndef KAERU_SHAPE_H
#define KAERU_SHAPE_H

#include "tensor_struct.h"

size_t dtype_size(AgDType dtype);                   /* of an item; of AG_PACKED, at most that */
const char *dtype_name(AgDType dtype);

/* The numbers below n, for messages: "0..3". */
enum { RANGE_TEXT = 40 };
#define range_text(n) write_range(n, (char[RANGE_TEXT]){ 0 })
const char *write_range(int64_t n, char text[RANGE_TEXT]);
/* A dimension number made non-negative and checked. */
int  check_dim(const char *what, const Tensor *x, int dim);
/* The same for operations along a dimension, which take a scalar as a vector of one item: dimension
 * 0. */
int  check_along(const char *what, const Tensor *x, int dim);

#define shape_text ag_shape_string
/* Checks a caller's shape: 0 to 8 dimensions, none negative, no overflow. Returns the number of
 * items. */
int64_t check_shape(const char *what, const AgShape *shape);
/* Sets *y to the shape that both broadcast to; false if they do not. The second form reports a
 * usage error. */
bool  broadcast(const AgShape *a, const AgShape *b, AgShape *y);
bool  broadcasts_to(const AgShape *from, const AgShape *to);
AgShape broadcast_shape(const char *what, const Tensor *a, const Tensor *b);

/* Size of dimension i (of ndim) in a shape that may have fewer. */
int64_t size_in(const AgShape *s, int i, int ndim);

/* Strides of t seen in a shape that it broadcasts to; 0 where it repeats. */
void broadcast_strides(const AgShape *t, const AgShape *to, int64_t stride[AG_MAX_DIMS]);
/* How many rows of the last dimension there are. */
static inline int64_t row_count(const Tensor *x)
{
    int64_t rows = 1;
    for (int i = 0; i < x->shape.ndim - 1; i++) {
        rows *= x->shape.dim[i];
    }
    return rows;
}
/* An array seen as (outer, n, inner): the dimensions before first..last, these, and those
 * behind. */
typedef struct { int64_t outer, n, inner; } Along;
Along shape_along(const AgShape *shape, int first, int last);
/* *walk: a strided iteration over `shape`, with the strides of a and b broadcast to it. Sets only
 * the first ndim entries. */
void walk_over(const AgShape *shape, const AgShape *a, const AgShape *b, KWalk *walk);

#endif
