/* lm_options.c: the options of a language model's training as a table. */
#include "kaeru/lm.h"

#define LARGEST 1e15
#define FIELD(name, ...) NN_FIELD(#name, LmOptions, name, __VA_ARGS__)
static const NnField fields[] = {
    FIELD(steps, 2000, 1, LARGEST, "training steps"),
    FIELD(batch, 12, 1, 1 << 24, "windows of the text, or examples, in a batch"),
    FIELD(accumulate, 1, 1, 1 << 24, "batches in a step"),
    FIELD(window, 0, 0, 1 << 30, "tokens of a window, or of an example at most; 0: the model's context"),
    FIELD(warmup, 100, 0, LARGEST, "steps until the learning rate is highest"),
    FIELD(lr, 1e-3, 0, 1000, "highest learning rate of AdamW"),
    FIELD(lr_min, 1e-4, 0, 1000, "learning rate at the end", .option = "lr-min"),
    FIELD(beta1, 0.9, 0, 1, "beta1 of AdamW", .below = true),
    FIELD(beta2, 0.99, 0, 1, "beta2 of AdamW", .below = true),
    FIELD(weight_decay, 0.1, 0, 1000, "weight decay of AdamW, for matrices", .option = "decay"),
    FIELD(clip, 1, 0, LARGEST, "largest norm of all gradients together; 0: no limit"),
    FIELD(evaluate_every, 250, 1, LARGEST, "steps from one evaluation and checkpoint to the next", .option = "every"),
    FIELD(evaluate_tokens, 0, 0, LARGEST, "about how many tokens an evaluation reads; 0: all", .option = "held-out"),
    FIELD(shards, 1, 1, 1 << 24, NULL, .optional = true),
    NN_FIELDS_END
};

const NnFields lm_fields = { "train.", sizeof(LmOptions), fields, NULL };
