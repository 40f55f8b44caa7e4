/* writing.c: prints the text that a model samples, token by token. */
#include "writing.h"

#include <string.h>

typedef struct { const Writer *writer; KaeruTextStream stream; } Printing;

static void print_ids(Printing *p, const int32_t *ids, size_t count)
{
    size_t n;
    char *text = kaeru_vocab_decode(p->writer->vocab, ids, count, &n);
    if (text) {                                                         /* NULL: an id beyond the vocabulary */
        kaeru_text_stream_put(&p->stream, text, n);
    }
    ag_free(text);
    fflush(p->stream.out);
}

static bool print_next(void *arg, int32_t id)
{
    Printing *p = arg;
    for (int i = 0; i < p->writer->n_ends; i++) {
        if (id == p->writer->end[i]) {
            return false;
        }
    }
    if (ferror(p->stream.out)) {
        return false;
    }
    print_ids(p, &id, 1);
    return true;
}

void write_text(const Writer *w, const Writing *what)
{
    Printing p = { .writer = w, .stream = { .out = stdout } };
    size_t n = 0;
    int32_t *ids = NULL;
    if (what->prompt) {
        ids = kaeru_vocab_encode(w->vocab, what->prompt, strlen(what->prompt), KAERU_WITH_SPECIAL, &n);
        if (!ids) {
            example_fail("the prompt: %s", ag_error());
        }
        print_ids(&p, ids, n);
    }
    if (n == 0 || w->begins_prompts) {
        ids = ag_resize(ids, n, n + 1, sizeof *ids);
        memmove(ids + 1, ids, n++ * sizeof *ids);
        ids[0] = w->begin;
    }
    if (!lm_generate(w->model, ids, (int64_t)n, what->tokens, &what->how, print_next, &p)) {
        example_fail("%s", ag_error());
    }
    kaeru_text_stream_end(&p.stream);
    putchar('\n');
    ag_free(ids);
}
