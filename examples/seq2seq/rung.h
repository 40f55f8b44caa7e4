/* rung.h: the lesson's three models as one kind of thing, and the words that they learn from. */
#ifndef KAERU_EXAMPLES_RUNG_H
#define KAERU_EXAMPLES_RUNG_H

#include "kaeru/seq2seq.h"

/* Ids: padding behind short words, the start, the stop that ends a word, a to z. */
enum { PAD, START, STOP, LETTER_A, VOCAB = LETTER_A + 26 };
char letter(int32_t id);                                                /* 'a' to 'z', '.' for the stop, else '?' */
/* Words as source; as target the start, the word backwards, the stop. n words of random letters, each of a random
 * length in shortest..longest; or one word. */
Batch random_words(int64_t n, int64_t shortest, int64_t longest);
Batch one_word(const char *text);

enum { WIDTH = 64, LONGEST = 256 };                                     /* of all models; letters of a word */
typedef enum { FIXED, ATTENTION, TRANSFORMER, RUNGS } RungKind;
/* A rung of the ladder: one of the two models, and that one once more for what takes any module. */
typedef struct { const char *name; Seq2Seq *seq2seq; EncoderDecoder *transformer; void *model; } Rung;
/* What --score (dot, general or additive) and --word (letters from a to z) may be; else the program ends. */
ScoreKind score_named(const char *name);
void check_word(const char *text);
Rung rung_new(RungKind kind, RecurrentKind cell, ScoreKind score);      /* free with nn_free(rung.model) */
/* The mean of -log p(letter), each letter guessed from those before it -> scalar */
Tensor *rung_loss(const Rung *r, const Batch *b);
/* The likeliest letter each time, from the start on: (n,longest+2) */
Tensor *rung_say(const Rung *r, const Batch *b);
/* How much of each letter of its one word the model looks at before it says each of tgt_y: (length+1,length); the mean
 * over the Transformer's heads. NULL without attention. */
Tensor *rung_look(const Rung *r, const Batch *b);

#endif
