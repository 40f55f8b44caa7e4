/* test_tensor_files.c: files of NumPy and of Hugging Face's library are read through the public functions, files written here
 * are NumPy's byte for byte, a value that does not fit or is damaged is refused, and a failure leaves the old file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "expected.h"
#include "faults.h"
#include "folder.h"
#include "io_faults.h"
#include "kaeru/autograd.h"
#include "stored.h"
#include "suites.h"
#include "usage_error.h"

#define FILES TEST_FIXTURES "/files/"

static NnTensorFile *must_open(const char *path)
{
    NnTensorFile *f = tensor_file_open(path);
    ck_assert_msg(f != NULL, "%s", ag_error());
    return f;
}

/* The tensor as a new one of that type. */
static Tensor *read_as(const NnTensorFile *f, const char *name, AgDType dtype)
{
    const NnFileTensor *item = tensor_file_find(f, name);
    ck_assert_msg(item != NULL, "there is no %s", name);
    Tensor *t = dtype == AG_REAL ? tensor_zeros(item->shape) : dtype == AG_INT ? tensor_ints(item->shape, NULL) :
                                                                                  tensor_bools(item->shape, NULL);
    expect_done(tensor_file_read(f, name, t));
    return t;
}

static double value(const Tensor *t, int64_t i)
{
    return tensor_dtype(t) == AG_REAL ? (double)tensor_data(t)[i] :
           tensor_dtype(t) == AG_INT ? tensor_int_data(t)[i] : tensor_bool_data(t)[i];
}

/* The shapes must be equal, and the values as floats. */
static void check_equal(const char *name, const Tensor *found, const Tensor *expected)
{
    ck_assert_msg(ag_shape_equal(tensor_shape(found), tensor_shape(expected)), "%s has another shape", name);
    for (int64_t i = 0; i < tensor_numel(found); i++)
        ck_assert_msg((float)value(found, i) == (float)value(expected, i), "%s[%d] is %.9g, not %.9g", name, (int)i,
                      value(found, i), value(expected, i));
}

/* The bytes of a file. */
static unsigned char *bytes_of(const char *path, size_t *n)
{
    unsigned char *bytes = (unsigned char *)file_read(NULL, path, 1 << 24, n);
    ck_assert_msg(bytes != NULL, "%s", ag_error());
    return bytes;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static const struct { const char *name, *type; AgDType natural; } types[] = {
    { "f2", "F16", AG_REAL }, { "f4", "F32", AG_REAL }, { "f8", "F64", AG_REAL }, { "infinite", "F64", AG_REAL },
    { "b1", "BOOL", AG_BOOL }, { "i1", "I8", AG_INT }, { "i2", "I16", AG_INT }, { "i4", "I32", AG_INT },
    { "i8", "I64", AG_INT },
    { "u1", "U8", AG_INT }, { "u2", "U16", AG_INT }, { "u4", "U32", AG_INT }, { "u8", "U64", AG_INT },
};
enum { N_TYPES = sizeof types / sizeof *types };

/* Whether the tensor, and the same as real and int, have NumPy's values. */
static void check_type(const NnTensorFile *f, const char *name, AgDType natural)
{
    char other[32];
    Tensor *t = tensor_file_get(f, name);
    ck_assert_msg(t != NULL, "%s", ag_error());
    ck_assert_int_eq(tensor_dtype(t), natural);
    snprintf(other, sizeof other, "%s.real", name);
    Tensor *real_one = read_as(f, other, AG_REAL);
    check_equal(name, t, real_one);
    check_equal(name, read_as(f, name, AG_REAL), real_one);
    if (natural == AG_REAL) return;
    snprintf(other, sizeof other, "%s.int", name);
    Tensor *ints = read_as(f, name, AG_INT), *expected = read_as(f, other, AG_INT);
    check_equal(name, ints, expected);
    for (int64_t i = 0; i < tensor_numel(ints); i++) ck_assert_int_eq(tensor_int_data(ints)[i], tensor_int_data(expected)[i]);
}

START_TEST(each_type_is_read)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    NnTensorFile *f = must_open(FILES "types.npz");
    for (int i = 0; i < N_TYPES; i++) {
        ck_assert_str_eq(tensor_file_find(f, types[i].name)->type, types[i].type);
        check_type(f, types[i].name, types[i].natural);
    }
    ag_free(f);
    f = must_open(TEST_FIXTURES "/types.safetensors");
    check_type(f, "bf16", AG_REAL);
    check_equal("bool", tensor_file_get(f, "bool"), read_as(f, "bool.real", AG_REAL));
    Tensor *from_bool = read_as(f, "bool", AG_BOOL);
    ck_assert(tensor_bool_data(from_bool)[0] == 1 && tensor_bool_data(from_bool)[1] == 0);
    ag_free(f);
    ag_end(s);
}
END_TEST

START_TEST(values_that_do_not_fit_are_refused)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *two = tensor_ints(SHAPE(2), NULL), *reals = tensor_zeros(SHAPE(2)), *mask = tensor_bools(SHAPE(2), NULL);
    NnTensorFile *f = must_open(FILES "types.npz");
    expect_refused(tensor_file_get(f, "large i8") != NULL,
                   "types.npz: tensor \"large i8\": item 1 is not in -2147483648..2147483647");
    expect_refused(tensor_file_get(f, "small i8") != NULL, "tensor \"small i8\": item 0 is not in -2147483648..2147483647");
    expect_refused(tensor_file_get(f, "large u4") != NULL, "tensor \"large u4\": item 2 is not in -2147483648..2147483647");
    expect_refused(tensor_file_get(f, "large u8") != NULL, "tensor \"large u8\": item 0 is not in -2147483648..2147483647");
    if (sizeof(ag_real) == 4) {
        expect_refused(tensor_file_get(f, "large f8") != NULL,
                       "tensor \"large f8\": item 5000 is finite, but beyond the range of a float");
    } else {
        ck_assert(value(tensor_file_get(f, "large f8"), 5000) == -3.5e38);
    }
    expect_refused(tensor_file_get(f, "complex") != NULL, "tensor \"complex\": expected numbers of a common type, found C64");
    expect_refused(tensor_file_read(f, "infinite", tensor_ints(SHAPE(3), NULL)), "expected whole numbers, found F64");
    expect_refused(tensor_file_read(f, "large i8", mask), "tensor \"large i8\": expected BOOL, found I64");
    expect_refused(tensor_file_read(f, "nine", reals), "tensor \"nine\": expected at most 8 dimensions, found 9");
    expect_refused(tensor_file_get(f, "nine") != NULL, "tensor \"nine\": expected at most 8 dimensions, found 9");
    expect_refused(tensor_file_read(f, "f4", reals), "tensor \"f4\": is (2, 1, 4), expected (2,)");
    expect_refused(tensor_file_read(f, "f5", two), "types.npz: tensor \"f5\": is not in the file");
    expect_refused(tensor_file_get(f, "") != NULL, "types.npz: tensor \"\": is not in the file");
    expect_done(tensor_file_read(f, "large i8", reals));
    ck_assert(tensor_data(reals)[1] == (ag_real)2147483648.0);
    ck_assert_int_eq(tensor_file_find(f, "nine")->shape.ndim, -1);
    ck_assert_ptr_null(tensor_file_find(f, "f5"));
    ag_free(f);
    expect_refused(tensor_load(FILES "types.npz", NULL) != NULL, "types.npz: expected one tensor or a name, found ");
    expect_refused(tensor_load(FILES "types.npz", "z") != NULL,
                   "types.npz: tensor \"z\": is not in the file: expected \"f2\", \"f4\", \"f8\", ...");
    expect_refused(tensor_load(FILES "f4.npy", "z") != NULL, "f4.npy: tensor \"z\": is not in the file: expected NULL");
    expect_refused(tensor_load(FILES "no.npy", NULL) != NULL, "no.npy: cannot be opened");
    ag_end(s);
}
END_TEST

/* Of two floats. Python writes the first; the others are as good, and mean the same. */
START_TEST(headers_of_numpy_are_read)
{
    static const struct { const char *text; bool good; } headers[] = {
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }          \n", true },
        { "{'descr':'<f4','fortran_order':False,'shape':(2,)}", true },
        { "{'descr':'<f4','fortran_order':False,'shape':(2)}", false },                /* a number to Python */
        { "{'descr':'<f4','fortran_order':False,'shape':( 2 )}", false },
        { "{'descr':'<f4','fortran_order':False,'shape':[2]}", false },
        { "{'descr':'<f4','fortran_order':False,'shape':(1, 2)}", true },
        { "{'descr':'<f4','fortran_order':false,'shape':(2,)}", false },
        { "{'descr':'<f4','fortran_order':null,'shape':(2,)}", false },
        { "{\"shape\": (1, 2), \"fortran_order\": False, \"descr\": \"<f4\",\n}", true },
        { "{'descr': '<f4\", 'fortran_order': False, 'shape': (2,)}", false },
        { "{'descr': '<f4'', 'fortran_order': False, 'shape': (2,)}", false },
        { "{'descr': '\"<f4\"', 'fortran_order': False, 'shape': (2,)}", false },
        { "{'descr': '<f4', 'fortran_order': 'False', 'shape': (2,)}", false },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (2,,)}", false },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': {2,}}", false },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}", false },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (2.0,)}", false },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (2L,), }", true },        /* Python 2 */
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (1L, 2L), }", true },
        { "{'descr': '<f4L', 'fortran_order': False, 'shape': (2,), }", false },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (2LL,), }", false },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (L,), }", false },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': ('2',)}", false },
    };
    AgScope s = ag_begin(AG_NO_GRAD);
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        char bytes[200] = "\x93NUMPY\1";
        size_t n = strlen(headers[i].text);
        float values[2] = { 3, -4 };
        bytes[8] = (char)n;
        memcpy(bytes + 10, headers[i].text, n);
        memcpy(bytes + 10 + n, values, sizeof values);
        NnTensorFile *f = st_new(file_of_bytes("memory", bytes, 10 + n + sizeof values), st_read_any);
        ck_assert_msg((f != NULL) == headers[i].good, "%s is %s", headers[i].text, f ? "accepted" : ag_error());
        if (f) ck_assert(tensor_data(tensor_file_get(f, ""))[1] == -4);
        else expect_refused(false, "memory: expected ");
        ag_free(f);
    }
    ag_end(s);
}
END_TEST

/* A byte has no order, but some programs write one, as C++ does with cnpy. */
START_TEST(bytes_of_numpy_may_have_an_order)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    for (const char *order = "<>|="; *order; order++) {
        char bytes[80] = "\x93NUMPY\1";
        int n = sprintf(bytes + 10, "{'descr': '%cu1', 'fortran_order': False, 'shape': (2,)}\7\t", *order);
        bytes[8] = (char)(n - 2);
        NnTensorFile *f = st_new(file_of_bytes("memory", bytes, 10 + (size_t)n), st_read_any);
        ck_assert_msg(f != NULL, "%s", ag_error());
        ck_assert_int_eq(tensor_int_data(tensor_file_get(f, ""))[1], '\t');
        ag_free(f);
    }
    ag_end(s);
}
END_TEST

static const struct { const char *name, *reason; } unreadable[] = {
    { "text", "expected numbers of a known type, found \"<U4\"" },
    { "bytes", "expected numbers of a known type, found \"|S3\"" },
    { "complex", "expected numbers of a known type, found \"<c16\"" },
    { "objects", "expected numbers of a known type, found \"|O\"" },
    { "structured", "expected a header as {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, found " },
    { "dates", "expected numbers of a known type, found \"<M8[ns]\"" },
    { "spans", "expected numbers of a known type, found \"<m8[s]\"" },
    { "long", "expected numbers of a known type, found \"<f16\"" },
    { "big", "expected little-endian numbers, found \">f4\"" },
    { "fortran", "is in Fortran's order; save np.ascontiguousarray(x) instead of x" },
    { "notes/readme.txt", "expected a name that ends in .npy" },
    { "deflated", "is compressed; np.savez writes arrays that are not" },
};
enum { N_UNREADABLE = sizeof unreadable / sizeof *unreadable };

static void rename_bias(void *arg, const char *name, char *out, size_t size)
{
    if (strcmp(name, "bias") == 0) snprintf(out, size, "%s", (const char *)arg);
}

START_TEST(unreadable_arrays_leave_the_others_readable)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    NnTensorFile *f = must_open(FILES "mixed.npz");
    ck_assert_int_eq(tensor_file_count(f), N_UNREADABLE + 2);
    for (int i = 0; i < N_UNREADABLE; i++) {
        const char *name = unreadable[i].name;
        const NnFileTensor *item = tensor_file_find(f, name);
        ck_assert_msg(item != NULL, "there is no %s", name);
        ck_assert_str_eq(item->name, name);
        ck_assert_str_eq(item->type, "");
        ck_assert_int_eq(item->shape.ndim, -1);
        expect_refused(tensor_file_get(f, name) != NULL, unreadable[i].reason);
        expect_refused(tensor_file_read(f, name, tensor_zeros(SHAPE(2))), unreadable[i].reason);
        expect_refused(tensor_load(FILES "mixed.npz", name) != NULL, unreadable[i].reason);
        Linear *l = nn_linear_new(2, 2);
        NnLoadOptions o = { .rename = rename_bias, .arg = (char *)unreadable[i].name, .allow_missing = true,
                          .allow_unexpected = true };
        expect_refused(nn_load_with(FILES "mixed.npz", l, o), unreadable[i].reason);
        ag_free(l);
    }
    check_equal("first", tensor_file_get(f, "first"), tensor_load(FILES "types.npz", "f4"));
    check_equal("last", tensor_load(FILES "mixed.npz", "last"), tensor_load(FILES "types.npz", "i4"));
    ag_free(f);
    ag_end(s);
}
END_TEST

/* From 2 GiB on, NumPy writes sizes and offsets of 64 bits. This file was made with a lower limit. */
START_TEST(large_archives_are_read)
{
    NnTensorFile *f = must_open(FILES "zip64.npz");
    AgScope s = ag_begin(AG_NO_GRAD);
    ck_assert_int_eq(tensor_file_count(f), 3);
    static const char *const names[] = { "f4", "i4" };
    for (int i = 0; i < 2; i++) check_equal(names[i], tensor_file_get(f, names[i]), tensor_load(FILES "types.npz", names[i]));
    check_equal("wide", tensor_file_get(f, "wide"), tensor_arange(0, 64, 1));
    ag_end(s);
    ag_free(f);
}
END_TEST

START_TEST(single_arrays_are_read)
{
    static const char *const names[] = { "f4", "f8", "i4", "b1", "empty", "scalar" };
    AgScope s = ag_begin(AG_NO_GRAD);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[512];
        snprintf(path, sizeof path, FILES "%s.npy", names[i]);
        Tensor *one = tensor_load(path, NULL), *other = tensor_load(FILES "types.npz", names[i]);
        ck_assert_msg(one && other, "%s", ag_error());
        check_equal(names[i], one, other);
        ck_assert_int_eq(tensor_dtype(one), tensor_dtype(other));
    }
    check_equal("version 2", tensor_load(FILES "version2.npy", ""), tensor_load(FILES "f4.npy", NULL));
    size_t n;
    unsigned char *bytes = bytes_of(FILES "version2.npy", &n);
    bytes[6] = 3;                                               /* the same, with a header in UTF-8 */
    folder_write("version3.npy", bytes, n);
    ag_free(bytes);
    Tensor *three = tensor_load(in_folder("version3.npy"), NULL);
    ck_assert_msg(three != NULL, "%s", ag_error());
    check_equal("version 3", three, tensor_load(FILES "f4.npy", NULL));
    ag_end(s);
}
END_TEST

START_TEST(a_model_in_several_files_is_one)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    NnTensorFile *parts = must_open(FILES "model.safetensors.index.json"), *whole = must_open(FILES "model.safetensors");
    ck_assert_int_eq(tensor_file_count(parts), 4);
    for (int i = 0; i < tensor_file_count(whole); i++) {
        const NnFileTensor *item = tensor_file_item(whole, i);
        check_equal(item->name, tensor_file_get(parts, item->name), tensor_file_get(whole, item->name));
    }
    ck_assert_str_eq(tensor_file_find(parts, "model.norm.weight")->type, "BF16");
    ck_assert_ptr_null(tensor_file_metadata(parts, "format"));
    ag_free(parts);
    ag_free(whole);
    parts = must_open(FILES "model-00001-of-00003.safetensors");
    ck_assert_str_eq(tensor_file_metadata(parts, "format"), "pt");
    ag_free(parts);
    ck_assert_int_eq(chdir(FILES), 0);                          /* an index in the current folder */
    ag_free(must_open("model.safetensors.index.json"));
    ag_end(s);
}
END_TEST

/* As `zip -0` makes it: the directory has extra fields and comments, and the archive has a comment. */
START_TEST(archives_may_have_comments)
{
    enum { END = 22, ENTRY = 46 + 5, ADDED = 4 + 3 };           /* the parts' sizes; the name is "x.npy" */
    AgScope s = ag_begin(AG_NO_GRAD);
    size_t size, end;
    Tensor *x = tensor_randint(SHAPE(3), -9, 9);
    expect_done(tensor_save(in_folder("a.npz"), { "x", x }));
    unsigned char *bytes = bytes_of(in_folder("a.npz"), &size), made[1000];
    ck_assert_uint_lt(size, 900);
    end = size - END;
    memcpy(made, bytes, end);
    made[end - ENTRY + 30] = 4;
    made[end - ENTRY + 32] = 3;
    memcpy(made + end, "UT\0\0new", ADDED);
    memcpy(made + end + ADDED, bytes + end, END);
    made[end + ADDED + 12] += ADDED;                            /* the size of the directory */
    made[end + ADDED + 20] = 9;
    memcpy(made + size + ADDED, "a comment", 9);
    folder_write("b.npz", made, size + ADDED + 9);
    NnTensorFile *f = must_open(in_folder("b.npz"));
    ck_assert_int_eq(tensor_file_count(f), 1);
    check_equal("x", read_as(f, "x", AG_INT), x);
    ag_free(f);
    ag_free(bytes);
    ag_end(s);
}
END_TEST

/* The header of a safetensors file has its metadata under this name. */
START_TEST(a_tensor_has_not_the_name_of_the_metadata)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    expect_refused(tensor_save(in_folder("a.safetensors"), { "__metadata__", tensor_ones(SHAPE(2)) }),
                   "a.safetensors: a tensor is named __metadata__, which in a safetensors file is the name of its metadata");
    ck_assert_int_eq(folder_count(), 0);
    expect_done(tensor_save(in_folder("a.npz"), { "__metadata__", tensor_ones(SHAPE(2)) }));
    ag_end(s);
}
END_TEST

START_TEST(every_incomplete_file_is_refused_by_its_reader)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    expect_done(tensor_save(in_folder("a.npz"), { "x", tensor_zeros(SHAPE(3)) }, { "y", tensor_ones(SHAPE(2)) }));
    const char *const paths[] = { FILES "f4.npy", in_folder("a.npz") };
    for (int i = 0; i < 2; i++) {
        size_t size;
        unsigned char *bytes = bytes_of(paths[i], &size);
        for (size_t n = 0; n <= size; n++) {
            unsigned char *part = malloc(n + !n);               /* so that a sanitizer reports a read past the end */
            memcpy(part, bytes, n);
            NnTensorFile *st = st_new(file_of_bytes("memory", part, n), st_read_any);
            ck_assert_int_eq(st != NULL, n == size);
            if (n < size) expect_refused(st != NULL, "memory: ");
            ag_free(st);
            free(part);
        }
        ag_free(bytes);
    }
    ag_end(s);
}
END_TEST

/* Whatever byte of an archive is damaged, its arrays have their values or are refused; those in which it is are refused. */
START_TEST(damaged_arrays_are_refused)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    static const char *const names[] = { "x", "y" };
    Tensor *array[] = { tensor_normal(SHAPE(4999), 0, 1), tensor_randint(SHAPE(3), -9, 9) };    /* x has several chunks */
    expect_done(tensor_save(in_folder("a.npz"), { "x", array[0] }, { "y", array[1] }));
    size_t size, values = 0;
    unsigned char *bytes = bytes_of(in_folder("a.npz"), &size);
    for (size_t i = 0; i < size; i += i < 300 || i + 600 > size ? 1 : 97) {
        int read = 0;
        AgScope inner = ag_begin(AG_NO_GRAD);
        bytes[i] ^= 0x10;
        NnTensorFile *f = st_new(file_of_bytes("memory", bytes, size), st_read_any);
        for (int k = 0; f && k < 2; k++) {
            Tensor *t = tensor_file_get(f, names[k]);
            if (t) check_equal(names[k], t, array[k]);
            read += t != NULL;
        }
        if (i >= 300 && i + 600 < size) {
            values++;
            ck_assert_int_eq(read, 1);
            expect_refused(tensor_file_get(f, "x") != NULL, "memory: tensor \"x\": expected bytes with the checksum ");
        }
        ag_free(f);
        bytes[i] ^= 0x10;
        ag_end(inner);
    }
    ck_assert_uint_gt(values, 100);
    ag_free(bytes);
    ag_end(s);
}
END_TEST

/* A matrix that is rounded in several parts. */
START_TEST(damage_is_seen_in_parts)
{
    enum { ROWS = 300, COLUMNS = 256 };
    typedef struct { Module module; Tensor *w; } One;
    One *m = nn_new(One);
    nn_buffer_with(m, w, SHAPE(ROWS, COLUMNS), AG_PACKED, true);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *values = tensor_normal(SHAPE(ROWS, COLUMNS), 0, 1);
    expect_done(tensor_save(in_folder("a.npz"), { "w", values }));
    expect_done(nn_load_with(in_folder("a.npz"), m, (NnLoadOptions){ .round = true }));
    check_equal("w", ag_from_bf16(m->w), ag_from_bf16(ag_to_bf16(values)));
    size_t size;
    unsigned char *bytes = bytes_of(in_folder("a.npz"), &size);
    bytes[size / 2] ^= 0x10;
    folder_write("a.npz", (const char *)bytes, size);
    expect_refused(nn_load_with(in_folder("a.npz"), m, (NnLoadOptions){ .round = true }),
                   "tensor \"w\": expected bytes with the checksum ");
    ag_free(bytes);
    ag_end(s);
    ag_free(m);
}
END_TEST

/* ---- writing ----------------------------------------------------------------------------------------------------- */

START_TEST(written_arrays_are_numpys)
{
    static const char *const names[] = { "f4", "i4", "b1", "empty", "scalar", "f8" };
    AgScope s = ag_begin(AG_NO_GRAD);
    for (int i = 0; i < 6; i++) {
        char path[512];
        size_t n, n_expected;
        snprintf(path, sizeof path, FILES "%s.npy", names[i]);
        Tensor *t = tensor_load(path, NULL);
        if (tensor_dtype(t) == AG_REAL && (sizeof(ag_real) == 8) != (i == 5)) continue;  /* reals have one type in each build */
        expect_done(tensor_save(in_folder("a.npy"), { NULL, t }));
        unsigned char *found = bytes_of(in_folder("a.npy"), &n), *expected = bytes_of(path, &n_expected);
        ck_assert_uint_eq(n, n_expected);
        ck_assert_msg(memcmp(found, expected, n) == 0, "%s differs", names[i]);
        ag_free(found);
        ag_free(expected);
    }
    ag_end(s);
}
END_TEST

/* The checksum of an archive's entry, in its local header, which is found by the name behind it. */
static uint32_t checksum_of(const char *path, const char *name)
{
    size_t n, length = strlen(name);
    unsigned char *bytes = bytes_of(path, &n);
    uint32_t crc = 0;
    for (size_t i = 30; i + length < n && !crc; i++)
        if (memcmp(bytes + i, name, length) == 0) memcpy(&crc, bytes + i - 30 + 14, sizeof crc);
    ag_free(bytes);
    return crc;
}

START_TEST(written_archives_have_numpys_checksums)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *ints = tensor_load(FILES "types.npz", "i4"), *mask = tensor_load(FILES "types.npz", "b1");
    expect_done(tensor_save(in_folder("a.npz"), { "i4", ints }, { "b1", mask }));
    ck_assert_uint_eq(checksum_of(in_folder("a.npz"), "i4.npy"), checksum_of(FILES "types.npz", "i4.npy"));
    ck_assert_uint_eq(checksum_of(in_folder("a.npz"), "b1.npy"), checksum_of(FILES "types.npz", "b1.npy"));
    size_t n;
    unsigned char *bytes = bytes_of(in_folder("a.npz"), &n);
    ck_assert(bytes[6] == 0 && bytes[7] == 8);                  /* names are in UTF-8, which numpy.load expects by this flag */
    ag_free(bytes);
    ag_end(s);
}
END_TEST

START_TEST(written_files_are_read_back)
{
    static const char *const kinds[] = { "a.npz", "a.safetensors" };
    static char longest[65531 + 1];
    memset(longest, 'n', sizeof longest - 1);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_normal(SHAPE(2, 3), 0, 1), *ids = tensor_randint(SHAPE(4), -9, 9);
    Tensor *mask = tensor_bools(SHAPE(2), (uint8_t[]){ 1, 0 }), *none = tensor_zeros(SHAPE(0, 2));
    NnNamedValue list[] = { { "x", x }, { "a.b/c \"π\"\n", ids }, { "", mask }, { longest, none }, { "s", ag_sum(x) } };
    for (int k = 0; k < 2; k++) {
        expect_done(tensor_save_list(in_folder(kinds[k]), list, 5));
        NnTensorFile *f = must_open(in_folder(kinds[k]));
        ck_assert_int_eq(tensor_file_count(f), 5);
        for (int i = 0; i < 5; i++) {
            Tensor *t = tensor_file_get(f, list[i].name);
            ck_assert_int_eq(tensor_dtype(t), tensor_dtype(list[i].tensor));
            check_equal(kinds[k], t, list[i].tensor);
        }
        if (k == 1) ck_assert_str_eq(tensor_file_metadata(f, "format"), "pt");
        ag_free(f);
        expect_done(tensor_save_list(in_folder(kinds[k]), NULL, 0));
        f = must_open(in_folder(kinds[k]));
        ck_assert_int_eq(tensor_file_count(f), 0);
        ag_free(f);
        expect_refused(tensor_load(in_folder(kinds[k]), NULL) != NULL, "expected one tensor or a name, found 0");
    }
    ck_assert_int_eq(folder_count(), 2);
    ag_end(s);
}
END_TEST

START_TEST(files_that_cannot_be_written_are_refused)
{
    static char long_name[70000];
    memset(long_name, 'n', sizeof long_name - 1);
    Linear *packed = nn_linear_new_no_bias(2, 2);
    nn_freeze_bf16(packed);
    AgScope s = ag_begin(AG_NO_GRAD);
    Tensor *x = tensor_ones(SHAPE(2));
    folder_write("a.npz", "old", 3);
    expect_refused(tensor_save(in_folder("a.npz"), { "x", x }, { "x", x }),
                   "a.npz: expected each name once, found \"x\" again");
    expect_refused(tensor_save(in_folder("a.npz"), { "\xff", x }),
                   "a.npz: expected names in UTF-8 of at most 65531 bytes, found \"\\xFF\"");
    for (int i = 0; i < 2; i++, long_name[65532] = '\0')
        expect_refused(tensor_save(in_folder("a.npz"), { long_name, x }),
                       "a.npz: expected names in UTF-8 of at most 65531 bytes");
    folder_expect("a.npz", "old");
    expect_refused(tensor_save(in_folder("a.pt"), { "x", x }),
                   "a.pt: expected a path that ends in .safetensors, .npz or .npy");
    expect_refused(tensor_save(in_folder("no/a.npy"), { "", x }), "no/a.npy: cannot be written");
    ck_assert_int_eq(folder_count(), 1);
    EXPECT_USAGE_ERROR("tensor_save: an .npy file has one tensor, not 2; an .npz file has any number",
                       tensor_save(in_folder("a.npy"), { "x", x }, { "y", x }));
    EXPECT_USAGE_ERROR("tensor_save: NumPy has no bfloat16", tensor_save(in_folder("a.npy"), { "x", packed->weight }));
    EXPECT_USAGE_ERROR("tensor_save: NumPy has no bfloat16", tensor_save(in_folder("a.npz"), { "x", packed->weight }));
    folder_expect("a.npz", "old");
    EXPECT_USAGE_ERROR("tensor_file_item: item 1 of a file of 1",
                       tensor_file_item(must_open(FILES "f4.npy"), 1));
    ag_free(packed);
    ag_end(s);
}
END_TEST

/* ---- every call and every request fails once --------------------------------------------------------------------- */

static const char *const written[] = { "a.npy", "a.npz", "a.safetensors" };

/* Reads the file, a tensor that is converted, and one of a model in several files, and replaces the file by one with a vector
 * of two. */
static bool read_and_write(const char *path)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    bool done = tensor_load(path, NULL) && tensor_load(TEST_FIXTURES "/types.safetensors", "f16") &&
                tensor_load(FILES "model.safetensors.index.json", "head.weight");
    done = done && tensor_save(path, { "x", tensor_ones(SHAPE(2)) });
    ag_end(s);
    return done;
}

static const char *job_path;
static void try_read_and_write(void)
{
    read_and_write(job_path);
}

START_TEST(each_failing_call_is_reported)
{
    if (!io_faults_work()) return;
    AgScope s = ag_begin(AG_NO_GRAD);
    bool hit = true;
    expect_done(tensor_save(in_folder(written[_i % 3]), { "x", tensor_ones(SHAPE(1)) }));
    for (int64_t n = 0; hit; n++) {
        int open = io_faults_open();
        io_faults_at(n, _i / 3);
        bool done = read_and_write(in_folder(written[_i % 3]));
        hit = io_faults_end(done);
        ck_assert_int_eq(io_faults_open(), open);
        ck_assert_int_eq(folder_count(), 1);
        if (!done) expect_refused(done, ": ");
        Tensor *left = tensor_load(in_folder(written[_i % 3]), NULL);
        ck_assert_msg(left != NULL, "%s", ag_error());
    }
    ag_end(s);
}
END_TEST

START_TEST(failing_allocations_leak_nothing)
{
    AgScope s = ag_begin(AG_NO_GRAD);
    expect_done(tensor_save(in_folder(written[_i % 3]), { "x", tensor_ones(SHAPE(2)) }));
    job_path = in_folder(written[_i % 3]);
    int64_t requests = faults_everywhere(try_read_and_write, _i / 3);
    if (faults_work()) ck_assert_int_gt(requests, 8);
    ck_assert_int_eq(folder_count(), 1);
    ck_assert(read_and_write(job_path));
    ag_end(s);
}
END_TEST

Suite *tensor_files_suite(void)
{
    Suite *suite = suite_create("tensor_files");
    TCase *t = tcase_create("tensor_files");
    tcase_add_checked_fixture(t, folder_make, folder_remove);
    tcase_add_test(t, each_type_is_read);
    tcase_add_test(t, a_tensor_has_not_the_name_of_the_metadata);
    tcase_add_test(t, values_that_do_not_fit_are_refused);
    tcase_add_test(t, headers_of_numpy_are_read);
    tcase_add_test(t, bytes_of_numpy_may_have_an_order);
    tcase_add_test(t, unreadable_arrays_leave_the_others_readable);
    tcase_add_test(t, large_archives_are_read);
    tcase_add_test(t, single_arrays_are_read);
    tcase_add_test(t, a_model_in_several_files_is_one);
    tcase_add_test(t, archives_may_have_comments);
    tcase_add_test(t, every_incomplete_file_is_refused_by_its_reader);
    tcase_add_test(t, damaged_arrays_are_refused);
    tcase_add_test(t, damage_is_seen_in_parts);
    tcase_add_test(t, written_arrays_are_numpys);
    tcase_add_test(t, written_archives_have_numpys_checksums);
    tcase_add_test(t, written_files_are_read_back);
    tcase_add_test(t, files_that_cannot_be_written_are_refused);
    suite_add_tcase(suite, t);
    TCase *failures = tcase_create("failures");
    tcase_set_timeout(failures, 600);
    tcase_add_checked_fixture(failures, folder_make, folder_remove);
    tcase_add_loop_test(failures, each_failing_call_is_reported, 0, 6);
    tcase_add_loop_test(failures, failing_allocations_leak_nothing, 0, 6);
    suite_add_tcase(suite, failures);
    return suite;
}
