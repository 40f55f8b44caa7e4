/* words.c: a small text from a grammar, byte pairs that are learned from it, and a sentence as tokens and vectors. */
#include <string.h>

#include "engine.h"
#include "kaeru/nn.h"
#include "words.h"

/* ---- the text ---------------------------------------------------------------------------------------------------- */

enum { SENTENCES = 1000, LANGUAGES = 2, ANIMALS = 6, CHOICES = 3, TIMES = 4, TEXT_BYTES = 1 << 16 };
/* The first of three choices comes half of the time, the last one least. */
typedef struct { const char *name, *food[CHOICES], *place[CHOICES], *look[CHOICES]; } Animal;
static const Animal animal[LANGUAGES][ANIMALS] = {
    { { "cat", { "fish", "cheese", "chicken" }, { "on the sofa", "on a chair", "in a box" }, { "soft", "quick", "quiet" } },
      { "dog", { "meat", "rice", "bread" }, { "in the garden", "at the door", "on the grass" }, { "strong", "loud", "happy" } },
      { "bird", { "seeds", "bread", "berries" }, { "in the tree", "on the roof", "in a nest" }, { "light", "loud", "quick" } },
      { "rabbit", { "grass", "carrots", "apples" }, { "in a hole", "on the grass", "under a tree" },
        { "soft", "shy", "quick" } },
      { "bear", { "honey", "fish", "berries" }, { "in a cave", "under a tree", "by the river" },
        { "large", "strong", "slow" } },
      { "mouse", { "cheese", "seeds", "bread" }, { "in a hole", "in a box", "under the sofa" }, { "small", "shy", "quiet" } } },
    { { "猫", { "魚", "チーズ", "鶏肉" }, { "ソファの上", "椅子の上", "箱の中" }, { "やわらかい", "すばやい", "静か" } },
      { "犬", { "肉", "ご飯", "パン" }, { "庭", "玄関", "草の上" }, { "強い", "にぎやか", "元気" } },
      { "鳥", { "種", "パン", "木の実" }, { "木の上", "屋根の上", "巣の中" }, { "軽い", "にぎやか", "すばやい" } },
      { "うさぎ", { "草", "にんじん", "りんご" }, { "穴の中", "草の上", "木の下" }, { "やわらかい", "臆病", "すばやい" } },
      { "熊", { "蜂蜜", "魚", "木の実" }, { "洞窟", "木の下", "川の近く" }, { "大きい", "強い", "のろい" } },
      { "ねずみ", { "チーズ", "種", "パン" }, { "穴の中", "箱の中", "ソファの下" }, { "小さい", "臆病", "静か" } } },
};
static const char *const time_of[LANGUAGES][TIMES] = {
    { "In the morning the", "At night the", "Today the", "The" }, { "朝、", "夜、", "今日、", "" },
};

static int draw_choice(void)
{
    double u = ag_random_uniform();
    return u < 0.5 ? 0 : u < 0.8 ? 1 : 2;
}

static const Animal *draw_animal(int language)
{
    return &animal[language][(int)(ag_random_uniform() * ANIMALS)];
}

/* Writes a sentence with its line end. Most sentences about the night are about sleep. Japanese has no spaces: "|" is between
 * two words. Returns the size of the sentence. */
static int write_sentence(char *to, size_t room, int language)
{
    enum { NIGHT = 1, SLEEPS = 1 };
    static const char *const form[LANGUAGES][4] = {
        { "%s %s eats %s.\n", "%s %s sleeps %s.\n", "%s %s is %s.\n", "%s %s sees the %s.\n" },
        { "%s%s|は|%s|を|食べます。\n", "%s%s|は|%s|で|眠ります。\n", "%s%s|は|%s|です。\n", "%s%s|は|%s|を|見ます。\n" },
    };
    int when = (int)(ag_random_uniform() * TIMES), kind = (int)(ag_random_uniform() * 4), which = draw_choice();
    if (when == NIGHT && ag_random_uniform() < 0.7) {
        kind = SLEEPS;
    }
    const Animal *who = draw_animal(language);
    const char *what[] = { who->food[which], who->place[which], who->look[which], draw_animal(language)->name };
    return snprintf(to, room, form[language][kind], time_of[language][when], who->name, what[kind]);
}

/* The text with "|" between Japanese words. */
static const char *marked_text(size_t *size)
{
    static char text[TEXT_BYTES];
    static size_t n;
    if (n == 0) {
        ag_seed(0);
        for (int i = 0; i < SENTENCES; i++) {
            n += (size_t)write_sentence(text + n, sizeof text - n, i % LANGUAGES);
        }
    }
    *size = n;
    return text;
}

/* Copies the text with another character in the place of each "|"; 0: with none. Returns the size. */
static size_t copy_text(char *to, char mark)
{
    size_t size, n = 0;
    const char *from = marked_text(&size);
    for (size_t i = 0; i < size; i++) {
        to[n] = from[i] == '|' ? mark : from[i];
        n += to[n] != '\0';
    }
    return n;
}

const char *words_text(int language, size_t *size)
{
    static char text[TEXT_BYTES];
    size_t end = copy_text(text, '\0'), n = 0;
    int line = 0;
    for (size_t i = 0; i < end; i++) {
        text[n] = text[i];
        n += line % LANGUAGES == language;
        line += text[i] == '\n';
    }
    *size = n;
    return text;
}

KaeruVocab *words_vocab(int merges)
{
    static char text[TEXT_BYTES];
    size_t size = copy_text(text, '\n');
    return kaeru_vocab_bpe(KAERU_BPE, text, size, 256 + merges + 1);
}

/* ---- a sentence as tokens and vectors ---------------------------------------------------------------------------- */

void json_token(const KaeruVocab *v, int32_t id)
{
    size_t n;
    const char *bytes = kaeru_vocab_token(v, id, &n);
    printf("[");
    for (size_t i = 0; i < n; i++) {
        printf("%s%d", i ? "," : "", (unsigned char)bytes[i]);
    }
    printf("]");
}

/* Prints {tokens: [{id, bytes}, ...], rows, learned, newest, same} of the n bytes in the engine's text, by byte pairs with at
 * most that many merges. rows: the rows of an embedding table before training, `width` numbers each, of the first `shown`
 * tokens. learned: how many merges there are; newest: the bytes of the last one. same: whether the ids give the n bytes. */
void EXPORT(tokens_look)(int n, int merges, int shown, int width)
{
    KaeruVocab *v = words_vocab(merges);
    size_t count, size;
    int32_t *ids = kaeru_vocab_encode(v, the_text(), (size_t)n, KAERU_AS_TEXT, &count);
    char *back = kaeru_vocab_decode(v, ids, count, &size);
    int learned = kaeru_vocab_size(v) - 257;
    bool same = size == (size_t)n && memcmp(back, the_text(), size) == 0;
    printf("{\"same\":%s,\"learned\":%d,\"newest\":", same ? "true" : "false", learned);
    json_token(v, learned > 0 ? 255 + learned : 0);
    printf(",\"tokens\":[");
    for (size_t i = 0; i < count; i++) {
        printf("%s{\"id\":%d,\"bytes\":", i ? "," : "", ids[i]);
        json_token(v, ids[i]);
        printf("}");
    }
    printf("],");
    ag_seed(0);
    Embedding *table = nn_embedding_new(256 + MOST_MERGES + 1, width);
    int64_t rows = (int64_t)count < shown ? (int64_t)count : shown;
    Tensor *taken = rows > 0 ? nn_embedding(table, tensor_ints(SHAPE(rows), ids)) : table->weight;
    json_reals("rows", tensor_data(taken), rows * width);
    printf("}");
    ag_free(table);
    ag_free(back);
    ag_free(ids);
    ag_free(v);
}
