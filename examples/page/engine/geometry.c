/* geometry.c: self-attention in the plane, with the functions and the matrices of the example. */
#include "engine.h"

int attention_geometry_main(int argc, char **argv);
#define main attention_geometry_main
#include "../../attention_geometry.c"
#undef main

enum { MOST_LAYERS = 8 };

/* Reads the N words from engine_numbers, as (x, y) pairs. Prints {weights, layers: [polygon, ...], areas}: polygon 0 is that of
 * the words. */
void EXPORT(geometry_attend)(double temperature, int n)
{
    AgScope scope = ag_begin(AG_NO_GRAD);
    AgShape square = SHAPE(D, D);
    Maps w = { tensor_from(square, query[0]), tensor_from(square, key[0]), tensor_from(square, value[0]) };
    Tensor *x = tensor_from(SHAPE(N, D), the_numbers(N * D)), *weights = NULL;
    ag_real areas[MOST_LAYERS + 1] = { (ag_real)area(x) };
    printf("{\"layers\":[{");
    json_reals("points", tensor_data(x), N * D);
    for (int i = 1; i <= n && i <= MOST_LAYERS; i++) {
        x = attend(w, x, temperature, &weights);
        areas[i] = (ag_real)area(x);
        printf("},{");
        json_reals("points", tensor_data(x), N * D);
        putchar(',');
        json_reals("weights", tensor_data(weights), N * N);
    }
    printf("}],");
    json_reals("areas", areas, n + 1);
    putchar('}');
    ag_end(scope);
}

/* Writes the words of the example to engine_numbers. */
void EXPORT(geometry_words)(void)
{
    for (int i = 0; i < N * D; i++)
        the_numbers(N * D)[i] = words[i / D][i % D];
}
