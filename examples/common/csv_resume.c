/* csv_resume.c: a data file that a run which was stopped goes on with. */
#include "common.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_COLUMNS = 16, LINE = 512 };

typedef struct { double (*row)[MAX_COLUMNS]; size_t n; } Rows;

static bool parse(const char *line, double *row, int columns)
{
    for (int i = 0; i < columns; i++) {
        char *end;
        row[i] = strtod(line, &end);
        if (end == line || *end != (i < columns - 1 ? ',' : '\n')) {
            return false;
        }
        line = end + 1;
    }
    return true;
}

/* The rows up to `last` in a file of an earlier run; none if it is not there or another one. */
static Rows read_rows(const char *path, int columns, double last)
{
    Rows rows = { NULL, 0 };
    char line[LINE];
    FILE *file = fopen(path, "r");
    double row[MAX_COLUMNS] = { 0 };
    while (file && fgets(line, sizeof line, file)) {
        if (parse(line, row, columns) && row[0] <= last) {
            rows.row = ag_resize(rows.row, rows.n, rows.n + 1, sizeof *rows.row);
            memcpy(rows.row[rows.n++], row, sizeof row);
        }
    }
    if (file) {
        fclose(file);
    }
    return rows;
}

static bool begins_with(const Rows *rows, const Rows *first)
{
    return first->n <= rows->n && (first->n == 0 || memcmp(rows->row, first->row, first->n * sizeof *first->row) == 0);
}

Csv *csv_resume(const char *name, const char *header, double last)
{
    char part_name[256];
    snprintf(part_name, sizeof part_name, "%s.part", name);
    char *whole_path = example_path(name), *part_path = example_path(part_name);
    int columns = 1;
    for (const char *p = header; *p; p++) {
        columns += *p == ',';
    }
    if (columns > MAX_COLUMNS) {
        ag_usage_error(AG_HERE, "csv_resume", "%d columns, expected at most %d", columns, MAX_COLUMNS);
    }
    Rows part = read_rows(part_path, columns, last), whole = read_rows(whole_path, columns, last);
    bool part_is_old = begins_with(&whole, &part);      /* else it has more of the same rows, or those of a later run */
    if (!part_is_old) {
        rename(part_path, whole_path);                  /* so that opening the new file leaves it */
    }
    const Rows *rows = part_is_old ? &whole : &part;
    Csv *csv = csv_open(name, header);
    for (size_t i = 0; i < rows->n; i++) {
        csv_numbers(csv, NULL, columns, rows->row[i]);
    }
    ag_free(part.row);
    ag_free(whole.row);
    ag_free(part_path);
    ag_free(whole_path);
    return csv;
}
