/* race.c: f(x) against x + f(x). The networks, their loss and their step are those of the example. */
#include "engine.h"

int skip_connection_main(int argc, char **argv);
#define main skip_connection_main
#include "../../skip_connection.c"
#undef main

/* Several races with different random numbers are on the page at once. Racer 0 is f(x), 1 is x + f(x). */
enum { RACE_ROWS = 100, MOST_RACES = 8 };
typedef struct { Stack *racer[2]; Optimizer *adam[2]; Tensor *x; } Race;
static Race race[MOST_RACES];

/* The initial weights, by the names of the example's option: default, he, xavier, small-last. */
typedef enum { INIT_DEFAULT, INIT_HE, INIT_XAVIER, INIT_SMALL_LAST } RaceInit;

static void init_weights(Stack *s, RaceInit init)
{
    for (int i = 0; i < s->blocks->n; i++) {
        FFN *f = nn_item(FFN, s->blocks, i);
        if (init == INIT_HE) {
            nn_init_kaiming_uniform(f->fc1->weight, 0);
            nn_init_kaiming_uniform(f->fc2->weight, 1);
        } else if (init == INIT_XAVIER) {
            nn_init_xavier_uniform(f->fc1->weight, 1);
            nn_init_xavier_uniform(f->fc2->weight, 1);
        } else if (init == INIT_SMALL_LAST) {
            ag_fill(f->fc2->weight, 0);
        }
    }
}

void EXPORT(race_begin)(int k, int blocks, int width, int seed, int init)
{
    Race *r = &race[k];
    hidden = width;
    lr = 0.003;
    ag_seed((uint64_t)seed);
    if (!r->x)
        r->x = tensor_new_owned(SHAPE(RACE_ROWS, WIDTH), AG_REAL);
    ag_fill_normal(r->x, 0, 1);
    for (int i = 0; i < 2; i++) {
        ag_free(r->adam[i]);
        ag_free(r->racer[i]);
        r->racer[i] = stack_new(blocks, i == 1);
        init_weights(r->racer[i], (RaceInit)init);
        r->adam[i] = nn_adam_new(r->racer[i], lr);
    }
}

/* Takes a step of both networks of race k, and prints their losses. */
void EXPORT(race_train)(int k)
{
    for (int i = 0; i < 2; i++) {
        printf(i ? "," : "[");
        json_number(train_step(race[k].racer[i], race[k].adam[i], race[k].x));
    }
    printf("]");
}

/* Norms over all rows: of the gradient at the input and at the output of each block, and of these numbers themselves. */
static void print_norms(const char *key, Stack *s, Tensor *x)
{
    double gradient[MAX_DEPTH + 1];
    ag_real signal[MAX_DEPTH + 1], shown[MAX_DEPTH + 1];
    gradient_norms(s, x, gradient);
    AgScope scope = ag_begin(AG_RECORD);
    Tensor *at[MAX_DEPTH + 1] = { x };
    stack(s, x, at + 1);
    int n = s->blocks->n + 1;
    for (int i = 0; i < n; i++) {
        shown[i] = (ag_real)gradient[i];
        signal[i] = (ag_real)sqrt(ag_sum_squares(tensor_data(at[i]), tensor_numel(at[i])));
    }
    ag_end(scope);
    printf("\"%s\":{", key);
    json_reals("gradient", shown, n);
    putchar(',');
    json_reals("signal", signal, n);
    putchar('}');
}

/* Prints {plain: {gradient, signal}, skip: ...} of race k: a number for the input and one for each block. */
void EXPORT(race_norms)(int k)
{
    putchar('{');
    print_norms("plain", race[k].racer[0], race[k].x);
    putchar(',');
    print_norms("skip", race[k].racer[1], race[k].x);
    putchar('}');
}
