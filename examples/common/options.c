/* options.c: the command line: a table of options, messages, the output folder. */
#include "common.h"
#include "kaeru/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *program_name = "example";
static const Option *own_options;
static int64_t seed = 0, threads = 0;
static const char *precision;
static const char *out_dir = "out";
static const char *language;
static bool japanese;
static int end_status = 0;
static char *made_folder;                       /* the output folder, as far as this program has made it */
static size_t made_length, found_length;        /* lengths of that path and of the part that existed before */

Option option_int(const char *name, int64_t *value, int64_t low, int64_t high, const char *help)
{
    return (Option){ OPTION_INT, name, "N", value, (double)low, (double)high, help, false };
}

Option option_real(const char *name, double *value, double low, double high, const char *help)
{
    return (Option){ OPTION_REAL, name, "X", value, low, high, help, false };
}

Option option_text(const char *name, const char *unit, const char **value, const char *help)
{
    return (Option){ OPTION_TEXT, name, unit, (void *)value, 0, 0, help, false };
}

Option option_flag(const char *name, bool *value, const char *help)
{
    return (Option){ OPTION_FLAG, name, NULL, value, 0, 0, help, false };
}

const char *option_value(const Option *o, char text[32])
{
    switch (o->kind) {
    case OPTION_INT:  snprintf(text, 32, "%" PRId64, *(int64_t *)o->value); return text;
    case OPTION_REAL: snprintf(text, 32, "%.17g", *(double *)o->value); return text;
    case OPTION_FLAG: return *(bool *)o->value ? "1" : "0";
    default:          return *(const char **)o->value;
    }
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static void print_message(const char *format, va_list args)
{
    fflush(stdout);
    fprintf(stderr, "%s: ", program_name);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
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

/* "a whole number from 1 to 100" */
static const char *expectation(const Option *o, char text[96])
{
    if (o->kind == OPTION_INT) {
        snprintf(text, 96, "a whole number from %.0f to %.0f", o->low, o->high);
    } else {
        snprintf(text, 96, "a number from %g to %g", o->low, o->high);
    }
    return text;
}

static void print_options(const Option *o)
{
    for (; o->kind != OPTION_END; o++) {
        char left[64];
        snprintf(left, sizeof left, "--%s %s", o->name, o->unit ? o->unit : "");
        printf("  %-16s %s", left, o->help);
        switch (o->kind) {
        case OPTION_INT:
            printf(" (default %lld; %.0f to %.0f)", (long long)*(int64_t *)o->value, o->low, o->high);
            break;
        case OPTION_REAL:
            printf(" (default %g; %g to %g)", *(double *)o->value, o->low, o->high);
            break;
        case OPTION_TEXT:
            if (*(const char **)o->value) {
                printf(" (default %s)", *(const char **)o->value);
            }
            break;
        default:
            break;
        }
        putchar('\n');
    }
}

static _Noreturn void print_help(const Program *program, const Option *common)
{
    printf("usage: %s [options]\n\n%s\n\n", program->name, program->teaches);
    if (program->options->kind != OPTION_END) {
        printf("options:\n");
        print_options(program->options);
        printf("\n");
    }
    printf("options of every example:\n");
    print_options(common);
    printf("  %-16s %s\n", "--help", "print this text");
    printf("\nThe exit status is 0 on success, 2 for an error in the command line, and 1 for any other error.\n");
    int status = example_end();
    processes_end();
    exit(status);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static const Option *find(const Option *o, const char *name, size_t length)
{
    for (; o->kind != OPTION_END; o++) {
        if (strlen(o->name) == length && memcmp(o->name, name, length) == 0) {
            return o;
        }
    }
    return NULL;
}

static void set_number(const Option *o, const char *text)
{
    char *end, range[96];
    errno = 0;
    /* strtod also accepts leading blanks, "inf", "nan" and hexadecimal numbers; here they are errors. */
    bool plain = text[0] != '\0' && text[strspn(text, "+-.0123456789eE")] == '\0';
    long long whole = o->kind == OPTION_INT ? strtoll(text, &end, 10) : 0;
    double value = o->kind == OPTION_INT ? 0 : strtod(text, &end);
    if (!plain || *end != '\0') {
        example_usage_error("--%s: '%s' is not %s", o->name, text, expectation(o, range));
    }
    bool too_large = errno == ERANGE && (o->kind == OPTION_INT || fabs(value) > 1);
    bool outside = o->kind == OPTION_INT ? whole < (int64_t)o->low || whole > (int64_t)o->high
                                         : value < o->low || value > o->high;
    if (too_large || outside) {
        example_usage_error("--%s: %s is out of range: expected %s", o->name, text, expectation(o, range));
    }
    if (o->kind == OPTION_INT) {
        *(int64_t *)o->value = whole;
    } else {
        *(double *)o->value = value;
    }
}

static void set_value(const Option *o, const char *text)
{
    if (o->kind == OPTION_TEXT) {
        if (text[0] == '\0') {
            example_usage_error("--%s: expected %s, not an empty text", o->name, o->unit);
        }
        *(const char **)o->value = text;
    } else {
        set_number(o, text);
    }
}

static void read_options(int argc, char **argv, const Program *program, const Option *common)
{
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
            print_help(program, common);
        }
        if (strncmp(arg, "--", 2) != 0 || arg[2] == '\0') {
            example_usage_error("unexpected argument '%s' (--help lists the options)", arg);
        }
        const char *name = arg + 2, *equals = strchr(name, '=');
        size_t length = equals ? (size_t)(equals - name) : strlen(name);
        const Option *o = find(program->options, name, length);
        o = o ? o : find(common, name, length);
        if (!o) {
            example_usage_error("unknown option --%.*s (--help lists the options)", (int)length, name);
        }
        if (o->kind == OPTION_FLAG) {
            if (equals) {
                example_usage_error("--%s takes no value", o->name);
            }
            *(bool *)o->value = true;
        } else if (equals) {
            set_value(o, equals + 1);
        } else if (i + 1 < argc) {
            set_value(o, argv[++i]);
        } else {
            char range[96];
            example_usage_error("--%s needs a value: %s", o->name,
                                o->kind == OPTION_TEXT ? o->unit : expectation(o, range));
        }
    }
}

/* ---- the output folder, begin and end ---------------------------------------------------------------------------- */

static bool is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* Locks the output folder until this program ends, even by a kill. Some file systems have no locks: then there is none. This
 * does not wait for a program that has the lock: its results would be replaced at once. */
static void lock_folder(const char *path)
{
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0 && flock(folder, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
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
            int error = mkdir(part, 0777) == 0 ? 0 : errno;
            if (!error) {
                made_length = (size_t)(p - part);
            } else if (!is_folder(part)) {
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

Option option_precision(void)
{
    return option_text("precision", "KIND", &precision,
                       "of matrix products: float32 (the default), or bf16: operands rounded to bfloat16");
}

static void set_precision(void)
{
    bool bf16 = precision && strcmp(precision, "bf16") == 0;
    if (precision && !bf16 && strcmp(precision, "float32") != 0) {
        example_usage_error("--precision %s: expected float32 or bf16", precision);
    }
    ag_precision(bf16 ? AG_BF16 : AG_FLOAT32);
}

/* The option, or the locale's name, which counts even if that locale is not installed. */
static void set_language(void)
{
    if (language && strcmp(language, "en") != 0 && strcmp(language, "ja") != 0) {
        example_usage_error("--language %s: expected en or ja", language);
    }
    const char *name = language, *const variable[] = { "LC_ALL", "LC_MESSAGES", "LANG" };
    for (int i = 0; i < 3 && !(name && name[0]); i++) {
        name = getenv(variable[i]);
    }
    japanese = name && strncmp(name, "ja", 2) == 0;
}

/* A usage error, such as a failed allocation, is an error like any other: one line and status 1. */
static _Noreturn void report_usage_error(const char *message)
{
    example_fail("%s", message);
}

/* A file that the program opens must not become a standard stream. If one of the three is closed, the program gets
 * /dev/null in its place, opened in the wrong direction: reading or writing it fails, and the program reports that. */
static void open_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) {
            _Exit(1);
        }
    }
}

void example_begin(int argc, char **argv, const Program *program)
{
    const Option common[] = {
        option_int("seed", &seed, 0, INT64_C(1) << 53, "of the random generator: the same seed gives the same numbers"),
        option_int("threads", &threads, 0, 1024, "number of threads; 0: one per processor; the results do not depend on it"),
        option_text("out", "DIR", &out_dir, "folder for data and pictures"),
        option_text("language", "LANG", &language, "of the text in pictures: en or ja; that of the locale if not given"),
        OPTIONS_END
    };
    static bool begun = false;
    if (!begun) {
        open_standard_streams();
        ag_on_usage_error(report_usage_error);
        signal(SIGXFSZ, SIG_IGN);                                       /* a write beyond `ulimit -f` fails instead */
        setvbuf(stdout, NULL, _IOLBF, 0);                               /* line buffered, also into a pipe */
        setlocale(LC_CTYPE, "");                                        /* numbers stay in the C locale */
        begun = true;
    }
    program_name = program->name;
    own_options = program->options;
    read_options(argc, argv, program, common);
    ag_seed((uint64_t)seed);
    if (threads > 0 || !example_processes()) {
        ag_set_threads((int)threads);
    }
    set_precision();
    set_language();
    processes_must_agree(program->options);
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
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !(device && S_ISCHR(about.st_mode))) {
        return ag_set_error("cannot write %s: expected a regular file there", path);
    }
    for (const Option *o = own_options; o->kind != OPTION_END; o++) {
        const char *input = o->kind == OPTION_TEXT ? *(const char **)o->value : NULL;
        if (input && kaeru_text_is_same_file(input, path)) {
            return ag_set_error("cannot write %s: --%s needs this file; expected another folder --out", path, o->name);
        }
    }
    return true;
}

void example_must_be_output(const char *path)
{
    if (!example_may_write(path, false)) {
        example_fail("%s", ag_error());
    }
}

FILE *example_create(const char *path)
{
    example_must_be_output(path);
    FILE *file = fopen(path, "w");
    if (!file) {
        example_fail("cannot write %s: %s", path, strerror(errno));
    }
    return file;
}

void example_close(FILE *file, const char *path)
{
    const char *why = example_write_error(file);
    if (fclose(file) != 0 && !why) {
        why = strerror(errno);
    }
    if (why) {
        example_fail("cannot write %s: %s", path, why);
    }
}

int example_end(void)
{
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

bool example_japanese(void)
{
    return japanese;
}

const char *example_out(void)
{
    return out_dir;
}

bool example_utf8(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
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
    size_t room = strlen(out_dir) + strlen(name) + 2;
    char *path = ag_alloc(room, 1);
    snprintf(path, room, "%s%s%s", out_dir, out_dir[strlen(out_dir) - 1] == '/' ? "" : "/", name);
    return path;
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
