/* gpt_commands.h: what the commands of gpt share. */
#ifndef KAERU_EXAMPLES_GPT_COMMANDS_H
#define KAERU_EXAMPLES_GPT_COMMANDS_H

#include "common/writing.h"

/* ---- the commands: each reads its options from argv[1] on and returns the exit status ---------------------------- */

int gpt_train(int argc, char **argv);
int gpt_sample(int argc, char **argv);
int gpt_generate_command(int argc, char **argv);
int gpt_eval(int argc, char **argv);
int gpt_tokenize(int argc, char **argv);
int gpt_export(int argc, char **argv);

/* ---- texts ------------------------------------------------------------------------------------------------------- */

extern const char corpus[];                     /* the library's own sources, of version 0.4: corpus.txt */
extern const size_t corpus_size;

/* The files of a trained model in the output folder. */
#define LAST_FILE   "gpt_last.safetensors"
#define BEST_FILE   "gpt_best.safetensors"
#define VOCAB_FILE  "gpt_vocab.json"
#define MERGES_FILE "gpt_merges.txt"
#define TOKENS_FILE "gpt.tokens"                /* of gpt tokenize, with its vocabulary beside it */

/* Settings of the checkpoints: "characters" or "bpe", and the prefix of the vocabulary's texts; its fingerprint; the option
 * --data of gpt train. */
#define VOCABULARY_KEY  "vocabulary"
#define FINGERPRINT_KEY "vocabulary.fingerprint"
#define DATA_KEY        "option.data"

/* These end the program with the library's message if a file cannot be used. */
KaeruVocab *vocab_must_open(const char *vocab, const char *merges);     /* merges NULL: characters */
LmData *data_must_open(const char *path, const KaeruVocab *v);  /* NULL: the corpus */
/* The vocabulary in a checkpoint that has these settings; in its folder, if the checkpoint is of an earlier version. */
KaeruVocab *vocab_of_checkpoint(const char *checkpoint, const NnSettings *s);
void describe_vocab(const KaeruVocab *v, NnSettings *s);            /* sets the settings of the vocabulary */

/* A model in evaluation mode with its vocabulary and the settings of its checkpoint. */
typedef struct { GPT *model; KaeruVocab *vocab; NnSettings *settings; } TrainedModel;
TrainedModel trained_model_of_checkpoint(const char *checkpoint);   /* NULL: BEST_FILE in the output folder */
TrainedModel trained_model_of_files(const char *weights, const char *config, const char *vocab, const char *merges);
void trained_model_close(TrainedModel *m);

/* To write: a new text begins after <|endoftext|>, a new line, or else token 0. */
Writer writer_of(const TrainedModel *m);

#endif
