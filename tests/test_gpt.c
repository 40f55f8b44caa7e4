/* test_gpt.c: GPT compared with a GPT-2 in PyTorch (fixtures/make_gpt2.py), its cache, initial weights, and files. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "expected.h"
#include "faults.h"
#include "file.h"
#include "folder.h"
#include "io_faults.h"
#include "json.h"
#include "kaeru/lm.h"
#include "suites.h"
#include "usage_error.h"

#define WEIGHTS TEST_FIXTURES "/gpt2.safetensors"
#define CONFIG TEST_FIXTURES "/gpt2_config.json"
#define EXPECTED TEST_FIXTURES "/gpt2_expected.safetensors"

static GPT *opened(const char *weights, const char *config)
{
    GPT *m = gpt_open(weights, config);
    ck_assert_msg(m != NULL, "%s", ag_error());
    return m;
}

/* ---- the same as PyTorch ----------------------------------------------------------------------------------------- */

START_TEST(logits_agree)
{
    GPT *m = opened(WEIGHTS, CONFIG);
    NnTensorFile *st = open_safetensors(EXPECTED);
    ck_assert(m->options.layers == 2 && m->options.heads == 3 && m->options.width == 15 && m->options.vocab == 29);
    ck_assert(m->options.context == 11 && m->options.bias && m->options.eps == 1e-4 && m->options.dropout == 0.1);
    nn_eval(m);
    AgScope s = ag_begin(AG_NO_GRAD);
    check_close("logits", gpt_forward(m, ids_of(st, "ids")), reals_of(st, "logits"), 1e-5);
    ag_end(s);
    ag_free(st);
    ag_free(m);
}
END_TEST

START_TEST(loss_and_gradients_agree)
{
    GPT *m = opened(WEIGHTS, CONFIG);
    NnTensorFile *st = open_safetensors(EXPECTED);
    nn_eval(m);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *loss = lm_loss(m, ids_of(st, "ids"), ids_of(st, "targets"));
    ck_assert_double_eq_tol(tensor_item(loss), tensor_item(reals_of(st, "loss")), 1e-6);
    ag_backward(loss);
    NnParameters *p = nn_parameters(m);
    for (int i = 0; i < p->n; i++) {
        char name[80];
        snprintf(name, sizeof name, "grad/%s", p->item[i].name);
        Tensor *expected = reals_of(st, name);
        bool transposed = strncmp(p->item[i].name, "h.", 2) == 0 && tensor_ndim(expected) == 2;
        if (transposed) expected = ag_transpose(expected, 0, 1);
        ck_assert_msg(tensor_grad_data(p->item[i].tensor) != NULL, "no %s", name);
        check_close(name, tensor_grad(p->item[i].tensor), expected, 2e-5 * largest(expected));
    }
    ag_free(p);
    ag_end(s);
    ag_free(st);
    ag_free(m);
}
END_TEST

START_TEST(greedy_continuation_agrees)
{
    GPT *m = opened(WEIGHTS, CONFIG);
    NnTensorFile *st = open_safetensors(EXPECTED);
    nn_eval(m);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *expected = ids_of(st, "greedy");
    const int32_t *id = tensor_int_data(expected);
    int64_t n = tensor_dim(expected, 1);
    NnCache *cache = lm_cache_new(m);
    Tensor *next = ag_slice(expected, 1, 0, 3);
    for (int64_t i = 3; i < n; i++) {
        Tensor *best = ag_argmax(lm_next(m, next, cache), -1, false);
        ck_assert_int_eq(tensor_int_data(best)[0], id[i]);
        Tensor *whole = ag_argmax(gpt_forward(m, ag_slice(expected, 1, 0, i)), -1, false);
        ck_assert_int_eq(tensor_int_data(whole)[i - 1], id[i]);
        next = ag_reshape(best, SHAPE(1, 1));
    }
    ag_free(cache);
    ag_end(s);
    ag_free(st);
    ag_free(m);
}
END_TEST

/* ---- the cache --------------------------------------------------------------------------------------------------- */

START_TEST(a_cache_changes_nothing)
{
    static const int steps[] = { 1, 2, 3, 5, 11 };          /* ids at a time */
    GPT *m = opened(WEIGHTS, CONFIG);
    NnTensorFile *st = open_safetensors(EXPECTED);
    nn_eval(m);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *ids = ids_of(st, "ids"), *all = gpt_forward(m, ids);
    NnCache *cache = lm_cache_new(m);
    for (int64_t at = 0, step = steps[_i]; at < 11; at += step) {
        if (step > 11 - at) step = 11 - at;
        Tensor *next = lm_next(m, ag_slice(ids, 1, at, at + step), cache);
        check_close("logits with a cache", next, ag_squeeze(ag_slice(all, 1, at + step - 1, at + step), 1), 1e-5);
    }
    Tensor *one = tensor_ints(SHAPE(3, 1), NULL);
    EXPECT_USAGE_ERROR("1 ids after 11 in the cache exceed the context of 11", lm_next(m, one, cache));
    ag_free(cache);
    ag_end(s);
    ag_free(st);
    ag_free(m);
}
END_TEST

/* ---- a new model ------------------------------------------------------------------------------------------------- */

static GPTOptions small(void)
{
    return (GPTOptions){ .layers = 2, .heads = 2, .width = 8, .vocab = 13, .context = 6, .bias = true, .eps = 1e-5 };
}

START_TEST(sizes_give_the_number_of_parameters)
{
    GPTOptions o = gpt_defaults();
    ck_assert_double_eq(gpt_size(&o), 124439808);
    o = (GPTOptions){ .layers = 4, .heads = 4, .width = 128, .vocab = 65, .context = 64, .eps = 1e-5 };
    ck_assert_double_eq(gpt_size(&o), 804096);
    GPT *m = gpt_new(o);
    ck_assert_int_eq(nn_count(m), 804096);
    ag_free(m);
    m = gpt_new(small());
    o = small();
    ck_assert_double_eq(gpt_size(&o), (double)nn_count(m));
    ck_assert_ptr_eq(nn_find(m, "lm_head.weight"), m->wte->weight);
    ck_assert_ptr_nonnull(nn_find(m, "h.1.attn.c_attn.bias"));
    ag_free(m);
}
END_TEST

/* The mean and standard deviation of a parameter. */
static void check_normal(GPT *m, const char *name, double deviation)
{
    Tensor *t = nn_find(m, name);
    double sum = 0, squares = 0, n = (double)tensor_numel(t);
    for (int64_t i = 0; i < tensor_numel(t); i++) {
        double x = (double)tensor_data(t)[i];
        sum += x;
        squares += x * x;
    }
    double found = sqrt(squares / n), mean = sum / n;
    ck_assert_msg(fabs(mean) < 5 * deviation / sqrt(n) && fabs(found / deviation - 1) < 5 / sqrt(2 * n),
                  "%s: mean %g, deviation %g", name, mean, found);
}

START_TEST(initial_weights_are_those_of_gpt2)
{
    GPTOptions o = small();
    o.layers = 8;
    o.width = 32;
    o.vocab = 100;
    GPT *m = gpt_new(o);
    check_normal(m, "wte.weight", 0.02);
    check_normal(m, "wpe.weight", 0.02);
    check_normal(m, "h.0.attn.c_attn.weight", 0.02);
    check_normal(m, "h.7.mlp.c_fc.weight", 0.02);
    check_normal(m, "h.0.attn.c_proj.weight", 0.02 / 4);
    check_normal(m, "h.7.mlp.c_proj.weight", 0.02 / 4);
    NnParameters *p = nn_parameters(m);
    for (int i = 0; i < p->n; i++) {
        if (tensor_ndim(p->item[i].tensor) > 1) continue;
        bool ones = strstr(p->item[i].name, "ln_") && strstr(p->item[i].name, ".weight");
        for (int64_t k = 0; k < tensor_numel(p->item[i].tensor); k++)
            ck_assert(tensor_data(p->item[i].tensor)[k] == (ag_real)ones);
    }
    ag_free(p);
    ag_free(m);
}
END_TEST

START_TEST(later_positions_have_no_effect)
{
    GPT *m = gpt_new(small());
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *ids = tensor_randint(SHAPE(1, 6), 0, 13), *before = gpt_forward(m, ids);
    tensor_mutable_int_data(ids)[4] = (tensor_int_data(ids)[4] + 1) % 13;
    Tensor *after = gpt_forward(m, ids);
    ck_assert_int_eq(memcmp(tensor_data(before), tensor_data(after), 4 * 13 * sizeof(ag_real)), 0);
    ck_assert_int_ne(memcmp(tensor_data(before) + 4 * 13, tensor_data(after) + 4 * 13, 13 * sizeof(ag_real)), 0);
    ag_end(s);
    ag_free(m);
}
END_TEST

START_TEST(usage_errors_are_reported)
{
    GPTOptions bad = small();
    bad.heads = 3;
    EXPECT_USAGE_ERROR("gpt_new: a width of 8 does not divide into 3 heads", gpt_new(bad));
    bad = small();
    bad.layers = 0;
    EXPECT_USAGE_ERROR("gpt.layers is 0, expected a whole number from 1 to 100000", gpt_new(bad));
    bad = small();
    bad.vocab = INT64_C(1) << 40;
    EXPECT_USAGE_ERROR("gpt.vocab is 1099511627776, expected a whole number from 1 to 2147483647", gpt_new(bad));
    bad = small();
    bad.dropout = 1;
    EXPECT_USAGE_ERROR("gpt.dropout is 1, expected a number from 0 to below 1", gpt_new(bad));
    bad.dropout = NAN;
    EXPECT_USAGE_ERROR("gpt.dropout is nan, expected", gpt_new(bad));
    bad = small();
    bad.eps = -1;
    EXPECT_USAGE_ERROR("gpt.eps is -1, expected", gpt_new(bad));

    GPT *m = gpt_new(small());
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *long_ids = tensor_ints(SHAPE(1, 7), NULL), *flat = tensor_ints(SHAPE(6), NULL);
    Tensor *none = tensor_ints(SHAPE(1, 0), NULL), *high = tensor_ints(SHAPE(1, 1), (int32_t[]){ 13 });
    EXPECT_USAGE_ERROR("7 ids after 0 in the cache exceed the context of 6", gpt_forward(m, long_ids));
    EXPECT_USAGE_ERROR("ids (6,), expected (B,T)", gpt_forward(m, flat));
    EXPECT_USAGE_ERROR("ids (1, 0), expected (B,T)", gpt_forward(m, none));
    EXPECT_USAGE_ERROR("13", gpt_forward(m, high));
    REPORTS("gpt_forward: ids (6,), expected (B,T)", gpt_forward(m, flat));
    ag_end(s);
    ag_free(m);
}
END_TEST

/* ---- Hugging Face's files ---------------------------------------------------------------------------------------- */

START_TEST(written_files_equal_those_that_were_read)
{
    GPT *m = opened(WEIGHTS, CONFIG);
    expect_done(gpt_write(m, in_folder("w"), in_folder("c")));
    GPT *again = opened(in_folder("w"), in_folder("c"));
    check_same_parameters(m, again);
    ck_assert(again->options.eps == 1e-4 && again->options.dropout == 0.1 && again->options.context == 11);

    const Json *config = json_read(m, in_folder("c"), 1 << 20);         /* what this library writes and does not read */
    double embedding = 0, attention = 0;
    ck_assert(json_is(json_get(config, "architectures")->as.item, "GPT2LMHeadModel"));
    ck_assert(json_real(json_get(config, "embd_pdrop"), &embedding) && embedding == 0.1);
    ck_assert(json_real(json_get(config, "attn_pdrop"), &attention) && attention == 0.1);

    NnTensorFile *theirs = st_open(WEIGHTS), *ours = st_open(in_folder("w"));
    AgScope s = ag_begin(AG_NO_GRAD);
    ck_assert_uint_eq(ours->n_tensors, 2 * 12 + 4);
    for (size_t i = 0; i < ours->n_tensors; i++) {
        char name[80];
        snprintf(name, sizeof name, "transformer.%s", ours->tensor[i].item.name);
        Tensor *a = reals_of(ours, ours->tensor[i].item.name), *b = reals_of(theirs, name);
        check_close(name, a, b, 0);
    }
    ck_assert_str_eq(tensor_file_metadata(ours, "format"), "pt");
    ag_end(s);
    ag_free(theirs);
    ag_free(ours);
    ag_free(m);
    ag_free(again);
}
END_TEST

START_TEST(a_model_without_biases_is_written_with_zeros)
{
    GPTOptions o = small();
    o.bias = false;
    GPT *m = gpt_new(o);
    expect_done(gpt_write(m, in_folder("w"), in_folder("c")));
    GPT *again = opened(in_folder("w"), in_folder("c"));
    ck_assert(again->options.bias);
    const Json *root = json_read(m, in_folder("c"), 1 << 20);
    int64_t positions, context;
    ck_assert(json_int(json_get(root, "n_positions"), &positions) && json_int(json_get(root, "n_ctx"), &context));
    ck_assert(positions == o.context && context == o.context);
    ck_assert(json_get(root, "bos_token_id")->type == JSON_NULL && json_get(root, "eos_token_id")->type == JSON_NULL);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *ids = tensor_randint(SHAPE(2, 6), 0, 13);
    check_close("logits", gpt_forward(again, ids), gpt_forward(m, ids), 0);
    ck_assert(largest(nn_find(again, "h.1.mlp.c_fc.bias")) == 0);
    ag_end(s);
    ag_free(m);
    ag_free(again);
}
END_TEST

/* The weights have values of bfloat16. */
START_TEST(a_model_is_kept_in_two_bytes)
{
    GPT *m = gpt_new(small()), *frozen;
    AgScope s = ag_begin(AG_NO_GRAD);
    NnParameters *p = nn_parameters(m);
    for (int i = 0; i < p->n; i++)
        if (tensor_ndim(p->item[i].tensor) == 2) tensor_copy(p->item[i].tensor, ag_from_bf16(ag_to_bf16(p->item[i].tensor)));
    ag_free(p);
    frozen = nn_clone(m);
    nn_freeze_bf16(frozen);
    ck_assert_int_eq(tensor_dtype(frozen->wpe->weight), AG_PACKED);
    ag_precision(AG_BF16);
    Tensor *ids = tensor_randint(SHAPE(2, 6), 0, 13);
    check_close("logits", gpt_forward(frozen, ids), gpt_forward(m, ids), 0);
    expect_done(gpt_write(m, in_folder("w"), in_folder("c")));
    expect_done(gpt_write(frozen, in_folder("w2"), in_folder("c2")));
    folder_same("w", "w2");
    ag_end(s);
    ag_free(frozen);
    ag_free(m);
}
END_TEST

/* Writes the fixture's tensors, changed, as a file "w": `skip` is left out, `extra` is added (under another name if that is
 * given), and the prefix `strip` is removed from each name. */
typedef struct { const char *skip, *extra, *strip; AgShape shape; ag_real value; } Change;

static void write_changed(Change c)
{
    NnTensorFile *st = st_open(WEIGHTS);
    StEntry entry[48];
    size_t n = 0;
    AgScope s = ag_begin(AG_NO_GRAD);
    for (size_t i = 0; i < st->n_tensors; i++) {
        const char *name = st->tensor[i].item.name;
        if (c.skip && strcmp(name, c.skip) == 0) continue;
        Tensor *t = reals_of(st, name);
        size_t strip = c.strip && strncmp(name, c.strip, strlen(c.strip)) == 0 ? strlen(c.strip) : 0;
        entry[n++] = st_entry(name + strip, t);
    }
    if (c.extra) {
        Tensor *t = tensor_full(c.shape, (double)c.value);
        entry[n++] = (StEntry){ .name = c.extra, .shape = c.shape, .values = tensor_data(t), .dtype = AG_REAL };
    }
    expect_done(st_write(in_folder("w"), entry, n, NULL));
    ag_end(s);
    ag_free(st);
}

START_TEST(files_of_other_versions_open)
{
    GPT *m = opened(WEIGHTS, CONFIG);
    static const Change changes[] = {
        { .strip = "transformer." },
        { .skip = "lm_head.weight" },
        { .skip = "lm_head.weight", .strip = "transformer." },
        { .skip = "transformer.h.0.attn.bias" },
        { .extra = "h.0.attn.bias", .shape = { 1, { 1 } } },
        { .skip = "transformer.h.1.attn.masked_bias", .extra = "transformer.h.11.attn.bias", .shape = { 1, { 2 } } },
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        write_changed(changes[i]);
        GPT *other = opened(in_folder("w"), CONFIG);
        check_same_parameters(m, other);
        ag_free(other);
    }
    ag_free(m);
}
END_TEST

static void expect_open_refused(const char *weights, const char *config, const char *part)
{
    GPT *m = gpt_open(weights, config);
    expect_refused(m != NULL, part);
}

START_TEST(wrong_weights_are_refused)
{
    static const struct { Change change; const char *message; } cases[] = {
        { { .skip = "transformer.h.1.mlp.c_fc.weight" }, "w: missing: \"h.1.mlp.c_fc.weight\"" },
        { { .skip = "transformer.h.1.ln_2.bias", .extra = "transformer.h.0.ln_3.bias", .shape = { 1, { 900 } } },
          "w: missing: \"h.1.ln_2.bias\"" },
        { { .skip = "transformer.wte.weight", .extra = "x", .shape = { 1, { 900 } } }, "w: missing: \"wpe.weight\"" },
        { { .extra = "transformer.h.2.ln_1.weight", .shape = { 1, { 15 } } },
          "w: unexpected: \"transformer.h.2.ln_1.weight\"" },
        { { .extra = "wte.weight", .shape = { 2, { 29, 15 } } }, "w: unexpected: \"wte.weight\"" },
        { { .extra = "h.0.attn.other", .shape = { 1, { 1 } } }, "w: unexpected: \"h.0.attn.other\"" },
        { { .extra = "transformer.h..attn.bias", .shape = { 1, { 1 } } }, "w: unexpected: " },
        { { .skip = "transformer.h.0.attn.c_attn.weight", .extra = "transformer.h.0.attn.c_attn.weight",
            .shape = { 2, { 45, 15 } } }, "\"transformer.h.0.attn.c_attn.weight\" is (45, 15), expected (15, 45)" },
        { { .skip = "transformer.ln_f.weight", .extra = "transformer.ln_f.weight", .shape = { 2, { 15, 1 } } },
          "\"transformer.ln_f.weight\" is (15, 1), expected (15,)" },
        { { .skip = "lm_head.weight", .extra = "lm_head.weight", .shape = { 2, { 29, 15 } } },
          "\"transformer.wte.weight\" and \"lm_head.weight\" are one tensor in the model, but differ in the file" },
        { { .skip = "lm_head.weight", .extra = "lm_head.weight", .shape = { 2, { 15, 29 } } },
          "\"lm_head.weight\" is (15, 29), expected (29, 15)" },
        { { .skip = "transformer.ln_f.bias" }, "w: unexpected: " },          /* only one bias is missing */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_changed(cases[i].change);
        expect_open_refused(in_folder("w"), CONFIG, cases[i].message);
    }
    expect_open_refused(in_folder("absent"), CONFIG, "absent: cannot be opened");
    expect_open_refused(CONFIG, CONFIG, "gpt2_config.json");
}
END_TEST

START_TEST(truncated_weights_are_refused)
{
    NnTensorFile *st = st_open(WEIGHTS);
    size_t size = (size_t)st->file->size;
    char *bytes = malloc(size);
    ck_assert(file_read_bytes(st->file, 0, bytes, size));
    ag_free(st);
    for (size_t n = 0; n < size; n += n < 3000 ? 97 : 1501) {
        folder_write("w", bytes, n);
        expect_open_refused(in_folder("w"), CONFIG, "w");
    }
    free(bytes);
}
END_TEST

static void write_entry(JsonWriter *w, StTensor t, int64_t at)
{
    json_open(w, t.item.name, '{');
    json_put_text(w, "dtype", t.item.type);
    json_open(w, "shape", '[');
    for (int i = 0; i < t.item.shape.ndim; i++) json_put_int(w, NULL, t.item.shape.dim[i]);
    json_close(w, ']');
    json_open(w, "data_offsets", '[');
    json_put_int(w, NULL, at);
    json_put_int(w, NULL, at + (int64_t)t.size);
    json_close(w, ']');
    json_close(w, '}');
}

/* Writes the fixture's weights after a mask of nearly 4 GiB, so that one weight crosses that offset and most follow it.
 * False if this disk has no sparse files. */
static bool write_after_mask(const char *path)
{
    static const uint64_t most = (UINT64_C(1) << 32) - 4000;
    NnTensorFile *st = st_open(WEIGHTS);
    uint64_t start = st->tensor[0].offset;
    size_t size, n = (size_t)(st->file->size - start);
    JsonWriter *w = json_writer(st, 0);
    json_open(w, NULL, '{');
    write_entry(w, (StTensor){ .item = { "transformer.h.7.attn.bias", "U8", SHAPE((int64_t)most) }, .size = most }, 0);
    for (size_t i = 0; i < st->n_tensors; i++)
        write_entry(w, st->tensor[i], (int64_t)(most + st->tensor[i].offset - start));
    json_close(w, '}');
    const char *header = json_written(w, &size);
    unsigned char length[8] = { (unsigned char)size, (unsigned char)(size >> 8) };
    char *values = ag_alloc_in(st, n, 1);
    expect_done(file_read_bytes(st->file, start, values, n));
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    bool done = sizeof(off_t) == 8 && pwrite(fd, length, 8, 0) == 8 && pwrite(fd, header, size, 8) == (ssize_t)size &&
                pwrite(fd, values, n, (off_t)(8 + size + most)) == (ssize_t)n;
    close(fd);
    ag_free(st);
    return done;
}

START_TEST(weights_after_4_GiB_are_read)
{
    if (!write_after_mask(in_folder("w"))) return;
    GPT *m = opened(WEIGHTS, CONFIG), *behind = opened(in_folder("w"), CONFIG);
    check_same_parameters(m, behind);
    ag_free(m);
    ag_free(behind);
}
END_TEST

START_TEST(wrong_configs_are_refused)
{
#define SIZES "\"n_layer\":2,\"n_head\":3,\"n_embd\":15,\"vocab_size\":29,\"n_positions\":11"
    static const struct { const char *text, *message; } cases[] = {
        { "", "c: line 1" },
        { "[]", "c: expected an object, found an array" },
        { "{" SIZES, "c: line 1" },
        { "{" SIZES ",\"n_layer\":2}", "n_layer" },
        { "{\"n_layer\":2,\"n_head\":3,\"n_embd\":15,\"vocab_size\":29}",
          "c: \"n_positions\": expected a whole number, found nothing" },
        { "{\"n_layer\":\"2\",\"n_head\":3,\"n_embd\":15,\"vocab_size\":29,\"n_positions\":11}",
          "c: \"n_layer\": expected a whole number, found a string" },
        { "{\"n_layer\":2.5,\"n_head\":3,\"n_embd\":15,\"vocab_size\":29,\"n_positions\":11}",
          "c: \"n_layer\": expected a whole number, found another number" },
        { "{\"n_layer\":0,\"n_head\":3,\"n_embd\":15,\"vocab_size\":29,\"n_positions\":11}", "c: n_layer is 0" },
        { "{\"n_layer\":-1,\"n_head\":3,\"n_embd\":15,\"vocab_size\":29,\"n_positions\":11}", "c: n_layer is -1" },
        { "{\"n_layer\":2,\"n_head\":4,\"n_embd\":15,\"vocab_size\":29,\"n_positions\":11}",
          "c: a width of 15 does not divide into 4 heads" },
        { "{\"n_layer\":100000,\"n_head\":1,\"n_embd\":16777216,\"vocab_size\":2147483647,\"n_positions\":1073741824}",
          "numbers, expected 337" },
        { "{\"n_layer\":9223372036854775808,\"n_head\":3,\"n_embd\":15,\"vocab_size\":29,\"n_positions\":11}",
          "\"n_layer\": expected a whole number" },
        { "{\"n_layer\":3,\"n_head\":3,\"n_embd\":15,\"vocab_size\":29,\"n_positions\":11}",
         "gpt2.safetensors: missing: \"h.2.ln_1.weight\"" },
        { "{" SIZES ",\"model_type\":\"bert\"}", "c: \"model_type\": expected \"gpt2\", found \"bert\"" },
        { "{" SIZES ",\"model_type\":2}", "c: \"model_type\": expected \"gpt2\"" },
        { "{" SIZES ",\"activation_function\":\"relu\"}",
          "\"activation_function\": expected \"gelu_new\", found \"relu\"" },
        { "{" SIZES ",\"n_inner\":61}", "\"n_inner\": expected 4 times \"n_embd\"" },
        { "{" SIZES ",\"scale_attn_weights\":false}", "\"scale_attn_weights\": expected true" },
        { "{" SIZES ",\"scale_attn_by_inverse_layer_idx\":true}",
          "\"scale_attn_by_inverse_layer_idx\": expected false" },
        { "{" SIZES ",\"add_cross_attention\":0}", "\"add_cross_attention\": expected false" },
        { "{" SIZES ",\"tie_word_embeddings\":false}", "\"tie_word_embeddings\": expected true" },
        { "{" SIZES ",\"layer_norm_epsilon\":\"x\"}", "\"layer_norm_epsilon\": expected a number, found a string" },
        { "{" SIZES ",\"layer_norm_epsilon\":-1}", "c: layer_norm_epsilon is -1" },
        { "{" SIZES ",\"resid_pdrop\":1.0}", "c: resid_pdrop is 1" },
        { "{" SIZES ",\"is_causal\":false}", "c: \"is_causal\": expected true" },
        { "{" SIZES ",\"is_causal\":null}", "c: \"is_causal\": expected true" },
        { "{" SIZES ",\"per_layer_config\":{\"0\":{\"n_inner\":3}}}",
          "c: \"per_layer_config\": expected no value, or null, found an object" },
        { "{" SIZES ",\"quantization_config\":{\"quant_method\":\"gptq\"}}",
          "c: \"quantization_config\": expected no value, or null, found an object" },
        { "{" SIZES ",\"transformers_weights\":\"other.safetensors\"}",
          "c: \"transformers_weights\": expected no value, or null, found a string" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        folder_write("c", cases[i].text, strlen(cases[i].text));
        expect_open_refused(WEIGHTS, in_folder("c"), cases[i].message);
    }
    expect_open_refused(WEIGHTS, in_folder("absent"), "absent: cannot be opened");
    const char good[] = "{" SIZES ",\"n_inner\":60,\"activation_function\":\"gelu_pytorch_tanh\",\"is_causal\":true,"
                        "\"quantization_config\":null}";
    folder_write("c", good, strlen(good));
    GPT *m = opened(WEIGHTS, in_folder("c"));
    ck_assert(m->options.eps == 1e-5 && m->options.dropout == 0.1);
    ag_free(m);
}
END_TEST

/* `transformers` takes the names that other models have, too, alone or before GPT-2's own. */
START_TEST(sizes_by_common_names)
{
    static const char *const good[] = {
        "{\"num_hidden_layers\":2,\"num_attention_heads\":3,\"hidden_size\":15,\"vocab_size\":29,"
        "\"max_position_embeddings\":11}",
        "{\"num_hidden_layers\":2,\"num_attention_heads\":3,\"n_layer\":5,\"n_head\":5,\"n_embd\":20,\"hidden_size\":15,"
        "\"vocab_size\":29,\"max_position_embeddings\":11,\"n_positions\":20}",
    };
    for (int i = 0; i < 2; i++) {
        folder_write("c", good[i], strlen(good[i]));
        GPT *m = opened(WEIGHTS, in_folder("c"));
        ck_assert(m->options.layers == 2 && m->options.heads == 3 && m->options.width == 15 && m->options.context == 11);
        ag_free(m);
    }
    static const char wrong[] = "{" SIZES ",\"num_hidden_layers\":null}";
    folder_write("c", wrong, sizeof wrong - 1);
    expect_open_refused(WEIGHTS, in_folder("c"), "c: \"num_hidden_layers\": expected a whole number, found null");
}
END_TEST

START_TEST(writing_to_an_impossible_path_is_refused)
{
    GPT *m = gpt_new(small());
    folder_write("w", "old", 3);
    folder_write("c", "old", 3);
    expect_refused(gpt_write(m, in_folder("no/w"), in_folder("c")), "no/w");
    expect_refused(gpt_write(m, in_folder("w"), in_folder("no/c")), "no/c");
    folder_expect("w", "old");
    folder_expect("c", "old");
    ck_assert_int_eq(folder_count(), 2);
    ag_free(m);
}
END_TEST

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

START_TEST(a_checkpoint_has_the_sizes)
{
    GPTOptions o = small();
    o.bias = false;
    o.dropout = 0.3;
    GPT *m = gpt_new(o);
    NnSettings *s = nn_settings_new();
    nn_fields_to_settings(&gpt_fields, &o, s);
    expect_done(nn_checkpoint_save(in_folder("a"), m, NULL, s));
    GPT *again = gpt_load(in_folder("a"));
    ck_assert_msg(again != NULL, "%s", ag_error());
    check_same_parameters(m, again);
    ck_assert(again->options.dropout == 0.3 && !again->options.bias && again->options.heads == 2);
    ag_free(again);

    static const struct { const char *key, *value, *message; } cases[] = {
        { "gpt.layers", "3", "missing: \"h.2." },
        { "gpt.layers", "99999", "a: " },
        { "gpt.vocab", "2147483647", "numbers, expected 17179870" },
        { "gpt.heads", "0", "a: gpt.heads is 0" },
        { "gpt.width", "x", "a: gpt.width is \"x\", expected a whole number from 1 to" },
        { "gpt.bias", "2", "a: gpt.bias is 2, expected a whole number from 0 to 1" },
        { "gpt.bias", "1", "missing: \"h.0.ln_1.bias\"" },
        { "gpt.dropout", "1", "a: gpt.dropout is 1" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        nn_fields_to_settings(&gpt_fields, &o, s);
        nn_settings_set(s, cases[i].key, "%s", cases[i].value);
        expect_done(nn_checkpoint_save(in_folder("a"), m, NULL, s));
        again = gpt_load(in_folder("a"));
        expect_refused(again != NULL, cases[i].message);
    }
    ag_free(s);
    expect_done(nn_save(in_folder("a"), m));
    expect_refused(gpt_load(in_folder("a")) != NULL, "a: the setting \"gpt.layers\" is missing");
    expect_refused(gpt_load(in_folder("absent")) != NULL, "absent: cannot be opened");
    ag_free(m);
}
END_TEST

/* ---- failing files and allocations ------------------------------------------------------------------------------- */

/* Each call to the file system fails: that call alone (_i = 0), or all from there on (1). The files must open afterwards, or
 * there is no config, if a file could not be renamed or removed: weights and config always belong together. */
START_TEST(failing_calls_lose_nothing)
{
    if (!io_faults_work()) return;
    GPT *m = opened(WEIGHTS, CONFIG);
    expect_done(gpt_write(m, in_folder("w"), in_folder("c")));
    bool hit = true;
    for (int n = 0; hit; n++) {
        io_faults_at(n, _i);
        bool written = gpt_write(m, in_folder("w"), in_folder("c")), renames = false;
        for (int i = n; i < io_faults_calls(); i++) renames = renames || strcmp(io_faults_call(i), "rename") == 0;
        if (!file_exists(in_folder("c"))) {
            ck_assert(renames && !written);
            io_faults_end(false);
            expect_done(gpt_write(m, in_folder("w"), in_folder("c")));
            continue;
        }
        GPT *again = written ? gpt_open(in_folder("w"), in_folder("c")) : NULL;
        hit = io_faults_end(again != NULL);
        ag_free(again);
        again = opened(in_folder("w"), in_folder("c"));
        check_same_parameters(m, again);
        ag_free(again);
        ck_assert_int_eq(folder_count(), 2);
        ck_assert_int_eq(io_faults_open(), 0);
    }
    ag_free(m);
}
END_TEST

/* The config is on the disk before the weights are replaced, so that a full disk leaves both old files. */
START_TEST(the_config_is_written_before_the_weights_are_replaced)
{
    if (!io_faults_work()) return;
    GPT *m = gpt_new(small());
    io_faults_at(-1, false);
    expect_done(gpt_write(m, in_folder("w"), in_folder("c")));
    ck_assert_int_eq(io_faults_before("fsync", "rename"), 2);
    ag_free(m);
}
END_TEST

static bool all_done;

static void open_use_and_write(void)
{
    all_done = false;
    GPT *m = gpt_open(WEIGHTS, CONFIG);
    if (!m) return;
    AgScope s = ag_begin(AG_RECORD);
    Tensor *ids = tensor_ints(SHAPE(1, 3), NULL);
    ag_backward(lm_loss(m, ids, ids));
    NnCache *cache = lm_cache_new(m);
    lm_next(m, ids, cache);
    ag_free(cache);
    ag_end(s);
    all_done = gpt_write(m, in_folder("w"), in_folder("c"));
    ag_free(m);
}

START_TEST(failing_allocations_leak_nothing)
{
    int64_t requests = faults_everywhere(open_use_and_write, true);
    if (faults_work()) ck_assert(requests > 100 && all_done);
}
END_TEST

START_TEST(a_frozen_gpt_continues_at_its_position)
{
    GPTOptions o = gpt_defaults();
    o.layers = 1, o.heads = 2, o.width = 8, o.vocab = 11, o.context = 6;
    GPT *m = gpt_new(o);
    nn_eval(m);
    nn_freeze_bf16(m);
    AgScope s = ag_begin(AG_NO_GRAD);
    ag_precision(AG_BF16);
    Tensor *ids = tensor_ints(SHAPE(1, 4), (int32_t[]){ 1, 2, 3, 4 }), *all = lm_logits(m, ids, NULL);
    NnCache *c = lm_cache_new(m);
    Tensor *part[] = { lm_logits(m, ag_slice(ids, 1, 0, 2), c), lm_logits(m, ag_slice(ids, 1, 2, 4), c) };
    check_close("logits", ag_concat(part, 2, 1), all, 1e-5);
    ag_free(c);
    ag_end(s);
    ag_free(m);
}
END_TEST

/* Hugging Face's library takes 50256 for the end unless config.json says null. */
START_TEST(a_small_vocabulary_has_no_end)
{
    GPTOptions o = gpt_defaults();
    o.layers = 1, o.heads = 1, o.width = 1, o.context = 1;
    for (o.vocab = 50256; o.vocab <= 50257; o.vocab++) {
        GPT *m = gpt_new(o);
        expect_done(gpt_write(m, in_folder("w.safetensors"), in_folder("c.json")));
        ag_free(m);
        size_t n;
        char *text = file_read(NULL, in_folder("c.json"), 10000, &n);
        ck_assert((strstr(text, "\"eos_token_id\": null") != NULL) == (o.vocab == 50256));
        ag_free(text);
    }
}
END_TEST

Suite *gpt_suite(void)
{
    Suite *suite = suite_create("gpt");
    TCase *model = tcase_create("model");
    tcase_add_test(model, logits_agree);
    tcase_add_test(model, loss_and_gradients_agree);
    tcase_add_test(model, greedy_continuation_agrees);
    tcase_add_loop_test(model, a_cache_changes_nothing, 0, 5);
    tcase_add_test(model, sizes_give_the_number_of_parameters);
    tcase_add_test(model, initial_weights_are_those_of_gpt2);
    tcase_add_test(model, later_positions_have_no_effect);
    tcase_add_test(model, usage_errors_are_reported);
    suite_add_tcase(suite, model);
    TCase *layout = tcase_create("files");
    tcase_add_checked_fixture(layout, folder_make, folder_remove);
    tcase_add_test(layout, written_files_equal_those_that_were_read);
    tcase_add_test(layout, a_model_without_biases_is_written_with_zeros);
    tcase_add_test(layout, a_model_is_kept_in_two_bytes);
    tcase_add_test(layout, files_of_other_versions_open);
    tcase_add_test(layout, wrong_weights_are_refused);
    tcase_add_test(layout, truncated_weights_are_refused);
    tcase_add_test(layout, weights_after_4_GiB_are_read);
    tcase_add_test(layout, wrong_configs_are_refused);
    tcase_add_test(layout, sizes_by_common_names);
    tcase_add_test(layout, writing_to_an_impossible_path_is_refused);
    tcase_add_test(layout, a_checkpoint_has_the_sizes);
    tcase_add_loop_test(layout, failing_calls_lose_nothing, 0, 2);
    tcase_add_test(layout, the_config_is_written_before_the_weights_are_replaced);
    tcase_add_test(layout, failing_allocations_leak_nothing);
    tcase_add_test(layout, a_frozen_gpt_continues_at_its_position);
    tcase_add_test(layout, a_small_vocabulary_has_no_end);
    suite_add_tcase(suite, layout);
    return suite;
}
