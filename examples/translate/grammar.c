/* grammar.c: English sentences and their Japanese, made by a small grammar. Both sides are put together at once, phrase
 * by phrase, so the order of words and the particles of Japanese come out right: the verb last, the topic marked by は,
 * the object by を, the owner by の. */
#include <string.h>

#include "translate_commands.h"

typedef struct { char en[320], ja[320]; } Pair;

/* Appends words, with a space before each but the first. */
static void say(char *text, const char *words)
{
    if (!words[0]) {
        return;
    }
    if (text[0]) {
        strcat(text, " ");
    }
    strcat(text, words);
}

#define PICK(list) (&(list)[ag_random_below(sizeof (list) / sizeof *(list))])

static bool chance(double p)
{
    return ag_random_uniform() < p;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

typedef struct { const char *en, *ja; } Word;
typedef struct { const char *article, *en, *plural, *ja; } Noun;
typedef struct { const char *en, *ja, *ja_ku; } Adjective;
typedef struct { const char *en, *ja; bool third; } Person;         /* third: he reads, not he read */

static const Noun foods[] = { { "an", "apple", "apples", "りんご" }, { "an", "egg", "eggs", "卵" },
    { "an", "orange", "oranges", "みかん" }, { "a", "cake", "cakes", "ケーキ" }, { "a", "fish", "fish", "魚" } };
static const Noun things[] = { { "a", "pen", "pens", "ペン" }, { "a", "book", "books", "本" },
    { "a", "letter", "letters", "手紙" }, { "a", "bag", "bags", "かばん" }, { "an", "umbrella", "umbrellas", "傘" },
    { "a", "clock", "clocks", "時計" }, { "a", "camera", "cameras", "カメラ" }, { "a", "hat", "hats", "帽子" } };
static const Noun animals[] = { { "a", "cat", "cats", "猫" }, { "a", "dog", "dogs", "犬" },
    { "a", "bird", "birds", "鳥" }, { "a", "horse", "horses", "馬" }, { "a", "frog", "frogs", "かえる" } };
static const Noun furniture[] = { { "a", "table", "", "テーブル" }, { "a", "chair", "", "椅子" }, { "a", "box", "", "箱" },
    { "a", "tree", "", "木" }, { "a", "house", "", "家" }, { "a", "bed", "", "ベッド" } };
static const Noun writings[] = { { "a", "book", "books", "本" }, { "a", "letter", "letters", "手紙" },
    { "a", "poem", "poems", "詩" } };
static const Adjective adjectives[] = { { "big", "大きい", "大きく" }, { "small", "小さい", "小さく" },
    { "new", "新しい", "新しく" }, { "old", "古い", "古く" }, { "white", "白い", "白く" }, { "black", "黒い", "黒く" },
    { "pretty", "美しい", "美しく" } };
static const Word owners[] = { { "my", "私" }, { "your", "あなた" }, { "his", "彼" }, { "her", "彼女" }, { "our", "私たち" } };
static const Word pointers[] = { { "this", "この" }, { "that", "あの" } };
static const Word positions[] = { { "on", "上" }, { "under", "下" }, { "in", "中" }, { "behind", "後ろ" },
                                  { "near", "近く" } };
static const Person persons[] = { { "I", "私", false }, { "you", "あなた", false }, { "he", "彼", true },
    { "she", "彼女", true }, { "we", "私たち", false }, { "they", "彼ら", false }, { "the teacher", "先生", true },
    { "the student", "学生", true }, { "my mother", "私 の 母", true }, { "my friend", "私 の 友達", true },
    { "the children", "子供たち", false } };
static const Word places[] = { { "in the park", "公園" }, { "in the library", "図書館" }, { "at school", "学校" },
    { "at home", "家" }, { "in the garden", "庭" } };
static const Word goals[] = { { "to school", "学校" }, { "to the park", "公園" }, { "to the library", "図書館" },
    { "to the station", "駅" }, { "to Tokyo", "東京" } };
static const Word means[] = { { "by bus", "バス" }, { "by train", "電車" }, { "by car", "車" }, { "by bicycle", "自転車" } };

/* ---- phrases ----------------------------------------------------------------------------------------------------- */

/* "my old book" / "私 の 古い 本" */
static void noun_phrase(Pair *p, const Noun *noun, bool definite)
{
    bool has_adjective = chance(0.4);
    const Adjective *adjective = PICK(adjectives);
    double kind = ag_random_uniform();
    if (kind < 0.25) {
        const Word *owner = PICK(owners);
        say(p->en, owner->en);
        say(p->ja, owner->ja);
        say(p->ja, "の");
    } else if (kind < 0.4) {
        const Word *pointer = PICK(pointers);
        say(p->en, pointer->en);
        say(p->ja, pointer->ja);
    } else if (definite || kind < 0.6) {
        say(p->en, "the");
    } else {
        say(p->en, has_adjective ? (strchr("aeiou", adjective->en[0]) ? "an" : "a") : noun->article);
    }
    if (has_adjective) {
        say(p->en, adjective->en);
        say(p->ja, adjective->ja);
    }
    say(p->en, noun->en);
    say(p->ja, noun->ja);
}

/* What is done to things. */
typedef struct { const char *base, *third, *past, *ja; const Noun *object; int64_t n_objects; } Verb;
#define OBJECTS(list) list, sizeof (list) / sizeof *(list)
static const Verb verbs[] = {
    { "eat", "eats", "ate", "食べ", OBJECTS(foods) },          { "buy", "buys", "bought", "買い", OBJECTS(things) },
    { "see", "sees", "saw", "見", OBJECTS(animals) },          { "find", "finds", "found", "見つけ", OBJECTS(things) },
    { "write", "writes", "wrote", "書き", OBJECTS(writings) }, { "wash", "washes", "washed", "洗い", OBJECTS(things) },
    { "draw", "draws", "drew", "描き", OBJECTS(animals) },     { "sell", "sells", "sold", "売り", OBJECTS(foods) },
};
static const Verb go = { "go", "goes", "went", "行き", NULL, 0 };
static const Verb give = { "give", "gives", "gave", "あげ", OBJECTS(things) };

/* How something is said: statement or question, yes or no, now or then; with the word for the time. */
typedef struct { bool question, negative, past; const Word *time; } Mood;

static Mood draw_mood(void)
{
    static const Word now[] = { { "every day", "毎日" }, { "every morning", "毎朝" } };
    static const Word then[] = { { "yesterday", "昨日" }, { "last week", "先週" } };
    Mood m = { .question = chance(0.2), .negative = chance(0.25), .past = chance(0.5) };
    m.negative = m.negative && !m.question;
    m.time = chance(0.5) ? NULL : m.past ? PICK(then) : PICK(now);
    return m;
}

/* "Does he not eat": subject and verb of English, and the topic of Japanese. */
static void subject_and_verb(Pair *p, const Person *who, const Verb *verb, Mood m)
{
    const char *does = m.past ? "did" : who->third ? "does" : "do";
    if (m.question) {
        say(p->en, does);
        say(p->en, who->en);
        say(p->en, verb->base);
    } else if (m.negative) {
        say(p->en, who->en);
        say(p->en, does);
        say(p->en, "not");
        say(p->en, verb->base);
    } else {
        say(p->en, who->en);
        say(p->en, m.past ? verb->past : who->third ? verb->third : verb->base);
    }
    say(p->ja, who->ja);
    say(p->ja, "は");
    if (m.time) {
        say(p->ja, m.time->ja);
    }
}

/* What stands last: the time in English, the verb in Japanese. */
static void finish(Pair *p, const Verb *verb, Mood m)
{
    if (m.time) {
        say(p->en, m.time->en);
    }
    say(p->en, m.question ? "?" : ".");
    say(p->ja, verb->ja);
    say(p->ja, m.negative ? "ません" : m.past ? "ました" : "ます");
    if (m.negative && m.past) {
        say(p->ja, "でした");
    }
    say(p->ja, m.question ? "か 。" : "。");
}

/* ---- sentences --------------------------------------------------------------------------------------------------- */

/* "She buys a pen in the park every day ." / "彼女 は 毎日 公園 で ペン を 買い ます 。" */
static void action(Pair *p)
{
    const Verb *verb = PICK(verbs);
    Mood m = draw_mood();
    Pair object = { "", "" };
    noun_phrase(&object, &verb->object[ag_random_below(verb->n_objects)], false);
    subject_and_verb(p, PICK(persons), verb, m);
    say(p->en, object.en);
    if (chance(0.4)) {
        const Word *place = PICK(places);
        say(p->en, place->en);
        say(p->ja, place->ja);
        say(p->ja, "で");
    }
    say(p->ja, object.ja);
    say(p->ja, "を");
    finish(p, verb, m);
}

/* "They went to the station by bus ." / "彼ら は バス で 駅 へ 行き ました 。" */
static void motion(Pair *p)
{
    Mood m = draw_mood();
    const Word *goal = PICK(goals);
    subject_and_verb(p, PICK(persons), &go, m);
    say(p->en, goal->en);
    if (chance(0.6)) {
        const Word *how = PICK(means);
        say(p->en, how->en);
        say(p->ja, how->ja);
        say(p->ja, "で");
    }
    say(p->ja, goal->ja);
    say(p->ja, "へ");
    finish(p, &go, m);
}

/* "I gave my friend a book ." / "私 は 私 の 友達 に 本 を あげ ました 。" */
static void gift(Pair *p)
{
    static const Word receivers[] = { { "the teacher", "先生" }, { "my friend", "私 の 友達" }, { "his mother", "彼 の 母" },
                                      { "the student", "学生" }, { "our children", "私たち の 子供たち" } };
    Mood m = draw_mood();
    const Word *receiver = PICK(receivers);
    subject_and_verb(p, PICK(persons), &give, m);
    say(p->en, receiver->en);
    say(p->ja, receiver->ja);
    say(p->ja, "に");
    noun_phrase(p, &give.object[ag_random_below(give.n_objects)], false);
    say(p->ja, "を");
    finish(p, &give, m);
}

/* "There is a cat under the table ." / "テーブル の 下 に 猫 が い ます 。": い ます for what lives, あり ます for the rest */
static void existence(Pair *p)
{
    bool alive = chance(0.5), question = chance(0.25);
    Pair thing = { "", "" }, place = { "", "" };
    const Word *position = PICK(positions);
    noun_phrase(&thing, alive ? PICK(animals) : PICK(things), false);
    noun_phrase(&place, PICK(furniture), true);
    say(p->en, question ? "is there" : "there is");
    say(p->en, thing.en);
    say(p->en, position->en);
    say(p->en, place.en);
    say(p->en, question ? "?" : ".");
    say(p->ja, place.ja);
    say(p->ja, "の");
    say(p->ja, position->ja);
    say(p->ja, "に");
    say(p->ja, thing.ja);
    say(p->ja, "が");
    say(p->ja, alive ? "い ます" : "あり ます");
    say(p->ja, question ? "か 。" : "。");
}

/* "This is not my pen ." / "これ は 私 の ペン では ありません 。" */
static void identity(Pair *p)
{
    static const Word these[] = { { "this", "これ" }, { "that", "あれ" } };
    const Word *it = PICK(these);
    bool question = chance(0.3), negative = !question && chance(0.3);
    say(p->en, question ? "is" : it->en);
    say(p->en, question ? it->en : negative ? "is not" : "is");
    say(p->ja, it->ja);
    say(p->ja, "は");
    noun_phrase(p, chance(0.5) ? PICK(things) : chance(0.5) ? PICK(animals) : PICK(foods), false);
    say(p->en, question ? "?" : ".");
    say(p->ja, negative ? "では ありません" : "です");
    say(p->ja, question ? "か 。" : "。");
}

/* "The black cat is not big ." / "黒い 猫 は 大きく ない です 。" */
static void quality(Pair *p)
{
    const Adjective *adjective = PICK(adjectives);
    bool negative = chance(0.4);
    noun_phrase(p, chance(0.5) ? PICK(animals) : PICK(things), true);
    say(p->en, negative ? "is not" : "is");
    say(p->en, adjective->en);
    say(p->en, ".");
    say(p->ja, "は");
    say(p->ja, negative ? adjective->ja_ku : adjective->ja);
    say(p->ja, negative ? "ない です 。" : "です 。");
}

/* "The children like horses ." / "子供たち は 馬 が 好き です 。" */
static void liking(Pair *p)
{
    const Person *who = PICK(persons);
    const Noun *noun = chance(0.5) ? PICK(animals) : PICK(foods);
    bool negative = chance(0.3);
    say(p->en, who->en);
    say(p->en, negative ? (who->third ? "does not like" : "do not like") : who->third ? "likes" : "like");
    say(p->en, noun->plural);
    say(p->en, ".");
    say(p->ja, who->ja);
    say(p->ja, "は");
    say(p->ja, noun->ja);
    say(p->ja, "が 好き");
    say(p->ja, negative ? "では ありません 。" : "です 。");
}

static void draw_sentence(Pair *p)
{
    static void (*const kinds[])(Pair *p) = { action, action, action, motion, gift, existence, existence, identity,
                                              quality, liking };
    *p = (Pair){ "", "" };
    (*PICK(kinds))(p);
    if (p->en[0] >= 'a' && p->en[0] <= 'z') {
        p->en[0] = (char)(p->en[0] - 'a' + 'A');
    }
}

/* ---- the corpora ------------------------------------------------------------------------------------------------- */

/* A text that grows. */
typedef struct { char *bytes; size_t size, room; } Buffer;

static void add_line(Buffer *b, const char *line)
{
    size_t length = strlen(line);
    if (b->size + length + 1 > b->room) {
        size_t room = 2 * b->room + length + 1;
        b->bytes = ag_resize(b->bytes, b->room, room, 1);
        b->room = room;
    }
    memcpy(b->bytes + b->size, line, length);
    b->bytes[b->size + length] = '\n';
    b->size += length + 1;
}

static bool has_line(const Lines *l, const char *line)
{
    for (int64_t i = 0; i < l->n; i++) {
        if (l->line[i].size == strlen(line) && memcmp(l->line[i].text, line, l->line[i].size) == 0) {
            return true;
        }
    }
    return false;
}

/* n sentences, none of which is among those to avoid. */
static Corpus draw_corpus(int64_t n, const Lines *avoid)
{
    Buffer src = { NULL, 0, 0 }, tgt = { NULL, 0, 0 };
    for (int64_t i = 0; i < n;) {
        Pair p;
        draw_sentence(&p);
        if (has_line(avoid, p.en)) {
            continue;
        }
        add_line(&src, p.en);
        add_line(&tgt, p.ja);
        i++;
    }
    Corpus c;
    if (!lines_of_text(&c.src, "grammar", src.bytes, src.size) ||
        !lines_of_text(&c.tgt, "grammar", tgt.bytes, tgt.size)) {
        example_fail("%s", ag_error());
    }
    ag_free(src.bytes);
    ag_free(tgt.bytes);
    return c;
}

void corpus_of_grammar(Corpus *train, int64_t n_train, Corpus *valid, int64_t n_valid)
{
    const Lines none = { 0 };
    *valid = draw_corpus(n_valid, &none);
    *train = draw_corpus(n_train, &valid->src);
}
