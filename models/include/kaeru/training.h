/* training.h: batches, the loss and the training loop of the Annotated Transformer, and decoding. Names in the notebook and
 * here:
 *     Batch, Batch.make_std_mask          transformer_batch_new, nn_causal_padding_mask
 *     KaeruTrainState, run_epoch, data_iter    KaeruTrainState, transformer_run_epoch, KaeruNextBatch
 *     mode="eval", DummyOptimizer         no optimizer
 *     rate, LambdaLR                      transformer_rate, called by transformer_run_epoch for each step
 *     KaeruLabelSmoothing, SimpleLossCompute   transformer_label_smoothing, called by transformer_run_epoch
 *     greedy_decode                       transformer_greedy_decode
 *     average                             nn_average_checkpoints */
#ifndef KAERU_TRAINING_H
#define KAERU_TRAINING_H

#include <signal.h>

#include "kaeru/parallel.h"
#include "kaeru/transformer.h"

AG_PUBLIC_BEGIN

/* ---- Batch ------------------------------------------------------------------------------------------------------- */

/* A batch of sentences with its masks. The decoder reads tgt (all tokens but the last) and learns to predict tgt_y (all tokens
 * but the first). The innermost scope owns the tensors. */
typedef struct {
    Tensor *src, *src_mask;         /* (B,S), (B,1,S): src != pad */
    Tensor *tgt, *tgt_y, *tgt_mask; /* (B,T), (B,T), (B,T,T): tgt != pad and causal */
    int64_t ntokens;                /* tokens of tgt_y that are not pad */
} TransformerBatch;
/* src (B,S), tgt (B,T+1), both AG_INT. In the notebook, pad is 2 by default, and 0 in the copy task. */
TransformerBatch transformer_batch_new_at(AgSite at, Tensor *src, Tensor *tgt, int32_t pad);

/* ---- loss and learning rate -------------------------------------------------------------------------------------- */

/* The sum of the KL divergences of log-probabilities x (..,V) from smoothed targets (..). With smoothing s, the target has
 * probability 1-s, padding_idx has 0, and each other word has s/(V-2). s = 0 gives the negative log-likelihood, summed. */
typedef struct { int32_t padding_idx; double smoothing; } KaeruLabelSmoothing;
Tensor *transformer_label_smoothing_at(AgSite at, KaeruLabelSmoothing criterion, Tensor *x, Tensor *target);
/* The smoothed targets themselves, to show them: (N) -> (N,V). */
Tensor *transformer_label_smoothing_targets_at(AgSite at, KaeruLabelSmoothing criterion, Tensor *target, int64_t vocab);

/* factor d_model^-1/2 min(step^-1/2, step warmup^-3/2); step 0 counts as 1 (section 5.3 of the paper). */
double transformer_rate_at(AgSite at, int64_t step, int64_t model_size, double factor, int64_t warmup);

/* ---- a training epoch -------------------------------------------------------------------------------------------- */

/* Constructs the next batch in the current scope; false at the end of the epoch. */
typedef bool KaeruNextBatch(void *source, TransformerBatch *batch);

/* The progress of a training run. */
typedef struct {
    int64_t step;                   /* number of batches */
    int64_t accum_step;             /* number of optimizer steps */
    int64_t samples, tokens;        /* sentence pairs; tokens of tgt_y that are not pad */
    bool stopped;                   /* by KaeruEpochOptions.stop, before the end of the epoch. Then a call with the batches that
                                       remain goes on with the epoch, whose sums of losses and of tokens so far are: */
    double epoch_loss;
    int64_t epoch_tokens;
} KaeruTrainState;

/* Called after each batch with its loss per token, and the learning rate of the last step (0 before the first). */
typedef void KaeruBatchDone(void *arg, const KaeruTrainState *state, double loss, double lr);

typedef struct {
    KaeruLabelSmoothing criterion;
    Optimizer *optimizer;           /* its lr is set before each step; NULL: evaluation, no gradients, no dropout */
    double factor;                  /* of transformer_rate, above 0: the notebook's factor times its base lr; step n, from 0,
                                     * uses transformer_rate(n, ...) */
    int64_t model_size, warmup;     /* of transformer_rate() */
    int accum_iter;                 /* batches per optimizer step; 0 means 1 */
    NnParallel *parallel;           /* of the optimizer, if several processes train together or with shards; else NULL. Its
                                       shards are those of a batch times accum_iter. Evaluation then divides the batches. */
    KaeruBatchDone *done;           /* may be NULL */
    void *done_arg;
    const volatile sig_atomic_t *stop;      /* not 0: a signal asks to stop training after the current step; NULL: none does */
} KaeruEpochOptions;
/* Runs all batches of an epoch. Returns the loss per token. With an optimizer, the optimizer takes a step after every
 * accum_iter batches, and one more at the end for the batches that remain. The gradient of a step is the sum over its batches
 * divided by the number of their tokens. Afterwards the model is in training mode or, without an optimizer, in evaluation mode.
 * If accum_iter is more than 1, the notebook differs: its first step is after batch 0, the batches that remain at the end get
 * no step, each batch's gradient is divided by the batch's own number of tokens, and the rate changes with each batch. */
double transformer_run_epoch_at(AgSite at, Transformer *m, KaeruNextBatch *next, void *source, const KaeruEpochOptions *options,
                                KaeruTrainState *state);

/* Sets the model's weights to the mean of those in n files. False with ag_error() if a file cannot be loaded. */
bool nn_average_checkpoints_at(AgSite at, void *model, const char *const *paths, int n);

/* ---- decoding ---------------------------------------------------------------------------------------------------- */

/* Takes the most probable token at each step: src (B,S), src_mask (B,1,S) -> (B,max_len) ids that begin with start_symbol.
 * This function and the next two use the model in evaluation mode, then restore its mode. They return NULL with ag_error() if
 * NaN or infinity in the weights makes the probabilities NaN. */
Tensor *transformer_greedy_decode_at(AgSite at, Transformer *m, Tensor *src, Tensor *src_mask, int64_t max_len,
                                     int32_t start_symbol);
/* The same, but stops when each row has an end_symbol. A row that has ended is filled with end_symbol. */
Tensor *transformer_greedy_decode_until_at(AgSite at, Transformer *m, Tensor *src, Tensor *src_mask, int64_t max_len,
                                           int32_t start_symbol, int32_t end_symbol);

typedef struct {
    int beam;
    int64_t max_len;
    int32_t start_symbol, end_symbol;
    double length_penalty;          /* alpha: scores are divided by ((5 + length) / 6)^alpha (Wu et al. 2016); 0: no penalty */
} KaeruBeamOptions;
/* The best sequence that a search with `beam` hypotheses finds: src (1,S) -> (n) ids with start and end. If `score` is not
 * NULL, *score receives its score. */
Tensor *transformer_beam_search_at(AgSite at, Transformer *m, Tensor *src, Tensor *src_mask, KaeruBeamOptions options,
                                   double *score);

AG_PUBLIC_END

#endif
