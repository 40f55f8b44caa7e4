/* compress.c: a Transformer predicts each next byte of a file, and the better it predicts, the fewer bits the file needs. */
#include <string.h>

#include "common/common.h"
#include "common/host.h"
#include "compress/archive.h"
#include "compress/coding.h"
#include "compress/costs.h"
#include "compress/files.h"
#include "compress/model.h"
#include "compress/tokens.h"
#include "gpt/gpt_commands.h"

#define ENDING ".k"
enum { LEAST_STREAM = 8192, SAMPLE = 100000 };

static const char *model_path;
static bool overwrite, show, curve;
static int64_t memory = USUAL_MEBIBYTES;
static Settings how;

static Predictor *open_predictor(const Settings *s)
{
    return model_path ? predictor_open(model_path, s) : predictor_new(s);
}

static bool code_text(Coding *c)
{
    bool good = true;
    Progress progress = progress_begin(c->known ? "compressed" : "decompressed", c->p->count);
    while (good && !predictor_has_ended(c->p)) {
        good = coding_step(c);
        progress_show(&progress, c->done, "%.3f bits a token", c->sum / (double)c->done);
    }
    progress_end(&progress);
    return good;
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
    Predictor *p = open_predictor(&how);
    int32_t *id = tokens_of(p, (const char *)text->byte, text->n, &count);
    predictor_begin(p, id, count);
    *c = coding_begin(p, NULL, 0);
    if (!code_text(c)) {
        example_fail("%s", ag_error());
    }
    encoder_end(&c->encoder);
    return archive_make((Head){ p->hash, data_hash(DATA_HASH_BEGIN, text->byte, text->n), count, p->how, 0 }, &c->encoder.out);
}

static Bytes decompress(Coding *c, const char *path, const Bytes *file)
{
    Head head;
    if (!archive_read(file, &head)) {
        example_fail("%s: %s", path, ag_error());
    }
    if (head.how.learns == (model_path != NULL)) {
        example_usage_error("%s was made %s: expected %s", path, head.how.learns ? "by a model that learns" : "with a model",
                            head.how.learns ? "no --model" : "--model");
    }
    double mebibytes = model_path ? 0 : predictor_mebibytes(&head.how, head.count);
    if (mebibytes > (double)memory) {
        example_fail("%s: needs %.0f MiB for its model: expected --memory %.0f or more", path, mebibytes, mebibytes);
    }
    double tokens = (double)head.count * (sizeof(int32_t) + sizeof(float));             /* their ids and what they cost */
    double needed = tokens + mebibytes * (1 << 20);
    if (needed > host_memory()) {
        example_fail("%s: asks for %.1f GB of memory, but this machine has %.1f GB", path, needed / 1e9, host_memory() / 1e9);
    }
    Predictor *p = open_predictor(&head.how);
    if (p->hash != head.weights || p->how.window != head.how.window) {
        example_fail("%s: was not made with %s", path, model_path ? model_path : "the weights with which this program begins");
    }
    predictor_begin(p, ag_alloc((size_t)head.count + 1, sizeof(int32_t)), head.count);
    *c = coding_begin(p, file->byte + head.coded, file->n - head.coded);
    if (!code_text(c)) {
        example_fail("%s: %s", path, ag_error());
    }
    if (!decoder_has_ended(&c->decoder)) {
        example_fail("%s: is damaged: it has other bytes behind the text", path);
    }
    Bytes text = { 0 };
    for (int64_t i = 0; i < head.count; i++) {
        size_t n = 0;
        char byte;
        const char *bytes = token_bytes(p, p->id[i], &byte, &n);
        bytes_append(&text, bytes ? bytes : "", bytes ? n : 0);         /* a token that is missing: the hash tells */
    }
    if (data_hash(DATA_HASH_BEGIN, text.byte, text.n) != head.text) {
        example_fail("%s: the text does not have its hash: the file is damaged, or numbers differ on this machine", path);
    }
    return text;
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

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
        NN_OPTION("memory", memory, 1, 1 << 30, "most MiB for the model that learns, with -d: a file can ask for more"),
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
        "compress FILE makes FILE" ENDING ", and compress -d FILE" ENDING " makes FILE again. Another name for the file to\n"
        "write can follow. The names come before the options. Without a FILE, it compresses a part of kaeru's own sources.\n"
        "Shows that the loss of a language model in bits is the size of the text. A small Transformer learns the file while\n"
        "it reads it, and the decoder learns in the same way. Or a trained model is used, which the decoder needs, too. The\n"
        "file has the settings: -d needs no other option than --model, and --memory for a large model that learns. Any bytes "
        "can\nbe compressed.", options });
    if (!known && !input) {
        example_usage_error("expected a file: compress -d FILE" ENDING);
    }
    Coding c;
    Bytes in = { 0 };
    char *path = input ? output_of(input, output, known) : example_path("compress" ENDING);
    if (input) {
        in = read_file(input);
        check_output(path, input, overwrite);
        if (model_path) {
            must_not_be_of_model(path, model_path);
        }
    } else {
        bytes_append(&in, corpus, SAMPLE);
        example_must_be_output(path);
    }
    Bytes out = known ? compress(&c, &in) : decompress(&c, input, &in);
    if (show) {
        show_text(c.p, c.bits);
    }
    if (curve) {
        draw_curve(c.p, c.bits);
    }
    write_file(path, input, &out, input && !overwrite);
    size_t text = known ? in.n : out.n, packed = known ? out.n : in.n;
    say("%.*s", (int)strlen(path), path);       /* without precision, it would be translated */
    say(": %zu bytes from %zu, %.3f bits a byte\n", out.n, in.n,
        text ? 8 * (double)packed / (double)text : 0.0);
    double needed = known && c.p->how.learns ? predictor_mebibytes(&c.p->how, c.p->count) : 0;
    if (needed > (double)memory) {
        say("to decompress it, give -d the option --memory %.0f or more\n", needed);
    }
    ag_free(in.byte);
    ag_free(out.byte);
    ag_free(c.encoder.out.byte);
    ag_free(c.p->id);
    ag_free(c.p);
    ag_free(c.bits);
    ag_free(path);
    return example_end();
}
