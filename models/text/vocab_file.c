/* vocab_file.c: reads and writes a vocabulary as a JSON object of tokens and ids. */
#include "vocab_file.h"

#include <inttypes.h>

#include "file.h"
#include "json.h"
#include "kaeru/tensor.h"
#include "utf8.h"

enum { MAX_VOCAB_FILE = 1 << 28 };              /* bytes */

static bool read_tokens(const char *name, const Json *root, Word *token)
{
    char quoted[UTF8_QUOTE], other[UTF8_QUOTE];
    for (uint32_t i = 0; i < root->count; i++) {
        const Json *text = &root->as.item[2 * i];
        int64_t id;
        utf8_quote(text->as.text, text->count, quoted);
        if (!json_int(text + 1, &id))
            return ag_set_error("%s: token %s: expected a whole number as id, found %s", name, quoted,
                                text[1].type == JSON_NUMBER ? "another number" : json_type_name(text + 1));
        if (id < 0 || id >= root->count)
            return ag_set_error("%s: token %s: expected ids from 0 to %" PRIu32 " without gaps, found %" PRId64, name,
                                quoted, root->count - 1, id);
        if (token[id].text)
            return ag_set_error("%s: token %s: expected each id once, found %" PRId64 " again, the id of %s", name, quoted,
                                id, utf8_quote(token[id].text, token[id].size, other));
        token[id] = (Word){ text->as.text, text->count, 0 };
    }
    return true;
}

const Word *vocab_parse(void *owner, const char *name, const char *text, size_t size, int32_t *n)
{
    const Json *root = json_parse(owner, name, text, size);
    return root ? vocab_of_json(owner, name, root, n) : NULL;
}

const Word *vocab_of_json(void *owner, const char *name, const Json *root, int32_t *n)
{
    if (root->type != JSON_OBJECT) {
        ag_set_error("%s: expected an object of tokens and ids, found %s", name, json_type_name(root));
        return NULL;
    }
    Word *token = ag_alloc_in(owner, root->count, sizeof *token);
    *n = (int32_t)root->count;
    return read_tokens(name, root, token) ? token : NULL;
}

WordTable *vocab_read(void *owner, const char *path)
{
    void *work = ag_alloc(1, 1);
    size_t size;
    int32_t n;
    const char *text = file_read(work, path, MAX_VOCAB_FILE, &size);
    const Word *token = text ? vocab_parse(work, path, text, size, &n) : NULL;
    WordTable *t = token ? word_table_of(owner, token, n) : NULL;
    ag_free(work);
    return t;
}

const char *vocab_text(void *owner, const Word *token, int32_t n, size_t *size)
{
    JsonWriter *json = json_writer(owner, 0);
    json_open(json, NULL, '{');
    for (int32_t id = 0; id < n; id++) {
        json_write_name(json, token[id].text, token[id].size);
        json_put_int(json, NULL, id);
    }
    json_close(json, '}');
    return json_written(json, size);
}

bool vocab_write(const char *path, const WordTable *t)
{
    void *work = ag_alloc(1, 1);
    size_t size;
    const char *text = vocab_text(work, t->word, t->n, &size);
    FileWriter *w = text ? file_replace(path) : NULL;
    if (w) file_write(w, text, size);
    bool done = w && file_commit(w);
    ag_free(work);
    return done;
}
