/* coder.h: an arithmetic coder (Rissanen 1976; this form: Martin 1979). A text becomes one number in [0, 1): each symbol
 * narrows an interval to a part that is as long, compared with the whole, as the symbol is probable. A number in the last
 * interval tells all symbols. A symbol of probability p costs -log2 p bits. */
#ifndef KAERU_EXAMPLES_CODER_H
#define KAERU_EXAMPLES_CODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A symbol's part of an interval: from `below` on, `share` of `total`. 1 <= share, below + share <= total <= 2^32. */
typedef struct { uint64_t below, share, total; } Part;

/* n bytes that grow; the caller frees `byte` with ag_free. */
typedef struct { unsigned char *byte; size_t n, room; } Bytes;
void bytes_append(Bytes *b, const void *from, size_t n);

/* The interval begins at `low` and is `range` long, in units of 2^-56 of what the bytes before it leave open. */
typedef struct { uint64_t low, range; Bytes out; } Encoder;
#define ENCODER_BEGIN { .range = UINT64_C(1) << 56 }
void encoder_put(Encoder *e, Part part);
void encoder_end(Encoder *e);                   /* writes a number in the interval */

/* `code`: how far the number is above the start of the interval. `next`: how many bytes were read; those after the end count
 * as 0. */
typedef struct { uint64_t code, range; const unsigned char *bytes; size_t n, next; } Decoder;
Decoder decoder_begin(const unsigned char *bytes, size_t n);
/* The place of the number, from 0 to total - 1. The next symbol is the one whose part contains it: give it to decoder_take. */
uint64_t decoder_find(const Decoder *d, uint64_t total);
void decoder_take(Decoder *d, Part part);
/* Whether no more bytes were read than the encoder can have written: false for damaged bytes. */
bool decoder_is_good(const Decoder *d);
/* Whether the bytes are as many as the encoder has written for the symbols that were taken. */
bool decoder_has_ended(const Decoder *d);

#endif
