/* trace_text.c: tensors, formulas and values as words. */
#include "trace.h"
#include "ops/table.h"

#include <math.h>
#include <ctype.h>
#include <string.h>

/* ---- symbols ----------------------------------------------------------------------------------------------------- */

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Long names, and those of modules ("encoder.0.weight"), would bury a formula. */
static bool is_word(const char *name)
{
    size_t n = 0;
    while (in_word(name[n])) n++;
    return n > 0 && n < sizeof(Symbol) / 2 && name[n] == '\0' && !isdigit((unsigned char)name[0]);
}

const char *trace_symbol(const Trace *s, uint32_t i, Symbol text)
{
    const char *name = s->node[i]->name;
    bool own = name && is_word(name);
    for (uint32_t k = 0; own && k < s->n; k++)
        if (k != i && s->node[k]->name && strcmp(s->node[k]->name, name) == 0) own = false;
    if (own) snprintf(text, sizeof(Symbol), "%s", name);
    else snprintf(text, sizeof(Symbol), "t%u", (unsigned)i);
    return text;
}

/* ---- formulas ---------------------------------------------------------------------------------------------------- */

static bool same(const char *word, size_t n, const char *other)
{
    return n == strlen(other) && memcmp(word, other, n) == 0;
}

/* The place of a word in a list that ends with NULL; -1: it is not there. */
static int place_of(const char *word, size_t n, const char *const *list)
{
    for (int i = 0; list[i]; i++)
        if (same(word, n, list[i])) return i;
    return -1;
}

/* Which input of y a word of the formula names; -1: none. Those of a program's own operation are x0, x1, ..., or x. */
static int input_named(const Tensor *y, const char *word, size_t n)
{
    if (y->op->inputs) return place_of(word, n, y->op->inputs);
    if (y->n_in == 1 && same(word, n, "x")) return 0;
    for (int j = 0; j < y->n_in; j++) {
        char numbered[16];
        snprintf(numbered, sizeof numbered, "x%d", j);
        if (same(word, n, numbered)) return j;
    }
    return -1;
}

/* The node that a word of y's formula names; NULL: none. */
static const Tensor *node_named(const Tensor *y, const char *word, size_t n)
{
    if (same(word, n, "y")) return y;
    int j = input_named(y, word, n);
    return j >= 0 && j < y->n_in ? y->in[j] : NULL;        /* an optional last input may be absent */
}

/* The numbers that a call got, in the order of op->numbers; NULL for operations that keep other things in args. */
static const double *numbers_of(const Tensor *y)
{
    static const double zeros[2] = { 0, 0 };
    const Op *o = y->op;
    bool kept = o == &op_table[OP_scale] || o == &op_table[OP_pow_scalar] || o == &op_table[OP_clamp] ||
                o == &op_table[OP_masked_softmax];
    return !kept ? NULL : y->args ? y->args : zeros;
}

/* Writes the number that a word of y's formula names; false: none. */
static bool write_number_named(FILE *out, const Tensor *y, const char *word, size_t n)
{
    const double *numbers = numbers_of(y);
    int k = numbers ? place_of(word, n, y->op->numbers) : -1;
    if (k >= 0) print_number(out, numbers[k]);
    return k >= 0;
}

void trace_formula(FILE *out, const Trace *s, uint32_t i, const char *formula, char end)
{
    const Tensor *y = s->node[i];
    Symbol text;
    while (formula && *formula && *formula != end) {
        size_t n = 0;
        while (in_word(formula[n])) n++;
        if (n == 0) {
            fputc(*formula++, out);
            continue;
        }
        const Tensor *t = node_named(y, formula, n), *d = *formula == 'd' ? node_named(y, formula + 1, n - 1) : NULL;
        if (t) fputs(trace_symbol(s, t->number, text), out);
        else if (d) fprintf(out, "d%s", trace_symbol(s, d->number, text));
        else if (!write_number_named(out, y, formula, n)) fprintf(out, "%.*s", (int)n, formula);
        formula += n;
    }
}

void trace_call(FILE *out, const Trace *s, uint32_t i)
{
    const Tensor *y = s->node[i];
    Symbol text;
    fprintf(out, "%s(", y->op->name);
    for (int j = 0; j < y->n_in; j++)
        fprintf(out, "%s%s", j ? ", " : "", y->in[j] ? trace_symbol(s, y->in[j]->number, text) : "NULL");
    fputc(')', out);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static double value_at(const Tensor *t, const void *values, int64_t i)
{
    return t->dtype == AG_REAL ? (double)((const real *)values)[i] : t->dtype == AG_INT ? ((const int32_t *)values)[i]
                                                                     : ((const uint8_t *)values)[i];
}

/* Opens brackets before item i, or closes them after it, wherever a dimension begins or ends. */
static void brackets(FILE *out, const Tensor *t, int64_t i, char bracket)
{
    int64_t inner = 1;
    for (int d = t->shape.ndim - 1; d >= 0 && i % (inner *= t->shape.dim[d]) == 0; d--) fputc(bracket, out);
}

static void write_all(FILE *out, const Tensor *t, const void *values)
{
    for (int64_t i = 0; i < t->numel; i++) {
        if (i > 0) fputs(", ", out);
        brackets(out, t, i, '[');
        print_number(out, value_at(t, values, i));
        brackets(out, t, i + 1, ']');
    }
}

static void write_summary(FILE *out, const Tensor *t, const void *values)
{
    double low = INFINITY, high = -INFINITY, squares = 0;
    for (int64_t i = 0; i < t->numel; i++) {
        double x = value_at(t, values, i);
        low = fmin(low, x);
        high = fmax(high, x);
        squares += x * x;
    }
    char text[AG_SHAPE_TEXT];
    fprintf(out, "<%s", shape_text(t->shape, text));
    if (t->numel > 0) {
        fputs(" from ", out);
        print_number(out, low);
        fputs(" to ", out);
        print_number(out, high);
        fputs(", norm ", out);
        print_number(out, sqrt(squares));
    }
    fputc('>', out);
}

void trace_values(FILE *out, const Tensor *t, const void *values, int64_t few, const char *none)
{
    if (!values) fputs(none, out);
    else if (t->numel > 0 && t->numel <= few) write_all(out, t, values);
    else write_summary(out, t, values);
}
