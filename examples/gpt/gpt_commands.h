/* gpt_commands.h: what the commands of gpt share. */
#ifndef KAERU_EXAMPLES_GPT_COMMANDS_H
#define KAERU_EXAMPLES_GPT_COMMANDS_H

#include "common/common.h"
#include "kaeru/lm.h"

/* ---- the commands: each reads its options from argv[1] on and returns the status for main ------------------------ */

int gpt_train(int argc, char **argv);
int gpt_sample(int argc, char **argv);
int gpt_generate_command(int argc, char **argv);
int gpt_eval(int argc, char **argv);
int gpt_tokenize(int argc, char **argv);
int gpt_export(int argc, char **argv);

/* ---- texts ------------------------------------------------------------------------------------------------------- */

extern const char corpus[];                     /* the project's own sources, bundled by the build */
extern const size_t corpus_size;

/* What goes with a trained model in the output folder. */
#define LAST_FILE   "gpt_last.safetensors"
#define BEST_FILE   "gpt_best.safetensors"
#define VOCAB_FILE  "gpt_vocab.json"
#define MERGES_FILE "gpt_merges.txt"

/* Settings of our checkpoints beside those of models/train/lm_train.c: "characters" or "bpe", the vocabulary's fingerprint,
 * and the path of the data ("": the bundled sources). */
#define VOCABULARY_KEY  "vocabulary"
#define FINGERPRINT_KEY "vocabulary.fingerprint"
#define DATA_KEY        "data"

/* These end the program with the library's message if something is wrong. */
void tokenizer_must_open(Tokenizer *t, const char *vocab, const char *merges);
LmData *data_must_open(const char *path, const Tokenizer *t);       /* NULL or "": the bundled sources */
/* The vocabulary that lies beside a checkpoint with these settings. */
void tokenizer_of_checkpoint(Tokenizer *t, const char *checkpoint, const Settings *s);
void describe_tokenizer(const Tokenizer *t, Settings *s);           /* sets the first two keys above */

/* A model in evaluation mode with its vocabulary. */
typedef struct { GPT *model; Tokenizer tokenizer; Settings *settings; } Writer;
Writer writer_of_checkpoint(const char *checkpoint);                /* NULL: BEST_FILE of the output folder */
Writer writer_of_files(const char *weights, const char *config, const char *vocab, const char *merges);
void writer_end(Writer *w);

/* Prints the prompt (NULL: none that is seen) and what the model writes after it, as it is made, until the end of a
 * document or of `tokens`. */
void write_text(const Writer *w, const char *prompt, int64_t tokens, const Sampling *how);

#endif
