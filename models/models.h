/* models.h: what the files of this folder share, some of it with train. */
#ifndef KAERU_MODELS_H
#define KAERU_MODELS_H

#include "config.h"
#include "kaeru/lm.h"
#include "kaeru/training.h"
#include "language.h"

/* ---- language models: modules that predict the next token -------------------------------------------------------- */

/* A usage error, in the name of function `what`, unless m is a language model. */
LmSizes lm_sizes(const char *what, const void *m);
/* Sets the settings of its sizes, for checkpoints. */
void lm_settings(const void *m, NnSettings *s);
/* Whether the settings of a checkpoint describe this model; else false with ag_error(). */
bool lm_has_settings(const void *m, const NnSettings *found, const char *checkpoint);
/* The number of positions in the cache. A usage error if they are not the first ones of the text. */
int64_t cache_past(const char *what, const NnCache *cache);
/* The same; 0 if the cache is NULL. A usage error unless ids are (B,T), and fit into the context behind them. */
int64_t lm_past(const char *what, const Tensor *ids, const NnCache *cache, int64_t context);

/* ---- models from files -------------------------------------------------------------------------------------------
 * The size of the file is checked before the model is constructed. So a bad file cannot make it ask for too much memory. */

/* Reads the options from the settings of a checkpoint. False with ag_error(), which begins with the path. */
bool checkpoint_options(const char *path, const NnFields *fields, void *o);
/* Whether the file has half of the numbers and of the tensors of such a model or more: if fewer than all, loading tells what is
 * missing. `tensors` is at most the number that such a model has: many tiny layers need much more memory than their numbers. */
bool weights_may_hold(const char *path, double parameters, double tensors);
/* Whether this machine can give a program so many bytes more; otherwise false with ag_error(), which begins with `what`. True
 * where the system does not tell. */
bool memory_may_hold(const char *what, double bytes);
/* Both, for a model of ag_real. */
bool model_may_be_made(const char *path, double parameters, double tensors);
/* False with ag_error() if the model has adapters: without them, its weights are another model. */
bool weights_are_whole(void *model);
/* The new model with the weights of the file; if they cannot be loaded, frees it and returns NULL. */
void *model_filled(void *model, const char *path, NnLoadOptions how);

/* A model of checked options without first values: matrices and biases are 0, norms 1. */
Llama *llama_of_zeros(LlamaOptions options);
/* The options of an open config.json; false with ag_error(). */
bool llama_read_config(const Config *c, LlamaOptions *o);

/* ---- greedy decoding, for all models with an encoder and a decoder ----------------------------------------------- */

/* A usage error, in the name of function `what`, if the generator does not know the symbols. An end of -1 is no token. */
void check_decoding(const char *what, const TransformerGenerator *g, int64_t max_len, int32_t start, int32_t end);

/* Writes the token that follows each of the tokens `last` (B). False with ag_error(). */
typedef bool NextTokens(void *arg, Tensor *last, int32_t *token);
/* Writes the most probable tokens by the log-probabilities p (B,V). False with ag_error() if a row is NaN, as NaN or infinity
 * in the weights make it. */
bool most_probable(Tensor *p, int32_t *token);
/* (rows,max_len) ids. Each row begins with `start`; next gives the others. It stops when each row has an `end`, and fills the
 * rest of a row with it. *good: whether next never failed. */
Tensor *decode_greedily(int64_t rows, int64_t max_len, int32_t start, int32_t end, NextTokens *next, void *arg, bool *good);

#endif
