/* unary.c: functions of one number and their derivatives, in vectors.
 *
 * Each item depends on no other, so vectors and threads can cut the array anywhere. */
#include "sine_of_large.h"
#include "vmath.h"
#include "vpow.h"

/* Items that a thread takes at least: a few microseconds of work. */
enum { GRAIN_CHEAP = 16384, GRAIN_EXPENSIVE = 8192 };

static const int64_t grain_of[] = {
#define UNARY(name, reads, cost, value, gradient) GRAIN_##cost,
#include "unary_functions.def"
};

/* ---- x^p for one p ----------------------------------------------------------------------------------------------- */

/* An exponent as a float, and what is known of it before it is rounded; rounded: it is whole only as a float. */
typedef struct { float p; bool whole, odd, rounded; } Exponent;

static Exponent exponent_of(double p)
{
    const float f = (float)p;
    const bool whole = p == trunc(p);
    return (Exponent){ f, whole, fabs(fmod(p, 2)) == 1, !whole && f == truncf(f) };
}

/* The frequent exponents by multiplication. With a whole exponent |x| is raised and gets its sign after that, because vpow is
 * slow for negative numbers. */
INLINE vf power_of(vf x, Exponent e)
{
    if (!e.whole && !e.rounded) return vpow(x, vset(e.p));
    if (e.whole && e.p == 2) return x * x;
    if (e.whole && e.p == 1) return x;
    if (e.whole && e.p == 3) return x * x * x;
    if (e.whole && e.p == -1) return vset(1) / x;
    vf y = vpow(vabs(x), vset(e.p));
    if (e.rounded) return vselect(vand(vlt(vset(-INFINITY), x), vlt(x, vset(0))), vset(NAN), y);
    return e.odd ? vcopysign(y, x) : y;
}

/* sin(x + quarters pi/2); quarters is 0 or 1. */
INLINE vf sine_of_near(vf x, int quarters) { return quarters ? vcos(x) : vsin(x); }

/* The same where an item is large, infinite or NaN. */
static __attribute__((noinline)) void sine_of_far(float *x, int quarters)
{
    float y[W];
    for (int i = 0; i < W; i++) {
        y[i] = x[i];
        if (!(fabsf(x[i]) <= (float)K_MOST_ANGLE)) x[i] = 0;
    }
    vstore(x, sine_of_near(vload(x), quarters));
    for (int i = 0; i < W; i++)
        if (!(fabsf(y[i]) <= (float)K_MOST_ANGLE)) x[i] = k_sine_of_large(y[i], quarters);
}

INLINE vf sine_of(vf x, int quarters)
{
    if (!vany(vnot(vle(vabs(x), vset((float)K_MOST_ANGLE))))) return sine_of_near(x, quarters);
    float item[W];
    vstore(item, x);
    sine_of_far(item, quarters);
    return vload(item);
}

/* 1 with the sign of x; x where that is 0 or NaN. */
INLINE vf sign_of(vf x) { return vselect(vor(vlt(x, vset(0)), vlt(vset(0), x)), vcopysign(vset(1), x), x); }

/* a where x > 0, else b. */
INLINE vf where_positive(vf x, vf a, vf b) { return vselect(vlt(vset(0), x), a, b); }

/* ---- forward ----------------------------------------------------------------------------------------------------- */

typedef struct { KUnary f; float *y; const float *x; double p, q; } Forward;

static void forward(void *arg, int64_t begin, int64_t end)
{
    const Forward *job = arg;
    const float *x = job->x, p = (float)job->p, q = (float)job->q;
    float *y = job->y;
    switch (job->f) {
    case K_IDENTITY: EACH(begin, end, y, LOAD(x)); break;
    case K_NEG:      EACH(begin, end, y, vneg(LOAD(x))); break;
    case K_EXP:      EACH(begin, end, y, vexp(LOAD(x))); break;
    case K_LOG:      EACH(begin, end, y, vlog(LOAD(x))); break;
    case K_SQRT:     EACH(begin, end, y, vsqrt(LOAD(x))); break;
    case K_ABS:      EACH(begin, end, y, vabs(LOAD(x))); break;
    case K_TANH:     EACH(begin, end, y, vtanh(LOAD(x))); break;
    case K_SIGMOID:  EACH(begin, end, y, vsigmoid(LOAD(x))); break;
    case K_RELU:     EACH(begin, end, y, vmax(vset(0), LOAD(x))); break;
    case K_GELU:     EACH(begin, end, y, vgelu(LOAD(x))); break;
    case K_GELU_ERF: EACH(begin, end, y, vgelu_erf(LOAD(x))); break;
    case K_CLAMP:    EACH(begin, end, y, vclamp(LOAD(x), p, q)); break;
    case K_SCALE:    EACH(begin, end, y, vfma(vset(p), LOAD(x), vset(q))); break;
    case K_SILU:     EACH(begin, end, y, vsilu(LOAD(x))); break;
    case K_SOFTPLUS: EACH(begin, end, y, vsoftplus(LOAD(x))); break;
    case K_ERF:      EACH(begin, end, y, verf(LOAD(x))); break;
    case K_SIN:      EACH(begin, end, y, sine_of(LOAD(x), 0)); break;
    case K_COS:      EACH(begin, end, y, sine_of(LOAD(x), 1)); break;
    case K_SIGN:     EACH(begin, end, y, sign_of(LOAD(x))); break;
    case K_LEAKY_RELU: EACH(begin, end, y, where_positive(LOAD(x), LOAD(x), vset(p) * LOAD(x))); break;
    case K_ELU:      EACH(begin, end, y, vselect(vlt(LOAD(x), vset(0)), vset(p) * vexpm1_negative(LOAD(x)), LOAD(x))); break;
    case K_LOG_SIGMOID: EACH(begin, end, y, vneg(vsoftplus(vneg(LOAD(x))))); break;
    case K_POW_SCALAR: {
        Exponent e = exponent_of(job->p);
        EACH(begin, end, y, power_of(LOAD(x), e));
        break;
    }
    }
}

void ISA(unary)(KUnary f, int64_t n, real *y, const real *x, double p, double q)
{
    k_parallel(n, grain_of[f], forward, &(Forward){ f, y, x, p, q });
}

/* ---- backward ---------------------------------------------------------------------------------------------------- */

typedef struct { KUnary f; float *dx; const float *dy, *x, *y; double p, q; bool add; } Backward;

/* dy where the mask is set, else 0. Not a product with the mask: 0 times infinity is NaN. */
INLINE vf where(vm mask, vf dy) { return vselect(mask, dy, vset(0)); }

/* a, with 0 for subnormal numbers. Compares bits: no arithmetic on subnormal numbers, which is slow on some processors. */
INLINE vf without_subnormal(vf a) { return vselect(vieq(vbits(a) & viset(0x7f800000), viset(0)), vset(0), a); }

/* dy times the sign of x, 0 where x is 0 or NaN. */
INLINE vf sign_times(vf x, vf dy)
{
    return where(vor(vlt(x, vset(0)), vlt(vset(0), x)), vfrom_bits(vbits(dy) ^ (vbits(x) & viset(INT32_MIN))));
}

INLINE vf within(vf x, float low, float high, vf dy)
{
    return where(vand(vle(vset(low), x), vle(x, vset(high))), dy);
}

#define DX(value) EACH_ADD(job->add, begin, end, dx, value)

static void backward(void *arg, int64_t begin, int64_t end)
{
    const Backward *job = arg;
    const float *dy = job->dy, *x = job->x, *y = job->y, p = (float)job->p, q = (float)job->q;
    float *dx = job->dx;
    switch (job->f) {
    case K_IDENTITY: DX(LOAD(dy)); break;
    case K_NEG:      DX(vneg(LOAD(dy))); break;
    case K_EXP:      DX(LOAD(dy) * LOAD(y)); break;
    case K_LOG:      DX(LOAD(dy) / LOAD(x)); break;
    case K_SQRT:     DX(LOAD(dy) / (LOAD(y) + LOAD(y))); break;
    case K_ABS:      DX(sign_times(LOAD(x), LOAD(dy))); break;
    case K_TANH:     DX(LOAD(dy) * vfnma(LOAD(y), LOAD(y), vset(1))); break;
    case K_SIGMOID:  DX(LOAD(dy) * vfnma(LOAD(y), LOAD(y), LOAD(y))); break;
    case K_RELU:     DX(where(vlt(vset(0), LOAD(y)), without_subnormal(LOAD(dy)))); break;
    case K_GELU:     DX(LOAD(dy) * vgelu_slope(LOAD(x))); break;
    case K_GELU_ERF: DX(LOAD(dy) * vgelu_erf_slope(LOAD(x))); break;
    case K_CLAMP:    DX(within(LOAD(x), p, q, LOAD(dy))); break;
    case K_SCALE:    DX(vset(p) * LOAD(dy)); break;
    case K_SILU:     DX(LOAD(dy) * vsilu_slope(LOAD(x))); break;
    case K_SOFTPLUS: DX(LOAD(dy) * vsigmoid(LOAD(x))); break;
    case K_ERF:      DX(LOAD(dy) * (vset(0x1.20dd76p+0f) * vexp(vneg(LOAD(x) * LOAD(x))))); break;      /* 2 / sqrt(pi) */
    case K_SIN:      DX(LOAD(dy) * sine_of(LOAD(x), 1)); break;
    case K_COS:      DX(vneg(LOAD(dy)) * sine_of(LOAD(x), 0)); break;
    case K_SIGN:     DX(vset(0)); break;
    case K_LEAKY_RELU: DX(where_positive(LOAD(x), LOAD(dy), vset(p) * LOAD(dy))); break;
    case K_ELU:      DX(where_positive(LOAD(x), LOAD(dy), LOAD(dy) * (vset(p) * vexp(LOAD(x))))); break;
    case K_LOG_SIGMOID: DX(LOAD(dy) * vsigmoid(vneg(LOAD(x)))); break;
    case K_POW_SCALAR: {
        Exponent e = exponent_of(job->p - 1);
        if (job->p == 0) DX(vset(0));
        else DX(LOAD(dy) * (vset(p) * power_of(LOAD(x), e)));
        break;
    }
    }
}

void ISA(unary_backward)(KUnary f, int64_t n, real *dx, const real *dy, const real *x, const real *y, double p, double q,
                          bool add)
{
    k_parallel(n, grain_of[f], backward, &(Backward){ f, dx, dy, x, y, p, q, add });
}
