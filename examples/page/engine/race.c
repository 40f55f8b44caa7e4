/* race.c: f(x) against x + f(x). The networks, their initial weights, targets, loss and step are those of the example. */
#include <string.h>

#include "engine.h"

int skip_connection_main(int argc, char **argv);
#define main skip_connection_main
#include "../../skip_connection.c"
#undef main

/* Several races with different random numbers are on the page at once. Racer 0 is f(x), 1 is x + f(x). */
enum { RACE_ROWS = 100, MOST_RACES = 8 };
typedef struct { Stack *racer[2]; Optimizer *adam[2]; Tensor *x, *y; } Race;
static Race race[MOST_RACES];

/* `init` and `target` are places in these lists. */
void EXPORT(race_begin)(int k, int blocks, int width, int seed, int init, int target)
{
    static const char *const inits[] = { "default", "he", "xavier", "small-last" };
    static const char *const targets[] = { "identity", "minus", "matrix" };
    const Setup setup = { inits[init], "adam", targets[target] };
    Race *r = &race[k];
    hidden = width;
    ag_seed((uint64_t)seed);
    if (!r->x) {
        r->x = tensor_new_owned(SHAPE(RACE_ROWS, WIDTH), AG_REAL);
        r->y = tensor_new_owned(SHAPE(RACE_ROWS, WIDTH), AG_REAL);
    }
    ag_fill_normal(r->x, 0, 1);
    for (int i = 0; i < 2; i++) {
        ag_free(r->adam[i]);
        ag_free(r->racer[i]);
        r->racer[i] = stack_new(&setup, blocks, i == 1);
        r->adam[i] = setup_optimizer(&setup, r->racer[i], 0.003);
    }
    AgScope scope = ag_begin(AG_NO_GRAD);
    memcpy(tensor_mutable_data(r->y), tensor_data(setup_target(&setup, r->x)), RACE_ROWS * WIDTH * sizeof(ag_real));
    ag_end(scope);
}

/* Takes a step of both networks of race k, and prints their losses. */
void EXPORT(race_train)(int k)
{
    for (int i = 0; i < 2; i++) {
        printf(i ? "," : "[");
        json_number(train_step(race[k].racer[i], race[k].adam[i], race[k].x, race[k].y));
    }
    printf("]");
}

static void print_blocks(const char *key, const Race *r, int racer)
{
    Blocks b;
    ag_real gradient[MAX_DEPTH + 1], signal[MAX_DEPTH + 1];
    look_at_blocks(r->racer[racer], r->x, r->y, &b);
    for (int i = 0; i <= b.n; i++) {
        gradient[i] = (ag_real)b.gradient[i];
        signal[i] = (ag_real)b.signal[i];
    }
    printf("\"%s\":{", key);
    json_reals("gradient", gradient, b.n + 1);
    putchar(',');
    json_reals("signal", signal, b.n + 1);
    putchar('}');
}

/* Prints {plain: {gradient, signal}, skip: ...} of race k: a number for the input and one for each block. */
void EXPORT(race_norms)(int k)
{
    putchar('{');
    print_blocks("plain", &race[k], 0);
    putchar(',');
    print_blocks("skip", &race[k], 1);
    putchar('}');
}
