/* gradcheck_report.c: the report of the gradient check: which kind of error explains the wrong entries. */
#include <math.h>

#include "gradcheck.h"

enum { MAX_PRINTED = 8 };       /* entries that are printed one by one */

/* Whether all wrong entries are of this kind. */
static bool all(const CheckedInput *c, bool is_kind(const CheckedInput *c, const CheckedEntry *e))
{
    for (int64_t j = 0; j < c->x->numel; j++)
        if (c->entry[j].wrong && !is_kind(c, &c->entry[j])) return false;
    return true;
}

static bool is_finite(const CheckedInput *c, const CheckedEntry *e)
{
    (void)c;
    return isfinite(e->gradient) && isfinite(e->numerical);
}

static bool is_zero(const CheckedInput *c, const CheckedEntry *e)
{
    (void)c;
    return e->gradient == 0;
}

/* The gradient of one use only. */
static bool is_first_use(const CheckedInput *c, const CheckedEntry *e)
{
    return gradients_agree(e->gradient, e->by_use[0], c->largest);
}

static bool is_second_use(const CheckedInput *c, const CheckedEntry *e)
{
    return gradients_agree(e->gradient, e->by_use[1], c->largest);
}

/* A first gradient must be written. These rules left the memory as it was, or added to it. */
static bool is_unwritten(const CheckedInput *c, const CheckedEntry *e)
{
    double added = e->gradient - UNWRITTEN;
    return gradients_agree(added, 0, c->largest) || gradients_agree(added, e->by_use[0], c->largest) ||
           gradients_agree(added, e->by_use[1], c->largest);
}

static bool is_added_to_unwritten(const CheckedInput *c, const CheckedEntry *e)
{
    return gradients_agree(e->gradient - UNWRITTEN, e->numerical, c->largest);
}

/* The entry has only the part of the last entry of the result: in a loop, each part overwrote the one before. */
static bool is_last_part(const CheckedInput *c, const CheckedEntry *e)
{
    return e->reached > 1 && (gradients_agree(e->gradient, e->last[0], c->largest) ||
                              gradients_agree(e->gradient, e->last[1], c->largest) ||
                              gradients_agree(e->gradient, e->last[0] + e->last[1], c->largest));
}

/* The range of gradient / numerical over the wrong entries; false if a numerical gradient is 0. */
static bool find_factors(const CheckedInput *c, double *low, double *high)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (int64_t j = 0; j < c->x->numel; j++) {
        const CheckedEntry *e = &c->entry[j];
        if (!e->wrong) continue;
        if (e->numerical == 0) return false;
        *low = fmin(*low, e->gradient / e->numerical);
        *high = fmax(*high, e->gradient / e->numerical);
    }
    return true;
}

static void print_kind(FILE *out, const CheckedInput *c)
{
    double low, high;
    bool one = c->wrong == 1;
    if (!all(c, is_finite)) fputs(one ? "it is not finite" : "some are not finite", out);
    else if (all(c, is_zero)) fputs("the gradient is 0", out);
    else if (all(c, is_added_to_unwritten))
        fputs("a rule adds to memory that was not written: where grad_into returns add = false, it must write (=)", out);
    else if (all(c, is_unwritten))
        fputs("a rule leaves memory unwritten: where grad_into returns add = false, it must write every entry", out);
    else if (all(c, is_first_use) || all(c, is_second_use))
        fputs("only one of two uses counts: a rule must add to the gradient (+=), not overwrite it", out);
    else if (all(c, is_last_part))
        fputs("only the last of several entries of the result counts: a rule must add up (+=) the parts of all of them", out);
    else if (!find_factors(c, &low, &high)) fputs(one ? "it should be 0" : "some should be 0", out);
    else if (high - low <= 0.05 * fabs(high))
        fprintf(out, "%s %.3g times the correct value", one ? "it is" : "each is", (low + high) / 2);
    else fprintf(out, "they are %.3g to %.3g times the correct values", low, high);
}

/* "[1][2]" for an entry of a matrix; nothing for a scalar. */
static void print_index(FILE *out, const AgShape *shape, int64_t j)
{
    int64_t inner = ag_shape_numel(*shape);
    for (int d = 0; d < shape->ndim; d++) {
        inner /= shape->dim[d];
        fprintf(out, "[%lld]", (long long)(j / inner % shape->dim[d]));
    }
}

void print_wrong_entries(FILE *out, const CheckedInput *c)
{
    const Tensor *x = c->x;
    char text[AG_SHAPE_TEXT];
    fprintf(out, "input %d", c->input);
    if (x->name) fprintf(out, ", %s", x->name);
    fprintf(out, " %s: ", ag_shape_text(x->shape, text));
    if (x->numel == 1) fputs("its only entry is wrong: ", out);
    else fprintf(out, "%lld of %lld entries %s wrong: ", (long long)c->wrong, (long long)x->numel,
                 c->wrong == 1 ? "is" : "are");
    print_kind(out, c);
    fputc('\n', out);
    int64_t printed = 0;
    for (int64_t j = 0; j < x->numel && printed < MAX_PRINTED; j++) {
        const CheckedEntry *e = &c->entry[j];
        if (!e->wrong) continue;
        fputs("  ", out);
        print_index(out, &x->shape, j);
        fprintf(out, " gradient %.6g, numerical %.6g, ratio %.4g\n", e->gradient, e->numerical,
                e->gradient / e->numerical + 0.0);      /* 0 rather than -0 */
        printed++;
    }
    if (c->wrong > printed) fprintf(out, "  ... and %lld more\n", (long long)(c->wrong - printed));
}
