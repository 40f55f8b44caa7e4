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
    double row[MAX_COLUMNS];
    while (file && fgets(line, sizeof line, file)) {
        if (parse(line, row, columns) && row[0] <= last) {
            rows.row = ag_resize(rows.row, rows.n, rows.n + 1, sizeof *rows.row);
            memcpy(rows.row[rows.n++], row, (size_t)columns * sizeof *row);
        }
    }
    if (file) {
        fclose(file);
    }
    return rows;
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
        ag_misuse(AG_HERE, "csv_resume", "%d columns, expected at most %d", columns, MAX_COLUMNS);
    }
    Rows part = read_rows(part_path, columns, last), whole = read_rows(whole_path, columns, last);
    const Rows *most = part.n > whole.n ? &part : &whole;
    if (part.n > whole.n) {
        rename(part_path, whole_path);          /* so that opening the new file leaves it */
    }
    Csv *csv = csv_open(name, header);
    for (size_t i = 0; i < most->n; i++) {
        csv_numbers(csv, NULL, columns, most->row[i]);
    }
    ag_free(part.row);
    ag_free(whole.row);
    ag_free(part_path);
    ag_free(whole_path);
    return csv;
}
