/* trace_text.c: tensors, formulas and values as words. */
#include "trace.h"

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

/* Finds parameter number k of a type in "(Tensor *x, double factor)"; its name's length, 0 if there is none. */
static size_t parameter(const char *params, const char *type, int k, const char **name)
{
    while (params && (params = strstr(params, type)) != NULL) {
        params += strlen(type);
        size_t n = 0;
        while (in_word(params[n])) n++;
        if (n > 0 && k-- == 0) {
            *name = params;
            return n;
        }
    }
    return 0;
}

static bool same(const char *word, size_t n, const char *other, size_t other_n)
{
    return n == other_n && memcmp(word, other, n) == 0;
}

/* Is this word the formula's name for input j? */
static bool names_input(const Tensor *y, int j, const char *word, size_t n)
{
    const char *name;
    if (y->op->params) {
        size_t length = parameter(y->op->params, "Tensor *", j, &name);
        return length > 0 && same(word, n, name, length);
    }
    char numbered[16];
    snprintf(numbered, sizeof numbered, "x%d", j);
    return (y->n_in == 1 && same(word, n, "x", 1)) || same(word, n, numbered, strlen(numbered));
}

/* The node that a word of y's formula stands for; NULL: none. */
static const Tensor *meant(const Tensor *y, const char *word, size_t n)
{
    if (same(word, n, "y", 1)) return y;
    for (int j = 0; j < y->n_in; j++)
        if (y->in[j] && names_input(y, j, word, n)) return y->in[j];
    return NULL;
}

/* The numbers that a call was given, of operations that keep nothing else, in the order of the parameters. */
static const double *numbers_of(const Tensor *y)
{
    static const double zeros[2] = { 0, 0 };
    const Op *o = y->op;
    bool kept = o == &op_table[OP_scale] || o == &op_table[OP_pow_scalar] || o == &op_table[OP_clamp] ||
                o == &op_table[OP_masked_softmax];
    return !kept ? NULL : y->args ? y->args : zeros;
}

static bool write_number_meant(FILE *out, const Tensor *y, const char *word, size_t n)
{
    const double *number = numbers_of(y);
    const char *name;
    size_t length;
    for (int k = 0; number && (length = parameter(y->op->params, "double ", k, &name)) > 0; k++) {
        if (!same(word, n, name, length)) continue;
        print_number(out, number[k]);
        return true;
    }
    return false;
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
        const Tensor *t = meant(y, formula, n), *d = *formula == 'd' ? meant(y, formula + 1, n - 1) : NULL;
        if (t) fputs(trace_symbol(s, t->number, text), out);
        else if (d) fprintf(out, "d%s", trace_symbol(s, d->number, text));
        else if (!write_number_meant(out, y, formula, n)) fprintf(out, "%.*s", (int)n, formula);
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
