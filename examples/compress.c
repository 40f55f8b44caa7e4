/* compress.c: a Transformer predicts each next byte of a file, and the better it predicts, the fewer bits the file needs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/common.h"
#include "compress/coder.h"
#include "compress/predictor.h"
#include "compress/tokens.h"
#include "gpt/gpt_commands.h"

#define ENDING ".k"
/* The file: these 8 bytes, of which the last is the version; 8 bytes: the hash of all that follows; 8: that of the weights; 8:
 * that of the text; the number of tokens and the settings, each in groups of 7 bits, the lowest first; the bytes of the coder. */
static const char magic[] = "kaeru.k1";
enum { MAGIC = 8, HASH = 8, HEAD = MAGIC + 3 * HASH, ROWS = 200, LEAST_STREAM = 8192, SAMPLE = 100000 };

static const char *model_path;
static bool overwrite, show, curve;
static Settings how;

typedef struct {
    Predictor *p;
    bool known;                                 /* the text is known: it is compressed */
    Encoder encoder;
    Decoder decoder;
    float *bits;                                /* that each token costs */
    double sum;
    int64_t done;
    Progress progress;
} Coding;

/* ---- a token ----------------------------------------------------------------------------------------------------- */

/* A whole number in place of a probability: at least 1, so that every token can be coded. */
static uint64_t share_of(const Predictor *p, const ag_real *q, int64_t id)
{
    return 1 + (id < p->vocab ? (uint64_t)((double)q[id] * 0x1p30) : 0);
}

/* Codes the token *id with the probabilities q[vocab]. */
static bool code_token(Coding *c, const ag_real *q, int32_t *id)
{
    int64_t n = c->p->vocab + (c->p->vocabulary ? 256 : 0), i = 0;
    Part part = { 0 };
    for (; i < n; i++) {
        if (i < c->p->vocab && !(q[i] >= 0)) {
            return ag_set_error("the probabilities of the next token are NaN: the model's weights cannot be used");
        }
        part.total += share_of(c->p, q, i);
    }
    uint64_t place = c->known ? 0 : decoder_find(&c->decoder, part.total);
    part.share = share_of(c->p, q, i = 0);
    while (c->known ? i < *id : place >= part.below + part.share) {
        part.below += part.share;
        part.share = share_of(c->p, q, ++i);
    }
    *id = (int32_t)i;
    if (c->known) {
        encoder_put(&c->encoder, part);
    } else {
        decoder_take(&c->decoder, part);
    }
    float bits = (float)(ag_math_log((double)part.total / (double)part.share) / ag_math_log(2));
    c->bits[id - c->p->id] = bits;
    c->sum += (double)bits;
    c->done++;
    return c->known || decoder_is_good(&c->decoder) || ag_set_error("is damaged: its bits end before the text does");
}

/* In the order of the times, and at one time in that of the streams. */
static bool code(void *arg, int64_t t, int64_t n, const Tensor *q)
{
    Coding *c = arg;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t s = 0; s < c->p->how.streams; s++) {
            int32_t *id = predictor_token(c->p, s, t + i);
            if (id && !code_token(c, tensor_data(q) + (s * n + i) * c->p->vocab, id)) {
                return false;
            }
        }
    }
    progress_show(&c->progress, c->done, "%.3f bits a token", c->sum / (double)c->done);
    return true;
}

static bool code_text(Coding *c, int32_t *id, int64_t count)
{
    predictor_begin(c->p, id, count);
    c->bits = ag_alloc((size_t)count + 1, sizeof *c->bits);
    c->progress = progress_begin(c->known ? "compressed" : "decompressed", count);
    bool good = predictor_run(c->p, c->known, code, c);
    progress_end(&c->progress);
    return good;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static Bytes read_file(const char *path)
{
    Bytes b = { 0 };
    unsigned char piece[1 << 14];
    FILE *file = fopen(path, "rb");
    for (size_t n; file && (n = fread(piece, 1, sizeof piece, file)) > 0; ) {
        bytes_append(&b, piece, n);
    }
    if (!file || ferror(file)) {
        example_fail("%s: cannot be read: %s", path, strerror(errno));
    }
    fclose(file);
    return b;
}

static char *joined(const char *path, const char *ending)
{
    size_t size = strlen(path) + strlen(ending) + 1;
    char *both = ag_alloc(size, 1);
    snprintf(both, size, "%s%s", path, ending);
    return both;
}

/* Before the work: whether the file can be written at its end. */
static void check_output(const char *path, const char *input)
{
    if (kaeru_text_is_same_file(path, input)) {
        example_usage_error("%s: is the file to read and cannot be the one to write", path);
    }
    if (!overwrite && access(path, F_OK) == 0) {
        example_usage_error("%s exists: expected --overwrite or the name of another file", path);
    }
    example_must_be_output(path);
    char *part = joined(path, ".part");
    example_close(example_create(part), part);
    remove(part);
    ag_free(part);
}

/* The file is the old one, or none, until the new one is complete and on the disk. */
static void write_file(const char *path, const Bytes *b)
{
    char *part = joined(path, ".part");
    FILE *file = example_create(part);
    bool good = fwrite(b->byte, 1, b->n, file) == b->n && fflush(file) == 0 && fsync(fileno(file)) == 0;
    int error = errno;
    if (fclose(file) != 0 && good) {
        good = false;
        error = errno;
    }
    if (!good || rename(part, path) != 0) {
        error = good ? errno : error;
        remove(part);
        example_fail("cannot write %s: %s", path, strerror(error));
    }
    ag_free(part);
}

/* ---- the head of a file ------------------------------------------------------------------------------------------ */

static void put_hash(Bytes *b, uint64_t hash)
{
    for (int i = 0; i < HASH; i++) {
        bytes_append(b, &(unsigned char){ (unsigned char)(hash >> 8 * i) }, 1);
    }
}

static uint64_t get_hash(const Bytes *b, size_t at)
{
    uint64_t hash = 0;
    for (int i = 0; i < HASH; i++) {
        hash |= (uint64_t)b->byte[at + (size_t)i] << 8 * i;
    }
    return hash;
}

static void put_number(Bytes *b, int64_t number)
{
    for (; number > 127; number >>= 7) {
        bytes_append(b, &(unsigned char){ (unsigned char)(number | 128) }, 1);
    }
    bytes_append(b, &(unsigned char){ (unsigned char)number }, 1);
}

/* Moves *at behind the number; -1 if it is not whole or too large. */
static int64_t get_number(const Bytes *b, size_t *at)
{
    uint64_t number = 0;
    for (int shift = 0; shift < 56 && *at < b->n; shift += 7) {
        unsigned char byte = b->byte[(*at)++];
        number |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            return (int64_t)number;
        }
    }
    return -1;
}

static int64_t *setting(Settings *s, const NnField *f)
{
    return (int64_t *)(void *)((char *)s + f->offset);
}

/* ---- the two directions ------------------------------------------------------------------------------------------ */

static Bytes compress(Coding *c, const Bytes *text)
{
    int64_t count;
    int64_t most = 1 + (int64_t)text->n / LEAST_STREAM;
    how.streams = how.streams < most ? how.streams : most;
    how.learns = !model_path;
    how.seed = model_path ? 0 : example_seed();
    how.bf16 = ag_precision_now() == AG_BF16;
    c->known = true;
    c->p = predictor_new(model_path, &how);
    int32_t *id = tokens_of(c->p, (const char *)text->byte, text->n, &count);
    if (!code_text(c, id, count)) {
        example_fail("%s", ag_error());
    }
    encoder_end(&c->encoder);
    Bytes rest = { 0 }, file = { 0 };
    put_hash(&rest, c->p->hash);
    put_hash(&rest, data_hash(DATA_HASH_BEGIN, text->byte, text->n));
    put_number(&rest, count);
    for (const NnField *f = settings_fields.field; f->name; f++) {
        put_number(&rest, *setting(&c->p->how, f));
    }
    bytes_append(&rest, c->encoder.out.byte, c->encoder.out.n);
    bytes_append(&file, magic, MAGIC);
    put_hash(&file, data_hash(DATA_HASH_BEGIN, rest.byte, rest.n));
    bytes_append(&file, rest.byte, rest.n);
    ag_free(rest.byte);
    return file;
}

/* Reads the head, and returns the number of tokens. */
static int64_t read_head(const char *path, const Bytes *file, size_t *at)
{
    if (file->n < MAGIC || memcmp(file->byte, magic, MAGIC - 1) != 0) {
        example_fail("%s: is no file of this program: expected %s in its first bytes", path, magic);
    }
    if (file->byte[MAGIC - 1] != magic[MAGIC - 1]) {
        example_fail("%s: has version %c of the format, expected %c", path, file->byte[MAGIC - 1], magic[MAGIC - 1]);
    }
    if (file->n < HEAD || get_hash(file, MAGIC) != data_hash(DATA_HASH_BEGIN, file->byte + MAGIC + HASH,
                                                              file->n - MAGIC - HASH)) {
        example_fail("%s: is damaged or cut: its bytes do not have their checksum", path);
    }
    *at = HEAD;
    int64_t count = get_number(file, at);
    for (const NnField *f = settings_fields.field; f->name; f++) {
        *setting(&how, f) = get_number(file, at);
    }
    if (count < 0 || !nn_fields_check(&settings_fields, &how)) {
        example_fail("%s: is damaged: %s", path, count < 0 ? "it has no number of tokens" : ag_error());
    }
    return count;
}

static Bytes decompress(Coding *c, const char *path, const Bytes *file)
{
    size_t at, n;
    int64_t count = read_head(path, file, &at);
    if (how.learns == (model_path != NULL)) {
        example_usage_error("%s was made %s: expected %s", path, how.learns ? "by a model that learns" : "with a model",
                            how.learns ? "no --model" : "--model");
    }
    c->p = predictor_new(model_path, &how);
    if (get_hash(file, MAGIC + HASH) != c->p->hash || c->p->how.window != how.window) {
        example_fail("%s: was not made with %s", path, model_path ? model_path : "the model that this program begins with");
    }
    int32_t *id = ag_alloc((size_t)count + 1, sizeof *id);
    c->decoder = decoder_begin(file->byte + at, file->n - at);
    Bytes text = { 0 };
    if (!code_text(c, id, count)) {
        example_fail("%s: %s", path, ag_error());
    }
    for (int64_t i = 0; i < count; i++) {
        char byte;
        const char *bytes = token_bytes(c->p, id[i], &byte, &n);
        bytes_append(&text, bytes ? bytes : "", bytes ? n : 0);         /* a token that is missing: the checksum tells */
    }
    if (data_hash(DATA_HASH_BEGIN, text.byte, text.n) != get_hash(file, MAGIC + 2 * HASH)) {
        example_fail("%s: the text does not have its checksum: the file is damaged, or numbers differ on this machine", path);
    }
    return text;
}

/* ---- what the tokens cost ---------------------------------------------------------------------------------------- */

/* Green, yellow, red and magenta: tokens that cost 1, 3, 6 and 10 bits or more. */
static void show_text(const Coding *c)
{
    static const struct { float bits; int color; } level[] = { { 10, 35 }, { 6, 31 }, { 3, 33 }, { 1, 32 }, { 0, 0 } };
    bool colors = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
    KaeruTextStream stream = { .out = stdout };
    for (int64_t i = 0; i < c->p->count; i++) {
        int k = 0;
        size_t n;
        char byte;
        const char *bytes = token_bytes(c->p, c->p->id[i], &byte, &n);
        while (c->bits[i] < level[k].bits) {
            k++;
        }
        if (colors) {
            printf("\033[%dm", level[k].color);
        }
        kaeru_text_stream_put(&stream, bytes, n);
    }
    kaeru_text_stream_end(&stream);
    printf("%s\n", colors ? "\033[0m" : "");
}

/* The cost of ROWS pieces of the text, in bits a byte, and the mean up to there. */
static void draw_curve(const Coding *c)
{
    Csv *csv = csv_open("compress.csv", "byte,bits_per_byte,mean");
    double sum = 0, all = 0, bytes = 0, all_bytes = 0;
    for (int64_t i = 0, row = 1; i < c->p->count; i++) {
        size_t n;
        char byte;
        token_bytes(c->p, c->p->id[i], &byte, &n);
        bytes += (double)n;
        sum += (double)c->bits[i];
        if ((i + 1) * ROWS / c->p->count >= row) {
            all += sum;
            all_bytes += bytes;
            csv_row(csv, all_bytes, sum / bytes, all / all_bytes);
            row = (i + 1) * ROWS / c->p->count + 1;
            sum = bytes = 0;
        }
    }
    if (csv_rows(csv) > 1) {
        chart_print(csv, &(Chart){ "bits a byte", "byte", false, { { "bits_per_byte", "here" }, { "mean", "mean so far" } } });
    }
    csv_close(csv);
    picture_draw("compress");
}

/* The path of the file to write. Free it with ag_free. */
static char *output_of(const char *input, const char *output, bool known)
{
    size_t n = strlen(input), ending = strlen(ENDING);
    if (output || known) {
        return output ? ag_strdup(output) : joined(input, ENDING);
    }
    if (n <= ending || strcmp(input + n - ending, ENDING) != 0) {
        example_usage_error("%s does not end in " ENDING ": expected the name of the file to write after it", input);
    }
    char *path = ag_strdup(input);
    path[n - ending] = '\0';
    return path;
}

int main(int argc, char **argv)
{
    const NnField options[] = {
        NN_TEXT_OPTION("model", "FOLDER", model_path,
                       "a Llama, SmolLM2 or Qwen, or a checkpoint of gpt train; without: a model that learns"),
        NN_FLAG_OPTION("overwrite", overwrite, "replace this file if it exists"),
        NN_FLAG_OPTION("show", show, "print the text; on a terminal, its colors tell what each token cost"),
        NN_FLAG_OPTION("curve", curve, "write compress.csv (byte,bits_per_byte,mean) and draw it"),
        PRECISION_OPTION, NN_FIELDS_END
    };
    bool known = !(argc > 1 && strcmp(argv[1], "-d") == 0);
    int names = known ? 0 : 1;
    const char *input = argc > names + 1 && argv[names + 1][0] != '-' ? argv[++names] : NULL;
    const char *output = input && argc > names + 1 && argv[names + 1][0] != '-' ? argv[++names] : NULL;
    nn_fields_defaults(&settings_fields, &how);
    example_add_options(&settings_fields, &how);
    example_begin(argc - names, argv + names, &(Program){ "compress",
        "compress FILE makes FILE" ENDING ", and compress -d FILE" ENDING " makes FILE again. Another name for the file to write can\n"
        "follow. The names come before the options. Without a FILE, it compresses a part of kaeru's own sources.\n"
        "Shows that the loss of a language model in bits is the size of the text. A small Transformer learns the file while\n"
        "it reads it, and the decoder learns in the same way. Or a trained model is used, which the decoder needs, too. The\n"
        "file has the settings: -d needs no other option than --model. Any bytes can be compressed.", options });
    if (!known && !input) {
        example_usage_error("expected a file: compress -d FILE" ENDING);
    }
    Coding c = { .known = known, .encoder = ENCODER_BEGIN };
    Bytes in = { 0 };
    char *path = input ? output_of(input, output, known) : example_path("compress" ENDING);
    if (input) {
        in = read_file(input);
        check_output(path, input);
    } else {
        bytes_append(&in, corpus, SAMPLE);
    }
    Bytes out = known ? compress(&c, &in) : decompress(&c, input, &in);
    if (show) {
        show_text(&c);
    }
    if (curve) {
        draw_curve(&c);
    }
    write_file(path, &out);
    size_t text = known ? in.n : out.n, packed = known ? out.n : in.n;
    printf("%s: %zu bytes from %zu, %.3f bits a byte\n", path, out.n, in.n,
           text ? 8 * (double)packed / (double)text : 0.0);
    return example_end();
}
