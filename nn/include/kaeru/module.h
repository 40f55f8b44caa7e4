/* module.h: modules, their parameters and their first values, optimizers, schedules and checkpoints. Layers are in nn.h.
 *
 * A module is a struct whose first member is a Module. It registers its parts by name: parameters and other modules.
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
 *
 *     Tensor *net_forward(Net *net, Tensor *x)
 *     {
 *         NN_LAYER(net);
 *         return nn_linear(net->fc2, ag_tanh(nn_linear(net->fc1, x)));
 *     }
 *
 * Because of this registration, the parameter list ("fc1.weight"), nn_train and nn_eval, the summary, clone, free and files
 * need no code of yours. A part that is assigned to its field without nn_child or nn_param is not registered: it is not
 * trained, saved, cloned or freed. No scope owns a module: it and its parameters live until ag_free. A field must not point to
 * a tensor of a scope that ends earlier.
 *
 * A forward function is an ordinary function with any arguments. NN_LAYER checks the module, and messages then name the layer.
 * A layer that is to be an item of a Sequential has one input, and its constructor sets module.forward: see NN_FORWARD. */
#ifndef KAERU_MODULE_H
#define KAERU_MODULE_H

#ifdef __cplusplus
#include <type_traits>
#endif

#include "kaeru/tensor.h"

AG_PUBLIC_BEGIN

/* ---- modules ----------------------------------------------------------------------------------------------------- */

/* The first member of every module. */
typedef struct Module Module;
struct Module {
    unsigned magic;             /* tells whether it is alive */
    const char *type;           /* the struct's name */
    size_t size;                /* of the whole struct */
    struct NnModuleSlot *slots; /* what was registered, in order */
    int n_slots, capacity;
    Module *parent;             /* the module that contains this one, in slot number `index`; NULL: none */
    int index;
    bool training;              /* true at first; nn_train and nn_eval set it, in all descendants as well */
    /* The forward function of a layer with one input, for Sequential and nn_recompute; its constructor sets it. Else NULL. */
    Tensor *(*forward)(void *self, Tensor *x);
    /* Called before the module and its parts are freed, to close a file or the like; NULL: nothing. nn_clone does not copy a
     * module that has it. Memory does not need it: what ag_alloc_in(module, ...) returns is freed with the module. */
    void (*destroy)(void *self);
};

/* A new zeroed struct of that type, which must start with `Module module`. The caller owns it. ag_free frees it with its parts.
 * It is a usage error for a module that is part of another one, which frees it. */
#ifdef __cplusplus
#define nn_new(Type) ((Type *)nn_new_sized(NnModule<Type, offsetof(Type, module)>::size, #Type))
extern "C++" {
template <class Type, size_t offset> struct NnModule {
    static_assert(offset == 0, "the first member of a module is `Module module`");
    static_assert(std::is_trivially_copyable<Type>::value && std::is_trivially_default_constructible<Type>::value,
                  "a module is a plain struct: it is zeroed, copied and freed without constructors");
    static const size_t size = sizeof(Type);
};
}
#else
#define nn_new(Type) \
    ((Type *)nn_new_sized(sizeof(Type) + 0 * sizeof(char[offsetof(Type, module) == 0 ? 1 : -1]), #Type))
#endif
Module *nn_new_sized(size_t size, const char *type);

/* A usage error, in the name of function `what`, unless this is a module that was not freed. size: of the struct, which tells
 * most types apart; 0 or sizeof(Module): any. */
void nn_check(const char *what, const void *module, size_t size);
/* The same, and a usage error unless the module was made as this type. A ModuleList may be a Sequential, and the other way. */
void nn_check_type(const char *what, const void *module, size_t size, const char *type);
/* The first line of a layer's function: checks the module, and notes the layer until the function returns. Messages then name
 * the line inside the layer and the layer: "(in nn_linear called at net.c:23, in bottleneck)". docs/extending.md has an
 * example. */
#define NN_LAYER(module) \
    __attribute__((cleanup(ag_layer_end), unused)) \
    const int ag_layer = (nn_check(__func__, module, sizeof *(module)), ag_layer_begin(__func__, AG_OF_PROGRAM))

/* The same, and checks the name of the type, too: another type may have a struct of the same size. `type` is the name that
 * nn_new got, as text. */
#define NN_LAYER_OF(module, type) \
    __attribute__((cleanup(ag_layer_end), unused)) \
    const int ag_layer = (nn_check_type(__func__, module, sizeof *(module), type), ag_layer_begin(__func__, AG_OF_PROGRAM))

/* Defines f_forward (for nn_linear: nn_linear_forward), which a constructor sets as module.forward. It calls f, the forward
 * function of the type. The prototype of f comes before. */
#define NN_FORWARD(Type, f) \
    static Tensor *f##_forward(void *self, Tensor *x) \
    { \
        return f((Type *)self, x); \
    }

/* `parent->field = child`, registered under the field's name. The parent owns the child now. A module can be the child of one
 * parent only; share parameters with nn_tie. Names have up to 47 characters and no dot or bracket, and are unique in their
 * module. */
#define nn_child(parent, field, child) nn_child_named(parent, field, child, "%s", #field)
/* The same under a name that printf writes, for an array: nn_child_named(net, l[i], nn_linear_new(8, 8), "l%d", i). */
#define nn_child_named(parent, field, child, ...) \
    nn_add_child(&(parent)->module, (void **)&(parent)->field, 1 ? (child) : (parent)->field, __VA_ARGS__)
void nn_add_child(Module *parent, void **field, void *child, const char *name, ...) AG_PRINTF(4, 5);

/* A new tensor of zeros in *field, a member of the parent's struct, under a name that printf writes. The next four macros call
 * it. `trained`: the tensor requires a gradient. `saved`: it is in the module's files. */
Tensor *nn_add_tensor(Module *parent, Tensor **field, AgShape shape, AgDType dtype, bool trained, bool saved, const char *name,
                      ...) AG_PRINTF(7, 8);

/* `parent->field` = a new parameter of that shape: zeros, requires a gradient. */
#define nn_param(parent, field, shape) nn_param_named(parent, field, shape, "%s", #field)
/* The same under a name that printf writes, for an array: nn_param_named(net, w[i], SHAPE(8, 8), "w%d", i). */
#define nn_param_named(parent, field, shape, ...) \
    nn_add_tensor(&(parent)->module, &(parent)->field, shape, AG_REAL, true, true, __VA_ARGS__)

/* A tensor without a gradient: saved with the weights, not trained (position tables). */
#define nn_buffer(parent, field, shape) nn_buffer_with(parent, field, shape, AG_REAL, true)
/* A buffer of any type (AG_INT, AG_BOOL). If not `saved`, it is not in the module's files: what the constructor computes. */
#define nn_buffer_with(parent, field, shape, dtype, saved) \
    nn_add_tensor(&(parent)->module, &(parent)->field, shape, dtype, false, saved, "%s", #field)

/* Ties weights: `parent->field` becomes the same parameter as `tensor` of the same module tree. This parameter is trained,
 * counted, freed and saved once, under its first name. If the field already has a tensor, it must have the same shape; it is
 * freed, and fields that were tied to it are tied to `tensor`. */
#define nn_tie(parent, field, tensor)   nn_tie_named(&(parent)->module, #field, &(parent)->field, tensor)
void nn_tie_named(Module *parent, const char *name, Tensor **field, Tensor *tensor);

/* A list of modules as a module: n children named "0", "1", ... */
typedef struct { Module module; int n; } ModuleList;
ModuleList *nn_list_new(void);
void nn_list_add(ModuleList *list, void *child);
void *nn_list_item(const ModuleList *list, int i);
/* Item i as a pointer to Type. */
#define nn_item(Type, list, i) ((Type *)nn_list_item(list, i))

/* A copy with parameters of its own (the same values, modes and ties). Other members of the struct, numbers and pointers, are
 * copied as they are. */
void *nn_clone(const void *module);

/* Training mode, in which dropout is active, or evaluation mode: for the module and all its descendants. */
void nn_set_training(void *module, bool training);
#define nn_train(module) nn_set_training(module, true)
#define nn_eval(module)  nn_set_training(module, false)

/* Removes the gradients of all parameters. nn_optimizer_step does so, too. */
void nn_zero_grad(void *module);

/* The parameters and buffers of a module's tree by dotted name, in order of registration; tied ones once, under their first
 * name. `trained`: the tensor requires a gradient; tensor_set_requires_grad(t, false) freezes a parameter. The list is valid
 * until the module changes; free it with ag_free. */
typedef struct { char *name; Tensor *tensor; bool trained; Module *owner; } NnNamedTensor;
typedef struct { NnNamedTensor *item; int n; } NnParameters;
NnParameters *nn_parameters(void *module);

/* The tensor of that name ("fc1.weight"), or NULL. */
Tensor *nn_find(void *module, const char *name);

/* ag_pack_weight for all matrices, tables of embeddings too, or if not `packed`, ag_unpack_weight. lm_generate does so while it
 * runs, if products are in bfloat16. */
void nn_pack_weights(void *module, bool packed);

/* ag_freeze_bf16 for the weights of all Linears and Embeddings of which a row has an even size; adapters (lora.h) stay as they
 * are. The other parameters are frozen in reals. So a model takes two bytes a number, and its products need AG_BF16. */
void nn_freeze_bf16(void *module);

/* The number of trainable numbers, tied ones counted once. */
int64_t nn_count(void *module);

/* Prints a table: module tree, parameter shapes and counts; below it the bytes of all values. */
void nn_summary(void *module, FILE *out);

/* ---- initialization: in place, on one tensor; random values come from this thread's generator --------------------
 * Constants and random values without fans are written by ag_fill, ag_fill_uniform and ag_fill_normal. */

/* Xavier and Kaiming need two dimensions or more: fan_in is the product of all sizes but the first, fan_out of all but the
 * second. The a of Kaiming is the negative slope of a leaky ReLU, 0 for ReLU. */
void nn_init_xavier_uniform(Tensor *w, double gain);    /* +-gain sqrt(6/(fan_in+fan_out)): Glorot 2010 */
void nn_init_xavier_normal(Tensor *w, double gain);     /* deviation gain sqrt(2/(fan_in+fan_out)) */
void nn_init_kaiming_uniform(Tensor *w, double a);      /* +-sqrt(6/((1+a^2) fan_in)): He 2015 */
void nn_init_kaiming_normal(Tensor *w, double a);       /* deviation sqrt(2/((1+a^2) fan_in)) */

/* ---- optimizers -------------------------------------------------------------------------------------------------- */

/* Groups of parameters, each with a learning-rate factor and a weight decay of its own, and the state of each parameter.
 * Free it with ag_free, before or after the module. */
typedef struct Optimizer Optimizer;
typedef struct NnParallel NnParallel;  /* see parallel.h */

/* PyTorch's defaults: betas 0.9 and 0.999, eps 1e-8; Adam without weight decay, AdamW with decoupled weight decay 0.01. */
#define nn_adam_options(lr)  (AG_VALUE(AgAdam){ (lr), 0.9, 0.999, 1e-8, 0.0, false })
#define nn_adamw_options(lr) (AG_VALUE(AgAdam){ (lr), 0.9, 0.999, 1e-8, 0.01, true })
Optimizer *nn_adam_new_with(void *module, AgAdam options);
Optimizer *nn_sgd_new_with(void *module, AgSgd options);
#define nn_adam_new(module, lr)      nn_adam_new_with(module, nn_adam_options(lr))
#define nn_adamw_new(module, lr)     nn_adam_new_with(module, nn_adamw_options(lr))
#define nn_sgd_new(module, lr)       nn_sgd_new_with(module, (AG_VALUE(AgSgd){ (lr), 0.0, 0.0, false }))

/* w = w - lr g / (sqrt(v) + eps) with v = alpha v + (1 - alpha) g^2 (Hinton 2012). PyTorch's defaults: alpha 0.99, eps 1e-8. */
typedef struct { double lr, alpha, eps, weight_decay; } NnRMSprop;
Optimizer *nn_rmsprop_new_with(void *module, NnRMSprop options);
#define nn_rmsprop_new(module, lr)   nn_rmsprop_new_with(module, (AG_VALUE(NnRMSprop){ (lr), 0.99, 1e-8, 0.0 }))

/* Moves the parameters for which belongs(p, arg) is true to a new group with another weight decay and learning-rate factor
 * (GPT: decay on matrices only). At first all parameters are in one group. Returns how many moved. */
int nn_optimizer_group(Optimizer *o, bool (*belongs)(const NnNamedTensor *p, void *arg), void *arg, double weight_decay,
                       double lr_factor);
bool nn_is_not_matrix(const NnNamedTensor *p, void *unused);       /* less than two dimensions */

/* A usage error, in the name of function `what`, unless the optimizer was made for this module or for a part of it. */
void nn_optimizer_check(const char *what, const Optimizer *o, const void *module);

/* Updates every parameter that has a gradient, and removes the gradients. It is a usage error if no parameter has one, or if a
 * parameter that has one was registered, tied or unfrozen, or a field replaced, after the optimizer was made. */
void nn_optimizer_step(Optimizer *o);
/* The same with every gradient multiplied by grad_scale: 1/n for the mean if the loss is a sum over n items. */
void nn_optimizer_step_scaled(Optimizer *o, double grad_scale);

/* The learning rate, which a schedule sets before each step, and the number of steps taken. */
double nn_optimizer_lr(const Optimizer *o);
void nn_optimizer_set_lr(Optimizer *o, double lr);
int64_t nn_optimizer_steps(const Optimizer *o);

/* Scales all gradients so that their global 2-norm is at most max_norm; 0 or infinity: no limit. Returns the norm before
 * scaling. Where it is not finite, the gradients are those of PyTorch: an infinite norm makes finite ones 0 and infinite ones
 * NaN, and a norm of NaN makes all NaN. It is a usage error if no parameter has a gradient. */
double nn_clip_grad_norm(void *module, double max_norm);
#define nn_grad_norm(module) nn_clip_grad_norm(module, __builtin_inf())     /* the norm alone */

/* Moves the trained parameters of `average`, a nn_clone of the module, towards the module's by the part 1 - decay, after each
 * step; buffers and frozen parameters are copied. Other shapes are a usage error, and nothing has changed. */
void nn_ema_update(void *average, void *module, double decay);

/* An optimizer of your own: the update of one parameter. Groups, learning rates, steps, gradients and checkpoints work as with
 * the optimizers above.
 *
 *     static void sign_update(const OptimizerUpdate *u)                   // w = w - lr sign(gradient)
 *     {
 *         Tensor *g = u->gradient;
 *         tensor_copy(u->parameter->tensor, ag_sub(u->parameter->tensor, ag_scale(ag_sign(g), u->lr)));
 *     }
 *     static const OptimizerKind sign = { .name = "sign", .update = sign_update };
 *     Optimizer *o = nn_optimizer_new(net, &sign, NULL, 0, 1e-3, 0);
 */
typedef struct {
    const NnNamedTensor *parameter;
    Tensor *gradient;
    int64_t first, count;       /* the items to update: all, or this process's part if the kind is by_item */
    Tensor *const *state;       /* the state tensors of these items: zeros at first, written by tensor_copy. They have the
                                   parameter's shape if all items are updated, else (count) */
    double lr, weight_decay;    /* of its group; lr is the optimizer's times the group's factor */
    double grad_scale;          /* what the gradient is to be multiplied by; 1 in nn_optimizer_step */
    int64_t step;               /* the number of this update of the parameter, from 1 */
    const void *options;
} OptimizerUpdate;
#define NN_STATES 4
typedef struct {
    const char *name;                           /* of the kind, in checkpoints: one that loads must have the same */
    const char *state[NN_STATES];               /* names of state tensors, in checkpoints; NULL after the last */
    int (*states)(const NnNamedTensor *p);      /* how many of them this parameter has; NULL: all */
    /* Called for each parameter that has a gradient, in a scope of its own without recording. The gradient is removed after. */
    void (*update)(const OptimizerUpdate *u);
    bool by_item;               /* an item's update depends on that item alone: processes may share a parameter (parallel.h) */
} OptimizerKind;
/* `kind` must stay valid. The options, any struct of `size` bytes, are copied; NULL and 0: none. */
Optimizer *nn_optimizer_new(void *module, const OptimizerKind *kind, const void *options, size_t size, double lr,
                            double weight_decay);

/* ---- schedules: the learning rate as a pure function of the step --------------------------------------------------
 * Steps count from 1, as in lm_train and OptimizerUpdate: set the rate of step n before the n-th nn_optimizer_step. Step 0 of a
 * warmup has the rate 0. The notebook of the Annotated Transformer counts from 0, and transformer_run_epoch with it
 * (training.h). */

/* Linear from 0 to lr over `warmup` steps, then half a cosine down to lr_min at step `total`, then lr_min. The
 * warmup is part of the total. */
double nn_schedule_cosine(int64_t step, double lr, double lr_min, int64_t warmup, int64_t total);

/* The same with a straight line in place of the cosine. */
double nn_schedule_linear(int64_t step, double lr, double lr_min, int64_t warmup, int64_t total);

/* lr, times `factor` after each `every` steps: PyTorch's StepLR. */
double nn_schedule_step(int64_t step, double lr, double factor, int64_t every);

/* lr = factor * width^-0.5 * min(step^-0.5, step * warmup^-1.5), Vaswani et al. 2017, 5.3; step 0 counts as 1. */
double nn_schedule_noam(int64_t step, int64_t width, double factor, int64_t warmup);

/* ---- files ---------------------------------------------------------------------------------------------------------
 * Checkpoints are safetensors files with the weights by name, so that other libraries can open them. The state of an optimizer
 * has names that begin with "optimizer."; step, random state and settings are in the metadata. Saving writes a temporary file
 * in the same folder and renames it, so after a kill at any moment the path has the old file or the new one. A path that ends
 * in .npz, .npy, .pt, .pth or .json is refused. A function that fails returns false with ag_error() and changes neither the
 * file nor the model.
 *
 * "kaeru.hash" of the metadata has a hash of 64 bits of the header, and one of each tensor's values. A file with a damaged
 * header is refused when it is opened, one with damaged values by each function that reads all values of the tensor, or the
 * first ones of it (of several processes that read a part each, one does); values that nobody asks for are not read. The hashes
 * show damage by a disk or a copy, not that somebody has changed the file on purpose. Files of other programs, and of earlier
 * versions, have none and are read as they are. A program that changes such a file must leave out this key. nn_load takes about
 * a twentieth more time by it.
 *
 * Reals are written as F32 (in libkaeru_double: F64), ints as I32, bools as BOOL, AG_PACKED as BF16: nothing is lost. Loading
 * takes any type of numbers by the rules of tensor_file_read: F16 and BF16 exactly, F64 rounded, and what does not fit is
 * refused. */

/* Settings of a model or a run: texts by name, in order. Free them with ag_free. */
typedef struct NnSettings NnSettings;
NnSettings *nn_settings_new(void);
void nn_settings_set(NnSettings *s, const char *key, const char *format, ...) AG_PRINTF(3, 4);
const char *nn_settings_get(const NnSettings *s, const char *key); /* NULL if absent */
/* A setting as an integer or a real number; false with ag_error() if absent or malformed. */
bool nn_settings_int(const NnSettings *s, const char *key, int64_t *value);
bool nn_settings_real(const NnSettings *s, const char *key, double *value);

/* Weights only: parameters and buffers. nn_load takes any file that tensor_file_open opens, also the index of a model in
 * several files. */
bool nn_save(const char *path, void *module) AG_MUST_CHECK;
bool nn_load(const char *path, void *module) AG_MUST_CHECK;
/* The same with reals rounded to bfloat16, as BF16: half of the size. */
bool nn_save_bf16(const char *path, void *module) AG_MUST_CHECK;

/* What a file and a module do not have in common: missing tensors by the module's names, unexpected ones by the file's. */
typedef struct { const char **missing, **unexpected; int n_missing, n_unexpected; } NnLoadReport;
/* Zeros: as nn_load. */
typedef struct {
    const char *prefix;         /* only the file's tensors with this prefix: "backbone." loads a part of a larger model */
    /* Writes into `out` the file's name, without the prefix, of the module's tensor `name`, which is in `out` at first. */
    void (*rename)(void *arg, const char *name, char *out, size_t size);
    /* Whether the file has the module's matrix of that name transposed, as a Conv1D of Hugging Face's library: (in, out). */
    bool (*transposed)(void *arg, const char *name);
    void *arg;                  /* the first argument of rename, transposed, ignored and progress */
    bool allow_missing;         /* tensors of the module that the file does not have keep their values */
    bool allow_unexpected;      /* tensors of the file that the module does not have are ignored */
    bool (*ignored)(void *arg, const char *name);   /* or only those whose names in the file it accepts; NULL: none */
    bool in_place;              /* least memory and time: values are read where they belong. A failure leaves some changed */
    bool round;                 /* values of other types than BF16 are rounded for matrices of type AG_PACKED, not refused */
    void (*progress)(void *arg, double share);      /* NULL, or told the share of the tensors that were read */
    NnLoadReport **report;      /* gets the names, if the file could be opened; free it with ag_free. NULL: not needed */
} NnLoadOptions;
/* nn_load with options. If the file has a part of the model: nn_load_with(path, model->backbone, ...). */
bool nn_load_with(const char *path, void *module, NnLoadOptions options) AG_MUST_CHECK;

/* What changes during a run, so that it can resume exactly: the weights and buffers; of the optimizer (may be NULL) the state
 * and the numbers of steps; the random state of this thread; settings (may be NULL).
 *
 * Not in the file: the optimizer's learning rate, its options (betas, eps, momentum, weight decay) and its groups. The program
 * that loads makes the optimizer with the same options and groups, and sets the learning rate (nn_optimizer_set_lr). The kind
 * of the optimizer and the shapes of its state are checked; other options are no error. Keep what the program does not know in
 * the settings.
 *
 * Loading restores this thread's random state and adds the file's settings to `settings`. */
bool nn_checkpoint_save(const char *path, void *module, Optimizer *o, const NnSettings *settings) AG_MUST_CHECK;
bool nn_checkpoint_load(const char *path, void *module, Optimizer *o, NnSettings *settings) AG_MUST_CHECK;
/* A checkpoint without the frozen parameters: for adapters (lora.h), megabytes. A module that loads it must have them: put
 * their hash (tensor_hash) into the settings to tell, as lm_train does. */
bool nn_checkpoint_save_trained(const char *path, void *module, Optimizer *o, const NnSettings *settings) AG_MUST_CHECK;

/* Only the settings: to build a model of the right size before loading it. */
bool nn_checkpoint_settings(const char *path, NnSettings *settings) AG_MUST_CHECK;

/* Sets the model's reals to their mean in n files. False with ag_error() if a file cannot be loaded, or for AG_PACKED. */
bool nn_average_checkpoints(void *model, const char *const *paths, int n) AG_MUST_CHECK;

#include "kaeru/calls/module.h"

AG_PUBLIC_END
#endif
