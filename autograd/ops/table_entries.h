/* table_entries.h: the macros that make the entries of ops.def those of a table of Op. The list
 * undefines them. */
/* Which value the rule of a function of one number reads: what unary_functions.def says. */
#define UNARY_NEEDS(f) \
    ((int)f##_READS == K_READS_X ? NEEDS_X0 : (int)f##_READS == K_READS_Y ? NEEDS_Y : NEEDS_NONE)

#define OP(name, params, forward, backward_rule, ...) \
    { #name, "ag_" #name, forward, backward_rule, INPUTS_##name, NUMBERS_##name, __VA_ARGS__ },
#define UNARY_OP(name, ...) NUMBERS_OP(name, (Tensor *x), __VA_ARGS__)
#define NUMBERS_OP(name, params, f, forward, backward_rule) \
    OP(name, params, forward, backward_rule, .backward = unary_backward, .compute = unary_values, \
       .kernel = (f), .needs = UNARY_NEEDS(f))
#define BINARY_OP(name, f, reads, forward, backward_rule) \
    OP(name, (Tensor *a, Tensor *b), forward, backward_rule, .backward = binary_backward, \
       .compute = binary_values, .kernel = (f), .needs = (reads))
