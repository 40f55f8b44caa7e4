/* lm_pairs.c: reads lines of {"prompt": ..., "completion": ...} or {"text": ...}. */
#include <string.h>

#include "array.h"
#include "config.h"
#include "number.h"
#include "train.h"

typedef struct { void *owner; const KaeruVocab *vocab; int32_t *ids; int64_t n; size_t capacity; } Ids;

static void append(Ids *to, const int32_t *ids, size_t count)
{
    to->ids = array_for(to->owner, to->ids, (size_t)to->n + count, &to->capacity, sizeof *ids);
    if (count) memcpy(to->ids + to->n, ids, count * sizeof *ids);
    to->n += (int64_t)count;
}

static bool append_text(Ids *to, const Json *text)
{
    size_t count;
    int32_t *ids = kaeru_vocab_encode(to->vocab, text->as.text, text->count, KAERU_WITH_SPECIAL, &count);
    if (ids) append(to, ids, count);
    ag_free(ids);
    return ids != NULL;
}

static bool is_text(const Json *value)
{
    return value && value->type == JSON_STRING;
}

/* Reads a line's example; the last part of it is what the loss counts. */
static bool read_example(void *work, const char *name, const char *line, size_t size, int32_t begin, int32_t end, Ids *to,
                         Example *e)
{
    const Json *root = json_parse(work, name, line, size);
    if (!root) return false;
    const Json *prompt = json_get(root, "prompt"), *answer = json_get(root, "completion"), *text = json_get(root, "text");
    if (!(is_text(prompt) && is_text(answer) && !text) && !(is_text(text) && !prompt && !answer))
        return ag_set_error("%s: expected an object with the texts \"prompt\" and \"completion\", or with a \"text\"", name);
    e->start = to->n;
    if (begin >= 0) append(to, &begin, 1);
    if (prompt && !append_text(to, prompt)) return add_path(name);
    e->answer = to->n;
    if (!append_text(to, prompt ? answer : text)) return add_path(name);
    if (end >= 0) append(to, &end, 1);
    return true;
}

static bool is_blank(const char *line, size_t size)
{
    size_t i = 0;
    while (i < size && strchr(" \t\r", line[i]) && line[i] != '\0') i++;
    return i == size;
}

bool examples_read(void *owner, const char *path, const char *text, size_t size, const KaeruVocab *v, int32_t begin,
                   int32_t end, Examples *out)
{
    Ids ids = { .owner = owner, .vocab = v };
    int64_t number = 0;
    size_t capacity = 0;
    for (const char *line = text, *stop = text + size, *next; line < stop; line = next) {
        const char *found = memchr(line, '\n', (size_t)(stop - line));
        size_t length = (size_t)((found ? found : stop) - line);
        next = line + length + (found != NULL);
        number++;
        if (is_blank(line, length)) continue;
        out->example = array_for(owner, out->example, (size_t)out->n + 2, &capacity, sizeof *out->example);
        void *work = ag_alloc(1, 1);
        char *name = text_printf(work, "%s, line %lld", path, (long long)number);
        bool good = read_example(work, name, line, length, begin, end, &ids, &out->example[out->n++]);
        ag_free(work);
        if (!good) return false;
    }
    if (out->n < 2) return ag_set_error("%s: has %lld examples, expected 2 or more", path, (long long)out->n);
    out->ids = ids.ids;
    out->example[out->n].start = ids.n;
    return true;
}
