/* test_text.c: files of UTF-8 text, vocabularies of characters and of words. */
#define _XOPEN_SOURCE 700                       /* posix_openpt */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "faults.h"
#include "folder.h"
#include "kaeru/text.h"
#include "suites.h"
#include "unicode.h"
#include "usage_error.h"
#include "utf8.h"

static const char sample[] = "caf\u00e9 \u4e2d\u6587\n\U0001f600 caf\u00e9.";

START_TEST(texts_are_opened)
{
    folder_write("a", sample, strlen(sample));
    KaeruText text;
    expect_done(kaeru_text_open(&text, in_folder("a")));
    ck_assert_uint_eq(text.size, strlen(sample));
    ck_assert(memcmp(text.bytes, sample, text.size) == 0);
    kaeru_text_close(&text);
    kaeru_text_close(&text);
    folder_write("empty", "", 0);
    expect_done(kaeru_text_open(&text, in_folder("empty")));
    ck_assert_uint_eq(text.size, 0);
    kaeru_text_close(&text);
    folder_write("b", "one\ntwo\nK\303\266ln, caf\xe9", 19);
    expect_refused(kaeru_text_open(&text, in_folder("b")), "b: line 3, column 10, byte 18: expected UTF-8, found byte 0xE9");
    expect_refused(kaeru_text_open(&text, in_folder("none")), "none: cannot be opened: No such file");
    kaeru_text_close(&text);
}
END_TEST

START_TEST(lines_have_numbers)
{
    KaeruLines lines;
    EXPECT_USAGE_ERROR("kaeru_text_check: first is 9223372036854775807: the lines behind it have no number",
                       (void)kaeru_text_check("text", INT64_MAX, "a\n\xff", 3));
    EXPECT_USAGE_ERROR("in kaeru_lines_of_text called at tests/test_text.c:",
                       (void)kaeru_lines_of_text(&lines, "text", INT64_MAX, "a\nb", 3));
    expect_refused(kaeru_text_check("text", INT64_MAX - 3, "a\n\xff", 3), "text: line 9223372036854775805, column 1, byte 2");
}
END_TEST

/* Prints this text to a terminal or, if that is NULL, to a file; checks what arrives there. */
static void check_stream(const char *text, size_t n, const char *terminal, const char *expected)
{
    char found[256] = "";
    FILE *out = terminal ? fopen(terminal, "w") : tmpfile();
    KaeruTextStream s = { .out = out };
    kaeru_text_stream_put(&s, text, n);
    kaeru_text_stream_end(&s);
    fflush(out);
    if (!terminal) {
        rewind(out);
        ck_assert_uint_eq(fread(found, 1, sizeof found - 1, out), strlen(expected));
        ck_assert_str_eq(found, expected);
    }
    fclose(out);
}

START_TEST(a_terminal_obeys_no_text)
{
    static const char text[] = "caf\u00e9\t\x1b[31m\r\x7f\xc2\x9b\u202e\u2066\xff\u4e2d";
    static const char shown[] = "caf\u00e9\t\\x1B[31m\\x0D\\x7F\\xC2\\x9B\\xE2\\x80\\xAE\\xE2\\x81\\xA6\ufffd\u4e2d";
    char found[256] = "";
    check_stream(text, sizeof text - 1, NULL, "caf\u00e9\t\x1b[31m\r\x7f\xc2\x9b\u202e\u2066\ufffd\u4e2d");
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    ck_assert(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);        /* stays open, so that the text is not lost */
    struct termios how;
    ck_assert_int_eq(tcgetattr(terminal, &how), 0);
    how.c_oflag &= (tcflag_t)~OPOST;                                /* it would replace a tab by spaces */
    ck_assert_int_eq(tcsetattr(terminal, TCSANOW, &how), 0);
    check_stream(text, sizeof text - 1, ptsname(master), NULL);
    ck_assert_int_eq(read(master, found, sizeof found - 1), sizeof shown - 1);
    ck_assert_str_eq(found, shown);
    close(terminal);
    close(master);
}
END_TEST

/* ---- characters -------------------------------------------------------------------------------------------------- */

static void check_char_vocab(const KaeruVocab *v)
{
    static const int32_t expected[] = { 4, 3, 5, 6, 1, 7, 8, 0, 9, 1, 4, 3, 5, 6, 2 };
    size_t count, n;
    ck_assert_int_eq(kaeru_vocab_size(v), 10);                 /* \n, space, ., a, c, f, and four more */
    int32_t *ids = kaeru_vocab_encode(v, sample, strlen(sample), KAERU_AS_TEXT, &count);
    ck_assert_msg(ids != NULL, "%s", ag_error());
    ck_assert_uint_eq(count, sizeof expected / sizeof *expected);
    ck_assert(memcmp(ids, expected, sizeof expected) == 0);
    char *text = kaeru_vocab_decode(v, ids, count, &n);
    ck_assert_str_eq(text, sample);
    ck_assert_uint_eq(n, strlen(sample));
    ag_free(text);
    ag_free(ids);
}

START_TEST(characters_have_ids_in_order)
{
    KaeruVocab *v = kaeru_vocab_chars(sample, strlen(sample));
    check_char_vocab(v);
    expect_done(kaeru_vocab_save(v, in_folder("v.json"), NULL));
    char *merges, *text = kaeru_vocab_to_text(v, &merges);
    ck_assert_ptr_null(merges);
    folder_expect("v.json", text);
    ag_free(v);
    v = kaeru_vocab_of_text(KAERU_CHARS, "the text", text, NULL);
    ck_assert_msg(v != NULL, "%s", ag_error());
    check_char_vocab(v);
    ag_free(v);
    ag_free(text);
    folder_expect("v.json", "{\"\\n\":0,\" \":1,\".\":2,\"a\":3,\"c\":4,\"f\":5,\"\u00e9\":6,\"\u4e2d\":7,\"\u6587\":8,"
                  "\"\U0001f600\":9}");
    v = kaeru_vocab_open(KAERU_CHARS, in_folder("v.json"), NULL);
    ck_assert_msg(v != NULL, "%s", ag_error());
    check_char_vocab(v);
    ag_free(v);
}
END_TEST

START_TEST(all_characters_can_be_in_a_vocabulary)
{
    enum { CODES = 0x110000 - 0x800 };
    char *text = malloc(4 * CODES);
    size_t n = 0, count, back;
    for (uint32_t code = 0; code < 0x110000; code++) {
        if (code >= 0xd800 && code < 0xe000) continue;
        n += (size_t)utf8_encode(code, text + n);
    }
    KaeruVocab *v = kaeru_vocab_chars(text, n);
    ck_assert_int_eq(kaeru_vocab_size(v), CODES);
    int32_t *ids = kaeru_vocab_encode(v, text, n, KAERU_AS_TEXT, &count);
    ck_assert_uint_eq(count, CODES);
    for (int32_t i = 0; i < CODES; i++) ck_assert_int_eq(ids[i], i);
    char *decoded = kaeru_vocab_decode(v, ids, count, &back);
    ck_assert(back == n && memcmp(decoded, text, n) == 0);
    ag_free(decoded);
    ag_free(ids);
    ag_free(v);
    free(text);
}
END_TEST

START_TEST(unknown_characters_are_refused)
{
    KaeruVocab *v = kaeru_vocab_chars("abc\u00e9", 5);
    size_t n;
    expect_refused(kaeru_vocab_encode(v, "aabd", 4, KAERU_AS_TEXT, &n) != NULL,
                   "\"d\" (U+0064) at line 1, column 4, byte 3 is not in the vocabulary");
    expect_refused(kaeru_vocab_encode(v, "a\U0001f600", 5, KAERU_AS_TEXT, &n) != NULL,
                   "(U+1F600) at line 1, column 2, byte 1 is not in the vocabulary");
    expect_refused(kaeru_vocab_encode(v, "a\nb", 3, KAERU_AS_TEXT, &n) != NULL,
                   "\"\\x0A\" (U+000A) at line 1, column 2, byte 1");
    expect_refused(kaeru_vocab_encode(v, "\u00e9\xc3", 3, KAERU_AS_TEXT, &n) != NULL,
                   "the text: line 1, column 2, byte 2: expected UTF-8, found byte 0xC3");
    expect_done(kaeru_vocab_check(v, "name", "cab\u00e9", 5));
    expect_refused(kaeru_vocab_check(v, "name", "b\303\251a!", 5),
                   "name: \"!\" (U+0021) at line 1, column 4, byte 4 is not");
    expect_refused(kaeru_vocab_check(v, "name", "b\xff", 2),
                   "name: line 1, column 2, byte 1: expected UTF-8, found byte 0xFF");
    int32_t too_large[] = { 0, 4 }, negative[] = { -1 };
    expect_refused(kaeru_vocab_decode(v, too_large, 2, &n) != NULL, "id 4 at place 1 is not in the vocabulary of 4");
    expect_refused(kaeru_vocab_decode(v, negative, 1, &n) != NULL, "id -1 at place 0");
    expect_refused(kaeru_vocab_chars("a\xff", 2) != NULL,
                   "the text: line 1, column 2, byte 1: expected UTF-8, found byte 0xFF");
    ag_free(v);
    v = kaeru_vocab_chars("", 0);
    ck_assert_int_eq(kaeru_vocab_size(v), 0);
    expect_refused(kaeru_vocab_encode(v, "\0", 1, KAERU_AS_TEXT, &n) != NULL,
                   "\"\\x00\" (U+0000) at line 1, column 1, byte 0 is not in the vocabulary");
    ag_free(v);
}
END_TEST

/* ---- words ------------------------------------------------------------------------------------------------------- */

static void check_words(const KaeruVocab *v, const char *const *words, int32_t n)
{
    ck_assert_int_eq(kaeru_vocab_size(v), n);
    for (int32_t i = 0; i < n; i++) {
        ck_assert_str_eq(kaeru_vocab_token(v, i, NULL), words[i]);
        ck_assert_int_eq(kaeru_vocab_find(v, words[i], strlen(words[i])), i);
    }
    ck_assert_ptr_null(kaeru_vocab_token(v, n, NULL));
    ck_assert_ptr_null(kaeru_vocab_token(v, -1, NULL));
}

static const char story[] = "b a  b\tc\n\nb <unk> \u00e9 a\u3000d\u00a0\u00e9 once <s>\u2028<s>";

START_TEST(words_have_ids_by_count)
{
    static const char *const all[] = { "<s>", "</s>", "<blank>", "<unk>", "b", "a", "\u00e9", "c", "d", "once" };
    KaeruVocab *v = kaeru_vocab_words(story, strlen(story), 1);
    check_words(v, all, 10);
    ag_free(v);
    v = kaeru_vocab_words(story, strlen(story), 2);
    check_words(v, all, 7);
    expect_done(kaeru_vocab_save(v, in_folder("v.json"), NULL));
    ag_free(v);
    folder_expect("v.json", "{\"<s>\":0,\"</s>\":1,\"<blank>\":2,\"<unk>\":3,\"b\":4,\"a\":5,\"\u00e9\":6}");
    v = kaeru_vocab_open(KAERU_WORDS, in_folder("v.json"), NULL);
    ck_assert_msg(v != NULL, "%s", ag_error());
    check_words(v, all, 7);
    ag_free(v);
    v = kaeru_vocab_words(" \n", 2, 1);
    check_words(v, all, 4);
    ag_free(v);
    expect_refused(kaeru_vocab_words("a \xff", 3, 1) != NULL,
                   "the text: line 1, column 3, byte 2: expected UTF-8, found byte 0xFF");
}
END_TEST

START_TEST(words_are_encoded_and_decoded)
{
    KaeruVocab *v = kaeru_vocab_words(story, strlen(story), 2);
    static const int32_t expected[] = { 5, KAERU_UNKNOWN, 4, KAERU_START, KAERU_UNKNOWN };
    size_t count, n;
    const char *text = "  a x\u2003b <s> \xff ";
    int32_t *ids = kaeru_vocab_encode(v, text, strlen(text), KAERU_AS_TEXT, &count);
    ck_assert_uint_eq(count, 5);
    ck_assert(memcmp(ids, expected, sizeof expected) == 0);
    char *back = kaeru_vocab_decode(v, ids, count, &n);
    ck_assert_str_eq(back, "a <unk> b <s> <unk>");
    ck_assert_uint_eq(n, strlen(back));
    ag_free(back);
    ag_free(ids);
    back = kaeru_vocab_decode(v, NULL, 0, &n);
    ck_assert_str_eq(back, "");
    ag_free(back);
    ids = kaeru_vocab_encode(v, " ", 1, KAERU_AS_TEXT, &count);
    ck_assert_uint_eq(count, 0);
    ag_free(ids);
    int32_t too_large[] = { 7 };
    expect_refused(kaeru_vocab_decode(v, too_large, 1, &n) != NULL, "id 7 at place 0 is not in the vocabulary of 7");
    ag_free(v);
}
END_TEST

START_TEST(many_words_are_counted)
{
    enum { WORDS = 30000 };
    char *text = malloc(WORDS * 20), *p = text;
    for (int i = 0; i < WORDS; i++) p += sprintf(p, "w%d ", i);
    for (int i = 0; i < WORDS; i += 3) p += sprintf(p, "w%d\n", i);
    KaeruVocab *v = kaeru_vocab_words(text, (size_t)(p - text), 2);
    ck_assert_int_eq(kaeru_vocab_size(v), 4 + WORDS / 3);
    ck_assert_int_eq(kaeru_vocab_find(v, "w29997", 6) > KAERU_UNKNOWN, 1);
    ck_assert_int_eq(kaeru_vocab_find(v, "w29998", 6), KAERU_UNKNOWN);
    ck_assert_str_eq(kaeru_vocab_token(v, 4, NULL), "w0");
    ck_assert_str_eq(kaeru_vocab_token(v, 5, NULL), "w10002");
    ag_free(v);
    free(text);
}
END_TEST

/* ---- files that are written ---------------------------------------------------------------------------------------- */

START_TEST(a_writer_replaces_a_file)
{
    struct stat status;
    folder_write("a", "old", 3);
    folder_write("private", "", 0);
    ck_assert_int_eq(chmod(in_folder("private"), 0600), 0);
    KaeruWriter *w = kaeru_writer_open(in_folder("a"), in_folder("private"), NULL);
    ck_assert_msg(w != NULL, "%s", ag_error());
    fprintf(kaeru_writer_stream(w), "%s %d", "line", 1);
    folder_expect("a", "old");
    KaeruWriter *second = kaeru_writer_open(in_folder("a"), NULL, NULL);
    expect_refused(second != NULL, "a: another program is writing this file");
    expect_done(kaeru_writer_commit(w));
    folder_expect("a", "line 1");
    ck_assert_int_eq(stat(in_folder("a"), &status), 0);
    ck_assert_int_eq(status.st_mode & 0777, 0600);
    w = kaeru_writer_open(in_folder("a"), NULL, in_folder("shown"));
    fputs("rows", kaeru_writer_stream(w));
    fflush(kaeru_writer_stream(w));
    folder_expect("shown", "rows");
    ag_free(w);
    folder_expect("a", "line 1");
    folder_expect("shown", "rows");
    ck_assert_int_eq(folder_count(), 3);
}
END_TEST

/* A write that fails, also one long before the end, is told; the old file stays. */
START_TEST(a_writer_tells_what_failed)
{
    static char large[20000];
    struct rlimit limit = { 5000, 5000 };
    folder_write("a", "old", 3);
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    for (int i = 0; i < 2; i++) {
        KaeruWriter *w = kaeru_writer_open(in_folder("a"), NULL, NULL);
        ck_assert_msg(w != NULL, "%s", ag_error());
        fwrite(large, 1, i ? sizeof large : 6000, kaeru_writer_stream(w));
        if (i) fflush(kaeru_writer_stream(w));
        expect_refused(kaeru_writer_commit(w), "a: cannot be written: File too large");
        folder_expect("a", "old");
        ck_assert_int_eq(folder_count(), 1);
    }
}
END_TEST

/* ---- failing allocations ----------------------------------------------------------------------------------------- */

static void use_vocabularies(void)
{
    size_t n, count;
    KaeruText text;
    if (kaeru_text_open(&text, in_folder("a"))) kaeru_text_close(&text);
    KaeruVocab *characters = kaeru_vocab_chars(sample, strlen(sample));
    if (!kaeru_vocab_save(characters, in_folder("c.json"), NULL)) abort();     /* an assertion allocates memory */
    ag_free(characters);
    characters = kaeru_vocab_open(KAERU_CHARS, in_folder("c.json"), NULL);
    ag_free(kaeru_vocab_encode(characters, sample, strlen(sample), KAERU_AS_TEXT, &n));
    ag_free(characters);
    KaeruVocab *words = kaeru_vocab_words(story, strlen(story), 1);
    if (!kaeru_vocab_save(words, in_folder("w.json"), NULL)) abort();     /* an assertion allocates memory */
    ag_free(words);
    words = kaeru_vocab_open(KAERU_WORDS, in_folder("w.json"), NULL);
    ag_free(kaeru_vocab_encode(words, story, strlen(story), KAERU_AS_TEXT, &count));
    ag_free(kaeru_vocab_decode(words, (int32_t[]){ 1, 2 }, 2, &n));
    ag_free(words);
}

START_TEST(failing_allocations_leak_nothing)
{
    folder_write("a", sample, strlen(sample));
    int64_t requests = faults_everywhere(use_vocabularies, _i);
    if (faults_work()) ck_assert_int_gt(requests, 20);
    ck_assert_int_eq(folder_count(), 3);
}
END_TEST

Suite *text_suite(void)
{
    Suite *suite = suite_create("text");
    TCase *t = tcase_create("text");
    tcase_add_checked_fixture(t, folder_make, folder_remove);
    tcase_add_test(t, texts_are_opened);
    tcase_add_test(t, lines_have_numbers);
    tcase_add_test(t, a_terminal_obeys_no_text);
    tcase_add_test(t, characters_have_ids_in_order);
    tcase_add_test(t, all_characters_can_be_in_a_vocabulary);
    tcase_add_test(t, unknown_characters_are_refused);
    tcase_add_test(t, words_have_ids_by_count);
    tcase_add_test(t, a_writer_replaces_a_file);
    tcase_add_test(t, a_writer_tells_what_failed);
    tcase_add_test(t, words_are_encoded_and_decoded);
    tcase_add_test(t, many_words_are_counted);
    tcase_add_loop_test(t, failing_allocations_leak_nothing, 0, 2);
    suite_add_tcase(suite, t);
    return suite;
}
