/* lm_pairs.c: reads lines of {"prompt": ..., "completion": ...} or {"text": ...}. */
#include <inttypes.h>
#include <string.h>

#include "array.h"
#include "lm_parts.h"
#include "utf8.h"
#include "vocab.h"

typedef struct { void *owner; const KaeruVocab *vocab; int32_t *ids; int64_t n; size_t capacity; } Ids;

static void append(Ids *to, const int32_t *ids, size_t count)
{
    to->ids = array_for(to->owner, to->ids, (size_t)to->n + count, &to->capacity, sizeof *ids);
    if (count) memcpy(to->ids + to->n, ids, count * sizeof *ids);
    to->n += (int64_t)count;
}

/* The place of a line, for messages. */
typedef struct { const char *path; int64_t line; } Place;

static bool append_text(Ids *to, Place place, const Json *text)
{
    Word unit;
    if (units_lack(to->vocab, text->as.text, text->count, &unit))
        return ag_set_error("%s: line %" PRId64 ": %s is not in the vocabulary", place.path, place.line,
                            QUOTED_BYTES(unit.text, unit.size));
    size_t count;
    int32_t *ids = kaeru_vocab_encode(to->vocab, text->as.text, text->count, KAERU_WITH_SPECIAL, &count);
    append(to, ids, count);
    ag_free(ids);
    return true;
}

static bool is_text(const Json *value)
{
    return value && value->type == JSON_STRING;
}

static const char expected[] = "expected an object with the texts \"prompt\" and \"completion\", or with a \"text\"";

/* Says what the line has instead. */
static bool wrong_example(Place place, const Json *root)
{
    if (json_get(root, "messages") || json_get(root, "conversations"))
        return ag_set_error("%s: line %" PRId64 ": %s, found a conversation: write it as such texts, by the chat template "
                            "of the model", place.path, place.line, expected);
    if (root->type != JSON_OBJECT || root->count == 0)
        return ag_set_error("%s: line %" PRId64 ": %s, found %s", place.path, place.line, expected,
                            root->type == JSON_OBJECT ? "an empty one" : json_type_name(root));
    char names[4 * UTF8_QUOTE] = "";
    for (uint32_t i = 0; i < root->count && i < 3; i++) {
        const Json *name = &root->as.item[2 * i];
        size_t n = strlen(names);
        snprintf(names + n, sizeof names - n, "%s%s (%s)", i ? ", " : "", QUOTED_BYTES(name->as.text, name->count),
                 json_type_name(name + 1));
    }
    return ag_set_error("%s: line %" PRId64 ": %s, found one with %s%s", place.path, place.line, expected, names,
                        root->count > 3 ? ", ..." : "");
}

/* Reads a line's example; the last part of it is what the loss counts. */
static bool read_example(void *work, Place place, const char *line, size_t size, int32_t begin, int32_t end, Ids *to,
                         Example *e)
{
    if (*line == '[') return ag_set_error("%s: line %" PRId64 ": %s, found an array", place.path, place.line, expected);
    const Json *root = json_parse_from(work, place.path, place.line, line, size);
    if (!root) return false;
    const Json *prompt = json_get(root, "prompt"), *answer = json_get(root, "completion"), *text = json_get(root, "text");
    if (!(is_text(prompt) && is_text(answer) && !text) && !(is_text(text) && !prompt && !answer))
        return wrong_example(place, root);
    e->start = to->n;
    if (begin >= 0) append(to, &begin, 1);
    if (prompt && !append_text(to, place, prompt)) return false;
    e->answer = to->n;
    if (!append_text(to, place, prompt ? answer : text)) return false;
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
    for (const char *line = text + utf8_mark(text, size), *stop = text + size, *next; line < stop; line = next) {
        const char *found = memchr(line, '\n', (size_t)(stop - line));
        size_t length = (size_t)((found ? found : stop) - line);
        next = line + length + (found != NULL);
        number++;
        if (is_blank(line, length)) continue;
        out->example = array_for(owner, out->example, (size_t)out->n + 2, &capacity, sizeof *out->example);
        void *work = ag_alloc(1, 1);
        bool good = read_example(work, (Place){ path, number }, line, length, begin, end, &ids, &out->example[out->n++]);
        ag_free(work);
        if (!good) return false;
    }
    if (out->n < 2) return ag_set_error("%s: has %lld examples, expected 2 or more", path, (long long)out->n);
    out->ids = ids.ids;
    out->example[out->n].start = ids.n;
    return true;
}
