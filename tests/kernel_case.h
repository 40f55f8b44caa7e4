/* kernel_case.h: one call of a kernel, with its arrays, and the comparison of its results.
 *
 * A test fills a Case with shapes and arrays and calls check_case with a function that calls one kernel. check_case runs it
 * with the reference's table of kernels, then with k_<name>, with every instruction set and 1, 2, 3 and 8 threads. The results
 * must have the bits of the reference each time, and nothing outside the outputs may change.
 * Arrays are not aligned for vectors: they begin 4 bytes after a multiple of 64. */
#ifndef KAERU_KERNEL_CASE_H
#define KAERU_KERNEL_CASE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_table.h"
#include "philox.h"
#include "plain.h"
#include "plain_kernels.h"
#include "suites.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))
enum { MAX_ARRAYS = 12 };

typedef struct { unsigned char *memory; size_t bytes; } Array;

/* The arguments of a kernel. */
typedef struct {
    int64_t n, outer, inner;
    int f;
    bool flag, add;
    double p, q, value;         /* `value`: what the kernel returned */
    KWalk walk;
    AgNorm norm;
    float *in[5], *out[3];
    uint8_t *mask, *bytes;
    int32_t *ids, *places;
    Array inputs[MAX_ARRAYS], outputs[MAX_ARRAYS];
    int n_inputs, n_outputs;
} Case;

/* The kernels of kernels.h and of more_kernels.h. */
typedef struct {
#define KERNEL(result, name, parameters, arguments, ret) result (*name) parameters;
#include "kernels.def"
#define KERNEL(result, name, parameters, arguments, ret) result (*name) parameters;
#include "more_kernels.def"
} Kernels;
typedef void Call(const Kernels *k, Case *c);

/* Calls, compares and frees the arrays. */
void check_case(Case *c, Call *call);

/* "avx512", ... and, with the instructions in plain C, "emulated amx" and "emulated avx512_bf16". use_isa: as k_use_isa. */
extern const char *const isa_names[7];
bool use_isa(const char *name);

/* The tests' own random numbers; `setup` restarts them. */
void     setup(void);
uint32_t draw(void);
float    draw_between(double low, double high);

/* Arrays that belong to the case. An output starts with floats in -1..1, which add to the result where `add` is set. */
float   *input(Case *c, int64_t n, double low, double high);
float   *odd_input(Case *c, int64_t n);             /* some are infinite, NaN, 0, subnormal, very large */
uint8_t *mask_input(Case *c, int64_t n);
int32_t *id_input(Case *c, int64_t n, int32_t below);
float   *output(Case *c, int64_t n);
uint8_t *byte_output(Case *c, int64_t n);
int32_t *int_output(Case *c, int64_t n);

#endif
