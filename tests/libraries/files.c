/* files.c: tensors of files, and BLEU, that the scripts of this folder compare with those of other libraries.
 *
 *     library_files copy FROM TO             writes all tensors that can be read; the others are listed: NAME: reason
 *     library_files bleu FILE REFERENCES [lower]
 *                                            corpus BLEU of the lines of two files, with "lower" of lower-case letters */
#include <kaeru/kaeru.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kaeru/tensor_files.h"
#include "kaeru/text.h"
#include "translate/bleu.h"

static int refused(void)
{
    printf("refused: %s\n", ag_error());
    return 0;
}

static int copy(const char *from, const char *to)
{
    NnTensorFile *f = tensor_file_open(from);
    if (!f) return refused();
    AgScope s = ag_begin(AG_NO_GRAD);
    NnNamedValue *list = calloc((size_t)tensor_file_count(f) + 1, sizeof *list);
    if (!list) return 2;
    int n = 0;
    for (int i = 0; i < tensor_file_count(f); i++) {
        const char *name = tensor_file_item(f, i)->name;
        const Tensor *t = tensor_file_get(f, name);
        if (t) list[n++] = (NnNamedValue){ name, t };
        else printf("%s: %s\n", name, ag_error());
    }
    bool done = n == 0 || tensor_save_list(to, list, n);
    ag_end(s);
    free(list);
    ag_free(f);
    return done ? 0 : refused();
}

static int bleu(const char *translations, const char *references, bool lower)
{
    KaeruLines a, b;
    if (!kaeru_lines_open(&a, translations) || !kaeru_lines_open(&b, references)) return refused();
    if (lower) {
        kaeru_lines_lower(&a);
        kaeru_lines_lower(&b);
    }
    Bleu score = { .length = 0 };
    for (int64_t i = 0; i < a.n && i < b.n; i++) bleu_add(&score, a.line[i], b.line[i]);
    printf("%.9g\n", bleu_score(&score));
    kaeru_lines_close(&a);
    kaeru_lines_close(&b);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "copy") == 0) return copy(argv[2], argv[3]);
    if ((argc == 4 || argc == 5) && strcmp(argv[1], "bleu") == 0) return bleu(argv[2], argv[3], argc == 5);
    fprintf(stderr, "usage: %s copy FROM TO | bleu FILE REFERENCES [lower]\n", argv[0]);
    return 2;
}
