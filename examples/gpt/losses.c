/* losses.c: the file of losses, which a resumed run goes on with. */
#include <stdlib.h>
#include <string.h>

#include "gpt.h"

static const char name[] = "gpt.csv", header[] = "step,train_loss,valid_loss,learning_rate,tokens_per_second";
enum { COLUMNS = 5, LINE = 512 };

typedef struct { double (*row)[COLUMNS]; size_t n; } Rows;

static bool parse(const char *line, double row[COLUMNS])
{
    for (int i = 0; i < COLUMNS; i++) {
        char *end;
        row[i] = strtod(line, &end);
        if (end == line || *end != (i < COLUMNS - 1 ? ',' : '\n')) {
            return false;
        }
        line = end + 1;
    }
    return true;
}

/* The rows up to a step in a file of an earlier run; none if it is not there or another one. */
static Rows read_rows(const char *file_name, int64_t step)
{
    Rows rows = { NULL, 0 };
    char *path = example_path(file_name), line[LINE];
    FILE *file = fopen(path, "r");
    double row[COLUMNS];
    while (file && fgets(line, sizeof line, file)) {
        if (parse(line, row) && row[0] <= (double)step) {
            rows.row = ag_resize(rows.row, rows.n, rows.n + 1, sizeof *rows.row);
            memcpy(rows.row[rows.n++], row, sizeof row);
        }
    }
    if (file) {
        fclose(file);
    }
    ag_free(path);
    return rows;
}

/* Under the name of a finished file, so that opening the new one leaves it. */
static void keep_part(void)
{
    char *part = example_path("gpt.csv.part"), *whole = example_path(name);
    rename(part, whole);
    ag_free(whole);
    ag_free(part);
}

Csv *losses_open(int64_t step)
{
    Rows part = { NULL, 0 }, whole = { NULL, 0 };
    if (step > 0) {
        part = read_rows("gpt.csv.part", step);
        whole = read_rows(name, step);
        if (part.n > whole.n) {
            keep_part();
        }
    }
    const Rows *most = part.n > whole.n ? &part : &whole;
    Csv *csv = csv_open(name, header);
    for (size_t i = 0; i < most->n; i++) {
        csv_numbers(csv, NULL, COLUMNS, most->row[i]);
    }
    ag_free(part.row);
    ag_free(whole.row);
    return csv;
}
