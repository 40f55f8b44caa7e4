/* flush_mode.h: AVX2 and AVX-512 can flush subnormal numbers by their control register. A result is judged after rounding, as
 * AMX does (gemm.h). */
#ifndef KAERU_FLUSH_MODE_H
#define KAERU_FLUSH_MODE_H

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
#else
INLINE unsigned begin_flushing(void)                { return 0; }
INLINE void end_flushing(unsigned before)           { (void)before; }
#endif

#endif
