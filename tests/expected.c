/* expected.c: the functions of expected.h. */
#include "expected.h"

#include <math.h>
#include <stdlib.h>

#include "suites.h"
#include "kaeru/autograd.h"

NnTensorFile *open_safetensors(const char *path)
{
    NnTensorFile *st = st_open(path);
    ck_assert_msg(st != NULL, "%s", ag_error());
    return st;
}

Tensor *reals_of(const NnTensorFile *st, const char *name)
{
    const StTensor *from = st_find(st, name);
    ck_assert_msg(from && !from->unreadable, "%s is not in the file", name);
    Tensor *t = tensor_zeros(from->item.shape);
    ck_assert_msg(st_read(from, AG_REAL, 0, from->numel, tensor_mutable_data(t)), "%s", ag_error());
    return t;
}

Tensor *ids_of(const NnTensorFile *st, const char *name)
{
    Tensor *values = reals_of(st, name), *t = tensor_ints(tensor_shape(values), NULL);
    for (int64_t i = 0; i < tensor_numel(t); i++) tensor_mutable_int_data(t)[i] = (int32_t)tensor_data(values)[i];
    return t;
}

double largest(const Tensor *t)
{
    double most = 0;
    for (int64_t i = 0; i < tensor_numel(t); i++) most = fmax(most, fabs((double)tensor_data(t)[i]));
    return most;
}

void check_close(const char *what, const Tensor *found, const Tensor *expected, double tolerance)
{
    char text[2][AG_SHAPE_TEXT];
    AgShape a = tensor_shape(found), b = tensor_shape(expected);
    ck_assert_msg(ag_shape_equal(a, b), "%s is %s, expected %s", what, ag_shape_text(a, text[0]), ag_shape_text(b, text[1]));
    for (int64_t i = 0; i < tensor_numel(expected); i++) {
        double f = (double)tensor_data(found)[i], e = (double)tensor_data(expected)[i];
        ck_assert_msg(fabs(f - e) <= tolerance, "%s[%d] is %.9g, expected %.9g", what, (int)i, f, e);
    }
}

void check_reals(const Tensor *t, AgShape shape, const double *values)
{
    char a[AG_SHAPE_TEXT], b[AG_SHAPE_TEXT];
    ck_assert_msg(ag_shape_equal(tensor_shape(t), shape), "shape %s, expected %s", ag_shape_text(tensor_shape(t), a),
                  ag_shape_text(shape, b));
    for (int64_t i = 0; i < tensor_numel(t); i++)
        ck_assert_msg(tensor_data(t)[i] == (ag_real)values[i] || (isnan(values[i]) && isnan((double)tensor_data(t)[i])),
                      "item %d: %.9g, expected %.9g", (int)i, (double)tensor_data(t)[i], values[i]);
}

void check_same_parameters(void *left, void *right)
{
    NnParameters *p = nn_parameters(left), *q = nn_parameters(right);
    ck_assert_int_eq(p->n, q->n);
    for (int i = 0; i < p->n; i++) {
        Tensor *a = p->item[i].tensor, *b = q->item[i].tensor;
        ck_assert_str_eq(p->item[i].name, q->item[i].name);
        ck_assert_int_eq(tensor_numel(a), tensor_numel(b));
        ck_assert_msg(memcmp(tensor_data(a), tensor_data(b), (size_t)tensor_numel(a) * sizeof(ag_real)) == 0,
                      "%s differs", p->item[i].name);
    }
    ag_free(q);
    ag_free(p);
}

static void explain(FILE *f, Tensor *t) { ag_explain(f, t); }
/* Draws the last frame, over the first one. */
static void draw(FILE *f, Tensor *t)
{
    int frames = ag_graph_frame(f, t, 0);
    rewind(f);
    ag_graph_frame(f, t, frames - 1);
}
static void print(FILE *f, Tensor *t)   { tensor_fprint(f, t); }

char *text_of(FILE *f)
{
    size_t size = (size_t)ftell(f);
    char *text = calloc(1, size + 1);
    ck_assert_ptr_nonnull(text);
    rewind(f);
    ck_assert_uint_eq(fread(text, 1, size, f), size);
    fclose(f);
    return text;
}

static char *written(void (*write)(FILE *f, Tensor *t), Tensor *t)
{
    FILE *f = tmpfile();
    ck_assert_ptr_nonnull(f);
    write(f, t);
    return text_of(f);
}

char *explained(Tensor *loss) { return written(explain, loss); }
char *drawn(Tensor *y)        { return written(draw, y); }
char *printed(Tensor *t)      { return written(print, t); }
