/* test_bpe_json.c: a tokenizer.json of each family gives the ids of the library `tokenizers`, and decoding returns the text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpe_parts.h"
#include "faults.h"
#include "folder.h"
#include "io_faults.h"
#include "json.h"
#include "kaeru/text.h"
#include "suites.h"
#include "usage_error.h"
#include "utf8.h"

#define FILES TEST_FIXTURES "/tokenizers/"

/* Of `smollm` and `unknown` some bytes are no tokens: they are left out, or become <unk>. */
static const char *const families[] = { "gpt2", "llama3", "qwen2", "smollm", "qwen3", "unknown", "prefix", "whitespace",
                                        "characters" };
enum { N_FAMILIES = sizeof families / sizeof *families };

static KaeruVocab *open_family(int i)
{
    char path[512];
    snprintf(path, sizeof path, FILES "%s.json", families[i]);
    KaeruVocab *b = kaeru_vocab_open(KAERU_BPE, path, NULL);
    ck_assert_msg(b != NULL, "%s", ag_error());
    return b;
}

static void check_case(KaeruVocab *b, const char *family, const Json *item)
{
    const Json *text = json_get(item, "text"), *ids = json_get(item, "ids"), *normal = json_get(item, "normal");
    size_t count, size;
    int32_t *found = kaeru_vocab_encode(b, text->as.text, text->count, KAERU_WITH_SPECIAL, &count);
    for (size_t i = 0; i < count && i < ids->count; i++)
        ck_assert_msg(found[i] == ids->as.item[i].as.integer, "%s: \"%.60s\": id %zu is %d, not %d", family, text->as.text, i,
                      (int)found[i], (int)ids->as.item[i].as.integer);
    ck_assert_uint_eq(count, ids->count);
    char *back = kaeru_vocab_decode(b, found, count, &size);
    if (normal) text = normal;
    ck_assert((size == text->count && memcmp(back, text->as.text, size) == 0) != (json_get(item, "lost") != NULL));
    ag_free(back);
    ag_free(found);
}

START_TEST(ids_equal_those_of_tokenizers)
{
    char path[512];
    void *owner = ag_alloc(1, 1);
    snprintf(path, sizeof path, FILES "%s_cases.json", families[_i]);
    const Json *cases = json_read(owner, path, 1 << 24);
    ck_assert_msg(cases && cases->count > 150, "%s", ag_error());
    KaeruVocab *b = open_family(_i);
    for (int pass = 0; pass < 2; pass++)                            /* the second time from the cache */
        for (uint32_t i = 0; i < cases->count; i++)
            check_case(b, families[_i], &cases->as.item[i]);
    ag_free(b);
    ag_free(owner);
}
END_TEST

/* BERT's normalizer, pre-tokenizer and pieces of words. */
START_TEST(word_pieces_equal_those_of_tokenizers)
{
    void *owner = ag_alloc(1, 1);
    const Json *cases = json_read(owner, TEST_FIXTURES "/bert/cases.json", 1 << 20);
    ck_assert_msg(cases && cases->count > 90, "%s", ag_error());
    KaeruVocab *v = kaeru_vocab_open(KAERU_WORDPIECE, TEST_FIXTURES "/bert/tokenizer.json", NULL);
    ck_assert_msg(v != NULL, "%s", ag_error());
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < cases->count; i++) {
            check_case(v, "bert", &cases->as.item[i]);
        }
    }
    const int32_t special[] = { 2, 3, -1, 1 };
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(kaeru_vocab_special(v, (KaeruSpecial)i), special[i]);
    }
    ck_assert_int_eq(kaeru_vocab_find(v, "nothing of this", 15), 1);
    size_t n;
    int32_t *ids = kaeru_vocab_encode(v, "[SEP]", 5, KAERU_AS_TEXT, &n);
    for (size_t i = 0; i < n; i++) {
        ck_assert_int_ne(ids[i], 3);
    }
    ck_assert_uint_gt(n, 2);
    ag_free(ids);
    ids = kaeru_vocab_encode(v, "a\xff \xe9", 4, KAERU_AS_TEXT, &n);
    ck_assert(n == 2 && ids[0] == 1 && ids[1] == 1);
    ag_free(ids);
    ids = kaeru_vocab_encode(v, "", 0, KAERU_AS_TEXT, &n);
    ck_assert_uint_eq(n, 0);
    ag_free(ids);
    ck_assert_int_eq(kaeru_vocab_kind(v), KAERU_WORDPIECE);
    expect_refused(kaeru_vocab_save(v, in_folder("v"), NULL), "/v: expected a vocabulary by the rules of GPT-2 only");
    expect_refused(kaeru_vocab_export(v, in_folder("t"), in_folder("c")), "/t: expected a vocabulary of characters, or of");
    ag_free(v);
    ag_free(owner);
}
END_TEST

START_TEST(special_tokens_can_be_text)
{
    const char *text = "<|begin|><think>";
    for (int i = 0; i < N_FAMILIES; i++) {
        KaeruVocab *b = open_family(i);
        size_t count, special, size;
        int32_t *ids = kaeru_vocab_encode(b, text, strlen(text), KAERU_WITH_SPECIAL, &special);
        ck_assert_uint_eq(special, 2);
        int32_t begin = ids[0], think = ids[1];
        ck_assert_str_eq(kaeru_vocab_token(b, begin, &size), "<|begin|>");
        bool closes = strcmp(families[i], "prefix") == 0;
        ck_assert_int_eq(kaeru_vocab_special(b, KAERU_START), i == 1 || closes ? begin : -1);
        ag_free(ids);
        /* <think> is an added token, but not a special one. */
        ids = kaeru_vocab_encode(b, text, strlen(text), KAERU_AS_TEXT, &count);
        ck_assert(count > special && ids[0] != begin && ids[count - 1] == think);
        ag_free(ids);
        ck_assert_int_eq(kaeru_vocab_special(b, KAERU_END), closes ? kaeru_vocab_find(b, "<|end|>", 7) : -1);
        ag_free(b);
    }
}
END_TEST

/* "thé" is an added token, which a normalizer may change. `tokenizers` decodes it to "th" and U+FFFD: in its byte alphabet, é
 * stands for the byte 0xE9. */
START_TEST(added_tokens_are_decoded_as_their_text)
{
    for (int i = 0; i < N_FAMILIES; i++) {
        KaeruVocab *b = open_family(i);
        size_t count, size;
        int32_t *ids = kaeru_vocab_encode(b, "thé", strlen("thé"), KAERU_WITH_SPECIAL, &count);
        char *back = kaeru_vocab_decode(b, ids, count, &size);
        ck_assert_uint_eq(count, 1);
        bool apart = strcmp(families[i], "whitespace") == 0 || strcmp(families[i], "characters") == 0;
        ck_assert_str_eq(back, apart ? "the\u0301" : "th\u00e9");
        ag_free(back);
        ag_free(ids);
        ag_free(b);
    }
}
END_TEST

START_TEST(gpt2s_files_cannot_hold_other_vocabularies)
{
    for (int i = 0; i < N_FAMILIES; i++) {
        KaeruVocab *b = open_family(i);
        expect_refused(kaeru_vocab_save(b, in_folder("v"), in_folder("m")),
                       "/v: expected a vocabulary by the rules of GPT-2 only, which its two files can hold");
        ag_free(b);
    }
    ck_assert_int_eq(folder_count(), 0);
    EXPECT_USAGE_ERROR("kaeru_vocab_open: vocab_path is NULL", kaeru_vocab_open(KAERU_BPE, NULL, NULL));
    EXPECT_USAGE_ERROR("kaeru_vocab_special: v is NULL", kaeru_vocab_special(NULL, KAERU_START));
}
END_TEST

enum { GOOD_SIZE = 8192 };

static void read_good(char text[GOOD_SIZE])
{
    FILE *f = fopen(TEST_BAD_FILES "/good_tokenizer.json", "rb");
    ck_assert_ptr_nonnull(f);
    size_t n = fread(text, 1, GOOD_SIZE, f);
    ck_assert_uint_lt(n, GOOD_SIZE);
    text[n] = '\0';
    fclose(f);
}

/* Nor can they hold these rules, which give other ids, or a vocabulary without a token for the byte 0. */
START_TEST(gpt2s_files_cannot_hold_other_rules)
{
    static const char *const rules[][2] = { { "\"model\": {", "" },
                                            { "\"special\": ", "false, \"unused\": " },
                                            { "{", "\"normalizer\": {\"type\": \"NFC\"}, " },
                                            { "\"model\": {", "\"ignore_merges\": true, " },
                                            { "\"\\u0100", "\\u0100" },
                                            { "\"pre_tokenizer\": ", "{\"type\": \"Sequence\", \"pretokenizers\": ["
                                              "{\"type\": \"Digits\", \"individual_digits\": true}, "
                                              "{\"type\": \"ByteLevel\", \"add_prefix_space\": true, "
                                              "\"trim_offsets\": true}]}, \"unused\": " } };
    char good[GOOD_SIZE];
    read_good(good);
    for (int i = 0; i < 6; i++) {
        char text[9000];
        const char *place = strstr(good, rules[i][0]) + strlen(rules[i][0]);
        int size = snprintf(text, sizeof text, "%.*s%s%s", (int)(place - good), good, rules[i][1], place);
        folder_write("tokenizer", text, (size_t)size);
        KaeruVocab *b = kaeru_vocab_open(KAERU_BPE, in_folder("tokenizer"), NULL);
        ck_assert_msg(b != NULL, "%s", ag_error());
        bool saved = kaeru_vocab_save(b, in_folder("v"), in_folder("m"));
        if (i == 0) expect_done(saved);
        else expect_refused(saved, "/v: expected a vocabulary by the rules of GPT-2 only");
        ag_free(b);
    }
}
END_TEST

/* The tokenizer.json of GPT-2 is so old that its model has no type. */
START_TEST(a_model_without_a_type_is_byte_pairs)
{
    char text[GOOD_SIZE], *type;
    read_good(text);
    ck_assert_ptr_nonnull(type = strstr(text, "\"type\": \"BPE\""));
    memcpy(type, "\"tale\"", 6);
    folder_write("tokenizer", text, strlen(text));
    KaeruVocab *b = kaeru_vocab_open(KAERU_BPE, in_folder("tokenizer"), NULL);
    ck_assert_msg(b != NULL, "%s", ag_error());
    ag_free(b);
    char *merges = strstr(text, "\"merges\"");
    merges[1] = 'M';
    folder_write("tokenizer", text, strlen(text));
    expect_refused(kaeru_vocab_open(KAERU_BPE, in_folder("tokenizer"), NULL) != NULL, "model: expected BPE");
}
END_TEST

static void try_open(void)
{
    ag_free(kaeru_vocab_open(KAERU_BPE, FILES "llama3.json", NULL));
}

START_TEST(failing_calls_and_allocations_leak_nothing)
{
    bool hit = io_faults_work();
    for (int64_t n = 0; hit; n++) {
        int open = io_faults_open();
        io_faults_at(n, false);
        KaeruVocab *b = kaeru_vocab_open(KAERU_BPE, FILES "smollm.json", NULL);
        hit = io_faults_end(b != NULL);
        ck_assert_int_eq(io_faults_open(), open);
        ag_free(b);
    }
    int64_t requests = faults_everywhere(try_open, true);
    if (faults_work()) ck_assert_int_gt(requests, 8);
}
END_TEST

/* The other members of an added token. */
#define FLAGS(normalized, special) "\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":" normalized "," \
    "\"special\":" special

/* The vocabulary of the 256 bytes and these parts of tokenizer.json. */
static KaeruVocab *open_vocab_of(const char *before, const char *model_more, const char *added)
{
    char *json = malloc(100000 + strlen(added)), *p = json;
    p += sprintf(p, "{%s\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true},"
                 "\"added_tokens\":[%s],\"model\":{\"type\":\"BPE\",%s\"merges\":[],\"vocab\":{", before, added, model_more);
    BpeBytes of = bpe_bytes();
    for (int i = 0; i < 256; i++) {
        char c[5] = "";
        c[utf8_encode(of.code[i], c)] = 0;
        p += sprintf(p, "%s\"%s%s\":%d", i ? "," : "", *c == '"' || *c == '\\' ? "\\" : "", c, i);
    }
    sprintf(p, "}}}");
    folder_write("v.json", json, strlen(json));
    free(json);
    return kaeru_vocab_open(KAERU_BPE, in_folder("v.json"), NULL);
}

static KaeruVocab *vocab_of(const char *before, const char *model_more, const char *added)
{
    KaeruVocab *v = open_vocab_of(before, model_more, added);
    ck_assert_msg(v != NULL, "%s", ag_error());
    return v;
}

/* A special token in a text that is only text. */
START_TEST(ignored_merges_do_not_make_special_tokens)
{
    KaeruVocab *v = vocab_of("", "\"ignore_merges\":true,", "{\"id\":256,\"content\":\"abc\"," FLAGS("false", "true") "}");
    size_t n;
    int32_t *ids = kaeru_vocab_encode(v, "abc", 3, KAERU_AS_TEXT, &n);
    ck_assert(n == 3 && ids[0] == 'a');
    ag_free(ids);
    ids = kaeru_vocab_encode(v, "abc", 3, KAERU_WITH_SPECIAL, &n);
    ck_assert(n == 1 && ids[0] == 256);
    ag_free(ids);
    ag_free(v);
}
END_TEST

START_TEST(an_added_token_need_not_be_normal)
{
    KaeruVocab *v = vocab_of("\"normalizer\":{\"type\":\"NFC\"},", "",
                             "{\"id\":256,\"content\":\"e\\u0301\"," FLAGS("false", "false") "}");
    size_t n;
    int32_t *ids = kaeru_vocab_encode(v, "e\u0301", 3, KAERU_AS_TEXT, &n);
    ck_assert(n == 1 && ids[0] == 256);
    ag_free(ids);
    ag_free(v);
}
END_TEST

/* "É" is the letter of the byte 0xC9. As an added token it has the id of this byte, which "ɐ" (0xC9 0x90) needs, too. */
START_TEST(an_added_token_can_be_the_letter_of_a_byte)
{
    KaeruVocab *plain = vocab_of("", "", ""), *v = NULL;
    int32_t id = kaeru_vocab_find(plain, "\xc9", 1);
    char added[200];
    snprintf(added, sizeof added, "{\"id\":%d,\"content\":\"\u00c9\"," FLAGS("false", "false") "}", (int)id);
    v = vocab_of("", "", added);
    size_t n, m, size;
    int32_t *ids = kaeru_vocab_encode(v, "\u0250 \u00c9", 5, KAERU_AS_TEXT, &n);
    int32_t *expected = kaeru_vocab_encode(plain, "\u0250 ", 3, KAERU_AS_TEXT, &m);
    ck_assert(m == 3 && n == 4 && memcmp(ids, expected, 3 * sizeof *ids) == 0 && ids[0] == id && ids[3] == id);
    char *back = kaeru_vocab_decode(v, ids, 4, &size);
    ck_assert(size == 4 && memcmp(back, "\u0250 \xc9", 4) == 0);
    ag_free(back);
    ag_free(expected);
    ag_free(ids);
    ag_free(v);
    ag_free(plain);
}
END_TEST

/* An added line end has the byte of the letter "Ċ", and keeps an id of its own. The letter is the token that is found. */
START_TEST(an_added_token_can_have_the_byte_of_another)
{
    KaeruVocab *v = vocab_of("", "", "{\"id\":256,\"content\":\"\\n\"," FLAGS("false", "true") "}");
    int32_t letter = kaeru_vocab_find(v, "\n", 1);
    ck_assert_int_eq(letter, '\n');
    for (int special = 0; special < 2; special++) {
        size_t n, size;
        int32_t *ids = kaeru_vocab_encode(v, "a\nb", 3, special ? KAERU_WITH_SPECIAL : KAERU_AS_TEXT, &n);
        ck_assert(n == 3 && ids[0] == 'a' && ids[1] == (special ? 256 : letter) && ids[2] == 'b');
        char *back = kaeru_vocab_decode(v, ids, n, &size);
        ck_assert(size == 3 && memcmp(back, "a\nb", 3) == 0);
        ag_free(back);
        ag_free(ids);
    }
    ag_free(v);
    expect_refused(open_vocab_of("", "", "{\"id\":256,\"content\":\"\\n\"," FLAGS("false", "false") "},"
                                 "{\"id\":257,\"content\":\"\\n\"," FLAGS("false", "false") "}") != NULL,
                   "token \"\\x0A\": expected each token once");
}
END_TEST

/* All texts of two to six letters x and y, of which about a third are added tokens, half of these special ones. */
enum { LONGEST = 6, TEXTS = 1 << (LONGEST + 1) };
typedef struct { char text[TEXTS][LONGEST + 1]; bool special[TEXTS]; int n; } Some;

static KaeruVocab *some_added(Some *some)
{
    char added[TEXTS * 160] = "", *p = added;
    uint32_t random = 1;
    some->n = 0;
    for (int size = 2; size <= LONGEST; size++) {
        for (int bits = 0; bits < 1 << size; bits++) {
            random = random * 1664525 + 1013904223;
            if (random >> 28 > 5) continue;
            char *text = some->text[some->n];
            for (int i = 0; i < size; i++) text[i] = bits >> i & 1 ? 'y' : 'x';
            text[size] = '\0';
            some->special[some->n] = random >> 27 & 1;
            p += sprintf(p, "%s{\"id\":%d,\"content\":\"%s\"," FLAGS("false", "%s") "}", some->n ? "," : "", 256 + some->n,
                         text, some->special[some->n] ? "true" : "false");
            some->n++;
        }
    }
    return vocab_of("", "", added);
}

/* The longest added token with which the text begins, or the id of its first byte. */
static int32_t longest_of(const Some *some, const char *text, bool special, size_t *size)
{
    int32_t id = *text;
    *size = 1;
    size_t longest = 0;
    for (int k = 0; k < some->n; k++) {
        size_t n = strlen(some->text[k]);
        if (n <= longest || (some->special[k] && !special) || strncmp(text, some->text[k], n) != 0) continue;
        *size = longest = n;
        id = 256 + k;
    }
    return id;
}

START_TEST(the_longest_added_token_is_found)
{
    Some some;
    KaeruVocab *v = some_added(&some);
    ck_assert_int_gt(some.n, 30);
    char text[301] = "";
    for (uint32_t i = 0, random = 7; i < 300; i++, random = random * 1664525 + 1013904223)
        text[i] = "xyyxz"[(random >> 16) % 5];
    for (int special = 0; special < 2; special++) {
        size_t n, count = 0, size;
        int32_t *ids = kaeru_vocab_encode(v, text, 300, special ? KAERU_WITH_SPECIAL : KAERU_AS_TEXT, &n);
        for (size_t at = 0; at < 300; at += size, count++) {
            int32_t expected = longest_of(&some, text + at, special, &size);
            ck_assert_uint_lt(count, n);
            ck_assert_int_eq(ids[count], expected);
        }
        ck_assert_uint_eq(count, n);
        ag_free(ids);
    }
    ag_free(v);
}
END_TEST

/* Many long added tokens that nearly occur at each place of a text: the time is neither their number nor their length times
 * the text. _i: they have one beginning, or one each. */
START_TEST(many_added_tokens_take_little_time)
{
    enum { MANY = 10000, SIZE = 900, TEXT = 8000000 };
    char *added = malloc((size_t)MANY * (SIZE + 150)), *p = added, *text = malloc(TEXT);
    memset(text, 'a', TEXT);
    for (int i = 0; i < (_i ? SIZE : MANY); i++) {
        p += sprintf(p, "%s{\"id\":%d,\"content\":\"%.*s%05d\"," FLAGS("false", "false") "}", i ? "," : "", 256 + i,
                     _i ? i + 1 : SIZE, text, i);
    }
    KaeruVocab *v = vocab_of("", "", added);
    size_t n;
    const char *slow = getenv("CK_TIMEOUT_MULTIPLIER");     /* of slow tools */
    alarm(20 * (slow ? (unsigned)atoi(slow) : 1));
    int32_t *ids = kaeru_vocab_encode(v, text, TEXT, KAERU_WITH_SPECIAL, &n);
    alarm(0);
    ck_assert_uint_eq(n, TEXT);
    ag_free(ids);
    ag_free(v);
    free(text);
    free(added);
}
END_TEST

/* The tokenizer.json as which a vocabulary is exported gives the same ids and text. */
static void check_export(KaeruVocab *v, const char *text, size_t size)
{
    expect_done(kaeru_vocab_export(v, in_folder("t.json"), in_folder("c.json")));
    KaeruVocab *again = kaeru_vocab_open(KAERU_BPE, in_folder("t.json"), NULL);
    ck_assert_msg(again != NULL, "%s", ag_error());
    size_t n, m, back_size;
    int32_t *ids = kaeru_vocab_encode(v, text, size, KAERU_WITH_SPECIAL, &n);
    int32_t *found = kaeru_vocab_encode(again, text, size, KAERU_WITH_SPECIAL, &m);
    ck_assert(n == m && memcmp(ids, found, n * sizeof *ids) == 0);
    char *back = kaeru_vocab_decode(again, found, m, &back_size);
    ck_assert(back_size == size && memcmp(back, text, size) == 0);
    ck_assert_int_eq(kaeru_vocab_special(again, KAERU_END), kaeru_vocab_special(v, KAERU_END));
    ck_assert_int_eq(kaeru_vocab_size(again), kaeru_vocab_size(v));
    ag_free(back);
    ag_free(found);
    ag_free(ids);
    ag_free(again);
}

START_TEST(an_exported_vocabulary_opens_again)
{
    static const char text[] = "the the\0 \"\\ é漢字\r\n  the<|endoftext|> the";
    KaeruVocab *made[] = { kaeru_vocab_chars(text, sizeof text), kaeru_vocab_bpe(KAERU_BPE, text, sizeof text, 300) };
    for (int i = 0; i < 2; i++) {
        check_export(made[i], text, sizeof text);
        expect_refused(kaeru_vocab_export(made[i], in_folder("none/t"), in_folder("c")), "none/t: cannot be written");
        expect_refused(kaeru_vocab_export(made[i], in_folder("t"), in_folder("none/c")), "none/c: cannot be written");
        ag_free(made[i]);
    }
    KaeruVocab *other[] = { kaeru_vocab_words("a", 1, 1), open_family(1), kaeru_vocab_bpe(KAERU_SENTENCE_BPE, text, 9, 300) };
    for (int i = 0; i < 3; i++) {
        expect_refused(kaeru_vocab_export(other[i], in_folder("t"), in_folder("c")),
                       "/t: expected a vocabulary of characters, or of byte pairs by the rules of GPT-2 only");
        ag_free(other[i]);
    }
    ck_assert_int_eq(folder_count(), 2);
}
END_TEST

static void has_text(const Json *object, const char *key, const char *expected)
{
    const Json *value = json_get(object, key);
    ck_assert_msg(value && value->type == JSON_STRING, "%s", key);
    ck_assert_str_eq(value->as.text, expected);
}

static void has_true(const Json *object, const char *key)
{
    const Json *value = json_get(object, key);
    ck_assert_msg(value && value->type == JSON_BOOL && value->as.truth, "%s", key);
}

/* What other libraries need, and kaeru does not read. */
START_TEST(an_export_has_what_other_libraries_read)
{
    KaeruVocab *v = kaeru_vocab_bpe(KAERU_BPE, "the the", 7, 258);
    expect_done(kaeru_vocab_export(v, in_folder("t.json"), in_folder("c.json")));
    void *owner = ag_alloc(1, 1);
    const Json *tokenizer = json_read(owner, in_folder("t.json"), 1 << 20);
    ck_assert_msg(tokenizer != NULL, "%s", ag_error());
    static const char *const parts[] = { "pre_tokenizer", "decoder" };
    for (int i = 0; i < 2; i++) {
        const Json *part = json_get(tokenizer, parts[i]);
        has_text(part, "type", "ByteLevel");
        has_true(part, "use_regex");
    }
    const Json *added = json_get(tokenizer, "added_tokens");
    ck_assert_int_eq(added->count, 1);
    has_text(added->as.item, "content", "<|endoftext|>");
    has_true(added->as.item, "special");
    const Json *config = json_read(owner, in_folder("c.json"), 1 << 20);
    ck_assert_msg(config != NULL, "%s", ag_error());
    has_text(config, "tokenizer_class", "PreTrainedTokenizerFast");
    has_text(config, "bos_token", "<|endoftext|>");
    has_text(config, "eos_token", "<|endoftext|>");
    ag_free(owner);
    ag_free(v);
}
END_TEST

static void try_export(void)
{
    KaeruVocab *v = kaeru_vocab_bpe(KAERU_BPE, "the the", 7, 258);
    if (!kaeru_vocab_export(v, in_folder("t.json"), in_folder("c.json"))) abort();   /* an assertion allocates memory */
    ag_free(v);
}

START_TEST(failing_calls_and_allocations_of_an_export_leak_nothing)
{
    bool hit = io_faults_work();
    KaeruVocab *v = kaeru_vocab_chars("abc", 3);
    for (int64_t n = 0; hit; n++) {
        int open = io_faults_open();
        io_faults_at(n, false);
        bool done = kaeru_vocab_export(v, in_folder("t.json"), in_folder("c.json"));
        hit = io_faults_end(done);
        ck_assert_int_eq(io_faults_open(), open);
    }
    ag_free(v);
    int64_t requests = faults_everywhere(try_export, true);
    if (faults_work()) ck_assert_int_gt(requests, 8);
}
END_TEST

/* ---- types of members ----------------------------------------------------------------------------------------------- */

#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\\\p{L}+| ?\\\\p{N}+| ?[^\\\\s\\\\p{L}\\\\p{N}]+|\\\\s+(?!\\\\S)|\\\\s+"
static const char all_parts[] =
    "{\"truncation\": null, \"padding\": null, \"added_tokens\": [{\"id\": 2, \"content\": \"<s>\", \"single_word\": false, "
    "\"lstrip\": false, \"rstrip\": false, \"normalized\": false, \"special\": true}], "
    "\"normalizer\": {\"type\": \"Strip\", \"strip_left\": true, \"strip_right\": false}, "
    "\"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"Digits\", \"individual_digits\": true}, "
    "{\"type\": \"Split\", \"pattern\": {\"Regex\": \"" GPT2 "\"}, \"behavior\": \"Isolated\", \"invert\": false}, "
    "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true, \"use_regex\": false}]}, "
    "\"post_processor\": {\"type\": \"Sequence\", \"processors\": [{\"type\": \"TemplateProcessing\", "
    "\"single\": [{\"SpecialToken\": {\"id\": \"<s>\", \"type_id\": 0}}, {\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}], "
    "\"special_tokens\": {\"<s>\": {\"id\": \"<s>\", \"ids\": [2], \"tokens\": [\"<s>\"]}}}, "
    "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true, \"use_regex\": false}]}, "
    "\"decoder\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true, \"use_regex\": false}, "
    "\"model\": {\"type\": \"BPE\", \"dropout\": null, \"unk_token\": null, \"continuing_subword_prefix\": null, "
    "\"end_of_word_suffix\": null, \"fuse_unk\": false, \"byte_fallback\": false, \"ignore_merges\": false, "
    "\"vocab\": {\"a\": 0, \"b\": 1, \"<s>\": 2}, \"merges\": []}}";

/* `behind` is in all_parts, before the member. `what` is the part in a message. */
static const struct { const char *behind, *what; JsonMember member; } members[] = {
    { "{", "", { "truncation", JSON_OBJECT, JSON_NULLABLE } },
    { "{", "", { "padding", JSON_OBJECT, JSON_NULLABLE } },
    { "{", "", { "added_tokens", JSON_ARRAY, JSON_OPTIONAL } },
    { "{", "", { "normalizer", JSON_OBJECT, JSON_NULLABLE } },
    { "{", "", { "pre_tokenizer", JSON_OBJECT, JSON_NULLABLE } },
    { "{", "", { "post_processor", JSON_OBJECT, JSON_NULLABLE } },
    { "{", "", { "decoder", JSON_OBJECT, JSON_NULLABLE } },
    { "<s>", "added token \"<s>\": ", { "single_word", JSON_BOOL, JSON_REQUIRED } },
    { "<s>", "added token \"<s>\": ", { "lstrip", JSON_BOOL, JSON_REQUIRED } },
    { "<s>", "added token \"<s>\": ", { "rstrip", JSON_BOOL, JSON_REQUIRED } },
    { "<s>", "added token \"<s>\": ", { "normalized", JSON_BOOL, JSON_REQUIRED } },
    { "<s>", "added token \"<s>\": ", { "special", JSON_BOOL, JSON_REQUIRED } },
    { "Strip", "normalizer Strip: ", { "strip_left", JSON_BOOL, JSON_REQUIRED } },
    { "Strip", "normalizer Strip: ", { "strip_right", JSON_BOOL, JSON_REQUIRED } },
    { "Digits", "pre_tokenizer Digits: ", { "individual_digits", JSON_BOOL, JSON_REQUIRED } },
    { "Split", "pre_tokenizer Split: ", { "invert", JSON_BOOL, JSON_REQUIRED } },
    { "pre_tokenizer", "pre_tokenizer ByteLevel: ", { "add_prefix_space", JSON_BOOL, JSON_REQUIRED } },
    { "pre_tokenizer", "pre_tokenizer ByteLevel: ", { "trim_offsets", JSON_BOOL, JSON_REQUIRED } },
    { "pre_tokenizer", "pre_tokenizer ByteLevel: ", { "use_regex", JSON_BOOL, JSON_OPTIONAL } },
    { "TemplateProcessing", "post_processor TemplateProcessing: ", { "single", JSON_ARRAY, JSON_REQUIRED } },
    { "TemplateProcessing", "post_processor TemplateProcessing: ", { "special_tokens", JSON_OBJECT, JSON_REQUIRED } },
    { "special_tokens", "post_processor TemplateProcessing: ", { "id", JSON_STRING, JSON_REQUIRED } },
    { "special_tokens", "post_processor TemplateProcessing: ", { "ids", JSON_ARRAY, JSON_REQUIRED } },
    { "special_tokens", "post_processor TemplateProcessing: ", { "tokens", JSON_ARRAY, JSON_REQUIRED } },
    { "special_tokens", "post_processor ByteLevel: ", { "add_prefix_space", JSON_BOOL, JSON_REQUIRED } },
    { "special_tokens", "post_processor ByteLevel: ", { "trim_offsets", JSON_BOOL, JSON_REQUIRED } },
    { "special_tokens", "post_processor ByteLevel: ", { "use_regex", JSON_BOOL, JSON_OPTIONAL } },
    { "decoder", "decoder ByteLevel: ", { "add_prefix_space", JSON_BOOL, JSON_REQUIRED } },
    { "decoder", "decoder ByteLevel: ", { "trim_offsets", JSON_BOOL, JSON_REQUIRED } },
    { "decoder", "decoder ByteLevel: ", { "use_regex", JSON_BOOL, JSON_OPTIONAL } },
    { "model", "model BPE: ", { "dropout", JSON_NUMBER, JSON_NULLABLE } },
    { "model", "model BPE: ", { "unk_token", JSON_STRING, JSON_NULLABLE } },
    { "model", "model BPE: ", { "continuing_subword_prefix", JSON_STRING, JSON_NULLABLE } },
    { "model", "model BPE: ", { "end_of_word_suffix", JSON_STRING, JSON_NULLABLE } },
    { "model", "model BPE: ", { "fuse_unk", JSON_BOOL, JSON_NULLABLE } },
    { "model", "model BPE: ", { "byte_fallback", JSON_BOOL, JSON_NULLABLE } },
    { "model", "model BPE: ", { "ignore_merges", JSON_BOOL, JSON_NULLABLE } },
};
enum { N_MEMBERS = sizeof members / sizeof *members };

/* The end of a JSON value in whose texts are no brackets and commas. */
static const char *end_of_value(const char *text)
{
    for (int depth = 0; depth > 0 || !strchr(",]}", *text); text++) {
        depth += (*text == '{' || *text == '[') - (*text == '}' || *text == ']');
    }
    return text;
}

/* Opens all_parts with this value of member i; NULL: without it. */
static KaeruVocab *open_with(size_t i, const char *value)
{
    char key[64], text[sizeof all_parts + 64];
    snprintf(key, sizeof key, "\"%s\": ", members[i].member.name);
    const char *start = strstr(strstr(all_parts, members[i].behind), key), *old = start + strlen(key);
    int before = (int)(start - all_parts);
    int n = value ? snprintf(text, sizeof text, "%.*s%s%s%s", before, all_parts, key, value, end_of_value(old))
                  : snprintf(text, sizeof text, "%.*s\"unused\": %s", before, all_parts, old);
    folder_write("tokenizer.json", text, (size_t)n);
    return kaeru_vocab_open(KAERU_BPE, in_folder("tokenizer.json"), NULL);
}

/* A member of another type is refused by its name; it can be null or absent where `tokenizers` takes that. */
START_TEST(each_member_has_its_type)
{
    static const struct { const char *value, *name; } values[] = {
        { "null", "null" }, { "false", "true or false" }, { "0", "a number" }, { "\"\"", "a string" },
        { "[]", "an array" }, { "{}", "an object" }, { "NaN", "NaN or an infinity" }, { NULL, "nothing" }
    };
    enum { ABSENT = sizeof values / sizeof *values - 1 };
    folder_write("tokenizer.json", all_parts, strlen(all_parts));
    KaeruVocab *whole = kaeru_vocab_open(KAERU_BPE, in_folder("tokenizer.json"), NULL);
    ck_assert_msg(whole != NULL, "%s", ag_error());
    ag_free(whole);
    for (size_t i = 0; i < N_MEMBERS; i++) {
        const JsonMember m = members[i].member;
        for (int k = 0; k <= ABSENT; k++) {
            bool good = k == ABSENT ? m.presence != JSON_REQUIRED : k == JSON_NULL && m.presence == JSON_NULLABLE;
            if (k == (int)m.type) {
                continue;                               /* its value may be refused */
            }
            char message[200];
            snprintf(message, sizeof message, "tokenizer.json: %s%s: expected %s%s, found %s", members[i].what, m.name,
                     values[m.type].name, m.presence == JSON_NULLABLE ? ", or null" : "", values[k].name);
            KaeruVocab *v = open_with(i, values[k].value);
            if (good) {
                ck_assert_msg(v != NULL, "%s: %s: %s", m.name, values[k].name, ag_error());
            } else {
                expect_refused(v != NULL, message);
            }
            ag_free(v);
        }
    }
}
END_TEST

Suite *bpe_json_suite(void)
{
    Suite *suite = suite_create("bpe_json");
    TCase *t = tcase_create("bpe_json");
    tcase_add_checked_fixture(t, folder_make, folder_remove);
    tcase_add_loop_test(t, ids_equal_those_of_tokenizers, 0, N_FAMILIES);
    tcase_add_test(t, word_pieces_equal_those_of_tokenizers);
    tcase_add_test(t, special_tokens_can_be_text);
    tcase_add_test(t, added_tokens_are_decoded_as_their_text);
    tcase_add_test(t, gpt2s_files_cannot_hold_other_vocabularies);
    tcase_add_test(t, gpt2s_files_cannot_hold_other_rules);
    tcase_add_test(t, a_model_without_a_type_is_byte_pairs);
    tcase_add_test(t, ignored_merges_do_not_make_special_tokens);
    tcase_add_test(t, an_added_token_need_not_be_normal);
    tcase_add_test(t, an_added_token_can_be_the_letter_of_a_byte);
    tcase_add_test(t, an_added_token_can_have_the_byte_of_another);
    tcase_add_test(t, the_longest_added_token_is_found);
    tcase_add_loop_test(t, many_added_tokens_take_little_time, 0, 2);
    tcase_add_test(t, an_exported_vocabulary_opens_again);
    tcase_add_test(t, each_member_has_its_type);
    tcase_add_test(t, an_export_has_what_other_libraries_read);
    suite_add_tcase(suite, t);
    TCase *failures = tcase_create("failures");
    tcase_set_timeout(failures, 600);
    tcase_add_checked_fixture(failures, folder_make, folder_remove);
    tcase_add_test(failures, failing_calls_and_allocations_leak_nothing);
    tcase_add_test(failures, failing_calls_and_allocations_of_an_export_leak_nothing);
    suite_add_tcase(suite, failures);
    return suite;
}
