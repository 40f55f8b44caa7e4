/* test_translation.c: lines, vocabularies of sentences, models in files; and of the program translate: pairs in batches,
 * translating, BLEU. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "folder.h"
#include "json.h"
#include "kaeru/text.h"
#include "kaeru/training.h"
#include "suites.h"
#include "translate/bleu.h"
#include "translate/sentence_pairs.h"
#include "translate/translator.h"
#include "usage_error.h"

static KaeruLines lines_from(const char *text)
{
    KaeruLines l;
    expect_done(kaeru_lines_of_text(&l, "text", 1, text, strlen(text)));
    return l;
}

static void check_line(const KaeruLines *l, int64_t i, const char *expected)
{
    ck_assert_uint_eq(l->line[i].size, strlen(expected));
    ck_assert(memcmp(l->line[i].text, expected, strlen(expected)) == 0);
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

START_TEST(texts_are_split_into_lines)
{
    KaeruLines l = lines_from("one\r\n\ntwo words\n\r\nend");
    ck_assert_int_eq(l.n, 5);
    static const char *const expected[] = { "one", "", "two words", "", "end" };
    for (int i = 0; i < 5; i++) check_line(&l, i, expected[i]);
    kaeru_lines_close(&l);
    kaeru_lines_close(&l);
    l = lines_from("");
    ck_assert_int_eq(l.n, 0);
    kaeru_lines_lower(&l);
    kaeru_lines_close(&l);
    l = lines_from("\n");
    ck_assert_int_eq(l.n, 1);
    check_line(&l, 0, "");
    kaeru_lines_close(&l);
    l = lines_from("x\r\ny\r");                             /* "\r" alone ends no line */
    check_line(&l, 1, "y\r");
    kaeru_lines_close(&l);
    folder_write("a", "x\ny\n", 4);
    expect_done(kaeru_lines_open(&l, in_folder("a")));
    ck_assert_int_eq(l.n, 2);
    kaeru_lines_close(&l);
    folder_write("b", "x\n\xff", 3);
    expect_refused(kaeru_lines_open(&l, in_folder("b")), "b: line 2, column 1, byte 2: expected UTF-8, found byte 0xFF");
    expect_refused(kaeru_lines_of_text(&l, "part", 7, "x\n\xff", 3), "part: line 8, column 1, byte 2: expected UTF-8");
    expect_done(kaeru_lines_of_text(&l, "part", 7, "x\ny", 3));
    ck_assert_int_eq(l.first, 7);
    kaeru_lines_close(&l);
    expect_refused(kaeru_lines_open(&l, in_folder("none")), "none: cannot be opened");
    kaeru_lines_close(&l);
}
END_TEST

/* A line of 1,000,000 bytes is read, one of 1,000,001 is not, at the end of the text or within it. */
START_TEST(a_longer_line_is_no_sentence)
{
    enum { MOST = 1000000 };
    char *text = ag_alloc(MOST + 5, 1);
    memset(text, 'x', MOST + 5);
    text[1] = '\n';
    KaeruLines l;
    expect_done(kaeru_lines_of_text(&l, "text", 4, text, MOST + 2));
    ck_assert_uint_eq(l.line[1].size, MOST);
    kaeru_lines_close(&l);
    const char *expected = "text: line 5: expected at most 1000000 bytes, found 1000001";
    expect_refused(kaeru_lines_of_text(&l, "text", 4, text, MOST + 3), expected);
    text[MOST + 2] = '\n';
    expect_done(kaeru_lines_of_text(&l, "text", 4, text, MOST + 5));
    ck_assert_uint_eq(l.line[1].size, MOST);
    kaeru_lines_close(&l);
    text[MOST + 2] = '\r', text[MOST + 3] = '\n';
    expect_done(kaeru_lines_of_text(&l, "text", 4, text, MOST + 4));
    ck_assert_uint_eq(l.line[1].size, MOST);
    kaeru_lines_close(&l);
    text[MOST + 2] = 'x', text[MOST + 3] = '\n';
    expect_refused(kaeru_lines_of_text(&l, "text", 4, text, MOST + 5), expected);
    ag_free(text);
}
END_TEST

/* Some lower-case letters have more bytes than the upper-case ones, some have fewer. */
START_TEST(upper_case_becomes_lower_case)
{
    KaeruLines l = lines_from("Grüße AUS KÖLN\n\u1e9e \u0130\u023a\u2126\n\U00010400 Ж\u0391\n日本\nAxB");
    l.line[4].text = "A\xc3""B";                           /* what a model wrote may be no UTF-8 */
    kaeru_lines_lower(&l);
    check_line(&l, 4, "a\xc3""b");
    check_line(&l, 0, "grüße aus köln");
    check_line(&l, 1, "\u00df \u0130\u2c65\u03c9");
    check_line(&l, 2, "\U00010428 ж\u03b1");
    check_line(&l, 3, "日本");
    kaeru_lines_close(&l);
}
END_TEST

/* ---- vocabularies ------------------------------------------------------------------------------------------------ */

static KaeruVocab *words_of(const KaeruLines *l, int64_t min_count)
{
    size_t n;
    char *text = kaeru_lines_join(l, 1, &n);
    KaeruVocab *v = kaeru_vocab_words(text, n, min_count);
    ag_free(text);
    return v;
}

static KaeruVocab *pairs_of(const KaeruLines *l, int32_t size)
{
    size_t n;
    char *text = kaeru_lines_join(l, 1, &n);
    KaeruVocab *v = kaeru_vocab_bpe(KAERU_SENTENCE_BPE, text, n, size);
    ag_free(text);
    return v;
}

static KaeruVocab *opened(KaeruVocabKind kind, const char *vocab, const char *merges)
{
    KaeruVocab *v = kaeru_vocab_open(kind, in_folder(vocab), merges ? in_folder(merges) : NULL);
    ck_assert_msg(v != NULL, "%s", ag_error());
    ck_assert_int_eq(kaeru_vocab_kind(v), kind);
    return v;
}

static void check_round_trip(const KaeruVocab *v, const char *text, const char *expected)
{
    size_t count, n;
    int32_t *ids = kaeru_sentence_encode(v, text, strlen(text), &count);
    ck_assert_uint_ge(count, 2);
    ck_assert_int_eq(ids[0], KAERU_START);
    ck_assert_int_eq(ids[count - 1], KAERU_END);
    for (size_t i = 0; i < count; i++) ck_assert(ids[i] >= 0 && ids[i] < kaeru_vocab_size(v));
    char *back = kaeru_sentence_decode(v, ids, count, &n);
    ck_assert_str_eq(back, expected);
    ck_assert_uint_eq(n, strlen(expected));
    ag_free(back);
    ag_free(ids);
}

START_TEST(sentences_of_words)
{
    KaeruLines l = lines_from("a cat sat\na dog sat\nthe cat");
    KaeruVocab *v = words_of(&l, 2);
    ck_assert_int_eq(kaeru_vocab_size(v), 4 + 3);         /* a, cat, sat */
    check_round_trip(v, "a cat sat", "a cat sat");
    check_round_trip(v, "  a   dog ", "a <unk>");
    check_round_trip(v, "", "");
    expect_done(kaeru_vocab_save(v, in_folder("v.json"), in_folder("unused")));
    ag_free(v);
    ck_assert_int_eq(folder_count(), 1);
    v = opened(KAERU_WORDS, "v.json", "unused");
    check_round_trip(v, "sat cat a", "sat cat a");
    ck_assert_str_eq(kaeru_vocab_token(v, KAERU_END, NULL), "</s>");
    size_t n;
    EXPECT_USAGE_ERROR("kaeru_sentence_decode: id 7 of a vocabulary of 7",
                       kaeru_sentence_decode(v, &(int32_t){ 7 }, 1, &n));
    ag_free(v);
    kaeru_lines_close(&l);
}
END_TEST

static void check_unknown(const KaeruVocab *v, const char *text, const char *expected)
{
    char *words = kaeru_vocab_unknown(v, text, strlen(text));
    ck_assert_pstr_eq(words, expected);
    ag_free(words);
}

START_TEST(unknown_words_are_named)
{
    KaeruLines l = lines_from("a cat sat");
    KaeruVocab *v = words_of(&l, 1), *pairs = pairs_of(&l, 300);
    check_unknown(v, "", NULL);
    check_unknown(v, "a cat <unk> sat </s>", NULL);
    check_unknown(v, "a dog", "\"dog\"");
    check_unknown(v, " Cat 犬  a\tdog \x1b[1m Cat dog\n", "\"Cat\", \"犬\", \"dog\", \"\\x1B[1m\"");
    check_unknown(pairs, "a dog", NULL);
    ag_free(pairs);
    ag_free(v);
    kaeru_lines_close(&l);
}
END_TEST

/* A NUL can be part of a word, but a decoded line has none. */
START_TEST(words_can_contain_nul)
{
    static const char text[] = "a c\0t sat";
    KaeruLines l;
    expect_done(kaeru_lines_of_text(&l, "text", 1, text, sizeof text - 1));
    KaeruVocab *made = words_of(&l, 1);
    expect_done(kaeru_vocab_save(made, in_folder("nul.json"), NULL));
    KaeruVocab *v = opened(KAERU_WORDS, "nul.json", NULL);
    size_t count, n;
    int32_t *ids = kaeru_sentence_encode(v, text, sizeof text - 1, &count);
    char *back = kaeru_sentence_decode(v, ids, count, &n);
    ck_assert_uint_eq(count, 5);
    ck_assert_str_eq(back, "a c t sat");
    ck_assert_mem_eq(kaeru_vocab_token(v, ids[2], &n), "c\0t", 4);
    ck_assert_uint_eq(n, 3);
    ag_free(back);
    ag_free(ids);
    ag_free(v);
    ag_free(made);
    kaeru_lines_close(&l);
}
END_TEST

/* The special tokens of a sentence are not in the files, so these are also those of KAERU_BPE. */
START_TEST(byte_pairs_follow_special_tokens)
{
    KaeruLines l = lines_from("<s> the cat");
    KaeruVocab *v = pairs_of(&l, 300);
    expect_done(kaeru_vocab_save(v, in_folder("v.json"), in_folder("m.txt")));
    KaeruVocab *bpe = opened(KAERU_BPE, "v.json", "m.txt");
    ck_assert(kaeru_vocab_fingerprint(v) == kaeru_vocab_fingerprint(bpe));
    ck_assert_int_eq(kaeru_vocab_size(v), kaeru_vocab_size(bpe) + 4);
    ck_assert_int_eq(kaeru_vocab_find(v, "a", 1), kaeru_vocab_find(bpe, "a", 1) + 4);
    ck_assert_int_eq(kaeru_vocab_find(v, "犬", strlen("犬")), KAERU_UNKNOWN);
    ck_assert_int_eq(kaeru_vocab_find(bpe, "犬", strlen("犬")), -1);
    ck_assert_int_eq(kaeru_vocab_find(v, "</s>", 4), KAERU_END);
    ck_assert_int_eq(kaeru_vocab_find(v, "</s", 3), KAERU_UNKNOWN);
    for (int32_t id = 0; id < 4; id++) {
        ck_assert_int_eq(kaeru_vocab_special(v, (KaeruSpecial)id), id);
        ck_assert_int_eq(kaeru_vocab_special(bpe, (KaeruSpecial)id), id == KAERU_END ? kaeru_vocab_size(bpe) - 1 : -1);
    }
    ck_assert_str_eq(kaeru_vocab_token(v, KAERU_BLANK, NULL), "<blank>");
    size_t count, n;
    int32_t *ids = kaeru_sentence_encode(v, "<s> cat", 7, &count);
    for (size_t i = 1; i + 1 < count; i++) ck_assert_int_ge(ids[i], 4);
    ids[1] = KAERU_UNKNOWN;
    char *all = kaeru_vocab_decode(v, ids, count, &n), *sentence = kaeru_sentence_decode(v, ids, count, &n);
    ck_assert(strncmp(all, "<s> <unk>", 9) == 0 && strcmp(all + strlen(all) - 4, "</s>") == 0);
    ck_assert(strncmp(sentence, "<unk>", 5) == 0 && strstr(sentence, "</s>") == NULL);
    ag_free(sentence);
    ag_free(all);
    ag_free(ids);
    ag_free(bpe);
    ag_free(v);
    kaeru_lines_close(&l);
}
END_TEST

START_TEST(sentences_of_byte_pairs)
{
    KaeruLines l = lines_from("the cat sat on the mat\nthe dog sat on the cat\nthe the the\n");
    KaeruVocab *v = pairs_of(&l, 300);
    ck_assert_int_le(kaeru_vocab_size(v), 300);
    check_round_trip(v, "the cat", "the cat");
    check_round_trip(v, "Zoë, 犬!  two", "Zoë, 犬!  two");
    check_round_trip(v, "", "");
    /* The first word is the same token as elsewhere. */
    size_t count;
    int32_t *ids = kaeru_sentence_encode(v, "the the", 7, &count);
    ck_assert_uint_eq(count, 4);
    ck_assert_int_eq(ids[1], ids[2]);
    /* Ids after KAERU_END are ignored, and the text is one line. */
    int32_t some[] = { KAERU_START, ids[1], KAERU_BLANK, 4 + '\r', 4 + '\n', KAERU_END, ids[1] };
    ag_free(ids);
    ids = kaeru_sentence_encode(v, "\r\n", 2, &count);
    some[3] = ids[count - 3];
    some[4] = ids[count - 2];
    ag_free(ids);
    size_t n;
    char *text = kaeru_sentence_decode(v, some, 7, &n);
    ck_assert_str_eq(text, "the  ");
    ag_free(text);
    expect_done(kaeru_vocab_save(v, in_folder("v.json"), in_folder("m.txt")));
    ag_free(v);
    v = opened(KAERU_SENTENCE_BPE, "v.json", "m.txt");
    check_round_trip(v, "on the mat", "on the mat");
    ag_free(v);
    expect_refused(kaeru_vocab_open(KAERU_SENTENCE_BPE, in_folder("none"), in_folder("m.txt")) != NULL,
                   "none: cannot be opened");
    expect_refused(kaeru_vocab_open(KAERU_WORDS, in_folder("none"), NULL) != NULL, "none: cannot be opened");
    expect_refused(pairs_of(&l, 260) != NULL, "expected a vocabulary of at least 261 tokens");
    kaeru_lines_close(&l);
}
END_TEST

/* ---- pairs ------------------------------------------------------------------------------------------------------- */

enum { PAIRS = 120 };

/* Line i has i % 7 + 1 words on one side and i % 5 + 1 on the other, the first of them "w<i>". */
static void some_lines(KaeruLines *src, KaeruLines *tgt)
{
    char a[PAIRS * 60] = "", b[PAIRS * 60] = "";
    for (int i = 0; i < PAIRS; i++) {
        sprintf(a + strlen(a), "w%d", i);
        sprintf(b + strlen(b), "w%d", i);
        for (int j = 0; j < i % 7; j++) strcat(a, " x");
        for (int j = 0; j < i % 5; j++) strcat(b, " y");
        strcat(a, "\n");
        strcat(b, "\n");
    }
    *src = lines_from(a);
    *tgt = lines_from(b);
}

/* Checks an epoch: each pair is in one batch, and no batch is too large. Returns a number that depends on the order. */
static uint64_t check_epoch(SentencePairs *pairs, const KaeruVocab *sv, const KaeruVocab *tv,
                            int64_t batch_tokens)
{
    bool seen[PAIRS] = { false };
    int64_t batches = 0, found = 0;
    uint64_t order = 0;
    for (;; batches++) {
        AgScope scope = ag_begin(AG_NO_GRAD);
        TransformerBatch b;
        bool more = sentence_pairs_next(pairs, &b);
        for (int64_t i = 0; more && i < tensor_dim(b.src, 0); i++, found++) {
            const int32_t *s = tensor_int_data(b.src) + i * tensor_dim(b.src, 1);
            const int32_t *t = tensor_int_data(b.tgt) + i * tensor_dim(b.tgt, 1);
            int number;
            ck_assert_int_eq(s[0], KAERU_START);
            ck_assert_int_eq(t[0], KAERU_START);
            ck_assert_str_eq(kaeru_vocab_token(sv, s[1], NULL), kaeru_vocab_token(tv, t[1], NULL));
            ck_assert_int_eq(sscanf(kaeru_vocab_token(sv, s[1], NULL), "w%d", &number), 1);
            ck_assert(!seen[number]);
            seen[number] = true;
            order = order * 31 + (uint64_t)number;
            int64_t length = 0;
            while (length < tensor_dim(b.src, 1) && s[length] != KAERU_BLANK) length++;
            ck_assert_int_eq(length, number % 7 + 3);
        }
        if (more) {
            int64_t rows = tensor_dim(b.src, 0), longer = tensor_dim(b.src, 1);
            if (tensor_dim(b.tgt, 1) + 1 > longer) longer = tensor_dim(b.tgt, 1) + 1;
            ck_assert(rows == 1 || rows * longer <= batch_tokens);
        }
        ag_end(scope);
        if (!more) break;
    }
    ck_assert_int_eq(found, PAIRS);
    ck_assert_int_eq(batches, sentence_pairs_batches(pairs));
    return order;
}

START_TEST(every_pair_is_in_one_batch)
{
    KaeruLines src, tgt;
    some_lines(&src, &tgt);
    KaeruVocab *sv = words_of(&src, 1), *tv = words_of(&tgt, 1);
    SentencePairs *pairs = sentence_pairs_new(&src, sv, &tgt, tv, 0);
    ck_assert_int_eq(sentence_pairs_count(pairs), PAIRS);
    ck_assert_int_eq(sentence_pairs_left_out(pairs), 0);
    static const int64_t sizes[] = { 1, 20, 64, 1000, 100000 };
    for (int i = 0; i < 5; i++) {
        ag_seed(3);
        sentence_pairs_shuffle(pairs, sizes[i]);
        uint64_t first = check_epoch(pairs, sv, tv, sizes[i]);
        sentence_pairs_shuffle(pairs, sizes[i]);
        uint64_t second = check_epoch(pairs, sv, tv, sizes[i]);
        ck_assert(first != second);
        AgRandom before = ag_random_state();
        sentence_pairs_sort(pairs, sizes[i]);
        AgRandom after = ag_random_state();
        ck_assert(before.counter == after.counter);
        check_epoch(pairs, sv, tv, sizes[i]);
    }
    ck_assert_int_eq(sentence_pairs_batches(pairs), 1);
    /* An epoch depends on the random state, not on earlier epochs. */
    ag_seed(7);
    sentence_pairs_shuffle(pairs, 64);
    uint64_t once = check_epoch(pairs, sv, tv, 64);
    ag_seed(7);
    sentence_pairs_shuffle(pairs, 64);
    ck_assert(once == check_epoch(pairs, sv, tv, 64));
    TransformerBatch none;
    ck_assert(!sentence_pairs_next(pairs, &none));          /* after the last one's end */
    ag_free(pairs);
    ag_free(NULL);
    ag_free(sv);
    ag_free(tv);
    kaeru_lines_close(&src);
    kaeru_lines_close(&tgt);
}
END_TEST

/* Four pairs of 5 tokens on the longer side, with start and end. */
START_TEST(a_batch_may_have_exactly_its_tokens)
{
    KaeruLines src = lines_from("a b c\na b c\na b c\na b c\n"), tgt = lines_from("a\na\na\na\n");
    KaeruVocab *v = words_of(&src, 1);
    SentencePairs *pairs = sentence_pairs_new(&src, v, &tgt, v, 0);
    static const struct { int64_t tokens, batches; } cases[] = { { 20, 1 }, { 19, 2 }, { 15, 2 }, { 10, 2 }, { 9, 4 },
                                                                 { 1, 4 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sentence_pairs_sort(pairs, cases[i].tokens);
        ck_assert_msg(sentence_pairs_batches(pairs) == cases[i].batches, "%d batches of %d tokens",
                      (int)sentence_pairs_batches(pairs), (int)cases[i].tokens);
    }
    ag_free(pairs);
    ag_free(v);
    kaeru_lines_close(&src);
    kaeru_lines_close(&tgt);
}
END_TEST

START_TEST(pairs_that_do_not_fit_are_left_out)
{
    KaeruLines src = lines_from("a b c\n\na\na b c d e\n"), tgt = lines_from("a\na\n\na\n"), fewer = lines_from("a\n");
    KaeruVocab *v = words_of(&src, 1);
    SentencePairs *pairs = sentence_pairs_new(&src, v, &tgt, v, 5);
    ck_assert_int_eq(sentence_pairs_count(pairs), 1);
    ck_assert_int_eq(sentence_pairs_left_out(pairs), 3);
    ag_free(pairs);
    expect_refused(sentence_pairs_new(&src, v, &fewer, v, 5),
                   "4 sentences in one language and 1 in the other, expected the same number");
    expect_refused(sentence_pairs_new(&src, v, &tgt, v, 4),
                   "none of 4 pairs of sentences can be used: each has an empty side or more than 4 tokens");
    KaeruLines blank = lines_from("\n");
    expect_refused(sentence_pairs_new(&blank, v, &blank, v, 0), "none of 1 pairs of sentences can be used");
    ck_assert_ptr_null(strstr(ag_error(), "more than"));
    kaeru_lines_close(&blank);
    KaeruLines none = lines_from("");
    expect_refused(sentence_pairs_new(&none, v, &none, v, 4), "none of 0 pairs of sentences can be used");
    kaeru_lines_close(&none);
    kaeru_lines_close(&src);
    kaeru_lines_close(&tgt);
    kaeru_lines_close(&fewer);
    ag_free(v);
}
END_TEST

/* ---- translating ------------------------------------------------------------------------------------------------- */

static TransformerOptions tiny(void)
{
    TransformerOptions o = transformer_defaults();
    o.N = 1;
    o.d_model = 32;
    o.d_ff = 64;
    o.h = 2;
    o.dropout = 0;
    o.max_len = 10;
    return o;
}

static const char german[] = "ein hund\neine katze schläft\n\nder hund schläft\ndie katze\n";
static const char english[] = "a dog\na cat sleeps\n\nthe dog sleeps\nthe cat\n";

/* A model that has memorized the four sentences. */
static Transformer *learned(const KaeruLines *src, const KaeruVocab *sv, const KaeruLines *tgt,
                            const KaeruVocab *tv)
{
    ag_seed(1);
    Transformer *m = transformer_new(kaeru_vocab_size(sv), kaeru_vocab_size(tv), tiny());
    SentencePairs *pairs = sentence_pairs_new(src, sv, tgt, tv, 0);
    Optimizer *adam = nn_adam_new(m, 0);
    KaeruEpochOptions o = { .criterion = { KAERU_BLANK, 0 }, .optimizer = adam, .factor = 1, .model_size = 32,
                           .warmup = 40 };
    KaeruTrainState state = { 0 };
    double loss = 1;
    for (int i = 0; i < 100 && loss > 0.01; i++) {
        sentence_pairs_shuffle(pairs, 15);
        loss = transformer_run_epoch(m, sentence_pairs_next, pairs, &o, &state);
    }
    ck_assert_double_lt(loss, 0.1);
    ag_free(adam);
    ag_free(pairs);
    return m;
}

static void count_lines(void *arg, int64_t lines)
{
    *(int64_t *)arg = lines;
}

START_TEST(learned_sentences_are_translated)
{
    KaeruLines src = lines_from(german), tgt = lines_from(english), translated;
    KaeruVocab *sv = words_of(&src, 1), *tv = words_of(&tgt, 1);
    Transformer *m = learned(&src, sv, &tgt, tv);
    Translator t = { m, sv, tv };
    for (int beam = 1; beam <= 3; beam++) {
        int64_t done = 0;
        TranslateOptions how = { .beam = beam, .length_penalty = 0.6, .done = count_lines, .arg = &done };
        expect_done(translate_lines(&t, &src, &how, &translated));
        ck_assert_int_eq(done, 4);
        ck_assert_int_eq(translated.n, 5);
        static const char *const expected[] = { "a dog", "a cat sleeps", "", "the dog sleeps", "the cat" };
        for (int i = 0; i < 5; i++) check_line(&translated, i, expected[i]);
        kaeru_lines_close(&translated);
    }
    /* The model stays in its mode. */
    nn_train(m);
    expect_done(translate_lines(&t, &src, &(TranslateOptions){ .beam = 1 }, &translated));
    ck_assert(m->module.training);
    kaeru_lines_close(&translated);
    KaeruLines none = lines_from("");
    expect_done(translate_lines(&t, &none, &(TranslateOptions){ .beam = 1 }, &translated));
    ck_assert_int_eq(translated.n, 0);
    kaeru_lines_close(&translated);
    kaeru_lines_close(&none);
    /* An unknown word; a sentence with as many tokens as the model has positions, and one with more. */
    KaeruLines odd = lines_from("ein pferd\nein ein ein ein ein ein ein ein\nein ein ein ein ein ein ein ein ein");
    expect_refused(translate_lines(&t, &odd, &(TranslateOptions){ .beam = 1 }, &translated),
                   "line 3: 11 tokens with start and end, expected at most 10");
    odd.n = 2;
    expect_done(translate_lines(&t, &odd, &(TranslateOptions){ .beam = 2 }, &translated));
    kaeru_lines_close(&translated);
    kaeru_lines_close(&odd);
    tensor_mutable_data(m->generator->proj->bias)[0] = (ag_real)NAN;
    for (int beam = 1; beam <= 2; beam++)
        expect_refused(translate_lines(&t, &src, &(TranslateOptions){ .beam = beam }, &translated),
                       "the probabilities of the next token are NaN");
    ag_free(m);
    ag_free(sv);
    ag_free(tv);
    kaeru_lines_close(&src);
    kaeru_lines_close(&tgt);
}
END_TEST

/* The next word is always "a" with a probability of 0.5, or the end with 0.4. */
START_TEST(lengths_of_translations)
{
    KaeruVocab *v = kaeru_vocab_words("a b", 3, 1);
    TransformerOptions o = tiny();
    o.max_len = 100;
    Transformer *m = transformer_new(kaeru_vocab_size(v), kaeru_vocab_size(v), o);
    ag_fill(m->generator->proj->weight, 0);
    ag_fill(m->generator->proj->bias, -20);
    tensor_mutable_data(m->generator->proj->bias)[kaeru_vocab_find(v, "a", 1)] = (ag_real)log(0.5);
    tensor_mutable_data(m->generator->proj->bias)[KAERU_END] = (ag_real)log(0.4);
    KaeruLines src = lines_from("b\nb b b\n"), out;
    Translator t = { m, v, v };
    /* The longest sentence of a batch has 5 tokens. So a translation has at most 2 * 5 + 10 tokens: the start and 19 words. */
    expect_done(translate_lines(&t, &src, &(TranslateOptions){ .beam = 1 }, &out));
    ck_assert_uint_eq(out.line[1].size, 2 * 19 - 1);
    kaeru_lines_close(&out);
    for (int i = 0; i < 2; i++) {                           /* a high penalty makes a longer translation the best one */
        TranslateOptions how = { .beam = 2, .length_penalty = 10 * i };
        expect_done(translate_lines(&t, &src, &how, &out));
        check_line(&out, 0, i ? "a" : "");
        kaeru_lines_close(&out);
    }
    kaeru_lines_close(&src);
    ag_free(m);
    ag_free(v);
}
END_TEST

START_TEST(greedy_decoding_ends)
{
    AgScope scope = ag_begin(AG_NO_GRAD);
    KaeruLines src = lines_from(german), tgt = lines_from(english);
    KaeruVocab *sv = words_of(&src, 1), *tv = words_of(&tgt, 1);
    Transformer *m = learned(&src, sv, &tgt, tv);
    SentencePairs *pairs = sentence_pairs_new(&src, sv, &tgt, tv, 0);
    sentence_pairs_sort(pairs, 1000);
    TransformerBatch b;
    ck_assert(sentence_pairs_next(pairs, &b));
    const int32_t *whole = tensor_int_data(transformer_greedy_decode(m, b.src, b.src_mask, 10, KAERU_START, -1));
    const int32_t *until =
        tensor_int_data(transformer_greedy_decode(m, b.src, b.src_mask, 10, KAERU_START, KAERU_END));
    for (int64_t i = 0; i < 4; i++) {
        bool over = false;
        for (int64_t j = 0; j < 10; j++) {
            ck_assert_int_eq(until[i * 10 + j], over ? KAERU_END : whole[i * 10 + j]);
            over = over || whole[i * 10 + j] == KAERU_END;
        }
        ck_assert(over);
    }
    ag_free(pairs);
    ag_free(m);
    ag_free(sv);
    ag_free(tv);
    kaeru_lines_close(&src);
    kaeru_lines_close(&tgt);
    ag_end(scope);
}
END_TEST

/* ---- BLEU -------------------------------------------------------------------------------------------------------- */

static double score_of(const Json *pairs, bool lower_case)
{
    Bleu b = { .length = 0 };
    for (uint32_t i = 0; i < pairs->count; i++) {
        KaeruLine line[2];
        for (int k = 0; k < 2; k++) {
            const Json *text = &pairs->as.item[i].as.item[k];
            line[k] = (KaeruLine){ text->as.text, text->count };
        }
        KaeruLines both = { .n = 2, .line = line, .owner = ag_alloc(1, 1) };
        if (lower_case) kaeru_lines_lower(&both);
        bleu_add(&b, line[0], line[1]);
        ag_free(both.owner);
    }
    return bleu_score(&b);
}

START_TEST(bleu_equals_sacrebleu)
{
    void *owner = ag_alloc(1, 1);
    const Json *cases = json_read(owner, TEST_FIXTURES "/bleu.json", 1 << 24);
    ck_assert_msg(cases != NULL, "%s", ag_error());
    ck_assert_uint_ge(cases->count, 20);
    for (uint32_t i = 0; i < cases->count; i++) {
        const Json *c = &cases->as.item[i];
        double plain, lower;
        ck_assert(json_real(json_get(c, "bleu"), &plain) && json_real(json_get(c, "lower"), &lower));
        ck_assert_msg(fabs(score_of(json_get(c, "pairs"), false) - plain) < 1e-9, "case %u: %.12g, expected %.12g", i,
                      score_of(json_get(c, "pairs"), false), plain);
        ck_assert_msg(fabs(score_of(json_get(c, "pairs"), true) - lower) < 1e-9,
                      "case %u, lower: %.12g, expected %.12g", i, score_of(json_get(c, "pairs"), true), lower);
    }
    ag_free(owner);
    ck_assert_double_eq(bleu_score(&(Bleu){ .length = 0 }), 0);
}
END_TEST

/* ---- models in files --------------------------------------------------------------------------------------------- */

START_TEST(models_load_with_their_sizes)
{
    TransformerOptions o = tiny();
    o.norm_place = _i & 1 ? NN_POST_NORM : NN_PRE_NORM;
    o.norm = _i & 1 ? AG_NORM_PYTORCH : AG_NORM_ANNOTATED;
    o.activation = _i & 2 ? AG_GELU : AG_RELU;
    o.learned_positions = _i & 2;
    o.share_embeddings = _i & 4;
    ag_seed(5);
    Transformer *m = transformer_new(9, o.share_embeddings ? 9 : 7, o), *back;
    NnSettings *s = nn_settings_new();
    transformer_to_settings(9, o.share_embeddings ? 9 : 7, &o, s);
    expect_done(nn_checkpoint_save(in_folder("m"), m, NULL, s));
    back = transformer_load(in_folder("m"));
    ck_assert_msg(back != NULL, "%s", ag_error());
    AgScope scope = ag_begin(AG_NO_GRAD);
    Tensor *src = tensor_ints(SHAPE(1, 3), (int32_t[]){ 3, 4, 5 }), *mask = nn_padding_mask(src, 2);
    nn_eval(m);
    nn_eval(back);
    Tensor *a = transformer_generator(m->generator, transformer_forward(m, src, src, mask, nn_causal_mask(3)));
    Tensor *b =
        transformer_generator(back->generator, transformer_forward(back, src, src, mask, nn_causal_mask(3)));
    ck_assert(memcmp(tensor_data(a), tensor_data(b), (size_t)tensor_numel(a) * sizeof(ag_real)) == 0);
    ag_end(scope);
    ag_free(back);
    ag_free(m);
    ag_free(s);
}
END_TEST

static void save_with(const char *key, const char *value)
{
    TransformerOptions o = tiny();
    Transformer *m = transformer_new(9, 7, o);
    NnSettings *s = nn_settings_new();
    transformer_to_settings(9, 7, &o, s);
    nn_settings_set(s, key, "%s", value);
    expect_done(nn_checkpoint_save(in_folder("m"), m, NULL, s));
    ag_free(s);
    ag_free(m);
}

START_TEST(wrong_settings_are_refused)
{
    static const char *const bad[][3] = {
        { "transformer.N", "0", "transformer.N is 0, expected a whole number from 1 to 100000" },
        { "transformer.N", "100000", "or more for a model of these sizes" },
        { "transformer.max_len", "1073741824", "or more for a model of these sizes" },
        { "transformer.src_vocab", "2147483647", "or more for a model of these sizes" },
        { "transformer.tgt_vocab", "2147483647", "or more for a model of these sizes" },
        { "transformer.h", "3", "a d_model of 32 does not divide into 3 heads" },
        { "transformer.dropout", "1", "transformer.dropout is 1, expected a number from 0 to below 1" },
        { "transformer.activation", "7", "transformer.activation is 7, expected a whole number from 0 to 6" },
        { "transformer.share_embeddings", "1", "shared embeddings for vocabularies of 9 and 7 words, expected one" },
        { "transformer.d_ff", "many", "transformer.d_ff" },
        { "transformer.d_ff", "60", "w_1.weight" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        save_with(bad[i][0], bad[i][1]);
        expect_refused(transformer_load(in_folder("m")), bad[i][2]);
    }
    expect_refused(transformer_load(in_folder("none")), "none: cannot be opened");
}
END_TEST

static bool one_empty_batch(void *left, TransformerBatch *b)
{
    int32_t src[] = { 0, 3, 1 }, tgt[] = { 0, 2, 2 };
    if ((*(int *)left)-- == 0) return false;
    *b = transformer_batch_new(tensor_ints(SHAPE(1, 3), src), tensor_ints(SHAPE(1, 3), tgt), 2);
    return true;
}

static void note_loss(void *arg, const KaeruTrainState *state, double loss, double lr)
{
    (void)state, (void)lr;
    *(double *)arg = loss;
}

START_TEST(a_batch_of_padding_has_the_loss_0)
{
    TransformerOptions o = transformer_defaults();
    o.N = 1, o.d_model = 4, o.d_ff = 4, o.h = 1, o.max_len = 4;
    Transformer *m = transformer_new(5, 5, o);
    double loss = 7;
    int left = 1;
    KaeruTrainState state = { 0 };
    KaeruEpochOptions e = { .criterion = { 2, 0.1 }, .done = note_loss, .done_arg = &loss };
    ck_assert(transformer_run_epoch(m, one_empty_batch, &left, &e, &state) == 0 && loss == 0);
    ag_free(m);
}
END_TEST

Suite *translation_suite(void)
{
    Suite *s = suite_create("translation");
    TCase *sentences = tcase_create("sentences");
    tcase_add_checked_fixture(sentences, folder_make, folder_remove);
    tcase_add_test(sentences, texts_are_split_into_lines);
    tcase_add_test(sentences, a_longer_line_is_no_sentence);
    tcase_add_test(sentences, upper_case_becomes_lower_case);
    tcase_add_test(sentences, sentences_of_words);
    tcase_add_test(sentences, unknown_words_are_named);
    tcase_add_test(sentences, words_can_contain_nul);
    tcase_add_test(sentences, byte_pairs_follow_special_tokens);
    tcase_add_test(sentences, sentences_of_byte_pairs);
    tcase_add_test(sentences, every_pair_is_in_one_batch);
    tcase_add_test(sentences, a_batch_may_have_exactly_its_tokens);
    tcase_add_test(sentences, pairs_that_do_not_fit_are_left_out);
    suite_add_tcase(s, sentences);
    TCase *translating = tcase_create("translating");
    tcase_add_checked_fixture(translating, folder_make, folder_remove);
    tcase_add_test(translating, learned_sentences_are_translated);
    tcase_add_test(translating, lengths_of_translations);
    tcase_add_test(translating, greedy_decoding_ends);
    tcase_add_test(translating, bleu_equals_sacrebleu);
    tcase_add_loop_test(translating, models_load_with_their_sizes, 0, 8);
    tcase_add_test(translating, wrong_settings_are_refused);
    tcase_add_test(translating, a_batch_of_padding_has_the_loss_0);
    suite_add_tcase(s, translating);
    return s;
}
