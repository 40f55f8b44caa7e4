/* crf.c: a conditional random field (Lafferty et al. 2001) tags words: the score of a row of tags has a part for each word and
 * one for each pair of neighboring tags. The loss sums over all rows by the forward algorithm; Viterbi's finds the best one. */
#include <math.h>
#include <stdio.h>
#include <kaeru/kaeru.h>

enum { B = 12, T = 9, WORDS = 20, WIDTH = 16, K = 4, STEPS = 150 };

typedef struct { Module module; Tensor *start, *end, *move; } Crf;                      /* (K) (K); (K,K): from row to column */
typedef struct { Module module; Embedding *embed; Linear *out; Crf *crf; } Net;

static void fill(Tensor *t, double size, double speed)
{
    for (int64_t i = 0; i < tensor_numel(t); i++) tensor_mutable_data(t)[i] = (ag_real)(size * sin(speed * (double)(i + 1)));
}

static int length_of(int b) { return 3 + b % (T - 2); }
static int word_of(int b, int t) { return (5 * b + 7 * t + b * t) % WORDS; }
/* The other words have the tag of the word before them, which a tagger of single words cannot know. */
static int tag_of(int b, int t) { return word_of(b, t) < 8 || t == 0 ? word_of(b, t) % K : tag_of(b, t - 1); }

/* The score of the given tags. */
static Tensor *score(Crf *c, Tensor *emit)
{
    Tensor *at = tensor_zeros(SHAPE(B, T, K)), *pairs = tensor_zeros(SHAPE(B, K, K)), *first = tensor_ints(SHAPE(B), NULL);
    Tensor *last = tensor_ints(SHAPE(B), NULL);
    for (int b = 0; b < B; b++) {
        for (int t = 0; t < length_of(b); t++) {
            tensor_mutable_data(at)[(b * T + t) * K + tag_of(b, t)] = 1;
            if (t > 0) tensor_mutable_data(pairs)[(b * K + tag_of(b, t - 1)) * K + tag_of(b, t)] += 1;
        }
        tensor_mutable_int_data(first)[b] = tag_of(b, 0);
        tensor_mutable_int_data(last)[b] = tag_of(b, length_of(b) - 1);
    }
    Tensor *words = ag_sum_dims(ag_mul(emit, at), DIMS(1, 2), false);
    Tensor *sum = ag_add(words, ag_sum_dims(ag_mul(pairs, c->move), DIMS(1, 2), false));
    return ag_add(sum, ag_add(ag_index_select(c->start, 0, first), ag_index_select(c->end, 0, last)));
}

/* The mean of ln(sum of e^score over all rows of tags) - score of the right one. best NULL, or gets the best tags (B,T). */
static Tensor *crf_loss(Crf *c, Tensor *emit, Tensor *mask, int best[B][T])
{
    Tensor *a = ag_add(ag_squeeze(ag_slice(emit, 1, 0, 1), 1), c->start), *max = a, *from[T];
    for (int t = 1; t < T; t++) {
        Tensor *here = ag_slice(emit, 1, t, t + 1), *live = ag_slice(mask, 1, t, t + 1);
        Tensor *to = ag_add(ag_add(ag_unsqueeze(max, 2), c->move), here);           /* (B,K,K): the best so far, and a tag */
        from[t] = ag_argmax(to, 1, false);
        max = ag_where(live, ag_max_dim(to, 1, false), max);
        a = ag_where(live, ag_logsumexp(ag_add(ag_add(ag_unsqueeze(a, 2), c->move), here), 1, false), a);
    }
    const int32_t *last = tensor_int_data(ag_argmax(ag_add(max, c->end), 1, false));
    for (int b = 0; best && b < B; b++) {
        for (int t = length_of(b) - 1, tag = last[b]; t >= 0; t--) {
            best[b][t] = tag;
            if (t > 0) tag = tensor_int_data(from[t])[b * K + tag];
        }
    }
    return ag_mean(ag_sub(ag_logsumexp(ag_add(a, c->end), 1, false), score(c, emit)));
}

int main(void)
{
    AgScope all = ag_begin(AG_NO_GRAD);
    Net *n = nn_new(Net);
    Crf *c = nn_new(Crf);
    nn_child(n, embed, nn_embedding_new(WORDS, WIDTH));
    nn_child(n, out, nn_linear_new(WIDTH, K));
    nn_param(c, start, SHAPE(K));
    nn_param(c, end, SHAPE(K));
    nn_param(c, move, SHAPE(K, K));
    nn_child(n, crf, c);
    NnParameters *p = nn_parameters(n);
    for (int i = 0; i < p->n; i++) fill(p->item[i].tensor, 0.3, 1.7 + i);
    Tensor *ids = tensor_ints(SHAPE(B, T), NULL), *mask = tensor_bools(SHAPE(B, T), NULL);
    for (int b = 0; b < B; b++) {
        for (int t = 0; t < length_of(b); t++) {
            tensor_mutable_int_data(ids)[b * T + t] = word_of(b, t);
            tensor_mutable_bool_data(mask)[b * T + t] = 1;
        }
    }
    Optimizer *adam = nn_adam_new(n, 0.05);
    int best[B][T], right = 0, words = 0;
    for (int step = 1; step <= STEPS; step++) {
        AgScope scope = ag_begin(AG_RECORD);
        Tensor *loss = crf_loss(c, nn_linear(n->out, nn_embedding(n->embed, ids)), mask, step == STEPS ? best : NULL);
        ag_backward(loss);
        if (step == 1) printf("norm of the first gradient %.6f\n", nn_grad_norm(n));
        if (step == 1 || step == 20) printf("loss at step %d: %.6f\n", step, tensor_item(loss));
        nn_optimizer_step(adam);
        ag_end(scope);
    }
    for (int b = 0; b < B; b++) for (int t = 0; t < length_of(b); t++, words++) right += best[b][t] == tag_of(b, t);
    printf("tags right: %.1f %%\n", 100.0 * right / words);
    ag_free(p);
    ag_free(adam);
    ag_free(n);
    ag_end(all);
    return 0;
}
