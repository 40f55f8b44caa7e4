/* binary.c: functions of two numbers with broadcasting, and their derivatives; choices by a mask.
 *
 * The result is dense and in the order of the walk. Each item depends on no other, so threads can cut it anywhere. Along a row,
 * an operand is read in place (stride 1), as one repeated value (stride 0), or from a buffer that its items are copied to. Rows
 * too short for vectors are copied to buffers, several together. */
#include "strided.h"
#include "vmath.h"
#include "vpow.h"

enum {
    GRAIN_CHEAP = 16384, GRAIN_EXPENSIVE = 4096,        /* items that a thread takes at least */
    BUFFER = 1024,              /* items */
    SHORT_ROW = 32              /* shorter rows are copied to buffers together */
};

/* ---- pieces of a walk: a dense result of two operands ------------------------------------------------------------ */

/* An operand of a piece: item i is p[i & mask]. The mask is -1, or 0 for one repeated value, of which p has W copies. */
typedef struct { const void *p; int64_t mask; } Operand;

#define LOAD_OPERAND(o) vload_left((const float *)(o).p + (i & (o).mask), left)
#define A LOAD_OPERAND(a)
#define B LOAD_OPERAND(b)

/* Computes items `first` .. first + n - 1, counted in the order of the walk; item `first` of an operand is its item 0. */
typedef struct Job Job;
typedef void Piece(const Job *j, int64_t first, int64_t n, Operand a, Operand b);

/* A call; all threads read it. */
struct Job {
    KBinary f;
    bool second, add, negate;
    float value;
    void *out;
    const float *dy, *y;
    const void *a, *b;          /* NULL: not read */
    size_t size_a;              /* bytes of an item: 1 for a mask */
    Piece *piece;
    const Rows *rows;
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

static void job_range(void *arg, int64_t begin, int64_t end)
{
    const Job *j = arg;
    const Rows *r = j->rows;
    Side a, b;
    side_init(&a, j->a, j->size_a, r->sa, r, r->a);
    side_init(&b, j->b, sizeof(float), r->sb, r, r->b);
    if (r->n < SHORT_ROW && r->rows > 1) {
        for (int64_t n; begin < end; begin += n) {
            n = end - begin < BUFFER ? end - begin : BUFFER;
            RowPlace place;
            row_seek(r, begin / r->n, &place);
            j->piece(j, begin, n, side_rows(&a, r, place, false, begin, n), side_rows(&b, r, place, true, begin, n));
        }
        return;
    }
    bool copies = (a.base && r->sa != 0 && r->sa != 1) || (b.base && r->sb != 0 && r->sb != 1);
    RowPlace place;
    row_seek(r, begin / r->n, &place);
    for (int64_t n, column = begin % r->n; begin < end; begin += n) {
        n = r->n - column < end - begin ? r->n - column : end - begin;
        if (copies && n > BUFFER) n = BUFFER;
        j->piece(j, begin, n, side_row(&a, place.a, column, n), side_row(&b, place.b, column, n));
        column += n;
        if (column == r->n) {
            column = 0;
            row_next(r, &place);
        }
    }
}

__attribute__((noinline)) static void job_run(Job *j, const KWalk *walk, int64_t grain)
{
    const Rows rows = walk_rows(walk, j->a, j->b);
    j->rows = &rows;
    k_parallel(rows.rows * rows.n, grain, job_range, j);
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

/* NaN where either is NaN: vmax and vmin return b if a is NaN. */
INLINE vf larger(vf a, vf b)  { return vselect(veq(a, a), vmax(a, b), a); }
INLINE vf smaller(vf a, vf b) { return vselect(veq(a, a), vmin(a, b), a); }

static void binary_piece(const Job *j, int64_t first, int64_t n, Operand a, Operand b)
{
    float *y = (float *)j->out + first;
    switch (j->f) {
    case K_ADD: EACH(0, n, y, A + B); break;
    case K_SUB: EACH(0, n, y, A - B); break;
    case K_MUL: EACH(0, n, y, A * B); break;
    case K_DIV: EACH(0, n, y, A / B); break;
    case K_POW: EACH(0, n, y, vpow(A, B)); break;
    case K_MAX: EACH(0, n, y, larger(A, B)); break;
    case K_MIN: EACH(0, n, y, smaller(A, B)); break;
    }
}

void ISA(binary)(KBinary f, const KWalk *walk, real *y, const real *a, const real *b)
{
    Job j = { .f = f, .out = y, .a = a, .b = b, .size_a = sizeof(float), .piece = binary_piece };
    job_run(&j, walk, f == K_POW ? GRAIN_EXPENSIVE : GRAIN_CHEAP);
}

/* ---- backward ---------------------------------------------------------------------------------------------------- */

/* dy where `wins`, half of it where a and b are equal, else 0. */
INLINE vf share(vm wins, vm equal, vf dy)
{
    return vselect(wins, dy, vselect(equal, dy * vset(0.5f), vset(0)));
}

/* dy b a^(b-1), and 0 where b is 0. */
INLINE vf pow_first(vf dy, vf a, vf b)
{
    return vselect(veq(b, vset(0)), vset(0), dy * (b * vpow(a, b - vset(1))));
}

/* dy a^b ln a, and 0 where a is 0 and b is not negative. */
INLINE vf pow_second(vf dy, vf a, vf b, vf y)
{
    return vselect(vand(veq(a, vset(0)), vle(vset(0), b)), vset(0), dy * (y * vlog(a)));
}

#define OWN LOAD_OPERAND(own)
#define OTHER LOAD_OPERAND(other)
#define DA(value) EACH_ADD(j->add, 0, n, da, value)

static void backward_piece(const Job *j, int64_t first, int64_t n, Operand a, Operand b)
{
    float *da = (float *)j->out + first;
    const float *dy = j->dy + first, *y = j->y + first;
    const Operand own = j->second ? b : a, other = j->second ? a : b;
    switch (j->f) {
    case K_ADD:
        break;
    case K_SUB:
        DA(vneg(LOAD(dy)));
        break;
    case K_MUL:
        DA(LOAD(dy) * OTHER);
        break;
    case K_DIV:
        if (j->second) DA(vneg(LOAD(dy)) / B * (A / B));
        else DA(LOAD(dy) / B);
        break;
    case K_POW:
        if (j->second) DA(pow_second(LOAD(dy), A, B, LOAD(y)));
        else DA(pow_first(LOAD(dy), A, B));
        break;
    case K_MAX:
        DA(share(vlt(OTHER, OWN), veq(OTHER, OWN), LOAD(dy)));
        break;
    case K_MIN:
        DA(share(vlt(OWN, OTHER), veq(OWN, OTHER), LOAD(dy)));
        break;
    }
}

void ISA(binary_backward)(KBinary f, bool second, const KWalk *walk, real *da, const real *dy, const real *a,
                           const real *b, const real *y, bool add)
{
    Job j = { .f = f, .second = second, .add = add, .out = da, .dy = dy, .y = f == K_POW ? y : dy, .a = a, .b = b,
              .size_a = sizeof(float), .piece = backward_piece };
    job_run(&j, walk, f == K_POW ? GRAIN_EXPENSIVE : GRAIN_CHEAP);
}

/* ---- choices by a mask: its strides are the walk's a, those of the other input the walk's b; y is dense ---------- */

/* Which of the bytes at item i are set; `left` of them can be read. */
INLINE vm mask_operand(Operand a, int64_t i, int64_t left)
{
    const uint8_t *p = (const uint8_t *)a.p + (i & a.mask);
    uint8_t bytes[W] = { 0 };
    if (left < W) {
        memcpy(bytes, p, (size_t)left);
        p = bytes;
    }
    return vnot(vieq(vload_bytes(p), viset(0)));
}
#define MASK mask_operand(a, i, left)

/* Items of b where the mask is set (with `negate`: not set), else `value`. */
static void select_piece(const Job *j, int64_t first, int64_t n, Operand a, Operand b)
{
    float *y = (float *)j->out + first;
    const vf value = vset(j->value);
    if (j->negate) EACH_ADD(j->add, 0, n, y, vselect(MASK, value, B));
    else EACH_ADD(j->add, 0, n, y, vselect(MASK, B, value));
}

void ISA(select)(const KWalk *walk, real *y, const uint8_t *mask, const real *chosen, bool negate, real value, bool add)
{
    Job j = { .negate = negate, .add = add, .value = value, .out = y, .a = mask, .b = chosen, .size_a = 1,
              .piece = select_piece };
    job_run(&j, walk, GRAIN_CHEAP);
}
