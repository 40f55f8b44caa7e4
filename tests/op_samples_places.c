/* op_samples_places.c: sample calls of operations that move items or look them up. */
#include "kaeru/autograd.h"
#include "op_samples.h"

Tensor *reshape_sample(Sample *s)
{
    switch (s->number) {
    case 0: return ag_reshape(sample_in(s, 0, AG_SCALAR), SHAPE(1));
    case 1: return ag_reshape(sample_in(s, 0, SHAPE(6)), SHAPE(2, 3));
    case 2: return ag_reshape(sample_in(s, 0, SHAPE(2, 3)), SHAPE(-1));
    case 3: return ag_reshape(sample_in(s, 0, SHAPE(2, 3, 4)), SHAPE(4, -1, 2));
    case 4: return ag_reshape(sample_in(s, 0, SHAPE(1, 1)), AG_SCALAR);
    case 5: return ag_reshape(sample_in(s, 0, SHAPE(0, 3)), SHAPE(3, 0));
    case 6: return ag_reshape(sample_in(s, 0, SHAPE(8)), SHAPE(1, 2, 1, 2, 1, 2, 1, 1));
    case 7: return ag_reshape(sample_in(s, 0, SHAPE(5, 7)), SHAPE(7, 5));
    default: return NULL;
    }
}

Tensor *permute_sample(Sample *s)
{
    switch (s->number) {
    case 0: return ag_permute(sample_in(s, 0, AG_SCALAR), (AgDims){ 0, { 0 } });
    case 1: return ag_permute(sample_in(s, 0, SHAPE(5)), DIMS(0));
    case 2: return ag_permute(sample_in(s, 0, SHAPE(3, 5)), DIMS(1, 0));
    case 3: return ag_permute(sample_in(s, 0, SHAPE(2, 3, 4)), DIMS(2, 0, 1));
    case 4: return ag_permute(sample_in(s, 0, SHAPE(2, 3, 2, 4)), DIMS(0, 2, 1, 3));
    case 5: return ag_permute(sample_in(s, 0, SHAPE(0, 3)), DIMS(1, 0));
    case 6: return ag_permute(sample_in(s, 0, SHAPE(1, 3, 1, 2)), DIMS(-1, 0, 2, 1));
    case 7: return ag_permute(sample_in(s, 0, SHAPE(17, 19)), DIMS(1, 0));
    default: return NULL;
    }
}

Tensor *slice_sample(Sample *s)
{
    switch (s->number) {
    case 0: return ag_slice(sample_in(s, 0, SHAPE(7)), 0, 2, 5);
    case 1: return ag_slice(sample_in(s, 0, SHAPE(7)), 0, 0, 7);
    case 2: return ag_slice(sample_in(s, 0, SHAPE(3, 5)), 1, -2, 5);
    case 3: return ag_slice(sample_in(s, 0, SHAPE(3, 5)), 0, 1, -1);
    case 4: return ag_slice(sample_in(s, 0, SHAPE(2, 3, 4)), 1, 1, 3);
    case 5: return ag_slice(sample_in(s, 0, SHAPE(2, 3, 4)), -1, 3, 4);
    case 6: return ag_slice(sample_in(s, 0, SHAPE(4, 3)), 0, 2, 2);
    case 7: return ag_slice(sample_in(s, 0, SHAPE(2, 1, 5, 3)), 2, 0, 4);
    default: return NULL;
    }
}

Tensor *concat_sample(Sample *s)
{
    static const struct { AgShape a, b; int dim; } cases[] = {
        { { 1, { 3 } }, { 1, { 2 } }, 0 },          { { 2, { 2, 3 } }, { 2, { 2, 3 } }, 0 },
        { { 2, { 2, 3 } }, { 2, { 2, 1 } }, 1 },    { { 3, { 2, 3, 4 } }, { 3, { 2, 2, 4 } }, 1 },
        { { 3, { 2, 3, 4 } }, { 3, { 2, 3, 5 } }, -1 }, { { 2, { 0, 3 } }, { 2, { 2, 3 } }, 0 },
        { { 2, { 1, 1 } }, { 2, { 1, 1 } }, 1 },    { { 4, { 1, 2, 3, 2 } }, { 4, { 1, 2, 3, 2 } }, 2 },
    };
    if (s->number > 8) return NULL;
    if (s->number == 8) {
        Tensor *x = sample_in(s, 0, SHAPE(2, 2));
        return ag_concat(((Tensor *[]){ x, sample_in(s, 1, SHAPE(2, 3)), x }), 3, 1);
    }
    Tensor *x[] = { sample_in(s, 0, cases[s->number].a), sample_in(s, 1, cases[s->number].b) };
    return ag_concat(x, 2, cases[s->number].dim);
}

Tensor *expand_sample(Sample *s)
{
    switch (s->number) {
    case 0: return ag_expand(sample_in(s, 0, AG_SCALAR), SHAPE(2, 3));
    case 1: return ag_expand(sample_in(s, 0, SHAPE(3)), SHAPE(2, 3));
    case 2: return ag_expand(sample_in(s, 0, SHAPE(3, 1)), SHAPE(3, 4));
    case 3: return ag_expand(sample_in(s, 0, SHAPE(1, 4)), SHAPE(3, 4));
    case 4: return ag_expand(sample_in(s, 0, SHAPE(2, 1, 3, 1)), SHAPE(2, 4, 3, 5));
    case 5: return ag_expand(sample_in(s, 0, SHAPE(3, 4)), SHAPE(3, 4));
    case 6: return ag_expand(sample_in(s, 0, SHAPE(1, 3)), SHAPE(0, 3));
    case 7: return ag_expand(sample_in(s, 0, SHAPE(1, 2, 1)), SHAPE(2, 3, 2, 2));
    default: return NULL;
    }
}

Tensor *embedding_sample(Sample *s)
{
    switch (s->number) {
    case 0: return ag_embedding(sample_in(s, 0, SHAPE(1, 1)), sample_ids(AG_SCALAR, 1));
    case 1: return ag_embedding(sample_in(s, 0, SHAPE(5, 3)), sample_ids(SHAPE(4), 5));
    case 2: return ag_embedding(sample_in(s, 0, SHAPE(5, 3)), sample_ids(SHAPE(2, 7), 5));
    case 3: return ag_embedding(sample_in(s, 0, SHAPE(2, 4)), sample_ids(SHAPE(9), 2));
    case 4: return ag_embedding(sample_in(s, 0, SHAPE(3, 17)), sample_ids(SHAPE(2, 1, 3), 3));
    case 5: return ag_embedding(sample_in(s, 0, SHAPE(3, 2)), sample_ids(SHAPE(0), 3));
    case 6: return ag_embedding(sample_in(s, 0, SHAPE(3, 0)), sample_ids(SHAPE(2), 3));
    case 7: return ag_embedding(sample_in(s, 0, SHAPE(40, 1)), sample_ids(SHAPE(6, 6), 40));
    default: return NULL;
    }
}

Tensor *index_select_sample(Sample *s)
{
    switch (s->number) {
    case 0: return ag_index_select(sample_in(s, 0, SHAPE(1)), 0, sample_ids(SHAPE(1), 1));
    case 1: return ag_index_select(sample_in(s, 0, SHAPE(7)), 0, sample_ids(SHAPE(9), 7));
    case 2: return ag_index_select(sample_in(s, 0, SHAPE(3, 5)), 1, sample_ids(SHAPE(2), 5));
    case 3: return ag_index_select(sample_in(s, 0, SHAPE(3, 5)), 0, sample_ids(SHAPE(4), 3));
    case 4: return ag_index_select(sample_in(s, 0, SHAPE(2, 3, 4)), 1, sample_ids(SHAPE(5), 3));
    case 5: return ag_index_select(sample_in(s, 0, SHAPE(2, 3, 4)), -1, sample_ids(SHAPE(3), 4));
    case 6: return ag_index_select(sample_in(s, 0, SHAPE(0, 3)), 1, sample_ids(SHAPE(2), 3));
    case 7: return ag_index_select(sample_in(s, 0, SHAPE(2, 1, 3, 67)), 2, sample_ids(SHAPE(4), 3));
    case 8: return ag_index_select(sample_in(s, 0, SHAPE(2, 3)), 1, sample_ids(SHAPE(0), 3));
    default: return NULL;
    }
}

Tensor *gather_sample(Sample *s)
{
    switch (s->number) {
    case 0: return ag_gather(sample_in(s, 0, SHAPE(1)), 0, sample_ids(SHAPE(1), 1));
    case 1: return ag_gather(sample_in(s, 0, SHAPE(7)), 0, sample_ids(SHAPE(4), 7));
    case 2: return ag_gather(sample_in(s, 0, SHAPE(3, 5)), 1, sample_ids(SHAPE(3, 2), 5));
    case 3: return ag_gather(sample_in(s, 0, SHAPE(3, 5)), 0, sample_ids(SHAPE(1, 5), 3));
    case 4: return ag_gather(sample_in(s, 0, SHAPE(2, 3, 4)), 1, sample_ids(SHAPE(2, 6, 4), 3));
    case 5: return ag_gather(sample_in(s, 0, SHAPE(2, 3, 4)), -1, sample_ids(SHAPE(2, 3, 1), 4));
    case 6: return ag_gather(sample_in(s, 0, SHAPE(0, 3)), 1, sample_ids(SHAPE(0, 2), 3));
    case 7: return ag_gather(sample_in(s, 0, SHAPE(2, 1, 3)), 1, sample_ids(SHAPE(2, 2, 3), 1));
    case 8: return ag_gather(sample_in(s, 0, SHAPE(2, 3)), 1, sample_ids(SHAPE(2, 0), 3));
    default: return NULL;
    }
}

typedef struct { AgShape x; int dim, n; } ScatterCase;

/* Sets *src to the shape of n items along dim. Returns whether there is a case of that number. */
static bool scatter_case(int number, ScatterCase *c, AgShape *src)
{
    static const ScatterCase cases[] = {
        { { 1, { 1 } }, 0, 1 },       { { 1, { 7 } }, 0, 4 },           { { 2, { 3, 5 } }, 1, 2 },
        { { 2, { 3, 5 } }, 0, 4 },    { { 3, { 2, 3, 4 } }, 1, 6 },     { { 3, { 2, 3, 4 } }, -1, 1 },
        { { 2, { 0, 3 } }, 1, 2 },    { { 2, { 2, 3 } }, 1, 0 },        { { 2, { 3, 3 } }, 0, 3 },
    };
    if (number >= (int)(sizeof cases / sizeof *cases)) return false;
    *c = cases[number];
    *src = c->x;
    src->dim[c->dim < 0 ? c->dim + c->x.ndim : c->dim] = c->n;
    return true;
}

static int32_t scattered_to(const ScatterCase *c) { return (int32_t)c->x.dim[c->dim < 0 ? c->dim + c->x.ndim : c->dim]; }

Tensor *scatter_add_sample(Sample *s)
{
    ScatterCase c;
    AgShape src;
    if (!scatter_case(s->number, &c, &src)) return NULL;
    return ag_scatter_add(sample_in(s, 0, c.x), c.dim, sample_ids(src, scattered_to(&c)), sample_in(s, 1, src));
}

Tensor *scatter_max_sample(Sample *s)
{
    ScatterCase c;
    AgShape src;
    if (!scatter_case(s->number, &c, &src)) return NULL;
    return ag_scatter_max(sample_apart(s, 0, c.x), c.dim, sample_ids(src, scattered_to(&c)), sample_apart(s, 1, src));
}

Tensor *index_add_sample(Sample *s)
{
    ScatterCase c;
    AgShape src;
    if (!scatter_case(s->number, &c, &src)) return NULL;
    return ag_index_add(sample_in(s, 0, c.x), c.dim, sample_ids(SHAPE(c.n), scattered_to(&c)), sample_in(s, 1, src));
}
