/* bf16_weights.c: weights in bfloat16, which take half of the memory: copies of weights
 * (ag_pack_weight), and tensors of type AG_PACKED, which have no other values (ag_freeze_bf16).
 *
 * Their numbers stand in the order of k_pack_b (kernels.h), in which products read them: in panels
 * of K_PANEL rows. */
#include "bf16.h"
#include "bf16_weights.h"
#include "buffers.h"
#include "checks.h"
#include "kaeru/bf16.h"
#include "kaeru/tensor.h"
#include "kernels.h"
#include "shape.h"
#include "tensor_struct.h"

size_t value_bytes(const AgShape *shape, AgDType dtype)
{
    if (dtype == AG_PACKED) {
        return (size_t)k_packed_items(shape->dim[0], shape->dim[1]) * sizeof(uint32_t);
    }
    return (size_t)ag_shape_numel(*shape) * dtype_size(dtype);
}

void check_packed_shape(const char *what, const AgShape *shape)
{
    /* A row has up to 31 zeros more, and the matrix 15 rows: this keeps the sums in range. */
    const uint64_t most = SIZE_MAX / 1024;
    bool is_matrix = shape->ndim == 2 && shape->dim[1] % 2 == 0;
    if (!is_matrix || (uint64_t)shape->dim[0] > most || (uint64_t)shape->dim[1] > most) {
        ag_usage_error(what, "shape %s, expected a matrix with an even number of columns for "
                       "AG_PACKED", shape_text(*shape));
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

uint32_t *packed_row(const uint32_t *panels, int64_t width, int64_t row)
{
    return (uint32_t *)panels + k_packed_items(row / K_PANEL * K_PANEL, width) + row % K_PANEL;
}

void unpack_row_as_reals(const Tensor *packed, int64_t row, real *out)
{
    int64_t width = packed->shape.dim[1];
    const uint32_t *from = packed_row(values(packed), width, row);
    for (int64_t pair = 0; pair < width / 2; pair++) {
        out[2 * pair] = (real)bf16_of_pair(from[pair * K_PANEL], 0);
        out[2 * pair + 1] = (real)bf16_of_pair(from[pair * K_PANEL], 1);
    }
}

/* ---- copies of weights ----------------------------------------------------------------------- */

void ag_unpack_weight(Tensor *weight)
{
    check_alive(__func__, "weight", weight);
    buffer_drop(&weight->packed.buffer);
}

/* Makes a copy of the weight in bfloat16, as weight->packed. */
static void pack_copy(const char *what, Tensor *weight)
{
    check_tensor(what, "weight", weight, AG_REAL);
    if (weight->shape.ndim != 2 || !weight->owned) {
        ag_usage_error(what, "weight %s %s, expected a matrix that no scope owns",
                       shape_text(weight->shape),
                       weight->owned ? "is no matrix" : "belongs to a scope");
    }
    ag_unpack_weight(weight);
    int64_t n = weight->shape.dim[0], k = weight->shape.dim[1];
    size_t bytes = (size_t)k_packed_items(n, k) * sizeof(uint32_t);
    weight->packed.buffer = buffer_new(what, bytes, true);
    weight->packed.version = weight->buffer->version;
    k_pack_b(&(KPackB){ n, k, k, buffer_data(weight->packed.buffer), reals(weight) });
}

void ag_pack_weight(Tensor *weight)
{
    pack_copy(__func__, weight);
}

const uint32_t *packed_weight(const Tensor *y, const Tensor *weight)
{
    if (weight->dtype == AG_PACKED) return values(weight);
    const TensorPacked *copy = &weight->packed;
    bool is_recorded = y->op != NULL;       /* a training step, which changes the weight soon */
    bool usable = copy->buffer && copy->version == weight->buffer->version &&
                  y->precision == AG_BF16 && !is_recorded;
    return usable ? buffer_data(copy->buffer) : NULL;
}

/* ---- freezing -------------------------------------------------------------------------------- */

void ag_freeze_bf16(Tensor *weight)
{
    check_leaf(__func__, "weight", weight);
    if (weight->dtype == AG_PACKED) return;
    check_tensor(__func__, "weight", weight, AG_REAL);
    check_packed_shape(__func__, &weight->shape);
    pack_copy(__func__, weight);
    Buffer *packed = weight->packed.buffer;
    packed->version = weight->buffer->version;
    count_write(__func__, packed);      /* for a graph that has read the reals */
    buffer_release(weight->buffer);
    buffer_drop(&weight->grad);
    weight->packed.buffer = NULL;
    weight->buffer = packed;
    weight->data = buffer_data(packed);
    weight->dtype = AG_PACKED;
    weight->requires_grad = false;
}
