/* generate.h: text from a language model, a GPT or a Llama, token by token.
 *
 *     GPT *m = gpt_open("model.safetensors", "config.json");
 *     KaeruVocab *v = kaeru_vocab_open(KAERU_BPE, "vocab.json", "merges.txt");
 *     if (!m || !v) { fprintf(stderr, "%s\n", ag_error()); return 1; }
 *     size_t n;
 *     int32_t *prompt = kaeru_vocab_encode(v, "Hello", 5, KAERU_AS_TEXT, &n);
 *     nn_eval(m);
 *     if (!lm_generate(m, prompt, (int64_t)n, 50, &(LmSampling){ .temperature = 0.8 }, print, v)) return 1;
 *
 * where print, a KaeruNextToken, gets v and each token (kaeru/text.h has the vocabulary). */
#ifndef KAERU_GENERATE_H
#define KAERU_GENERATE_H

#include "kaeru/places.h"

AG_PUBLIC_BEGIN

/* How the next token is chosen: at random with the probabilities softmax(logits / temperature), or the most probable token
 * if the temperature is 0. top_k keeps only the k most probable tokens; ties go to the smaller id. top_p then keeps the
 * smallest number of most probable tokens whose share of the remaining probability is at least top_p (Holtzman et al. 2020).
 * top_k or top_p of 0 keeps all tokens. */
typedef struct { double temperature; int64_t top_k; double top_p; } LmSampling;

/* Draws an id of 0..n-1 with this thread's random generator; -1 with ag_error() if a logit is NaN or infinite. */
int32_t lm_sample_next(const ag_real *logits, int64_t n, const LmSampling *how);

/* The probabilities p[0..n-1] with which lm_sample_next draws each id. False with ag_error() where lm_sample_next returns
 * -1. */
bool lm_sample_probabilities(const ag_real *logits, int64_t n, const LmSampling *how, double *p);

/* Generates up to `most` tokens after a prompt of n >= 1 tokens; the model reads the last `context` of them. Calls
 * next(arg, id) with each token and stops when it returns false. When the context is full, the model reads its last half again
 * and continues from there. The model must be in evaluation mode, and the ids must be in its vocabulary. False if
 * lm_sample_next fails. */
typedef bool KaeruNextToken(void *arg, int32_t id);
bool lm_generate(void *m, const int32_t *prompt, int64_t n, int64_t most, const LmSampling *how, KaeruNextToken *next,
                 void *arg);

#include "kaeru/calls/generate.h"

AG_PUBLIC_END

#endif
