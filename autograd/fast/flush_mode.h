/* flush_mode.h: AVX2 and AVX-512 can flush subnormal numbers by their control register. A result is judged after rounding, as
 * AMX does (kernels.h). ARM's control register (FPCR.FZ) cannot be used: there, a result is judged before rounding. */
#ifndef KAERU_FLUSH_MODE_H
#define KAERU_FLUSH_MODE_H

#include <float.h>

#include "simd.h"

#if defined(__AVX2__) && defined(__FMA__)
#define HAVE_FLUSH_MODE
enum { FLUSH_MODE = 0x8040 };           /* MXCSR: subnormal results and operands are 0 */
/* Begins the mode and returns what end_flushing needs. The arithmetic between must be in a function that is not inlined: the
 * compiler may move it otherwise. */
INLINE unsigned begin_flushing(void)
{
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | FLUSH_MODE);
    return before;
}
INLINE void end_flushing(unsigned before)           { _mm_setcsr(before); }
/* For what is a result or an operand of arithmetic between the two: that flushes it already. */
INLINE vf vflush_result(vf x)                       { return x; }
/* Any x, between the two: x, but 0 of its sign for a subnormal number, and a quiet NaN for a NaN. The compiler would leave
 * out a product with 1; a volatile one stays where it is. */
INLINE vf vflush(vf x)
{
    __asm__ volatile("vmulps %1, %0, %0" : "+v"(x) : "v"(vset(1)));
    return x;
}
#else
INLINE vf vflush_result(vf x)
{
    const vi bits = vbits(x);
    return vfrom_bits(viselect(vlt(vabs(x), vset(FLT_MIN)), bits & viset(INT32_MIN), bits));
}
INLINE vf vflush(vf x)
{
    const vi bits = vbits(x);
    return vflush_result(vfrom_bits(viselect(vne(x, x), bits | viset(0x00400000), bits)));
}
INLINE unsigned begin_flushing(void)                { return 0; }
INLINE void end_flushing(unsigned before)           { (void)before; }
#endif

#endif
