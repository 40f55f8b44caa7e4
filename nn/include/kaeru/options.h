/* options.h: options by the table of their fields: written to and read from the settings of a checkpoint, and set by a command
 * line. A program's own variables are described in the same way:
 *
 *     static int64_t steps = 100;
 *     static const NnField own[] = { NN_OPTION("steps", steps, 1, 1000000, "training steps"), NN_FIELDS_END };
 *     static const NnFields own_fields = { .prefix = "option.", .field = own };
 *     GPTOptions size = gpt_defaults();
 *     const NnOptions options[] = { { &own_fields, NULL }, { &gpt_fields, &size }, { NULL, NULL } };
 *     for (int i = 1; i < argc; )                                                     program --steps 20 --layers=6
 *         if (!nn_options_read(options, argc, argv, &i)) { fprintf(stderr, "%s\n", ag_error()); return 2; }
 */
#ifndef KAERU_OPTIONS_H
#define KAERU_OPTIONS_H

#include <stdio.h>

#include "kaeru/fields.h"
#include "kaeru/settings.h"

AG_PUBLIC_BEGIN

/* ---- settings ---------------------------------------------------------------------------------------------------- */

/* Writes the settings, such as "gpt.layers". */
void nn_fields_to_settings(const NnFields *fields, const void *o, NnSettings *s);
/* Reads and checks them. If this fails, returns false with ag_error(), and the struct is as before. Texts belong to `s`. */
bool nn_fields_from_settings(const NnFields *fields, void *o, const NnSettings *s) AG_MUST_CHECK;

/* ---- a command line ---------------------------------------------------------------------------------------------- */

/* A table and its struct, which is NULL if all values are in variables. A list ends with { NULL, NULL }. */
typedef struct { const NnFields *fields; void *of; } NnOptions;
/* Reads argv[*i], "--name=value", "--name" of a bool, or "--name" with the value argv[*i + 1], and moves *i behind it. False
 * with ag_error() if it is no option of the list or the value is out of range. A text is not copied. */
bool nn_options_read(const NnOptions *list, int argc, char **argv, int *i);
/* Prints a line for each option, with its present value as the default. */
void nn_options_print(const NnOptions *list, FILE *out);

#include "kaeru/calls/options.h"

AG_PUBLIC_END
#endif
