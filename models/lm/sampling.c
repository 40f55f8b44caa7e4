/* sampling.c: chooses the next token from the logits of all tokens. */
#include <math.h>

#include "kaeru/generate.h"
#include "kaeru/tensor.h"

/* The n ids of a heap, the one of largest logit at its top, and the n_kept ids that were removed from it, best first. */
typedef struct { const ag_real *logits; int32_t *heap, *kept; int64_t n, n_kept; } Candidates;

static bool is_better(const Candidates *c, int32_t a, int32_t b)
{
    return c->logits[a] > c->logits[b] || (c->logits[a] == c->logits[b] && a < b);
}

/* Moves heap[i] down until no child is better. */
static void sift_down(Candidates *c, int64_t i)
{
    int32_t id = c->heap[i];
    for (int64_t child; (child = 2 * i + 1) < c->n; i = child) {
        if (child + 1 < c->n && is_better(c, c->heap[child + 1], c->heap[child])) child++;
        if (!is_better(c, c->heap[child], id)) break;
        c->heap[i] = c->heap[child];
    }
    c->heap[i] = id;
}

static Candidates candidates_new(const ag_real *logits, int64_t n)
{
    Candidates c = { .logits = logits, .n = n };
    c.heap = ag_scratch((size_t)n, sizeof *c.heap);
    c.kept = ag_scratch((size_t)n, sizeof *c.kept);
    for (int64_t i = 0; i < n; i++) c.heap[i] = (int32_t)i;
    for (int64_t i = n / 2 - 1; i >= 0; i--) sift_down(&c, i);
    return c;
}

/* Moves the best id from the heap to the kept ones. */
static int32_t keep_best(Candidates *c)
{
    int32_t best = c->heap[0];
    c->heap[0] = c->heap[--c->n];
    if (c->n > 0) sift_down(c, 0);
    c->kept[c->n_kept++] = best;
    return best;
}

/* The probability of a logit times a constant, which makes it 1 for the largest logit. */
typedef struct { double largest, temperature; } Scale;
static double weight(Scale s, ag_real logit)
{
    return ag_math_exp(((double)logit - s.largest) / s.temperature);
}

/* The n ids to choose from; if `ids` is NULL, they are 0..n-1. */
typedef struct { const int32_t *ids; int64_t n; } Choice;

/* The top_k ids of largest weight; of these the fewest, largest first, whose weight is top_p of the weight of all top_k. The
 * list is scratch memory. */
static Choice choice(const ag_real *logits, int64_t n, const LmSampling *how, Scale s)
{
    bool has_top_k = how->top_k > 0 && how->top_k < n, has_top_p = how->top_p > 0 && how->top_p < 1;
    if (!has_top_k && !has_top_p) return (Choice){ NULL, n };
    Candidates c = candidates_new(logits, n);
    double total = 0, sum = 0;
    if (has_top_k) {
        while (c.n_kept < how->top_k) total += weight(s, logits[keep_best(&c)]);
    } else {
        for (int64_t i = 0; i < n; i++) total += weight(s, logits[i]);
    }
    int64_t kept = c.n_kept;
    if (has_top_p) {
        for (kept = 0; sum < how->top_p * total && kept < n; kept++)
            sum += weight(s, logits[kept < c.n_kept ? c.kept[kept] : keep_best(&c)]);
    }
    return (Choice){ c.kept, kept };
}

/* Draws an id with a probability proportional to its weight. */
static int32_t draw(const ag_real *logits, Choice among, Scale s)
{
    double *cumulative = ag_scratch((size_t)among.n, sizeof *cumulative), sum = 0;
    for (int64_t i = 0; i < among.n; i++) cumulative[i] = sum += weight(s, logits[among.ids ? among.ids[i] : i]);
    double point = ag_random_uniform() * sum;
    int64_t i = 0;
    while (i < among.n - 1 && cumulative[i] <= point) i++;
    return among.ids ? among.ids[i] : (int32_t)i;
}

/* The id of the largest logit, the first one of equal logits; -1 with ag_error() if a logit is NaN or infinite. */
static int32_t largest_logit(const char *caller, const ag_real *logits, int64_t n, const LmSampling *how)
{
    ag_check_pointer(caller, "logits", logits);
    ag_check_pointer(caller, "how", how);
    if (n < 1 || n > INT32_MAX) ag_usage_error(caller, "%lld logits, expected 1 or more", (long long)n);
    if (!(how->temperature >= 0) || isinf(how->temperature))
        ag_usage_error(caller, "temperature %g, expected a finite number of 0 or more", how->temperature);
    if (how->top_k < 0) ag_usage_error(caller, "top_k is %lld, expected 0 or more", (long long)how->top_k);
    if (!(how->top_p >= 0 && how->top_p <= 1)) ag_usage_error(caller, "top_p is %g, expected 0 to 1", how->top_p);
    int32_t best = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(logits[i])) {
            ag_set_error("the logit of token %lld is %g, expected a finite number%s", (long long)i, (double)logits[i],
                         isnan(logits[i]) ? ": the model's weights cannot be used" : "");
            return -1;
        }
        if (logits[i] > logits[best]) best = (int32_t)i;
    }
    return best;
}

int32_t lm_sample_next(const ag_real *logits, int64_t n, const LmSampling *how)
{
    AG_LAYER;
    int32_t best = largest_logit("lm_sample_next", logits, n, how);
    if (best < 0 || how->temperature == 0) return best;
    AgScope scope = ag_begin(AG_NO_GRAD);
    Scale s = { (double)logits[best], how->temperature };
    int32_t id = draw(logits, choice(logits, n, how, s), s);
    ag_end(scope);
    return id;
}

bool lm_sample_probabilities(const ag_real *logits, int64_t n, const LmSampling *how, double *p)
{
    AG_LAYER;
    ag_check_pointer(__func__, "p", p);
    int32_t best = largest_logit("lm_sample_probabilities", logits, n, how);
    if (best < 0) return false;
    for (int64_t i = 0; i < n; i++) p[i] = 0;
    p[best] = 1;
    if (how->temperature == 0) return true;
    AgScope scope = ag_begin(AG_NO_GRAD);
    Scale s = { (double)logits[best], how->temperature };
    Choice among = choice(logits, n, how, s);
    double sum = 0;
    for (int64_t i = 0; i < among.n; i++) {
        int64_t id = among.ids ? among.ids[i] : i;
        sum += p[id] = weight(s, logits[id]);
    }
    for (int64_t i = 0; i < n; i++) p[i] /= sum;
    ag_end(scope);
    return true;
}
