/* module.h: modules, which are structs with named parameters and parts. Layers are in nn.h.
 *
 * A module is a struct whose first member is a Module. It registers its parts by name: parameters
 * and other modules.
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
 * Because of this registration, the parameter list ("fc1.weight"), nn_train and nn_eval, the
 * summary, clone, free and files need no code of yours. A part that is assigned to its field
 * without nn_child or nn_param is not registered: it is not trained, saved, cloned or freed. No
 * scope owns a module: it and its parameters live until ag_free. A field must not point to a tensor
 * of a scope that ends earlier.
 *
 * A forward function is an ordinary function with any arguments. NN_LAYER checks the module, and
 * messages then name the layer. A layer that is to be an item of a Sequential has one input, and
 * its constructor sets module.forward: see NN_FORWARD. */
#ifndef KAERU_MODULE_H
#define KAERU_MODULE_H

#ifdef __cplusplus
#include <type_traits>
#endif

#include "kaeru/tensor.h"

AG_PUBLIC_BEGIN

/* ---- modules --------------------------------------------------------------------------------- */

/* The first member of every module. */
typedef struct Module Module;
struct Module {
    unsigned magic;             /* tells a module from other memory, and whether it was freed */
    const char *type;           /* the name of the struct */
    size_t size;                /* the size of the whole struct */
    struct NnModuleSlot *slots; /* the registered parts, in order */
    int n_slots, capacity;
    Module *parent;             /* the module that contains this one, or NULL */
    int index;                  /* the number of its slot in the parent */
    bool training;              /* true at first; nn_train and nn_eval set it, also in all parts */
    /* The forward function of a layer with one input, for Sequential and nn_recompute, or NULL. The
     * constructor sets it. */
    Tensor *(*forward)(void *self, Tensor *x);
    /* Called before the module and its parts are freed, to close a file or the like, or NULL.
     * nn_clone does not copy a module that has it. Memory does not need it: what
     * ag_alloc_in(module, ...) returns is freed with the module. */
    void (*destroy)(void *self);
};

/* Returns a new zeroed struct of that type, which must start with `Module module`. The caller owns
 * it. ag_free frees it with its parts. It is a usage error to free a module that is part of another
 * one, which frees it. */
#ifdef __cplusplus
#define nn_new(Type) ((Type *)nn_new_sized(NnModule<Type, offsetof(Type, module)>::size, #Type))
extern "C++" {
template <class Type, size_t offset> struct NnModule {
    static_assert(offset == 0, "the first member of a module is `Module module`");
    static_assert(std::is_trivially_copyable<Type>::value &&
                      std::is_trivially_default_constructible<Type>::value,
                  "a module is a plain struct: it is zeroed, copied and freed without "
                  "constructors");
    static const size_t size = sizeof(Type);
};
}
#else
#define nn_new(Type) \
    ((Type *)nn_new_sized(sizeof(Type) + (size_t)AG_ASSERT(offsetof(Type, module) == 0, \
        "nn_new: the first member of a module is `Module module`"), #Type))
#endif
/* Returns a new zeroed module of `size` bytes, whose type has that name: nn_new calls it. */
Module *nn_new_sized(size_t size, const char *type);

/* Checks that this is a module that was not freed. If not, it is a usage error in the name of
 * function `what`. `size` is that of the struct, which tells most types apart; 0 or sizeof(Module):
 * any type. */
void nn_check(const char *what, const void *module, size_t size);
/* Checks the same, and that the module was made as this type. A ModuleList may be a Sequential, and
 * the other way. */
void nn_check_type(const char *what, const void *module, size_t size, const char *type);
/* The first line of a layer's function: checks the module, and notes the layer until the function
 * returns. Messages then name the line inside the layer and the layer: "(in nn_linear called at
 * net.c:23, in bottleneck)". docs/extending.md has an example. */
#define NN_LAYER(module) \
    __attribute__((cleanup(ag_layer_end), unused)) \
    const int ag_layer = (nn_check(__func__, module, sizeof *(module)), \
                          ag_layer_begin(__func__, AG_OF_PROGRAM))

/* The same, but also checks the name of the type, since another type may have a struct of the same
 * size. `type` is the name that nn_new got, as text. */
#define NN_LAYER_OF(module, type) \
    __attribute__((cleanup(ag_layer_end), unused)) \
    const int ag_layer = (nn_check_type(__func__, module, sizeof *(module), type), \
                          ag_layer_begin(__func__, AG_OF_PROGRAM))

/* Defines f_forward (for nn_linear: nn_linear_forward), which a constructor sets as module.forward.
 * It calls f, the forward function of the type. The prototype of f comes before. */
#define NN_FORWARD(Type, f) \
    static Tensor *f##_forward(void *self, Tensor *x) \
    { \
        return f((Type *)self, x); \
    }

/* Sets parent->field to the child, and registers it under the name of the field. The parent owns
 * the child from now on. A module can be the child of one parent only; share parameters with
 * nn_tie. Names have up to 47 characters and no dot or bracket, and are unique in their module. */
#define nn_child(parent, field, child) nn_child_named(parent, field, child, "%s", #field)
/* The same under a name that printf writes, for an array: nn_child_named(net, l[i],
 * nn_linear_new(8, 8), "l%d", i). */
#define nn_child_named(parent, field, child, ...) \
    nn_add_child(&(parent)->module, (void **)&(parent)->field, \
                 NN_CHILD_OF((parent)->field, child), __VA_ARGS__)
#ifdef __cplusplus
#define NN_CHILD_OF(field, child) (1 ? (child) : (field))
#else
#define NN_CHILD_OF(field, child) \
    ((void)AG_ASSERT(NN_IS_OF(field, child) || NN_IS_OF(void *, child) || NN_IS_OF(void *, field), \
        "nn_child: the module is of another type than the field"), (child))
#define NN_IS_OF(field, child) __builtin_types_compatible_p(__typeof__(field), __typeof__(child))
#endif
void nn_add_child(Module *parent, void **field, void *child, const char *name, ...) AG_PRINTF(4, 5);

/* Sets *field, a member of the struct of the parent, to a new tensor of zeros, registers it under a
 * name that printf writes, and returns it. `trained` tells whether the tensor requires a gradient,
 * `saved` whether it is in the files of the module. The next four macros call this function. */
Tensor *nn_add_tensor(Module *parent, Tensor **field, AgShape shape, AgDType dtype, bool trained,
                      bool saved, const char *name, ...) AG_PRINTF(7, 8);

/* Sets parent->field to a new parameter of that shape, and returns it. It is filled with zeros and
 * requires a gradient. */
#define nn_param(parent, field, shape) nn_param_named(parent, field, shape, "%s", #field)
/* The same under a name that printf writes, for an array: nn_param_named(net, w[i], SHAPE(8, 8),
 * "w%d", i). */
#define nn_param_named(parent, field, shape, ...) \
    nn_add_tensor(&(parent)->module, &(parent)->field, shape, AG_REAL, true, true, __VA_ARGS__)

/* Sets parent->field to a new buffer of that shape, and returns it. A buffer is a tensor that is
 * saved with the weights, but not trained: a table of positions. */
#define nn_buffer(parent, field, shape) nn_buffer_with(parent, field, shape, AG_REAL, true)
/* The same for a buffer of any type (AG_INT, AG_BOOL). If not `saved`, it is not in the files of
 * the module: the constructor computes it again. */
#define nn_buffer_with(parent, field, shape, dtype, saved) \
    nn_add_tensor(&(parent)->module, &(parent)->field, shape, dtype, false, saved, "%s", #field)

/* Ties weights: parent->field becomes the same parameter as `tensor` of the same module tree. This
 * parameter is trained, counted, freed and saved once, under its first name. If the field already
 * has a tensor, it must have the same shape; it is freed, and fields that were tied to it are tied
 * to `tensor`. */
#define nn_tie(parent, field, tensor) \
    nn_tie_named(&(parent)->module, #field, &(parent)->field, tensor)
void nn_tie_named(Module *parent, const char *name, Tensor **field, Tensor *tensor);

/* A list of modules as a module: n children named "0", "1", ... */
typedef struct { Module module; int n; } ModuleList;
ModuleList *nn_list_new(void);
void nn_list_add(ModuleList *list, void *child);
void *nn_list_item(const ModuleList *list, int i);
/* Item i as a pointer to Type. */
#define nn_item(Type, list, i) ((Type *)nn_list_item(list, i))

/* Sets training mode, in which dropout is active, or evaluation mode: for the module and all its
 * parts. */
void nn_set_training(void *module, bool training);
#define nn_train(module) nn_set_training(module, true)
#define nn_eval(module)  nn_set_training(module, false)

/* Removes the gradients of all parameters. nn_optimizer_step does so, too. */
void nn_zero_grad(void *module);

/* Returns the parameters and buffers of a module's tree with their dotted names, in order of
 * registration. A tied one is in the list once, under its first name. `trained` tells whether the
 * tensor requires a gradient; tensor_set_requires_grad(t, false) freezes a parameter. The list is
 * valid until the module changes; free it with ag_free. */
typedef struct { char *name; Tensor *tensor; bool trained; Module *owner; } NnNamedTensor;
typedef struct { NnNamedTensor *item; int n; } NnParameters;
NnParameters *nn_parameters(void *module);

/* Returns the tensor of that name ("fc1.weight"), or NULL. */
Tensor *nn_find(void *module, const char *name);

/* Returns the number of trained numbers; tied ones count once. */
int64_t nn_count(void *module);

#include "kaeru/calls/module.h"

AG_PUBLIC_END

#ifndef KAERU_INSIDE                    /* in earlier versions, this header had these, too */
#include "kaeru/checkpoint.h"
#include "kaeru/clone.h"
#include "kaeru/frozen.h"
#include "kaeru/init.h"
#include "kaeru/more_optim.h"
#include "kaeru/optim.h"
#include "kaeru/schedule.h"
#include "kaeru/settings.h"
#include "kaeru/summary.h"
#endif

#endif
