/* predictor.h: the language model that predicts a text: one of a file, or one that learns while it reads. */
#ifndef KAERU_EXAMPLES_PREDICTOR_H
#define KAERU_EXAMPLES_PREDICTOR_H

#include "kaeru/lm.h"

/* What must be equal when a text is compressed and when it is decompressed. The text is divided into `streams` parts of equal
 * length, which are predicted side by side, in segments of window / 2 tokens. The model reads a segment behind the one before
 * it. The other numbers are those of a model that learns: its layers; its heads, of width 32; its learning rate, times 10^6;
 * the order of its table (table.h), 0: no table. */
typedef struct { int64_t learns, seed, bf16, streams, window, layers, heads, rate, order; } Settings;
extern const NnFields settings_fields;

/* Token ids from 0 to vocab - 1, and if there is a vocabulary, ids from vocab to vocab + 255: bytes that its tokens cannot
 * write. The rest belongs to predictor.c. Free it with ag_free. */
typedef struct Predictor {
    const KaeruVocab *vocabulary;       /* NULL: each byte is a token */
    int64_t vocab;
    uint64_t hash;                      /* of the weights at the beginning, to recognize them */
    Settings how;
    int64_t count, length;              /* number of tokens of the text, and of each stream but the last ones */
    int32_t *id;                        /* the tokens, count of them */
    bool learns;                        /* from this text */
    int64_t t;                          /* the time at which the next segment begins */
    void *lm, *learner;
    int32_t begin;
} Predictor;

/* About how many MiB a model that learns needs for a text of so many tokens: its weights, gradients and Adam's means, what the
 * table has predicted, and what a step of learning keeps of each token in the window. */
double predictor_mebibytes(const Settings *how, int64_t count);
/* So many MiB are used for a file without being asked for. */
enum { USUAL_MEBIBYTES = 256 };
/* A model that learns. */
Predictor *predictor_new(const Settings *how);
/* A trained model with its vocabulary. It reads `begin` before a text. The predictor owns both. */
Predictor *predictor_of_model(const Settings *how, void *lm, int64_t vocab, const KaeruVocab *vocabulary, int32_t begin);
/* Before the first segment. id[count] are the tokens, or the place for them. The predictor does not own them. */
void predictor_begin(Predictor *p, int32_t *id, int64_t count);
/* The same for another text, in one stream, from which a model that has learned does not learn more. */
void predictor_begin_another(Predictor *p, int32_t *id, int64_t count);
/* The token of a stream at time t; NULL if the stream has ended. */
int32_t *predictor_token(const Predictor *p, int64_t stream, int64_t t);

/* Calls code(arg, t, n, q) for the times of the next segment, in order: q (streams,n,vocab) are the probabilities of the tokens
 * of the n times from t on. `known`: all tokens are known before. Then the whole segment is predicted at once, else one token
 * of each stream, and `code` must write it. Stops with false when code does. */
typedef bool Code(void *arg, int64_t t, int64_t n, const Tensor *q);
bool predictor_step(Predictor *p, bool known, Code *code, void *arg);
bool predictor_has_ended(const Predictor *p);

#endif
