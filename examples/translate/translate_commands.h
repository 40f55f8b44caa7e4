/* translate_commands.h: what the commands of translate share. */
#ifndef KAERU_EXAMPLES_TRANSLATE_COMMANDS_H
#define KAERU_EXAMPLES_TRANSLATE_COMMANDS_H

#include "common/common.h"
#include "kaeru/text.h"
#include "kaeru/training.h"
#include "translator.h"

/* ---- the commands: each reads its options from argv[1] on and returns the exit status ---------------------------- */

int translate_train(int argc, char **argv);
int translate_translate(int argc, char **argv);
int translate_score(int argc, char **argv);
int translate_show(int argc, char **argv);

/* ---- sentences --------------------------------------------------------------------------------------------------- */

/* Line i of tgt is the translation of line i of src. */
typedef struct { KaeruLines src, tgt; } Corpus;
/* From two files; ends the program if they cannot be used. */
Corpus corpus_must_open(const char *src_path, const char *tgt_path, bool lower_case);
/* English and Japanese sentences of a small grammar, from this thread's generator. The two corpora have no sentence in
 * common. */
void corpus_of_grammar(Corpus *train, int64_t n_train, Corpus *valid, int64_t n_valid);
void corpus_close(Corpus *c);

/* ---- a trained model --------------------------------------------------------------------------------------------- */

/* Files in the output folder: the last checkpoint of a run, and its result. */
#define LAST_FILE  "translate_last.safetensors"
#define MODEL_FILE "translate.safetensors"

/* The vocabularies of source and target; if they are shared, both are the same. */
typedef struct { KaeruVocab *src, *tgt; } Vocabularies;
void vocabularies_save(const Vocabularies *v);                          /* in the output folder */
/* Of the files there that such vocabularies do not have: training_run_result for each; and removes them. */
void vocabularies_results(bool bpe, bool shared);
void vocabularies_remove_others(const Vocabularies *v);
void vocabularies_must_be_outputs(void);                                /* ends the program if it may not write them there */
/* The vocabularies in a checkpoint that has these settings; in its folder, if the checkpoint is of an earlier version. */
void vocabularies_open(Vocabularies *v, const char *checkpoint, const NnSettings *s);
void vocabularies_close(Vocabularies *v);
void vocabularies_describe(const Vocabularies *v, NnSettings *s);       /* sets the settings that describe them */

/* A model in evaluation mode with its vocabularies; lower_case: it was trained with --lower-case. */
typedef struct { Transformer *model; Vocabularies vocabularies; bool lower_case; } TrainedModel;
TrainedModel trained_model_of_checkpoint(const char *checkpoint);       /* NULL: MODEL_FILE in the output folder */
void trained_model_close(TrainedModel *m);
Translator translator_of(Transformer *model, const Vocabularies *v);

/* ---- scores and attention ---------------------------------------------------------------------------------------- */

/* Translates a corpus; returns the BLEU score and how many of the n translations that should not be empty are exactly right.
 * *out, unless NULL, gets the translations. */
typedef struct { double bleu; int64_t exact, n; } Quality;
Quality corpus_score(const Translator *t, const Corpus *c, int64_t beam, double length_penalty, bool lower_case,
                     KaeruLines *out);
/* Prints "greedy: BLEU ..." and "beam N: BLEU ...", by the functions above. Beam 1 is greedy and printed only once. */
void print_scores(const Translator *t, const Corpus *c, int64_t beam, double length_penalty, bool lower_case,
                  KaeruLines *out);
/* Writes a text in which bytes that are not UTF-8 become U+FFFD: a model may write such bytes. */
void put_bytes(FILE *file, const char *text, size_t n);
/* Translates a sentence and draws its attention: translate_attention.csv and three pictures. */
#define ATTENTION_FILE "translate_attention.csv"
void show_attention(const Translator *t, KaeruLine sentence);

#endif
