/* embed.c: sentences as vectors, by a BERT: searches the lines of a file by their meaning. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "embed/tune.h"
#include "kaeru/tensor_files.h"

typedef struct { const char *folder, *index, *vectors, *question; int64_t top; bool csv; } Asked;

typedef struct { double cosine; int64_t line; } Found;

/* Orders by falling cosine, equal ones by line. */
static int by_cosine(const void *left, const void *right)
{
    const Found *a = left, *b = right;
    if (a->cosine != b->cosine) {
        return a->cosine > b->cosine ? -1 : 1;
    }
    return a->line < b->line ? -1 : 1;
}

/* Prints the lines that are nearest to the question: both vectors have the length 1, so their
 * product is the cosine of the angle between them. */
static void search(const Embedder *e, const KaeruLines *lines, Tensor *vectors, const Asked *a)
{
    KaeruLine text = { a->question, strlen(a->question) };
    Tensor *cosines = ag_matmul(vectors, ag_transpose(embed_lines(e, &text, 1), 0, 1));
    Found *found = ag_alloc((size_t)lines->n, sizeof *found);
    int64_t n = 0;
    for (int64_t i = 0; i < lines->n; i++) {
        if (lines->line[i].size > 0) {
            found[n++] = (Found){ (double)tensor_data(cosines)[i], i };
        }
    }
    if (n > 0) {
        qsort(found, (size_t)n, sizeof *found, by_cosine);
    }
    Csv *csv = a->csv ? csv_open("embed.csv", "rank,line,cosine") : NULL;
    for (int64_t i = 0; i < n && i < a->top; i++) {
        const KaeruLine *line = &lines->line[found[i].line];
        KaeruTextStream out = { .out = stdout };
        say("%.4f  line %" PRId64 "  ", found[i].cosine, lines->first + found[i].line);
        kaeru_text_stream_put(&out, line->text, line->size);
        kaeru_text_stream_end(&out);
        printf("\n");
        if (csv) {
            csv_row(csv, i + 1, lines->first + found[i].line, found[i].cosine);
        }
    }
    if (csv) {
        csv_close(csv);
    }
    ag_free(found);
}

static void answer(const Asked *a)
{
    KaeruLines lines;
    if (!kaeru_lines_open(&lines, a->index)) {
        example_fail("%s", ag_error());
    }
    if (a->vectors && kaeru_text_is_same_file(a->vectors, a->index)) {
        example_fail("%s: is the file of --index: expected another one for --vectors", a->vectors);
    }
    Embedder e = embedder_open(a->folder);
    nn_eval(e.bert);
    AgScope scope = ag_begin(AG_NO_GRAD);
    Tensor *vectors = embed_lines(&e, lines.line, lines.n);
    if (a->vectors) {
        if (!tensor_save_list(a->vectors, &(NnNamedValue){ "vectors", vectors }, 1)) {
            example_fail("%s", ag_error());
        }
        say("wrote:   %s\n", a->vectors);
    }
    if (a->question) {
        search(&e, &lines, vectors, a);
    }
    ag_end(scope);
    kaeru_lines_close(&lines);
    embedder_close(&e);
}

/* Learns from pairs and writes the model. */
static void learn(const char *folder, const char *pairs, Tuning how, bool overwrite)
{
    NewModel made = new_model_begin(folder, overwrite);
    Embedder e = embedder_open(folder);
    if (e.first) {
        example_fail("%s: pooling_mode_cls_token: --tune expects a model whose vector is the mean",
                     folder);
    }
    tune(&e, pairs, how);
    new_model_write(&made, &e);
    embedder_close(&e);
}

int main(int argc, char **argv)
{
    static Asked asked = { .top = 5 };
    static const char *pairs;
    static Tuning tuning = { .epochs = 1, .batch = 32, .lr = 2e-5 };
    static bool overwrite;
    const NnField options[] = {
        NN_TEXT_OPTION("model", "FOLDER", asked.folder,
                       "a BERT, with config.json, model.safetensors, tokenizer.json"),
        NN_TEXT_OPTION("index", "FILE", asked.index, "the text whose lines are searched"),
        NN_OPTION("top", asked.top, 1, 1000000, "number of lines to show"),
        NN_FLAG_OPTION("csv", asked.csv, "also write them as embed.csv (rank,line,cosine)"),
        NN_TEXT_OPTION("vectors", "FILE", asked.vectors,
                       "write the vectors of all lines: .npy, .npz or .safetensors"),
        NN_TEXT_OPTION("tune", "FILE", pairs,
                       "learn from lines of two texts with a tab between them"),
        NN_OPTION("epochs", tuning.epochs, 1, 10000, "passes through the pairs"),
        NN_OPTION("batch", tuning.batch, 2, 100000, "pairs of a batch, each told from the others"),
        NN_OPTION("lr", tuning.lr, 0, 1, "learning rate of AdamW"),
        NN_FLAG_OPTION("overwrite", overwrite, "replace a model in the output folder"),
        NN_FIELDS_END
    };
    example_take_argument(&asked.question);
    example_begin(argc, argv, &(Program){ "embed",
        "Makes a vector of each line of a text, by a BERT such as all-MiniLM-L6-v2 from its\n"
        "Hugging Face folder, and shows the lines that are nearest to a question in meaning:\n\n"
        "  embed --model FOLDER --index notes.txt 'Who is playing music?'\n\n"
        "With --tune, it learns from pairs of texts that belong together, and writes\n"
        "embed_tune.csv (step,loss) and the model, which transformers opens, into the output\n"
        "folder.", options });
    if (!asked.folder || !asked.index == !pairs) {
        example_usage_error("expected --model, the folder of a model, and --index or --tune");
    }
    if (asked.index && !asked.question && !asked.vectors) {
        example_usage_error("--index: expected a question, or --vectors");
    }
    if (pairs && (asked.question || asked.vectors || asked.csv)) {
        example_usage_error("--tune: expected no question, --vectors or --csv");
    }
    if (pairs) {
        learn(asked.folder, pairs, tuning, overwrite);
    } else {
        answer(&asked);
    }
    return example_end();
}
