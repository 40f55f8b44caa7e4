/* test_marks.c: every reader of text skips a byte order mark at the start of its file, as editors and shells of Windows write
 * it: what is read is the same as without it. A new reader of text needs a line here. */
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "file.h"
#include "folder.h"
#include "json.h"
#include "kaeru/lm.h"
#include "kaeru/lora.h"
#include "kaeru/tensor_files.h"
#include "kaeru/text.h"
#include "llama_parts.h"
#include "suites.h"

/* What a reader found, as bytes to compare. `n` is 0 if the file was refused. */
typedef struct { char bytes[4096]; size_t n; } Found;

static void add(Found *to, const void *bytes, size_t n)
{
    ck_assert_uint_le(to->n + n, sizeof to->bytes);
    memcpy(to->bytes + to->n, bytes, n);
    to->n += n;
}

static void write_file(const char *name, const char *text, bool mark)
{
    char bytes[8192];
    int n = snprintf(bytes, sizeof bytes, "%s%s", mark ? "\xef\xbb\xbf" : "", text);
    ck_assert(n >= 0 && (size_t)n < sizeof bytes);
    folder_write(name, bytes, (size_t)n);
}

/* ---- readers ----------------------------------------------------------------------------------------------------- */

static void read_json(const char *path, Found *to)
{
    void *owner = ag_alloc(1, 1);
    const Json *root = json_read(owner, path, 1 << 20);
    int64_t value;
    if (json_int(json_get(root, "a"), &value)) add(to, &value, sizeof value);
    ag_free(owner);
}

static void read_config(const char *path, Found *to)
{
    Config c;
    LlamaOptions o;
    if (config_open(&c, path) && llama_read_config(&c, &o)) add(to, &o, sizeof o);
    ag_free(c.owner);
}

static void add_vocab(Found *to, KaeruVocab *v)
{
    if (!v) return;
    size_t n;
    int32_t *ids = kaeru_vocab_encode(v, "a b a", 5, KAERU_AS_TEXT, &n);
    uint64_t fingerprint = kaeru_vocab_fingerprint(v);
    add(to, &fingerprint, sizeof fingerprint);
    add(to, ids, n * sizeof *ids);
    ag_free(ids);
    ag_free(v);
}

static void read_characters(const char *path, Found *to)
{
    add_vocab(to, kaeru_vocab_open(KAERU_CHARS, path, NULL));
}

static void read_words(const char *path, Found *to)
{
    add_vocab(to, kaeru_vocab_open(KAERU_WORDS, path, NULL));
}

static void read_pairs_of_bytes(const char *path, Found *to)
{
    add_vocab(to, kaeru_vocab_open(KAERU_BPE, path, TEST_FIXTURES "/bpe/merges.txt"));
}

static void read_merges(const char *path, Found *to)
{
    add_vocab(to, kaeru_vocab_open(KAERU_BPE, TEST_FIXTURES "/bpe/vocab.json", path));
}

static void read_tokenizer(const char *path, Found *to)
{
    add_vocab(to, kaeru_vocab_open(KAERU_BPE, path, NULL));
}

static void read_index(const char *path, Found *to)
{
    NnTensorFile *f = tensor_file_open(path);
    if (f) add(to, tensor_file_item(f, 0)->name, 1);
    ag_free(f);
}

typedef struct { Module module; Linear *q; } Net;

static void read_adapter(const char *path, Found *to)
{
    (void)path;
    Net *n = nn_new(Net);
    nn_child(n, q, nn_linear_new(2, 3));
    if (nn_lora_load(n, in_folder(""))) add(to, "loaded", 6);
    ag_free(n);
}

static void read_text(const char *path, Found *to)
{
    KaeruText text;
    if (kaeru_text_open(&text, path)) add(to, text.bytes, text.size);
    kaeru_text_close(&text);
}

static void read_lines(const char *path, Found *to)
{
    KaeruLines lines;
    if (!kaeru_lines_open(&lines, path)) return;
    for (int64_t i = 0; i < lines.n; i++) add(to, lines.line[i].text, lines.line[i].size + 1);
    kaeru_lines_close(&lines);
}

static void read_first_line(const char *path, Found *to)
{
    size_t size;
    void *owner = ag_alloc(1, 1);
    const char *text = file_read(owner, path, 1 << 20, &size);
    KaeruLines lines;
    if (kaeru_lines_of_text(&lines, "standard input", 1, text, size)) add(to, lines.line[0].text, lines.line[0].size);
    kaeru_lines_close(&lines);
    ag_free(owner);
}

static KaeruVocab *letters(void)
{
    return kaeru_vocab_chars("\n abcdef\xef\xbb\xbf", 11);          /* the mark has an id, too */
}

static void add_data(Found *to, LmData *d, KaeruVocab *v)
{
    if (d) {
        int64_t n[] = { lm_data_tokens(d, LM_TRAIN), lm_data_tokens(d, LM_HELD_OUT) };
        add(to, n, sizeof n);
    }
    ag_free(d);
    ag_free(v);
}

static void read_data(const char *path, Found *to)
{
    KaeruVocab *v = letters();
    add_data(to, lm_data_open(path, v), v);
}

static void read_examples(const char *path, Found *to)
{
    KaeruVocab *v = letters();
    add_data(to, lm_data_open_pairs(path, v, -1, -1), v);
}

static void read_to_tokenize(const char *path, Found *to)
{
    KaeruVocab *v = letters();
    int64_t count;
    if (lm_tokenize(path, v, in_folder("tokens"), &count)) add(to, &count, sizeof count);
    ag_free(v);
}

/* ---- the test ---------------------------------------------------------------------------------------------------- */

#define CONFIG "{\"model_type\":\"llama\",\"hidden_size\":8,\"intermediate_size\":8,\"num_attention_heads\":2," \
    "\"num_hidden_layers\":1,\"vocab_size\":9,\"hidden_act\":\"silu\"}"
#define ADAPTER "{\"peft_type\":\"LORA\",\"r\":1,\"lora_alpha\":1,\"target_modules\":[\"q\"]}"
/* NULL as text: the content of the file of that name, in the fixtures. */
static const struct { const char *name, *text, *fixture; void (*read)(const char *path, Found *to); } readers[] = {
    { "any.json", "{\"a\":7}", NULL, read_json },
    { "config.json", CONFIG, NULL, read_config },
    { "characters.json", "{\" \":0,\"a\":1,\"b\":2}", NULL, read_characters },
    { "words.json", "{\"<s>\":0,\"</s>\":1,\"<blank>\":2,\"<unk>\":3,\"a\":4}", NULL, read_words },
    { "vocab.json", NULL, "/bpe/vocab.json", read_pairs_of_bytes },
    { "merges.txt", NULL, "/bpe/merges.txt", read_merges },
    { "tokenizer.json", "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1},\"merges\":[]}}", NULL, read_tokenizer },
    { "model.safetensors.index.json", "{\"weight_map\":{\"x\":\"shard\"}}", NULL, read_index },
    { "adapter_config.json", ADAPTER, NULL, read_adapter },
    { "text.txt", "a b\nc", NULL, read_text },
    { "lines.txt", "a b\nc\n", NULL, read_lines },
    { "input.txt", "a b\n", NULL, read_first_line },
    { "data.txt", "abc abc abc abc abc abc\n", NULL, read_data },
    { "data.jsonl", "{\"text\":\"a\"}\n{\"prompt\":\"a\",\"completion\":\"b\"}\n", NULL, read_examples },
    { "blank.jsonl", "\n{\"text\":\"a\"}\n{\"text\":\"bc\"}\n", NULL, read_examples },
    { "tokenize.txt", "abc abc\n", NULL, read_to_tokenize },
};
enum { N_READERS = sizeof readers / sizeof *readers };

static void make_others(void)
{
    static const char header[] = "{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}";
    static const char both[] = "{"
        "\"base_model.model.q.lora_A.weight\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]},"
        "\"base_model.model.q.lora_B.weight\":{\"dtype\":\"F32\",\"shape\":[3,1],\"data_offsets\":[8,20]}}";
    char bytes[600] = { sizeof header - 1 };
    memcpy(bytes + 8, header, sizeof header);
    folder_write("shard", bytes, 8 + sizeof header - 1 + 4);
    memset(bytes, 0, sizeof bytes);
    bytes[0] = (char)(sizeof both - 1);
    memcpy(bytes + 8, both, sizeof both);
    folder_write("adapter_model.safetensors", bytes, 8 + sizeof both - 1 + 20);
}

START_TEST(a_byte_order_mark_is_skipped)
{
    Found found[2] = { 0 };
    char path[512], text[9000];
    make_others();
    for (int mark = 0; mark < 2; mark++) {
        if (readers[_i].text) {
            write_file(readers[_i].name, readers[_i].text, mark);
        } else {
            size_t size;
            void *owner = ag_alloc(1, 1);
            snprintf(path, sizeof path, TEST_FIXTURES "%s", readers[_i].fixture);
            const char *content = file_read(owner, path, sizeof text - 4, &size);
            ck_assert_msg(content != NULL, "%s", ag_error());
            memcpy(text, "\xef\xbb\xbf", 3);
            memcpy(text + 3, content, size);
            folder_write(readers[_i].name, mark ? text : text + 3, mark ? size + 3 : size);
            ag_free(owner);
        }
        readers[_i].read(in_folder(readers[_i].name), &found[mark]);
        ck_assert_msg(found[mark].n > 0, "%s, mark %d: %s", readers[_i].name, mark, ag_error());
    }
    ck_assert_msg(found[0].n == found[1].n && memcmp(found[0].bytes, found[1].bytes, found[0].n) == 0, "%s: differs",
                  readers[_i].name);
}
END_TEST

Suite *marks_suite(void)
{
    Suite *suite = suite_create("marks");
    TCase *t = tcase_create("marks");
    tcase_add_checked_fixture(t, folder_make, folder_remove);
    tcase_add_loop_test(t, a_byte_order_mark_is_skipped, 0, N_READERS);
    suite_add_tcase(suite, t);
    return suite;
}
