/* test_lora.c: adapters of Linears compared with the library peft (fixtures/make_llama.py), and their files. */
#include <stdio.h>
#include <string.h>

#include "expected.h"
#include "faults.h"
#include "folder.h"
#include "json.h"
#include "kaeru/autograd.h"
#include "kaeru/llama.h"
#include "kaeru/lora.h"
#include "suites.h"
#include "usage_error.h"

#define FOLDER TEST_FIXTURES "/llama/"

static const char *const targets[] = { "q_proj", "v_proj", "down_proj", NULL };

static Llama *base(void)
{
    Llama *m = llama_open(FOLDER "qwen2");
    ck_assert_msg(m != NULL, "%s", ag_error());
    nn_eval(m);
    return m;
}

static Llama *adapted(void)
{
    Llama *m = base();
    expect_done(nn_lora_load(m, FOLDER "adapter"));
    return m;
}

static void check_logits(Llama *m)
{
    SafeTensors *st = open_safetensors(FOLDER "adapter/expected.safetensors");
    Scope s = ag_begin(AG_NO_GRAD);
    check_close("logits", llama_forward(m, ids_of(st, "ids")), reals_of(st, "logits"), 1e-4);
    ag_end(s);
    st_close(st);
}

/* ---- the same as peft -------------------------------------------------------------------------------------------- */

START_TEST(logits_and_gradients_agree)
{
    Llama *m = adapted();
    check_logits(m);
    SafeTensors *st = open_safetensors(FOLDER "adapter/expected.safetensors");
    Scope s = ag_begin(AG_RECORD);
    Tensor *ids = ids_of(st, "ids"), *loss = llama_loss(m, ids, ids);
    ck_assert_double_eq_tol(tensor_item(loss), tensor_item(reals_of(st, "loss")), 1e-5);
    ag_backward(loss);
    Parameters *p = nn_parameters(m);
    int compared = 0;
    for (int i = 0; i < p->n; i++) {
        char name[120];
        bool adapter = strstr(p->item[i].name, ".lora_") != NULL;
        ck_assert(p->item[i].trained == adapter && (tensor_grad_data(p->item[i].tensor) != NULL) == adapter);
        if (!adapter) continue;
        snprintf(name, sizeof name, "grad/base_model.model.%s", p->item[i].name);
        Tensor *expected = reals_of(st, name);
        check_close(name, tensor_grad(p->item[i].tensor), expected, 1e-4 * largest(expected));
        compared++;
    }
    ck_assert_int_eq(compared, 2 * 2 * 3);                              /* two of each, in two layers */
    ag_free(p);
    ag_end(s);
    st_close(st);
    nn_free(m);
}
END_TEST

START_TEST(merged_weights_give_the_same)
{
    Llama *m = adapted();
    nn_lora_merge(m);
    check_logits(m);
    ck_assert_ptr_null(nn_find(m, "model.layers.0.self_attn.q_proj.lora_A.weight"));
    expect_done(llama_write(m, in_folder("")));
    Llama *again = llama_open(in_folder(""));
    ck_assert_msg(again != NULL, "%s", ag_error());
    check_logits(again);
    check_same_parameters(m, again);
    nn_free(again);
    nn_free(m);
}
END_TEST

START_TEST(what_is_saved_loads_again)
{
    Llama *m = adapted(), *again = base();
    expect_done(nn_lora_save(m, in_folder("")));
    ck_assert_int_eq(folder_count(), 2);
    expect_done(nn_lora_load(again, in_folder("")));
    check_same_parameters(m, again);
    LlamaAttention *a = nn_item(LlamaLayer, again->model->layers, 1)->self_attn;
    ck_assert_double_eq_tol(a->q_proj->lora_scale, 7.0 / 3, 1e-12);
    ck_assert_double_eq(a->q_proj->lora_dropout->p, 0.25);
    check_logits(again);
    Llama *copy = nn_clone(again);
    check_logits(copy);
    nn_free(copy);
    nn_free(again);
    nn_free(m);
}
END_TEST

/* ---- new adapters ------------------------------------------------------------------------------------------------ */

START_TEST(a_new_adapter_changes_nothing_but_what_is_trained)
{
    Llama *m = base();
    Scope s = ag_begin(AG_RECORD);
    Tensor *ids = tensor_ints(SHAPE(2, 5), NULL), *before = ag_detach(llama_forward(m, ids));
    expect_done(nn_lora_add(m, (LoraOptions){ .rank = 2, .alpha = 4, .targets = targets }));
    check_close("logits", llama_forward(m, ids), before, 0);
    ck_assert_int_eq(nn_count(m), 2 * 2 * ((24 + 24) + (24 + 8) + (21 + 24)));
    Optimizer *o = nn_adamw_new(m, 0.1);
    ag_backward(llama_loss(m, ids, ids));
    nn_optimizer_step(o);
    Settings *settings = nn_settings_new();
    llama_to_settings(&m->options, settings);
    expect_done(nn_checkpoint_save(in_folder("run.safetensors"), m, o, settings));
    SafeTensors *st = open_safetensors(in_folder("run.safetensors"));
    for (size_t i = 0; i < st->n_tensors; i++)          /* the optimizer has no state for the frozen weights */
        ck_assert(strncmp(st->tensor[i].name, "optimizer.", 10) != 0 || strstr(st->tensor[i].name, ".lora_"));
    st_close(st);
    Tensor *after = llama_forward(m, ids);
    ck_assert(largest(ag_sub(after, before)) > 1e-3);
    Llama *fresh = base();
    Parameters *p = nn_parameters(fresh);
    for (int i = 0; i < p->n; i++)
        check_close(p->item[i].name, nn_find(m, p->item[i].name), p->item[i].tensor, 0);
    ag_free(p);
    nn_free(fresh);
    ag_free(settings);
    ag_free(o);
    ag_end(s);
    nn_free(m);
}
END_TEST

/* Adapters of the output layer, and of a layer with an activation, are not left out. */
START_TEST(each_linear_can_have_an_adapter)
{
    static const char *const others[] = { "lm_head", "gate_proj", NULL };
    Llama *m = llama_open(FOLDER "llama_bias");
    nn_eval(m);
    Scope s = ag_begin(AG_RECORD);
    Tensor *ids = tensor_ints(SHAPE(1, 5), NULL);
    expect_done(nn_lora_add(m, (LoraOptions){ .rank = 2, .alpha = 4, .targets = others }));
    ag_backward(llama_loss(m, ids, ids));
    Parameters *p = nn_parameters(m);
    for (int i = 0; i < p->n; i++)
        if (strstr(p->item[i].name, "lora_B")) {
            ck_assert_msg(largest(tensor_grad(p->item[i].tensor)) > 0, "%s", p->item[i].name);
            nn_init_constant(p->item[i].tensor, 0.1);
        }
    ag_free(p);
    double loss = tensor_item(llama_loss(m, ids, ids));
    nn_lora_merge(m);
    ck_assert_double_eq_tol(tensor_item(llama_loss(m, ids, ids)), loss, 1e-4);
    ag_end(s);
    nn_free(m);
}
END_TEST

START_TEST(wrong_use_is_refused)
{
    static const char *const none[] = { "q_proj", "proj", NULL };
    Llama *m = base();
    expect_refused(nn_lora_add(m, (LoraOptions){ .rank = 2, .alpha = 4, .targets = none }),
                   "no Linear of this Llama has the name \"proj\"");
    ck_assert(tensor_requires_grad(m->model->norm->gamma));
    EXPECT_USAGE_ERROR("rank 0, expected 1 or more", nn_lora_add(m, (LoraOptions){ .targets = targets }));
    EXPECT_USAGE_ERROR("targets is NULL", nn_lora_add(m, (LoraOptions){ .rank = 1 }));
    EXPECT_USAGE_ERROR("this Llama has no adapters", nn_lora_save(m, in_folder("")));
    expect_done(nn_lora_add(m, (LoraOptions){ .rank = 2, .alpha = 4, .targets = targets }));
    EXPECT_USAGE_ERROR("has an adapter", nn_lora_add(m, (LoraOptions){ .rank = 2, .alpha = 4, .targets = targets }));
    EXPECT_USAGE_ERROR("this module has adapters", nn_lora_load(m, FOLDER "adapter"));
    nn_free(m);
}
END_TEST

START_TEST(files_that_do_not_fit_are_refused)
{
    static const struct { const char *config, *message; } cases[] = {
        { "[]", "\"peft_type\": expected \"LORA\"" },
        { "{\"peft_type\": \"IA3\"}", "\"peft_type\": expected \"LORA\"" },
        { "{\"peft_type\": \"LORA\"}", "\"lora_alpha\": expected a number" },
        { "{\"peft_type\": \"LORA\", \"lora_alpha\": 7, \"use_dora\": true}", "\"use_dora\" is not supported" },
        { "{\"peft_type\": \"LORA\", \"lora_alpha\": 7, \"alpha_pattern\": {\"q\": 1}}", "\"alpha_pattern\" is not supported" },
        { "{\"peft_type\": \"LORA\", \"lora_alpha\": 7, \"bias\": \"all\"}", "\"bias\" is not supported" },
        { "{\"peft_type\": \"LORA\", \"lora_alpha\": 7, \"lora_dropout\": 1}",
          "\"lora_dropout\": expected a number of 0 to below 1" },
        { "{\"peft_type\": \"LORA\", \"lora_alpha\": 7}",
          "adapter_model.safetensors: has no adapter for a Linear of this module" },
    };
    Llama *m = base();
    Scope s = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_zeros(SHAPE(3, 24)), *y = tensor_zeros(SHAPE(24, 3));
    expect_done(tensor_save(in_folder("adapter_model.safetensors"), { "other", x }));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        folder_write("adapter_config.json", cases[i].config, strlen(cases[i].config));
        expect_refused(nn_lora_load(m, in_folder("")), cases[i].message);
    }
#define Q "base_model.model.model.layers.0.self_attn.q_proj."
    expect_done(tensor_save(in_folder("adapter_model.safetensors"), { Q "lora_A.weight", x }));
    expect_refused(nn_lora_load(m, in_folder("")), "\"model.layers.0.self_attn.q_proj.lora_B.weight\" is missing");
    expect_done(tensor_save(in_folder("adapter_model.safetensors"), { Q "lora_A.weight", x }, { Q "lora_B.weight", x }));
    expect_refused(nn_lora_load(m, in_folder("")), "is (3, 24), expected (24, 3)");
    expect_done(tensor_save(in_folder("adapter_model.safetensors"), { Q "lora_A.weight", x }, { Q "lora_B.weight", y },
                            { "base_model.model.lm_head.lora_A.weight", x }));
    expect_refused(nn_lora_load(m, in_folder("")), "unexpected: \"base_model.model.lm_head.lora_A.weight\"");
    ck_assert_ptr_null(nn_find(m, "model.layers.0.self_attn.q_proj.lora_A.weight"));
    ck_assert(tensor_requires_grad(m->model->norm->gamma));
    ag_end(s);
    nn_free(m);
}
END_TEST

Suite *lora_suite(void)
{
    Suite *suite = suite_create("lora");
    TCase *t = tcase_create("lora");
    tcase_add_checked_fixture(t, folder_make, folder_remove);
    tcase_add_test(t, logits_and_gradients_agree);
    tcase_add_test(t, merged_weights_give_the_same);
    tcase_add_test(t, what_is_saved_loads_again);
    tcase_add_test(t, a_new_adapter_changes_nothing_but_what_is_trained);
    tcase_add_test(t, each_linear_can_have_an_adapter);
    tcase_add_test(t, wrong_use_is_refused);
    tcase_add_test(t, files_that_do_not_fit_are_refused);
    suite_add_tcase(suite, t);
    return suite;
}
