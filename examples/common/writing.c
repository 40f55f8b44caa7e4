/* writing.c: prints the text that a model samples, token by token, or several texts of one pass. */
#include "writing.h"

#include <string.h>

#include "kaeru/autograd.h"
#include "kaeru/text.h"

/* When writing began, and when the first of `tokens` tokens was there. */
typedef struct { double began, first; int64_t tokens; } Clock;

static void count_token(Clock *c)
{
    if (c->tokens++ == 0) {
        c->first = example_seconds();
    }
}

static void tell_times(const Writing *what, const Clock *c)
{
    double spent = example_seconds() - c->first;
    if (what->times && c->tokens > 0) {
        example_warn("the first token was there after %.2f s, then %.1f tokens/s", c->first - c->began,
                     spent > 0 ? (double)(c->tokens - 1) / spent : 0);
    }
}

typedef struct { const Writer *writer; KaeruTextStream stream; Clock clock; int32_t last; bool has_last; } Printing;

/* Decodes the ids behind the last one, because some vocabularies put a space between two tokens. */
static void print_ids(Printing *p, const int32_t *ids, size_t count)
{
    const KaeruVocab *v = p->writer->vocab;
    size_t n, skipped = 0;
    int32_t *all = ag_alloc(count + 1, sizeof *all);
    all[0] = p->last;
    memcpy(all + p->has_last, ids, count * sizeof *ids);
    char *text = kaeru_vocab_decode(v, all, count + p->has_last, &n);
    if (text && count > 0) {                                            /* NULL: an id beyond the vocabulary */
        char *before = kaeru_vocab_decode(v, all, p->has_last, &skipped);
        kaeru_text_stream_put(&p->stream, text + skipped, n - skipped);
        ag_free(before);
        p->last = ids[count - 1];
        p->has_last = true;
    }
    ag_free(text);
    ag_free(all);
    fflush(p->stream.out);
}

static bool is_end(const Writer *w, int32_t id)
{
    for (int i = 0; i < w->n_ends; i++) {
        if (id == w->end[i]) {
            return true;
        }
    }
    return false;
}

static bool print_next(void *arg, int32_t id)
{
    Printing *p = arg;
    count_token(&p->clock);
    if (is_end(p->writer, id) || ferror(p->stream.out)) {
        return false;
    }
    print_ids(p, &id, 1);
    return true;
}

/* The ids of a prompt (NULL: none), which begin with *begins tokens that are not part of the text. */
static int32_t *prompt_ids(const Writer *w, const char *prompt, size_t size, size_t *n, size_t *begins)
{
    int32_t *ids = NULL;
    *n = 0;
    if (prompt) {
        ids = kaeru_vocab_encode(w->vocab, prompt, size, KAERU_WITH_SPECIAL, n);
        if (!ids) {
            example_fail("the prompt: %s", ag_error());
        }
    }
    *begins = *n == 0 || w->begins_prompts;
    if (*begins) {
        ids = ag_resize(ids, *n, *n + 1, sizeof *ids);
        memmove(ids + 1, ids, (*n)++ * sizeof *ids);
        ids[0] = w->begin;
    }
    return ids;
}

void write_text(const Writer *w, const Writing *what)
{
    Printing p = { .writer = w, .stream = { .out = stdout }, .clock = { .began = example_seconds() } };
    size_t n, begins;
    int32_t *ids = prompt_ids(w, what->prompt, what->prompt ? strlen(what->prompt) : 0, &n, &begins);
    print_ids(&p, ids + begins, n - begins);
    if (!lm_generate(w->model, ids, (int64_t)n, what->tokens, &what->how, print_next, &p)) {
        example_fail("%s", ag_error());
    }
    kaeru_text_stream_end(&p.stream);
    putchar('\n');
    tell_times(what, &p.clock);
    ag_free(ids);
}

/* ---- several texts ----------------------------------------------------------------------------------------------- */

/* A text: its ids so far, of which the first `prompt` were given, and the state of its own random numbers. */
typedef struct { int32_t *ids; int64_t n, prompt; size_t begins; AgRandom random; } Row;

/* The prompts of a file. Room for all tokens is allocated. */
static Row *read_rows(const Writer *w, const Writing *what, int64_t context, int64_t *rows)
{
    KaeruLines lines;
    if (!kaeru_lines_open(&lines, what->prompts)) {
        example_fail("%s", ag_error());
    }
    if (lines.n == 0) {
        example_fail("%s: expected a line or more", what->prompts);
    }
    Row *row = ag_alloc((size_t)lines.n, sizeof *row);
    *rows = lines.n;
    for (int64_t i = 0; i < lines.n; i++) {
        const KaeruLine *line = &lines.line[i];
        size_t n;
        Row *r = &row[i];
        r->ids = prompt_ids(w, line->size ? line->text : NULL, line->size, &n, &r->begins);
        r->n = r->prompt = (int64_t)n;
        r->random = ag_random_state();
        if (r->n + what->tokens > context) {
            example_fail("%s: line %lld has %lld tokens: with --tokens %lld, they exceed the model's context of %lld",
                         what->prompts, (long long)i + 1, (long long)n, (long long)what->tokens, (long long)context);
        }
        r->ids = ag_resize(r->ids, n, n + (size_t)what->tokens, sizeof *r->ids);
        ag_set_owner(r->ids, row);
    }
    kaeru_lines_close(&lines);
    return row;
}

/* Appends the token that follows, unless the ids behind `read` are still given. Returns whether the text goes on. */
static bool extend(const Writer *w, const Writing *what, Row *r, int64_t read, const ag_real *logits, int64_t vocab,
                   Clock *clock)
{
    if (read < r->n) {
        return true;
    }
    ag_set_random_state(r->random);
    int32_t id = lm_sample_next(logits, vocab, &what->how);
    r->random = ag_random_state();
    if (id < 0) {
        example_fail("%s", ag_error());
    }
    count_token(clock);
    if (is_end(w, id)) {
        return false;
    }
    r->ids[r->n++] = id;
    return r->n - r->prompt < what->tokens;
}

/* All texts have the same number of ids in the cache: first as many as the shortest prompt has, in one pass. Then each pass
 * adds one id to each, which a longer prompt gives. */
static void write_rows(const Writer *w, const Writing *what, Row *row, int64_t rows, NnCache *cache, Clock *clock)
{
    int32_t *live = ag_alloc_in(cache, (size_t)rows, sizeof *live), *kept = ag_alloc_in(cache, (size_t)rows, sizeof *kept);
    int64_t n_live = rows, read = 0, block = row[0].n;
    for (int64_t i = 0; i < rows; i++) {
        live[i] = (int32_t)i;
        block = row[i].n < block ? row[i].n : block;
    }
    for (; what->tokens > 0 && n_live > 0; block = 1) {
        AgScope s = ag_begin(AG_NO_GRAD);
        Tensor *ids = tensor_ints(SHAPE(n_live, block), NULL);
        for (int64_t i = 0; i < n_live; i++) {
            memcpy(tensor_mutable_int_data(ids) + i * block, row[live[i]].ids + read, (size_t)block * sizeof(int32_t));
        }
        Tensor *logits = lm_next(w->model, ids, cache);
        read += block;
        int64_t n_kept = 0, vocab = tensor_dim(logits, 1);
        for (int64_t i = 0; i < n_live; i++) {
            if (extend(w, what, &row[live[i]], read, tensor_data(logits) + i * vocab, vocab, clock)) {
                live[n_kept] = live[i];
                kept[n_kept++] = (int32_t)i;
            }
        }
        if (n_kept > 0 && n_kept < n_live) {
            nn_cache_select(cache, kept, n_kept);
        }
        n_live = n_kept;
        ag_end(s);
    }
}

void write_texts(const Writer *w, const Writing *what)
{
    Clock clock = { .began = example_seconds() };
    NnCache *cache = lm_cache_new(w->model);
    int64_t rows;
    Row *row = read_rows(w, what, cache->capacity, &rows);
    bool bf16 = ag_precision_now() == AG_BF16;
    if (bf16) {
        nn_pack_weights(w->model, true);
    }
    write_rows(w, what, row, rows, cache, &clock);
    for (int64_t i = 0; i < rows; i++) {
        Printing p = { .writer = w, .stream = { .out = stdout } };
        print_ids(&p, row[i].ids + row[i].begins, (size_t)row[i].prompt - row[i].begins);
        for (int64_t k = row[i].prompt; k < row[i].n; k++) {
            print_ids(&p, &row[i].ids[k], 1);
        }
        kaeru_text_stream_end(&p.stream);
        putchar('\n');
    }
    tell_times(what, &clock);
    ag_free(row);
    ag_free(cache);
}
