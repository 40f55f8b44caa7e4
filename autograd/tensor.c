/* tensor.c: creates tensors, reads them, and checks the arguments that are tensors. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

static void check_ndim(AgSite at, const char *what, int ndim)
{
    if (ndim < 0 || ndim > AG_MAX_DIMS) ag_usage_error(at, what, "%d dimensions; a tensor has 0 to %d", ndim, AG_MAX_DIMS);
}

int64_t ag_shape_numel_at(AgSite at, AgShape shape)
{
    check_ndim(at, "ag_shape_numel", shape.ndim);
    int64_t n = 1;                          /* of the sizes that are not 0: strides are products of some of them */
    bool empty = false;
    for (int i = 0; i < shape.ndim; i++) {
        if (shape.dim[i] == 0) empty = true;
        else if (__builtin_mul_overflow(n, shape.dim[i], &n)) return -1;
    }
    return empty ? 0 : n;
}

bool ag_shape_equal_at(AgSite at, AgShape a, AgShape b)
{
    check_ndim(at, "ag_shape_equal", a.ndim);
    check_ndim(at, "ag_shape_equal", b.ndim);
    if (a.ndim != b.ndim) return false;
    for (int i = 0; i < a.ndim; i++)
        if (a.dim[i] != b.dim[i]) return false;
    return true;
}

const char *ag_shape_text_at(AgSite at, AgShape shape, char text[AG_SHAPE_TEXT])
{
    ag_check_pointer_at(at, "ag_shape_text", "text", text);
    check_ndim(at, "ag_shape_text", shape.ndim);
    int n = snprintf(text, AG_SHAPE_TEXT, "(");
    for (int i = 0; i < shape.ndim; i++)
        n += snprintf(text + n, (size_t)(AG_SHAPE_TEXT - n), i ? ", %lld" : "%lld", (long long)shape.dim[i]);
    snprintf(text + n, (size_t)(AG_SHAPE_TEXT - n), shape.ndim == 1 ? ",)" : ")");
    return text;
}

int64_t check_shape(AgSite at, const char *what, const AgShape *shape)
{
    char text[AG_SHAPE_TEXT];
    check_ndim(at, what, shape->ndim);
    for (int i = 0; i < shape->ndim; i++)
        if (shape->dim[i] < 0) ag_usage_error(at, what, "negative size in shape %s", ag_shape_text(*shape, text));
    int64_t n = ag_shape_numel(*shape);
    if (n < 0) ag_usage_error(at, what, "shape %s has more items than can be counted", ag_shape_text(*shape, text));
    return n;
}

size_t dtype_size(AgDType dtype)
{
    return dtype == AG_REAL ? sizeof(real) : dtype == AG_INT ? sizeof(int32_t) : sizeof(uint8_t);
}

const char *dtype_name(AgDType dtype)
{
    return dtype == AG_REAL ? "AG_REAL" : dtype == AG_INT ? "AG_INT" : "AG_BOOL";
}

/* ---- creating ---------------------------------------------------------------------------------------------------- */

static size_t checked_bytes(AgSite at, const char *what, int64_t numel, AgDType dtype)
{
    if ((uint64_t)numel > SIZE_MAX / 8)
        ag_usage_error(at, what, "a tensor of %lld items is too large for this machine", (long long)numel);
    return (size_t)numel * dtype_size(dtype);
}

/* The struct, on the tape, without memory for values. From here on the scope frees it, also after an error. */
static Tensor *tensor_header(AgSite at, const char *what, const AgShape *shape, AgDType dtype)
{
    Context *c = context();
    if (c->depth == 0) ag_usage_error(at, what, "no scope is open to own the result: call ag_begin first");
    int64_t numel = check_shape(at, what, shape);
    Tensor *t = scope_alloc(at, what, sizeof *t);
    t->magic = TENSOR_ALIVE;
    t->dtype = (uint8_t)dtype;
    t->precision = (uint8_t)c->precision;
    t->thread = c;
    t->shape = *shape;
    t->numel = numel;
    t->site = at;
    t->user_site = user_site_now(c);
    t->made_by = what;
    t->older = c->tape;
    c->tape = t;
    return t;
}

Tensor *tensor_new(AgSite at, const char *what, const AgShape *shape, AgDType dtype)
{
    Tensor *t = tensor_header(at, what, shape, dtype);
    t->buffer = buffer_new(at, what, checked_bytes(at, what, t->numel, dtype));
    t->data = buffer_data(t->buffer);
    return t;
}

Tensor *tensor_alias(AgSite at, const char *what, const AgShape *shape, AgDType dtype, Buffer *buffer)
{
    Tensor *t = tensor_header(at, what, shape, dtype);
    if (!buffer) return t;
    t->buffer = buffer_share(buffer);
    t->data = buffer_data(buffer);
    return t;
}

/* The destructor of tensors that no scope owns. */
static void tensor_destroy(void *p)
{
    Tensor *t = p;
    buffer_release(t->buffer);
    buffer_release(t->grad);
    buffer_release(t->kept_grad);
    buffer_release(t->packed);
    free(t->name);
    t->magic = TENSOR_DEAD;
    t->data = NULL;
    t->buffer = t->grad = t->kept_grad = t->packed = NULL;
    t->name = NULL;
}

/* A tensor that no scope owns, without a value. */
static Tensor *owned_header(AgSite at, const char *what, const AgShape *shape, AgDType dtype)
{
    Tensor *t = ag_alloc_at(at, 1, sizeof *t);
    ag_on_free(t, tensor_destroy);
    *t = (Tensor){ .magic = TENSOR_ALIVE, .dtype = (uint8_t)dtype, .owned = true, .shape = *shape,
                   .numel = ag_shape_numel_at(at, *shape), .site = at, .made_by = what };
    return t;
}

Tensor *tensor_new_owned_at(AgSite at, AgShape shape, AgDType dtype)
{
    if ((int)dtype < AG_REAL || dtype > AG_BOOL)
        ag_usage_error(at, "tensor_new_owned", "%d is not an AgDType; expected AG_REAL, AG_INT or AG_BOOL", (int)dtype);
    int64_t numel = check_shape(at, "tensor_new_owned", &shape);
    size_t bytes = checked_bytes(at, "tensor_new_owned", numel, dtype);
    Tensor *t = owned_header(at, "tensor_new_owned", &shape, dtype);
    t->buffer = buffer_new_lasting(at, "tensor_new_owned", bytes);
    t->data = memset(buffer_data(t->buffer), 0, bytes);
    return t;
}

Tensor *ag_take_gradient_at(AgSite at, Tensor *leaf)
{
    check_leaf(at, "ag_take_gradient", "the leaf", leaf);
    if (!leaf->grad) return NULL;
    Tensor *t = owned_header(at, "ag_take_gradient", &leaf->shape, AG_REAL);
    t->buffer = leaf->grad;
    t->data = buffer_data(t->buffer);
    leaf->grad = NULL;
    return t;
}

void ag_put_gradient_at(AgSite at, Tensor *leaf, Tensor *gradient)
{
    check_leaf(at, "ag_put_gradient", "the leaf", leaf);
    check_tensor(at, "ag_put_gradient", "the gradient", gradient, AG_REAL);
    if (!gradient->owned || gradient->op || gradient->numel != leaf->numel)
        ag_usage_error(at, "ag_put_gradient", "expected the result of ag_take_gradient of this leaf");
    buffer_release(leaf->grad);
    leaf->grad = buffer_share(gradient->buffer);
    ag_free_at(at, gradient);
}

void tensor_free_at(AgSite at, Tensor *t)
{
    if (!t) return;
    if (t->magic != TENSOR_ALIVE || !t->owned)
        ag_usage_error(at, "tensor_free", "this tensor belongs to a scope, or was freed already");
    if (block_has_owner(t))
        ag_usage_error(at, "tensor_free", "this tensor belongs to a module or another object, which frees it");
    ag_free_at(at, t);
}

static Tensor *constant(AgSite at, const char *what, const AgShape *shape, double value)
{
    Tensor *t = tensor_new(at, what, shape, AG_REAL);
    k_fill(t->numel, t->data, (real)value);
    return t;
}

Tensor *tensor_zeros_at(AgSite at, AgShape shape)
{
    return constant(at, "tensor_zeros", &shape, 0);
}

Tensor *tensor_ones_at(AgSite at, AgShape shape)
{
    return constant(at, "tensor_ones", &shape, 1);
}

Tensor *tensor_full_at(AgSite at, AgShape shape, double value)
{
    return constant(at, "tensor_full", &shape, value);
}

Tensor *tensor_arange_at(AgSite at, double start, double stop, double step)
{
    double count = (stop - start) / step;
    if (!(step != 0) || !(count < 1e15))
        ag_usage_error(at, "tensor_arange", "from %g to %g by %g has no end", start, stop, step);
    int64_t n = count > 0 ? (int64_t)count : 0;
    if ((double)n < count) n++;
    Tensor *t = tensor_new(at, "tensor_arange", &SHAPE(n), AG_REAL);
    for (int64_t i = 0; i < n; i++) reals(t)[i] = (real)(start + (double)i * step);
    return t;
}

static Tensor *tensor_filled(AgSite at, const char *what, const AgShape *shape, AgDType dtype, const void *values)
{
    Tensor *t = tensor_new(at, what, shape, dtype);
    size_t bytes = (size_t)t->numel * dtype_size(dtype);
    if (bytes && values) memcpy(t->data, values, bytes);
    else if (bytes) memset(t->data, 0, bytes);
    return t;
}

Tensor *tensor_from_at(AgSite at, AgShape shape, const real *values)
{
    if (!values) ag_usage_error(at, "tensor_from", "values is NULL; tensor_zeros makes zeros");
    return tensor_filled(at, "tensor_from", &shape, AG_REAL, values);
}

Tensor *tensor_ints_at(AgSite at, AgShape shape, const int32_t *values)
{
    return tensor_filled(at, "tensor_ints", &shape, AG_INT, values);
}

Tensor *tensor_bools_at(AgSite at, AgShape shape, const uint8_t *values)
{
    Tensor *t = tensor_filled(at, "tensor_bools", &shape, AG_BOOL, values);
    for (int64_t i = 0; i < t->numel; i++) bools(t)[i] = bools(t)[i] != 0;
    return t;
}

Tensor *ag_keep_at(AgSite at, const Tensor *t)
{
    check_any(at, "ag_keep", "t", t);
    Tensor *kept = tensor_new_owned_at(at, t->shape, t->dtype);
    memcpy(kept->data, t->data, (size_t)t->numel * dtype_size(t->dtype));
    return kept;
}

Tensor *ag_detach_at(AgSite at, Tensor *t)
{
    check_any(at, "ag_detach", "t", t);
    return tensor_alias(at, "ag_detach", &t->shape, t->dtype, t->buffer);
}

/* ---- checking ---------------------------------------------------------------------------------------------------- */

void check_alive(AgSite at, const char *what, const char *argument, const Tensor *t)
{
    char place[PLACE_TEXT];
    if (!t) ag_usage_error(at, what, "%s is NULL", argument);
    if (t->magic == TENSOR_DEAD)
        ag_usage_error(at, what, "%s is not a live tensor: it was made by %.*s at %s, and %s", argument,
                       name_length(t->made_by), t->made_by, place_text(t->site, t->user_site, place),
                       t->owned ? "freed" : "its scope has ended");
    if (t->magic != TENSOR_ALIVE)
        ag_usage_error(at, what, "%s is not a live tensor: its scope has ended, or it was freed", argument);
}

void check_tensor(AgSite at, const char *what, const char *argument, const Tensor *t, AgDType dtype)
{
    check_alive(at, what, argument, t);
    if (t->dtype != dtype)
        ag_usage_error(at, what, "%s is %s, expected %s", argument, dtype_name(t->dtype), dtype_name(dtype));
    const Tensor *rule = context()->rule;
    if (rule && !declares(rule, t)) error_undeclared_read(t);
    char place[PLACE_TEXT];
    if (!t->data && t->dropped && !t->graph_released) value_again((Tensor *)t, false);
    if (!t->data)
        ag_usage_error(at, what, "the value of %s (%.*s made at %s) was released by backward; call ag_retain on it first",
                       argument, name_length(t->made_by), t->made_by, place_text(t->site, t->user_site, place));
}

void check_leaf(AgSite at, const char *what, const char *argument, const Tensor *t)
{
    if (t->op && t != context()->forward)
        ag_usage_error(at, what, "%s was made by %s and is part of a graph; only leaves are written", argument, t->op->name);
}

void *values_to_write(AgSite at, const char *what, const char *argument, Tensor *t, AgDType dtype)
{
    check_tensor(at, what, argument, t, dtype);
    check_leaf(at, what, argument, t);
    const Context *c = context();
    t->buffer->version++;
    t->buffer->written = c->calls > 0 ? c->call[0].site : at;
    t->buffer->writer = c->calls > 0 ? c->call[0].function : what;
    return t->data;
}

int check_dim(AgSite at, const char *what, const Tensor *x, int dim)
{
    int ndim = x->shape.ndim;
    int d = dim < 0 ? dim + ndim : dim;
    char text[AG_SHAPE_TEXT];
    if (d < 0 || d >= ndim)
        ag_usage_error(at, what, "there is no dimension %d in shape %s", dim, ag_shape_text(x->shape, text));
    return d;
}

int check_along(AgSite at, const char *what, const Tensor *x, int dim)
{
    return x->shape.ndim == 0 && (dim == 0 || dim == -1) ? 0 : check_dim(at, what, x, dim);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

AgShape tensor_shape_at(AgSite at, const Tensor *t)
{
    check_alive(at, "tensor_shape", "t", t);
    return t->shape;
}

int tensor_ndim_at(AgSite at, const Tensor *t)
{
    check_alive(at, "tensor_ndim", "t", t);
    return t->shape.ndim;
}

int64_t tensor_numel_at(AgSite at, const Tensor *t)
{
    check_alive(at, "tensor_numel", "t", t);
    return t->numel;
}

AgDType tensor_dtype_at(AgSite at, const Tensor *t)
{
    check_alive(at, "tensor_dtype", "t", t);
    return t->dtype;
}

int64_t tensor_dim_at(AgSite at, const Tensor *t, int dim)
{
    check_alive(at, "tensor_dim", "t", t);
    return t->shape.dim[check_dim(at, "tensor_dim", t, dim)];
}

const real *tensor_data_at(AgSite at, const Tensor *t)
{
    check_tensor(at, "tensor_data", "t", t, AG_REAL);
    return t->data;
}

const int32_t *tensor_int_data_at(AgSite at, const Tensor *t)
{
    check_tensor(at, "tensor_int_data", "t", t, AG_INT);
    return t->data;
}

const uint8_t *tensor_bool_data_at(AgSite at, const Tensor *t)
{
    check_tensor(at, "tensor_bool_data", "t", t, AG_BOOL);
    return t->data;
}

real *tensor_mutable_data_at(AgSite at, Tensor *t)
{
    return values_to_write(at, "tensor_mutable_data", "t", t, AG_REAL);
}

int32_t *tensor_mutable_int_data_at(AgSite at, Tensor *t)
{
    return values_to_write(at, "tensor_mutable_int_data", "t", t, AG_INT);
}

uint8_t *tensor_mutable_bool_data_at(AgSite at, Tensor *t)
{
    return values_to_write(at, "tensor_mutable_bool_data", "t", t, AG_BOOL);
}

double tensor_item_at(AgSite at, const Tensor *t)
{
    check_any(at, "tensor_item", "t", t);
    char text[AG_SHAPE_TEXT];
    if (t->numel != 1) ag_usage_error(at, "tensor_item", "shape %s has not one item", ag_shape_text(t->shape, text));
    return t->dtype == AG_REAL ? (double)*reals(t) : t->dtype == AG_INT ? (double)*ints(t) : (double)*bools(t);
}

void tensor_copy_at(AgSite at, Tensor *dst, const Tensor *src)
{
    check_any(at, "tensor_copy", "dst", dst);
    check_tensor(at, "tensor_copy", "src", src, dst->dtype);
    char a[AG_SHAPE_TEXT], b[AG_SHAPE_TEXT];
    if (!ag_shape_equal(dst->shape, src->shape))
        ag_usage_error(at, "tensor_copy", "dst %s and src %s differ in shape", ag_shape_text(dst->shape, a),
                       ag_shape_text(src->shape, b));
    void *values = values_to_write(at, "tensor_copy", "dst", dst, dst->dtype);
    if (values != src->data) memcpy(values, src->data, (size_t)src->numel * dtype_size(src->dtype));
}

Tensor *tensor_name_at(AgSite at, Tensor *t, const char *name)
{
    check_alive(at, "tensor_name", "t", t);
    if (!name) ag_usage_error(at, "tensor_name", "the name is NULL");
    char *copy = strdup(name);              /* not ag_strdup: the tensor frees it, whatever unwinds */
    if (!copy) ag_usage_error(at, "tensor_name", "no memory for a name");
    free(t->name);
    t->name = copy;
    return t;
}

const char *tensor_get_name_at(AgSite at, const Tensor *t)
{
    check_alive(at, "tensor_get_name", "t", t);
    return t->name ? t->name : "";
}
