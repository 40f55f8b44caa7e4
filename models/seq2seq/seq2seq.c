/* seq2seq.c: recurrent encoder and decoder, with a fixed vector between them or with attention.
 *
 *     x_1    x_2           x_N          y_0           y_(M-1)       words of input
 *      |      |             |            |               |
 *      v      v             v            v               v
 *     s_1 -> s_2 -> ... -> s_N = h_0 -> h_1 -> ... ---> h_M         states of the encoder, states of the decoder
 *                                        |               |
 *                                        v               v
 *                                       y_1             y_M         words of output
 *
 * Without attention, the decoder knows the source only by s_N. With attention, the step from h_i to h_(i+1) also reads the
 * context vector
 *     a_i(j) = exp(score(s_j, h_i)) / sum over j' of exp(score(s_j', h_i))
 *     c_i    = sum over j of a_i(j) s_j
 * next to the word y_i. The word y_(i+1) is predicted from h_(i+1). */
#include "arguments.h"
#include "kaeru/autograd.h"
#include "kaeru/more_ops.h"
#include "kaeru/seq2seq.h"
#include "decoding.h"

Seq2SeqOptions seq2seq_defaults(void)
{
    return (Seq2SeqOptions){ .cell = NN_GRU, .attention = true, .score = NN_SCORE_DOT, .width = 256, .hidden = 256 };
}

Seq2Seq *seq2seq_new(int64_t src_vocab, int64_t tgt_vocab, Seq2SeqOptions o)
{
    AG_LAYER;
    if (src_vocab < 1 || tgt_vocab < 1 || o.width < 1 || o.hidden < 1)
        ag_usage_error(__func__, "vocabularies of %lld and %lld words, width %lld, hidden %lld: each must be 1 or " "more",
                       (long long)src_vocab, (long long)tgt_vocab, (long long)o.width, (long long)o.hidden);
    if (!(o.dropout >= 0 && o.dropout < 1)) ag_usage_error(__func__, "dropout is %g, expected 0 to below 1", o.dropout);
    Seq2Seq *m = nn_new(Seq2Seq);
    nn_child(m, src_embed, nn_embedding_new(src_vocab, o.width));
    nn_child(m, tgt_embed, nn_embedding_new(tgt_vocab, o.width));
    nn_child(m, encoder, nn_recurrent_new(o.cell, o.width, o.hidden));
    nn_child(m, decoder, nn_recurrent_new(o.cell, o.attention ? o.width + o.hidden : o.width, o.hidden));
    if (o.attention) nn_child(m, score, nn_score_new(o.score, o.hidden, o.hidden, o.hidden));
    nn_child(m, dropout, nn_dropout_new(o.dropout));
    nn_child(m, generator, transformer_generator_new(o.hidden, tgt_vocab));
    return m;
}

/* Checks the shapes of src and, unless it is NULL, tgt. */
static void check_ids(const char *what, Tensor *src, Tensor *tgt)
{
    check_alive(what, "src", src);
    if (tgt) check_alive(what, "tgt", tgt);
    bool good = tensor_ndim(src) == 2 && tensor_dim(src, 1) > 0;
    if (!tgt && !good) ag_usage_error(what, "src %s, expected (B,S) with S of 1 or more", ag_shape_string(tensor_shape(src)));
    if (tgt && !(good && tensor_ndim(tgt) == 2 && tensor_dim(tgt, 0) == tensor_dim(src, 0) && tensor_dim(tgt, 1) > 0))
        ag_usage_error(what, "src %s and tgt %s, expected (B,S) and (B,T) with S and T of 1 or more",
                       ag_shape_string(tensor_shape(src)), ag_shape_string(tensor_shape(tgt)));
}

/* ---- the encoder ------------------------------------------------------------------------------------------------- */

/* The encoder's output: all states s_j (B,S,H), and the last state of each sentence. */
typedef struct { Tensor *states, *mask; RecurrentState last; } Source;

static Source read_source(Seq2Seq *m, Tensor *src, Tensor *src_mask)
{
    Source s = { .mask = src_mask };
    s.states = nn_recurrent(m->encoder, nn_dropout(m->dropout, nn_embedding(m->src_embed, src)), src_mask, &s.last);
    return s;
}

/* ---- the decoder ------------------------------------------------------------------------------------------------- */

/* c_i (B,H) for the state h_i (B,H). */
static Tensor *context(Seq2Seq *m, const Source *s, Tensor *h, Tensor **weights)
{
    Tensor *scores = nn_score(m->score, ag_unsqueeze(h, 1), s->states);             /* (B,1,S) */
    *weights = ag_masked_softmax(scores, s->mask, 1);
    return ag_squeeze(ag_matmul(*weights, s->states), 1);
}

/* From h_i to h_(i+1): word (B,width) is the embedding of y_i. */
static Tensor *decoder_step(Seq2Seq *m, const Source *s, Tensor *word, RecurrentState *state, Tensor **weights)
{
    Tensor *x = m->score ? ag_concat((Tensor *[]){ word, context(m, s, state->h, weights) }, 2, 1) : word;
    return nn_recurrent_step(m->decoder, x, state);
}

Tensor *seq2seq_forward(Seq2Seq *m, Tensor *src, Tensor *tgt, Tensor *src_mask)
{
    NN_LAYER_OF(m, "Seq2Seq");
    ag_check_pointer(__func__, "tgt", tgt);
    check_ids(__func__, src, tgt);
    Source s = read_source(m, src, src_mask);
    Tensor *words = nn_dropout(m->dropout, nn_embedding(m->tgt_embed, tgt));        /* (B,T,width) */
    int64_t time = tensor_dim(tgt, 1);
    Tensor **h = ag_scratch((size_t)time, sizeof *h), **weights = ag_scratch((size_t)time, sizeof *weights);
    RecurrentState state = s.last;
    for (int64_t i = 0; i < time; i++)
        h[i] = ag_unsqueeze(decoder_step(m, &s, ag_squeeze(ag_slice(words, 1, i, i + 1), 1), &state, &weights[i]), 1);
    if (m->keep_weights && m->score) m->weights = ag_concat(weights, (int)time, 1);
    return transformer_generator(m->generator, nn_dropout(m->dropout, ag_concat(h, (int)time, 1)));
}

typedef struct { Seq2Seq *m; Source source; RecurrentState state; } Decoding;

static bool next_tokens(void *arg, Tensor *last, int32_t *token)
{
    Decoding *d = arg;
    Tensor *weights, *h = decoder_step(d->m, &d->source, nn_embedding(d->m->tgt_embed, last), &d->state, &weights);
    AgScope scope = ag_begin(AG_NO_GRAD);               /* frees the probabilities, and keeps the state */
    bool good = most_probable(transformer_generator(d->m->generator, h), token);
    ag_end(scope);
    return good;
}

Tensor *seq2seq_greedy_decode(Seq2Seq *m, Tensor *src, Tensor *src_mask, int64_t max_len, int32_t start_symbol,
                              int32_t end_symbol)
{
    NN_LAYER_OF(m, "Seq2Seq");
    check_ids(__func__, src, NULL);
    check_decoding(__func__, m->generator, max_len, start_symbol, end_symbol);
    bool good;
    AgScope scope = ag_begin(AG_NO_GRAD);
    void *evaluation = evaluation_begin(&m->module);
    Decoding d = { .m = m, .source = read_source(m, src, src_mask) };
    d.state = d.source.last;
    Tensor *ys = decode_greedily(tensor_dim(src, 0), max_len, start_symbol, end_symbol, next_tokens, &d, &good);
    ys = ag_end_return(scope, ys);
    ag_free(evaluation);
    return good ? ys : NULL;
}
