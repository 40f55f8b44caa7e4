/* strided.c: cuts a walk into pieces whose operands vectors can read. See strided.h. */
#include "strided.h"

enum {
    BUFFER = 1024,              /* items */
    SHORT_ROW = 32              /* shorter rows are copied to buffers together */
};

typedef struct {
    const char *base;           /* NULL: there is no such array */
    size_t size;
    int64_t stride;             /* along a row */
    bool dense;                 /* contiguous in the order of the walk, across rows too */
    _Alignas(64) uint32_t buffer[BUFFER];
} Side;

static void side_init(Side *s, const void *base, size_t size, int64_t stride, const Rows *r, const int64_t *outer_stride)
{
    s->base = base;
    s->size = size;
    s->stride = stride;
    s->dense = stride == 1;
    int64_t below = r->n;
    for (int d = r->outer - 1; d >= 0; d--) {
        s->dense = s->dense && outer_stride[d] == below;
        below *= r->dim[d];
    }
}

/* Items column .. column + n - 1 of the row that begins at item `row`. */
INLINE Operand side_row(Side *s, int64_t row, int64_t column, int64_t n)
{
    if (!s->base) return (Operand){ NULL, 0 };
    const char *from = s->base + (row + column * s->stride) * (int64_t)s->size;
    if (s->stride == 1) return (Operand){ from, -1 };
    copy_row((char *)s->buffer, 1, from, s->stride, s->stride == 0 ? W : n, s->size);
    return (Operand){ s->buffer, s->stride == 0 ? 0 : -1 };
}

/* n items from `first` on, over several rows; `place` is the row of the first. */
static Operand side_rows(Side *s, const Rows *r, RowPlace place, bool second, int64_t first, int64_t n)
{
    if (!s->base) return (Operand){ NULL, 0 };
    if (s->dense) return (Operand){ s->base + first * (int64_t)s->size, -1 };
    int64_t column = first % r->n;
    for (int64_t filled = 0; filled < n; column = 0) {
        int64_t row = second ? place.b : place.a, some = r->n - column < n - filled ? r->n - column : n - filled;
        copy_row((char *)s->buffer + filled * (int64_t)s->size, 1,
                 s->base + (row + column * s->stride) * (int64_t)s->size, s->stride, some, s->size);
        filled += some;
        row_next(r, &place);
    }
    return (Operand){ s->buffer, -1 };
}

void ISA(walk_pieces)(const Rows *r, int64_t begin, int64_t end, const void *a, size_t size_a, const void *b,
                       size_t size_b, Piece *piece, const void *job)
{
    Side sa, sb;
    side_init(&sa, a, size_a, r->sa, r, r->a);
    side_init(&sb, b, size_b, r->sb, r, r->b);
    if (r->n < SHORT_ROW && r->rows > 1) {
        for (int64_t n; begin < end; begin += n) {
            n = end - begin < BUFFER ? end - begin : BUFFER;
            RowPlace place = row_seek(r, begin / r->n);
            piece(job, begin, n, side_rows(&sa, r, place, false, begin, n), side_rows(&sb, r, place, true, begin, n));
        }
        return;
    }
    bool copies = (a && r->sa != 0 && r->sa != 1) || (b && r->sb != 0 && r->sb != 1);
    RowPlace place = row_seek(r, begin / r->n);
    for (int64_t n, column = begin % r->n; begin < end; begin += n) {
        n = r->n - column < end - begin ? r->n - column : end - begin;
        if (copies && n > BUFFER) n = BUFFER;
        piece(job, begin, n, side_row(&sa, place.a, column, n), side_row(&sb, place.b, column, n));
        column += n;
        if (column == r->n) {
            column = 0;
            row_next(r, &place);
        }
    }
}
