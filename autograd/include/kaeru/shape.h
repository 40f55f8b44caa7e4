/* shape.h: the type Tensor, the shape of a tensor and the type of its items.
 *
 *     AgShape s = SHAPE(2, 3);
 *     printf("%s has %lld items\n", ag_shape_string(s), (long long)ag_shape_numel(s));
 */
#ifndef KAERU_PUBLIC_SHAPE_H
#define KAERU_PUBLIC_SHAPE_H

#include "kaeru/places.h"

AG_PUBLIC_BEGIN

/* A dense row-major array with a shape: see tensor.h. Its members are private. */
typedef struct Tensor Tensor;

/* A shape: ndim sizes of 0 or more. A scalar has 0 dimensions. */
#define AG_MAX_DIMS 8
typedef struct { int ndim; int64_t dim[AG_MAX_DIMS]; } AgShape;
#ifdef __cplusplus
#define SHAPE(...) (ag_list_of<AgShape, int64_t>(__VA_ARGS__))
#else
#define SHAPE(...) \
    ((AgShape){ (int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), { __VA_ARGS__ } })
#endif
#define AG_SCALAR (AG_VALUE(AgShape){ 0, { 0 } })

/* A list of dimensions, for example DIMS(0, 2) or DIMS(-1). Negative ones count from the last. */
typedef struct { int n; int dim[AG_MAX_DIMS]; } AgDims;
#ifdef __cplusplus
#define DIMS(...) (ag_list_of<AgDims, int>(__VA_ARGS__))
extern "C++" {
/* `| 0` refuses fractions. */
template <class List, class Item, class... Number> List ag_list_of(Number... item)
{
    return List{ static_cast<int>(sizeof...(item)), { static_cast<Item>(item | 0)... } };
}
}
#else
#define DIMS(...) \
    ((AgDims){ (int)(sizeof((int[]){ __VA_ARGS__ }) / sizeof(int)), { __VA_ARGS__ } })
#endif

/* The type of a tensor's items. */
typedef enum {
    AG_REAL,        /* ag_real: float32, in libkaeru_double float64 */
    AG_INT,         /* int32_t: token ids, indices, targets */
    AG_BOOL,        /* uint8_t, 0 or 1: masks. In attention, true means visible; in ag_masked_fill,
                       true items are replaced */
    AG_PACKED       /* a frozen matrix in bfloat16: see ag_freeze_bf16 */
} AgDType;

/* Writes a shape as text, "(3, 4)", and returns the text. */
#define AG_SHAPE_TEXT 192
const char *ag_shape_text(AgShape shape, char text[AG_SHAPE_TEXT]);
/* In C: the text of a shape for a message. It is valid in the block of the call. */
#define ag_shape_string(shape) ag_shape_text(shape, (char[AG_SHAPE_TEXT]){ 0 })

/* Returns whether a and b have the same sizes. */
bool    ag_shape_equal(AgShape a, AgShape b);
/* Returns the number of items. Returns -1 if the product of the sizes that are not 0 is 2^63 or
 * more, so also for (2^62, 4, 0). */
int64_t ag_shape_numel(AgShape shape);

#include "kaeru/calls/shape.h"

AG_PUBLIC_END

#endif
