/* elementwise.c: elementwise kernels as plain loops. See plain.h. */
#include "plain.h"

#include <math.h>
#include <string.h>

static const double PI = 3.14159265358979323846;

/* ---- functions of one number ----------------------------------------------------------------- */

/* The argument of tanh in GPT's GELU, and its derivative. */
static double gelu_inner(double x)
{
    return sqrt(2 / PI) * (x + 0.044715 * x * x * x);
}

static double gelu_inner_slope(double x)
{
    return sqrt(2 / PI) * (1 + 3 * 0.044715 * x * x);
}

/* Below -GELU_FAR both forms of GELU are 0, above GELU_FAR they are x; their formulas would give
 * infinity times 0, or subnormal numbers. */
static const double GELU_FAR = 37;

static double gelu(double x)
{
    return x < -GELU_FAR ? -0.0 : x / (1 + exp(-2 * gelu_inner(x)));
}

static double gelu_slope(double x)
{
    if (fabs(x) > GELU_FAR) return x > 0;
    double s = 1 / (1 + exp(-2 * gelu_inner(x)));
    return s + 2 * x * s * (1 - s) * gelu_inner_slope(x);
}

static double gelu_erf(double x)
{
    return x < -GELU_FAR ? -0.0 : x / 2 * erfc(-x / sqrt(2));
}

static double gelu_erf_slope(double x)
{
    if (fabs(x) > GELU_FAR) return x > 0;
    return 0.5 * erfc(-x / sqrt(2)) + x * exp(-x * x / 2) / sqrt(2 * PI);
}

static double silu(double x)
{
    return x < -800 ? -0.0 : x / (1 + exp(-x));         /* the formula gives NaN for -infinity */
}

static double silu_slope(double x)
{
    if (fabs(x) > 800) return x > 0;
    double s = 1 / (1 + exp(-x));
    return s + x * s * (1 - s);
}

static double softplus(double x)
{
    return isnan(x) ? x : (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}

/* x, or 0 if it is subnormal as a real. */
static double without_subnormal(double x)
{
    return fabs(x) < (sizeof(real) == sizeof(float) ? 0x1p-126 : 0x1p-1022) ? 0 : x;
}

double ref_unary_1(KUnary f, double x, double p, double q)
{
    switch (f) {
#define UNARY(name, reads, cost, value, gradient) case K_##name: return value;
#include "unary_functions.def"
    }
    return 0;
}

static double unary_gradient(KUnary f, double dy, double x, double y, double p, double q)
{
    switch (f) {
#define UNARY(name, reads, cost, value, gradient) case K_##name: return gradient;
#include "unary_functions.def"
    }
    return 0;
}

void ref_unary(KUnary f, int64_t n, real *y, const real *x, double p, double q)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] = (real)ref_unary_1(f, x[i], p, q);
    }
}

void ref_unary_backward(KUnary f, int64_t n, real *dx, const real *dy, const real *x, const real *y,
                        double p, double q, bool add)
{
    for (int64_t i = 0; i < n; i++) {
        double d = unary_gradient(f, dy[i], x ? x[i] : 0, y ? y[i] : 0, p, q);
        dx[i] = (real)(add ? dx[i] + d : d);
    }
}

/* ---- two arrays and strided iterations ------------------------------------------------------- */

/* An item of a walk: its index, its place in both arrays, and how many items are left with it. */
typedef struct { int64_t left, index[K_DIMS], a, b; } Place;

static Place walk_start(const KWalk *w)
{
    Place p = { .left = 1 };
    for (int d = 0; d < w->ndim; d++) {
        p.left *= w->dim[d];
    }
    return p;
}

static void walk_next(const KWalk *w, Place *p)
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

static double larger(double a, double b)
{
    return isnan(a) || a > b ? a : b;       /* b if b is NaN: then a > b is false */
}

static double binary(KBinary f, double a, double b)
{
    switch (f) {
    case K_ADD: return a + b;
    case K_SUB: return a - b;
    case K_MUL: return a * b;
    case K_DIV: return a / b;
    case K_POW: return pow(a, b);
    case K_MAX: return larger(a, b);
    case K_MIN: return -larger(-a, -b);
    }
    return 0;
}

void ref_binary(KBinary f, const KWalk *walk, real *y, const real *a, const real *b)
{
    for (Place p = walk_start(walk); p.left > 0; walk_next(walk, &p)) {
        *y++ = (real)binary(f, a[p.a], b[p.b]);
    }
}

static double binary_back(KBinary f, bool second, double dy, double a, double b, double y)
{
    double own = second ? b : a, other = second ? a : b;
    switch (f) {
    case K_ADD:
        break;
    case K_SUB: return -dy;
    case K_MUL: return dy * other;
    case K_DIV: return second ? -dy / b * (a / b) : dy / b;
    case K_POW:
        if (second) {                   /* dy y ln a, 0 where a = 0; dy b a^(b-1), 0 where b = 0 */
            return a == 0 && b >= 0 ? 0 : dy * y * log(a);
        }
        return b == 0 ? 0 : dy * b * pow(a, b - 1);
    case K_MAX: return own == other ? dy / 2 : own > other ? dy : 0;
    case K_MIN: return own == other ? dy / 2 : own < other ? dy : 0;
    }
    return 0;
}

void ref_binary_backward(KBinary f, bool second, const KWalk *walk, real *da, const real *dy,
                         const real *a, const real *b, const real *y, bool add)
{
    int64_t i = 0;
    for (Place p = walk_start(walk); p.left > 0; walk_next(walk, &p), i++) {
        double d = binary_back(f, second, dy[i], a ? a[p.a] : 0, b ? b[p.b] : 0, y ? y[i] : 0);
        da[i] = (real)(add ? da[i] + d : d);
    }
}

void ref_select(const KWalk *walk, real *y, const uint8_t *mask, const real *chosen, bool negate,
                real value, bool add)
{
    for (Place p = walk_start(walk); p.left > 0; walk_next(walk, &p), y++) {
        real v = (mask[p.a] != 0) != negate ? chosen[p.b] : value;
        *y = add ? *y + v : v;
    }
}

void ref_copy(const KWalk *walk, void *dst, const void *src, size_t size)
{
    for (Place p = walk_start(walk); p.left > 0; walk_next(walk, &p)) {
        memcpy((char *)dst + p.a * (int64_t)size, (const char *)src + p.b * (int64_t)size, size);
    }
}

void ref_copy_add(const KWalk *walk, real *dst, const real *src)
{
    for (Place p = walk_start(walk); p.left > 0; walk_next(walk, &p)) {
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
        y[i] = (real)fma(s, x[i], y[i]);
    }
}

void ref_difference(int64_t n, real *y, const real *a, const real *b, real s, bool add)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] = (add ? y[i] : 0) + s * (a[i] - b[i]);
    }
}
