/* show.c: what each of the three is for, tried on sentences that none has learned from. */
#include "families.h"

#include <stdio.h>
#include <string.h>

#include "common/common.h"
#include "kaeru/lm.h"

enum { SHOWN = 3, HELD_OUT = ALL - TRAIN, EACH = HELD_OUT / SHOWN };

/* A word for one place, as a model that sees these n ids would have it; `shown`: its likeliest words are printed. */
static int32_t word_for(const WordVocab *vocab, EncoderOnly *m, const int32_t *ids, int64_t n, Tensor *mask,
                        int64_t place, double temperature, bool shown)
{
    Scope s = ag_begin(AG_NO_GRAD);
    Tensor *log_p = encoder_only(m, tensor_ints(SHAPE(1, n), ids), mask);
    Tensor *here = ag_reshape(ag_slice(log_p, 1, place, place + 1), SHAPE(-1)), *p = ag_exp(here);
    int32_t word = sample_next(tensor_data(here), tensor_numel(here), &(Sampling){ .temperature = temperature });
    if (word < 0) {
        example_fail("%s", ag_error());
    }
    for (int k = 0; shown && k < SHOWN; k++) {
        int32_t best = tensor_int_data(ag_argmax(p, 0, false))[0];
        printf("  %s %.0f%%", word_vocab_word(vocab, best, NULL), 100 * (double)tensor_data(p)[best]);
        tensor_data(p)[best] = 0;
    }
    ag_end(s);
    return word;
}

void show_filling(const WordVocab *vocab, EncoderOnly *fills, EncoderOnly *goes_on)
{
    int right[2] = { 0, 0 };
    printf("\n1. Encoder: fills in a word, from both sides. Beside it the decoder, which sees the left side alone.\n");
    for (int k = TRAIN; k < ALL; k++) {
        int32_t row[LENGTH], verb = active[k][VERB];
        bool shown = k % EACH == 0;
        memcpy(row, active[k], sizeof row);
        row[VERB] = HIDDEN;
        printf(shown ? "  " : "");
        print_words(vocab, row, shown ? LENGTH : 0);
        printf(shown ? "\n      encoder:" : "");
        right[0] += word_for(vocab, fills, row, LENGTH, NULL, VERB, 0, shown) == verb;
        printf(shown ? "\n      decoder:" : "");
        right[1] += word_for(vocab, goes_on, row, VERB, nn_causal_mask(VERB), VERB - 1, 0, shown) == verb;
        printf(shown ? "\n" : "");
    }
    printf("  verbs right in %d unseen sentences: encoder %d, decoder %d\n", HELD_OUT, right[0], right[1]);
}

void show_going_on(const WordVocab *vocab, EncoderOnly *goes_on)
{
    printf("\n2. Decoder: goes on after \"the\", word by word.\n");
    int learned = 0, new = 0;
    for (int k = 0; k < HELD_OUT; k++) {
        int32_t row[LENGTH] = { WORD_START, active[0][1] };
        for (int n = 2; n < LENGTH; n++) {
            row[n] = word_for(vocab, goes_on, row, n, nn_causal_mask(n), n - 1, 1, false);
        }
        int known = 0;
        while (known < ALL && memcmp(active[known], row, sizeof row) != 0) {
            known++;
        }
        learned += known < TRAIN;
        new += known >= TRAIN && known < ALL;
        if (k < 5) {
            printf("  ");
            print_words(vocab, row, LENGTH);
            printf("%s\n", known < TRAIN ? "(as in the text)" : known < ALL ? "(new, and in order)" : "(out of order)");
        }
    }
    printf("  of %d, %d were learned from, %d are new and in order, %d are not\n", HELD_OUT, learned, new,
           HELD_OUT - learned - new);
}

void show_rewriting(const WordVocab *vocab, EncoderDecoder *rewrites)
{
    printf("\n3. Both: the encoder reads a sentence, the decoder says it from the other side.\n");
    Tensor *src = tensor_ints(SHAPE(HELD_OUT, LENGTH), active[TRAIN]);
    Tensor *out = greedy_decode_until(rewrites, src, nn_padding_mask(src, WORD_BLANK), PASSIVE, WORD_START, WORD_END);
    int right = 0;
    for (int k = 0; k < HELD_OUT; k++) {
        const int32_t *said = tensor_int_data(out) + k * PASSIVE;
        bool same = memcmp(said, passive[TRAIN + k], sizeof passive[0]) == 0;
        right += same;
        if (k % EACH == 0) {
            printf("  ");
            print_words(vocab, active[TRAIN + k], LENGTH);
            printf("-> ");
            print_words(vocab, said, PASSIVE);
            printf(same ? "\n" : "(wrong)\n");
        }
    }
    printf("  %d of %d unseen sentences right\n", right, HELD_OUT);
}
