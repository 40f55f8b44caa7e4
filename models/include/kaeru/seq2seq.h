/* seq2seq.h: what translated before the Transformer: a recurrent encoder reads the source word by word, a recurrent
 * decoder says the target word by word. In its first form all that the decoder knows of the source is the encoder's
 * last state, one vector of fixed size (Sutskever et al. 2014, Cho et al. 2014); with attention it looks back at all of
 * the encoder's states, at others for each word (Bahdanau et al. 2015, Luong et al. 2015). Read models/seq2seq.c.
 *
 * Shapes: B batch, S source time, T target time, H width of the states, V vocabulary. Ids are AG_INT; masks are
 * AG_BOOL, true = may be seen. */
#ifndef KAERU_SEQ2SEQ_H
#define KAERU_SEQ2SEQ_H

#include "kaeru/recurrent.h"
#include "kaeru/training.h"

#pragma GCC visibility push(default)

typedef struct {
    RecurrentKind cell;             /* of encoder and decoder */
    bool attention;                 /* false: the fixed vector alone */
    ScoreKind score;                /* with attention: how well decoder state h fits encoder state s */
    int64_t width, hidden;          /* of the embeddings, and H */
    double dropout;                 /* of the embeddings, and of the states that words are predicted from */
} Seq2SeqOptions;
/* A GRU, attention with the dot product, width and hidden 256, dropout 0. */
Seq2SeqOptions seq2seq_defaults(void);

typedef struct {
    Module module;
    Embedding *src_embed, *tgt_embed;
    Recurrent *encoder, *decoder;
    Score *score;                   /* NULL: no attention */
    Dropout *dropout;
    Generator *generator;           /* the next word from the decoder's state */
    bool keep_weights;
    Tensor *weights;                /* with it, a_i(j) after each call of seq2seq, (B,T,S), until its scope ends */
} Seq2Seq;
/* First values are those of the layers. Free with nn_free. */
Seq2Seq *seq2seq_new_at(Site at, int64_t src_vocab, int64_t tgt_vocab, Seq2SeqOptions options);

/* Teacher forcing: src (B,S), src_mask (B,1,S) or NULL, tgt (B,T) from the start symbol on -> (B,T,V) log-probabilities
 * of the word that follows each of tgt. */
Tensor *seq2seq_at(Site at, Seq2Seq *m, Tensor *src, Tensor *tgt, Tensor *src_mask);
/* The mean of -log p over the words of the batch that are not `pad` -> scalar */
Tensor *seq2seq_loss_at(Site at, Seq2Seq *m, const Batch *batch, int32_t pad);
/* The likeliest word each time, until every row has said end_symbol: (B,max_len) ids that begin with start_symbol;
 * behind a row's end_symbol there is nothing but that. */
Tensor *seq2seq_greedy_decode_at(Site at, Seq2Seq *m, Tensor *src, Tensor *src_mask, int64_t max_len, int32_t start_symbol,
                                int32_t end_symbol);

#include "kaeru/models_at.h"

#pragma GCC visibility pop

#endif
