/* lm_options.c: the options of a language model's training: defaults, ranges, settings of a checkpoint. */
#include "fields.h"
#include "kaeru/lm.h"

LmOptions lm_defaults(void)
{
    return (LmOptions){ .steps = 2000, .batch = 12, .accumulate = 1, .shards = 1, .warmup = 100, .lr = 1e-3, .lr_min = 1e-4,
                        .beta1 = 0.9, .beta2 = 0.99, .weight_decay = 0.1, .clip = 1, .evaluate_every = 250 };
}

#define LARGEST 1e15
static const Field fields[] = {
    { "train.steps",           FIELD_INT64,  offsetof(LmOptions, steps), 0, LARGEST, false },
    { "train.batch",           FIELD_INT64,  offsetof(LmOptions, batch), 1, 1 << 24, false },
    { "train.accumulate",      FIELD_INT64,  offsetof(LmOptions, accumulate), 1, 1 << 24, false },
    { "train.window",          FIELD_INT64,  offsetof(LmOptions, window), 0, 1 << 30, false },
    { "train.warmup",          FIELD_INT64,  offsetof(LmOptions, warmup), 0, LARGEST, false },
    { "train.lr",              FIELD_DOUBLE, offsetof(LmOptions, lr), 0, 1000, false },
    { "train.lr_min",          FIELD_DOUBLE, offsetof(LmOptions, lr_min), 0, 1000, false },
    { "train.beta1",           FIELD_DOUBLE, offsetof(LmOptions, beta1), 0, 1, true },
    { "train.beta2",           FIELD_DOUBLE, offsetof(LmOptions, beta2), 0, 1, true },
    { "train.weight_decay",    FIELD_DOUBLE, offsetof(LmOptions, weight_decay), 0, 1000, false },
    { "train.clip",            FIELD_DOUBLE, offsetof(LmOptions, clip), 0, LARGEST, false },
    { "train.evaluate_every",  FIELD_INT64,  offsetof(LmOptions, evaluate_every), 1, LARGEST, false },
    { "train.evaluate_tokens", FIELD_INT64,  offsetof(LmOptions, evaluate_tokens), 0, LARGEST, false },
};
enum { N_FIELDS = sizeof fields / sizeof *fields };
/* Checkpoints of runs without shards do not have it. */
static const Field shards = { "train.shards", FIELD_INT64, offsetof(LmOptions, shards), 1, 1 << 24, false };

bool lm_check_at(AgSite at, const LmOptions *o)
{
    ag_check_pointer_at(at, __func__, "o", o);
    return fields_check(fields, N_FIELDS, o) && fields_check(&shards, 1, o);
}

void lm_to_settings_at(AgSite at, const LmOptions *o, NnSettings *s)
{
    AG_LAYER(at);
    ag_check_pointer_at(at, __func__, "o", o);
    ag_check_object_at(at, __func__, "s", s);
    fields_to_settings(fields, N_FIELDS, o, s);
    if (o->shards != 1) fields_to_settings(&shards, 1, o, s);
}

bool lm_from_settings_at(AgSite at, LmOptions *o, const NnSettings *s)
{
    AG_LAYER(at);
    ag_check_pointer_at(at, __func__, "o", o);
    ag_check_object_at(at, __func__, "s", s);
    LmOptions found = { .shards = 1 };
    if (nn_settings_get(s, shards.name) && !fields_from_settings(&shards, 1, &found, s)) return false;
    if (!fields_from_settings(fields, N_FIELDS, o, s)) return false;
    o->shards = found.shards;
    return true;
}
