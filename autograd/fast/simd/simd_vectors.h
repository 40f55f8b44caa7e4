/* simd_vectors.h: what the compilers' own vector notation says at every width W. Included by the header of an instruction set,
 * which defines W before it; on x86 also x86_integers and X86. */

typedef float vf __attribute__((vector_size(W * 4)));
typedef int32_t vi __attribute__((vector_size(W * 4)));
typedef uint32_t vu __attribute__((vector_size(W * 4)));
typedef double vd __attribute__((vector_size(W * 4)));
typedef uint64_t vl __attribute__((vector_size(W * 4)));

/* The number in every lane; a - 0 is a, for -0 and NaN too. */
INLINE vf vset(float a)                { return a - (vf){ 0 }; }
INLINE vi viset(int32_t a)             { return a - (vi){ 0 }; }
INLINE vd vdset(double a)              { return a - (vd){ 0 }; }
INLINE vl vlset(uint64_t a)            { return a - (vl){ 0 }; }
INLINE vf vload(const float *p)        { vf a; memcpy(&a, p, sizeof a); return a; }
INLINE void vstore(float *p, vf a)     { memcpy(p, &a, sizeof a); }
INLINE void vdstore(double *p, vd a)   { memcpy(p, &a, sizeof a); }
INLINE vf vtof(vi a)                   { return __builtin_convertvector(a, vf); }
INLINE vi vshr(vi a, int n)            { return (vi)((vu)a >> n); }         /* zeros come in */

#if !defined(__AVX512F__)
typedef vi vm;                          /* -1 or 0 */

INLINE vm vlt(vf a, vf b)              { return a < b; }
INLINE vm vle(vf a, vf b)              { return a <= b; }
INLINE vm veq(vf a, vf b)              { return a == b; }
INLINE vm vne(vf a, vf b)              { return a != b; }
INLINE vm vieq(vi a, vi b)             { return a == b; }
INLINE vm vilt(vi a, vi b)             { return a < b; }
INLINE vm vand(vm a, vm b)             { return a & b; }
INLINE vm vor(vm a, vm b)              { return a | b; }
INLINE vm vnot(vm a)                   { return ~a; }
#endif

#if defined(X86)
INLINE vf vfma(vf a, vf b, vf c)       { return X86(fmadd_ps)(a, b, c); }
INLINE vf vsqrt(vf a)                  { return X86(sqrt_ps)(a); }
/* a > b ? a : b, and so b where either is NaN. */
INLINE vf vmax(vf a, vf b)             { return X86(max_ps)(a, b); }
INLINE vf vmin(vf a, vf b)             { return X86(min_ps)(a, b); }

/* 4 vectors to 4 others: w[j]'s lane l becomes lane j of a group of four; group l of out[g] comes from lane 4 l + g. */
INLINE void vinterleave(const vi w[4], vi out[4])
{
    const x86_integers w0 = (x86_integers)w[0], w1 = (x86_integers)w[1], w2 = (x86_integers)w[2], w3 = (x86_integers)w[3];
    const x86_integers t0 = X86(unpacklo_epi32)(w0, w1), t1 = X86(unpackhi_epi32)(w0, w1);
    const x86_integers t2 = X86(unpacklo_epi32)(w2, w3), t3 = X86(unpackhi_epi32)(w2, w3);
    out[0] = (vi)X86(unpacklo_epi64)(t0, t2);
    out[1] = (vi)X86(unpackhi_epi64)(t0, t2);
    out[2] = (vi)X86(unpacklo_epi64)(t1, t3);
    out[3] = (vi)X86(unpackhi_epi64)(t1, t3);
}
#endif
