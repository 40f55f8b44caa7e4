/* text.c: opens text files and checks that they are UTF-8. */
#include "kaeru/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "checks.h"
#include "file.h"
#include "utf8.h"

void check_text(AgSite at, const char *what, const char *name, const char *text, size_t n)
{
    if (n > 0) ag_check_pointer_at(at, what, name, text);
    if (n > PTRDIFF_MAX) ag_usage_error(at, what, "the size of %s is %zd, expected 0 or more", name, (ptrdiff_t)n);
}

static const char *vocab_name(VocabKind kind)
{
    return kind == VOCAB_CHARS ? "a KaeruCharVocab" : kind == VOCAB_WORDS ? "a KaeruWordVocab" : kind == VOCAB_BPE ? "a KaeruBpe" :
           "another object";
}

void check_vocab(AgSite at, const char *what, const char *name, const void *v, VocabKind kind)
{
    ag_check_object_at(at, what, name, v);
    VocabKind found = *(const VocabKind *)v;
    if (found != kind)
        ag_usage_error(at, what, "%s is %s, expected %s; a KaeruTokenizer or KaeruSentenceVocab must have its kind set", name,
                       vocab_name(found), vocab_name(kind));
}

bool kaeru_text_open_at(AgSite at, KaeruText *text, const char *path)
{
    AG_LAYER(at);
    ag_check_pointer_at(at, __func__, "text", text);
    ag_check_pointer_at(at, __func__, "path", path);
    *text = (KaeruText){ 0 };
    File *file = file_open(path, true);
    if (!file) return false;
    if (!kaeru_text_check(path, file->bytes, file->size)) {
        ag_free(file);
        return false;
    }
    *text = (KaeruText){ file->bytes, file->size, file };
    return true;
}

void kaeru_text_close_at(AgSite at, KaeruText *text)
{
    ag_check_pointer_at(at, __func__, "text", text);
    ag_free_at(at, text->file);
    *text = (KaeruText){ 0 };
}

bool kaeru_text_is_same_file_at(AgSite at, const char *a, const char *b)
{
    ag_check_pointer_at(at, __func__, "a", a);
    ag_check_pointer_at(at, __func__, "b", b);
    struct stat about_a, about_b;
    return stat(a, &about_a) == 0 && stat(b, &about_b) == 0 && about_a.st_dev == about_b.st_dev &&
           about_a.st_ino == about_b.st_ino;
}

const char *kaeru_text_place_at(AgSite at, int64_t first, const char *text, size_t byte, char out[KAERU_TEXT_PLACE])
{
    if (byte > 0) ag_check_pointer_at(at, __func__, "text", text);
    ag_check_pointer_at(at, __func__, "out", out);
    size_t line, column;
    utf8_position(text, byte, &line, &column);
    snprintf(out, KAERU_TEXT_PLACE, "line %" PRId64 ", column %zu, byte %zu", first + (int64_t)line - 1, column, byte);
    return out;
}

bool kaeru_text_check_part_at(AgSite at, const char *name, int64_t first, const char *text, size_t n)
{
    ag_check_pointer_at(at, __func__, "name", name);
    check_text(at, __func__, "text", text, n);
    char place[KAERU_TEXT_PLACE];
    size_t valid = utf8_valid(text, n);
    if (valid == n) return true;
    return ag_set_error("%s: %s: expected UTF-8, found byte 0x%02X", name, kaeru_text_place(first, text, valid, place),
                        (unsigned char)text[valid]);
}

bool kaeru_text_check_at(AgSite at, const char *name, const char *text, size_t n)
{
    return kaeru_text_check_part_at(at, name, 1, text, n);
}

int kaeru_text_next_at(AgSite at, const char *text, size_t n, uint32_t *code)
{
    if (n < 1) ag_usage_error(at, __func__, "no bytes to decode, expected 1 or more");
    ag_check_pointer_at(at, __func__, "text", text);
    ag_check_pointer_at(at, __func__, "code", code);
    return utf8_decode(text, n, code);
}
