/* lm_pairs.c: reads lines of {"prompt": ..., "completion": ...} or {"text": ...}. */
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "train.h"

typedef struct { void *owner; const KaeruVocab *vocab; int32_t *ids; int64_t n, capacity; } Ids;

static void append(Ids *to, const int32_t *ids, size_t count)
{
    if (to->capacity - to->n < (int64_t)count) {
        int64_t capacity = 2 * to->capacity + (int64_t)count + 64;
        to->ids = ag_resize_in(to->owner, to->ids, (size_t)to->capacity, (size_t)capacity, sizeof *ids);
        to->capacity = capacity;
    }
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
    if (prompt && !append_text(to, prompt)) return ag_set_error("%s: %s", name, ag_error());
    e->answer = to->n;
    if (!append_text(to, prompt ? answer : text)) return ag_set_error("%s: %s", name, ag_error());
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
    int64_t number = 0, capacity = 0;
    for (const char *line = text, *stop = text + size, *next; line < stop; line = next) {
        const char *found = memchr(line, '\n', (size_t)(stop - line));
        size_t length = (size_t)((found ? found : stop) - line);
        next = line + length + (found != NULL);
        number++;
        if (is_blank(line, length)) continue;
        if (out->n + 1 >= capacity) {
            out->example = ag_resize_in(owner, out->example, (size_t)capacity, 2 * (size_t)capacity + 64, sizeof *out->example);
            capacity = 2 * capacity + 64;
        }
        void *work = ag_alloc(1, 1);
        char *name = ag_alloc_in(work, strlen(path) + 40, 1);
        snprintf(name, strlen(path) + 40, "%s, line %lld", path, (long long)number);
        bool good = read_example(work, name, line, length, begin, end, &ids, &out->example[out->n++]);
        ag_free(work);
        if (!good) return false;
    }
    if (out->n < 2) return ag_set_error("%s: has %lld examples, expected 2 or more", path, (long long)out->n);
    out->ids = ids.ids;
    out->example[out->n].start = ids.n;
    return true;
}
