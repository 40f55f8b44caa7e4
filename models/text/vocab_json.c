/* vocab_json.c: tokens and their ids as a JSON object. */
#include <inttypes.h>

#include "utf8.h"
#include "vocab.h"

static bool read_tokens(const char *name, const Json *root, Word *token)
{
    for (uint32_t i = 0; i < root->count; i++) {
        const Json *text = &root->as.item[2 * i];
        int64_t id;
        const char *quoted = QUOTED_BYTES(text->as.text, text->count);
        if (!json_int(text + 1, &id))
            return ag_set_error("%s: token %s: expected a whole number as id, found %s", name, quoted,
                                text[1].type == JSON_NUMBER ? "another number" : json_type_name(text + 1));
        if (id < 0 || id >= root->count)
            return ag_set_error("%s: token %s: expected ids from 0 to %" PRIu32 " without gaps, found %" PRId64, name,
                                quoted, root->count - 1, id);
        if (token[id].text)
            return ag_set_error("%s: token %s: expected each id once, found %" PRId64 " again, the id of %s", name, quoted,
                                id, QUOTED_BYTES(token[id].text, token[id].size));
        token[id] = (Word){ text->as.text, text->count, 0 };
    }
    return true;
}

const Word *vocab_tokens(void *work, const char *name, const Json *root, int32_t *n)
{
    if (root->type != JSON_OBJECT) {
        ag_set_error("%s: expected an object of tokens and ids, found %s", name, json_type_name(root));
        return NULL;
    }
    const Json *model = json_get(root, "model");
    if (json_get(model, "vocab")) {
        const Json *type = json_get(model, "type");
        ag_set_error("%s: expected an object of tokens and ids, found a tokenizer.json of the model %s", name,
                     type && type->type == JSON_STRING ? QUOTED_BYTES(type->as.text, type->count) : "BPE");
        return NULL;
    }
    Word *token = ag_alloc_in(work, root->count, sizeof *token);
    *n = (int32_t)root->count;
    return read_tokens(name, root, token) ? token : NULL;
}

const char *vocab_text(void *work, const Word *token, int32_t n, size_t *size)
{
    JsonWriter *json = json_writer(work, 0);
    json_open(json, NULL, '{');
    for (int32_t id = 0; id < n; id++) {
        json_write_name(json, token[id].text, token[id].size);
        json_put_int(json, NULL, id);
    }
    json_close(json, '}');
    return json_written(json, size);
}
