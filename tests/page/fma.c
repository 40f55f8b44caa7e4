/* fma.c: the multiply-add of simd_portable.h in WebAssembly, for engine_test.js. Training meets too few of the sums where the
 * fast way is wrong. Returns how many results are wrong. */
#include "simd.h"

static uint32_t state;
/* 32 bits, from the upper halves of two numbers: the lower bits of such a generator repeat soon. */
static uint32_t step(void) { return (state = state * 1664525 + 1013904223) >> 16; }
static uint32_t next(void) { return step() << 16 | step(); }
static float of_bits(uint32_t bits) { float x; memcpy(&x, &bits, sizeof x); return x; }
static bool same(float a, float b) { return memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b); }

/* a b + c lies beside the middle of two floats by less than a double resolves: the double is the middle. */
static int wrong_near_the_middle(void)
{
    const float e = 0x1p-23f, up = 0x1p24f + 2, sub = 0x1p-149f;
    const struct { float a, b, c, right; } known[] = {
        { 1 + e, 1 - e, up, up },                         { -1 - e, 1 - e, -up, -up },
        { 1 + e, 1 + e, 0x1p24f, up },                    { 1 + e, 1 + e, up, up + 2 },
        { 0x1p-75f, 0x1p-75f, sub, 2 * sub },             { 0x1.8p-75f, 0x1p-75f, sub, 2 * sub },
        { 0x1p-75f, 0x1.fffffep-76f, sub, sub },          { 3, 5, 7, 22 },
        { (1 + e) * 0x1p-75f, (1 - e) * 0x1p-75f, 0x1p-127f + sub, 0x1p-127f + sub },
    };
    int wrong = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (int lane = 0; lane < W; lane++) {
            vf y = vfma(vset(known[i].a), vset(known[i].b), vset(known[i].c));
            wrong += !same(y[lane], known[i].right);
        }
    return wrong;
}

/* Random numbers against the slow way, which the tests of the kernels compare with other processors. */
static int wrong_at_random(int n)
{
    int wrong = 0;
    for (int i = 0; i < n; i++) {
        float a[W], b[W], c[W], fast[W], slow[W];
        for (int k = 0; k < W; k++) {
            bool any = i % 4 == 0;                      /* any bits; else numbers near 1, and sums near a middle */
            a[k] = of_bits(any ? next() : 0x3f800000 + next() % 8);
            b[k] = of_bits(any ? next() : 0x3f800000 + next() % 8 - 4);
            c[k] = any ? of_bits(next()) : 0x1p24f + (float)(2 * (next() & 63));
        }
        vstore(fast, vfma(vload(a), vload(b), vload(c)));
        vstore(slow, fma_to_odd(vload(a), vload(b), vload(c)));
        for (int k = 0; k < W; k++)
            wrong += !same(fast[k], slow[k]);
    }
    return wrong;
}

__attribute__((export_name("wrong"))) int wrong(void)
{
    state = 1;
    return wrong_near_the_middle() + wrong_at_random(200000);
}
