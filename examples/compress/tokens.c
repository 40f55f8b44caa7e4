/* tokens.c: bytes as tokens. A vocabulary may not have all characters, or may change some of them. Such bytes become tokens
 * behind those of the model. */
#include "tokens.h"

#include <string.h>

typedef struct { const Predictor *p; int32_t *id; size_t n, room; } List;

const char *token_bytes(const Predictor *p, int32_t id, char *byte, size_t *n)
{
    if (p->vocabulary && id < p->vocab) {
        return kaeru_vocab_token(p->vocabulary, id, n);
    }
    *byte = (char)(p->vocabulary ? id - p->vocab : id);
    *n = 1;
    return byte;
}

static void append(List *l, const int32_t *ids, size_t count)
{
    if (l->n + count > l->room) {
        size_t room = 2 * (l->n + count);
        l->id = ag_resize(l->id, l->room, room, sizeof *l->id);
        l->room = room;
    }
    memcpy(l->id + l->n, ids, count * sizeof *ids);
    l->n += count;
}

/* Whether the tokens give these bytes again. */
static bool is_same(const Predictor *p, const int32_t *ids, size_t count, const char *bytes, size_t n)
{
    size_t at = 0, size;
    for (size_t i = 0; i < count; i++, at += size) {
        char byte;
        const char *text = token_bytes(p, ids[i], &byte, &size);
        if (!text || size > n - at || memcmp(text, bytes + at, size) != 0) {
            return false;
        }
    }
    return at == n;
}

/* Bytes that are not encoded without change are divided, down to single bytes. */
static void encode(List *l, const char *bytes, size_t n)
{
    size_t count = 0;
    int32_t *ids = kaeru_vocab_encode(l->p->vocabulary, bytes, n, KAERU_AS_TEXT, &count);
    if (ids && is_same(l->p, ids, count, bytes, n)) {
        append(l, ids, count);
    } else if (n == 1) {
        append(l, &(int32_t){ (int32_t)l->p->vocab + (unsigned char)bytes[0] }, 1);
    } else {
        encode(l, bytes, n / 2);
        encode(l, bytes + n / 2, n - n / 2);
    }
    ag_free(ids);
}

int32_t *tokens_of(const Predictor *p, const char *bytes, size_t n, int64_t *count)
{
    List l = { .p = p };
    if (p->vocabulary && n > 0) {
        encode(&l, bytes, n);
    }
    for (size_t i = 0; !p->vocabulary && i < n; i++) {
        append(&l, &(int32_t){ (unsigned char)bytes[i] }, 1);
    }
    *count = (int64_t)l.n;
    return l.id;
}
