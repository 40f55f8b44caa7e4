/* binary.c: functions of two numbers with broadcasting, and their derivatives; comparisons and choices by a mask.
 *
 * The result is dense and in the order of the walk. Each item depends on no other, so threads can cut it anywhere. strided.c
 * makes both operands readable for vectors. */
#include "strided.h"
#include "vmath.h"
#include "vpow.h"

/* Items that a thread takes at least. */
enum { GRAIN_CHEAP = 16384, GRAIN_EXPENSIVE = 4096 };

/* A call; all threads read it. */
typedef struct {
    int f;                      /* KBinary or AgCompare */
    bool second, add, negate;
    float value;
    void *out;
    const float *dy, *y;
    const Rows *rows;
    const void *a, *b;
    size_t size_a, size_b;
    Piece *piece;
} Job;

static void job_range(void *arg, int64_t begin, int64_t end)
{
    const Job *j = arg;
    ISA(walk_pieces)(j->rows, begin, end, j->a, j->size_a, j->b, j->size_b, j->piece, j);
}

static void job_run(Job *j, const KWalk *walk, int64_t grain)
{
    const Rows rows = walk_rows(walk, j->a, j->b);
    j->rows = &rows;
    k_parallel(rows.rows * rows.n, grain, job_range, j);
}

#define A LOAD_OPERAND(a)
#define B LOAD_OPERAND(b)

/* ---- forward ----------------------------------------------------------------------------------------------------- */

/* NaN where either is NaN: vmax and vmin return b if a is NaN. */
INLINE vf larger(vf a, vf b)  { return vselect(veq(a, a), vmax(a, b), a); }
INLINE vf smaller(vf a, vf b) { return vselect(veq(a, a), vmin(a, b), a); }

static void binary_piece(const void *job, int64_t first, int64_t n, Operand a, Operand b)
{
    const Job *j = job;
    float *y = (float *)j->out + first;
    switch ((KBinary)j->f) {
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
    Job j = { .f = f, .out = y, .a = a, .b = b, .size_a = sizeof(float), .size_b = sizeof(float), .piece = binary_piece };
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

static void backward_piece(const void *job, int64_t first, int64_t n, Operand a, Operand b)
{
    const Job *j = job;
    float *da = (float *)j->out + first;
    const float *dy = j->dy + first, *y = j->y + first;
    const Operand own = j->second ? b : a, other = j->second ? a : b;
    switch ((KBinary)j->f) {
    case K_ADD:
        DA(LOAD(dy));
        break;
    case K_SUB:
        if (j->second) DA(vneg(LOAD(dy)));
        else DA(LOAD(dy));
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
              .size_a = sizeof(float), .size_b = sizeof(float), .piece = backward_piece };
    job_run(&j, walk, f == K_POW ? GRAIN_EXPENSIVE : GRAIN_CHEAP);
}

/* ---- comparisons ------------------------------------------------------------------------------------------------- */

/* EACH for masks, stored as bytes */
#define EACH_MASK(out, mask)                                    \
    do {                                                        \
        int64_t i = 0;                                          \
        for (; i + W <= n; i += W) {                            \
            const int64_t left = W;                             \
            vstore_mask((out) + i, mask);                       \
        }                                                       \
        if (i < n) {                                            \
            const int64_t left = n - i;                         \
            uint8_t rest[W];                                    \
            vstore_mask(rest, mask);                            \
            memcpy((out) + i, rest, (size_t)left);              \
        }                                                       \
    } while (0)

static void compare_piece(const void *job, int64_t first, int64_t n, Operand a, Operand b)
{
    const Job *j = job;
    uint8_t *y = (uint8_t *)j->out + first;
    switch ((AgCompare)j->f) {
    case AG_EQ: EACH_MASK(y, veq(A, B)); break;
    case AG_NE: EACH_MASK(y, vne(A, B)); break;
    case AG_LT: EACH_MASK(y, vlt(A, B)); break;
    case AG_LE: EACH_MASK(y, vle(A, B)); break;
    case AG_GT: EACH_MASK(y, vlt(B, A)); break;
    case AG_GE: EACH_MASK(y, vle(B, A)); break;
    }
}

void ISA(compare)(AgCompare f, const KWalk *walk, uint8_t *y, const real *a, const real *b)
{
    Job j = { .f = f, .out = y, .a = a, .b = b, .size_a = sizeof(float), .size_b = sizeof(float), .piece = compare_piece };
    job_run(&j, walk, GRAIN_CHEAP);
}

/* ---- choices by a mask ------------------------------------------------------------------------------------------- */

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
static void select_piece(const void *job, int64_t first, int64_t n, Operand a, Operand b)
{
    const Job *j = job;
    float *y = (float *)j->out + first;
    const vf value = vset(j->value);
    if (j->negate) EACH_ADD(j->add, 0, n, y, vselect(MASK, value, B));
    else EACH_ADD(j->add, 0, n, y, vselect(MASK, B, value));
}

void ISA(select)(const KWalk *walk, real *y, const uint8_t *mask, const real *chosen, bool negate, bool add)
{
    Job j = { .negate = negate, .add = add, .out = y, .a = mask, .b = chosen, .size_a = 1, .size_b = sizeof(float),
              .piece = select_piece };
    job_run(&j, walk, GRAIN_CHEAP);
}

void ISA(masked_fill)(const KWalk *walk, real *y, const uint8_t *mask, const real *x, real value)
{
    Job j = { .negate = true, .value = value, .out = y, .a = mask, .b = x, .size_a = 1, .size_b = sizeof(float),
              .piece = select_piece };
    job_run(&j, walk, GRAIN_CHEAP);
}
