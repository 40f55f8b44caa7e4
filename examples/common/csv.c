/* csv.c: data files: columns of numbers for charts, pictures and spreadsheets. */
#include "common.h"
#include "host.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Other processes than the first one have no writer, and write to /dev/null. */
struct Csv {
    KaeruWriter *writer;
    FILE *file;
    char *path, *part, *header;
    int columns;
    char *digits;               /* for each row */
    double *value;
    size_t n, room;
    char *kept;
};

/* The path of NAME with that ending. Ends the program if it cannot be written. */
static char *data_path(const char *name, const char *ending)
{
    char whole_name[256];
    if (!example_writes()) {
        return ag_strdup("/dev/null");
    }
    snprintf(whole_name, sizeof whole_name, "%s%s", name, ending);
    char *path = example_path(whole_name);
    example_must_be_output(path);
    return path;
}

static void flush(Csv *csv)
{
    const char *why = example_write_error(csv->file);
    if (why) {
        example_fail("cannot write %s: %s", csv->part, why);
    }
}

static int count_columns(const char *header)
{
    int columns = 1;
    for (const char *p = header; *p; p++) {
        columns += *p == ',';
    }
    return columns;
}

Csv *csv_open(const char *name, const char *header)
{
    Csv *csv = ag_alloc(1, sizeof *csv);
    csv->path = data_path(name, "");
    csv->part = data_path(name, ".part");
    csv->header = ag_strdup(header);
    csv->columns = count_columns(header);
    csv->digits = ag_alloc(1, 1);
    csv->kept = ag_strdup("");
    if (example_writes()) {
        csv->writer = kaeru_writer_open(csv->path, NULL, csv->part);
    }
    if (example_writes() && !csv->writer) {
        example_fail("%s", ag_error());
    }
    csv->file = csv->writer ? kaeru_writer_stream(csv->writer) : fopen(csv->part, "w");
    if (!csv->file) {
        example_fail("cannot write %s: %s", csv->part, strerror(errno));
    }
    fprintf(csv->file, "%s\n", header);
    flush(csv);
    return csv;
}

static void number_text(double value, char *text, size_t size)
{
    if (fabs(value) < 0x1p53 && value == floor(value)) {
        snprintf(text, size, "%" PRId64, (int64_t)value);
    } else {
        snprintf(text, size, "%.9g", value);
    }
}

static void put_number(FILE *file, double value)
{
    char text[40];
    number_text(value, text, sizeof text);
    fputs(text, file);
}

/* In quotation marks, with those in the text doubled. */
static void put_text(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text; text++) {
        if (*text == '"') {
            fputc('"', file);
        }
        fputc(*text, file);
    }
    fputc('"', file);
}

enum { KNOWN_COLUMNS = 3, ROW_DIGITS = 8 };

/* Writes the digits of a row: a hash of its first columns as they are written, which do not depend on the time. */
static void row_digits(char digits[ROW_DIGITS + 1], const double *row, int columns)
{
    uint64_t hash = DATA_HASH_BEGIN;
    for (int i = 0; i < KNOWN_COLUMNS && i < columns; i++) {
        char text[40];
        number_text(row[i], text, sizeof text);
        hash = data_hash(hash, text, strlen(text) + 1);
    }
    snprintf(digits, ROW_DIGITS + 1, "%08" PRIx32, (uint32_t)(hash ^ hash >> 32));
}

const char *csv_digits(const Csv *csv)
{
    return csv->digits;
}

const char *csv_kept(const Csv *csv)
{
    return csv->kept;
}

static void remember(Csv *csv, double value)
{
    if (csv->n == csv->room) {
        size_t room = 2 * csv->room + 64 * (size_t)csv->columns;
        csv->value = ag_resize(csv->value, csv->room, room, sizeof *csv->value);
        csv->digits = ag_resize(csv->digits, csv->room * ROW_DIGITS + 1, room * ROW_DIGITS + 1, 1);
        csv->room = room;
    }
    csv->value[csv->n++] = isnan(value) ? (double)NAN : value;          /* some systems print its sign */
}

static void add_row(Csv *csv, const char *name, int n, const double *value)
{
    int names = name ? 1 : 0;
    if (names + n != csv->columns) {
        ag_usage_error("csv_row", "%d values for %d columns of %s", names + n, csv->columns, csv->path);
    }
    if (name) {
        remember(csv, NAN);
        put_text(csv->file, name);
    }
    for (int i = 0; i < n; i++) {
        remember(csv, value[i]);
        if (names + i > 0) {
            fputc(',', csv->file);
        }
        put_number(csv->file, csv->value[csv->n - 1]);
    }
    fputc('\n', csv->file);
    size_t row = csv->n / (size_t)csv->columns - 1;
    row_digits(csv->digits + row * ROW_DIGITS, csv->value + row * (size_t)csv->columns, csv->columns);
}

void csv_numbers(Csv *csv, const char *name, int n, const double *value)
{
    add_row(csv, name, n, value);
    flush(csv);
}

int64_t csv_rows(const Csv *csv)
{
    return (int64_t)(csv->n / (size_t)csv->columns);
}

int csv_column(const Csv *csv, const char *name)
{
    const char *at = csv->header;
    for (int i = 0; i < csv->columns; i++) {
        size_t length = strcspn(at, ",");
        if (strlen(name) == length && memcmp(at, name, length) == 0) {
            return i;
        }
        at += length + 1;
    }
    ag_usage_error("csv_column", "%s has no column \"%s\" among \"%s\"", csv->path, name, csv->header);
}

double csv_get(const Csv *csv, int64_t row, int column)
{
    return csv->value[row * csv->columns + column];
}

void csv_close(Csv *csv)
{
    flush(csv);
    if (csv->writer) {
        example_must_have_folder();
        example_close(csv->writer);
    } else {
        fclose(csv->file);
    }
    say("data:    %s\n", csv->path);
    ag_free(csv->path);
    ag_free(csv->part);
    ag_free(csv->header);
    ag_free(csv->digits);
    ag_free(csv->kept);
    ag_free(csv->value);
    ag_free(csv);
}

/* ---- resuming ---------------------------------------------------------------------------------------------------- */

enum { MAX_COLUMNS = 16, LINE = 512 };

typedef struct { double *value; size_t columns, n, room, lines; } Rows;  /* n, room: numbers of rows; lines: of the file */

static bool parse(const char *line, double *row, int columns)
{
    for (int i = 0; i < columns; i++) {
        char *end;
        row[i] = strtod(line, &end);
        if (end != line && end[0] == '\r' && end[1] == '\n') {         /* an editor for Windows has saved the file */
            end++;
        }
        if (end == line || *end != (i < columns - 1 ? ',' : '\n')) {
            return false;
        }
        line = end + 1;
    }
    return true;
}

/* The rows up to `last` in the file of an earlier run; none if there is no such file. */
static Rows read_rows(const char *path, int columns, double last)
{
    Rows rows = { .columns = (size_t)columns };
    char line[LINE];
    FILE *file = host_open(path);
    if (!file && errno != ENOENT) {
        example_fail("cannot read %s: %s", path, strerror(errno));
    }
    double row[MAX_COLUMNS] = { 0 };
    while (file && fgets(line, sizeof line, file)) {
        rows.lines++;
        if (parse(line, row, columns) && row[0] <= last && isfinite(row[0])) {
            if (rows.n == rows.room) {
                size_t room = 2 * rows.room + 64;
                rows.value = ag_resize(rows.value, rows.room, room, rows.columns * sizeof *row);
                rows.room = room;
            }
            memcpy(rows.value + rows.n++ * rows.columns, row, rows.columns * sizeof *row);
        }
    }
    if (file && ferror(file)) {
        example_fail("cannot read %s: %s", path, strerror(errno));
    }
    if (file) {
        fclose(file);
    }
    return rows;
}

static bool begins_with(const Rows *rows, const Rows *first)
{
    size_t bytes = first->n * first->columns * sizeof *first->value;
    return first->n <= rows->n && (bytes == 0 || memcmp(rows->value, first->value, bytes) == 0);
}

/* Leaves out each row that does not have the digits of its number, and those without digits. */
static void keep_known(Rows *rows, const char *digits)
{
    size_t known = strlen(digits) / ROW_DIGITS, kept = 0;
    for (size_t i = 0; i < rows->n && i < known; i++) {
        char found[ROW_DIGITS + 1];
        double *row = rows->value + i * rows->columns;
        row_digits(found, row, (int)rows->columns);
        if (memcmp(found, digits + i * ROW_DIGITS, ROW_DIGITS) == 0) {
            memmove(rows->value + kept++ * rows->columns, row, rows->columns * sizeof *row);
        }
    }
    rows->n = kept;
}

/* Renames a file of an earlier run to the first of NAME.1, NAME.2, ... that is free. */
static char *keep_file(const char *path)
{
    char *other = NULL;
    for (int i = 1; !other || access(other, F_OK) == 0; i++) {
        ag_free(other);
        size_t size = strlen(path) + 16;
        other = ag_alloc(size, 1);
        snprintf(other, size, "%s.%d", path, i);
    }
    if (host_rename(path, other) != 0) {
        example_fail("cannot rename %s to %s: %s", path, other, strerror(errno));
    }
    return other;
}

/* Keeps the file under another name if it has lines that the resumed run would lose: other ones than the header and the rows
 * that it takes. Adds the name to the list. */
static void keep_lines(const char *path, const Rows *rows, bool taken, char **kept)
{
    if (rows->lines <= 1 || (taken && rows->lines == rows->n + 1) || !example_writes()) {
        return;
    }
    char *other = keep_file(path), *before = *kept;
    size_t size = strlen(before) + strlen(other) + 3;
    *kept = ag_alloc(size, 1);
    snprintf(*kept, size, "%s%s%s", before, *before ? ", " : "", other);
    ag_free(before);
    ag_free(other);
}

/* Writes rows as the complete file. */
static void save_rows(const char *path, const char *header, const Rows *rows)
{
    KaeruWriter *writer = example_create(path);
    FILE *file = kaeru_writer_stream(writer);
    fprintf(file, "%s\n", header);
    for (size_t i = 0; i < rows->n * rows->columns; i++) {
        put_number(file, rows->value[i]);
        fputc((i + 1) % rows->columns == 0 ? '\n' : ',', file);
    }
    example_close(writer);
}

Csv *csv_resume(const char *name, const char *header, double last, const char *digits)
{
    char *whole_path = data_path(name, ""), *unfinished_path = data_path(name, ".part");
    int columns = count_columns(header);
    if (columns > MAX_COLUMNS) {
        ag_usage_error("csv_resume", "%d columns, expected at most %d", columns, MAX_COLUMNS);
    }
    Rows part = read_rows(unfinished_path, columns, last), whole = read_rows(whole_path, columns, last);
    if (digits) {
        keep_known(&part, digits);
        keep_known(&whole, digits);
    }
    bool part_is_old = begins_with(&whole, &part);      /* else it has more of these rows, or is from a later run */
    const Rows *rows = part_is_old ? &whole : &part;
    char *kept = ag_strdup("");
    if (digits && rows->n < strlen(digits) / ROW_DIGITS) {
        keep_lines(unfinished_path, &part, rows == &part, &kept);
        keep_lines(whole_path, &whole, rows == &whole, &kept);
    }
    if (!part_is_old && example_writes()) {
        save_rows(whole_path, header, &part);                           /* csv_open replaces the unfinished file */
    }
    Csv *csv = csv_open(name, header);
    ag_free(csv->kept);
    csv->kept = kept;
    for (size_t i = 0; i < rows->n; i++) {
        add_row(csv, NULL, columns, rows->value + i * rows->columns);
    }
    flush(csv);
    ag_free(part.value);
    ag_free(whole.value);
    ag_free(unfinished_path);
    ag_free(whole_path);
    return csv;
}
