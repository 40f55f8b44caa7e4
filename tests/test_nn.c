/* test_nn.c: modules (names, ties, clones, lifetimes) and layers (values computed by hand, modes, messages). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expected.h"
#include "faults.h"
#include "decoding.h"
#include "kaeru/nn.h"
#include "walk.h"
#include "suites.h"
#include "usage_error.h"

/* ---- models to test on ------------------------------------------------------------------------------------------- */

typedef struct { Module module; Linear *fc1, *fc2; Tensor *scale, *table; } Net;

static Net *net_new(void)
{
    Net *net = nn_new(Net);
    nn_child(net, fc1, nn_linear_new(2, 3));
    nn_child(net, fc2, nn_linear_new_no_bias(3, 2));
    nn_param(net, scale, SHAPE(2));
    nn_buffer(net, table, SHAPE(4, 2));
    return net;
}

/* A small language model: the last layer shares the table of the first. */
typedef struct { Module module; Embedding *embed; ModuleList *blocks; Linear *head; } Tied;

static Tied *tied_new(int blocks)
{
    Tied *m = nn_new(Tied);
    nn_child(m, embed, nn_embedding_new(5, 3));
    nn_child(m, blocks, nn_list_new());
    for (int i = 0; i < blocks; i++) nn_list_add(m->blocks, nn_linear_new(3, 3));
    nn_child(m, head, nn_linear_new_no_bias(3, 5));
    nn_tie(m->head, weight, m->embed->weight);
    return m;
}

static Tensor *tied(Tied *m, Tensor *ids)
{
    Tensor *x = nn_embedding(m->embed, ids);
    for (int i = 0; i < m->blocks->n; i++) x = ag_tanh(nn_linear(nn_item(Linear, m->blocks, i), x));
    return nn_linear(m->head, x);
}

static void check_names(void *module, int n, const char *const *names)
{
    NnParameters *p = nn_parameters(module);
    ck_assert_int_eq(p->n, n);
    for (int i = 0; i < n; i++) {
        ck_assert_str_eq(p->item[i].name, names[i]);
        ck_assert_ptr_eq(nn_find(module, names[i]), p->item[i].tensor);
    }
    ag_free(p);
}

static void check_values(const Tensor *t, int n, const double *expected, double tolerance)
{
    ck_assert_int_eq(tensor_numel(t), n);
    for (int i = 0; i < n; i++) {
        double found = (double)tensor_data(t)[i];
        ck_assert_msg(fabs(found - expected[i]) <= tolerance, "entry %d is %.9g, expected %.9g", i, found, expected[i]);
    }
}
#define CHECK_VALUES(t, tolerance, ...) \
    check_values(t, (int)(sizeof((double[]){ __VA_ARGS__ }) / sizeof(double)), (double[]){ __VA_ARGS__ }, tolerance)

static void set_values(Tensor *t, const double *values)
{
    for (int64_t i = 0; i < tensor_numel(t); i++) tensor_mutable_data(t)[i] = (ag_real)values[i];
}
#define SET_VALUES(t, ...) set_values(t, (double[]){ __VA_ARGS__ })

/* ---- modules ----------------------------------------------------------------------------------------------------- */

START_TEST(parameters_have_dotted_names_in_order)
{
    Net *net = net_new();
    check_names(net, 5, (const char *[]){ "fc1.weight", "fc1.bias", "fc2.weight", "scale", "table" });
    ck_assert_int_eq(nn_count(net), 2 * 3 + 3 + 3 * 2 + 2);
    ck_assert_ptr_eq(nn_find(net, "fc1.weight"), net->fc1->weight);
    ck_assert_ptr_null(net->fc2->bias);
    const char *absent[] = { "", "fc1", "fc1.", ".fc1", "fc1.weights", "fc1.weight.x", "fc", "fc1.bias ", "fc2.bias" };
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) ck_assert_ptr_null(nn_find(net, absent[i]));

    NnParameters *p = nn_parameters(net);
    ck_assert(p->item[0].trained && p->item[0].owner == &net->fc1->module);
    ck_assert(!p->item[4].trained && p->item[4].owner == &net->module);
    ag_free(p);

    tensor_set_requires_grad(net->fc1->weight, false);
    ck_assert_int_eq(nn_count(net), 3 + 3 * 2 + 2);
    ag_free(net);
    ag_free(NULL);
}
END_TEST

START_TEST(tensors_carry_their_full_names)
{
    Tied *m = tied_new(2);
    ck_assert_str_eq(tensor_get_name(nn_item(Linear, m->blocks, 1)->bias), "blocks.1.bias");
    ck_assert_str_eq(tensor_get_name(m->head->weight), "embed.weight");
    ag_free(m);
    Linear *alone = nn_linear_new(1, 1);
    ck_assert_str_eq(tensor_get_name(alone->weight), "weight");
    ag_free(alone);
}
END_TEST

START_TEST(a_list_numbers_its_items)
{
    ModuleList *list = nn_list_new();
    for (int i = 0; i < 11; i++) nn_list_add(list, nn_linear_new_no_bias(1, i + 1));
    ck_assert_int_eq(list->n, 11);
    for (int i = 0; i < 11; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d.weight", i);
        ck_assert_ptr_eq(nn_find(list, name), nn_item(Linear, list, i)->weight);
        ck_assert_int_eq(tensor_dim(nn_item(Linear, list, i)->weight, 0), i + 1);
    }
    EXPECT_USAGE_ERROR("nn_list_item: item 11 of a list of 11", (void)nn_item(Linear, list, 11));
    EXPECT_USAGE_ERROR("nn_list_item: item -1 of a list of 11", (void)nn_item(Linear, list, -1));
    ag_free(list);
}
END_TEST

START_TEST(modes_are_set_in_all_children)
{
    Tied *m = tied_new(2);
    ck_assert(m->module.training && nn_item(Linear, m->blocks, 1)->module.training);
    nn_eval(m);
    ck_assert(!m->module.training && !m->head->module.training && !nn_item(Linear, m->blocks, 1)->module.training);
    nn_train(m->blocks);
    ck_assert(!m->module.training && nn_item(Linear, m->blocks, 0)->module.training);
    ag_free(m);
}
END_TEST

/* ---- ties -------------------------------------------------------------------------------------------------------- */

START_TEST(tied_weights_are_one_parameter)
{
    Tied *m = tied_new(1);
    ck_assert_ptr_eq(m->head->weight, m->embed->weight);
    check_names(m, 3, (const char *[]){ "embed.weight", "blocks.0.weight", "blocks.0.bias" });
    ck_assert_ptr_eq(nn_find(m, "head.weight"), m->embed->weight);
    ck_assert_int_eq(nn_count(m), 5 * 3 + 3 * 3 + 3);
    ck_assert_int_eq(nn_count(m->head), 5 * 3);     /* the part alone has it, too */
    nn_tie(m->head, weight, m->embed->weight);      /* a second tie changes nothing */
    ck_assert_int_eq(nn_count(m), 5 * 3 + 3 * 3 + 3);

    /* the gradient is the sum over both uses: y = W w_0, and w_0 is a row of W */
    AgScope s = ag_begin(AG_RECORD);
    Tensor *w = m->embed->weight;
    Tensor *y = ag_linear(nn_embedding(m->embed, tensor_ints(SHAPE(1), (int32_t[]){ 0 })), m->head->weight, NULL);
    ag_backward(ag_sum(y));
    const ag_real *v = tensor_data(w), *g = tensor_grad_data(w);
    for (int k = 0; k < 3; k++) {
        double column = 0;
        for (int row = 0; row < 5; row++) column += (double)v[row * 3 + k];
        ck_assert_double_eq_tol((double)g[k], (double)v[k] + column, 1e-5);
        for (int row = 1; row < 5; row++) ck_assert_double_eq_tol((double)g[row * 3 + k], (double)v[k], 1e-6);
    }
    nn_zero_grad(m);
    ck_assert_ptr_null(tensor_grad_data(w));
    ag_end(s);
    ag_free(m);
}
END_TEST

typedef struct { Module module; Linear *a, *b, *c; Tensor *extra; } Three;

static Three *three_new(void)
{
    Three *m = nn_new(Three);
    nn_child(m, a, nn_linear_new_no_bias(2, 2));
    nn_child(m, b, nn_linear_new_no_bias(2, 2));
    nn_child(m, c, nn_linear_new_no_bias(2, 2));
    return m;
}

START_TEST(ties_in_any_order_share_and_free_once)
{
    ag_guard(false);
    ag_free(three_new());                           /* allocates what a program allocates only once */
    ag_memory_trim();
    int64_t before = faults_live();
    for (int order = 0; order < 4; order++) {
        Three *m = three_new();
        Tensor *expected = order == 0 ? m->a->weight : m->c->weight;
        switch (order) {
        case 0:
            nn_tie(m->b, weight, m->a->weight);
            nn_tie(m->c, weight, m->b->weight);
            break;
        case 1:                                     /* a is tied to c, and b to a */
            nn_tie(m->a, weight, m->c->weight);
            nn_tie(m->b, weight, m->a->weight);
            break;
        case 2:                                     /* a, tied to b, is then tied to c with b */
            nn_tie(m->a, weight, m->b->weight);
            nn_tie(m->b, weight, m->c->weight);
            break;
        case 3:
            nn_tie(m->b, weight, m->a->weight);
            nn_tie(m->a, weight, m->c->weight);
            break;
        }
        ck_assert_ptr_eq(m->a->weight, expected);
        ck_assert_ptr_eq(m->b->weight, expected);
        ck_assert_ptr_eq(m->c->weight, expected);
        nn_tie(m, extra, m->c->weight);             /* a field without a tensor */
        ck_assert_ptr_eq(m->extra, expected);
        check_names(m, 1, (const char *[]){ "a.weight" });
        ck_assert_int_eq(nn_count(m), 4);

        Three *copy = nn_clone(m);
        ck_assert_ptr_ne(copy->a->weight, expected);
        ck_assert(copy->b->weight == copy->a->weight && copy->c->weight == copy->a->weight);
        ck_assert_ptr_eq(copy->extra, copy->a->weight);
        ag_free(m);
        ck_assert_int_eq(nn_count(copy), 4);
        ag_free(copy);
    }
    ag_memory_trim();
    ck_assert_int_eq(faults_live(), before);
}
END_TEST

/* ---- clone ------------------------------------------------------------------------------------------------------- */

START_TEST(a_clone_is_equal_and_independent)
{
    Tied *m = tied_new(3);
    nn_eval(m->blocks);
    tensor_set_requires_grad(nn_item(Linear, m->blocks, 2)->bias, false);
    Tied *copy = nn_clone(m);
    ck_assert(copy->module.training && !nn_item(Linear, copy->blocks, 1)->module.training);
    ck_assert_int_eq(nn_count(copy), nn_count(m));
    ck_assert_str_eq(tensor_get_name(nn_item(Linear, copy->blocks, 1)->bias), "blocks.1.bias");

    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *ids = tensor_ints(SHAPE(4), (int32_t[]){ 0, 4, 2, 2 });
    Tensor *y = tied(m, ids), *z = tied(copy, ids);
    ck_assert_int_eq(memcmp(tensor_data(y), tensor_data(z), 20 * sizeof(ag_real)), 0);

    NnParameters *p = nn_parameters(m), *q = nn_parameters(copy);
    ck_assert_int_eq(p->n, q->n);
    for (int i = 0; i < p->n; i++) {
        ck_assert_str_eq(p->item[i].name, q->item[i].name);
        ck_assert_ptr_ne(p->item[i].tensor, q->item[i].tensor);
        ck_assert(p->item[i].trained == q->item[i].trained);
        ag_fill(q->item[i].tensor, 7);
    }
    ag_free(q);
    ag_free(p);
    Tensor *again = tied(m, ids);
    ck_assert_int_eq(memcmp(tensor_data(y), tensor_data(again), 20 * sizeof(ag_real)), 0);
    ag_free(m);
    ck_assert_double_eq((double)tensor_data(copy->head->weight)[14], 7);
    tied(copy, ids);
    ag_end(s);
    ag_free(copy);
}
END_TEST

START_TEST(a_clone_can_grow)
{
    ModuleList *list = nn_list_new();
    for (int i = 0; i < 5; i++) nn_list_add(list, nn_linear_new_no_bias(1, 1));
    ModuleList *copy = nn_clone(list), *next = nn_clone(list);
    for (int i = 5; i < 8; i++) nn_list_add(copy, nn_linear_new_no_bias(1, 1));
    check_names(copy, 8, (const char *[]){ "0.weight", "1.weight", "2.weight", "3.weight", "4.weight", "5.weight", "6.weight",
                                           "7.weight" });
    ck_assert(nn_count(list) == 5 && nn_count(next) == 5);
    ag_free(list);
    ag_free(copy);
    ag_free(next);
}
END_TEST

START_TEST(a_part_can_be_cloned)
{
    Tied *m = tied_new(1);
    Linear *head = nn_clone(m->head);               /* its weight belongs to another part of the original */
    ck_assert_ptr_ne(head->weight, m->embed->weight);
    ck_assert_ptr_null(head->module.parent);
    ck_assert_ptr_null(head->bias);
    ck_assert_int_eq(memcmp(tensor_data(head->weight), tensor_data(m->embed->weight), 15 * sizeof(ag_real)), 0);
    ag_free(m);
    ck_assert_int_eq(nn_count(head), 15);
    ag_free(head);
}
END_TEST

/* ---- usage errors and lifetimes ---------------------------------------------------------------------------------- */

START_TEST(usage_errors_are_reported)
{
    Net *net = net_new();
    ModuleList *list = nn_list_new();
    Three *three = three_new();
    EXPECT_USAGE_ERROR("nn_add_child: the module for \"fc1\" of Net is NULL", nn_child(net, fc1, NULL));
    EXPECT_USAGE_ERROR("nn_add_child: Net already has a \"fc1\"", nn_child_named(net, fc2, nn_linear_new(1, 1), "fc1"));
    EXPECT_USAGE_ERROR("nn_list_add: this Linear is already in a Net", nn_list_add(list, net->fc2));
    EXPECT_USAGE_ERROR("\"a.b\" cannot be a name in Net", nn_child_named(net, fc2, nn_linear_new(1, 1), "a.b"));
    EXPECT_USAGE_ERROR("\"\" cannot be a name in Net", nn_child_named(net, fc2, nn_linear_new(1, 1), "%s", ""));
    EXPECT_USAGE_ERROR("ag_free: this is a part of a Three, which frees it", ag_free(three->a));
    ck_assert_ptr_eq(nn_find(three, "a.weight"), three->a->weight);
    EXPECT_USAGE_ERROR("a ModuleList cannot hold the ModuleList that contains it", nn_list_add(list, list));
    ModuleList *middle = nn_list_new(), *inner = nn_list_new();
    nn_list_add(list, middle);
    nn_list_add(middle, inner);
    EXPECT_USAGE_ERROR("a ModuleList cannot hold the ModuleList that contains it", nn_list_add(inner, list));
    EXPECT_USAGE_ERROR("\"weight\" of Linear can only be tied to a parameter of the same tree",
                       nn_tie(three->a, weight, net->fc1->weight));
    EXPECT_USAGE_ERROR("\"weight\" of Linear is (3, 2), the tensor to tie it to (2, 3)",
                       nn_tie(net->fc1, weight, net->fc2->weight));
    EXPECT_USAGE_ERROR("nn_add_tensor: Net already has a \"scale\"", nn_param(net, scale, SHAPE(1)));
    EXPECT_USAGE_ERROR("nn_add_tensor: Net already has a part in the field for \"other\"",
                       nn_param_named(net, scale, SHAPE(1), "other"));
    EXPECT_USAGE_ERROR("nn_add_child: Net already has a part in the field for \"other\"",
                       nn_child_named(net, fc1, nn_linear_new(2, 3), "other"));
    Tensor *elsewhere = NULL;
    EXPECT_USAGE_ERROR("the field for \"x\" is not in the struct Net",
                       nn_add_tensor(&net->module, &elsewhere, SHAPE(1), AG_REAL, true, true, "x"));
    EXPECT_USAGE_ERROR("test_nn.c", nn_linear_new(-1, 2));
    EXPECT_USAGE_ERROR("nn_linear_new_with: sizes 0 and 2, expected 1 or more", nn_linear_new(0, 2));
    EXPECT_USAGE_ERROR("nn_linear_new_with: sizes 2 and 0, expected 1 or more", nn_linear_new(2, 0));
    EXPECT_USAGE_ERROR("nn_embedding_new: -5 rows of width 2", nn_embedding_new(-5, 2));
    EXPECT_USAGE_ERROR("nn_layer_norm_new_with: width 0, must be 1 or more", nn_layer_norm_new(0));
    EXPECT_USAGE_ERROR("nn_dropout_new: probability 1, must be in [0, 1)", nn_dropout_new(1.0));
    EXPECT_USAGE_ERROR("nn_dropout_new: probability nan", nn_dropout_new((double)NAN));
    Sequential *row = nn_sequential_new();
    EXPECT_USAGE_ERROR("nn_sequential_add: a Net has no forward with one input", nn_sequential_add(row, net));
    EXPECT_USAGE_ERROR("nn_init_xavier_uniform: needs a tensor of two dimensions or more, this one is (2",
                       nn_init_xavier_uniform(net->scale, 1));
    EXPECT_USAGE_ERROR("77 is not an AgActivation", ag_activate((AgActivation)77, net->scale));
    ag_free(row);
    ag_free(list);
    ag_free(three);
    ag_free(net);
}
END_TEST

/* Modules that are NULL, freed or none: one line with the caller's line, from every function that takes a module. */
START_TEST(modules_that_are_gone_are_reported)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_ones(SHAPE(1, 2)), *ids = tensor_ints(SHAPE(1), NULL);
    REPORTS("nn_linear: the module is NULL", nn_linear(NULL, x));
    REPORTS("nn_linear_activate: the module is NULL", nn_linear_activate(NULL, x, AG_RELU));
    REPORTS("nn_embedding: the module is NULL", nn_embedding(NULL, ids));
    REPORTS("nn_layer_norm: the module is NULL", nn_layer_norm(NULL, x));
    REPORTS("nn_dropout: the module is NULL", nn_dropout(NULL, x));
    REPORTS("nn_sequential: the module is NULL", nn_sequential(NULL, x));
    REPORTS("nn_parameters: the module is NULL", nn_parameters(NULL));
    REPORTS("nn_clone: the module is NULL", nn_clone(NULL));
    REPORTS("nn_set_training: the module is NULL", nn_train(NULL));
    REPORTS("nn_set_training: the module is NULL", nn_eval(NULL));
    REPORTS("nn_zero_grad: the module is NULL", nn_zero_grad(NULL));
    REPORTS("nn_count: the module is NULL", nn_count(NULL));
    REPORTS("nn_find: the module is NULL", nn_find(NULL, "weight"));
    REPORTS("nn_summary: the module is NULL", nn_summary(NULL, stdout));
    REPORTS("nn_clip_grad_norm: the module is NULL", nn_grad_norm(NULL));
    REPORTS("nn_clip_grad_norm: the module is NULL", nn_clip_grad_norm(NULL, 1));
    REPORTS("nn_save: the module is NULL", nn_save("a", NULL));
    REPORTS("nn_load: the module is NULL", nn_load("a", NULL));
    REPORTS("nn_optimizer_new: the module is NULL", nn_adam_new(NULL, 1e-3));
    Linear *l = nn_linear_new(2, 1);
    LayerNorm *norm = nn_layer_norm_new(2);
    REPORTS("nn_linear: this LayerNorm is a module of another type, expected Linear", nn_linear((Linear *)norm, x));
    REPORTS("nn_layer_norm: this Linear is a module of another type, expected LayerNorm", nn_layer_norm((LayerNorm *)l, x));
    ag_free(norm);
    REPORTS("ag_free: this is not memory of ag_alloc; a scope frees its tensors, tensor_free a tensor of ag_keep", ag_free(x));
    REPORTS("nn_save: the path is NULL", nn_save(NULL, l));
    REPORTS("nn_load: the path is NULL", nn_load(NULL, l));
    Tensor *loss = ag_sum(nn_linear(l, x)); const int line = __LINE__;
    ag_free(l);
    REPORTS("nn_linear: this Linear was freed", nn_linear(l, x));
    REPORTS("ag_free: this object was freed already", ag_free(l));
    REPORTS("nn_set_training: this Linear was freed", nn_train(l));
    char text[200];
    snprintf(text, sizeof text, "ag_backward: input 1 of linear (made at tests/test_nn.c:%d) was freed before backward", line);
    REPORTS(text, ag_backward(loss));
    ag_end(s);
    int number = 0;
    REPORTS("nn_set_training: this is not a module; nn_new makes one",
            nn_train((Module *)&(Linear){ .module.n_slots = number }));
}
END_TEST

START_TEST(messages_show_the_line_of_the_model)
{
    Net *net = net_new();
    REPORTS_IN("nn_linear", "ag_linear: x (4, 3) and weight (3, 2) do not fit: expected x (..,in) and weight (out,in)",
               nn_linear(net->fc1, tensor_zeros(SHAPE(4, 3))));
    ag_free(net);
}
END_TEST

/* A module whose second child cannot be made. */
/* ---- adapters of one's own --------------------------------------------------------------------------------------- */

static Linear *adapted_linear(int64_t out, Module *adapter)
{
    Linear *l = nn_linear_new(4, out);
    nn_child(l, adapter, adapter);
    return l;
}

static Tensor *no_result(void *self, Tensor *x)
{
    (void)self, (void)x;
    return NULL;
}

START_TEST(adapters_are_checked)
{
    Linear *wide = adapted_linear(1, &nn_linear_new(4, 6)->module);
    Linear *narrow = adapted_linear(6, &nn_linear_new(4, 1)->module);
    Linear *none = adapted_linear(6, &nn_linear_new(4, 6)->module);
    Linear *empty = adapted_linear(6, &nn_linear_new(4, 6)->module);
    none->adapter->forward = NULL;
    empty->adapter->forward = no_result;
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_ones(SHAPE(5, 4));
    EXPECT_USAGE_ERROR("nn_linear: the adapter, a Linear, gives (5, 6), expected (5, 1)", nn_linear(wide, x));
    EXPECT_USAGE_ERROR("nn_linear: the adapter, a Linear, gives (5, 1), expected (5, 6)", nn_linear(narrow, x));
    EXPECT_USAGE_ERROR("nn_linear: a Linear has no forward with one input", nn_linear(none, x));
    EXPECT_USAGE_ERROR("nn_linear: the result of the adapter is NULL", nn_linear(empty, x));
    ag_end(s);
    ag_free(wide);
    ag_free(narrow);
    ag_free(none);
    ag_free(empty);
}
END_TEST

/* A layer of one's own whose forward function is that of a layer of the library. */
START_TEST(a_forward_of_another_type_is_refused)
{
    typedef struct { Module module; void *first, *second, *third; } Other;
    Sequential *layers = nn_sequential_new();
    nn_sequential_add(layers, nn_linear_new(4, 4));
    nn_sequential_add(layers, nn_embedding_new(4, 4));
    nn_sequential_add(layers, nn_layer_norm_new(4));
    nn_sequential_add(layers, nn_rms_norm_new(4));
    nn_sequential_add(layers, nn_dropout_new(0.5));
    nn_sequential_add(layers, nn_sequential_new());
    nn_sequential_add(layers, nn_positional_encoding_new(4, 0, 8));
    nn_sequential_add(layers, nn_positionwise_feed_forward_new(4, 8, 0, AG_RELU));
    nn_sequential_activation(layers, AG_TANH);
    Other *other = nn_new(Other);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_ones(SHAPE(1, 4, 4));
    for (int i = 0; i < layers->n; i++) {
        other->module.forward = nn_item(Module, layers, i)->forward;
        EXPECT_USAGE_ERROR("this Other is a module of another type", nn_recompute(other, x));
    }
    ag_end(s);
    ag_free(other);
    ag_free(layers);
}
END_TEST

static void broken_new(void)
{
    Net *net = nn_new(Net);
    nn_child(net, fc1, nn_linear_new(2, 3));
    nn_param(net, scale, SHAPE(2));
    nn_child(net, fc2, nn_linear_new(-3, 2));
}

START_TEST(the_scope_frees_a_half_built_module)
{
    ag_guard(false);
    CATCH_USAGE_ERROR(broken_new());                     /* first, so that this thread's buffers exist */
    ag_memory_trim();
    int64_t before = faults_live();
    size_t in_use = ag_memory().in_use;
    EXPECT_USAGE_ERROR("sizes -3 and 2", broken_new());
    ag_memory_trim();
    ck_assert_int_eq(faults_live(), before);
    ck_assert_uint_eq(ag_memory().in_use, in_use);
}
END_TEST

START_TEST(a_module_outlives_the_scope_it_was_made_in)
{
    AgScope outer = ag_begin(AG_RECORD);
    AgScope inner = ag_begin(AG_RECORD);
    Net *net = net_new();
    ag_end(inner);
    ag_end(outer);
    EXPECT_USAGE_ERROR("sizes", nn_linear_new(-1, 1));   /* an error in a later scope does not free it */
    ck_assert_int_eq(nn_count(net), 17);
    ag_free(net);
}
END_TEST

static void build_and_copy(void)
{
    Tied *m = tied_new(5);
    nn_list_add(m->blocks, nn_layer_norm_new(3));
    Sequential *row = nn_sequential_new();
    nn_sequential_add(row, nn_linear_new(3, 3));
    nn_sequential_activation(row, AG_RELU);
    nn_list_add(m->blocks, row);
    Tied *copy = nn_clone(m);
    NnParameters *p = nn_parameters(copy);
    ag_free(p);
    ag_free(m);
    ag_free(copy);
}

START_TEST(failing_allocations_leak_nothing)
{
    int64_t requests = faults_everywhere(build_and_copy, true);
    if (faults_work()) ck_assert_int_gt(requests, 100);
    ck_assert_int_eq(faults_everywhere(build_and_copy, false), requests);
}
END_TEST

/* ---- summary ----------------------------------------------------------------------------------------------------- */

static char *summary_of(void *module)
{
    FILE *out = tmpfile();
    ck_assert_ptr_nonnull(out);
    nn_summary(module, out);
    return text_of(out);
}

START_TEST(a_summary_is_a_table)
{
    Net *net = net_new();
    char *text = summary_of(net);
    const char *bytes = sizeof(ag_real) == 4 ? "100" : "200";
    char expected[1024];
    snprintf(expected, sizeof expected,
             "module      type or shape   parameters\n"
             "Net                                 17\n"
             "  fc1       Linear                   9\n"
             "    weight  (3, 2)                   6\n"
             "    bias    (3,)                     3\n"
             "  fc2       Linear                   6\n"
             "    weight  (2, 3)                   6\n"
             "  scale     (2,)                     2\n"
             "  table     (4, 2)         not trained\n"
             "17 parameters, 8 numbers that are not trained, %s bytes\n", bytes);
    ck_assert_str_eq(text, expected);
    free(text);
    ag_free(net);

    Tied *m = tied_new(0);
    nn_list_add(m->blocks, nn_linear_new_no_bias(1000, 1234));
    text = summary_of(m);
    snprintf(expected, sizeof expected,
             "module        type or shape  parameters\n"
             "Tied                          1,234,015\n"
             "  embed       Embedding              15\n"
             "    weight    (5, 3)                 15\n"
             "  blocks      ModuleList      1,234,000\n"
             "    0         Linear          1,234,000\n"
             "      weight  (1234, 1000)    1,234,000\n"
             "  head        Linear                  0\n"
             "    weight    (5, 3)               tied\n"
             "1,234,015 parameters, %s bytes\n", sizeof(ag_real) == 4 ? "4,936,060" : "9,872,120");
    ck_assert_str_eq(text, expected);
    free(text);
    ag_free(m);

    typedef struct { Module module; Tensor *packed, *mask, *ids; } Types;
    Types *types = nn_new(Types);
    nn_buffer_with(types, packed, SHAPE(10, 100), AG_PACKED, true);
    nn_buffer_with(types, mask, SHAPE(7), AG_BOOL, true);
    nn_buffer_with(types, ids, SHAPE(3), AG_INT, true);
    text = summary_of(types);
    ck_assert_ptr_nonnull(strstr(text, "0 parameters, 1,010 numbers that are not trained, 2,019 bytes"));
    free(text);
    ag_free(types);
}
END_TEST

/* ---- initialization ---------------------------------------------------------------------------------------------- */

typedef struct { double mean, deviation, low, high; } Moments;

static Moments moments(const Tensor *t)
{
    int64_t n = tensor_numel(t);
    const ag_real *v = tensor_data(t);
    Moments m = { 0, 0, INFINITY, -INFINITY };
    for (int64_t i = 0; i < n; i++) {
        m.mean += (double)v[i] / (double)n;
        m.low = fmin(m.low, (double)v[i]);
        m.high = fmax(m.high, (double)v[i]);
    }
    for (int64_t i = 0; i < n; i++) m.deviation += pow((double)v[i] - m.mean, 2) / (double)n;
    m.deviation = sqrt(m.deviation);
    return m;
}

/* The values must have a uniform distribution in +-bound. Bounds are rounded to real. */
static void check_uniform(const Tensor *t, double bound)
{
    Moments m = moments(t);
    ck_assert_double_ge(m.low, -bound * (1 + 1e-6));
    ck_assert_double_le(m.high, bound * (1 + 1e-6));
    ck_assert_double_lt(m.low, -0.99 * bound);
    ck_assert_double_gt(m.high, 0.99 * bound);
    ck_assert_double_eq_tol(m.deviation, bound / sqrt(3), 0.03 * bound);
    ck_assert_double_eq_tol(m.mean, 0, 0.04 * bound);
}

static void check_normal(const Tensor *t, double mean, double deviation)
{
    Moments m = moments(t);
    ck_assert_double_eq_tol(m.deviation, deviation, 0.05 * deviation);
    ck_assert_double_eq_tol(m.mean, mean, 0.07 * deviation);
    ck_assert_double_gt(m.high, mean + 2.5 * deviation);
}

START_TEST(initializers_have_their_distributions)
{
    ag_seed(1);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *w = tensor_zeros(SHAPE(40, 60));
    ag_fill(w, 2.5);
    ck_assert(moments(w).low == 2.5 && moments(w).high == 2.5);
    ag_fill_uniform(w, -0.5, 0.5);
    check_uniform(w, 0.5);
    ag_fill_normal(w, 3, 0.2);
    check_normal(w, 3, 0.2);
    nn_init_xavier_uniform(w, 1);
    check_uniform(w, sqrt(6.0 / 100));
    nn_init_xavier_uniform(w, 2);
    check_uniform(w, 2 * sqrt(6.0 / 100));
    nn_init_xavier_normal(w, 1);
    check_normal(w, 0, sqrt(2.0 / 100));
    nn_init_kaiming_uniform(w, 0);
    check_uniform(w, sqrt(6.0 / 60));
    nn_init_kaiming_normal(w, 1);
    check_normal(w, 0, sqrt(2.0 / (2 * 60)));

    Tensor *filter = tensor_zeros(SHAPE(8, 4, 10, 10));         /* fan_in 400, fan_out 800 */
    nn_init_xavier_uniform(filter, 1);
    check_uniform(filter, sqrt(6.0 / 1200));
    nn_init_kaiming_uniform(filter, 0);
    check_uniform(filter, sqrt(6.0 / 400));

    nn_init_xavier_uniform(tensor_zeros(SHAPE(0, 0)), 1);       /* empty, with fans of 0 */
    nn_init_kaiming_normal(tensor_zeros(SHAPE(3, 0)), 1);
    ag_end(s);
}
END_TEST

START_TEST(layers_start_as_in_pytorch)
{
    ag_seed(2);
    Linear *l = nn_linear_new(50, 400);
    check_uniform(l->weight, 1 / sqrt(50));
    ck_assert_double_lt(moments(l->bias).high, 1 / sqrt(50));
    ck_assert_double_gt(moments(l->bias).high, 0.9 / sqrt(50));
    ag_free(l);
    Embedding *e = nn_embedding_new(100, 30);
    check_normal(e->weight, 0, 1);
    ag_free(e);
    LayerNorm *n = nn_layer_norm_new(3);
    CHECK_VALUES(n->gamma, 0, 1, 1, 1);
    CHECK_VALUES(n->beta, 0, 0, 0, 0);
    ag_free(n);
    RMSNorm *r = nn_rms_norm_new(3);
    CHECK_VALUES(r->gamma, 0, 1, 1, 1);
    ck_assert_double_eq(r->eps, 1e-6);
    ag_free(r);
    Conv2d *c = nn_conv2d_new(20, 30, 5);
    check_uniform(c->weight, 1 / sqrt(500));
    ck_assert_double_lt(moments(c->bias).high, 1 / sqrt(500));
    ck_assert(c->how.stride[0] == 1 && c->how.padding[1] == 2);
    ag_free(c);
}
END_TEST

/* ---- layers ------------------------------------------------------------------------------------------------------ */

START_TEST(linear_by_hand)
{
    Linear *l = nn_linear_new(3, 2);
    SET_VALUES(l->weight, 1, 2, 3, -1, 0, 0.5);
    SET_VALUES(l->bias, 10, 20);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_from(SHAPE(2, 1, 3), (ag_real[]){ 1, 0, -1, 2, 2, 2 });
    Tensor *y = nn_linear(l, x);
    ck_assert(ag_shape_equal(tensor_shape(y), SHAPE(2, 1, 2)));
    CHECK_VALUES(y, 1e-6, 8, 18.5, 22, 19);
    ag_backward(ag_sum(y));
    CHECK_VALUES(tensor_grad(l->weight), 1e-6, 3, 2, 1, 3, 2, 1);
    CHECK_VALUES(tensor_grad(l->bias), 1e-6, 2, 2);
    ag_end(s);
    ag_free(l);
}
END_TEST

START_TEST(rms_norm_by_hand)
{
    RMSNorm *l = nn_rms_norm_new_with(2, 0);
    SET_VALUES(l->gamma, 1, 10);
    AgScope s = ag_begin(AG_NO_GRAD);
    Sequential *list = nn_sequential_new();
    nn_sequential_add(list, l);
    Tensor *x = tensor_from(SHAPE(2, 2), (ag_real[]){ 1, 7, 0, 0 });            /* of mean square 25, and 0 */
    CHECK_VALUES(nn_sequential(list, x), 1e-6, 0.2, 14, 0, 0);
    NnParameters *p = nn_parameters(list);
    ck_assert_str_eq(p->item[0].name, "0.weight");
    ag_free(p);
    ag_free(list);
    ag_end(s);
}
END_TEST

START_TEST(embedding_by_hand)
{
    Embedding *e = nn_embedding_new(3, 2);
    SET_VALUES(e->weight, 1, 2, 3, 4, 5, 6);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *y = nn_embedding(e, tensor_ints(SHAPE(2, 2), (int32_t[]){ 2, 0, 2, 2 }));
    ck_assert(ag_shape_equal(tensor_shape(y), SHAPE(2, 2, 2)));
    CHECK_VALUES(y, 0, 5, 6, 1, 2, 5, 6, 5, 6);
    ag_backward(ag_sum(y));
    CHECK_VALUES(tensor_grad(e->weight), 0, 1, 1, 0, 0, 3, 3);
    ag_end(s);
    ag_free(e);
    EXPECT_USAGE_ERROR("in nn_embedding called at",
                       nn_embedding(nn_embedding_new(3, 2), tensor_ints(SHAPE(1), (int32_t[]){ 3 })));
}
END_TEST

START_TEST(layer_norm_has_four_conventions)
{
    /* rows 1 2 3 4: mean 2.5, variance 1.25 (n) or 5/3 (n-1) */
    struct { AgNorm kind; double deviation; const char *weight, *bias; } conventions[] = {
        { AG_NORM_PYTORCH, sqrt(1.25 + 1e-5), "weight", "bias" },
        { AG_NORM_ANNOTATED, sqrt(5.0 / 3) + 1e-6, "a_2", "b_2" },
        { AG_NORM_STD_EPS, sqrt(1.25) + 1e-6, "weight", "bias" },
        { AG_NORM_STD, sqrt(1.25), "weight", "bias" },
    };
    for (int i = 0; i < 4; i++) {
        double d = conventions[i].deviation;
        LayerNorm *n = nn_layer_norm_new_kind(4, conventions[i].kind);
        ck_assert_ptr_eq(nn_find(n, conventions[i].weight), n->gamma);
        ck_assert_ptr_eq(nn_find(n, conventions[i].bias), n->beta);
        SET_VALUES(n->gamma, 1, 2, 1, 1);
        SET_VALUES(n->beta, 0, 0, 10, 0);
        AgScope s = ag_begin(AG_NO_GRAD);
        Tensor *y = nn_layer_norm(n, tensor_from(SHAPE(1, 4), (ag_real[]){ 1, 2, 3, 4 }));
        CHECK_VALUES(y, 2e-6, -1.5 / d, 2 * -0.5 / d, 10 + 0.5 / d, 1.5 / d);
        ag_end(s);
        ag_free(n);
    }
    LayerNorm *n = nn_layer_norm_new_no_bias(4);
    ck_assert_ptr_null(n->beta);
    ck_assert_int_eq(nn_count(n), 4);
    LayerNorm *other = nn_layer_norm_new_kind(4, ((AgNorm){ 1e-5, false, true }));         /* AG_NORM_ANNOTATED's but for eps */
    ck_assert_ptr_eq(nn_find(other, "weight"), other->gamma);
    ag_free(other);
    ag_free(n);
}
END_TEST

/* The deviation is eps alone, and its slope is 0: dx = (dy - mean of dy) / eps. An eps that is a power of two leaves no
 * rounding error in the deviation. */
START_TEST(a_constant_row_has_a_finite_gradient)
{
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_set_requires_grad(tensor_full(SHAPE(1, 4), 3), true);
    Tensor *dy = tensor_from(SHAPE(1, 4), (ag_real[]){ 1, 2, 3, 4 });
    ag_backward_from(ag_layer_norm(x, NULL, NULL, (AgNorm){ .eps = 0.5 }), dy);
    CHECK_VALUES(tensor_grad(x), 0, -3, -1, 1, 3);
    ag_end(s);
}
END_TEST

START_TEST(dropout_only_in_training)
{
    ag_seed(3);
    Dropout *d = nn_dropout_new(0.25);
    AgScope s = ag_begin(AG_RECORD);
    Tensor *x = tensor_full(SHAPE(100, 100), 3);
    AgRandom state = ag_random_state();
    const ag_real *y = tensor_data(nn_dropout(d, x));
    int zeros = 0;
    for (int i = 0; i < 10000; i++) {
        ck_assert(y[i] == 0 || fabs((double)y[i] - 4) < 1e-6);
        zeros += y[i] == 0;
    }
    ck_assert_int_gt(zeros, 2300);
    ck_assert_int_lt(zeros, 2700);
    ag_set_random_state(state);
    ck_assert_int_eq(memcmp(y, tensor_data(nn_dropout(d, x)), 10000 * sizeof(ag_real)), 0);
    ck_assert_int_ne(memcmp(y, tensor_data(nn_dropout(d, x)), 10000 * sizeof(ag_real)), 0);

    state = ag_random_state();
    nn_eval(d);
    ck_assert_ptr_eq(nn_dropout(d, x), x);
    nn_train(d);
    d->p = 0;
    ck_assert_ptr_eq(nn_dropout(d, x), x);
    ck_assert_uint_eq(ag_random_state().counter, state.counter);
    ag_end(s);
    ag_free(d);
}
END_TEST

START_TEST(activations_by_hand)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_from(SHAPE(3), (ag_real[]){ -1, 0, 2 });
    ck_assert_ptr_eq(ag_activate(AG_IDENTITY, x), x);
    CHECK_VALUES(ag_activate(AG_RELU, x), 0, 0, 0, 2);
    CHECK_VALUES(ag_activate(AG_GELU, x), 1e-6, -0.158808, 0, 1.9545977);
    CHECK_VALUES(ag_activate(AG_GELU_ERF, x), 1e-6, -0.1586553, 0, 1.9544997);
    CHECK_VALUES(ag_activate(AG_TANH, x), 1e-6, -0.7615942, 0, 0.9640276);
    CHECK_VALUES(ag_activate(AG_SIGMOID, x), 1e-6, 0.2689414, 0.5, 0.8807971);
    ag_end(s);
}
END_TEST

/* The values of a layer with an activation, and the gradients of input, weight and bias; returns how many numbers. */
static int64_t values_and_gradients(Linear *l, const Tensor *data, AgActivation kind, bool at_once, AgMode mode, ag_real *out)
{
    AgScope s = ag_begin(mode);
    Tensor *x = tensor_set_requires_grad(ag_keep(data), mode == AG_RECORD);
    Tensor *in = ag_scale(x, 2);                            /* not a leaf: backward releases its value */
    Tensor *y = at_once ? nn_linear_activate(l, in, kind) : ag_activate(kind, nn_linear(l, in));
    ag_real *end = out;
    memcpy(end, tensor_data(y), (size_t)tensor_numel(y) * sizeof *end);
    end += tensor_numel(y);
    if (mode == AG_RECORD) {
        ag_backward(ag_sum(ag_mul(y, ag_tanh(y))));
        const Tensor *inputs[] = { x, l->weight, l->bias };
        for (int i = 0; i < 3; i++) {
            if (!inputs[i]) continue;
            memcpy(end, tensor_grad_data((Tensor *)inputs[i]), (size_t)tensor_numel(inputs[i]) * sizeof *end);
            end += tensor_numel(inputs[i]);
        }
    }
    nn_zero_grad(l);
    tensor_free(x);
    ag_end(s);
    return end - out;
}

START_TEST(a_fused_activation_gives_the_same_bits)
{
    static const int64_t sizes[][3] = { { 1, 1, 1 }, { 3, 4, 5 }, { 0, 3, 2 }, { 33, 70, 130 }, { 600, 24, 40 } };
    static ag_real expected[100000], found[100000];
    for (int i = 0; i < 5 * 2 * 6 * 3; i++) {
        const int64_t *size = sizes[i % 5];
        AgActivation kind = (AgActivation)(i / 10 % 6);
        AgMode mode = i / 60 == 0 ? AG_NO_GRAD : AG_RECORD;
        AgScope s = ag_begin(AG_NO_GRAD);
        Linear *l = nn_linear_new_with(size[1], size[2], i / 5 % 2);
        const Tensor *x = tensor_normal(SHAPE(size[0], size[1]), 0, 1);
        int64_t n = values_and_gradients(l, x, kind, false, mode, expected);
        ag_find_nan(i / 60 == 2);
        ck_assert_int_eq(values_and_gradients(l, x, kind, true, mode, found), n);
        ag_find_nan(false);
        ck_assert_int_ge(n, size[0] * size[2]);
        ck_assert_msg(memcmp(expected, found, (size_t)n * sizeof *found) == 0, "activation %d, case %d", (int)kind, i);
        ag_free(l);
        ag_end(s);
    }
}
END_TEST

typedef struct { Module module; } Double;

static Tensor *double_forward(void *self, Tensor *x)
{
    (void)self;
    return ag_scale(x, 2);
}

START_TEST(sequential_calls_its_layers_in_order)
{
    Sequential *inner = nn_sequential_new();
    nn_sequential_add(inner, nn_layer_norm_new(4));
    nn_sequential_activation(inner, AG_TANH);
    Sequential *row = nn_sequential_new();
    nn_sequential_add(row, nn_embedding_new(6, 4));
    nn_sequential_add(row, nn_dropout_new(0.5));
    nn_sequential_add(row, inner);
    Double *twice = nn_new(Double);
    twice->module.forward = double_forward;
    nn_sequential_add(row, twice);
    nn_sequential_add(row, nn_linear_new(4, 2));
    ck_assert_int_eq(row->n, 5);
    check_names(row, 5, (const char *[]){ "0.weight", "2.0.weight", "2.0.bias", "4.weight", "4.bias" });
    ck_assert_str_eq(nn_item(Module, inner, 1)->type, "tanh");

    Sequential *copy = nn_clone(row);
    ag_free(row);
    nn_eval(copy);
    Embedding *e = nn_item(Embedding, copy, 0);
    LayerNorm *n = nn_item(LayerNorm, nn_item(Sequential, copy, 2), 0);
    Linear *l = nn_item(Linear, copy, 4);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *ids = tensor_ints(SHAPE(3), (int32_t[]){ 5, 0, 1 });
    Tensor *y = nn_sequential(copy, ids);
    Tensor *h = ag_scale(ag_tanh(nn_layer_norm(n, nn_embedding(e, ids))), 2);
    Tensor *z = nn_linear(l, h);
    ck_assert_int_eq(memcmp(tensor_data(y), tensor_data(z), 6 * sizeof(ag_real)), 0);
    Sequential *empty = nn_sequential_new();
    ck_assert_ptr_eq(nn_sequential(empty, z), z);
    ag_free(empty);
    ag_end(s);
    ag_free(copy);
}
END_TEST

START_TEST(group_norm_of_one_group_is_layer_norm)
{
    GroupNorm *l = nn_group_norm_new(1, 4);
    SET_VALUES(l->gamma, 1, 2, 3, 4);
    SET_VALUES(l->beta, 0, 5, 0, 0);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_normal(SHAPE(3, 4), 1, 2);
    check_close("norm", nn_group_norm(l, x), ag_layer_norm(x, l->gamma, l->beta, AG_NORM_PYTORCH), 1e-5);
    EXPECT_USAGE_ERROR("x is (3,), expected (B,4,..)", nn_group_norm(l, tensor_ones(SHAPE(3))));
    EXPECT_USAGE_ERROR("4 channels in 3 groups", nn_group_norm_new(3, 4));
    Tensor *none = nn_group_norm(l, tensor_zeros(SHAPE(0, 4, 3)));
    ck_assert(ag_shape_equal(tensor_shape(none), SHAPE(0, 4, 3)));
    ck_assert(ag_shape_equal(tensor_shape(nn_group_norm(l, tensor_zeros(SHAPE(2, 4, 0)))), SHAPE(2, 4, 0)));
    ag_end(s);
    ag_free(l);
}
END_TEST

/* The sum of a channel is too large for a float; its mean is not. */
START_TEST(batch_norm_of_large_numbers)
{
    BatchNorm *l = nn_batch_norm_new_with(4, 0.1, 1e-5);
    AgScope s = ag_begin(AG_NO_GRAD);
    nn_batch_norm(l, tensor_full(SHAPE(8, 4, 9, 9), 3e36));
    for (int i = 0; i < 4; i++) {
        ck_assert_double_eq_tol((double)tensor_data(l->running_mean)[i], 3e35, 1e29);
        ck_assert_double_eq_tol((double)tensor_data(l->running_var)[i], 0.9, 1e-6);
    }
    ag_end(s);
    ag_free(l);
}
END_TEST

/* Two batches by hand, then evaluation by the running statistics, which a file has. */
START_TEST(batch_norm_by_hand)
{
    BatchNorm *l = nn_batch_norm_new_with(2, 0.25, 0), *other = nn_batch_norm_new_with(2, 0.25, 0);
    SET_VALUES(l->gamma, 1, 10);
    SET_VALUES(l->beta, 0, 5);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_from(SHAPE(2, 2, 2), (ag_real[]){ 1, 3, 0, 8, 5, 7, 8, 0 });
    double r = sqrt(5);
    CHECK_VALUES(nn_batch_norm(l, x), 1e-5, (ag_real)(-3 / r), (ag_real)(-1 / r), -5, 15, (ag_real)(1 / r), (ag_real)(3 / r),
                 15, -5);
    CHECK_VALUES(l->running_mean, 1e-6, 1, 1);                      /* (3 * 0 + 4) / 4 */
    CHECK_VALUES(l->running_var, 1e-5, (ag_real)(0.75 + 5.0 / 3), (ag_real)(0.75 + 16.0 / 3));     /* unbiased: 20/3, 64/3 */
    nn_batch_norm(l, x);
    CHECK_VALUES(l->running_mean, 1e-6, 1.75, 1.75);
    ck_assert_int_eq(tensor_int_data(l->num_batches_tracked)[0], 2);
    SET_VALUES(l->running_var, 4, 20);
    l->eps = 5;                                                     /* deviations 3 and 5 */
    nn_eval(l);
    CHECK_VALUES(nn_batch_norm(l, tensor_from(SHAPE(1, 2), (ag_real[]){ 4, 4 })), 2e-6, 0.75, 9.5);
    CHECK_VALUES(l->running_mean, 1e-6, 1.75, 1.75);
    ck_assert(nn_save("out.safetensors", l) && nn_load("out.safetensors", other));
    remove("out.safetensors");
    CHECK_VALUES(other->running_var, 0, 4, 20);
    ck_assert_int_eq(tensor_int_data(other->num_batches_tracked)[0], 2);
    nn_train(l);
    EXPECT_USAGE_ERROR("less than 2 items of each channel", nn_batch_norm(l, tensor_ones(SHAPE(1, 2))));
    EXPECT_USAGE_ERROR("x is (2, 3), expected (B,2,..)", nn_batch_norm(l, tensor_ones(SHAPE(2, 3))));
    EXPECT_USAGE_ERROR("2 channels, momentum 2", nn_batch_norm_new_with(2, 2, 0));
    ag_end(s);
    ag_free(l);
    ag_free(other);
}
END_TEST

START_TEST(convolutions_start_as_in_pytorch)
{
    Conv2d *c = nn_conv2d_new_how(60, 40, 3, ((AgConv){ .groups = 2, .padding = { 1, 1 } }), false);
    ConvTranspose2d *t = nn_conv_transpose2d_new(20, 30, 2, 2), *padded = nn_conv_transpose2d_new_with(2, 3, 3, 2, 1, 0, false);
    AgScope s = ag_begin(AG_NO_GRAD);
    ck_assert(ag_shape_equal(tensor_shape(c->weight), SHAPE(40, 30, 3, 3)) && !c->bias);
    check_uniform(c->weight, 1 / sqrt(270));
    ck_assert(ag_shape_equal(tensor_shape(nn_conv2d(c, tensor_ones(SHAPE(2, 60, 5, 5)))), SHAPE(2, 40, 5, 5)));
    ck_assert(ag_shape_equal(tensor_shape(t->weight), SHAPE(20, 30, 2, 2)));
    check_uniform(t->weight, 1 / sqrt(120));
    ck_assert(ag_shape_equal(tensor_shape(nn_conv_transpose2d(t, tensor_ones(SHAPE(2, 20, 3, 4)))), SHAPE(2, 30, 6, 8)));
    Tensor *x = tensor_normal(SHAPE(1, 2, 4, 4), 0, 1);
    ck_assert(!padded->bias && nn_count(padded) == 2 * 3 * 3 * 3);
    check_close("padded", nn_conv_transpose2d(padded, x), ag_conv_transpose2d(x, padded->weight, NULL, 2, 1, 0), 0);
    EXPECT_USAGE_ERROR("6 and 4 channels do not divide into 4 groups",
                       nn_conv2d_new_how(6, 4, 3, ((AgConv){ .groups = 4 }), true));
    EXPECT_USAGE_ERROR("padding -1: 0 or more", nn_conv2d_new_how(6, 4, 3, ((AgConv){ .padding = { 1, -1 } }), true));
    EXPECT_USAGE_ERROR("stride -2: expected 1 or more", nn_conv2d_new_how(6, 4, 3, ((AgConv){ .stride = { 1, -2 } }), true));
    ag_end(s);
    ag_free(c);
    ag_free(t);
    ag_free(padded);
}
END_TEST

typedef struct { Module module; Tensor *w; } OneTensor;

/* A tree that has grown since then gets no modes. */
START_TEST(evaluation_may_meet_new_modules)
{
    Sequential *m = nn_sequential_new();
    nn_sequential_add(m, nn_linear_new(2, 2));
    void *evaluation = evaluation_begin(&m->module);
    Linear *more = nn_linear_new(2, 2);
    nn_sequential_add(m, more);
    ag_free(evaluation);
    ck_assert(!m->module.training && more->module.training);
    ag_free(m);
}
END_TEST

START_TEST(a_parameter_that_comes_later_has_the_whole_name)
{
    ModuleList *list = nn_list_new();
    OneTensor *m = nn_new(OneTensor);
    nn_list_add(list, m);
    nn_param(m, w, SHAPE(1));
    ck_assert_str_eq(tensor_get_name(m->w), "0.w");
    ag_free(list);
}
END_TEST

START_TEST(activations_have_their_names)
{
    static const char *const name[] = { "identity", "relu", "gelu", "gelu_erf", "tanh", "sigmoid", "silu" };
    Sequential *s = nn_sequential_new();
    for (int i = AG_IDENTITY; i <= AG_SILU; i++) {
        nn_sequential_activation(s, i);
        ck_assert_str_eq(nn_item(Module, s, i)->type, name[i]);
    }
    ag_free(s);
}
END_TEST

Suite *nn_suite(void)
{
    Suite *suite = suite_create("nn");
    TCase *modules = tcase_create("modules");
    tcase_add_test(modules, parameters_have_dotted_names_in_order);
    tcase_add_test(modules, tensors_carry_their_full_names);
    tcase_add_test(modules, a_list_numbers_its_items);
    tcase_add_test(modules, modes_are_set_in_all_children);
    tcase_add_test(modules, tied_weights_are_one_parameter);
    tcase_add_test(modules, ties_in_any_order_share_and_free_once);
    tcase_add_test(modules, a_clone_is_equal_and_independent);
    tcase_add_test(modules, a_clone_can_grow);
    tcase_add_test(modules, a_part_can_be_cloned);
    tcase_add_test(modules, usage_errors_are_reported);
    tcase_add_test(modules, adapters_are_checked);
    tcase_add_test(modules, a_forward_of_another_type_is_refused);
    tcase_add_test(modules, modules_that_are_gone_are_reported);
    tcase_add_test(modules, messages_show_the_line_of_the_model);
    tcase_add_test(modules, the_scope_frees_a_half_built_module);
    tcase_add_test(modules, a_module_outlives_the_scope_it_was_made_in);
    tcase_add_test(modules, failing_allocations_leak_nothing);
    tcase_add_test(modules, a_summary_is_a_table);
    tcase_add_test(modules, evaluation_may_meet_new_modules);
    tcase_add_test(modules, a_parameter_that_comes_later_has_the_whole_name);
    tcase_add_test(modules, activations_have_their_names);
    suite_add_tcase(suite, modules);
    TCase *layers = tcase_create("layers");
    tcase_add_test(layers, initializers_have_their_distributions);
    tcase_add_test(layers, layers_start_as_in_pytorch);
    tcase_add_test(layers, linear_by_hand);
    tcase_add_test(layers, rms_norm_by_hand);
    tcase_add_test(layers, embedding_by_hand);
    tcase_add_test(layers, layer_norm_has_four_conventions);
    tcase_add_test(layers, a_constant_row_has_a_finite_gradient);
    tcase_add_test(layers, batch_norm_by_hand);
    tcase_add_test(layers, batch_norm_of_large_numbers);
    tcase_add_test(layers, group_norm_of_one_group_is_layer_norm);
    tcase_add_test(layers, convolutions_start_as_in_pytorch);
    tcase_add_test(layers, dropout_only_in_training);
    tcase_add_test(layers, activations_by_hand);
    tcase_add_test(layers, a_fused_activation_gives_the_same_bits);
    tcase_add_test(layers, sequential_calls_its_layers_in_order);
    suite_add_tcase(suite, layers);
    return suite;
}
