/* lm_data.c: the data of a language model: windows of ids for training, and the loss on the held-out part. */
#include <inttypes.h>
#include <string.h>

#include "kaeru/lm.h"
#include "language.h"
#include "lm_parts.h"
#include "losses.h"
#include "utf8.h"
#include "vocab.h"

struct LmData {
    const char *name;
    const KaeruVocab *vocab;                    /* belongs to the program */
    Tokens tokens;
    int64_t start[3];                           /* part p has the ids start[p]..start[p+1]-1 */
    Examples examples;                          /* n is 0: the data is one text */
    int64_t held_out;                           /* the first example of that part */
};

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static int64_t count_of(const LmData *d, LmPart part)
{
    return d->start[part + 1] - d->start[part];
}

/* Nine tenths of n, rounded down. */
static int64_t nine_tenths(int64_t n)
{
    return n / 10 * 9 + n % 10 * 9 / 10;
}

/* Splits the data: the first nine tenths of the ids, or of the examples, are for training. Frees it if it is not good. */
static LmData *opened(LmData *d, bool good)
{
    if (!good) {
        ag_free(d);
        return NULL;
    }
    d->held_out = nine_tenths(d->examples.n);
    d->start[LM_HELD_OUT] = d->examples.n ? d->examples.example[d->held_out].start : nine_tenths(d->tokens.count);
    d->start[LM_HELD_OUT + 1] = d->tokens.count;
    return d;
}

static bool take_text(LmData *d, const char *text, size_t n)
{
    if (!kaeru_text_check(d->name, 1, text, n) || !kaeru_vocab_check(d->vocab, d->name, text, n)) return false;
    size_t count;
    int32_t *ids = kaeru_vocab_encode(d->vocab, text, n, KAERU_WITH_SPECIAL, &count);
    ag_set_owner(ids, d);
    d->tokens = (Tokens){ (const char *)ids, (int64_t)count, sizeof *ids };
    return true;
}

static LmData *data_new(const char *name, const KaeruVocab *v)
{
    LmData *d = ag_object_new(sizeof *d);
    d->name = ag_strndup_in(d, name, strlen(name));
    d->vocab = v;
    return d;
}

LmData *lm_data_open(const char *path, const KaeruVocab *v)
{
    AG_LAYER;
    ag_check_pointer(__func__, "path", path);
    ag_check_object(__func__, "v", v);
    LmData *d = data_new(path, v);
    File *map = file_open(path, true);
    if (map && is_token_file(map)) {
        ag_set_owner(map, d);
        return opened(d, token_file_read(map, path, v, &d->tokens));
    }
    size_t mark = map ? utf8_mark(map->bytes, map->size) : 0;
    bool good = map && take_text(d, map->bytes + mark, map->size - mark);
    ag_free(map);
    return opened(d, good);
}

LmData *lm_data_open_pairs(const char *path, const KaeruVocab *v, int32_t begin, int32_t end)
{
    AG_LAYER;
    ag_check_pointer(__func__, "path", path);
    ag_check_object(__func__, "v", v);
    if (begin >= kaeru_vocab_size(v) || end >= kaeru_vocab_size(v))
        ag_usage_error(__func__, "tokens %d and %d of a vocabulary of %d", (int)begin, (int)end, (int)kaeru_vocab_size(v));
    LmData *d = data_new(path, v);
    File *map = file_open(path, true);
    bool good = map && kaeru_text_check(path, 1, map->bytes, map->size) &&
                examples_read(d, path, map->bytes, map->size, v, begin, end, &d->examples);
    ag_free(map);
    if (good)
        d->tokens = (Tokens){ (const char *)d->examples.ids, d->examples.example[d->examples.n].start, sizeof(int32_t) };
    return opened(d, good);
}

LmData *lm_data_of_text(const char *name, const char *text, size_t n, const KaeruVocab *v)
{
    AG_LAYER;
    ag_check_pointer(__func__, "name", name);
    ag_check_object(__func__, "v", v);
    check_text(__func__, "text", text, n);
    LmData *d = data_new(name, v);
    return opened(d, take_text(d, text, n));
}

static void check_part(const char *what, const LmData *d, LmPart part)
{
    ag_check_object(what, "d", d);
    if (part != LM_TRAIN && part != LM_HELD_OUT) ag_usage_error(what, "%d is not an LmPart", (int)part);
}

int64_t lm_data_tokens(const LmData *d, LmPart part)
{
    check_part(__func__, d, part);
    return count_of(d, part);
}

/* The number of targets among the first n ids of an example: no id predicts the first one. */
static int64_t targets_within(const Example *e, int64_t n)
{
    int64_t answer = e->answer - e->start, first = answer > 1 ? answer : 1;
    return n > first ? n - first : 0;
}

LmUse lm_data_use(const LmData *d, LmPart part, int64_t length)
{
    check_part(__func__, d, part);
    if (length < 1) ag_usage_error(__func__, "windows of %" PRId64 " ids, expected 1 or more", length);
    LmUse use = { 0 };
    if (!d->examples.n) {
        use.targets = count_of(d, part) > 0 ? count_of(d, part) - 1 : 0;
        return use;
    }
    int64_t first = part == LM_TRAIN ? 0 : d->held_out, end = part == LM_TRAIN ? d->held_out : d->examples.n;
    for (int64_t i = first; i < end; i++) {
        const Example *e = &d->examples.example[i];
        int64_t n = e[1].start - e->start, all = targets_within(e, n);
        int64_t shown = targets_within(e, n - 1 > length ? length + 1 : n);
        use.targets += shown;
        if (shown == 0) {
            use.unused++;
            use.unused_targets += all;
        } else if (shown < all) {
            use.cut++;
            use.cut_targets += all - shown;
        } else {
            use.whole++;
        }
    }
    return use;
}

bool lm_data_fits(const LmData *d, const void *m, int64_t length)
{
    AG_LAYER;
    ag_check_object(__func__, "d", d);
    LmSizes sizes = lm_sizes(__func__, m);
    if (length < 0) ag_usage_error(__func__, "windows of %" PRId64 " ids, expected 1 or more, or 0 for the context", length);
    int64_t context = sizes.context;
    if (length > context)
        return ag_set_error("windows of %" PRId64 " tokens are longer than the model's context of %" PRId64, length, context);
    int64_t window = (length > 0 ? length : context) + 1;
    if (kaeru_vocab_size(d->vocab) > sizes.vocab)
        return ag_set_error("%s: its vocabulary has %d tokens, the model's only %" PRId64, d->name,
                            (int)kaeru_vocab_size(d->vocab), sizes.vocab);
    if (d->examples.n && (lm_data_use(d, LM_TRAIN, window - 1).targets == 0 ||
                          lm_data_use(d, LM_HELD_OUT, window - 1).targets == 0))
        return ag_set_error("%s: in windows of %" PRId64 " tokens there is nothing to learn or nothing held out: expected "
                            "longer windows, shorter prompts or more examples", d->name, window - 1);
    if (d->examples.n) return true;
    if (count_of(d, LM_TRAIN) < window || count_of(d, LM_HELD_OUT) < 2)
        return ag_set_error("%s: %" PRId64 " tokens to learn from and %" PRId64 " held out are too few: expected %" PRId64
                            " (one more than a window) and 2; a shorter window needs less", d->name, count_of(d, LM_TRAIN),
                            count_of(d, LM_HELD_OUT), window);
    return true;
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

/* Writes a row of ids and targets: the window that begins at *position, cut off or padded. *position moves to the next one:
 * the next example, or in a text the last id of this window. Returns the number of targets. */
static int64_t write_window(const LmData *d, LmPart part, int64_t *position, Tensor *ids, Tensor *targets, int64_t row)
{
    int64_t length = tensor_dim(ids, 1), n = 0, answer = 0, counted = 0;
    int32_t *x = tensor_mutable_int_data(ids) + row * length, *y = tensor_mutable_int_data(targets) + row * length;
    const int32_t *id = NULL;
    if (!d->examples.n) {
        int64_t left = d->start[part + 1] - *position;
        int32_t *read = ag_scratch((size_t)length + 1, sizeof *read);
        n = left < length + 1 ? left : length + 1;
        tokens_copy(&d->tokens, *position, n, read);
        id = read;
        *position += n - 1;
    } else if (*position < d->examples.n) {
        const Example *e = &d->examples.example[(*position)++];
        id = d->examples.ids + e->start;
        n = e[1].start - e->start;
        answer = e->answer - e->start;
    }
    for (int64_t k = 0; k < length; k++) {
        bool counts = k + 1 < n && k + 1 >= answer;
        x[k] = k < n ? id[k] : 0;
        y[k] = counts ? id[k + 1] : NO_TARGET;
        counted += counts;
    }
    return counted;
}

void lm_data_draw(const LmData *d, int64_t batch, int64_t length, Tensor **ids, Tensor **targets)
{
    AG_LAYER;
    ag_check_object(__func__, "d", d);
    ag_check_pointer(__func__, "ids", ids);
    ag_check_pointer(__func__, "targets", targets);
    if (batch < 1 || length < 1 || (length >= count_of(d, LM_TRAIN) && !d->examples.n))
        ag_usage_error(__func__, "%" PRId64 " windows of %" PRId64 " ids of %s, which has %" PRId64, batch, length, d->name,
                       count_of(d, LM_TRAIN));
    *ids = tensor_ints(SHAPE(batch, length), NULL);
    *targets = tensor_ints(SHAPE(batch, length), NULL);
    AgScope s = ag_begin(AG_NO_GRAD);
    int64_t positions = d->examples.n ? d->held_out : count_of(d, LM_TRAIN) - length;
    for (int64_t b = 0; b < batch; b++) {
        int64_t position = ag_random_below(positions);      /* again, if the prompt of an example fills the window */
        for (int i = 0; write_window(d, LM_TRAIN, &position, *ids, *targets, b) == 0 && i < 100; i++)
            position = ag_random_below(positions);
    }
    ag_end(s);
}

double lm_evaluate_with(void *m, const LmData *d, int64_t batch, int64_t length, int64_t tokens, int64_t *counted,
                        NnParallel *p)
{
    nn_eval(m);
    int64_t position = d->examples.n ? d->held_out : d->start[LM_HELD_OUT], total = 0, n = 1;
    Losses losses = { .parallel = p };
    while ((n > 0 || position < d->examples.n) && (tokens <= 0 || total < tokens)) {
        AgScope s = ag_begin(AG_NO_GRAD);
        Tensor *ids = tensor_ints(SHAPE(batch, length), NULL), *targets = tensor_ints(SHAPE(batch, length), NULL);
        n = 0;
        for (int64_t b = 0; b < batch; b++) n += write_window(d, LM_HELD_OUT, &position, ids, targets, b);
        bool computes = n > 0 && losses_next_is_mine(&losses);
        losses_add(&losses, computes ? tensor_item(lm_loss_with(m, ids, targets, AG_SUM)) : 0);
        total += n;
        ag_end(s);
    }
    double sum = losses_sum(&losses);
    if (counted) *counted = total;
    return total > 0 ? sum / (double)total : 0;
}

double lm_evaluate(void *m, const LmData *d, int64_t batch, int64_t length, int64_t tokens, int64_t *counted)
{
    AG_LAYER;
    int64_t context = lm_sizes(__func__, m).context;
    ag_check_object(__func__, "d", d);
    if (batch < 1 || length < 0)
        ag_usage_error(__func__, "batches of %" PRId64 " windows of %" PRId64 " ids, expected 1 or more, and 0 or more", batch,
                       length);
    if (count_of(d, LM_HELD_OUT) < 2)
        ag_usage_error(__func__, "%s has %" PRId64 " held-out ids, expected 2 or more (see lm_data_fits)", d->name,
                       count_of(d, LM_HELD_OUT));
    return lm_evaluate_with(m, d, batch, length > 0 ? length : context, tokens, counted, NULL);
}

bool data_agrees(const LmData *d, NnParallel *p)
{
    enum { SAMPLES = 64, BYTES = 4096 };
    size_t size = (size_t)d->tokens.count * (size_t)d->tokens.width;
    size_t part = size < SAMPLES * BYTES ? size : BYTES, n = part < size ? SAMPLES : 1;
    uint64_t fingerprint = kaeru_vocab_fingerprint(d->vocab);
    bool good = nn_parallel_agree(p, "the data: their size", &size, sizeof size) &&
                nn_parallel_agree(p, "the data: their vocabulary", &fingerprint, sizeof fingerprint);
    for (size_t i = 0; good && i < n; i++)
        good = nn_parallel_agree(p, "the data", d->tokens.bytes + (n > 1 ? (size - part) / (n - 1) * i : 0), part);
    return good;
}
