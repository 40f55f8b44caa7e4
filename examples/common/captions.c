/* captions.c: Japanese captions for Graphviz graphs, whose programs write English ones. plots/style.gp does it for gnuplot. */
#include "common.h"
#include "japanese.h"

#include <errno.h>
#include <string.h>

/* The whole file, with a zero at its end; free it. NULL, after a message, if it cannot be read. */
static char *read_all(const char *path)
{
    FILE *f = fopen(path, "rb");
    long size = f && fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    char *text = NULL;
    if (size >= 0 && fseek(f, 0, SEEK_SET) == 0) {
        text = ag_alloc((size_t)size + 1, 1);
        text[fread(text, 1, (size_t)size, f)] = '\0';
    } else {
        example_complain("cannot read %s: %s", path, strerror(errno));
    }
    if (f) {
        fclose(f);
    }
    return text;
}

/* The pairs of a table, whose line ends become zeros; free them. A Japanese line begins with "= ". */
static Pair *pairs_of(char *table)
{
    int n = 0;
    for (const char *p = table; (p = strstr(p, "\n= ")); p++) {
        n++;
    }
    Pair *pair = ag_alloc((size_t)n + 1, sizeof *pair);
    n = 0;
    const char *before = table;
    for (char *line = strtok(table, "\n"); line; line = strtok(NULL, "\n")) {
        if (strncmp(line, "= ", 2) == 0) {
            pair[n++] = (Pair){ before, line + 2 };
        }
        before = line;
    }
    return pair;
}

void captions_replace(const char *graph, const char *table)
{
    char *lines = read_all(table), *text = read_all(graph);
    KaeruWriter *writer = lines && text ? kaeru_writer_open(graph, NULL, NULL) : NULL;
    FILE *f = writer ? kaeru_writer_stream(writer) : NULL;
    Pair *pair = f ? pairs_of(lines) : NULL;
    for (char *p = text; f && *p; ) {
        size_t n = strcspn(p, "\"<>\n\\");                              /* a label is a text in quotes, or HTML, of lines */
        if (n == 0 || *p == ' ') {
            n = *p == '\\' && p[1] ? 2 : 1;
            fwrite(p, 1, n, f);
        } else {
            char after = p[n];
            p[n] = '\0';
            pairs_write(f, p, pair, NULL);
            p[n] = after;
        }
        p += n;
    }
    if (writer) {
        example_close(writer);
    } else if (lines && text) {
        example_complain("%s", ag_error());
    }
    ag_free(pair);
    ag_free(text);
    ag_free(lines);
}
