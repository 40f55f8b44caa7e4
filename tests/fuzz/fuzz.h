/* fuzz.h: checks that the fuzz targets share. */
#ifndef KAERU_TESTS_FUZZ_H
#define KAERU_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kaeru/autograd.h"

/* libFuzzer calls this. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Stops the fuzzer if the condition is false; it then saves the input. */
#define CHECK(condition)                                                                    \
    do {                                                                                    \
        if (condition) break;                                                               \
        fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition);             \
        abort();                                                                            \
    } while (0)

/* The message of a refused file must be one line of printable characters that starts with `name`. */
void fuzz_check_refusal(const char *name);

#endif
