/* bpe_rules.c: reads what a tokenizer.json does with a text before and after its byte pairs: its normalizer, pre-tokenizer,
 * post-processor and decoder. A part that would need other code is refused by its name, because ids would differ in silence. */
#include <string.h>

#include "bpe_parts.h"
#include "utf8.h"

typedef struct { const char *path; BpeRules *rules; bool bytes; } Reader;       /* bytes: a ByteLevel was read, the last part */

/* ---- values ------------------------------------------------------------------------------------------------------ */

bool bpe_wrong(const char *path, const char *what, const char *expected, const Json *found)
{
    bool text = found && found->type == JSON_STRING;
    return ag_set_error("%s: %s: expected %s, found %s", path, what, expected,
                        text ? QUOTED_BYTES(found->as.text, found->count) : json_type_name(found));
}

bool bpe_unsupported(const char *path, const char *part, const Json *type, const char *expected)
{
    char name[UTF8_QUOTE];
    if (!type || type->type != JSON_STRING || type->count == 0) return bpe_wrong(path, part, expected, type);
    utf8_quote(type->as.text, type->count, name);
    return ag_set_error("%s: %s %.*s is not supported: expected %s", path, part, (int)strlen(name) - 2, name + 1, expected);
}

bool bpe_is_unset(const Json *object, const char *name)
{
    const Json *value = json_get(object, name);
    double number;
    return !value || value->type == JSON_NULL || (value->type == JSON_BOOL && !value->as.truth) || json_is(value, "") ||
           (json_real(value, &number) && number == 0);
}

static bool is_type(const Json *object, const char *type)
{
    return json_is(json_get(object, "type"), type);
}

bool bpe_is_true(const Json *object, const char *name, bool usual)
{
    bool value = usual;
    json_bool(json_get(object, name), &value);
    return value;
}

/* Checks a ByteLevel, which is "pre_tokenizer ByteLevel", or of another part. */
static bool check_bytes(const char *path, const char *what, const Json *part)
{
    static const JsonMember members[] = {
        { "add_prefix_space", JSON_BOOL, JSON_REQUIRED }, { "trim_offsets", JSON_BOOL, JSON_REQUIRED },
        { "use_regex", JSON_BOOL, JSON_OPTIONAL }, { .name = NULL }
    };
    return json_check(path, what, part, members);
}

/* Calls `read` for each item of a Sequence, whose list has that name, or for the value alone. */
static bool each_part(Reader *r, const char *what, const Json *value, const char *list,
                      bool (*read)(Reader *r, const Json *part))
{
    if (!is_type(value, "Sequence")) return read(r, value);
    const Json *items = json_get(value, list);
    if (!items || items->type != JSON_ARRAY) return bpe_wrong(r->path, what, "an array as parts of the Sequence", items);
    for (uint32_t i = 0; i < items->count; i++)
        if (!read(r, &items->as.item[i])) return false;
    return true;
}

/* ---- the normalizer ---------------------------------------------------------------------------------------------- */

static bool add_normal(Reader *r, BpeNormal rule)
{
    BpeRules *rules = r->rules;
    if (rules->n_normal == BPE_RULES) return ag_set_error("%s: normalizer: expected at most %d parts", r->path, BPE_RULES);
    rules->normal[rules->n_normal++] = rule;
    return true;
}

/* BertNormalizer; strip_accents null: if it makes small letters. */
static bool read_bert(Reader *r, const Json *part)
{
    static const JsonMember members[] = {
        { "clean_text", JSON_BOOL, JSON_REQUIRED }, { "handle_chinese_chars", JSON_BOOL, JSON_REQUIRED },
        { "strip_accents", JSON_BOOL, JSON_NULLABLE }, { "lowercase", JSON_BOOL, JSON_REQUIRED }, { .name = NULL }
    };
    bool lower = bpe_is_true(part, "lowercase", true), strip = bpe_is_true(part, "strip_accents", lower);
    return json_check(r->path, "normalizer BertNormalizer", part, members) &&
           (!bpe_is_true(part, "clean_text", true) || add_normal(r, BPE_CLEAN)) &&
           (!bpe_is_true(part, "handle_chinese_chars", true) || add_normal(r, BPE_IDEOGRAPHS)) &&
           (!strip || (add_normal(r, BPE_NFD) && add_normal(r, BPE_NO_ACCENTS))) && (!lower || add_normal(r, BPE_LOWER_CASE));
}

static bool read_normal(Reader *r, const Json *part)
{
    static const char *const names[] = { "NFC", "NFD", "NFKC", "NFKD", "Lowercase" };          /* by BpeNormal */
    if (is_type(part, "BertNormalizer")) {
        return read_bert(r, part);
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_type(part, names[i])) return add_normal(r, (BpeNormal)i);
    if (!is_type(part, "Strip"))
        return bpe_unsupported(r->path, "normalizer", json_get(part, "type"),
                               "NFC, NFD, NFKC, NFKD, Lowercase, Strip or BertNormalizer");
    static const JsonMember members[] = {
        { "strip_left", JSON_BOOL, JSON_REQUIRED }, { "strip_right", JSON_BOOL, JSON_REQUIRED }, { .name = NULL }
    };
    return json_check(r->path, "normalizer Strip", part, members) &&
           (!bpe_is_true(part, "strip_left", true) || add_normal(r, BPE_STRIP_LEFT)) &&
           (!bpe_is_true(part, "strip_right", true) || add_normal(r, BPE_STRIP_RIGHT));
}

/* ---- the pre-tokenizer ------------------------------------------------------------------------------------------- */

#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define MODERN(digits) "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" digits \
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

static bool add_split(Reader *r, BpeSplit rule)
{
    BpeRules *rules = r->rules;
    if (rules->n_split == BPE_RULES) return ag_set_error("%s: pre_tokenizer: expected at most %d parts", r->path, BPE_RULES);
    rules->split[rules->n_split++] = rule;
    return true;
}

static bool read_regex(Reader *r, const Json *part)
{
    static const JsonMember members[] = { { "invert", JSON_BOOL, JSON_REQUIRED }, { .name = NULL } };
    if (!json_check(r->path, "pre_tokenizer Split", part, members)) {
        return false;
    }
    const Json *regex = json_get(json_get(part, "pattern"), "Regex"), *behavior = json_get(part, "behavior");
    if (!bpe_is_unset(part, "invert")) return ag_set_error("%s: pre_tokenizer Split with invert is not supported", r->path);
    if (!json_is(behavior, "Isolated")) return bpe_wrong(r->path, "behavior of pre_tokenizer Split", "\"Isolated\"", behavior);
    if (json_is(regex, GPT2)) return add_split(r, BPE_GPT2);
    if (json_is(regex, MODERN("\\p{N}{1,3}"))) return add_split(r, BPE_LLAMA3);
    if (json_is(regex, MODERN("\\p{N}"))) return add_split(r, BPE_QWEN2);
    return bpe_wrong(r->path, "pattern of pre_tokenizer Split", "the regular expression of GPT-2, Llama 3 or Qwen2", regex);
}

static bool read_digits(Reader *r, const Json *part)
{
    static const JsonMember members[] = { { "individual_digits", JSON_BOOL, JSON_REQUIRED }, { .name = NULL } };
    return json_check(r->path, "pre_tokenizer Digits", part, members) &&
           add_split(r, bpe_is_true(part, "individual_digits", false) ? BPE_DIGITS : BPE_NUMBERS);
}

static bool read_split(Reader *r, const Json *part)
{
    if (r->bytes) return ag_set_error("%s: pre_tokenizer: expected ByteLevel as the last part of a Sequence", r->path);
    r->bytes = is_type(part, "ByteLevel");
    if (r->bytes)
        return check_bytes(r->path, "pre_tokenizer ByteLevel", part) &&
               (!bpe_is_true(part, "add_prefix_space", true) || add_split(r, BPE_PREFIX_SPACE)) &&
               (!bpe_is_true(part, "use_regex", true) || add_split(r, BPE_GPT2));
    if (is_type(part, "Split")) return read_regex(r, part);
    if (is_type(part, "Digits")) return read_digits(r, part);
    if (is_type(part, "Whitespace")) return add_split(r, BPE_WORD_CHARACTERS);
    if (is_type(part, "WhitespaceSplit")) return add_split(r, BPE_NO_SPACE);
    if (is_type(part, "BertPreTokenizer")) return add_split(r, BPE_NO_SPACE) && add_split(r, BPE_PUNCTUATION);
    return bpe_unsupported(r->path, "pre_tokenizer", json_get(part, "type"),
                           "ByteLevel, Split, Digits, Whitespace, WhitespaceSplit or BertPreTokenizer");
}

/* ---- the decoder ------------------------------------------------------------------------------------------------- */

/* WordPiece's decoder, with the prefix of the model. */
static bool read_joined(const Reader *r, const Json *decoder, const Json *model)
{
    static const JsonMember members[] = {
        { "prefix", JSON_STRING, JSON_REQUIRED }, { "cleanup", JSON_BOOL, JSON_REQUIRED }, { .name = NULL }
    };
    const Json *prefix = json_get(decoder, "prefix"), *other = json_get(model, "continuing_subword_prefix");
    if (!json_check(r->path, "decoder WordPiece", decoder, members)) {
        return false;
    }
    if (!other || other->type != JSON_STRING || other->count != prefix->count ||
        memcmp(other->as.text, prefix->as.text, prefix->count) != 0) {
        return bpe_wrong(r->path, "decoder WordPiece", "the model's continuing_subword_prefix as prefix", prefix);
    }
    return r->rules->spaced = r->rules->joined = true;
}

/* Tokens of bytes need a ByteLevel; without a decoder, `tokenizers` puts a space between two tokens. */
static bool read_decoder(const Reader *r, const Json *root)
{
    const Json *decoder = json_get(root, "decoder"), *type = json_get(decoder, "type");
    r->rules->spaced = r->rules->characters && bpe_is_unset(root, "decoder");
    if (bpe_is_unset(root, "decoder")) return true;
    if (json_is(type, "ByteLevel")) return check_bytes(r->path, "decoder ByteLevel", decoder);
    if (r->rules->characters && json_is(type, "Fuse")) return true;
    if (is_type(json_get(root, "model"), "WordPiece") && json_is(type, "WordPiece"))
        return read_joined(r, decoder, json_get(root, "model"));
    return bpe_unsupported(r->path, "decoder", type, r->rules->characters ? "ByteLevel, Fuse or none" : "ByteLevel or none");
}

bool bpe_read_rules(const char *path, const Json *root, BpeRules *rules)
{
    Reader reader = { .path = path, .rules = rules }, *r = &reader;
    *rules = (BpeRules){ .n_normal = 0 };
    if (!bpe_is_unset(root, "normalizer") &&
        !each_part(r, "normalizer", json_get(root, "normalizer"), "normalizers", read_normal)) return false;
    if (!bpe_is_unset(root, "pre_tokenizer") &&
        !each_part(r, "pre_tokenizer", json_get(root, "pre_tokenizer"), "pretokenizers", read_split)) return false;
    rules->characters = !r->bytes;
    return read_decoder(r, root);
}

/* ---- the post-processor ------------------------------------------------------------------------------------------ */

typedef struct { const char *path; const WordTable *tokens; int32_t *begin, *end; } Ends;

#define ENDS "at most one token before the text and one behind it"

/* Reads a token's id, which must be that of its text. */
static bool read_end(const Ends *e, const Json *text, const Json *id, int32_t *out)
{
    int64_t number;
    int32_t found = text && text->type == JSON_STRING ? word_table_find(e->tokens, text->as.text, text->count) : -1;
    if (found < 0) return bpe_wrong(e->path, "post_processor", "a token of the vocabulary", text);
    if (!json_int(id, &number) || number != found)
        return bpe_wrong(e->path, "post_processor", "the id that the token has in the vocabulary", id);
    *out = found;
    return true;
}

static bool read_template(const Ends *e, const Json *processor)
{
    static const char what[] = "post_processor TemplateProcessing";
    static const JsonMember members[] = {
        { "single", JSON_ARRAY, JSON_REQUIRED }, { "special_tokens", JSON_OBJECT, JSON_REQUIRED }, { .name = NULL }
    };
    static const JsonMember token_members[] = {
        { "id", JSON_STRING, JSON_REQUIRED }, { "ids", JSON_ARRAY, JSON_REQUIRED }, { "tokens", JSON_ARRAY, JSON_REQUIRED },
        { .name = NULL }
    };
    if (!json_check(e->path, what, processor, members)) {
        return false;
    }
    const Json *parts = json_get(processor, "single");
    bool text = false;
    for (uint32_t i = 0; i < parts->count; i++) {
        const Json *part = &parts->as.item[i], *name = json_get(json_get(part, "SpecialToken"), "id");
        const Json *sequence = json_get(part, "Sequence");
        int32_t *to = text ? e->end : e->begin;
        if (sequence && !text) {
            if (!json_is(json_get(sequence, "id"), "A")) {
                return bpe_wrong(e->path, what, "a Sequence with the id \"A\"", json_get(sequence, "id"));
            }
            text = true;
            continue;
        }
        if (!name || name->type != JSON_STRING || *to >= 0) {
            text = false;
            break;
        }
        const Json *special = json_get(json_get(processor, "special_tokens"), name->as.text);
        if (special && !json_check(e->path, what, special, token_members)) {
            return false;
        }
        const Json *ids = json_get(special, "ids"), *tokens = json_get(special, "tokens");
        bool one = special && ids->count == 1 && tokens->count == 1;
        if (!one) return bpe_wrong(e->path, what, "a special token of one id", special);
        if (!read_end(e, tokens->as.item, ids->as.item, to)) return false;
    }
    return text || ag_set_error("%s: %s: expected the text once, " ENDS, e->path, what);
}

/* BertProcessing and RobertaProcessing: "cls" and "sep" are [text, id]. */
static bool read_pair(const Ends *e, const Json *pair, int32_t *out)
{
    if (!pair || pair->type != JSON_ARRAY || pair->count != 2)
        return bpe_wrong(e->path, "post_processor", "a token and its id", pair);
    return read_end(e, &pair->as.item[0], &pair->as.item[1], out);
}

static bool read_processor(const Ends *e, const Json *processor)
{
    if (is_type(processor, "ByteLevel")) return check_bytes(e->path, "post_processor ByteLevel", processor);
    bool template = is_type(processor, "TemplateProcessing");
    if (!template && !is_type(processor, "BertProcessing") && !is_type(processor, "RobertaProcessing"))
        return bpe_unsupported(e->path, "post_processor", json_get(processor, "type"),
                               "ByteLevel, TemplateProcessing, BertProcessing or RobertaProcessing");
    if (*e->begin >= 0 || *e->end >= 0) return ag_set_error("%s: post_processor: expected " ENDS, e->path);
    if (template) return read_template(e, processor);
    return read_pair(e, json_get(processor, "cls"), e->begin) && read_pair(e, json_get(processor, "sep"), e->end);
}

bool bpe_read_ends(const char *path, const Json *root, const WordTable *tokens, int32_t *begin, int32_t *end)
{
    const Ends e = { path, tokens, begin, end };
    const Json *processor = json_get(root, "post_processor"), *list = json_get(processor, "processors");
    *begin = *end = -1;
    if (bpe_is_unset(root, "post_processor")) return true;
    if (!is_type(processor, "Sequence")) return read_processor(&e, processor);
    if (!list || list->type != JSON_ARRAY)
        return bpe_wrong(path, "post_processor", "an array as parts of the Sequence", list);
    for (uint32_t i = 0; i < list->count; i++)
        if (!read_processor(&e, &list->as.item[i])) return false;
    return true;
}
