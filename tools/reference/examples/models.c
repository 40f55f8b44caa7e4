/* models.c: the examples of the models, the text and the training of models/. */
#include <string.h>

#include "example.h"

/* Prints each id; for lm_generate. */
static bool print_id(void *arg, int32_t id)
{
    (void)arg;
    printf("%d ", id);
    return true;
}

static const char text[] = "the cat sat on the mat, the cat ate the rat";

static void models(void)
{
    EXAMPLE(transformer_new) {
        TransformerOptions o = transformer_defaults();
        o.N = 1, o.d_model = 16, o.d_ff = 32, o.h = 2;
        Transformer *m = transformer_new(20, 30, o);                    /* 20 words of the source, 30 of the target */
        Tensor *src = tensor_ints(SHAPE(1, 4), (int32_t[]){ 5, 6, 7, 0 });
        Tensor *tgt = tensor_ints(SHAPE(1, 3), (int32_t[]){ 1, 8, 9 });
        Tensor *src_mask = nn_padding_mask(src, 0), *tgt_mask = nn_causal_padding_mask(tgt, 0);
        Tensor *log_p = transformer_generator(m->generator, transformer_forward(m, src, tgt, src_mask, tgt_mask));
        char shape[AG_SHAPE_TEXT];
        puts(ag_shape_text(tensor_shape(log_p), shape));
        ag_free(m);
    }
    EXAMPLE(gpt_forward) {
        GPTOptions o = gpt_defaults();
        o.layers = 2, o.heads = 2, o.width = 16, o.vocab = 50, o.context = 8;
        GPT *m = gpt_new(o);
        nn_eval(m);
        Tensor *logits = gpt_forward(m, tensor_ints(SHAPE(1, 4), (int32_t[]){ 3, 1, 4, 1 }));
        char shape[AG_SHAPE_TEXT];
        printf("%s, %lld numbers\n", ag_shape_text(tensor_shape(logits), shape), (long long)nn_count(m));
        ag_free(m);
    }
    EXAMPLE(llama_forward) {
        LlamaOptions o = llama_defaults();
        o.layers = 1, o.heads = 4, o.kv_heads = 2, o.head_width = 4, o.width = 16, o.hidden = 32, o.vocab = 50;
        Llama *m = llama_new(o);
        Tensor *ids = tensor_ints(SHAPE(1, 3), (int32_t[]){ 3, 1, 4 });
        Tensor *targets = tensor_ints(SHAPE(1, 3), (int32_t[]){ 1, 4, 1 });
        Tensor *loss = lm_loss(m, ids, targets);
        ag_backward(loss);
        printf("%.3f\n", tensor_item(loss));                            /* about ln 50: nothing is learned yet */
        ag_free(m);
    }
    EXAMPLE(lm_logits) {
        GPTOptions o = gpt_defaults();
        o.layers = 1, o.heads = 2, o.width = 16, o.vocab = 50, o.context = 8;
        GPT *m = gpt_new(o);
        nn_eval(m);
        AgScope s = ag_begin(AG_NO_GRAD);
        NnCache *cache = lm_cache_new(m);
        Tensor *all = lm_logits(m, tensor_ints(SHAPE(1, 3), (int32_t[]){ 3, 1, 4 }), NULL);
        lm_logits(m, tensor_ints(SHAPE(1, 2), (int32_t[]){ 3, 1 }), cache);         /* the same in two steps */
        Tensor *last = lm_logits(m, tensor_ints(SHAPE(1, 1), (int32_t[]){ 4 }), cache);
        printf("%d\n", memcmp(tensor_data(last), tensor_data(all) + 2 * 50, 50 * sizeof(ag_real)) == 0);
        ag_free(cache);
        ag_end(s);
        ag_free(m);
    }
    EXAMPLE(lm_generate) {
        /* static bool print_id(void *arg, int32_t id) { printf("%d ", id); return true; } */
        GPTOptions o = gpt_defaults();
        o.layers = 1, o.heads = 2, o.width = 16, o.vocab = 50, o.context = 8;
        GPT *m = gpt_new(o);
        nn_eval(m);
        LmSampling how = { .temperature = 0.8, .top_k = 10 };
        lm_generate(m, (int32_t[]){ 3, 1, 4 }, 3, 6, &how, print_id, NULL);
        printf("\n");
        ag_free(m);
    }
    EXAMPLE(lm_sample_probabilities) {
        double p[4];
        ag_real logits[4] = { 1, 2, 3, 4 };
        lm_sample_probabilities(logits, 4, &(LmSampling){ .temperature = 1, .top_k = 2 }, p);
        printf("%.3f %.3f %.3f %.3f\n", p[0], p[1], p[2], p[3]);
    }
}

static void texts(void)
{
    EXAMPLE(kaeru_vocab_chars) {
        KaeruVocab *v = kaeru_vocab_chars("hello", 5);
        size_t n;
        int32_t *ids = kaeru_vocab_encode(v, "hole", 4, KAERU_AS_TEXT, &n);
        for (size_t i = 0; i < n; i++) printf("%d ", ids[i]);
        printf("of %d\n", kaeru_vocab_size(v));
        ag_free(ids);
        ag_free(v);
    }
    EXAMPLE(kaeru_vocab_bpe) {
        /* static const char text[] = "the cat sat on the mat, the cat ate the rat"; */
        KaeruVocab *v = kaeru_vocab_bpe(KAERU_BPE, text, strlen(text), 262);
        size_t n, size;
        int32_t *ids = kaeru_vocab_encode(v, "the cat", 7, KAERU_AS_TEXT, &n);
        for (size_t i = 0; i < n; i++) printf("%d \"%s\"\n", ids[i], kaeru_vocab_token(v, ids[i], &size));
        ag_free(ids);
        ag_free(v);
    }
}

int main(void)
{
    models();
    texts();
    return 0;
}
