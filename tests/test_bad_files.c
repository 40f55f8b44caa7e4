/* test_bad_files.c: every file in the folder bad_files is refused with its message in bad_files/messages.txt; and what a reader
 * allocates is a small multiple of the file's size, whatever the file claims. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "faults.h"
#include "file.h"
#include "folder.h"
#include "json.h"
#include "kaeru/text.h"
#include "kaeru/lm.h"
#include "kaeru/lora.h"
#include "kaeru/tensor_files.h"
#include "kaeru/training.h"
#include "kaeru/text.h"
#include "config.h"
#include "llama_parts.h"
#include "stored.h"
#include "suites.h"
#include "usage_error.h"

#define FOLDER TEST_BAD_FILES "/"

/* ---- one function for each kind of file: true if the reader accepts it -------------------------------------------- */

static bool accepts_json(const char *path, const char *unused)
{
    (void)unused;
    void *owner = ag_alloc(1, 1);
    bool accepted = json_read(owner, path, 1 << 20) != NULL;
    ag_free(owner);
    return accepted;
}

static bool accepts_safetensors(const char *path, const char *unused)
{
    (void)unused;
    NnTensorFile *st = st_open(path);
    ag_free(st);
    return st != NULL;
}

/* Each tensor must be readable, too. */
static bool accepts_tensors(const char *path, const char *unused)
{
    (void)unused;
    AgScope s = ag_begin(AG_NO_GRAD);
    NnTensorFile *f = tensor_file_open(path);
    bool accepted = f != NULL;
    for (int i = 0; accepted && i < tensor_file_count(f); i++)
        accepted = tensor_file_get(f, tensor_file_item(f, i)->name) != NULL;
    ag_free(f);
    ag_end(s);
    return accepted;
}

static bool accepts_chars(const char *path, const char *unused)
{
    (void)unused;
    KaeruVocab *v = kaeru_vocab_open(KAERU_CHARS, path, NULL);
    ag_free(v);
    return v != NULL;
}

static bool accepts_words(const char *path, const char *unused)
{
    (void)unused;
    KaeruVocab *v = kaeru_vocab_open(KAERU_WORDS, path, NULL);
    ag_free(v);
    return v != NULL;
}

static bool accepts_text(const char *path, const char *unused)
{
    (void)unused;
    KaeruText text;
    bool accepted = kaeru_text_open(&text, path);
    kaeru_text_close(&text);
    return accepted;
}

static bool accepts_bpe(const char *vocab, const char *merges)
{
    KaeruVocab *bpe = kaeru_vocab_open(KAERU_BPE, vocab, merges);
    ag_free(bpe);
    return bpe != NULL;
}

static bool accepts_tokenizer(const char *path, const char *unused)
{
    (void)unused;
    KaeruVocab *bpe = kaeru_vocab_open(KAERU_BPE, path, NULL);
    ag_free(bpe);
    return bpe != NULL;
}

static bool accepts_word_pieces(const char *path, const char *unused)
{
    (void)unused;
    KaeruVocab *v = kaeru_vocab_open(KAERU_WORDPIECE, path, NULL);
    ag_free(v);
    return v != NULL;
}

static bool accepts_config(const char *path, const char *unused)
{
    (void)unused;
    Config c;
    LlamaOptions o;
    bool accepted = config_open(&c, path) && llama_read_config(&c, &o);
    ag_free(c.owner);
    return accepted;
}

typedef struct { Module module; Linear *q, *v; } Net;

static bool accepts_adapter(const char *folder, const char *unused)
{
    (void)unused;
    Net *n = nn_new(Net);
    nn_child(n, q, nn_linear_new(2, 3));
    nn_child(n, v, nn_linear_new(3, 2));
    bool accepted = nn_lora_load(n, folder);
    ck_assert(accepted || (!n->q->adapter && !n->v->adapter && nn_count(n) == 17));       /* as before */
    ag_free(n);
    return accepted;
}

static bool accepts_pairs(const char *path, const char *unused)
{
    (void)unused;
    KaeruVocab *t = kaeru_vocab_open(KAERU_BPE, FOLDER "good_vocab.json", FOLDER "good_merges.txt");
    LmData *data = lm_data_open_pairs(path, t, -1, -1);
    ag_free(data);
    ag_free(t);
    return data != NULL;
}

static bool accepts_bpe_vocab(const char *vocab, const char *unused)
{
    (void)unused;
    return accepts_bpe(vocab, FOLDER "good_merges.txt");
}

static const struct { const char *name; bool (*accepts)(const char *first, const char *second); } kinds[] = {
    { "json", accepts_json }, { "safetensors", accepts_safetensors }, { "tensors", accepts_tensors },
    { "chars", accepts_chars }, { "words", accepts_words }, { "text", accepts_text }, { "bpe", accepts_bpe },
    { "bpe-vocab", accepts_bpe_vocab }, { "tokenizer", accepts_tokenizer }, { "config", accepts_config },
    { "adapter", accepts_adapter }, { "pairs", accepts_pairs }, { "word-pieces", accepts_word_pieces },
};

/* ---- the table --------------------------------------------------------------------------------------------------- */

/* Replaces PATH, FOLDER and VOCAB in the text. */
static void expand(const char *message, const char *path, const char *vocab, char *out, size_t room)
{
    size_t n = 0;
    const struct { const char *word, *text; } words[] = { { "PATH", path }, { "FOLDER", FOLDER }, { "VOCAB", vocab } };
    bool has_path = strncmp(message, "PATH", 4) == 0 || strncmp(message, "FOLDER", 6) == 0;
    if (!has_path) n = (size_t)snprintf(out, room, "%s: ", path);
    while (*message) {
        size_t i = 0;
        while (i < 3 && strncmp(message, words[i].word, strlen(words[i].word)) != 0) i++;
        if (i < 3) n += (size_t)snprintf(out + n, room - n, "%s", words[i].text);
        else out[n++] = *message;
        message += i < 3 ? strlen(words[i].word) : 1;
    }
    out[n] = '\0';
}

static void check_line(char *line)
{
    char *field[4] = { line }, path[2][1024], expected[4096];
    int n = 1;
    for (char *tab; n < 4 && (tab = strchr(field[n - 1], '\t')); n++) {
        *tab = '\0';
        field[n] = tab + 1;
    }
    ck_assert_msg(n >= 3, "\"%s\" has no message", line);
    for (int i = 0; i < n - 2; i++) snprintf(path[i], sizeof path[i], FOLDER "%s", field[1 + i]);
    expand(field[n - 1], path[n - 3], path[0], expected, sizeof expected);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, field[0]) != 0) continue;
        ag_set_error("nothing");
        ck_assert_msg(!kinds[i].accepts(path[0], n > 3 ? path[1] : NULL), "%s was accepted", path[n - 3]);
        ck_assert_str_eq(ag_error(), expected);
        return;
    }
    ck_abort_msg("there is no kind of file \"%s\"", field[0]);
}

START_TEST(each_file_is_refused_with_its_message)
{
    void *owner = ag_alloc(1, 1);
    size_t size, count = 0;
    char *text = file_read(owner, FOLDER "messages.txt", 1 << 20, &size);
    ck_assert_msg(text != NULL, "%s", ag_error());
    for (char *end; (end = strchr(text, '\n')); text = end + 1, count++) {
        *end = '\0';
        check_line(text);
    }
    ck_assert_uint_ge(count, 350);
    ag_free(owner);
}
END_TEST

/* The correct parts of the bad files are accepted, so each file above is refused for its mistake. */
START_TEST(good_files_are_accepted)
{
    ck_assert_msg(accepts_bpe(FOLDER "good_vocab.json", FOLDER "good_merges.txt"), "%s", ag_error());
    ck_assert_msg(accepts_json(FOLDER "good_vocab.json", NULL), "%s", ag_error());
    ck_assert_msg(accepts_config(FOLDER "good_config.json", NULL), "%s", ag_error());
    ck_assert_msg(accepts_tokenizer(FOLDER "good_tokenizer.json", NULL), "%s", ag_error());
    ck_assert_msg(accepts_word_pieces(FOLDER "good_word_pieces.json", NULL), "%s", ag_error());
    ck_assert_msg(accepts_adapter(FOLDER "good.adapter", NULL), "%s", ag_error());
    ck_assert_msg(accepts_pairs(FOLDER "good.jsonl", NULL), "%s", ag_error());
}
END_TEST

/* ---- the cost of files ------------------------------------------------------------------------------------------- */

static bool accepts_large_json(const char *path, const char *unused)
{
    (void)unused;
    void *owner = ag_alloc(1, 1);
    bool accepted = json_read(owner, path, SIZE_MAX / 2) != NULL;
    ag_free(owner);
    return accepted;
}

static bool accepts_settings(const char *path, const char *unused)
{
    (void)unused;
    NnSettings *s = nn_settings_new();
    bool accepted = nn_checkpoint_settings(path, s);
    ag_free(s);
    return accepted;
}

static bool accepts_weights(const char *path, const char *unused)
{
    (void)unused;
    Linear *l = nn_linear_new(2, 3);
    bool accepted = nn_load(path, l);
    ag_free(l);
    return accepted;
}

static bool accepts_lines(const char *path, const char *unused)
{
    (void)unused;
    KaeruLines lines;
    bool accepted = kaeru_lines_open(&lines, path);
    kaeru_lines_close(&lines);
    return accepted;
}

static bool accepts_merges(const char *merges, const char *unused)
{
    (void)unused;
    return accepts_bpe(FOLDER "good_vocab.json", merges);
}

/* A tiny model of 100,000 layers: the config or the settings say so, the weights do not. */
static bool accepts_gpt(const char *weights, const char *unused)
{
    (void)unused;
    static const char config[] = "{\"n_layer\":100000,\"n_head\":1,\"n_embd\":1,\"vocab_size\":9,\"n_positions\":9}";
    folder_write("config.json", config, sizeof config - 1);
    GPT *m = gpt_open(weights, in_folder("config.json"));
    ag_free(m);
    return m != NULL;
}

static bool accepts_llama(const char *weights, const char *unused)
{
    (void)weights;
    (void)unused;
    static const char config[] = "{\"model_type\":\"llama\",\"num_hidden_layers\":100000,\"num_attention_heads\":1,"
        "\"head_dim\":2,\"hidden_size\":1,\"intermediate_size\":1,\"vocab_size\":9}";
    folder_write("config.json", config, sizeof config - 1);
    Llama *m = llama_open(in_folder(""));
    ag_free(m);
    return m != NULL;
}

static bool accepts_gpt_checkpoint(const char *path, const char *unused)
{
    (void)unused;
    GPT *m = gpt_load(path);
    ag_free(m);
    return m != NULL;
}

static bool accepts_transformer_checkpoint(const char *path, const char *unused)
{
    (void)unused;
    Transformer *m = transformer_load(path);
    ag_free(m);
    return m != NULL;
}

/* A file that grows while it is made. */
typedef struct { char *bytes; size_t n, room; } Made;

static void put(Made *m, const void *bytes, size_t n)
{
    if (m->n + n > m->room) {
        m->room = 2 * (m->n + n);
        m->bytes = realloc(m->bytes, m->room);
        ck_assert_ptr_nonnull(m->bytes);
    }
    memcpy(m->bytes + m->n, bytes, n);
    m->n += n;
}

static void put_number(Made *m, uint64_t number, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++, number >>= 8) put(m, &(char){ (char)(number & 255) }, 1);
}

/* Puts a text; # in it is a number of six digits in base 16, @ one in base 10, without zeros before it. */
static void put_text(Made *m, const char *text, size_t number)
{
    char digits[32];
    for (; *text; text++) {
        if (*text == '#') put(m, digits, (size_t)snprintf(digits, sizeof digits, "%06zx", number));
        else if (*text == '@') put(m, digits, (size_t)snprintf(digits, sizeof digits, "%zu", number));
        else put(m, text, 1);
    }
}

/* An archive of n entries: all are one array, or each has its own one of the same bytes. Its header is long, or short. */
static void put_archive(Made *m, size_t n, bool one, bool is_long)
{
    enum { SIZES = 30000 };
    Made npy = { 0 }, directory = { 0 };
    put(&npy, "\x93NUMPY\2\0", 8);
    put_number(&npy, (is_long ? 2 * SIZES : 2) + 53, 4);
    put_text(&npy, "{'descr':'<f4','fortran_order':False,'shape':(", 0);
    for (size_t i = 0; i < (is_long ? SIZES : 1); i++) put_text(&npy, "0,", 0);
    put_text(&npy, ")}     ", 0);
    for (size_t i = 0; i < n; i++) {
        size_t at = one ? 0 : m->n;
        if (i == 0 || !one) {
            put(m, "PK\3\4\24\0\0\0\0\0\0\0\0\0\0\0\0\0", 18);
            put_number(m, npy.n, 4);
            put_number(m, npy.n, 4);
            put_number(m, 10, 4);
            put_text(m, "#.npy", i);
            put(m, npy.bytes, npy.n);
        }
        put(&directory, "PK\1\2\24\0\24\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
        put_number(&directory, npy.n, 4);
        put_number(&directory, npy.n, 4);
        put_number(&directory, 10, 4);
        put_number(&directory, 0, 10);
        put_number(&directory, at, 4);
        put_text(&directory, "#.npy", i);
    }
    size_t start = m->n;
    put(m, directory.bytes, directory.n);
    put(m, "PK\5\6\0\0\0\0", 8);
    put_number(m, n, 2);
    put_number(m, n, 2);
    put_number(m, directory.n, 4);
    put_number(m, start, 4);
    put_number(m, 0, 2);
    free(directory.bytes);
    free(npy.bytes);
}

#define TENSORS "{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}"
#define VALUES  "{\"a\":{\"dtype\":\"F4\",\"shape\":[4000000],\"data_offsets\":[0,2000000]}"
#define SETTING(key, value) "\"settings." key "\":\"" value "\","
#define GPT_SETTINGS SETTING("gpt.layers", "100000") SETTING("gpt.heads", "1") SETTING("gpt.width", "1") \
    SETTING("gpt.vocab", "9") SETTING("gpt.context", "9") SETTING("gpt.dropout", "0") SETTING("gpt.bias", "1") \
    "\"settings.gpt.eps\":\"0.1\""
#define TRANSFORMER_SETTINGS SETTING("transformer.src_vocab", "9") SETTING("transformer.tgt_vocab", "9") \
    SETTING("transformer.N", "100000") SETTING("transformer.d_model", "1") SETTING("transformer.d_ff", "1") \
    SETTING("transformer.h", "1") SETTING("transformer.max_len", "9") SETTING("transformer.activation", "1") \
    SETTING("transformer.dropout", "0") SETTING("transformer.eps", "0.1") SETTING("transformer.post_norm", "0") \
    SETTING("transformer.eps_inside", "0") SETTING("transformer.unbiased", "0") \
    SETTING("transformer.learned_positions", "0") "\"settings.transformer.share_embeddings\":\"0\""
#define HUNDRED "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
#define TOKENIZER "{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true}," \
    "\"model\":{\"type\":\"BPE\",\"vocab\":"
#define FLAGS ",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":false,\"special\":false}"
/* How the file is made. 0: of the text alone; LARGE: as HEADER, but longer. */
enum { HEADER = 1, LARGE, ONE_ARRAY, ARRAYS, LONG_ARRAYS };
enum { MADE = 2000000 };                                        /* bytes, about */

/* A file is `before`, then `unit` again and again, then `after`. Its reader requests at most `most` bytes for each of its
 * bytes, all requests together, also those for memory that it frees soon, each with 16 bytes for the system. */
static const struct {
    const char *name;
    bool (*accepts)(const char *first, const char *second);
    const char *file, *before, *unit, *after;
    int made, most;
} costs[] = {
    { "json of numbers", accepts_large_json, "f", "[", "0,", "0]", 0, 12 },
    { "json of texts", accepts_large_json, "f", "[", "\"\",", "0]", 0, 12 },
    { "json of one text", accepts_large_json, "f", "\"", "\\u0041", "\"", 0, 12 },
    { "json of arrays", accepts_large_json, "f", "[", "[],", "0]", 0, 12 },
    { "json of levels", accepts_large_json, "f", "[", "[[[[[[[[[[[[0]]]]]]]]]]]],", "0]", 0, 12 },
    { "json of objects", accepts_large_json, "f", "[", "{\"\":0},", "0]", 0, 12 },
    { "json of objects in objects", accepts_large_json, "f", "[", "{\"\":{\"\":{\"\":{\"\":{\"\":0}}}}},", "0]", 0, 12 },
    { "json of members", accepts_large_json, "f", "{", "\"#\":0,", "\"\":0}", 0, 12 },
    { "json of commas", accepts_large_json, "f", "[", ",", "0]", 0, 20 },
    { "json of colons", accepts_large_json, "f", "{", "\"\":", "0}", 0, 20 },
    { "json of brackets", accepts_large_json, "f", "[", "[", "0]", 0, 20 },
    { "header of tensors", accepts_safetensors, "f", "{", "\"#\":" TENSORS ",", "\"\":" TENSORS "}", HEADER, 16 },
    { "header of numbers", accepts_safetensors, "f", "{", "\"#\":0,", "\"\":0}", HEADER, 16 },
    { "header of objects", accepts_safetensors, "f", "{", "\"#\":{},", "\"\":0}", HEADER, 16 },
    { "header of a shape", accepts_safetensors, "f",
      "{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,0],\"shape\":[", "0,", "0]}}", HEADER, 16 },
    { "header of settings", accepts_settings, "f", "{\"__metadata__\":{", "\"settings.#\":\"\",", "\"\":\"\"}}", LARGE, 24 },
    { "tensors that a module lacks", accepts_weights, "f", "{", "\"#\":" TENSORS ",", "\"\":" TENSORS "}", LARGE, 24 },
    { "archive of one array", accepts_tensors, "f", NULL, NULL, NULL, ONE_ARRAY, 20 },
    { "archive of arrays", accepts_tensors, "f", NULL, NULL, NULL, ARRAYS, 40 },
    { "archive of long headers", accepts_safetensors, "f", NULL, NULL, NULL, LONG_ARRAYS, 20 },
    { "index", accepts_safetensors, "f.json", "{\"weight_map\":{", "\"#\":\"a\",", "\"\":\"a\"}}", 0, 16 },
    { "vocabulary of characters", accepts_chars, "f", "{\"zz\":0", ",\"#\":@", "}", 0, 16 },
    { "vocabulary of words", accepts_words, "f", "{\"zz\":0", ",\"#\":@", "}", 0, 16 },
    { "vocabulary of byte pairs", accepts_bpe_vocab, "f", "{\"zz\":0", ",\"#\":@", "}", 0, 40 },
    { "merges", accepts_merges, "f", "", "a #\n", "a b\n", 0, 12 },
    { "merges of a byte", accepts_merges, "f", "", "\n", "a b\n", 0, 12 },
    { "tokenizer of tokens", accepts_tokenizer, "f", TOKENIZER "{\"zz\":0", ",\"#\":@", "},\"merges\":[]}}", 0, 40 },
    { "tokenizer of merges", accepts_tokenizer, "f", TOKENIZER "{\"a\":0},\"merges\":[", "0,", "0]}}", 0, 24 },
    { "tokenizer of added tokens", accepts_tokenizer, "f",
      TOKENIZER "{},\"merges\":[]},\"added_tokens\":[{\"id\":0,\"content\":\"zz\"" FLAGS,
      ",{\"id\":@,\"content\":\"#\"" FLAGS, "]}", 0, 40 },
    { "tokenizer of long added tokens", accepts_tokenizer, "f",
      TOKENIZER "{},\"merges\":[]},\"added_tokens\":[{\"id\":0,\"content\":\"zz\"" FLAGS,
      ",{\"id\":@,\"content\":\"#" HUNDRED HUNDRED "\"" FLAGS, "]}", 0, 60 },
    { "examples", accepts_pairs, "f", "", "{\"text\":\"a\"}\n", "", 0, 100 },
    { "empty lines for examples", accepts_pairs, "f", "", "\n", "", 0, 12 },
    { "lines", accepts_lines, "f", "", "\n", "", 0, 20 },
    { "layers of a GPT", accepts_gpt, "f", VALUES "}", "\1", "", HEADER, 20 },
    { "layers of a Llama", accepts_llama, "model.safetensors", VALUES "}", "\1", "", HEADER, 20 },
    { "layers of a checkpoint", accepts_gpt_checkpoint, "f",
      VALUES ",\"__metadata__\":{" GPT_SETTINGS "}}", "\1", "", HEADER, 20 },
    { "layers of a Transformer", accepts_transformer_checkpoint, "f",
      VALUES ",\"__metadata__\":{" TRANSFORMER_SETTINGS "}}", "\1", "", HEADER, 20 },
};
enum { COSTS = sizeof costs / sizeof *costs };

/* Writes file number i of the table; returns its size. In a safetensors file of values, these are the units. */
static size_t make_file(int i)
{
    Made m = { 0 };
    const bool header = costs[i].made == HEADER || costs[i].made == LARGE;
    const size_t most = costs[i].made == LARGE ? 8 * MADE : MADE;
    if (costs[i].made > LARGE) {
        put_archive(&m, costs[i].made == LONG_ARRAYS ? 30 : 3000, costs[i].made == ONE_ARRAY, costs[i].made != ARRAYS);
    } else {
        bool values = costs[i].unit[0] == 1;
        if (header) put_number(&m, 0, 8);
        put_text(&m, costs[i].before, 0);
        size_t size = m.n - 8;
        for (size_t k = 0; values ? k < MADE : m.n < most; k++) put_text(&m, costs[i].unit, k + 1);
        put_text(&m, costs[i].after, 0);
        if (!values) size = m.n - 8;
        for (int k = 0; header && k < 8; k++) m.bytes[k] = (char)(size >> 8 * k & 255);
    }
    folder_write(costs[i].file, m.bytes, m.n);
    free(m.bytes);
    return m.n;
}

/* What is linear in the size needs a second or two, and a minute in slow tools; the square of it would need hours. */
START_TEST(a_file_costs_a_multiple_of_its_size)
{
    enum { ALWAYS = 500000 };                                   /* bytes for any file: the largest buffer has 64 KiB */
    setrlimit(RLIMIT_CPU, &(struct rlimit){ 250, 250 });
    size_t size = make_file(_i);
    int64_t bytes = faults_bytes(), requests = faults_requests();
    ag_set_error("nothing");
    CATCH_USAGE_ERROR(costs[_i].accepts(in_folder(costs[_i].file), NULL));
    ck_assert_str_eq(usage_message, "");
    bytes = faults_bytes() - bytes + 16 * (faults_requests() - requests) - ALWAYS;
    ck_assert_msg(bytes <= costs[_i].most * (int64_t)size, "%s: %.1f bytes for a byte of the file, expected at most %d (%s)",
                  costs[_i].name, (double)bytes / (double)size, costs[_i].most, ag_error());
}
END_TEST

Suite *bad_files_suite(void)
{
    Suite *suite = suite_create("bad_files");
    TCase *t = tcase_create("bad_files");
    tcase_add_test(t, each_file_is_refused_with_its_message);
    tcase_add_test(t, good_files_are_accepted);
    tcase_add_checked_fixture(t, folder_make, folder_remove);
    tcase_add_loop_test(t, a_file_costs_a_multiple_of_its_size, 0, COSTS);
    suite_add_tcase(suite, t);
    return suite;
}
