/* heads.c: the task of the example with a number of heads, which learns step by step. */
#include "engine.h"

int heads_main(int argc, char **argv);
#define main heads_main
#include "../../heads.c"
#undef main

static struct { Reader *reader; Optimizer *adam; AgRandom random; } run;

void EXPORT(heads_begin)(int number, int seed)
{
    ag_free(run.adam);
    ag_free(run.reader);
    ag_seed((uint64_t)seed);
    run.reader = reader_new(number);
    run.adam = nn_adam_new(run.reader, 0.01);
    run.random = ag_random_state();
}

int EXPORT(heads_weights)(int back) { return copy_weights(run.reader, back); }

/* Takes a step; returns the loss before it. */
double EXPORT(heads_train)(void)
{
    ag_set_random_state(run.random);
    AgScope scope = ag_begin(AG_RECORD);
    double right;
    Tensor *loss = loss_of_reading(run.reader, tensor_randint(SHAPE(BATCH, LENGTH), 0, LETTERS), &right);
    ag_backward(loss);
    nn_optimizer_step(run.adam);
    double value = tensor_item(loss);
    ag_end(scope);
    run.random = ag_random_state();
    return value;
}

static void json_letters(const char *key, Tensor *scores)
{
    const int32_t *id = tensor_int_data(ag_argmax(scores, -1, false));
    printf("\"%s\":\"", key);
    for (int i = 0; i < LENGTH; i++) {
        putchar('a' + id[i]);
    }
    printf("\",");
}

/* Prints {before, first, right, weights} for the word of LENGTH letters in the engine's text: what the model answers there, its
 * share of right places in BATCH other words, and the maps of all heads. */
void EXPORT(heads_look)(void)
{
    int32_t word[LENGTH];
    for (int i = 0; i < LENGTH; i++) {
        word[i] = the_text()[i] - 'a';
    }
    double right;
    ag_seed(0);
    loss_of_reading(run.reader, tensor_randint(SHAPE(BATCH, LENGTH), 0, LETTERS), &right);
    Answers a = answers(run.reader, tensor_ints(SHAPE(1, LENGTH), word));
    printf("{");
    json_letters("before", a.before);
    json_letters("first", a.first);
    printf("\"right\":");
    json_number(right);
    putchar(',');
    const Tensor *weights = run.reader->attention->weights;
    json_reals("weights", tensor_data(weights), tensor_numel(weights));
    printf("}");
}
