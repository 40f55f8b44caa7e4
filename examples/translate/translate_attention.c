/* translate_attention.c: shows the attention weights of the translation of one sentence. */
#include <inttypes.h>
#include <string.h>

#include "translate_commands.h"
#include "kaeru/autograd.h"

/* A sentence and its translation. For each token of `tgt` the decoder predicts one token of `out`. */
typedef struct { Tensor *src, *tgt, *out; } Translation;

/* ---- the data file ----------------------------------------------------------------------------------------------- */

/* A token in one line, without the space before it. `quote` replaces each quotation mark. */
static void put_token(FILE *file, const KaeruVocab *v, int32_t id, const char *quote)
{
    size_t n;
    const char *token = kaeru_vocab_token(v, id, &n);
    KaeruTextStream stream = { .out = file };
    for (size_t i = token[0] == ' '; i < n; i++) {
        if (token[i] == '"') {
            kaeru_text_stream_put(&stream, quote, strlen(quote));
        } else {
            kaeru_text_stream_put(&stream, (unsigned char)token[i] < ' ' ? " " : &token[i], 1);
        }
    }
    kaeru_text_stream_end(&stream);
}

/* A token in quotation marks, as one field. gnuplot skips a row whose text contains a quotation mark. */
static void put_field(FILE *file, const KaeruVocab *v, int32_t id)
{
    fputs(",\"", file);
    put_token(file, v, id, "”");
    fputc('"', file);
}

/* The tokens of one axis of a map: ids and their vocabulary. */
typedef struct { const KaeruVocab *vocab; const Tensor *ids; } Axis;

/* The maps of all heads of a layer. */
static void put_map(FILE *file, const char *kind, int layer, const MultiHeadAttention *a, Axis rows, Axis columns)
{
    int64_t heads = tensor_dim(a->weights, 1), n = tensor_dim(a->weights, 2), m = tensor_dim(a->weights, 3);
    const ag_real *weight = tensor_data(a->weights);
    for (int64_t h = 0; h < heads; h++) {
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; j < m; j++) {
                fprintf(file, "%s,%d,%" PRId64 ",%" PRId64 ",%" PRId64 ",%.6f", kind, layer, h, i, j,
                        (double)weight[(h * n + i) * m + j]);
                put_field(file, rows.vocab, tensor_int_data(rows.ids)[i]);
                put_field(file, columns.vocab, tensor_int_data(columns.ids)[j]);
                fputc('\n', file);
            }
        }
    }
}

static void write_maps(const Translator *t, const Translation *r)
{
    char *path = example_path(ATTENTION_FILE);
    KaeruWriter *writer = example_create(path);
    FILE *file = kaeru_writer_stream(writer);
    Axis src = { t->src, r->src }, tgt = { t->tgt, r->tgt }, out = { t->tgt, r->out };
    fprintf(file, "kind,layer,head,row,column,weight,row_token,column_token\n");
    for (int i = 0; i < t->model->encoder->layers->n; i++) {
        put_map(file, "encoder", i, nn_item(TransformerEncoderLayer, t->model->encoder->layers, i)->self_attn, src, src);
    }
    for (int i = 0; i < t->model->decoder->layers->n; i++) {
        const TransformerDecoderLayer *layer = nn_item(TransformerDecoderLayer, t->model->decoder->layers, i);
        put_map(file, "decoder", i, layer->self_attn, out, tgt);
        put_map(file, "source", i, layer->src_attn, out, src);
    }
    example_close(writer);
    say("data:    %s\n", path);
    ag_free(path);
}

/* ---- in the terminal --------------------------------------------------------------------------------------------- */

static void print_tokens(const char *label, const KaeruVocab *v, const Tensor *ids)
{
    size_t n;
    char *text = kaeru_sentence_decode(v, tensor_int_data(ids) + 1, (size_t)tensor_numel(ids) - 1, &n);
    say("%s", label);
    put_bytes(stdout, text, n);
    putchar('\n');
    ag_free(text);
}

/* For each word of the translation, the source word with the largest attention, summed over all layers and heads. */
static void print_alignment(const Translator *t, const Translation *r)
{
    int64_t n = tensor_numel(r->out), m = tensor_numel(r->src);
    double *sum = ag_scratch((size_t)(n * m), sizeof *sum);
    int maps = 0;
    for (int l = 0; l < t->model->decoder->layers->n; l++) {
        const Tensor *weights = nn_item(TransformerDecoderLayer, t->model->decoder->layers, l)->src_attn->weights;
        const ag_real *weight = tensor_data(weights);
        for (int64_t h = 0; h < tensor_dim(weights, 1); h++, maps++) {
            for (int64_t i = 0; i < n * m; i++) {
                sum[i] += (double)weight[h * n * m + i];
            }
        }
    }
    say("\nOutput word <- source word with the largest attention (share over all layers and heads)\n");
    for (int64_t i = 0; i < n; i++) {
        int64_t best = 0;
        for (int64_t j = 1; j < m; j++) {
            best = sum[i * m + j] > sum[i * m + best] ? j : best;
        }
        printf("  ");
        put_token(stdout, t->tgt, tensor_int_data(r->out)[i], "\"");
        printf(" <- ");
        put_token(stdout, t->src, tensor_int_data(r->src)[best], "\"");
        say(" (%.0f %%)\n", 100 * sum[i * m + best] / maps);
    }
    putchar('\n');
}

/* ---- translating ------------------------------------------------------------------------------------------------- */

static void check_length(const Translator *t, int64_t size)
{
    int64_t positions = tensor_dim(nn_item(PositionalEncoding, t->model->src_embed, 1)->pe, 1);
    if (size > positions) {
        example_fail("the sentence has %" PRId64 " tokens with start and end, expected at most %" PRId64, size,
                     positions);
    }
}

/* Translates, and then runs the model once over both sentences to keep the attention weights. */
static Translation translate_sentence(const Translator *t, KaeruLine sentence)
{
    size_t size;
    int32_t *ids = kaeru_sentence_encode(t->src, sentence.text, sentence.size, &size);
    check_length(t, (int64_t)size);
    Translation r = { .src = tensor_ints(SHAPE(1, (int64_t)size), ids) };
    ag_free(ids);
    Tensor *mask = nn_padding_mask(r.src, KAERU_BLANK);
    int64_t most = tensor_dim(nn_item(PositionalEncoding, t->model->tgt_embed, 1)->pe, 1),
        room = 2 * (int64_t)size + 10;
    room = room < most ? room : most;
    Tensor *decoded = transformer_greedy_decode(t->model, r.src, mask, room, KAERU_START, KAERU_END);
    if (!decoded) {
        example_fail("%s", ag_error());
    }
    int64_t length = 1;
    while (length < room - 1 && tensor_int_data(decoded)[length] != KAERU_END) {
        length++;
    }
    r.tgt = ag_slice(decoded, 1, 0, length);
    r.out = ag_slice(decoded, 1, 1, length + 1);
    transformer_keep_weights(t->model, true);
    transformer_forward(t->model, r.src, r.tgt, mask, nn_causal_mask(length));
    transformer_keep_weights(t->model, false);
    return r;
}

void show_attention(const Translator *t, KaeruLine sentence)
{
    AgScope scope = ag_begin(AG_NO_GRAD);
    nn_eval(t->model);
    Translation r = translate_sentence(t, sentence);
    print_tokens("source:  ", t->src, r.src);
    Tensor *both[] = { tensor_ints(SHAPE(1, 1), &(int32_t){ KAERU_START }), r.out };
    print_tokens("target:  ", t->tgt, ag_concat(both, 2, 1));
    print_alignment(t, &r);
    write_maps(t, &r);
    picture_draw("translate_source");
    picture_draw("translate_encoder");
    picture_draw("translate_decoder");
    ag_end(scope);
}
