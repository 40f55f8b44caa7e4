/* translate_commands.h: what the commands of translate share. */
#ifndef KAERU_EXAMPLES_TRANSLATE_COMMANDS_H
#define KAERU_EXAMPLES_TRANSLATE_COMMANDS_H

#include "common/common.h"
#include "kaeru/translation.h"

/* ---- the commands: each reads its options from argv[1] on and returns the status for main ------------------------ */

int translate_train(int argc, char **argv);
int translate_translate(int argc, char **argv);
int translate_score(int argc, char **argv);
int translate_show(int argc, char **argv);

/* ---- sentences --------------------------------------------------------------------------------------------------- */

/* Line i of one language says what line i of the other does. */
typedef struct { Lines src, tgt; } Corpus;
/* From two files; ends the program if they cannot be used. */
Corpus corpus_must_open(const char *src_path, const char *tgt_path, bool lower_case);
/* English and Japanese by a small grammar, from this thread's generator: two corpora without a sentence in common. */
void corpus_of_grammar(Corpus *train, int64_t n_train, Corpus *valid, int64_t n_valid);
void corpus_close(Corpus *c);

/* ---- a trained model --------------------------------------------------------------------------------------------- */

/* What lies in the output folder: the state of a run, its result, and the vocabularies. */
#define LAST_FILE  "translate_last.safetensors"
#define MODEL_FILE "translate.safetensors"

/* The vocabularies of source and target; one for both if they are shared. */
typedef struct { SentenceVocab src, tgt; bool shared; } Vocabularies;
void vocabularies_save(const Vocabularies *v);                          /* in the output folder */
void vocabularies_open(Vocabularies *v, const char *checkpoint, const Settings *s);     /* those beside a checkpoint */
void vocabularies_close(Vocabularies *v);
/* Settings that say which they are. */
void vocabularies_describe(const Vocabularies *v, Settings *s);
const SentenceVocab *target_vocab(const Vocabularies *v);

typedef struct { EncoderDecoder *model; Vocabularies vocabularies; Settings *settings; bool lower_case; } Interpreter;
Interpreter interpreter_open(const char *checkpoint);                   /* NULL: MODEL_FILE of the output folder */
void interpreter_close(Interpreter *p);
Translator interpreter_translator(const Interpreter *p);

/* ---- measuring and looking --------------------------------------------------------------------------------------- */

/* Translates a corpus; gives its BLEU and how many sentences are exactly right. The translations go to *out, if that is
 * not NULL. */
typedef struct { double bleu; int64_t exact; } Quality;
Quality corpus_score(const Translator *t, const Corpus *c, int beam, double length_penalty, bool lower_case,
                     Lines *out);
/* Translates a sentence and draws who looks at whom: translate_attention.csv and three pictures. */
void show_attention(const Translator *t, Line sentence);

#endif
