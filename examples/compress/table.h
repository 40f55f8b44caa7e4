/* table.h: counts of the bytes that followed the last bytes of a text: what a program without a network knows. */
#ifndef KAERU_EXAMPLES_TABLE_H
#define KAERU_EXAMPLES_TABLE_H

#include "kaeru/tensor.h"

enum { TABLE_ORDERS = 6 };                      /* at most so many bytes are a context */
/* Free it with ag_free. */
typedef struct Table Table;
/* Counts after the last 0, 1, ... `order` bytes, in `streams` texts, which share them. */
Table *table_new(int64_t order, int64_t streams);
/* The probabilities p[256] of the byte after n bytes of text number `stream`, of which `end` points behind the last one. The
 * ids of bytes are 0 to 255. Returns how well the table knows: 0 for not at all, else 1 + the most bytes that it has met
 * before. */
int32_t table_predict(Table *t, int64_t stream, const int32_t *end, int64_t n, ag_real *p);
/* The byte that followed the last prediction in that text. */
void table_count(Table *t, int64_t stream, int32_t byte);

#endif
