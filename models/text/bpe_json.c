/* bpe_json.c: reads the byte-level BPE of a tokenizer.json, which the library `tokenizers` writes. Anything in the file that
 * would need other code is refused, because the ids would differ in silence. */
#include <string.h>

#include "bpe_parts.h"
#include "unicode.h"
#include "utf8.h"

typedef struct {
    void *work;                                     /* owns what is needed only while the file is read */
    const char *path;
    const Json *root;
    const Word *text;                               /* of each id */
    bool *raw;                                      /* whether the text is the bytes themselves */
    BpeAdded *added;
    int32_t n, n_vocab, n_added;
} Reader;

/* ---- settings ---------------------------------------------------------------------------------------------------- */

/* The error 'PATH: WHAT: expected EXPECTED, found VALUE'. */
static bool wrong(const Reader *r, const char *what, const char *expected, const Json *found)
{
    bool text = found && found->type == JSON_STRING;
    return ag_set_error("%s: %s: expected %s, found %s", r->path, what, expected,
                        text ? QUOTED_BYTES(found->as.text, found->count) : json_type_name(found));
}

static bool is_type(const Json *object, const char *type)
{
    return json_is(json_get(object, "type"), type);
}

/* Whether a member is absent, null, false, 0 or "". */
static bool is_unset(const Json *object, const char *name)
{
    const Json *value = json_get(object, name);
    double number;
    return !value || value->type == JSON_NULL || (value->type == JSON_BOOL && !value->as.truth) || json_is(value, "") ||
           (json_real(value, &number) && number == 0);
}

static bool is_true(const Json *object, const char *name)
{
    const Json *value = json_get(object, name);
    return value && value->type == JSON_BOOL && value->as.truth;
}

/* The items of a sequence of two; NULL if the value is none. */
static const Json *two_of(const Json *value, const char *name)
{
    const Json *list = is_type(value, "Sequence") ? json_get(value, name) : NULL;
    return list && list->type == JSON_ARRAY && list->count == 2 ? list->as.item : NULL;
}

#define MODERN(digits) "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" digits \
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

/* Finds the rule by which the file splits text into words. */
static bool read_rule(const Reader *r, BpeRule *rule)
{
    const Json *splitter = json_get(r->root, "pre_tokenizer"), *two = two_of(splitter, "pretokenizers");
    const Json *bytes = two ? two + 1 : splitter, *regex = two ? json_get(json_get(two, "pattern"), "Regex") : NULL;
    bool splits = bytes && is_unset(bytes, "use_regex") && json_get(bytes, "use_regex");    /* else ByteLevel does */
    if (!is_type(bytes, "ByteLevel") || !is_unset(bytes, "add_prefix_space"))
        return wrong(r, "pre_tokenizer", "ByteLevel without a prefix space, alone or after Split or Digits",
                     json_get(bytes, "type"));
    if (!two && !splits) *rule = BPE_GPT2;
    else if (two && is_type(two, "Digits") && is_true(two, "individual_digits") && !splits) *rule = BPE_SMOLLM;
    else if (regex && splits && json_is(json_get(two, "behavior"), "Isolated") && is_unset(two, "invert")) {
        if (json_is(regex, MODERN("\\p{N}{1,3}"))) *rule = BPE_LLAMA3;
        else if (json_is(regex, MODERN("\\p{N}"))) *rule = BPE_QWEN2;
        else return wrong(r, "pre_tokenizer", "the regular expression of Llama 3 or Qwen2", regex);
    } else {
        return wrong(r, "pre_tokenizer", "the rule of GPT-2, Llama 3, Qwen2 or SmolLM", json_get(two ? two : bytes, "type"));
    }
    return true;
}

/* A member that is there must be of the type that is read. */
static bool check_member(const Reader *r, const char *name, const char *type, const char *expected)
{
    const Json *member = json_get(r->root, name);
    return is_unset(r->root, name) || is_type(member, type) || wrong(r, name, expected, json_get(member, "type"));
}

/* Truncation would cut texts, padding to a fixed length or a multiple would add ids. Padding to the longest text of a batch
 * changes no text by itself. */
static bool check_lengths(const Reader *r)
{
    const Json *cut = json_get(r->root, "truncation"), *padding = json_get(r->root, "padding");
    if (!is_unset(r->root, "truncation")) return wrong(r, "truncation", "nothing", cut);
    return is_unset(r->root, "padding") ||
           (json_is(json_get(padding, "strategy"), "BatchLongest") && is_unset(padding, "pad_to_multiple_of")) ||
           wrong(r, "padding", "nothing, or BatchLongest without pad_to_multiple_of", padding);
}

static bool check_model(const Reader *r, const Json *model)
{
    static const char *const unset[] = { "dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback" };
    const Json *type = json_get(model, "type");             /* the first files of tokenizers have none */
    if (type ? !json_is(type, "BPE") : !json_get(model, "merges")) return wrong(r, "model", "a byte-level BPE", type);
    for (size_t i = 0; i < sizeof unset / sizeof *unset; i++)
        if (!is_unset(model, unset[i])) return wrong(r, unset[i], "nothing", json_get(model, unset[i]));
    return check_member(r, "normalizer", "NFC", "nothing or NFC") &&
           check_member(r, "decoder", "ByteLevel", "nothing or ByteLevel") && check_lengths(r);
}

/* Finds the token before a text, which the template of a post-processor has. */
static bool read_begin(const Reader *r, const WordTable *tokens, int32_t *begin)
{
    const Json *processor = json_get(r->root, "post_processor"), *two = two_of(processor, "processors");
    if (two && is_type(two, "ByteLevel")) processor = two + 1;
    *begin = -1;
    if (is_unset(r->root, "post_processor") || is_type(processor, "ByteLevel")) return true;
    const Json *parts = is_type(processor, "TemplateProcessing") ? json_get(processor, "single") : NULL;
    uint32_t n = parts && parts->type == JSON_ARRAY ? parts->count : 0;
    const Json *id = n == 2 ? json_get(json_get(parts->as.item, "SpecialToken"), "id") : NULL;
    if (n == 0 || n > 2 || !json_get(&parts->as.item[n - 1], "Sequence") || (n == 2 && (!id || id->type != JSON_STRING)))
        return wrong(r, "post_processor", "ByteLevel or a template of at most one token before the text", processor);
    if (id) *begin = word_table_find(tokens, id->as.text, id->count);
    return !id || *begin >= 0 || wrong(r, "post_processor", "a token of the vocabulary", id);
}

/* ---- tokens and merges ------------------------------------------------------------------------------------------- */

static bool read_added(Reader *r, const Json *item, Word *text)
{
    const Json *content = json_get(item, "content");
    char what[UTF8_QUOTE + 16] = "an added token";
    int64_t id;
    if (!content || content->type != JSON_STRING || content->count == 0) return wrong(r, what, "a text as content", content);
    snprintf(what, sizeof what, "added token %s", QUOTED_BYTES(content->as.text, content->count));
    if (!json_int(json_get(item, "id"), &id) || id < 0 || id >= r->n || !(id < r->n_vocab || !text[id].text) || r->raw[id])
        return wrong(r, what, "the id of this token, or the next id after the vocabulary's", json_get(item, "id"));
    if (id < r->n_vocab && (text[id].size != content->count || memcmp(text[id].text, content->as.text, content->count) != 0))
        return wrong(r, what, "the text that this id has in the vocabulary", content);
    if (!is_unset(item, "lstrip") || !is_unset(item, "rstrip") || !is_unset(item, "single_word"))
        return ag_set_error("%s: %s: expected no lstrip, rstrip and single_word", r->path, what);
    size_t size = content->count;
    char *normal = is_unset(r->root, "normalizer") ? NULL : unicode_nfc(content->as.text, size, &size);
    bool same = !normal || (size == content->count && memcmp(normal, content->as.text, size) == 0);
    ag_free(normal);
    if (!same && is_true(item, "normalized")) return wrong(r, what, "a text that NFC leaves as it is", content);
    text[id] = (Word){ content->as.text, content->count, 0 };
    r->raw[id] = true;
    r->added[r->n_added++] = (BpeAdded){ .id = (int32_t)id, .special = is_true(item, "special"),
                                         .late = is_true(item, "normalized") };
    return true;
}

/* Reads the tokens of the vocabulary and the added ones. Ids have no gaps. */
static bool read_texts(Reader *r, const Json *vocab)
{
    const Json *added = json_get(r->root, "added_tokens");
    uint32_t n = added && added->type == JSON_ARRAY ? added->count : 0;
    if (!vocab) return wrong(r, "vocab", "an object of tokens and ids", vocab);
    const Word *known = vocab_tokens(r->work, r->path, vocab, &r->n_vocab);
    if (!known) return false;
    Word *text = ag_alloc_in(r->work, (size_t)r->n_vocab + n, sizeof *text);
    if (r->n_vocab) memcpy(text, known, (size_t)r->n_vocab * sizeof *text);
    r->text = text;
    r->raw = ag_alloc_in(r->work, (size_t)r->n_vocab + n, sizeof *r->raw);
    r->added = ag_alloc_in(r->work, n, sizeof *r->added);
    r->n = r->n_vocab;
    for (uint32_t i = 0; i < n; i++) {
        int64_t id;
        if (json_int(json_get(&added->as.item[i], "id"), &id) && id == r->n) r->n++;    /* they follow the vocabulary's ids */
        if (!read_added(r, &added->as.item[i], text)) return false;
    }
    return true;
}

/* The id of a byte that is no token: that of unk_token; if the file has none, -1, which leaves the byte out. SmolLM2 has no
 * token for bytes that valid text hardly contains. */
static bool read_unknown(const Reader *r, const Json *model, const WordTable *tokens, int32_t *id)
{
    const Json *unknown = json_get(model, "unk_token");
    bool text = unknown && unknown->type == JSON_STRING;
    *id = text ? word_table_find(tokens, unknown->as.text, unknown->count) : -1;
    if (bpe_missing_byte(tokens) < 0 || !unknown || unknown->type == JSON_NULL) return true;
    if (*id < 0 || *id >= r->n_vocab)
        return wrong(r, "unk_token", "null or a token of the vocabulary, which lacks some bytes", unknown);
    return is_unset(model, "fuse_unk") || wrong(r, "fuse_unk", "nothing", json_get(model, "fuse_unk"));
}

/* A merge is "a b", or ["a", "b"] in newer files. */
static bool read_merges(const Reader *r, const Json *merges, const BpeBytes *of, const WordTable *tokens, BpeMerge *merge)
{
    MergeReader m = { r->path, "the vocabulary", "merge", of, tokens, word_table_new(r->work), 0 };
    for (uint32_t i = 0; i < merges->count; i++) {
        const Json *item = &merges->as.item[i], *two = item->as.item;
        void *work = ag_alloc_in(r->work, 1, 1);
        const char *text = item->type == JSON_STRING ? item->as.text : NULL;
        size_t size = item->count;
        if (item->type == JSON_ARRAY && size == 2 && two[0].type == JSON_STRING && two[1].type == JSON_STRING) {
            char *both = ag_alloc_in(work, (size_t)two[0].count + two[1].count + 2, 1);
            memcpy(both, two[0].as.text, two[0].count);
            both[two[0].count] = ' ';
            memcpy(both + two[0].count + 1, two[1].as.text, two[1].count);
            text = both;
            size = (size_t)two[0].count + two[1].count + 1;
        }
        m.line = i + 1;
        if (!text) return ag_set_error("%s: merge %zu: expected two tokens, found %s", r->path, m.line, json_type_name(item));
        if (!bpe_read_merge(&m, text, size, ag_alloc_in(work, size + 1, 1), &merge[i])) return false;
        ag_free(work);
    }
    return true;
}

KaeruVocab *bpe_parse_json(void *work, const char *name, const Json *root)
{
    Reader reader = { .work = work, .path = name, .root = root }, *r = &reader;
    const Json *model = json_get(r->root, "model"), *merges = json_get(model, "merges");
    BpeRule rule = BPE_GPT2;
    int32_t begin, unknown;
    if (!check_model(r, model) || !read_rule(r, &rule) || !read_texts(r, json_get(model, "vocab"))) return NULL;
    if (!merges || merges->type != JSON_ARRAY) return wrong(r, "merges", "an array", merges), NULL;
    BpeBytes of = bpe_bytes();
    WordTable *tokens = word_table_new(r->work);
    BpeMerge *merge = ag_alloc_in(r->work, merges->count, sizeof *merge);
    if (!bpe_read_tokens(r->work, &of, r->path, r->text, r->raw, r->n, tokens)) return NULL;
    if (!read_merges(r, merges, &of, tokens, merge) || !read_begin(r, tokens, &begin)) return NULL;
    if (!read_unknown(r, model, tokens, &unknown)) return NULL;
    KaeruVocab *v = bpe_new(tokens, merge, (int32_t)merges->count);
    for (int i = 0; i < 256; i++)
        if (v->bpe->of_byte[i] < 0) v->bpe->of_byte[i] = unknown;
    v->bpe->rule = rule;
    v->bpe->begin = begin;
    v->bpe->n_vocab = r->n_vocab;
    v->bpe->nfc = !is_unset(r->root, "normalizer");
    v->bpe->whole_words = is_true(model, "ignore_merges");
    bpe_set_added(v->bpe, r->added, r->n_added);
    return v;
}
