/* coding.c: each token's share of the probabilities, in whole numbers, to the coder and back. */
#include "coding.h"

#include <math.h>

#include "kaeru/autograd.h"

Coding coding_begin(Predictor *p, const unsigned char *coded, size_t n)
{
    return (Coding){
        .p = p,
        .known = coded == NULL,
        .encoder = ENCODER_BEGIN,
        .decoder = decoder_begin(coded, n),
        .bits = ag_alloc((size_t)p->count + 1, sizeof(float)),
    };
}

/* A whole number in place of a probability: at least 1, so that every token can be coded. */
static uint64_t share_of(const Predictor *p, const ag_real *q, int64_t id)
{
    return 1 + (id < p->vocab ? (uint64_t)((double)q[id] * 0x1p30) : 0);
}

/* Codes the token *id with the probabilities q[vocab]. */
static bool code_token(Coding *c, const ag_real *q, int32_t *id)
{
    int64_t n = c->p->vocab + (c->p->vocabulary ? 256 : 0);
    Part part = { 0 };
    for (int64_t i = 0; i < n; i++) {
        if (i < c->p->vocab && isnan(q[i])) {
            return ag_set_error("the probabilities of the next token are NaN: the model's weights cannot be used");
        }
        part.total += share_of(c->p, q, i);
    }
    uint64_t place = c->known ? 0 : decoder_find(&c->decoder, part.total);
    int32_t found = 0;
    part.share = share_of(c->p, q, found);
    while (c->known ? found < *id : place >= part.below + part.share) {
        part.below += part.share;
        part.share = share_of(c->p, q, ++found);
    }
    *id = found;
    if (c->known) {
        encoder_put(&c->encoder, part);
    } else {
        decoder_take(&c->decoder, part);
    }
    float bits = (float)(ag_math_log((double)part.total / (double)part.share) / ag_math_log(2));
    c->bits[id - c->p->id] = bits;
    c->sum += (double)bits;
    c->done++;
    return c->known || decoder_is_good(&c->decoder) || ag_set_error("is damaged: its bits end before the text does");
}

/* In the order of the times, and at one time in that of the streams. */
static bool code(void *arg, int64_t t, int64_t n, const Tensor *q)
{
    Coding *c = arg;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t s = 0; s < c->p->how.streams; s++) {
            int32_t *id = predictor_token(c->p, s, t + i);
            if (id && !code_token(c, tensor_data(q) + (s * n + i) * c->p->vocab, id)) {
                return false;
            }
        }
    }
    return true;
}

bool coding_step(Coding *c)
{
    return predictor_step(c->p, c->known, code, c);
}
