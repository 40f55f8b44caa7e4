/* elementwise.c: functions of one and of two numbers for each item of arrays, select, copies and
 * simple loops such as fill, as plain loops. See plain.h. The formulas of most functions of one
 * number are in unary_functions.def. */
#include "plain.h"

#include <math.h>
#include <string.h>

static const double PI = 3.14159265358979323846;

/* ---- functions of one number ----------------------------------------------------------------- */

/* Below -GELU_FAR both forms of GELU are 0, above GELU_FAR they are x. Their formulas would give
 * infinity times 0 there, or subnormal numbers. */
static const double GELU_FAR = 37;

/* Returns the argument of tanh in GPT's GELU, x / 2 (1 + tanh(inner)) = x / (1 + e^(-2 inner)). */
static double gelu_inner(double x) { return sqrt(2 / PI) * (x + 0.044715 * x * x * x); }

static double gelu(double x)
{
    return x < -GELU_FAR ? -0.0 : x / (1 + exp(-2 * gelu_inner(x)));
}

static double gelu_slope(double x)
{
    if (fabs(x) > GELU_FAR) return x > 0;
    double s = 1 / (1 + exp(-2 * gelu_inner(x)));
    double inner_slope = sqrt(2 / PI) * (1 + 3 * 0.044715 * x * x);
    return s + 2 * x * s * (1 - s) * inner_slope;
}

/* Returns the GELU of the paper, x times the normal distribution function of x. */
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
    return x < -800 ? -0.0 : x / (1 + exp(-x));     /* for -infinity, the formula would give NaN */
}

static double silu_slope(double x)
{
    if (fabs(x) > 800) return x > 0;
    double s = 1 / (1 + exp(-x));
    return s + x * s * (1 - s);
}

static double softplus(double x)
{
    return isnan(x) ? x : fmax(x, 0) + log1p(exp(-fabs(x)));
}

/* Returns x, or 0 if x is subnormal as a real. */
static double without_subnormal(double x)
{
    const double least_normal = sizeof(real) == sizeof(float) ? 0x1p-126 : 0x1p-1022;
    return fabs(x) < least_normal ? 0 : x;
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
typedef struct { int64_t left, index[K_DIMS], a, b; } Step;

static Step first_step(const KWalk *w)
{
    Step s = { .left = 1 };
    for (int d = 0; d < w->ndim; d++) {
        s.left *= w->dim[d];
    }
    return s;
}

/* Goes to the next item: the last index grows; at its end it starts from 0 and the one before it
 * grows. */
static void next_step(const KWalk *w, Step *s)
{
    s->left--;
    for (int d = w->ndim - 1; d >= 0; d--) {
        s->index[d]++;
        s->a += w->a[d];
        s->b += w->b[d];
        if (s->index[d] < w->dim[d]) return;
        s->index[d] = 0;
        s->a -= w->a[d] * w->dim[d];
        s->b -= w->b[d] * w->dim[d];
    }
}

/* Returns the larger number, or NaN if one is. */
static double larger(double a, double b)
{
    return isnan(a) || a > b ? a : b;
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
    for (Step s = first_step(walk); s.left > 0; next_step(walk, &s)) {
        *y++ = (real)binary(f, a[s.a], b[s.b]);
    }
}

/* Returns the part of dy of an operand of max or min: all, none, or half if both are equal. */
static double share(double dy, double own, double other, bool wins)
{
    if (own == other) return dy / 2;
    return wins ? dy : 0;
}

/* Returns the gradient of the first or the second operand for one item. Where it is dy (of a sum,
 * and of the first operand of a difference), no kernel is called. */
static double binary_back(KBinary f, bool second, double dy, double a, double b, double y)
{
    double own = second ? b : a, other = second ? a : b;
    switch (f) {
    case K_ADD: return 0;
    case K_SUB: return -dy;
    case K_MUL: return dy * other;
    case K_DIV: return second ? -dy / b * (a / b) : dy / b;
    case K_POW:                         /* at the ends, 0 instead of 0 times infinity */
        if (second) return a == 0 && b >= 0 ? 0 : dy * y * log(a);
        return b == 0 ? 0 : dy * b * pow(a, b - 1);
    case K_MAX: return share(dy, own, other, own > other);
    case K_MIN: return share(dy, own, other, own < other);
    }
    return 0;
}

void ref_binary_backward(KBinary f, bool second, const KWalk *walk, real *da, const real *dy,
                         const real *a, const real *b, const real *y, bool add)
{
    int64_t i = 0;
    for (Step s = first_step(walk); s.left > 0; next_step(walk, &s)) {
        double d = binary_back(f, second, dy[i], a ? a[s.a] : 0, b ? b[s.b] : 0, y ? y[i] : 0);
        da[i] = (real)(add ? da[i] + d : d);
        i++;
    }
}

void ref_select(const KWalk *walk, real *y, const uint8_t *mask, const real *chosen, bool negate,
                real value, bool add)
{
    for (Step s = first_step(walk); s.left > 0; next_step(walk, &s)) {
        bool choose = (mask[s.a] != 0) != negate;
        real v = choose ? chosen[s.b] : value;
        *y = add ? *y + v : v;
        y++;
    }
}

void ref_copy(const KWalk *walk, void *dst, const void *src, size_t size)
{
    const int64_t bytes = (int64_t)size;
    for (Step s = first_step(walk); s.left > 0; next_step(walk, &s)) {
        memcpy((char *)dst + s.a * bytes, (const char *)src + s.b * bytes, size);
    }
}

void ref_copy_add(const KWalk *walk, real *dst, const real *src)
{
    for (Step s = first_step(walk); s.left > 0; next_step(walk, &s)) {
        dst[s.a] += src[s.b];
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
