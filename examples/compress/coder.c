/* coder.c: the arithmetic coder, in whole numbers. */
#include "coder.h"

#include <string.h>

#include "kaeru/tensor.h"

/* A range has more than 48 and at most 56 bits, so that a unit of a total of 2^32 has 2^16 of it: the rounding costs nothing
 * that can be seen. */
enum { BITS = 56, BYTES = BITS / 8 };
#define LEAST (UINT64_C(1) << (BITS - 8))
#define MASK  ((UINT64_C(1) << BITS) - 1)

void bytes_append(Bytes *b, const void *from, size_t n)
{
    if (n > b->room - b->n) {
        size_t room = 2 * (b->n + n);
        b->byte = ag_resize(b->byte, b->room, room, 1);
        b->room = room;
    }
    if (n > 0) {
        memcpy(b->byte + b->n, from, n);
        b->n += n;
    }
}

/* Writes the first byte of low. What is above MASK is a 1 to add to the bytes before it. */
static void shift(Encoder *e)
{
    for (size_t i = e->out.n; e->low > MASK && ++e->out.byte[--i] == 0; ) {
    }
    e->low &= MASK;
    unsigned char first = (unsigned char)(e->low >> (BITS - 8));
    bytes_append(&e->out, &first, 1);
    e->low = e->low << 8 & MASK;
}

void encoder_put(Encoder *e, Part part)
{
    uint64_t unit = e->range / part.total;
    e->low += unit * part.below;
    e->range = unit * part.share;
    for (; e->range <= LEAST; e->range <<= 8) {
        shift(e);
    }
}

/* One byte is enough: the interval contains a number that ends with 48 zeros. */
void encoder_end(Encoder *e)
{
    e->low = (e->low + LEAST - 1) & ~(LEAST - 1);
    shift(e);
}

static void read_byte(Decoder *d)
{
    d->code = d->code << 8 | (d->next < d->n ? d->bytes[d->next] : 0);
    d->next++;
}

Decoder decoder_begin(const unsigned char *bytes, size_t n)
{
    Decoder d = { .range = UINT64_C(1) << BITS, .bytes = bytes, .n = n };
    for (int i = 0; i < BYTES; i++) {
        read_byte(&d);
    }
    return d;
}

uint64_t decoder_find(const Decoder *d, uint64_t total)
{
    uint64_t place = d->code / (d->range / total);
    return place < total ? place : total - 1;                           /* beyond the last part: damaged */
}

void decoder_take(Decoder *d, Part part)
{
    uint64_t unit = d->range / part.total;
    d->code -= unit * part.below;
    d->range = unit * part.share;
    for (; d->range <= LEAST; d->range <<= 8) {
        read_byte(d);
    }
}

bool decoder_is_good(const Decoder *d)
{
    return d->next < d->n + BYTES && d->code < d->range;
}

/* encoder_end writes one byte. */
bool decoder_has_ended(const Decoder *d)
{
    return d->next + 1 == d->n + BYTES;
}
