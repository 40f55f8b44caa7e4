/* gradcheck_report.c: what is wrong with a gradient, in words. */
#include <math.h>

#include "gradcheck.h"

enum { ENTRIES = 8 };           /* told one by one */

/* Is every wrong entry of this kind? */
static bool all(const Checked *c, bool is(const Checked *c, const CheckedEntry *e))
{
    for (int64_t j = 0; j < c->x->numel; j++)
        if (c->entry[j].wrong && !is(c, &c->entry[j])) return false;
    return true;
}

static bool is_finite(const Checked *c, const CheckedEntry *e)
{
    (void)c;
    return isfinite(e->gradient) && isfinite(e->numerical);
}

static bool is_zero(const Checked *c, const CheckedEntry *e)
{
    (void)c;
    return e->gradient == 0;
}

static bool is_first_use(const Checked *c, const CheckedEntry *e)
{
    return gradients_agree(e->gradient, e->by_use[0], c->largest);
}

static bool is_second_use(const Checked *c, const CheckedEntry *e)
{
    return gradients_agree(e->gradient, e->by_use[1], c->largest);
}

/* Where nothing has arrived before, a rule must write: this one has left what was there, or added to it. */
static bool is_unwritten(const Checked *c, const CheckedEntry *e)
{
    double found = e->gradient - UNWRITTEN;
    return gradients_agree(found, 0, c->largest) || gradients_agree(found, e->by_use[0], c->largest) ||
           gradients_agree(found, e->by_use[1], c->largest);
}

static bool is_added_to_nothing(const Checked *c, const CheckedEntry *e)
{
    return gradients_agree(e->gradient - UNWRITTEN, e->numerical, c->largest);
}

/* The part of one entry of the result, where there are several: in a loop, each has overwritten the one before. */
static bool is_last_part(const Checked *c, const CheckedEntry *e)
{
    return e->reaches > 1 && (gradients_agree(e->gradient, e->last[0], c->largest) ||
                              gradients_agree(e->gradient, e->last[1], c->largest) ||
                              gradients_agree(e->gradient, e->last[0] + e->last[1], c->largest));
}

/* The least and the largest of gradient / numerical; false where a numerical one is 0. */
static bool factors(const Checked *c, double *low, double *high)
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

static void tell_kind(FILE *out, const Checked *c)
{
    double low, high;
    bool one = c->wrong == 1;
    if (!all(c, is_finite)) fputs(one ? "it is not finite" : "not all of them finite", out);
    else if (all(c, is_zero)) fputs("no gradient arrives there", out);
    else if (all(c, is_added_to_nothing))
        fputs("added to memory that nobody has written: where grad_into says add = false, a rule must write (=)", out);
    else if (all(c, is_unwritten))
        fputs("left as memory that nobody has written: where grad_into says add = false, a rule must write every entry",
              out);
    else if (all(c, is_first_use) || all(c, is_second_use))
        fputs("of two uses one alone has arrived: a rule must add to what is there", out);
    else if (all(c, is_last_part))
        fputs("only what the last of several entries of the result sends back has arrived: a rule must add all up (+=)",
              out);
    else if (!factors(c, &low, &high)) fputs(one ? "it should be 0" : "some of them should be 0", out);
    else if (high - low <= 0.05 * fabs(high))
        fprintf(out, "%s%.3g times what it should be", one ? "" : "each ", (low + high) / 2);
    else fprintf(out, "%.3g to %.3g times what they should be", low, high);
}

/* "[1][2]" for an entry of a matrix; nothing for a scalar. */
static void tell_place(FILE *out, const Shape *shape, int64_t j)
{
    int64_t inner = shape_numel(*shape);
    for (int d = 0; d < shape->ndim; d++) {
        inner /= shape->dim[d];
        fprintf(out, "[%lld]", (long long)(j / inner % shape->dim[d]));
    }
}

void check_report(FILE *out, const Checked *c)
{
    const Tensor *x = c->x;
    char text[AG_SHAPE_TEXT];
    fprintf(out, "input %d", c->input);
    if (x->name) fprintf(out, ", %s", x->name);
    fprintf(out, " %s: ", shape_text(x->shape, text));
    if (x->numel == 1) fputs("its only entry is wrong, ", out);
    else fprintf(out, "%lld of %lld entries wrong, ", (long long)c->wrong, (long long)x->numel);
    tell_kind(out, c);
    fputc('\n', out);
    int64_t told = 0;
    for (int64_t j = 0; j < x->numel && told < ENTRIES; j++) {
        const CheckedEntry *e = &c->entry[j];
        if (!e->wrong) continue;
        fputs("  ", out);
        tell_place(out, &x->shape, j);
        fprintf(out, " gradient %.6g, numerical %.6g, ratio %.4g\n", e->gradient, e->numerical,
                e->gradient / e->numerical + 0.0);      /* 0 rather than -0 */
        told++;
    }
    if (c->wrong > told) fprintf(out, "  ... and %lld more\n", (long long)(c->wrong - told));
}
