/* tensor.c: creates tensors, reads and writes their values.
 *
 * A tensor of a scope lies in the arena and is an entry of the tape (scope.c); one that no scope
 * owns is a block of ag_alloc. The values of both are a buffer, which tensors can share. */
#include "alloc.h"
#include "bf16_weights.h"
#include "buffers.h"
#include "checks.h"
#include "errors.h"
#include "kaeru/gradients.h"
#include "kaeru/tensor.h"
#include "kernels.h"
#include "scope.h"
#include "shape.h"
#include "tensor.h"
#include "tensor_struct.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- creating -------------------------------------------------------------------------------- */

/* Returns the number of bytes of that many items, and checks that they are not too many. */
static size_t checked_bytes(const char *what, int64_t numel, AgDType dtype)
{
    if ((uint64_t)numel > SIZE_MAX / 8) {
        ag_usage_error(what, "a tensor of %lld items is too large for this machine",
                       (long long)numel);
    }
    return (size_t)numel * dtype_size(dtype);
}

static Tensor *tensor_header(const char *what, const AgShape *shape, AgDType dtype)
{
    int64_t numel = check_shape(what, shape);
    Tensor *t = scope_tensor(what);
    t->dtype = (uint8_t)dtype;
    t->shape = *shape;
    t->numel = numel;
    return t;
}

Tensor *tensor_new(const char *what, const AgShape *shape, AgDType dtype)
{
    Tensor *t = tensor_header(what, shape, dtype);
    t->buffer = buffer_new(what, checked_bytes(what, t->numel, dtype), false);
    t->data = buffer_data(t->buffer);
    return t;
}

Tensor *tensor_alias(const char *what, const AgShape *shape, AgDType dtype, Buffer *buffer)
{
    Tensor *t = tensor_header(what, shape, dtype);
    if (!buffer) return t;
    t->buffer = buffer_share(buffer);
    t->data = buffer_data(buffer);
    return t;
}

Tensor *tensor_header_owned(const char *what, const AgShape *shape, AgDType dtype)
{
    Tensor *t = ag_alloc(1, sizeof *t);
    ag_on_free(t, tensor_release);
    *t = (Tensor){ .magic = TENSOR_ALIVE, .dtype = (uint8_t)dtype, .owned = true, .shape = *shape,
                   .numel = ag_shape_numel(*shape), .origin.site = call_place(),
                   .origin.made_by = what };
    return t;
}

Tensor *tensor_new_owned(AgShape shape, AgDType dtype)
{
    const char *layer = outermost_layer()->function;
    const char *what = layer ? layer : "tensor_new_owned";      /* what the program has called */
    if ((int)dtype < AG_REAL || dtype > AG_PACKED) {
        ag_usage_error(what, "%d is not an AgDType; expected AG_REAL, AG_INT, AG_BOOL or AG_PACKED",
                       (int)dtype);
    }
    if (dtype == AG_PACKED) {
        check_packed_shape(what, &shape);
    }
    checked_bytes(what, check_shape(what, &shape), dtype);
    size_t bytes = value_bytes(&shape, dtype);
    Tensor *t = tensor_header_owned(__func__, &shape, dtype);
    t->buffer = buffer_new(what, bytes, true);
    t->data = memset(buffer_data(t->buffer), 0, bytes);
    return t;
}

void tensor_free(Tensor *t)
{
    if (!t) return;
    AG_LAYER;
    if (!tensor_lives(t) || !t->owned) {
        ag_usage_error(__func__, "this tensor belongs to a scope, or was freed already");
    }
    if (block_has_owner(t)) {
        ag_usage_error(__func__, "this tensor belongs to a module or another object, which frees "
                       "it");
    }
    block_free(__func__, t);
}

static Tensor *constant(const char *what, const AgShape *shape, double value)
{
    Tensor *t = tensor_new(what, shape, AG_REAL);
    k_fill(t->numel, t->data, (real)value);
    return t;
}

Tensor *tensor_zeros(AgShape shape) { return constant(__func__, &shape, 0); }
Tensor *tensor_ones(AgShape shape) { return constant(__func__, &shape, 1); }
Tensor *tensor_full(AgShape shape, double value) { return constant(__func__, &shape, value); }

Tensor *tensor_arange(double start, double stop, double step)
{
    double count = (stop - start) / step;
    if (!(step != 0) || !(count < 1e15)) {
        ag_usage_error(__func__, "from %g to %g by %g has no end", start, stop, step);
    }
    int64_t n = count > 0 ? (int64_t)ceil(count) : 0;
    Tensor *t = tensor_new(__func__, &SHAPE(n), AG_REAL);
    for (int64_t i = 0; i < n; i++) {
        reals(t)[i] = (real)(start + (double)i * step);
    }
    return t;
}

/* Returns a tensor with these values, or with zeros if they are NULL. */
static Tensor *tensor_filled(const char *what, const AgShape *shape, AgDType dtype,
                             const void *values)
{
    Tensor *t = tensor_new(what, shape, dtype);
    size_t bytes = (size_t)t->numel * dtype_size(dtype);
    if (values) {
        memcpy(t->data, values, bytes);
    } else {
        memset(t->data, 0, bytes);
    }
    return t;
}

Tensor *tensor_from(AgShape shape, const real *values)
{
    if (!values) {
        ag_usage_error(__func__, "values is NULL; tensor_zeros makes zeros");
    }
    return tensor_filled(__func__, &shape, AG_REAL, values);
}

Tensor *tensor_ints(AgShape shape, const int32_t *values)
{
    return tensor_filled(__func__, &shape, AG_INT, values);
}

Tensor *tensor_bools(AgShape shape, const uint8_t *values)
{
    Tensor *t = tensor_filled(__func__, &shape, AG_BOOL, values);
    for (int64_t i = 0; i < t->numel; i++) {
        bools(t)[i] = bools(t)[i] != 0;
    }
    return t;
}

Tensor *tensor_clone(const Tensor *t)
{
    check_any(__func__, "t", t);
    return tensor_filled(__func__, &t->shape, (AgDType)t->dtype, t->data);
}

Tensor *ag_keep(const Tensor *t)
{
    check_tensor(__func__, "t", t, t ? (AgDType)t->dtype : AG_REAL);
    Tensor *kept = tensor_new_owned(t->shape, t->dtype);
    memcpy(kept->data, t->data, value_bytes(&t->shape, t->dtype));
    return kept;
}

Tensor *ag_detach(Tensor *t)
{
    check_any(__func__, "t", t);
    return tensor_alias(__func__, &t->shape, t->dtype, t->buffer);
}

/* Ends the scope. Replaces each of the n tensors by a new one with the same values, in the scope
 * around it. While neither tensor exists, the list of scratch memory keeps the values, so that an
 * error releases them. */
static void end_return(const char *what, AgScope scope, Tensor **t, int n)
{
    for (int i = 0; i < n; i++) {
        check_any(what, "t", t[i]);
    }
    check_inner(what, scope);
    Tensor *ended = op_scratch(what, n, sizeof *ended);
    for (int i = 0; i < n; i++) {
        bool again = false;                 /* a buffer can be in the list only once */
        for (int k = 0; k < i; k++) {
            again |= ended[k].buffer == t[i]->buffer;
        }
        if (!again) {
            op_scratch_adopt(buffer_share(t[i]->buffer));
        }
        ended[i] = *t[i];
    }
    ag_end(scope);
    for (int i = 0; i < n; i++) {
        t[i] = tensor_alias(what, &ended[i].shape, (AgDType)ended[i].dtype, ended[i].buffer);
    }
    op_scratch_end();
}

Tensor *ag_end_return(AgScope scope, Tensor *t)
{
    end_return(__func__, scope, &t, 1);
    return t;
}

void ag_end_return_list(AgScope scope, Tensor **t, int n)
{
    if (n < 1) {
        ag_usage_error(__func__, "%d tensors, expected 1 or more", n);
    }
    ag_check_pointer(__func__, "t", t);
    end_return(__func__, scope, t, n);
}

/* ---- reading --------------------------------------------------------------------------------- */

AgShape tensor_shape(const Tensor *t)
{
    check_alive(__func__, "t", t);
    return t->shape;
}

int tensor_ndim(const Tensor *t)
{
    check_alive(__func__, "t", t);
    return t->shape.ndim;
}

int64_t tensor_numel(const Tensor *t)
{
    check_alive(__func__, "t", t);
    return t->numel;
}

AgDType tensor_dtype(const Tensor *t)
{
    check_alive(__func__, "t", t);
    return t->dtype;
}

int64_t tensor_dim(const Tensor *t, int dim)
{
    check_alive(__func__, "t", t);
    return t->shape.dim[check_dim(__func__, t, dim)];
}

/* Returns the values, and checks that t has this type. */
static const void *values_to_read(const char *what, const Tensor *t, AgDType dtype)
{
    check_tensor(what, "t", t, dtype);
    return t->data;
}

const real *tensor_data(const Tensor *t) { return values_to_read(__func__, t, AG_REAL); }
const int32_t *tensor_int_data(const Tensor *t) { return values_to_read(__func__, t, AG_INT); }
const uint8_t *tensor_bool_data(const Tensor *t) { return values_to_read(__func__, t, AG_BOOL); }
real *tensor_mutable_data(Tensor *t) { return values_to_write(__func__, "t", t, AG_REAL); }
int32_t *tensor_mutable_int_data(Tensor *t) { return values_to_write(__func__, "t", t, AG_INT); }
uint8_t *tensor_mutable_bool_data(Tensor *t) { return values_to_write(__func__, "t", t, AG_BOOL); }

double tensor_item(const Tensor *t)
{
    check_any(__func__, "t", t);
    if (t->numel != 1) {
        ag_usage_error(__func__, "shape %s has not one item", shape_text(t->shape));
    }
    return element_number(t->dtype, t->data, 0);
}

void tensor_copy(Tensor *dst, const Tensor *src)
{
    check_alive(__func__, "dst", dst);
    check_tensor(__func__, "src", src, dst->dtype);
    if (!ag_shape_equal(dst->shape, src->shape)) {
        ag_usage_error(__func__, "dst %s and src %s differ in shape", shape_text(dst->shape),
                       shape_text(src->shape));
    }
    void *values = values_to_write(__func__, "dst", dst, dst->dtype);
    if (values != src->data) {
        memcpy(values, src->data, value_bytes(&src->shape, src->dtype));
    }
}

uint32_t tensor_version(const Tensor *t)
{
    check_tensor(__func__, "t", t, t ? (AgDType)t->dtype : AG_REAL);
    return t->buffer->version;
}

Tensor *tensor_name(Tensor *t, const char *name)
{
    check_alive(__func__, "t", t);
    ag_check_pointer(__func__, "the name", name);
    char *copy = strdup(name);          /* not ag_strdup: an error must not free it */
    if (!copy) {
        ag_usage_error(__func__, "no memory for a name");
    }
    free(t->origin.name);
    t->origin.name = copy;
    return t;
}

const char *tensor_get_name(const Tensor *t)
{
    check_alive(__func__, "t", t);
    return t->origin.name ? t->origin.name : "";
}
