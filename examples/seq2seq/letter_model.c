/* letter_model.c: the three models of the lesson behind one interface, and the words that they learn. */
#include "letter_model.h"

#include <string.h>

#include "common/common.h"
#include "kaeru/autograd.h"

char letter(int32_t id)
{
    return id == STOP ? '.' : id >= LETTER_A && id < VOCAB ? (char)('a' + id - LETTER_A) : '?';
}

static TransformerBatch backwards(Tensor *words)
{
    int64_t n = tensor_dim(words, 0), longest = tensor_dim(words, 1);
    Tensor *target = tensor_ints(SHAPE(n, longest + 2), NULL);
    for (int64_t b = 0; b < n; b++) {
        const int32_t *from = tensor_int_data(words) + b * longest;
        int32_t *to = tensor_mutable_int_data(target) + b * (longest + 2);
        int64_t length = 0;
        while (length < longest && from[length] != PAD) {
            length++;
        }
        *to++ = START;
        for (int64_t i = length; i > 0; i--) {
            *to++ = from[i - 1];
        }
        *to = STOP;
    }
    return transformer_batch_new(words, target, PAD);
}

TransformerBatch random_words(int64_t n, int64_t shortest, int64_t longest)
{
    Tensor *words = tensor_randint(SHAPE(n, longest), LETTER_A, VOCAB);
    for (int64_t b = 0; b < n; b++) {
        for (int64_t i = shortest + ag_random_below(longest - shortest + 1); i < longest; i++) {
            tensor_mutable_int_data(words)[b * longest + i] = PAD;
        }
    }
    return backwards(words);
}

TransformerBatch one_word(const char *text)
{
    Tensor *word = tensor_ints(SHAPE(1, (int64_t)strlen(text)), NULL);
    for (int64_t i = 0; text[i]; i++) {
        tensor_mutable_int_data(word)[i] = LETTER_A + text[i] - 'a';
    }
    return backwards(word);
}

NnScoreKind score_named(const char *name)
{
    static const struct { const char *name; NnScoreKind score; } known[] = {
        { "dot", NN_SCORE_DOT }, { "general", NN_SCORE_GENERAL }, { "additive", NN_SCORE_ADDITIVE } };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(name, known[i].name) == 0) {
            return known[i].score;
        }
    }
    example_usage_error("--score %s: expected dot, general or additive", name);
}

void check_word(const char *text)
{
    size_t n = strlen(text);
    if (n < 2 || n > LONGEST || strspn(text, "abcdefghijklmnopqrstuvwxyz") != n) {
        example_usage_error("--word %s: expected 2 to %d letters from a to z", text, LONGEST);
    }
}

LetterModel letter_model_new(LetterModelKind kind, RecurrentKind cell, NnScoreKind score)
{
    static const char *const names[LETTER_MODELS] = { "fixed vector", "attention", "Transformer" };
    LetterModel m = { .name = names[kind] };
    if (kind == TRANSFORMER) {
        TransformerOptions o = transformer_defaults();
        o.N = 1;
        o.d_model = WIDTH;
        o.d_ff = 4 * WIDTH;
        o.h = 2;
        o.dropout = 0;
        o.max_len = LONGEST + 2;
        m.module = m.transformer = transformer_new(VOCAB, VOCAB, o);
    } else {
        Seq2SeqOptions o = { .cell = cell, .attention = kind == ATTENTION, .score = score, .width = WIDTH,
                             .hidden = WIDTH };
        m.module = m.seq2seq = seq2seq_new(VOCAB, VOCAB, o);
    }
    return m;
}

static Tensor *log_probs(const LetterModel *m, const TransformerBatch *b)
{
    return m->seq2seq ? seq2seq_forward(m->seq2seq, b->src, b->tgt, b->src_mask)
                      : transformer_generator(m->transformer->generator,
                                              transformer_forward(m->transformer, b->src, b->tgt, b->src_mask, b->tgt_mask));
}

Tensor *letter_model_loss(const LetterModel *m, const TransformerBatch *b)
{
    return ag_nll_loss(log_probs(m, b), b->tgt_y, AG_MEAN, PAD);
}

Tensor *letter_model_decode(const LetterModel *m, const TransformerBatch *b)
{
    int64_t most = tensor_dim(b->src, 1) + 2;
    Tensor *ids = m->seq2seq ? seq2seq_greedy_decode(m->seq2seq, b->src, b->src_mask, most, START, STOP)
                             : transformer_greedy_decode(m->transformer, b->src, b->src_mask, most, START, -1);
    if (!ids) {
        example_fail("%s", ag_error());
    }
    return ids;
}

Tensor *letter_model_attention(const LetterModel *m, const TransformerBatch *b)
{
    if (m->transformer) {
        transformer_keep_weights(m->transformer, true);
        log_probs(m, b);
        transformer_keep_weights(m->transformer, false);
        MultiHeadAttention *last = nn_item(TransformerDecoderLayer, m->transformer->decoder->layers, 0)->src_attn;
        return ag_squeeze(ag_mean_dims(last->weights, DIMS(1), false), 0);
    }
    if (!m->seq2seq->score) {
        return NULL;
    }
    m->seq2seq->keep_weights = true;
    log_probs(m, b);
    m->seq2seq->keep_weights = false;
    return ag_squeeze(m->seq2seq->weights, 0);
}
