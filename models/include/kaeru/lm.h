/* lm.h: training of language models: training data, and training that can be interrupted and resumed. A model is a GPT or a
 * Llama; any other module is a usage error. kaeru/language.h has its loss and its logits, kaeru/generate.h generates text.
 *
 * A pointer that is NULL or was freed is a usage error. A function that returns NULL or false sets ag_error(). The caller owns
 * what a function returns. */
#ifndef KAERU_LM_H
#define KAERU_LM_H

#include <signal.h>

#include "kaeru/generate.h"
#include "kaeru/language.h"
#include "kaeru/options.h"
#include "kaeru/parallel.h"
#include "kaeru/text.h"

AG_PUBLIC_BEGIN

/* ---- data: the first nine tenths for training, the last tenth held out ------------------------------------------- */

/* The ids of a text or of a token file; free it with ag_free. A text is encoded at once, KAERU_WITH_SPECIAL, and its ids are in
 * memory. A token file is mapped, so it may be larger than the memory; do not truncate it while it is open. The vocabulary must
 * not be freed before the data. */
typedef struct LmData LmData;
typedef enum { LM_TRAIN, LM_HELD_OUT } LmPart;

LmData *lm_data_open(const char *path, const KaeruVocab *v);
/* Data of a text in memory; `name` is for messages. */
LmData *lm_data_of_text(const char *name, const char *text, size_t n, const KaeruVocab *v);

/* Pairs of a question and an answer for fine-tuning, one JSON object a line: {"prompt": "...", "completion": "..."}, of which
 * the loss counts the completion and the token after it, or {"text": "..."}, of which it counts all but the first token.
 * `begin` and `end` are the tokens before and after each example, -1: none. A window is then an example, cut off or padded. */
LmData *lm_data_open_pairs(const char *path, const KaeruVocab *v, int32_t begin, int32_t end);

/* The number of ids of a part. */
int64_t lm_data_tokens(const LmData *d, LmPart part);

/* What windows of a length show of a part. Targets are the ids that the loss counts: in an example, those of the answer and the
 * token after it. In a text, windows show all ids but the first as targets, and there are no examples. */
typedef struct {
    int64_t whole, cut, unused;                         /* examples with all, some and none of their targets in a window */
    int64_t targets, cut_targets, unused_targets;       /* in windows; beyond them, of examples that are cut; of unused ones */
} LmUse;
LmUse lm_data_use(const LmData *d, LmPart part, int64_t length);

/* Whether both parts are long enough for windows of `length` ids (0: the model's context), and whether the model's vocabulary
 * is large enough for the ids. Else false with ag_error(). */
bool lm_data_fits(const LmData *d, const void *m, int64_t length);

/* Draws `batch` windows of `length` ids from the training part with this thread's random generator. The targets are the ids one
 * position later. Both are (batch,length). Examples without a target in the window are drawn again, at most 100 times. */
void lm_data_draw(const LmData *d, int64_t batch, int64_t length, Tensor **ids, Tensor **targets);

/* The loss per token over the held-out part, in windows of `length` ids (0: the model's context) and batches of `batch`
 * windows. If tokens > 0, it stops after about that many tokens. If `counted` is not NULL, *counted receives the number of
 * tokens. The model is in evaluation mode afterwards. */
double lm_evaluate(void *m, const LmData *d, int64_t batch, int64_t length, int64_t tokens, int64_t *counted);

/* Writes the ids of a text to a token file, and their number to *count. The text is encoded in pieces. The format, all
 * little-endian: "kaerutok"; four uint32: the version 2, the size of an id in bytes (2 or 4), the size of the vocabulary, 0;
 * uint64: the fingerprint of the vocabulary; the ids; uint64: the hash of all other bytes, without which the file is refused,
 * computed as those of safetensors files; uint64: the number of ids. Version 1, which is read as well, has no hash. */
bool lm_tokenize(const char *text_path, const KaeruVocab *v, const char *tokens_path, int64_t *count) AG_MUST_CHECK;

/* Whether a file begins like a token file. False if it cannot be read. */
bool lm_is_token_file(const char *path);

/* ---- training ---------------------------------------------------------------------------------------------------- */

typedef struct {
    int64_t steps, batch;       /* each step trains on `accumulate` times `batch` windows */
    int64_t accumulate;
    int64_t shards;             /* into which a batch is divided (kaeru/parallel.h): 1: not; the weights depend on it */
    int64_t window;             /* the length of a window; 0: the model's context */
    int64_t warmup;             /* the learning rate rises to lr in this many steps, then falls by a cosine to lr_min */
    double lr, lr_min, beta1, beta2, weight_decay;      /* of AdamW; only matrices have weight decay */
    double clip;                /* the largest global norm of the gradients; 0: no limit */
    int64_t evaluate_every;     /* steps between evaluations, which save checkpoints; the last step also ends with one */
    int64_t evaluate_tokens;    /* the approximate number of held-out tokens in an evaluation; 0: all */
} LmOptions;

/* Their limits and defaults, for nn_fields_check and the settings "train.steps", ... of checkpoints. */
extern const NnFields lm_fields;
/* nanoGPT's options for a small machine: 2000 steps of 12 windows, warmup 100, lr 1e-3 to 1e-4, betas 0.9 and 0.99, weight
 * decay 0.1, clip 1, evaluation every 250 steps on all of the held-out part. */
static inline LmOptions lm_defaults(void)
{
    LmOptions o;
    nn_fields_defaults(&lm_fields, &o);
    return o;
}

typedef struct LmTraining LmTraining;
struct LmTraining {
    void *model;
    const LmData *data;
    LmOptions options;
    /* Never NULL. Saved in each checkpoint. lm_train adds the model's sizes, the options and the least held-out loss to what
     * the program has set, such as the paths of its data. It does not read the settings of a checkpoint into it. The program
     * frees it after lm_train. */
    NnSettings *settings;
    NnProcesses *processes;     /* that train together (kaeru/parallel.h); NULL: this one alone */
    bool new_data;              /* the run that is resumed had other data: the least held-out loss begins again */
    const volatile sig_atomic_t *stop;  /* not 0: a signal asks to stop after the current step; NULL: none does */
    const char *last, *best;    /* paths of the newest checkpoint, and of that with the least held-out loss; NULL: none. Only
                                 * `last` has the optimizer's state, so the two must differ. */
    /* Callbacks, each of which may be NULL. `started` is called before the first step; `step` is then 0, or the number
     * of steps that the resumed run has taken. `stepped` is called after each step, and `evaluated` after each
     * evaluation, before the checkpoints are saved. So a log that `evaluated` writes may be ahead of the checkpoint, but
     * never behind it. A callback that changes the options, a member above, `window` or `step` is a usage error. To end
     * the training early, set *stop. */
    void (*started)(LmTraining *t, void *arg);
    void (*stepped)(LmTraining *t, void *arg);
    void (*evaluated)(LmTraining *t, void *arg);
    void *arg;
    /* The state of the run: */
    int64_t window;             /* the length of the windows */
    int64_t step;               /* number of steps taken */
    double lr, loss;            /* of the last step */
    double train_loss;          /* the mean over the steps since the previous evaluation */
    bool stopped;               /* by *stop, before all steps were done */
    double valid_loss, best_loss;       /* the held-out loss of the last evaluation, and the least of all */
};

/* Trains until options.steps steps are done. With `resume`, it first loads the state of the run from the checkpoint `last`, of
 * which the model's options must be those of t->model. The least held-out loss begins again if it is measured in another way:
 * with another window, evaluate_tokens, ag_precision or, unless all held-out tokens are read, another batch. A run that
 * was stopped, even by a kill, and then resumed ends with the same bytes as a run that was not stopped. False if a checkpoint
 * cannot be read or written, if the data does not fit, or if the loss is NaN or infinite. */
bool lm_train(LmTraining *t, bool resume) AG_MUST_CHECK;

#include "kaeru/calls/lm.h"

AG_PUBLIC_END

#ifndef KAERU_INSIDE                    /* in earlier versions, this header had these, too */
#include "kaeru/gpt.h"
#include "kaeru/llama.h"
#endif

#endif
