/* training.h: batches, the loss and the training loop of the Annotated Transformer, and decoding. Names in the notebook and
 * here:
 *     Batch, Batch.make_std_mask          transformer_batch_new, nn_causal_padding_mask
 *     TrainState, run_epoch, data_iter    KaeruTrainState, transformer_run_epoch, KaeruNextBatch
 *     mode="eval", DummyOptimizer         no optimizer
 *     rate, LambdaLR                      nn_schedule_noam, called by transformer_run_epoch for each step
 *     LabelSmoothing, SimpleLossCompute   KaeruLabelSmoothing, ag_label_smoothing, called by transformer_run_epoch
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
TransformerBatch transformer_batch_new(Tensor *src, Tensor *tgt, int32_t pad);

/* ---- loss -------------------------------------------------------------------------------------------------------- */

/* ag_label_smoothing as the loss: its ignored id, and the part of the probability that it gives to other words. */
typedef struct { int32_t padding_idx; double smoothing; } KaeruLabelSmoothing;

/* ---- a training epoch -------------------------------------------------------------------------------------------- */

/* Constructs the next batch in the current scope, with all of its tensors; false at the end of the epoch. */
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

/* Called after each batch with its loss per token (with accum_iter above 1, of the batches of the step; in an evaluation by
 * several processes, 0 for batches of others), and the learning rate of the last step (0 before the first). */
typedef void KaeruBatchDone(void *arg, const KaeruTrainState *state, double loss, double lr);

typedef struct {
    KaeruLabelSmoothing criterion;
    Optimizer *optimizer;           /* its lr is set before each step; NULL: evaluation, no gradients, no dropout */
    double factor;                  /* of nn_schedule_noam, above 0: the notebook's factor times its base lr; step n, from 0,
                                     * uses nn_schedule_noam(n, ...) */
    int64_t model_size, warmup;     /* of nn_schedule_noam() */
    int accum_iter;                 /* batches per optimizer step; 0 means 1 */
    NnParallel *parallel;           /* of the optimizer, if several processes train together or with shards; else NULL. Its
                                       shards are those of a batch times accum_iter. Evaluation, without an optimizer, then
                                       divides the batches. */
    KaeruBatchDone *done;           /* may be NULL */
    void *done_arg;
    const volatile sig_atomic_t *stop;      /* not 0: a signal asks to stop training after the current step; NULL: none does */
} KaeruEpochOptions;
/* Runs all batches of an epoch. Returns the loss per token. With an optimizer, the optimizer takes a step after every
 * accum_iter batches, and one more at the end for the batches that remain. The gradient of a step is the sum over its batches
 * divided by the number of their tokens. Afterwards the model is in training mode or, without an optimizer, in evaluation mode.
 * If accum_iter is more than 1, the notebook differs: its first step is after batch 0, the batches that remain at the end get
 * no step, each batch's gradient is divided by the batch's own number of tokens, and the rate changes with each batch. */
double transformer_run_epoch(Transformer *m, KaeruNextBatch *next, void *source, const KaeruEpochOptions *options,
                             KaeruTrainState *state);

/* ---- decoding ---------------------------------------------------------------------------------------------------- */

/* Takes the most probable token at each step, until each row has an end_symbol (-1: never): src (B,S), src_mask (B,1,S) ->
 * (B,max_len) ids that begin with start_symbol. A row that has ended is filled with end_symbol. This function and the next one
 * use the model in evaluation mode, then restore its mode. They return NULL with ag_error() if NaN or infinity in the weights
 * makes the probabilities NaN. */
Tensor *transformer_greedy_decode(Transformer *m, Tensor *src, Tensor *src_mask, int64_t max_len, int32_t start_symbol,
                                  int32_t end_symbol);

typedef struct {
    int beam;
    int64_t max_len;
    int32_t start_symbol, end_symbol;
    double length_penalty;          /* alpha: scores are divided by ((5 + length) / 6)^alpha (Wu et al. 2016); 0: no penalty */
} KaeruBeamOptions;
/* The best sequence that a search with `beam` hypotheses finds: src (1,S) -> (n) ids with start and end. If `score` is not
 * NULL, *score receives its score. */
Tensor *transformer_beam_search(Transformer *m, Tensor *src, Tensor *src_mask, KaeruBeamOptions options, double *score);

#include "kaeru/calls/training.h"

AG_PUBLIC_END

#endif
