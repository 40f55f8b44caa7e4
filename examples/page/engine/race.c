/* race.c: f(x) against x + f(x). The networks, their loss and their step are those of the example. */
#include "engine.h"

int skip_connection_main(int argc, char **argv);
#define main skip_connection_main
#include "../../skip_connection.c"
#undef main

enum { RACE_ROWS = 100 };
static Stack *racer[2];
static Optimizer *racer_adam[2];
static Tensor *race_x;
static double last[2];

void EXPORT(race_begin)(int blocks, int width, int seed)
{
    for (int k = 0; k < 2; k++) {
        ag_free(racer_adam[k]);
        if (racer[k])
            ag_free(racer[k]);
    }
    hidden = width;
    lr = 0.003;
    ag_seed((uint64_t)seed);
    if (!race_x)
        race_x = tensor_new_owned(SHAPE(RACE_ROWS, WIDTH), AG_REAL);
    ag_fill_normal(race_x, 0, 1);
    for (int k = 0; k < 2; k++) {
        racer[k] = stack_new(blocks, k == 1);
        racer_adam[k] = nn_adam_new(racer[k], lr);
    }
}

/* Takes n steps of both and prints the losses of the last one. */
void EXPORT(race_train)(int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 2; k++)
            last[k] = train_step(racer[k], racer_adam[k], race_x);
    printf("[");
    json_number(last[0]);
    printf(",");
    json_number(last[1]);
    printf("]");
}

/* Prints the norm of the gradient at the input and at the output of each block, of both. */
void EXPORT(race_norms)(void)
{
    int n = racer[0]->blocks->n + 1;
    for (int k = 0; k < 2; k++) {
        double norm[MAX_DEPTH + 1];
        ag_real shown[MAX_DEPTH + 1];
        gradient_norms(racer[k], race_x, norm);
        for (int i = 0; i < n; i++)
            shown[i] = (ag_real)norm[i];
        printf(k ? "," : "{");
        json_reals(k ? "skip" : "plain", shown, n);
    }
    printf("}");
}
