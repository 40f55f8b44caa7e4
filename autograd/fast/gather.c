/* gather.c: looks rows of a table up by number, and adds gradients to them. */
#include "simd.h"

enum { GRAIN = 16384, COLUMNS = 64 };

typedef struct {
    int64_t rows, width;
    float *to;
    const float *from;
    const int32_t *ids;
    const int32_t *place;
    double *sums;
} Job;

static void gather_range(void *arg, int64_t begin, int64_t end)
{
    const Job *j = arg;
    for (int64_t r = begin; r < end; r++)
        memcpy(j->to + r * j->width, j->from + j->ids[r] * j->width, (size_t)j->width * sizeof(float));
}

void ISA(gather_rows)(int64_t rows, int64_t width, real *y, const real *table, const int32_t *ids)
{
    k_parallel(rows, 1 + GRAIN / (width + 1), gather_range,
               &(Job){ .rows = rows, .width = width, .to = y, .from = table, .ids = ids });
}

/* Threads take columns, so that rows of dy with the same id are added in their order. */
static void scatter_range(void *arg, int64_t first, int64_t last)
{
    const Job *j = arg;
    const int64_t begin = first * COLUMNS, end = last * COLUMNS < j->width ? last * COLUMNS : j->width;
    const int32_t *place = j->place, *ids = j->ids;
    const int64_t rows = j->rows, width = j->width;
    for (int64_t r = 0; r < rows; r++) {
        const float *from = j->from + r * width;
        if (place && place[ids[r]] >= 0) {
            double *sums = j->sums + place[ids[r]] * width;
            for (int64_t i = begin; i < end; i++)
                sums[i] += from[i];
            continue;
        }
        float *to = j->to + ids[r] * width;
        EACH(begin, end, to, LOAD(to) + LOAD(from));
    }
}

void ISA(scatter_add_rows)(int64_t rows, int64_t width, real *table_grad, const real *dy, const int32_t *ids,
                           const int32_t *place, double *sums)
{
    k_parallel((width + COLUMNS - 1) / COLUMNS, 1 + GRAIN / (COLUMNS * (rows + 1)), scatter_range,
               &(Job){ rows, width, table_grad, dy, ids, place, sums });
}
