/* show.c: tests each of the three models on the held-out sentences. */
#include "families.h"

#include <stdio.h>
#include <string.h>

#include "common/common.h"
#include "kaeru/autograd.h"
#include "kaeru/lm.h"

enum { SHOWN = 3, HELD_OUT = ALL - TRAIN, EACH = HELD_OUT / SHOWN };

/* The word that a model chooses for one position when it sees these n ids. `shown`: prints its most probable words. */
static int32_t word_for(const KaeruVocab *vocab, TransformerEncoderOnly *m, const int32_t *ids, int64_t n, Tensor *mask,
                        int64_t position, double temperature, bool shown)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *log_p = transformer_encoder_only(m, tensor_ints(SHAPE(1, n), ids), mask);
    Tensor *here = ag_reshape(ag_slice(log_p, 1, position, position + 1), SHAPE(-1)), *p = ag_exp(here);
    int32_t word = lm_sample_next(tensor_data(here), tensor_numel(here), &(LmSampling){ .temperature = temperature });
    if (word < 0) {
        example_fail("%s", ag_error());
    }
    for (int k = 0; shown && k < SHOWN; k++) {
        int32_t best = tensor_int_data(ag_argmax(p, 0, false))[0];
        say("  %s %.0f%%", kaeru_vocab_token(vocab, best, NULL), 100 * (double)tensor_data(p)[best]);
        tensor_mutable_data(p)[best] = 0;
    }
    ag_end(s);
    return word;
}

void show_filling(const KaeruVocab *vocab, TransformerEncoderOnly *fills, TransformerEncoderOnly *goes_on)
{
    int right[2] = { 0, 0 };
    say("\n1. Encoder, like BERT and RoBERTa: fills in a word from the words on both sides. The decoder sees only those "
        "on the\nleft.\n");
    for (int k = TRAIN; k < ALL; k++) {
        int32_t row[LENGTH], verb = active[k][VERB];
        bool shown = k % EACH == 0;
        memcpy(row, active[k], sizeof row);
        row[VERB] = HIDDEN;
        printf(shown ? "  " : "");
        print_words(vocab, row, shown ? LENGTH : 0);
        say(shown ? "\n      encoder:" : "");
        right[0] += word_for(vocab, fills, row, LENGTH, NULL, VERB, 0, shown) == verb;
        say(shown ? "\n      decoder:" : "");
        right[1] += word_for(vocab, goes_on, row, VERB, nn_causal_mask(VERB), VERB - 1, 0, shown) == verb;
        printf(shown ? "\n" : "");
    }
    say("  right verbs in %d held-out sentences: encoder %d, decoder %d\n", HELD_OUT, right[0], right[1]);
}

void show_going_on(const KaeruVocab *vocab, TransformerEncoderOnly *goes_on)
{
    say("\n2. Decoder, like GPT and LLaMA: continues after \"the\", word by word.\n");
    int trained = 0, new = 0;
    for (int k = 0; k < HELD_OUT; k++) {
        int32_t row[LENGTH] = { KAERU_START, active[0][1] };
        for (int n = 2; n < LENGTH; n++) {
            row[n] = word_for(vocab, goes_on, row, n, nn_causal_mask(n), n - 1, 1, false);
        }
        int known = 0;
        while (known < ALL && memcmp(active[known], row, sizeof row) != 0) {
            known++;
        }
        trained += known < TRAIN;
        new += known >= TRAIN && known < ALL;
        if (k < 5) {
            printf("  ");
            print_words(vocab, row, LENGTH);
            say("%s\n", known < TRAIN ? "(in the training data)" : known < ALL ? "(new and correct)" : "(wrong)");
        }
    }
    say("  of %d, %d are in the training data, %d are new and correct, %d are wrong\n", HELD_OUT, trained, new,
        HELD_OUT - trained - new);
}

void show_rewriting(const KaeruVocab *vocab, Transformer *rewrites)
{
    say("\n3. Encoder-decoder, like T5 and BART: the encoder reads a sentence, the decoder writes it in the passive.\n");
    Tensor *src = tensor_ints(SHAPE(HELD_OUT, LENGTH), active[TRAIN]);
    Tensor *out = transformer_greedy_decode(rewrites, src, nn_padding_mask(src, KAERU_BLANK), PASSIVE,
                                                  KAERU_START, KAERU_END);
    if (!out) {
        example_fail("%s", ag_error());
    }
    int right = 0;
    for (int k = 0; k < HELD_OUT; k++) {
        const int32_t *output = tensor_int_data(out) + k * PASSIVE;
        bool same = memcmp(output, passive[TRAIN + k], sizeof passive[0]) == 0;
        right += same;
        if (k % EACH == 0) {
            printf("  ");
            print_words(vocab, active[TRAIN + k], LENGTH);
            printf("-> ");
            print_words(vocab, output, PASSIVE);
            say(same ? "\n" : "(wrong)\n");
        }
    }
    say("  %d of %d held-out sentences right\n", right, HELD_OUT);
}
