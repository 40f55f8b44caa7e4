/* check.c: compares the answers with the library's results. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "common/common.h"

static const char *const file = "examples/grade/answers.c";

/* The library computes with floats. */
static bool agree(double got, double want)
{
    return got == want || fabs(got - want) <= 2e-6 * fabs(want) + 2e-7;
}

bool same_mistake(const double *got, const Tensor *result)
{
    for (int i = 0; i < tensor_numel(result); i++) {
        double wrong = (double)tensor_data(result)[i];
        bool near = got[i] == wrong || fabs(got[i] - wrong) <= 1e-5 * (1 + fabs(wrong));
        if (!near && (isfinite(got[i]) || isfinite(wrong))) {
            return false;
        }
    }
    return true;
}

/* The first number that is not that of the tensor times `factor`; -1 if there is none. */
static int first_wrong(const double *got, const Tensor *want, double factor)
{
    for (int i = 0; i < tensor_numel(want); i++) {
        if (!agree(got[i], factor * (double)tensor_data(want)[i])) {
            return i;
        }
    }
    return -1;
}

/* ---- calls -------------------------------------------------------------------------------------------------------- */

enum { MOST_LENT = 1000 };
static struct { double before[MOST_LENT], now[MOST_LENT]; int n; } lent;

const double *lend(const double *numbers, int n)
{
    double *copy = lent.now + lent.n;
    memcpy(copy, numbers, (size_t)n * sizeof *copy);
    memcpy(lent.before + lent.n, numbers, (size_t)n * sizeof *copy);
    lent.n += n;
    return copy;
}

/* Calls the answer with a y that is filled with `start`. Returns whether it has left its input as it was. */
static bool call_from(double start, Answer *answer, double y[MOST_NUMBERS])
{
    lent.n = 0;
    for (int i = 0; i < MOST_NUMBERS; i++) {
        y[i] = start;
    }
    answer(y);
    return memcmp(lent.before, lent.now, (size_t)lent.n * sizeof *lent.now) == 0;
}

bool is_right(Answer *answer, Tensor *want)
{
    double from_zero[MOST_NUMBERS], from_nan[MOST_NUMBERS];
    call_from(0, answer, from_zero);
    call_from(NAN, answer, from_nan);
    return first_wrong(from_zero, want, 1) < 0 && first_wrong(from_nan, want, 1) < 0;
}

/* The first number that the answer does not set: it keeps what it held before. -1 if there is none. A number that should be 0
 * does not tell: what is added to it is 0, too. */
static int first_unset(const double *from_zero, const double *from_one, const Tensor *want)
{
    for (int i = 0; i < tensor_numel(want); i++) {
        if (from_zero[i] == 0 && from_one[i] == 1 && tensor_data(want)[i] != 0) {
            return i;
        }
    }
    return -1;
}

static bool all_are(double number, const double *y, int64_t n)
{
    for (int i = 0; i < n; i++) {
        if (y[i] != number) {
            return false;
        }
    }
    return true;
}

/* ---- the report --------------------------------------------------------------------------------------------------- */

static void print_hint(const char *what)
{
    say("             %s\n", what);
}

void report_other_result(void)
{
    say("wrong: a second call with the same input has another result\n");
    print_hint("Set each variable before you add to it, and keep nothing from one call to the next (static).");
}

static void print_wrong(const double *got, const Tensor *want)
{
    int i = first_wrong(got, want, 1);
    say("wrong: number %d of the result is %g, expected %g\n", i, got[i], (double)tensor_data(want)[i]);
}

/* The likely mistake: one of the list, a number that is not finite, a constant factor, or what e->explain finds. */
static void print_mistake(const Exercise *e, const double *got)
{
    int largest = 0, wrong = first_wrong(got, e->want, 1);
    for (const Mistake *m = e->mistakes; m->why; m++) {
        if (same_mistake(got, m->result)) {
            print_wrong(got, e->want);
            print_hint(m->why);
            return;
        }
    }
    if (e->first) {
        say("not checked: %s must be right first\n", e->first);
        return;
    }
    print_wrong(got, e->want);
    if (!isfinite(got[wrong])) {
        print_hint(e->not_finite);
        return;
    }
    for (int i = 0; i < tensor_numel(e->want); i++) {
        largest = fabs(tensor_data(e->want)[i]) > fabs(tensor_data(e->want)[largest]) ? i : largest;
    }
    double factor = got[largest] / (double)tensor_data(e->want)[largest];
    if (factor != 0 && first_wrong(got, e->want, factor) < 0) {
        say("             Each number is %g times the expected one.\n", factor);
    } else if (e->explain) {
        e->explain(got);
    }
}

/* Whether more calls are right. Prints "right" or what is wrong. */
static bool grade_more(const Exercise *e)
{
    double y[MOST_NUMBERS];
    for (const MoreCalls *more = e->more; more && more->answer; more++) {
        call_from(0, more->answer, y);
        if (first_wrong(y, more->want, 1) >= 0) {
            print_wrong(y, more->want);
            print_hint(more->why);
            return false;
        }
    }
    say("right\n");
    return true;
}

/* Prints the grade; returns whether the answer is right. */
static bool print_grade(const Exercise *e)
{
    int64_t n = tensor_numel(e->want);
    double y[MOST_NUMBERS], again[MOST_NUMBERS], from_one[MOST_NUMBERS], from_nan[MOST_NUMBERS];
    bool input_is_same = call_from(0, e->answer, y);
    call_from(0, e->answer, again);
    call_from(1, e->answer, from_one);
    call_from(NAN, e->answer, from_nan);
    int unset = first_unset(y, from_one, e->want);
    if (all_are(0, y, n) && (!e->first || all_are(1, from_one, n))) {
        say("not written yet\n");
    } else if (!input_is_same) {
        say("wrong: the function changes its input\n");
        print_hint("The input belongs to the caller: write only to the result.");
    } else if (memcmp(y, again, (size_t)n * sizeof *y) != 0) {
        report_other_result();
    } else if (unset >= 0) {
        say("wrong: number %d of the result is not set\n", unset);
        print_hint("Each number of the result must be set: look at where the loop begins and ends.");
    } else if (first_wrong(y, e->want, 1) >= 0) {
        print_mistake(e, y);
    } else if (first_wrong(from_nan, e->want, 1) >= 0) {
        print_wrong(from_nan, e->want);
        print_hint("y is not 0 at first: set it before you add.");
    } else {
        return grade_more(e);
    }
    return false;
}

void complain(const char *name)
{
    example_complain("%s in %s is not right yet", name, file);
}

void grade(const Exercise *e)
{
    printf("%-12s ", e->name);
    if (!print_grade(e)) {
        complain(e->name);
    }
}
