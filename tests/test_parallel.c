/* test_parallel.c: training by several processes, which are threads here (processes.h): the same bits on any number of them. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "expected.h"
#include "folder.h"
#include "kaeru/kaeru.h"
#include "parallel/parallel_parts.h"
#include "processes.h"
#include "runs.h"
#include "lm_parts.h"
#include "suites.h"
#include "usage_error.h"

/* ---- a model whose largest parameter has several pieces for each of three processes ------------------------------ */

typedef struct { Module module; Linear *in, *out, *rare; Dropout *dropout; } Net;

static Net *net_new(void)
{
    Net *n = nn_new(Net);
    nn_child(n, in, nn_linear_new(8, 300));
    nn_child(n, out, nn_linear_new(300, 300));
    nn_child(n, rare, nn_linear_new(300, 300));
    nn_child(n, dropout, nn_dropout_new(0.1));
    return n;
}

static Tensor *wide(void *self, Tensor *x)
{
    Net *n = self;
    return ag_tanh(nn_linear(n->out, nn_dropout(n->dropout, ag_tanh(nn_linear(n->in, x)))));
}

/* The mean squared output for `rows` random rows. `rare` is used in shards that are a multiple of three. */
static Tensor *loss_of(Net *n, int64_t rows, int64_t shard)
{
    Tensor *x = tensor_normal(SHAPE(rows, 8), 0, 1);
    AgMark begin = ag_mark();
    Tensor *y = wide(n, x);
    if (shard % 2 == 0) ag_recompute(begin, y, AG_PRODUCTS);
    if (shard % 3 == 0) y = nn_linear(n->rare, y);
    return ag_mean(ag_mul(y, y));
}

typedef Optimizer *NewOptimizer(Net *n);
static Optimizer *adam(Net *n) { return nn_adamw_new(n, 0.01); }
static Optimizer *rmsprop(Net *n) { return nn_rmsprop_new(n, 0.001); }
static bool is_in(const NnNamedTensor *p, void *unused)
{
    (void)unused;
    return strcmp(p->name, "in.weight") == 0;
}
static Optimizer *muon(Net *n) { return nn_muon_new_with(n, nn_muon_options(0.02, 0.01), is_in, NULL); }

/* The bytes behind the last member differ, which must not matter. */
static Optimizer *momentum(Net *n)
{
    static _Atomic unsigned char calls;
    AgSgd sgd;
    memset(&sgd, ++calls, sizeof sgd);
    sgd.lr = 0.1;
    sgd.momentum = 0.9;
    sgd.weight_decay = 0.01;
    sgd.nesterov = true;
    return nn_sgd_new_with(n, sgd);
}

/* Scales by the norm of the whole gradient, so that it needs all items. */
static void normed_update(const OptimizerUpdate *u)
{
    Tensor *g = ag_scale(u->gradient, u->grad_scale), *w = u->parameter->tensor;
    double norm = sqrt((double)tensor_item(ag_sum(ag_mul(g, g)))) + 1e-9;
    tensor_copy(u->state[0], ag_add(ag_scale(u->state[0], 0.9), ag_scale(g, 1 / norm)));
    tensor_copy(w, ag_sub(w, ag_scale(u->state[0], u->lr)));
}
static const OptimizerKind normed_kind = { .name = "normed", .state = { "velocity" }, .update = normed_update };
static Optimizer *normed(Net *n) { return nn_optimizer_new(n, &normed_kind, NULL, 0, 0.01, 0); }

/* Messages arrive as late as possible, and all of them need one item more than there is room for. */
static _Thread_local NnParallel *crowded;
static _Thread_local NnProcesses usual;

static bool progress_late(NnProcesses *p, bool waits)
{
    return waits && usual.progress(p, waits);
}

static void receive_in_room(NnProcesses *p, int from, int tag, void *bytes, size_t n, int *pending)
{
    ck_assert_int_le(crowded->buffer_used, crowded->buffer_size);
    usual.receive(p, from, tag, bytes, n, pending);
}

static void crowd(NnParallel *p)
{
    crowded = p;
    usual = *p->processes;
    p->processes->progress = progress_late;
    p->processes->receive = receive_in_room;
    p->buffer_size--;
}

typedef struct {
    int64_t shards, steps;
    double clip;
    NewOptimizer *optimizer;
    bool is_crowded;
    const char *saved;          /* NULL, or a checkpoint to write at the end, */
    const char *loaded;         /* and one to begin with */
    Net *result;                /* the weights of the first process */
    double loss;
} Case;

static void train(NnProcesses *processes, void *arg)
{
    Case *c = arg;
    ag_set_threads(1);
    ag_seed(5);
    Net *n = net_new();
    Optimizer *o = c->optimizer(n);
    NnParallel *p = nn_parallel_new_with(o, ((NnParallelOptions){ .shards = c->shards, .clip = c->clip }), processes);
    bool is_first = nn_parallel_is_first(p);
    double loss = 0;
    if (c->is_crowded && processes) crowd(p);
    if (c->loaded) ck_assert(nn_checkpoint_load(c->loaded, n, o, NULL));
    while (nn_optimizer_steps(o) < c->steps) {
        while (nn_parallel_shard(p)) {
            AgScope s = ag_begin(AG_RECORD);
            int64_t shard = nn_parallel_index(p);
            if (shard == 4) nn_parallel_count(p, 0);            /* an empty shard */
            else ag_backward(loss_of(n, 2 + shard, shard));
            ag_end(s);
        }
        loss = nn_parallel_step(p);
    }
    if (c->saved) ck_assert(nn_checkpoint_save(c->saved, n, o, NULL));
    ck_assert_int_eq(nn_parallel_end(p), is_first);
    ag_free(o);
    if (is_first) {
        c->result = n;
        c->loss = loss;
    } else {
        ag_free(n);
    }
}

static Case run_case(int processes, Case c)
{
    run_processes(processes, train, &c);
    return c;
}

static const int64_t shard_counts[] = { 1, 2, 3, 5, 8, 13 };

START_TEST(any_number_of_processes_gives_the_same_bits)
{
    NewOptimizer *const optimizers[] = { adam, momentum, normed, rmsprop };
    int64_t shards = shard_counts[_i / 4];
    Case c = { .shards = shards, .steps = 3, .clip = _i % 4 == 2 ? 0 : 0.1, .optimizer = optimizers[_i % 4] };
    c.saved = in_folder("alone");
    Case alone = run_case(1, c);
    for (int n = 2; n <= shards && n <= 8; n++) {
        c.saved = in_folder("together");
        Case together = run_case(n, c);
        check_same_parameters(alone.result, together.result);
        ck_assert(alone.loss == together.loss);
        folder_same("alone", "together");
        ag_free(together.result);
    }
    ag_free(alone.result);
}
END_TEST

/* Its matrices are updated as a whole, so that each process updates all parameters. */
START_TEST(muon_gives_the_same_bits_on_any_number_of_processes)
{
    Case c = { .shards = 3, .steps = 2, .clip = 0.1, .optimizer = muon, .saved = in_folder("alone") };
    Case alone = run_case(1, c);
    for (int n = 2; n <= 3; n++) {
        c.saved = in_folder("together");
        Case together = run_case(n, c);
        check_same_parameters(alone.result, together.result);
        folder_same("alone", "together");
        ag_free(together.result);
    }
    ag_free(alone.result);
}
END_TEST

START_TEST(a_piece_waits_for_room)
{
    Case c = { .shards = 5, .steps = 2, .clip = 0.1, .optimizer = adam, .is_crowded = true };
    Case alone = run_case(1, c), together = run_case(_i, c);
    check_same_parameters(alone.result, together.result);
    ag_free(alone.result);
    ag_free(together.result);
}
END_TEST

START_TEST(a_checkpoint_resumes_on_another_number)
{
    Case c = { .shards = 6, .steps = 5, .clip = 0.1, .optimizer = adam }, first = c, rest = c;
    Case whole = run_case(4, c);
    first.steps = 2;
    first.saved = rest.loaded = in_folder("half");
    first = run_case(3, first);
    rest = run_case(_i + 1, rest);
    check_same_parameters(whole.result, rest.result);
    ag_free(whole.result);
    ag_free(first.result);
    ag_free(rest.result);
}
END_TEST

/* ---- what a step computes ---------------------------------------------------------------------------------------- */

static Tensor *data_of(int64_t from, int64_t rows, Tensor **target)
{
    ag_seed(9);
    Tensor *x = tensor_normal(SHAPE(12, 8), 0, 1), *y = tensor_randint(SHAPE(12), 0, 300);
    *target = ag_slice(y, 0, from, from + rows);
    return ag_slice(x, 0, from, from + rows);
}

static Tensor *sum_of_losses(Net *n, int64_t from, int64_t rows)
{
    Tensor *target, *x = data_of(from, rows, &target);
    return ag_cross_entropy(wide(n, x), target, AG_SUM, -100, 0);
}

/* Shards of 1, 2, ..., 5 rows: with their counts, the step is that of the mean over all rows. */
static void train_counted(NnProcesses *processes, void *arg)
{
    ag_seed(5);
    Net *n = net_new();
    Optimizer *o = nn_sgd_new(n, 1);
    nn_eval(n);
    NnParallel *p = nn_parallel_new_with(o, ((NnParallelOptions){ .shards = 4, .clip = 0.05 }), processes);
    double loss = 0;
    while (nn_parallel_shard(p)) {
        AgScope s = ag_begin(AG_RECORD);
        int64_t shard = nn_parallel_index(p), from = shard * (shard + 1) / 2;
        nn_parallel_count(p, (double)(shard == 3 ? 6 : shard + 1));
        ag_backward(sum_of_losses(n, from, shard == 3 ? 6 : shard + 1));
        ag_end(s);
    }
    loss = nn_parallel_step(p);
    Net *expected = arg;
    if (nn_parallel_is_first(p)) {
        AgScope s = ag_begin(AG_RECORD);
        Optimizer *sgd = nn_sgd_new(expected, 1);
        nn_eval(expected);
        Tensor *mean = ag_scale(sum_of_losses(expected, 0, 12), 1 / 12.0);
        ck_assert_double_eq_tol(loss, tensor_item(mean), 1e-6);
        ag_backward(mean);
        ck_assert_double_gt(nn_clip_grad_norm(expected, 0.05), 0.05);
        nn_optimizer_step(sgd);
        check_close("weights", n->out->weight, expected->out->weight, 1e-6);
        check_close("weights", n->in->weight, expected->in->weight, 1e-6);
        ag_free(sgd);
        ag_end(s);
    }
    nn_parallel_end(p);
    ag_free(o);
    ag_free(n);
}

/* A step of two shards is one with the mean of their gradients. */
START_TEST(a_step_has_the_mean_of_its_shards)
{
    NewOptimizer *const optimizers[] = { adam, momentum, normed, rmsprop };
    Net *one = net_new(), *two = nn_clone(one);
    Optimizer *o = optimizers[_i](one), *p = optimizers[_i](two);
    NnParallel *all = nn_parallel_new(p, 2, NULL);
    for (int step = 0; step < 3; step++) {
        AgScope s = ag_begin(AG_RECORD);
        ag_backward(ag_scale(ag_sum(one->in->weight), 2));
        nn_optimizer_step(o);
        while (nn_parallel_shard(all)) ag_backward(ag_scale(ag_sum(two->in->weight), nn_parallel_index(all) ? 3 : 1));
        nn_parallel_step(all);
        ag_end(s);
    }
    check_same_parameters(one, two);
    nn_parallel_end(all);
    ag_free(p);
    ag_free(o);
    ag_free(two);
    ag_free(one);
}
END_TEST

typedef struct { const Run *run; char path[512]; } WholeRun;

static void run_whole(NnProcesses *processes, void *arg)
{
    WholeRun *w = arg;
    ag_set_threads(1);
    ck_assert_msg(w->run->train(&(RunSize){ 1, 4, 4, 3, 2, 4, processes }, w->path, false, NULL), "%s", ag_error());
}

START_TEST(whole_runs_are_the_same)
{
    const char *const names[] = { "alone", "two", "three" };
    for (int n = 1; n <= 3; n++) {
        WholeRun w = { .run = &runs[_i] };
        snprintf(w.path, sizeof w.path, "%s", in_folder(names[n - 1]));
        run_processes(n, run_whole, &w);
        if (n > 1) folder_same(names[0], names[n - 1]);
    }
}
END_TEST

START_TEST(a_step_is_that_of_the_whole_batch)
{
    ag_seed(5);
    Net *expected = net_new();
    run_processes(_i + 1, train_counted, expected);
    ag_free(expected);
}
END_TEST

START_TEST(one_shard_is_the_step_of_the_optimizer)
{
    Net *n[2];
    for (int shared = 0; shared < 2; shared++) {
        ag_seed(5);
        n[shared] = net_new();
        Optimizer *o = adam(n[shared]);
        NnParallel *p = shared ? nn_parallel_new(o, 1, NULL) : NULL;
        for (int i = 0; i < 3; i++) {
            ck_assert(!shared || nn_parallel_shard(p));
            AgScope s = ag_begin(AG_RECORD);
            ag_backward(loss_of(n[shared], 5, i));              /* in steps 1 and 2, `rare` has no gradient and stays */
            if (!shared) nn_optimizer_step(o);
            ag_end(s);
            if (!shared) continue;
            ck_assert(!nn_parallel_shard(p));
            nn_parallel_step(p);
        }
        ag_free(p);
        ag_free(o);
    }
    check_same_parameters(n[0], n[1]);
    ag_free(n[0]);
    ag_free(n[1]);
}
END_TEST

/* With or without counts: each step is free to choose. */
START_TEST(one_step_of_three_has_counts)
{
    ag_seed(5);
    Net *n = net_new();
    Optimizer *o = adam(n);
    NnParallel *p = nn_parallel_new(o, 2, NULL);
    for (int step = 0; step < 3; step++) {
        while (nn_parallel_shard(p)) {
            AgScope s = ag_begin(AG_RECORD);
            if (step == 1) nn_parallel_count(p, 2);
            ag_backward(loss_of(n, 3, 0));
            ag_end(s);
        }
        ck_assert(isfinite(nn_parallel_step(p)));
    }
    nn_parallel_end(p);
    ag_free(o);
    ag_free(n);
}
END_TEST

START_TEST(a_loss_that_is_not_finite_changes_nothing)
{
    ag_seed(5);
    Net *n = net_new(), *before = nn_clone(n);
    Optimizer *o = adam(n);
    NnParallel *p = nn_parallel_new(o, 2, NULL);
    for (int step = 0; step < 2; step++) {
        while (nn_parallel_shard(p)) {
            AgScope s = ag_begin(AG_RECORD);
            bool bad = step == 0 && nn_parallel_index(p) == 1;
            ag_backward(ag_scale(loss_of(n, 3, 0), bad ? INFINITY : 1));
            ag_end(s);
        }
        double loss = nn_parallel_step(p);
        ck_assert_int_eq(isfinite(loss), step);
        ck_assert_int_eq(nn_optimizer_steps(o), step + 1);
        if (step == 0) check_same_parameters(n, before);
    }
    ck_assert(tensor_data(n->in->weight)[0] != tensor_data(before->in->weight)[0]);
    nn_parallel_end(p);
    ag_free(o);
    ag_free(n);
    ag_free(before);
}
END_TEST

/* ---- random numbers ---------------------------------------------------------------------------------------------- */

/* Takes a step with a loss of this factor in its last shard, and writes the first number of each shard to drawn[]. */
static void draw_in_step(NnParallel *p, Net *n, double factor, double drawn[4])
{
    while (nn_parallel_shard(p)) {
        int64_t shard = nn_parallel_index(p);
        AgScope s = ag_begin(AG_RECORD);
        drawn[shard] = ag_random_uniform();
        ag_backward(ag_scale(loss_of(n, 2, shard), shard == 3 ? factor : 1));
        ag_end(s);
    }
    nn_parallel_step(p);
}

/* After a step that changes nothing, a run goes on with other numbers, and with the same ones if it was resumed. */
START_TEST(a_step_is_not_repeated)
{
    const char *path = in_folder("after");
    double drawn[3][4];
    Net *n[2];
    for (int resumed = 0; resumed < 2; resumed++) {
        Optimizer *o;
        ag_seed(5);
        n[resumed] = net_new();
        o = adam(n[resumed]);
        NnParallel *p = nn_parallel_new(o, 4, NULL);
        if (resumed) {
            ck_assert(nn_checkpoint_load(path, n[resumed], o, NULL));
        } else {
            draw_in_step(p, n[resumed], INFINITY, drawn[0]);
            ck_assert(nn_checkpoint_save(path, n[resumed], o, NULL));
        }
        draw_in_step(p, n[resumed], 1, drawn[1 + resumed]);
        nn_parallel_end(p);
        ag_free(o);
    }
    for (int i = 0; i < 4; i++) {
        ck_assert(drawn[1][i] != drawn[0][i]);
        ck_assert(drawn[2][i] == drawn[1][i]);
    }
    check_same_parameters(n[0], n[1]);
    ag_free(n[0]);
    ag_free(n[1]);
}
END_TEST

static void train_several(NnProcesses *processes, void *arg)
{
    (void)arg;
    Net *n[3];
    Optimizer *o[3];
    NnParallel *p[3];
    double drawn[3][4];
    ag_seed(5);
    for (int i = 0; i < 3; i++) {
        n[i] = net_new();
        o[i] = adam(n[i]);
        p[i] = nn_parallel_new(o[i], 4, processes);
    }
    ag_free(p[1]);                                              /* another one takes its place */
    ag_free(o[1]);
    o[1] = adam(n[1]);
    p[1] = nn_parallel_new(o[1], 4, processes);
    for (int i = 0; i < 3; i++) draw_in_step(p[i], n[i], 1, drawn[i]);
    for (int shard = 0; shard < 4 && !processes; shard++) {
        ck_assert(drawn[0][shard] != drawn[1][shard]);
        ck_assert(drawn[0][shard] != drawn[2][shard]);
        ck_assert(drawn[1][shard] != drawn[2][shard]);
    }
    for (int i = 0; i < 3; i++) {
        nn_parallel_end(p[i]);
        ag_free(o[i]);
        ag_free(n[i]);
    }
}

START_TEST(several_have_numbers_of_their_own)
{
    run_processes(_i + 1, train_several, NULL);
}
END_TEST

START_TEST(a_step_of_empty_shards_has_the_loss_0)
{
    ag_seed(5);
    Net *n = net_new();
    Optimizer *o = adam(n);
    NnParallel *p = nn_parallel_new(o, 2, NULL);
    while (nn_parallel_shard(p)) nn_parallel_count(p, 0);
    ck_assert_double_eq(nn_parallel_step(p), 0);
    nn_parallel_end(p);
    ag_free(o);
    ag_free(n);
}
END_TEST

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

typedef struct {
    Module module;
    BatchNorm *norm;
    Linear *linear;
    Tensor *steps;              /* counted in the forward function */
} Normed;
typedef struct { int64_t first, end; Normed *result; } NormedCase;      /* the shards that are not empty */

static Normed *normed_net(void)
{
    Normed *n = nn_new(Normed);
    nn_child(n, norm, nn_batch_norm_new(3));
    nn_child(n, linear, nn_linear_new(3, 1));
    nn_buffer_with(n, steps, AG_SCALAR, AG_INT, true);
    return n;
}

static void normed_loss(Normed *n, int64_t shard)
{
    AgScope s = ag_begin(AG_RECORD);
    tensor_mutable_int_data(n->steps)[0]++;
    ag_backward(ag_mean(nn_linear(n->linear, nn_batch_norm(n->norm, tensor_normal(SHAPE(4, 3), (double)shard, 1)))));
    ag_end(s);
}

static void train_normed(NnProcesses *processes, void *arg)
{
    NormedCase *c = arg;
    ag_set_threads(1);
    ag_seed(5);
    Normed *n = normed_net();
    Optimizer *o = nn_sgd_new(n, 0.1);
    NnParallel *p = nn_parallel_new(o, 5, processes);
    for (int step = 0; step < 3; step++) {
        while (nn_parallel_shard(p)) {
            int64_t shard = nn_parallel_index(p);
            bool empty = shard < c->first || shard >= c->end;
            nn_parallel_count(p, empty ? 0 : 1);
            ck_assert_int_eq(tensor_int_data(n->steps)[0], c->first == 0 ? step : 0);
            if (!empty) normed_loss(n, shard);
        }
        nn_parallel_step(p);
        ck_assert(nn_parallel_agree(p, "mean", tensor_data(n->norm->running_mean), 3 * sizeof(ag_real)));
        ck_assert(nn_parallel_agree(p, "variance", tensor_data(n->norm->running_var), 3 * sizeof(ag_real)));
        ck_assert(nn_parallel_agree(p, "steps", tensor_int_data(n->norm->num_batches_tracked), sizeof(int32_t)));
        ck_assert(nn_parallel_agree(p, "steps", tensor_int_data(n->steps), sizeof(int32_t)));
    }
    if (nn_parallel_end(p)) c->result = n;
    else ag_free(n);
    ag_free(o);
}

static void check_normed(const Normed *a, const Normed *b)
{
    ck_assert_int_eq(memcmp(tensor_data(a->norm->running_mean), tensor_data(b->norm->running_mean), 3 * sizeof(ag_real)), 0);
    ck_assert_int_eq(memcmp(tensor_data(a->norm->running_var), tensor_data(b->norm->running_var), 3 * sizeof(ag_real)), 0);
    ck_assert_int_eq(tensor_int_data(a->norm->num_batches_tracked)[0], tensor_int_data(b->norm->num_batches_tracked)[0]);
    ck_assert_int_eq(tensor_int_data(a->steps)[0], tensor_int_data(b->steps)[0]);
}

/* Also if the first shard is empty, or the others are. */
START_TEST(buffers_are_those_of_the_first_shard)
{
    NormedCase c = { 0, 4, NULL }, first = { 0, 1, NULL }, others = { 1, 5, NULL };
    Normed *before = normed_net();
    run_processes(_i, train_normed, &c);
    run_processes(_i, train_normed, &first);
    run_processes(_i, train_normed, &others);
    check_normed(c.result, first.result);
    check_normed(others.result, before);
    ck_assert_int_eq(tensor_int_data(c.result->norm->num_batches_tracked)[0], 3);
    ck_assert_int_eq(tensor_int_data(c.result->steps)[0], 3);
    ck_assert(tensor_data(c.result->norm->running_var)[0] != 1);
    NormedCase alone = { 0, 4, NULL };
    run_processes(1, train_normed, &alone);
    check_normed(c.result, alone.result);
    ag_free(alone.result);
    ag_free(others.result);
    ag_free(first.result);
    ag_free(c.result);
    ag_free(before);
}
END_TEST

START_TEST(a_loss_that_is_not_finite_changes_no_buffer)
{
    Normed *n = normed_net();
    Optimizer *o = nn_sgd_new(n, 0.1);
    NnParallel *p = nn_parallel_new(o, 1, NULL);
    while (nn_parallel_shard(p)) {
        AgScope s = ag_begin(AG_RECORD);
        Tensor *y = nn_linear(n->linear, nn_batch_norm(n->norm, tensor_full(SHAPE(4, 3), (double)NAN)));
        ag_backward(ag_mean(y));
        ag_end(s);
    }
    ck_assert(isnan(nn_parallel_step(p)));
    ck_assert(tensor_data(n->norm->running_mean)[0] == 0);
    ck_assert_int_eq(tensor_int_data(n->norm->num_batches_tracked)[0], 0);
    nn_parallel_end(p);
    ag_free(o);
    ag_free(n);
}
END_TEST

/* ---- what processes tell each other ------------------------------------------------------------------------------ */

static NnParallel *parallel_of(NnProcesses *processes, Net **n, Optimizer **o)
{
    ag_seed(5);
    *n = net_new();
    *o = adam(*n);
    return nn_parallel_new(*o, 4, processes);
}

static void end_parallel(NnParallel *p, Net *n, Optimizer *o)
{
    nn_parallel_end(p);
    ag_free(o);
    ag_free(n);
}

static void talk(NnProcesses *processes, void *arg)
{
    (void)arg;
    Net *n;
    Optimizer *o;
    NnParallel *p = parallel_of(processes, &n, &o);
    int rank = processes ? processes->rank : 0, size = processes ? processes->size : 1;
    double value[11];
    for (int i = 0; i < 11; i++) value[i] = nn_parallel_is_mine(p, i) ? 10 * i : -1;
    nn_parallel_collect(p, value, 11);
    for (int i = 0; i < 11; i++) ck_assert(value[i] == 10 * i);

    ck_assert(nn_parallel_check(p, true));
    if (rank == size - 1) ag_set_error("the disk is full");
    char expected[128];
    snprintf(expected, sizeof expected, "process %d: the disk is full", size - 1);
    if (size > 1) expect_refused(nn_parallel_check(p, rank < size - 1), rank < size - 1 ? expected : "the disk is full");
    if (rank == size - 1) ag_set_error("%s", "");
    snprintf(expected, sizeof expected, "process %d: an error without a message", size - 1);
    if (size > 1) expect_refused(nn_parallel_check(p, rank < size - 1), rank < size - 1 ? expected : "");
    ag_set_error("disk %d is full", rank);
    if (size > 2) expect_refused(nn_parallel_check(p, rank == 0), rank == 1 ? "disk 1 is full" : "process 1: disk 1 is full");

    ck_assert(nn_parallel_agree(p, "the data", "abc", 3));
    if (size > 2)
        expect_refused(nn_parallel_agree(p, "the data", rank == 2 ? "abd" : "abc", 3),
                       "process 2 and process 0 differ in the data");

    ck_assert(nn_processes_agree(processes, "the shift", "%s %d", "slow", 1));
    snprintf(expected, sizeof expected, "process %d and process 0 differ in the shift: slow %d and slow 0", size - 1, size - 1);
    if (size > 1) expect_refused(nn_processes_agree(processes, "the shift", "slow %d", rank < size - 1 ? 0 : rank), expected);
    end_parallel(p, n, o);
}

START_TEST(processes_tell_each_other)
{
    run_processes(_i + 1, talk, NULL);
}
END_TEST

static void ask_to_stop(NnProcesses *processes, void *arg)
{
    Net *n;
    Optimizer *o;
    NnParallel *p = parallel_of(processes, &n, &o);
    double drawn[4];
    draw_in_step(p, n, 1, drawn);
    ck_assert(!nn_parallel_stopped(p));
    if (processes->rank == *(int *)arg) nn_parallel_stop(p);
    ck_assert(!nn_parallel_stopped(p));
    draw_in_step(p, n, 1, drawn);
    ck_assert(nn_parallel_stopped(p));
    end_parallel(p, n, o);
}

START_TEST(each_process_can_stop_all)
{
    int asking = _i;
    run_processes(3, ask_to_stop, &asking);
}
END_TEST

/* Losses are means in process 0, and sums in process 1. */
static void mix_losses(NnProcesses *processes, void *arg)
{
    (void)arg;
    Net *n;
    Optimizer *o;
    NnParallel *p = parallel_of(processes, &n, &o);
    while (nn_parallel_shard(p)) {
        if (processes->rank == 1) nn_parallel_count(p, 2);
        AgScope s = ag_begin(AG_RECORD);
        ag_backward(loss_of(n, 2, nn_parallel_index(p)));
        ag_end(s);
    }
    EXPECT_USAGE_ERROR("nn_parallel_step: nn_parallel_count was called in some shards and not in others", nn_parallel_step(p));
    end_parallel(p, n, o);
}

START_TEST(processes_do_not_mix_means_and_sums)
{
    run_processes(2, mix_losses, NULL);
}
END_TEST

static void save_without_folder(NnProcesses *processes, void *arg)
{
    Net *n;
    Optimizer *o;
    NnParallel *p = parallel_of(processes, &n, &o);
    expect_refused(nn_checkpoint_save(arg, n, o, NULL), ": No such file or directory");
    end_parallel(p, n, o);
}

/* Only the first process writes. */
START_TEST(all_processes_know_that_a_checkpoint_is_missing)
{
    char path[256];
    snprintf(path, sizeof path, "%s", in_folder("absent/checkpoint"));
    run_processes(3, save_without_folder, path);
}
END_TEST

/* A process may have another version of kaeru. */
static _Thread_local const char *other_version;
#ifdef HAVE_FAULTS
const char *__real_kaeru_version(void);
const char *__wrap_kaeru_version(void);
const char *__wrap_kaeru_version(void)
{
    return other_version ? other_version : __real_kaeru_version();
}
#endif

/* Process 1 differs in something, by case. */
static const char *const differences[] = {
    "process 1 and process 0 differ in the seed: 6 and 5",
    "process 1 and process 0 differ in the options of the optimizer",
    "process 1 and process 0 differ in the weights",
    "process 1 and process 0 differ in the precision: 1 and 0",
    "process 1 and process 0 differ in the number of shards: 5 and 4",
    "process 1 and process 0 differ in the norm to clip: 0.25 and 0",
    "process 1 and process 0 differ in the names and shapes of the parameters",
    "process 1 and process 0 differ in the names and shapes of the parameters",
    "process 1 and process 0 differ in the options of the optimizer",
    "process 1 and process 0 differ in the options of the optimizer",
    "process 1 and process 0 differ in the options of the optimizer",
    "process 1 and process 0 differ in the options of the optimizer",
#ifdef HAVE_FAULTS
    ("process 1 and process 0 differ in kaeru's version: 0.0.1 and " KAERU_VERSION),        /* clang warns without () */
#endif
};

/* A model of one layer. */
static Net *one_layer(bool is_wide, bool is_renamed)
{
    Net *n = nn_new(Net);
    if (is_renamed) nn_child(n, in, nn_linear_new(3, 4));
    else nn_child(n, out, nn_linear_new(is_wide ? 4 : 3, 4));
    return n;
}

static bool is_named(const NnNamedTensor *p, void *name)
{
    return strcmp(p->name, name) == 0;
}

static void differ(NnProcesses *processes, void *arg)
{
    int what = *(int *)arg;
    bool other = processes->rank == 1;
    if (other && what == 12) other_version = "0.0.1";
    ag_seed(other && what == 0 ? 6 : 5);
    Net *n = what == 6 || what == 7 ? one_layer(other && what == 6, other && what == 7) : net_new();
    AgAdam how = nn_adam_options(other && what == 1 ? 0.5 : 0.4);
    if (other && what == 10) how.beta2 = 0.9;
    Optimizer *o = nn_adam_new_with(n, how);
    if (what == 8) nn_optimizer_group(o, is_named, other ? "in.weight" : "none", 0, 1);      /* the first parameter, */
    if (what == 9) nn_optimizer_group(o, is_named, other ? "rare.bias" : "none", 0, 1);      /* and the last one */
    if (what == 11) nn_optimizer_group(o, is_named, "in.weight", other ? 0.5 : 0, 1);
    if (other && what == 2) tensor_mutable_data(n->in->bias)[3] = 1;
    if (other && what == 3) ag_precision(AG_BF16);
    nn_parallel_new_with(o, ((NnParallelOptions){ other && what == 4 ? 5 : 4, other && what == 5 ? 0.25 : 0 }), processes);
}

START_TEST(processes_that_differ_end)
{
    int what = _i;
    expect_line(differences[what]);
    run_processes(3, differ, &what);
}
END_TEST

enum { LETTERS = 300000 };

/* Process 1 has another letter at *arg, or none if that is LETTERS. If it is -1, the ids are equal, but of other letters. */
static void compare_data(NnProcesses *processes, void *arg)
{
    int other = *(int *)arg;
    char *text = ag_alloc(LETTERS, 1);
    for (int i = 0; i < LETTERS; i++) text[i] = (char)((processes->rank == 1 && other < 0 ? 'A' : 'a') + i % 26);
    KaeruVocab *letters = kaeru_vocab_chars(text, LETTERS);
    if (processes->rank == 1 && other >= 0 && other < LETTERS) text[other] = text[other] == 'a' ? 'b' : 'a';
    LmData *data = lm_data_of_text("the text", text, LETTERS, letters);
    Net *n;
    Optimizer *o;
    NnParallel *p = parallel_of(processes, &n, &o);
    char word[8] = "1234567";
    word[7] = (char)processes->rank;                            /* behind the bytes that are compared */
    ck_assert(nn_parallel_agree(p, "a word", word, 7));
    if (other == LETTERS) ck_assert(data_agrees(data, p));
    else expect_refused(data_agrees(data, p), "process 1 and process 0 differ in the data");
    end_parallel(p, n, o);
    ag_free(data);
    ag_free(letters);
    ag_free(text);
}

START_TEST(data_that_differ_are_told)
{
    const int places[] = { LETTERS, 0, (LETTERS - 4096) / 63 * 63 + 4095, -1 };
    int place = places[_i];
    run_processes(2, compare_data, &place);
}
END_TEST

/* Each process would take another number of steps. */
static void train_otherwise(NnProcesses *processes, void *arg)
{
    (void)arg;
    const char text[] = "The frog goes back to the pond, and the pond is deep. What was a tadpole is a frog.";
    KaeruVocab *letters = kaeru_vocab_chars(text, sizeof text - 1);
    LmData *data = lm_data_of_text("the text", text, sizeof text - 1, letters);
    ag_seed(5);
    GPT *m = gpt_new((GPTOptions){ .layers = 1, .heads = 1, .width = 4, .context = 4, .eps = 1e-5,
                                   .vocab = kaeru_vocab_size(letters) });
    LmTraining t = { .model = m, .data = data, .options = lm_defaults(), .settings = nn_settings_new(),
                     .processes = processes };
    t.options.shards = 2;
    t.options.steps = 1 + processes->rank;
    expect_refused(lm_train(&t, false), "process 1 and process 0 differ in the options of the training");
    ag_free(t.settings);
    ag_free(m);
    ag_free(data);
    ag_free(letters);
}

START_TEST(options_that_differ_are_told)
{
    run_processes(2, train_otherwise, NULL);
}
END_TEST

/* Each process resumes from a file of its own: process 1 has trained it for a step more. */
static void resume_otherwise(NnProcesses *processes, void *arg)
{
    (void)arg;
    const char text[] = "The frog goes back to the pond, and the pond is deep. What was a tadpole is a frog.";
    KaeruVocab *letters = kaeru_vocab_chars(text, sizeof text - 1);
    LmData *data = lm_data_of_text("the text", text, sizeof text - 1, letters);
    for (int resume = 0; resume < 2; resume++) {
        ag_seed(5);
        GPT *m = gpt_new((GPTOptions){ .layers = 1, .heads = 1, .width = 4, .context = 4, .eps = 1e-5,
                                       .vocab = kaeru_vocab_size(letters) });
        LmTraining t = { .model = m, .data = data, .options = lm_defaults(), .settings = nn_settings_new(),
                         .last = in_folder(processes->rank ? "one" : "zero"), .processes = resume ? processes : NULL };
        t.options.shards = 2;
        t.options.steps = resume ? 9 : 1 + processes->rank;
        if (resume) expect_refused(lm_train(&t, true), "process 1 and process 0 differ in the checkpoint");
        else expect_done(lm_train(&t, false));
        ag_free(t.settings);
        ag_free(m);
    }
    ag_free(data);
    ag_free(letters);
}

START_TEST(checkpoints_that_differ_are_told)
{
    run_processes(2, resume_otherwise, NULL);
}
END_TEST

static void take_step(NnParallel *p, Net *n)
{
    while (nn_parallel_shard(p)) {
        AgScope s = ag_begin(AG_RECORD);
        ag_backward(loss_of(n, 2, 0));
        ag_end(s);
    }
    nn_parallel_step(p);
}

static void fall_silent(NnProcesses *processes, void *arg)
{
    (void)arg;
    Net *n;
    Optimizer *o;
    processes->deadline = processes->rank == 1 ? 60 : 0.3;
    NnParallel *p = parallel_of(processes, &n, &o);
    if (processes->rank == 1) silence_after(processes, 0);
    take_step(p, n);
}

START_TEST(a_silent_process_ends_the_others)
{
    expect_line("process 1 has been silent for 0.3 seconds, since step 0");
    run_processes(3, fall_silent, NULL);
}
END_TEST

/* Process 0 waits for process 1, which waits for process 2. Process 1 tells that process 2 is silent after two seconds more. */
static void wait_in_a_row(NnProcesses *processes, void *arg)
{
    (void)arg;
    Net *n;
    Optimizer *o;
    char byte;
    int pending = 0;
    NnParallel *p = parallel_of(processes, &n, &o);
    bool silent = processes->rank == 2;
    processes->deadline = silent ? 60 : 0.5;
    processes->patience = 2;
    if (silent) silence_after(processes, 0);
    processes->receive(processes, (processes->rank + 1) % 3, TAG_SMALL, &byte, 1, &pending);
    wait_for(p, &pending, 0);
}

START_TEST(a_process_that_will_tell_an_error_is_not_named)
{
    expect_line("process 2 has been silent for 0.5 seconds");
    run_processes(3, wait_in_a_row, NULL);
}
END_TEST

/* Process 2 is silent after one message: process 0 has it and goes on, and waits for process 1, too, which waits for 2. */
static void fall_silent_between(NnProcesses *processes, void *arg)
{
    (void)arg;
    Net *n;
    Optimizer *o;
    double value[3] = { 0, 1, 2 };
    processes->deadline = 2;
    NnParallel *p = parallel_of(processes, &n, &o);
    if (processes->rank == 2) {
        processes->deadline = 60;
        silence_after(processes, 1);
    }
    nn_parallel_collect(p, value, 3);
    nn_parallel_collect(p, value, 3);
}

START_TEST(a_process_that_waits_is_not_named)
{
    expect_line("process 2 has been silent for 2 seconds");
    run_processes(3, fall_silent_between, NULL);
}
END_TEST

/* Process 0 waits for a gradient of process 1, which waits for a value of process 0. */
static void cross(NnProcesses *processes, void *arg)
{
    (void)arg;
    Net *n;
    Optimizer *o;
    double value[2] = { 0, 1 };
    NnParallel *p = parallel_of(processes, &n, &o);
    processes->deadline = 0.5;
    if (processes->rank == 1) nn_parallel_collect(p, value, 2);
    take_step(p, n);
}

START_TEST(processes_that_wait_for_each_other_end)
{
    expect_line("processes wait for each other since step 0: expected the same calls in all");
    run_processes(2, cross, NULL);
}
END_TEST

/* Process 0 is stopped for longer than its deadline while it waits, and goes on: all others were there. */
static void pause_and_go_on(NnProcesses *processes, void *arg)
{
    (void)arg;
    Net *n;
    Optimizer *o;
    NnParallel *p = parallel_of(processes, &n, &o);
    double value[3] = { 0, 1, 2 };
    if (processes->rank == 0) {
        processes->deadline = 2;
        pause_once(processes, 3);
    }
    nn_parallel_collect(p, value, 3);
    end_parallel(p, n, o);
}

START_TEST(a_process_that_was_stopped_goes_on)
{
    run_processes(3, pause_and_go_on, NULL);
}
END_TEST

static void too_many(NnProcesses *processes, void *arg)
{
    (void)arg;
    Net *n;
    Optimizer *o;
    parallel_of(processes, &n, &o);
}

START_TEST(more_processes_than_shards_end)
{
    run_processes(5, too_many, NULL);
}
END_TEST

/* ---- wrong use --------------------------------------------------------------------------------------------------- */

static void learn(Net *n)
{
    AgScope s = ag_begin(AG_RECORD);
    ag_backward(loss_of(n, 2, 0));
    ag_end(s);
}

START_TEST(wrong_calls_are_told)
{
    Net *n;
    Optimizer *o;
    ag_seed(5);
    n = net_new();
    o = adam(n);
    EXPECT_USAGE_ERROR("nn_parallel_new_with: 0 shards, expected 1 or more", nn_parallel_new(o, 0, NULL));
    EXPECT_USAGE_ERROR("clip is -1", nn_parallel_new_with(o, ((NnParallelOptions){ .shards = 1, .clip = -1 }), NULL));
    EXPECT_USAGE_ERROR("the optimizer is NULL", nn_parallel_new(NULL, 1, NULL));
    NnParallel *p = nn_parallel_new(o, 2, NULL);
    EXPECT_USAGE_ERROR("is shared already", nn_parallel_new(o, 2, NULL));
    EXPECT_USAGE_ERROR("-1 items, expected 0 or more", nn_parallel_collect(p, NULL, -1));
    EXPECT_USAGE_ERROR("0 of 2 shards of this process are done", nn_parallel_step(p));
    EXPECT_USAGE_ERROR("not in a shard", nn_parallel_index(p));
    EXPECT_USAGE_ERROR("not in a shard", nn_parallel_count(p, 1));
    EXPECT_USAGE_ERROR("this optimizer is shared: expected nn_parallel_step", nn_optimizer_step(o));
    ck_assert(nn_parallel_shard(p));
    EXPECT_USAGE_ERROR("no ag_backward in shard 0", nn_parallel_shard(p));
    EXPECT_USAGE_ERROR("nan items", nn_parallel_count(p, NAN));
    EXPECT_USAGE_ERROR("the loss of a shard must have one item",
                       ag_backward_from(wide(n, tensor_ones(SHAPE(2, 8))), tensor_ones(SHAPE(2, 300))));
    learn(n);
    EXPECT_USAGE_ERROR("called twice in shard 0", learn(n));
    ck_assert(nn_parallel_shard(p));
    learn(n);
    EXPECT_USAGE_ERROR("1 of 2 shards of this process are done", nn_parallel_step(p));
    ck_assert(!nn_parallel_shard(p));
    EXPECT_USAGE_ERROR("expected nn_parallel_step", nn_parallel_shard(p));
    nn_parallel_step(p);
    end_parallel(p, n, o);
    EXPECT_USAGE_ERROR("p is NULL", nn_parallel_shard(NULL));
}
END_TEST

/* The mean squared output of the Linear, in one shard and step; `infinite` makes the first weight's gradient infinite. */
static void step_of(NnParallel *p, Linear *l, bool infinite)
{
    ck_assert(nn_parallel_shard(p));
    AgScope s = ag_begin(AG_RECORD);
    Tensor *y = nn_linear(l, tensor_ones(SHAPE(1, 3))), *loss = ag_mean(ag_mul(y, y));
    if (infinite) {
        Tensor *first = ag_slice(ag_slice(l->weight, 0, 0, 1), 1, 0, 1);
        loss = ag_add(loss, ag_sum(ag_sqrt(ag_sub(first, ag_detach(first)))));
    }
    ag_backward(loss);
    ag_end(s);
    ck_assert(!nn_parallel_shard(p));
}

/* As nn_optimizer_step does. */
START_TEST(gradients_that_no_step_uses_are_told)
{
    ag_seed(5);
    Linear *l = nn_linear_new(3, 2), *other = nn_linear_new(3, 2);
    tensor_set_requires_grad(l->bias, false);
    Optimizer *o = nn_sgd_new(l, 1);
    NnParallel *p = nn_parallel_new(o, 1, NULL);
    step_of(p, other, false);
    EXPECT_USAGE_ERROR("no parameter of its Linear has a gradient", nn_parallel_step(p));
    ag_free(p);
    p = nn_parallel_new(o, 1, NULL);
    tensor_set_requires_grad(l->bias, true);
    step_of(p, l, false);
    EXPECT_USAGE_ERROR("bias has a gradient, but was registered, tied or unfrozen after the optimizer was made",
                       nn_parallel_step(p));
    ag_free(p);
    ag_free(o);
    ag_free(other);
    ag_free(l);
}
END_TEST

START_TEST(an_infinite_clip_is_no_limit)
{
    const double clips[] = { 0, (double)INFINITY };
    Linear *l[2];
    for (int clip = 0; clip < 2; clip++) {
        ag_seed(5);
        l[clip] = nn_linear_new(3, 2);
        Optimizer *o = nn_sgd_new(l[clip], 1);
        NnParallel *p = nn_parallel_new_with(o, ((NnParallelOptions){ .shards = 1, .clip = clips[clip] }), NULL);
        step_of(p, l[clip], true);
        nn_parallel_step(p);
        ck_assert(isinf(tensor_data(l[clip]->weight)[0]));
        ag_free(p);
        ag_free(o);
    }
    ck_assert_int_eq(memcmp(tensor_data(l[0]->weight), tensor_data(l[1]->weight), 6 * sizeof(ag_real)), 0);
    ag_free(l[0]);
    ag_free(l[1]);
}
END_TEST

/* A finite loss, in which the gradient of the first weight is infinity times the factor. */
typedef struct { NewOptimizer *optimizer; double factor; } Spoiled;

static void learn_spoiled(Net *n, double factor)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *first = ag_slice(ag_slice(n->in->weight, 0, 0, 1), 1, 0, 1);
    Tensor *root = ag_sum(ag_sqrt(ag_sub(first, ag_detach(first))));
    ag_backward(ag_add(loss_of(n, 2, 0), ag_scale(root, factor)));
    ag_end(s);
}

static void train_spoiled(NnProcesses *processes, void *arg)
{
    const Spoiled *c = arg;
    Net *n[2];
    Optimizer *o[2];
    for (int i = 0; i < 2; i++) {
        ag_seed(5);
        n[i] = net_new();
        o[i] = c->optimizer(n[i]);
    }
    NnParallel *p = nn_parallel_new_with(o[0], ((NnParallelOptions){ .shards = 3, .clip = 1 }), processes);
    while (nn_parallel_shard(p)) {
        learn_spoiled(n[0], c->factor);
    }
    ck_assert(isfinite(nn_parallel_step(p)));
    nn_parallel_end(p);
    learn_spoiled(n[1], c->factor);
    nn_clip_grad_norm(n[1], 1);
    nn_optimizer_step(o[1]);
    ck_assert(isnan(tensor_data(n[0]->in->weight)[0]));
    NnParameters *left = nn_parameters(n[0]), *right = nn_parameters(n[1]);
    for (int i = 0; i < left->n; i++) {
        const ag_real *a = tensor_data(left->item[i].tensor), *b = tensor_data(right->item[i].tensor);
        for (int64_t k = 0; k < tensor_numel(left->item[i].tensor); k++) {
            ck_assert_msg(a[k] == b[k] || (isnan(a[k]) && isnan(b[k])), "%s, item %" PRId64 ": %g, expected %g",
                          left->item[i].name, k, (double)a[k], (double)b[k]);
        }
    }
    ag_free(left);
    ag_free(right);
    for (int i = 0; i < 2; i++) {
        ag_free(o[i]);
        ag_free(n[i]);
    }
}

static const Spoiled spoiled[] = {
    { adam, 1 }, { momentum, 1 }, { rmsprop, 1 }, { adam, 0 }, { momentum, 0 }, { rmsprop, 0 }, { normed, 0 },
};

/* As nn_clip_grad_norm clips: the finite gradients are 0, or all are NaN, so that the results are equal. */
START_TEST(a_norm_that_is_not_finite_is_clipped)
{
    Spoiled c = spoiled[_i / 3];
    run_processes(_i % 3 + 1, train_spoiled, &c);
}
END_TEST

static void use_after(NnProcesses *processes, void *arg)
{
    (void)arg;
    Net *n;
    Optimizer *o;
    NnParallel *p = parallel_of(processes, &n, &o);
    while (nn_parallel_shard(p)) learn(n);
    nn_parallel_step(p);
    bool is_first = nn_parallel_end(p);
    learn(n);
    if (is_first) {
        EXPECT_USAGE_ERROR("was divided among processes", nn_optimizer_step(o));
        EXPECT_USAGE_ERROR("was divided among processes", nn_checkpoint_save(in_folder("x"), n, o, NULL));
        EXPECT_USAGE_ERROR("was divided among processes", nn_parallel_new(o, 4, NULL));
    }
    ag_free(o);
    ag_free(n);
}

START_TEST(a_divided_optimizer_is_not_used_alone)
{
    run_processes(2, use_after, NULL);
}
END_TEST

/* In process 1, only the last of two parameters is divided: process 0 has all of it. */
static void end_at_once(NnProcesses *processes, void *arg)
{
    (void)arg;
    ag_seed(5);
    Linear *l = nn_linear_new(3, 2);
    Optimizer *o = nn_sgd_new(l, 1);
    if (!nn_parallel_end(nn_parallel_new(o, 2, processes)))
        EXPECT_USAGE_ERROR("was divided among processes", nn_optimizer_step(o));
    ag_free(o);
    ag_free(l);
}

START_TEST(one_divided_parameter_is_enough)
{
    run_processes(2, end_at_once, NULL);
}
END_TEST

Suite *parallel_suite(void)
{
    Suite *s = suite_create("parallel");
    TCase *c = tcase_create("parallel");
    tcase_add_checked_fixture(c, folder_make, folder_remove);
    tcase_add_loop_test(c, any_number_of_processes_gives_the_same_bits, 0,
                        4 * (int)(sizeof shard_counts / sizeof *shard_counts));
    tcase_add_test(c, muon_gives_the_same_bits_on_any_number_of_processes);
    tcase_add_loop_test(c, a_piece_waits_for_room, 2, 4);
    tcase_add_loop_test(c, a_checkpoint_resumes_on_another_number, 0, 6);
    tcase_add_loop_test(c, whole_runs_are_the_same, 0, N_RUNS);
    tcase_add_loop_test(c, a_step_is_that_of_the_whole_batch, 0, 4);
    tcase_add_loop_test(c, a_step_has_the_mean_of_its_shards, 0, 4);
    tcase_add_test(c, one_shard_is_the_step_of_the_optimizer);
    tcase_add_loop_test(c, buffers_are_those_of_the_first_shard, 1, 6);
    tcase_add_test(c, a_loss_that_is_not_finite_changes_no_buffer);
    tcase_add_test(c, one_step_of_three_has_counts);
    tcase_add_test(c, a_loss_that_is_not_finite_changes_nothing);
    tcase_add_test(c, a_step_is_not_repeated);
    tcase_add_loop_test(c, several_have_numbers_of_their_own, 0, 4);
    tcase_add_test(c, a_step_of_empty_shards_has_the_loss_0);
    tcase_add_loop_test(c, processes_tell_each_other, 0, 4);
    tcase_add_loop_test(c, each_process_can_stop_all, 0, 3);
    tcase_add_test(c, processes_do_not_mix_means_and_sums);
    tcase_add_test(c, all_processes_know_that_a_checkpoint_is_missing);
    tcase_add_loop_exit_test(c, processes_that_differ_end, 1, 0, (int)(sizeof differences / sizeof *differences));
    tcase_add_loop_test(c, data_that_differ_are_told, 0, 4);
    tcase_add_test(c, options_that_differ_are_told);
    tcase_add_test(c, checkpoints_that_differ_are_told);
    tcase_add_exit_test(c, a_silent_process_ends_the_others, 1);
    tcase_add_exit_test(c, a_process_that_will_tell_an_error_is_not_named, 1);
    tcase_add_exit_test(c, a_process_that_waits_is_not_named, 1);
    tcase_add_exit_test(c, processes_that_wait_for_each_other_end, 1);
    tcase_add_test(c, a_process_that_was_stopped_goes_on);
    tcase_add_exit_test(c, more_processes_than_shards_end, 1);
    tcase_add_test(c, wrong_calls_are_told);
    tcase_add_test(c, gradients_that_no_step_uses_are_told);
    tcase_add_test(c, an_infinite_clip_is_no_limit);
    tcase_add_loop_test(c, a_norm_that_is_not_finite_is_clipped, 0, 3 * (int)(sizeof spoiled / sizeof *spoiled));
    tcase_add_test(c, a_divided_optimizer_is_not_used_alone);
    tcase_add_test(c, one_divided_parameter_is_enough);
    suite_add_tcase(s, c);
    return s;
}
