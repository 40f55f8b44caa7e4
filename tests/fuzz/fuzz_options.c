/* fuzz_options.c: reads a command line, whose words are separated by newlines. The values must be within the range of each
 * option. A usage error ends the program with status 2; here it returns by longjmp. */
#include <math.h>
#include <setjmp.h>

#include "fuzz.h"

static jmp_buf refused;
static int ended_with;

static _Noreturn void leave(int with)
{
    ended_with = with;
    longjmp(refused, 1);
}

/* options.c itself and what it needs, with their exits and their output replaced. */
static FILE *nowhere;
#define exit leave
#define _Exit leave
#undef stdout
#undef stderr
#define stdout nowhere
#define stderr nowhere
#define printf(...) fprintf(nowhere, __VA_ARGS__)
#undef putchar
#define putchar(c) fputc(c, nowhere)
#include "../../examples/common/options.c"
#include "../../examples/common/processes.c"
#undef stdout
#undef stderr

enum { MOST_WORDS = 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!nowhere) nowhere = fopen("/dev/null", "w");
    char *text = malloc(size + 1), *word[MOST_WORDS + 1] = { text };
    memcpy(text, data, size);
    text[size] = '\0';
    int n = 1;
    for (char *p = text; n < MOST_WORDS && (p = strchr(p, '\n')); n++) {
        *p++ = '\0';
        word[n] = p;
    }
    int64_t whole = 5;
    double number = 0.5;
    const char *name = "none";
    bool flag = false;
    const NnField own[] = {
        NN_OPTION("whole", whole, -3, INT64_C(1) << 53, "a whole number"),
        NN_OPTION("number", number, -1e300, 0.75, "a number"),
        NN_TEXT_OPTION("name", "FILE", name, "a name"),
        NN_FLAG_OPTION("flag", flag, "a flag"),
        NN_FIELDS_END
    };
    const Program program = { "fuzz", "", own };
    if (setjmp(refused) == 0) read_options(n, word, &program);
    else CHECK(ended_with == 2 || ended_with == 0);
    CHECK(whole >= -3 && whole <= INT64_C(1) << 53);
    CHECK(number >= -1e300 && number <= 0.75);
    CHECK(name && *name);
    free(text);
    return 0;
}
