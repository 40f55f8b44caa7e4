/* sentences.c: 300 sentences in active and passive voice. */
#include "families.h"

#include <stdio.h>
#include <string.h>

int32_t active[ALL][LENGTH], passive[ALL][PASSIVE];

KaeruVocab *make_sentences(void)
{
    static const char *const adjectives[] = { "old", "young", "small", "kind", "tall" };
    static const char *const people[] = { "girl", "boy", "king", "teacher", "pilot" };
    static const char *const verbs[4][5] = { { "reads", "read", "letter", "book", "poem" },
                                             { "eats", "eaten", "apple", "bread", "soup" },
                                             { "drives", "driven", "car", "bus", "truck" },
                                             { "plays", "played", "piano", "drum", "flute" } };
    static char text[ALL * 100];
    int32_t order[ALL];
    size_t n = 0, count;
    ag_random_permutation(ALL, order);
    for (int k = 0; k < ALL; k++) {
        const char *adjective = adjectives[order[k] % 5], *person = people[order[k] / 5 % 5];
        const char *const *verb = verbs[order[k] / 25 % 4], *what = verb[2 + order[k] / 100];
        n += (size_t)snprintf(text + n, sizeof text - n, "the %s %s %s the %s the %s is %s by the %s %s ", adjective,
                              person, verb[0], what, what, verb[1], adjective, person);
    }
    KaeruVocab *v = kaeru_vocab_words(text, n, 1);
    int32_t *ids = kaeru_vocab_encode(v, text, n, KAERU_AS_TEXT, &count);
    for (int k = 0; k < ALL; k++) {
        active[k][0] = passive[k][0] = KAERU_START;
        active[k][LENGTH - 1] = passive[k][PASSIVE - 1] = KAERU_END;
        memcpy(active[k] + 1, ids + 14 * k, 6 * sizeof *ids);
        memcpy(passive[k] + 1, ids + 14 * k + 6, 8 * sizeof *ids);
    }
    ag_free(ids);
    return v;
}

void print_words(const KaeruVocab *v, const int32_t *row, int n)
{
    for (int i = 0; i < n && row[i] != KAERU_END; i++) {
        if (row[i] != KAERU_START) {
            printf("%s ", row[i] == HIDDEN ? "____" : kaeru_vocab_token(v, row[i], NULL));
        }
    }
}
