/* vocab_export.c: writes a vocabulary as tokenizer.json and tokenizer_config.json, for the libraries of Hugging Face. */
#include "bpe_parts.h"
#include "file.h"
#include "utf8.h"

static void put_nulls(JsonWriter *w, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) json_put_text(w, names[i], NULL);
}

static void put_byte_level(JsonWriter *w, const char *key)
{
    json_open(w, key, '{');
    json_put_text(w, "type", "ByteLevel");
    json_put_bool(w, "add_prefix_space", false);
    json_put_bool(w, "trim_offsets", true);
    json_put_bool(w, "use_regex", true);
    json_close(w, '}');
}

/* <|endoftext|>, which is found in a text before it is split. */
static void put_added(JsonWriter *w, const Bpe *b)
{
    static const char *const no[] = { "single_word", "lstrip", "rstrip", "normalized" };
    json_open(w, "added_tokens", '[');
    if (b && b->end_of_text >= 0) {
        json_open(w, NULL, '{');
        json_put_int(w, "id", b->end_of_text);
        json_put_text(w, "content", BPE_END_OF_TEXT);
        for (size_t i = 0; i < sizeof no / sizeof *no; i++) json_put_bool(w, no[i], false);
        json_put_bool(w, "special", true);
        json_close(w, '}');
    }
    json_close(w, ']');
}

/* Characters are byte pairs without merges, for which a text is one word. */
static void put_model(JsonWriter *w, const Word *token, int32_t n, const Bpe *b)
{
    static const char *const unset[] = { "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix" };
    static const char *const no[] = { "fuse_unk", "byte_fallback", "ignore_merges" };
    json_open(w, "model", '{');
    json_put_text(w, "type", "BPE");
    put_nulls(w, unset, sizeof unset / sizeof *unset);
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) json_put_bool(w, no[i], false);
    json_open(w, "vocab", '{');
    for (int32_t id = 0; id < n; id++) {
        json_write_name(w, token[id].text, token[id].size);
        json_put_int(w, NULL, id);
    }
    json_close(w, '}');
    json_open(w, "merges", '[');
    for (int32_t i = 0; b && i < b->n_merges; i++) {
        json_open(w, NULL, '[');
        json_write_text(w, token[b->merge[i].left].text, token[b->merge[i].left].size);
        json_write_text(w, token[b->merge[i].right].text, token[b->merge[i].right].size);
        json_close(w, ']');
    }
    json_close(w, ']');
    json_close(w, '}');
}

static const char *tokenizer_text(void *work, const KaeruVocab *v, size_t *size)
{
    static const char *const unset[] = { "truncation", "padding", "normalizer", "post_processor" };
    JsonWriter *w = json_writer(work, 1);
    json_open(w, NULL, '{');
    json_put_text(w, "version", "1.0");
    put_nulls(w, unset, sizeof unset / sizeof *unset);
    put_added(w, v->bpe);
    if (v->bpe) {
        put_byte_level(w, "pre_tokenizer");
        put_byte_level(w, "decoder");
    } else {
        json_put_text(w, "pre_tokenizer", NULL);
        json_open(w, "decoder", '{');
        json_put_text(w, "type", "Fuse");
        json_close(w, '}');
    }
    put_model(w, v->bpe ? bpe_token_texts(work, v) : v->tokens->word, v->tokens->n, v->bpe);
    json_close(w, '}');
    return json_written(w, size);
}

/* Names the class that reads tokenizer.json alone; else config.json's "gpt2" would choose one that needs merges. */
static const char *config_text_of(void *work, const KaeruVocab *v, size_t *size)
{
    static const char *const ends[] = { "bos_token", "eos_token" };
    JsonWriter *w = json_writer(work, 2);
    json_open(w, NULL, '{');
    json_put_text(w, "tokenizer_class", "PreTrainedTokenizerFast");
    json_put_bool(w, "clean_up_tokenization_spaces", false);
    for (size_t i = 0; v->bpe && v->bpe->end_of_text >= 0 && i < sizeof ends / sizeof *ends; i++)
        json_put_text(w, ends[i], BPE_END_OF_TEXT);
    json_close(w, '}');
    return json_written(w, size);
}

bool kaeru_vocab_export(const KaeruVocab *v, const char *tokenizer_path, const char *config_path)
{
    AG_LAYER;
    ag_check_object(__func__, "v", v);
    ag_check_pointer(__func__, "tokenizer_path", tokenizer_path);
    ag_check_pointer(__func__, "config_path", config_path);
    if (strcmp(tokenizer_path, config_path) == 0)
        return ag_set_error("%s: is the path of both files, expected two paths", tokenizer_path);
    if (v->kind != KAERU_CHARS && !(v->kind == KAERU_BPE && bpe_is_gpt2(v->bpe)))
        return ag_set_error("%s: expected a vocabulary of characters, or of byte pairs by the rules of GPT-2 only",
                            tokenizer_path);
    void *work = ag_alloc(1, 1);
    VocabFile tokenizer = { 0 }, config = { 0 };
    tokenizer.text = tokenizer_text(work, v, &tokenizer.size);
    config.text = config_text_of(work, v, &config.size);
    bool good = tokenizer.text && config.text && vocab_replace_both(tokenizer_path, tokenizer, config_path, config);
    ag_free(work);
    return good;
}
