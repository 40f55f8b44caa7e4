/* unicode.c: the classes of code points, in the place of models/text/unicode.c. The byte pairs of the page have the rules of
 * GPT-2, which need neither lower case nor normal forms; their tables would be a tenth of the page. */
#include "unicode.h"
#include "kaeru/tensor.h"
#include "unicode_table.h"

#define COUNT(array) (sizeof (array) / sizeof *(array))

/* Returns whether a code point is in a set of unicode_table.h. */
static bool in_runs(const uint16_t *run, size_t n, uint32_t code)
{
    for (size_t i = 0; i < n; i += 2) {
        if (code < run[i]) {
            return false;
        }
        code -= run[i];
        if (code < run[i + 1]) {
            return true;
        }
        code -= run[i + 1];
    }
    return false;
}

UnicodeClass unicode_class(uint32_t code)
{
    return in_runs(unicode_letters, COUNT(unicode_letters), code) ? UNICODE_LETTER
         : in_runs(unicode_numbers, COUNT(unicode_numbers), code) ? UNICODE_NUMBER
         : in_runs(unicode_spaces, COUNT(unicode_spaces), code) ? UNICODE_SPACE : UNICODE_OTHER;
}

static _Noreturn void missing(void)
{
    ag_usage_error("unicode", "the page has neither lower case nor normal forms, nor BERT's words");
}

bool unicode_is_word(uint32_t code)                                                           { missing(); }
bool unicode_is_unclean(uint32_t code)                                                        { missing(); }
bool unicode_is_accent(uint32_t code)                                                         { missing(); }
bool unicode_is_alone(uint32_t code)                                                          { missing(); }
char *unicode_lower_each(const char *text, size_t n, size_t *size)                            { missing(); }
char *unicode_normal_form(UnicodeForm form, const char *text, size_t n, size_t *size)         { missing(); }
