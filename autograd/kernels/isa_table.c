/* isa_table.c: the table of one processor path; compiled once for each, like every file that includes simd.h. */
#include "dispatch.h"
#include "simd.h"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define TABLE PATH(path)

extern const KPath TABLE;
const KPath TABLE = {
    .name = TEXT(KERNEL_PATH),
#define KERNEL(result, name, parameters, arguments, ret) .name = PATH(name),
#include "kernels.def"
};
