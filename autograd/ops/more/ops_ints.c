/* ops_ints.c: tensors of ints: made, added, multiplied, and those of a mask. They have no gradients. */
#include "checks.h"
#include "kaeru/autograd.h"
#include "kaeru/more_functions.h"
#include "kaeru/more_ops.h"
#include "shape.h"
#include "tensor.h"
#include "tensor_struct.h"

Tensor *tensor_int_full(AgShape shape, int32_t value)
{
    Tensor *t = tensor_new(__func__, &shape, AG_INT);
    for (int64_t i = 0; i < t->numel; i++) ints(t)[i] = value;
    return t;
}

Tensor *tensor_int_arange(int32_t start, int32_t stop, int32_t step)
{
    if (step == 0) ag_usage_error(__func__, "from %d to %d by 0 has no end", start, stop);
    int64_t way = (int64_t)stop - start, n = way / step + (way % step != 0);
    if ((way > 0) != (step > 0)) n = 0;
    Tensor *t = tensor_new(__func__, &SHAPE(n), AG_INT);
    for (int64_t i = 0; i < n; i++) ints(t)[i] = (int32_t)(start + i * step);
    return t;
}

static Tensor *of_ints(const char *what, Tensor *a, Tensor *b, bool product)
{
    check_tensor(what, "a", a, AG_INT);
    check_tensor(what, "b", b, AG_INT);
    AgShape shape = broadcast_shape(what, a, b);
    Tensor *y = tensor_new(what, &shape, AG_INT);
    const int32_t *va = ints(ag_expand(a, shape)), *vb = ints(ag_expand(b, shape));
    for (int64_t i = 0; i < y->numel; i++) {
        int64_t exact = product ? (int64_t)va[i] * vb[i] : (int64_t)va[i] + vb[i];
        if (exact < INT32_MIN || exact > INT32_MAX)
            ag_usage_error(what, "%d %c %d at item %lld is beyond AG_INT, which has 32 bits", va[i], product ? '*' : '+', vb[i],
                           (long long)i);
        ints(y)[i] = (int32_t)exact;
    }
    return y;
}

Tensor *ag_int_add(Tensor *a, Tensor *b)
{
    return of_ints(__func__, a, b, false);
}

Tensor *ag_int_mul(Tensor *a, Tensor *b)
{
    return of_ints(__func__, a, b, true);
}

Tensor *ag_nonzero(Tensor *mask)
{
    check_tensor(__func__, "mask", mask, AG_BOOL);
    if (mask->numel > INT32_MAX)
        ag_usage_error(__func__, "mask %s has too many items for ids of AG_INT", shape_text(mask->shape));
    int64_t n = 0;
    for (int64_t i = 0; i < mask->numel; i++) n += bools(mask)[i] != 0;
    Tensor *ids = tensor_new(__func__, &SHAPE(n), AG_INT);
    int32_t *to = ints(ids);
    for (int64_t i = 0; i < mask->numel; i++)
        if (bools(mask)[i]) *to++ = (int32_t)i;
    return ids;
}
