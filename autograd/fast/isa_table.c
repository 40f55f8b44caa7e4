/* isa_table.c: the table of one processor path; compiled once for each, like every file that includes simd.h. */
#include "kernel_table.h"
#include "more_kernel_table.h"
#include "simd.h"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define TABLE ISA(table)

static const MoreKernelTable more_table = {
#define KERNEL(result, name, parameters, arguments, ret) .name = ISA(name),
#include "more_kernels.def"
};

extern const KernelTable TABLE;
const KernelTable TABLE = {
    .name = TEXT(KERNEL_ISA),
#define KERNEL(result, name, parameters, arguments, ret) .name = ISA(name),
#include "kernels.def"
    .further = &more_table,
};
