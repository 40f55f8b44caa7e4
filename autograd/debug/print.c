/* print.c: prints tensors, in the format of PyTorch, and single numbers. */
#include <math.h>
#include <string.h>

#include "checks.h"
#include "kaeru/print.h"
#include "kernels.h"
#include "op.h"
#include "print.h"
#include "shape.h"
#include "tensor_struct.h"
#include "utf8.h"

enum {
    EDGE = 3,                   /* items shown at each end of a long dimension */
    MAX_ITEMS = 1000,           /* a tensor of more items is shortened */
    LINE = 80                   /* columns */
};

/* ---- the format of numbers --------------------------------------------------------------------------------------- */

/* The format of all numbers of a tensor. `whole`: without digits after the point. The magnitudes are of the numbers that set
 * it, 0 and INFINITY if there are none. */
typedef struct { bool whole, scientific; int width; double largest, smallest; } Format;

/* Replaces the decimal comma of some locales by a point. */
static void use_point(char *number)
{
    char *comma = strchr(number, ',');
    if (comma) *comma = '.';
}

static int item_text(char *text, size_t size, const Tensor *t, int64_t i, Format f)
{
    if (t->dtype == AG_BOOL) return snprintf(text, size, "%*s", f.width, bools(t)[i] ? "True" : "False");
    if (t->dtype == AG_INT) return snprintf(text, size, "%*d", f.width, ints(t)[i]);
    double x = (double)reals(t)[i];
    if (isnan(x)) return snprintf(text, size, "%*s", f.width, "nan");
    if (isinf(x)) return snprintf(text, size, "%*s", f.width, x > 0 ? "inf" : "-inf");
    char number[64];
    snprintf(number, sizeof number, f.scientific ? "%.4e" : f.whole ? "%.0f." : "%.4f", x);
    use_point(number);
    return snprintf(text, size, "%*s", f.width, number);
}

/* Whether only the edges of a dimension of n items are shown. */
static bool is_shortened(const Tensor *t, int64_t n)
{
    return t->numel > MAX_ITEMS && n > 2 * EDGE;
}

/* Calls visit for each item that is shown, from item `from` on. */
static void each_shown(const Tensor *t, int dim, int64_t from, void (*visit)(const Tensor *, int64_t, void *), void *arg)
{
    if (dim == t->shape.ndim) {
        visit(t, from, arg);
        return;
    }
    int64_t n = t->shape.dim[dim], stride = shape_along(&t->shape, dim, dim).inner;
    for (int64_t i = 0; i < n; i++) {
        if (is_shortened(t, n) && i == EDGE) i = n - EDGE;
        each_shown(t, dim + 1, from + i * stride, visit, arg);
    }
}

/* The format depends on the numbers that are finite and not 0. */
static bool sets_format(const Tensor *t, int64_t i)
{
    return t->dtype != AG_REAL || (isfinite((double)reals(t)[i]) && reals(t)[i] != 0);
}

static void add_to_range(const Tensor *t, int64_t i, void *arg)
{
    Format *f = arg;
    if (!sets_format(t, i)) return;
    double x = fabs((double)reals(t)[i]);
    f->whole = f->whole && x == floor(x);
    f->largest = fmax(f->largest, x);
    f->smallest = fmin(f->smallest, x);
}

static void add_to_width(const Tensor *t, int64_t i, void *arg)
{
    char text[64];
    Format *f = arg;
    if (sets_format(t, i)) f->width = item_text(text, sizeof text, t, i, *f);           /* at least the width so far */
}

static Format choose_format(const Tensor *t)
{
    Format f = { .whole = true, .width = 1, .largest = 0, .smallest = INFINITY };
    if (t->dtype == AG_REAL) each_shown(t, 0, 0, add_to_range, &f);
    f.scientific = f.largest / f.smallest > 1000 || f.largest > 1e8 || (!f.whole && f.smallest < 1e-4);
    each_shown(t, 0, 0, add_to_width, &f);
    return f;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

typedef struct { FILE *out; int column; } Writer;

static void write_text(Writer *w, const char *text)
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
        item_text(text, sizeof text, t, from, f);
        write_text(w, text);
        return;
    }
    int64_t n = t->shape.dim[dim], stride = shape_along(&t->shape, dim, dim).inner;
    bool last = dim == t->shape.ndim - 1, cut = is_shortened(t, n);
    int64_t places = cut ? 2 * EDGE + 1 : n;                    /* one of them for the dots */
    int per_line = (LINE - indent) / (f.width + 2);
    write_text(w, "[");
    for (int64_t i = 0; i < places; i++) {
        bool full = !last || per_line < 1 || i % per_line == 0;
        if (i > 0) write_text(w, full ? "," : ", ");
        if (i > 0 && full) new_line(w, last ? 1 : t->shape.ndim - 1 - dim, indent + 1);
        if (cut && i == EDGE) write_text(w, last ? " ..." : "...");
        else write_dim(w, t, dim + 1, from + (cut && i > EDGE ? n - places + i : i) * stride, indent + 1, f);
    }
    write_text(w, "]");
}

/* Writes an attribute after the values: ", op=tanh". */
static void write_attribute(Writer *w, int indent, const char *name, const char *value)
{
    write_text(w, ",");
    if (w->column + 3 + (int)(strlen(name) + strlen(value)) > LINE) new_line(w, 1, indent);
    else write_text(w, " ");
    write_text(w, name);
    utf8_print(w->out, value);
    w->column += (int)strlen(value);
}

void tensor_fprint(FILE *out, const Tensor *t)
{
    check_any("tensor_print", "t", t);
    ag_check_pointer("tensor_print", "the file", out);
    Writer w = { out, 0 };
    const char *start = "tensor(";
    int indent = (int)strlen(start);
    write_text(&w, start);
    if (t->numel == 0) write_text(&w, "[]");
    else write_dim(&w, t, 0, 0, indent, choose_format(t));
    if (t->numel == 0 && t->shape.ndim != 1) write_attribute(&w, indent, "size=", shape_text(t->shape));
    if (t->op) write_attribute(&w, indent, "op=", t->op->name);
    else if (t->requires_grad) write_attribute(&w, indent, "requires_grad=", "True");
    write_text(&w, ")\n");
}

void print_number(FILE *out, double x)
{
    char number[32];
    snprintf(number, sizeof number, "%.5g", x);
    use_point(number);
    fputs(isnan(x) ? "nan" : number, out);
}
