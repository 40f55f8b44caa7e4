/* kernel_case.c: calls a kernel with every instruction set and several numbers of threads. See kernel_case.h. */
#include "kernel_case.h"

#include "system.h"

static const Kernels reference = {
#define KERNEL(result, name, parameters, arguments, ret) .name = ref_##name,
#include "kernels.def"
#define KERNEL(result, name, parameters, arguments, ret) .name = ref_##name,
#include "more_kernels.def"
};
static const Kernels tested = {
#define KERNEL(result, name, parameters, arguments, ret) .name = k_##name,
#include "kernels.def"
#define KERNEL(result, name, parameters, arguments, ret) .name = k_##name,
#include "more_kernels.def"
};

const char *const isa_names[7] = { "avx512", "avx2", "portable", "avx512_bf16", "amx", "emulated avx512_bf16", "emulated amx" };

extern const KernelTable k_portable_table;
extern void k_emulated_amx_gemm_bf16(const KGemm *s, ag_real *c, const ag_real *a, const ag_real *b);
extern void k_emulated_avx512_bf16_gemm_bf16(const KGemm *s, ag_real *c, const ag_real *a, const ag_real *b);

bool use_isa(const char *name)
{
    static KernelTable emulated;
    if (strncmp(name, "emulated ", 9) != 0)
        return k_use_isa(name);
    emulated = k_portable_table;
    emulated.name = name;
    emulated.gemm_bf16 = strcmp(name + 9, "amx") == 0 ? k_emulated_amx_gemm_bf16 : k_emulated_avx512_bf16_gemm_bf16;
    k_table_in_use = &emulated;
    return true;
}
static const int thread_counts[] = { 1, 2, 3, 8 };

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

enum { GUARD = 64 };

static uint64_t random_state;

uint32_t draw(void)
{
    uint32_t word[4] = { (uint32_t)random_state, (uint32_t)(random_state >> 32), 77, 0 };
    random_state++;
    philox4x32(word, 1, 2);
    return word[0];
}

float draw_between(double low, double high)
{
    return (float)(low + (high - low) * draw() / 4294967296.0);
}

/* An array of `bytes` bytes with guard bytes on both sides. */
static void *array_new(Array *a, size_t bytes)
{
    a->bytes = bytes;
    a->memory = system_aligned(64, (bytes + 2 * GUARD + 4 + 63) / 64 * 64);
    ck_assert_ptr_nonnull(a->memory);
    for (size_t i = 0; i < bytes + 2 * GUARD + 4; i++)
        a->memory[i] = (unsigned char)(i * 37 + 11);
    return a->memory + GUARD + 4;
}

static void check_guards(const Array *a)
{
    for (size_t i = 0; i < a->bytes + 2 * GUARD + 4; i++)
        if (i < GUARD + 4 || i >= GUARD + 4 + a->bytes)
            ck_assert_int_eq(a->memory[i], (unsigned char)(i * 37 + 11));
}

float *input(Case *c, int64_t n, double low, double high)
{
    float *x = array_new(&c->inputs[c->n_inputs++], (size_t)n * sizeof(float));
    for (int64_t i = 0; i < n; i++)
        x[i] = draw_between(low, high);
    return x;
}

float *odd_input(Case *c, int64_t n)
{
    static const float special[] = { 0, -0.0f, 1, -1, INFINITY, -INFINITY, NAN, 1e-45f, -1e-45f, 1e-38f, -3e-39f, 3e38f,
                                     -3e38f, 1e30f, -1e30f, 88.5f, -88.5f, -103.5f, 16, -16, 1e-10f, -1e-10f };
    float *x = input(c, n, -3, 3);
    for (int64_t i = 0; i < n; i++)
        if (draw() % 3 == 0)
            x[i] = special[draw() % COUNT(special)];
    return x;
}

float *output(Case *c, int64_t n)
{
    float *y = array_new(&c->outputs[c->n_outputs++], (size_t)n * sizeof(float));
    for (int64_t i = 0; i < n; i++)
        y[i] = draw_between(-1, 1);
    return y;
}

uint8_t *byte_output(Case *c, int64_t n)
{
    return array_new(&c->outputs[c->n_outputs++], (size_t)n);
}

int32_t *int_output(Case *c, int64_t n)
{
    return array_new(&c->outputs[c->n_outputs++], (size_t)n * sizeof(int32_t));
}

uint8_t *mask_input(Case *c, int64_t n)
{
    uint8_t *m = array_new(&c->inputs[c->n_inputs++], (size_t)n);
    for (int64_t i = 0; i < n; i++)
        m[i] = draw() & 1;
    return m;
}

int32_t *id_input(Case *c, int64_t n, int32_t below)
{
    int32_t *ids = array_new(&c->inputs[c->n_inputs++], (size_t)n * sizeof(int32_t));
    for (int64_t i = 0; i < n; i++)
        ids[i] = (int32_t)(draw() % (uint32_t)below);
    return ids;
}

/* ---- the comparison ---------------------------------------------------------------------------------------------- */

static void reset_outputs(const Case *c, unsigned char *const *start)
{
    for (int o = 0; o < c->n_outputs; o++)
        memcpy(c->outputs[o].memory + GUARD + 4, start[o], c->outputs[o].bytes);
}

/* All bit patterns of NaN count as the same. */
static bool same_bits(const unsigned char *a, const unsigned char *b, size_t bytes)
{
    if (memcmp(a, b, bytes) == 0)
        return true;
    if (bytes % sizeof(float) != 0)
        return false;
    for (size_t i = 0; i < bytes; i += sizeof(float)) {
        float x, y;
        memcpy(&x, a + i, sizeof x);
        memcpy(&y, b + i, sizeof y);
        if (memcmp(&x, &y, sizeof x) != 0 && !(isnan(x) && isnan(y)))
            return false;
    }
    return true;
}

/* Compares the bits with those of the plain loops. All NaN count as the same. */
static void compare(const unsigned char *got, const unsigned char *expected, size_t bytes, bool floats)
{
    if (!floats) {
        ck_assert_mem_eq(got, expected, bytes);
        return;
    }
    for (size_t i = 0; i < bytes; i += sizeof(float)) {
        float x, y;
        memcpy(&x, got + i, sizeof x);
        memcpy(&y, expected + i, sizeof y);
        ck_assert_msg(same_bits(got + i, expected + i, sizeof x), "%s: item %zu is %a, expected %a", k_isa(),
                      i / sizeof(float), (double)x, (double)y);
    }
}

static unsigned char *copy_of(const Array *a)
{
    unsigned char *copy = malloc(a->bytes + 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, a->memory + GUARD + 4, a->bytes);
    return copy;
}

void check_case(Case *c, Call *call)
{
    unsigned char *start[MAX_ARRAYS], *expected[MAX_ARRAYS], *first[MAX_ARRAYS] = { 0 };
    for (int o = 0; o < c->n_outputs; o++)
        start[o] = copy_of(&c->outputs[o]);
    call(&reference, c);
    double expected_value = c->value, first_value = 0;
    for (int o = 0; o < c->n_outputs; o++)
        expected[o] = copy_of(&c->outputs[o]);
    bool any = false;
    for (int p = 0; p < COUNT(isa_names); p++) {
        if (!use_isa(isa_names[p]))
            continue;
        for (int t = 0; t < COUNT(thread_counts); t++, any = true) {
            k_set_threads(thread_counts[t]);
            reset_outputs(c, start);
            call(&tested, c);
            for (int o = 0; o < c->n_outputs; o++) {
                const Array *a = &c->outputs[o];
                const unsigned char *got = a->memory + GUARD + 4;
                check_guards(a);
                if (!any) {
                    bool floats = (const void *)got != c->bytes && (const void *)got != c->places;
                    compare(got, expected[o], a->bytes, floats);
                    first[o] = copy_of(a);
                } else
                    ck_assert_msg(same_bits(got, first[o], a->bytes), "%s with %d threads gives other bits", k_isa(),
                                  k_threads());
            }
            if (!any) {
                ck_assert_double_eq(c->value, expected_value);
                first_value = c->value;
            } else
                ck_assert_double_eq(c->value, first_value);
        }
    }
    ck_assert(any);
    for (int i = 0; i < c->n_inputs; i++)
        system_free(c->inputs[i].memory);
    for (int o = 0; o < c->n_outputs; o++) {
        system_free(c->outputs[o].memory);
        free(start[o]);
        free(expected[o]);
        free(first[o]);
    }
}

void setup(void)
{
    random_state = 0;
}
