/* simd_vectors.h: what the compilers' own vector notation says at every width W. Included by the header of an instruction set,
 * which defines W before it. */

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
