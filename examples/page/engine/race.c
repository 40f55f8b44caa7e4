/* race.c: two networks that differ in how they connect their blocks f. The blocks, initial weights, targets and loss are those
 * of the example skip_connection, and the connections are the rows of skip_lab. */
#include <math.h>
#include <string.h>

#include "common/loss_shape.h"
#include "engine.h"
#include "skip_lab/lab.h"

/* Several races with different random numbers are on the page at once; the landscape has one of its own, the last one. */
enum { RACE_ROWS = 100, WIDTH = 10, RACES = 9 };
typedef struct { Module *racer[2]; Optimizer *adam[2]; Tensor *x, *y; } Race;
static Race race[RACES];
static int hidden;

/* ---- what the rows of skip_lab are built from -------------------------------------------------------------------- */

typedef struct { Module module; Linear *fc1, *fc2; } Block;

/* f(x) = ReLU(x W1 + b1) W2 + b2: (N,D) -> (N,D) */
static Tensor *block(Block *f, Tensor *x) { return nn_linear(f->fc2, nn_linear_activate(f->fc1, x, AG_RELU)); }

ModuleList *branches_new(const Parts *p, int64_t growth)
{
    ModuleList *list = nn_list_new();
    for (int i = 0; i < p->n; i++) {
        Block *f = nn_new(Block);
        nn_child(f, fc1, nn_linear_new(p->width + growth * i, hidden));
        nn_child(f, fc2, nn_linear_new(hidden, p->width));
        setup_init(p->setup, f->fc1, f->fc2);
        nn_list_add(list, f);
    }
    return list;
}

Tensor *branch(ModuleList *f, int i, Tensor *x) { return block(nn_item(Block, f, i), x); }

static struct { Tensor *at[MAX_DEPTH + 1]; int n; bool keeps; } noted;

Tensor *note(Tensor *x)
{
    if (!noted.keeps) return x;
    return noted.at[noted.n++] = ag_retain(x);
}

/* ---- a race ------------------------------------------------------------------------------------------------------ */

/* Prints the keys of the rows for such networks, in their order. */
void EXPORT(race_rows)(void)
{
    for (int i = 0, n = 0; i < rows_count(); i++) {
        if (!rows[i].in[FFN]) continue;
        printf("%s\"%s\"", n++ ? "," : "[", rows[i].key);
    }
    printf("]");
}

static const Row *row_of(int place)
{
    for (int i = 0; i < rows_count(); i++) {
        if (rows[i].in[FFN] && place-- == 0) return &rows[i];
    }
    return &rows[0];
}

/* `init` and `target` are places in these lists, `first` and `second` in that of race_rows. */
void EXPORT(race_begin)(int k, int blocks, int width, int seed, int init, int target, int first, int second)
{
    static const char *const inits[] = { "default", "he", "xavier", "small-last" };
    static const char *const targets[] = { "identity", "minus", "matrix" };
    const Setup setup = { inits[init], "adam", targets[target] };
    const int places[2] = { first, second };
    Race *r = &race[k];
    hidden = width;
    ag_seed((uint64_t)seed);
    if (!r->x) {
        r->x = tensor_new_owned(SHAPE(RACE_ROWS, WIDTH), AG_REAL);
        r->y = tensor_new_owned(SHAPE(RACE_ROWS, WIDTH), AG_REAL);
    }
    ag_fill_normal(r->x, 0, 1);
    for (int i = 0; i < 2; i++) {
        const Row *row = row_of(places[i]);
        ag_free(r->adam[i]);
        ag_free(r->racer[i]);
        r->racer[i] = row->make(&(Parts){ FFN, blocks, WIDTH, row->bare, &setup });
        r->adam[i] = setup_optimizer(&setup, r->racer[i], 0.003);
    }
    AgScope scope = ag_begin(AG_NO_GRAD);
    memcpy(tensor_mutable_data(r->y), tensor_data(setup_target(&setup, r->x)), RACE_ROWS * WIDTH * sizeof(ag_real));
    ag_end(scope);
}

static Tensor *loss_of(const Race *r, int i, Tensor *x) { return nn_mse_loss(r->racer[i]->forward(r->racer[i], x), r->y); }

/* Takes a step of both networks of race k, and prints their losses. */
void EXPORT(race_train)(int k)
{
    for (int i = 0; i < 2; i++) {
        AgScope step = ag_begin(AG_RECORD);
        Tensor *loss = loss_of(&race[k], i, race[k].x);
        printf(i ? "," : "[");
        json_number(tensor_item(loss));
        ag_backward(loss);
        nn_optimizer_step(race[k].adam[i]);
        ag_end(step);
    }
    printf("]");
}

/* The gradient and the signal at each block; block 0 stands for the input. */
static void print_blocks(const Race *r, int i)
{
    ag_real gradient[MAX_DEPTH + 1], signal[MAX_DEPTH + 1];
    AgScope look = ag_begin(AG_RECORD);
    noted.n = 0;
    noted.keeps = true;
    Tensor *loss = loss_of(r, i, note(tensor_set_requires_grad(ag_detach(r->x), true)));
    noted.keeps = false;
    ag_backward(loss);
    for (int b = 0; b < noted.n; b++) {
        Tensor *at = noted.at[b];
        gradient[b] = (ag_real)sqrt(ag_grad_sum_squares(at));
        signal[b] = (ag_real)sqrt(tensor_item(ag_mean(ag_mul(at, at))));
    }
    nn_zero_grad(r->racer[i]);
    ag_end(look);
    putchar('{');
    json_reals("gradient", gradient, noted.n);
    putchar(',');
    json_reals("signal", signal, noted.n);
    putchar('}');
}

/* Prints [{gradient, signal}, ...] of both networks of race k: a number for the input and one for each block. */
void EXPORT(race_norms)(int k)
{
    putchar('[');
    print_blocks(&race[k], 0);
    putchar(',');
    print_blocks(&race[k], 1);
    putchar(']');
}

/* ---- the loss around the weights --------------------------------------------------------------------------------- */

static Race *const mapped = &race[RACES - 1];
static Slice *plane[2];
static Tensor **power[2];                                   /* turns to the eigenvector */

/* Chooses a plane through the weights of network i, and prints the loss there and the largest curvature in the plane. The
 * power iteration starts anew. */
void EXPORT(landscape_begin)(int i, int seed)
{
    for (int k = 0; plane[i] && k < plane[i]->n; k++) {
        tensor_free(power[i][k]);
    }
    ag_free(power[i]);
    slice_free(plane[i]);
    plane[i] = slice_new(mapped->racer[i], (uint64_t)seed);
    power[i] = ag_alloc((size_t)plane[i]->n, sizeof *power[i]);
    for (int k = 0; k < plane[i]->n; k++) {
        power[i][k] = tensor_new_owned(tensor_shape(plane[i]->p[k]), AG_REAL);
        ag_fill_normal(power[i][k], 0, 1);
    }
    AgScope scope = ag_begin(AG_RECORD);
    Tensor *loss = loss_of(mapped, i, mapped->x);
    printf("{\"loss\":");
    json_number(tensor_item(loss));
    printf(",\"slice\":");
    json_number(slice_curvature(plane[i], loss));
    printf("}");
    ag_end(scope);
}

/* Takes a round of the power iteration; the second derivative of the loss along its direction. */
double EXPORT(landscape_round)(int i)
{
    AgScope scope = ag_begin(AG_RECORD);
    double curvature = largest_curvature(loss_of(mapped, i, mapped->x), plane[i]->p, power[i], plane[i]->n, 1);
    ag_end(scope);
    return curvature;
}

/* The losses of row k of the map, n x n points from -1 to 1 times each direction, in engine_numbers. */
void EXPORT(landscape_row)(int i, int n, int k)
{
    AgScope scope = ag_begin(AG_NO_GRAD);
    for (int j = 0; j < n; j++) {
        slice_move(plane[i], 2.0 * j / (n - 1) - 1, 1 - 2.0 * k / (n - 1));
        the_numbers(n)[j] = (float)tensor_item(loss_of(mapped, i, mapped->x));
    }
    slice_move(plane[i], 0, 0);
    ag_end(scope);
}
