/* common.h: what the example programs share: command line options, data files, a progress line, charts in the terminal,
 * pictures by gnuplot and Graphviz. Each program then contains only its lesson.
 *
 *     int main(int argc, char **argv)
 *     {
 *         int64_t steps = 100;
 *         const NnField options[] = { NN_OPTION("steps", steps, 1, 1000000, "training steps"), NN_FIELDS_END };
 *         example_begin(argc, argv, &(Program){ "lesson", "Shows something.", options });
 *         Csv *csv = csv_open("lesson.csv", "step,loss");
 *         ...
 *         csv_row(csv, step, loss);
 *         ...
 *         csv_close(csv);
 *         picture_draw("lesson");
 *         return example_end();
 *     }
 *
 * An error outside the program (options, files) prints one line on stderr and ends the program, with status 2 for an
 * error in the command line and 1 otherwise. */
#ifndef KAERU_EXAMPLES_COMMON_H
#define KAERU_EXAMPLES_COMMON_H

#include <signal.h>
#include <stdio.h>

#include "data_hash.h"
#include "kaeru/fields.h"
#include "kaeru/parallel.h"
#include "kaeru/text.h"

/* ---- options ----------------------------------------------------------------------------------------------------- */

/* `name` as in messages ("gpt train" for one of several commands); `teaches`: lines for --help; `options`: the program's own
 * variables (kaeru/fields.h), which hold the defaults, as a table that ends with NN_FIELDS_END. */
typedef struct { const char *name, *teaches; const NnField *options; } Program;
/* Before example_begin: adds a struct of options of the library, with the program's defaults, to those of the program. */
void example_add_options(const NnFields *fields, void *of);
/* Before example_begin: the program takes an argument that is no option; *argument gets it, if it is given. */
void example_take_argument(const char **argument);
/* The options of the program, its own first, without those of every example. */
const NnOptions *example_options(void);
/* --precision float32|bf16: example_begin sets it for the program (ag_precision). */
extern const char *precision_option;
#define PRECISION_OPTION \
    NN_TEXT_OPTION("precision", "KIND", precision_option, \
                   "of matrix products: float32 (the default), or bf16: operands rounded to bfloat16")

/* Reads the program's options and those of every example (--seed, --threads, --out, --language, --slide, --help), seeds the
 * generator, sets the number of threads, makes stdout line buffered, and replaces standard streams that are closed. Returns
 * only if there is no usage error. */
void example_begin(int argc, char **argv, const Program *program);
/* The exit status for main: 1 after example_complain or if stdout could not be written, else 0. */
int example_end(void);
/* The program's name in messages before example_begin. */
void example_called(const char *name);
/* Prints "name: message" and ends the program with status 1. */
_Noreturn void example_fail(const char *format, ...) AG_PRINTF(1, 2);
/* The same with status 2, for an error in the command line. */
_Noreturn void example_usage_error(const char *format, ...) AG_PRINTF(1, 2);
/* Prints the message and continues; the exit status will be 1. */
void example_complain(const char *format, ...) AG_PRINTF(1, 2);
/* Prints the message and continues; the exit status does not change. */
void example_warn(const char *format, ...) AG_PRINTF(1, 2);
/* Why a file (or stdout) could not be written; NULL if it could. */
const char *example_write_error(FILE *file);
/* Whether a file of that path may be written. False with ag_error() if it is there and not a regular file (a FIFO would block)
 * or, with `device`, a device; if it is a symbolic link that leads to itself; or if an option of this program names it, which
 * may be the data to learn. */
bool example_may_write(const char *path, bool device);
/* Ends the program if not; a device is refused, and so is a file that was named by another path before. */
void example_must_be_output(const char *path);
/* A writer of a file, in place of an older one (kaeru/text.h); ends the program if it cannot be written. */
KaeruWriter *example_create(const char *path);
/* Closes a file that was written; ends the program if it could not be written. */
void example_close(KaeruWriter *file);
int64_t example_seed(void);
int64_t example_threads(void);                                          /* 0: the default */
const char *example_out(void);                                          /* the output folder */
/* The path of a file to write in the output folder. Free it with ag_free. Makes the folder if it is missing; if the program
 * then fails before it has written a file, the folder is removed again. Ends the program if another one, which still runs, has
 * called this for the same folder. */
char *example_path(const char *name);
/* Ends the program if the output folder was moved since it was locked, and another one is in its place, in which another
 * run may write. To be called before files are written later than at the start. */
void example_must_have_folder(void);
/* The path of a file to read in the output folder. Free it with ag_free. */
char *example_input_path(const char *name);
/* The path of a file in the same folder as another file. Free it with ag_free. */
char *example_path_beside(const char *path, const char *name);
bool example_slide(void);                                               /* --slide */
bool example_japanese(void);                                            /* whether text and captions are Japanese */

/* A folder, a slash (unless the folder ends with one) and a name; free it with ag_free. */
char *path_in(const char *folder, const char *name);
/* The content of a file, in memory; bytes is NULL if there is no file. Free it with ag_free(bytes). */
typedef struct { char *bytes; size_t size; } FileContent;
/* Reads a small file, if it is there. Ends the program if it cannot be read or has more than 256 MiB. */
FileContent file_content(const char *path);
/* The content of a file of the folder --model that will be copied beside a new model, which is made to be given away. Ends the
 * program if it is a link out of the folder: a model that was downloaded could lead the copy to a private file. Links to the
 * blobs of Hugging Face's cache are none. `or`: what the message names as another way, ", or --no-merge". */
FileContent file_to_copy(const char *folder, const char *name, const char *or);
/* Writes a file with this content; false with ag_error() if that fails. */
bool file_content_write(const FileContent *c, const char *path);

/* ---- files that are only valid together ---------------------------------------------------------------------------
 * Such as a model's weights and its tokenizer. They are written into a folder of their own, FOLDER/new.part, and replace the
 * old ones when all are complete, so an error leaves the old ones. names[0] is the file without which nobody opens the others.
 * It is removed first and replaced last: after a kill between the two, it is missing, and no program mixes old and new files.
 * Other files of the folder stay as they are. Each new file has the permissions of the old one. A name that is a symbolic link
 * stays one, unless there is no new file. */
typedef struct { char *folder, *staging; const char *const *names; int n; } FileGroup;
/* Ends the program if a file cannot be replaced. Removes what a killed program has left in the folder of the new files. */
FileGroup file_group_begin(const char *folder, const char *const *names, int n);
/* The path to which the new file names[i] is to be written. Free it with ag_free. */
char *file_group_path(const FileGroup *g, int i);
/* Ends the program with the library's message. The new files, which may need much room, are removed. */
_Noreturn void file_group_fail(const FileGroup *g);
/* Replaces the old files; one for which there is no new file is removed. Frees what g has. */
void file_group_replace(FileGroup *g);
/* Removes the files of the folder and the new ones that a killed program has left; and the folder, unless it has others. */
void file_group_remove(const char *folder, const char *const *names, int n);

/* ---- printed text ------------------------------------------------------------------------------------------------
 * In English, say is printf. With --language ja it prints by the Japanese format in examples/ja, if there is one. A %s without
 * precision then prints the Japanese for its text, if there is one, and pads it by the columns that it takes in a terminal.
 * On a terminal, a %s shows characters that the terminal would obey as \xNN. The format itself may have escape sequences.
 * Text of the user, which must not be translated, is printed by printf. tests/test_languages.py checks the formats. */
void say(const char *format, ...) AG_PRINTF(1, 2);
void say_to(FILE *out, const char *format, ...) AG_PRINTF(2, 3);
/* The Japanese text or format for an English one if --language is ja; else, and if there is none, this one. */
#if defined(__GNUC__)
__attribute__((__format_arg__(1)))
#endif
const char *tr(const char *english);
/* Where a function of the library may write lines in English: stdout, or with --language ja a file, whose lines report_end
 * prints in Japanese by examples/ja/lines.def. */
FILE *report_begin(void);
void report_end(FILE *report);

/* A program with several commands, each with its own options. main calls example_commands and returns the status.
 * `standard` is the command that runs if none is named (NULL: there must be one); `start`: example calls for the usage. */
typedef struct { const char *name; int (*run)(int argc, char **argv); const char *does; } Command;
#define COMMANDS_END { NULL, NULL, NULL }
typedef struct { const char *name, *teaches; const Command *command; const char *standard, *start; } Commands;
/* Chooses the language of a --help by the command line, of which the options are not read yet, or by the locale. */
void example_help_language(int argc, char **argv);
int example_commands(int argc, char **argv, const Commands *commands);

/* ---- training runs that can be resumed ----------------------------------------------------------------------------
 * A run saves its options in its checkpoints: the program's own as "option.NAME"; the library saves the others, with the prefix
 * of their table. --resume reads them from the last checkpoint and uses them as defaults, so an option on the command line
 * replaces the saved one, unless the option is fixed (NnField). */
extern bool resume_option, overwrite_option, other_data_option;
#define RUN_OPTIONS \
    NN_FLAG_OPTION("resume", resume_option, \
                   "resume the run in the output folder; options given now replace its own, where possible", .once = true), \
    NN_FLAG_OPTION("other-data", other_data_option, \
                   "with --resume: the data may differ from what the run has learned from", .once = true), \
    NN_FLAG_OPTION("overwrite", overwrite_option, \
                   "start a new run even if the output folder has one, or its result", .once = true)
typedef struct {
    bool resumed, new_data;     /* with other data than before */
    char *last;                 /* path of the last checkpoint */
    NnSettings *settings;       /* for the checkpoints: the program's own options; it adds other settings */
    NnSettings *saved;          /* of the checkpoint, if resumed. Text options may point into it. */
} TrainingRun;
/* Calls example_begin; `last` is the name of the last checkpoint in the output folder. Ends the program with status 1 if the
 * checkpoint exists and neither --resume nor --overwrite is given, or if it cannot be resumed; with status 2 if a fixed
 * option differs from the saved one. *batch: the most shards if none are given (choose_shards). */
TrainingRun training_run_begin(int argc, char **argv, const Program *program, const char *last, const int64_t *batch);
/* Ends the program if the run would replace this result of an earlier run, of which no checkpoint is left, without --resume or
 * --overwrite. */
void training_run_result(const char *name);
/* Whether a run is to remove what an earlier run has left and it does not write: when its first checkpoint is in place, with
 * --overwrite, or if it was killed there and is resumed. `begins`: there is no later checkpoint. Ask training_run_result first
 * for such a file, so that only --overwrite begins a run where it is. */
bool training_run_removes(const TrainingRun *run, bool begins);
/* Removes a file of that name from the output folder, if it is there. */
void training_run_remove(const char *name);
/* Ends the program, before a training changes anything, if a file of the output folder that it will write cannot be replaced or
 * is one that an option names. The list of names ends with NULL. For a data file, also name NAME.part. */
void training_run_writes(const char *const *names);
/* Tells the run what it learns from, by a hash, which checkpoints save. Ends the program if processes have different data, or
 * if a resumed run has learned from other data and --other-data is not given. */
void training_run_data(TrainingRun *run, uint64_t hash);
/* Says so if the run of a checkpoint, which has these settings, has learned from other data than those of the hash. */
void say_if_other_data(const NnSettings *settings, uint64_t hash);
/* Ends the program if the file at `path`, of which these settings were read, has been replaced by another run's. To be called
 * after the model was read: then both are of one run. */
void must_not_be_replaced(const char *path, const NnSettings *settings);
/* Says so on stderr if the file at `path`, which has these settings, is of another run than the file `last` in its folder. A
 * new run keeps the result of the one that --overwrite replaces until it has its own. */
void warn_if_of_other_run(const char *path, const NnSettings *settings, const char *last);
/* Whether the checkpoint at `path` is of this run, to which training_run_data has told its data; `found` gets its
 * settings. Ends the program if they cannot be read. */
bool training_run_owns(const TrainingRun *run, const char *path, NnSettings *found);
/* Ends the program unless it is. */
void training_run_must_own(const TrainingRun *run, const char *path, NnSettings *found);
/* A vocabulary as settings of a checkpoint, PREFIX.tokens and PREFIX.merges, so that the checkpoint needs no other file. */
void vocabulary_to_settings(const KaeruVocab *v, NnSettings *s, const char *prefix);
/* The vocabulary of such settings; NULL if the checkpoint is of an earlier version, which has it only in files beside it. Ends
 * the program if the texts are not a vocabulary. */
KaeruVocab *vocabulary_of_settings(KaeruVocabKind kind, const char *checkpoint, const NnSettings *s, const char *prefix);
uint64_t data_hash_file(const char *path);                              /* that hash (common/data_hash.h) of a whole file */
void training_run_end(TrainingRun *run);
typedef struct Csv Csv;
/* csv_open for the losses of a run. If it is resumed, csv_resume, and a warning if these are not the rows of the checkpoint. */
Csv *training_run_csv(const TrainingRun *run, const char *name, const char *header, int64_t last);
/* Notes in the settings which rows there are. Call it after each row, which is written before the checkpoint is saved: resuming
 * can drop a row that is too late, but cannot make a missing one. */
void training_run_note_rows(const TrainingRun *run, const Csv *csv);
/* Saves a checkpoint (o may be NULL) or ends the program. */
void checkpoint_must_save(const char *path, void *model, Optimizer *o, const NnSettings *s);
/* The model's weights become the mean of those in the n files path_of(first), path_of(first + 1), ..., whose paths it frees. */
void average_epochs(void *model, char *(*path_of)(int64_t epoch), int64_t first, int64_t n);

/* Writes the SHA-256 of all weights of a model, as bytes in the order of nn_parameters: 64 hexadecimal digits and a NUL. Equal
 * hashes mean equal bits; examples/tiny.c prints the same ones. */
void weights_hash(void *module, char hash[65]);

/* ---- training by several processes --------------------------------------------------------------------------------
 * A program that can do this calls processes_begin first and has SHARDS_OPTION. Under mpirun or srun, the processes then train
 * together. Only the first one prints, writes files and draws; the functions above and below do nothing in the others. */
void processes_begin(void);
/* When training is done: ends the exchange. True in the first process; the others should end. Sets *stopped if there was a
 * signal since; otherwise a signal ends the program from now on. */
bool processes_end(bool *stopped);
NnProcesses *example_processes(void);                                   /* NULL: this process is alone */
bool example_writes(void);                                              /* whether this is the first process */
extern int64_t shards_option;                                           /* 0: chosen by choose_shards */
extern double deadline_option;
#define SHARDS_OPTION \
    NN_OPTION("shards", shards_option, 0, 1 << 24, \
              "parts of a batch that processes can share; the weights depend on it; 0: 1, or at most 8 for several processes", \
              .optional = true, .fixed = true)
#define DEADLINE_OPTION \
    NN_OPTION("deadline", deadline_option, 0.1, 1e6, "seconds after which a silent process ends the others", .once = true)
/* Decides on the number of shards if it was not given: at most `most`. Prints it if there are several processes. */
void choose_shards(int64_t most);
int64_t example_shards(void);
/* Says so if a batch of so many rows, shared by several processes, has fewer rows than shards. */
void say_if_shards_are_empty(int64_t batch);
/* Ends the program unless all processes have the same version of kaeru, and either all print the help or all have the same
 * --seed and the same example_options. Each process calls it before it does anything else; help: this one prints the help. */
void processes_must_agree(bool help);
void processes_wait_to_fail(void);
_Noreturn void processes_exit(int status);                              /* ends all processes, without exit handlers */
/* Not 0 after Ctrl-C, and after SIGTERM or SIGUSR1, which a scheduler sends before the end of its time: save a checkpoint, then
 * end with EXIT_STOPPED. The second Ctrl-C ends the program at once. */
const volatile sig_atomic_t *example_stop(void);
enum { EXIT_STOPPED = 75 };

/* ---- data files ---------------------------------------------------------------------------------------------------
 * Columns of numbers under a header. They are kept in memory for charts and written as comma-separated values, with the
 * same bytes in every locale. Each row is written to NAME.part immediately; csv_close renames the file to NAME. Until then
 * an older file NAME remains; if that fails, NAME.part does. An older NAME.part is replaced, also if it is a link: where it
 * leads, nothing is written. */
Csv *csv_open(const char *name, const char *header);                    /* in the output folder; header "step,loss" */
/* The same for a resumed run: begins with those rows of the earlier file, finished or not, whose first number is at most
 * `last`. `digits`: the csv_digits of the rows that the run has written, of which only those are taken that are the same; NULL:
 * not known. If rows are missing, an earlier file with other lines is renamed to NAME.1, or to the next number that is free. */
Csv *csv_resume(const char *name, const char *header, double last, const char *digits);
/* The files that csv_resume has renamed: their new names with commas between them. */
const char *csv_kept(const Csv *csv);
/* Eight hexadecimal digits for each row, a hash of its first three columns. */
const char *csv_digits(const Csv *csv);
/* csv_row(csv, step, loss): one number for each column, with enough digits to restore a float. */
#define csv_row(csv, ...) csv_named_row(csv, NULL, __VA_ARGS__)
/* csv_named_row(csv, "ペン", x, y): the first column is a text, for labels; csv_get returns NaN for it. (gnuplot skips a
 * row whose text contains a quotation mark.) */
#define csv_named_row(csv, name, ...) \
    csv_numbers(csv, name, (int)(sizeof((double[]){ __VA_ARGS__ }) / sizeof(double)), (double[]){ __VA_ARGS__ })
void csv_numbers(Csv *csv, const char *name, int n, const double *value);       /* name NULL: no text column */
int64_t csv_rows(const Csv *csv);
int csv_column(const Csv *csv, const char *name);                       /* a usage error if there is none */
double csv_get(const Csv *csv, int64_t row, int column);
void csv_close(Csv *csv);                                               /* frees it and prints the path of the file */

/* ---- progress -----------------------------------------------------------------------------------------------------
 * One line on stderr, "training 42 of 100, loss 0.12, 3 s left", which is overwritten each time and erased at the end. It
 * is printed only on a terminal and only if the work takes more than two seconds. */
typedef struct { const char *what; int64_t total; double start, shown; bool terminal; } Progress;
double example_seconds(void);                                           /* of a monotonic clock */
Progress progress_begin(const char *what, int64_t total);
void progress_show(Progress *p, int64_t done, const char *format, ...) AG_PRINTF(3, 4);
void progress_end(Progress *p);

/* ---- charts in the terminal ---------------------------------------------------------------------------------------
 * Columns of a data file over another column, x, whose values must increase: Braille dots where the locale is UTF-8, plain
 * characters elsewhere, colors on a terminal unless NO_COLOR is set. Then some of the points as numbers. Points that are
 * not finite (or not positive, on a logarithmic axis) are skipped. */
enum { CHART_CURVES = 4 };                                              /* at most */
typedef struct { const char *title, *x; bool log_y; struct { const char *column, *name; } curve[CHART_CURVES]; } Chart;
void chart_print(const Csv *data, const Chart *chart);
/* Whether stdout is a terminal with colors, and the environment variable NO_COLOR is not set. */
bool example_shows_colors(void);

/* ---- pictures -----------------------------------------------------------------------------------------------------
 * Runs gnuplot on plots/NAME.gp in the output folder, where it reads the data and writes NAME.png and NAME.svg, and prints
 * their paths. Without gnuplot it prints how to install it and the command to draw the picture later. If drawing fails, it
 * calls example_complain. The captions are English, or Japanese by plots/ja.txt (--language), also those of the graphs. With
 * --slide, the same for plots/NAME_slide.gp, if there is one. */
void picture_draw(const char *name);
/* Ends the program, before a training changes anything, if the pictures of picture_draw cannot be replaced or are files that an
 * option names. */
void picture_must_be_output(const char *name);
/* The graph of a loss as a series of frames of its backward pass (ag_graph_frame): writes NAME_00.dot, NAME_01.dot, ...
 * into the output folder and runs Graphviz to draw each as PNG and SVG, or prints how to install it. */
void picture_frames(const char *name, Tensor *loss);
/* Draws the file NAME.dot, which the program has written into the output folder, as NAME.png and NAME.svg with Graphviz, or
 * prints how to install it. */
void picture_graph(const char *name);
/* Replaces the English lines in the labels of a Graphviz graph, by the pairs in the file `table`, plots/ja.txt. If a file
 * cannot be read, calls example_complain. */
void captions_replace(const char *graph, const char *table);

#endif
