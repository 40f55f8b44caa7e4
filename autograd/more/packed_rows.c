/* packed_rows.c: reads and writes the rows of a matrix of type AG_PACKED, for files. */
#include <string.h>

#include "bf16_weights.h"
#include "checks.h"
#include "kaeru/values.h"
#include "kernels.h"
#include "shape.h"
#include "tensor_struct.h"
#include "threads.h"

/* Copies rows from `first` on between the panels of a matrix and dense rows. */
typedef struct { uint32_t *panels, *dense; int64_t first, width; bool pack; } RowCopy;

/* Copies rows of one panel. Dense rows are often a power of two apart. Then the same column of all rows falls into few sets of
 * the cache. So 16 pairs of each row are copied at a time, through a block on the stack. */
static void copy_panel(uint32_t *panel, uint32_t *dense, int64_t rows, int64_t pairs, bool pack)
{
    enum { SIDE = 16 };
    uint32_t block[K_PANEL][SIDE];
    for (int64_t p = 0; p < pairs; p += SIDE, panel += SIDE * K_PANEL) {
        const int64_t n = pairs - p < SIDE ? pairs - p : SIDE;
        for (int64_t j = 0; pack && j < rows; j++)
            memcpy(block[j], dense + j * pairs + p, (size_t)n * sizeof **block);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < rows; j++) {
                if (pack) panel[i * K_PANEL + j] = block[j][i];
                else block[j][i] = panel[i * K_PANEL + j];
            }
        for (int64_t j = 0; !pack && j < rows; j++)
            memcpy(dense + j * pairs + p, block[j], (size_t)n * sizeof **block);
    }
}

static void copy_rows(void *arg, int64_t begin, int64_t end)
{
    const RowCopy *c = arg;
    for (int64_t i = begin; i < end; ) {
        const int64_t left = K_PANEL - (c->first + i) % K_PANEL, n = left < end - i ? left : end - i;
        copy_panel(packed_row(c->panels, c->width, c->first + i), c->dense + i * (c->width / 2), n, c->width / 2, c->pack);
        i += n;
    }
}

static void check_rows(const char *what, const Tensor *t, int64_t first, int64_t n, const void *rows)
{
    check_tensor(what, "t", t, AG_PACKED);
    ag_check_pointer(what, "rows", rows);
    if (first < 0 || n < 0 || n > t->shape.dim[0] - first)
        ag_usage_error(what, "%lld rows from %lld on, of %s", (long long)n, (long long)first, shape_text(t->shape));
}

void ag_packed_read(const Tensor *t, int64_t first, int64_t n, uint32_t *rows)
{
    check_rows(__func__, t, first, n, rows);
    RowCopy copy = { t->data, rows, first, t->shape.dim[1], false };
    k_parallel(n, K_PANEL, copy_rows, &copy);
}

void ag_packed_write(Tensor *t, int64_t first, int64_t n, const uint32_t *rows)
{
    check_rows(__func__, t, first, n, rows);
    RowCopy copy = { values_to_write(__func__, "t", t, AG_PACKED), (uint32_t *)rows, first, t->shape.dim[1], true };
    k_parallel(n, K_PANEL, copy_rows, &copy);
}
