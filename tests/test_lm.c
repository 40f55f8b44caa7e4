/* test_lm.c: data for language models, and training that can be stopped at any moment and resumed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.h"
#include "file.h"
#include "folder.h"
#include "io_faults.h"
#include "kaeru/lm.h"
#include "suites.h"
#include "usage_error.h"

/* ---- vocabularies ------------------------------------------------------------------------------------------------ */

static KaeruVocab *characters(const char *text)
{
    KaeruVocab *v = kaeru_vocab_chars(text, strlen(text));
    ck_assert_msg(v != NULL, "%s", ag_error());
    return v;
}

static KaeruVocab *pairs(const char *text, int32_t size)
{
    KaeruVocab *v = kaeru_vocab_bpe(KAERU_BPE, text, strlen(text), size);
    ck_assert_msg(v != NULL, "%s", ag_error());
    return v;
}

START_TEST(saved_vocabularies_load_unchanged)
{
    const char *text = "ab ab <|endoftext|>\xE8\x9B\x99";
    KaeruVocab *made[2] = { characters(text), pairs(text, 260) };
    ck_assert(kaeru_vocab_fingerprint(made[0]) != kaeru_vocab_fingerprint(made[1]));
    for (int i = 0; i < 2; i++) {
        const char *merges = i ? in_folder("merges") : NULL;
        expect_done(kaeru_vocab_save(made[i], in_folder("vocab"), merges));
        KaeruVocab *again = kaeru_vocab_open(i ? KAERU_BPE : KAERU_CHARS, in_folder("vocab"), merges);
        ck_assert_msg(again != NULL, "%s", ag_error());
        ck_assert_int_eq(kaeru_vocab_kind(again), kaeru_vocab_kind(made[i]));
        ck_assert_int_eq(kaeru_vocab_size(again), kaeru_vocab_size(made[i]));
        ck_assert(kaeru_vocab_fingerprint(again) == kaeru_vocab_fingerprint(made[i]));
        size_t n, back;
        int32_t *ids = kaeru_vocab_encode(again, text, strlen(text), KAERU_WITH_SPECIAL, &n);
        ck_assert(n < strlen(text));
        char *decoded = kaeru_vocab_decode(again, ids, n, &back);
        ck_assert_str_eq(decoded, text);
        ag_free(decoded);
        ag_free(ids);
        ag_free(again);
        ag_free(made[i]);
    }
    expect_refused(kaeru_vocab_open(KAERU_CHARS, in_folder("absent"), NULL) != NULL, "absent: cannot be opened");
}
END_TEST

/* The tokenizer.json of Llama 3 has 17 MB. */
START_TEST(a_file_of_20_MB_is_read)
{
    static const char begin[] = "{\"a\": 0";
    enum { SIZE = 20000000 };
    char *json = ag_alloc(SIZE, 1);
    memset(json, ' ', SIZE);
    memcpy(json, begin, strlen(begin));
    json[SIZE - 1] = '}';
    folder_write("vocab", json, SIZE);
    KaeruVocab *v = kaeru_vocab_open(KAERU_CHARS, in_folder("vocab"), NULL);
    ck_assert_msg(v != NULL, "%s", ag_error());
    ag_free(v);
    ag_free(json);
}
END_TEST

START_TEST(different_vocabularies_have_different_fingerprints)
{
    const char *texts[] = { "abc", "abd", "ab", "abcd", "" };
    uint64_t seen[5];
    for (int i = 0; i < 5; i++) {
        KaeruVocab *t = characters(texts[i]);
        seen[i] = kaeru_vocab_fingerprint(t);
        for (int k = 0; k < i; k++) ck_assert(seen[k] != seen[i]);
        ag_free(t);
    }
    ck_assert_uint_eq(seen[0], UINT64_C(0x3ab336ed30c133fc));           /* checkpoints and token files have it */
}
END_TEST

/* ---- data -------------------------------------------------------------------------------------------------------- */

static LmData *opened(const char *name, const KaeruVocab *t)
{
    LmData *d = lm_data_open(in_folder(name), t);
    ck_assert_msg(d != NULL, "%s", ag_error());
    return d;
}

static void expect_open_refused(const char *name, const KaeruVocab *t, const char *part)
{
    LmData *d = lm_data_open(in_folder(name), t);
    expect_refused(d != NULL, part);
}

/* 30 characters of one to four bytes each. */
static const char mixed[] = "a\xC3\xA4\xE8\x9B\x99\xF0\x9F\x90\xB8" "b\xC3\xB6\xE8\x9B\x99\xF0\x9F\x90\xB8"
                            "c\xC3\xBC\xE8\x9B\x99\xF0\x9F\x90\xB8" "d\xC3\x9F\xE8\x9B\x99\xF0\x9F\x90\xB8"
                            "eeee\xC3\x9F\xE8\x9B\x99\xF0\x9F\x90\xB8" "ffffff\xF0\x9F\x90\xB8";

START_TEST(windows_are_parts_of_the_text)
{
    KaeruVocab *t = characters(mixed);
    LmData *d = lm_data_of_text("mixed", mixed, strlen(mixed), t);
    ck_assert_msg(d != NULL, "%s", ag_error());
    int64_t learned = lm_data_tokens(d, LM_TRAIN), held_out = lm_data_tokens(d, LM_HELD_OUT);
    size_t count;
    int32_t *all = kaeru_vocab_encode(t, mixed, strlen(mixed), KAERU_WITH_SPECIAL, &count);
    ck_assert_int_eq(learned + held_out, (int64_t)count);
    ck_assert(held_out >= 2 && held_out <= 6);

    enum { LENGTH = 4, ROUNDS = 600 };
    bool seen[64] = { false };
    int64_t starts = learned - LENGTH;                      /* a window has one token more */
    for (int round = 0; round < ROUNDS; round++) {
        AgScope s = ag_begin(AG_NO_GRAD);
        Tensor *x, *y;
        lm_data_draw(d, 2, LENGTH, &x, &y);
        for (int b = 0; b < 2; b++) {
            const int32_t *id = tensor_int_data(x) + b * LENGTH, *next = tensor_int_data(y) + b * LENGTH;
            bool found = false;
            for (int64_t at = 0; at < starts; at++) {
                bool same = memcmp(id, all + at, sizeof *id * LENGTH) == 0 &&
                    memcmp(next, all + at + 1, sizeof *id * LENGTH) == 0;
                seen[at] = seen[at] || same;
                found = found || same;
            }
            ck_assert(found);
        }
        ag_end(s);
    }
    for (int64_t at = 0; at < starts; at++) ck_assert_msg(seen[at], "no window begins at %d", (int)at);
    Tensor *x, *y;
    EXPECT_USAGE_ERROR("windows of", lm_data_draw(d, 1, learned, &x, &y));
    ag_free(all);
    ag_free(d);
    ag_free(NULL);
    ag_free(t);
}
END_TEST

/* A text of words and numbers in which no two windows are equal. */
static char *story(size_t size)
{
    static const char *words[] = { "frog", "pond ", "\n", " ", "  ", "\n\n", ".", "It's", "\xE8\x9B\x99", "\xC2\xA0",
                                   "1234", "<|endoftext|>", "\t", "\xE3\x80\x80", "\xD0\xBB\xD1\x8F" };
    char *text = malloc(size + 16);
    size_t n = 0;
    AgRandom before = ag_random_state();
    ag_seed(11);
    while (n < size) {
        const char *word = words[ag_random_below(sizeof words / sizeof *words)];
        strcpy(text + n, word);
        n += strlen(word);
    }
    ag_set_random_state(before);
    return text;
}

static void check_token_file(const char *text, const KaeruVocab *t)
{
    size_t n = strlen(text), count;
    int64_t written;
    folder_write("text", text, n);
    ck_assert(!lm_tokenize(in_folder("text"), t, in_folder("text"), &written));
    ck_assert_msg(strstr(ag_error(), "which would be replaced"), "%s", ag_error());
    expect_done(lm_tokenize(in_folder("text"), t, in_folder("tokens"), &written));
    ck_assert(lm_is_token_file(in_folder("tokens")) && !lm_is_token_file(in_folder("text")));
    ck_assert(!lm_is_token_file(in_folder("missing")));
    int32_t *ids = kaeru_vocab_encode(t, text, n, KAERU_WITH_SPECIAL, &count);
    ck_assert_int_eq(written, (int64_t)count);
    size_t size;
    char *bytes = file_read(NULL, in_folder("tokens"), SIZE_MAX, &size);
    ck_assert_msg(bytes != NULL, "%s", ag_error());
    const size_t width = (size - 40) / count;                           /* without the head and the number */
    for (size_t i = 0; i < count; i++) {
        uint32_t id = 0;
        memcpy(&id, bytes + 32 + i * width, width);
        ck_assert_msg(id == (uint32_t)ids[i], "id %d is %d, expected %d", (int)i, (int)id, (int)ids[i]);
    }
    ag_free(bytes);
    LmData *d = opened("tokens", t);
    ck_assert_int_eq(lm_data_tokens(d, LM_TRAIN) + lm_data_tokens(d, LM_HELD_OUT), written);
    ck_assert_int_eq(lm_data_tokens(d, LM_TRAIN), written * 9 / 10);
    /* the longest window is the whole part for training */
    int64_t length = lm_data_tokens(d, LM_TRAIN) - 1;
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *x, *y;
    lm_data_draw(d, 1, length, &x, &y);
    ck_assert_int_eq(memcmp(tensor_int_data(x), ids, (size_t)length * sizeof *ids), 0);
    ck_assert_int_eq(memcmp(tensor_int_data(y), ids + 1, (size_t)length * sizeof *ids), 0);
    ag_end(s);
    ag_free(d);
    ag_free(ids);
}

START_TEST(token_files_have_the_ids_of_the_text)
{
    char *text = story(3 << 20);                            /* several pieces */
    KaeruVocab *t = pairs("frog pond It's 1234 frog pond \n\n", 270);
    check_token_file(text, t);
    ag_free(t);
    t = characters(text);
    check_token_file(text, t);
    ag_free(t);
    t = kaeru_vocab_words("frog pond It's <unk>", 20, 1);
    check_token_file(text, t);
    ag_free(t);
    free(text);
}
END_TEST

#if defined(__SANITIZE_ADDRESS__)
enum { TRIED = 1 };                                             /* with gcc's address sanitizer each takes half a minute */
#else
enum { TRIED = 4 };
#endif

/* Wherever the first piece ends: at every place of some lines. For Llama 3 and Qwen, a line break can belong to what is before
 * it. For GPT-2, the last white space before a word is apart from the rest, but not before a token such as <|end|>, and for
 * SmolLM not before a digit. */
START_TEST(pieces_end_between_the_parts_of_a_text)
{
    static const char lines[] = "a.\nAb c\n\nc, {d} [e]  \n F?\n\n\nIt's 12\t\nx\xE3\x80\x80\ny\xE3\x80\x82\n\xE8\x9B\x99 "
                                "e  5\n 6  <|end|>\n <|end|> f  think <think> g\nthink ";
    static const char *const files[] = { "llama3", "gpt2", "qwen2", "smollm" };
    char path[200];
    snprintf(path, sizeof path, TEST_FIXTURES "/tokenizers/%s.json", files[_i]);
    enum { SIZE = 1 << 20, LINES = sizeof lines - 1 };
    KaeruVocab *v = kaeru_vocab_open(KAERU_BPE, path, NULL);
    ck_assert_msg(v != NULL, "%s", ag_error());
    char *text = malloc(SIZE + 2 * LINES + 1);
    memset(text, 'a', SIZE);
    for (int i = 0; i < SIZE; i += 8) text[i] = ' ';
    for (int before = 0; before < LINES; before++) {
        if (!strchr(" \n\t", lines[before])) continue;                  /* no rule ends a piece before the next one of these */
        strcpy(text + SIZE - before, lines);
        strcpy(text + SIZE - before + LINES, lines);
        check_token_file(text, v);
    }
    ag_free(v);
    free(text);
}
END_TEST

/* The last piece of a text is not cut before its last byte, which belongs to a word. */
START_TEST(the_end_of_a_text_is_not_cut_off)
{
    enum { SIZE = (1 << 20) + 9 };
    char *text = malloc(SIZE + 1);
    for (int i = 0; i < SIZE; i++) text[i] = i < SIZE - 12 && i % 3 == 2 ? ' ' : i % 2 ? 'a' : 'b';
    text[SIZE] = '\0';
    KaeruVocab *t = pairs("abababab abababab ab ab", 262);
    check_token_file(text, t);
    ag_free(t);
    free(text);
}
END_TEST

START_TEST(large_vocabularies_have_ids_of_four_bytes)
{
    enum { CODES = 70000 };
    char *text = malloc(CODES * 4 + 1), *p = text;
    for (uint32_t c = 0x10000; c < 0x10000 + CODES; c++) {
        *p++ = (char)(0xF0 | c >> 18);
        for (int shift = 12; shift >= 0; shift -= 6) *p++ = (char)(0x80 | (c >> shift & 0x3F));
    }
    *p = '\0';
    KaeruVocab *t = characters(text);
    ck_assert_int_eq(kaeru_vocab_size(t), CODES);
    check_token_file(text, t);
    struct stat status;
    ck_assert_int_eq(stat(in_folder("tokens"), &status), 0);
    ck_assert_int_eq(status.st_size, 32 + 4 * CODES + 16);
    /* Ids are read 1024 at a time. One of a later part is too large, or negative as an int32_t. */
    char *bytes = file_read(NULL, in_folder("tokens"), SIZE_MAX, &(size_t){ 0 });
    bytes[32 + 4 * 2000 + 3] = (char)0x80;
    folder_write("tokens", bytes, (size_t)status.st_size);
    expect_open_refused("tokens", t, "token 2000 has id 2147485648, expected ids below 70000");
    ag_free(bytes);
    ag_free(t);
    free(text);
}
END_TEST

START_TEST(a_text_and_its_token_file_give_the_same_data)
{
    char *text = story(2000);
    for (char *p = text; *p; p++) *p = (char)(*p & 0x7F);       /* one byte a character: a position is an id */
    KaeruVocab *t = characters(text);
    int64_t n;
    folder_write("text", text, strlen(text));
    expect_done(lm_tokenize(in_folder("text"), t, in_folder("tokens"), &n));
    LmData *d[2] = { opened("text", t), opened("tokens", t) };
    for (int part = 0; part < 2; part++)
        ck_assert_int_eq(lm_data_tokens(d[0], part), lm_data_tokens(d[1], part));
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *x[2], *y[2];
    for (int i = 0; i < 2; i++) {
        ag_seed(3);
        lm_data_draw(d[i], 5, 7, &x[i], &y[i]);
    }
    ck_assert_int_eq(memcmp(tensor_int_data(x[0]), tensor_int_data(x[1]), 35 * sizeof(int32_t)), 0);
    ck_assert_int_eq(memcmp(tensor_int_data(y[0]), tensor_int_data(y[1]), 35 * sizeof(int32_t)), 0);
    ag_end(s);
    for (int i = 0; i < 2; i++) ag_free(d[i]);
    ag_free(t);
    free(text);
}
END_TEST

START_TEST(broken_token_files_are_refused)
{
    KaeruVocab *t = characters("abcdefgh"), *other = characters("abcdefgi");
    unsigned char good[72];
    int64_t n;
    folder_write("text", "abcdefgh", 8);
    expect_done(lm_tokenize(in_folder("text"), t, in_folder("tokens"), &n));
    FILE *f = fopen(in_folder("tokens"), "rb");
    size_t size = fread(good, 1, sizeof good, f);
    fclose(f);
    ck_assert_uint_eq(size, 32 + 8 * 2 + 16);
    expect_open_refused("tokens", other, "tokens: was made with another vocabulary, of 8 tokens");

    static const struct { size_t at; unsigned char value; const char *message; } cases[] = {
        { 8, 3, "expected version 1 or 2 of token files, found 3" },
        { 12, 3, "expected ids of 2 or 4 bytes, found 3" },
        { 12, 4, "expected 8 tokens of 4 bytes, found 16 bytes" },
        { 16, 9, "was made with another vocabulary, of 9 tokens" },
        { 20, 1, "bad: expected 0 behind the number of tokens in the vocabulary, found 1" },
        { 24, 0x55, "was made with another vocabulary" },
        { 32 + 2 * 3, 8, "token 3 has id 8, expected ids below 8" },
        { 32 + 2 * 7 + 1, 255, "token 7 has id 65287, expected ids below 8" },
        { 48, 7, "is damaged: it does not have its hash" },
        { 56, 7, "expected 7 tokens of 2 bytes, found 16 bytes" },
        { 63, 255, "expected 18374686479671623688 tokens" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char bad[64];
        memcpy(bad, good, size);
        bad[cases[i].at] = cases[i].value;
        folder_write("bad", bad, size);
        expect_open_refused("bad", t, cases[i].message);
    }
    for (size_t length = 8; length < size; length++) {
        folder_write("bad", good, length);
        expect_open_refused("bad", t, length < 40 ? "at least 40 bytes" : length < 48 ? "at least 48 bytes" : "bad: expected");
    }
    for (size_t bit = 0; bit < 8 * size; bit++) {
        unsigned char bad[64];
        memcpy(bad, good, size);
        bad[bit / 8] ^= (unsigned char)(1 << bit % 8);
        folder_write("bad", bad, size);
        expect_open_refused("bad", t, "bad: ");
    }
    /* A file of version 1 has no hash. */
    unsigned char old[64];
    memcpy(old, good, 48);
    memcpy(old + 48, good + 56, 8);
    old[8] = 1;
    folder_write("old", old, 56);
    LmData *d = opened("old", t);
    ck_assert_int_eq(lm_data_tokens(d, LM_TRAIN) + lm_data_tokens(d, LM_HELD_OUT), 8);
    ag_free(d);
    ag_free(t);
    ag_free(other);
}
END_TEST

START_TEST(texts_that_do_not_fit_are_refused)
{
    KaeruVocab *t = characters("abcdefgh");
    folder_write("latin", "ab\xE9", 3);
    expect_open_refused("latin", t, "latin: line 1, column 3, byte 2: expected UTF-8, found byte 0xE9");
    KaeruVocab *bytes = pairs("ab", 257);                       /* it has all bytes, but a text is UTF-8 */
    expect_open_refused("latin", bytes, "latin: line 1, column 3, byte 2: expected UTF-8, found byte 0xE9");
    ag_free(bytes);
    KaeruVocab *lines = characters("ab\n");
    folder_write("other", "abba\nabba\nabz", 13);
    expect_open_refused("other", lines, "other: \"z\" (U+007A) at line 3, column 3, byte 12 is not in the vocabulary");
    ag_free(lines);
    expect_open_refused("absent", t, "absent: cannot be opened");
    int64_t n;
    expect_refused(lm_tokenize(in_folder("latin"), t, in_folder("tokens"), &n), "latin: line 1, column 3, byte 2: ");
    expect_refused(lm_tokenize(in_folder("other"), t, in_folder("tokens"), &n),
                   "other: \"\\x0A\" (U+000A) at line 1, column 5");
    expect_refused(lm_tokenize(in_folder("absent"), t, in_folder("tokens"), &n), "absent");
    ck_assert_int_eq(folder_count(), 2);

    folder_write("short", "abcdefghabcdefgh", 16);
    LmData *d = opened("short", t);
    GPTOptions o = { .layers = 1, .heads = 1, .width = 4, .vocab = 8, .context = 14, .eps = 1e-5 };
    GPT *m = gpt_new(o);
    expect_refused(lm_data_fits(d, m, 0),
                   "14 tokens to learn from and 2 held out are too few: expected 15 (one more than a window) and 2; a shorter "
                   "window needs less");
    expect_refused(lm_data_fits(d, m, 15), "windows of 15 tokens are longer than the model's context of 14");
    expect_done(lm_data_fits(d, m, 13));
    expect_done(lm_data_fits(d, m, 1));
    ag_free(m);
    o.context = 13;
    m = gpt_new(o);
    expect_done(lm_data_fits(d, m, 0));
    ag_free(m);
    o.vocab = 7;
    m = gpt_new(o);
    expect_refused(lm_data_fits(d, m, 0), "its vocabulary has 8 tokens, the model's only 7");
    ag_free(m);
    ag_free(d);
    folder_write("ten", "abcdefghab", 10);
    d = opened("ten", t);
    o = (GPTOptions){ .layers = 1, .heads = 1, .width = 4, .vocab = 8, .context = 4, .eps = 1e-5 };
    m = gpt_new(o);
    expect_refused(lm_data_fits(d, m, 0), "9 tokens to learn from and 1 held out are too few: expected 5 (one more than");
    ag_free(m);
    ag_free(d);
    folder_write("empty", "", 0);
    d = opened("empty", t);
    ck_assert_int_eq(lm_data_tokens(d, LM_TRAIN) + lm_data_tokens(d, LM_HELD_OUT), 0);
    ag_free(d);
    ag_free(t);
}
END_TEST

START_TEST(evaluation_uses_each_held_out_token_once)
{
    char *text = story(1700);
    KaeruVocab *t = characters(text);
    LmData *d = lm_data_of_text("story", text, strlen(text), t);
    int64_t held_out = lm_data_tokens(d, LM_HELD_OUT), counted;
    GPT *m = gpt_new((GPTOptions){ .layers = 1, .heads = 2, .width = 8, .vocab = kaeru_vocab_size(t), .context = 7,
                                   .dropout = 0.5, .eps = 1e-5 });
    double loss = lm_evaluate(m, d, 3, 0, 0, &counted);
    ck_assert_int_eq(counted, held_out - 1);
    for (int64_t batch = 1; batch < 50; batch += 16)
        ck_assert_double_eq_tol(lm_evaluate(m, d, batch, 7, 0, NULL), loss, 1e-6);

    /* window by window */
    size_t n;
    int32_t *ids = kaeru_vocab_encode(t, text, strlen(text), KAERU_WITH_SPECIAL, &n);
    double sum = 0;
    for (int64_t at = (int64_t)n - held_out; at + 1 < (int64_t)n; at += 7) {
        int64_t length = (int64_t)n - 1 - at < 7 ? (int64_t)n - 1 - at : 7;
        AgScope s = ag_begin(AG_NO_GRAD);
        Tensor *x = tensor_ints(SHAPE(1, length), ids + at), *y = tensor_ints(SHAPE(1, length), ids + at + 1);
        sum += tensor_item(lm_loss(m, x, y)) * (double)length;
        ag_end(s);
    }
    ck_assert_double_eq_tol(loss, sum / (double)(held_out - 1), 1e-6);
    lm_evaluate(m, d, 2, 0, 30, &counted);
    ck_assert(counted >= 30 && counted < 30 + 2 * 7);
    lm_evaluate(m, d, 1, 1, 5, &counted);
    ck_assert_int_eq(counted, 5);
    ag_free(ids);
    ag_free(m);
    ag_free(d);
    ag_free(t);
    free(text);
}
END_TEST

/* ---- training ---------------------------------------------------------------------------------------------------- */

static char *text;
static KaeruVocab *vocabulary;
static LmData *data;

static void begin(void)
{
    folder_make();
    text = story(3000);
    vocabulary = characters(text);
    data = lm_data_of_text("story", text, strlen(text), vocabulary);
    ck_assert_msg(data != NULL, "%s", ag_error());
}

static void end(void)
{
    ag_free(data);
    ag_free(vocabulary);
    free(text);
    folder_remove();
}

static GPT *model(void)
{
    ag_seed(1);
    return gpt_new((GPTOptions){ .layers = 2, .heads = 2, .width = 8, .vocab = kaeru_vocab_size(vocabulary), .context = 6,
                                 .dropout = 0.1, .eps = 1e-5 });
}

static LmOptions few_steps(int64_t steps)
{
    LmOptions o = lm_defaults();
    o.steps = steps;
    o.batch = 2;
    o.warmup = 3;
    o.evaluate_every = 5;
    o.evaluate_tokens = 60;
    return o;
}

/* Trains a new model and saves it in the folder as "NAME.last" and "NAME.best". */
static bool train(const char *name, LmOptions o, bool resume, void (*stepped)(LmTraining *t, void *arg))
{
    char last[80], best[80];
    snprintf(last, sizeof last, "%s.last", name);
    snprintf(best, sizeof best, "%s.best", name);
    LmTraining t = { .model = model(), .data = data, .options = o, .settings = nn_settings_new(),
                     .last = in_folder(last), .best = in_folder(best), .stepped = stepped };
    nn_settings_set(t.settings, "own", "%s", "kept");
    bool good = lm_train(&t, resume);
    ag_free(t.settings);
    ag_free(t.model);
    return good;
}

static void leave_at_13(LmTraining *t, void *arg)
{
    (void)arg;
    if (t->step == 13) _exit(7);
}

/* Trains in a child process, which the callback ends; returns its wait status. */
static int train_in_child(const char *name, LmOptions o, bool resume, void (*stepped)(LmTraining *t, void *arg))
{
    int status;
    pid_t child = fork();
    if (child == 0) _exit(train(name, o, resume, stepped) ? 0 : 1);
    waitpid(child, &status, 0);
    return status;
}

START_TEST(a_resumed_run_ends_with_the_same_bytes)
{
    LmOptions o = few_steps(23);
    o.accumulate = 1 + _i;
    o.window = _i * 4;
    expect_done(train("straight", o, false, NULL));
    ck_assert_int_eq(WEXITSTATUS(train_in_child("broken", o, false, leave_at_13)), 7);
    NnSettings *s = nn_settings_new();
    expect_done(nn_checkpoint_settings(in_folder("broken.last"), s));
    ck_assert_str_eq(nn_settings_get(s, "own"), "kept");
    ck_assert_ptr_nonnull(nn_settings_get(s, "train.best_loss"));
    ag_free(s);
    expect_done(train("broken", o, true, NULL));
    folder_same("straight.last", "broken.last");
    folder_same("straight.best", "broken.best");
    expect_done(train("broken", o, true, NULL));                /* all steps are done: nothing changes */
    folder_same("straight.last", "broken.last");
}
END_TEST

START_TEST(one_file_cannot_be_last_and_best)
{
    LmTraining t = { .model = model(), .data = data, .options = few_steps(5), .settings = nn_settings_new(),
                     .last = in_folder("one"), .best = in_folder("./one") };
    expect_refused(lm_train(&t, false), "/./one are the same file, expected two");
    ck_assert_int_eq(t.step, 0);
    t.best = in_folder("absent/best");
    expect_refused(lm_train(&t, false), "absent/best");
    ck_assert_int_eq(t.step, 0);
    ag_free(t.settings);
    ag_free(t.model);
}
END_TEST

static ag_real *weights_after(LmOptions o, int64_t *n)
{
    LmTraining t = { .model = model(), .data = data, .options = o, .settings = nn_settings_new() };
    ag_fill(((GPT *)t.model)->ln_f->gamma, 1.5);
    expect_done(lm_train(&t, false));
    NnParameters *p = nn_parameters(t.model);
    ag_real *all = NULL;
    *n = 0;
    for (int i = 0; i < p->n; i++) {
        int64_t size = tensor_numel(p->item[i].tensor);
        all = realloc(all, (size_t)(*n + size) * sizeof *all);
        memcpy(all + *n, tensor_data(p->item[i].tensor), (size_t)size * sizeof *all);
        *n += size;
    }
    ag_free(p);
    ag_free(t.settings);
    ag_free(t.model);
    return all;
}

/* A step of a model without dropout on *d: its loss, learning rate and one of the new weights, n items. */
typedef struct { double loss, lr; ag_real *w; int64_t n; } Step;

static Step one_step(const LmData *d, int64_t batch, int64_t accumulate, int64_t shards)
{
    ag_seed(1);
    GPTOptions plain = { .layers = 2, .heads = 2, .width = 8, .vocab = kaeru_vocab_size(vocabulary), .context = 6,
                         .eps = 1e-5 };
    LmTraining t = { .model = gpt_new(plain), .data = d, .options = few_steps(1), .settings = nn_settings_new() };
    t.options.warmup = 0;
    t.options.batch = batch;
    t.options.accumulate = accumulate;
    t.options.shards = shards;
    expect_done(lm_train(&t, false));
    ck_assert(t.train_loss == t.loss);
    Tensor *c_fc = nn_find(t.model, "h.1.mlp.c_fc.weight");
    Step step = { .loss = t.loss, .lr = t.lr, .n = tensor_numel(c_fc) };
    step.w = malloc((size_t)step.n * sizeof *step.w);
    memcpy(step.w, tensor_data(c_fc), (size_t)step.n * sizeof *step.w);
    ag_free(t.settings);
    ag_free(t.model);
    return step;
}

START_TEST(accumulated_batches_are_one_large_batch)
{
    char same[80];                                              /* a text of which all windows are equal */
    memset(same, text[0], sizeof same);
    LmData *d = lm_data_of_text("same", same, sizeof same, vocabulary);
    Step large = one_step(d, 6, 1, 1), small = one_step(d, 2, 3, 1);
    ck_assert(large.lr == small.lr && large.lr == lm_defaults().lr_min);        /* the schedule ends with the only step */
    ck_assert_double_eq_tol(large.loss, small.loss, 1e-5);
    for (int64_t i = 0; i < large.n; i++) ck_assert_double_eq_tol((double)large.w[i], (double)small.w[i], 2e-6);
    /* batches and shards of as many windows draw the same ones */
    Step batches = one_step(data, 2, 3, 1), shards = one_step(data, 6, 1, 3);
    ck_assert(batches.loss == shards.loss && batches.lr == shards.lr);
    ck_assert_mem_eq(batches.w, shards.w, (size_t)shards.n * sizeof *shards.w);
    free(large.w);
    free(small.w);
    free(batches.w);
    free(shards.w);
    ag_free(d);
}
END_TEST

START_TEST(only_matrices_decay)
{
    LmOptions o = few_steps(1);
    int64_t n;
    o.lr = o.lr_min = 1e-2;
    o.weight_decay = 0;
    ag_real *without = weights_after(o, &n);
    o.weight_decay = 10;
    ag_real *with = weights_after(o, &n);
    GPT *m = model();
    NnParameters *p = nn_parameters(m);
    for (int64_t i = 0, at = 0; i < p->n; i++) {
        int64_t size = tensor_numel(p->item[i].tensor);
        bool same = memcmp(with + at, without + at, (size_t)size * sizeof *with) == 0;
        ck_assert_msg(same == (tensor_ndim(p->item[i].tensor) < 2), "%s", p->item[i].name);
        at += size;
    }
    ag_free(p);
    ag_free(m);
    free(with);
    free(without);
}
END_TEST

typedef struct { int64_t started, steps, evaluations; double lr[64], train_loss, valid_loss, best_loss; } Seen;
static void note_start(LmTraining *t, void *arg)
{
    Seen *seen = arg;
    seen->started++;
    ck_assert_int_eq(t->step, seen->steps);
    ck_assert_int_eq(access(t->last, F_OK), 0);
}
static void note_step(LmTraining *t, void *arg)
{
    Seen *seen = arg;
    ck_assert_int_eq(t->step, ++seen->steps);
    seen->lr[t->step] = t->lr;
}
/* The checkpoint on the disk is still that of the previous evaluation. */
static void note_evaluation(LmTraining *t, void *arg)
{
    Seen *seen = arg;
    NnSettings *saved = nn_settings_new();
    double best = 0;
    expect_done(nn_checkpoint_settings(t->last, saved));
    ck_assert_int_eq(nn_settings_real(saved, "train.best_loss", &best), seen->evaluations > 0);
    ck_assert(best == seen->best_loss);
    ag_free(saved);
    seen->evaluations++;
    seen->train_loss = t->train_loss;
    seen->valid_loss = t->valid_loss;
    seen->best_loss = t->best_loss;
    ck_assert(t->best_loss <= t->valid_loss);
}

START_TEST(a_run_stops_between_evaluations)
{
    KaeruVocab *t = characters("abc");
    LmData *d = lm_data_of_text("abc", "abcabcabcabcabcabcabcabcabcabcabcabc", 36, t);
    volatile sig_atomic_t stop = 1;
    LmTraining run = { .data = d, .options = few_steps(7), .settings = nn_settings_new(), .last = in_folder("last"),
                       .stop = &stop };
    run.model = gpt_new((GPTOptions){ .layers = 1, .heads = 2, .width = 8, .vocab = 3, .context = 8, .eps = 1e-5 });
    for (int64_t step = 1; step <= 7; step++) {
        expect_done(lm_train(&run, step > 1));
        ck_assert_int_eq(run.step, step);
        ck_assert_int_eq(run.stopped, step < 7);
    }
    /* The settings had the sum and the loss of the calls before; a new run does not begin with them. */
    ck_assert_str_eq(nn_settings_get(run.settings, "train.loss_sum"), "0");
    ck_assert_str_eq(nn_settings_get(run.settings, "train.loss_since"), "7");
    ck_assert_str_ne(nn_settings_get(run.settings, "train.best_loss"), "none");
    expect_done(lm_train(&run, false));
    ck_assert_str_eq(nn_settings_get(run.settings, "train.loss_since"), "0");
    ck_assert_str_eq(nn_settings_get(run.settings, "train.best_loss"), "none");
    ag_free(run.settings);
    ag_free(run.model);
    ag_free(d);
    ag_free(t);
}
END_TEST

START_TEST(a_model_learns_a_repeated_text)
{
    const char *abc = "abcdefabcdefabcdefabcdefabcdefabcdefabcdefabcdefabcdefabcdefabcdefabcdef";
    KaeruVocab *t = characters(abc);
    LmData *d = lm_data_of_text("abc", abc, strlen(abc), t);
    Seen seen = { 0 };
    ag_seed(1);
    LmTraining run = { .data = d, .options = few_steps(60), .settings = nn_settings_new(), .last = in_folder("last"),
                       .started = note_start, .stepped = note_step, .evaluated = note_evaluation, .arg = &seen };
    run.options.lr = 0.03;
    run.options.lr_min = 0.003;
    run.model = gpt_new((GPTOptions){ .layers = 1, .heads = 2, .width = 16, .vocab = 6, .context = 8, .eps = 1e-5 });
    expect_done(lm_train(&run, false));
    ck_assert_int_eq(seen.started, 1);
    ck_assert_int_eq(seen.steps, 60);
    ck_assert_int_eq(seen.evaluations, 12);
    ck_assert_msg(seen.valid_loss < 0.1 && seen.train_loss < 0.1, "losses %g, %g", seen.train_loss, seen.valid_loss);
    run.stopped = true;                                                  /* as after an earlier call */
    expect_done(lm_train(&run, true));                                   /* all steps are done */
    ck_assert(!run.stopped);
    ck_assert_int_eq(seen.started, 2);
    ck_assert_int_eq(seen.evaluations, 12);
    ck_assert(seen.lr[3] == 0.03 && seen.lr[60] == 0.003 && seen.lr[1] == 0.01 && seen.lr[30] < 0.02);
    ag_free(run.settings);
    ag_free(run.model);
    ag_free(d);
    ag_free(t);
}
END_TEST

START_TEST(what_cannot_be_trained_is_refused)
{
    LmOptions o = few_steps(8);
    expect_refused(train("none", o, true, NULL), "none.last: cannot be opened");
    expect_refused(train("no/folder", o, false, NULL), "no/folder");
    expect_done(train("a", o, false, NULL));
    GPT *small = gpt_new((GPTOptions){ .layers = 1, .heads = 1, .width = 4, .vocab = kaeru_vocab_size(vocabulary),
                                       .context = 6, .eps = 1e-5 });
    LmTraining t = { .model = small, .data = data, .options = o, .settings = nn_settings_new(),
                     .last = in_folder("a.last") };
    expect_refused(lm_train(&t, true), "a.last: ");
    t.last = in_folder("a.best");
    expect_refused(lm_train(&t, true), "a.best: ");             /* it has no optimizer state */
    t.last = NULL;
    EXPECT_USAGE_ERROR("no path of a checkpoint", lm_train(&t, true));
    t.options.batch = 0;
    expect_refused(lm_train(&t, false), "train.batch is 0, expected a whole number from 1 to 16777216");
    ag_free(t.settings);
    ag_free(small);

    o.lr = 1000;
    o.clip = 0;
    o.steps = 200;
    ck_assert(!train("wild", o, false, NULL));
    ck_assert_msg(strstr(ag_error(), "the loss is") != NULL, "%s", ag_error());
    ck_assert_int_eq(access(in_folder("wild.last"), F_OK), 0);
}
END_TEST

/* A loss that is not a number ends the training. The gradients of that step are gone, as after any step. */
START_TEST(a_loss_that_is_not_a_number_leaves_no_gradients)
{
    LmTraining t = { .model = model(), .data = data, .options = few_steps(3), .settings = nn_settings_new() };
    ag_fill(((GPT *)t.model)->ln_f->gamma, INFINITY);
    expect_refused(lm_train(&t, false), "step 1: the loss is");
    NnParameters *p = nn_parameters(t.model);
    for (int i = 0; i < p->n; i++)
        ck_assert_msg(!tensor_grad_data(p->item[i].tensor), "%s has a gradient", p->item[i].name);
    ag_free(p);
    ag_free(t.settings);
    ag_free(t.model);
}
END_TEST

static void spoil_at_6(LmTraining *t, void *arg)
{
    (void)arg;
    if (t->step == 6) ag_fill(((GPT *)t->model)->ln_f->gamma, NAN);
}

/* The evaluation after step 6, the last, finds it. The checkpoint of step 5 stays, and the run can be resumed from it. */
START_TEST(a_held_out_loss_that_is_not_a_number_is_not_saved)
{
    ck_assert(!train("a", few_steps(6), false, spoil_at_6));
    ck_assert_msg(strstr(ag_error(), "step 6: the held-out loss is nan; a smaller learning rate may help") != NULL, "%s",
                  ag_error());
    expect_done(train("a", few_steps(6), true, NULL));
    expect_done(train("b", few_steps(6), false, NULL));
    folder_same("a.last", "b.last");
}
END_TEST

static void remove_best(LmTraining *t, void *evaluations)
{
    if (++*(int *)evaluations > 1) remove(t->best);
}

/* With a learning rate of 0 all losses are equal, and the first is the best: its checkpoint is written once. */
START_TEST(an_equal_loss_is_not_better)
{
    int evaluations = 0;
    LmTraining t = { .model = model(), .data = data, .options = few_steps(10), .settings = nn_settings_new(),
                     .best = in_folder("best"), .evaluated = remove_best, .arg = &evaluations };
    t.options.lr = t.options.lr_min = 0;
    expect_done(lm_train(&t, false));
    ck_assert_int_eq(evaluations, 2);
    ck_assert(t.valid_loss == t.best_loss);
    ck_assert_int_ne(access(in_folder("best"), F_OK), 0);
    ag_free(t.settings);
    ag_free(t.model);
}
END_TEST

/* The learning rate falls to lr_min, unless lr is less than that: then it stays at lr. */
START_TEST(the_learning_rate_does_not_rise_to_lr_min)
{
    Seen seen = { 0 };
    LmTraining t = { .model = model(), .data = data, .options = few_steps(9), .settings = nn_settings_new(),
                     .last = in_folder("last"), .stepped = note_step, .arg = &seen };
    t.options.lr = lm_defaults().lr_min / 4;
    expect_done(lm_train(&t, false));
    ck_assert_int_eq(seen.steps, 9);
    for (int64_t step = t.options.warmup; step <= 9; step++)
        ck_assert_msg(seen.lr[step] == t.options.lr, "step %d: %g", (int)step, seen.lr[step]);
    ag_free(t.settings);
    ag_free(t.model);
}
END_TEST

static void note_best(LmTraining *t, void *best)
{
    *(double *)best = t->best_loss;
}

/* With other data, the first evaluation writes the best checkpoint, also if its loss is higher than the least one before. With
 * the same data it does not. */
START_TEST(the_best_loss_begins_again_with_other_data)
{
    char other[400];
    size_t n = 0;
    for (size_t at = 0; n < sizeof other; at += 7919) {
        char c = text[at % strlen(text)];
        if ((unsigned char)c < 0x80) other[n++] = c;
    }
    LmData *scrambled = lm_data_of_text("scrambled", other, n, vocabulary);
    ck_assert_msg(scrambled != NULL, "%s", ag_error());
    LmOptions all = few_steps(60);
    all.evaluate_tokens = 0;
    expect_done(train("a", all, false, NULL));
    NnSettings *saved = nn_settings_new();
    double least, best = 0;
    expect_done(nn_checkpoint_settings(in_folder("a.last"), saved));
    expect_done(nn_settings_real(saved, "train.best_loss", &least));
    for (int new_data = 0; new_data < 2; new_data++) {
        LmTraining t = { .model = model(), .data = scrambled, .options = few_steps(61), .settings = nn_settings_new(),
                         .last = in_folder("a.last"), .best = in_folder("other"), .new_data = new_data,
                         .evaluated = note_best, .arg = &best };
        t.options.evaluate_tokens = 0;
        t.options.steps += new_data;
        expect_done(lm_train(&t, true));
        ck_assert_msg(t.valid_loss > least, "%g, %g", t.valid_loss, least);
        ck_assert(best == (new_data ? t.valid_loss : least));
        ck_assert_int_eq(access(in_folder("other"), F_OK) == 0, new_data);
        ag_free(t.settings);
        ag_free(t.model);
    }
    ag_free(saved);
    ag_free(scrambled);
}
END_TEST

/* The same for what measures the loss: the number of tokens, the window, the batch of a part of the tokens, and the products.
 * What does not change the measure leaves the best loss: a window that is the context, and the batch of all tokens. */
START_TEST(the_best_loss_begins_again_with_another_measure)
{
    enum { TOKENS, WINDOW, BATCH, PRECISION, CHANGES, CONTEXT = CHANGES, ALL, CASES };
    for (int i = 0; i < CASES; i++) {
        LmOptions o = few_steps(5);
        o.lr = o.lr_min = 0;
        o.evaluate_tokens = i == ALL ? 0 : o.evaluate_tokens;
        ck_assert_msg(train("a", o, false, NULL), "%s", ag_error());
        double best = 0;
        LmTraining t = { .model = model(), .data = data, .options = o, .settings = nn_settings_new(),
                         .last = in_folder("a.last"), .best = in_folder("other"), .started = note_best, .arg = &best };
        t.options.steps++;
        t.options.evaluate_tokens += i == TOKENS ? 40 : 0;
        t.options.window = i == WINDOW ? 5 : i == CONTEXT ? ((GPT *)t.model)->options.context : 0;
        t.options.batch += i == BATCH || i == ALL ? 1 : 0;
        ag_precision(i == PRECISION ? AG_BF16 : AG_FLOAT32);
        expect_done(lm_train(&t, true));
        ag_precision(AG_FLOAT32);
        ck_assert_msg(isinf(best) == (i < CHANGES), "case %d: %g", i, best);
        if (i != ALL) ck_assert_int_eq(access(in_folder("other"), F_OK) == 0, i < CHANGES);     /* a sum in another order */
        remove(in_folder("other"));
        ag_free(t.settings);
        ag_free(t.model);
    }
}
END_TEST

/* A checkpoint has the options of its model: with another one, of which the weights have the same shapes, it is not resumed. */
START_TEST(a_run_does_not_resume_with_another_model)
{
    expect_done(train("a", few_steps(3), false, NULL));
    GPT *m = model();
    const char *const wrong[] = { "gpt.eps", "gpt.heads" };
    for (int i = 0; i < 2; i++) {
        GPTOptions o = m->options;
        if (i == 0) o.eps *= 2;
        else o.heads = 1;
        GPT *other = gpt_new(o);
        LmTraining t = { .model = other, .data = data, .options = few_steps(4), .settings = nn_settings_new(),
                         .last = in_folder("a.last") };
        expect_refused(lm_train(&t, true), wrong[i]);
        ag_free(t.settings);
        ag_free(other);
    }
    ag_free(m);
}
END_TEST

/* Weights that are NaN or too large before the first step are not the fault of the learning rate. */
START_TEST(a_model_that_is_not_finite_is_told)
{
    LmTraining t = { .model = model(), .data = data, .options = few_steps(4), .settings = nn_settings_new() };
    NnParameters *p = nn_parameters(t.model);
    for (int64_t i = 0; i < tensor_numel(p->item[0].tensor); i++) tensor_mutable_data(p->item[0].tensor)[i] = (ag_real)NAN;
    expect_refused(lm_train(&t, false), "step 1: the loss is nan with the weights as they were");
    ag_free(p);
    ag_free(t.settings);
    ag_free(t.model);
}
END_TEST

/* What a callback does with the training, as bytes that are changed in it. */
typedef struct { size_t at, size; int when; } Meddling;

static void meddle(LmTraining *t, const Meddling *how, int when)
{
    if (how->when != when) return;
    for (size_t i = 0; i < how->size; i++) ((char *)t)[how->at + i] ^= 1;
}
static void meddle_at_start(LmTraining *t, void *how) { meddle(t, how, 0); }
static void meddle_after_step(LmTraining *t, void *how) { meddle(t, how, 1); }
static void meddle_after_evaluation(LmTraining *t, void *how) { meddle(t, how, 2); }

static void zero_evaluate_every(LmTraining *t, void *arg)
{
    (void)arg;
    t->options.evaluate_every = 0;
}
static void negative_batch(LmTraining *t, void *arg)
{
    (void)arg;
    t->options.batch = -1;
}

/* Each option, and each other member that the training reads, is changed by each callback. */
START_TEST(callbacks_cannot_change_the_training)
{
    LmTraining of = { .data = data, .options = few_steps(10), .last = in_folder("last"), .best = in_folder("best") };
    struct { const char *name; size_t at, size; } member[32] = {
#define MEMBER(name) { #name, offsetof(LmTraining, name), sizeof of.name }
        MEMBER(model), MEMBER(data), MEMBER(settings), MEMBER(processes), MEMBER(last), MEMBER(best), MEMBER(window),
        MEMBER(step)
#undef MEMBER
    };
    int n = 8;
    for (const NnField *f = lm_fields.field; f->name; f++, n++) {
        member[n].name = f->name;
        member[n].at = offsetof(LmTraining, options) + f->offset;
        member[n].size = sizeof(int64_t);
    }
    ck_assert_uint_eq((size_t)(n - 8) * sizeof(int64_t), sizeof(LmOptions));
    for (int i = 0; i < n; i++) {
        for (int when = 0; when < 3; when++) {
            Meddling how = { member[i].at, member[i].size, when };
            LmTraining t = of;
            t.model = model();
            t.settings = nn_settings_new();
            t.started = meddle_at_start;
            t.stepped = meddle_after_step;
            t.evaluated = meddle_after_evaluation;
            t.arg = &how;
            void *m = t.model, *s = t.settings;
            EXPECT_USAGE_ERROR(member[i].name, lm_train(&t, false));
            ag_free(s);
            ag_free(m);
        }
    }
    void (*const callbacks[])(LmTraining *, void *) = { zero_evaluate_every, negative_batch };
    const char *const messages[] = { "lm_train: a callback has changed train.evaluate_every from 5 to 0",
                                     "lm_train: a callback has changed train.batch from 2 to -1" };
    for (int i = 0; i < 2; i++) {
        LmTraining t = of;
        t.model = model();
        t.settings = nn_settings_new();
        t.stepped = callbacks[i];
        EXPECT_USAGE_ERROR(messages[i], lm_train(&t, false));
        ag_free(t.settings);
        ag_free(t.model);
    }
}
END_TEST

START_TEST(options_are_checked)
{
    LmOptions o = few_steps(9), found = lm_defaults();
    o.lr = 0.1;
    NnSettings *s = nn_settings_new();
    nn_fields_to_settings(&lm_fields, &o, s);
    expect_done(nn_fields_from_settings(&lm_fields, &found, s));
    ck_assert_int_eq(memcmp(&o, &found, sizeof o), 0);
    static const struct { const char *key, *value, *message; } cases[] = {
        { "train.steps", "-1", "train.steps is -1, expected a whole number from 1 to 1000000000000000" },
        { "train.batch", "1e3", "expected a whole number" },
        { "train.beta1", "1", "train.beta1 is 1, expected a number from 0 to below 1" },
        { "train.lr", "nan", "expected a number" },
        { "train.clip", "-0.5", "train.clip is -0.5" },
        { "train.evaluate_every", "0", "train.evaluate_every is 0, expected a whole number from 1 to" },
    };
    LmOptions before = lm_defaults();                                   /* differs in settings before and after each case */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        nn_fields_to_settings(&lm_fields, &o, s);
        nn_settings_set(s, cases[i].key, "%s", cases[i].value);
        memcpy(&found, &before, sizeof found);
        expect_refused(nn_fields_from_settings(&lm_fields, &found, s), cases[i].message);
        ck_assert_int_eq(memcmp(&before, &found, sizeof found), 0);
    }
    ag_free(s);
}
END_TEST

/* ---- files and memory that fail ---------------------------------------------------------------------------------- */

/* Every call to the file system fails once (_i = 0), or it and all later ones fail (1). The resumed run ends with the same
 * bytes as a run without failures. */
START_TEST(failing_calls_lose_nothing)
{
    if (!io_faults_work()) return;
    LmOptions o = few_steps(2);
    expect_done(train("straight", o, false, NULL));
    bool hit = true;
    for (int n = 0; hit; n++) {
        remove(in_folder("a.last"));
        io_faults_at(n, _i);
        bool trained = train("a", o, false, NULL);
        hit = io_faults_end(trained);
        if (!trained) ck_assert_msg(strstr(ag_error(), "/a."), "call %d failed: \"%s\"", n, ag_error());
        if (!trained) expect_done(train("a", o, access(in_folder("a.last"), F_OK) == 0, NULL));
        folder_same("straight.last", "a.last");
        folder_same("straight.best", "a.best");
        ck_assert_int_eq(folder_count(), 4);
        ck_assert_int_eq(io_faults_open(), 0);
    }
}
END_TEST

START_TEST(failing_calls_leave_the_old_tokens)
{
    if (!io_faults_work()) return;
    int64_t count;
    folder_write("text", text, 1000);
    expect_done(lm_tokenize(in_folder("text"), vocabulary, in_folder("tokens"), &count));
    bool hit = true;
    for (int n = 0; hit; n++) {
        io_faults_at(n, _i);
        bool done = lm_tokenize(in_folder("text"), vocabulary, in_folder("tokens"), &count);
        LmData *d = done ? lm_data_open(in_folder("tokens"), vocabulary) : NULL;
        hit = io_faults_end(d != NULL);
        ag_free(d);
        d = opened("tokens", vocabulary);
        ck_assert_int_eq(lm_data_tokens(d, LM_TRAIN) + lm_data_tokens(d, LM_HELD_OUT), count);
        ag_free(d);
        ck_assert_int_eq(folder_count(), 2);
        ck_assert_int_eq(io_faults_open(), 0);
    }
}
END_TEST

static bool all_done;

static bool ignore(void *arg, int32_t id)
{
    (void)arg;
    return id >= 0;
}

static void train_and_write(void)
{
    all_done = false;
    KaeruVocab *t = kaeru_vocab_chars("abcdefgh", 8);
    LmData *d = lm_data_of_text("text", "abcdefghabcdefgh", 16, t);
    GPT *m = gpt_new((GPTOptions){ .layers = 1, .heads = 1, .width = 4, .vocab = 8, .context = 4, .dropout = 0.1,
                                   .eps = 1e-5 });
    LmTraining run = { .model = m, .data = d, .options = few_steps(2), .settings = nn_settings_new() };
    run.options.evaluate_every = 1;
    all_done = lm_train(&run, false);
    nn_eval(m);
    const int32_t prompt[1] = { 0 };
    all_done = lm_generate(m, prompt, 1, 6, &(LmSampling){ .temperature = 1, .top_k = 3 }, ignore, NULL) && all_done;
    ag_free(run.settings);
    ag_free(m);
    ag_free(d);
    ag_free(t);
}

START_TEST(failing_allocations_leak_nothing)
{
    int64_t requests = faults_everywhere(train_and_write, _i == 0);
    if (faults_work()) ck_assert(requests > 100 && all_done);
}
END_TEST

/* The last window is not full: a sanitizer reports a read behind the ids. */
START_TEST(evaluation_reads_no_more_ids_than_there_are)
{
    char *words = story(900);
    KaeruVocab *t = pairs("frog pond It's 1234 frog pond \n\n", 270);
    LmData *d = lm_data_of_text("story", words, strlen(words), t);
    GPT *m = gpt_new((GPTOptions){ .layers = 1, .heads = 1, .width = 4, .vocab = kaeru_vocab_size(t), .context = 64,
                                   .eps = 1e-5 });
    int64_t held_out = lm_data_tokens(d, LM_HELD_OUT), counted;
    ck_assert_int_ne((held_out - 1) % 64, 0);
    ck_assert(lm_evaluate(m, d, 1, 64, 0, &counted) > 0);
    ck_assert_int_eq(counted, held_out - 1);
    ag_free(m);
    ag_free(d);
    ag_free(t);
    free(words);
}
END_TEST

/* Another beta gives other weights from the second step on. */
START_TEST(the_betas_are_those_of_the_options)
{
    LmOptions o = few_steps(3);
    int64_t n;
    ag_real *usual = weights_after(o, &n);
    for (int i = 0; i < 2; i++) {
        LmOptions changed = o;
        *(i ? &changed.beta2 : &changed.beta1) = 0.5;
        ag_real *other = weights_after(changed, &n);
        ck_assert_msg(memcmp(other, usual, (size_t)n * sizeof *usual) != 0, "beta%d", i + 1);
        free(other);
    }
    free(usual);
}
END_TEST

Suite *lm_suite(void)
{
    Suite *suite = suite_create("lm");
    TCase *words = tcase_create("data");
    tcase_add_checked_fixture(words, folder_make, folder_remove);
    tcase_add_test(words, saved_vocabularies_load_unchanged);
    tcase_add_test(words, a_file_of_20_MB_is_read);
    tcase_add_test(words, different_vocabularies_have_different_fingerprints);
    tcase_add_test(words, windows_are_parts_of_the_text);
    tcase_add_test(words, token_files_have_the_ids_of_the_text);
    tcase_add_loop_test(words, pieces_end_between_the_parts_of_a_text, 0, sizeof(ag_real) == sizeof(float) ? TRIED : 1);
    tcase_add_test(words, the_end_of_a_text_is_not_cut_off);
    tcase_add_test(words, large_vocabularies_have_ids_of_four_bytes);
    tcase_add_test(words, a_text_and_its_token_file_give_the_same_data);
    tcase_add_test(words, broken_token_files_are_refused);
    tcase_add_test(words, texts_that_do_not_fit_are_refused);
    tcase_add_test(words, evaluation_uses_each_held_out_token_once);
    tcase_add_test(words, evaluation_reads_no_more_ids_than_there_are);
    tcase_add_test(words, options_are_checked);
    tcase_add_loop_test(words, failing_allocations_leak_nothing, 0, 2);
    suite_add_tcase(suite, words);
    TCase *training = tcase_create("training");
    tcase_add_checked_fixture(training, begin, end);
    tcase_add_loop_test(training, a_resumed_run_ends_with_the_same_bytes, 0, 2);
    tcase_add_test(training, one_file_cannot_be_last_and_best);
    tcase_add_test(training, accumulated_batches_are_one_large_batch);
    tcase_add_test(training, only_matrices_decay);
    tcase_add_test(training, the_betas_are_those_of_the_options);
    tcase_add_test(training, a_run_stops_between_evaluations);
    tcase_add_test(training, a_model_learns_a_repeated_text);
    tcase_add_test(training, what_cannot_be_trained_is_refused);
    tcase_add_test(training, a_loss_that_is_not_a_number_leaves_no_gradients);
    tcase_add_test(training, a_held_out_loss_that_is_not_a_number_is_not_saved);
    tcase_add_test(training, an_equal_loss_is_not_better);
    tcase_add_test(training, the_learning_rate_does_not_rise_to_lr_min);
    tcase_add_test(training, the_best_loss_begins_again_with_other_data);
    tcase_add_test(training, the_best_loss_begins_again_with_another_measure);
    tcase_add_test(training, a_run_does_not_resume_with_another_model);
    tcase_add_test(training, a_model_that_is_not_finite_is_told);
    tcase_add_test(training, callbacks_cannot_change_the_training);
    tcase_add_loop_test(training, failing_calls_lose_nothing, 0, 2);
    tcase_add_loop_test(training, failing_calls_leave_the_old_tokens, 0, 2);
    suite_add_tcase(suite, training);
    return suite;
}
