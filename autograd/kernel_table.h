/* kernel_table.h: a table of kernels, and the one in use.
 *
 * A build has one file that defines k_table_in_use and k_find_table: plain/table.c, whose only
 * table are the plain loops, or one that has several tables and chooses the best for this processor
 * before main. */
#ifndef KAERU_KERNEL_TABLE_H
#define KAERU_KERNEL_TABLE_H

#include "kernels.h"

typedef struct {
    const char *name;
#define KERNEL(result, name, parameters, arguments, ret) result (*name) parameters;
#include "kernels.def"
} KernelTable;

/* What k_<name> calls. */
extern const KernelTable *k_table_in_use;
/* The table of this name; NULL if there is none, or the processor cannot run it. */
const KernelTable *k_find_table(const char *name);

/* The name of the table in use. */
const char *k_isa(void);
/* Makes k_<name> use the table of this name from now on; false, and nothing changed, if
 * k_find_table finds none. For tests; no kernel may be running. */
bool k_use_isa(const char *name);
void k_use_table(const KernelTable *table);
const KernelTable *k_table(void);

#endif
