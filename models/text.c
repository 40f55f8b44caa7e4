#include "kaeru/text.h"

#include "files.h"
#include "utf8.h"

bool text_open(Text *text, const char *path)
{
    *text = (Text){ 0 };
    FileMap *map = file_map(path);
    if (!map) return false;
    if (!text_check(path, map->bytes, map->size)) {
        file_unmap(map);
        return false;
    }
    *text = (Text){ map->bytes, map->size, map };
    return true;
}

void text_close(Text *text)
{
    file_unmap(text->map);
    *text = (Text){ 0 };
}

bool text_check(const char *name, const char *text, size_t n)
{
    size_t valid = utf8_valid(text, n);
    if (valid == n) return true;
    return ag_refuse("%s: byte %zu: expected UTF-8, found byte 0x%02X", name, valid, (unsigned char)text[valid]);
}

int text_next(const char *text, size_t n, uint32_t *code)
{
    return utf8_decode(text, n, code);
}
