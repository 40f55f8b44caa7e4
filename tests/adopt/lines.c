/* lines.c: in C and in C++, each kind of result: calls by the macros of kaeru/calls/, by what these macros write, and by
 * pointers. Their errors name their line; a call by a pointer has none; with KAERU_NO_LINES no call has one. */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <kaeru/kaeru.h>

static jmp_buf escape;
static char message[1024];
static AgScope scope;
static int wrong, calls;

static void leave(const char *text)
{
    snprintf(message, sizeof message, "%s", text);
    longjmp(escape, 1);
}

/* The last error must be of this line; 0: of a line that is not known. */
static void check_line(int line, const char *call)
{
    char place[64];
    snprintf(place, sizeof place, "lines.c:%d", line);
    const char *found = strstr(message, line ? place : "at a line that is not known)");
    calls++;
    if (found && (!line || found[strlen(place)] == ')')) return;
    printf("%s: expected %s: %s\n", call, line ? place : "no line", message);
    wrong++;
}

#define RUN(statement) do { \
        message[0] = '\0'; \
        scope = ag_begin(AG_RECORD); \
        if (setjmp(escape) == 0) { statement; } \
        ag_end(scope); \
    } while (0)
#ifdef KAERU_NO_LINES
#define LINE(line) 0
#define EXPANDED(name, ...) do { RUN((name)(__VA_ARGS__)); check_line(0, #name); } while (0)
#else
#define LINE(line) (line)
#define EXPANDED(name, ...) do { RUN(name##_call("lines.c", 7, __VA_ARGS__)); check_line(7, #name); } while (0)
#endif
/* By its macro, by what it writes, by a pointer. */
#define FAILS(name, ...) do { \
        RUN(name(__VA_ARGS__)); \
        check_line(LINE(__LINE__), #name); \
        EXPANDED(name, __VA_ARGS__); \
        RUN((*name)(__VA_ARGS__)); \
        check_line(0, #name); \
    } while (0)

static void pointers(Linear *l, Tensor *x)
{
    FAILS(ag_tanh, NULL);
    FAILS(ag_matmul, x, x);
    FAILS(ag_reshape, x, SHAPE(7));
    FAILS(ag_keep, NULL);
    FAILS(nn_linear_new_with, -1, 2, true);
    FAILS(nn_embedding, NULL, x);
    FAILS(ag_alloc, SIZE_MAX, 8);
    FAILS(tensor_data, NULL);
    FAILS(tensor_get_name, NULL);
    FAILS(nn_settings_get, NULL, "key");
    (void)l;
}

static void nothing(Linear *l, Tensor *x)
{
    FAILS(ag_backward, x);
    FAILS(ag_set_threads, -1);
    FAILS(tensor_copy, NULL, x);
    FAILS(tensor_zero_grad, NULL);
    FAILS(ag_check_pointer, "what", "name", NULL);
    FAILS(nn_zero_grad, NULL);
    FAILS(nn_check, "what", NULL, 0);
    FAILS(ag_random_permutation, -1, NULL);
    FAILS(nn_list_add, NULL, l);
    FAILS(ag_fill, NULL, 1.0);
}

static void numbers(Linear *l, Tensor *x)
{
    FAILS(tensor_ndim, NULL);
    FAILS(tensor_numel, NULL);
    FAILS(tensor_dim, x, 7);
    FAILS(tensor_item, x);
    FAILS(tensor_version, NULL);
    FAILS(tensor_hash, NULL, 0);
    FAILS(ag_random_below, 0);
    FAILS(nn_count, NULL);
    FAILS(nn_clip_grad_norm, l, -1.0);
    FAILS(nn_optimizer_lr, NULL);
}

static void structs(Linear *l, Tensor *x)
{
    (void)l;
    (void)x;
    FAILS(tensor_shape, NULL);
    FAILS(tensor_dtype, NULL);
    FAILS(ag_begin, (AgMode)7);
    FAILS(ag_precision, (AgPrecision)7);
}

static void bools(Linear *l, Tensor *x)
{
    FAILS(tensor_requires_grad, NULL);
    FAILS(ag_gradcheck, NULL, NULL, &x, 1, NULL);
    FAILS(nn_parallel_shard, NULL);
    FAILS(nn_parallel_end, NULL);
    (void)l;
}

/* Their results must be used. */
static void checked(Linear *l, Tensor *x)
{
    bool good = false;
    RUN(good = nn_save(NULL, l));
    check_line(LINE(__LINE__ - 1), "nn_save");
    RUN(good = nn_load(NULL, l));
    check_line(LINE(__LINE__ - 1), "nn_load");
    RUN(good = (nn_save)(NULL, l));
    check_line(0, "nn_save");
    (void)good;
    (void)x;
}

static void lists(Linear *l)
{
    RUN(nn_settings_set(NULL, "key", "%d", 1));
    check_line(LINE(__LINE__ - 1), "nn_settings_set");
    RUN(nn_child(l, adapter, &l->module));
    check_line(LINE(__LINE__ - 1), "nn_child");
    RUN(ag_usage_error("program", "%s", "its own error"));
    check_line(LINE(__LINE__ - 1), "ag_usage_error");
}

int main(void)
{
    AgScope around = ag_begin(AG_RECORD);
    Linear *l = nn_linear_new(2, 1);
    Tensor *x = tensor_ones(SHAPE(2, 3));
    ag_on_usage_error(leave);
    pointers(l, x);
    nothing(l, x);
    numbers(l, x);
    structs(l, x);
    bools(l, x);
    checked(l, x);
    lists(l);
    ag_free(l);
    ag_end(around);
    printf("%d calls, %d wrong\n", calls, wrong);
    return wrong > 0;
}
