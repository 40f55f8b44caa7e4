/* training.h: batches, the loss and the training loop of the Annotated Transformer, and decoding. Names there and here:
 *     Batch, Batch.make_std_mask          batch_new, nn_causal_padding_mask
 *     TrainState, run_epoch, data_iter    TrainState, run_epoch, NextBatch
 *     mode="eval", DummyOptimizer         no optimizer
 *     rate, LambdaLR                      rate, taken by run_epoch for each step
 *     LabelSmoothing, SimpleLossCompute   label_smoothing, called by run_epoch
 *     greedy_decode                       greedy_decode
 *     average                             average_checkpoints */
#ifndef KAERU_TRAINING_H
#define KAERU_TRAINING_H

#include "kaeru/transformer.h"

#pragma GCC visibility push(default)

/* ---- Batch ------------------------------------------------------------------------------------------------------- */

/* A batch of sentences with its masks. The decoder reads tgt (all but the last token) and is to say tgt_y (all but the
 * first). The tensors belong to the scope in which batch_new was called. */
typedef struct {
    Tensor *src, *src_mask;         /* (B,S), (B,1,S): src != pad */
    Tensor *tgt, *tgt_y, *tgt_mask; /* (B,T), (B,T), (B,T,T): tgt != pad and causal */
    int64_t ntokens;                /* tokens of tgt_y that are not pad */
} Batch;
/* src (B,S), tgt (B,T+1), both AG_INT. The notebook's pad is 2 by default and 0 in the copy task. */
Batch batch_new_at(Site at, Tensor *src, Tensor *tgt, int32_t pad);

/* ---- loss and learning rate -------------------------------------------------------------------------------------- */

/* Summed KL divergence between log-probabilities x (..,V) and targets (..) that are smoothed: 1-s on the target,
 * s/(V-2) elsewhere, nothing at padding_idx; s = 0 is the summed negative log-likelihood. */
typedef struct { int32_t padding_idx; double smoothing; } LabelSmoothing;
Tensor *label_smoothing_at(Site at, LabelSmoothing criterion, Tensor *x, Tensor *target);
/* The targets themselves, for looking at: (N) -> (N,V). */
Tensor *label_smoothing_targets_at(Site at, LabelSmoothing criterion, Tensor *target, int64_t vocab);

/* factor d_model^-1/2 min(step^-1/2, step warmup^-3/2); step 0 counts as 1 (section 5.3 of the paper). */
double rate(int64_t step, int64_t model_size, double factor, int64_t warmup);

/* ---- a training epoch -------------------------------------------------------------------------------------------- */

/* Gives the next batch, made in the current scope; false at the end of the epoch. */
typedef bool NextBatch(void *source, Batch *batch);
/* What a run has learned from so far. */
typedef struct {
    int64_t step;                   /* batches */
    int64_t accum_step;             /* steps of the optimizer */
    int64_t samples, tokens;        /* sentence pairs; tokens of tgt_y that are not pad */
} TrainState;
/* Called after each batch with the loss per token of that batch, and the rate of the last step (0 before the first). */
typedef void BatchDone(void *arg, const TrainState *state, double loss, double lr);

typedef struct {
    LabelSmoothing criterion;
    Optimizer *optimizer;           /* NULL: evaluation, no gradients, no dropout */
    double factor;                  /* of rate(), the notebook's base lr included; step n, from 0, has rate(n, ...) */
    int64_t model_size, warmup;
    int accum_iter;                 /* micro-batches a step; 0 and 1: one */
    BatchDone *done;                /* may be NULL */
    void *done_arg;
} EpochOptions;
/* Runs through all batches; with an optimizer, takes a step after every accum_iter of them (and one for the rest) with
 * the sum of their gradients divided by the number of their tokens. Returns the loss per token. The model is left in
 * training mode, or without an optimizer in evaluation mode.
 * The notebook steps after batch 0, leaves the rest of an epoch without a step, divides each batch by its own tokens
 * and moves the rate by batches; with accum_iter 1 all of that is the same. */
double run_epoch_at(Site at, EncoderDecoder *m, NextBatch *next, void *source, const EpochOptions *options,
                    TrainState *state);

/* model's weights become the mean of those in the files. False with ag_error() on a bad file. */
bool average_checkpoints(void *model, const char *const *paths, int n);

/* ---- decoding ---------------------------------------------------------------------------------------------------- */

/* The likeliest token each time: src (B,S), src_mask (B,1,S) -> (B,max_len) ids that begin with start_symbol. This and
 * the next two put the model into evaluation mode and back. */
Tensor *greedy_decode_at(Site at, EncoderDecoder *m, Tensor *src, Tensor *src_mask, int64_t max_len, int32_t start_symbol);
/* The same until every row has said end_symbol; what comes after it is end_symbol, too. */
Tensor *greedy_decode_until_at(Site at, EncoderDecoder *m, Tensor *src, Tensor *src_mask, int64_t max_len, int32_t start_symbol,
                              int32_t end_symbol);

typedef struct {
    int beam;
    int64_t max_len;
    int32_t start_symbol, end_symbol;
    double length_penalty;          /* a: scores are divided by ((5 + length) / 6)^a (Wu et al. 2016); 0: none */
} BeamOptions;
/* The best sequence found with `beam` hypotheses in parallel: src (1,S) -> (n) ids, start and end included. Its score
 * goes to *score unless that is NULL. */
Tensor *beam_search_at(Site at, EncoderDecoder *m, Tensor *src, Tensor *src_mask, BeamOptions options, double *score);

#include "kaeru/models_at.h"

#pragma GCC visibility pop

#endif
