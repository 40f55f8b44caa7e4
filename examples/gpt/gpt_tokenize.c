/* gpt_tokenize.c: the command tokenize: encodes a text as a file of tokens, with a given or a new vocabulary. */
#include <inttypes.h>
#include <unistd.h>

#include "gpt_commands.h"

static const char *data_path, *vocab, *merges;
enum { USUAL_SIZE = 4096 };
static int64_t size = USUAL_SIZE;
static bool characters, overwrite;

/* The vocabulary of --vocab, or a new one of the text. */
static KaeruVocab *vocab_for(const KaeruText *text)
{
    if (vocab) {
        return vocab_must_open(vocab, merges);
    }
    KaeruVocab *v = characters ? kaeru_vocab_chars(text->bytes, text->size)
                               : kaeru_vocab_bpe(KAERU_BPE, text->bytes, text->size, (int32_t)size);
    if (!v) {
        example_fail("%s", ag_error());
    }
    return v;
}

/* Ends the program if the files to write would replace the text, the vocabulary that a trained model needs, or, without
 * --overwrite, the files of an earlier run. */
static void check_outputs(const char *const *path, int n)
{
    for (int i = 0; i < n; i++) {
        if (kaeru_text_is_same_file(data_path, path[i])) {
            example_fail("--data %s: is the file %s, which would be replaced: expected another folder as --out", data_path,
                         path[i]);
        }
    }
    static const char *const models[] = { LAST_FILE, BEST_FILE };
    for (int i = 0; i < 2; i++) {
        char *model = example_path(models[i]);
        if (access(model, F_OK) == 0) {
            example_fail("--out %s: the model in %s has its vocabulary in this folder: expected another folder",
                         example_out(), model);
        }
        ag_free(model);
    }
    for (int i = 0; i < n && !overwrite; i++) {
        if (access(path[i], F_OK) == 0) {
            example_fail("%s exists: expected --overwrite, or another folder as --out", path[i]);
        }
    }
}

/* How the text is cut: its first tokens with their ids. */
static void show_beginning(const KaeruVocab *v, const KaeruText *text)
{
    enum { BYTES = 1000, SHOWN = 16 };
    size_t bytes = text->size < BYTES ? text->size : BYTES, n, length;
    while (bytes < text->size && ((unsigned char)text->bytes[bytes] & 0xC0) == 0x80) {
        bytes--;                                                        /* whole characters */
    }
    int32_t *ids = kaeru_vocab_encode(v, text->bytes, bytes, KAERU_WITH_SPECIAL, &n);
    if (!ids) {
        example_fail("%s", ag_error());
    }
    say("It begins with");
    for (size_t i = 0; i < n && i < SHOWN; i++) {
        KaeruTextStream out = { .out = stdout };
        const char *token = kaeru_vocab_token(v, ids[i], &length);
        printf(" '");
        for (size_t k = 0; k < length; k++) {
            bool line_end = token[k] == '\n';
            kaeru_text_stream_put(&out, line_end ? "\\n" : token + k, line_end ? 2 : 1);
        }
        kaeru_text_stream_end(&out);
        printf("'=%" PRId32, ids[i]);
    }
    printf("\n");
    ag_free(ids);
}

int gpt_tokenize(int argc, char **argv)
{
    const NnField options[] = {
        NN_TEXT_OPTION("data", "FILE", data_path, "text in UTF-8, in which <|endoftext|> ends a document"),
        NN_TEXT_OPTION("vocab", "FILE", vocab, "vocab.json of the vocabulary to use; without: a new vocabulary"),
        NN_TEXT_OPTION("merges", "FILE", merges, "merges.txt; without: a vocabulary of characters"),
        NN_OPTION("size", size, 257, INT32_MAX, "most tokens of a new vocabulary"),
        NN_FLAG_OPTION("characters", characters, "a new vocabulary of the text's characters instead of byte pairs"),
        NN_FLAG_OPTION("overwrite", overwrite, "replace the files of an earlier run in the output folder"),
        NN_FIELDS_END
    };
    example_begin(argc, argv, &(Program){ "gpt tokenize",
        "Shows how a text becomes tokens. Encodes it as gpt.tokens in the output folder, for gpt train --data, and\n"
        "saves the vocabulary as " VOCAB_FILE " and " MERGES_FILE ", in GPT-2's format. A new vocabulary consists of\n"
        "the byte pairs that are most frequent in the text.", options });
    if (!data_path) {
        example_usage_error("expected --data FILE");
    }
    if (merges && !vocab) {
        example_usage_error("--merges needs --vocab");
    }
    if (vocab && (characters || size != USUAL_SIZE)) {
        example_usage_error("--vocab is a whole vocabulary: expected no --size and no --characters");
    }
    if (characters && size != USUAL_SIZE) {
        example_usage_error("--characters takes all characters of the text: expected no --size");
    }
    KaeruText text;
    if (!kaeru_text_open(&text, data_path)) {
        example_fail("%s", ag_error());
    }
    static const char *const names[] = { TOKENS_FILE, VOCAB_FILE, MERGES_FILE };
    enum { TOKENS, VOCAB, MERGES, FILES };
    char *path[FILES], *new[FILES];
    for (int i = 0; i < FILES; i++) {
        path[i] = example_path(names[i]);
    }
    check_outputs((const char *const *)path, FILES);
    KaeruVocab *v = vocab_for(&text);
    FileGroup g = file_group_begin(example_out(), names, FILES);
    for (int i = 0; i < FILES; i++) {
        new[i] = file_group_path(&g, i);
    }
    int64_t count;
    if (!lm_tokenize(data_path, v, new[TOKENS], &count) || !kaeru_vocab_save(v, new[VOCAB], new[MERGES])) {
        file_group_fail(&g);
    }
    file_group_replace(&g);
    say("%zu bytes are %" PRId64 " tokens, vocabulary of %d\n", text.size, count, (int)kaeru_vocab_size(v));
    show_beginning(v, &text);
    bool bpe = kaeru_vocab_kind(v) == KAERU_BPE;
    say("tokens:  %s\nvocabulary: %s%s%s\n", path[TOKENS], path[VOCAB], bpe ? ", " : "", bpe ? path[MERGES] : "");
    for (int i = 0; i < FILES; i++) {
        ag_free(path[i]);
        ag_free(new[i]);
    }
    ag_free(v);
    kaeru_text_close(&text);
    return example_end();
}
