/* bpe_json.c: reads the BPE, or the WordPiece, of a tokenizer.json, which the library `tokenizers` writes. Anything in the file
 * that would need other code is refused, because the ids would differ in silence. */
#include <string.h>

#include "bpe_parts.h"
#include "utf8.h"

typedef struct {
    void *work;                                     /* owns what is needed only while the file is read */
    const char *path;
    const Json *root;
    const Word *text;                               /* of each id */
    bool *is_added;                                 /* whether the id has an added token */
    bool *raw;                                      /* whether the text is the bytes themselves */
    const BpeBytes *of;                             /* NULL: the texts of all tokens are the bytes themselves */
    BpeAdded *added;
    int32_t n, n_vocab, n_added;
    const BpeRules *rules;
} Reader;

/* ---- settings ---------------------------------------------------------------------------------------------------- */

static bool wrong(const Reader *r, const char *what, const char *expected, const Json *found)
{
    return bpe_wrong(r->path, what, expected, found);
}

/* Checks the types of the parts of the file. A part's own members are checked where it is read. */
static bool check_parts(const Reader *r)
{
    static const JsonMember members[] = {
        { "truncation", JSON_OBJECT, JSON_NULLABLE }, { "padding", JSON_OBJECT, JSON_NULLABLE },
        { "added_tokens", JSON_ARRAY, JSON_OPTIONAL }, { "normalizer", JSON_OBJECT, JSON_NULLABLE },
        { "pre_tokenizer", JSON_OBJECT, JSON_NULLABLE }, { "post_processor", JSON_OBJECT, JSON_NULLABLE },
        { "decoder", JSON_OBJECT, JSON_NULLABLE }, { .name = NULL }
    };
    return json_check(r->path, NULL, r->root, members);
}

/* Truncation would cut texts, padding to a fixed length or a multiple would add ids. Padding to the longest text of a batch
 * changes no text by itself. */
static bool check_lengths(const Reader *r)
{
    static const JsonMember members[] = { { "pad_to_multiple_of", JSON_NUMBER, JSON_NULLABLE }, { .name = NULL } };
    const Json *cut = json_get(r->root, "truncation"), *padding = json_get(r->root, "padding");
    if (!bpe_is_unset(r->root, "truncation")) return wrong(r, "truncation", "nothing", cut);
    if (bpe_is_unset(r->root, "padding")) {
        return true;
    }
    return json_check(r->path, "padding", padding, members) &&
           ((json_is(json_get(padding, "strategy"), "BatchLongest") && bpe_is_unset(padding, "pad_to_multiple_of")) ||
            wrong(r, "padding", "nothing, or BatchLongest without pad_to_multiple_of", padding));
}

/* The same two parts of WordPiece, which leaves them to the caller. */
static bool check_left(const Reader *r)
{
    static const JsonMember cut[] = { { "max_length", JSON_NUMBER, JSON_REQUIRED }, { .name = NULL } };
    static const JsonMember padding[] = { { "pad_id", JSON_NUMBER, JSON_REQUIRED }, { .name = NULL } };
    return (bpe_is_unset(r->root, "truncation") || json_check(r->path, "truncation", json_get(r->root, "truncation"), cut)) &&
           (bpe_is_unset(r->root, "padding") || json_check(r->path, "padding", json_get(r->root, "padding"), padding));
}

static bool check_model(const Reader *r, const Json *model)
{
    static const char *const unset[] = { "dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback" };
    static const JsonMember members[] = {
        { "dropout", JSON_NUMBER, JSON_NULLABLE }, { "continuing_subword_prefix", JSON_STRING, JSON_NULLABLE },
        { "end_of_word_suffix", JSON_STRING, JSON_NULLABLE }, { "byte_fallback", JSON_BOOL, JSON_NULLABLE },
        { "unk_token", JSON_STRING, JSON_NULLABLE }, { "fuse_unk", JSON_BOOL, JSON_NULLABLE },
        { "ignore_merges", JSON_BOOL, JSON_NULLABLE }, { .name = NULL }
    };
    const Json *type = json_get(model, "type");             /* the first files of tokenizers have none */
    if (type ? !json_is(type, "BPE") : !json_get(model, "merges")) return bpe_unsupported(r->path, "model", type, "BPE");
    if (!json_check(r->path, "model BPE", model, members)) {
        return false;
    }
    for (size_t i = 0; i < sizeof unset / sizeof *unset; i++)
        if (!bpe_is_unset(model, unset[i]))
            return ag_set_error("%s: model BPE with %s is not supported", r->path, unset[i]);
    return check_lengths(r);
}

/* ---- tokens and merges ------------------------------------------------------------------------------------------- */

/* Whether the added token is also a token of the vocabulary, where its text stands for other bytes: "É" for the byte 0xC9. */
static bool has_other_bytes(const Reader *r, int64_t id, const Json *content)
{
    char *bytes = ag_alloc_in(r->work, (size_t)content->count + 1, 1);
    size_t n;
    return id < r->n_vocab && r->of && bpe_to_bytes(r->of, content->as.text, content->count, bytes, &n) &&
           (n != content->count || memcmp(bytes, content->as.text, n) != 0);
}

static bool read_added(Reader *r, const Json *item, Word *text)
{
    static const JsonMember members[] = {
        { "single_word", JSON_BOOL, JSON_REQUIRED }, { "lstrip", JSON_BOOL, JSON_REQUIRED },
        { "rstrip", JSON_BOOL, JSON_REQUIRED }, { "normalized", JSON_BOOL, JSON_REQUIRED },
        { "special", JSON_BOOL, JSON_REQUIRED }, { .name = NULL }
    };
    const Json *content = json_get(item, "content");
    char what[UTF8_QUOTE + 16] = "an added token";
    int64_t id;
    if (!content || content->type != JSON_STRING || content->count == 0) return wrong(r, what, "a text as content", content);
    snprintf(what, sizeof what, "added token %s", QUOTED_BYTES(content->as.text, content->count));
    if (!json_int(json_get(item, "id"), &id) || id < 0 || id >= r->n || !(id < r->n_vocab || !text[id].text) ||
        r->is_added[id])
        return wrong(r, what, "the id of this token, or the next id after the vocabulary's", json_get(item, "id"));
    if (id < r->n_vocab && (text[id].size != content->count || memcmp(text[id].text, content->as.text, content->count) != 0))
        return wrong(r, what, "the text that this id has in the vocabulary", content);
    if (!json_check(r->path, what, item, members)) {
        return false;
    }
    if (!bpe_is_unset(item, "lstrip") || !bpe_is_unset(item, "rstrip") || !bpe_is_unset(item, "single_word"))
        return ag_set_error("%s: %s: expected no lstrip, rstrip and single_word", r->path, what);
    enum { MOST_BYTES = 1000 };                             /* so many are read again behind a found token, at most */
    if (content->count > MOST_BYTES)
        return ag_set_error("%s: %s: expected at most %d bytes, found %zu", r->path, what, MOST_BYTES, (size_t)content->count);
    bool late = bpe_is_true(item, "normalized", false);
    const char *found = content->as.text;
    size_t size = content->count;
    char *normal = late ? bpe_normalize(r->rules, &found, &size) : NULL;
    found = ag_strndup_in(r->added, found, size);
    ag_free(normal);
    if (size == 0) return wrong(r, what, "a text that the normalizer does not remove", content);
    text[id] = (Word){ content->as.text, content->count, 0 };
    r->is_added[id] = true;
    r->raw[id] = !has_other_bytes(r, id, content);
    r->added[r->n_added++] = (BpeAdded){ .text = found, .size = size, .id = (int32_t)id, .late = late,
                                         .special = bpe_is_true(item, "special", false), .letters = !r->raw[id] };
    return true;
}

/* Reads the tokens of the vocabulary and the added ones. Ids have no gaps. */
static bool read_texts(Reader *r, const Json *vocab)
{
    const Json *added = json_get(r->root, "added_tokens");
    uint32_t n = added ? added->count : 0;
    if (!vocab) return wrong(r, "vocab", "an object of tokens and ids", vocab);
    const Word *known = vocab_tokens(r->work, r->path, vocab, &r->n_vocab);
    if (!known) return false;
    Word *text = ag_alloc_in(r->work, (size_t)r->n_vocab + n, sizeof *text);
    if (r->n_vocab) memcpy(text, known, (size_t)r->n_vocab * sizeof *text);
    r->text = text;
    r->is_added = ag_alloc_in(r->work, (size_t)r->n_vocab + n, sizeof *r->is_added);
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

/* The id of a byte, or of a character, that is no token: that of unk_token; if the file has none, -1, which leaves it out.
 * SmolLM2 has no token for bytes that valid text hardly contains. */
static bool read_unknown(const Reader *r, const Json *model, const WordTable *tokens, int32_t *id)
{
    const Json *unknown = json_get(model, "unk_token");
    bool text = unknown && unknown->type != JSON_NULL, needed = r->rules->characters || bpe_missing_byte(tokens) >= 0;
    *id = text ? word_table_find(tokens, unknown->as.text, unknown->count) : -1;
    return !needed || !text || (*id >= 0 && *id < r->n_vocab) ||
           wrong(r, "unk_token", "null or a token of the vocabulary, which may lack parts of a text", unknown);
}

/* A merge is "a b", or ["a", "b"] in newer files. */
static bool read_merges(const Reader *r, const Json *merges, const BpeBytes *of, const WordTable *tokens, BpeMerge *merge)
{
    MergeReader m = { r->path, "the vocabulary", "merge", of, tokens, word_table_new(r->work), 0 };
    for (uint32_t i = 0; i < merges->count; i++) {
        const Json *item = &merges->as.item[i], *two = item->as.item;
        void *work = ag_alloc_in(r->work, 1, 1);
        const char *text = item->type == JSON_STRING ? item->as.text : NULL;
        size_t size = item->count, left = 0;
        if (item->type == JSON_ARRAY && size == 2 && two[0].type == JSON_STRING && two[1].type == JSON_STRING) {
            char *both = ag_alloc_in(work, (size_t)two[0].count + two[1].count + 2, 1);
            memcpy(both, two[0].as.text, two[0].count);
            both[two[0].count] = ' ';
            memcpy(both + two[0].count + 1, two[1].as.text, two[1].count);
            text = both;
            left = two[0].count;
            size = (size_t)two[0].count + two[1].count + 1;
        }
        m.line = i + 1;
        if (!text && item->type == JSON_ARRAY && size != 2) {
            return ag_set_error("%s: merge %zu: expected two tokens, found an array of %zu", r->path, m.line, size);
        }
        if (!text) {
            const Json *found = item->type != JSON_ARRAY ? item : two[0].type == JSON_STRING ? &two[1] : &two[0];
            return ag_set_error("%s: merge %zu: expected two tokens, found %s", r->path, m.line, json_type_name(found));
        }
        if (!bpe_read_merge(&m, text, size, left, ag_alloc_in(work, size + 1, 1), &merge[i])) return false;
        ag_free(work);
    }
    return true;
}

KaeruVocab *bpe_parse_json(void *work, KaeruVocabKind kind, const char *name, const Json *root)
{
    const bool pieces = kind == KAERU_WORDPIECE;
    BpeRules rules;
    Reader reader = { .work = work, .path = name, .root = root, .rules = &rules }, *r = &reader;
    const Json *model = json_get(r->root, "model"), *merges = json_get(model, "merges");
    int32_t begin, end, unknown;
    BpeBytes bytes = bpe_bytes();
    if (!check_parts(r) || !(pieces ? wordpiece_check(name, model) && check_left(r) : check_model(r, model))) return NULL;
    if (!bpe_read_rules(name, root, &rules)) return NULL;
    if (pieces && !rules.characters)
        return ag_set_error("%s: model WordPiece with pre_tokenizer ByteLevel is not supported", name), NULL;
    const BpeBytes *of = r->of = rules.characters ? NULL : &bytes;
    if (!read_texts(r, json_get(model, "vocab"))) return NULL;
    if (!pieces && (!merges || merges->type != JSON_ARRAY)) return wrong(r, "merges", "an array", merges), NULL;
    WordTable *tokens = word_table_new(r->work);
    uint32_t n_merges = pieces ? 0 : merges->count;
    BpeMerge *merge = ag_alloc_in(r->work, n_merges, sizeof *merge);
    if (!bpe_read_tokens(r->work, of, r->path, r->text, r->raw, r->n, tokens)) return NULL;
    if (!pieces && !read_merges(r, merges, of, tokens, merge)) return NULL;
    if (!bpe_read_ends(name, root, tokens, &begin, &end)) return NULL;
    if (!read_unknown(r, model, tokens, &unknown)) return NULL;
    KaeruVocab *v = bpe_new(tokens, merge, (int32_t)n_merges);
    v->kind = kind;
    v->bpe->unknown = unknown;
    v->bpe->fuses_unknown = bpe_is_true(model, "fuse_unk", false);
    v->bpe->rules = rules;
    v->bpe->begin = begin;
    v->bpe->end = end;
    v->bpe->n_vocab = r->n_vocab;
    v->bpe->whole_words = bpe_is_true(model, "ignore_merges", false);
    bpe_set_added(v->bpe, r->added, r->n_added);
    if (pieces) {
        wordpiece_begin(v->bpe, model);
    }
    return v;
}
