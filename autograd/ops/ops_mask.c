/* ops_mask.c: operations that select entries, by a mask or at random. Masks are AG_BOOL and broadcast to the result. */
#include <math.h>

#include "kaeru/autograd.h"
#include "kernels.h"
#include "ops/table.h"

/* ---- where: y = a where mask, else b                         da = dy where mask, db = dy where not --------------- */

Tensor *ag_where_at(AgSite at, Tensor *mask, Tensor *a, Tensor *b)
{
    check_tensor(at, "where", "mask", mask, AG_BOOL);
    check_tensor(at, "where", "a", a, AG_REAL);
    check_tensor(at, "where", "b", b, AG_REAL);
    AgShape operands = broadcast_shape(at, "where", a, b), shape;
    char tm[AG_SHAPE_TEXT], to[AG_SHAPE_TEXT];
    if (!broadcast(&mask->shape, &operands, &shape))
        ag_usage_error(at, "where", "mask %s does not broadcast with a and b, which are %s", ag_shape_text(mask->shape, tm),
                       ag_shape_text(operands, to));
    Tensor *y = op_new(at, OP_where, &shape, mask, a, b);
    KWalk walk_a = walk_over(&shape, &mask->shape, &a->shape), walk_b = walk_over(&shape, &mask->shape, &b->shape);
    k_select(&walk_a, reals(y), bools(mask), reals(a), false, false);
    k_select(&walk_b, reals(y), bools(mask), reals(b), true, true);
    return op_done(y);
}

void where_backward(Tensor *y)
{
    Tensor *mask = y->in[0];
    KWalk walk = walk_over(&y->shape, &mask->shape, &y->shape);
    for (int i = 1; i <= 2; i++) {
        Tensor *x = y->in[i];
        if (!x->requires_grad) continue;
        Grad g = grad_broadcast(x, y);
        k_select(&walk, g.data, bools(mask), grad_of(y), i == 2, g.add);
        grad_broadcast_done(x, y, g);
    }
}

Tensor *where_sample(Sample *s)
{
    switch (s->number) {
    case 0: return ag_where(sample_mask(AG_SCALAR), sample_in(s, 0, AG_SCALAR), sample_in(s, 1, AG_SCALAR));
    case 1: return ag_where(sample_mask(SHAPE(7)), sample_in(s, 0, SHAPE(7)), sample_in(s, 1, SHAPE(7)));
    case 2: return ag_where(sample_mask(SHAPE(4)), sample_in(s, 0, SHAPE(3, 4)), sample_in(s, 1, SHAPE(3, 4)));
    case 3: return ag_where(sample_mask(SHAPE(3, 1)), sample_in(s, 0, SHAPE(3, 4)), sample_in(s, 1, AG_SCALAR));
    case 4: return ag_where(sample_mask(SHAPE(2, 3, 4)), sample_in(s, 0, SHAPE(4)), sample_in(s, 1, SHAPE(3, 1)));
    case 5: return ag_where(sample_mask(SHAPE(3, 5)), sample_in(s, 0, SHAPE(2, 1, 5)), sample_in(s, 1, SHAPE(1, 3, 1)));
    case 6: return ag_where(sample_mask(SHAPE(0, 3)), sample_in(s, 0, SHAPE(3)), sample_in(s, 1, SHAPE(0, 3)));
    case 7: return ag_where(sample_mask(SHAPE(2, 1, 4)), sample_in(s, 0, SHAPE(2, 3, 4)), sample_in(s, 1, SHAPE(1)));
    default: return NULL;
    }
}

/* ---- masked_fill: y = value where mask, else x               dx = 0 where mask, else dy -------------------------- */

Tensor *ag_masked_fill_at(AgSite at, Tensor *x, Tensor *mask, double value)
{
    check_tensor(at, "masked_fill", "x", x, AG_REAL);
    check_mask(at, "masked_fill", mask, "x", &x->shape);
    Tensor *y = op_new(at, OP_masked_fill, &x->shape, x, mask, NULL);
    KWalk walk = walk_over(&x->shape, &mask->shape, &x->shape);
    k_masked_fill(&walk, reals(y), bools(mask), reals(x), (real)value);
    return isinf(value) ? op_done_unchecked(y) : op_done(y);            /* this infinity is intended */
}

void masked_fill_backward(Tensor *y)
{
    Tensor *x = y->in[0], *mask = y->in[1];
    KWalk walk = walk_over(&y->shape, &mask->shape, &y->shape);
    Grad g = grad_into(x);
    k_select(&walk, g.data, bools(mask), grad_of(y), true, g.add);
}

Tensor *masked_fill_sample(Sample *s)
{
    switch (s->number) {
    case 0: return ag_masked_fill(sample_in(s, 0, AG_SCALAR), sample_mask(AG_SCALAR), 2);
    case 1: return ag_masked_fill(sample_in(s, 0, SHAPE(7)), sample_mask(SHAPE(7)), -1);
    case 2: return ag_masked_fill(sample_in(s, 0, SHAPE(3, 4)), sample_mask(SHAPE(4)), 0);
    case 3: return ag_masked_fill(sample_in(s, 0, SHAPE(3, 4)), sample_mask(SHAPE(3, 1)), -10);
    case 4: return ag_masked_fill(sample_in(s, 0, SHAPE(2, 3, 4)), sample_mask(SHAPE(3, 4)), 1);
    case 5: return ag_masked_fill(sample_in(s, 0, SHAPE(2, 2, 3, 3)), sample_mask(SHAPE(2, 1, 1, 3)), 1);
    case 6: return ag_masked_fill(sample_in(s, 0, SHAPE(2, 0)), sample_mask(SHAPE(2, 1)), 1);
    case 7: return ag_masked_fill(sample_in(s, 0, SHAPE(5, 1)), sample_mask(AG_SCALAR), 1);
    default: return NULL;
    }
}

/* ---- dropout: y = x / (1-p) with probability 1-p, else 0     dx = dy / (1-p) where kept, else 0 --------------------
 * Which entries are kept is not stored: the random numbers are a function of a counter, so backward computes the same ones
 * again (Srivastava et al. 2014, in the inverted form, which needs no scaling in evaluation). */

typedef struct { double p; AgRandom random; } DropoutArgs;

Tensor *ag_dropout_at(AgSite at, Tensor *x, double p)
{
    check_tensor(at, "dropout", "x", x, AG_REAL);
    if (!(p >= 0 && p < 1)) ag_usage_error(at, "dropout", "p is %g, expected 0 <= p < 1", p);
    Tensor *y = op_new(at, OP_dropout, &x->shape, x, NULL, NULL);
    AgRandom *random = random_state();
    if (y->op) *(DropoutArgs *)op_args(y, sizeof(DropoutArgs)) = (DropoutArgs){ p, *random };
    k_dropout(x->numel, reals(y), reals(x), p, random->seed, random->counter, false);
    random->counter += ((uint64_t)x->numel + 3) / 4;
    return op_done(y);
}

void dropout_backward(Tensor *y)
{
    DropoutArgs *args = y->args;
    Grad g = grad_in_place(y->in[0], y);
    k_dropout(y->numel, g.data, grad_of(y), args->p, args->random.seed, args->random.counter, g.add);
}

void dropout_again(Tensor *y)
{
    DropoutArgs *args = y->args;
    k_dropout(y->numel, reals(y), reals(y->in[0]), args->p, args->random.seed, args->random.counter, false);
}

Tensor *dropout_sample(Sample *s)
{
    static const double rates[] = { 0, 0.1, 0.5, 0.5, 0.9, 0.3, 0.2, 0.7 };
    static const AgShape shapes[] = { { 1, { 5 } }, { 0, { 0 } }, { 1, { 7 } }, { 2, { 3, 5 } }, { 1, { 33 } },
                                    { 3, { 2, 3, 4 } }, { 2, { 0, 3 } }, { 2, { 17, 2 } } };
    if (s->number >= 8) return NULL;
    Tensor *x = sample_in(s, 0, shapes[s->number]);
    AgRandom before = ag_random_state();
    ag_set_random_state((AgRandom){ 5, 0 });                    /* the same random numbers each time */
    Tensor *y = ag_dropout(x, rates[s->number]);
    ag_set_random_state(before);
    return y;
}
