/* text.c: opens text files and checks that they are UTF-8. */
#include "kaeru/text.h"

#include <inttypes.h>
#include <stdio.h>

#include "file.h"
#include "utf8.h"

bool text_open(Text *text, const char *path)
{
    *text = (Text){ 0 };
    FileMap *map = file_map(path);
    if (!map) return false;
    if (!text_check(path, map->bytes, map->size)) {
        ag_free(map);
        return false;
    }
    *text = (Text){ map->bytes, map->size, map };
    return true;
}

void text_close(Text *text)
{
    ag_free(text->map);
    *text = (Text){ 0 };
}

const char *text_place(int64_t first, const char *text, size_t at, char out[TEXT_PLACE])
{
    size_t line, column;
    utf8_position(text, at, &line, &column);
    snprintf(out, TEXT_PLACE, "line %" PRId64 ", column %zu, byte %zu", first + (int64_t)line - 1, column, at);
    return out;
}

bool text_check_part(const char *name, int64_t first, const char *text, size_t n)
{
    char place[TEXT_PLACE];
    size_t valid = utf8_valid(text, n);
    if (valid == n) return true;
    return ag_set_error("%s: %s: expected UTF-8, found byte 0x%02X", name, text_place(first, text, valid, place),
                        (unsigned char)text[valid]);
}

bool text_check(const char *name, const char *text, size_t n)
{
    return text_check_part(name, 1, text, n);
}

int text_next(const char *text, size_t n, uint32_t *code)
{
    return utf8_decode(text, n, code);
}
