/* options.c: the command line, messages, the output folder. */
#include "common.h"
#include "host.h"
#include "kaeru/text.h"
#include "picture.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_TABLES = 4 };

static const char *program_name = "example";
static int64_t seed = 0, threads = 0;
static const char *out_dir = "out";
static const char *language;
static bool slide;
const char *precision_option;
static bool japanese;
static const char **taken;                      /* gets the argument that is no option; NULL: there is none */
static int end_status = 0;
static char *made_folder;                       /* the output folder, as far as this program has made it */
static size_t made_length, found_length;        /* lengths of that path and of the part that existed before */

static const NnField common_options[] = {
    NN_OPTION("seed", seed, 0, INT64_C(1) << 53, "of the random generator: the same seed gives the same numbers"),
    NN_OPTION("threads", threads, 0, 256, "number of threads; 0: one per processor; the results do not depend on it"),
    NN_TEXT_OPTION("out", "DIR", out_dir, "folder for data and pictures"),
    NN_TEXT_OPTION("language", "LANG", language, "of text and pictures: en or ja; that of the locale if not given"),
    NN_FLAG_OPTION("slide", slide, "draw NAME_slide.png, too: one panel with large letters, for the back row of a room"),
    NN_FIELDS_END
};
static const NnFields common_fields = { .field = common_options };
static NnFields own_fields = { .prefix = "option." };
/* Those of every example, the program's own, and those that it adds. */
static NnOptions options[MOST_TABLES + 1] = { { &common_fields, NULL }, { &own_fields, NULL } };

void example_add_options(const NnFields *fields, void *of)
{
    int n = 0;
    while (options[n].fields) {
        n++;
    }
    options[n] = (NnOptions){ fields, of };
}

void example_take_argument(const char **argument)
{
    taken = argument;
}

const NnOptions *example_options(void)
{
    return options + 1;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static void print_message(const char *format, va_list args)
{
    fflush(stdout);
    char text[2048];
    vsnprintf(text, sizeof text, tr(format), args);
    ag_set_error("%s", text);                       /* makes characters printable that a terminal would obey */
    fprintf(stderr, "%s: %s\n", program_name, ag_error());
}

/* Removes the folders that this program has made, if they are empty. */
static void remove_made_folders(void)
{
    while (made_length > found_length) {
        made_folder[made_length] = '\0';
        if (rmdir(made_folder) != 0) {
            return;
        }
        while (made_length > found_length && made_folder[made_length] != '/') {
            made_length--;
        }
    }
}

/* Ends without exit handlers: callers still hold memory that is not freed, which a leak checker would report. */
static _Noreturn void end_with(int status, const char *format, va_list args)
{
    processes_wait_to_fail();
    print_message(format, args);
    remove_made_folders();
    fflush(NULL);
    processes_exit(status);
}

void example_called(const char *name)
{
    program_name = name;
}

_Noreturn void example_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    end_with(1, format, args);
}

_Noreturn void example_usage_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    end_with(2, format, args);
}

void example_warn(const char *format, ...)
{
    if (!example_writes()) {
        return;
    }
    va_list args;
    va_start(args, format);
    print_message(format, args);
    va_end(args);
}

void example_complain(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (example_writes()) {
        print_message(format, args);
    }
    va_end(args);
    end_status = 1;
}

/* ---- --help ------------------------------------------------------------------------------------------------------ */

/* The language of --language, or of the locale's name, which counts even if that locale is not installed. */
static void choose_language(const char *chosen)
{
    const char *name = chosen, *const variable[] = { "LC_ALL", "LC_MESSAGES", "LANG" };
    for (int i = 0; i < 3 && !(name && name[0]); i++) {
        name = getenv(variable[i]);
    }
    japanese = name && strncmp(name, "ja", 2) == 0;
}

void example_help_language(int argc, char **argv)
{
    static const char option[] = "--language";
    const size_t n = sizeof option - 1;
    const char *chosen = NULL;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], option, n) == 0) {
            chosen = argv[i][n] == '=' ? argv[i] + n + 1 : argv[i][n] == '\0' ? argv[i + 1] : chosen;
        }
    }
    choose_language(chosen);
}

/* As nn_options_print, in the chosen language. */
static void print_options(const NnOptions *list)
{
    for (; list->fields; list++) {
        for (const NnField *f = list->fields->field; f->name; f++) {
            NnField shown[] = { *f, NN_FIELDS_END };
            NnFields table = *list->fields;
            table.field = shown;
            shown[0].help = f->help ? tr(f->help) : NULL;
            FILE *report = report_begin();
            nn_options_print((NnOptions[]){ { &table, list->of }, { NULL, NULL } }, report);
            report_end(report);
        }
    }
}

static _Noreturn void print_help(const Program *program)
{
    processes_must_agree(true);
    say("usage: %s [options]\n\n%s\n\n", program->name, program->teaches);
    if (program->options->name) {
        say("options:\n");
        print_options(example_options());
        printf("\n");
    }
    say("options of every example:\n");
    print_options((NnOptions[]){ { &common_fields, NULL }, { NULL, NULL } });
    say("  %-16s %s\n", "--help", "print this text");
    say("\nThe exit status is 0 on success, 2 for an error in the command line, and 1 for any other error.\n");
    slide = false;                                                      /* nothing is drawn */
    int status = example_end();
    processes_end(&(bool){ false });
    exit(status);
}

static void read_options(int argc, char **argv, const Program *program)
{
    own_fields.field = program->options;
    for (int i = 1; i < argc; ) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            example_help_language(argc, argv);
            print_help(program);
        }
        if (taken && !*taken && argv[i][0] != '-') {
            *taken = argv[i++];
            continue;
        }
        if (!nn_options_read(options, argc, argv, &i)) {
            example_usage_error("%s (--help lists the options)", ag_error());
        }
    }
}

/* ---- the output folder, begin and end ---------------------------------------------------------------------------- */

/* This does not wait for a program that has the lock: its results would be replaced at once. */
static void lock_folder(const char *path)
{
    if (!host_lock_folder(path)) {
        made_length = found_length;                                     /* the folder belongs to the other program */
        example_fail("--out %s: another program is writing into this folder: expected another folder", path);
    }
}

/* mkdir -p */
static void make_folder(const char *path)
{
    char *part = ag_strdup(path);
    made_folder = ag_strdup(path);                                      /* before a folder is made: it may fail */
    for (char *p = part + 1; ; p++) {
        if (*p == '/' || *p == '\0') {
            char rest = *p;
            *p = '\0';
            int error = host_make_folder(part);
            if (!error) {
                made_length = (size_t)(p - part);
            } else if (!host_is_folder(part)) {
                example_fail("--out %s: cannot make the folder %s: %s", path, part,
                             error == EEXIST ? "a file of that name exists" : strerror(error));
            }
            if (made_length == 0) {
                found_length = (size_t)(p - part);
            }
            if (rest == '\0') {
                break;
            }
            *p = rest;
        }
    }
    ag_free(part);
}

static void set_precision(void)
{
    bool bf16 = precision_option && strcmp(precision_option, "bf16") == 0;
    if (precision_option && !bf16 && strcmp(precision_option, "float32") != 0) {
        example_usage_error("--precision %s: expected float32 or bf16", precision_option);
    }
    ag_precision(bf16 ? AG_BF16 : AG_FLOAT32);
}

/* A usage error, such as a failed allocation, is an error like any other: one line and status 1. */
static _Noreturn void report_usage_error(const char *message)
{
    example_fail("%s", message);
}

void example_begin(int argc, char **argv, const Program *program)
{
    static bool begun = false;
    if (!begun) {
        host_begin();
        ag_on_usage_error(report_usage_error);
        setlocale(LC_CTYPE, "");                                        /* numbers stay in the C locale */
        begun = true;
    }
    program_name = program->name;
    read_options(argc, argv, program);
    ag_seed((uint64_t)seed);
    if (threads > 0 || !example_processes()) {
        ag_set_threads((int)threads);
    }
    set_precision();
    if (language && strcmp(language, "en") != 0 && strcmp(language, "ja") != 0) {
        example_usage_error("--language %s: expected en or ja", language);
    }
    choose_language(language);
    processes_must_agree(false);
}

/* After an earlier failure the file has only its error flag, without errno: writing one more byte fails again and sets it. */
const char *example_write_error(FILE *file)
{
    bool lost = ferror(file) != 0;
    errno = 0;
    if (lost) {
        fputc('\n', file);
    }
    if (fflush(file) == 0 && !lost) {
        return NULL;
    }
    return errno ? strerror(errno) : "an earlier part of it could not be written";
}

bool example_may_write(const char *path, bool device)
{
    struct stat about;
    bool exists = stat(path, &about) == 0;
    if (!exists && errno == ELOOP) {                                    /* a link to itself: known before the work is done */
        return ag_set_error("cannot write %s: %s", path, strerror(errno));
    }
    if (exists && !S_ISREG(about.st_mode) && !(device && S_ISCHR(about.st_mode))) {
        return ag_set_error("cannot write %s: expected a regular file there", path);
    }
    for (const NnField *f = own_fields.field; f->name; f++) {
        char buffer[NN_FIELD_BUFFER];
        const char *input = f->kind == NN_FIELD_TEXT ? nn_field_text(f, NULL, buffer) : NULL;
        if (input && kaeru_text_is_same_file(input, path)) {
            return ag_set_error("cannot write %s: --%s needs this file; expected another folder --out", path, f->name);
        }
    }
    return true;
}

/* Paths that example_must_be_output was asked for. */
static char **outputs;
static size_t n_outputs;

/* Ends the program if two names of files that it writes lead to the same file, as links can. A NAME.part is replaced itself. */
static void must_be_one_output(const char *path)
{
    size_t length = strlen(path), ending = strlen(".part");
    if (length > ending && strcmp(path + length - ending, ".part") == 0) {
        return;
    }
    for (size_t i = 0; i < n_outputs; i++) {
        if (strcmp(outputs[i], path) == 0) {
            return;
        }
        if (kaeru_text_is_same_file(outputs[i], path)) {
            example_fail("%s and %s are the same file, expected two", outputs[i], path);
        }
    }
    outputs = ag_resize(outputs, n_outputs, n_outputs + 1, sizeof *outputs);
    outputs[n_outputs++] = ag_strdup(path);
}

void example_must_be_output(const char *path)
{
    if (!example_may_write(path, false)) {
        example_fail("%s", ag_error());
    }
    must_be_one_output(path);
}

KaeruWriter *example_create(const char *path)
{
    example_must_be_output(path);
    KaeruWriter *file = kaeru_writer_open(path, NULL, NULL);
    if (!file) {
        example_fail("%s", ag_error());
    }
    return file;
}

void example_close(KaeruWriter *file)
{
    if (!kaeru_writer_commit(file)) {
        example_fail("%s", ag_error());
    }
}

int example_end(void)
{
    if (slide && !picture_has_slide()) {
        example_warn("--slide: none of the pictures of this program has a form for a slide");
    }
    const char *why = example_write_error(stdout);
    if (why) {
        example_complain("cannot write the output: %s", why);
    }
    return end_status;
}

int64_t example_threads(void)
{
    return threads;
}

int64_t example_seed(void)
{
    return seed;
}

bool example_slide(void)
{
    return slide;
}

bool example_japanese(void)
{
    return japanese;
}

const char *example_out(void)
{
    return out_dir;
}

char *example_path_beside(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
    char *beside = ag_alloc(folder + strlen(name) + 1, 1);
    memcpy(beside, path, folder);
    strcpy(beside + folder, name);
    return beside;
}

char *example_input_path(const char *name)
{
    return path_in(out_dir, name);
}

char *example_path(const char *name)
{
    static bool made = false;
    if (!made && example_writes()) {
        made = true;
        make_folder(out_dir);
        lock_folder(out_dir);
    }
    return example_input_path(name);
}

void example_must_have_folder(void)
{
    if (example_writes() && !host_lock_holds(example_out())) {
        example_fail("--out %s: the folder of this run was moved, and another one is in its place: nothing is written there",
                     example_out());
    }
}
