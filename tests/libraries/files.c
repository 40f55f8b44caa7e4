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
#include "kaeru/translation.h"

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
    KaeruText a, b;
    if (!kaeru_text_open(&a, translations) || !kaeru_text_open(&b, references)) return refused();
    KaeruBleu score = { .lower_case = lower };
    const char *left = a.bytes, *right = b.bytes, *left_end = a.bytes + a.size, *right_end = b.bytes + b.size;
    while (left < left_end && right < right_end) {
        const char *end = memchr(left, '\n', (size_t)(left_end - left));
        const char *other = memchr(right, '\n', (size_t)(right_end - right));
        if (!end || !other) break;
        kaeru_bleu_add(&score, left, (size_t)(end - left), right, (size_t)(other - right));
        left = end + 1;
        right = other + 1;
    }
    printf("%.9g\n", kaeru_bleu_score(&score));
    kaeru_text_close(&a);
    kaeru_text_close(&b);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "copy") == 0) return copy(argv[2], argv[3]);
    if ((argc == 4 || argc == 5) && strcmp(argv[1], "bleu") == 0) return bleu(argv[2], argv[3], argc == 5);
    fprintf(stderr, "usage: %s copy FROM TO | bleu FILE REFERENCES [lower]\n", argv[0]);
    return 2;
}
