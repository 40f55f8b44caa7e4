/* csv.c: columns of numbers, for charts, plots and spreadsheets. */
#include "common.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

struct Csv { FILE *file; char *path, *part, *header; int columns; double *value; size_t n, room; };

static _Noreturn void cannot_write(const char *path)
{
    int error = errno;
    example_fail("cannot write %s: %s", path, strerror(error));
}

Csv *csv_open(const char *name, const char *header)
{
    Csv *csv = ag_alloc(1, sizeof *csv);
    char part_name[256];
    snprintf(part_name, sizeof part_name, "%s.part", name);
    csv->path = example_path(name);
    csv->part = example_path(part_name);
    csv->header = ag_strdup(header);
    csv->columns = 1;
    for (const char *p = header; *p; p++) {
        csv->columns += *p == ',';
    }
    csv->file = fopen(csv->part, "w");
    if (!csv->file || fprintf(csv->file, "%s\n", header) < 0 || fflush(csv->file) != 0) {
        cannot_write(csv->part);
    }
    return csv;
}

static void put_number(FILE *file, double value)
{
    if (isnan(value)) {
        fputs("nan", file);                                             /* printf would show its sign on some systems */
    } else if (fabs(value) < 0x1p53 && value == floor(value)) {
        fprintf(file, "%" PRId64, (int64_t)value);
    } else {
        fprintf(file, "%.9g", value);
    }
}

/* In quotes, with those inside it doubled. */
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

static void remember(Csv *csv, double value)
{
    if (csv->n == csv->room) {
        size_t room = 2 * csv->room + 64 * (size_t)csv->columns;
        csv->value = ag_resize(csv->value, csv->room, room, sizeof *csv->value);
        csv->room = room;
    }
    csv->value[csv->n++] = value;
}

void csv_numbers(Csv *csv, const char *name, int n, const double *value)
{
    int names = name ? 1 : 0;
    if (names + n != csv->columns) {
        ag_usage_error(AG_HERE, "csv_row", "%d cells for %d columns of %s", names + n, csv->columns, csv->path);
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
        put_number(csv->file, value[i]);
    }
    fputc('\n', csv->file);
    if (fflush(csv->file) != 0 || ferror(csv->file)) {
        cannot_write(csv->part);
    }
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
    ag_usage_error(AG_HERE, "csv_column", "%s has no column \"%s\" among \"%s\"", csv->path, name, csv->header);
}

double csv_get(const Csv *csv, int64_t row, int column)
{
    return csv->value[row * csv->columns + column];
}

void csv_close(Csv *csv)
{
    if (fclose(csv->file) != 0) {
        cannot_write(csv->part);
    }
    if (rename(csv->part, csv->path) != 0) {
        cannot_write(csv->path);
    }
    printf("data:    %s\n", csv->path);
    ag_free(csv->path);
    ag_free(csv->part);
    ag_free(csv->header);
    ag_free(csv->value);
    ag_free(csv);
}
