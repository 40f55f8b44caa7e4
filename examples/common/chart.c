/* chart.c: charts in the terminal. Lines join the points on a grid of pixels. A character cell shows 2 x 4 pixels in
 * Braille, or one pixel as a letter. */
#include "common.h"
#include "host.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 16, MAX_COLUMNS = 100, MARGIN = 9 };

static const char letters[CHART_CURVES] = { 'o', 'x', '+', '*' };
/* Vermilion, blue, green, orange: the nearest of 256 colors to those of plots/style.gp. */
static const int colors[CHART_CURVES] = { 166, 32, 36, 214 };

typedef struct { unsigned char dots; char letter; signed char curve; } Cell;
typedef struct {
    Cell cell[ROWS][MAX_COLUMNS];
    int columns, wide, high;            /* cells across; pixels in a cell */
    bool color, log_y;
    const Csv *data;
    int64_t n_points;
    int n_curves, x_column, column[CHART_CURVES];
    double x0, x1, y0, y1;              /* values at the edges (y: its logarithm if log_y) */
} Canvas;

/* ---- the terminal ------------------------------------------------------------------------------------------------ */

bool example_shows_colors(void)
{
    const char *none = getenv("NO_COLOR");
    return host_terminal(stdout) && !(none && none[0]);
}

static int terminal_columns(void)
{
    int known = host_columns(), columns = (known > 0 ? known : 80) - MARGIN - 1;
    return columns < 30 ? 30 : columns > MAX_COLUMNS ? MAX_COLUMNS : columns;
}

/* ---- scales ------------------------------------------------------------------------------------------------------ */

/* y on the axis, its logarithm if log_y; NaN if it cannot be shown. */
static double on_axis(const Canvas *c, double y)
{
    if (c->log_y) {
        y = y > 0 ? log10(y) : NAN;
    }
    return isfinite(y) ? y : NAN;
}

static double pixel_x(const Canvas *c, double x)
{
    return (x - c->x0) / (c->x1 - c->x0) * (c->columns * c->wide - 1);
}

static double pixel_y(const Canvas *c, double y)
{
    return (c->y1 - y) / (c->y1 - c->y0) * (ROWS * c->high - 1);
}

/* The step 1, 2 or 5 x 10^k that divides the length into at most n parts. */
static double nice_step(double length, int n)
{
    double step = pow(10, floor(log10(length / n)));
    double parts = length / step;
    return (parts <= n ? 1 : parts <= 2 * n ? 2 : parts <= 5 * n ? 5 : 10) * step;
}

/* Widens an empty range, so that a constant curve is in the middle. */
static void set_range(double *low, double *high)
{
    if (!(*low <= *high)) {
        *low = 0;
        *high = 1;
    }
    if (*high - *low < 1e-6 * fabs(*high) + 1e-300) {
        double around = *high == 0 ? 1 : 0.1 * fabs(*high);
        *low -= around;
        *high += around;
    }
}

static void set_scales(Canvas *c)
{
    c->x0 = c->y0 = INFINITY;
    c->x1 = c->y1 = -INFINITY;
    for (int64_t i = 0; i < c->n_points; i++) {
        double x = csv_get(c->data, i, c->x_column);
        c->x0 = fmin(c->x0, x);
        c->x1 = fmax(c->x1, x);
        for (int k = 0; k < c->n_curves; k++) {
            double y = on_axis(c, csv_get(c->data, i, c->column[k]));
            c->y0 = fmin(c->y0, y);
            c->y1 = fmax(c->y1, y);
        }
    }
    if (!c->log_y) {
        c->y0 = fmin(c->y0, 0);                                         /* a linear axis includes zero */
    }
    set_range(&c->y0, &c->y1);
    set_range(&c->x0, &c->x1);
}

/* ---- drawing ----------------------------------------------------------------------------------------------------- */

static Cell *cell_at(Canvas *c, int px, int py)
{
    return &c->cell[py / c->high][px / c->wide];
}

static void set_pixel(Canvas *c, int px, int py, int curve)
{
    static const unsigned char braille[4][2] = { { 0x01, 0x08 }, { 0x02, 0x10 }, { 0x04, 0x20 }, { 0x40, 0x80 } };
    Cell *cell = cell_at(c, px, py);
    cell->dots |= braille[py % c->high][px % c->wide];
    cell->curve = (signed char)curve;
    if (c->wide == 1) {
        cell->letter = letters[curve];
    }
}

static void draw_line(Canvas *c, double x0, double y0, double x1, double y1, int curve)
{
    int n = (int)ceil(fmax(fabs(x1 - x0), fabs(y1 - y0)));
    for (int i = 0; i <= n; i++) {
        double t = n ? (double)i / n : 0;
        set_pixel(c, (int)lround(x0 + t * (x1 - x0)), (int)lround(y0 + t * (y1 - y0)), curve);
    }
}

static void draw_curve(Canvas *c, int curve)
{
    double before_x = NAN, before_y = NAN;
    int next_letter = c->columns / 12 * (curve + 1);                   /* different for each curve */
    for (int64_t i = 0; i < c->n_points; i++) {
        double x = pixel_x(c, csv_get(c->data, i, c->x_column));
        double y = pixel_y(c, on_axis(c, csv_get(c->data, i, c->column[curve])));
        if (!isnan(y)) {
            draw_line(c, isnan(before_y) ? x : before_x, isnan(before_y) ? y : before_y, x, y, curve);
            if (x / c->wide >= next_letter) {
                Cell *cell = cell_at(c, (int)lround(x), (int)lround(y));
                cell->letter = letters[curve];
                cell->curve = (signed char)curve;
                next_letter += c->columns / 4;
            }
        }
        before_x = x;
        before_y = y;
    }
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

static void print_cell(const Canvas *c, const Cell *cell)
{
    if (cell->dots == 0) {
        putchar(' ');
        return;
    }
    if (c->color) {
        printf("\033[38;5;%dm", colors[(int)cell->curve]);
    }
    if (cell->letter) {
        putchar(cell->letter);
    } else {                                                            /* U+2800 + dots */
        printf("\xe2%c%c", 0xa0 + (cell->dots >> 6), 0x80 + (cell->dots & 0x3f));
    }
    if (c->color) {
        fputs("\033[0m", stdout);
    }
}

/* The label of the y axis at a row: the tick in that row, if any. */
static void row_label(const Canvas *c, int row, char text[32])
{
    double step = nice_step(c->y1 - c->y0, 6);
    if (c->log_y && step < 1) {
        step = 1;                                                       /* powers of ten; 2 and 5 as well if there are few */
    }
    text[0] = '\0';
    for (double tick = floor(c->y0 / step) * step; tick <= c->y1; tick += step) {
        for (int digit = 1; digit <= 5; digit = c->log_y && c->y1 - c->y0 < 2 ? 2 * digit + (digit == 2) : 6) {
            double y = tick + (c->log_y ? log10(digit) : 0);
            if (y >= c->y0 && y <= c->y1 && (int)lround(pixel_y(c, y)) / c->high == row) {
                snprintf(text, 32, "%.3g", c->log_y ? pow(10, y) : fabs(y) < step / 2 ? 0 : y);
            }
        }
    }
}

static void print_x_axis(const Canvas *c, const char *name)
{
    char line[MAX_COLUMNS + 1], labels[MAX_COLUMNS + 32];
    memset(line, '-', sizeof line);
    memset(labels, ' ', sizeof labels);
    int end = 0;
    double step = nice_step(c->x1 - c->x0, c->columns / 10);
    for (double tick = ceil(c->x0 / step) * step; tick <= c->x1 + 1e-9 * step; tick += step) {
        int at = (int)lround(pixel_x(c, tick)) / c->wide;
        line[at] = '+';
        char text[24];
        int length = snprintf(text, sizeof text, "%g", fabs(tick) < step / 2 ? 0 : tick);
        int from = at - length / 2 < end ? end : at - length / 2;
        if (from + length >= (int)sizeof labels) {
            break;
        }
        memcpy(labels + from, text, (size_t)length);
        end = from + length + 1;
    }
    printf("%*s+%.*s\n", MARGIN, "", c->columns, line);
    say("%*s %.*s  %s\n\n", MARGIN, "", end, labels, name);
}

static void print_title(const Canvas *c, const Chart *chart)
{
    say("\n%*s %s%s:", MARGIN, "", chart->title, c->log_y ? ", logarithmic" : "");
    for (int k = 0; k < c->n_curves; k++) {
        if (c->color) {
            say("   \033[38;5;%dm%c %s\033[0m", colors[k], letters[k], chart->curve[k].name);
        } else {
            say("   %c %s", letters[k], chart->curve[k].name);
        }
    }
    putchar('\n');
}

/* The first point, those at a tenth and at half of the points, and the last one. */
static void print_points(const Canvas *c, const Chart *chart)
{
    say("%*s", MARGIN, chart->x);
    for (int k = 0; k < c->n_curves; k++) {
        say(" %13s", chart->curve[k].name);
    }
    putchar('\n');
    const int64_t shown[] = { 0, c->n_points / 10, c->n_points / 2, c->n_points - 1 };
    for (int i = 0; i < 4; i++) {
        if (shown[i] >= 0 && (i == 0 || shown[i] > shown[i - 1])) {
            printf("%*g", MARGIN, csv_get(c->data, shown[i], c->x_column));
            for (int k = 0; k < c->n_curves; k++) {
                printf(" %13.4g", csv_get(c->data, shown[i], c->column[k]));
            }
            putchar('\n');
        }
    }
    putchar('\n');
}

void chart_print(const Csv *data, const Chart *chart)
{
    bool utf8 = host_utf8();
    Canvas *c = ag_alloc(1, sizeof *c);
    c->columns = terminal_columns();
    c->wide = utf8 ? 2 : 1;
    c->high = utf8 ? 4 : 1;
    c->color = example_shows_colors();
    c->log_y = chart->log_y;
    c->data = data;
    c->n_points = csv_rows(data);
    c->x_column = csv_column(data, chart->x);
    while (c->n_curves < CHART_CURVES && chart->curve[c->n_curves].column) {
        c->column[c->n_curves] = csv_column(data, chart->curve[c->n_curves].column);
        c->n_curves++;
    }
    set_scales(c);
    for (int k = 0; k < c->n_curves; k++) {
        draw_curve(c, k);
    }
    print_title(c, chart);
    for (int row = 0; row < ROWS; row++) {
        char label[32];
        row_label(c, row, label);
        printf("%*s %c", MARGIN - 1, label, label[0] ? '+' : '|');
        for (int column = 0; column < c->columns; column++) {
            print_cell(c, &c->cell[row][column]);
        }
        putchar('\n');
    }
    print_x_axis(c, chart->x);
    print_points(c, chart);
    ag_free(c);
}
