/* test_safetensors.c: files of the original library are read, files written here are read back exactly, and a failure
 * leaves the old file. */
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "expected.h"
#include "faults.h"
#include "folder.h"
#include "io_faults.h"
#include "stored.h"
#include "suites.h"

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static ag_real *read_good(const NnTensorFile *st, const char *name, size_t *n)
{
    const StTensor *t = st_find(st, name);
    ck_assert_msg(t != NULL, "there is no tensor %s", name);
    *n = (size_t)t->numel;
    ag_real *values = malloc((*n + 1) * sizeof *values);
    values[*n] = 123;
    expect_done(st_read(t, AG_REAL, 0, t->numel, values));
    ck_assert(values[*n] == 123);
    return values;
}

START_TEST(all_types_are_read)
{
    static const char *const names[] = { "f16", "bf16", "f32", "f64", "i32", "i64", "u8", "bool", "empty", "scalar" };
    NnTensorFile *st = open_safetensors(TEST_FIXTURES "/types.safetensors");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[32];
        size_t n, n_expected;
        snprintf(name, sizeof name, "%s.real", names[i]);
        ag_real *values = read_good(st, names[i], &n), *expected = read_good(st, name, &n_expected);
        ck_assert_uint_eq(n, n_expected);
        for (size_t k = 0; k < n; k++)
            ck_assert_msg((float)values[k] == (float)expected[k], "%s[%zu] is %g, not %g", names[i], k,
                          (double)values[k], (double)expected[k]);
        free(values);
        free(expected);
    }
    ag_free(st);
}
END_TEST

START_TEST(shapes_and_metadata_are_read)
{
    NnTensorFile *st = open_safetensors(TEST_FIXTURES "/types.safetensors");
    ck_assert(ag_shape_equal(st_find(st, "f16")->item.shape, SHAPE(3, 100)));
    ck_assert(ag_shape_equal(st_find(st, "empty")->item.shape, SHAPE(2, 0, 3)));
    ck_assert(ag_shape_equal(st_find(st, "scalar")->item.shape, AG_SCALAR));
    expect_refused(st_can_read(st_find(st, "nine"), AG_REAL), "tensor \"nine\": expected at most 8 dimensions, found 9");
    ck_assert_ptr_null(st_find(st, "f1"));
    ck_assert_ptr_null(st_find(st, ""));
    ck_assert_uint_eq(st->metadata->count, 2);
    ck_assert_str_eq(tensor_file_metadata(st, "made by"), "safetensors");
    ck_assert_str_eq(tensor_file_metadata(st, "\u03c0"), "3\n\"14\"");
    ck_assert_ptr_null(tensor_file_metadata(st, "format"));
    ag_free(st);
}
END_TEST

START_TEST(other_types_cannot_be_read_as_reals)
{
    static const char *const names[] = { "c64", "f8_e4m3", "f8_e5m2" };
    NnTensorFile *st = open_safetensors(TEST_FIXTURES "/types.safetensors");
    ag_real values[3];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const StTensor *t = st_find(st, names[i]);
        ck_assert_ptr_nonnull(t);
        expect_refused(st_read(t, AG_REAL, 0, t->numel, values), "expected numbers of a common type, found ");
    }
    ag_free(st);
}
END_TEST

/* A file in memory: the header, followed by the values. */
static size_t make_bytes(unsigned char *out, const char *header, const void *values, size_t size)
{
    size_t n = strlen(header);
    for (int i = 0; i < 8; i++) out[i] = (unsigned char)((uint64_t)n >> 8 * i);
    memcpy(out + 8, header, n);
    if (size) memcpy(out + 8 + n, values, size);
    return 8 + n + size;
}

START_TEST(every_half_float_has_its_value)
{
    static uint16_t halves[65536];
    static unsigned char bytes[200000];
    static ag_real values[65536];
    for (uint32_t i = 0; i < 65536; i++) halves[i] = (uint16_t)i;
    size_t size = make_bytes(bytes, "{\"h\":{\"dtype\":\"F16\",\"shape\":[65536],\"data_offsets\":[0,131072]}}", halves,
                             sizeof halves);
    NnTensorFile *st = st_new(file_of_bytes("memory", bytes, size), st_read_any);
    ck_assert_msg(st != NULL, "%s", ag_error());
    expect_done(st_read(&st->tensor[0], AG_REAL, 0, 65536, values));
    for (uint32_t i = 0; i < 65536; i++) {
        int exponent = i >> 10 & 31, fraction = i & 1023;
        double size_of = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
        if (exponent == 31) size_of = HUGE_VAL;
        if (exponent == 31 && fraction) ck_assert(isnan(values[i]));
        else ck_assert((double)values[i] == (i & 0x8000 ? -size_of : size_of));
        ck_assert(!signbit(values[i]) == !(i & 0x8000));
    }
    ag_free(st);
}
END_TEST

START_TEST(each_byte_but_0_is_true)
{
    unsigned char bytes[100];
    uint8_t bools[3];
    int32_t ints[3];
    ag_real reals[3];
    size_t size = make_bytes(bytes, "{\"b\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[0,3]}}", "\0\1\310", 3);
    NnTensorFile *st = st_new(file_of_bytes("memory", bytes, size), st_read_any);
    ck_assert_msg(st != NULL, "%s", ag_error());
    expect_done(st_read(&st->tensor[0], AG_BOOL, 0, 3, bools));
    expect_done(st_read(&st->tensor[0], AG_INT, 0, 3, ints));
    expect_done(st_read(&st->tensor[0], AG_REAL, 0, 3, reals));
    for (int i = 0; i < 3; i++) ck_assert(bools[i] == (i > 0) && ints[i] == (i > 0) && reals[i] == (i > 0));
    ag_free(st);
}
END_TEST

START_TEST(types_that_cannot_be_read_are_listed)
{
    static const char *const types[] = { "F8_E4M3", "F8_E5M2", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "F8_E8M0" };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        unsigned char bytes[100];
        char header[80];
        snprintf(header, sizeof header, "{\"x\":{\"dtype\":\"%s\",\"shape\":[2],\"data_offsets\":[0,2]}}", types[i]);
        NnTensorFile *st = st_new(file_of_bytes("memory", bytes, make_bytes(bytes, header, "ab", 2)), st_read_any);
        ck_assert_msg(st != NULL, "%s", ag_error());
        ck_assert_str_eq(tensor_file_item(st, 0)->type, types[i]);
        expect_refused(tensor_file_get(st, "x") != NULL, types[i]);
        ag_free(st);
    }
}
END_TEST

/* Tensors at offsets above 4 GB, in a sparse file. */
START_TEST(large_files_are_read)
{
    static unsigned char bytes[1000];
    const char *header = "{\"a\":{\"dtype\":\"U8\",\"shape\":[5000000000],\"data_offsets\":[0,5000000000]},"
                         "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[5000000000,5000000008]}}";
    size_t start = make_bytes(bytes, header, NULL, 0);
    float two[2] = { 1.5f, -2.0f };
    int fd = open(in_folder("large"), O_WRONLY | O_CREAT, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pwrite(fd, bytes, start, 0), start);
    if (sizeof(off_t) < 8 || pwrite(fd, two, 8, (off_t)(start + 5000000000)) != 8) {
        close(fd);                                              /* this disk has no sparse files */
        return;
    }
    close(fd);
    NnTensorFile *st = open_safetensors(in_folder("large"));
    ag_real values[2];
    expect_done(st_read(st_find(st, "b"), AG_REAL, 0, 2, values));
    ck_assert(values[0] == (ag_real)1.5 && values[1] == (ag_real)-2.0);
    ck_assert_uint_eq(st_find(st, "a")->size, 5000000000);
    ag_free(st);
}
END_TEST

/* As the library does. */
START_TEST(metadata_may_be_null)
{
    static unsigned char bytes[200];
    float one = 5;
    size_t size = make_bytes(bytes, "{\"__metadata__\":null,\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
                             &one, 4);
    NnTensorFile *st = st_new(file_of_bytes("memory", bytes, size), st_read_any);
    ck_assert_msg(st != NULL, "%s", ag_error());
    ck_assert_ptr_null(tensor_file_metadata(st, "format"));
    AgScope s = ag_begin(AG_NO_GRAD);
    ck_assert(tensor_item(tensor_file_get(st, "x")) == 5);
    ag_end(s);
    ag_free(st);
}
END_TEST

START_TEST(every_incomplete_file_is_refused)
{
    static unsigned char bytes[200];
    float two[2] = { 1, 2 };
    size_t size = make_bytes(bytes, "{\"__metadata__\":{\"a\":\"b\"},\"x\":{\"dtype\":\"F32\",\"shape\":[2],"
                             "\"data_offsets\":[0,8]}}", two, 8);
    for (size_t n = 0; n <= size; n++) {
        unsigned char *part = malloc(n + !n);                   /* so that a sanitizer reports a read past the end */
        memcpy(part, bytes, n);
        NnTensorFile *st = st_new(file_of_bytes("memory", part, n), st_read_any);
        ck_assert_int_eq(st != NULL, n == size);
        if (n < size) expect_refused(st != NULL, "memory");
        ag_free(st);
        free(part);
    }
}
END_TEST

/* ---- writing ----------------------------------------------------------------------------------------------------- */

#define ENTRY(name_, shape_, values_) { .name = name_, .shape = shape_, .values = values_, .dtype = AG_REAL }

static const ag_real numbers[6] = { 1, -2.5, 0x1p-130, INFINITY, 1e30f, -0.0 };

START_TEST(written_files_are_read_unchanged)
{
    StEntry entries[] = {
        ENTRY("z.weight", SHAPE(2, 3), numbers), ENTRY("empty", SHAPE(0, 4), NULL),
        ENTRY("a \"\\\u00e9", AG_SCALAR, numbers + 1), ENTRY("eight", SHAPE(1, 2, 1, 1, 1, 1, 1, 3), numbers),
        ENTRY("", SHAPE(1), numbers),
    };
    enum { N = sizeof entries / sizeof *entries };
    static const char *const texts[][2] = { { "format", "pt" }, { "kaeru.hash", NULL }, { "", "" }, { "\n", "\"\\\t" } };
    NnSettings *metadata = nn_settings_new();
    for (int i = 2; i < 4; i++) nn_settings_set(metadata, texts[i][0], "%s", texts[i][1]);
    expect_done(st_write(in_folder("a"), entries, N, metadata));
    ag_free(metadata);
    NnTensorFile *st = open_safetensors(in_folder("a"));
    ck_assert_uint_eq(st->n_tensors, N);
    for (int i = 0; i < N; i++) {
        size_t n;
        ag_real *values = read_good(st, entries[i].name, &n);
        ck_assert_uint_eq(n, (size_t)ag_shape_numel(entries[i].shape));
        if (n) ck_assert(memcmp(values, entries[i].values, n * sizeof *values) == 0);
        ck_assert(ag_shape_equal(st_find(st, entries[i].name)->item.shape, entries[i].shape));
        ck_assert_str_eq(st_find(st, entries[i].name)->item.type, sizeof(ag_real) == 4 ? "F32" : "F64");
        free(values);
    }
    ck_assert_uint_eq(st->metadata->count, 4);
    for (int i = 0; i < 4; i++) {
        ck_assert_str_eq(st->metadata->as.item[2 * i].as.text, texts[i][0]);
        if (texts[i][1]) ck_assert_str_eq(st->metadata->as.item[2 * i + 1].as.text, texts[i][1]);
    }
    ck_assert_uint_eq(st->tensor[0].offset % 8, 0);
    ag_free(st);
    expect_done(st_write(in_folder("a"), NULL, 0, NULL));
    st = open_safetensors(in_folder("a"));
    ck_assert(st->n_tensors == 0 && st->metadata->count == 2);
    ag_free(st);
    ck_assert_int_eq(folder_count(), 1);
}
END_TEST

START_TEST(files_that_could_not_be_read_are_not_written)
{
    StEntry twice[] = { ENTRY("x", SHAPE(1), numbers), ENTRY("x", SHAPE(2), numbers) };
    StEntry bytes[] = { ENTRY("\xff", SHAPE(1), numbers) }, reserved[] = { ENTRY("__metadata__", SHAPE(1), numbers) };
    NnSettings *metadata = nn_settings_new();
    nn_settings_set(metadata, "format", "np");
    folder_write("a", "old", 3);
    expect_refused(st_write(in_folder("a"), twice, 2, NULL), "expected each name of an object once, found \"x\"");
    expect_refused(st_write(in_folder("a"), bytes, 1, NULL),
                   "a: a name or a setting: expected UTF-8 to be written as JSON, found byte 0xFF");
    expect_refused(st_write(in_folder("a"), reserved, 1, NULL), "a: a tensor is named __metadata__, which");
    expect_refused(st_write(in_folder("a"), twice, 1, metadata), "expected each name of an object once, found \"format\"");
    ag_free(metadata);
    folder_expect("a", "old");
    ck_assert_int_eq(folder_count(), 1);
}
END_TEST

/* A reader refuses a header of more than 100 MB. */
START_TEST(a_header_that_is_too_large_leaves_the_old_file)
{
    enum { SIZE = 100000001 };
    Linear *l = nn_linear_new(1, 1);
    NnSettings *s = nn_settings_new();
    char *text = ag_alloc(SIZE + 1, 1);
    memset(text, 'x', SIZE);
    expect_done(nn_checkpoint_save(in_folder("a.safetensors"), l, NULL, NULL));
    nn_settings_set(s, "text", "%s", text);
    expect_refused(nn_checkpoint_save(in_folder("a.safetensors"), l, NULL, s),
                   "a.safetensors: expected names and settings of at most 100000000 bytes in all, found 10000");
    ck_assert_int_eq(folder_count(), 1);
    expect_done(nn_checkpoint_load(in_folder("a.safetensors"), l, NULL, NULL));
    ag_free(text);
    ag_free(s);
    ag_free(l);
}
END_TEST

START_TEST(packed_matrices_without_columns_are_written)
{
    typedef struct { Module module; Tensor *w; } Empty;
    Empty *m = nn_new(Empty);
    nn_buffer_with(m, w, SHAPE(3, 0), AG_PACKED, true);
    expect_done(nn_save(in_folder("a.safetensors"), m));
    expect_done(nn_load_with(in_folder("a.safetensors"), m, (NnLoadOptions){ .in_place = true }));
    ck_assert(ag_shape_equal(tensor_shape(m->w), SHAPE(3, 0)));
    ag_free(m);
}
END_TEST

START_TEST(a_full_disk_leaves_the_old_file)
{
    static ag_real large[10000];
    StEntry small = ENTRY("x", SHAPE(6), numbers);
    StEntry entries[] = { ENTRY("x", SHAPE(10000), large), ENTRY("y", SHAPE(10000), large) };
    expect_done(st_write(in_folder("a"), &small, 1, NULL));
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = { 50000, 50000 };
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    expect_refused(st_write(in_folder("a"), entries, 2, NULL), "a: cannot be written: File too large");
    NnTensorFile *st = open_safetensors(in_folder("a"));
    ck_assert_uint_eq(st_find(st, "x")->numel, 6);
    ag_free(st);
    ck_assert_int_eq(folder_count(), 1);
}
END_TEST

/* ---- every call and every request fails once --------------------------------------------------------------------- */

/* Reads the file, which has a tensor x of 1 or 2 numbers, and replaces it by one with an x of 2 numbers. */
static bool read_and_write(void)
{
    ag_real values[2];
    NnTensorFile *st = st_open(in_folder("a"));
    bool done = st && st_read(st_find(st, "x"), AG_REAL, 0, 1, values);
    ag_free(st);
    StEntry entry = ENTRY("x", SHAPE(2), numbers);
    return done && st_write(in_folder("a"), &entry, 1, NULL);
}

static void try_read_and_write(void)
{
    read_and_write();
}

START_TEST(each_failing_call_is_reported)
{
    if (!io_faults_work()) return;
    bool hit = true;
    for (int64_t n = 0; hit; n++) {
        StEntry entry = ENTRY("x", SHAPE(1), numbers);
        expect_done(st_write(in_folder("a"), &entry, 1, NULL));
        int open = io_faults_open();
        io_faults_at(n, _i);
        bool done = read_and_write();
        hit = io_faults_end(done);
        ck_assert_int_eq(io_faults_open(), open);
        ck_assert_int_eq(folder_count(), 1);
        if (!done) expect_refused(done, "/a: ");
        bool replaced = done || strstr(ag_error(), "a: was replaced, but may not be on the disk yet: ");
        NnTensorFile *st = open_safetensors(in_folder("a"));
        ck_assert_uint_eq(st_find(st, "x")->numel, replaced ? 2 : 1);
        ag_free(st);
    }
}
END_TEST

START_TEST(failing_allocations_leak_nothing)
{
    StEntry entry = ENTRY("x", SHAPE(2), numbers);
    expect_done(st_write(in_folder("a"), &entry, 1, NULL));
    int64_t requests = faults_everywhere(try_read_and_write, _i);
    if (faults_work()) ck_assert_int_gt(requests, 8);
    ck_assert_int_eq(folder_count(), 1);
    ck_assert(read_and_write());
}
END_TEST

Suite *safetensors_suite(void)
{
    Suite *suite = suite_create("safetensors");
    TCase *t = tcase_create("safetensors");
    tcase_add_checked_fixture(t, folder_make, folder_remove);
    tcase_add_test(t, all_types_are_read);
    tcase_add_test(t, shapes_and_metadata_are_read);
    tcase_add_test(t, other_types_cannot_be_read_as_reals);
    tcase_add_test(t, every_half_float_has_its_value);
    tcase_add_test(t, types_that_cannot_be_read_are_listed);
    tcase_add_test(t, each_byte_but_0_is_true);
    tcase_add_test(t, large_files_are_read);
    tcase_add_test(t, metadata_may_be_null);
    tcase_add_test(t, every_incomplete_file_is_refused);
    tcase_add_test(t, written_files_are_read_unchanged);
    tcase_add_test(t, files_that_could_not_be_read_are_not_written);
    tcase_add_test(t, a_header_that_is_too_large_leaves_the_old_file);
    tcase_add_test(t, a_full_disk_leaves_the_old_file);
    tcase_add_test(t, packed_matrices_without_columns_are_written);
    tcase_add_loop_test(t, each_failing_call_is_reported, 0, 2);
    tcase_add_loop_test(t, failing_allocations_leak_nothing, 0, 2);
    suite_add_tcase(suite, t);
    return suite;
}
