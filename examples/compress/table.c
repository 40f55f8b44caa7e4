/* table.c: the counts are blended as by Witten and Bell (1991): the counts of a longer context are trusted the more, the fewer
 * different bytes have followed it. A byte is counted in the longest context and in shorter ones, up to the first that has met
 * it before (PPM's update exclusion, Moffat 1990). */
#include "table.h"

enum { ROW_BITS = 19, BYTES = 256 };
typedef uint8_t Row[BYTES];
struct Table { int64_t order; Row *row, *(*last)[TABLE_ORDERS + 1]; };      /* last[stream]: the rows of its contexts */

Table *table_new(int64_t order, int64_t streams)
{
    Table *t = ag_object_new(sizeof *t);
    t->order = order;
    t->row = ag_alloc_in(t, (size_t)1 << ROW_BITS, sizeof *t->row);
    t->last = ag_alloc_in(t, (size_t)streams, sizeof *t->last);
    return t;
}

/* p = (counts + different p) / (their sum + different). Whether there are counts. */
static bool blend(const uint8_t *count, ag_real *p)
{
    int sum = 0, different = 0;
    for (int i = 0; i < BYTES; i++) {
        sum += count[i];
        different += count[i] > 0;
    }
    ag_real scale = (ag_real)1 / (ag_real)(sum + different);
    for (int i = 0; sum > 0 && i < BYTES; i++) {
        p[i] = ((ag_real)count[i] + (ag_real)different * p[i]) * scale;
    }
    return sum > 0;
}

int32_t table_predict(Table *t, int64_t stream, const int32_t *end, int64_t n, ag_real *p)
{
    int32_t known = 0;
    uint64_t hash = 0;
    for (int i = 0; i < BYTES; i++) {
        p[i] = (ag_real)1 / BYTES;
    }
    for (int32_t k = 0; k <= t->order && k <= n; k++) {
        if (k > 0) {
            hash = (hash + (uint64_t)end[-k] + 1) * UINT64_C(0x9e3779b97f4a7c15);
            hash ^= hash >> 29;
        }
        uint8_t *row = t->row[hash * UINT64_C(0x9e3779b97f4a7c15) >> (64 - ROW_BITS)];
        t->last[stream][k] = (Row *)row;
        if (blend(row, p)) {
            known = k + 1;
        }
    }
    return known;
}

static void halve(uint8_t *count)
{
    for (int i = 0; i < BYTES; i++) {
        count[i] = (uint8_t)((count[i] + 1) / 2);
    }
}

void table_count(Table *t, int64_t stream, int32_t byte)
{
    bool met = false;
    for (int64_t k = t->order; k >= 0 && !met; k--) {
        Row *row = t->last[stream][k];
        t->last[stream][k] = NULL;
        if (!row) {
            continue;                                                   /* the text was shorter than this context */
        }
        met = (*row)[byte] > 0;
        if ((*row)[byte] == UINT8_MAX) {
            halve(*row);
        }
        (*row)[byte]++;
    }
}
