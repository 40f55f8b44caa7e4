/* test_parameters.c: every function that walks over the parameters of a module, on one awkward tree: a tie between two
 * children, a scalar, a vector, a matrix, a kernel of four dimensions, a frozen parameter, and buffers of each type, saved or
 * not. Each function is compared with plain loops over a list that the test writes by hand. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "expected.h"
#include "folder.h"
#include "kaeru/autograd.h"
#include "kaeru/lora.h"
#include "kaeru/parallel.h"
#include "kaeru/tensor_files.h"
#include "suites.h"

/* ---- the tree ---------------------------------------------------------------------------------------------------- */

typedef struct { Module module; Linear *deep; Tensor *vector, *hidden; } Part;

typedef struct {
    Module module;
    Tensor *scalar;
    Linear *first;
    Conv2d *conv;
    Part *part;                 /* part.deep.weight is tied to first.weight */
    Linear *frozen;             /* its weight is frozen, its bias is not */
    BatchNorm *norm;            /* with buffers of reals and of ints */
    Embedding *table;
    Tensor *flags;              /* bools, not trained */
    Tensor *computed;           /* reals, not in files */
} Net;

static Net *net_new(void)
{
    Net *n = nn_new(Net);
    nn_param(n, scalar, ((AgShape){ 0 }));
    nn_child(n, first, nn_linear_new(3, 4));
    nn_child(n, conv, nn_conv2d_new(2, 3, 3));
    nn_child(n, part, nn_new(Part));
    nn_child(n->part, deep, nn_linear_new(3, 4));
    nn_param(n->part, vector, SHAPE(5));
    nn_buffer(n->part, hidden, SHAPE(2, 3));
    nn_tie(n->part->deep, weight, n->first->weight);
    nn_child(n, frozen, nn_linear_new(4, 2));
    tensor_set_requires_grad(n->frozen->weight, false);
    nn_child(n, norm, nn_batch_norm_new(3));
    nn_child(n, table, nn_embedding_new(6, 2));
    nn_buffer_with(n, flags, SHAPE(3), AG_BOOL, true);
    nn_buffer_with(n, computed, SHAPE(2), AG_REAL, false);
    return n;
}

typedef enum { TRAINED, FROZEN, BUFFER, NOT_SAVED } Kind;
typedef struct { const char *name; Tensor *t; Kind kind; } Item;
enum { N_ITEMS = 17 };

/* The tensors, each once, in order of registration. */
static const Item *items(Net *n)
{
    static _Thread_local Item all[2][N_ITEMS];
    static _Thread_local int next;
    const Item list[N_ITEMS] = {
        { "scalar", n->scalar, TRAINED },
        { "first.weight", n->first->weight, TRAINED },
        { "first.bias", n->first->bias, TRAINED },
        { "conv.weight", n->conv->weight, TRAINED },
        { "conv.bias", n->conv->bias, TRAINED },
        { "part.deep.bias", n->part->deep->bias, TRAINED },
        { "part.vector", n->part->vector, TRAINED },
        { "part.hidden", n->part->hidden, BUFFER },
        { "frozen.weight", n->frozen->weight, FROZEN },
        { "frozen.bias", n->frozen->bias, TRAINED },
        { "norm.weight", n->norm->gamma, TRAINED },
        { "norm.bias", n->norm->beta, TRAINED },
        { "norm.running_mean", n->norm->running_mean, BUFFER },
        { "norm.running_var", n->norm->running_var, BUFFER },
        { "norm.num_batches_tracked", n->norm->num_batches_tracked, BUFFER },
        { "table.weight", n->table->weight, TRAINED },
        { "flags", n->flags, BUFFER },
    };
    next = !next;
    memcpy(all[next], list, sizeof list);
    return all[next];
}

/* Item j of tensor i of a net: another number for each, by `salt`. */
static double number(int i, int64_t j, double salt)
{
    return 0.1 * (i + 1) + 0.01 * (double)j + salt;
}

static void set_item(Tensor *t, int i, double salt)
{
    for (int64_t j = 0; j < tensor_numel(t); j++) {
        switch (tensor_dtype(t)) {
        case AG_REAL: tensor_mutable_data(t)[j] = (ag_real)number(i, j, salt); break;
        case AG_INT:  tensor_mutable_int_data(t)[j] = (int32_t)(100 * number(i, j, salt)); break;
        default:      tensor_mutable_bool_data(t)[j] = (int)(100 * number(i, j, salt)) % 2 != 0;
        }
    }
}

static Net *net_of(double salt)
{
    Net *n = net_new();
    for (int i = 0; i < N_ITEMS; i++) set_item(items(n)[i].t, i, salt);
    set_item(n->computed, N_ITEMS, salt);
    return n;
}

/* Value j of a tensor of any type. */
static double value(const Tensor *t, int64_t j)
{
    switch (tensor_dtype(t)) {
    case AG_REAL: return (double)tensor_data(t)[j];
    case AG_INT:  return tensor_int_data(t)[j];
    default:      return tensor_bool_data(t)[j];
    }
}

/* Whether a tensor of any type has the values of another one, to the bit. */
static bool is_same(const Tensor *a, const Tensor *b)
{
    if (tensor_dtype(a) != tensor_dtype(b) || !ag_shape_equal(tensor_shape(a), tensor_shape(b))) return false;
    for (int64_t j = 0; j < tensor_numel(a); j++)
        if (value(a, j) != value(b, j)) return false;
    return true;
}

/* Of each tensor of n, that it has the value of the net `other`; the buffer that is not saved too if `all`. */
static void expect_same(Net *n, Net *other, bool all)
{
    for (int i = 0; i < N_ITEMS; i++)
        ck_assert_msg(is_same(items(n)[i].t, items(other)[i].t), "%s differs", items(n)[i].name);
    ck_assert_msg(is_same(n->computed, other->computed) == all, "the buffer that is not saved");
    ck_assert_ptr_eq(n->part->deep->weight, n->first->weight);
}

/* The factor of the square of tensor i in the loss. */
static double factor(int i)
{
    return i % 4 + 1;
}

/* The gradient of item j of tensor i: the loss is the sum of factor w^2, and of the tied weight by its second name. */
static double gradient(Net *n, int i, int64_t j)
{
    Tensor *t = items(n)[i].t;
    return 2 * factor(i) * value(t, j) + (t == n->part->deep->weight ? 1 : 0);
}

static Tensor *loss_of(Net *n)
{
    Tensor *loss = ag_sum(n->part->deep->weight);
    for (int i = 0; i < N_ITEMS; i++)
        if (tensor_dtype(items(n)[i].t) == AG_REAL)
            loss = ag_add(loss, ag_scale(ag_sum(ag_mul(items(n)[i].t, items(n)[i].t)), factor(i)));
    return loss;
}

static void backward(Net *n)
{
    AgScope s = ag_begin(AG_RECORD);
    ag_backward(loss_of(n));
    ag_end(s);
}

static double norm_of_gradients(Net *n)
{
    double sum = 0;
    for (int i = 0; i < N_ITEMS; i++)
        for (int64_t j = 0; items(n)[i].kind == TRAINED && j < tensor_numel(items(n)[i].t); j++)
            sum += gradient(n, i, j) * gradient(n, i, j);
    return sqrt(sum);
}

/* A float has 24 bits. */
#define EXPECT_NEAR(name, found, expected) \
    ck_assert_msg(fabs((found) - (expected)) <= 1e-5 * (1 + fabs(expected)), "%s is %.9g, expected %.9g", name, found, expected)

/* ---- lists, modes, sums ------------------------------------------------------------------------------------------ */

START_TEST(lists)
{
    Net *n = net_of(0);
    NnParameters *p = nn_parameters(n);
    ck_assert_int_eq(p->n, N_ITEMS + 1);
    for (int i = 0; i < N_ITEMS; i++) {
        const Item *item = &items(n)[i];
        ck_assert_str_eq(p->item[i].name, item->name);
        ck_assert_ptr_eq(p->item[i].tensor, item->t);
        ck_assert_msg(p->item[i].trained == (item->kind == TRAINED), "%s", item->name);
        ck_assert_ptr_eq(nn_find(n, item->name), item->t);
        ck_assert_str_eq(tensor_get_name(item->t), item->name);
    }
    ck_assert_str_eq(p->item[N_ITEMS].name, "computed");
    ck_assert_ptr_eq(nn_find(n, "part.deep.weight"), n->first->weight);
    ck_assert_ptr_null(nn_find(n, "part.deep"));
    ag_free(p);
    ag_free(n);
}
END_TEST

/* Removes the commas between the digits of numbers. */
static void ungroup(char *text)
{
    for (char *c = text; *c; c++)
        if (*c == ',' && c[1] >= '0' && c[1] <= '9') memmove(c, c + 1, strlen(c));
}

START_TEST(counts)
{
    Net *n = net_of(0);
    int64_t trained = 0, fixed = tensor_numel(n->computed), bytes = fixed * (int64_t)sizeof(ag_real);
    for (int i = 0; i < N_ITEMS; i++) {
        const Item *item = &items(n)[i];
        int64_t size = tensor_dtype(item->t) == AG_REAL ? (int64_t)sizeof(ag_real) : tensor_dtype(item->t) == AG_INT ? 4 : 1;
        *(item->kind == TRAINED ? &trained : &fixed) += tensor_numel(item->t);
        bytes += size * tensor_numel(item->t);
    }
    ck_assert_int_eq(nn_count(n), trained);
    FILE *f = tmpfile();
    nn_summary(n, f);
    char expected[128], *text = text_of(f);
    snprintf(expected, sizeof expected, "%d parameters, %d numbers that are not trained, %d bytes", (int)trained, (int)fixed,
             (int)bytes);
    ungroup(text);
    ck_assert_msg(strstr(text, expected), "expected \"%s\" in:\n%s", expected, text);
    free(text);
    ag_free(n);
}
END_TEST

START_TEST(gradients_and_their_norm)
{
    Net *n = net_of(0);
    double norm = norm_of_gradients(n), limit = norm / 3;
    backward(n);
    EXPECT_NEAR("the norm", nn_grad_norm(n), norm);
    EXPECT_NEAR("the norm without a limit", nn_clip_grad_norm(n, 0), norm);
    EXPECT_NEAR("the norm before clipping", nn_clip_grad_norm(n, limit), norm);
    for (int i = 0; i < N_ITEMS; i++) {
        const Item *item = &items(n)[i];
        const ag_real *g = tensor_dtype(item->t) == AG_REAL ? tensor_grad_data(item->t) : NULL;
        ck_assert_msg((g != NULL) == (item->kind == TRAINED), "%s", item->name);
        for (int64_t j = 0; g && j < tensor_numel(item->t); j++)
            EXPECT_NEAR(item->name, (double)g[j], gradient(n, i, j) * limit / norm);
    }
    nn_zero_grad(n);
    for (int i = 0; i < N_ITEMS; i++)
        ck_assert_msg(tensor_dtype(items(n)[i].t) != AG_REAL || !tensor_grad_data(items(n)[i].t), "%s", items(n)[i].name);
    ag_free(n);
}
END_TEST

/* ---- optimizers and averages ------------------------------------------------------------------------------------- */

enum { LR_FACTOR = 2 };
static const double lr = 0.01, decay = 0.5, clip = 1;

/* SGD with weight decay for matrices and kernels alone; the others have twice the learning rate. */
static Optimizer *sgd_new(Net *n)
{
    Optimizer *o = nn_sgd_new_with(n, (AgSgd){ .lr = lr, .weight_decay = decay });
    int others = 0;
    for (int i = 0; i < N_ITEMS; i++) others += items(n)[i].kind == TRAINED && tensor_ndim(items(n)[i].t) < 2;
    ck_assert_int_eq(nn_optimizer_group(o, nn_is_not_matrix, NULL, 0, LR_FACTOR), others);
    return o;
}

/* What a step of sgd_new makes of item j of tensor i of the net `before`. */
static double stepped(Net *before, int i, int64_t j, double scale)
{
    const Item *item = &items(before)[i];
    double w = value(item->t, j);
    if (item->kind != TRAINED) return w;
    bool is_matrix = tensor_ndim(item->t) >= 2;
    return w - lr * (is_matrix ? 1 : LR_FACTOR) * (scale * gradient(before, i, j) + (is_matrix ? decay * w : 0));
}

static void expect_stepped(Net *n, Net *before, double scale)
{
    for (int i = 0; i < N_ITEMS; i++)
        for (int64_t j = 0; j < tensor_numel(items(n)[i].t); j++)
            EXPECT_NEAR(items(n)[i].name, value(items(n)[i].t, j), stepped(before, i, j, scale));
}

START_TEST(groups_of_an_optimizer)
{
    Net *n = net_of(0), *before = net_of(0);
    Optimizer *o = sgd_new(n);
    backward(n);
    nn_optimizer_step(o);
    expect_stepped(n, before, 1);
    ag_free(o);
    ag_free(before);
    ag_free(n);
}
END_TEST

START_TEST(steps_of_processes)
{
    Net *n = net_of(0), *before = net_of(0);
    Optimizer *o = sgd_new(n);
    NnParallel *p = nn_parallel_new_with(o, (NnParallelOptions){ .shards = 2, .clip = clip }, NULL);
    while (nn_parallel_shard(p)) backward(n);
    nn_parallel_step(p);
    expect_stepped(n, before, clip / norm_of_gradients(before));
    ag_free(p);
    ag_free(o);
    ag_free(before);
    ag_free(n);
}
END_TEST

START_TEST(moving_averages)
{
    Net *average = net_of(0), *before = net_of(0), *n = net_of(7);
    nn_ema_update(average, n, 0.75);
    for (int i = 0; i < N_ITEMS; i++)
        for (int64_t j = 0; j < tensor_numel(items(n)[i].t); j++) {
            double w = value(items(n)[i].t, j), a = value(items(before)[i].t, j);
            EXPECT_NEAR(items(n)[i].name, value(items(average)[i].t, j), items(n)[i].kind == TRAINED ? 0.75 * a + 0.25 * w : w);
        }
    ck_assert(is_same(average->computed, n->computed));
    ag_free(n);
    ag_free(before);
    ag_free(average);
}
END_TEST

START_TEST(averages_of_checkpoints)
{
    enum { N = 3 };
    const char *path[N] = { in_folder("0"), in_folder("1"), in_folder("2") };
    const double salt[N] = { 0, 1, 5 };
    Net *n = net_of(9), *before = net_of(9);
    for (int k = 0; k < N; k++) {
        Net *part = net_of(salt[k]);
        expect_done(nn_save(path[k], part));
        ag_free(part);
    }
    expect_done(nn_average_checkpoints(n, path, N));
    for (int i = 0; i < N_ITEMS; i++)
        for (int64_t j = 0; j < tensor_numel(items(n)[i].t); j++) {
            bool is_real = tensor_dtype(items(n)[i].t) == AG_REAL;
            EXPECT_NEAR(items(n)[i].name, value(items(n)[i].t, j),
                        is_real ? number(i, j, (salt[0] + salt[1] + salt[2]) / N) : value(items(before)[i].t, j));
        }
    ck_assert(is_same(n->computed, before->computed));
    ag_free(before);
    ag_free(n);
}
END_TEST

/* ---- copies and files -------------------------------------------------------------------------------------------- */

START_TEST(clones)
{
    Net *n = net_of(0), *same = net_of(0), *copy = nn_clone(n);
    expect_same(copy, n, true);
    for (int i = 0; i < N_ITEMS; i++) {
        const Item *item = &items(copy)[i];
        ck_assert_ptr_ne(item->t, items(n)[i].t);
        ck_assert_msg(tensor_requires_grad(item->t) == (item->kind == TRAINED), "%s", item->name);
        set_item(item->t, i, 3);
    }
    expect_same(n, same, true);
    ag_free(copy);
    ag_free(same);
    ag_free(n);
}
END_TEST

/* A file has each tensor once, by its first name, without what is not saved; `without_frozen`: nor frozen parameters. */
static void check_names(const char *path, Net *n, bool without_frozen)
{
    NnTensorFile *f = tensor_file_open(path);
    ck_assert_msg(f != NULL, "%s", ag_error());
    int expected = 0;
    for (int i = 0; i < N_ITEMS; i++) {
        bool is_there = items(n)[i].kind != FROZEN || !without_frozen;
        ck_assert_msg((tensor_file_find(f, items(n)[i].name) != NULL) == is_there, "%s", items(n)[i].name);
        expected += is_there;
    }
    int found = 0;
    for (int i = 0; i < tensor_file_count(f); i++)
        found += strncmp(tensor_file_item(f, i)->name, "optimizer.", strlen("optimizer.")) != 0;
    ck_assert_int_eq(found, expected);
    ag_free(f);
}

START_TEST(weights_in_files)
{
    Net *n = net_of(0), *other = net_of(4);
    expect_done(nn_save(in_folder("weights"), n));
    check_names(in_folder("weights"), n, false);
    expect_done(nn_load(in_folder("weights"), other));
    expect_same(other, n, false);
    ag_free(other);
    ag_free(n);
}
END_TEST

/* Two steps are the same as one, a checkpoint in another net, and one. `trained`: the checkpoint has no frozen parameters. */
static void check_checkpoint(bool trained)
{
    Net *n = net_of(0), *other = net_of(4);
    Optimizer *o = nn_adamw_new(n, 0.1), *again = nn_adamw_new(other, 0.1);
    backward(n);
    nn_optimizer_step(o);
    const char *path = in_folder("checkpoint");
    expect_done(trained ? nn_checkpoint_save_trained(path, n, o, NULL) : nn_checkpoint_save(path, n, o, NULL));
    check_names(path, n, trained);
    expect_done(nn_checkpoint_load(path, other, again, NULL));
    if (trained) {
        ck_assert(!is_same(other->frozen->weight, n->frozen->weight));
        tensor_copy(other->frozen->weight, n->frozen->weight);
    }
    backward(n);
    nn_optimizer_step(o);
    backward(other);
    nn_optimizer_step(again);
    expect_same(other, n, false);
    ag_free(again);
    ag_free(o);
    ag_free(other);
    ag_free(n);
}

START_TEST(checkpoints) { check_checkpoint(false); }
END_TEST

START_TEST(checkpoints_without_what_is_frozen) { check_checkpoint(true); }
END_TEST

/* ---- precision, freezing, adapters ------------------------------------------------------------------------------- */

START_TEST(packed_weights)
{
    Net *n = net_of(0), *same = net_of(0);
    nn_pack_weights(n, true);
    expect_same(n, same, true);
    nn_pack_weights(n, false);
    expect_same(n, same, true);
    ag_free(same);
    ag_free(n);
}
END_TEST

START_TEST(frozen_in_two_bytes)
{
    Net *n = net_of(0), *same = net_of(0);
    nn_freeze_bf16(n);
    for (int i = 0; i < N_ITEMS; i++) {
        const Item *item = &items(n)[i];
        /* first.weight, which is tied, has rows of 3: they stay reals */
        bool packed = item->t == n->frozen->weight || item->t == n->table->weight;
        ck_assert_msg((tensor_dtype(item->t) == AG_PACKED) == packed, "%s", item->name);
        ck_assert_msg(!tensor_requires_grad(item->t), "%s", item->name);
        ck_assert_msg(packed || is_same(item->t, items(same)[i].t), "%s", item->name);
    }
    ck_assert_int_eq(nn_count(n), 0);
    ag_free(same);
    ag_free(n);
}
END_TEST

START_TEST(adapters)
{
    static const char *const targets[] = { "first", "frozen", NULL };
    Net *n = net_of(0), *same = net_of(0);
    expect_done(nn_lora_add(n, (NnLoraOptions){ .rank = 1, .alpha = 2, .targets = targets }));
    for (int i = 0; i < N_ITEMS; i++) ck_assert_msg(!tensor_requires_grad(items(n)[i].t), "%s", items(n)[i].name);
    ck_assert_int_eq(nn_count(n), (3 + 4) + (4 + 2));
    expect_same(n, same, true);
    nn_lora_merge(n);                               /* B is 0 */
    expect_same(n, same, true);
    NnParameters *p = nn_parameters(n);
    ck_assert_int_eq(p->n, N_ITEMS + 1);
    ag_free(p);
    ag_free(same);
    ag_free(n);
}
END_TEST

/* Each item of each tensor counts in a hash, also one of int or bool. */
START_TEST(hashes)
{
    Net *n = net_of(0);
    for (int i = 0; i < N_ITEMS; i++) {
        Tensor *t = items(n)[i].t;
        for (int64_t j = 0; j < tensor_numel(t); j++) {
            uint64_t before = tensor_hash(t, 5);
            switch (tensor_dtype(t)) {
            case AG_REAL: tensor_mutable_data(t)[j] += 1; break;
            case AG_INT:  tensor_mutable_int_data(t)[j] += 1; break;
            default:      tensor_mutable_bool_data(t)[j] ^= 1;
            }
            ck_assert_msg(tensor_hash(t, 5) != before, "%s, item %d", items(n)[i].name, (int)j);
        }
    }
    ag_free(n);
}
END_TEST

static void expect_mode(const Module *m, bool training)
{
    NnParameters *p = nn_parameters((void *)m);
    for (int i = 0; i < p->n; i++) ck_assert_msg(p->item[i].owner->training == training, "%s", p->item[i].name);
    ag_free(p);
}

START_TEST(modes)
{
    Net *n = net_of(0);
    nn_eval(n);
    expect_mode(&n->module, false);
    nn_train(n->part);
    expect_mode(&n->part->module, true);
    ck_assert(!n->module.training && !n->norm->module.training);
    Net *copy = nn_clone(n);
    expect_mode(&copy->part->module, true);
    ck_assert(!copy->module.training && !copy->norm->module.training);
    nn_train(n);
    expect_mode(&n->module, true);
    ag_free(copy);
    ag_free(n);
}
END_TEST

Suite *parameters_suite(void)
{
    Suite *suite = suite_create("parameters");
    TCase *c = tcase_create("an awkward tree");
    tcase_add_checked_fixture(c, folder_make, folder_remove);
    tcase_add_test(c, lists);
    tcase_add_test(c, counts);
    tcase_add_test(c, gradients_and_their_norm);
    tcase_add_test(c, groups_of_an_optimizer);
    tcase_add_test(c, steps_of_processes);
    tcase_add_test(c, moving_averages);
    tcase_add_test(c, averages_of_checkpoints);
    tcase_add_test(c, clones);
    tcase_add_test(c, weights_in_files);
    tcase_add_test(c, checkpoints);
    tcase_add_test(c, checkpoints_without_what_is_frozen);
    tcase_add_test(c, packed_weights);
    tcase_add_test(c, frozen_in_two_bytes);
    tcase_add_test(c, adapters);
    tcase_add_test(c, hashes);
    tcase_add_test(c, modes);
    suite_add_tcase(suite, c);
    return suite;
}
