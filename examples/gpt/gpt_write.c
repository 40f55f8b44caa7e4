/* gpt_write.c: prints the text that a model samples, token by token. */
#include <string.h>

#include "gpt_commands.h"

typedef struct { const TrainedModel *model; TextStream stream; int32_t end; } Printing;

static int32_t end_of_text(const Tokenizer *t)
{
    return t->kind == TOKENIZER_BPE ? bpe_end_of_text(t->bpe) : -1;
}

static void print_ids(Printing *p, const int32_t *ids, size_t count)
{
    size_t n;
    char *text = tokenizer_decode(&p->model->tokenizer, ids, count, &n);
    if (text) {                                                         /* NULL: an id beyond the vocabulary */
        text_stream_put(&p->stream, text, n);
    }
    ag_free(text);
    fflush(p->stream.out);
}

static bool print_next(void *arg, int32_t id)
{
    Printing *p = arg;
    if (id == p->end || ferror(p->stream.out)) {
        return false;
    }
    print_ids(p, &id, 1);
    return true;
}

/* The token before a new text: <|endoftext|>, a new line, or else token 0. */
static int32_t token_before_text(const Tokenizer *t)
{
    int32_t id = end_of_text(t);
    size_t n = 0;
    if (id < 0) {
        int32_t *ids = tokenizer_encode(t, "\n", 1, &n);
        id = ids && n ? ids[0] : 0;
        ag_free(ids);
    }
    return id;
}

void write_text(const TrainedModel *m, const char *prompt, int64_t tokens, const Sampling *how)
{
    Printing p = { .model = m, .stream = { .out = stdout }, .end = end_of_text(&m->tokenizer) };
    size_t n = 0;
    int32_t *ids = NULL, first = token_before_text(&m->tokenizer);
    if (prompt) {
        ids = tokenizer_encode(&m->tokenizer, prompt, strlen(prompt), &n);
        if (!ids) {
            example_fail("the prompt: %s", ag_error());
        }
        print_ids(&p, ids, n);
    }
    if (!lm_generate(m->model, n ? ids : &first, n ? (int64_t)n : 1, tokens, how, print_next, &p)) {
        example_fail("%s", ag_error());
    }
    text_stream_end(&p.stream);
    putchar('\n');
    ag_free(ids);
}
