/* engine.h: what the parts of the page's engine share. The engine is kaeru, compiled to WebAssembly, with functions for the
 * page's scripts.
 *
 * A script calls an exported function, whose arguments and result are numbers. A text for it is written to engine_text() first.
 * What the function prints to stdout, mostly JSON, is the answer. A usage error leaves the function by an exception of the
 * script; call_end then ends the scopes that are still open, as after a longjmp. */
#ifndef KAERU_PAGE_ENGINE_H
#define KAERU_PAGE_ENGINE_H

#include <stdint.h>

#include "kaeru/autograd.h"

#define EXPORT(name) __attribute__((export_name(#name))) name
#define IMPORT(name) __attribute__((import_module("page"), import_name(#name))) name

/* The text that the script has written, with a NUL behind it. */
const char *the_text(void);
/* A number in JSON; NaN is null, infinity a number so large that scripts read it as infinity. */
void json_number(double x);
/* "KEY": [..] of n numbers, or "KEY": null if x is NULL. */
void json_reals(const char *key, const ag_real *x, int64_t n);
/* Of an array of 0..n-1 numbers that stays valid: for the script to read from memory. */
float *the_numbers(int64_t n);
/* All numbers of a model to engine_numbers, or back from there: the page keeps those of each step, for its history. Returns how
 * many they are. */
int copy_weights(void *model, bool back);
/* One JSON object for the graph of a loss, with the numbers of each step of the backward pass. */
void json_trace(Tensor *loss);

#endif
