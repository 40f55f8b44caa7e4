/* elementwise.c: functions of one and of two numbers for each item of arrays, select, copies and
 * simple loops such as fill, as plain loops. See plain.h. The formulas of most functions of one
 * number are in unary_functions.def. */
#include "plain.h"

#include <math.h>
#include <string.h>

#include "functions.h"

/* ---- functions of one number ----------------------------------------------------------------- */

/* Returns x^exponent. Frequent exponents are products. Another whole one raises |x|, and the sign
 * comes after that. An exponent that is whole only as a real is not: x < 0 has no power then. */
static real power(real x, double exponent)
{
    const real p = (real)exponent;
    const bool whole = exponent == trunc(exponent), rounded = !whole && p == REAL(trunc)(p);
    if (!whole && !rounded) return real_pow(x, p);
    if (whole && exponent == 2) return x * x;
    if (whole && exponent == 1) return x;
    if (whole && exponent == 3) return x * x * x;
    if (whole && exponent == -1) return 1 / x;
    const real y = real_pow(REAL(fabs)(x), p);
    if (rounded) return -INFINITY < x && x < 0 ? (real)NAN : y;
    return fabs(fmod(exponent, 2)) == 1 ? REAL(copysign)(y, x) : y;
}

static real silu_slope(real x)
{
    real slope;
    real_silu(x, &slope);
    return slope;
}

/* Returns x, or 0 if x is subnormal. */
static real without_subnormal(real x)
{
    return REAL(fabs)(x) < (sizeof(real) == sizeof(float) ? 0x1p-126 : 0x1p-1022) ? 0 : x;
}

real ref_unary_1(KUnary f, real x, double exponent, double second)
{
    const real p = (real)exponent, q = (real)second;
    switch (f) {
#define UNARY(name, reads, cost, value, gradient) case K_##name: return value;
#include "unary_functions.def"
    }
    return 0;
}

static real unary_gradient(KUnary f, real dy, real x, real y, double exponent, double second)
{
    const real p = (real)exponent, q = (real)second;
    switch (f) {
#define UNARY(name, reads, cost, value, gradient) case K_##name: return gradient;
#include "unary_functions.def"
    }
    return 0;
}

void ref_unary(KUnary f, int64_t n, real *y, const real *x, double p, double q)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] = ref_unary_1(f, x[i], p, q);
    }
}

void ref_unary_backward(KUnary f, int64_t n, real *dx, const real *dy, const real *x, const real *y,
                        double p, double q, bool add)
{
    for (int64_t i = 0; i < n; i++) {
        real d = unary_gradient(f, dy[i], x ? x[i] : 0, y ? y[i] : 0, p, q);
        dx[i] = add ? dx[i] + d : d;
    }
}

/* ---- two arrays and strided iterations ------------------------------------------------------- */

/* An item of a walk: its index, its place in both arrays, and how many items are left with it. */
typedef struct { int64_t left, index[K_DIMS], a, b; } Step;

static Step first_step(const KWalk *w)
{
    Step p = { .left = 1 };
    for (int d = 0; d < w->ndim; d++) {
        p.left *= w->dim[d];
    }
    return p;
}

static void next_step(const KWalk *w, Step *p)
{
    p->left--;
    for (int d = w->ndim - 1; d >= 0; d--) {
        p->a += w->a[d];
        p->b += w->b[d];
        if (++p->index[d] < w->dim[d]) return;
        p->index[d] = 0;
        p->a -= w->a[d] * w->dim[d];
        p->b -= w->b[d] * w->dim[d];
    }
}

static real larger(real a, real b)
{
    return isnan(a) || a > b ? a : b;       /* b if b is NaN: then a > b is false */
}

static real binary(KBinary f, real a, real b)
{
    switch (f) {
    case K_ADD: return a + b;
    case K_SUB: return a - b;
    case K_MUL: return a * b;
    case K_DIV: return a / b;
    case K_POW: return real_pow(a, b);
    case K_MAX: return larger(a, b);
    case K_MIN: return -larger(-a, -b);
    }
    return 0;
}

void ref_binary(KBinary f, const KWalk *walk, real *y, const real *a, const real *b)
{
    for (Step p = first_step(walk); p.left > 0; next_step(walk, &p)) {
        *y++ = binary(f, a[p.a], b[p.b]);
    }
}

/* Returns the part of dy of an operand of max or min: all, none, or half if both are equal. */
static real share(real dy, real own, real other, bool wins)
{
    if (own == other) return dy / 2;
    return wins ? dy : 0;
}

static real binary_back(KBinary f, bool second, real dy, real a, real b, real y)
{
    real own = second ? b : a, other = second ? a : b;
    switch (f) {
    case K_ADD:
        break;
    case K_SUB: return -dy;
    case K_MUL: return dy * other;
    case K_DIV: return second ? -dy / b * (a / b) : dy / b;
    case K_POW:
        if (second) {                   /* dy y ln a, 0 where a = 0; dy b a^(b-1), 0 where b = 0 */
            return a == 0 && b >= 0 ? 0 : dy * (y * real_log(a));
        }
        return b == 0 ? 0 : dy * (b * real_pow(a, b - 1));
    case K_MAX: return share(dy, own, other, own > other);
    case K_MIN: return share(dy, own, other, own < other);
    }
    return 0;
}

void ref_binary_backward(KBinary f, bool second, const KWalk *walk, real *da, const real *dy,
                         const real *a, const real *b, const real *y, bool add)
{
    int64_t i = 0;
    for (Step p = first_step(walk); p.left > 0; next_step(walk, &p), i++) {
        real d = binary_back(f, second, dy[i], a ? a[p.a] : 0, b ? b[p.b] : 0, y ? y[i] : 0);
        da[i] = add ? da[i] + d : d;
    }
}

void ref_select(const KWalk *walk, real *y, const uint8_t *mask, const real *chosen, bool negate,
                real value, bool add)
{
    for (Step p = first_step(walk); p.left > 0; next_step(walk, &p), y++) {
        real v = (mask[p.a] != 0) != negate ? chosen[p.b] : value;
        *y = add ? *y + v : v;
    }
}

void ref_copy(const KWalk *walk, void *dst, const void *src, size_t size)
{
    for (Step p = first_step(walk); p.left > 0; next_step(walk, &p)) {
        memcpy((char *)dst + p.a * (int64_t)size, (const char *)src + p.b * (int64_t)size, size);
    }
}

void ref_copy_add(const KWalk *walk, real *dst, const real *src)
{
    for (Step p = first_step(walk); p.left > 0; next_step(walk, &p)) {
        dst[p.a] += src[p.b];
    }
}

void ref_fill(int64_t n, real *y, real value)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] = value;
    }
}

void ref_axpy(int64_t n, real *y, real s, const real *x)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] = REAL(fma)(s, x[i], y[i]);
    }
}

void ref_difference(int64_t n, real *y, const real *a, const real *b, real s, bool add)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] = add ? REAL(fma)(s, a[i] - b[i], y[i]) : s * (a[i] - b[i]);
    }
}
