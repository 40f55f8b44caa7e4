/* writing.h: text that a language model writes, printed token by token. */
#ifndef KAERU_EXAMPLES_WRITING_H
#define KAERU_EXAMPLES_WRITING_H

#include "common/common.h"
#include "kaeru/lm.h"

typedef struct {
    const char *prompt, *prompts;       /* a text, or a file of them, a line each; NULL: none */
    int64_t tokens;
    LmSampling how;
    bool times;                         /* tell on stderr when the first token was there, and the speed of the others */
} Writing;
/* The options that set the Writing w, which holds the defaults. */
#define WRITING_OPTIONS(w) \
    NN_TEXT_OPTION("prompt", "TEXT", (w).prompt, "beginning of the text", .may_be_empty = true), \
    NN_OPTION("tokens", (w).tokens, 0, INT64_C(1) << 40, "tokens to write"), \
    NN_OPTION("temperature", (w).how.temperature, 0, 1000, "0: always the most probable token; higher: more random"), \
    NN_OPTION("top-k", (w).how.top_k, 0, INT32_MAX, "sample from the k most probable tokens; 0: all"), \
    NN_OPTION("top-p", (w).how.top_p, 0, 1, "sample from the top tokens that have this probability together; 0: all")

enum { WRITER_ENDS = 24 };
/* A model with its vocabulary. `begin`: the token before a new text, and before a prompt if begins_prompts. A text ends with
 * one of the n_ends tokens. */
typedef struct {
    void *model;
    const KaeruVocab *vocab;
    int32_t begin, end[WRITER_ENDS];
    int n_ends;
    bool begins_prompts;
} Writer;
/* Prints the prompt (NULL: none) and then the model's tokens, each as soon as it is sampled, until the end of a text or until
 * there are `tokens`. Ends the program if this fails. */
void write_text(const Writer *w, const Writing *what);
/* The same for each line of the file `prompts`, all in one pass: each text is the one that write_text would print for its
 * prompt with the same seed. Printed when all are complete. */
void write_texts(const Writer *w, const Writing *what);

#endif
