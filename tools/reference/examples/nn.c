/* nn.c: the examples of the layers, optimizers and files of nn/. */
#include "example.h"

typedef struct { Module module; Linear *hidden, *out; } Net;

static Net *net_new(void)
{
    Net *net = nn_new(Net);
    nn_child(net, hidden, nn_linear_new(2, 16));
    nn_child(net, out, nn_linear_new(16, 1));
    return net;
}

static Tensor *net_of(Net *net, Tensor *x)
{
    return nn_linear(net->out, ag_tanh(nn_linear(net->hidden, x)));
}

static void modules(void)
{
    EXAMPLE(nn_child) {
        /* typedef struct { Module module; Linear *hidden, *out; } Net; */
        Net *net = nn_new(Net);
        nn_child(net, hidden, nn_linear_new(2, 16));
        nn_child(net, out, nn_linear_new(16, 1));
        nn_summary(net, stdout);
        ag_free(net);
    }
    EXAMPLE(nn_parameters) {
        Net *net = net_new();
        NnParameters *p = nn_parameters(net);
        for (int i = 0; i < p->n; i++)
            printf("%s: %lld numbers\n", p->item[i].name, (long long)tensor_numel(p->item[i].tensor));
        ag_free(p);
        ag_free(net);
    }
    EXAMPLE(nn_list_new) {
        ModuleList *list = nn_list_new();
        for (int i = 0; i < 3; i++) nn_list_add(list, nn_linear_new(4, 4));
        Tensor *x = tensor_ones(SHAPE(4));
        for (int i = 0; i < list->n; i++) x = nn_linear(nn_item(Linear, list, i), x);
        printf("%lld numbers\n", (long long)nn_count(list));
        ag_free(list);
    }
    EXAMPLE(nn_optimizer_step) {
        Net *net = net_new();
        Optimizer *adam = nn_adamw_new(net, 0.01);
        for (int step = 0; step <= 100; step++) {
            AgScope inner = ag_begin(AG_RECORD);
            Tensor *x = tensor_normal(SHAPE(32, 2), 0, 1);
            Tensor *loss = nn_mse_loss(net_of(net, x), ag_sum_dims(x, DIMS(1), true));
            ag_backward(loss);
            nn_clip_grad_norm(net, 1);
            nn_optimizer_set_lr(adam, nn_schedule_cosine(step, 0.01, 0, 10, 100));
            nn_optimizer_step(adam);
            if (step % 50 == 0) printf("step %3d: loss %.4f\n", step, tensor_item(loss));
            ag_end(inner);
        }
        ag_free(adam);
        ag_free(net);
    }
    EXAMPLE(nn_rmsprop_new) {
        Linear *l = nn_linear_new(1, 1);
        ag_fill(l->weight, 1);
        Optimizer *o = nn_rmsprop_new(l, 0.01);
        AgScope inner = ag_begin(AG_RECORD);
        ag_backward(ag_sum(nn_linear(l, tensor_ones(SHAPE(1)))));
        nn_optimizer_step(o);                                           /* a first step of 10 lr */
        ag_end(inner);
        tensor_print(l->weight);
        ag_free(o);
        ag_free(l);
    }
    EXAMPLE(nn_ema_update) {
        Linear *l = nn_linear_new(1, 1);
        ag_fill(l->weight, 1);
        Linear *average = nn_clone(l);
        ag_fill(l->weight, 2);                                          /* as a step does */
        nn_ema_update(average, l, 0.9);
        tensor_print(average->weight);
        ag_free(average);
        ag_free(l);
    }
    EXAMPLE(ag_fill_normal) {
        Linear *l = nn_linear_new(2, 2);
        ag_fill_normal(l->weight, 0, 0.02);
        ag_fill(l->bias, 0);
        tensor_print(l->weight);
        ag_free(l);
    }
    EXAMPLE(nn_schedule_cosine) {
        for (int step = 0; step <= 100; step += 25)
            printf("%g ", nn_schedule_cosine(step, 0.1, 0.01, 10, 100));
        printf("\n");
    }
    EXAMPLE(nn_schedule_linear) {
        for (int step = 0; step <= 100; step += 25)
            printf("%g ", nn_schedule_linear(step, 0.1, 0, 10, 100));
        printf("\n");
    }
    EXAMPLE(nn_schedule_step) {
        for (int step = 1; step <= 100; step += 33)
            printf("%g ", nn_schedule_step(step, 0.1, 0.5, 40));
        printf("\n");
    }
}

static void layers(void)
{
    EXAMPLE(nn_dropout) {
        Dropout *d = nn_dropout_new(0.5);
        tensor_print(nn_dropout(d, tensor_ones(SHAPE(12))));
        nn_eval(d);
        tensor_print(nn_dropout(d, tensor_ones(SHAPE(12))));
        ag_free(d);
    }
    EXAMPLE(nn_linear) {
        Linear *l = nn_linear_new(2, 3);
        Tensor *y = nn_linear(l, tensor_ones(SHAPE(5, 2)));             /* (5,2) -> (5,3) */
        ag_backward(ag_sum(y));
        tensor_print(tensor_grad(l->bias));
        ag_free(l);
    }
    EXAMPLE(nn_embedding) {
        Embedding *e = nn_embedding_new(10, 4);
        Tensor *ids = tensor_ints(SHAPE(2), (int32_t[]){ 3, 3 });
        tensor_print(nn_embedding(e, ids));
        ag_free(e);
    }
    EXAMPLE(nn_layer_norm) {
        LayerNorm *norm = nn_layer_norm_new(4);
        tensor_print(nn_layer_norm(norm, tensor_arange(0, 4, 1)));
        ag_free(norm);
    }
    EXAMPLE(nn_rms_norm) {
        RMSNorm *norm = nn_rms_norm_new(2);
        tensor_print(nn_rms_norm(norm, tensor_from(SHAPE(2), (ag_real[]){ 3, 4 })));
        ag_free(norm);
    }
    EXAMPLE(nn_conv2d) {
        Conv2d *l = nn_conv2d_new_with(3, 8, 3, 2, 1, true);            /* 8 windows of 3 x 3, a stride of 2 */
        char text[AG_SHAPE_TEXT];
        puts(ag_shape_text(tensor_shape(nn_conv2d(l, tensor_zeros(SHAPE(1, 3, 32, 32)))), text));
        ag_free(l);
    }
    EXAMPLE(nn_conv_transpose2d) {
        ConvTranspose2d *l = nn_conv_transpose2d_new(8, 4, 2, 2);           /* twice as high and wide */
        char text[AG_SHAPE_TEXT];
        puts(ag_shape_text(tensor_shape(nn_conv_transpose2d(l, tensor_zeros(SHAPE(1, 8, 16, 16)))), text));
        ag_free(l);
    }
    EXAMPLE(nn_batch_norm) {
        BatchNorm *l = nn_batch_norm_new(1);
        tensor_print(nn_batch_norm(l, tensor_from(SHAPE(2, 1), (ag_real[]){ 2, 4 })));
        tensor_print(l->running_mean);
        ag_free(l);
    }
    EXAMPLE(nn_group_norm) {
        GroupNorm *l = nn_group_norm_new(2, 4);
        tensor_print(nn_group_norm(l, tensor_from(SHAPE(1, 4), (ag_real[]){ 2, 4, 20, 40 })));
        ag_free(l);
    }
    EXAMPLE(nn_sequential) {
        Sequential *s = nn_sequential_new();
        nn_sequential_add(s, nn_linear_new(2, 16));
        nn_sequential_activation(s, AG_RELU);
        nn_sequential_add(s, nn_linear_new(16, 1));
        char text[AG_SHAPE_TEXT];
        puts(ag_shape_text(tensor_shape(nn_sequential(s, tensor_ones(SHAPE(5, 2)))), text));
        ag_free(s);
    }
    EXAMPLE(nn_cross_entropy) {
        Tensor *logits = variable(tensor_zeros(SHAPE(2, 3)));
        Tensor *loss = nn_cross_entropy(logits, tensor_ints(SHAPE(2), (int32_t[]){ 0, 2 }));
        tensor_print(loss);                                             /* ln 3 */
        ag_backward(loss);
        tensor_print(tensor_grad(logits));
    }
    EXAMPLE(nn_gru_new) {
        Recurrent *r = nn_gru_new(3, 4);
        nn_summary(r, stdout);
        ag_free(r);
    }
    EXAMPLE(nn_recurrent_keep) {
        Recurrent *r = nn_recurrent_new_with(NN_LSTM, 3, 4, 2, false, 0);   /* two layers */
        RecurrentState kept = { 0 };
        for (int part = 0; part < 3; part++) {
            AgScope inner = ag_begin(AG_RECORD);
            RecurrentState state = kept;
            nn_recurrent(r, tensor_ones(SHAPE(1, 5, 3)), NULL, &state);
            nn_recurrent_keep(&kept, &state);
            ag_end(inner);
        }
        char text[AG_SHAPE_TEXT];
        puts(ag_shape_text(tensor_shape(kept.h), text));
        nn_recurrent_keep(&kept, NULL);                                     /* frees it */
        ag_free(r);
    }
    EXAMPLE(nn_recurrent_step) {
        Recurrent *r = nn_gru_new(3, 4);
        RecurrentState state = { 0 };
        for (int t = 0; t < 5; t++) nn_recurrent_step(r, tensor_ones(SHAPE(2, 3)), &state);
        tensor_print(state.h);
        ag_free(r);
    }
    EXAMPLE(nn_recurrent) {
        Recurrent *r = nn_lstm_new(3, 4);
        RecurrentState state = { 0 };
        Tensor *y = nn_recurrent(r, tensor_ones(SHAPE(2, 5, 3)), NULL, &state);
        char text[AG_SHAPE_TEXT];
        printf("y %s", ag_shape_text(tensor_shape(y), text));
        printf(", h %s", ag_shape_text(tensor_shape(state.h), text));
        printf(", c %s\n", ag_shape_text(tensor_shape(state.c), text));
        ag_free(r);
    }
}

static void attention(void)
{
    EXAMPLE(nn_causal_mask) {
        nn_mask_print(stdout, nn_causal_mask(4));
    }
    EXAMPLE(nn_padding_mask) {
        Tensor *ids = tensor_ints(SHAPE(2, 4), (int32_t[]){ 5, 6, 7, 0, 5, 0, 0, 0 });
        nn_mask_print(stdout, nn_padding_mask(ids, 0));
    }
    EXAMPLE(nn_attention) {
        Tensor *x = tensor_normal(SHAPE(3, 4), 0, 1), *weights;
        nn_attention(x, x, x, ag_squeeze(nn_causal_mask(3), 0), NULL, &weights);
        tensor_print(weights);
    }
    EXAMPLE(nn_score) {
        NnScore *s = nn_score_new(NN_SCORE_ADDITIVE, 4, 6, 8);          /* queries of width 4, keys of width 6 */
        char text[AG_SHAPE_TEXT];
        puts(ag_shape_text(tensor_shape(nn_score(s, tensor_ones(SHAPE(2, 4)), tensor_ones(SHAPE(3, 6)))), text));
        ag_free(s);
    }
    EXAMPLE(nn_multi_head_attention) {
        MultiHeadAttention *a = nn_multi_head_attention_new(2, 8, 0.1);
        nn_eval(a);
        a->keep_weights = true;
        Tensor *x = tensor_normal(SHAPE(1, 3, 8), 0, 1);
        nn_multi_head_attention(a, x, x, x, nn_causal_mask(3));
        tensor_print(a->weights);
        ag_free(a);
    }
    EXAMPLE(nn_cache_new) {
        MultiHeadAttention *a = nn_multi_head_attention_new(2, 8, 0);
        NnCache *cache = nn_cache_new(1, 16);
        AgScope generation = ag_begin(AG_NO_GRAD);
        for (int t = 0; t < 3; t++) {
            Tensor *x = tensor_normal(SHAPE(1, 1, 8), 0, 1);            /* one new position */
            nn_multi_head_attention_cached(a, x, x, x, NULL, cache, 0);
        }
        printf("%lld positions\n", (long long)cache->layer[0].length);
        ag_end(generation);
        ag_free(cache);
        ag_free(a);
    }
    EXAMPLE(nn_positional_encoding) {
        PositionalEncoding *p = nn_positional_encoding_new(4, 0, 100);
        tensor_print(nn_positional_encoding(p, tensor_zeros(SHAPE(1, 3, 4))));
        ag_free(p);
    }
    EXAMPLE(nn_positionwise_feed_forward) {
        PositionwiseFeedForward *f = nn_positionwise_feed_forward_new(8, 32, 0.1, AG_GELU);
        printf("%lld numbers\n", (long long)nn_count(f));
        ag_free(f);
    }
    EXAMPLE(nn_sublayer_in) {
        SublayerConnection *s = nn_sublayer_connection_new(4, 0, NN_PRE_NORM, AG_NORM_PYTORCH);
        Tensor *x = tensor_arange(0, 4, 1);
        Tensor *h = ag_tanh(nn_sublayer_in(s, x));                      /* the sublayer */
        tensor_print(nn_sublayer_out(s, x, h));
        ag_free(s);
    }
}

static void files(void)
{
    EXAMPLE(nn_settings_new) {
        NnSettings *s = nn_settings_new();
        nn_settings_set(s, "width", "%d", 64);
        int64_t width, depth;
        if (nn_settings_int(s, "width", &width)) printf("%lld\n", (long long)width);
        if (!nn_settings_int(s, "depth", &depth)) puts(ag_error());
        ag_free(s);
    }
    EXAMPLE(nn_options_read) {
        int64_t steps = 100;
        double lr = 1e-3;
        const NnField own[] = {
            NN_OPTION("steps", steps, 1, 1000, "training steps"),
            NN_OPTION("lr", lr, 0, 1, "learning rate"),
            NN_FIELDS_END
        };
        const NnFields fields = { .prefix = "option.", .field = own };
        const NnOptions options[] = { { &fields, NULL }, { NULL, NULL } };
        char *argv[] = { "program", "--steps", "20", "--lr=2" };
        for (int i = 1; i < 4; )
            if (!nn_options_read(options, 4, argv, &i)) puts(ag_error());
        nn_options_print(options, stdout);
    }
    EXAMPLE(nn_freeze_bf16) {
        Linear *l = nn_linear_new_no_bias(2, 1);
        ag_fill(l->weight, 0.5);
        nn_freeze_bf16(l);
        ag_precision(AG_BF16);
        tensor_print(nn_linear(l, tensor_ones(SHAPE(1, 2))));
        tensor_print(ag_from_bf16(l->weight));                          /* the weight as reals */
        ag_precision(AG_FLOAT32);
        ag_free(l);
    }
    EXAMPLE(nn_load) {
        Linear *a = nn_linear_new(2, 3), *b = nn_linear_new(2, 3), *small = nn_linear_new(2, 2);
        printf("%d\n", nn_save("example.safetensors", a) && nn_load("example.safetensors", b));
        if (!nn_load("example.safetensors", small)) puts(ag_error());
        ag_free(a);
        ag_free(b);
        ag_free(small);
    }
    EXAMPLE(nn_checkpoint_save) {
        Linear *a = nn_linear_new(2, 3), *b = nn_linear_new(2, 3);
        Optimizer *first = nn_adam_new(a, 0.01), *second = nn_adam_new(b, 0.01);
        AgScope inner = ag_begin(AG_RECORD);
        ag_backward(ag_sum(nn_linear(a, tensor_ones(SHAPE(1, 2)))));
        nn_optimizer_step(first);
        ag_end(inner);
        if (nn_checkpoint_save("example.safetensors", a, first, NULL) &&
            nn_checkpoint_load("example.safetensors", b, second, NULL))
            printf("goes on after step %d\n", (int)nn_optimizer_steps(second));
        ag_free(first);
        ag_free(second);
        ag_free(a);
        ag_free(b);
    }
    EXAMPLE(tensor_save) {
        Tensor *x = tensor_arange(0, 3, 1), *ids = tensor_ints(SHAPE(2), (int32_t[]){ 7, 8 });
        bool saved = tensor_save("example.npz", { "x", x }, { "ids", ids });    /* np.load("example.npz")["ids"] */
        printf("%d\n", saved);
        tensor_print(tensor_load("example.npz", "ids"));
    }
    EXAMPLE(nn_lora_add) {
        Net *net = net_new();
        int64_t before = nn_count(net);
        static const char *const targets[] = { "hidden", NULL };
        bool added = nn_lora_add(net, (NnLoraOptions){ .rank = 1, .alpha = 2, .targets = targets });
        printf("%d: %lld numbers to train, before %lld\n", added, (long long)nn_count(net), (long long)before);
        ag_free(net);
    }
}

int main(void)
{
    modules();
    layers();
    attention();
    files();
    return 0;
}
