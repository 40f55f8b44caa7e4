/* gpt_write.c: a model's text on the screen, token by token. */
#include <string.h>

#include "gpt_commands.h"

typedef struct { const Writer *writer; TextStream stream; int32_t end; } Printing;

static int32_t end_of_text(const Tokenizer *t)
{
    return t->bpe ? bpe_end_of_text(t->bpe) : -1;
}

static void print_ids(Printing *p, const int32_t *ids, size_t count)
{
    size_t n;
    char *text = tokenizer_decode(&p->writer->tokenizer, ids, count, &n);
    if (text) {                                                         /* the model may have more ids than the text */
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

/* What a text begins behind: the end of another, a new line, or else the first token. */
static int32_t beginning(const Tokenizer *t)
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

void write_text(const Writer *w, const char *prompt, int64_t tokens, const Sampling *how)
{
    Printing p = { .writer = w, .stream = { .out = stdout }, .end = end_of_text(&w->tokenizer) };
    size_t n = 0;
    int32_t *ids = NULL, first = beginning(&w->tokenizer);
    if (prompt) {
        ids = tokenizer_encode(&w->tokenizer, prompt, strlen(prompt), &n);
        if (!ids) {
            example_fail("the prompt: %s", ag_error());
        }
        print_ids(&p, ids, n);
    }
    if (!gpt_generate(w->model, n ? ids : &first, n ? (int64_t)n : 1, tokens, how, print_next, &p)) {
        example_fail("%s", ag_error());
    }
    text_stream_end(&p.stream);
    putchar('\n');
    ag_free(ids);
}
