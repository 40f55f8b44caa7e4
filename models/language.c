/* language.c: the functions that all language models share: logits, the loss, and the next token
 * with a cache. A model gives its LmFunctions, as gpt.c does at its end; the functions here call
 * them, so that each is written once for all models. */
#include "arguments.h"
#include "kaeru/autograd.h"
#include "kaeru/language.h"
#include "language.h"

#include <string.h>

Tensor *lm_forward(void *m, Tensor *ids)
{
    return lm_logits(m, ids, NULL);
}

const LmFunctions *lm_functions(const void *m)
{
    const LanguageModel *model = m;
    /* a module of another type may have got this forward function from a language model */
    bool is_model = strcmp(model->module.type, "GPT") == 0 ||
                    strcmp(model->module.type, "Llama") == 0;
    return is_model && model->module.forward == lm_forward ? model->lm : NULL;
}

/* Returns the functions of m. Checks that m is a language model and that the cache, unless it is
 * NULL, has the layers of m. */
static const LmFunctions *functions_of(const char *what, const void *m, const NnCache *cache)
{
    nn_check(what, m, 0);
    const LmFunctions *f = lm_functions(m);
    if (!f) {
        ag_usage_error(what, "this %s is not a language model: expected a GPT or a Llama",
                       ((const Module *)m)->type);
    }
    if (cache) {
        ag_check_object(what, "the cache", cache);
        int64_t layers = f->get_sizes(m).layers;
        if (cache->n != layers) {
            ag_usage_error(what, "a cache for %d layers, expected one for the model's %lld",
                           cache->n, (long long)layers);
        }
    }
    return f;
}

LmSizes lm_sizes(const char *what, const void *m)
{
    return functions_of(what, m, NULL)->get_sizes(m);
}

int64_t cache_past(const char *what, const NnCache *cache)
{
    int64_t past = cache->layer[0].length;
    if (cache->shifted) {
        ag_usage_error(what, "nn_cache_keep_last has removed what was before the %lld positions in "
                       "the cache: the model counts positions from the first one, so that it "
                       "expected all or none of them", (long long)past);
    }
    return past;
}

int64_t lm_past(const char *what, const Tensor *ids, const NnCache *cache, int64_t context)
{
    int64_t past = cache ? cache_past(what, cache) : 0;
    check_alive(what, "ids", ids);
    if (tensor_ndim(ids) != 2 || tensor_dim(ids, 1) < 1) {
        ag_usage_error(what, "ids %s, expected (B,T)", ag_shape_string(tensor_shape(ids)));
    }
    int64_t n = tensor_dim(ids, 1);
    if (n > context - past) {
        ag_usage_error(what, "%lld ids after %lld in the cache exceed the context of %lld",
                       (long long)n, (long long)past, (long long)context);
    }
    return past;
}

Tensor *lm_loss_with(void *m, Tensor *ids, Tensor *targets, AgReduce reduce)
{
    AG_LAYER;
    const LmFunctions *f = functions_of(__func__, m, NULL);
    Tensor *x = f->run_body(m, ids, NULL);                          /* (B,T,D) */
    Linear *head = f->get_sizes(m).head;
    if (head->adapter) {            /* its output is a part of the logits */
        return ag_cross_entropy(nn_linear(head, x), targets, reduce, -100, 0);
    }
    return ag_linear_cross_entropy(x, head->weight, NULL, targets, reduce, -100, 0);
}

NnCache *lm_cache_new(const void *m)
{
    AG_LAYER;
    LmSizes sizes = lm_sizes(__func__, m);
    return nn_cache_new((int)sizes.layers, sizes.context);
}

Tensor *lm_logits(void *m, Tensor *ids, NnCache *cache)
{
    AG_LAYER;
    const LmFunctions *f = functions_of(__func__, m, cache);
    Tensor *x = f->run_body(m, ids, cache);                         /* (B,T,D) */
    return nn_linear(f->get_sizes(m).head, x);                      /* (B,T,V) */
}

Tensor *lm_next(void *m, Tensor *ids, NnCache *cache)
{
    AG_LAYER;
    ag_check_object(__func__, "the cache", cache);
    const LmFunctions *f = functions_of(__func__, m, cache);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *x = f->run_body(m, ids, cache);                         /* (B,T,D) */
    int64_t n = tensor_dim(x, 1);
    Tensor *last = ag_squeeze(ag_slice(x, 1, n - 1, n), 1);         /* (B,D) */
    return ag_end_return(s, nn_linear(f->get_sizes(m).head, last)); /* (B,V) */
}
