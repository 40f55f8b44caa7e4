/* common.h: what the programs of this folder share, so that each of them is only its lesson: options, data files, a
 * progress line, curves in the terminal, pictures by gnuplot and Graphviz.
 *
 *     int main(int argc, char **argv)
 *     {
 *         int64_t steps = 100;
 *         const Option options[] = { option_int("steps", &steps, 1, 1000000, "training steps"), OPTIONS_END };
 *         example_begin(argc, argv, &(Program){ "lesson", "What it shows.", options });
 *         Csv *csv = csv_open("lesson.csv", "step,loss");
 *         ...
 *         csv_row(csv, step, loss);
 *         ...
 *         csv_close(csv);
 *         picture_draw("lesson");
 *         return example_end();
 *     }
 *
 * What goes wrong outside the program (options, files) is told in one line on stderr and ends it: status 2 if the
 * command line is to blame, 1 otherwise. */
#ifndef KAERU_EXAMPLES_COMMON_H
#define KAERU_EXAMPLES_COMMON_H

#include "kaeru/nn.h"

/* ---- options ----------------------------------------------------------------------------------------------------- */

typedef enum { OPTION_END, OPTION_INT, OPTION_REAL, OPTION_TEXT, OPTION_FLAG } OptionKind;
/* `value` points to an int64_t, double, const char * or bool, by kind, that holds the default; texts stay argv's. */
typedef struct { OptionKind kind; const char *name, *unit; void *value; double low, high; const char *help; } Option;

/* --name N, a whole number in low..high (both within +-2^53) */
Option option_int(const char *name, int64_t *value, int64_t low, int64_t high, const char *help);
/* --name X, a number in low..high */
Option option_real(const char *name, double *value, double low, double high, const char *help);
/* --name UNIT, any text; `unit` is what --help calls it: "FILE" */
Option option_text(const char *name, const char *unit, const char **value, const char *help);
/* --name, which makes *value true */
Option option_flag(const char *name, bool *value, const char *help);
#define OPTIONS_END ((Option){ OPTION_END, NULL, NULL, NULL, 0, 0, NULL })

/* `name` as in messages ("gpt train" for one of several commands); `teaches`: lines for --help. */
typedef struct { const char *name, *teaches; const Option *options; } Program;

/* Reads the options given and those of every example (--seed, --threads, --out, --help), seeds the generator and sets
 * the threads; what is printed is seen line by line. Returns only if all is well. */
void example_begin(int argc, char **argv, const Program *program);
/* The status for main to return: 1 after a complaint, or if something printed could not be written, else 0. */
int example_end(void);
/* What messages call the program until example_begin says it. */
void example_called(const char *name);
/* Ends the program with status 1: "name: message". */
_Noreturn void example_fail(const char *format, ...) AG_PRINTF(1, 2);
/* The same with status 2: the command line is to blame. */
_Noreturn void example_usage_error(const char *format, ...) AG_PRINTF(1, 2);
/* As example_fail, but goes on; the status will be 1. */
void example_complain(const char *format, ...) AG_PRINTF(1, 2);
/* The same, but the status stays as it is. */
void example_warn(const char *format, ...) AG_PRINTF(1, 2);
/* The values of options as settings "option.NAME" of a checkpoint, and back: false with ag_error() if one is missing or
 * out of range. Texts stay the settings'. */
void options_to_settings(const Option *options, Settings *s);
bool options_from_settings(const Option *options, const Settings *s);
/* Ends the program, for the command line is to blame, if one of the `n` options that a run cannot change in its middle is
 * not what it was; option NAME is the setting PREFIX.NAME. */
void options_must_stay(const char *prefix, const char *const *name, int n, const Settings *before, const Settings *now);
int64_t example_seed(void);
const char *example_out(void);                                          /* the output folder */
/* The path of a file in the output folder, which is made if missing (and goes again if the program fails before it has
 * written anything); the caller frees it with ag_free. */
char *example_path(const char *name);
/* The path of a file in the folder of another one; free it with ag_free. */
char *example_path_beside(const char *path, const char *name);
bool example_utf8(void);                                                /* whether the locale's text is UTF-8 */

/* A program of several commands, each with options of its own: its main calls this and returns the status. `standard`
 * is the one that is meant where none is named, NULL: one must be; `start`: lines that show how to begin. */
typedef struct { const char *name; int (*run)(int argc, char **argv); const char *does; } Command;
#define COMMANDS_END { NULL, NULL, NULL }
typedef struct { const char *name, *teaches; const Command *command; const char *standard, *start; } Commands;
int example_commands(int argc, char **argv, const Commands *commands);

/* ---- data files ---------------------------------------------------------------------------------------------------
 * Columns of numbers under a header, kept for charts and written as comma-separated values, the same bytes in every
 * locale. Rows are in NAME.part, complete, as soon as they are made; closing gives it its name. An older file of that
 * name stays until then. */
typedef struct Csv Csv;
Csv *csv_open(const char *name, const char *header);                    /* in the output folder; header "step,loss" */
/* The same for a run that is gone on with: begins with the rows of the earlier file, finished or not, whose first
 * number is at most `last`. */
Csv *csv_resume(const char *name, const char *header, double last);
/* csv_row(csv, step, loss): as many numbers as the header has names; enough digits to restore a float. */
#define csv_row(csv, ...) csv_named_row(csv, NULL, __VA_ARGS__)
/* csv_named_row(csv, "ペン", x, y): the first column is a text, for labels; csv_get has NaN there. (gnuplot
 * passes over a row whose name holds a quotation mark.) */
#define csv_named_row(csv, name, ...) \
    csv_numbers(csv, name, (int)(sizeof((double[]){ __VA_ARGS__ }) / sizeof(double)), (double[]){ __VA_ARGS__ })
void csv_numbers(Csv *csv, const char *name, int n, const double *value);       /* name NULL: all are numbers */
int64_t csv_rows(const Csv *csv);
int csv_column(const Csv *csv, const char *name);                       /* misuse if there is none */
double csv_get(const Csv *csv, int64_t row, int column);
void csv_close(Csv *csv);                                               /* frees it and says where the file is */

/* ---- progress -----------------------------------------------------------------------------------------------------
 * One line on stderr, "training 42 of 100, loss 0.12, 3 s left", that is written over and vanishes at the end. It
 * appears only on a terminal, and only if the work is going to last over two seconds. */
typedef struct { const char *what; int64_t total; double start, shown; bool terminal; } Progress;
double example_seconds(void);                                           /* of a clock that only goes on */
Progress progress_begin(const char *what, int64_t total);
void progress_show(Progress *p, int64_t done, const char *format, ...) AG_PRINTF(3, 4);
void progress_end(Progress *p);

/* ---- curves in the terminal ---------------------------------------------------------------------------------------
 * Columns of a data file over another one, x, which must grow: dots of Braille where the locale is UTF-8, plain
 * characters elsewhere, colors on a terminal unless NO_COLOR is set; then a few of the points as numbers. Points that
 * are not finite (or not positive, on a logarithmic axis) are left out. */
enum { CHART_CURVES = 4 };                                              /* at most */
typedef struct { const char *title, *x; bool log_y; struct { const char *column, *name; } curve[CHART_CURVES]; } Chart;
void chart_print(const Csv *data, const Chart *chart);

/* ---- pictures -----------------------------------------------------------------------------------------------------
 * Lets gnuplot run plots/NAME.gp in the output folder, where it finds the data and leaves NAME.png and NAME.svg; says
 * where they are. Without gnuplot it says how to get it, and the command to draw the picture then. If drawing fails,
 * that is told and the program goes on. */
void picture_draw(const char *name);
/* The graph behind a loss as a film of its backward pass (ag_graph_frame): writes NAME_00.dot, NAME_01.dot, ... into
 * the output folder and lets Graphviz draw each as PNG and SVG, or says how to get it. */
void picture_frames(const char *name, Tensor *loss);

#endif
