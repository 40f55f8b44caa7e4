/* tune.c: learns from pairs of texts that belong together, such as a question and its answer. */
#include "tune.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "kaeru/batches.h"

/* The cosines are divided by a temperature of 1 / 20. */
static const double sharpness = 20;

typedef struct { Tokens *left, *right; int64_t n; } Pairs;

static Pairs read_pairs(const Embedder *e, const char *path)
{
    KaeruLines lines;
    if (!kaeru_lines_open(&lines, path)) {
        example_fail("%s", ag_error());
    }
    size_t n = (size_t)lines.n;
    Pairs p = { ag_alloc(n, sizeof *p.left), ag_alloc(n, sizeof *p.right), lines.n };
    for (int64_t i = 0; i < lines.n; i++) {
        KaeruLine line = lines.line[i];
        const char *end = line.text + line.size;
        const char *tab = line.size ? memchr(line.text, '\t', line.size) : NULL;
        if (!tab || memchr(tab + 1, '\t', (size_t)(end - tab - 1))) {
            example_fail("%s: line %" PRId64 ": expected two texts with one tab between them", path,
                         lines.first + i);
        }
        p.left[i] = tokens_of(e, (KaeruLine){ line.text, (size_t)(tab - line.text) });
        p.right[i] = tokens_of(e, (KaeruLine){ tab + 1, (size_t)(end - tab - 1) });
    }
    kaeru_lines_close(&lines);
    return p;
}

static void pairs_free(Pairs *p)
{
    for (int64_t i = 0; i < p->n; i++) {
        ag_free(p->left[i].id);
        ag_free(p->right[i].id);
    }
    ag_free(p->left);
    ag_free(p->right);
}

/* Each left text must find its right one among all right ones of the batch: the cosines are the
 * logits of a classification (van den Oord et al. 2018; Henderson et al. 2017). */
static Tensor *loss_of(const Embedder *e, const Pairs *p, Tensor *chosen)
{
    int64_t n = tensor_numel(chosen);
    const int32_t *id = tensor_int_data(chosen);
    Tokens *left = ag_scratch((size_t)n, sizeof *left);
    Tokens *right = ag_scratch((size_t)n, sizeof *right);
    Tensor *target = tensor_ints(SHAPE(n), NULL);
    for (int64_t i = 0; i < n; i++) {
        left[i] = p->left[id[i]];
        right[i] = p->right[id[i]];
        tensor_mutable_int_data(target)[i] = (int32_t)i;
    }
    Tensor *a = embed_tokens(e, left, n), *b = embed_tokens(e, right, n);
    return nn_cross_entropy(ag_scale(ag_matmul(a, ag_transpose(b, 0, 1)), sharpness), target);
}

void tune(Embedder *e, const char *path, Tuning how)
{
    Pairs p = read_pairs(e, path);
    if (p.n < how.batch) {
        example_fail("%s: has %" PRId64 " pairs, expected as many as --batch, %" PRId64, path, p.n,
                     how.batch);
    }
    int64_t steps = how.epochs * (p.n / how.batch);
    Optimizer *adam = nn_adamw_new(e->bert, how.lr);
    Csv *csv = csv_open("embed_tune.csv", "step,loss");
    Progress progress = progress_begin("training", steps);
    double sum = 0, last = 0;
    for (int64_t step = 0; step < steps; step++) {
        AgScope scope = ag_begin(AG_RECORD);
        Tensor *loss = loss_of(e, &p, ag_batch_ids(p.n, how.batch, step, (uint64_t)example_seed()));
        ag_backward(loss);
        nn_clip_grad_norm(e->bert, 1.0);
        nn_optimizer_step(adam);
        last = tensor_item(loss);
        sum += last;
        csv_row(csv, step + 1, last);
        ag_end(scope);
        progress_show(&progress, step + 1, "loss %.4f", last);
    }
    progress_end(&progress);
    say("%" PRId64 " steps of %" PRId64 " pairs: mean loss %.4f, the last %.4f\n", steps, how.batch,
        sum / (double)steps, last);
    csv_close(csv);
    ag_free(adam);
    pairs_free(&p);
}

/* ---- the folder ------------------------------------------------------------------------------ */

enum { WEIGHTS = 1 };
static const char *const names[MODEL_FILES] = {
    "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json",
    "special_tokens_map.json", "vocab.txt", "sentence_bert_config.json"
};

NewModel new_model_begin(const char *folder, bool overwrite)
{
    NewModel m;
    for (int i = 0; i < MODEL_FILES; i++) {
        char *from = path_in(folder, names[i]), *to = example_path(names[i]);
        if (kaeru_text_is_same_file(from, to)) {
            example_fail("%s is a file of --model: expected another folder as --out", to);
        }
        if (!overwrite && access(to, F_OK) == 0) {
            example_fail("%s exists: expected --overwrite, or another folder as --out", to);
        }
        m.copied[i] = i == WEIGHTS ? (FileContent){ NULL, 0 } : file_to_copy(folder, names[i], "");
        ag_free(from);
        ag_free(to);
    }
    return m;
}

void new_model_write(NewModel *m, const Embedder *e)
{
    FileGroup g = file_group_begin(example_out(), names, MODEL_FILES);
    for (int i = 0; i < MODEL_FILES; i++) {
        FileContent *c = &m->copied[i];
        char *to = file_group_path(&g, i);
        bool good = !c->bytes || file_content_write(c, to);
        if (i == WEIGHTS) {
            good = nn_save(to, e->bert);
        }
        if (!good) {
            file_group_fail(&g);
        }
        ag_free(c->bytes);
        ag_free(to);
    }
    file_group_replace(&g);
    char *written = example_path(names[WEIGHTS]);
    say("wrote:   %s\n", written);
    ag_free(written);
}
