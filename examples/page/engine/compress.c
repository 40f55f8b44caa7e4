/* compress.c: decompresses what the program `compress` has compressed, with the program's own predictor and coder, and then
 * compresses a sentence with the model that has learned so. */
#include <string.h>

#include "compress/archive.h"
#include "compress/coding.h"
#include "common/data_hash.h"
#include "engine.h"

enum { MOST_TOKENS = 1 << 16, MOST_SENTENCE = 4096 };
static unsigned char file[1 << 16];
static Head head;
static int32_t id[MOST_TOKENS];
/* Of the file; `fresh` is the same network before it learns, without the table. */
static Coding coding;
static Predictor *fresh;

static void free_coding(Coding *c)
{
    ag_free(c->bits);
    ag_free(c->encoder.out.byte);
    *c = (Coding){ 0 };
}

static bool begin(size_t n)
{
    memcpy(file, the_text(), n);
    if (!archive_read(&(Bytes){ file, n, sizeof file }, &head)) {
        return false;
    }
    if (!head.how.learns) {
        return ag_set_error("was made with a model that is not here");
    }
    if (head.count > MOST_TOKENS) {
        return ag_set_error("has a text of %lld bytes, more than %d", (long long)head.count, MOST_TOKENS);
    }
    if (predictor_mebibytes(&head.how, head.count) > USUAL_MEBIBYTES) {
        return ag_set_error("needs more than %d MiB for its model", USUAL_MEBIBYTES);
    }
    Settings plain = head.how;
    plain.order = 0;
    plain.streams = 1;
    Predictor *untrained = predictor_new(&plain);
    Predictor *p = predictor_new(&head.how);
    predictor_begin(p, id, head.count);
    coding = coding_begin(p, file + head.coded, n - head.coded);
    fresh = untrained;                              /* now that no error can free it */
    return p->hash == head.weights || ag_set_error("was made with weights that are not those with which this page begins");
}

/* {"count": ..., "done": ..., "ended": ...} or {"error": ...} */
static void print_state(bool good)
{
    if (good) {
        printf("{\"count\":%lld,\"done\":%lld,\"ended\":%s}", (long long)head.count, (long long)coding.done,
               predictor_has_ended(coding.p) ? "true" : "false");
    } else {
        printf("{\"error\":\"");
        for (const char *p = ag_error(); *p; p++) {             /* it may have bytes of the file */
            printf(strchr("\"\\", *p) || (unsigned char)*p < ' ' ? "\\u%04x" : "%c", (unsigned char)*p);
        }
        printf("\"}");
    }
}

/* Begins to decompress the n bytes in the engine's text. */
void EXPORT(unpack_begin)(int n)
{
    ag_free(coding.p);
    ag_free(fresh);
    fresh = NULL;
    free_coding(&coding);
    print_state(begin((size_t)n));
}

/* Decompresses the next segment. */
void EXPORT(unpack_step)(void)
{
    ag_precision(head.how.bf16 ? AG_BF16 : AG_FLOAT32);
    bool good = coding_step(&coding);
    if (good && predictor_has_ended(coding.p)) {
        uint64_t hash = DATA_HASH_BEGIN;
        for (int64_t i = 0; i < head.count; i++) {
            hash = data_hash(hash, &(unsigned char){ (unsigned char)id[i] }, 1);
        }
        good = hash == head.text || ag_set_error("the text does not have its hash");
    }
    print_state(good);
}

/* What is decompressed: a token is a byte; a cost of 0 means that it is not known yet. */
const int32_t *EXPORT(unpack_tokens)(void) { return id; }
const float   *EXPORT(unpack_bits)(void)   { return coding.bits; }

/* Compresses n bytes and decompresses them again, one by one. Returns how many bytes they become, -1 if they differ then. The
 * costs stay in c->bits. */
static int round_trip(Predictor *p, int32_t *ids, int64_t n, Coding *c)
{
    static int32_t back[MOST_SENTENCE];
    predictor_begin_another(p, ids, n);
    *c = coding_begin(p, NULL, 0);
    bool good = true;
    while (good && !predictor_has_ended(p)) {
        good = coding_step(c);
    }
    encoder_end(&c->encoder);
    predictor_begin_another(p, back, n);
    Coding again = coding_begin(p, c->encoder.out.byte, c->encoder.out.n);
    while (good && !predictor_has_ended(p)) {
        good = coding_step(&again);
    }
    free_coding(&again);
    return good && memcmp(back, ids, (size_t)n * sizeof *ids) == 0 ? (int)c->encoder.out.n : -1;
}

/* Prints {before, untrained, trained, bits} of the n bytes in the engine's text: how many there are, how many they become by
 * the network before and after it has learned, and what each costs after it. */
void EXPORT(sentence_look)(int n)
{
    static int32_t ids[MOST_SENTENCE];
    int64_t count = n < MOST_SENTENCE ? n : MOST_SENTENCE;
    for (int64_t i = 0; i < count; i++) {
        ids[i] = (unsigned char)the_text()[i];
    }
    ag_precision(head.how.bf16 ? AG_BF16 : AG_FLOAT32);
    Coding untrained, trained;
    printf("{\"before\":%lld,\"untrained\":%d", (long long)count, round_trip(fresh, ids, count, &untrained));
    printf(",\"trained\":%d,", round_trip(coding.p, ids, count, &trained));
    json_reals("bits", trained.bits, count);
    putchar('}');
    free_coding(&untrained);
    free_coding(&trained);
}
