#include "expected.h"

#include <math.h>

#include "suites.h"

SafeTensors *expectations(const char *path)
{
    SafeTensors *st = st_open(path);
    ck_assert_msg(st != NULL, "%s", ag_error());
    return st;
}

Tensor *reals_of(const SafeTensors *st, const char *name)
{
    const StTensor *from = st_find(st, name);
    Shape shape;
    ck_assert_msg(from && st_shape(st, from, &shape), "%s is not in the file", name);
    Tensor *t = tensor_zeros(shape);
    ck_assert_msg(st_read_reals(st, from, tensor_data(t)), "%s", ag_error());
    return t;
}

Tensor *ids_of(const SafeTensors *st, const char *name)
{
    Tensor *values = reals_of(st, name), *t = tensor_ints(tensor_shape(values), NULL);
    for (int64_t i = 0; i < tensor_numel(t); i++) tensor_int_data(t)[i] = (int32_t)tensor_data(values)[i];
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
    Shape a = tensor_shape(found), b = tensor_shape(expected);
    ck_assert_msg(shape_equal(a, b), "%s is %s, expected %s", what, shape_text(a, text[0]), shape_text(b, text[1]));
    for (int64_t i = 0; i < tensor_numel(expected); i++) {
        double f = (double)tensor_data(found)[i], e = (double)tensor_data(expected)[i];
        ck_assert_msg(fabs(f - e) <= tolerance, "%s[%d] is %.9g, expected %.9g", what, (int)i, f, e);
    }
}
