/* table.c: prints, writes and draws what came out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab.h"

/* ---- quantities, and their least, middle and largest value of all seeds ---------------------- */

static double or_infinite(double x) { return isnan(x) ? INFINITY : x; }
static double loss_of(const Outcome *o) { return or_infinite(o->loss); }
static double held_out_of(const Outcome *o) { return or_infinite(o->held_out); }
static double steps_of(const Outcome *o) { return o->steps > 0 ? o->steps : INFINITY; }
static double curvature_before(const Outcome *o) { return or_infinite(o->eigenvalue[0]); }
static double curvature_after(const Outcome *o) { return or_infinite(o->eigenvalue[1]); }

/* The gradient that reaches the output of the first block, as a part of that at the last one. */
static double gradient_ratio(const Blocks *b)
{
    return or_infinite(b->gradient[1] / b->gradient[b->n]);
}
static double gradient_before(const Outcome *o) { return gradient_ratio(&o->blocks[0]); }
static double gradient_after(const Outcome *o) { return gradient_ratio(&o->blocks[1]); }

/* How large the signal is after the last block, beside the input of the stack. */
static double signal_ratio(const Blocks *b) { return or_infinite(b->signal[b->n] / b->signal[0]); }
static double signal_before(const Outcome *o) { return signal_ratio(&o->blocks[0]); }
static double signal_after(const Outcome *o) { return signal_ratio(&o->blocks[1]); }

typedef double Quantity(const Outcome *o);
typedef struct { double least, middle, most; } Band;

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static Band band_of(const Result *r, int seeds, Quantity *of)
{
    double value[MAX_SEEDS];
    for (int i = 0; i < seeds; i++) {
        value[i] = of(&r->outcome[i]);
    }
    qsort(value, (size_t)seeds, sizeof *value, compare);
    return (Band){ value[0], value[seeds / 2], value[seeds - 1] };
}

typedef struct { char text[80]; } BandText;

static BandText band_text(const Result *r, int seeds, Quantity *of)
{
    Band b = band_of(r, seeds, of);
    BandText t;
    if (isinf(b.most)) {
        snprintf(t.text, sizeof t.text, "%s", tr(of == steps_of ? "not reached" : "diverges"));
    } else if (b.least == b.most) {
        snprintf(t.text, sizeof t.text, "%.3g", b.most);
    } else {
        snprintf(t.text, sizeof t.text, tr("%.3g to %.3g"), b.least, b.most);
    }
    return t;
}

/* ---- files ----------------------------------------------------------------------------------- */

static Csv *table, *by_block;

void table_begin(void)
{
    table = csv_open("skip_lab.csv",
        "row,network,depth,rate,at_edge,parameters,loss,loss_least,loss_most,held_out,"
        "held_out_least,held_out_most,steps,steps_least,steps_most,gradient_before,"
        "gradient_before_least,gradient_before_most,gradient_after,gradient_after_least,"
        "gradient_after_most,signal_before,signal_before_least,signal_before_most,signal_after,"
        "signal_after_least,signal_after_most,eigenvalue_before,eigenvalue_before_least,"
        "eigenvalue_before_most,eigenvalue_after,eigenvalue_after_least,eigenvalue_after_most");
    by_block = csv_open("skip_lab_blocks.csv",
        "row,network,seed,block,gradient_before,gradient_after,signal_before,signal_after");
}

static void write_row(int network, const Result *r, int seeds)
{
    Quantity *const of[] = { loss_of, held_out_of, steps_of, gradient_before, gradient_after,
                             signal_before, signal_after, curvature_before, curvature_after };
    enum { FIRST = 5, N = sizeof of / sizeof *of };
    double value[FIRST + 3 * N] = { network, (double)lab.depth[network], r->rate, r->at_edge,
                                    r->outcome[0].parameters };
    for (int i = 0; i < N; i++) {
        Band b = band_of(r, seeds, of[i]);
        double *to = value + FIRST + 3 * i;
        to[0] = b.middle;
        to[1] = b.least;
        to[2] = b.most;
    }
    csv_numbers(table, rows[r->row].key, FIRST + 3 * N, value);
    for (int k = 0; k < seeds; k++) {
        const Blocks *b = r->outcome[k].blocks;
        for (int i = 0; i <= b->n; i++) {
            csv_named_row(by_block, rows[r->row].key, network, (double)(example_seed() + k), i,
                          b[0].gradient[i], b[1].gradient[i], b[0].signal[i], b[1].signal[i]);
        }
    }
}

/* ---- what is printed ------------------------------------------------------------------------- */

static void print_losses(int network, const Result *results, int n, int seeds)
{
    char goal[40];
    snprintf(goal, sizeof goal, tr("steps to %.3g"), lab.goal[network]);
    say("\n  %-10s  %-28s  %6s   %10s  %18s  %18s  %14s\n", "", "", "rate", "parameters", "loss",
        "held-out loss", goal);
    for (const Result *r = results; r < results + n; r++) {
        BandText loss = band_text(r, seeds, loss_of), steps = band_text(r, seeds, steps_of);
        BandText held_out = band_text(r, seeds, held_out_of);
        say("  %-10s  %-28s  %6g%s  %10.0f  %18s  %18s  %14s\n", rows[r->row].key,
            rows[r->row].name, r->rate, r->at_edge ? "*" : " ", r->outcome[0].parameters, loss.text,
            held_out.text, steps.text);
    }
}

/* Prints two ratios, the middle of all seeds; "-" where there is none. */
static void print_ratios(const Result *r, int seeds, Quantity *before, Quantity *after)
{
    Quantity *const of[] = { before, after };
    char text[2][40];
    for (int i = 0; i < 2; i++) {
        double middle = band_of(r, seeds, of[i]).middle;
        snprintf(text[i], sizeof text[i], isinf(middle) ? "-" : "%.2g", middle);
    }
    printf("  %10s, %10s", text[0], text[1]);
}

static void print_insides(const Result *results, int n, int seeds)
{
    say("\n  %-10s  %22s  %22s  %22s  %22s\n", "", "gradient before, after",
        "signal before, after", "eigenvalue before", "eigenvalue after");
    for (const Result *r = results; r < results + n; r++) {
        BandText before = band_text(r, seeds, curvature_before);
        BandText after = band_text(r, seeds, curvature_after);
        say("  %-10s", rows[r->row].key);
        print_ratios(r, seeds, gradient_before, gradient_after);
        print_ratios(r, seeds, signal_before, signal_after);
        say("  %22s  %22s\n", before.text, after.text);
    }
}

/* A list of rows, printed after a title unless it is empty. */
typedef struct { const char *title; int n; } List;

static void list_add(List *l, int row)
{
    if (l->n++ == 0) {
        say("%s", l->title);
    }
    printf("%s %s", l->n > 1 ? "," : "", rows[row].key);
}

static void list_end(List *l)
{
    if (l->n > 0) {
        printf("\n");
    }
}

typedef bool Claim(const Band *of_row, const Band *of_skip);
static bool below(const Band *a, const Band *b) { return a->most < b->least; }
static bool above(const Band *a, const Band *b) { return a->least > b->most; }
static bool overlaps(const Band *a, const Band *b) { return !below(a, b) && !above(a, b); }

/* Names the rows of which the band and that of x + f(x) have this order. */
static void say_order(const char *title, const Result *results, int n, int seeds,
                      const Result *skip, Claim *claim)
{
    List list = { title, 0 };
    Band reference = band_of(skip, seeds, held_out_of);
    for (const Result *r = results; r < results + n; r++) {
        Band b = band_of(r, seeds, held_out_of);
        if (r != skip && claim(&b, &reference)) {
            list_add(&list, r->row);
        }
    }
    list_end(&list);
}

static void say_faint(const Result *results, int n, int seeds)
{
    const char *title =
        "Before training, less than a hundredth of the gradient reaches the first block:";
    List list = { title, 0 };
    for (const Result *r = results; r < results + n; r++) {
        if (band_of(r, seeds, gradient_before).most < 0.01) {
            list_add(&list, r->row);
        }
    }
    list_end(&list);
}

static void say_result(const Result *results, int n, int seeds)
{
    const Result *best = results, *skip = NULL;
    int flatter = 0;
    for (const Result *r = results; r < results + n; r++) {
        if (band_of(r, seeds, held_out_of).middle < band_of(best, seeds, held_out_of).middle) {
            best = r;
        }
        if (strcmp(rows[r->row].key, "skip") == 0) {
            skip = r;
        }
        double before = band_of(r, seeds, curvature_before).middle;
        flatter += band_of(r, seeds, curvature_after).middle < before;
    }
    BandText text = band_text(best, seeds, held_out_of);
    say("\nThe least held-out loss: %s, %s.\n", rows[best->row].name, text.text);
    if (skip && seeds > 1) {
        say_order("Less than x + f(x), the bands apart:", results, n, seeds, skip, below);
        say_order("Not to be told from x + f(x), the bands overlap:", results, n, seeds, skip,
                  overlaps);
        say_order("More than x + f(x), the bands apart:", results, n, seeds, skip, above);
    }
    say_faint(results, n, seeds);
    say("The largest eigenvalue is smaller after training than before in %d of %d rows.\n",
        flatter, n);
}

void table_network(int network, const Result *results, int n, int seeds)
{
    if (network == FFN) {
        say("\nStacks of %lld blocks f, two layers with ReLU, learn to return %s: %lld rows, "
            "%lld steps, %d seeds.\n", (long long)lab.depth[FFN], setup_target_text(&lab.setup),
            (long long)lab.examples, (long long)lab.steps[FFN], seeds);
    } else {
        say("\nGPTs of %lld blocks, width %lld, learn a text by its characters: %lld steps of "
            "%lld windows, %d seeds.\n", (long long)lab.depth[network], (long long)lab.width,
            (long long)lab.steps[network], (long long)lab.batch, seeds);
    }
    print_losses(network, results, n, seeds);
    print_insides(results, n, seeds);
    bool edge = false;
    for (int i = 0; i < n; i++) {
        write_row(network, &results[i], seeds);
        edge = edge || results[i].at_edge;
    }
    if (edge) {
        say("\n* the best rate is the first or the last that was tried\n");
    }
    say_result(results, n, seeds);
}

void table_end(void)
{
    printf("\n");
    csv_close(table);
    csv_close(by_block);
    picture_draw("skip_lab");
}
