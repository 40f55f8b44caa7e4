/* test_load.c: loading with options, what modules hold beside parameters, and optimizers of one's own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expected.h"
#include "faults.h"
#include "folder.h"
#include "io_faults.h"
#include "kaeru/autograd.h"
#include "kaeru/tensor_files.h"
#include "suites.h"
#include "usage_error.h"

#define FILES TEST_FIXTURES "/files/"

/* ---- the model of the fixture ------------------------------------------------------------------------------------ */

typedef struct { Module module; Tensor *weight; } Norm;
typedef struct { Module module; Linear *fc; Norm *norm; } Backbone;
typedef struct { Module module; Backbone *model; Linear *head; } Whole;

static Backbone *backbone_new(void)
{
    Backbone *b = nn_new(Backbone);
    Norm *norm = nn_new(Norm);
    nn_param(norm, weight, SHAPE(3));
    nn_child(b, fc, nn_linear_new(2, 3));
    nn_child(b, norm, norm);
    return b;
}

static Whole *whole_new(void)
{
    Whole *w = nn_new(Whole);
    nn_child(w, model, backbone_new());
    nn_child(w, head, nn_linear_new_no_bias(3, 4));
    return w;
}

/* A message that names each tensor of the report: "-a -b +c". */
static const char *report_text(NnLoadReport *r)
{
    static char text[512];
    size_t n = 0;
    text[0] = '\0';
    for (int i = 0; i < r->n_missing; i++) n += (size_t)snprintf(text + n, sizeof text - n, "-%s ", r->missing[i]);
    for (int i = 0; i < r->n_unexpected; i++) n += (size_t)snprintf(text + n, sizeof text - n, "+%s ", r->unexpected[i]);
    ag_free(r);
    return text;
}

/* ---- nn_load_with ------------------------------------------------------------------------------------------------ */

START_TEST(one_file_and_shards_give_the_same_weights)
{
    Whole *first = whole_new(), *other = whole_new();
    expect_done(nn_load(FILES "model.safetensors", first));
    for (int i = 0; i < 4; i++) {
        ag_fill(other->model->fc->weight, 7);
        const char *path = i % 2 ? FILES "model.safetensors.index.json" : FILES "model.safetensors";
        expect_done(nn_load_with(path, other, (NnLoadOptions){ .in_place = i / 2 }));
        check_same_parameters(first, other);
    }
    ag_free(first);
    ag_free(other);
}
END_TEST

START_TEST(a_prefix_loads_a_part_and_a_part_is_loaded_into_the_whole)
{
    Whole *whole = whole_new(), *other = whole_new();
    Backbone *part = backbone_new();
    NnLoadReport *report;
    expect_done(nn_load(FILES "model.safetensors", whole));
    expect_refused(nn_load(FILES "model.safetensors", part), "missing: \"fc.weight\", \"fc.bias\", \"norm.weight\"");
    expect_done(nn_load_with(FILES "model.safetensors", part, (NnLoadOptions){ .prefix = "model.", .report = &report }));
    ck_assert_str_eq(report_text(report), "");
    check_same_parameters(whole->model, part);

    expect_done(nn_save(in_folder("part"), part));
    expect_done(nn_load_with(in_folder("part"), other->model, (NnLoadOptions){ .in_place = true }));
    check_same_parameters(whole->model, other->model);
    expect_refused(nn_load_with(FILES "model.safetensors", part, (NnLoadOptions){ .prefix = "mode" }),
                   "missing: \"fc.weight\"");
    ag_free(whole);
    ag_free(other);
    ag_free(part);
}
END_TEST

START_TEST(missing_and_unexpected_names_are_allowed_and_reported)
{
    typedef struct { Module module; Linear *head, *extra; } Half;
    Whole *whole = whole_new();
    Half *half = nn_new(Half);
    nn_child(half, head, nn_linear_new_no_bias(3, 4));
    nn_child(half, extra, nn_linear_new(1, 1));
    ag_fill(half->extra->weight, 5);
    expect_done(nn_load(FILES "model.safetensors", whole));
    NnLoadReport *report;
    const char *path = FILES "model.safetensors";
    expect_refused(nn_load_with(path, half, (NnLoadOptions){ .allow_missing = true, .report = &report }),
                   "model.safetensors: unexpected: \"model.fc.bias\", \"model.fc.weight\", \"model.norm.weight\"");
    const char *text = "-extra.weight -extra.bias +model.fc.bias +model.fc.weight +model.norm.weight ";
    ck_assert_str_eq(report_text(report), text);
    expect_refused(nn_load_with(path, half, (NnLoadOptions){ .allow_unexpected = true }),
                   "model.safetensors: missing: \"extra.weight\", \"extra.bias\"");
    expect_done(nn_load_with(path, half, (NnLoadOptions){ .allow_missing = true, .allow_unexpected = true,
                                                         .report = &report }));
    ck_assert_str_eq(report_text(report), text);
    check_same_parameters(whole->head, half->head);
    ck_assert(tensor_data(half->extra->weight)[0] == 5);
    ag_free(whole);
    ag_free(half);
}
END_TEST

/* Names of an older model: "fc" was "linear", and the norm had a gain. */
static void old_names(void *arg, const char *name, char *out, size_t size)
{
    ck_assert_str_eq(arg, "argument");
    ck_assert_str_eq(out, name);
    if (strncmp(name, "fc.", 3) == 0) snprintf(out, size, "linear.%s", name + 3);
    if (strcmp(name, "norm.weight") == 0) snprintf(out, size, "gain");
}

/* Uses all of the room. */
static void longest_names(void *arg, const char *name, char *out, size_t size)
{
    (void)arg;
    memset(out, *name, size - 1);
    out[size - 1] = '\0';
}

START_TEST(names_are_translated)
{
    Backbone *part = backbone_new(), *other = backbone_new();
    expect_done(tensor_save(in_folder("old.safetensors"), { "old.linear.weight", part->fc->weight },
                            { "old.linear.bias", part->fc->bias }, { "old.gain", part->norm->weight }));
    NnLoadOptions options = { .prefix = "old.", .rename = old_names, .arg = "argument" };
    expect_done(nn_load_with(in_folder("old.safetensors"), other, options));
    check_same_parameters(part, other);
    expect_done(tensor_save(in_folder("old.safetensors"), { "old.linear.weight", part->fc->bias },
                            { "old.linear.bias", part->fc->bias }, { "old.gain", part->norm->weight }));
    expect_refused(nn_load_with(in_folder("old.safetensors"), other, options),
                   "wrong shape: \"old.linear.weight\" is (3,), expected (3, 2)");
    expect_refused(nn_load_with(in_folder("old.safetensors"), other, (NnLoadOptions){ .rename = longest_names }),
                   "missing: \"fc.weight\", \"fc.bias\", \"norm.weight\"");
    ag_free(part);
    ag_free(other);
}
END_TEST

static bool is_weight(void *arg, const char *name)
{
    ck_assert_str_eq(arg, "argument");
    return strcmp(name, "weight") == 0 || strcmp(name, "bias") == 0;
}

/* A bias has one dimension and is never transposed. */
START_TEST(transposed_matrices_are_read)
{
    Linear *l = nn_linear_new(2, 3), *other = nn_linear_new(2, 3);
    AgScope s = ag_begin(AG_NO_GRAD);
    expect_done(tensor_save(in_folder("t.npz"), { "weight", ag_transpose(l->weight, 0, 1) }, { "bias", l->bias }));
    for (int in_place = 0; in_place < 2; in_place++) {
        NnLoadOptions options = { .transposed = is_weight, .arg = "argument", .in_place = in_place };
        tensor_copy(other->weight, ag_scale(l->weight, 2));
        expect_done(nn_load_with(in_folder("t.npz"), other, options));
        check_same_parameters(l, other);
        expect_done(nn_save(in_folder("a"), l));
        expect_refused(nn_load_with(in_folder("a"), other, options),
                       "wrong shape: \"weight\" is (3, 2), expected (2, 3)");
        check_same_parameters(l, other);
    }
    ag_end(s);
    ag_free(l);
    ag_free(other);
}
END_TEST

/* Matrices with more numbers than a part that is read or written at once, and a bias of an odd size. */
START_TEST(large_matrices_are_rounded_in_parts)
{
    enum { ROWS = 1031, HALF = 512, BYTES = ROWS * HALF * 4 };
    Linear *l = nn_linear_new(2 * HALF, ROWS);
    uint32_t *rows = malloc(BYTES);
    AgScope s = ag_begin(AG_NO_GRAD);
    const void *expected = tensor_int_data(ag_to_bf16(l->weight));
    expect_done(nn_save(in_folder("reals"), l));
    expect_done(nn_save_bf16(in_folder("rounded"), l));
    for (int i = 0; i < 3; i++) {                               /* as they are, rounded in place, and rounded before that */
        Linear *packed = nn_linear_new(2 * HALF, ROWS);
        nn_freeze_bf16(packed);
        const char *path = in_folder(i ? "reals" : "rounded");
        expect_done(nn_load_with(path, packed, (NnLoadOptions){ .in_place = i < 2, .round = i }));
        ag_packed_read(packed->weight, 0, ROWS, rows);
        ck_assert(memcmp(rows, expected, BYTES) == 0);
        expect_done(nn_save_bf16(in_folder("again"), packed));
        folder_same("again", "rounded");
        ag_free(packed);
    }
    ag_end(s);
    free(rows);
    ag_free(l);
}
END_TEST

START_TEST(transposed_matrices_are_not_kept_in_two_bytes)
{
    Linear *l = nn_linear_new_no_bias(3, 2), *packed = nn_linear_new_no_bias(2, 3);
    nn_freeze_bf16(packed);
    expect_done(nn_save_bf16(in_folder("a"), l));
    for (int in_place = 0; in_place < 2; in_place++) {
        NnLoadOptions options = { .transposed = is_weight, .arg = "argument", .in_place = in_place };
        expect_refused(nn_load_with(in_folder("a"), packed, options),
                       "tensor \"weight\": is transposed: a matrix kept in bfloat16 cannot be");
    }
    ag_free(packed);
    ag_free(l);
}
END_TEST

static void note_share(void *arg, double share)
{
    double *last = arg;
    ck_assert(share == *last + 0.25);
    *last = share;
}

START_TEST(the_share_that_was_read_rises)
{
    Whole *w = whole_new();
    double last = -0.25;
    expect_done(nn_load_with(FILES "model.safetensors", w, (NnLoadOptions){ .progress = note_share, .arg = &last }));
    ck_assert(last == 0.75);
    ag_free(w);
}
END_TEST

START_TEST(weights_come_from_numpy_too)
{
    Linear *l = nn_linear_new(2, 3), *other = nn_linear_new(2, 3);
    expect_done(tensor_save(in_folder("l.npz"), { "weight", l->weight }, { "bias", l->bias }));
    expect_done(nn_load_with(in_folder("l.npz"), other, (NnLoadOptions){ .in_place = true }));
    check_same_parameters(l, other);
    ag_fill(other->weight, 7);
    expect_done(nn_load(in_folder("l.npz"), other));
    check_same_parameters(l, other);
    static const char torch[16] = "PK\3\4\0\0\10\10\0\0\0\0\0\0xx";
    FILE *f = fopen(in_folder("model.pt"), "wb");
    ck_assert_uint_eq(fwrite(torch, 1, sizeof torch, f), sizeof torch);
    fclose(f);
    expect_refused(nn_load(in_folder("model.pt"), other), "convert one of torch.save");
    ag_free(l);
    ag_free(other);
}
END_TEST

START_TEST(a_file_that_does_not_fit_changes_nothing)
{
    typedef struct { Module module; Linear *a, *b; Tensor *ids; } Tied;
    Tied *t = nn_new(Tied), *before;
    nn_child(t, a, nn_linear_new_no_bias(2, 2));
    nn_child(t, b, nn_linear_new_no_bias(2, 2));
    nn_tie(t->b, weight, t->a->weight);
    nn_buffer_with(t, ids, SHAPE(2), AG_INT, true);
    before = nn_clone(t);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *one = tensor_ones(SHAPE(2, 2)), *zero = tensor_zeros(SHAPE(2, 2)), *ids = tensor_ints(SHAPE(2), NULL);
    for (int in_place = 0; in_place < 2; in_place++) {
        NnLoadOptions options = { .in_place = in_place };
        expect_done(tensor_save(in_folder("a.npz"), { "a.weight", one }, { "b.weight", zero }, { "ids", ids }));
        expect_refused(nn_load_with(in_folder("a.npz"), t, options),
                       "\"a.weight\" and \"b.weight\" are one tensor in the model, but differ in the file");
        expect_done(tensor_save(in_folder("a.npz"), { "a.weight", one }, { "ids", tensor_ones(SHAPE(2)) }));
        expect_refused(nn_load_with(in_folder("a.npz"), t, options), "tensor \"ids\": expected whole numbers, found F");
        if (!in_place) check_same_parameters(t->a, before->a);
        expect_done(tensor_save(in_folder("a.npz"), { "a.weight", one }, { "b.weight", one }, { "ids", ids }));
        expect_done(nn_load_with(in_folder("a.npz"), t, options));
        ck_assert(tensor_data(t->b->weight)[3] == 1);
        tensor_copy(t->a->weight, before->a->weight);
    }
    ag_end(s);
    ag_free(t);
    ag_free(before);
}
END_TEST

static bool in_place;
static void try_load(void)
{
    Whole *w = whole_new();
    NnLoadReport *report = NULL;
    nn_load_with(FILES "model.safetensors.index.json", w, (NnLoadOptions){ .in_place = in_place, .report = &report });
    ag_free(report);
    ag_free(w);
}

START_TEST(failing_allocations_leak_nothing)
{
    in_place = _i;
    int64_t requests = faults_everywhere(try_load, false);
    if (faults_work()) ck_assert_int_gt(requests, 8);
}
END_TEST

/* ---- buffers, names, destructors --------------------------------------------------------------------------------- */

typedef struct { Module module; Tensor *w[3], *ids, *mask, *table; int *freed; } Net;

static void net_destroy(void *self)
{
    Net *net = self;
    ck_assert_int_eq(tensor_numel(net->w[0]), 4);               /* the parts are still there */
    ++*net->freed;
}

static Net *net_new(void)
{
    Net *net = nn_new(Net);
    for (int i = 0; i < 3; i++) ag_fill_normal(nn_param_named(net, w[i], SHAPE(2, 2), "w%d", i), 0, 1);
    nn_buffer_with(net, ids, SHAPE(3), AG_INT, true);
    nn_buffer_with(net, mask, SHAPE(2), AG_BOOL, true);
    nn_buffer_with(net, table, SHAPE(2), AG_REAL, false);
    return net;
}

static void fill(Net *net, int first)
{
    for (int i = 0; i < 3; i++) tensor_mutable_int_data(net->ids)[i] = first + i;
    tensor_mutable_bool_data(net->mask)[1] = first > 0;
    ag_fill(net->table, first);
}

START_TEST(parameters_of_loops_have_printed_names)
{
    Net *net = net_new();
    ck_assert_ptr_eq(nn_find(net, "w2"), net->w[2]);
    ck_assert(tensor_requires_grad(net->w[2]) && !tensor_requires_grad(net->table));
    ck_assert_int_eq(nn_count(net), 12);
    EXPECT_USAGE_ERROR("nn_add_tensor: Net already has a \"w1\"", nn_param_named(net, w[0], SHAPE(1), "w%d", 1));
    EXPECT_USAGE_ERROR("cannot be a name in Net", nn_param_named(net, w[0], SHAPE(1), "%048d", 1));
    EXPECT_USAGE_ERROR("nn_add_tensor: the name is NULL",
                       nn_add_tensor(&net->module, &net->w[0], SHAPE(1), AG_REAL, true, true, NULL));
    ag_free(net);
}
END_TEST

START_TEST(buffers_have_types_and_some_are_not_saved)
{
    Net *net = net_new(), *other = net_new();
    ck_assert_ptr_eq(nn_find(net, "table"), net->table);
    fill(net, 3);
    fill(other, 0);
    expect_done(nn_save(in_folder("a.safetensors"), net));
    NnTensorFile *f = tensor_file_open(in_folder("a.safetensors"));
    ck_assert_int_eq(tensor_file_count(f), 5);
    ck_assert_str_eq(tensor_file_find(f, "ids")->type, "I32");
    ck_assert_str_eq(tensor_file_find(f, "mask")->type, "BOOL");
    ck_assert_ptr_null(tensor_file_find(f, "table"));
    ag_free(f);
    expect_done(nn_load(in_folder("a.safetensors"), other));
    ck_assert_int_eq(tensor_int_data(other->ids)[2], 5);
    ck_assert_int_eq(tensor_bool_data(other->mask)[1], 1);
    ck_assert(tensor_data(other->table)[0] == 0);
    Net *copy = nn_clone(net);
    ck_assert_int_eq(tensor_int_data(copy->ids)[0], 3);
    ck_assert(tensor_data(copy->table)[1] == 3);
    expect_done(nn_save(in_folder("b.safetensors"), copy));
    folder_same("a.safetensors", "b.safetensors");

    const char *half = in_folder("half.safetensors");
    expect_done(nn_save_bf16(half, net));
    f = tensor_file_open(half);
    ck_assert_str_eq(tensor_file_find(f, "w0")->type, "BF16");
    ck_assert_str_eq(tensor_file_find(f, "ids")->type, "I32");
    ck_assert_str_eq(tensor_file_find(f, "mask")->type, "BOOL");
    ag_free(f);
    fill(other, 0);
    expect_done(nn_load(half, other));
    ck_assert(tensor_int_data(other->ids)[2] == 5 && tensor_bool_data(other->mask)[1] == 1);

    fill(other, 7);                                             /* the mean is of reals; the others stay */
    expect_done(nn_average_checkpoints(other, &half, 1));
    ck_assert_int_eq(tensor_int_data(other->ids)[2], 9);
    ag_fill(net->w[1], -INFINITY);                              /* as in a mask of reals */
    expect_done(nn_save(half, net));
    expect_done(nn_average_checkpoints(other, (const char *[]){ half, half }, 2));
    ck_assert(tensor_data(other->w[1])[0] == -INFINITY);
    ag_fill(net->w[1], 5);                                      /* infinite in one of three files */
    const char *finite = in_folder("finite.safetensors");
    expect_done(nn_save(finite, net));
    for (int i = 0; i < 2; i++) {
        expect_done(nn_average_checkpoints(other, (const char *[]){ i ? half : finite, i ? finite : half, finite }, 3));
        ck_assert(tensor_data(other->w[1])[0] == -INFINITY);
    }
    if (sizeof(ag_real) == 4) {
        const char *path = in_folder("linear.safetensors");
        Linear *l = nn_linear_new(4, 4);
        expect_done(nn_save_bf16(path, l));
        nn_freeze_bf16(l);
        expect_refused(nn_average_checkpoints(l, &path, 1), "weight is in two bytes, expected reals for a mean");
        ag_free(l);
    }

    expect_done(tensor_save(in_folder("a.safetensors"), { "w0", net->w[0] }, { "w1", net->w[1] }, { "w2", net->w[2] },
                            { "ids", net->ids }, { "mask", net->mask }, { "table", net->table }));
    expect_refused(nn_load(in_folder("a.safetensors"), other), "a.safetensors: unexpected: \"table\"");
    Net *empty = nn_new(Net);
    EXPECT_USAGE_ERROR("7 is not an AgDType",
                       nn_add_tensor(&empty->module, &empty->w[0], SHAPE(1), (AgDType)7, false, true, "x"));
    ag_free(empty);
    ag_free(net);
    ag_free(other);
    ag_free(copy);
}
END_TEST

START_TEST(a_tie_to_a_buffer_that_is_not_saved_is_not_saved)
{
    typedef struct { Module module; Net *left, *right; Tensor *other; } Two;
    Two *two = nn_new(Two);
    nn_child(two, left, net_new());
    nn_child(two, right, net_new());
    nn_tie(two->right, table, two->left->table);
    nn_tie(two, other, two->left->table);
    expect_done(nn_save(in_folder("a"), two));
    expect_done(nn_load(in_folder("a"), two));
    NnTensorFile *f = tensor_file_open(in_folder("a"));
    ck_assert_int_eq(tensor_file_count(f), 10);
    ag_free(f);
    ag_free(two);
}
END_TEST

START_TEST(gradients_of_modules_with_other_types_are_clipped)
{
    Net *net = net_new();
    AgScope s = ag_begin(AG_RECORD);
    ag_backward(ag_sum(ag_scale(net->w[0], 100)));
    ag_end(s);
    ck_assert(nn_clip_grad_norm(net, 1) > 199);
    ck_assert_double_eq_tol(nn_grad_norm(net), 1, 1e-5);
    nn_zero_grad(net);
    FILE *out = tmpfile();
    nn_summary(net, out);
    fclose(out);
    ag_free(net);
}
END_TEST

START_TEST(a_destructor_is_called_once_before_the_parts_are_freed)
{
    typedef struct { Module module; Net *inner; } Outer;
    int freed = 0;
    Outer *outer = nn_new(Outer);
    nn_child(outer, inner, net_new());
    outer->inner->freed = &freed;
    outer->inner->module.destroy = net_destroy;
    EXPECT_USAGE_ERROR("nn_clone: a Net has a function that destroys it", nn_clone(outer));
    ck_assert_int_eq(freed, 0);
    ag_free(outer);
    ck_assert_int_eq(freed, 1);
}
END_TEST

/* ---- Muon -------------------------------------------------------------------------------------------------------- */

typedef struct { double momentum; } MuonOptions;

static int muon_states(const NnNamedTensor *p)              /* a matrix has only its momentum */
{
    return nn_is_not_matrix(p, NULL) ? 2 : 1;
}

/* Jordan et al. 2024: momentum, made nearly orthogonal by five steps of a Newton-Schulz iteration. Adam for vectors. */
static void muon_update(const OptimizerUpdate *u)
{
    const MuonOptions *o = u->options;
    Tensor *w = u->parameter->tensor, *m = u->state[0];
    if (tensor_ndim(w) != 2) {
        AgAdam adam = nn_adam_options(u->lr);
        ag_adam_update_part(w, 0, tensor_numel(w), tensor_data(u->gradient), tensor_mutable_data(m),
                            tensor_mutable_data(u->state[1]), &adam, u->step, u->grad_scale);
        return;
    }
    Tensor *g = ag_scale(u->gradient, u->grad_scale);
    tensor_copy(m, ag_add(ag_scale(m, o->momentum), g));
    Tensor *x = ag_add(g, ag_scale(m, o->momentum));
    x = ag_scale(x, 1 / (ag_math_pow(tensor_item(ag_sum(ag_mul(x, x))), 0.5) + 1e-7));
    for (int i = 0; i < 5; i++) {
        Tensor *a = ag_matmul(x, ag_transpose(x, 0, 1));
        x = ag_add(ag_scale(x, 3.4445), ag_matmul(ag_add(ag_scale(a, -4.775), ag_scale(ag_matmul(a, a), 2.0315)), x));
    }
    tensor_copy(w, ag_sub(ag_scale(w, 1 - u->lr * u->weight_decay), ag_scale(x, u->lr)));
}

static const OptimizerKind muon = { .name = "muon", .state = { "momentum", "second" }, .states = muon_states,
                                    .update = muon_update };

static Optimizer *muon_new(void *module)
{
    MuonOptions options = { 0.95 };
    return nn_optimizer_new(module, &muon, &options, sizeof options, 0.02, 0.01);
}

/* ---- optimizers of one's own ------------------------------------------------------------------------------------- */

static double train_step(Whole *w, Optimizer *o)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_normal(SHAPE(8, 2), 0, 1), *target = ag_argmax(x, -1, false);
    Tensor *loss = nn_cross_entropy(nn_linear(w->head, ag_tanh(nn_linear(w->model->fc, x))), target);
    double value = tensor_item(loss);
    ag_backward(loss);
    nn_optimizer_step(o);
    ag_end(s);
    return value;
}

START_TEST(an_optimizer_of_ones_own_trains_and_resumes)
{
    ag_seed(4);
    Whole *straight = whole_new(), *stopped = nn_clone(straight), *resumed = whole_new();
    Optimizer *a = muon_new(straight), *b = muon_new(stopped), *c = muon_new(resumed);
    AgRandom start = ag_random_state();
    double first = train_step(straight, a), last = 0;
    for (int i = 1; i < 60; i++) last = train_step(straight, a);
    ck_assert_msg(last < 0.5 * first, "the loss fell from %g to %g only", first, last);
    ag_set_random_state(start);
    for (int i = 0; i < 30; i++) train_step(stopped, b);
    expect_done(nn_checkpoint_save(in_folder("run"), stopped, b, NULL));
    NnTensorFile *f = tensor_file_open(in_folder("run"));
    ck_assert_ptr_nonnull(tensor_file_find(f, "optimizer.momentum.head.weight"));
    ck_assert_ptr_null(tensor_file_find(f, "optimizer.second.head.weight"));
    ck_assert_ptr_nonnull(tensor_file_find(f, "optimizer.second.model.fc.bias"));
    ck_assert_str_eq(tensor_file_metadata(f, "optimizer"), "muon");
    ag_free(f);
    ag_seed(99);
    expect_done(nn_checkpoint_load(in_folder("run"), resumed, c, NULL));
    ck_assert_int_eq(nn_optimizer_steps(c), 30);
    for (int i = 0; i < 30; i++) train_step(resumed, c);
    check_same_parameters(straight, resumed);

    Optimizer *adam = nn_adam_new(resumed, 0.1);
    expect_refused(nn_checkpoint_load(in_folder("run"), resumed, adam, NULL),
                   "/run: has the state of an optimizer \"muon\", expected \"adam\"");
    ag_free(adam);
    ag_free(a);
    ag_free(b);
    ag_free(c);
    ag_free(straight);
    ag_free(stopped);
    ag_free(resumed);
}
END_TEST

/* Each state is a sum of the gradients of its own. */
static void summing_update(const OptimizerUpdate *u)
{
    for (int k = 0; k < NN_STATES; k++) {
        tensor_copy(u->state[k], ag_add(u->state[k], ag_scale(u->gradient, k + 1)));
        tensor_copy(u->parameter->tensor, ag_sub(u->parameter->tensor, ag_scale(u->state[k], u->lr)));
    }
}

/* The optimizer has the largest number of states, and is for a part of a part of the module. */
START_TEST(a_checkpoint_has_all_states)
{
    static const OptimizerKind kind = { .name = "sums", .state = { "a", "b", "c", "d" }, .update = summing_update };
    Whole *straight = whole_new(), *resumed = whole_new();
    Optimizer *a = nn_optimizer_new(straight->model->fc, &kind, NULL, 0, 0.1, 0);
    Optimizer *b = nn_optimizer_new(resumed->model->fc, &kind, NULL, 0, 0.1, 0);
    train_step(straight, a);
    expect_done(nn_checkpoint_save(in_folder("run"), straight, a, NULL));
    expect_done(nn_checkpoint_load(in_folder("run"), resumed, b, NULL));
    AgRandom start = ag_random_state();
    train_step(straight, a);
    ag_set_random_state(start);
    train_step(resumed, b);
    check_same_parameters(straight, resumed);
    ag_free(a);
    ag_free(b);
    ag_free(straight);
    ag_free(resumed);
}
END_TEST

/* What the first update got. */
static OptimizerUpdate seen;
static void note_update(const OptimizerUpdate *u)
{
    if (strcmp(u->parameter->name, "head.weight") == 0) seen = *u;
    ck_assert(!ag_recording());
}

static bool is_head(const NnNamedTensor *p, void *unused)
{
    (void)unused;
    return strcmp(p->name, "head.weight") == 0;
}

static int less_than_none(const NnNamedTensor *p)
{
    (void)p;
    return -1;
}

START_TEST(an_update_gets_the_rate_of_its_group)
{
    static const OptimizerKind kind = { .name = "note", .update = note_update };
    Whole *w = whole_new();
    Optimizer *o = nn_optimizer_new(w, &kind, NULL, 0, 0.5, 0.25);
    train_step(w, o);
    ck_assert(seen.lr == 0.5 && seen.weight_decay == 0.25 && seen.grad_scale == 1 && seen.step == 1);
    nn_optimizer_group(o, is_head, NULL, 0.125, 2);
    nn_optimizer_set_lr(o, 1);
    train_step(w, o);
    ck_assert(seen.lr == 2 && seen.weight_decay == 0.125 && seen.step == 2);
    ck_assert_ptr_null(tensor_grad_data(w->head->weight));
    ag_free(o);

    const OptimizerKind nameless = { .update = note_update }, idle = { .name = "idle" };
    EXPECT_USAGE_ERROR("nn_optimizer_new: the kind is NULL", nn_optimizer_new(w, NULL, NULL, 0, 1, 0));
    EXPECT_USAGE_ERROR("nn_optimizer_new: the kind's name is NULL", nn_optimizer_new(w, &nameless, NULL, 0, 1, 0));
    EXPECT_USAGE_ERROR("nn_optimizer_new: the kind's update is NULL", nn_optimizer_new(w, &idle, NULL, 0, 1, 0));
    EXPECT_USAGE_ERROR("nn_optimizer_new: options is NULL", nn_optimizer_new(w, &kind, NULL, 4, 1, 0));
    EXPECT_USAGE_ERROR("nn_optimizer_new: lr is -1, expected a finite number of 0 or more",
                       nn_optimizer_new(w, &kind, NULL, 0, -1, 0));
    const OptimizerKind wrong = { .name = "wrong", .update = note_update, .states = muon_states };
    EXPECT_USAGE_ERROR("nn_optimizer_new: 1 state tensors for model.fc.weight, but 0 names of them",
                       nn_optimizer_new(w, &wrong, NULL, 0, 1, 0));
    const OptimizerKind negative = { .name = "negative", .update = note_update, .states = less_than_none };
    EXPECT_USAGE_ERROR("-1 state tensors for model.fc.weight", nn_optimizer_new(w, &negative, NULL, 0, 1, 0));
    ag_free(w);
}
END_TEST

Suite *load_suite(void)
{
    Suite *suite = suite_create("load");
    TCase *t = tcase_create("load");
    tcase_add_checked_fixture(t, folder_make, folder_remove);
    tcase_add_test(t, one_file_and_shards_give_the_same_weights);
    tcase_add_test(t, a_prefix_loads_a_part_and_a_part_is_loaded_into_the_whole);
    tcase_add_test(t, missing_and_unexpected_names_are_allowed_and_reported);
    tcase_add_test(t, names_are_translated);
    tcase_add_test(t, transposed_matrices_are_read);
    tcase_add_test(t, large_matrices_are_rounded_in_parts);
    tcase_add_test(t, transposed_matrices_are_not_kept_in_two_bytes);
    tcase_add_test(t, the_share_that_was_read_rises);
    tcase_add_test(t, weights_come_from_numpy_too);
    tcase_add_test(t, a_file_that_does_not_fit_changes_nothing);
    tcase_add_test(t, parameters_of_loops_have_printed_names);
    tcase_add_test(t, buffers_have_types_and_some_are_not_saved);
    tcase_add_test(t, a_tie_to_a_buffer_that_is_not_saved_is_not_saved);
    tcase_add_test(t, gradients_of_modules_with_other_types_are_clipped);
    tcase_add_test(t, a_destructor_is_called_once_before_the_parts_are_freed);
    tcase_add_test(t, an_optimizer_of_ones_own_trains_and_resumes);
    tcase_add_test(t, a_checkpoint_has_all_states);
    tcase_add_test(t, an_update_gets_the_rate_of_its_group);
    suite_add_tcase(suite, t);
    TCase *failures = tcase_create("failures");
    tcase_set_timeout(failures, 600);
    tcase_add_checked_fixture(failures, folder_make, folder_remove);
    tcase_add_loop_test(failures, failing_allocations_leak_nothing, 0, 2);
    suite_add_tcase(suite, failures);
    return suite;
}
