/* nn.h: layers, losses, optimizers, schedules and checkpoints.
 *
 * A module is a struct whose first member is a Module and which registers its slots, the parameters and the modules
 * inside it, by name:
 *
 *     typedef struct { Module module; Linear *fc1, *fc2; } Net;
 *
 *     Net *net_new(void)
 *     {
 *         Net *net = nn_new(Net);
 *         nn_child(net, fc1, nn_linear_new(2, 16));
 *         nn_child(net, fc2, nn_linear_new(16, 2));
 *         return net;
 *     }
 *     Tensor *net(Net *net, Tensor *x) { return nn_linear(net->fc2, ag_tanh(nn_linear(net->fc1, x))); }
 *
 * From the names come, by one walk, the parameter list ("fc1.weight"), train and eval, the summary, clone, free and
 * files. Forward is an ordinary function of the layer's name. */
#ifndef KAERU_NN_H
#define KAERU_NN_H

#include "kaeru/autograd.h"

#pragma GCC visibility push(default)

/* ---- modules ----------------------------------------------------------------------------------------------------- */

typedef struct Module Module;
struct Module {
    AgOwned owned;              /* frees a half-built module if an error unwinds its scope */
    const char *type;           /* the struct's name */
    size_t size;                /* of the whole struct */
    struct ModuleSlot *slots;   /* what was registered, in order */
    int n_slots, room;
    Module *parent;             /* the module that holds this one, in its slot number `index`; NULL: none */
    int index;
    bool training;              /* true at first; nn_train and nn_eval set it for all below */
    Tensor *(*forward)(void *self, Tensor *x);      /* of layers with one input, for Sequential; else NULL */
};

/* A new zeroed struct of the type, which must start with `Module module`. The caller owns it: nn_free, or make it a
 * child of another. */
#define nn_new(Type) \
    ((Type *)nn_new_at(AG_HERE, sizeof(Type) + 0 * sizeof(char[offsetof(Type, module) == 0 ? 1 : -1]), #Type))
Module *nn_new_at(Site at, size_t size, const char *type);

/* parent->field = child, registered under the field's name; the parent owns it now. A module may be the child of one
 * parent only; share parameters with nn_tie. Names have up to 47 characters, no dot, and are unique in their module. */
#define nn_child(parent, field, child) nn_child_named(parent, field, #field, child)
#define nn_child_named(parent, field, name, child) \
    nn_add_child_at(AG_HERE, &(parent)->module, name, (void **)&(parent)->field, 1 ? (child) : (parent)->field)
void nn_add_child_at(Site at, Module *parent, const char *name, void **field, void *child);

/* parent->field = a new parameter of that shape, zeros, that wants a gradient. */
#define nn_param(parent, field, shape) \
    nn_add_tensor_at(AG_HERE, &(parent)->module, #field, &(parent)->field, shape, true)
/* The same without a gradient: saved with the weights, not trained (position tables). */
#define nn_buffer(parent, field, shape) \
    nn_add_tensor_at(AG_HERE, &(parent)->module, #field, &(parent)->field, shape, false)
Tensor *nn_add_tensor_at(Site at, Module *parent, const char *name, Tensor **field, Shape shape, bool trained);
/* Makes parent->field the same parameter as `tensor`, which the same tree holds elsewhere (tied weights): trained,
 * counted and freed once, and saved once, under its first name. The field's own tensor, if it has one, must have the
 * same shape and is freed; what was tied to that is tied to `tensor` now. */
#define nn_tie(parent, field, tensor) \
    nn_tie_at(AG_HERE, &(parent)->module, #field, &(parent)->field, tensor)
void nn_tie_at(Site at, Module *parent, const char *name, Tensor **field, Tensor *tensor);

/* A list of modules as a module: n children named "0", "1", ... */
typedef struct { Module module; int n; } ModuleList;
ModuleList *nn_list_new_at(Site at);
void nn_list_add_at(Site at, ModuleList *list, void *child);
void *nn_list_item_at(Site at, const ModuleList *list, int i);
#define nn_list_new()      nn_list_new_at(AG_HERE)
#define nn_list_add(...)   nn_list_add_at(AG_HERE, __VA_ARGS__)
/* Item i as a pointer to Type. */
#define nn_item(Type, list, i) ((Type *)nn_list_item_at(AG_HERE, list, i))

/* Frees a module, all below it, and their parameters. NULL is fine. Takes any module's pointer. */
void nn_free(void *module);
/* A copy with parameters of its own (and the same values, modes and ties). What is not in a slot, numbers and
 * pointers, is copied as it is. */
void *nn_clone_at(Site at, const void *module);
#define nn_clone(module) nn_clone_at(AG_HERE, module)
/* Training mode (dropout drops) or evaluation mode, for all below. */
void nn_train(void *module);
void nn_eval(void *module);
void nn_zero_grad(void *module);

/* The parameters and buffers below a module, by dotted name, in order of registration; tied ones once, under their
 * first name. `trained` is whether it wants a gradient: tensor_set_requires_grad(t, false) freezes a parameter. Valid until
 * the module changes; free with nn_parameters_free. */
typedef struct { char *name; Tensor *tensor; bool trained; Module *owner; } NamedTensor;
typedef struct { AgOwned owned; NamedTensor *item; int n; } Parameters;
Parameters *nn_parameters_at(Site at, void *module);
void nn_parameters_free(Parameters *p);
#define nn_parameters(module) nn_parameters_at(AG_HERE, module)
/* The one of that name ("fc1.weight"), or NULL. */
Tensor *nn_find(void *module, const char *name);
int64_t nn_count(void *module);                                     /* trained numbers, tied ones once */
/* A table: module tree, parameter shapes and counts. */
void nn_summary(void *module, FILE *out);

/* ---- initialization (in place, on one tensor; random ones draw from this thread's generator) --------------------- */

/* fan_in is the product of all sizes but the first, fan_out that of all but the second; two dimensions or more. */
void nn_init_constant_at(Site at, Tensor *w, double value);
void nn_init_uniform_at(Site at, Tensor *w, double low, double high);
void nn_init_normal_at(Site at, Tensor *w, double mean, double deviation);
void nn_init_xavier_uniform_at(Site at, Tensor *w, double gain);      /* +-gain sqrt(6/(fan_in+fan_out)): Glorot 2010 */
void nn_init_xavier_normal_at(Site at, Tensor *w, double gain);       /* deviation gain sqrt(2/(fan_in+fan_out)) */
void nn_init_kaiming_uniform_at(Site at, Tensor *w, double a);        /* +-sqrt(6/((1+a^2) fan_in)): He 2015 */
void nn_init_kaiming_normal_at(Site at, Tensor *w, double a);         /* deviation sqrt(2/((1+a^2) fan_in)) */
#define nn_init_constant(...)        nn_init_constant_at(AG_HERE, __VA_ARGS__)
#define nn_init_uniform(...)         nn_init_uniform_at(AG_HERE, __VA_ARGS__)
#define nn_init_normal(...)          nn_init_normal_at(AG_HERE, __VA_ARGS__)
#define nn_init_xavier_uniform(...)  nn_init_xavier_uniform_at(AG_HERE, __VA_ARGS__)
#define nn_init_xavier_normal(...)   nn_init_xavier_normal_at(AG_HERE, __VA_ARGS__)
#define nn_init_kaiming_uniform(...) nn_init_kaiming_uniform_at(AG_HERE, __VA_ARGS__)
#define nn_init_kaiming_normal(...)  nn_init_kaiming_normal_at(AG_HERE, __VA_ARGS__)

/* ---- layers ------------------------------------------------------------------------------------------------------ */

/* y = x W^T + b: x (..,in) -> (..,out). weight (out,in), bias (out) or NULL; both uniform in +-1/sqrt(in) at first. */
typedef struct { Module module; Tensor *weight, *bias; } Linear;
Linear *nn_linear_new_at(Site at, int64_t in, int64_t out, bool bias);
Tensor *(nn_linear)(Linear *l, Tensor *x);
#define nn_linear_new(in, out)         nn_linear_new_at(AG_HERE, in, out, true)
#define nn_linear_new_no_bias(in, out) nn_linear_new_at(AG_HERE, in, out, false)
#define nn_linear(...)                 AG_CALL("nn_linear", (nn_linear)(__VA_ARGS__))

/* Rows of a table: ids (..) -> (..,width). weight (count,width), standard normal at first. */
typedef struct { Module module; Tensor *weight; } Embedding;
Embedding *nn_embedding_new_at(Site at, int64_t count, int64_t width);
Tensor *(nn_embedding)(Embedding *e, Tensor *ids);
#define nn_embedding_new(...) nn_embedding_new_at(AG_HERE, __VA_ARGS__)
#define nn_embedding(...)     AG_CALL("nn_embedding", (nn_embedding)(__VA_ARGS__))

/* Normalizes the last dimension; gamma (width) starts at 1, beta at 0. The four conventions are AG_NORM_PYTORCH (GPT),
 * AG_NORM_ANNOTATED, AG_NORM_STD_EPS and AG_NORM_STD of autograd.h. The parameters are called weight and bias in
 * files, a_2 and b_2 with AG_NORM_ANNOTATED. */
typedef struct { Module module; Tensor *gamma, *beta; AgNorm kind; } LayerNorm;
LayerNorm *nn_layer_norm_new_at(Site at, int64_t width, AgNorm kind, bool bias);
Tensor *(nn_layer_norm)(LayerNorm *l, Tensor *x);
#define nn_layer_norm_new(width)            nn_layer_norm_new_at(AG_HERE, width, AG_NORM_PYTORCH, true)
#define nn_layer_norm_new_kind(width, kind) nn_layer_norm_new_at(AG_HERE, width, kind, true)
#define nn_layer_norm_new_no_bias(width)    nn_layer_norm_new_at(AG_HERE, width, AG_NORM_PYTORCH, false)
#define nn_layer_norm(...)                  AG_CALL("nn_layer_norm", (nn_layer_norm)(__VA_ARGS__))

/* In training, each number becomes 0 with probability p and is divided by 1-p otherwise; evaluation changes nothing. */
typedef struct { Module module; double p; } Dropout;
Dropout *nn_dropout_new_at(Site at, double p);
Tensor *(nn_dropout)(Dropout *d, Tensor *x);
#define nn_dropout_new(...) nn_dropout_new_at(AG_HERE, __VA_ARGS__)
#define nn_dropout(...)     AG_CALL("nn_dropout", (nn_dropout)(__VA_ARGS__))

typedef enum { NN_IDENTITY, NN_RELU, NN_GELU, NN_GELU_ERF, NN_TANH, NN_SIGMOID } Activation;
Tensor *nn_activate(Activation kind, Tensor *x);
const char *nn_activation_name(Activation kind);
/* nn_activate(kind, nn_linear(l, x)), number for number. ReLU and the GELUs are computed in the same pass, which takes less
 * time and memory. */
Tensor *(nn_linear_activate)(Linear *l, Tensor *x, Activation kind);
#define nn_linear_activate(...) AG_CALL("nn_linear_activate", (nn_linear_activate)(__VA_ARGS__))

/* Modules in a row, each fed with the one before: Linear, Embedding, LayerNorm, Dropout, activations, another
 * Sequential, or a layer of your own whose constructor sets module.forward. It is a list: nn_item and n work on it, and
 * parameters are called "0.weight", as PyTorch has it. */
typedef ModuleList Sequential;
Sequential *nn_sequential_new_at(Site at);
void nn_sequential_add_at(Site at, Sequential *s, void *layer);
void nn_sequential_activation_at(Site at, Sequential *s, Activation kind);
Tensor *(nn_sequential)(Sequential *s, Tensor *x);
#define nn_sequential_new()             nn_sequential_new_at(AG_HERE)
#define nn_sequential_add(...)          nn_sequential_add_at(AG_HERE, __VA_ARGS__)
#define nn_sequential_activation(...)   nn_sequential_activation_at(AG_HERE, __VA_ARGS__)
#define nn_sequential(...)              AG_CALL("nn_sequential", (nn_sequential)(__VA_ARGS__))

/* ---- losses: the usual forms; all options are in ops.h ----------------------------------------------------------- */

/* mean (x - target)^2 over all numbers -> scalar */
#define nn_mse_loss(x, target) ag_mse_loss(x, target)
/* mean over targets of -log softmax(logits)[target]: logits (..,V), target (..) ids; target -100 counts for nothing */
#define nn_cross_entropy(logits, target) ag_cross_entropy(logits, target, AG_MEAN, -100, 0.0)

/* ---- optimizers -------------------------------------------------------------------------------------------------- */

/* Groups of parameters, each with its own learning-rate factor and decay, and the state that goes with each. The
 * gradients are read where backward left them. */
typedef struct Optimizer Optimizer;

typedef struct { double lr, beta1, beta2, eps, weight_decay; bool decoupled; } AdamOptions;
typedef struct { double lr, momentum, weight_decay; bool nesterov; } SgdOptions;
/* PyTorch's defaults: beta (0.9, 0.999), eps 1e-8, no decay / decoupled decay 0.01. */
AdamOptions nn_adam_options(double lr);
AdamOptions nn_adamw_options(double lr);
Optimizer *nn_adam_new_at(Site at, void *module, AdamOptions options);
Optimizer *nn_sgd_new_at(Site at, void *module, SgdOptions options);
#define nn_adam_new(module, lr)      nn_adam_new_at(AG_HERE, module, nn_adam_options(lr))
#define nn_adamw_new(module, lr)     nn_adam_new_at(AG_HERE, module, nn_adamw_options(lr))
#define nn_adam_new_with(...)        nn_adam_new_at(AG_HERE, __VA_ARGS__)
#define nn_sgd_new_with(...)         nn_sgd_new_at(AG_HERE, __VA_ARGS__)
#define nn_sgd_new(module, lr)       nn_sgd_new_at(AG_HERE, module, (SgdOptions){ lr, 0.0, 0.0, false })
/* Parameters for which `belongs` says yes move to a new group with another weight decay and learning-rate factor (GPT:
 * decay on matrices only). At first all are in one group. Returns how many moved. */
int nn_optimizer_group(Optimizer *o, bool (*belongs)(const NamedTensor *p, void *arg), void *arg, double weight_decay,
                       double lr_factor);
bool nn_is_matrix(const NamedTensor *p, void *unused);              /* two or more dimensions */
bool nn_is_not_matrix(const NamedTensor *p, void *unused);
/* One step with this learning rate; gradients are forgotten afterwards (the next backward writes them anew). */
void nn_optimizer_step(Optimizer *o, double lr);
/* The same with every gradient multiplied by grad_scale on the way: 1/n where n losses were added up. */
void nn_optimizer_step_scaled(Optimizer *o, double lr, double grad_scale);
double nn_optimizer_lr(const Optimizer *o);                         /* the one it was made with */
int64_t nn_optimizer_steps(const Optimizer *o);                     /* steps taken */
void nn_optimizer_free(Optimizer *o);
/* Scales all gradients so that their joint 2-norm is at most max_norm; returns the norm before. */
double nn_clip_grad_norm(void *module, double max_norm);
double nn_grad_norm(void *module);

/* ---- schedules: learning rates by step, pure functions ----------------------------------------------------------- */

double nn_schedule_constant(double lr);
/* Linear from 0 to lr over `warmup` steps, then half a cosine down to lr_min at step `total`, lr_min after it. */
double nn_schedule_cosine(int64_t step, double lr, double lr_min, int64_t warmup, int64_t total);
/* Vaswani et al. 2017, 5.3: factor width^-1/2 min(step^-1/2, step warmup^-3/2); step 0 counts as 1. */
double nn_schedule_noam(int64_t step, int64_t width, double factor, int64_t warmup);

/* ---- files ---------------------------------------------------------------------------------------------------------
 * Checkpoints are safetensors files: weights by name, so that other libraries open them. With an optimizer, its moments
 * lie beside them under "optimizer.", and step, random state and settings in the metadata. Saving writes a temporary
 * file in the same folder and renames it: a kill at any moment leaves the old file or the new one. All of these return
 * false with ag_error() set when something is wrong, and then have changed neither file nor model. */

/* Settings of a model or a run: texts by name, in order. */
typedef struct Settings Settings;
Settings *nn_settings_new_at(Site at);
#define nn_settings_new() nn_settings_new_at(AG_HERE)
void nn_settings_free(Settings *s);
void nn_settings_set(Settings *s, const char *key, const char *format, ...) AG_PRINTF(3, 4);
const char *nn_settings_get(const Settings *s, const char *key);    /* NULL if absent */
/* Whole numbers and reals, checked: false with ag_error() if absent or malformed. */
bool nn_settings_int(const Settings *s, const char *key, int64_t *value);
bool nn_settings_real(const Settings *s, const char *key, double *value);

/* Weights alone. */
bool nn_save(const char *path, void *module);
bool nn_load(const char *path, void *module);
/* Everything that a run needs to go on exactly where it was: weights, optimizer (may be NULL), random state, settings
 * (may be NULL). Loading restores this thread's random state and adds the file's settings to `settings`. */
bool nn_checkpoint_save(const char *path, void *module, Optimizer *o, const Settings *settings);
bool nn_checkpoint_load(const char *path, void *module, Optimizer *o, Settings *settings);
/* Only the settings: to build a model of the right size before loading it. */
bool nn_checkpoint_settings(const char *path, Settings *settings);

#pragma GCC visibility pop
#endif
