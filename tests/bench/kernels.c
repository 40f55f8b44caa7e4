/* kernels.c: the matrix product, the thread pool, and the overhead of an operation. */
#include <stdatomic.h>
#include <string.h>

#include "bench.h"
#include "kaeru/autograd.h"
#include "kernels.h"

/* ---- the matrix product ------------------------------------------------------------------------------------------ */

typedef struct { KGemm shape; AgScope scope; ag_real *a, *b, *c; } BenchProduct;

void *gemm_begin(const Workload *w, int64_t *parameters)
{
    (void)parameters;
    int64_t m = w->size[0], n = w->size[1], k = w->size[2];
    BenchProduct *p = ag_alloc(1, sizeof *p);
    p->scope = ag_begin(AG_NO_GRAD);
    p->a = tensor_mutable_data(tensor_normal(SHAPE(m, k), 0, 1));
    p->b = tensor_mutable_data(tensor_normal(SHAPE(k, n), 0, 1));
    p->c = tensor_mutable_data(tensor_normal(SHAPE(m, n), 0, 1));
    p->shape = (KGemm){ .bf16 = ag_precision_now() == AG_BF16, .m = m, .n = n, .k = k, .lda = k, .ldb = n, .ldc = n,
                        .batch = 1 };
    if (strcmp(w->kind, "ABt") == 0) {
        p->shape.tb = true;
        p->shape.ldb = k;
    }
    if (strcmp(w->kind, "AtB") == 0) {
        p->shape.ta = true;
        p->shape.lda = m;
    }
    return p;
}

void gemm_step(void *state)
{
    const BenchProduct *p = state;
    k_gemm(&p->shape, p->c, p->a, p->b);
}

void gemm_end(void *state)
{
    BenchProduct *p = state;
    ag_end(p->scope);
    ag_free(p);
}

/* ---- the thread pool --------------------------------------------------------------------------------------------- */

/* A piece ends when all others have started, so that each needs a thread. */
static void meet(void *arg, int64_t begin, int64_t end)
{
    atomic_int *missing = arg;
    atomic_fetch_sub(missing, (int)(end - begin));
    while (atomic_load(missing) > 0);
}

void *dispatch_begin(const Workload *w, int64_t *parameters)
{
    (void)w, (void)parameters;
    return ag_alloc(1, sizeof(atomic_int));
}

void dispatch_step(void *state)
{
    atomic_store((atomic_int *)state, ag_threads());
    k_parallel(ag_threads(), 1, meet, state);
}

void dispatch_end(void *state)
{
    ag_free(state);
}

/* ---- reading memory ---------------------------------------------------------------------------------------------- */

typedef struct { uint64_t *word; int64_t n; atomic_ullong sum; } BenchWords;

static void add_words(void *state, int64_t from, int64_t to)
{
    BenchWords *m = state;
    uint64_t sum = 0;
    for (int64_t i = from; i < to; i++) sum += m->word[i];
    atomic_fetch_add(&m->sum, sum);
}

void *memory_begin(const Workload *w, int64_t *parameters)
{
    (void)parameters;
    BenchWords *m = ag_alloc(1, sizeof *m);
    m->n = w->size[0] / (int64_t)sizeof *m->word;
    m->word = ag_alloc_in(m, (size_t)m->n, sizeof *m->word);
    for (int64_t i = 0; i < m->n; i++) m->word[i] = (uint64_t)i;
    return m;
}

void memory_step(void *state)
{
    BenchWords *m = state;
    k_parallel(m->n, 1 << 16, add_words, m);
}

void memory_end(void *state)
{
    ag_free(state);
}

/* ---- operations on very small tensors ---------------------------------------------------------------------------- */

typedef struct { AgScope scope; Tensor *w, *b, *start; } Chain;

void *overhead_begin(const Workload *w, int64_t *parameters)
{
    (void)w;
    Chain *c = ag_alloc(1, sizeof *c);
    c->scope = ag_begin(AG_NO_GRAD);
    c->w = tensor_set_requires_grad(tensor_normal(SHAPE(16, 16), 0, 0.25), true);
    c->b = tensor_set_requires_grad(tensor_normal(SHAPE(16), 0, 1), true);
    c->start = tensor_normal(SHAPE(1, 16), 0, 1);
    *parameters = tensor_numel(c->w) + tensor_numel(c->b);
    return c;
}

void overhead_step(void *state)
{
    Chain *c = state;
    AgScope step = ag_begin(AG_RECORD);
    Tensor *y = c->start;
    for (int i = 0; i < 50; i++) y = ag_tanh(ag_add(ag_matmul(y, c->w), c->b));
    ag_backward(ag_sum(y));
    tensor_zero_grad(c->w);
    tensor_zero_grad(c->b);
    ag_end(step);
}

void overhead_end(void *state)
{
    Chain *c = state;
    ag_end(c->scope);
    ag_free(c);
}
