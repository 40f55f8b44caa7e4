/* models.c: models and adapters that the scripts of this folder compare with those of other libraries.
 *
 *     library_models MODEL FOLDER [STEP...]
 *
 * MODEL is llama, gpt or net. A net's weights are FOLDER/net.safetensors; the other two are folders in the layout of Hugging
 * Face's library. After the steps, the logits are printed, a row on each line. If a step is refused, the message is printed
 * instead, behind "refused: ". The steps:
 *
 *     load ADAPTER       nn_lora_load
 *     add TARGET         nn_lora_add, with random matrices
 *     save ADAPTER       nn_lora_save_with, with FOLDER as the base
 *     merge              nn_lora_merge
 *     write FOLDER       writes the model
 *     write_bf16 FOLDER  llama_write_bf16 */
#include <kaeru/kaeru.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kaeru/lora.h"

/* A module of a program's own. */
typedef struct { Module module; Linear *hidden, *out; } Net;

typedef enum { LLAMA, A_GPT, NET } Kind;
typedef struct { Kind kind; void *module; } Model;

static char *path_in(const char *folder, const char *name)
{
    static char path[2][500];
    static int next;
    next = !next;
    snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

static bool open_model(Model *m, const char *kind, const char *folder)
{
    if (strcmp(kind, "llama") == 0) {
        m->kind = LLAMA;
        m->module = llama_open(folder);
        return m->module != NULL;
    }
    if (strcmp(kind, "gpt") == 0) {
        m->kind = A_GPT;
        m->module = gpt_open(path_in(folder, "model.safetensors"), path_in(folder, "config.json"));
        return m->module != NULL;
    }
    Net *n = nn_new(Net);
    nn_child(n, hidden, nn_linear_new(2, 4));
    nn_child(n, out, nn_linear_new(4, 2));
    m->kind = NET;
    m->module = n;
    return nn_load(path_in(folder, "net.safetensors"), n);
}

static Tensor *logits_of(const Model *m)
{
    static const int32_t ids[] = { 5, 31, 2, 17, 8 };
    if (m->kind == LLAMA) return llama_forward(m->module, tensor_ints(SHAPE(1, 5), ids));
    if (m->kind == A_GPT) return gpt_forward(m->module, tensor_ints(SHAPE(1, 5), ids));
    static const ag_real x[] = { 1, 2 };
    const Net *n = m->module;
    return nn_linear(n->out, ag_tanh(nn_linear(n->hidden, tensor_from(SHAPE(1, 2), x))));
}

static bool add(void *module, const char *target)
{
    const char *const targets[] = { target, NULL };
    if (!nn_lora_add(module, (NnLoraOptions){ .rank = 3, .alpha = 5, .targets = targets })) return false;
    NnParameters *p = nn_parameters(module);
    for (int i = 0; i < p->n; i++) {
        if (strstr(p->item[i].name, "lora_")) ag_fill_normal(p->item[i].tensor, 0, 0.2);
    }
    ag_free(p);
    return true;
}

static bool write_model(const Model *m, const char *folder)
{
    if (m->kind == LLAMA) return llama_write(m->module, folder);
    if (m->kind == A_GPT) return gpt_write(m->module, path_in(folder, "model.safetensors"), path_in(folder, "config.json"));
    return nn_save(path_in(folder, "net.safetensors"), m->module);
}

/* Takes one step with the model of a folder; *used: how many arguments it has. */
static bool take_step(const Model *m, const char *folder, char **argument, int left, int *used)
{
    *used = 1;
    if (strcmp(argument[0], "merge") == 0) {
        nn_lora_merge(m->module);
        return true;
    }
    if (left < 2) {
        fprintf(stderr, "%s: expected an argument\n", argument[0]);
        exit(2);
    }
    *used = 2;
    if (strcmp(argument[0], "load") == 0) return nn_lora_load(m->module, argument[1]);
    if (strcmp(argument[0], "add") == 0) return add(m->module, argument[1]);
    if (strcmp(argument[0], "save") == 0) {
        return nn_lora_save_with(m->module, argument[1], (NnLoraSaveOptions){ .base = folder });
    }
    if (strcmp(argument[0], "write") == 0) return write_model(m, argument[1]);
    if (strcmp(argument[0], "write_bf16") == 0 && m->kind == LLAMA) return llama_write_bf16(m->module, argument[1]);
    fprintf(stderr, "there is no step %s\n", argument[0]);
    exit(2);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: %s llama|gpt|net FOLDER [STEP...]\n", argv[0]);
        return 2;
    }
    ag_seed(7);
    AgScope s = ag_begin(AG_NO_GRAD);
    Model m = { .module = NULL };
    bool good = open_model(&m, argv[1], argv[2]);
    if (good) nn_eval(m.module);
    for (int i = 3, used; good && i < argc; i += used) good = take_step(&m, argv[2], argv + i, argc - i, &used);
    if (good) {
        Tensor *y = logits_of(&m);
        int64_t width = tensor_dim(y, -1), rows = tensor_numel(y) / width;
        for (int64_t i = 0; i < rows * width; i++) {
            printf("%.9g%c", (double)tensor_data(y)[i], (i + 1) % width == 0 ? '\n' : ' ');
        }
    } else {
        printf("refused: %s\n", ag_error());
    }
    ag_free(m.module);
    ag_end(s);
    return 0;
}
