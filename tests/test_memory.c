/* test_memory.c: memory is released during backward and reused, and repeated shapes need no new allocations; threads share
 * that of large buffers; forked processes have memory of their own. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buffers.h"
#include "faults.h"
#include "gradients.h"
#include "kaeru/autograd.h"
#include "kaeru/graph.h"
#include "large_buffers.h"
#include "linear_loss_parts.h"
#include "op_samples.h"
#include "ops/table.h"
#include "suites.h"
#include "system.h"
#include "tape.h"
#include "tensor_struct.h"
#include "usage_error.h"

/* ---- a network to train ------------------------------------------------------------------------------------------ */

typedef struct { Tensor *w1, *b1, *w2, *m[3], *v[3]; int rows, in, hidden; } Net;

static void net_new(Net *n, int rows, int in, int hidden)
{
    *n = (Net){ .rows = rows, .in = in, .hidden = hidden };
    AgShape shapes[] = { SHAPE(hidden, in), SHAPE(hidden), SHAPE(3, hidden) };
    Tensor **weights[] = { &n->w1, &n->b1, &n->w2 };
    for (int i = 0; i < 3; i++) {
        *weights[i] = tensor_set_requires_grad(tensor_new_owned(shapes[i], AG_REAL), true);
        n->m[i] = tensor_new_owned(shapes[i], AG_REAL);
        n->v[i] = tensor_new_owned(shapes[i], AG_REAL);
        ag_fill_normal(*weights[i], 0, 0.3);
    }
}

static void net_free(Net *n)
{
    Tensor *weights[] = { n->w1, n->b1, n->w2 };
    for (int i = 0; i < 3; i++) {
        tensor_free(weights[i]);
        tensor_free(n->m[i]);
        tensor_free(n->v[i]);
    }
}

/* One step on random rows, with every kind of memory: scratch, saved values, random masks, inner scopes, ids. It has no
 * assertions, since Check allocates memory at each. */
static double train_step(Net *n, int64_t step)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_normal(SHAPE(n->rows, n->in), 0, 1), *target = tensor_randint(SHAPE(n->rows), 0, 3);
    Tensor *h = ag_dropout(ag_tanh(ag_linear(x, n->w1, n->b1)), 0.1);
    h = ag_layer_norm(h, NULL, NULL, AG_NORM_PYTORCH);
    h = ag_mul(h, ag_var_dims(ag_reshape(h, SHAPE(n->rows, n->hidden, 1)), DIMS(0, 2), false, false));
    Tensor *logits = ag_linear(h, n->w2, NULL);
    AgScope inner = ag_begin(AG_NO_GRAD);
    ag_and(ag_compare(AG_EQ, ag_argmax(logits, -1, false), target), ag_compare_scalar(AG_GT, target, 0));
    ag_end(inner);
    Tensor *loss = ag_cross_entropy(logits, target, AG_MEAN, -100, 0);
    ag_backward(loss);
    Tensor *weights[] = { n->w1, n->b1, n->w2 };
    for (int i = 0; i < 3; i++) {
        ag_adam_update_part(weights[i], 0, tensor_numel(weights[i]), tensor_grad_data(weights[i]), tensor_mutable_data(n->m[i]),
                            tensor_mutable_data(n->v[i]), &(AgAdam){ 1e-3, 0.9, 0.999, 1e-8, 0, false }, step, 1);
        tensor_zero_grad(weights[i]);
    }
    double result = tensor_item(loss);
    ag_end(s);
    return result;
}

/* ---- reuse ------------------------------------------------------------------------------------------------------- */

START_TEST(ten_thousand_steps_allocate_nothing)
{
    ag_guard(false);
    enum { STEPS = 10000, FIRST = 100 };
    ag_seed(1);
    Net n;
    net_new(&n, 6, 5, 9);
    AgMemory early = { 0 };
    int64_t requests = 0;
    size_t most_in_use = 0, most_cached = 0;
    for (int step = 1; step <= STEPS; step++) {
        train_step(&n, step);
        AgMemory now = ag_memory();
        if (step == FIRST) {
            early = now;
            requests = faults_requests();
        }
        if (step > FIRST && now.in_use > most_in_use) most_in_use = now.in_use;
        if (step > FIRST && now.cached > most_cached) most_cached = now.cached;
    }
    AgMemory late = ag_memory();
    ck_assert_int_eq(faults_requests(), requests);              /* of the whole program */
    ck_assert_int_eq(late.system_calls, early.system_calls);
    ck_assert_uint_eq(most_in_use, early.in_use);
    ck_assert_uint_eq(most_cached, early.cached);
    ck_assert_uint_eq(late.peak, early.peak);
    ck_assert_int_gt(early.system_calls, 0);
    net_free(&n);
}
END_TEST

START_TEST(requests_are_counted)
{
    if (!faults_work()) return;
    int64_t before = faults_requests(), calls = ag_memory().system_calls;
    ag_free(ag_alloc(1, 1));
    ck_assert_int_gt(faults_requests(), before);
    ck_assert_int_eq(ag_memory().system_calls, calls + 1);
}
END_TEST

/* Token by token, each from the last state, as in generation. */
START_TEST(generation_runs_in_constant_memory)
{
    ag_guard(false);
    ag_seed(2);
    Net n;
    net_new(&n, 1, 8, 8);
    AgScope outer = ag_begin(AG_NO_GRAD);
    AgMemory early = { 0 };
    Tensor *kept = ag_keep(tensor_zeros(SHAPE(1, 8)));
    for (int token = 0; token < 5000; token++) {
        AgScope s = ag_begin(AG_NO_GRAD);
        Tensor *h = ag_tanh(ag_add(ag_linear(kept, n.w1, n.b1), tensor_normal(SHAPE(1, 8), 0, 1)));
        ag_softmax(ag_linear(h, n.w2, NULL), -1);
        tensor_copy(kept, h);
        ag_end(s);
        if (token == 100) early = ag_memory();
    }
    AgMemory late = ag_memory();
    ck_assert_int_eq(late.system_calls, early.system_calls);
    ck_assert_uint_eq(late.in_use, early.in_use);
    ck_assert_uint_eq(late.peak, early.peak);
    tensor_free(kept);
    ag_end(outer);
    net_free(&n);
}
END_TEST

/* Batches of all lengths from 1 to 64 must share buffers. */
START_TEST(changing_shapes_share_buffers)
{
    ag_guard(false);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 64; i++) {
            int length = i * 37 % 64 + 1;
            AgScope s = ag_begin(AG_RECORD);
            Tensor *x = tensor_set_requires_grad(tensor_ones(SHAPE(length, 100)), true);
            for (int k = 0; k < 10; k++) x = ag_tanh(x);
            ag_backward(ag_sum(x));
            ag_end(s);
        }
    AgMemory m = ag_memory();
    ck_assert_uint_eq(m.in_use, 0);
    ck_assert_uint_lt(m.cached, 5 * m.peak);                            /* without sharing: 11 times the peak */
}
END_TEST

START_TEST(trimming_frees_everything)
{
    ag_guard(false);
    int64_t live = faults_live();
    AgScope s = ag_begin(AG_NO_GRAD);
    for (int i = 0; i < 100; i++) tensor_zeros(SHAPE(i, i));
    ag_end(s);
    AgMemory m = ag_memory();
    ck_assert_uint_eq(m.in_use, 0);
    ck_assert_uint_gt(m.cached, 99 * 99 * sizeof(ag_real));
    ck_assert_uint_ge(m.peak, m.cached);
    ag_memory_trim();
    ag_memory_reset_peak();
    m = ag_memory();
    ck_assert(m.in_use == 0 && m.cached == 0 && m.peak == 0);
    if (faults_work()) ck_assert_int_le(faults_live() - live, 5);       /* the states of four files stay, and the arena */
}
END_TEST

/* Memory that waits to be used again is returned to the system before a request fails. */
START_TEST(a_failed_request_returns_what_waits)
{
    if (!faults_work()) return;
    ag_guard(false);
    enum { ITEMS = 1000 };
    AgScope s = ag_begin(AG_NO_GRAD);
    for (int i = 0; i < 4; i++) tensor_zeros(SHAPE(ITEMS));
    ag_end(s);
    ck_assert_uint_gt(ag_memory().cached, ITEMS * sizeof(ag_real));
    s = ag_begin(AG_NO_GRAD);
    tensor_zeros(SHAPE(1));
    faults_at(0, false);
    tensor_zeros(SHAPE(100 * ITEMS));
    bool hit = faults_hit();
    faults_at(-1, false);
    ck_assert(hit);
    ck_assert_uint_eq(ag_memory().cached, 0);
    ag_end(s);
}
END_TEST

enum { MILLION = 1 << 20 };

static Buffer *large(int millions)
{
    Buffer *b = buffer_new("test", (size_t)millions * MILLION, false);
    memset(buffer_data(b), millions, (size_t)millions * MILLION);
    return b;
}

/* Released neighbors are joined, in any order, and what is left of a larger one is used. */
START_TEST(large_buffers_of_other_sizes_get_released_memory)
{
    ag_guard(false);
    static const int order[][6] = { { 0, 1, 2, 3, 4, 5 }, { 5, 4, 3, 2, 1, 0 }, { 5, 3, 1, 0, 2, 4 }, { 2, 4, 0, 1, 5, 3 } };
    Buffer *b[6];
    ag_memory_trim();
    buffer_release(large(6 * 3));                                       /* the pool's first chunk has this much at least */
    int64_t before = ag_memory().system_calls;
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 6; i++) b[i] = large(2 + i % 2);
        for (int i = 0; i < 6; i++)
            for (int k = 0; k < (2 + i % 2) * MILLION; k += MILLION / 2)
                ck_assert_int_eq(((char *)buffer_data(b[i]))[k], 2 + i % 2);
        size_t cached = ag_memory().cached;
        Buffer *lowest = b[0];
        for (int i = 1; i < 6; i++) lowest = b[i] < lowest ? b[i] : lowest;
        for (int i = 0; i < 6; i++) buffer_release(b[order[round][i]]);
        ck_assert_uint_ge(ag_memory().cached - cached, (size_t)15 * MILLION);
        Buffer *all = large(15);
        ck_assert_ptr_eq(all, lowest);
        buffer_release(all);
        ck_assert_int_eq(ag_memory().system_calls, before);
    }
    size_t in_use = ag_memory().in_use;
    Buffer *kept = large(1);
    ck_assert_uint_lt(ag_memory().in_use - in_use, MILLION + MILLION / 8);
    ag_memory_trim();
    ck_assert_uint_eq(ag_memory().cached, 0);
    ck_assert_int_eq(*(char *)buffer_data(kept), 1);
    buffer_release(kept);
    ck_assert_uint_ge(ag_memory().cached, MILLION);                     /* it kept its chunk */
    ag_memory_trim();
    ck_assert_uint_eq(ag_memory().cached, 0);
}
END_TEST

/* A buffer gets the smallest part that is large enough. What is left of that part is joined with what is released above. */
START_TEST(large_buffers_get_the_smallest_part)
{
    ag_guard(false);
    ag_memory_trim();
    Buffer *wide = large(3), *between = large(1), *narrow = large(2), *last = large(1);
    buffer_release(narrow);
    buffer_release(wide);
    Buffer *first = large(2);
    ck_assert_ptr_eq(first, narrow);
    Buffer *begin = large(1);
    ck_assert_ptr_eq(begin, wide);
    buffer_release(between);
    Buffer *joined = large(3);
    ck_assert((char *)joined > (char *)begin && (char *)joined < (char *)first);
    Buffer *all[] = { begin, joined, first, last };
    for (int i = 0; i < 4; i++) buffer_release(all[i]);
}
END_TEST

/* The megabytes of memory in which these pages are, of so many from `begin` on. */
static int resident(void *begin, int millions)
{
    static unsigned char in_memory[64 * MILLION / 4096];
    size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (size_t)millions * MILLION / page, count = 0;
    void *first = (char *)begin - (uintptr_t)begin % page;
    ck_assert_int_eq(mincore(first, pages * page, in_memory), 0);
    for (size_t i = 0; i < pages; i++) count += in_memory[i] & 1;
    return (int)((count * page + MILLION / 2) / MILLION);
}

/* Free blocks with and without pages are used as one. A block that needs new pages takes them from others. */
START_TEST(new_pages_are_paid_for_by_released_ones)
{
    ag_guard(false);
    ag_memory_trim();
    Buffer *low = large(4), *between = large(1), *high = large(4), *last = large(1);
    ck_assert(low < between && between < high && high < last);
    buffer_release(low);
    buffer_release(high);
    ck_assert_int_eq(resident(low, 10), 10);
    Buffer *wide = large(7);                            /* fits neither */
    ck_assert(wide > last);
#ifdef __linux__
    ck_assert_int_eq(resident(low, 10), 2);
#endif
    ck_assert_uint_lt(ag_memory().cached, 2 * MILLION);
    ck_assert_int_eq(*(char *)buffer_data(between), 1);
    buffer_release(wide);
    Buffer *other = large(4);
    ck_assert_ptr_eq(other, wide);                      /* that has pages, unlike the lower ones, which would fit better */
    ck_assert_uint_ge(ag_memory().cached, 3 * MILLION);
    buffer_release(other);
    other = large(9);
    ck_assert_ptr_eq(other, wide);
    ck_assert_uint_lt(ag_memory().cached, 3 * MILLION);
    buffer_release(between);
    enum { HEADERS = 4096 };                            /* what the pool adds to each of these */
    size_t all_three = 9 * MILLION + 2 * HEADERS;
    Buffer *joined = buffer_new("test", all_three, false);
    ck_assert_ptr_eq(joined, low);
    memset(buffer_data(joined), 1, all_three);
    buffer_release(last);
    for (size_t i = 0; i < all_three; i++) ck_assert(((char *)buffer_data(joined))[i] == 1);
    buffer_release(other);
    buffer_release(joined);
    Buffer *all = large(19);
    ck_assert_ptr_eq(all, low);
    buffer_release(all);
    ag_memory_trim();
    ck_assert_uint_eq(ag_memory().cached, 0);
}
END_TEST

/* Between two that have pages: the block that divides less free space. */
START_TEST(large_buffers_divide_little_space)
{
    ag_guard(false);
    ag_memory_trim();
    Buffer *empty = large(4), *beside = large(4), *between = large(1), *alone = large(5), *last = large(1);
    buffer_release(empty);
    Buffer *wide = large(7);                            /* takes the pages of `empty` */
    buffer_release(beside);
    buffer_release(alone);
    Buffer *found = large(4);
    ck_assert_ptr_eq(found, alone);
    Buffer *all[] = { between, last, wide, found };
    for (int i = 0; i < 4; i++) buffer_release(all[i]);
}
END_TEST

static void *release_in_thread(void *buffer)
{
    buffer_release(buffer);
    return NULL;
}

START_TEST(large_memory_is_shared_by_threads)
{
    ag_guard(false);
    pthread_t thread;
    Buffer *b = large(3);
    size_t cached = ag_memory().cached;
    ck_assert_int_eq(pthread_create(&thread, NULL, release_in_thread, b), 0);
    pthread_join(thread, NULL);
    ck_assert_uint_ge(ag_memory().cached - cached, (size_t)3 * MILLION);
    Buffer *again = large(3);
    ck_assert_ptr_eq(again, b);
    buffer_release(again);
}
END_TEST

/* Without memory for a large chunk, a smaller one is enough; without any, what waits is returned first. */
START_TEST(a_pool_in_little_memory)
{
    if (!faults_work()) return;
    ag_guard(false);
    ag_memory_trim();
    buffer_release(buffer_new("test", 1000, false));
    int64_t live = faults_live(), before = ag_memory().system_calls;
    faults_at(0, false);
    Buffer *b = large(3);
    ck_assert(faults_hit());
    faults_at(-1, false);
    ck_assert_uint_ge(ag_memory().cached, 1000);
    ck_assert_int_eq(ag_memory().system_calls, before + 2);
    buffer_release(b);
    faults_at(0, false);
    buffer_release(large(300));                                         /* more than the chunk has */
    ck_assert(faults_hit());
    faults_at(-1, false);
    ag_memory_trim();
    ck_assert_int_eq(faults_live(), live - 1);                          /* the small one is returned, too */
}
END_TEST

static void *use_the_pool(void *stop)
{
    while (!atomic_load((atomic_bool *)stop)) {
        for (int i = 0; i < 100; i++) large_trim();
        sched_yield();                                      /* on a busy machine a fork would wait long for the pool */
    }
    return NULL;
}

/* A child of a process whose other thread is in the pool. */
START_TEST(a_forked_child_has_a_pool)
{
    ag_guard(false);
    pthread_t thread;
    atomic_bool stop = false;
    buffer_release(large(2));
    ck_assert_int_eq(pthread_create(&thread, NULL, use_the_pool, &stop), 0);
    for (int i = 0; i < 300; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            buffer_release(buffer_new("test", 2 * MILLION, false));
            _exit(0);
        }
        int status;
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_int_eq(status, 0);
    }
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
}
END_TEST

/* A parameter's memory would divide the pool's free memory. */
START_TEST(a_large_parameter_returns_its_memory)
{
    ag_guard(false);
    if (!faults_work()) return;
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_new_owned(SHAPE(MILLION), AG_REAL);
    int64_t live = faults_live();
    size_t cached = ag_memory().cached;
    tensor_free(x);
    ck_assert_int_lt(faults_live(), live);
    ck_assert_uint_eq(ag_memory().cached, cached);
    ag_end(s);
}
END_TEST

/* The chunks of ended scopes are used again, but not for more bytes than they have. */
START_TEST(a_chunk_is_not_used_for_more_than_its_size)
{
    ag_guard(false);
    enum { CHUNK = 128 * 1024, SCOPES = 100 };
    AgScope scope[SCOPES];
    for (int i = 0; i < SCOPES; i++) {
        scope[i] = ag_begin(AG_NO_GRAD);
        ag_scratch(1024, 1);
    }
    for (int i = SCOPES - 1; i >= 0; i--) ag_end(scope[i]);
    AgScope s = ag_begin(AG_NO_GRAD);
    int64_t before = ag_memory().system_calls;
    ag_scratch(1024, 1);
    ck_assert_int_eq(ag_memory().system_calls, before);
    ag_scratch(CHUNK + 16, 1);
    ck_assert_int_eq(ag_memory().system_calls, before + 1);
    ag_end(s);
}
END_TEST

/* ---- release during backward ------------------------------------------------------------------------------------- */

START_TEST(the_peak_of_a_deep_chain_is_its_activations)
{
    enum { LAYERS = 60, ITEMS = 20000 };
    size_t one = ITEMS * sizeof(ag_real);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_full(SHAPE(ITEMS), 0.1), true), *y = x;
    ag_memory_reset_peak();
    size_t before = ag_memory().in_use;
    for (int i = 0; i < LAYERS; i++) y = ag_tanh(y);
    Tensor *loss = ag_mean(y);
    size_t activations = ag_memory().in_use - before;
    ck_assert_uint_ge(activations, LAYERS * one);
    ag_backward(loss);
    ck_assert_uint_lt(ag_memory().peak - before, activations + activations / 10);
    ck_assert_uint_lt(ag_memory().in_use - before, 2 * one);            /* x's gradient is left */
    EXPECT_USAGE_ERROR("released by backward", tensor_data(y));
    ag_end(s);
}
END_TEST

/* A residual network: x + f(x). The rule of add passes its gradient on without a copy. */
START_TEST(the_peak_of_residual_blocks_is_their_activations)
{
    enum { BLOCKS = 30, ITEMS = 20000 };
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_full(SHAPE(ITEMS), 0.1), true), *y = x;
    ag_memory_reset_peak();
    size_t before = ag_memory().in_use;
    for (int i = 0; i < BLOCKS; i++) y = ag_add(y, ag_mul(ag_tanh(y), ag_sigmoid(y)));
    Tensor *loss = ag_mean(y);
    size_t activations = ag_memory().in_use - before;
    ag_backward(loss);
    ck_assert_uint_lt(ag_memory().peak - before, activations + activations / 10);
    ag_end(s);
}
END_TEST

/* The rule of add does not read its inputs. The memory of one, when its gradient is known, is that of the other's gradient. */
START_TEST(a_leafs_gradient_takes_the_memory_of_a_value)
{
    ag_guard(false);
    enum { ITEMS = 20000 };
    size_t one = ITEMS * sizeof(ag_real);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_full(SHAPE(1), 0.1), true);
    Tensor *w = tensor_set_requires_grad(tensor_full(SHAPE(ITEMS), 0.1), true);
    Tensor *loss = ag_sum(ag_add(ag_expand(x, SHAPE(ITEMS)), w));
    ag_memory_reset_peak();
    size_t before = ag_memory().in_use;
    ag_backward(loss);
    ck_assert_uint_lt(ag_memory().peak - before, one / 10);
    ag_end(s);
}
END_TEST

/* linear's rule reads its input for the weight's gradient, and then writes the input's gradient over it. */
START_TEST(a_gradient_takes_the_memory_of_what_linear_has_read)
{
    ag_guard(false);
    enum { ROWS = 2000, IN = 30 };
    size_t one = ROWS * IN * sizeof(ag_real);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_full(SHAPE(ROWS, IN), 0.1), true);
    Tensor *w = tensor_set_requires_grad(tensor_full(SHAPE(1, IN), 0.1), true);
    Tensor *loss = ag_sum(ag_linear(ag_neg(x), w, NULL));
    ag_memory_reset_peak();
    size_t before = ag_memory().in_use;
    ag_backward(loss);
    ck_assert_uint_lt(ag_memory().peak - before, one + one / 4);        /* x's gradient */
    ag_end(s);
}
END_TEST

/* Another rule reads the same value later, and a computed weight is released as well. */
START_TEST(what_linear_has_read_stays_for_other_rules)
{
    ag_guard(false);
    enum { OUT = 300, IN = 40 };
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_full(SHAPE(2, IN), 0.1), true), *h = ag_neg(x);
    Tensor *w = tensor_set_requires_grad(tensor_full(SHAPE(OUT, IN), 0.1), true);
    Tensor *other = ag_sum(ag_gelu(h)), *weight = ag_neg(w);
    size_t before = ag_memory().in_use;
    ag_backward(ag_add(other, ag_sum(ag_linear(h, weight, NULL))));
    ck_assert_uint_le(ag_memory().in_use, before + 5000);               /* w's gradient has the memory of the weight */
    for (int i = 0; i < 2 * IN; i++) ck_assert_double_eq_tol((double)tensor_grad_data(x)[i], OUT * 0.1 - 0.42052, 1e-3);
    ag_end(s);
}
END_TEST

static const Tensor *watched;
static bool was_released;

static void note_release(Tensor *y)
{
    was_released = watched->buffer == NULL;
    grad_pass(y->in[0], y);
}

/* A value that has its gradient waits for the last rule that reads it, and no longer. */
START_TEST(a_value_is_released_after_its_last_reader)
{
    static const Op op = { "note", .backward = note_release, .needs = NEEDS_NONE };
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_full(SHAPE(3), 0.1), true), *h = ag_neg(x), *older = ag_neg(x);
    older->op = &op;
    watched = h;
    ag_backward(ag_sum(ag_add(ag_add(h, ag_mul(h, h)), older)));
    ck_assert(was_released);
    ag_end(s);
}
END_TEST

START_TEST(memory_falls_during_backward)
{
    enum { ITEMS = 10000 };
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_full(SHAPE(ITEMS), 0.1), true), *part[4] = { ag_exp(x) };
    for (int i = 1; i < 4; i++) part[i] = ag_exp(ag_neg(part[i - 1]));
    Tensor *loss = ag_mean(part[3]);
    size_t full = ag_memory().in_use;
    ag_backward(loss);
    size_t left = ag_memory().in_use;
    ck_assert_uint_gt(full, 7 * ITEMS * sizeof(ag_real));
    ck_assert_uint_lt(left, 3 * ITEMS * sizeof(ag_real));               /* x and its gradient */
    for (int i = 0; i < 4; i++) EXPECT_USAGE_ERROR("exp made at tests/test_memory.c:", tensor_data(part[i]));
    ag_end(s);
    ck_assert_uint_eq(ag_memory().in_use, 0);
}
END_TEST

START_TEST(a_scope_releases_everything)
{
    AgScope outer = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_ones(SHAPE(50, 3)), true);
    size_t before = ag_memory().in_use;
    AgScope s = ag_begin(AG_RECORD);
    Tensor *h = ag_retain(ag_layer_norm(ag_tanh(x), NULL, NULL, AG_NORM_STD_EPS));
    tensor_name(h, "hidden");
    ag_backward_keep(ag_mean(ag_max_dim(h, 0, false)));
    tensor_grad(h);
    ag_end(s);
    tensor_zero_grad(x);
    ck_assert_uint_eq(ag_memory().in_use, before);
    ag_end(outer);
}
END_TEST

/* ---- threads and processes --------------------------------------------------------------------------------------- */

enum { HIDDEN = 96, THREAD_STEPS = 12 };
typedef struct { uint64_t seed; ag_real w[3 * HIDDEN]; double loss; } Training;

static void *train(void *arg)
{
    Training *t = arg;
    ag_seed(t->seed);
    Net n;
    net_new(&n, 70, 40, HIDDEN);
    for (int step = 1; step <= THREAD_STEPS; step++) t->loss = train_step(&n, step);
    memcpy(t->w, tensor_data(n.w2), sizeof t->w);
    net_free(&n);
    return NULL;
}

START_TEST(two_threads_train_as_each_alone)
{
    Training alone[2] = { { .seed = 1 }, { .seed = 2 } }, together[2] = { { .seed = 1 }, { .seed = 2 } };
    for (int i = 0; i < 2; i++) train(&alone[i]);
    ck_assert_mem_ne(alone[0].w, alone[1].w, sizeof alone[0].w);
    for (int round = 0; round < 5; round++) {
        pthread_t thread[2];
        for (int i = 0; i < 2; i++) ck_assert_int_eq(pthread_create(&thread[i], NULL, train, &together[i]), 0);
        for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
        for (int i = 0; i < 2; i++) {
            ck_assert_mem_eq(alone[i].w, together[i].w, sizeof alone[i].w);
            ck_assert(alone[i].loss == together[i].loss);
        }
    }
}
END_TEST

START_TEST(any_number_of_threads_gives_the_same_bits)
{
    Training one = { .seed = 5 };
    ag_set_threads(1);
    train(&one);
    for (int threads = 2; threads <= 4; threads++) {
        Training many = { .seed = 5 };
        ag_set_threads(threads);
        ck_assert_int_eq(ag_threads(), threads);
        train(&many);
        ck_assert_mem_eq(one.w, many.w, sizeof one.w);
    }
}
END_TEST

static void *only_begins(void *arg)
{
    (void)arg;
    ag_guard(false);                                            /* guard mode keeps tensors of a thread that has ended */
    ag_begin(AG_RECORD);                                        /* a thread may end with its scopes open */
    tensor_name(tensor_ones(SHAPE(1000)), "left behind");
    return NULL;
}

START_TEST(a_thread_that_ends_leaks_nothing)
{
    Training t = { .seed = 1 };
    train(&t);
    int64_t live = 0;
    for (int i = 0; i < 5; i++) {
        pthread_t thread;
        ck_assert_int_eq(pthread_create(&thread, NULL, i % 2 ? only_begins : train, &t), 0);
        pthread_join(thread, NULL);
        if (i == 0) live = faults_live();
        ck_assert_int_eq(faults_live(), live);
    }
}
END_TEST

static void *step_and_free(void *net)
{
    train_step(net, 1);
    net_free(net);
    return NULL;
}

static void *make_one(void *out)
{
    *(Tensor **)out = tensor_new_owned(SHAPE(100000), AG_REAL);
    return NULL;
}

START_TEST(a_tensor_may_be_freed_on_another_thread)
{
    pthread_t thread;
    Net n;
    net_new(&n, 30, 50, 60);
    size_t in_use = ag_memory().in_use;
    ck_assert_int_eq(pthread_create(&thread, NULL, step_and_free, &n), 0);
    pthread_join(thread, NULL);
    ck_assert_uint_eq(ag_memory().in_use, in_use);              /* this thread's count does not include it */
    Tensor *t = NULL;
    ck_assert_int_eq(pthread_create(&thread, NULL, make_one, &t), 0);
    pthread_join(thread, NULL);
    tensor_free(t);
    ck_assert_uint_lt(ag_memory().in_use, in_use + 1);          /* and does not become negative */
}
END_TEST

START_TEST(a_forked_child_trains_like_its_parent)
{
    Training parent = { .seed = 9 }, child = { 0 };
    ag_set_threads(2);
    train(&(Training){ .seed = 3 });                            /* starts the thread pool */
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        Training t = { .seed = 9 };
        train(&t);
        ssize_t written = write(ends[1], &t, sizeof t);
        _exit(written == (ssize_t)sizeof t ? 0 : 1);
    }
    train(&parent);
    close(ends[1]);
    size_t got = 0;
    for (ssize_t k = 1; k > 0; got += (size_t)k) {
        k = read(ends[0], (char *)&child + got, sizeof child - got);
        if (k < 0) break;
    }
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    ck_assert_uint_eq(got, sizeof child);
    ck_assert_mem_eq(parent.w, child.w, sizeof parent.w);
    close(ends[0]);
}
END_TEST

/* When the rule of add passes its gradient on without a copy, the value that no rule reads is released before b's gradient
 * needs memory. At most two buffers are left: the two values, or the gradient that is passed on and b's gradient. */
START_TEST(a_value_is_released_when_its_gradient_is_passed_on)
{
    enum { ITEMS = 20000 };
    size_t one = ITEMS * sizeof(ag_real);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_full(SHAPE(1), 0.1), true);
    Tensor *b = tensor_set_requires_grad(tensor_full(SHAPE(ITEMS), 0.1), true);
    ag_memory_reset_peak();
    size_t before = ag_memory().in_use;
    ag_backward(ag_sum(ag_add(ag_expand(x, SHAPE(ITEMS)), b)));
    ck_assert_uint_ge(ag_memory().peak - before, 2 * one);
    ck_assert_uint_lt(ag_memory().peak - before, 2 * one + one / 2);
    ag_end(s);
}
END_TEST

/* A released buffer is used again for a slightly smaller tensor, of any size. */
START_TEST(a_slightly_larger_buffer_is_used_again)
{
    static const size_t sizes[] = { 64, 448, 512, 576, 1024, 4096, 1 << 16, 1 << 20 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        ag_memory_trim();
        for (size_t bytes = sizes[i] + 64; bytes >= sizes[i]; bytes -= 64) {
            AgScope s = ag_begin(AG_NO_GRAD);
            tensor_ones(SHAPE((int64_t)(bytes / sizeof(ag_real))));
            ck_assert_msg(ag_memory().cached == 0, "%zu bytes", bytes);
            ag_end(s);
        }
    }
}
END_TEST

/* Runs one case forward and backward. Returns whether an operation saved numbers for its rule: they must be released behind
 * the rule, not at the end of the scope. */
static bool saves(int op, Sample *sample)
{
    bool saved = false;
    AgScope s = ag_begin(AG_RECORD);
    Tensor *sum = ag_sum(op_samples[op](sample));
    for (const Tensor *t = sum; t; t = t->older) {
        saved = saved || t->saved || t->saved_gradient[0];
    }
    ag_backward(sum);
    for (const Tensor *t = sum; t; t = t->older) {
        ck_assert_msg(!t->saved, "%s, case %d", op_table[op].name, sample->number);
        for (int i = 0; i < SAVED_GRADIENTS; i++) {
            ck_assert_msg(!t->saved_gradient[i], "%s, case %d: gradient %d", op_table[op].name, sample->number, i);
        }
    }
    ag_end(s);
    return saved;
}

START_TEST(what_operations_save_is_released_in_backward)
{
    int cases = 0;
    int64_t usual = most_logits;
    most_logits = 4;                                            /* losses are computed in parts, and save gradients */
    for (int op = 0; op < OP_COUNT; op++) {
        bool found = true;
        for (int number = 0; found; number++) {
            Tensor *in[MAX_INPUTS] = { NULL };
            Sample sample = { .number = number, .in = in };
            AgScope s = ag_begin(AG_NO_GRAD);
            found = op_samples[op](&sample) != NULL;            /* makes the inputs */
            ag_end(s);
            /* the second time, inputs have gradients, to which those that the forward pass saved are added */
            if (found && saves(op, &sample) && saves(op, &sample)) {
                cases++;
            }
            for (int i = 0; i < MAX_INPUTS; i++) {
                tensor_free(in[i]);
            }
        }
    }
    most_logits = usual;
    ck_assert_int_ge(cases, 40);                                /* of convolutions, losses, moments, norms */
}
END_TEST

Suite *memory_suite(void)
{
    Suite *suite = suite_create("memory");
    TCase *reuse = tcase_create("reuse");
    if (KEEPS_MEMORY) tcase_add_test(reuse, ten_thousand_steps_allocate_nothing);
    tcase_add_test(reuse, requests_are_counted);
    if (KEEPS_MEMORY) tcase_add_test(reuse, generation_runs_in_constant_memory);
    tcase_add_test(reuse, changing_shapes_share_buffers);
    if (KEEPS_MEMORY) {
        tcase_add_test(reuse, trimming_frees_everything);
        tcase_add_test(reuse, a_failed_request_returns_what_waits);
        tcase_add_test(reuse, large_buffers_of_other_sizes_get_released_memory);
        tcase_add_test(reuse, large_buffers_get_the_smallest_part);
        tcase_add_test(reuse, new_pages_are_paid_for_by_released_ones);
        tcase_add_test(reuse, large_buffers_divide_little_space);
        tcase_add_test(reuse, large_memory_is_shared_by_threads);
        tcase_add_test(reuse, a_pool_in_little_memory);
    }
    tcase_add_test(reuse, a_forked_child_has_a_pool);
    tcase_add_test(reuse, a_large_parameter_returns_its_memory);
    tcase_add_test(reuse, a_chunk_is_not_used_for_more_than_its_size);
    suite_add_tcase(suite, reuse);
    TCase *release = tcase_create("release");
    tcase_add_test(release, the_peak_of_a_deep_chain_is_its_activations);
    tcase_add_test(release, the_peak_of_residual_blocks_is_their_activations);
    tcase_add_test(release, a_leafs_gradient_takes_the_memory_of_a_value);
    tcase_add_test(release, a_gradient_takes_the_memory_of_what_linear_has_read);
    tcase_add_test(release, what_linear_has_read_stays_for_other_rules);
    tcase_add_test(release, a_value_is_released_after_its_last_reader);
    tcase_add_test(release, a_value_is_released_when_its_gradient_is_passed_on);
    tcase_add_test(release, a_slightly_larger_buffer_is_used_again);
    tcase_add_test(release, memory_falls_during_backward);
    tcase_add_test(release, a_scope_releases_everything);
    tcase_add_test(release, what_operations_save_is_released_in_backward);
    suite_add_tcase(suite, release);
    TCase *threads = tcase_create("threads");
    tcase_add_test(threads, two_threads_train_as_each_alone);
    if (HAS_THREADS) tcase_add_test(threads, any_number_of_threads_gives_the_same_bits);
    tcase_add_test(threads, a_thread_that_ends_leaks_nothing);
    tcase_add_test(threads, a_tensor_may_be_freed_on_another_thread);
    tcase_add_test(threads, a_forked_child_trains_like_its_parent);
    suite_add_tcase(suite, threads);
    return suite;
}
