/* test_identities.c: what a fingerprint, a hash or a head of a file covers. Each thing that it must cover is changed, one at a
 * time, and the result must be another hash or a refusal with its message. The files of programs: test_identities.py. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "folder.h"
#include "kaeru/autograd.h"
#include "kaeru/lm.h"
#include "kaeru/lora.h"
#include "kaeru/tensor_files.h"
#include "suites.h"

/* ---- vocabularies ------------------------------------------------------------------------------------------------ */

/* The vocabulary of a file in which token number i has the id i. */
static KaeruVocab *vocab_of(KaeruVocabKind kind, const char *const *token, int n)
{
    char json[1024] = "{";
    for (int i = 0; i < n; i++) {
        size_t end = strlen(json);
        snprintf(json + end, sizeof json - end, "%s\"%s\": %d", i ? ", " : "", token[i], i);
    }
    size_t end = strlen(json);
    snprintf(json + end, sizeof json - end, "}");
    folder_write("vocab", json, strlen(json));
    KaeruVocab *v = kaeru_vocab_open(kind, in_folder("vocab"), NULL);
    ck_assert_msg(v != NULL, "%s", ag_error());
    return v;
}

static uint64_t fingerprint_of(KaeruVocabKind kind, const char *const *token, int n)
{
    KaeruVocab *v = vocab_of(kind, token, n);
    uint64_t hash = kaeru_vocab_fingerprint(v);
    ag_free(v);
    return hash;
}

/* Changes each of the n tokens, the first `fixed` of which must stay. */
static void check_fingerprint(KaeruVocabKind kind, const char *const *token, int n, int fixed, const char *other)
{
    const char *changed[16];
    uint64_t base = fingerprint_of(kind, token, n);
    ck_assert(fingerprint_of(kind, token, n) == base);
    ck_assert_msg(fingerprint_of(kind, token, n - 1) != base, "without the last token");
    for (int i = fixed; i < n; i++) {
        memcpy(changed, token, (size_t)n * sizeof *token);
        changed[i] = other;
        ck_assert_msg(fingerprint_of(kind, changed, n) != base, "another token %d", i);
        if (i + 1 == n) continue;
        changed[i] = token[i + 1];
        changed[i + 1] = token[i];
        ck_assert_msg(fingerprint_of(kind, changed, n) != base, "tokens %d and %d exchanged", i, i + 1);
    }
    memcpy(changed, token, (size_t)n * sizeof *token);
    changed[n] = other;
    ck_assert_msg(fingerprint_of(kind, changed, n + 1) != base, "one token more");
}

START_TEST(a_fingerprint_covers_each_token)
{
    static const char *const chars[] = { "a", "b", "c", "\\u00e4", "\\n" };
    check_fingerprint(KAERU_CHARS, chars, 5, 0, "z");
    static const char *const words[] = { "<s>", "</s>", "<blank>", "<unk>", "the", "frog", "pond" };
    check_fingerprint(KAERU_WORDS, words, 7, 4, "deep");
    /* the border between two tokens */
    static const char *const left[] = { "<s>", "</s>", "<blank>", "<unk>", "ab", "c" };
    static const char *const right[] = { "<s>", "</s>", "<blank>", "<unk>", "a", "bc" };
    ck_assert(fingerprint_of(KAERU_WORDS, left, 6) != fingerprint_of(KAERU_WORDS, right, 6));
}
END_TEST

START_TEST(a_fingerprint_covers_byte_pairs)
{
    static const char one[] = "aba aba abc abc", two[] = "abc abc abd abd";
    for (int size = 258; size < 262; size++) {
        KaeruVocab *a = kaeru_vocab_bpe(KAERU_BPE, one, strlen(one), size);
        KaeruVocab *b = kaeru_vocab_bpe(KAERU_BPE, two, strlen(two), size);
        KaeruVocab *c = kaeru_vocab_bpe(KAERU_BPE, one, strlen(one), size + 1);
        bool same = kaeru_vocab_size(a) == kaeru_vocab_size(b);
        for (int32_t id = 0; same && id < kaeru_vocab_size(a); id++)
            same = strcmp(kaeru_vocab_token(a, id, NULL), kaeru_vocab_token(b, id, NULL)) == 0;
        ck_assert((kaeru_vocab_fingerprint(a) == kaeru_vocab_fingerprint(b)) == same);
        ck_assert((kaeru_vocab_fingerprint(a) == kaeru_vocab_fingerprint(c)) == (kaeru_vocab_size(a) == kaeru_vocab_size(c)));
        ag_free(c);
        ag_free(b);
        ag_free(a);
    }
}
END_TEST

/* ---- token files ------------------------------------------------------------------------------------------------- */

/* A file in the folder as it is, with one byte changed. */
static void change_byte(const char *from, const char *to, size_t at, int by)
{
    char bytes[4096];
    FILE *f = fopen(in_folder(from), "rb");
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    ck_assert_uint_lt(at, n);
    bytes[at] = (char)(bytes[at] + by);
    folder_write(to, bytes, n);
}

START_TEST(each_number_of_a_token_file_counts)
{
    enum { HEAD = 32 };
    static const char *const chars[] = { "a", "b", "c", "d" };
    static const struct { size_t at; int by; const char *part; } changes[] = {
        { 0, 1, "expected UTF-8" },                                 /* the magic: now a text */
        { 8, 1, "expected version 1 or 2 of token files, found 3" }, { 12, 1, "expected ids of 2 or 4 bytes, found 3" },
        { 12, 2, "expected" }, { 16, 1, "was made with another vocabulary, of 5 tokens" }, { 20, 1, "expected 0 behind" },
        { 24, 1, "was made with another vocabulary" }, { 31, 1, "was made with another vocabulary" },
        { HEAD, 7, "expected ids below 4" }, { HEAD + 1, 1, "expected ids below 4" },
    };
    KaeruVocab *v = vocab_of(KAERU_CHARS, chars, 4);
    char letters[40];
    for (size_t i = 0; i < sizeof letters; i++) letters[i] = (char)('a' + i % 4);
    folder_write("text", letters, sizeof letters);
    int64_t count;
    expect_done(lm_tokenize(in_folder("text"), v, in_folder("tokens"), &count));
    ck_assert_int_eq(count, (int64_t)sizeof letters);
    LmData *d = lm_data_open(in_folder("tokens"), v);
    ck_assert_ptr_nonnull(d);
    ag_free(d);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        change_byte("tokens", "changed", changes[i].at, changes[i].by);
        expect_refused(lm_data_open(in_folder("changed"), v) != NULL, changes[i].part);
    }
    change_byte("tokens", "changed", HEAD, 1);                                  /* another id of the vocabulary */
    expect_refused(lm_data_open(in_folder("changed"), v) != NULL, "changed: is damaged: it does not have its hash");
    change_byte("tokens", "changed", HEAD + 2 * sizeof letters, 1);             /* the hash */
    expect_refused(lm_data_open(in_folder("changed"), v) != NULL, "changed: is damaged: it does not have its hash");
    change_byte("tokens", "changed", HEAD + 2 * sizeof letters + 8, 1);         /* the number of tokens */
    expect_refused(lm_data_open(in_folder("changed"), v) != NULL, "expected 41 tokens of 2 bytes");
    ag_free(v);
}
END_TEST

START_TEST(a_token_file_needs_its_vocabulary)
{
    static const char *const chars[] = { "a", "b", "c", "d" };
    KaeruVocab *v = vocab_of(KAERU_CHARS, chars, 4);
    folder_write("text", "abcdabcdabcdabcdabcdabcdabcdabcd", 32);
    int64_t count;
    expect_done(lm_tokenize(in_folder("text"), v, in_folder("tokens"), &count));
    for (int i = 0; i < 4; i++) {
        const char *changed[4];
        memcpy(changed, chars, sizeof changed);
        changed[i] = "e";
        KaeruVocab *other = vocab_of(KAERU_CHARS, changed, 4);
        expect_refused(lm_data_open(in_folder("tokens"), other) != NULL, "was made with another vocabulary, of 4 tokens");
        ag_free(other);
    }
    ag_free(v);
}
END_TEST

/* ---- weights and states ------------------------------------------------------------------------------------------ */

typedef struct { Module module; Linear *one; LayerNorm *two; Tensor *counts; } Net;

static Net *net_new(void)
{
    Net *n = nn_new(Net);
    nn_child(n, one, nn_linear_new(3, 2));
    nn_child(n, two, nn_layer_norm_new(4));
    nn_buffer_with(n, counts, SHAPE(2), AG_INT, true);
    return n;
}

/* Writes the tensors of n, of which number `changed` has another name, another shape, or is left out; then one more. */
static void write_changed(Net *n, int changed, int how)
{
    NnParameters *p = nn_parameters(n);
    NnNamedValue list[8];
    int size = 0;
    AgScope s = ag_begin(AG_NO_GRAD);
    for (int i = 0; i < p->n; i++) {
        if (i == changed && how == 2) continue;
        list[size] = (NnNamedValue){ p->item[i].name, p->item[i].tensor };
        if (i == changed && how == 0) list[size].name = "other";
        if (i == changed && how == 1) list[size].tensor = tensor_zeros(SHAPE(tensor_numel(p->item[i].tensor), 1, 1));
        size++;
    }
    if (changed == p->n) list[size++] = (NnNamedValue){ "other", n->counts };
    expect_done(tensor_save_list(in_folder("w.safetensors"), list, size));
    ag_end(s);
    ag_free(p);
}

START_TEST(each_tensor_of_a_model_counts)
{
    Net *n = net_new();
    NnParameters *p = nn_parameters(n);
    write_changed(n, -1, 0);
    expect_done(nn_load(in_folder("w.safetensors"), n));
    for (int i = 0; i < p->n; i++) {
        for (int how = 0; how < 3; how++) {
            write_changed(n, i, how);
            expect_refused(nn_load(in_folder("w.safetensors"), n), p->item[i].name);
        }
    }
    write_changed(n, p->n, 0);
    expect_refused(nn_load(in_folder("w.safetensors"), n), "other");
    ag_free(p);
    ag_free(n);
}
END_TEST

START_TEST(the_kind_of_an_optimizer_counts)
{
    Net *n = net_new();
    Optimizer *sgd = nn_sgd_new_with(n, (AgSgd){ .lr = 0.1, .momentum = 0.9 });
    Optimizer *o[3] = { nn_adam_new(n, 0.1), sgd, nn_rmsprop_new(n, 0.1) };
    for (int i = 0; i < 3; i++) {
        expect_done(nn_checkpoint_save(in_folder("checkpoint"), n, o[i], NULL));
        for (int k = 0; k < 3; k++)
            if (k == i) expect_done(nn_checkpoint_load(in_folder("checkpoint"), n, o[k], NULL));
            else expect_refused(nn_checkpoint_load(in_folder("checkpoint"), n, o[k], NULL), "optimizer");
    }
    for (int i = 0; i < 3; i++) ag_free(o[i]);
    ag_free(n);
}
END_TEST

/* ---- the frozen weights of a run --------------------------------------------------------------------------------- */

static const char text[] = "The frog goes back to the pond, and the pond is deep. The frog looks into the pond; the other "
                           "looks out of it. What was a tadpole is a frog, and the pond is as it was. The frog goes back. ";

static bool fine_tune(Llama *m, const KaeruVocab *v, int64_t steps, bool resume)
{
    LmData *data = lm_data_of_text("the text", text, sizeof text - 1, v);
    LmTraining t = { .model = m, .data = data, .options = lm_defaults(), .settings = nn_settings_new(),
                     .last = in_folder("last") };
    t.options.steps = steps;
    t.options.batch = 1;
    t.options.evaluate_every = 1;
    bool done = lm_train(&t, resume);
    ag_free(t.settings);
    ag_free(data);
    return done;
}

START_TEST(each_frozen_weight_of_a_run_counts)
{
    static const char *const targets[] = { "q_proj", NULL };
    KaeruVocab *v = kaeru_vocab_chars(text, sizeof text - 1);
    LlamaOptions o = llama_defaults();
    o.layers = 1;
    o.heads = 2;
    o.kv_heads = 1;
    o.head_width = 4;
    o.width = 8;
    o.hidden = 12;
    o.context = 8;
    o.vocab = kaeru_vocab_size(v);
    Llama *m = llama_new(o);
    expect_done(nn_lora_add(m, (NnLoraOptions){ .rank = 2, .alpha = 4, .targets = targets }));
    expect_done(fine_tune(m, v, 1, false));
    expect_done(fine_tune(m, v, 2, true));
    NnParameters *p = nn_parameters(m);
    for (int i = 0; i < p->n; i++) {
        if (p->item[i].trained) continue;
        Tensor *t = p->item[i].tensor;
        int64_t last = tensor_numel(t) - 1;
        ag_real before = tensor_data(t)[last];
        tensor_mutable_data(t)[last] += 1;
        expect_refused(fine_tune(m, v, 3, true), "the model has other frozen weights than the one with which this run began");
        tensor_mutable_data(t)[last] = before;
    }
    expect_done(fine_tune(m, v, 3, true));
    ag_free(p);
    ag_free(m);
    ag_free(v);
}
END_TEST

Suite *identities_suite(void)
{
    Suite *suite = suite_create("identities");
    TCase *c = tcase_create("changes");
    tcase_add_checked_fixture(c, folder_make, folder_remove);
    tcase_add_test(c, a_fingerprint_covers_each_token);
    tcase_add_test(c, a_fingerprint_covers_byte_pairs);
    tcase_add_test(c, each_number_of_a_token_file_counts);
    tcase_add_test(c, a_token_file_needs_its_vocabulary);
    tcase_add_test(c, each_tensor_of_a_model_counts);
    tcase_add_test(c, the_kind_of_an_optimizer_counts);
    tcase_add_test(c, each_frozen_weight_of_a_run_counts);
    suite_add_tcase(suite, c);
    return suite;
}
