/* report.c: prints, writes and draws the runs of the experiment. */
#include "report.h"

#include <math.h>

#include "kaeru/autograd.h"

Run *run_alloc(int64_t steps)
{
    Run *r = ag_alloc(1, sizeof *r);
    r->steps = steps;
    for (int k = 0; k < 2; k++) {
        r->loss[k] = ag_alloc_in(r, (size_t)steps, sizeof *r->loss[k]);
    }
    return r;
}

void runs_free(Run **r, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        ag_free(r[i]);
    }
}

/* The loss of the first run at a step, and the range of all runs. A loss that is not a number counts as infinite. */
typedef struct { double first, least, most; } Range;

static Range range_of(Run **r, int64_t n, int skip, int64_t step)
{
    Range all = { r[0]->loss[skip][step], INFINITY, -INFINITY };
    for (int64_t i = 0; i < n; i++) {
        double loss = isnan(r[i]->loss[skip][step]) ? INFINITY : r[i]->loss[skip][step];
        all.least = fmin(all.least, loss);
        all.most = fmax(all.most, loss);
    }
    return all;
}

/* As text: "0.0013 to 0.002", "0.002" or "diverges". */
typedef struct { char text[80]; } RangeText;

static RangeText range_text(const Range *r)
{
    RangeText t;
    if (isinf(r->most)) {
        snprintf(t.text, sizeof t.text, "%s", tr("diverges"));
    } else if (r->least == r->most) {
        snprintf(t.text, sizeof t.text, "%.2g", r->most);
    } else {
        snprintf(t.text, sizeof t.text, tr("%.2g to %.2g"), r->least, r->most);
    }
    return t;
}

static Csv *write_losses(const char *name, Run **r, int64_t n)
{
    Csv *csv = csv_open(name, "step,ffn,skip,ffn_least,ffn_most,skip_least,skip_most,zero");
    for (int64_t i = 0; i < r[0]->steps; i++) {
        Range f = range_of(r, n, 0, i), skip = range_of(r, n, 1, i);
        csv_row(csv, i, f.first, skip.first, f.least, f.most, skip.least, skip.most, r[0]->zero);
    }
    return csv;
}

/* By what factor a block multiplies the gradient's norm, as the mean over all blocks that a gradient reaches. */
static double gradient_factor(const Blocks *b)
{
    int lost = 0;
    while (lost < b->n && b->gradient[lost] == 0) {
        lost++;
    }
    return lost < b->n ? pow(b->gradient[lost] / b->gradient[b->n], 1.0 / (b->n - lost)) : 0;
}

static double signal_factor(const Blocks *b)
{
    return pow(b->signal[b->n] / b->signal[0], 1.0 / b->n);
}

/* Whether x + f(x) has the smaller loss at the end of the run. */
static bool skip_is_ahead(Run *r)
{
    Range f = range_of(&r, 1, 0, r->steps - 1), skip = range_of(&r, 1, 1, r->steps - 1);
    return skip.most < f.most;
}

void report_block(Run **r, int64_t n)
{
    Range f = range_of(r, n, 0, r[0]->steps - 1), skip = range_of(r, n, 1, r[0]->steps - 1), start = range_of(r, n, 1, 0);
    RangeText f_last = range_text(&f), skip_last = range_text(&skip), skip_first = range_text(&start);
    long long ahead = 0;
    for (int64_t i = 0; i < n; i++) {
        ahead += skip_is_ahead(r[i]);
    }
    Csv *csv = write_losses("skip_connection.csv", r, n);
    chart_print(csv, &(Chart){ "mean squared error", "step", true,
                               { { "ffn", "without f(x)" }, { "skip", "with x + f(x)" } } });
    csv_close(csv);
    say("The last loss is %s with a skip connection and %s without: smaller with it for %lld of %lld seeds.\n"
        "x + f(x) starts at %s. Always answering 0 has the loss %.3g.\n", skip_last.text, f_last.text, ahead, (long long)n,
        skip_first.text, r[0]->zero);
    picture_draw("skip_connection");
}

static void print_factors(const char *when, const Blocks *b)
{
    say("%s, a block multiplies the gradient by %.3g and the signal by %.3g (a mean of the blocks that it reaches);\n"
        "with skip connections by %.3g and %.3g.\n",
        when, gradient_factor(&b[0]), signal_factor(&b[0]), gradient_factor(&b[1]), signal_factor(&b[1]));
    if (b[0].gradient[0] == 0) {
        say("Without skip connections, the gradient of the input is 0.\n");
    }
}

void report_deep(Run **r, int64_t n)
{
    const Run *first = r[0];
    say("\nThe networks of %d blocks:\n", first->before[0].n);
    Csv *csv = csv_open("skip_gradient.csv", "step,block,ffn,skip,ffn_signal,skip_signal");
    for (int after = 0; after < 2; after++) {
        const Blocks *b = after ? first->after : first->before;
        for (int i = 0; i <= b->n; i++) {
            csv_row(csv, after ? first->steps : 0, i, b[0].gradient[i], b[1].gradient[i], b[0].signal[i], b[1].signal[i]);
        }
        if (!after) {
            chart_print(csv, &(Chart){ "norm of the gradient", "block", true,
                                       { { "ffn", "without f(x)" }, { "skip", "with x + f(x)" } } });
        }
    }
    csv_close(csv);
    csv_close(write_losses("skip_deep.csv", r, n));
    print_factors("Before training", first->before);
    print_factors("After training", first->after);
    picture_draw("skip_gradient");
}

Csv *report_depths_begin(void)
{
    say("\nMany blocks in a row: the last loss of each network.\n\n"
        "    blocks         always 0            without f(x)           with x + f(x)\n");
    return csv_open("skip_depth.csv", "depth,zero,ffn,skip,ffn_least,ffn_most,skip_least,skip_most");
}

static void print_range(const Range *r)
{
    if (isinf(r->most)) {
        say("  %22s", "diverges");
    } else {
        say("  %9.2g to %9.2g", r->least, r->most);
    }
}

void report_depth(Csv *csv, Run **r, int64_t n)
{
    Range f = range_of(r, n, 0, r[0]->steps - 1), skip = range_of(r, n, 1, r[0]->steps - 1);
    csv_row(csv, r[0]->before[0].n, r[0]->zero, f.first, skip.first, f.least, f.most, skip.least, skip.most);
    printf("  %8d        %9.3g", r[0]->before[0].n, r[0]->zero);
    print_range(&f);
    print_range(&skip);
    printf("\n");
}

Csv *report_controls_begin(int blocks)
{
    say("\nControls: networks of %d blocks; in each row, one thing is changed. The last losses, and the factor by which one\n"
        "block multiplies the norm of the gradient before training.\n\n", blocks);
    say("  %-30s  %22s  %10s  %22s  %10s\n", "", "without f(x)", "gradient", "with x + f(x)", "gradient");
    return csv_open("skip_controls.csv",
                    "control,zero,ffn,skip,ffn_least,ffn_most,skip_least,skip_most,ffn_factor,skip_factor,blocks");
}

void report_control(Csv *csv, const char *name, Run **r, int64_t n)
{
    Range f = range_of(r, n, 0, r[0]->steps - 1), skip = range_of(r, n, 1, r[0]->steps - 1);
    double factor[] = { gradient_factor(&r[0]->before[0]), gradient_factor(&r[0]->before[1]) };
    csv_named_row(csv, name, r[0]->zero, f.first, skip.first, f.least, f.most, skip.least, skip.most, factor[0],
                  factor[1], r[0]->before[0].n);
    say("  %-30s", name);
    print_range(&f);
    printf("  %10.3f", factor[0]);
    print_range(&skip);
    printf("  %10.3f\n", factor[1]);
}

void report_hashes(const Run *r)
{
    say("SHA-256 of the weights of f(x), one block, first seed:     %s\n"
        "SHA-256 of the weights of x + f(x), one block, first seed: %s\n", r->hash[0], r->hash[1]);
}

void report_next(void)
{
    say("Next:\n"
        "  sh examples/run.sh skip_connection --depth 16     16 blocks in a row; what reaches the first block?\n"
        "  sh examples/run.sh skip_connection --controls     other first weights, another optimizer, other targets\n"
        "  sh examples/run.sh skip_lab                       fifteen ways to connect blocks, each at its best rate\n"
        "  sh examples/run.sh page                           the same in a browser\n");
}
