/* fuzz_pairs.c: the examples of an accepted file of pairs follow each other, and each has the ids of its texts between the
 * token at its begin and that at its end. The first byte tells whether there are such tokens; the rest is the file. */
#include "fuzz.h"
#include "json.h"
#include "train.h"
#include "utf8.h"

/* The ids are those of this text. */
static void check_text(const KaeruVocab *v, const int32_t *ids, int64_t n, const Json *text)
{
    size_t size;
    CHECK(text && text->type == JSON_STRING);
    char *back = kaeru_vocab_decode(v, ids, (size_t)n, &size);
    CHECK(back && size == text->count && memcmp(back, text->as.text, size) == 0);
    ag_free(back);
}

static void check_example(const KaeruVocab *v, const Examples *e, int64_t i, const char *line, size_t size, bool ends)
{
    void *owner = ag_alloc(1, 1);
    const Json *root = json_parse(owner, "line", line, size);
    const Json *prompt = json_get(root, "prompt"), *answer = json_get(root, prompt ? "completion" : "text");
    int64_t start = e->example[i].start + ends, middle = e->example[i].answer, end = e->example[i + 1].start - ends;
    CHECK(start <= middle && middle <= end && (prompt || start == middle));
    if (prompt) check_text(v, e->ids + start, middle - start, prompt);
    check_text(v, e->ids + middle, end - middle, answer);
    if (ends) CHECK(e->ids[start - 1] == 65 && e->ids[end] == 66);
    ag_free(owner);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static KaeruVocab *v;
    if (!v) v = kaeru_vocab_bpe(KAERU_BPE, "the frog, the pond", 18, 260);
    if (size < 2) return -1;
    const char *text = (const char *)data + 1;
    size_t n = size - 1;
    bool ends = data[0] % 2;
    if (utf8_valid(text, n) != n) return -1;
    void *owner = ag_alloc(1, 1);
    Examples e = { 0 };
    if (examples_read(owner, "fuzz", text, n, v, ends ? 65 : -1, ends ? 66 : -1, &e)) {
        int64_t i = 0;
        for (const char *line = text, *stop = text + n; line < stop; ) {
            const char *found = memchr(line, '\n', (size_t)(stop - line));
            size_t length = (size_t)((found ? found : stop) - line);
            if (memchr(line, '{', length)) check_example(v, &e, i++, line, length, ends);
            line += length + (found != NULL);
        }
        CHECK(i == e.n && e.n >= 2);
    } else {
        fuzz_check_refusal("fuzz");
    }
    ag_free(owner);
    return 0;
}
