/* mistakes.c: wrong answers to the exercises of the example grade. The environment variable MISTAKE names the mistake. */
#include "answers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is(const char *mistake)
{
    const char *chosen = getenv("MISTAKE");
    return chosen && strcmp(chosen, mistake) == 0;
}

void answer_softmax(int n, const double *x, double *y)
{
    static double kept;
    double shift = x[0], sum = is("static") ? kept : is("tiny") ? 1e-5 : 0;
    if (is("input")) *(double *)x += 1;
    for (int i = 1; i < n; i++) shift = is("smallest") ? fmin(shift, x[i]) : fmax(shift, x[i]);
    if (is("overflow")) shift = 0;
    if (is("constant")) shift = 500;
    if (is("start at 0")) shift = fmax(shift, 0);
    for (int i = 0; i < n && is("search without last"); i++) shift = i == 0 ? x[0] : i < n - 1 ? fmax(shift, x[i]) : shift;
    for (int i = 0; i < n && is("largest absolute"); i++) shift = i == 0 ? x[0] : fmax(shift, fabs(x[i]));
    if (is("first")) shift = x[0];
    for (int i = 0; i < n; i++) {
        double power = is("sign") ? -x[i] : is("shifted sign") ? shift - x[i] : x[i] - shift;
        if (is("int")) power = trunc(x[i]) - trunc(shift);
        if (is("half power")) power /= 2;
        double e = is("no exp") ? x[i] : is("base 2") ? exp2(power) : exp(power);
        y[i] = is("undone") ? 0 : (is("added") ? y[i] : 0) + (is("sum only") ? exp(x[i]) : e);
        if (is("first left out") && i == 0) continue;
        if (!(is("last") && i == n - 1) && !(is("size") && i > 4)) sum += is("numerator only") ? exp(x[i]) : e;
        if (is("at once")) y[i] /= sum;
    }
    kept = sum;
    if (is("by mean")) sum /= n;
    for (int i = 0; i < n && !is("not divided") && !is("undone") && !is("at once"); i++) y[i] /= is("mean") ? sum * n : sum;
    for (int i = 0; i < n && is("one hot"); i++) y[i] = x[i] == shift;
    for (int i = 0; i < n && is("sigmoid"); i++) y[i] = 1 / (1 + exp(-x[i]));
    for (int i = 0; i < n && is("log"); i++) y[i] = x[i] - shift - log(sum);
    for (int i = 0; i < n && (is("percent") || is("wrong softmax") || is("zero softmax")); i++)
        y[i] *= is("zero softmax") ? 0 : 100;
}

void answer_layer_norm(int n, const double *x, double *y)
{
    double mean = 0, variance = 0, running = 0;
    int used = is("last") ? n - 1 : n;
    bool variance_in_loop = is("variance in loop") || is("both in loop");
    bool mean_in_loop = is("mean in loop") || is("both in loop");
    for (int i = 0; i < used; i++) {
        mean += x[i] / (is("sum") || mean_in_loop ? 1 : n);
        if (mean_in_loop) mean /= n;
    }
    if (is("int")) mean = trunc(mean);
    if (is("one nth")) mean *= 1 / n * n;
    if (is("middle")) mean = x[n / 2];
    if (is("rms")) mean = 0;
    if (is("n - 1 twice")) mean *= n / (n - 1.0);
    for (int i = 0; i < used; i++) {
        running += x[i] / n;
        double d = is("mean in variance") || is("one pass") ? x[i] : x[i] - (is("at once") ? running : mean);
        double part = is("absolute") ? fabs(d) : d * d;
        variance += part / (is("n - 1") ? n - 1 : is("sum of squares") || variance_in_loop ? 1 : n);
        if (variance_in_loop) variance /= n;
    }
    if (is("one pass")) variance -= mean * mean;
    if (is("one nth") || is("one nth of variance")) variance *= 1 / n * n;
    if (is("no mean")) mean = 0;
    double divisor = sqrt(variance + (is("no eps") ? 0 : is("eps") ? 1e-3 : 1e-5));
    if (is("range")) divisor = x[n - 1] - x[0];
    if (is("times")) divisor = 1 / divisor;
    if (is("eps outside")) divisor = sqrt(variance) + 1e-5;
    const char *outside = getenv("MISTAKE");
    if (outside && strncmp(outside, "outside ", 8) == 0) divisor = sqrt(variance) + atof(outside + 8);
    if (outside && strncmp(outside, "inside ", 7) == 0) divisor = sqrt(variance + atof(outside + 7));
    if (is("variance")) divisor = variance + 1e-5;
    if (is("no divisor") || is("zero")) divisor = is("no divisor");
    for (int i = 0; i < n - is("unset"); i++)
        y[i] = is("undone") ? 0 : is("no parentheses") ? x[i] - mean / divisor : (x[i] - mean) / divisor;
}

static double cosine(const double *a, const double *b, int k)
{
    double product = 0, of_a = 0, of_b = 0;
    for (int d = 0; d < k; d++) product += a[d] * b[d], of_a += a[d] * a[d], of_b += b[d] * b[d];
    return product / sqrt(of_a * of_b);
}

static double at(const double *rows, int n, int k, int i, int d, const char *misread)
{
    return is(misread) || is("by columns") || is("all by columns") ? rows[d * n + i] : rows[i * k + d];
}

void answer_attention(int n, int k, const double *query, const double *key, const double *value, double *y)
{
    double weight[16][16], sum[16] = { 0 }, unscaled[16], columns[64], largest = 0, all = 0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            double score = 0;
            int q = is("exchanged") ? j : i, p = is("exchanged") ? i : j;
            if (is("not reset") && i > 0) score = unscaled[j];
            if (is("not reset by key") && j > 0) score = unscaled[j - 1];
            if (is("never reset")) score = i + j == 0 ? 0 : unscaled[(j + n - 1) % n];
            if (is("not reset, divided") && j > 0) score = weight[i][j - 1];
            for (int d = 0; d < k - is("without last number"); d++) {
                double a = at(query, n, k, is("query 0") ? 0 : q, d, "query index"), b = at(key, n, k, p, d, "key index");
                if (is("key score")) a = key[q * k + d];
                if (is("last product")) score = 0;
                if (is("first product") && d > 0) break;
                score += is("far") ? -(a - b) * (a - b) : a * b;
            }
            unscaled[j] = score;
            if (is("times root")) score *= sqrt(k);
            else if (is("absolute")) score = fabs(score);
            else if (is("cosine")) score = cosine(query + i * k, key + j * k, k);
            else if (is("int")) score /= (int)sqrt(k);
            else if (is("root of 8")) score /= sqrt(8);
            else if (!is("no root") && !is("root of result")) score /= is("k") ? k : is("n") ? sqrt(n) : sqrt(k);
            if ((is("mask") && j > i) || (is("not itself") && j == i) || (is("without last word") && j == n - 1))
                score = -INFINITY;
            weight[i][j] = score;
            largest = fmax(largest, score);
        }
    }
    if (is("no sum") || is("no largest")) largest = 0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n && !is("no softmax"); j++) {
            weight[i][j] = is("even") ? 1 : exp(weight[i][j] - largest);
            sum[is("columns") ? j : i] += is("size") && j > 4 ? 0 : weight[i][j];
            all += weight[i][j];
        }
    }
    for (int i = 0; i < n && !is("undone"); i++) {
        for (int d = 0; d < k; d++) {
            if (!is("not set")) y[i * k + d] = 0;
            for (int j = 0; j < n; j++) {
                double part = is("weights") ? weight[j][i] / sum[j] : weight[i][j] / (is("columns") ? sum[j] : sum[i]);
                if (is("all")) part = weight[i][j] / all;
                for (int l = 0; l < n && is("best only"); l++) part = weight[i][l] > weight[i][j] ? 0 : l == 0 ? 1 : part;
                if (is("no softmax") || is("no sum")) part = weight[i][j];
                const double *of = is("keys") ? key : is("queries") ? query : value;
                if (is("last value")) y[i * k + d] = 0;
                y[i * k + d] += part * at(of, n, k, is("own value") ? i : j, d, "value index");
            }
            if (is("wrong softmax") || is("zero softmax")) {
                double row[16];
                for (int j = 0; j < n; j++) row[j] = log(weight[i][j]);
                answer_softmax(n, row, row);
                y[i * k + d] = 0;
                for (int j = 0; j < n; j++) y[i * k + d] += row[j] * value[j * k + d];
            }
            if (is("value lost")) y[i * k + d] += d;
            if (is("skip")) y[i * k + d] += value[i * k + d];
            if (is("root of result")) y[i * k + d] /= sqrt(k);
            if (is("mean again")) y[i * k + d] /= n;
            columns[d * n + i] = y[i * k + d];
        }
    }
    if (is("all by columns")) memcpy(y, columns, (size_t)(n * k) * sizeof *y);
}

bool answer_sees(int i, int j)
{
    static int calls;
    if (is("static")) return j <= i && calls++ < 50;
    if (is("window")) return j <= i && i - j < 3;
    if (is("char")) return (signed char)j <= (signed char)i;
    return is("undone") ? false : is("not itself") ? j < i : is("later") ? j >= i : is("all") ? true : is("only later") ? j > i
           : is("only itself") ? i == j : is("one too many") ? j <= i + 1 : j <= i;
}

void answer_adam(double *w, double *m, double *v, double dw, int step, double lr)
{
    if (is("undone")) return;
    double beta1 = is("exchanged") ? 0.999 : 0.9, beta2 = is("exchanged") ? 0.9 : 0.999, old_m = *m, old_v = *v;
    int steps = is("early") ? step - 1 : is("late") ? step + 1 : is("no power") ? 1 : step;
    static int calls;
    calls++;
    if (is("static")) steps = calls;
    if (is("short")) beta2 = 0.99;
    if (is("decays")) dw += 0.01 * *w;
    double base1 = is("starts exchanged") || is("start of v twice") ? beta2 : beta1;
    double base2 = is("starts exchanged") || is("start of m twice") ? beta1 : beta2;
    double start_m = is("uncorrected") || is("m uncorrected") ? 1 : 1 - pow(base1, steps);
    double start_v = is("uncorrected") || is("v uncorrected") ? 1 : 1 - pow(base2, steps);
    *m = beta1 * *m + (is("share") || is("share of m") ? 1 : 1 - beta1) * dw;
    if (is("m grows")) *m += 0.1 * fabs(dw);
    if (is("v grows")) *v += 0.001 * fabs(dw);
    if (is("square of m")) dw = *m;
    if (is("float")) dw = (double)(float)(dw * dw) / dw;
    *v = beta2 * *v + (is("share") || is("share of v") ? 1 : 1 - beta2) * (is("square") ? dw : dw * dw);
    if (is("stores") || is("stores m")) *m /= start_m, start_m = 1;
    if (is("stores") || is("stores v")) *v /= start_v, start_v = 1;
    double squares = (is("w first") ? old_v : *v) / start_v, eps = is("no eps") ? 0 : is("eps") ? 1e-6 : 1e-8;
    double root = is("eps early") ? (sqrt(*v) + eps) / sqrt(start_v) : is("root") ? squares + eps :
                  is("eps in root") ? sqrt(squares + eps) : sqrt(squares) + eps;
    double average = is("dw") ? dw : (is("w first") ? old_m : *m) / start_m;
    double change = is("descent") ? lr * dw : (is("rate") ? 0.001 : lr) * average / root;
    if (is("replaced")) *w = 0;
    if (is("changes twice")) change += 0.1 * change * change;
    *w -= is("uphill") ? -change : is("half") ? change / 2 : change;
    if (is("forgets")) *m = old_m, *v = old_v;
}

void answer_interval(double *low, double *length, const double *p, int symbol)
{
    if (is("undone")) return;
    double before = 0, old = *length;
    for (int i = is("from 1"); i < symbol + is("too far"); i++) before += is("not moved") ? 0 : p[i];
    if (!is("length kept")) *length = (is("length of one") ? 1 : old) * p[symbol];
    if (is("replaced")) *low = 0;
    if (is("one part")) before = symbol > 0 ? p[symbol - 1] : 0;
    if (is("from the end")) before = 1 - before - p[symbol];
    if (is("even")) before = symbol / 4.0, *length = old / 4;
    if (is("downward")) before = -before;
    if (is("divided")) *length = old / p[symbol];
    if (is("half")) before /= 2;
    if (is("rest")) *length = old * (1 - p[symbol]);
    if (is("float")) before = (double)(float)before;
    if (is("loop")) {
        *length = old;
        for (int i = 0; i < symbol; i++) *low += *length * p[i], *length -= *length * p[i];
        *length *= p[symbol], before = 0;
    }
    double end = is("length for end") ? *low : 0;
    *low += before * (is("shares") ? 1 : is("length first") ? *length : is("of low") ? *low : old - end);
    if (is("end")) *length += *low;
}
