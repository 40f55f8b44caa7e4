/* next.c: a small model that learns the page's small text, and how it chooses the next token. */
#include <math.h>
#include <string.h>

#include "engine.h"
#include "kaeru/generate.h"
#include "kaeru/llama.h"
#include "kaeru/language.h"
#include "kaeru/optim.h"
#include "words.h"

enum { CONTEXT = 16, WIDTH = 32, HEADS = 2, BATCH = 16, STEPS = 200, WARMUP = 20, MOST_TOKENS = 1 << 16, SHOWN = 10 };
static const double HIGHEST_RATE = 0.02;
static struct { KaeruVocab *v; int32_t *ids; int64_t n; Llama *model; Optimizer *adam; AgRandom random; int step; } run;

/* Matrices get the deviation 1 / sqrt(WIDTH) in place of 0.02, with which a small model hardly begins to learn. */
static Llama *model_new(int64_t vocab)
{
    LlamaOptions o = llama_defaults();
    o.layers = 1;
    o.heads = o.kv_heads = HEADS;
    o.head_width = WIDTH / HEADS;
    o.width = WIDTH;
    o.hidden = 2 * WIDTH;
    o.vocab = vocab;
    o.context = CONTEXT;
    o.rope_base = 10000;
    o.head_norms = true;
    o.tied = true;
    Llama *m = llama_new(o);
    NnParameters *all = nn_parameters(m);
    for (int i = 0; i < all->n; i++) {
        if (tensor_ndim(all->item[i].tensor) == 2) {
            ag_fill_normal(all->item[i].tensor, 0, 1 / sqrt(WIDTH));
        }
    }
    ag_free(all);
    return m;
}

/* `language`: of the sentences that the model is going to read. */
void EXPORT(next_begin)(int language, int seed)
{
    ag_free(run.adam);
    ag_free(run.model);
    ag_free(run.ids);
    if (!run.v) {
        run.v = words_vocab(MOST_MERGES);
    }
    size_t size, n;
    const char *text = words_text(language, &size);
    run.ids = kaeru_vocab_encode(run.v, text, size, KAERU_AS_TEXT, &n);
    run.n = (int64_t)n;
    ag_seed((uint64_t)seed);
    run.model = model_new(kaeru_vocab_size(run.v));
    AgAdam adam = nn_adam_options(1);
    adam.beta2 = 0.99;
    run.adam = nn_adam_new_with(run.model, adam);
    run.random = ag_random_state();
    run.step = 0;
}

int EXPORT(next_weights)(int back) { return copy_weights(run.model, back); }

/* Takes a step on BATCH pieces of the text; returns the loss before it. */
double EXPORT(next_train)(void)
{
    ag_set_random_state(run.random);
    AgScope scope = ag_begin(AG_RECORD);
    Tensor *ids = tensor_ints(SHAPE(BATCH, CONTEXT), NULL), *targets = tensor_ints(SHAPE(BATCH, CONTEXT), NULL);
    for (int i = 0; i < BATCH; i++) {
        const int32_t *at = run.ids + (int64_t)(ag_random_uniform() * (double)(run.n - CONTEXT));
        memcpy(tensor_mutable_int_data(ids) + i * CONTEXT, at, CONTEXT * sizeof *at);
        memcpy(tensor_mutable_int_data(targets) + i * CONTEXT, at + 1, CONTEXT * sizeof *at);
    }
    Tensor *loss = lm_loss(run.model, ids, targets);
    ag_backward(loss);
    run.step++;
    nn_optimizer_set_lr(run.adam, HIGHEST_RATE * (run.step < WARMUP ? (double)run.step / WARMUP
                                                  : (double)(STEPS - run.step) / (STEPS - WARMUP)));
    nn_optimizer_step(run.adam);
    double value = tensor_item(loss);
    ag_end(scope);
    run.random = ag_random_state();
    return value;
}

/* The logits of the token after these n, of which the model reads the last ones. */
static const ag_real *logits_after(const int32_t *ids, int64_t n)
{
    int64_t length = n < CONTEXT ? n : CONTEXT;
    Tensor *logits = lm_logits(run.model, tensor_ints(SHAPE(1, length), ids + n - length), NULL);
    return tensor_data(logits) + (length - 1) * run.model->options.vocab;
}

/* Draws `count` tokens, one after the other, after the n bytes in the engine's text, which begin a line. Prints {drawn, tokens:
 * [{id, bytes, p, chosen}, ...], kept}: the bytes of each drawn token, and the most probable next ones after those with their
 * probability as the model has it, and with which the settings draw them; kept: how many have one above 0. */
void EXPORT(next_look)(int n, double temperature, int top_k, double top_p, int seed, int count)
{
    static int32_t ids[MOST_TOKENS];
    const LmSampling as_it_is = { .temperature = 1 }, how = { temperature, top_k, top_p };
    char *line = ag_scratch((size_t)n + 1, 1);
    line[0] = '\n';
    memcpy(line + 1, the_text(), (size_t)n);
    size_t read;
    int32_t *sentence = kaeru_vocab_encode(run.v, line, (size_t)n + 1, KAERU_AS_TEXT, &read);
    int64_t length = (int64_t)read;
    memcpy(ids, sentence, read * sizeof *ids);
    ag_free(sentence);
    ag_seed((uint64_t)seed);
    printf("{\"drawn\":[");
    for (int i = 0; i < count && length < MOST_TOKENS; i++) {
        ids[length] = lm_sample_next(logits_after(ids, length), run.model->options.vocab, &how);
        printf(i ? "," : "");
        json_token(run.v, ids[length++]);
    }
    const ag_real *logits = logits_after(ids, length);
    int vocab = (int)run.model->options.vocab, kept = 0;
    double *p = ag_scratch((size_t)vocab, sizeof *p), *chosen = ag_scratch((size_t)vocab, sizeof *chosen);
    if (!lm_sample_probabilities(logits, vocab, &as_it_is, p) || !lm_sample_probabilities(logits, vocab, &how, chosen)) {
        ag_usage_error("next_look", "%s", ag_error());
    }
    for (int i = 0; i < vocab; i++) {
        kept += chosen[i] > 0;
    }
    printf("],\"kept\":%d,\"vocab\":%d,\"tokens\":[", kept, vocab);
    for (int i = 0; i < SHOWN; i++) {
        int best = 0;
        for (int id = 1; id < vocab; id++) {
            best = p[id] > p[best] ? id : best;
        }
        printf("%s{\"id\":%d,\"p\":", i ? "," : "", best);
        json_number(p[best]);
        printf(",\"chosen\":");
        json_number(chosen[best]);
        printf(",\"bytes\":");
        json_token(run.v, best);
        printf("}");
        p[best] = -1;
    }
    printf("]}");
}
