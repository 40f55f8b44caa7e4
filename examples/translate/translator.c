/* translator.c: translates sentences with an encoder-decoder. */
#include "translator.h"

#include <inttypes.h>
#include <stdlib.h>

#include "sentence_pairs.h"

enum { GREEDY_ROWS = 64 };              /* the number of sentences in a batch of greedy decoding */

static int64_t positions_of(const Sequential *embed)
{
    return tensor_dim(nn_item(PositionalEncoding, embed, 1)->pe, 1);
}

/* Translates n sentences, which are sorted by length; with beam search, one. */
static bool translate(const Translator *t, const Sentence *s, int64_t n, int64_t positions,
                      const TranslateOptions *how, KaeruLines *out)
{
    AgScope scope = ag_begin(AG_NO_GRAD);
    Tensor *src = sentences_pad(s, n), *mask = nn_padding_mask(src, KAERU_BLANK);
    int64_t longest = 2 * s[n - 1].size + 10, most = longest < positions ? longest : positions;
    KaeruBeamOptions beam = { .beam = how->beam, .max_len = most, .start_symbol = KAERU_START, .end_symbol = KAERU_END,
                              .length_penalty = how->length_penalty };
    Tensor *ids = how->beam > 1 ? transformer_beam_search(t->model, src, mask, beam, NULL)
                                : transformer_greedy_decode(t->model, src, mask, most, KAERU_START, KAERU_END);
    for (int64_t i = 0; ids && i < n; i++) {
        size_t size, length = (size_t)(tensor_numel(ids) / n);
        char *text = kaeru_sentence_decode(t->tgt, tensor_int_data(ids) + (size_t)i * length, length, &size);
        ag_set_owner(text, out->owner);
        out->line[s[i].line] = (KaeruLine){ text, size };
    }
    ag_end(scope);
    return ids != NULL;
}

static int compare_sizes(const void *left, const void *right)
{
    const Sentence *a = left, *b = right;
    if (a->size != b->size) {
        return a->size < b->size ? -1 : 1;
    }
    return (a->line > b->line) - (a->line < b->line);
}

/* Encodes the lines that are not empty, sorted by length. Returns their number; -1 with ag_error() if one is too long. */
static int64_t encode_lines(void *r, const Translator *t, const KaeruLines *src, int64_t positions,
                            Sentence *sentence)
{
    int64_t n = 0;
    for (int64_t i = 0; i < src->n; i++) {
        if (src->line[i].size == 0) {
            continue;
        }
        sentence[n] = sentence_of(r, t->src, src, i);
        if (sentence[n].size > positions) {
            ag_set_error("line %" PRId64 ": %" PRId64 " tokens with start and end, expected at most %" PRId64
                         ", the positions that the model has", src->first + i, sentence[n].size, positions);
            return -1;
        }
        n++;
    }
    if (n > 0) {
        qsort(sentence, (size_t)n, sizeof *sentence, compare_sizes);
    }
    return n;
}

bool translate_lines(const Translator *t, const KaeruLines *src, const TranslateOptions *how, KaeruLines *out)
{
    int64_t src_positions = positions_of(t->model->src_embed), tgt_positions = positions_of(t->model->tgt_embed);
    void *work = ag_alloc(1, 1), *result = ag_alloc(1, 1);
    Sentence *sentence = ag_alloc_in(work, (size_t)src->n, sizeof *sentence);
    int64_t n = encode_lines(work, t, src, src_positions, sentence);
    KaeruLines lines = { src->n, ag_alloc_in(result, (size_t)src->n, sizeof *lines.line), result, src->first };
    for (int64_t i = 0; i < src->n; i++) {
        lines.line[i].text = "";
    }
    bool good = n >= 0;
    for (int64_t i = 0; good && i < n;) {
        int64_t most = how->beam > 1 ? 1 : GREEDY_ROWS;
        int64_t rows = n - i < most ? n - i : most;
        good = translate(t, &sentence[i], rows, tgt_positions, how, &lines);
        i += rows;
        if (good && how->done) {
            how->done(how->arg, i);
        }
    }
    ag_free(work);
    if (good) {
        *out = lines;
    } else {
        ag_free(result);
    }
    return good;
}
