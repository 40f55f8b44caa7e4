/* table_entries.h: the macros that turn an entry of ops.def into an Op, for example
 *
 *     BINARY_OP(add, K_ADD, NEEDS_NONE, "a + b", "da = dy, db = dy")
 *
 * into { "add", "ag_add", "a + b", "da = dy, db = dy", .backward = binary_backward, ... }. ops.def
 * undefines them at its end, so this file is included before each list and has no guard. */

/* The value that the rule of a function of one number reads, from unary_functions.def. */
#define UNARY_NEEDS(f) \
    (((int)f##_READS == K_READS_X ? NEEDS_X0 : 0) + ((int)f##_READS == K_READS_Y ? NEEDS_Y : 0))

#define OP(name, params, forward, backward_rule, ...) \
    { #name, "ag_" #name, forward, backward_rule, INPUTS_##name, NUMBERS_##name, __VA_ARGS__ },
#define UNARY_OP(name, ...) NUMBERS_OP(name, (Tensor *x), __VA_ARGS__)
#define NUMBERS_OP(name, params, f, forward, backward_rule) \
    OP(name, params, forward, backward_rule, .backward = unary_backward, .compute = unary_values, \
       .kernel = (f), .needs = UNARY_NEEDS(f))
#define BINARY_OP(name, f, reads, forward, backward_rule) \
    OP(name, (Tensor *a, Tensor *b), forward, backward_rule, .backward = binary_backward, \
       .compute = binary_values, .kernel = (f), .needs = (reads))
