/* lm.h: language models at work: text to ids and back, data to train on, training that can be broken off, and writing.
 *
 *     Tokenizer t;
 *     GPT *m = gpt_open("model.safetensors", "config.json");
 *     if (!m || !tokenizer_open(&t, "vocab.json", "merges.txt")) { fprintf(stderr, "%s\n", ag_error()); return 1; }
 *     size_t n;
 *     int32_t *prompt = tokenizer_encode(&t, "Hello", 5, &n);
 *     nn_eval(m);
 *     gpt_generate(m, prompt, (int64_t)n, 50, &(Sampling){ .temperature = 0.8 }, print, &t);
 *
 * Functions that return NULL or false have said why in ag_error(). What a function returns is the caller's. */
#ifndef KAERU_LM_H
#define KAERU_LM_H

#include "kaeru/bpe.h"
#include "kaeru/gpt.h"
#include "kaeru/text.h"

#pragma GCC visibility push(default)

/* ---- text and ids ------------------------------------------------------------------------------------------------ */

/* Owns a vocabulary of characters or one of byte pairs. For one thread at a time. */
typedef enum { TOKENIZER_CHARS, TOKENIZER_BPE } TokenizerKind;
typedef struct {
    TokenizerKind kind;
    union { CharVocab *chars; Bpe *bpe; };
} Tokenizer;
/* merges_path NULL: a vocabulary of characters. */
bool tokenizer_open(Tokenizer *t, const char *vocab_path, const char *merges_path);
bool tokenizer_save(const Tokenizer *t, const char *vocab_path, const char *merges_path);
void tokenizer_close(Tokenizer *t);                                 /* once closed, or zeroed, it is fine */
int32_t tokenizer_size(const Tokenizer *t);                         /* ids are 0..size-1 */
/* A number that differs between vocabularies. */
uint64_t tokenizer_fingerprint(const Tokenizer *t);
/* As char_vocab_encode and bpe_encode, which reads <|endoftext|> as that token; end with ag_free. */
int32_t *tokenizer_encode(const Tokenizer *t, const char *text, size_t n, size_t *count);
char *tokenizer_decode(const Tokenizer *t, const int32_t *ids, size_t count, size_t *n);

/* ---- data: the first nine tenths to learn from, the last tenth held out ------------------------------------------ */

/* A text, or a file of tokens. It is seen as memory, so it may be larger than that; but nobody may shorten it. */
typedef struct LmData LmData;
typedef enum { LM_TRAIN, LM_HELD_OUT } LmPart;
/* A text of characters stays as it is, and each window is encoded when it is drawn; for BPE the whole is encoded, and
 * its ids are in memory: prefer a file of tokens. The tokenizer must stay. */
LmData *lm_data_open(const char *path, const Tokenizer *t);
/* The same of a text in memory, which must stay there; `name` is for messages. */
LmData *lm_data_of_text(const char *name, const char *text, size_t n, const Tokenizer *t);
void lm_data_close(LmData *d);                                      /* NULL is fine */
int64_t lm_data_tokens(const LmData *d, LmPart part);
/* Whether both parts are long enough for windows of that length (0: the model's context), and the ids are within the
 * model's vocabulary. */
bool lm_data_fits(const LmData *d, const GPT *m, int64_t length);
/* Windows of `length` ids that begin anywhere in the part for training, from this thread's generator, and what follows
 * each id: (B,T) both. */
void lm_data_draw(const LmData *d, int64_t batch, int64_t length, Tensor **ids, Tensor **targets);
/* Loss per token over the held-out part, cut into windows of `length` ids (0: the model's context), `batch` of them at
 * a time; tokens > 0: no more than about that many. *counted, if not NULL, gets how many they were. The model is in
 * evaluation mode afterwards. */
double lm_evaluate(GPT *m, const LmData *d, int64_t batch, int64_t length, int64_t tokens, int64_t *counted);

/* Writes the ids of a text as a file of tokens, a piece at a time, and how many they are to *count. Its format, all
 * little-endian: "kaerutok", as uint32 the version 1, the size of an id in bytes (2 or 4), the vocabulary's size and 0,
 * as uint64 the vocabulary's fingerprint; then the ids; then as uint64 their number. */
bool lm_tokenize(const char *text_path, const Tokenizer *t, const char *tokens_path, int64_t *count);
/* Whether a file begins as a file of tokens. False, too, if it cannot be read. */
bool lm_is_token_file(const char *path);

/* ---- training ---------------------------------------------------------------------------------------------------- */

typedef struct {
    int64_t steps, batch;       /* a step learns from `accumulate` times `batch` windows */
    int64_t accumulate;
    int64_t window;             /* their length; 0: the model's context */
    int64_t warmup;             /* learning rate: up to lr in this many steps, then half a cosine down to lr_min */
    double lr, lr_min, beta1, beta2, weight_decay;      /* AdamW, which decays matrices only */
    double clip;                /* of the gradients' joint norm; 0: none */
    int64_t evaluate_every;     /* steps; then, and after the last one, checkpoints are saved, too */
    int64_t evaluate_tokens;    /* held-out ones, at most; 0: all */
} LmOptions;
/* 2000 steps of 12 windows, warmup 100, lr 1e-3 to 1e-4, beta (0.9, 0.99), decay 0.1, clip 1, evaluation each 250 steps
 * on all of the held-out part: nanoGPT's for a small machine. */
LmOptions lm_defaults(void);
bool lm_check(const LmOptions *o);
void lm_to_settings(const LmOptions *o, Settings *s);               /* "train.steps", ... */
bool lm_from_settings(LmOptions *o, const Settings *s);

typedef struct LmTraining LmTraining;
struct LmTraining {
    GPT *model;
    const LmData *data;
    LmOptions options;
    Settings *settings;         /* go into the checkpoints; the options and sizes above are added to them */
    const char *last, *best;    /* paths of checkpoints: the newest, and that of the least held-out loss; NULL: none */
    /* Called, where they are not NULL: before the first step, when `step` says where the run begins or goes on; after
     * each step; after each evaluation, before its checkpoints are saved, so that what is written down there can have
     * rows that are later than the checkpoint, never too few. */
    void (*started)(LmTraining *t, void *arg);
    void (*stepped)(LmTraining *t, void *arg);
    void (*evaluated)(LmTraining *t, void *arg);
    void *arg;
    /* How far it is: */
    int64_t step;               /* steps taken */
    double lr, loss;            /* of the last one */
    double train_loss;          /* mean over the steps since the evaluation before */
    double valid_loss, best_loss;       /* at the last evaluation, and the least of all */
};
int64_t lm_window(const LmTraining *t);                             /* the windows' length */
/* Takes all steps. With `resume` it first goes back to the state that is in the checkpoint `last`; whoever was stopped,
 * by a kill too, and resumes, ends with the same bytes as one who was not. False if a checkpoint cannot be read or
 * written, if the data does not fit, or if the loss is no number any more. */
bool lm_train(LmTraining *t, bool resume);

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* How the next token is chosen: by softmax(logits / temperature), or the likeliest if that is 0. top_k leaves only the
 * k likeliest, of equal ones those of smaller ids; of these, top_p leaves the smallest number of likeliest ones that
 * have a share p of the probability together (Holtzman et al. 2020). 0: all are left. */
typedef struct { double temperature; int64_t top_k; double top_p; } Sampling;
/* An id of 0..n-1, from this thread's generator; -1 with ag_error() if a logit is NaN or infinite. */
int32_t sample_next(const real *logits, int64_t n, const Sampling *how);
/* The probability of each id there: p[0..n-1], which add up to 1. False with ag_error() where sample_next gives -1. */
bool sample_probabilities(const real *logits, int64_t n, const Sampling *how, double *p);

/* Writes up to `most` tokens after n >= 1 others, of which only the last `context` are read; calls next(arg, id) with
 * each until that returns false. When the context is full, writing goes on from its last half alone, read anew. The
 * model must be in evaluation mode, and ids within its vocabulary. False if sample_next fails. */
typedef bool NextToken(void *arg, int32_t id);
bool gpt_generate(GPT *m, const int32_t *prompt, int64_t n, int64_t most, const Sampling *how, NextToken *next,
                  void *arg);

#pragma GCC visibility pop

#endif
