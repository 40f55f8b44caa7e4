/* shape.h: the type Tensor, the shape of a tensor and the type of its items. */
#ifndef KAERU_PUBLIC_SHAPE_H
#define KAERU_PUBLIC_SHAPE_H

#include "kaeru/places.h"

AG_PUBLIC_BEGIN

/* A dense row-major array with a shape: see tensor.h. The struct is opaque. */
typedef struct Tensor Tensor;

#define AG_MAX_DIMS 8
/* A shape of 0 (a scalar) to 8 dimensions, each of size 0 or more. */
typedef struct { int ndim; int64_t dim[AG_MAX_DIMS]; } AgShape;
#ifdef __cplusplus
#define SHAPE(...) (ag_list_of<AgShape, int64_t>(__VA_ARGS__))
#else
#define SHAPE(...) \
    ((AgShape){ (int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), { __VA_ARGS__ } })
#endif
#define AG_SCALAR (AG_VALUE(AgShape){ 0, { 0 } })

/* A list of dimensions; negative ones count from the last: DIMS(-1), DIMS(0, 2). */
typedef struct { int n; int dim[AG_MAX_DIMS]; } AgDims;
#ifdef __cplusplus
#define DIMS(...) (ag_list_of<AgDims, int>(__VA_ARGS__))
extern "C++" {
template <class List, class Item, class... Number> List ag_list_of(Number... item)      /* `| 0`: a fraction does not compile */
{
    return List{ static_cast<int>(sizeof...(item)), { static_cast<Item>(item | 0)... } };
}
}
#else
#define DIMS(...) ((AgDims){ (int)(sizeof((int[]){ __VA_ARGS__ }) / sizeof(int)), { __VA_ARGS__ } })
#endif

typedef enum {
    AG_REAL,        /* ag_real: float32 (float64 in libkaeru_double) */
    AG_INT,         /* int32_t: token ids, indices, targets */
    AG_BOOL,        /* uint8_t 0 or 1: masks. In attention true is visible; in ag_masked_fill true is what is replaced */
    AG_PACKED       /* a frozen matrix in bfloat16: see ag_freeze_bf16 */
} AgDType;

/* Writes "(3, 4)" into text and returns text. */
#define AG_SHAPE_TEXT 192
const char *ag_shape_text(AgShape shape, char text[AG_SHAPE_TEXT]);
/* In C: the text of a shape for a message, valid in the block of the call. */
#define ag_shape_string(shape) ag_shape_text(shape, (char[AG_SHAPE_TEXT]){ 0 })

bool    ag_shape_equal(AgShape a, AgShape b);
/* The number of items. -1 if the sizes that are not 0 have a product of 2^63 or more; this holds for (2^62, 4, 0), too. */
int64_t ag_shape_numel(AgShape shape);

#include "kaeru/calls/shape.h"

AG_PUBLIC_END

#endif
