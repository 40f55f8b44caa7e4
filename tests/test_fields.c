/* test_fields.c: tables of fields: defaults, limits, settings, and a command line that sets them. */
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "folder.h"
#include "kaeru/fields.h"
#include "suites.h"
#include "usage_error.h"

typedef enum { RED, GREEN } Color;
typedef struct { int small; int64_t large; double share; bool flag; Color color; const char *text; int other; } Options;

static bool check(const void *options)
{
    const Options *o = options;
    return o->small <= o->large || ag_set_error("a small of %d is above the large", o->small);
}

#define FIELD(name, ...) NN_FIELD(#name, Options, name, __VA_ARGS__)
static const NnField fields[] = {
    FIELD(small, 3, -5, 10, "a small number", .option = "a-small"),
    FIELD(large, 100, 0, INT64_C(1) << 53, "a large number"),
    FIELD(share, 0.1, 0, 1, "a share", .below = true),
    FIELD(flag, true, 0, 1, NULL),
    FIELD(color, GREEN, RED, GREEN, NULL, .optional = true),
    FIELD(text, 0, 0, 0, "a text", .unit = "FILE"),
    NN_FIELDS_END
};
static const NnFields table = { "test.", sizeof(Options), fields, check };

static double rate;
static bool again;
static int tries;
static const char *place = "here";
static const NnField own[] = {
    NN_OPTION("rate", rate, -1, 1e300, "a rate"),
    NN_FLAG_OPTION("again", again, "once more", .once = true),
    NN_OPTION("tries", tries, 0, 9, NULL, .optional = true),
    NN_TEXT_OPTION("place", "NAME", place, NULL, .optional = true),
    NN_FIELDS_END
};
static const NnFields own_table = { .prefix = "own.", .field = own };

static Options defaults(void)
{
    Options o;
    nn_fields_defaults(&table, &o);
    return o;
}

START_TEST(defaults_are_those_of_the_table)
{
    Options o;
    memset(&o, 0x55, sizeof o);
    nn_fields_defaults(&table, &o);
    ck_assert_int_eq(o.small, 3);
    ck_assert_int_eq(o.large, 100);
    ck_assert(o.share == 0.1 && o.flag && o.color == GREEN && !o.text && o.other == 0);
    expect_done(nn_fields_check(&table, &o));
}
END_TEST

START_TEST(limits_are_checked)
{
    Options o = defaults();
    o.small = -6;
    expect_refused(nn_fields_check(&table, &o), "test.small is -6, expected a whole number from -5 to 10");
    o.small = 10;
    o.share = 1;
    expect_refused(nn_fields_check(&table, &o), "test.share is 1, expected a number from 0 to below 1");
    o.share = 0;
    o.color = (Color)2;
    expect_refused(nn_fields_check(&table, &o), "test.color is 2, expected a whole number from 0 to 1");
    o.color = RED;
    o.large = (INT64_C(1) << 53) + 1;                       /* as a double, it is the limit */
    expect_refused(nn_fields_check(&table, &o),
                   "test.large is 9007199254740993, expected a whole number from 0 to 9007199254740992");
    o.large = INT64_C(1) << 53;
    expect_done(nn_fields_check(&table, &o));
    o.large = 9;
    expect_refused(nn_fields_check(&table, &o), "a small of 10 is above the large");
}
END_TEST

START_TEST(settings_keep_the_values)
{
    Options o = { .small = -5, .large = INT64_C(1) << 53, .share = 1.0 / 3, .color = RED, .text = "name" }, found = defaults();
    NnSettings *s = nn_settings_new();
    nn_fields_to_settings(&table, &o, s);
    ck_assert_str_eq(nn_settings_get(s, "test.large"), "9007199254740992");
    ck_assert_ptr_null(nn_settings_get(s, "test.a-small"));
    expect_done(nn_fields_from_settings(&table, &found, s));
    ck_assert(found.small == -5 && found.large == o.large && found.share == o.share && !found.flag && found.color == RED);
    ck_assert_str_eq(found.text, "name");
    nn_settings_set(s, "test.share", "1.5");
    nn_settings_set(s, "test.small", "4");
    expect_refused(nn_fields_from_settings(&table, &found, s), "test.share is 1.5, expected a number from 0 to below 1");
    ck_assert_int_eq(found.small, -5);                                  /* as before the failure */
    nn_settings_set(s, "test.share", "0.5");
    nn_settings_set(s, "test.large", "3");
    expect_refused(nn_fields_from_settings(&table, &found, s), "a small of 4 is above the large");
    ck_assert_int_eq(found.small, -5);
    nn_settings_set(s, "test.flag", "no");
    expect_refused(nn_fields_from_settings(&table, &found, s), "test.flag is \"no\", expected a whole number from 0 to 1");
    ag_free(s);
}
END_TEST

/* A field may be missing only if it is optional; one that belongs to a single call is never a setting. */
START_TEST(settings_may_miss_what_is_optional)
{
    Options found = defaults();
    NnSettings *s = nn_settings_new();
    expect_refused(nn_fields_from_settings(&table, &found, s), "the setting \"test.small\" is missing");
    static const char *const keys[] = { "test.small", "test.large", "test.share", "test.flag" };
    for (int i = 0; i < 4; i++) nn_settings_set(s, keys[i], "0");
    found.color = RED;
    expect_done(nn_fields_from_settings(&table, &found, s));
    ck_assert(found.color == GREEN && !found.text && !found.flag);
    nn_fields_to_settings(&table, &found, s);
    ck_assert_ptr_null(nn_settings_get(s, "test.color"));
    for (int color = RED; color <= GREEN; color++) {                    /* not the value of an earlier call */
        found.color = (Color)color;
        nn_fields_to_settings(&table, &found, s);
    }
    expect_done(nn_fields_from_settings(&table, &found, s));
    ck_assert_int_eq(found.color, GREEN);
    nn_settings_set(s, "test.text", "a text");
    expect_done(nn_fields_from_settings(&table, &found, s));
    for (int i = 0; i < 2; i++) nn_fields_to_settings(&table, &found, s);      /* the text is that of s */
    ck_assert_str_eq(found.text, "a text");
    found.text = NULL;
    again = true;
    tries = 7;
    nn_settings_set(s, "own.rate", "0");
    expect_done(nn_fields_from_settings(&own_table, NULL, s));          /* without "own.tries" */
    ck_assert_int_eq(tries, 7);
    ck_assert_str_eq(place, "here");
    tries = 0;
    rate = 0.25;
    nn_fields_to_settings(&own_table, NULL, s);
    ck_assert_str_eq(nn_settings_get(s, "own.tries"), "0");             /* a variable has no default */
    ck_assert_ptr_null(nn_settings_get(s, "own.again"));
    nn_settings_set(s, "own.again", "0");
    nn_settings_set(s, "own.rate", "0.75");
    expect_done(nn_fields_from_settings(&own_table, NULL, s));
    ck_assert(again && rate == 0.75);
    ag_free(s);
}
END_TEST

/* Reads the words, which end with NULL, as a command line. */
static bool read_line(Options *o, char **word)
{
    const NnOptions list[] = { { &own_table, NULL }, { &table, o }, { NULL, NULL } };
    int n = 1;
    while (word[n]) n++;
    for (int i = 1; i < n; )
        if (!nn_options_read(list, n, word, &i)) return false;
    return true;
}
#define READ(o, ...) read_line(o, (char *[]){ "program", __VA_ARGS__, NULL })

START_TEST(a_command_line_sets_values)
{
    Options o = defaults();
    again = false;
    expect_done(READ(&o, "--a-small", "-2", "--share=.25", "--again", "--text", "--large", "--rate", "+1e3", "--large=0"));
    ck_assert(o.small == -2 && o.share == 0.25 && again && rate == 1000 && o.large == 0);
    ck_assert_str_eq(o.text, "--large");
    expect_done(READ(&o, "--large", "9007199254740992"));
    ck_assert_int_eq(o.large, INT64_C(1) << 53);
}
END_TEST

START_TEST(a_wrong_command_line_is_refused)
{
    Options o = defaults();
    static const struct { char *word[2]; const char *message; } cases[] = {
        { { "word", NULL }, "unexpected argument 'word'" },
        { { "--", NULL }, "unexpected argument '--'" },
        { { "--small", "1" }, "unknown option --small" },
        { { "--flag", NULL }, "unknown option --flag" },
        { { "--a-smal=1", NULL }, "unknown option --a-smal" },
        { { "--a-small", NULL }, "--a-small needs a value: a whole number from -5 to 10" },
        { { "--text", NULL }, "--text needs a value: FILE" },
        { { "--text=", NULL }, "--text is empty, expected FILE" },
        { { "--again=1", NULL }, "--again takes no value" },
        { { "--a-small", "11" }, "--a-small is 11, expected a whole number from -5 to 10" },
        { { "--a-small", "1e0" }, "--a-small is \"1e0\", expected a whole number from -5 to 10" },
        { { "--a-small", "+-1" }, "--a-small is \"+-1\", expected a whole number" },
        { { "--large", "9007199254740993" }, "--large is 9007199254740993, expected" },
        { { "--large", "-99999999999999999999" }, "--large is -99999999999999999999, expected" },
        { { "--share", "1" }, "--share is 1, expected a number from 0 to below 1" },
        { { "--share", "0x1p-1" }, "--share is \"0x1p-1\", expected a number" },
        { { "--share", "nan" }, "--share is \"nan\", expected a number" },
        { { "--share", "1e" }, "--share is \"1e\", expected a number" },
        { { "--rate", "1e999" }, "--rate is 1e999, expected" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_refused(READ(&o, cases[i].word[0], cases[i].word[1]), cases[i].message);
    Options before = defaults();
    ck_assert_int_eq(memcmp(&o, &before, sizeof o), 0);
}
END_TEST

/* A program's locale may have a decimal comma. */
START_TEST(numbers_have_a_point_in_every_locale)
{
    static const char *const names[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!setlocale(LC_ALL, names[i])) continue;
        Options o = defaults();
        expect_done(READ(&o, "--share", "0.5"));
        ck_assert(o.share == 0.5);
    }
    setlocale(LC_ALL, "C");
}
END_TEST

START_TEST(help_has_a_line_for_each_option)
{
    Options o = defaults();
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    rate = 0.1;
    nn_options_print((NnOptions[]){ { &table, &o }, { &own_table, NULL }, { NULL, NULL } }, out);
    o.text = "name";
    nn_options_print((NnOptions[]){ { &table, &o }, { NULL, NULL } }, out);
    fclose(out);
    static const char first[] =
        "  --a-small N      a small number (default 3; -5 to 10)\n"
        "  --large N        a large number (default 100; 0 to 9007199254740992)\n"
        "  --share X        a share (default 0.1; 0 to below 1)\n"
        "  --text FILE      a text\n"
        "  --rate X         a rate (default 0.1; -1 to 1e+300)\n"
        "  --again          once more\n";
    ck_assert_msg(strncmp(text, first, strlen(first)) == 0, "%s", text);
    ck_assert_ptr_nonnull(strstr(text, "  --text FILE      a text (default name)\n"));
    free(text);
}
END_TEST

/* Each function that reads a table refuses one that is wrong. */
static void expect_wrong_table(const char *message, const NnFields *wrong)
{
    Options o = defaults();
    NnSettings *s = nn_settings_new();
    const NnOptions list[] = { { &table, &o }, { wrong, &o }, { NULL, NULL } };
    char *argv[] = { "program", "--a-small", "4", NULL };
    EXPECT_USAGE_ERROR(message, nn_fields_defaults(wrong, &o));
    EXPECT_USAGE_ERROR(message, nn_fields_check(wrong, &o));
    EXPECT_USAGE_ERROR(message, nn_fields_to_settings(wrong, &o, s));
    EXPECT_USAGE_ERROR(message, nn_fields_from_settings(wrong, &o, s));
    EXPECT_USAGE_ERROR(message, int i = 1; nn_options_read(list, 3, argv, &i));
    EXPECT_USAGE_ERROR(message, nn_options_print(list, stderr));
    ag_free(s);
}

START_TEST(wrong_tables_are_usage_errors)
{
    expect_wrong_table("the member field of fields is NULL", &(NnFields){ .prefix = "test.", .size = sizeof(Options) });
    static const size_t bytes[] = { sizeof(int), sizeof(int64_t), sizeof(double), sizeof(bool), sizeof(char *) };
    for (int kind = NN_FIELD_INT; kind <= NN_FIELD_TEXT; kind++) {
        NnField one[2] = { { .name = "one", .kind = (NnFieldKind)kind, .high = 1, .help = "one" }, { .name = NULL } };
        const NnFields wrong = { .prefix = "test.", .size = sizeof(Options), .field = one };
        one[0].offset = sizeof(Options) - bytes[kind];
        Options o;
        nn_fields_defaults(&wrong, &o);                     /* the last place is right */
        one[0].offset++;
        expect_wrong_table("the field \"one\" has the offset", &wrong);
        one[0].offset = SIZE_MAX;
        expect_wrong_table("the field \"one\" has the offset", &wrong);
        one[0].offset = 0;
        expect_wrong_table("which is not in the struct of 0 bytes", &(NnFields){ .prefix = "test.", .field = one });
    }
    static const int kinds[] = { -1, NN_FIELD_TEXT + 1, 77 };
    for (int i = 0; i < 3; i++) {
        const NnField one[] = { { .name = "one", .kind = (NnFieldKind)kinds[i], .help = "one" }, { .name = NULL } };
        expect_wrong_table("expected a NnFieldKind", &(NnFields){ .prefix = "test.", .size = sizeof(Options), .field = one });
        char buffer[NN_FIELD_BUFFER];
        EXPECT_USAGE_ERROR("expected a NnFieldKind", nn_field_text(one, &(Options){ 0 }, buffer));
    }
}
END_TEST

/* Without a prefix, a setting has the name of the field. */
START_TEST(a_table_needs_no_prefix)
{
    const NnFields plain = { .field = own };
    NnSettings *s = nn_settings_new();
    rate = 0.5;
    expect_done(nn_fields_check(&plain, NULL));
    nn_fields_to_settings(&plain, NULL, s);
    ck_assert_str_eq(nn_settings_get(s, "rate"), "0.5");
    nn_settings_set(s, "rate", "%s", "0.25");
    expect_done(nn_fields_from_settings(&plain, NULL, s));
    ck_assert(rate == 0.25);
    rate = -2;
    expect_refused(nn_fields_check(&plain, NULL), "rate is -2, expected a number from -1 to 1e+300");
    rate = 0;
    ag_free(s);
}
END_TEST

START_TEST(null_in_a_command_line_is_a_usage_error)
{
    Options o = defaults();
    const NnOptions list[] = { { &table, &o }, { NULL, NULL } };
    char *argv[] = { "program", "--a-small", NULL, NULL };
    EXPECT_USAGE_ERROR("nn_options_read: argv[2] is NULL, expected argc texts", int i = 1; nn_options_read(list, 4, argv, &i));
    EXPECT_USAGE_ERROR("nn_options_read: argv[2] is NULL, expected argc texts", int i = 2; nn_options_read(list, 4, argv, &i));
    int last = 1;
    expect_refused(nn_options_read(list, 2, argv, &last), "--a-small needs a value");
}
END_TEST

START_TEST(mistakes_are_usage_errors)
{
    Options o = defaults();
    NnSettings *s = nn_settings_new();
    NnOptions list[] = { { &table, &o }, { NULL, NULL } };
    char buffer[NN_FIELD_BUFFER];
    int i = 1;
    EXPECT_USAGE_ERROR("nn_fields_defaults: fields is NULL", nn_fields_defaults(NULL, &o));
    EXPECT_USAGE_ERROR("nn_fields_defaults: o is NULL", nn_fields_defaults(&table, NULL));
    EXPECT_USAGE_ERROR("nn_fields_check: fields is NULL", nn_fields_check(NULL, &o));
    EXPECT_USAGE_ERROR("nn_fields_to_settings: s is NULL", nn_fields_to_settings(&table, &o, NULL));
    EXPECT_USAGE_ERROR("nn_fields_from_settings: o is NULL", nn_fields_from_settings(&table, NULL, s));
    EXPECT_USAGE_ERROR("nn_field_text: f is NULL", nn_field_text(NULL, &o, buffer));
    EXPECT_USAGE_ERROR("nn_options_read: list is NULL", nn_options_read(NULL, 1, NULL, &i));
    EXPECT_USAGE_ERROR("nn_options_read: argv is NULL", nn_options_read(list, 1, NULL, &i));
    EXPECT_USAGE_ERROR("nn_options_print: out is NULL", nn_options_print(list, NULL));
    ag_free(s);
}
END_TEST

Suite *fields_suite(void)
{
    Suite *s = suite_create("fields");
    TCase *t = tcase_create("tables");
    tcase_add_test(t, defaults_are_those_of_the_table);
    tcase_add_test(t, limits_are_checked);
    tcase_add_test(t, settings_keep_the_values);
    tcase_add_test(t, settings_may_miss_what_is_optional);
    tcase_add_test(t, a_command_line_sets_values);
    tcase_add_test(t, a_wrong_command_line_is_refused);
    tcase_add_test(t, numbers_have_a_point_in_every_locale);
    tcase_add_test(t, help_has_a_line_for_each_option);
    tcase_add_test(t, mistakes_are_usage_errors);
    tcase_add_test(t, wrong_tables_are_usage_errors);
    tcase_add_test(t, a_table_needs_no_prefix);
    tcase_add_test(t, null_in_a_command_line_is_a_usage_error);
    suite_add_tcase(s, t);
    return s;
}
