/* test_bad_files.c: every file in the folder bad_files is refused with its message in bad_files/messages.txt. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "json.h"
#include "kaeru/text.h"
#include "kaeru/lm.h"
#include "kaeru/lora.h"
#include "kaeru/tensor_files.h"
#include "kaeru/text.h"
#include "models.h"
#include "stored.h"
#include "suites.h"

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
    ck_assert(accepted || (!n->q->lora_A && !n->v->lora_A && nn_count(n) == 17));       /* as before */
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
    { "adapter", accepts_adapter }, { "pairs", accepts_pairs },
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
    ck_assert_uint_ge(count, 340);
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
    ck_assert_msg(accepts_adapter(FOLDER "good.adapter", NULL), "%s", ag_error());
    ck_assert_msg(accepts_pairs(FOLDER "good.jsonl", NULL), "%s", ag_error());
}
END_TEST

Suite *bad_files_suite(void)
{
    Suite *suite = suite_create("bad_files");
    TCase *t = tcase_create("bad_files");
    tcase_add_test(t, each_file_is_refused_with_its_message);
    tcase_add_test(t, good_files_are_accepted);
    suite_add_tcase(suite, t);
    return suite;
}
