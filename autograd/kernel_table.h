/* kernel_table.h: a table of kernels, and the one in use.
 *
 * There are several sets of kernels: the plain loops, and in fast/ one for each instruction set. A
 * table has a pointer to each kernel of a set. A build has one file that defines k_table_in_use and
 * k_find_table. plain/table.c has the table of the plain loops. fast/dispatch.c has several tables,
 * and chooses the best one for this processor before main. */
#ifndef KAERU_KERNEL_TABLE_H
#define KAERU_KERNEL_TABLE_H

#include "kernels.h"

typedef struct {
    const char *name;
#define KERNEL(result, name, parameters, arguments, ret) result (*name) parameters;
#include "kernels.def"
    const void *further;        /* a table of kernels that other folders need, or NULL */
} KernelTable;

/* The table that k_<name> calls. Tests and benchmarks set another one while no kernel runs. */
extern const KernelTable *k_table_in_use;
/* Returns the table of this name. NULL if there is none, or if the processor cannot run it. */
const KernelTable *k_find_table(const char *name);

/* Returns the name of the table in use. */
const char *k_isa(void);
/* Makes the table of this name the one in use. Returns false, and changes nothing, if k_find_table
 * finds none. */
bool k_use_isa(const char *name);

#endif
