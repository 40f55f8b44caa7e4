/* calls.h: what the calls of calls.def use. The objects are made anew for each call. */
#ifndef KAERU_TESTS_CALLS_H
#define KAERU_TESTS_CALLS_H

#include <setjmp.h>

#include "kaeru/kaeru.h"

typedef struct { Module module; Linear *a, *b; Tensor *more; } Net;

typedef struct {
    AgScope whole, scope;           /* all of this is made in `whole`; the calls run in `scope`, inside it */
    AgErrorHandler *handler;        /* of usage errors */
    /* Tensors. x is made by an operation; a name ends in how many items or dimensions differ from the usual one. */
    Tensor *leaf, *x, *c, *y, *loss, *small, *one, *two, *row, *gamma, *w, *square, *ids, *ids1, *mask, *inner, *vector;
    Tensor *signal, *kernel1, *image, *kernel2, *wide1, *wide2, *qkv, *table, *packed, *kept, *taken, *hidden;
    Tensor *seen, *seen1, *causal, *ended;
    Tensor *list1[1], *list2[2], *out[4];
    AgMark mark;
    /* Modules and other objects. */
    Net *net, *average, *adapted;
    Linear *linear;
    Embedding *embedding;
    LayerNorm *layer_norm;
    RMSNorm *rms_norm;
    Dropout *dropout;
    Conv2d *conv;
    ConvTranspose2d *conv_transpose;
    BatchNorm *batch_norm;
    GroupNorm *group_norm;
    Sequential *sequential;
    ModuleList *modules, *filled_list;
    Recurrent *recurrent;
    MultiHeadAttention *heads;
    NnScore *score;
    PositionalEncoding *positions;
    PositionwiseFeedForward *feed_forward;
    SublayerConnection *sublayer;
    GPT *gpt;
    Llama *llama;
    Transformer *transformer;
    TransformerEncoderOnly *encoder_only;
    TransformerEmbeddings *embeddings;
    TransformerEncoderLayer *encoder_layer;
    TransformerDecoderLayer *decoder_layer;
    Seq2Seq *seq2seq;
    Optimizer *adam, *shared;
    NnParallel *parallel;
    NnCache *cache, *filled, *gpt_cache, *decoder_cache;
    NnParameters *parameters;
    NnSettings *settings;
    NnJson *json;
    NnTensorFile *file;
    KaeruVocab *chars, *words;
    LmData *data;
    void *block, *freed;            /* memory; an object that was freed */
    /* Structs. */
    RecurrentState state, kept_state;
    TransformerBatch batch;
    KaeruTrainState progress;
    KaeruLines lines, other_lines;
    KaeruText opened;
    KaeruTextStream stream;
    LmTraining training;
    GPTOptions gpt_options;
    AgAdam how_adam;
    AgSgd how_sgd;
    NnNamedValue named[1];
    NnOptions list[2];
    /* Numbers and texts. */
    ag_real numbers[64];
    double doubles[8];
    int32_t int32s[8];
    uint32_t words_of_row[8];
    int64_t number64;
    bool truth;
    size_t count;
    int argument;
    char *merges;
    char text[512];
    const char *targets[2], *paths[1];
    char *argv[3];
    FILE *null;
} Fixture;
extern Fixture f;

/* The files that calls read and write, in the present folder. */
#define PATH(name, text) static const char name[] __attribute__((unused)) = text;
PATH(weights, "net.safetensors")
PATH(checkpoint, "net_checkpoint.safetensors")
PATH(saved, "saved.safetensors")
PATH(gpt_path, "gpt.safetensors")
PATH(gpt_weights, "model_gpt.safetensors")
PATH(gpt_config, "gpt.json")
PATH(llama_path, "llama.safetensors")
PATH(transformer_path, "transformer.safetensors")
PATH(text_path, "text.txt")
PATH(pairs_path, "pairs.jsonl")
PATH(tokens_path, "tokens.bin")
PATH(words_path, "words.json")
PATH(tokenizer_path, "tokenizer.json")
PATH(config_path, "tokenizer_config.json")
PATH(folder, "folder")

/* ---- parts of a call that a test changes ------------------------------------------------------------------------- */

typedef enum { INTEGER, LENGTH_OF, COUNT_OF, NUMBER, TENSOR, OBJECT, POINTER, PART_KINDS } PartKind;
/* The usual value, or the one that is tried at this place. */
int64_t part_integer(PartKind kind, int64_t usual);
double part_number(double usual);
void *part_pointer(PartKind kind, const void *usual);

#define I(n)      part_integer(INTEGER, n)
#define LENGTH(n) (size_t)part_integer(LENGTH_OF, n)    /* of an array: a larger one is not noticed */
#define COUNT(n)  part_integer(COUNT_OF, n)             /* the same, with a sign; also what takes long if it is large */
#define D(x)      part_number(x)
#define T(t)      ((__typeof__(t))part_pointer(TENSOR, t))
#define M(m)      ((__typeof__(m))part_pointer(OBJECT, m))
#define P(...)    ((__typeof__((__VA_ARGS__) + 0))part_pointer(POINTER, __VA_ARGS__))

#define HOW  ((AgAttention){ (int)I(2), (int)I(0), true, (int)I(0), D(0) })
#define CONV ((AgConv){ { (int)I(1), 1 }, { (int)I(0), 0 }, { (int)I(1), 1 }, (int)I(1) })
#define NORM ((AgNorm){ D(1e-5), true, false })
#define LLAMA ((LlamaOptions){ I(1), I(2), I(1), I(4), I(8), I(8), I(10), I(8), D(1e-5), D(10000), D(1), D(1), D(4), D(8), \
    D(0), false, false, false, true, I(-1), { I(-1), -1, -1, -1 }, I(-1), false, false })
#define TRANSFORMER ((TransformerOptions){ (int)I(1), I(4), I(8), (int)I(2), D(0), NN_PRE_NORM, NORM, AG_RELU, I(8), false, \
    false })
#define SCOPE ((AgScope){ (int)I(f.scope.depth), f.scope.serial })
#define SAMPLING ((LmSampling){ D(1), I(2), D(0.9) })
#define TRAINING ((LmOptions){ COUNT(2), I(1), I(1), I(1), I(4), I(1), D(0.01), D(0.001), D(0.9), D(0.9), D(0.1), D(1), I(1), \
    I(4) })
#define EPOCH ((KaeruEpochOptions){ { (int32_t)I(0), D(0.1) }, NULL, D(1), I(4), I(2), (int)I(1), NULL, NULL, NULL, NULL })
/* A gradient of f.net; the shards of a step of f.parallel. */
void net_backward(void);
void two_shards(void);
/* *f.training with these options. */
LmTraining *training(LmOptions options);

extern const AgCustom square;
Tensor *square_tangent(const AgCustomCall *c, Tensor *const *dx);
extern const OptimizerKind plain;
bool is_weight(const NnNamedTensor *p, void *unused);
void no_body(void *unused, int64_t begin, int64_t end);
Tensor *tanh_of(Tensor **in, void *arg);
bool next_token(void *arg, int32_t id);
bool one_batch(void *source, TransformerBatch *batch);
void nothing(void *p);

/* ---- the calls ----------------------------------------------------------------------------------------------------- */

typedef struct { const char *name; int line; void (*make)(void); } Call;
extern const Call calls[];
extern const int n_calls;

/* Makes the objects, in the scopes `whole` and `scope`. */
void fixture_make(void);
/* Frees them by an error that unwinds, and trains a small module. False and a line in *why if that fails. */
bool fixture_end(const char **why);
/* Writes the files. */
void files_make(void);
/* A path that no other call in this or another process has, and a writer of a file there. */
const char *new_path(void);
KaeruWriter *new_writer(void);

#endif
