/* hint.c: what a rule of the exercise computes. The rule runs on numbers that are all different. Products of powers of dy, w
 * and x, with correct or with wrong indices, are tried until one has the same result. */
#include "hint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/common.h"
#include "exercise.h"

enum { ROWS = 2, COLUMNS = 3, ITEMS = ROWS * COLUMNS, MOST_POWER = 3 };
static const ag_real x[ITEMS] = { 0.7, -1.1, 1.3, 0.9, 0.6, -1.7 }, w[COLUMNS] = { 1.2, -0.8, 0.65 },
                     dy[ITEMS] = { 0.55, -1.4, 1.9, 0.75, -0.95, 1.6 };

typedef struct { ag_real dx[ITEMS], dw[COLUMNS]; } Gradients;

/* Runs the rule on copies of these numbers, all multiplied by `scale`. It adds to `to`. Returns whether it leaves them as they
 * were. */
static bool run_rule(double scale, Gradients *to)
{
    ag_real numbers[3][ITEMS] = { { 0 } }, gradient[ITEMS];
    AgScope s = ag_begin(AG_NO_GRAD);
    for (int i = 0; i < ITEMS; i++) {
        numbers[0][i] = (ag_real)(scale * (double)x[i]);
        numbers[1][i] = (ag_real)(i < COLUMNS ? scale * (double)w[i] : 0);
        numbers[2][i] = gradient[i] = (ag_real)(scale * (double)dy[i]);
    }
    Tensor *in[] = { tensor_from(SHAPE(ROWS, COLUMNS), numbers[0]), tensor_from(SHAPE(COLUMNS), numbers[1]) };
    AgCustomCall call = { .in = in, .n = 2, .y = tensor_zeros(SHAPE(ROWS, COLUMNS)), .dy = gradient,
                          .dx = (ag_real *const[]){ to->dx, to->dw } };
    weighted_square.forward(&call);
    weighted_square.backward(&call);
    bool same = memcmp(tensor_data(in[0]), numbers[0], sizeof numbers[0]) == 0 &&
                memcmp(tensor_data(in[1]), numbers[1], COLUMNS * sizeof(ag_real)) == 0 &&
                memcmp(gradient, numbers[2], sizeof numbers[2]) == 0;
    ag_end(s);
    return same;
}

/* Whether the rule leaves n numbers as they were: all -0, to which it adds nothing. A sum of 0 and
 * -0 is 0. */
static bool are_untouched(const ag_real *gradient, int n)
{
    for (int i = 0; i < n; i++) {
        if (gradient[i] != 0 || !signbit(gradient[i])) {
            return false;
        }
    }
    return true;
}

/* Runs the rule on gradients that are all `start`. */
static Gradients run_from(ag_real start)
{
    Gradients g;
    for (int i = 0; i < ITEMS; i++) {
        g.dx[i] = start;
        g.dw[i % COLUMNS] = start;
    }
    run_rule(1, &g);
    return g;
}

bool is_unwritten(void)
{
    Gradients g = run_from(-0.0F);
    return are_untouched(g.dx, ITEMS) && are_untouched(g.dw, COLUMNS);
}

bool print_side_effects(void)
{
    Gradients once = { 0 }, again = { 0 };
    if (!run_rule(1, &once)) {
        say("  The rule changes x, w or dy, which others read: write only to dx and dw.\n");
        return true;
    }
    run_rule(1, &again);
    if (memcmp(&once, &again, sizeof once) != 0) {
        say("  A second call with the same numbers has another result: keep nothing from one call to the next (static).\n");
        return true;
    }
    return false;
}

/* How an entry (i, j) of a matrix is found; the first one is correct. */
enum { BY_ROWS, BY_ROWS_WRONG, BY_COLUMNS, COLUMN_ALONE, ROW_ALONE, START_OF_ROW, PLACES };
static int place(int how, int i, int j)
{
    return (const int[PLACES]){ i * COLUMNS + j, i * ROWS + j, j * ROWS + i, j, i, i * COLUMNS }[how];
}
static const char *const place_text[PLACES] = { "i * columns + j", "i * rows + j", "j * rows + i", "j", "i", "i * columns" };

/* The gradient is `factor` times the product of these powers of dy, w and x; for w, added up over the rows. */
typedef struct {
    double factor;
    int dy, w, x;               /* powers */
    int dy_at, x_at, to;        /* places of dy, of one factor x, and of dx */
    int other_x_at;             /* place of the other factors x */
    bool w_of_row;              /* w[i], or dw[i] */
} Rule;
static const Rule correct[] = { { .factor = 2, .dy = 1, .w = 1, .x = 1 }, { .factor = 1, .dy = 1, .x = 2 } };

static void apply(const Rule *r, bool to_w, double result[ITEMS])
{
    memset(result, 0, ITEMS * sizeof *result);
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLUMNS; j++) {
            int row_or_column = r->w_of_row ? i : j;
            result[to_w ? row_or_column : place(r->to, i, j)] += pow((double)dy[place(r->dy_at, i, j)], r->dy) *
                pow((double)w[to_w ? j : row_or_column], r->w) * pow((double)x[place(r->x_at, i, j)], r->x > 0) *
                pow((double)x[place(r->other_x_at, i, j)], r->x > 1 ? r->x - 1 : 0);
        }
    }
}

/* The factor by which n numbers are larger than others; 0 if there is none. */
static double factor_between(const double *got, const double *of, int n)
{
    double factor = 0, size = 0;
    for (int i = 0; i < n; i++) {
        if (fabs(of[i]) > size) {
            size = fabs(of[i]);
            factor = got[i] / of[i];
        }
    }
    for (int i = 0; i < n; i++) {
        if (!(fabs(got[i] - factor * of[i]) <= 1e-5 * fabs(factor) * size)) {
            return 0;
        }
    }
    return factor;
}

static int differences(const Rule *r, const Rule *of)
{
    return (fabs(r->factor - of->factor) > 1e-3) + abs(r->dy - of->dy) + abs(r->w - of->w) + abs(r->x - of->x) +
           2 * ((r->dy_at != BY_ROWS) + (r->x_at != BY_ROWS) + (r->other_x_at != BY_ROWS) + (r->to != BY_ROWS) + r->w_of_row);
}

/* The rule with this result that has the fewest differences from another one. Returns false if there is none. */
static bool find_rule(const double *got, bool to_w, const Rule *near, Rule *found)
{
    int fewest = 1000;
    const int powers = MOST_POWER * MOST_POWER * (MOST_POWER + 1), places = 2 * PLACES * PLACES * PLACES;
    for (int k = 0; k < powers * places; k++) {
        int p = k % powers, at = k / powers, x_at = at / 2 / PLACES % PLACES, last_place = at / 2 / PLACES / PLACES;
        double result[ITEMS];
        Rule r = { .dy = p % MOST_POWER, .w = p / MOST_POWER % MOST_POWER, .x = p / (MOST_POWER * MOST_POWER),
                   .w_of_row = at % 2, .dy_at = at / 2 % PLACES, .x_at = x_at, .to = to_w ? BY_ROWS : last_place,
                   .other_x_at = to_w ? last_place : x_at };
        apply(&r, to_w, result);
        r.factor = factor_between(got, result, to_w ? COLUMNS : ITEMS);
        if (r.factor != 0 && differences(&r, near) < fewest) {
            fewest = differences(&r, near);
            *found = r;
        }
    }
    return fewest < 1000;
}

static void print_power(const char *name, const char *index, int power)
{
    if (power > 0) {
        printf(" %s[%s]", name, index);
    }
    if (power > 1) {
        printf("^%d", power);
    }
}

static const char *matrix_index(int how) { return how == BY_ROWS ? "i][j" : place_text[how]; }

static void print_product(const Rule *r, bool to_w)
{
    bool alone = r->dy + r->w + r->x == 0;
    if (alone || fabs(r->factor - 1) > 1e-3) {
        printf(" %.4g", r->factor);
    }
    bool apart = r->x > 1 && r->other_x_at != r->x_at;
    print_power("dy", matrix_index(r->dy_at), r->dy);
    print_power("w", r->w_of_row && !to_w ? "i" : "j", r->w);
    print_power("x", matrix_index(r->x_at), apart ? 1 : r->x);
    print_power("x", matrix_index(r->other_x_at), apart ? r->x - 1 : 0);
    say(".\n");
}

static void print_rule(const Rule *r, bool to_w)
{
    const char *row_or_column = r->w_of_row ? "i" : "j";
    say("  Your rule computes %s[%s] =%s", to_w ? "dw" : "dx", to_w ? row_or_column : matrix_index(r->to),
        to_w ? " the sum of all" : "");
    print_product(r, to_w);
}

static void print_power_hint(const char *name, int power, int wanted, const char *why)
{
    if (power == wanted) {
        return;
    }
    if (power == 0) {
        say("  %s is missing: %s.\n", name, why);
    } else if (wanted == 0) {
        say("  %s does not belong there: %s.\n", name, why);
    } else {
        say("  %s has the wrong power: %s.\n", name, why);
    }
}

static void print_place_hint(const char *name, int how)
{
    if (how != BY_ROWS) {
        say("  The index of %s is wrong: %s. A matrix is stored row by row: [i][j] is at %s.\n", name, place_text[how],
            place_text[BY_ROWS]);
    }
}

/* `ratio`: of the factor to the correct one. */
static void print_factor_hint(double ratio, bool to_w)
{
    static const struct { int n; const char *what; } count[] = {
        { ITEMS, "entries" }, { COLUMNS, "columns" }, { ROWS, "rows" },
    };
    if (fabs(ratio - 1) < 1e-3) {
        return;
    }
    if (fabs(ratio + 1) < 1e-3) {
        say("  The sign is wrong.\n");
        return;
    }
    say("  The constant factor is %.4g times the correct one", ratio);
    for (int k = 0; k < (to_w ? 3 : 2); k++) {
        if (fabs(ratio * count[k].n - 1) < 1e-3) {
            say(", as if divided by the number of %s: nothing is averaged here", count[k].what);
        }
    }
    say(".\n");
}

/* Mistakes that are no product of powers. */
typedef enum {
    FIRST_ROW, LAST_ROW, FIRST_COLUMN, LAST_COLUMN, ALL_COLUMNS, SUM_OF_ROW, NO_SIGN, SIGNED_SQUARE,
    SLIPS
} Slip;
static const char *const slip_text[SLIPS] = {
    [FIRST_ROW] = "  %s leaves out the first row: the loop must begin there.\n",
    [LAST_ROW] = "  %s leaves out the last row: the loop must reach it. (w and dw have one number for each column j.)\n",
    [FIRST_COLUMN] = "  %s leaves out the first column: the loop must begin there.\n",
    [LAST_COLUMN] = "  %s leaves out the last column: the loop must reach it.\n",
    [ALL_COLUMNS] = "  Each entry of %s adds up all columns: only column j counts for w[j].\n",
    [SUM_OF_ROW] = "  %s takes the sum of a row of dy: y[i][j] has only dy[i][j].\n",
    [NO_SIGN] = "  %s loses the sign of x: the derivative of x^2 is 2 x, also below 0.\n",
    [SIGNED_SQUARE] = "  %s keeps the sign of x: the derivative of w x^2 by w is x^2, which is never negative.\n",
};

/* The correct result but for this slip. */
static void apply_slip(Slip how, bool to_w, double result[ITEMS])
{
    memset(result, 0, ITEMS * sizeof *result);
    for (int k = 0; k < ITEMS; k++) {
        int i = k / COLUMNS, j = k % COLUMNS;
        double g = how == SUM_OF_ROW ? 0 : (double)dy[k], value = (double)x[k];
        for (int c = 0; c < COLUMNS && how == SUM_OF_ROW; c++) {
            g += (double)dy[i * COLUMNS + c];
        }
        if ((how == FIRST_ROW && i == 0) || (how == LAST_ROW && i == ROWS - 1) || (how == FIRST_COLUMN && j == 0) ||
            (how == LAST_COLUMN && j == COLUMNS - 1)) {
            continue;
        }
        if (!to_w) {
            result[k] = 2 * g * (double)w[j] * (how == NO_SIGN ? fabs(value) : value);
        }
        for (int c = 0; c < COLUMNS && to_w; c++) {
            result[c] += c == j || how == ALL_COLUMNS ? g * value * (how == SIGNED_SQUARE ? fabs(value) : value) : 0;
        }
    }
}

/* Whether dw is a product of sums over the rows: of dy and of x^2, of dy and of x, squared, or of
 * dy x and of x. Prints it. */
static bool print_product_of_sums(const double *got)
{
    double result[3][COLUMNS];
    for (int j = 0; j < COLUMNS; j++) {
        double sum_dy = 0, sum_x = 0, squares = 0, products = 0;
        for (int k = j; k < ITEMS; k += COLUMNS) {
            double value = (double)x[k], g = (double)dy[k];
            sum_dy += g;
            sum_x += value;
            squares += value * value;
            products += g * value;
        }
        result[0][j] = sum_dy * squares;
        result[1][j] = sum_dy * sum_x * sum_x;
        result[2][j] = products * sum_x;
    }
    for (int how = 0; how < 3; how++) {
        if (fabs(factor_between(got, result[how], COLUMNS) - 1) < 1e-3) {
            say("  dw is a product of sums: multiply dy[i][j] and x[i][j]^2 first, "
                "then add up the products.\n");
            return true;
        }
    }
    return false;
}

/* Whether the result has one of these slips. Prints it. */
static bool print_slip(const double *got, bool to_w)
{
    for (Slip how = 0; how < SLIPS; how++) {
        double result[ITEMS];
        bool of_w = how == ALL_COLUMNS || how == SIGNED_SQUARE;
        bool applies = to_w ? how != NO_SIGN : !of_w;
        apply_slip(how, to_w, result);
        if (applies && fabs(factor_between(got, result, to_w ? COLUMNS : ITEMS) - 1) < 1e-3) {
            say(slip_text[how], to_w ? "dw" : "dx");
            return true;
        }
    }
    return false;
}

/* dx and dw are products of three of the numbers, so numbers that are 16 times smaller make them 16^3 times smaller. Prints
 * what is likely if they do not. */
static void print_if_not_product(const double *got, bool to_w)
{
    const double scale = 1.0 / 16;
    Gradients small = { 0 };
    bool product = true, constant = true;
    run_rule(scale, &small);
    for (int i = 0; i < (to_w ? COLUMNS : ITEMS); i++) {
        double value = (double)(to_w ? small.dw[i] : small.dx[i]);
        product = product && (!isfinite(got[i]) || fabs(value / pow(scale, 3) - got[i]) <= 1e-3 * (1 + fabs(got[i])));
        constant = constant && value == got[i];
    }
    if (constant) {
        say("  %s does not depend on x, w and dy: compute it from them.\n", to_w ? "dw" : "dx");
    } else if (!product) {
        say("  %s is not proportional to dy, w and x: is there a sum, or does an int cut off fractions?\n", to_w ? "dw" : "dx");
    }
}

/* The correct result and something else: prints what else. Returns false if it cannot tell. */
static bool print_rest(const double *got, bool to_w)
{
    double rest[ITEMS];
    Rule r = { 0 };
    apply(&correct[to_w], to_w, rest);
    for (int i = 0; i < (to_w ? COLUMNS : ITEMS); i++) {
        rest[i] = got[i] - correct[to_w].factor * rest[i];
    }
    if (!find_rule(rest, to_w, &(Rule){ .factor = 1 }, &r)) {
        return false;
    }
    say("  Your rule computes the correct %s plus%s", to_w ? "dw" : "dx", to_w ? " the sum of all" : "");
    print_product(&r, to_w);
    return true;
}

static void print_hint(const ag_real *gradient, bool to_w)
{
    const Rule *want = &correct[to_w];
    Rule r = *want;
    double got[ITEMS];
    for (int i = 0; i < (to_w ? COLUMNS : ITEMS); i++) {
        got[i] = (double)gradient[i];
    }
    if (print_slip(got, to_w) || (to_w && print_product_of_sums(got))) {
        return;
    }
    if (!find_rule(got, to_w, want, &r)) {
        if (!print_rest(got, to_w)) {
            print_if_not_product(got, to_w);
        }
        return;
    }
    if (differences(&r, want) == 0) {
        return;
    }
    print_rule(&r, to_w);
    for (int c = 0; c < COLUMNS && !to_w && r.w == 0; c++) {
        if (fabs(r.factor / (want->factor * (double)w[c]) - 1) < 1e-3) {
            say("  w[%d] stands there for all columns: column j has w[j].\n", c);
            return;
        }
    }
    print_power_hint("dy", r.dy, want->dy, "the chain rule multiplies by dy[i][j], once");
    print_power_hint("w", r.w, want->w, to_w ? "the derivative of w x^2 by w is x^2" : "x^2 is multiplied by w in y");
    print_power_hint("x", r.x, want->x, to_w ? "w is multiplied by x^2 in y" : "the derivative of x^2 is 2 x");
    print_place_hint("dy", r.dy_at);
    print_place_hint("x", r.x_at);
    if (r.x > 1 && r.other_x_at != r.x_at) {
        print_place_hint("x", r.other_x_at);
    }
    print_place_hint("dx", r.to);
    if (r.w_of_row) {
        say("  The index of %s is wrong: there is one w for each column j.\n", to_w ? "dw" : "w");
    }
    if (r.x == want->x) {
        print_factor_hint(r.factor / want->factor, to_w);
    }
}

static bool is_zero(const ag_real *gradient, int n)
{
    for (int i = 0; i < n; i++) {
        if (gradient[i] != 0) {
            return false;
        }
    }
    return true;
}

/* `twice`: the gradient after a second call of the rule, which must add to the first result. */
static bool is_right(const ag_real *once, const ag_real *twice, bool to_w)
{
    double want[ITEMS];
    apply(&correct[to_w], to_w, want);
    for (int i = 0; i < (to_w ? COLUMNS : ITEMS); i++) {
        double value = correct[to_w].factor * want[i];
        if (!(fabs((double)once[i] - value) < 1e-4) || !(fabs((double)twice[i] - 2 * value) < 1e-4)) {
            return false;
        }
    }
    return true;
}

/* Moves the text past this word, if it begins with it. */
static bool skip(const char **text, const char *word)
{
    bool begins = strncmp(*text, word, strlen(word)) == 0;
    *text += begins ? strlen(word) : 0;
    return begins;
}

static bool skip_any(const char **text, const char *const *words, int n)
{
    for (int i = 0; i < n; i++) {
        if (skip(text, words[i])) {
            return true;
        }
    }
    return false;
}

/* Reads a product of numbers and powers of dy, x0 and x1, up to a comma. Returns false if the text is something else. */
static bool read_product(const char *text, Rule *r)
{
    static const char *const ignored[] = { " ", "*", "sum", "of", "over", "rows" };
    *r = (Rule){ .factor = 1 };
    while (*text && *text != ',') {
        if (skip_any(&text, ignored, sizeof ignored / sizeof *ignored)) {
            continue;
        }
        int *power = skip(&text, "dy") ? &r->dy : skip(&text, "x0") ? &r->x : skip(&text, "x1") ? &r->w : NULL;
        if (power && !skip(&text, "^")) {
            *power += 1;
            continue;
        }
        char *end;
        double number = strtod(text, &end);
        if (end == text) {
            return false;
        }
        text = end;
        if (power) {
            *power += (int)number;
        } else {
            r->factor *= number;
        }
    }
    return true;
}

bool print_formula_mistake(void)
{
    static const char *const begin[] = { "dx0 = ", "dx1 = " };
    bool found = false;
    for (int to_w = 0; to_w < 2; to_w++) {
        const char *part = weighted_square.backward_text ? strstr(weighted_square.backward_text, begin[to_w]) : NULL;
        Rule r;
        if (part && read_product(part + strlen(begin[to_w]), &r) && differences(&r, &correct[to_w]) > 0) {
            say("\nThe formula of dx%d is not what the rule computes: compare the factors and their powers.\n", to_w);
            found = true;
        }
    }
    return found;
}

static void print_zero(const char *name, const char *other, bool is_written, bool other_is_right)
{
    if (is_written) {
        say("  The result for %s is 0. In C, 1/2 divides integers and is 0: write 0.5.\n", name);
    } else if (other_is_right) {
        say("  %s is right. %s is not written yet: nothing is added to it.\n", other, name);
    } else {
        say("  %s is not written yet: nothing is added to it.\n", name);
    }
}

void print_hints(void)
{
    Gradients once = run_from(0), twice = once, from_one = run_from(1), marked = run_from(-0.0F);
    run_rule(1, &twice);
    if (is_zero(once.dx, ITEMS)) {
        print_zero("dx", "dw", !are_untouched(marked.dx, ITEMS), is_right(once.dw, twice.dw, true));
    } else {
        print_hint(once.dx, false);
    }
    if (is_zero(once.dw, COLUMNS)) {
        print_zero("dw", "dx", !are_untouched(marked.dw, COLUMNS),
                   is_right(once.dx, twice.dx, false));
    } else if (memcmp(once.dw, from_one.dw, sizeof once.dw) != 0) {
        print_hint(once.dw, true);
    }       /* else dw is overwritten: the check says so, and its numbers tell nothing more */
}
