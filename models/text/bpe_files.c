/* bpe_files.c: reads and writes a byte-pair vocabulary as GPT-2's vocab.json and merges.txt. */
#include <string.h>

#include "bpe_parts.h"
#include "file.h"
#include "utf8.h"

static const char version[] = "#version: 0.2\n";

/* ---- bytes as characters ----------------------------------------------------------------------------------------- */

/* Whether the byte is a printable character of Latin-1. Such a byte stands for itself in the files. */
static bool is_printable(int byte)
{
    return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

BpeBytes bpe_bytes(void)
{
    BpeBytes b;
    uint32_t next = 256;
    for (int i = 0; i < BPE_CODES; i++) b.byte[i] = -1;
    for (int i = 0; i < 256; i++) {
        b.code[i] = is_printable(i) ? (uint32_t)i : next++;
        b.byte[b.code[i]] = (int16_t)i;
    }
    return b;
}

bool bpe_to_bytes(const BpeBytes *of, const char *text, size_t size, char *bytes, size_t *n)
{
    *n = 0;
    for (size_t i = 0; i < size;) {
        uint32_t code = BPE_CODES;
        int length = utf8_decode(text + i, size - i, &code);
        if (!length || code >= BPE_CODES || of->byte[code] < 0) return false;
        bytes[(*n)++] = (char)of->byte[code];
        i += (size_t)length;
    }
    return true;
}

/* Converts a token's bytes to its text, owned by `owner`. */
static Word to_text(void *owner, const BpeBytes *of, Word token)
{
    char *text = ag_alloc_in(owner, 2 * token.size + 1, 1), out[4];
    size_t n = 0;
    for (size_t i = 0; i < token.size; i++) {
        size_t length = (size_t)utf8_encode(of->code[(unsigned char)token.text[i]], out);
        memcpy(text + n, out, length);
        n += length;
    }
    return (Word){ text, n, 0 };
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static bool same_word(const Word *a, const Word *b)
{
    return a->size == b->size && memcmp(a->text, b->text, a->size) == 0;
}

/* Makes the tokens whose texts stand for bytes the ones that are found, and those that are `raw` if no other one has the same
 * bytes. False with ag_error() if a text is there twice. */
static bool enter_tokens(const char *path, const Word *text, const bool *raw, int32_t n, WordTable *tokens)
{
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t id = 0; id < n; id++) {
            if ((raw && raw[id]) != (pass == 1)) continue;
            int32_t found = word_table_enter(tokens, id);
            /* of these bytes: at most a token that stands for them, and one that has them as its text */
            if (found != id && (same_word(&text[found], &text[id]) || tokens->word[found].count > 2))
                return ag_set_error("%s: token %s: expected each token once", path,
                                    QUOTED_BYTES(text[id].text, text[id].size));
        }
    }
    return true;
}

bool bpe_read_tokens(void *work, const BpeBytes *of, const char *path, const Word *text, const bool *raw, int32_t n,
                     WordTable *tokens)
{
    for (int32_t id = 0; id < n; id++) {
        char *bytes = ag_alloc_in(work, text[id].size + 1, 1);
        size_t size = text[id].size;
        if (!of || (raw && raw[id])) memcpy(bytes, text[id].text, size);
        else if (!bpe_to_bytes(of, text[id].text, text[id].size, bytes, &size)) size = 0;
        if (size == 0)
            return ag_set_error("%s: token %s: expected %s", path, QUOTED_BYTES(text[id].text, text[id].size),
                                of ? "characters that stand for bytes, as in GPT-2's files" : "characters");
        word_table_append(tokens, bytes, size);
    }
    return enter_tokens(path, text, raw, n, tokens);
}

int bpe_missing_byte(const WordTable *tokens)
{
    int byte = 0;
    while (byte < 256 && word_table_find(tokens, &(char){ (char)byte }, 1) >= 0) byte++;
    return byte < 256 ? byte : -1;
}

/* Finds the id of a token given as text, and writes its n bytes to `bytes`. */
static bool find_token(const MergeReader *r, const char *text, size_t size, char *bytes, size_t *n, int32_t *id)
{
    bool good = true;
    *n = size;
    if (r->bytes) good = bpe_to_bytes(r->bytes, text, size, bytes, n);
    else memcpy(bytes, text, size);
    *id = good ? word_table_find(r->tokens, bytes, *n) : -1;
    return *id >= 0 || ag_set_error("%s: %s %zu: token %s is not in %s", r->path, r->unit, r->line,
                                    QUOTED_BYTES(text, size), r->vocab_path);
}

bool bpe_read_merge(const MergeReader *r, const char *text, size_t size, size_t left, char *bytes, BpeMerge *merge)
{
    const char *space = left ? NULL : memchr(text, ' ', size);
    size_t n, more;
    if (space && !memchr(space + 1, ' ', size - (size_t)(space + 1 - text))) left = (size_t)(space - text);
    if (left == 0 || left + 1 >= size)
        return ag_set_error("%s: %s %zu: expected two tokens and one space between them, found %s", r->path, r->unit, r->line,
                            QUOTED_BYTES(text, size));
    if (!find_token(r, text, left, bytes, &n, &merge->left)) return false;
    if (!find_token(r, text + left + 1, size - left - 1, bytes + n, &more, &merge->right)) return false;
    merge->result = word_table_find(r->tokens, bytes, n + more);
    if (merge->result < 0)
        return ag_set_error("%s: %s %zu: merging %s makes a token that is not in %s", r->path, r->unit, r->line,
                            QUOTED_BYTES(text, size), r->vocab_path);
    int32_t known = r->pairs->n;
    return word_table_add(r->pairs, (const char *)merge, 2 * sizeof(int32_t)) == known ||
           ag_set_error("%s: %s %zu: expected each merge once, found %s again", r->path, r->unit, r->line,
                        QUOTED_BYTES(text, size));
}

/* Reads one merge per line. */
static bool read_merges(MergeReader *r, void *work, const char *text, size_t size, BpeMerge *merge)
{
    char *bytes = ag_alloc_in(work, size + 1, 1);
    for (size_t at = utf8_mark(text, size), length; at < size; at += length + 1) {
        const char *end = memchr(text + at, '\n', size - at);
        length = end ? (size_t)(end - text) - at : size - at;
        size_t kept = length > 0 && text[at + length - 1] == '\r' ? length - 1 : length;
        r->line++;
        if (r->line == 1 && kept >= 8 && memcmp(text + at, "#version", 8) == 0) continue;
        if (!bpe_read_merge(r, text + at, kept, 0, bytes, &merge[r->pairs->n])) return false;
    }
    return true;
}

KaeruVocab *bpe_parse(void *work, const char *name, const Json *root, VocabFile merges)
{
    BpeBytes of = bpe_bytes();
    int32_t n;
    const Word *text = vocab_tokens(work, name, root, &n);
    WordTable *tokens = word_table_new(work);
    if (!text || !bpe_read_tokens(work, &of, name, text, NULL, n, tokens)) return NULL;
    int missing = bpe_missing_byte(tokens);
    if (missing >= 0) {
        ag_set_error("%s: expected a token for each byte, found none for byte 0x%02X", name, missing);
        return NULL;
    }
    BpeMerge *merge = ag_alloc_in(work, merges.size / 4 + 1, sizeof *merge);        /* a merge's line has at least 4 bytes */
    MergeReader r = { merges.name, name, "line", &of, tokens, word_table_new(work), 0 };
    if (!read_merges(&r, work, merges.text, merges.size, merge)) return NULL;
    size_t n_merges = (size_t)r.pairs->n;
    return bpe_new(tokens, ag_resize(merge, n_merges, n_merges, sizeof *merge), r.pairs->n);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

Word *bpe_token_texts(void *work, const KaeruVocab *v)
{
    BpeBytes of = bpe_bytes();
    Word *token = ag_alloc_in(work, (size_t)v->tokens->n, sizeof *token);
    for (int32_t id = 0; id < v->tokens->n; id++) token[id] = to_text(work, &of, v->tokens->word[id]);
    return token;
}

bool bpe_is_gpt2(const Bpe *b)
{
    const BpeRules *r = &b->rules;
    bool ends = b->n_added == (b->end_of_text >= 0) &&
                (b->n_added == 0 || (b->added->id == b->end_of_text && b->added->special));
    bool words = r->n_split == 1 && r->split[0] == BPE_GPT2 && r->n_normal == 0 && !r->characters;
    return ends && words && b->begin < 0 && b->end < 0 && !b->whole_words && bpe_missing_byte(b->tokens) < 0;
}

bool bpe_texts(void *work, const char *name, const KaeruVocab *v, VocabFile *vocab, VocabFile *merges)
{
    const Bpe *b = v->bpe;
    if (!bpe_is_gpt2(b))
        return ag_set_error("%s: expected a vocabulary by the rules of GPT-2 only, which its two files can hold", name);
    const Word *token = bpe_token_texts(work, v);
    vocab->text = vocab_text(work, token, v->tokens->n, &vocab->size);
    merges->size = strlen(version);
    for (int32_t i = 0; i < b->n_merges; i++)
        merges->size += token[b->merge[i].left].size + token[b->merge[i].right].size + 2;
    char *lines = ag_alloc_in(work, merges->size + 1, 1), *p = lines + sprintf(lines, "%s", version);
    for (int32_t i = 0; i < b->n_merges; i++)
        p += sprintf(p, "%s %s\n", token[b->merge[i].left].text, token[b->merge[i].right].text);
    merges->text = lines;
    return vocab->text != NULL;
}
