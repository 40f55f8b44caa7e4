/* seq2seq.h: the translation models before the Transformer. A recurrent encoder reads the source word by word, and a
 * recurrent decoder writes the target word by word. In the first form, the decoder knows the source only by the encoder's
 * last state, one vector of fixed size (Sutskever et al. 2014, Cho et al. 2014). With attention, it reads a weighted mean of
 * all encoder states, with other weights for each word (Bahdanau et al. 2015, Luong et al. 2015). Read
 * models/seq2seq/seq2seq.c.
 *
 * Shapes: B batch, S source time, T target time, H width of the states, V vocabulary. Ids are AG_INT. Masks are AG_BOOL;
 * true means that a position may be attended to. */
#ifndef KAERU_SEQ2SEQ_H
#define KAERU_SEQ2SEQ_H

#include "kaeru/recurrent.h"
#include "kaeru/training.h"

AG_PUBLIC_BEGIN

typedef struct {
    RecurrentKind cell;             /* of encoder and decoder */
    bool attention;                 /* false: only the encoder's last state */
    NnScoreKind score;              /* the score of encoder state s for decoder state h, with attention */
    int64_t width, hidden;          /* of the embeddings; of the states (H) */
    double dropout;                 /* of the embeddings, and of the states from which words are predicted */
} Seq2SeqOptions;
/* A GRU, attention with the dot product, width and hidden 256, dropout 0. */
Seq2SeqOptions seq2seq_defaults(void);

typedef struct {
    Module module;
    Embedding *src_embed, *tgt_embed;
    Recurrent *encoder, *decoder;
    NnScore *score;                 /* NULL: no attention */
    Dropout *dropout;
    TransformerGenerator *generator; /* predicts the next word from the decoder's state */
    bool keep_weights;              /* whether seq2seq_forward sets `weights` */
    Tensor *weights;                /* the attention weights a_i(j) of the last call, (B,T,S), until its scope ends */
} Seq2Seq;
/* The initial weights are those of the layers. Free with ag_free. */
Seq2Seq *seq2seq_new(int64_t src_vocab, int64_t tgt_vocab, Seq2SeqOptions options);

/* Teacher forcing: src (B,S), src_mask (B,1,S) or NULL, tgt (B,T), which begins with the start symbol -> (B,T,V)
 * log-probabilities of the word that follows each word of tgt: ag_nll_loss is the loss. */
Tensor *seq2seq_forward(Seq2Seq *m, Tensor *src, Tensor *tgt, Tensor *src_mask);

/* Takes the most probable word at each step, until each row has an end_symbol. Returns (B,max_len) ids that begin with
 * start_symbol; a row that has ended is filled with end_symbol. In evaluation mode; at the end each module has its former mode.
 * NULL with ag_error() if NaN or infinity in the weights makes the probabilities NaN. */
Tensor *seq2seq_greedy_decode(Seq2Seq *m, Tensor *src, Tensor *src_mask, int64_t max_len, int32_t start_symbol,
                              int32_t end_symbol);

#include "kaeru/calls/seq2seq.h"

AG_PUBLIC_END

#endif
