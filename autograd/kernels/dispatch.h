/* dispatch.h: a processor path is a table of kernels compiled for one kind of processor. */
#ifndef KAERU_DISPATCH_H
#define KAERU_DISPATCH_H

#include "kernels.h"

typedef struct {
    const char *name;
#define KERNEL(result, name, parameters, arguments, ret) result (*name) parameters;
#include "kernels.def"
} KernelTable;

/* Makes k_<name> use the path of this name from now on; false, and nothing changed, if there is none or the processor
 * cannot run it. For tests; no kernel may be running. */
bool k_use_isa(const char *name);
void k_use_table(const KernelTable *table);

#endif
