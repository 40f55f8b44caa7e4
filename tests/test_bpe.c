/* test_bpe.c: byte-pair encoding gives the same ids as the library `tokenizers`, learns the same merges, keeps all bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpe_parts.h"
#include "faults.h"
#include "file.h"
#include "folder.h"
#include "io_faults.h"
#include "json.h"
#include "kaeru/text.h"
#include "suites.h"
#include "unicode.h"

#define FIXTURES TEST_FIXTURES "/bpe/"

static KaeruVocab *open_good(const char *vocab, const char *merges)
{
    KaeruVocab *bpe = kaeru_vocab_open(KAERU_BPE, vocab, merges);
    ck_assert_msg(bpe != NULL, "%s", ag_error());
    return bpe;
}

static KaeruVocab *open_fixture(void)
{
    return open_good(FIXTURES "vocab.json", FIXTURES "merges.txt");
}

static char *read_good(void *owner, const char *path, size_t *n)
{
    char *text = file_read(owner, path, 1 << 24, n);
    ck_assert_msg(text != NULL, "%s", ag_error());
    return text;
}

static const Json *read_json(void *owner, const char *path)
{
    const Json *value = json_read(owner, path, 1 << 24);
    ck_assert_msg(value != NULL, "%s", ag_error());
    return value;
}

/* Decoding the ids must give the bytes. */
static void check_decode(const KaeruVocab *bpe, const int32_t *ids, size_t count, const char *text, size_t n)
{
    size_t size;
    char *back = kaeru_vocab_decode(bpe, ids, count, &size);
    ck_assert_msg(back != NULL, "%s", ag_error());
    ck_assert_uint_eq(size, n);
    ck_assert(memcmp(back, text, n) == 0 && back[n] == '\0');
    ag_free(back);
}

/* Encoding, then decoding must give the same bytes. */
static void check_round_trip(KaeruVocab *bpe, const char *text, size_t n)
{
    size_t count;
    for (int mode = KAERU_AS_TEXT; mode <= KAERU_WITH_SPECIAL; mode++) {
        int32_t *ids = kaeru_vocab_encode(bpe, text, n, (KaeruEncoding)mode, &count);
        check_decode(bpe, ids, count, text, n);
        ag_free(ids);
    }
}

/* ---- the same as `tokenizers` ------------------------------------------------------------------------------------ */

static void check_ids(KaeruVocab *bpe, const Json *text, const Json *ids, KaeruEncoding mode)
{
    size_t count;
    int32_t *found = kaeru_vocab_encode(bpe, text->as.text, text->count, mode, &count);
    for (size_t i = 0; i < count && i < ids->count; i++)
        ck_assert_msg(found[i] == ids->as.item[i].as.integer, "\"%.60s\": id %zu is %d, not %d", text->as.text, i,
                      (int)found[i], (int)ids->as.item[i].as.integer);
    ck_assert_uint_eq(count, ids->count);
    check_decode(bpe, found, count, text->as.text, text->count);
    ag_free(found);
}

START_TEST(ids_equal_those_of_tokenizers)
{
    void *owner = ag_alloc(1, 1);
    const Json *cases = read_json(owner, FIXTURES "cases.json");
    ck_assert_uint_gt(cases->count, 150);
    KaeruVocab *bpe = open_fixture();
    for (int pass = 0; pass < 2; pass++) {                          /* the second time from the cache */
        for (uint32_t i = 0; i < cases->count; i++) {
            const Json *text = json_get(&cases->as.item[i], "text"), *ids = json_get(&cases->as.item[i], "ids");
            const Json *special = json_get(&cases->as.item[i], "special");
            check_ids(bpe, text, ids, KAERU_AS_TEXT);
            check_ids(bpe, text, special ? special : ids, KAERU_WITH_SPECIAL);
        }
    }
    ag_free(bpe);
    ag_free(owner);
}
END_TEST

START_TEST(character_classes_equal_those_of_tokenizers)
{
    static const UnicodeClass meaning[] = { UNICODE_OTHER, UNICODE_LETTER, UNICODE_NUMBER, UNICODE_SPACE };
    void *owner = ag_alloc(1, 1);
    const Json *classes = read_json(owner, FIXTURES "classes.json");
    ck_assert_uint_gt(classes->count, 1000);
    uint32_t i = 0;
    for (uint32_t code = 0; code < 0x110000; code++) {
        if (code >= 0xd800 && code < 0xe000) continue;              /* surrogates are not characters */
        while (i + 1 < classes->count && classes->as.item[i + 1].as.item[0].as.integer <= code) i++;
        UnicodeClass expected = meaning[classes->as.item[i].as.item[1].as.integer];
        ck_assert_msg(unicode_class(code) == expected, "U+%04X is of class %d, not %d", (unsigned)code,
                      (int)unicode_class(code), (int)expected);
    }
    ck_assert_int_eq(unicode_class(0x110000), UNICODE_OTHER);
    ck_assert_int_eq(unicode_class(UINT32_MAX), UNICODE_OTHER);
    ag_free(owner);
}
END_TEST

START_TEST(learned_merges_equal_those_of_tokenizers)
{
    void *owner = ag_alloc(1, 1);
    size_t n, size, expected_size;
    const char *text = read_good(owner, FIXTURES "text.txt", &n);
    KaeruVocab *bpe = kaeru_vocab_bpe(KAERU_BPE, text, n, 1000);
    ck_assert_msg(bpe != NULL, "%s", ag_error());
    ck_assert_int_eq(kaeru_vocab_special(bpe, KAERU_END), kaeru_vocab_size(bpe) - 1);
    expect_done(kaeru_vocab_save(bpe, in_folder("v"), in_folder("m")));
    const char *merges = read_good(owner, in_folder("m"), &size);
    ck_assert_str_eq(merges, read_good(owner, FIXTURES "merges.txt", &expected_size));
    const char *vocab = read_good(owner, in_folder("v"), &size);
    ck_assert_str_eq(vocab, read_good(owner, FIXTURES "vocab.json", &expected_size));
    char *merges_text, *vocab_text = kaeru_vocab_to_text(bpe, &merges_text);
    ck_assert_str_eq(vocab_text, vocab);
    ck_assert_str_eq(merges_text, merges);
    KaeruVocab *again = kaeru_vocab_of_text(KAERU_BPE, "the texts", vocab_text, merges_text);
    ck_assert_msg(again != NULL, "%s", ag_error());
    ck_assert_uint_eq(kaeru_vocab_fingerprint(again), kaeru_vocab_fingerprint(bpe));
    int32_t *ids[] = { kaeru_vocab_encode(bpe, text, n, KAERU_AS_TEXT, &size),
                       kaeru_vocab_encode(again, text, n, KAERU_AS_TEXT, &expected_size) };
    ck_assert_uint_eq(size, expected_size);
    ck_assert_mem_eq(ids[0], ids[1], size * sizeof *ids[0]);
    ag_free(ids[0]);
    ag_free(ids[1]);
    ag_free(again);
    ag_free(bpe);
    ag_free(vocab_text);
    ag_free(merges_text);
    ag_free(owner);
}
END_TEST

/* ---- words ------------------------------------------------------------------------------------------------------- */

/* The words of the text, with bars between them. */
static void check_words(const char *text, size_t n, const char *expected)
{
    char found[200], *p = found;
    for (size_t at = 0, length; at < n; at += length) {
        length = bpe_word(text + at, n - at);
        ck_assert_uint_gt(length, 0);
        ck_assert_uint_le(length, n - at);
        if (at) *p++ = '|';
        memcpy(p, text + at, length);
        p += length;
    }
    *p = '\0';
    ck_assert_str_eq(found, expected);
}

START_TEST(text_is_split_into_words)
{
    static const char *const cases[][2] = {
        { "Hello world's end", "Hello| world|'s| end" }, { "a  b   c", "a| | b|  | c" }, { "x \n y", "x| \n| y" },
        { "x\n\ny", "x|\n|\n|y" }, { "end  ", "end|  " }, { " ", " " }, { "'ll'LL ' 's", "'ll|'|LL| '| '|s" },
        { "3rd 12 +1", "3|rd| 12| +|1" }, { "(a)->b[0]!", "(|a|)->|b|[|0|]!" },
        { "\u3000\u3000\u4e2d", "\u3000|\u3000|\u4e2d" },
        { "\u00e9e\u0301\u0661a", "\u00e9e|\u0301|\u0661|a" }, { "we'reve", "we|'re|ve" }, { "''''re", "''''|re" },
        { "a\xff\xfe" "b", "a|\xff\xfe|b" }, { " \xff \xc3", " \xff| \xc3" }, { "\xe4\xb8 a", "\xe4\xb8| a" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_words(cases[i][0], strlen(cases[i][0]), cases[i][1]);
}
END_TEST

/* The definition: while a pair has a merge, apply the merge of lowest rank, at its first position. */
static size_t merge_by_the_rule(const Json *ranks, int32_t *ids, size_t n)
{
    for (;;) {
        int64_t best = INT64_MAX;
        size_t place = 0;
        for (size_t i = 0; i + 1 < n; i++) {
            char key[32];
            int64_t rank;
            snprintf(key, sizeof key, "%d %d", (int)ids[i], (int)ids[i + 1]);
            if (!json_int(json_get(ranks, key), &rank) || rank / 10000 >= best / 10000) continue;
            best = rank;
            place = i;
        }
        if (best == INT64_MAX) return n;
        ids[place] = (int32_t)(best % 10000);
        memmove(ids + place + 1, ids + place + 2, (n - place - 2) * sizeof *ids);
        n--;
    }
}

START_TEST(long_words_are_merged_by_the_rule)
{
    /* merges of ranks 0, 1, ... of pairs of the first letters; each result has the next id: rank * 10000 + id */
    char text[400];
    size_t n = 0, count;
    ag_seed(3);
    for (int i = 0; i < 300; i++) text[n++] = "abc"[ag_random_below(3)];
    KaeruVocab *bpe = kaeru_vocab_bpe(KAERU_BPE, text, n, 300);
    ck_assert_ptr_nonnull(bpe);
    void *owner = ag_alloc(1, 1);
    expect_done(kaeru_vocab_save(bpe, in_folder("v"), in_folder("m")));
    const Json *vocab = read_json(owner, in_folder("v"));
    size_t size;
    char *merges = read_good(owner, in_folder("m"), &size);
    JsonWriter *w = json_writer(owner, 0);
    json_open(w, NULL, '{');
    int64_t rank = 0;
    for (char *line = strchr(merges, '\n') + 1; *line; rank++) {
        char *space = strchr(line, ' '), *end = strchr(line, '\n'), whole[400];
        *space = *end = '\0';
        snprintf(whole, sizeof whole, "%s%s", line, space + 1);
        int64_t left = 0, right = 0, made = 0;
        ck_assert(json_int(json_get(vocab, line), &left) && json_int(json_get(vocab, space + 1), &right));
        ck_assert(json_int(json_get(vocab, whole), &made));
        char key[48];
        int length = snprintf(key, sizeof key, "%d %d", (int)left, (int)right);
        json_write_name(w, key, (size_t)length);
        json_put_int(w, NULL, rank * 10000 + made);
        line = end + 1;
    }
    json_close(w, '}');
    const char *table = json_written(w, &size);
    const Json *ranks = json_parse(owner, "ranks", table, size);
    ck_assert_msg(ranks && ranks->count > 20, "%s", ag_error());
    for (int trial = 0; trial < 200; trial++) {
        int32_t expected[400];
        n = 1 + (size_t)ag_random_below(200);
        for (size_t i = 0; i < n; i++) {
            int64_t id = 0;
            text[i] = "abc"[ag_random_below(3)];
            char letter[2] = { text[i], '\0' };
            ck_assert(json_int(json_get(vocab, letter), &id));
            expected[i] = (int32_t)id;
        }
        size_t n_expected = merge_by_the_rule(ranks, expected, n);
        int32_t *ids = kaeru_vocab_encode(bpe, text, n, KAERU_AS_TEXT, &count);
        ck_assert_uint_eq(count, n_expected);
        ck_assert(memcmp(ids, expected, count * sizeof *ids) == 0);
        ag_free(ids);
    }
    ag_free(owner);
    ag_free(bpe);
}
END_TEST

/* ---- any bytes --------------------------------------------------------------------------------------------------- */

START_TEST(decoding_restores_any_bytes)
{
    static char text[20000];
    KaeruVocab *bpe = open_fixture();
    ag_seed(1);
    for (int trial = 0; trial < 300; trial++) {
        size_t n = (size_t)ag_random_below(trial < 250 ? 40 : (int64_t)sizeof text);
        for (size_t i = 0; i < n; i++) {
            if (trial % 3 == 0) text[i] = (char)ag_random_u32();
            else text[i] = " \xe4\xb8\xadthe\xc3\xff'"[ag_random_below(10)];
        }
        check_round_trip(bpe, text, n);
    }
    check_round_trip(bpe, "", 0);
    check_round_trip(bpe, "\0\0", 2);
    for (size_t i = 0; i < sizeof text; i++) text[i] = 'a';
    check_round_trip(bpe, text, sizeof text);
    ag_free(bpe);
}
END_TEST

START_TEST(ids_have_tokens)
{
    KaeruVocab *bpe = open_fixture();
    size_t n;
    ck_assert_str_eq(kaeru_vocab_token(bpe, 0, &n), "!");
    ck_assert_uint_eq(n, 1);
    ck_assert_str_eq(kaeru_vocab_token(bpe, 220, &n), " ");
    ck_assert_str_eq(kaeru_vocab_token(bpe, kaeru_vocab_special(bpe, KAERU_END), &n), "<|endoftext|>");
    ck_assert_uint_eq(n, 13);
    ck_assert_ptr_null(kaeru_vocab_token(bpe, -1, &n));
    ck_assert_ptr_null(kaeru_vocab_token(bpe, kaeru_vocab_size(bpe), &n));
    ck_assert_ptr_null(kaeru_vocab_token(bpe, INT32_MIN / 2, &n));
    ck_assert_ptr_null(kaeru_vocab_token(bpe, INT32_MAX / 2, &n));
    int32_t ids[] = { 5, 100000 }, negative[] = { -7 };
    expect_refused(kaeru_vocab_decode(bpe, ids, 2, &n) != NULL, "id 100000 at place 1 is not in the vocabulary of ");
    expect_refused(kaeru_vocab_decode(bpe, negative, 1, &n) != NULL, "id -7 at place 0 is not in the vocabulary of ");
    check_decode(bpe, NULL, 0, "", 0);
    ag_free(bpe);
}
END_TEST

/* ---- learning and saving ----------------------------------------------------------------------------------------- */

START_TEST(a_vocabulary_has_the_requested_size)
{
    const char *text = "low low low lower lowest<|endoftext|>low<|endoftext|>";
    size_t count, n = strlen(text);
    expect_refused(kaeru_vocab_bpe(KAERU_BPE, text, n, 256) != NULL, "expected a vocabulary of at least 257 tokens");
    KaeruVocab *bpe = kaeru_vocab_bpe(KAERU_BPE, text, n, 257);
    ck_assert_int_eq(kaeru_vocab_size(bpe), 257);
    check_round_trip(bpe, text, n);
    ag_free(bpe);
    bpe = kaeru_vocab_bpe(KAERU_BPE, text, n, 260);
    ck_assert_int_eq(kaeru_vocab_size(bpe), 260);
    ck_assert_str_eq(kaeru_vocab_token(bpe, 256, &count), "lo");              /* 6 times, the same as "ow": smaller ids first */
    ck_assert_str_eq(kaeru_vocab_token(bpe, 257, &count), "low");
    ck_assert_str_eq(kaeru_vocab_token(bpe, 258, &count), " low");
    check_round_trip(bpe, text, n);
    int32_t *ids = kaeru_vocab_encode(bpe, text, n, KAERU_WITH_SPECIAL, &count);
    ck_assert_int_eq(ids[count - 1], 259);
    ag_free(ids);
    ag_free(bpe);
    bpe = kaeru_vocab_bpe(KAERU_BPE, text, n, 100000);                                 /* ends when no pair occurs twice */
    ck_assert_int_eq(kaeru_vocab_size(bpe), 261);
    ag_free(bpe);
    bpe = kaeru_vocab_bpe(KAERU_BPE, "", 0, 1000);
    ck_assert_int_eq(kaeru_vocab_size(bpe), 257);
    check_round_trip(bpe, text, n);
    ag_free(bpe);
}
END_TEST

START_TEST(training_reads_only_the_given_bytes)
{
    const char text[] = "low<|endoftext|>low xyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxyxy";
    KaeruVocab *bpe = kaeru_vocab_bpe(KAERU_BPE, text, strlen("low<|endoftext|>low"), 1000);
    ck_assert_int_eq(kaeru_vocab_size(bpe), 259);                             /* "lo", "low" and the end of text are added */
    ag_free(bpe);
}
END_TEST

START_TEST(a_saved_vocabulary_loads_unchanged)
{
    void *owner = ag_alloc(1, 1);
    size_t n, count, count_back;
    const char *text = read_good(owner, FIXTURES "cases.json", &n);
    KaeruVocab *bpe = kaeru_vocab_bpe(KAERU_BPE, text, n, 600);
    expect_done(kaeru_vocab_save(bpe, in_folder("v"), in_folder("m")));
    KaeruVocab *back = open_good(in_folder("v"), in_folder("m"));
    ck_assert_int_eq(kaeru_vocab_size(back), kaeru_vocab_size(bpe));
    ck_assert_int_eq(kaeru_vocab_special(back, KAERU_END), kaeru_vocab_special(bpe, KAERU_END));
    int32_t *ids = kaeru_vocab_encode(bpe, text, n, KAERU_AS_TEXT, &count);
    int32_t *ids_back = kaeru_vocab_encode(back, text, n, KAERU_AS_TEXT, &count_back);
    ck_assert_uint_eq(count, count_back);
    ck_assert(memcmp(ids, ids_back, count * sizeof *ids) == 0);
    ag_free(ids);
    ag_free(ids_back);
    ag_free(back);
    ag_free(bpe);
    bpe = open_fixture();
    expect_refused(kaeru_vocab_save(bpe, in_folder("none/v"), in_folder("m")), "none/v: cannot be written: its folder");
    expect_refused(kaeru_vocab_save(bpe, in_folder("v"), in_folder("none/m")), "none/m: cannot be written: its folder");
    ag_free(bpe);
    ck_assert_int_eq(folder_count(), 2);
    ag_free(owner);
}
END_TEST

/* Both kinds of line ends; a file without the version line; a file whose last line has no end. */
START_TEST(files_of_merges_may_differ_in_line_ends)
{
    void *owner = ag_alloc(1, 1);
    size_t n, count, size = 0;
    const char *merges = read_good(owner, FIXTURES "merges.txt", &n);
    const char *rest = strchr(merges, '\n') + 1;
    char *windows = ag_alloc_in(owner, 2 * n, 1);
    for (const char *c = merges; *c; c++) {
        if (*c == '\n') windows[size++] = '\r';
        windows[size++] = *c;
    }
    folder_write("windows", windows, size);
    folder_write("short", rest, strlen(rest) - 1);
    folder_write("none", "", 0);
    static const char *const names[] = { "windows", "short" };
    KaeruVocab *bpe = open_fixture();
    int32_t *expected = kaeru_vocab_encode(bpe, merges, n, KAERU_AS_TEXT, &count);
    for (int i = 0; i < 2; i++) {
        KaeruVocab *other = open_good(FIXTURES "vocab.json", in_folder(names[i]));
        int32_t *ids = kaeru_vocab_encode(other, merges, n, KAERU_AS_TEXT, &size);
        ck_assert_uint_eq(size, count);
        ck_assert(memcmp(ids, expected, count * sizeof *ids) == 0);
        ag_free(ids);
        ag_free(other);
    }
    ag_free(expected);
    ag_free(bpe);
    bpe = open_good(FIXTURES "vocab.json", in_folder("none"));              /* no merges: each byte is a token */
    ag_free(kaeru_vocab_encode(bpe, merges, n, KAERU_AS_TEXT, &count));
    ck_assert_uint_eq(count, n);
    ag_free(bpe);
    ag_free(owner);
}
END_TEST

/* As in SmolLM's files. */
START_TEST(the_end_of_a_text_can_be_token_0)
{
    void *owner = ag_alloc(1, 1);
    KaeruVocab *bpe = kaeru_vocab_bpe(KAERU_BPE, "a", 1, 257);
    expect_done(kaeru_vocab_save(bpe, in_folder("v"), in_folder("m")));
    ag_free(bpe);
    size_t n;
    static const char begin[] = "{\"!\":0", end[] = ":256}";
    const char *vocab = read_good(owner, in_folder("v"), &n) + strlen(begin), *last = strstr(vocab, end);
    char changed[8000];
    n = (size_t)snprintf(changed, sizeof changed, "{\"!\":256%.*s:0}", (int)(last - vocab), vocab);
    folder_write("v", changed, n);
    bpe = open_good(in_folder("v"), in_folder("m"));
    ck_assert_int_eq(kaeru_vocab_special(bpe, KAERU_END), 0);
    expect_done(kaeru_vocab_save(bpe, in_folder("w"), in_folder("m")));
    ag_free(bpe);
    bpe = open_good(in_folder("w"), in_folder("m"));
    ck_assert_int_eq(kaeru_vocab_special(bpe, KAERU_END), 0);
    ag_free(bpe);
    ag_free(owner);
}
END_TEST

/* Words of bytes from 'A' on. Each pair of neighbors is a merge, so that the number of merges is a power of two. */
START_TEST(a_vocabulary_of_1024_merges_encodes)
{
    enum { MERGES = 1024, LETTERS = 32 };
    void *owner = ag_alloc(1, 1);
    WordTable *tokens = word_table_new(owner);
    BpeMerge *merge = ag_alloc(MERGES, sizeof *merge);
    for (int i = 0; i < 256; i++) word_table_add(tokens, &(char){ (char)i }, 1);
    for (int i = 0; i < MERGES; i++) {
        char pair[2] = { (char)('A' + i / LETTERS), (char)('A' + i % LETTERS) };
        merge[i] = (BpeMerge){ pair[0], pair[1], word_table_add(tokens, pair, 2) };
    }
    KaeruVocab *bpe = bpe_new(tokens, merge, MERGES);
    ck_assert_uint_ge(bpe->bpe->n_slots, 2 * MERGES);                            /* in a full table a search would not end */
    size_t count;
    int32_t *ids = kaeru_vocab_encode(bpe, "ABzABA", 6, KAERU_AS_TEXT, &count);
    static const int32_t expected[] = { 257, 'z', 257, 'A' };
    ck_assert_uint_eq(count, 4);
    ck_assert_mem_eq(ids, expected, sizeof expected);
    ag_free(ids);
    ag_free(bpe);
    ag_free(owner);
}
END_TEST

/* ---- every call and every request fails once --------------------------------------------------------------------- */

static const char story[] = "the cat and the hat and the bat on the mat; the cat's hat\n<|endoftext|>the rat";

static bool learn_and_use(void)
{
    size_t n, count;
    KaeruVocab *bpe = kaeru_vocab_bpe(KAERU_BPE, story, strlen(story), 270);
    bool done = kaeru_vocab_save(bpe, in_folder("v"), in_folder("m"));
    ag_free(bpe);
    bpe = done ? kaeru_vocab_open(KAERU_BPE, in_folder("v"), in_folder("m")) : NULL;
    if (!bpe) return false;
    static const int32_t some[] = { 1, 2, 260 };
    ag_free(kaeru_vocab_encode(bpe, story, strlen(story), KAERU_WITH_SPECIAL, &count));
    ag_free(kaeru_vocab_decode(bpe, some, 3, &n));
    ag_free(bpe);
    return true;
}

static void try_learn_and_use(void)
{
    learn_and_use();
}

START_TEST(each_failing_call_is_reported)
{
    if (!io_faults_work()) return;
    bool hit = true;
    for (int64_t n = 0; hit; n++) {
        expect_done(learn_and_use());
        int open = io_faults_open();
        io_faults_at(n, _i);
        bool done = learn_and_use();
        hit = io_faults_end(done);
        ck_assert_int_eq(io_faults_open(), open);
        if (!done) expect_refused(done, ": ");
        if (!file_exists(in_folder("m"))) {                 /* a rename failed: no file has another one that is not its own */
            ck_assert(!done);
            expect_done(learn_and_use());
        }
        ck_assert_int_eq(folder_count(), 2);
        ag_free(open_good(in_folder("v"), in_folder("m")));
    }
}
END_TEST

/* Both files are on the disk before the first is replaced, so that a full disk leaves both old ones. */
START_TEST(both_files_are_written_before_one_is_replaced)
{
    if (!io_faults_work()) return;
    KaeruVocab *bpe = open_fixture();
    io_faults_at(-1, false);
    expect_done(kaeru_vocab_save(bpe, in_folder("v"), in_folder("m")));
    ck_assert_int_eq(io_faults_before("fsync", "rename"), 2);
    ag_free(bpe);
}
END_TEST

START_TEST(failing_allocations_leak_nothing)
{
    int64_t requests = faults_everywhere(try_learn_and_use, _i);
    if (faults_work()) ck_assert_int_gt(requests, 30);
    ck_assert_int_eq(folder_count(), 2);
}
END_TEST

/* The memory for a text that is one long word is what text.h says, all requests together. */
START_TEST(a_long_word_costs_a_multiple_of_its_size)
{
    enum { SIZE = 1 << 20, LEARN = 90, ENCODE = 40 };
    char *text = malloc(SIZE);
    memset(text, 'a', SIZE);
    int64_t bytes = faults_bytes();
    KaeruVocab *v = kaeru_vocab_bpe(KAERU_BPE, text, SIZE, 300);
    ck_assert_msg(v != NULL, "%s", ag_error());
    bytes = faults_bytes() - bytes;
    ck_assert_msg(bytes < (int64_t)LEARN * SIZE, "%.1f bytes for a byte to learn", (double)bytes / SIZE);
    for (int i = 0; i < 2; i++) {
        size_t n;
        bytes = faults_bytes();
        ag_free(kaeru_vocab_encode(v, text, SIZE, KAERU_AS_TEXT, &n));
        bytes = faults_bytes() - bytes;
        ck_assert_msg(bytes < (int64_t)ENCODE * SIZE, "%.1f bytes for a byte to encode", (double)bytes / SIZE);
        ck_assert(i == 1 || bytes > SIZE || !faults_work());
    }
    ag_free(v);
    free(text);
}
END_TEST

START_TEST(a_long_word_is_not_cached)
{
    char text[2000] = "";
    for (int i = 0; i < 4; i++) {
        memset(text + strlen(text), 'a', 200);
        strcat(text, " ");
    }
    KaeruVocab *v = kaeru_vocab_bpe(KAERU_BPE, text, strlen(text), 280);
    ck_assert(v != NULL);
    size_t n;
    ag_free(kaeru_vocab_encode(v, text, 200, KAERU_AS_TEXT, &n));
    ck_assert_uint_le(n, BPE_CACHED_IDS);
    for (int i = 0; i < 1 << 15; i++)
        ck_assert(v->bpe->cache[i].size <= BPE_CACHED_BYTES && v->bpe->cache[i].count <= BPE_CACHED_IDS);
    ag_free(v);
}
END_TEST

Suite *bpe_suite(void)
{
    Suite *suite = suite_create("bpe");
    TCase *t = tcase_create("bpe");
    tcase_add_checked_fixture(t, folder_make, folder_remove);
    tcase_add_test(t, ids_equal_those_of_tokenizers);
    tcase_add_test(t, character_classes_equal_those_of_tokenizers);
    tcase_add_test(t, learned_merges_equal_those_of_tokenizers);
    tcase_add_test(t, text_is_split_into_words);
    tcase_add_test(t, long_words_are_merged_by_the_rule);
    tcase_add_test(t, decoding_restores_any_bytes);
    tcase_add_test(t, ids_have_tokens);
    tcase_add_test(t, a_vocabulary_has_the_requested_size);
    tcase_add_test(t, training_reads_only_the_given_bytes);
    tcase_add_test(t, a_saved_vocabulary_loads_unchanged);
    tcase_add_test(t, the_end_of_a_text_can_be_token_0);
    tcase_add_test(t, files_of_merges_may_differ_in_line_ends);
    tcase_add_test(t, a_vocabulary_of_1024_merges_encodes);
    tcase_add_loop_test(t, each_failing_call_is_reported, 0, 2);
    tcase_add_test(t, both_files_are_written_before_one_is_replaced);
    tcase_add_loop_test(t, failing_allocations_leak_nothing, 0, 2);
    tcase_add_test(t, a_long_word_costs_a_multiple_of_its_size);
    tcase_add_test(t, a_long_word_is_not_cached);
    suite_add_tcase(suite, t);
    return suite;
}
