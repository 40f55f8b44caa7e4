/* plain_kernels.h: the kernels of more_kernels.h as plain loops, ref_<name>: see plain/plain.h. */
#ifndef KAERU_PLAIN_KERNELS_H
#define KAERU_PLAIN_KERNELS_H

#include "more_kernels.h"

#define KERNEL(result, name, parameters, arguments, ret) result ref_##name parameters;
#include "more_kernels.def"

#endif
