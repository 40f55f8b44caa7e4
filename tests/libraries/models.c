/* models.c: models and adapters that the scripts of this folder compare with those of other libraries.
 *
 *     library_models MODEL FOLDER [STEP...]
 *
 * MODEL is llama, gpt or net. A net, a module of one's own, has a line "NAME TYPE" in FOLDER/net.txt for each layer, which gets
 * the output of the line before; its weights are FOLDER/net.safetensors. TYPE is Linear, LayerNorm or Tanh. The other two are
 * folders in the layout of Hugging Face's library. After the steps, the logits are printed, a row on each line. If a step is
 * refused, the message is printed instead, behind "refused: ". The steps:
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

enum { WIDTH = 4, MOST = 16 };

/* A module of one's own with parts of any names. */
typedef struct { Module module; int n; void *part[MOST]; char name[MOST][100]; } Part;

typedef enum { LLAMA, A_GPT, NET } Kind;
/* layer: of a net, in the order of their lines; NULL: a Tanh */
typedef struct { Kind kind; void *module; int n; Module *layer[MOST]; } Model;

static char *path_in(const char *folder, const char *name)
{
    static char path[2][500];
    static int next;
    next = !next;
    snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

/* Adds a layer. Each point in its name leads into a part. */
static void add_layer(Part *in, char *name, Module *layer)
{
    char *point = strchr(name, '.');
    int i = 0;
    if (point) *point = '\0';
    while (i < in->n && strcmp(in->name[i], name) != 0) i++;
    if (i == in->n) {
        snprintf(in->name[i], sizeof in->name[i], "%s", name);
        nn_child_named(in, part[i], point ? &nn_new(Part)->module : layer, "%s", name);
        in->n++;
    }
    if (point) add_layer(in->part[i], point + 1, layer);
}

static void open_net(Model *m, const char *path)
{
    Part *net = nn_new(Part);
    char name[100], type[20];
    FILE *f = fopen(path, "r");
    if (!f) {
        fprintf(stderr, "%s: cannot be opened\n", path);
        exit(2);
    }
    while (m->n < MOST && fscanf(f, "%99s %19s", name, type) == 2) {
        Module *layer = NULL;
        if (strcmp(type, "Linear") == 0) layer = &nn_linear_new(WIDTH, WIDTH)->module;
        if (strcmp(type, "LayerNorm") == 0) layer = &nn_layer_norm_new(WIDTH)->module;
        if (layer) add_layer(net, name, layer);
        m->layer[m->n++] = layer;
    }
    fclose(f);
    m->kind = NET;
    m->module = net;
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
    open_net(m, path_in(folder, "net.txt"));
    return nn_load(path_in(folder, "net.safetensors"), m->module);
}

static Tensor *logits_of(const Model *m)
{
    static const int32_t ids[] = { 5, 31, 2, 17, 8 };
    if (m->kind == LLAMA) return llama_forward(m->module, tensor_ints(SHAPE(1, 5), ids));
    if (m->kind == A_GPT) return gpt_forward(m->module, tensor_ints(SHAPE(1, 5), ids));
    static const ag_real values[WIDTH] = { 1, 2, -1, 0.5 };
    Tensor *x = tensor_from(SHAPE(1, WIDTH), values);
    for (int i = 0; i < m->n; i++) x = m->layer[i] ? nn_recompute(m->layer[i], x) : ag_tanh(x);
    return x;
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
