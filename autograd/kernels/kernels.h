/* kernels.h: all kernels: functions that compute on arrays and know nothing of tensors. autograd includes this file; a
 * kernel's own file includes only the headers of its subject.
 *
 * Three promises hold for every kernel:
 *   1. The result has the same bits on any number of threads and with any instruction set (AVX-512, AVX2, portable C): the
 *      order of every sum depends on the shapes alone, a product is added with one rounding (fused multiply-add, emulated
 *      where the processor has none), and no function of libm is called except sqrt and fma.
 *   2. No kernel asks the system for memory after the first calls: scratch memory is an argument or belongs to the thread. A
 *      kernel that cannot get its scratch memory works without it.
 *   3. reference/ has each kernel once more as plain loops. The tests compare the two; the double build runs the plain loops.
 *
 * Conventions: sizes are element counts (int64_t) and may be 0; arrays are dense and row-major unless a stride is given;
 * outputs may not overlap inputs unless a comment allows it. `add` false writes the output, true adds to it: the first
 * gradient of a tensor is written, the next ones are added.
 *
 * The prototype of a kernel is its only declaration. From it the build (headers.py) writes the lists NAME.def of each header
 * and kernels.def of all: KERNEL(result, name, (parameters), (arguments), RETURN), where RETURN is `return` if there is a
 * result. From them come the prototypes ISA(name) (simd.h) and ref_<name> (reference.h), the entry in the table of an
 * instruction set (dispatch.h) and the function k_<name> that calls this entry (dispatch.c). Written by hand are ISA(name) in
 * a file of kernel_isa_sources (meson.build) and ref_<name> in reference/. */
#ifndef KAERU_KERNELS_H
#define KAERU_KERNELS_H

#include "elementwise.h"
#include "gemm.h"
#include "patches.h"
#include "distributions.h"
#include "reduce.h"
#include "rows.h"
#include "unary.h"
#include "update.h"

/* Not kernels by themselves. */
#include "attention_blocks.h"
#include "conv_blocks.h"
#include "philox.h"
#include "pool.h"

/* The instruction set in use: "amx" (AVX-512, and AMX for products in bfloat16), "avx512", "avx2", "portable" or, in the double
 * build, "reference". The environment variable KAERU_ISA names one to use instead of the best; for one that the processor
 * lacks there is a line on stderr, and the best is used. */
const char *k_isa(void);

#endif
