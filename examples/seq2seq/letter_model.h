/* letter_model.h: the three models of the lesson behind one interface, and the words that they learn. */
#ifndef KAERU_EXAMPLES_LETTER_MODEL_H
#define KAERU_EXAMPLES_LETTER_MODEL_H

#include "kaeru/seq2seq.h"

/* Ids: padding after short words, the start, the stop that ends a word, a to z. */
enum { PAD, START, STOP, LETTER_A, VOCAB = LETTER_A + 26 };
char letter(int32_t id);                                                /* 'a' to 'z', '.' for the stop, else '?' */
/* A batch of words. The source is the word; the target is the start, the reversed word, the stop.
 * n words of random letters, each of a random length in shortest..longest; or one word. */
TransformerBatch random_words(int64_t n, int64_t shortest, int64_t longest);
TransformerBatch one_word(const char *text);

enum { WIDTH = 64, LONGEST = 1024 };                                     /* of all models; letters of a word */
typedef enum { FIXED, ATTENTION, TRANSFORMER, LETTER_MODELS } LetterModelKind;
/* One of `seq2seq` and `transformer` is NULL; `module` is the other one. */
typedef struct { const char *name; Seq2Seq *seq2seq; Transformer *transformer; void *module; } LetterModel;
/* The arguments of --score (dot, general or additive) and --word (letters from a to z); anything else is a usage
 * error. */
NnScoreKind score_named(const char *name);
void check_word(const char *text);
/* Free with ag_free(model.module). */
LetterModel letter_model_new(LetterModelKind kind, RecurrentKind cell, NnScoreKind score);
/* The mean of -log p(letter), where each letter is predicted from those before it -> scalar */
Tensor *letter_model_loss(const LetterModel *m, const TransformerBatch *b);
/* The most probable letter each time, beginning with the start: (n,longest+2) */
Tensor *letter_model_decode(const LetterModel *m, const TransformerBatch *b);
/* The attention to each letter of the only word in the batch, for each letter of tgt_y: (length+1,length). For the
 * Transformer it is the mean over the heads. NULL without attention. */
Tensor *letter_model_attention(const LetterModel *m, const TransformerBatch *b);

#endif
