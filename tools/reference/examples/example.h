/* example.h: EXAMPLE(name) { ... } runs the example of the entry `name` in a scope of its own. The reference shows what is
 * between the braces, and what it prints, from the file .txt beside the source, which tests/test_reference.sh compares. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <kaeru/kaeru.h>

#define EXAMPLE(name) \
    for (AgScope scope = example_begin(#name), *open = &scope; open; ag_end(scope), open = NULL)

static inline AgScope example_begin(const char *name)
{
    printf("==== %s\n", name);
    ag_seed(1);
    return ag_begin(AG_RECORD);
}

/* A tensor that requires a gradient. */
static inline Tensor *variable(Tensor *t)
{
    return tensor_set_requires_grad(t, true);
}

#endif
