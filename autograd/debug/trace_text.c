/* trace_text.c: tensors, formulas and values as words. */
#include "gradients.h"
#include "hash.h"
#include "op.h"
#include "ops/table.h"
#include "print.h"
#include "scope.h"
#include "shape.h"
#include "tensor_struct.h"
#include "trace.h"
#include "utf8.h"

#include <math.h>
#include <ctype.h>
#include <string.h>

/* ---- symbols ----------------------------------------------------------------------------------------------------- */

typedef char Word[32];          /* the beginning of a longer word, which names nothing */

/* The length of the word that begins here; 0: none does. */
static size_t read_word(const char *text, Word word)
{
    size_t n = 0;
    while (isalnum((unsigned char)text[n]) || text[n] == '_') n++;
    snprintf(word, sizeof(Word), "%.*s", (int)n, text);
    return n;
}

enum { LONGEST_NAME = 11 };     /* longer names would bury a formula */

/* Whether the name is one short word: not that of a module's parameter ("encoder.0.weight"). */
static bool is_word(const char *name)
{
    Word word;
    size_t n = read_word(name, word);
    return n > 0 && n <= LONGEST_NAME && name[n] == '\0' && !isdigit((unsigned char)name[0]);
}

/* How many nodes have each text: a hash table with open addressing, in the arena. */
typedef struct { const char *text; unsigned n; } Count;
typedef struct { Count *item; size_t mask; } Counts;

static Counts counts_new(const Trace *s)
{
    size_t room = 16;
    while (room < 2 * (size_t)s->n) room *= 2;
    return (Counts){ scope_alloc(s->what, room * sizeof(Count)), room - 1 };
}

/* Where the text is counted, or would be: then its text is NULL. */
static Count *count_of(const Counts *c, const char *text)
{
    size_t i = (size_t)hash_bytes(text, strlen(text), 0) & c->mask;
    while (c->item[i].text && strcmp(c->item[i].text, text) != 0) i = (i + 1) & c->mask;
    return &c->item[i];
}

static unsigned count_up(const Counts *c, const char *text)
{
    Count *count = count_of(c, text);
    count->text = text;
    return ++count->n;
}

/* What a node without a name is: its operation, the end of its name, or its use. */
static const char *kind_of(const Tensor *t)
{
    if (t->op) return t->op->name;
    const char *dot = t->origin.name ? strrchr(t->origin.name, '.') : NULL;
    if (dot && is_word(dot + 1)) return dot + 1;
    return t->dtype == AG_INT ? "ids" : t->dtype == AG_BOOL ? "mask" : t->requires_grad ? "param" : "const";
}

void trace_set_symbols(Trace *s)
{
    const Counts names = counts_new(s), kinds = counts_new(s);
    for (uint32_t i = 0; i < s->n; i++)
        if (s->node[i]->origin.name) count_up(&names, s->node[i]->origin.name);
    for (uint32_t i = 0; i < s->n; i++) {
        const Tensor *t = s->node[i];
        char *symbol = s->symbol[i];
        if (t->origin.name && is_word(t->origin.name) && count_of(&names, t->origin.name)->n == 1) {
            snprintf(symbol, sizeof(Symbol), "%s", t->origin.name);
            continue;
        }
        const char *kind = kind_of(t);
        char printed[64];
        unsigned number = count_up(&kinds, kind);
        utf8_printable(kind, strlen(kind), printed, sizeof printed);
        if (i + 1 == s->n && t->op) snprintf(symbol, sizeof(Symbol), "loss");
        else snprintf(symbol, sizeof(Symbol), "%.20s%u", printed, number);
        if (count_of(&names, symbol)->n > 0)                        /* a name that the program gave to another node */
            snprintf(symbol, sizeof(Symbol), "t%u", (unsigned)i);
    }
}

/* ---- formulas ---------------------------------------------------------------------------------------------------- */

/* The place of a word in a list that ends with NULL; -1: it is not there. */
static int place_of(const char *word, const char *const *list)
{
    for (int i = 0; list[i]; i++)
        if (strcmp(word, list[i]) == 0) return i;
    return -1;
}

/* Which input of y a word of the formula names; -1: none. Those of a program's own operation are x0, x1, ..., or x. */
static int input_named(const Tensor *y, const char *word)
{
    if (y->op->inputs) return place_of(word, y->op->inputs);
    if (y->n_in == 1 && strcmp(word, "x") == 0) return 0;
    for (int j = 0; j < y->n_in; j++) {
        Word numbered;
        snprintf(numbered, sizeof numbered, "x%d", j);
        if (strcmp(word, numbered) == 0) return j;
    }
    return -1;
}

/* Whether the call has no input j, which is optional. */
static bool is_absent(const Tensor *y, int j)
{
    return j >= y->n_in || !y->in[j];
}

/* Whether input j is also an earlier input. */
static bool is_repeated(const Tensor *y, int j)
{
    for (int k = 0; k < j; k++)
        if (y->in[k] == y->in[j]) return true;
    return false;
}

/* The node that a word of y's formula names; NULL: none. */
static const Tensor *node_named(const Tensor *y, const char *word)
{
    if (strcmp(word, "y") == 0) return y;
    int j = input_named(y, word);
    return j >= 0 && !is_absent(y, j) ? y->in[j] : NULL;
}

/* The numbers that a call got, in the order of op->numbers; NULL for operations that keep other things in args. */
static const double *numbers_of(const Tensor *y)
{
    static const double zeros[2] = { 0, 0 };
    const Op *o = y->op;
    bool of_unary = o->compute == unary_values && o != &op_table[OP_add_scalar];        /* which keeps its factor of 1 first */
    bool kept = of_unary || o == &op_table[OP_masked_softmax];
    return !kept ? NULL : y->args ? y->args : zeros;
}

/* The input whose gradient begins here, in the middle of a formula: ", db = " or "; db = "; -1: none. *length: of this. */
static int clause_index(const Tensor *y, const char *formula, size_t *length)
{
    Word word;
    if ((formula[0] != ',' && formula[0] != ';') || formula[1] != ' ' || formula[2] != 'd') return -1;
    size_t n = read_word(formula + 3, word);
    *length = n + strlen(", d = ");
    return strncmp(formula + 3 + n, " = ", 3) == 0 ? input_named(y, word) : -1;
}

/* The length of what stands here only for an input that this call does not have: " + bias", " gamma", "gamma " at the
 * beginning, or the rest of a formula, "among the entries where mask ..."; and of notes on the type of an input. 0: none. */
static size_t unused_length(const Tensor *y, const char *formula, bool first)
{
    static const char *const before[] = { " among the entries where ", " + ", " ", "" };
    Word word;
    if (strncmp(formula, " (AG_BOOL", 9) == 0) return strcspn(formula, ")") + 1;
    for (int i = 0; i < (first ? 4 : 3); i++) {
        size_t n = strlen(before[i]);
        if (strncmp(formula, before[i], n) != 0) continue;
        n += read_word(formula + n, word);
        int j = input_named(y, word);
        if (j >= 0 && is_absent(y, j)) return i == 0 ? strlen(formula) : n + (i == 3 && formula[n] == ' ');
    }
    return 0;
}

/* Writes what a word of y's formula names in this call; false: it names nothing. */
static bool write_named(FILE *out, const Trace *s, const Tensor *y, const char *word)
{
    const Tensor *t = node_named(y, word), *d = *word == 'd' ? node_named(y, word + 1) : NULL;
    const double *numbers = numbers_of(y);
    int k = numbers ? place_of(word, y->op->numbers) : -1;
    if (t) fputs(symbol_of(s, t), out);
    else if (d) fprintf(out, "d%s", symbol_of(s, d));
    else if (k >= 0) print_number(out, numbers[k]);
    return t || d || k >= 0;
}

void trace_formula(FILE *out, const Trace *s, uint32_t i, const char *formula, const char *ends, const char *between)
{
    const Tensor *y = s->node[i];
    Word word;
    size_t n, unused;
    for (const char *p = formula; p && *p && !strchr(ends, *p); p += n) {
        int j = clause_index(y, p, &n);
        if (j >= 0 && is_absent(y, j)) {
            for (n = 1; p[n] && clause_index(y, p + n, &unused) < 0; n++) { }
        } else if (j >= 0 && is_repeated(y, j)) {
            bool minus = p[n] == '-';
            fputs(*p == ';' && between ? between : " ", out);
            fputs(minus ? "- " : "+ ", out);
            n += minus;
        } else if (j >= 0 && between) {
            fputs(between, out);
            n = 2;
        } else if ((n = unused_length(y, p, p == formula)) == 0) {
            n = read_word(p, word);
            if (n == 0) fputc(p[n++], out);
            else if (!write_named(out, s, y, word)) fwrite(p, 1, n, out);
        }
    }
}

int trace_clauses(const Trace *s, uint32_t i, const char *formula)
{
    const Tensor *y = s->node[i];
    int clauses = formula && *formula ? 1 : 0;
    size_t unused;
    for (const char *p = formula; p && *p; p++) {
        int j = clause_index(y, p, &unused);
        clauses += j >= 0 && !is_absent(y, j) && (*p == ';' || !is_repeated(y, j));
    }
    return clauses;
}

void trace_call(FILE *out, const Trace *s, uint32_t i)
{
    const Tensor *y = s->node[i];
    utf8_print(out, y->op->name);
    fputc('(', out);
    for (int j = 0; j < y->n_in; j++) fprintf(out, "%s%s", j ? ", " : "", y->in[j] ? symbol_of(s, y->in[j]) : "NULL");
    fputc(')', out);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

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
        print_number(out, element_number(t->dtype, values, i));
        brackets(out, t, i + 1, ']');
    }
}

static void write_summary(FILE *out, const Tensor *t, const void *values)
{
    double low = INFINITY, high = -INFINITY, squares = 0;
    for (int64_t i = 0; i < t->numel; i++) {
        double x = element_number(t->dtype, values, i);
        low = fmin(low, x);
        high = fmax(high, x);
        squares += x * x;
    }
    if (low > high) low = high = (double)NAN;               /* all are NaN */
    fprintf(out, "<%s", shape_text(t->shape));
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

void trace_values(FILE *out, const Tensor *t, const void *values, int64_t max_items)
{
    if (!values) fputs("(released)", out);
    else if (t->dtype == AG_PACKED) fprintf(out, "<%s in bfloat16>", shape_text(t->shape));
    else if (t->numel > 0 && t->numel <= max_items) write_all(out, t, values);
    else write_summary(out, t, values);
}

void trace_gradient(FILE *out, const Trace *s, const Tensor *x, const char *plus, const char *equals, int64_t max_items)
{
    const Tensor *y = s->part ? s->node[s->at_node] : NULL;
    int terms = 0;
    for (int j = 0; y && j < y->n_in; j++) {
        if (y->in[j] != x || !s->part[j]) continue;
        if (terms == 0 && s->before[j]) {
            trace_values(out, x, s->before[j]->data, max_items);
            terms++;
        }
        if (terms++ > 0) fputs(plus, out);
        trace_values(out, x, s->part[j]->data, max_items);
    }
    if (terms > 1) fputs(equals, out);
    if (terms != 1) trace_values(out, x, grad_of(s->copy[x->origin.number]), max_items);
}
