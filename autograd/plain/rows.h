/* rows.h: what rows.c shares with other kernels of rows: the order of a sum, and rows that are
 * normalized. */
#ifndef KAERU_PLAIN_ROWS_H
#define KAERU_PLAIN_ROWS_H

#include "kernels.h"

/* ---- the order of a sum ---------------------------------------------------------------------- */

/* A sum along a row: 32 sums side by side, the lanes. Term i is added to lane i % 32. After 4096
 * terms, and at the end, lane l gets lane l + 16, then l + 8, l + 4, l + 2 and l + 1, and lane 0 is
 * added to the total. So a processor can add 4, 8, 16 or 32 terms at once, as the fast kernels do,
 * and the order of the additions is the same for all of them. The blocks keep the error of a long
 * sum small. */
enum { LANES = 32, ROW_BLOCK = 4096 };
typedef struct { real lane[LANES]; int64_t n; double total; } RowSum;

/* Adds a term to the sum, which starts as (RowSum){ .total = 0 }. */
void row_add(RowSum *s, real term);
/* Returns the sum. */
double row_total(RowSum *s);

/* A row of n items: item j is x[j * step]. */
typedef struct { const real *x; int64_t step, n; } Row;

/* Returns the items of (outer, n, inner) whose sum is item `at` of (outer, inner). */
Row row_of(const real *x, int64_t n, int64_t inner, int64_t at);

/* What is summed: the items, their differences from the mean, or the squares of these. */
typedef enum { VALUE, DEVIATION, SQUARE } Term;

/* Returns the sum of a row's terms. If its items lie side by side, it is the sum along a row, and
 * threads can share a very long one: it is cut into at most 256 chunks of whole blocks. If not, the
 * items are in a column. */
real row_sum(Row r, Term term, real mean);
/* Returns the sum in double of a row's items, where that in reals is beyond the largest one. */
double row_sum_in_double(Row r);

/* ---- layer norm and RMS norm ----------------------------------------------------------------- */

/* What the rows of a call share. RMS norm is not centered: it subtracts no mean. */
typedef struct {
    int64_t n;
    bool centered, eps_inside;
    double eps, divisor;                    /* of the sum of squares */
    const real *gamma, *beta;               /* NULL: none */
} Norm;

/* The numbers that a row's backward needs. */
typedef struct { real mean, rest, rstd; } Statistics;

/* Returns the deviation for a variance: where eps is added, AgNorm says. */
double deviation_of(const Norm *k, double var);
/* Returns whether the sums in reals are good enough. If not (NaN, too), the row is computed in
 * double. */
bool is_ordinary(real rstd);
/* Returns whether a row's gradients are computed in double. */
bool is_extreme(real rstd);
/* Computes a row whose squares leave the range of floats. The first item is subtracted before the
 * mean is computed, so that equal numbers have a deviation of exactly 0. One below 2^-126 counts as
 * 0: its reciprocal could be infinite. */
Statistics row_in_double(const Norm *k, real *y, const real *x);
/* Computes the gradient of a row in double. */
void backward_in_double(const Norm *k, Statistics s, real *dx, const real *dy, const real *x,
                        bool add);
/* Returns dy gamma: the gradient of the normalized item j. */
real gradient_of(const Norm *k, const real *dy, int64_t j);
/* Computes dgamma. mean and rest are NULL for an RMS norm. */
void sum_dgamma(int64_t rows, int64_t n, real *y, const real *dy, const real *x, const real *mean,
                const real *rest, const real *rstd, bool add);

#endif
