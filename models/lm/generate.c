/* generate.c: writes text with a language model, token after token. */
#include "array.h"
#include "kaeru/frozen.h"
#include "kaeru/generate.h"
#include "kaeru/language.h"
#include "program_calls.h"
#include "language.h"

/* Reads n ids that follow those in the cache, and samples the next one; -1 if lm_sample_next fails. */
static int32_t next_id(void *m, const int32_t *ids, int64_t n, NnCache *cache, const LmSampling *how)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *logits = lm_next(m, tensor_ints(SHAPE(1, n), ids), cache);         /* (1,V) */
    int32_t id = lm_sample_next(tensor_data(logits), tensor_numel(logits), how);
    ag_end(s);
    return id;
}

bool lm_generate(void *m, const int32_t *prompt, int64_t n, int64_t most, const LmSampling *how, KaeruNextToken *next,
                 void *arg)
{
    AG_LAYER;
    int64_t context = lm_sizes(__func__, m).context, half = context > 1 ? context / 2 : 1;
    ag_check_pointer(__func__, "prompt", prompt);
    ag_check_pointer(__func__, "how", how);
    if (!next) ag_usage_error(__func__, "next is NULL, expected a function that gets the tokens");
    if (most < 0) ag_usage_error(__func__, "%lld tokens to generate, expected 0 or more", (long long)most);
    if (((Module *)m)->training) ag_usage_error(__func__, "the model is in training mode; call nn_eval first");
    if (n < 1) ag_usage_error(__func__, "an empty prompt, expected 1 token or more");
    AgScope s = ag_begin(AG_NO_GRAD);
    NnCache *cache = lm_cache_new(m);
    layer_owns(cache);
    int64_t length = n < context ? n : context, read = 0;                       /* read: how many are in the cache */
    size_t capacity = 0;                                    /* of ids: the context may be longer than any text */
    int32_t *ids = array_for(cache, NULL, (size_t)length, &capacity, sizeof *ids);      /* the ids that the model reads */
    for (int64_t i = 0; i < length; i++) ids[i] = prompt[n - length + i];
    bool good = true, bf16 = ag_precision_now() == AG_BF16;
    if (bf16) nn_pack_weights(m, true);
    for (int64_t i = 0; good && i < most; i++) {
        int32_t id = next_id(m, ids + read, length - read, cache, how);
        good = id >= 0;
        const Calls before = program_begins();
        bool more = good && next(arg, id);
        function_ends(before);
        check_scopes(__func__, "next", s);          /* the end of the scope around this call frees the cache */
        if (!more) break;
        read = length;
        if (length == context) {                                                /* full: keep the last half */
            for (int64_t k = 0; k < half - 1; k++) ids[k] = ids[context - half + 1 + k];
            nn_cache_keep_last(cache, 0);
            length = half - 1;
            read = 0;
        }
        ids = array_for(cache, ids, (size_t)length + 1, &capacity, sizeof *ids);
        ids[length++] = id;
    }
    if (bf16) nn_pack_weights(m, false);
    layer_frees(cache);
    ag_end(s);
    return good;
}
