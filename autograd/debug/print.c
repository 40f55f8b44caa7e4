/* print.c: tensors as text, the way PyTorch prints them. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "internal.h"

enum {
    EDGE = 3,                   /* items shown at each end of a long dimension */
    MANY = 1000,                /* a tensor of more items is shortened */
    LINE = 80
};

/* ---- how numbers are written ------------------------------------------------------------------------------------- */

/* One format for all numbers of a tensor. */
typedef struct { bool whole, scientific; int width; } Format;

/* A decimal point, whatever the program's locale is. */
static void with_point(char *number)
{
    char *comma = strchr(number, ',');
    if (comma) *comma = '.';
}

static int text_of(char *text, size_t size, const Tensor *t, int64_t i, Format f)
{
    if (t->dtype == AG_BOOL) return snprintf(text, size, "%*s", f.width, bools(t)[i] ? "True" : "False");
    if (t->dtype == AG_INT) return snprintf(text, size, "%*d", f.width, ints(t)[i]);
    double x = (double)reals(t)[i];
    if (isnan(x)) return snprintf(text, size, "%*s", f.width, "nan");
    if (isinf(x)) return snprintf(text, size, "%*s", f.width, x > 0 ? "inf" : "-inf");
    char number[64];
    snprintf(number, sizeof number, f.scientific ? "%.4e" : f.whole ? "%.0f." : "%.4f", x);
    with_point(number);
    return snprintf(text, size, "%*s", f.width, number);
}

static bool shortened(const Tensor *t)
{
    return t->numel > MANY;
}

/* Items from one of dimension dim to the next. */
static int64_t step_of(const Tensor *t, int dim)
{
    int64_t step = 1;
    for (int d = dim + 1; d < t->shape.ndim; d++) step *= t->shape.dim[d];
    return step;
}

/* Calls visit for each item that is shown. */
static void each_shown(const Tensor *t, int dim, int64_t from, void (*visit)(const Tensor *, int64_t, void *),
                       void *arg)
{
    if (dim == t->shape.ndim) {
        visit(t, from, arg);
        return;
    }
    int64_t n = t->shape.dim[dim], step = step_of(t, dim);
    for (int64_t i = 0; i < n; i++) {
        if (shortened(t) && n > 2 * EDGE && i == EDGE) i = n - EDGE;
        each_shown(t, dim + 1, from + i * step, visit, arg);
    }
}

/* Only numbers that are finite and not 0 have a say. */
typedef struct { double smallest, largest; bool whole, any; } Range;

static bool counts(const Tensor *t, int64_t i)
{
    return t->dtype != AG_REAL || (isfinite((double)reals(t)[i]) && reals(t)[i] != 0);
}

static void look(const Tensor *t, int64_t i, void *arg)
{
    Range *r = arg;
    if (!counts(t, i)) return;
    double x = fabs((double)reals(t)[i]);
    if (x != floor(x)) r->whole = false;
    if (!r->any || x > r->largest) r->largest = x;
    if (!r->any || x < r->smallest) r->smallest = x;
    r->any = true;
}

static void measure(const Tensor *t, int64_t i, void *arg)
{
    char text[64];
    Format *f = arg;
    if (!counts(t, i)) return;
    int n = text_of(text, sizeof text, t, i, (Format){ f->whole, f->scientific, 0 });
    if (n > f->width) f->width = n;
}

static Format choose(const Tensor *t)
{
    Range r = { .whole = true };
    if (t->dtype == AG_REAL) each_shown(t, 0, 0, look, &r);
    Format f = { .whole = r.whole, .width = 1 };
    f.scientific = r.any && (r.largest / r.smallest > 1000 || r.largest > 1e8 || (!r.whole && r.smallest < 1e-4));
    each_shown(t, 0, 0, measure, &f);
    return f;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

typedef struct { FILE *out; int column; } Writer;

static void put(Writer *w, const char *text)
{
    w->column += (int)strlen(text);
    fputs(text, w->out);
}

static void new_line(Writer *w, int lines, int indent)
{
    for (int i = 0; i < lines; i++) fputc('\n', w->out);
    fprintf(w->out, "%*s", indent, "");
    w->column = indent;
}

static void write_dim(Writer *w, const Tensor *t, int dim, int64_t from, int indent, Format f)
{
    if (dim == t->shape.ndim) {
        char text[64];
        text_of(text, sizeof text, t, from, f);
        put(w, text);
        return;
    }
    int64_t n = t->shape.dim[dim], step = step_of(t, dim);
    bool last = dim == t->shape.ndim - 1, cut = shortened(t) && n > 2 * EDGE;
    int64_t places = cut ? 2 * EDGE + 1 : n;                    /* one of them for the dots */
    int per_line = (LINE - indent) / (f.width + 2);
    put(w, "[");
    for (int64_t i = 0; i < places; i++) {
        bool full = !last || per_line < 1 || i % per_line == 0;
        if (i > 0) put(w, full ? "," : ", ");
        if (i > 0 && full) new_line(w, last ? 1 : t->shape.ndim - 1 - dim, indent + 1);
        if (cut && i == EDGE) put(w, last ? " ..." : "...");
        else write_dim(w, t, dim + 1, from + (cut && i > EDGE ? n - places + i : i) * step, indent + 1, f);
    }
    put(w, "]");
}

/* Something about the tensor, after its values. */
static void remark(Writer *w, int indent, const char *what, const char *value)
{
    put(w, ",");
    if (w->column + 3 + (int)(strlen(what) + strlen(value)) > LINE) new_line(w, 1, indent);
    else put(w, " ");
    put(w, what);
    put(w, value);
}

void tensor_fprint_at(Site at, FILE *out, const Tensor *t)
{
    check_tensor(at, "tensor_print", "t", t, t ? t->dtype : AG_REAL);
    if (!out) ag_usage_error(at, "tensor_print", "the file is NULL");
    Writer w = { out, 0 };
    const char *start = "tensor(";
    int indent = (int)strlen(start);
    char text[AG_SHAPE_TEXT];
    put(&w, start);
    if (t->numel == 0) put(&w, "[]");
    else write_dim(&w, t, 0, 0, indent, choose(t));
    if (t->numel == 0 && t->shape.ndim != 1) remark(&w, indent, "size=", shape_text(t->shape, text));
    if (t->op) remark(&w, indent, "op=", t->op->name);
    else if (t->requires_grad) remark(&w, indent, "requires_grad=", "True");
    put(&w, ")\n");
}

void print_number(FILE *out, double x)
{
    char number[32];
    snprintf(number, sizeof number, "%.5g", x);
    with_point(number);
    fputs(isnan(x) ? "nan" : number, out);
}
