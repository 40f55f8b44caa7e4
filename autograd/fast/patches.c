/* patches.c: a row of the matrix, of item (channel, i, j) of the windows, consists of runs of the image's lines, and zeros. */
#include "simd.h"

/* In a row of windows, item j of those in columns lo..hi-1 is in a line of the image: that of column v is
 * line[v stride + shift]. */
typedef struct { int64_t lo, hi, shift; } Run;

static int64_t clipped(int64_t v, int64_t most) { return v < 0 ? 0 : v > most ? most : v; }

static Run run_of(const KPatches *p, int64_t j)
{
    const int64_t s = p->stride[1], shift = j * p->dilation[1] - p->padding[1];
    Run run = { .shift = shift };
    run.lo = shift < 0 ? clipped((s - 1 - shift) / s, p->ow) : 0;
    run.hi = shift < p->w ? clipped((p->w - 1 - shift) / s + 1, p->ow) : 0;
    return run;
}

/* The line of the image under item i of row number `row` of the windows; NULL in the padding. */
INLINE const float *line_of(const KPatches *p, const float *plane, int64_t i, int64_t row)
{
    const int64_t y = (p->first + row) * p->stride[0] + i * p->dilation[0] - p->padding[0];
    return y < 0 || y >= p->h ? NULL : plane + y * p->w;
}

INLINE void pack_line(const KPatches *p, Run run, float *to, const float *line)
{
    int64_t v = 0;
    for (; v < run.lo; v++)
        to[v] = 0;
    if (p->stride[1] == 1) {
        const float *from = line + run.shift;
        EACH(v, run.hi, to, LOAD(from));
    } else
        for (; v < run.hi; v++)
            to[v] = line[v * p->stride[1] + run.shift];
    for (v = run.hi; v < p->ow; v++)
        to[v] = 0;
}

/* Windows one apart, as many as a line has items: the runs of all rows are one run of the plane, with the ends of lines in
 * place of zeros. The zeros are stored over them. top: the item's row from the window's first. */
INLINE void pack_lines(const KPatches *p, Run run, float *to, const float *plane, int64_t top)
{
    const int64_t w = p->w, y = p->first + top - p->padding[0], begin = clipped(-y, p->rows), end = clipped(p->h - y, p->rows);
    const float *from = plane + y * w + run.shift;
    EACH(0, begin * w, to, vset(0));
    EACH(begin * w + run.lo, (end - 1) * w + run.hi, to, LOAD(from));
    for (int64_t row = begin; row < end; row++) {
        for (int64_t v = 0; v < run.lo; v++)
            to[row * w + v] = 0;
        for (int64_t v = run.hi; v < w; v++)
            to[row * w + v] = 0;
    }
    EACH(end * w, p->rows * w, to, vset(0));
}

void ISA(patches)(const KPatches *p, real *matrix, const real *x)
{
    float *to = matrix;
    const bool whole = p->stride[0] == 1 && p->stride[1] == 1 && p->ow == p->w;
    for (int64_t c = 0; c < p->c; c++)
        for (int64_t i = 0; i < p->kh; i++)
            for (int64_t j = 0; j < p->kw; j++) {
                const Run run = run_of(p, j), none = { .lo = p->ow, .hi = p->ow };
                if (whole && run.lo < run.hi) {
                    pack_lines(p, run, to, x + c * p->h * p->w, i * p->dilation[0]);
                    to += p->rows * p->ow;
                    continue;
                }
                for (int64_t row = 0; row < p->rows; row++, to += p->ow) {
                    const float *line = line_of(p, x + c * p->h * p->w, i, row);
                    pack_line(p, line && run.lo < run.hi ? run : none, to, line);
                }
            }
}

INLINE void add_line(const KPatches *p, Run run, float *line, const float *from)
{
    if (line && p->stride[1] == 1) {
        float *to = line + run.shift;
        EACH(run.lo, run.hi, to, LOAD(to) + LOAD(from));
    } else
        for (int64_t v = run.lo; line && v < run.hi; v++)
            line[v * p->stride[1] + run.shift] += from[v];
}

void ISA(patches_add)(const KPatches *p, real *x, const real *matrix)
{
    const float *from = matrix;
    for (int64_t c = 0; c < p->c; c++)
        for (int64_t i = 0; i < p->kh; i++)
            for (int64_t j = 0; j < p->kw; j++) {
                const Run run = run_of(p, j);
                for (int64_t row = 0; row < p->rows; row++, from += p->ow)
                    add_line(p, run, (float *)line_of(p, x + c * p->h * p->w, i, row), from);
            }
}
