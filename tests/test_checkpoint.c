/* test_checkpoint.c: a checkpoint is loaded exactly as saved, one that does not fit changes nothing, a kill loses nothing. */
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "expected.h"
#include "faults.h"
#include "folder.h"
#include "io_faults.h"
#include "kaeru/autograd.h"
#include "kaeru/nn.h"
#include "stored.h"
#include "suites.h"
#include "usage_error.h"

/* ---- a model ----------------------------------------------------------------------------------------------------- */

typedef struct { Module module; Embedding *embed; Dropout *dropout; Linear *fc, *head; Tensor *table; } Net;

static Net *net_new(int width)
{
    Net *net = nn_new(Net);
    nn_child(net, embed, nn_embedding_new(7, width));
    nn_child(net, dropout, nn_dropout_new(0.25));
    nn_child(net, fc, nn_linear_new(width, width));
    nn_child(net, head, nn_linear_new_no_bias(width, 7));
    nn_buffer(net, table, SHAPE(width));
    ag_fill_normal(net->table, 0, 1);
    nn_tie(net->head, weight, net->embed->weight);
    return net;
}

/* A step on random data, with dropout, which uses all parts of a run's state. */
static void train_step(Net *net, Optimizer *o)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *ids = tensor_randint(SHAPE(6), 0, 7), *targets = tensor_randint(SHAPE(6), 0, 7);
    Tensor *x = nn_dropout(net->dropout, ag_add(nn_embedding(net->embed, ids), net->table));
    x = nn_linear(net->head, ag_tanh(nn_linear(net->fc, x)));
    ag_backward(nn_cross_entropy(x, targets));
    if (nn_optimizer_steps(o) == 0) tensor_zero_grad(net->fc->bias);    /* it has one step less than the others */
    nn_optimizer_set_lr(o, 0.05);
    nn_optimizer_step(o);
    ag_end(s);
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

START_TEST(weights_load_to_the_bit)
{
    Net *net = net_new(3), *other = net_new(3);
    tensor_mutable_data(net->embed->weight)[0] = (ag_real)-0.0;
    tensor_mutable_data(net->embed->weight)[1] = (ag_real)1e-40;
    tensor_mutable_data(net->embed->weight)[2] = (ag_real)NAN;
    expect_done(nn_save(in_folder("a"), net));
    expect_done(nn_load(in_folder("a"), other));
    check_same_parameters(net, other);
    ck_assert_ptr_eq(other->head->weight, other->embed->weight);

    NnTensorFile *st = st_open(in_folder("a"));
    ck_assert_uint_eq(st->n_tensors, 4);            /* the tied one is there once */
    ck_assert_ptr_nonnull(st_find(st, "embed.weight"));
    ck_assert_ptr_null(st_find(st, "head.weight"));
    ck_assert_ptr_nonnull(st_find(st, "table"));
    ck_assert_str_eq(tensor_file_metadata(st, "format"), "pt");
    ag_free(st);
    ag_free(net);
    ag_free(other);
}
END_TEST

START_TEST(modules_without_values_are_saved)
{
    Sequential *row = nn_sequential_new();
    expect_done(nn_save(in_folder("a"), row));
    expect_done(nn_load(in_folder("a"), row));
    ag_free(row);
    typedef struct { Module module; Tensor *none; } Hollow;
    Hollow *hollow = nn_new(Hollow);
    nn_param(hollow, none, SHAPE(0, 2));
    expect_done(nn_save(in_folder("a"), hollow));
    expect_done(nn_load(in_folder("a"), hollow));
    ag_free(hollow);
}
END_TEST

/* Writes a file with the net's tensors, or others, under these names. */
static void write_file(const char *path, Net *net, const char *skip, const char *extra, const Tensor *extra_values)
{
    NnParameters *p = nn_parameters(net);
    StEntry entry[8];
    size_t n = 0;
    for (int i = 0; i < p->n; i++) {
        if (skip && strcmp(p->item[i].name, skip) == 0) continue;
        entry[n++] = st_entry(p->item[i].name, p->item[i].tensor);
    }
    if (extra) entry[n++] = st_entry(extra, extra_values);
    expect_done(st_write(path, entry, n, NULL));
    ag_free(p);
}

START_TEST(a_tied_weight_loads_by_any_of_its_names)
{
    Net *net = net_new(3), *other = net_new(3);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *weight = net->embed->weight;
    write_file(in_folder("second"), net, "embed.weight", "head.weight", weight);
    expect_done(nn_load(in_folder("second"), other));
    check_same_parameters(net, other);

    ag_fill(other->embed->weight, 1);
    write_file(in_folder("both"), net, NULL, "head.weight", weight);
    expect_done(nn_load(in_folder("both"), other));
    check_same_parameters(net, other);

    Net *before = nn_clone(other);
    Tensor *different = ag_add(weight, tensor_ones(AG_SCALAR));
    write_file(in_folder("differ"), net, NULL, "head.weight", different);
    ag_fill(net->table, 5);
    expect_refused(nn_load(in_folder("differ"), other),
                  "/differ: \"embed.weight\" and \"head.weight\" are one tensor in the model, but differ in the file");
    check_same_parameters(before, other);
    ag_end(s);
    ag_free(before);
    ag_free(net);
    ag_free(other);
}
END_TEST

START_TEST(weights_that_do_not_fit_change_nothing)
{
    Net *net = net_new(3), *other = net_new(3), *before = nn_clone(other);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *small = tensor_zeros(SHAPE(2)), *deep = tensor_zeros(SHAPE(1, 1, 1, 1, 1, 1, 1, 3));
    write_file(in_folder("missing"), net, "fc.bias", NULL, NULL);
    expect_refused(nn_load(in_folder("missing"), other), "/missing: missing: \"fc.bias\"");
    write_file(in_folder("extra"), net, NULL, "fc2.bias", small);
    expect_refused(nn_load(in_folder("extra"), other), "/extra: unexpected: \"fc2.bias\"");
    write_file(in_folder("shape"), net, "fc.bias", "fc.bias", small);
    expect_refused(nn_load(in_folder("shape"), other), "/shape: wrong shape: \"fc.bias\" is (2,), expected (3,)");
    write_file(in_folder("dims"), net, "table", "table", deep);
    expect_refused(nn_load(in_folder("dims"), other), "\"table\" is (1, 1, 1, 1, 1, 1, 1, 3), expected (3,)");
    write_file(in_folder("two"), net, "embed.weight", "line\nbreak", small);
    expect_refused(nn_load(in_folder("two"), other), "missing: \"embed.weight\"; unexpected: \"line\\x0Abreak\"");

    Sequential *row = nn_sequential_new();
    for (int i = 0; i < 3; i++) nn_sequential_add(row, nn_linear_new(1, 1));
    expect_done(nn_save(in_folder("row"), row));
    expect_refused(nn_load(in_folder("row"), other),
                   "missing: \"embed.weight\", \"fc.weight\", \"fc.bias\" and 1 more; "
                   "unexpected: \"0.weight\", \"0.bias\", \"1.weight\" and 3 more");
    ag_free(row);

    expect_refused(nn_load(in_folder("absent"), other), "/absent: cannot be opened");
    expect_refused(nn_load(in_folder("."), other), "expected a regular file");
    check_same_parameters(before, other);
    ag_end(s);
    ag_free(net);
    ag_free(other);
    ag_free(before);
}
END_TEST

/* Writes a safetensors file with this header and these values. */
static void write_raw(const char *name, const char *header, const void *values, size_t n)
{
    unsigned char bytes[1024] = { 0 };
    size_t length = strlen(header);
    ck_assert_uint_le(8 + length + n, sizeof bytes);
    bytes[0] = (unsigned char)length;
    bytes[1] = (unsigned char)(length >> 8);
    memcpy(bytes + 8, header, length);
    memcpy(bytes + 8 + length, values, n);
    folder_write(name, bytes, 8 + length + n);
}

START_TEST(other_types_are_converted)
{
    Linear *l = nn_linear_new(1, 2);
    const double f64[2] = { 0.5, -3.25 };
    const uint16_t f16[2] = { 0x3c00, 0xc000 };     /* 1, -2 */
    unsigned char values[24];
    memcpy(values, f64, 16);
    memcpy(values + 16, f16, 4);
    write_raw("types", "{\"weight\":{\"dtype\":\"F64\",\"shape\":[2,1],\"data_offsets\":[0,16]},"
              "\"bias\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[16,20]}}", values, 20);
    expect_done(nn_load(in_folder("types"), l));
    ck_assert(tensor_data(l->weight)[0] == 0.5f && tensor_data(l->weight)[1] == -3.25f);
    ck_assert(tensor_data(l->bias)[0] == 1 && tensor_data(l->bias)[1] == -2);

    const uint16_t bf16[2] = { 0x3fc0, 0xc040 };    /* 1.5, -3 */
    const int32_t i32[2] = { 7, -9 };
    memcpy(values, i32, 8);
    memcpy(values + 8, bf16, 4);
    write_raw("types", "{\"weight\":{\"dtype\":\"I32\",\"shape\":[2,1],\"data_offsets\":[0,8]},"
              "\"bias\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[8,12]}}", values, 12);
    expect_done(nn_load(in_folder("types"), l));
    ck_assert(tensor_data(l->weight)[0] == 7 && tensor_data(l->weight)[1] == -9);
    ck_assert(tensor_data(l->bias)[0] == 1.5f && tensor_data(l->bias)[1] == -3);

    memset(values, 0, sizeof values);
    write_raw("types", "{\"bias\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
              "\"weight\":{\"dtype\":\"C64\",\"shape\":[2,1],\"data_offsets\":[8,24]}}", values, 24);
    expect_refused(nn_load(in_folder("types"), l), "found C64");
    ck_assert(tensor_data(l->bias)[0] == 1.5f);     /* the tensor that fits is not loaded either */
    ag_free(l);

    Linear *packed = nn_linear_new_no_bias(2, 1);
    nn_freeze_bf16(packed);
    write_raw("nine", "{\"weight\":{\"dtype\":\"BF16\",\"shape\":[1,1,1,1,1,1,1,1,2],\"data_offsets\":[0,4]}}", bf16, 4);
    for (int i = 0; i < 2; i++)
        expect_refused(nn_load_with(in_folder("nine"), packed, (NnLoadOptions){ .in_place = i }),
                       "tensor \"weight\": expected at most 8 dimensions, found 9");
    ag_free(packed);
}
END_TEST

#define WEIGHT "\"weight\":{\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[0,4]}}"

/* Whether a file lacks the frozen parameters: only that text of its metadata says so. */
START_TEST(frozen_weights_are_missing_unless_only_the_trained_are_saved)
{
    Linear *l = nn_linear_new(1, 1);
    tensor_set_requires_grad(l->bias, false);
    write_raw("all", "{\"__metadata__\":{\"weights\":\"all\"}," WEIGHT, (float[]){ 2 }, 4);
    expect_refused(nn_load(in_folder("all"), l), "missing: \"bias\"");
    write_raw("trained", "{\"__metadata__\":{\"weights\":\"trained\"}," WEIGHT, (float[]){ 2 }, 4);
    expect_done(nn_load(in_folder("trained"), l));
    ck_assert(tensor_data(l->weight)[0] == 2);
    ag_free(l);
}
END_TEST

typedef struct { Module module; void *part; Tensor *t[8]; } Long;

static Long *long_new(const char *name, AgShape shape)
{
    Long *l = nn_new(Long), *part = nn_new(Long);
    nn_child_named(l, part, part, "%040d", 0);
    for (int i = 0; i < 8; i++) nn_param_named(part, t[i], i < 4 ? shape : SHAPE(1), "%s%030d", i < 4 ? "" : name, i);
    return l;
}

/* All that is listed, with long names and shapes, is more than a message has room for. */
START_TEST(long_messages_are_cut)
{
    Long *l = long_new("a", SHAPE(1000, 1000, 1000, 1000, 1000, 99, 1, 0));
    Long *other = long_new("b", SHAPE(0, 1, 99, 1000, 1000, 1000, 1000, 1000));
    expect_done(nn_save(in_folder("a"), l));
    expect_refused(nn_load(in_folder("a"), other), " and 1 more; wrong shape: \"0000000000000000000000000000000000000000.");
    ck_assert_uint_le(strlen(ag_error()), strlen(in_folder("a: ")) + 899);
    ag_free(other);
    ag_free(l);
}
END_TEST

START_TEST(broken_files_change_nothing)
{
    Net *net = net_new(3), *before = nn_clone(net);
    expect_done(nn_save(in_folder("whole"), net));
    struct stat status;
    ck_assert_int_eq(stat(in_folder("whole"), &status), 0);
    size_t size = (size_t)status.st_size;
    unsigned char *bytes = malloc(size);
    FILE *f = fopen(in_folder("whole"), "rb");
    ck_assert(f != NULL && fread(bytes, 1, size, f) == size);
    fclose(f);
    for (size_t n = 0; n < size; n += n < 400 ? 7 : 41) {
        folder_write("cut", bytes, n);
        expect_refused(nn_load(in_folder("cut"), net), "/cut");
    }
    folder_write("longer", "x", 1);
    expect_refused(nn_load(in_folder("longer"), net), "expected at least 8 bytes, found 1");
    check_same_parameters(net, before);
    free(bytes);
    ag_free(net);
    ag_free(before);
}
END_TEST

/* ---- checkpoints of runs ----------------------------------------------------------------------------------------- */

static Optimizer *adam(Net *net)
{
    Optimizer *o = nn_adamw_new(net, 0.05);
    nn_optimizer_group(o, nn_is_not_matrix, NULL, 0, 1);
    return o;
}
static Optimizer *momentum(Net *net) { return nn_sgd_new_with(net, (AgSgd){ .lr = 0.05, .momentum = 0.9 }); }
static Optimizer *plain(Net *net)    { return nn_sgd_new(net, 0.05); }
static Optimizer *muon(Net *net)     { return nn_muon_new(net, 0.05, 0.01, "head"); }
static Optimizer *(*const makers[])(Net *net) = { adam, momentum, plain, muon };

START_TEST(a_resumed_run_is_the_same_run)
{
    ag_seed(0xfedcba9876543210);
    Net *straight = net_new(4);
    Optimizer *o = makers[_i](straight);
    for (int i = 0; i < 5; i++) train_step(straight, o);
    NnSettings *settings = nn_settings_new();
    nn_settings_set(settings, "width", "%d", 4);
    expect_done(nn_checkpoint_save(in_folder("middle"), straight, o, settings));
    for (int i = 0; i < 5; i++) train_step(straight, o);
    expect_done(nn_checkpoint_save(in_folder("straight"), straight, o, settings));

    ag_seed(99);
    NnSettings *found = nn_settings_new();
    expect_done(nn_checkpoint_settings(in_folder("middle"), found));
    int64_t width;
    expect_done(nn_settings_int(found, "width", &width));
    Net *resumed = net_new((int)width);
    Optimizer *p = makers[_i](resumed);
    train_step(resumed, p);                         /* loading replaces this state */
    expect_done(nn_checkpoint_load(in_folder("middle"), resumed, p, found));
    ck_assert_int_eq(nn_optimizer_steps(p), 5);
    ck_assert(ag_random_state().seed == 0xfedcba9876543210);
    for (int i = 0; i < 5; i++) train_step(resumed, p);
    expect_done(nn_checkpoint_save(in_folder("resumed"), resumed, p, found));
    check_same_parameters(straight, resumed);

    folder_same("straight", "resumed");
    ag_free(found);
    ag_free(settings);
    ag_free(p);
    ag_free(o);
    ag_free(resumed);
    ag_free(straight);
}
END_TEST

START_TEST(a_checkpoint_loads_as_weights)
{
    Net *net = net_new(3), *other = net_new(3);
    Optimizer *o = adam(net);
    train_step(net, o);
    expect_done(nn_checkpoint_save(in_folder("run"), net, o, NULL));
    AgRandom random = ag_random_state();
    expect_done(nn_load(in_folder("run"), other));
    check_same_parameters(net, other);
    ck_assert(ag_random_state().counter == random.counter);
    ag_seed(1);
    ag_fill(other->table, 0);
    expect_done(nn_checkpoint_load(in_folder("run"), other, NULL, NULL));
    check_same_parameters(net, other);
    ck_assert(ag_random_state().seed == random.seed && ag_random_state().counter == random.counter);

    expect_done(nn_checkpoint_save(in_folder("bare"), net, NULL, NULL));
    expect_done(nn_checkpoint_load(in_folder("bare"), other, NULL, NULL));
    ag_free(o);
    ag_free(net);
    ag_free(other);
}
END_TEST

START_TEST(a_checkpoint_without_the_frozen_has_the_buffers)
{
    Net *net = net_new(3), *other = nn_clone(net);
    tensor_set_requires_grad(net->embed->weight, false);
    tensor_set_requires_grad(other->embed->weight, false);
    ag_fill(other->table, 0);
    ag_fill(other->fc->weight, 0);
    expect_done(nn_checkpoint_save_trained(in_folder("part"), net, NULL, NULL));
    expect_done(nn_checkpoint_load(in_folder("part"), other, NULL, NULL));
    check_same_parameters(net, other);
    ag_free(net);
    ag_free(other);
}
END_TEST

/* Copies a checkpoint with one text of its metadata changed or, if it is NULL, left out. */
static void change_text(const char *from, const char *to, const char *key, const char *value)
{
    NnTensorFile *st = st_open(from);
    StEntry entry[32];
    NnSettings *metadata = nn_settings_new();
    for (size_t i = 0; i < st->n_tensors; i++) {
        const StTensor *t = &st->tensor[i];
        ag_real *values = ag_alloc_in(st, (size_t)t->numel, sizeof(ag_real));
        expect_done(st_read(t, AG_REAL, 0, t->numel, values));
        entry[i] = (StEntry){ .name = t->item.name, .shape = t->item.shape, .values = values, .dtype = AG_REAL };
    }
    for (uint32_t i = 0; i < st->metadata->count; i++) {
        const Json *name = &st->metadata->as.item[2 * i];
        bool own = json_is(name, "format") || json_is(name, "kaeru.hash");
        if (!own && !json_is(name, key)) nn_settings_set(metadata, name->as.text, "%s", name[1].as.text);
    }
    if (value) nn_settings_set(metadata, key, "%s", value);
    expect_done(st_write(to, entry, st->n_tensors, metadata));
    ag_free(metadata);
    ag_free(st);
}

START_TEST(a_checkpoint_that_does_not_fit_changes_nothing)
{
    Net *net = net_new(3);
    Optimizer *o = adam(net), *other = momentum(net);
    train_step(net, o);
    expect_done(nn_save(in_folder("weights"), net));
    expect_done(nn_checkpoint_save(in_folder("bare"), net, NULL, NULL));
    expect_done(nn_checkpoint_save(in_folder("run"), net, o, NULL));
    Net *before = nn_clone(net);
    AgRandom random = ag_random_state();
    ag_fill(before->table, 1);
    tensor_copy(net->table, before->table);

    expect_refused(nn_checkpoint_load(in_folder("weights"), net, o, NULL),
                  "/weights: is not a checkpoint of a run: it has no \"random.seed\"");
    expect_refused(nn_checkpoint_load(in_folder("bare"), net, o, NULL),
                  "/bare: has no optimizer state, expected that of \"adam\"");
    expect_refused(nn_checkpoint_load(in_folder("run"), net, other, NULL),
                  "/run: has the state of an optimizer \"adam\", expected \"sgd\"");
    const struct { const char *key, *value, *message; } changes[] = {
        { "random.seed", "-1", "\"random.seed\" is \"-1\", expected a whole number of 0 to 18446744073709551615" },
        { "random.counter", "18446744073709551616", "\"random.counter\" is \"18446744073709551616\", expected" },
        { "random.counter", "", "\"random.counter\" is \"\", expected" },
        { "step", "1e3", "\"step\" is \"1e3\", expected a whole number of 0 to 1000000000000000" },
        { "step", "1000000000000001", "expected a whole number of 0 to 1000000000000000" },
        { "step", "9223372036854775808", "\"step\" is" },
        { "step", NULL, "it has no \"step\"" },
        { "step.fc.bias", "x", "\"step.fc.bias\" is \"x\"" },
        { "optimizer", "sgd", "has the state of an optimizer \"sgd\", expected \"adam\"" },
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        change_text(in_folder("run"), in_folder("changed"), changes[i].key, changes[i].value);
        expect_refused(nn_checkpoint_load(in_folder("changed"), net, o, NULL), changes[i].message);
    }
    /* a frozen parameter has no moments, neither in the optimizer nor in the file */
    tensor_set_requires_grad(net->fc->bias, false);
    Optimizer *fewer = adam(net);
    expect_refused(nn_checkpoint_load(in_folder("run"), net, fewer, NULL),
                  "unexpected: \"optimizer.m.fc.bias\", \"optimizer.v.fc.bias\"");
    expect_done(nn_checkpoint_save(in_folder("fewer"), net, fewer, NULL));
    expect_refused(nn_checkpoint_load(in_folder("fewer"), net, o, NULL),
                  "missing: \"optimizer.m.fc.bias\", \"optimizer.v.fc.bias\"");
    check_same_parameters(net, before);
    ck_assert_int_eq(nn_optimizer_steps(o), 1);
    ck_assert(ag_random_state().counter == random.counter);
    ag_free(fewer);
    ag_free(other);
    ag_free(o);
    ag_free(net);
    ag_free(before);
}
END_TEST

START_TEST(a_refused_load_leaves_the_settings)
{
    Net *net = net_new(3), *wider = net_new(4);
    NnSettings *saved = nn_settings_new(), *mine = nn_settings_new();
    nn_settings_set(saved, "width", "%d", 3);
    nn_settings_set(mine, "width", "%d", 4);
    expect_done(nn_checkpoint_save(in_folder("a"), net, NULL, saved));
    expect_refused(nn_checkpoint_load(in_folder("a"), wider, NULL, mine), "wrong shape");
    ck_assert_str_eq(nn_settings_get(mine, "width"), "4");
    ag_free(saved);
    ag_free(mine);
    ag_free(net);
    ag_free(wider);
}
END_TEST

START_TEST(an_optimizer_of_a_part_is_saved)
{
    Net *net = net_new(3);
    Optimizer *o = nn_adam_new(net->fc, 0.1);
    expect_done(nn_checkpoint_save(in_folder("a"), net, o, NULL));
    expect_done(nn_checkpoint_load(in_folder("a"), net, o, NULL));
    ag_free(o);
    ag_free(net);
}
END_TEST

START_TEST(loading_between_forward_and_backward_is_reported)
{
    Net *net = net_new(3);
    expect_done(nn_save(in_folder("a"), net));
    AgScope s = ag_begin(AG_RECORD);
    Tensor *y = ag_sum(nn_linear(net->fc, nn_linear(net->fc, tensor_ones(SHAPE(1, 3)))));
    expect_done(nn_load(in_folder("a"), net)); const int line = __LINE__;
    char text[100];
    snprintf(text, sizeof text, "but nn_load wrote it at tests/test_checkpoint.c:%d after linear had read it", line);
    EXPECT_USAGE_ERROR(text, ag_backward(y));
    ag_end(s);
    ag_free(net);
}
END_TEST

START_TEST(saving_to_an_impossible_path_is_refused)
{
    Net *net = net_new(3);
    expect_refused(nn_save(in_folder("no/such/folder"), net), "no/such/folder");
    expect_refused(nn_save(in_folder("."), net), "/.: ");
    static const char *const others[] = { "a.npz", "a.npy", "a.pt", "a.pth", "a.json" };
    for (int i = 0; i < 5; i++)
        expect_refused(nn_save(in_folder(others[i]), net), ": nn_save writes a safetensors file: expected another ending");
    ck_assert_int_eq(folder_count(), 0);
    expect_done(nn_save(in_folder("a"), net));
    NnSettings *s = nn_settings_new();
    nn_settings_set(s, "text", "\xff");             /* not UTF-8: JSON cannot hold it */
    expect_refused(nn_checkpoint_save(in_folder("a"), net, NULL, s), "/a: the setting \"text\" is \"\\xFF\", expected UTF-8");
    expect_done(nn_load(in_folder("a"), net));
    ck_assert_int_eq(folder_count(), 1);
    ag_free(s);
    ag_free(net);
}
END_TEST

/* ---- settings ---------------------------------------------------------------------------------------------------- */

static void json_is_read(NnSettings *s, const char *text)
{
    folder_write("config.json", text, strlen(text));
    expect_done(nn_settings_read_json(in_folder("config.json"), s));
}

static void json_is_refused(NnSettings *s, const char *text, const char *message)
{
    folder_write("config.json", text, strlen(text));
    expect_refused(nn_settings_read_json(in_folder("config.json"), s), message);
}

START_TEST(members_of_a_json_file_become_settings)
{
    NnSettings *s = nn_settings_new();
    nn_settings_set(s, "layers", "%d", 1);
    json_is_read(s, "{\"layers\": 6, \"eps\": 1e-12, \"act\": \"gel\u00fc\", \"yes\": true, \"no\": false, \"null\": null, "
                    "\"list\": [1], \"object\": {\"layers\": 7}, \"nul\": \"a\\u0000b\", \"nan\": NaN, \"layers\\u0000b\": 1, "
                    "\"large\": 9223372036854775807}");
    const char *expected[][2] = { { "layers", "6" }, { "act", "gel\u00fc" }, { "yes", "1" }, { "no", "0" },
                                  { "large", "9223372036854775807" } };
    for (int i = 0; i < 5; i++) {
        ck_assert_str_eq(nn_settings_get(s, expected[i][0]), expected[i][1]);
    }
    const char *left_out[] = { "null", "list", "object", "nul", "nan" };
    for (int i = 0; i < 5; i++) {
        ck_assert_ptr_null(nn_settings_get(s, left_out[i]));
    }
    double eps;
    expect_done(nn_settings_real(s, "eps", &eps));
    ck_assert(eps == 1e-12);
    json_is_refused(s, "[1]", "/config.json: expected an object, found an array");
    json_is_refused(s, "{\"layers\": }", "/config.json: line 1, column 12: expected a value");
    char many[20000] = "{", *p = many + 1;
    for (int i = 0; i <= 1000; i++) {
        p += sprintf(p, "%s\"%d\": 0", i ? "," : "", i);
    }
    sprintf(p, "}");
    json_is_refused(s, many, "/config.json: expected at most 1000 members, found 1001");
    ag_free(s);
}
END_TEST

START_TEST(settings_are_texts_that_are_checked_on_reading)
{
    NnSettings *s = nn_settings_new();
    ck_assert_ptr_null(nn_settings_get(s, "layers"));
    nn_settings_set(s, "layers", "%d", 4);
    nn_settings_set(s, "lr", "%.17g", 0.1);
    nn_settings_set(s, "name", "a \"quoted\" %s\n", "\xe8\x9b\x99");
    nn_settings_set(s, "empty", "%s", "");
    nn_settings_set(s, "layers", "%d", -6);
    ck_assert_str_eq(nn_settings_get(s, "layers"), "-6");
    int64_t whole = 1;
    double number = 1;
    expect_done(nn_settings_int(s, "layers", &whole) && nn_settings_real(s, "lr", &number));
    ck_assert(whole == -6 && number == 0.1);
    expect_done(nn_settings_real(s, "layers", &number));
    ck_assert(number == -6);
    expect_refused(nn_settings_int(s, "lr", &whole), "the setting \"lr\" is \"0.1");
    expect_refused(nn_settings_int(s, "empty", &whole), "the setting \"empty\" is \"\", expected a whole number");
    expect_refused(nn_settings_real(s, "name", &number),
                   "the setting \"name\" is \"a \"quoted\" \xe8\x9b\x99\\x0A\", expected a number");
    expect_refused(nn_settings_int(s, "heads", &whole), "the setting \"heads\" is missing");
    nn_settings_set(s, "big", "1e999");
    expect_refused(nn_settings_real(s, "big", &number), "the setting \"big\" is \"1e999\", too large");
    nn_settings_set(s, "big", "9223372036854775808");
    expect_refused(nn_settings_int(s, "big", &whole), "expected a whole number");
    static const char *const parts[] = { " 1", "1 ", "12abc", "1,5", "-", "0x10" };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        nn_settings_set(s, "big", "%s", parts[i]);
        expect_refused(nn_settings_int(s, "big", &whole), "expected a whole number");
        expect_refused(nn_settings_real(s, "big", &number), "expected a number");
    }

    Linear *l = nn_linear_new(1, 1);
    expect_done(nn_checkpoint_save(in_folder("a"), l, NULL, s));
    NnSettings *t = nn_settings_new();
    nn_settings_set(t, "layers", "%d", 1);
    nn_settings_set(t, "own", "%d", 2);
    expect_done(nn_checkpoint_load(in_folder("a"), l, NULL, t));
    const char *keys[] = { "layers", "lr", "name", "empty", "big" };
    for (int i = 0; i < 5; i++) ck_assert_str_eq(nn_settings_get(t, keys[i]), nn_settings_get(s, keys[i]));
    ck_assert_str_eq(nn_settings_get(t, "own"), "2");
    char expected[600];
    snprintf(expected, sizeof expected, "%s: the setting \"heads\" is missing", in_folder("a"));
    expect_refused(nn_settings_int(t, "heads", &whole), expected);
    snprintf(expected, sizeof expected, "%s: the setting \"name\" is ", in_folder("a"));
    expect_refused(nn_settings_real(t, "name", &number), expected);
    ag_free(l);
    ag_free(t);
    ag_free(s);
    ag_free(NULL);
}
END_TEST

/* Checkpoints have a decimal point where the locale has a comma. */
START_TEST(settings_do_not_depend_on_the_locale)
{
    static const char *const names[] = { "C", "de_DE.UTF-8", "fr_FR.UTF-8" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!setlocale(LC_ALL, names[i])) continue;
        NnSettings *s = nn_settings_new();
        double number = 0;
        nn_settings_set(s, "lr", "%.17g", 0.5);
        ck_assert_str_eq(nn_settings_get(s, "lr"), "0.5");
        expect_done(nn_settings_real(s, "lr", &number));
        ck_assert(number == 0.5);
        ag_free(s);
    }
    setlocale(LC_ALL, "C");
}
END_TEST

/* ---- kills, failing allocations and failing files ---------------------------------------------------------------- */

/* Saves again and again, each time a model whose weights are all one number; writes to the pipe each number that is saved. */
_Noreturn static void save_forever(int out)
{
    ag_set_threads(1);                      /* qemu-user has no threads after fork */
    Net *net = net_new(200);
    for (int round = 0; ; round++) {
        NnParameters *p = nn_parameters(net);
        for (int i = 0; i < p->n; i++) ag_fill(p->item[i].tensor, round);
        ag_free(p);
        if (!nn_save(in_folder("a"), net)) break;
        if (write(out, &round, sizeof round) != sizeof round) break;
    }
    fprintf(stderr, "%s\n", ag_error());
    _exit(1);
}

START_TEST(a_kill_at_any_moment_loses_nothing)
{
    Net *net = net_new(200);
    long kills = from_environment("KAERU_KILLS", 40), killed = 0;
    srand(1);
    for (; killed < kills; killed++) {
        int ends[2], status;
        ck_assert_int_eq(pipe(ends), 0);
        pid_t child = fork();
        if (child == 0) save_forever(ends[1]);
        close(ends[1]);
        int last = -1, read_round;
        if (read(ends[0], &last, sizeof last) != sizeof last) {                 /* waits for the first save */
            waitpid(child, &status, 0);
            ck_abort_msg("the child ended with status %d, after %ld kills", status, killed);
        }
        nanosleep(&(struct timespec){ .tv_nsec = rand() % 3000 * 1000 }, NULL);
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        while (read(ends[0], &read_round, sizeof read_round) == sizeof read_round) last = read_round;
        close(ends[0]);
        ck_assert_int_eq(WTERMSIG(status), SIGKILL);

        expect_done(nn_load(in_folder("a"), net));
        double found = (double)tensor_data(net->table)[0];
        ck_assert_msg(found == last || found == last + 1, "saved up to %d, found %g", last, found);
        NnParameters *p = nn_parameters(net);
        for (int i = 0; i < p->n; i++) {
            const ag_real *v = tensor_data(p->item[i].tensor);
            for (int64_t k = 0; k < tensor_numel(p->item[i].tensor); k++) ck_assert((double)v[k] == found);
        }
        ag_free(p);
    }
    ag_free(net);
    printf("saving: %ld killed, each left the old file or the new one\n", killed);
    fflush(stdout);
}
END_TEST

static bool saved_and_loaded;

static void save_and_load(void)                     /* without Check's functions, which allocate memory */
{
    saved_and_loaded = false;
    Net *net = net_new(3);
    Optimizer *o = adam(net);
    NnSettings *settings = nn_settings_new();
    nn_settings_set(settings, "width", "%d", 3);
    saved_and_loaded = nn_checkpoint_save(in_folder("fault"), net, o, settings) &&
                       nn_checkpoint_load(in_folder("fault"), net, o, settings);
    ag_free(settings);
    ag_free(o);
    ag_free(net);
}

START_TEST(failing_allocations_leak_nothing)
{
    Net *net = net_new(3), *other = net_new(3);
    expect_done(nn_save(in_folder("fault"), net));
    int64_t requests = faults_everywhere(save_and_load, true);
    if (faults_work()) ck_assert(requests > 50 && saved_and_loaded);
    ck_assert_int_eq(folder_count(), 1);
    expect_done(nn_load(in_folder("fault"), other));            /* the old file or a new one */
    ag_free(net);
    ag_free(other);
}
END_TEST

/* Each call to the file system fails: that call alone (_i = 0), or all from there on (1). */
START_TEST(failing_calls_are_reported_and_lose_nothing)
{
    if (!io_faults_work()) return;
    Net *net = net_new(3), *other = net_new(3);
    Optimizer *o = adam(net), *p = adam(other);
    expect_done(nn_checkpoint_save(in_folder("a"), net, o, NULL));
    bool hit = true;
    for (int n = 0; hit; n++) {
        double former = (double)tensor_data(net->table)[0];
        ag_fill(net->table, n);
        io_faults_at(n, _i);
        bool saved = nn_checkpoint_save(in_folder("a"), net, o, NULL);
        hit = io_faults_end(saved);
        expect_done(nn_checkpoint_load(in_folder("a"), other, p, NULL));
        double found = (double)tensor_data(other->table)[0];
        ck_assert_msg(found == n || (!saved && found == former), "call %d failed: found %g", n, found);
        ag_fill(net->table, found);
    }
    Net *before = nn_clone(other);
    ag_fill(net->table, -1);
    expect_done(nn_checkpoint_save(in_folder("a"), net, o, NULL));
    hit = true;
    for (int n = 0; hit; n++) {
        io_faults_at(n, _i);
        bool loaded = nn_checkpoint_load(in_folder("a"), other, p, NULL);
        hit = io_faults_end(loaded);
        if (!loaded) check_same_parameters(before, other);
        else ag_fill(other->table, (double)tensor_data(before->table)[0]);
    }
    ck_assert_int_eq(io_faults_open(), 0);
    ag_free(p);
    ag_free(o);
    ag_free(before);
    ag_free(net);
    ag_free(other);
}
END_TEST

/* ---- damage ------------------------------------------------------------------------------------------------------ */

/* Bytes that a file has in the folder, with one bit changed. */
static void write_flipped(const char *name, const char *bytes, size_t size, size_t bit)
{
    static char changed[1 << 14];
    ck_assert_uint_le(size, sizeof changed);
    memcpy(changed, bytes, size);
    changed[bit / 8] = (char)(changed[bit / 8] ^ 1 << bit % 8);
    folder_write(name, changed, size);
}

/* Each bit of a file counts: of the header's size, of the header with names, shapes and settings, and of all values. */
START_TEST(each_flipped_bit_is_refused)
{
    Net *net = net_new(3), *other = net_new(3);
    Optimizer *o = adam(net), *p = adam(other);
    NnSettings *settings = nn_settings_new(), *found = nn_settings_new();
    nn_settings_set(settings, "width", "%d", 3);
    train_step(net, o);
    expect_done(nn_checkpoint_save(in_folder("a"), net, o, settings));
    train_step(other, p);
    Net *before = nn_clone(other);
    size_t size;
    char *bytes = file_read(net, in_folder("a"), 1 << 14, &size);
    ck_assert_msg(bytes != NULL, "%s", ag_error());
    for (size_t bit = (size_t)_i; bit < 8 * size; bit += 16) {
        write_flipped("b", bytes, size, bit);
        ag_set_error("none");
        bool loaded = nn_checkpoint_load(in_folder("b"), other, p, found);
        ck_assert_msg(!loaded, "bit %zu of %zu bytes was changed, and that was not seen", bit, size);
        expect_refused(loaded, "/b");
        ck_assert_ptr_null(nn_settings_get(found, "width"));
    }
    check_same_parameters(before, other);
    expect_done(nn_checkpoint_load(in_folder("a"), other, p, found));
    check_same_parameters(net, other);
    ag_free(settings);
    ag_free(found);
    ag_free(o);
    ag_free(p);
    ag_free(before);
    ag_free(net);
    ag_free(other);
}
END_TEST

typedef struct { Module module; Linear *l; Tensor *ints, *bools; } Kinds;

static Kinds *kinds_new(bool packed)
{
    Kinds *m = nn_new(Kinds);
    nn_child(m, l, nn_linear_new(32, 40));
    nn_buffer_with(m, ints, SHAPE(3), AG_INT, true);
    nn_buffer_with(m, bools, SHAPE(3), AG_BOOL, true);
    if (packed) nn_freeze_bf16(m);
    return m;
}

static bool load(const char *path, void *m)
{
    return nn_load(path, m);
}

static bool load_in_place(const char *path, void *m)
{
    return nn_load_with(path, m, (NnLoadOptions){ .in_place = true });
}

static bool average(const char *path, void *m)
{
    return nn_average_checkpoints(m, &path, 1);
}

static bool read_each(const char *path, void *m)
{
    (void)m;
    AgScope s = ag_begin(AG_NO_GRAD);
    NnTensorFile *f = tensor_file_open(path);
    bool good = f != NULL;
    for (int i = 0; good && i < tensor_file_count(f); i++) good = tensor_file_get(f, tensor_file_item(f, i)->name) != NULL;
    ag_free(f);
    ag_end(s);
    return good;
}

/* Whoever writes, and whoever reads: a bit of any tensor's values is seen, whatever its type, by all readers of values. */
START_TEST(each_reader_sees_damage)
{
    bool (*const readers[])(const char *path, void *m) = { read_each, load, load_in_place, average };
    Kinds *m = kinds_new(false), *packed = kinds_new(true);
    expect_done(nn_save(in_folder("0"), m));
    expect_done(nn_save_bf16(in_folder("1"), m));
    expect_done(nn_save(in_folder("2"), packed));
    expect_done(tensor_save(in_folder("3.safetensors"), { "ints", m->ints }, { "packed", packed->l->weight }));
    static const char *const files[] = { "0", "1", "2", "3.safetensors" };
    for (int i = 0; i < 4; i++) {
        NnTensorFile *f = st_open(in_folder(files[i]));
        ck_assert_msg(f != NULL, "%s", ag_error());
        size_t size;
        char *bytes = file_read(f, in_folder(files[i]), 1 << 14, &size);
        ck_assert_msg(bytes != NULL, "%s", ag_error());
        for (size_t k = 0; k < f->n_tensors; k++) {
            write_flipped("b", bytes, size, 8 * (size_t)(f->tensor[k].offset + f->tensor[k].size - 1));
            for (size_t r = 0; r < sizeof readers / sizeof *readers; r++) {
                void *to = i == 2 ? packed : m;
                if (i == 2 && readers[r] == average) continue;                  /* refuses packed ones */
                if (i == 3 && readers[r] != read_each) continue;                /* has no module's names */
                expect_done(readers[r](in_folder(files[i]), to));
                ag_set_error("none");
                expect_refused(readers[r](in_folder("b"), to), "the file is damaged");
            }
        }
        ag_free(f);
    }
    ag_free(m);
    ag_free(packed);
}
END_TEST

/* A part of a tensor that has its first item: all of the tensor is compared, so that one of the processes that read a part each
 * sees damage anywhere. */
START_TEST(a_reader_of_the_first_part_sees_damage)
{
    Linear *l = nn_linear_new(32, 40);
    uint32_t pairs[640];
    ag_real reals[1280];
    for (int i = 0; i < 2; i++) {
        expect_done(i ? nn_save_bf16(in_folder("a"), l) : nn_save(in_folder("a"), l));
        NnTensorFile *f = st_open(in_folder("a"));
        const StTensor *t = st_find(f, "weight");
        size_t size;
        char *bytes = file_read(f, in_folder("a"), 1 << 14, &size);
        write_flipped("b", bytes, size, 8 * (size_t)(t->offset + t->size) - 9);
        NnTensorFile *damaged = st_open(in_folder("b"));
        ck_assert_msg(damaged != NULL, "%s", ag_error());
        t = st_find(damaged, "weight");
        expect_refused(st_read(t, AG_REAL, 0, 4, reals), "/b: tensor \"weight\": expected bytes with the hash ");
        expect_done(st_read(t, AG_REAL, 4, 4, reals));
        expect_refused(st_read_pairs(t, true, 0, 4, pairs), "the file is damaged");
        expect_done(st_read_pairs(t, true, 4, 4, pairs));
        ag_free(damaged);
        ag_free(f);
    }
    ag_free(l);
}
END_TEST

/* A hash does not depend on the pieces in which the bytes come, and each byte and the number of bytes count. */
START_TEST(hashes_are_those_of_all_bytes)
{
    unsigned char bytes[300];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(i * i % 251);
    uint64_t known[sizeof bytes];
    for (size_t n = 0; n < sizeof bytes; n++) {
        StHash whole = { 0 }, pieces = { 0 }, zeros = { 0 };
        st_hash_add(&whole, bytes, n);
        known[n] = st_hash_end(&whole);
        for (size_t i = 0, k; i < n; i += k) {
            k = 1 + (i * 7 + n) % 90 < n - i ? 1 + (i * 7 + n) % 90 : n - i;
            st_hash_add(&pieces, bytes + i, k);
        }
        ck_assert(st_hash_end(&pieces) == known[n]);
        for (size_t i = 0; i < n; i++) ck_assert(known[n] != known[i]);
        st_hash_add(&zeros, (char[sizeof bytes]){ 0 }, n);
        ck_assert_msg(n < 2 || st_hash_end(&zeros) != known[n], "%zu zeros", n);      /* bytes[0] is 0 */
    }
}
END_TEST

/* Files without hashes are read as they are. A hash that another program has kept is one that does not fit: the line
 * says how to go on. */
START_TEST(files_without_hashes_are_read)
{
    static const char plain[] = "{\"__metadata__\":{\"format\":\"pt\"},"
        "\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}";
    static const char kept[] = "{\"__metadata__\":{\"kaeru.hash\":\"kaeru-hash 1 0123456789abcdef 0123456789abcdef\"},"
                               "\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}";
    AgScope s = ag_begin(AG_NO_GRAD);
    write_raw("plain", plain, (float[]){ 2 }, 4);
    ck_assert_ptr_nonnull(tensor_load(in_folder("plain"), "x"));
    write_raw("kept", kept, (float[]){ 2 }, 4);
    expect_refused(tensor_load(in_folder("kept"), "x") != NULL,
                   "/kept: its header is damaged, or another program has changed the file and kept its old hash: such a "
                   "program "
                   "must leave out kaeru.hash of the metadata");
    NnSettings *metadata = nn_settings_new();
    nn_settings_set(metadata, "settings.x", "kaeru-hash 1 ");
    expect_refused(st_write(in_folder("w"), NULL, 0, metadata), "/w: its header is damaged");
    ag_free(metadata);
    ag_end(s);
}
END_TEST

START_TEST(a_setting_that_changes_frees_its_old_text)
{
    NnSettings *s = nn_settings_new();
    nn_settings_set(s, "a", "%d", 1);
    nn_settings_set(s, "a", "%d", 1);
    int64_t live = faults_live();
    nn_settings_set(s, "a", "%d", 2);
    live -= faults_live();
    ck_assert_int_eq(live, 0);
    ag_free(s);
}
END_TEST

START_TEST(a_mean_leaves_no_memory)
{
    Linear *m = nn_linear_new(2, 2);
    expect_done(nn_save(in_folder("a.safetensors"), m));
    const char *path = in_folder("a.safetensors");
    int64_t live = 0, after = 0;
    for (int i = 0; i < 3; i++) {
        if (i == 2) live = faults_live();
        bool done = nn_average_checkpoints(m, &path, 1);
        after = faults_live();
        expect_done(done);
    }
    ck_assert_int_eq(after, live);
    ag_free(m);
}
END_TEST

/* ---- long lists ---------------------------------------------------------------------------------------------------- */

static bool is_odd(const NnNamedTensor *p, void *unused)
{
    (void)unused;
    return (p->owner->index & 1) != 0;
}

/* Their time is proportional to the number of modules: it would be some minutes if each were compared with all others. */
START_TEST(a_list_of_60000_modules)
{
    enum { MODULES = 60000 };
    ModuleList *list = nn_list_new(), *copy;
    for (int i = 0; i < MODULES; i++) nn_list_add(list, nn_embedding_new(1, 1));
    ck_assert_int_eq(nn_count(list), MODULES);
    Optimizer *o = nn_sgd_new(list, 1);
    ck_assert_int_eq(nn_optimizer_group(o, is_odd, NULL, 0, 2), MODULES / 2);
    copy = nn_clone(list);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *sum = nn_item(Embedding, list, 0)->weight;
    for (int i = 1; i < MODULES; i++) sum = ag_add(sum, nn_item(Embedding, list, i)->weight);
    ag_backward(ag_sum(sum));
    nn_optimizer_step(o);
    ag_end(s);
    expect_done(nn_checkpoint_save(in_folder("long"), list, o, NULL));
    expect_done(nn_load_with(in_folder("long"), copy, (NnLoadOptions){ .in_place = true }));
    expect_done(nn_checkpoint_load(in_folder("long"), copy, NULL, NULL));
    for (int i = 0; i < MODULES; i++)
        ck_assert(tensor_item(nn_item(Embedding, copy, i)->weight) == tensor_item(nn_item(Embedding, list, i)->weight));
    ag_free(o);
    ag_free(list);
    ag_free(copy);
}
END_TEST

Suite *checkpoint_suite(void)
{
    Suite *suite = suite_create("checkpoint");
    TCase *weights = tcase_create("weights");
    tcase_add_checked_fixture(weights, folder_make, folder_remove);
    tcase_add_test(weights, weights_load_to_the_bit);
    tcase_add_test(weights, modules_without_values_are_saved);
    tcase_add_test(weights, a_tied_weight_loads_by_any_of_its_names);
    tcase_add_test(weights, weights_that_do_not_fit_change_nothing);
    tcase_add_test(weights, other_types_are_converted);
    tcase_add_test(weights, frozen_weights_are_missing_unless_only_the_trained_are_saved);
    tcase_add_test(weights, long_messages_are_cut);
    tcase_add_test(weights, broken_files_change_nothing);
    tcase_add_test(weights, a_setting_that_changes_frees_its_old_text);
    tcase_add_test(weights, a_mean_leaves_no_memory);
    suite_add_tcase(suite, weights);
    TCase *runs = tcase_create("runs");
    tcase_add_checked_fixture(runs, folder_make, folder_remove);
    tcase_add_loop_test(runs, a_resumed_run_is_the_same_run, 0, sizeof makers / sizeof *makers);
    tcase_add_test(runs, a_checkpoint_loads_as_weights);
    tcase_add_test(runs, a_checkpoint_without_the_frozen_has_the_buffers);
    tcase_add_test(runs, a_checkpoint_that_does_not_fit_changes_nothing);
    tcase_add_test(runs, a_refused_load_leaves_the_settings);
    tcase_add_test(runs, an_optimizer_of_a_part_is_saved);
    tcase_add_test(runs, loading_between_forward_and_backward_is_reported);
    tcase_add_test(runs, saving_to_an_impossible_path_is_refused);
    tcase_add_test(runs, members_of_a_json_file_become_settings);
    tcase_add_test(runs, settings_are_texts_that_are_checked_on_reading);
    tcase_add_test(runs, settings_do_not_depend_on_the_locale);
    suite_add_tcase(suite, runs);
    TCase *trouble = tcase_create("trouble");
    tcase_add_checked_fixture(trouble, folder_make, folder_remove);
    tcase_add_loop_test(trouble, failing_calls_are_reported_and_lose_nothing, 0, 2);
    tcase_add_test(trouble, failing_allocations_leak_nothing);
    tcase_add_loop_test(trouble, each_flipped_bit_is_refused, 0, 16);
    tcase_add_test(trouble, each_reader_sees_damage);
    tcase_add_test(trouble, a_reader_of_the_first_part_sees_damage);
    tcase_add_test(trouble, hashes_are_those_of_all_bytes);
    tcase_add_test(trouble, files_without_hashes_are_read);
    suite_add_tcase(suite, trouble);
    TCase *kills = tcase_create("kills");
    tcase_add_checked_fixture(kills, folder_make, folder_remove);
    tcase_add_test(kills, a_kill_at_any_moment_loses_nothing);
    suite_add_tcase(suite, kills);
    TCase *lists = tcase_create("long lists");
    tcase_set_timeout(lists, 60);
    tcase_add_test(lists, a_list_of_60000_modules);
    suite_add_tcase(suite, lists);
    return suite;
}
