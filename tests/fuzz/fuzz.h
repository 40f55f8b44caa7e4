/* fuzz.h: what the targets check alike. */
#ifndef KAERU_TESTS_FUZZ_H
#define KAERU_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kaeru/autograd.h"

/* What libFuzzer calls. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Stops the fuzzer, which then keeps the input. */
#define CHECK(condition)                                                                    \
    do {                                                                                    \
        if (condition) break;                                                               \
        fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition);             \
        abort();                                                                            \
    } while (0)

/* What was refused must have been refused in one line that names the file. */
void fuzz_check_refusal(const char *name);

#endif
