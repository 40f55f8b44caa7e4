/* print.c: tensors as text, the way PyTorch prints them. */
#include <math.h>
#include <string.h>

#include "tensor.h"

#define EDGE 3                  /* items shown at each end of a long dimension */
#define MANY 1000               /* a tensor of more items is shortened */

/* How every number of one tensor is written: its kind, digits and width. */
typedef struct { bool whole, scientific; int width; } Format;

static int text_of(char *text, size_t size, const Tensor *t, int64_t i, Format f)
{
    if (t->dtype == AG_BOOL) return snprintf(text, size, "%*s", f.width, bools(t)[i] ? "True" : "False");
    if (t->dtype == AG_INT) return snprintf(text, size, "%*d", f.width, ints(t)[i]);
    double x = (double)reals(t)[i];
    if (isnan(x)) return snprintf(text, size, "%*s", f.width, "nan");
    if (isinf(x)) return snprintf(text, size, "%*s", f.width, x > 0 ? "inf" : "-inf");
    if (f.scientific) return snprintf(text, size, "%*.4e", f.width, x);
    char number[64];
    snprintf(number, sizeof number, f.whole ? "%.0f." : "%.4f", x);
    return snprintf(text, size, "%*s", f.width, number);
}

static bool shortened(const Tensor *t)
{
    return t->numel > MANY;
}

/* Calls visit for each item that is shown. */
static void each_shown(const Tensor *t, int dim, int64_t from, void (*visit)(const Tensor *, int64_t, void *), void *arg)
{
    if (dim == t->shape.ndim) {
        visit(t, from, arg);
        return;
    }
    int64_t n = t->shape.dim[dim], step = 1;
    for (int d = dim + 1; d < t->shape.ndim; d++) step *= t->shape.dim[d];
    for (int64_t i = 0; i < n; i++) {
        if (shortened(t) && n > 2 * EDGE && i == EDGE) i = n - EDGE;
        each_shown(t, dim + 1, from + i * step, visit, arg);
    }
}

typedef struct { double smallest, largest; bool whole, any; } Range;

static void look(const Tensor *t, int64_t i, void *arg)
{
    Range *r = arg;
    double x = fabs((double)reals(t)[i]);
    if (!isfinite(x)) return;
    r->any = true;
    if (x != floor(x)) r->whole = false;
    if (x > r->largest) r->largest = x;
    if (x > 0 && (r->smallest == 0 || x < r->smallest)) r->smallest = x;
}

typedef struct { Format format; int width; } Measure;

static void measure(const Tensor *t, int64_t i, void *arg)
{
    char text[64];
    Measure *m = arg;
    int n = text_of(text, sizeof text, t, i, m->format);
    if (n > m->width) m->width = n;
}

static Format choose(const Tensor *t)
{
    Measure m = { { false, false, 0 }, 0 };
    if (t->dtype == AG_REAL) {
        Range r = { 0, 0, true, false };
        each_shown(t, 0, 0, look, &r);
        bool wide = r.smallest > 0 && r.largest / r.smallest > 1000;
        m.format.whole = r.any && r.whole && r.largest <= 1e8;
        m.format.scientific = r.any && (r.whole ? r.largest > 1e8 : wide || r.largest > 1e8 || r.smallest < 1e-4);
        if (!r.any) m.format.whole = true;
    }
    each_shown(t, 0, 0, measure, &m);
    m.format.width = m.width;
    return m.format;
}

static void write_dim(FILE *out, const Tensor *t, int dim, int64_t from, int indent, Format f)
{
    char text[64];
    if (dim == t->shape.ndim) {
        text_of(text, sizeof text, t, from, f);
        fputs(text, out);
        return;
    }
    int64_t n = t->shape.dim[dim], step = 1;
    for (int d = dim + 1; d < t->shape.ndim; d++) step *= t->shape.dim[d];
    bool last = dim == t->shape.ndim - 1, cut = shortened(t) && n > 2 * EDGE;
    int per_line = (80 - indent - 1) / (f.width + 2);
    if (per_line < 1) per_line = 1;
    fputc('[', out);
    for (int64_t i = 0, written = 0; i < n; i++, written++) {
        if (i > 0) {
            bool wrap = last && written % per_line == 0;
            fputs(last && !wrap ? ", " : ",", out);
            for (int k = last ? 1 : t->shape.ndim - 1 - dim; k > 0 && (!last || wrap); k--) fputc('\n', out);
            if (!last || wrap) fprintf(out, "%*s", indent + 1, "");
        }
        if (cut && i == EDGE) {
            fputs(last ? "..., " : "...,", out);
            for (int k = t->shape.ndim - 1 - dim; k > 0; k--) fputc('\n', out);
            if (!last) fprintf(out, "%*s", indent + 1, "");
            i = n - EDGE;
            written++;
        }
        write_dim(out, t, dim + 1, from + i * step, indent + 1, f);
    }
    fputc(']', out);
}

void tensor_fprint_at(Site at, FILE *out, const Tensor *t)
{
    check_tensor(at, "tensor_print", "t", t, t ? t->dtype : AG_REAL);
    if (!out) ag_misuse(at, "tensor_print", "the file is NULL");
    fputs("tensor(", out);
    char text[AG_SHAPE_TEXT];
    if (t->numel == 0) fputs("[]", out);
    else write_dim(out, t, 0, 0, 7, choose(t));
    if (t->numel == 0 && t->shape.ndim != 1) fprintf(out, ", size=%s", shape_text(t->shape, text));
    if (t->op) fprintf(out, ", op=%s", t->op->name);
    else if (t->wants_grad) fputs(", requires_grad=True", out);
    fputs(")\n", out);
}
