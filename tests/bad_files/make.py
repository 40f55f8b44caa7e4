#!/usr/bin/env python3
"""Writes the files of this folder, each with one mistake, and messages.txt with the expected messages:

    KIND<tab>FILE[<tab>FILE]<tab>MESSAGE           (an adapter is a folder)

The complete message is the (last) file's path, ": " and MESSAGE. In a MESSAGE that starts with PATH, PATH is that path and
nothing comes before it; FOLDER is the same for this folder; VOCAB is the first file's path. A new kind of file
needs a line in test_bad_files.c.

    python3 tests/bad_files/make.py
"""
import json
import pathlib
import struct
import zlib

HERE = pathlib.Path(__file__).parent
messages = []


def bad(kind, name, content, message, *others):
    (HERE / name).write_bytes(content if isinstance(content, bytes) else content.encode("utf8"))
    messages.append("\t".join([kind, *others, name, message]))


def header(text, data=b"", length=None):
    text = text if isinstance(text, bytes) else json.dumps(text).encode() if isinstance(text, dict) else text.encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def tensor(dtype="F32", shape=(2,), data_offsets=(0, 8), **more):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(data_offsets), **more}


EIGHT = bytes(8)

# ---- JSON ------------------------------------------------------------------------------------------------------------
bad("json", "empty.json", "", "line 1, column 1: expected a value, found the end")
bad("json", "cut.json", '{\n  "n_layer": 12,\n  "n_head": ', "line 3, column 13: expected a value, found the end")
bad("json", "comma.json", '{"n_layer": 12,}', "line 1, column 16: expected a name in quotes, found '}'")
bad("json", "comment.json", '{\n  // twelve\n  "n_layer": 12}',
    "line 2, column 3: expected a name in quotes or '}', found '/'")
bad("json", "quotes.json", "{'n_layer': 12}", "line 1, column 2: expected a name in quotes or '}', found '''")
bad("json", "twice.json", '{"n_layer": 12,\n "n_layer": 24}',
    'line 2, column 2: expected each name of an object once, found "n_layer"')
bad("json", "deep.json", "[" * 200, "line 1, column 129: expected at most 128 levels of nesting, found '['")
bad("json", "latin1.json", '{"name": "café"}'.encode("latin-1"), "line 1, column 14: expected UTF-8, found byte 0xE9")
bad("json", "utf16.json", '{"name": 1}'.encode("utf-16"), "line 1, column 1: expected a value, found byte 0xFF")
bad("json", "surrogate.json", '{"name": "\\ud83d"}',
    "line 1, column 17: expected a low surrogate, \\uDC00 to \\uDFFF, after a high one, found '\"'")
bad("json", "nan.json", '{"loss": Nan}', "line 1, column 10: expected a value, found 'N'")
bad("json", "infinity.json", '{"loss": -infinity}', "line 1, column 11: expected a digit, found 'i'")
bad("json", "huge_number.json", '{"lr": 1e999}',
    "line 1, column 8: expected a number within the range of a double, found a larger one")
bad("json", "two.json", '{"a": 1}\n{"a": 2}\n', "line 2, column 1: expected nothing after the value, found '{'")
bad("json", "nul.json", '{"a": 1}\0\0', "line 1, column 9: expected nothing after the value, found U+0000")
bad("json", "line_break.json", '{"a": "one\ntwo"}',
    "line 1, column 11: expected no control character inside a string, found U+000A")

# ---- safetensors -----------------------------------------------------------------------------------------------------
bad("safetensors", "short.safetensors", b"\x08\0\0", "expected at least 8 bytes, found 3")
bad("safetensors", "text.safetensors", "This is no such file.", "expected a header of at most 100000000 bytes, found "
    f"{struct.unpack('<Q', b'This is ')[0]}: is this a safetensors file?")
for name, length in (("header_2_63", 2**63), ("header_2_64", 2**64 - 1), ("header_minus_8", 2**64 - 8)):
    bad("safetensors", name + ".safetensors", header({"x": tensor()}, EIGHT, length),
        f"expected a header of at most 100000000 bytes, found {length}: is this a safetensors file?")
bad("safetensors", "long_header.safetensors", header({}, length=10**8),
    f"expected a header of {10**8} bytes, found the end after 2")
bad("safetensors", "cut_header.safetensors", header({"x": tensor()})[:20],
    f"expected a header of {len(json.dumps({'x': tensor()}))} bytes, found the end after 12")
bad("safetensors", "cut_values.safetensors", header({"x": tensor()}, EIGHT[:7]),
    'tensor "x": expected data_offsets that rise within the file\'s 7 bytes of values, found 0 and 8')
bad("safetensors", "more_values.safetensors", header({"x": tensor()}, EIGHT + b"\0"),
    "expected 8 bytes of values, found 9")
bad("safetensors", "no_brace.safetensors", header(" {}"), "expected '{' as the header's start")
bad("safetensors", "no_header.safetensors", header(""), "expected '{' as the header's start")
bad("safetensors", "bad_json.safetensors", header('{"x":}'),
    "PATH (header): line 1, column 6: expected a value, found '}'")
bad("safetensors", "twice.safetensors", header('{"x":%s,"x":%s}' % ((json.dumps(tensor()),) * 2), EIGHT),
    f'PATH (header): line 1, column {len(json.dumps(tensor())) + 7}: expected each name of an object once, found "x"')
bad("safetensors", "not_object.safetensors", header({"x": [1]}), 'tensor "x": expected an object, found an array')
bad("safetensors", "no_dtype.safetensors", header({"x": {"shape": [], "data_offsets": [0, 4]}}, EIGHT[:4]),
    'tensor "x": expected a string as dtype, found nothing')
bad("safetensors", "unknown_dtype.safetensors", header({"x": tensor("F33")}, EIGHT),
    'tensor "x": expected a known dtype, found "F33"')
bad("safetensors", "nul_dtype.safetensors", header({"x": tensor("F32\0junk")}, EIGHT),
    'tensor "x": expected a known dtype, found "F32\\x00junk"')
bad("safetensors", "no_name.safetensors", header({"": tensor("F33")}, EIGHT), 'tensor "": expected a known dtype, found "F33"')
bad("safetensors", "shape_number.safetensors", header({"x": {**tensor(), "shape": 2}}, EIGHT),
    'tensor "x": expected an array as shape, found a number')
bad("safetensors", "negative_shape.safetensors", header({"x": tensor(shape=(-2, -1))}, EIGHT),
    'tensor "x": expected whole numbers of 0 or more in shape, found another value')
bad("safetensors", "broken_shape.safetensors", header({"x": tensor(shape=(2.5,))}, EIGHT),
    'tensor "x": expected whole numbers of 0 or more in shape, found another value')
bad("safetensors", "huge_shape.safetensors", header({"x": tensor(shape=(2**62, 2**62))}, EIGHT),
    'tensor "x": the product of its shape is too large')
# Products that overflow 64 bits: the first and the second become 0 bytes, the third and the fourth the 8 bytes of the file;
# the last two have a size of 0 before or after the overflow.
for name, shape, there in (("wrap_to_nothing", (2**32, 2**32), 0), ("wrap_bits_to_nothing", (2**61, 2), 0),
                           ("wrap_to_size", (6, (2**63 + 1) // 3), 8), ("wrap_bits_to_size", (2**59 + 2,), 8),
                           ("wrap_before_zero", (2**62, 8, 0), 0), ("wrap_behind_zero", (0, 2**62, 8), 0)):
    bad("safetensors", name + ".safetensors", header({"x": tensor(shape=shape, data_offsets=(0, there))}, bytes(there)),
        'tensor "x": the product of its shape is too large')
bad("safetensors", "unsigned_shape.safetensors", header({"x": tensor(shape=(2**63, 2), data_offsets=(0, 0))}),
    'tensor "x": expected whole numbers of 0 or more in shape, found another value')
bad("safetensors", "wrong_size.safetensors", header({"x": tensor(shape=(3,))}, EIGHT),
    'tensor "x": expected 12 bytes for its shape and dtype, found 8')
bad("safetensors", "part_of_byte.safetensors", header({"x": tensor("F4", (3,), (0, 1))}, b"\0"),
    'tensor "x": expected whole bytes, found 12 bits')
bad("safetensors", "one_offset.safetensors", header({"x": tensor(data_offsets=(8,))}, EIGHT),
    'tensor "x": expected an array of two numbers as data_offsets')
bad("safetensors", "falling_offsets.safetensors", header({"x": tensor(data_offsets=(8, 0))}, EIGHT),
    'tensor "x": expected data_offsets that rise within the file\'s 8 bytes of values, found 8 and 0')
bad("safetensors", "huge_offsets.safetensors", header({"x": tensor(data_offsets=(2**63 - 9, 2**63 - 1))}, EIGHT),
    'tensor "x": expected data_offsets that rise within the file\'s 8 bytes of values, '
    f"found {2**63 - 9} and {2**63 - 1}")
bad("safetensors", "unsigned_offsets.safetensors", header({"x": tensor(data_offsets=(2**64 - 8, 2**64))}, EIGHT),
    'tensor "x": expected whole numbers of 0 or more in data_offsets, found another value')
bad("safetensors", "negative_offsets.safetensors", header({"x": tensor(data_offsets=(-8, 0))}, EIGHT),
    'tensor "x": expected whole numbers of 0 or more in data_offsets, found another value')
bad("safetensors", "gap.safetensors", header({"x": tensor(), "y": tensor(data_offsets=(12, 20))}, bytes(20)),
    'tensor "y": expected its values at offset 8, without a gap or an overlap, found 12')
bad("safetensors", "overlap.safetensors", header({"x": tensor(), "y": tensor(data_offsets=(4, 12))}, bytes(12)),
    'tensor "y": expected its values at offset 8, without a gap or an overlap, found 4')
bad("safetensors", "late_start.safetensors", header({"x": tensor(data_offsets=(4, 12))}, bytes(12)),
    'tensor "x": expected its values at offset 0, without a gap or an overlap, found 4')
bad("safetensors", "nul_name.safetensors", header({"x\0y": tensor()}, EIGHT),
    'tensor "x": expected a name without NUL characters')
bad("safetensors", "metadata_list.safetensors", header({"__metadata__": [1], "x": tensor()}, EIGHT),
    "__metadata__: expected an object, found an array")
bad("safetensors", "metadata_number.safetensors", header({"__metadata__": {"step": 7}, "x": tensor()}, EIGHT),
    '__metadata__: expected strings without NUL characters, found another value at "step"')

# ---- NumPy -----------------------------------------------------------------------------------------------------------
DICTIONARY = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
LIKE = "expected a header as {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, found "


def npy(text=DICTIONARY, data=EIGHT, version=1, length=None, magic=b"\x93NUMPY"):
    text = text if isinstance(text, bytes) else text.encode()
    size = len(text) if length is None else length
    return magic + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", size) + text + data


def npy_text(name, text, found=None):
    bad("tensors", name + ".npy", npy(text), LIKE + (found or f'"{text}"'))


def cut(text):
    """As messages quote a long text."""
    return '"' + text[:CUT] + '..."'


CUT = 59
bad("tensors", "only_magic.npy", b"\x93NUMPY", 'expected an .npy file, found 6 bytes')
bad("tensors", "version_0.npy", npy(version=0), 'expected version 1, 2 or 3 of .npy, found 0')
bad("tensors", "version_9.npy", npy(version=9), 'expected version 1, 2 or 3 of .npy, found 9')
bad("tensors", "long_header.npy", npy(length=200),
    'expected a header of at most 65536 bytes within the file, found 200')
bad("tensors", "huge_header.npy", npy(version=2, length=2**32 - 1),
    f'expected a header of at most 65536 bytes within the file, found {2**32 - 1}')
npy_text("empty_header", "")
npy_text("list", "['<f4']")
npy_text("no_shape", "{'descr': '<f4', 'fortran_order': False}")
npy_text("no_close", "{'descr': '<f4', 'shape': (2,)")
npy_text("more", "{'shape': (2,), 'shape': (2,)}")
npy_text("behind", "{'descr': '<f4'} {}")
npy_text("structured", "{'descr': [('a', '<f4')]}")
npy_text("negative", "{'shape': (-2,)}")
npy_text("size_2_64", "{'shape': (18446744073709551616,)}")
npy_text("number_shape", "{'shape': 2}")
npy_text("no_tuple", "{'descr': '<f4', 'fortran_order': False, 'shape': (2), }")
npy_text("list_shape", "{'descr': '<f4', 'fortran_order': False, 'shape': [2], }")
npy_text("json_truth", "{'descr': '<f4', 'fortran_order': false, 'shape': (2,), }")
npy_text("true_2", "{'fortran_order': 1}")
npy_text("long_word", "{'descr': '" + "f" * 40 + "'}")
npy_text("nul", "{'shape':\0(2,)}", "\"{'shape':\\x00(2,)}\"")
npy_text("many_sizes", "{'shape': (" + "1," * 65 + ")}", cut("{'shape': (" + "1," * 65 + ")}"))
for name, descr, message in (("big_endian", ">f4", "expected little-endian numbers"),
                             ("objects", "|O", "expected numbers of a known type"),
                             ("text", "<U5", "expected numbers of a known type")):
    bad("tensors", name + ".npy", npy(DICTIONARY.replace("<f4", descr)), f'{message}, found "{descr}"')
bad("tensors", "fortran.npy", npy("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2), }"),
    'is in Fortran\'s order; save np.ascontiguousarray(x) instead of x')
bad("tensors", "cut_values.npy", npy(data=EIGHT[1:]), 'expected 8 bytes for its shape and dtype, found 7')
bad("tensors", "more_values.npy", npy(data=EIGHT + b"\0"), 'expected 8 bytes for its shape and dtype, found 9')
bad("tensors", "wrap.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", b""),
    'the product of its shape is too large')
bad("tensors", "dimensions_9.npy", npy(DICTIONARY.replace("2,", "1," * 9), bytes(4)),
    'expected at most 8 dimensions, found 9')
bad("tensors", "dimensions_65.npy", npy(DICTIONARY.replace("2,", "1," * 65), bytes(4)),
    'expected at most 64 dimensions, as NumPy, found 65')
bad("tensors", "complex.npy", npy(DICTIONARY.replace("<f4", "<c8"), bytes(16)),
    'expected numbers of a common type, found C64')
bad("tensors", "large_int.npy", npy(DICTIONARY.replace("<f4", "<i8"), struct.pack("<qq", 7, 2**31)),
    'item 1 is not in -2147483648..2147483647')
bad("tensors", "large_real.npy", npy(DICTIONARY.replace("<f4", "<f8"), struct.pack("<dd", -1e39, 0)),
    'item 0 is finite, but beyond the range of a float')


def archive(entries=(("x.npy", npy()),), method=0, flags=0, comment=b"", extra=b"", more=b"", local=None, **changes):
    """A ZIP archive; `changes` replaces fields of the directory entries and of the end; `more` follows it; `local` is
    the name in the local headers."""
    data, directory = b"", b""
    for name, content in entries:
        name = name if isinstance(name, bytes) else name.encode()
        inner = name if local is None else local
        field = {"crc": zlib.crc32(content), "size": len(content), "unpacked": len(content), "offset": len(data),
                 "length": len(name), **changes}
        data += struct.pack("<IHHHHHIIIHH", 0x04034B50, 20, flags, method, 0, 0, field["crc"], field["size"],
                            field["unpacked"], len(inner), 0) + inner + content
        directory += struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 20, 20, flags, method, 0, 0, field["crc"], field["size"],
                                 field["unpacked"], field["length"], len(extra), 0, 0, 0, 0, field["offset"]) + name + extra
    directory += more
    end = {"count": len(entries), "directory": len(directory), "start": len(data), **changes}
    return data + directory + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, end["count"], end["count"], end["directory"],
                                          end["start"], len(comment)) + comment


def npz(name, content, message):
    bad("tensors", name + ".npz", content, message)


npz("cut", archive()[:-1], "expected the end of a ZIP archive: is the file complete?")
npz("only_start", b"PK\3\4\24\0", "expected the end of a ZIP archive: is the file complete?")
npz("behind", archive() + b"\n", "expected the end of a ZIP archive: is the file complete?")
npz("no_directory", archive(start=0), "expected a directory at the end, found 51 bytes at offset 0")
npz("late_directory", archive(start=2**32 - 2), f"expected a directory at the end, found 51 bytes at offset {2**32 - 2}")
npz("zip64", archive(start=2**32 - 1), f"expected a directory at the end, found 51 bytes at offset {2**32 - 1}")
npz("many", archive(count=65535), "expected a directory with an entry for each of 65535 arrays, found 51 bytes")


def archive_64(count, size, start, record=None, **changes):
    """An archive with the end of ZIP64: a record with these numbers, and the record's offset."""
    whole = archive(**changes)
    end = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, count, count, size, start)
    where = struct.pack("<IIQI", 0x07064B50, 0, len(whole) - 22 if record is None else record, 1)
    return whole[:-22] + end + where + whole[-22:]


before = len(archive()) - 22 - 51
npz("zip64_no_record", archive_64(1, 51, before, 7), "expected the end's record of ZIP64 at offset 7")
npz("zip64_late_record", archive_64(1, 51, before, 2**64 - 8), f"expected 56 bytes at offset {2**64 - 8}, "
    f"found the end at {len(archive_64(1, 51, before))}")
npz("zip64_late_directory", archive_64(1, 51, 2**63), f"expected a directory at the end, found 51 bytes at offset {2**63}")
npz("zip64_long_directory", archive_64(1, 2**64 - 1, before),
    f"expected a directory at the end, found {2**64 - 1} bytes at offset {before}")
npz("zip64_many", archive_64(2**60, 51, before),
    f"expected a directory with an entry for each of {2**60} arrays, found 51 bytes")
for name, extra in (("none", b""), ("short", struct.pack("<HHIHHQ", 1, 4, 0, 2, 8, 0)), ("long", struct.pack("<HHQ", 1, 9, 0)),
                    ("cut", b"\1\0\x08"), ("other", struct.pack("<HHQ", 2, 8, 0))):
    npz("zip64_field_" + name, archive_64(1, 51 + len(extra), before, offset=2**32 - 1, extra=extra),
        'tensor "x.npy": expected its data before the directory')
npz("two_promised", archive(count=2), "expected a directory with an entry for each of 2 arrays, found 51 bytes")
npz("cut_promised", archive(count=2, more=struct.pack("<I", 0x02014B50) + bytes(41)),
    "expected a directory of 45 more bytes with an entry for each array")
npz("none_promised", archive(count=0), "expected 0 entries in the directory, found more")
npz("long_name", archive(length=65535), "expected a directory of 51 more bytes with an entry for each array")
npz("deflated", archive(method=8), 'tensor "x.npy": is compressed; np.savez writes arrays that are not')
npz("encrypted", archive(flags=1), 'tensor "x.npy": is encrypted')
npz("other_file", archive((("archive/data.pkl", b"\x80\2."),)),
    'tensor "archive/data.pkl": expected a name that ends in .npy: was this archive made by np.savez?')
npz("nul_name", archive((("x\0y.npy", npy()),)), 'tensor "x": expected a name in UTF-8 without NUL characters')
npz("latin1_name", archive(((b"\xe9.npy", npy()),)), 'tensor "\\xE9.npy": expected a name in UTF-8 without NUL characters')
npz("two_sizes", archive(unpacked=7), f'tensor "x.npy": expected one size without compression, found {len(npy())} and 7')
npz("size_4_gib", archive(size=2**32 - 1), f'tensor "x.npy": expected one size without compression, found {2**32 - 1} and '
    f"{len(npy())}")
npz("late_data", archive(offset=2**32 - 2), 'tensor "x.npy": expected its data before the directory')
npz("long_data", archive(size=2**31, unpacked=2**31), 'tensor "x.npy": expected its data before the directory')
npz("no_local", archive(offset=1), 'tensor "x.npy": expected the start of an entry at offset 1')
npz("twice", archive((("x.npy", npy()), ("x.npy", npy()))), 'tensor "x": expected each name once')
npz("other_name", archive(local=b"y.npy"), 'tensor "x.npy": expected this name before its data, too, found "y.npy"')
npz("longer_name", archive(local=b"x.npy2"), 'tensor "x.npy": expected this name before its data, too, found "x.npy2"')
npz("patched", archive(flags=32), 'tensor "x.npy": is compressed; np.savez writes arrays that are not')
npz("one_place", archive((("x.npy", npy()), ("y.npy", npy())), offset=0),
    'tensor "x.npy": expected its data before the next entry')
npz("overlap", archive((("x.npy", npy()), ("y.npy", npy())), size=len(npy()) + 1, unpacked=len(npy()) + 1),
    'tensor "x.npy": expected its data before the next entry')
npz("empty_entry", archive((("x.npy", b""),)), 'tensor "x": expected an .npy file, found 0 bytes')
npz("no_magic", archive((("x.npy", npy(magic=b"NUMPY!")),)), 'tensor "x": expected the start of an .npy file')
npz("checksum", archive(crc=0x1234), 'tensor "x": expected bytes with the checksum 00001234, found '
    f"{zlib.crc32(npy()):08x}: is the file damaged?")
npz("cut_values", archive((("x.npy", npy(data=b"")),)), 'tensor "x": expected 8 bytes for its shape and dtype, found 0')

# ---- a model in several files ----------------------------------------------------------------------------------------
(HERE / "shard.bin").write_bytes(header({"x": tensor(), "y": tensor(data_offsets=(8, 16))}, bytes(16)))
(HERE / "other_shard.bin").write_bytes(header({"y": tensor()}, EIGHT))


def index(name, names, message):
    content = names if isinstance(names, str) else json.dumps({"metadata": {}, "weight_map": names})
    bad("tensors", name + ".index.json", content, message)


FOLDER = "expected the name of a file in the same folder"
index("cut", '{"weight_map": {', "line 1, column 17: expected a name in quotes or '}', found the end")
index("no_map", "{}", "expected an object as weight_map, found nothing")
index("array", "[]", "expected an object as weight_map, found nothing")
index("list_map", '{"weight_map": ["x"]}', "expected an object as weight_map, found an array")
index("no_name", {"": "shard.bin"}, 'tensor "": is not in "shard.bin"')
index("number", {"x": 1}, f'tensor "x": {FOLDER}')
index("empty_name", {"x": ""}, f'tensor "x": {FOLDER}')
index("parent", {"x": "../shard.bin"}, f'tensor "x": {FOLDER}')
index("root", {"x": "/etc/passwd"}, f'tensor "x": {FOLDER}')
index("nul_file", {"x": "shard.bin\0"}, f'tensor "x": {FOLDER}')
index("line_break", {"x": "shard\n.bin"}, f'tensor "x": {FOLDER}')
index("delete", {"x": "shard\x7f.bin"}, f'tensor "x": {FOLDER}')
index("sequence", {"x": "shard\x9b.bin"}, f'tensor "x": {FOLDER}')
index("right_to_left", {"x": "shard\u202e.bin"}, f'tensor "x": {FOLDER}')
index("folder", {"x": ".."}, "FOLDER..: expected a regular file")
index("absent", {"x": "absent.bin"}, "FOLDERabsent.bin: cannot be opened: No such file or directory")
index("itself", {"x": "itself.index.json"}, "PATH: expected a header of at most 100000000 bytes, found "
      f"{struct.unpack('<Q', b'{' + chr(34).encode() + b'metada')[0]}: is this a safetensors file?")
index("other_tensor", {"x": "shard.bin", "z": "shard.bin"}, 'tensor "z": is not in "shard.bin"')
index("omitted", {"x": "shard.bin"}, 'FOLDERshard.bin: tensor "y": is not in the index PATH')
index("twice", {"x": "shard.bin", "y": "other_shard.bin"}, 'tensor "y": expected each name once')

# ---- vocabularies ----------------------------------------------------------------------------------------------------
bad("chars", "list.json", '["a", "b"]', "expected an object of tokens and ids, found an array")
bad("chars", "gap.json", '{"a": 0, "b": 2}', 'token "b": expected ids from 0 to 1 without gaps, found 2')
bad("chars", "same_id.json", '{"a": 0, "b": 0}', 'token "b": expected each id once, found 0 again, the id of "a"')
bad("chars", "text_id.json", '{"a": "0"}', 'token "a": expected a whole number as id, found a string')
bad("chars", "broken_id.json", '{"a": 0.5}', 'token "a": expected a whole number as id, found another number')
for name, number in (("id_2_32", 2**32), ("id_2_63", 2**63 - 1)):
    bad("chars", name + ".json", '{"a": 0, "b": %d}' % number,
        f'token "b": expected ids from 0 to 1 without gaps, found {number}')
bad("chars", "id_2_64.json", '{"a": 0, "b": %d}' % 2**64, 'token "b": expected a whole number as id, found another number')
bad("chars", "minus_zero_id.json", '{"a": -0}', 'token "a": expected a whole number as id, found another number')
bad("chars", "two_characters.json", '{"a": 0, "bc": 1}', 'expected single characters, found "bc"')
bad("chars", "no_character.json", '{"": 0}', 'expected single characters, found ""')
bad("words", "no_specials.json", '{"the": 0}', 'expected "<s>" as token 0, found "the"')
bad("words", "few_specials.json", '{"<s>": 0, "</s>": 1}', 'expected "<blank>" as token 2, found nothing')
bad("text", "latin1.txt", "Ein Bär".encode("latin-1"), "line 1, column 6, byte 5: expected UTF-8, found byte 0xE4")
bad("text", "cut.txt", "naïve 中文".encode("utf8")[:-1], "line 1, column 8, byte 10: expected UTF-8, found byte 0xE6")
bad("text", "surrogate.txt", b"abc\xed\xa0\x80", "line 1, column 4, byte 3: expected UTF-8, found byte 0xED")

# ---- byte-pair encoding ----------------------------------------------------------------------------------------------
printing = [*range(33, 127), *range(161, 173), *range(174, 256)]
others = [byte for byte in range(256) if byte not in printing]
letters = {**{byte: chr(byte) for byte in printing}, **{byte: chr(256 + i) for i, byte in enumerate(others)}}
vocab = {letters[byte]: i for i, byte in enumerate(printing + others)}
vocab.update({"th": 256, "the": 257, "<|endoftext|>": 258})
(HERE / "good_vocab.json").write_text(json.dumps(vocab), "utf8")
(HERE / "good_merges.txt").write_text("#version: 0.2\nt h\nth e\n", "utf8")


def merges(name, content, message):
    bad("bpe", name, content, message, "good_vocab.json")


def without(token):
    rest = [other for other in vocab if other != token]
    return json.dumps({token: i for i, token in enumerate(rest)})


def bad_vocab(name, content, message):
    bad("bpe-vocab", name, content, message)


bad_vocab("no_byte.json", without("a"), "expected a token for each byte, found none for byte 0x61")
bad_vocab("wide_token.json", json.dumps({**vocab, "中": 259}),
          'token "中": expected characters that stand for bytes, as in GPT-2\'s files')
bad_vocab("space_token.json", json.dumps({**vocab, " a": 259}),
          'token " a": expected characters that stand for bytes, as in GPT-2\'s files')
bad_vocab("empty_token.json", json.dumps({**vocab, "": 259}),
          'token "": expected characters that stand for bytes, as in GPT-2\'s files')
bad_vocab("large_id.json", json.dumps({**vocab, "ab": 50256}),
          'token "ab": expected ids from 0 to 259 without gaps, found 50256')
bad_vocab("negative_id.json", json.dumps({**vocab, "ab": -1}),
          'token "ab": expected ids from 0 to 259 without gaps, found -1')
bad_vocab("wrapped_id.json", json.dumps({**vocab, "ab": 2**32 + 259}),
          f'token "ab": expected ids from 0 to 259 without gaps, found {2**32 + 259}')
bad_vocab("escaped_nul.json", json.dumps({**vocab, "a\0b": 259}),
          'token "a\\x00b": expected characters that stand for bytes, as in GPT-2\'s files')
merges("unknown_left.txt", "#version: 0.2\nt h\nzz e\n", 'line 3: token "zz" is not in VOCAB')
merges("unknown_right.txt", "t h\nth 中\n", 'line 2: token "中" is not in VOCAB')
merges("unknown_result.txt", "#version: 0.2\nt h\nh e\n", 'line 3: merging "h e" makes a token that is not in VOCAB')
merges("one_token.txt", "#version: 0.2\nth\n", 'line 2: expected two tokens and one space between them, found "th"')
merges("three_tokens.txt", "#version: 0.2\nt h e\n",
       'line 2: expected two tokens and one space between them, found "t h e"')
merges("empty_line.txt", "#version: 0.2\nt h\n\nth e\n",
       'line 3: expected two tokens and one space between them, found ""')
merges("no_left.txt", " h\n", 'line 1: expected two tokens and one space between them, found " h"')
merges("twice.txt", "t h\nth e\nt h\n", 'line 3: expected each merge once, found "t h" again')
merges("bytes.txt", b"t h\n\xff\xfe \x00\n", 'line 2: token "\\xFF\\xFE" is not in VOCAB')
merges("nul.txt", "t h\nt\0 h\n", 'line 2: token "t\\x00" is not in VOCAB')
merges("long_token.txt", "t h\n" + "t" * 5000 + " h\n", 'line 2: token "' + "t" * 59 + '..." is not in VOCAB')
merges("only_spaces.txt", "t h\n   \n", 'line 2: expected two tokens and one space between them, found "   "')
merges("late_version.txt", "t h\n#version: 0.2\n", 'line 2: token "#version:" is not in VOCAB')
merges("tab.txt", "t\th\n", 'line 1: expected two tokens and one space between them, found "t\\x09h"')

# ---- tokenizer.json --------------------------------------------------------------------------------------------------
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True, "trim_offsets": True}
RAW = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False, "trim_offsets": True}
FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
MODEL = {"type": "BPE", "vocab": vocab, "merges": ["t h", ["th", "e"]]}
END = {"id": 258, "content": "<|endoftext|>", "special": True}


def tokenizer(pre_tokenizer=BYTES, added=(END,), **more):
    """A tokenizer.json; `more` replaces its members, or those of the model."""
    parts = ("type", "vocab", "merges", "dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback",
             "unk_token", "fuse_unk")
    model = {**MODEL, **{key: value for key, value in more.items() if key in parts}}
    rest = {key: value for key, value in more.items() if key not in model}
    added = [{**item, **{flag: False for flag in FLAGS if flag not in item}} for item in added]
    return json.dumps({"added_tokens": list(added), "pre_tokenizer": pre_tokenizer, "model": model, **rest})


def bad_tokenizer(name, message, *args, **more):
    bad("tokenizer", name + ".tokenizer.json", tokenizer(*args, **more), message)


def sequence(first, *rest):
    return {"type": "Sequence", "pretokenizers": [first, *rest]}


def split(regex, **more):
    return sequence({"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False, **more}, RAW)


QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
SPLITTERS = "ByteLevel, Split, Digits, Whitespace, WhitespaceSplit or BertPreTokenizer"
NORMALIZERS = "NFC, NFD, NFKC, NFKD, Lowercase, Strip or BertNormalizer"
LONGEST = {"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": None, "pad_id": 258, "pad_type_id": 0,
           "pad_token": "<|endoftext|>"}
(HERE / "good_tokenizer.json").write_text(tokenizer(truncation=None, padding=LONGEST, decoder=BYTES, dropout=0.0), "utf8")
bad("tokenizer", "cut.tokenizer.json", tokenizer()[:-1],
    f"line 1, column {len(tokenizer())}: expected ',' or '}}' after a member, found the end")
bad("tokenizer", "empty.tokenizer.json", "{}", "model: expected BPE, found nothing")
bad_tokenizer("unigram", 'model Unigram is not supported: expected BPE', type="Unigram")
bad_tokenizer("word_piece", 'model WordPiece is not supported: expected BPE', type="WordPiece")
for name, setting, value in (("dropout", "dropout", 0.1), ("subword_prefix", "continuing_subword_prefix", "##"),
                             ("word_suffix", "end_of_word_suffix", "</w>"), ("fallback", "byte_fallback", True)):
    bad_tokenizer(name, f"model BPE with {setting} is not supported", **{setting: value})
REPLACE = {"type": "Replace", "pattern": {"String": "a"}, "content": "b"}
bad_tokenizer("bert_normalizer", "normalizer BertNormalizer: clean_text: expected true or false, found nothing",
              normalizer={"type": "BertNormalizer"})
bad_tokenizer("replace", f"normalizer Replace is not supported: expected {NORMALIZERS}",
              normalizer={"type": "Sequence", "normalizers": [{"type": "NFC"}, REPLACE]})
bad_tokenizer("normalizer_number", f"normalizer: expected {NORMALIZERS}, found a number", normalizer={"type": 7})
bad_tokenizer("normalizers", "normalizer: expected an array as parts of the Sequence, found nothing",
              normalizer={"type": "Sequence"})
bad_tokenizer("many_normalizers", "normalizer: expected at most 16 parts",
              normalizer={"type": "Sequence", "normalizers": [{"type": "Strip"}] * 9})
bad_tokenizer("truncation", "truncation: expected nothing, found an object",
              truncation={"direction": "Right", "max_length": 512, "strategy": "LongestFirst", "stride": 0})
PADDING = "padding: expected nothing, or BatchLongest without pad_to_multiple_of, found an object"
bad_tokenizer("padding_fixed", PADDING, padding={**LONGEST, "strategy": {"Fixed": 40}})
bad_tokenizer("padding_multiple", PADDING, padding={**LONGEST, "pad_to_multiple_of": 8})
bad_tokenizer("fuse", "decoder Fuse is not supported: expected ByteLevel or none", decoder={"type": "Fuse"})
bad_tokenizer("decoders", "decoder Sequence is not supported: expected ByteLevel or none",
              decoder={"type": "Sequence", "decoders": [REPLACE, BYTES]})
bad_tokenizer("decoder", "decoder WordPiece is not supported: expected ByteLevel, Fuse or none", None,
              decoder={"type": "WordPiece"})
bad_tokenizer("metaspace", f"pre_tokenizer Metaspace is not supported: expected {SPLITTERS}", {"type": "Metaspace"})
bad_tokenizer("punctuation", f"pre_tokenizer Punctuation is not supported: expected {SPLITTERS}",
              sequence({"type": "Punctuation"}, BYTES))
bad_tokenizer("no_splitter", f"pre_tokenizer: expected {SPLITTERS}, found nothing", {})
bad_tokenizer("splitters", "pre_tokenizer: expected an array as parts of the Sequence, found null",
              {"type": "Sequence", "pretokenizers": None})
bad_tokenizer("bytes_twice", "pre_tokenizer: expected ByteLevel as the last part of a Sequence", sequence(BYTES, BYTES))
bad_tokenizer("many_splitters", "pre_tokenizer: expected at most 16 parts", sequence(*[{"type": "Whitespace"}] * 17))
bad_tokenizer("removed", 'behavior of pre_tokenizer Split: expected "Isolated", found "Removed"',
              split(QWEN2, behavior="Removed"))
bad_tokenizer("inverted", "pre_tokenizer Split with invert is not supported", split(QWEN2, invert=True))
REGEX = "pattern of pre_tokenizer Split: expected the regular expression of GPT-2, Llama 3 or Qwen2, found "
bad_tokenizer("other_regex", REGEX + '"\\s+"', split(r"\s+"))
bad_tokenizer("pattern_text", REGEX + "nothing", split(QWEN2, pattern={"String": " "}))
bad_tokenizer("no_vocab", "expected an object of tokens and ids, found null", vocab=None)
bad_tokenizer("vocab_list", "expected an object of tokens and ids, found an array", vocab=["a"])
bad_tokenizer("gap", "token \"a\": expected ids from 0 to 0 without gaps, found 7", vocab={"a": 7}, added=())
FEW = dict(vocab={"a": 0}, merges=[], added=())
bad_tokenizer("few_bytes", 'unk_token: expected null or a token of the vocabulary, which may lack parts of a text, found "b"',
              **FEW, unk_token="b")
bad_tokenizer("unknown_number", "unk_token: expected null or a token of the vocabulary, which may lack parts of a text, "
              "found a number",
              **FEW, unk_token=0)
bad_tokenizer("no_merges", "merges: expected an array, found an object", merges={})
bad_tokenizer("merge_number", "merge 2: expected two tokens, found a number", merges=["t h", 7])
bad_tokenizer("merge_half", "merge 1: expected two tokens, found a number", merges=[["t", 5]])
bad_tokenizer("merge_three", "merge 1: expected two tokens, found an array of 3", merges=[["t", "h", "e"]])
bad_tokenizer("merge_one", 'merge 1: expected two tokens and one space between them, found "th"', merges=["th"])
bad_tokenizer("merge_space", 'merge 1: token " h" is not in the vocabulary', merges=[["t", " h"]])
bad_tokenizer("merge_empty", 'merge 1: expected two tokens and one space between them, found " h"', merges=[["", "h"]])
bad_tokenizer("merge_spaces", 'merge 1: expected two tokens and one space between them, found "t  h"', merges=["t  h"])
bad_tokenizer("merge_unknown", 'merge 1: token "Th" is not in the vocabulary', merges=["Th e"])
bad_tokenizer("merge_result", 'merge 1: merging "e t" makes a token that is not in the vocabulary', merges=["e t"])
bad_tokenizer("merge_twice", 'merge 2: expected each merge once, found "t h" again', merges=["t h", ["t", "h"]])
bad_tokenizer("added_nothing", "an added token: expected a text as content, found nothing", added=[{"id": 259}])
bad_tokenizer("added_empty", 'an added token: expected a text as content, found ""', added=[{"id": 259, "content": ""}])
NEXT = "the id of this token, or the next id after the vocabulary's"
for name, number, found in (("gap", 260, "a number"), ("negative", -1, "a number"), ("2_63", 2**63, "a number"),
                            ("text", "259", '"259"'), ("null", None, "null")):
    bad_tokenizer("added_" + name, f'added token "x y": expected {NEXT}, found {found}',
                  added=[{"id": number, "content": "x y"}])
bad_tokenizer("added_twice", f'added token "<|endoftext|>": expected {NEXT}, found a number', added=[END, END])
bad_tokenizer("added_other", 'added token "<s>": expected the text that this id has in the vocabulary, found "<s>"',
              added=[{**END, "content": "<s>"}])
bad_tokenizer("added_known", 'token "the": expected each token once', added=[{"id": 259, "content": "the"}])
for name in "lstrip", "rstrip", "single_word":
    bad_tokenizer(name, 'added token "<|endoftext|>": expected no lstrip, rstrip and single_word', added=[{**END, name: True}])
bad_tokenizer("added_space", 'added token " ": expected a text that the normalizer does not remove, found " "',
              normalizer={"type": "Strip"}, added=[{"id": 259, "content": " ", "normalized": True}])
bad_tokenizer("added_long", f'added token "{"x" * 59}...": expected at most 1000 bytes, found 1001',
              added=[{"id": 259, "content": "x" * 1001}])
SEQUENCE = {"Sequence": {"id": "A", "type_id": 0}}
THE = {"SpecialToken": {"id": "the", "type_id": 0}}
ENDS = "at most one token before the text and one behind it"
TEMPLATE = f"post_processor TemplateProcessing: expected the text once, {ENDS}"


def template(single, **special):
    return {"type": "TemplateProcessing", "single": single,
            "special_tokens": {key: {"id": key, "ids": ids, "tokens": tokens} for key, (ids, tokens) in special.items()}}


for name, single in (("empty", []), ("only_token", [THE]), ("twice", [SEQUENCE, SEQUENCE]), ("two", [THE, THE, SEQUENCE]),
                     ("two_behind", [SEQUENCE, THE, THE]), ("no_id", [{"SpecialToken": {"id": 1}}, SEQUENCE]),
                     ("object", {})):
    bad_tokenizer("template_" + name, TEMPLATE, post_processor=template(single, the=([257], ["the"])))
ONE = "post_processor TemplateProcessing: expected a special token of one id, found "
bad_tokenizer("template_unknown", ONE + "nothing", post_processor=template([THE, SEQUENCE]))
bad_tokenizer("template_ids", ONE + "an object", post_processor=template([THE, SEQUENCE], the=([1, 2], ["the", "h"])))
ID = "post_processor: expected the id that the token has in the vocabulary, found "
bad_tokenizer("template_id", ID + "a number", post_processor=template([THE, SEQUENCE], the=([1], ["the"])))
bad_tokenizer("unknown_begin", 'post_processor: expected a token of the vocabulary, found "<s>"',
              post_processor=template([THE, SEQUENCE], the=([1], ["<s>"])))
bad_tokenizer("bert_nothing", "post_processor: expected a token and its id, found nothing",
              post_processor={"type": "BertProcessing"})
bad_tokenizer("bert_id", ID + "null", post_processor={"type": "BertProcessing", "cls": ["the", None], "sep": ["the", 0]})
bad_tokenizer("other_processor", "post_processor Other is not supported: expected ByteLevel, TemplateProcessing, "
              "BertProcessing or RobertaProcessing",
              post_processor={"type": "Sequence", "processors": [BYTES, {"type": "Other"}]})
bad_tokenizer("two_processors", f"post_processor: expected {ENDS}", post_processor={"type": "Sequence", "processors": [
    template([THE, SEQUENCE], the=([vocab["the"]], ["the"])), template([SEQUENCE])]})
bad_tokenizer("processors", "post_processor: expected an array as parts of the Sequence, found nothing",
              post_processor={"type": "Sequence"})

# WordPiece.
WORD_PIECE = {"type": "WordPiece", "unk_token": "?", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
              "vocab": {"?": 0, "a": 1, "##a": 2}}


def bad_word_pieces(name, message, **more):
    model, rest = dict(WORD_PIECE), {}
    for key, value in more.items():
        (rest if key in ("pre_tokenizer", "decoder", "added_tokens") else model)[key] = value
    model = {key: value for key, value in model.items() if value is not None}
    bad("word-pieces", name + ".word_pieces.json", json.dumps({**rest, "model": model}), message)


(HERE / "good_word_pieces.json").write_text(json.dumps({"model": WORD_PIECE}), "utf8")
bad_word_pieces("bpe", "model BPE is not supported: expected WordPiece", type="BPE")
bad_word_pieces("no_type", "model: expected WordPiece, found nothing", type=None)
bad_word_pieces("no_unknown", "model WordPiece: unk_token: expected a string, found nothing", unk_token=None)
bad_word_pieces("other_unknown", "unk_token: expected null or a token of the vocabulary, which may lack parts of a text, "
                'found "x"', unk_token="x")
bad_word_pieces("no_prefix", "model WordPiece: continuing_subword_prefix: expected a string, found nothing",
                continuing_subword_prefix=None)
bad_word_pieces("long_prefix", "model WordPiece: continuing_subword_prefix: expected at most 100 bytes, found 101",
                continuing_subword_prefix="#" * 101)
LONGEST_WORD = "model WordPiece: max_input_chars_per_word: expected a "
bad_word_pieces("no_most", LONGEST_WORD + "number, found nothing", max_input_chars_per_word=None)
for name, value in ("negative", -1), ("huge", 10**18), ("fraction", 1.5):
    bad_word_pieces(name + "_most", LONGEST_WORD + "whole number from 0 to 1000", max_input_chars_per_word=value)
bad_word_pieces("no_vocab", "model WordPiece: vocab: expected an object, found nothing", vocab=None)
bad_word_pieces("gap", 'token "a": expected ids from 0 to 1 without gaps, found 7', vocab={"?": 0, "a": 7})
bad_word_pieces("bytes", "model WordPiece with pre_tokenizer ByteLevel is not supported", pre_tokenizer=BYTES)
bad_word_pieces("prefix", 'decoder WordPiece: expected the model\'s continuing_subword_prefix as prefix, found "@@"',
                decoder={"type": "WordPiece", "prefix": "@@", "cleanup": True})
bad_word_pieces("decoder", "decoder WordPiece: cleanup: expected true or false, found nothing",
                decoder={"type": "WordPiece", "prefix": "##"})

# A tokenizer.json where another file is expected.
WHOLE = "expected an object of tokens and ids, found a tokenizer.json of the model "
bad("words", "bert.tokenizer.json", json.dumps({"version": "1.0", "model": {"type": "WordPiece", "vocab": {"a": 0}}}),
    WHOLE + '"WordPiece"')
bad("chars", "chars.tokenizer.json", tokenizer(), WHOLE + '"BPE"')
bad("bpe-vocab", "bytes.tokenizer.json", tokenizer(type=None), WHOLE + "BPE")

# ---- config.json of Llama, Qwen2, Qwen3 --------------------------------------------------------------------------------
SCALING = {"factor": 8.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 16,
           "rope_type": "llama3"}
CONFIG = {"eos_token_id": 2, "head_dim": 10, "hidden_act": "silu", "hidden_size": 18, "intermediate_size": 21,
          "max_position_embeddings": 33, "model_type": "llama", "num_attention_heads": 6, "num_hidden_layers": 2,
          "num_key_value_heads": 3, "rms_norm_eps": 1e-05, "rope_scaling": SCALING, "rope_theta": 5000.0,
          "tie_word_embeddings": False, "vocab_size": 37}


def bad_config(name, message, without=None, **changes):
    config = {key: value for key, value in {**CONFIG, **changes}.items() if key != without}
    bad("config", name + ".config.json", json.dumps(config) + "\n", message)


(HERE / "good_config.json").write_text(json.dumps(CONFIG) + "\n", "utf8")
FAMILIES = '"model_type": expected "llama", "qwen2" or "qwen3", found '
bad_config("other_model", FAMILIES + '"mistral"', model_type="mistral")
bad_config("no_model", FAMILIES + "nothing", without="model_type")
bad("config", "array.config.json", "[1]\n", "expected an object, found an array")
bad_config("no_layers", '"num_hidden_layers": expected a whole number, found nothing', without="num_hidden_layers")
bad_config("half_layer", '"num_hidden_layers": expected a whole number, found another number', num_hidden_layers=1.5)
bad_config("huge_layers", "num_hidden_layers is 9223372036854775807, expected a whole number from 1 to 100000",
           num_hidden_layers=2**63 - 1)
bad_config("no_heads", "num_attention_heads is 0, expected a whole number from 1 to 65536", head_dim=None,
           num_attention_heads=0)
bad_config("kv_heads", "6 heads are not divisible by 4 heads of keys and values", num_key_value_heads=4)
bad_config("kv_zero", "num_key_value_heads is 0, expected a whole number from 1 to 65536", num_key_value_heads=0)
bad_config("odd_head", "heads of width 7, expected an even number", head_dim=7)
bad_config("negative_width", "hidden_size is -18, expected a whole number from 1 to 16777216", hidden_size=-18)
bad_config("text_vocab", '"vocab_size": expected a whole number, found a string', vocab_size="37")
bad_config("gelu", '"hidden_act": expected "silu", found "gelu"', hidden_act="gelu")
bad_config("mlp_bias", '"mlp_bias": expected false', mlp_bias=True)
bad_config("bias_text", '"attention_bias": expected true or false, found a string', attention_bias="yes")
bad_config("window", '"use_sliding_window": expected false', model_type="qwen2", use_sliding_window=True)
bad_config("sliding_layer", '"layer_types": expected "full_attention" in each layer',
           layer_types=["full_attention", "sliding_attention"])
bad_config("layers_text", '"layer_types": expected an array, found a string', layer_types="full_attention")
bad_config("yarn", '"rope_type": expected "default" or "llama3", found "yarn"', rope_scaling={**SCALING, "rope_type": "yarn"})
bad_config("linear_rope", '"type": expected "default" or "llama3", found "linear"',
           rope_scaling={"type": "linear", "factor": 2})
bad_config("rope_array", '"rope_scaling": expected an object, found an array', rope_scaling=[8])
bad_config("rope_text", '"factor": expected a number, found a string', rope_scaling={**SCALING, "factor": "8"})
for key in SCALING:
    if key != "rope_type":
        bad_config("no_" + key, f'"{key}": expected a number, found nothing',
                   rope_scaling={name: value for name, value in SCALING.items() if name != key})
bad_config("null_factor", '"factor": expected a number, found null', rope_scaling={**SCALING, "factor": None})
bad_config("rope_order", "low_freq_factor is 4, expected less than high_freq_factor, 4",
           rope_scaling={**SCALING, "low_freq_factor": 4})
bad_config("rope_base", "rope_theta is 0, expected a number from 1 to 1e+15", rope_theta=0)
bad_config("partial_rope", '"partial_rotary_factor": expected 1, found 0.5', partial_rotary_factor=0.5)
bad_config("eps", "rms_norm_eps is -1, expected a number from 0 to below 1", rms_norm_eps=-1)
bad_config("many_ends", '"eos_token_id": expected at most 16 ids, found an array', eos_token_id=[*range(17)])
bad_config("text_end", '"eos_token_id": expected whole numbers, found an array', eos_token_id=["</s>"])
bad_config("negative_ends", "eos_token_id is -7, expected a whole number from -1 to 2147483647", eos_token_id=[1, -7])
bad_config("large_begin", "bos_token_id is 9007199254740993, expected a whole number from -1 to 2147483647",
           bos_token_id=2**53 + 1)
bad_config("negative_end", "eos_token_id is -7, expected a whole number from -1 to 2147483647", eos_token_id=-7)
bad_config("tied_text", '"tie_word_embeddings": expected true or false, found a number', tie_word_embeddings=0)

# ---- adapters (LoRA): folders for a module with the Linears q (2 -> 3) and v (3 -> 2) ----------------------------------
LORA = {"peft_type": "LORA", "r": 1, "lora_alpha": 2, "lora_dropout": 0.1, "bias": "none", "target_modules": ["q", "v"]}
Q, V = "base_model.model.q.lora_", "base_model.model.v.lora_"
PARTS = {Q + "A.weight": ("F32", [1, 2]), Q + "B.weight": ("F32", [3, 1]),
         V + "A.weight": ("F32", [1, 3]), V + "B.weight": ("F32", [2, 1])}


def weights(parts, value=bytes(8)):
    """A safetensors file; each number is the first bytes of `value`."""
    entries, data = {}, b""
    for name, (dtype, shape) in parts.items():
        size = {"F32": 4, "F64": 8, "F8_E4M3": 1}[dtype]
        numel = 1
        for dim in shape:
            numel *= dim
        entries[name] = tensor(dtype, shape, (len(data), len(data) + size * numel))
        data += value[:size] * numel
    return header(entries, data)


def lora(without=None, **changes):
    return json.dumps({key: value for key, value in {**LORA, **changes}.items() if key != without})


def write_adapter(name, config, model):
    folder = HERE / name
    folder.mkdir(exist_ok=True)
    for file, content in ("adapter_config.json", config.encode()), ("adapter_model.safetensors", model):
        if content:
            (folder / file).write_bytes(content)


def bad_adapter(name, file, message, config, model):
    write_adapter(name + ".adapter", config, model)
    messages.append(f"adapter\t{name}.adapter\tPATH/{file}: {message}")


def bad_adapter_config(name, message, config):
    bad_adapter(name, "adapter_config.json", message, config, weights(PARTS))


def bad_adapter_weights(name, message, model):
    """model: a file, or tensors that replace those of PARTS; None removes one."""
    if isinstance(model, dict):
        model = weights({key: value for key, value in {**PARTS, **model}.items() if value})
    bad_adapter(name, "adapter_model.safetensors", message, lora(), model)


write_adapter("good.adapter", lora(), weights(PARTS))
bad_adapter_config("no_config", "cannot be opened: No such file or directory", "")
bad_adapter_config("cut_config", "line 1, column 113: expected ',' or '}' after a member, found the end", lora()[:-1])
bad_adapter_config("twice_config", 'line 1, column 19: expected each name of an object once, found "lora_alpha"',
                   '{"lora_alpha": 2, "lora_alpha": 3}')
bad_adapter_config("surrogate_config",
                   'line 1, column 30: expected a low surrogate, \\uDC00 to \\uDFFF, after a high one, found \'"\'',
                   '{"peft_type": "LORA", "\\ud800": 1}')
bad_adapter_config("array_config", "expected an object, found an array", "[]")
bad_adapter_config("null_config", "expected an object, found null", "null")
bad_adapter_config("no_type", '"peft_type": expected "LORA"', lora(without="peft_type"))
bad_adapter_config("ia3", '"peft_type": expected "LORA"', lora(peft_type="IA3"))
bad_adapter_config("type_list", '"peft_type": expected "LORA"', lora(peft_type=["LORA"]))
bad_adapter_config("alpha_text", '"lora_alpha": expected a number, found a string', lora(lora_alpha="16"))
bad_adapter_config("alpha_null", '"lora_alpha": expected a number, found null', lora(lora_alpha=None))
bad_adapter_config("alpha_huge", "line 1, column 45: expected a number within the range of a double, found a larger one",
                   lora().replace('"lora_alpha": 2', '"lora_alpha": 1e999'))
DROPOUT = '"lora_dropout": expected a number of 0 to below 1'
bad_adapter_config("dropout_one", DROPOUT + ", found another number", lora(lora_dropout=1))
bad_adapter_config("dropout_negative", DROPOUT + ", found another number", lora(lora_dropout=-0.1))
bad_adapter_config("dropout_text", DROPOUT + ", found a string", lora(lora_dropout="0"))
bad_adapter_config("dora", '"use_dora": this value is not supported', lora(use_dora=True))
bad_adapter_config("rslora", '"use_rslora": this value is not supported', lora(use_rslora=True))
bad_adapter_config("alpha_pattern", '"alpha_pattern": this value is not supported', lora(alpha_pattern={"q": 4, ".*v": 8}))
bad_adapter_config("unknown", r'"a\x0Asetting": this value is not supported', lora(**{"a\nsetting": 1}))
bad_adapter_config("bias_all", '"bias": this value is not supported', lora(bias="all"))
bad_adapter_config("bias_number", '"bias": this value is not supported', lora(bias=0))
bad_adapter_weights("no_weights", "cannot be opened: No such file or directory", b"")
bad_adapter_weights("text_weights",
                    "expected the end of a ZIP archive: is the file complete?",
                    b"PK\3\4 a pickle, not safetensors")
bad_adapter_weights("cut_weights",
                    'tensor "base_model.model.v.lora_B.weight": expected data_offsets that rise within the file\'s '
                    '39 bytes of values, found 32 and 40', weights(PARTS)[:-1])
NO_ADAPTER = "has no adapter for a Linear of this module"
bad_adapter_weights("empty_weights", NO_ADAPTER, weights({}))
bad_adapter_weights("no_prefix", NO_ADAPTER, weights({"q.lora_A.weight": ("F32", [1, 2]), "q.lora_B.weight": ("F32", [3, 1])}))
bad_adapter_weights("named", NO_ADAPTER, weights({Q + "A.default.weight": ("F32", [1, 2])}))
bad_adapter_weights("only_b", NO_ADAPTER, weights({Q + "B.weight": ("F32", [3, 1])}))
bad_adapter_weights("only_a", '"base_model.model.v.lora_B.weight" is missing, expected (2, 1)', {V + "B.weight": None})
bad_adapter_weights("no_rank", '"base_model.model.q.lora_A.weight" is (0, 2), expected (1, 2)',
                    {Q + "A.weight": ("F32", [0, 2]), Q + "B.weight": ("F32", [3, 0])})
bad_adapter_weights("wide_a", '"base_model.model.q.lora_A.weight" is (1, 3), expected (1, 2)',
                    {Q + "A.weight": ("F32", [1, 3])})
bad_adapter_weights("flat_a", '"base_model.model.q.lora_A.weight" is (2,), expected (2, 2)',
                    {Q + "A.weight": ("F32", [2])})
bad_adapter_weights("deep_a", 'unexpected: "base_model.model.q.lora_A.weight", "base_model.model.q.lora_B.weight"',
                    {Q + "A.weight": ("F32", [1, 1, 1, 1, 1, 1, 1, 1, 2])})
bad_adapter_weights("deep_b", 'unexpected: "base_model.model.v.lora_A.weight", "base_model.model.v.lora_B.weight"',
                    {V + "B.weight": ("F32", [2, 1, 1, 1, 1, 1, 1, 1, 1])})
bad_adapter_weights("tall_b", '"base_model.model.v.lora_B.weight" is (3, 1), expected (2, 1)',
                    {V + "B.weight": ("F32", [3, 1])})
bad_adapter_weights("two_ranks", '"base_model.model.v.lora_B.weight" is (2, 4), expected (2, 1)',
                    {V + "B.weight": ("F32", [2, 4])})
bad_adapter_weights("bias_b", 'unexpected: "base_model.model.v.lora_B.bias"', {V + "B.bias": ("F32", [2])})
bad_adapter_weights("embedding", 'unexpected: "base_model.model.e.lora_embedding_A"',
                    {"base_model.model.e.lora_embedding_A": ("F32", [1, 2])})
bad_adapter_weights("saved_module", 'unexpected: "base_model.model.lm_head.weight"',
                    {"base_model.model.lm_head.weight": ("F32", [2])})
bad_adapter_weights("eight_bits",
                    'tensor "base_model.model.q.lora_A.weight": expected numbers of a common type, found F8_E4M3',
                    {Q + "A.weight": ("F8_E4M3", [1, 2])})
bad_adapter_weights("large_f64",
                    'tensor "base_model.model.q.lora_A.weight": item 0 is finite, but beyond the range of a float',
                    weights({name: ("F64", shape) for name, (_, shape) in PARTS.items()}, struct.pack("<d", 1e300)))

# ---- pairs of a question and an answer: .jsonl -------------------------------------------------------------------------
PAIR = '{"prompt": "3?", "completion": " n"}\n'


def bad_pairs(name, message, content):
    bad("pairs", name + ".jsonl", content, message)


def bad_pair(name, line, message):
    """The second line of three, with its message: where it is, and what is wrong."""
    bad_pairs(name, f"line 2{message}", PAIR.encode() + (line if isinstance(line, bytes) else line.encode()) + b"\n"
              + PAIR.encode())


TEXTS = 'expected an object with the texts "prompt" and "completion", or with a "text", found '
(HERE / "good.jsonl").write_text(PAIR + "\n" + '{"text": "the pond", "source": 7, "score": NaN}\r\n' + PAIR, "utf8")
bad_pairs("no_lines", "has 0 examples, expected 2 or more", "")
bad_pairs("blank_lines", "has 0 examples, expected 2 or more", "\n \t\r\n\n")
bad_pairs("one_line", "has 1 examples, expected 2 or more", PAIR)
bad_pairs("latin1", "line 2, column 14, byte 50: expected UTF-8, found byte 0xE9",
          PAIR.encode() + '{"text": "café"}\n'.encode("latin-1"))
bad_pairs("utf16", "line 1, column 1, byte 0: expected UTF-8, found byte 0xFF", PAIR.encode("utf-16"))
bad_pairs("gzip", "line 1, column 2, byte 1: expected UTF-8, found byte 0x8B", b"\x1f\x8b\x08\0\0\0\0\0\0\3")
bad_pairs("marks", "line 1, column 1: expected a value, found U+FEFF", "\ufeff\ufeff" + PAIR + PAIR)
bad_pairs("carriage_returns", "line 1, column 38: expected nothing after the value, found '{'",
          PAIR.replace("\n", "\r") * 3)
bad_pairs("whole_array", f"line 1: {TEXTS}an array",
          "[" + PAIR.strip() + ",\n" + PAIR.strip() + "]\n")
bad_pairs("indented", "line 1, column 2: expected a name in quotes or '}', found the end",
          json.dumps({"prompt": "3?", "completion": "n"}, indent=2) + "\n")
bad_pair("plain_text", "What is 3?", ", column 1: expected a value, found 'W'")
bad_pair("no_answer", '{"prompt": "3?"}', f': {TEXTS}one with "prompt" (a string)')
bad_pair("no_question", '{"completion": " n"}', f': {TEXTS}one with "completion" (a string)')
bad_pair("empty_object", "{}", f': {TEXTS}an empty one')
bad_pair("line_array", '["3?", " n"]', f': {TEXTS}an array')
bad_pair("line_text", '"3? n"', f': {TEXTS}a string')
bad_pair("line_null", "null", f': {TEXTS}null')
bad_pair("line_true", "true", f': {TEXTS}true or false')
bad_pair("line_number", "3", f': {TEXTS}a number')
bad_pair("answer_object", '{"prompt": "3?", "completion": {"text": " n"}}',
         f': {TEXTS}one with "prompt" (a string), "completion" (an object)')
bad_pair("answer_null", '{"prompt": "3?", "completion": null}', f': {TEXTS}one with "prompt" (a string), "completion" (null)')
bad_pair("answer_number", '{"prompt": "3?", "completion": 3}',
         f': {TEXTS}one with "prompt" (a string), "completion" (a number)')
bad_pair("question_list", '{"prompt": ["3?"], "completion": " n"}',
         f': {TEXTS}one with "prompt" (an array), "completion" (a string)')
bad_pair("text_number", '{"text": 3}', f': {TEXTS}one with "text" (a number)')
bad_pair("text_too", '{"prompt": "3?", "completion": " n", "text": "3? n"}',
         f': {TEXTS}one with "prompt" (a string), "completion" (a string), "text" (a string)')
bad_pair("text_and_answer", '{"text": "3?", "completion": " n"}',
         f': {TEXTS}one with "text" (a string), "completion" (a string)')
bad_pair("other_names", '{"instruction": "3?", "output": " n"}',
         f': {TEXTS}one with "instruction" (a string), "output" (a string)')
bad_pair("capital", '{"Prompt": "3?", "Completion": " n"}', f': {TEXTS}one with "Prompt" (a string), "Completion" (a string)')
bad_pair("many_names", '{"a": 1, "b": 2, "c": 3, "d": 4}',
         f': {TEXTS}one with "a" (a number), "b" (a number), "c" (a number), ...')
for name in "messages", "conversations":
    bad_pair(name, json.dumps({name: [{"role": "user", "content": "3?"}]}),
             f": {TEXTS}a conversation: write it as such texts, by the chat template of the model")
bad_pair("line_cut", PAIR.strip()[:-1], ", column 36: expected ',' or '}' after a member, found the end")
bad_pair("two_values", PAIR.strip() * 2, ", column 37: expected nothing after the value, found '{'")
bad_pair("comma_behind", PAIR.strip() + ",", ", column 37: expected nothing after the value, found ','")
bad_pair("single_quotes", "{'prompt': '3?', 'completion': ' n'}",
         ", column 2: expected a name in quotes or '}', found '''")
bad_pair("name_twice", '{"prompt": "3?", "prompt": "4?", "completion": " n"}',
         ', column 18: expected each name of an object once, found "prompt"')
bad_pair("nul_byte", b'{"text": "3\0"}', ", column 12: expected no control character inside a string, found U+0000")
bad_pair("only_nul", b"\0", ", column 1: expected a value, found U+0000")
bad_pair("tab_inside", '{"text": "3\t?"}', ", column 12: expected no control character inside a string, found U+0009")
bad_pair("half_pair", '{"text": "\\ud83d"}',
         ', column 17: expected a low surrogate, \\uDC00 to \\uDFFF, after a high one, found \'"\'')
bad_pair("not_a_number", '{"text": NaN}', f': {TEXTS}one with "text" (NaN or an infinity)')
bad_pair("nested", '{"text": "3?", "more": ' + "[" * 200 + "]" * 200 + "}",
         ", column 151: expected at most 128 levels of nesting, found '['")

(HERE / "messages.txt").write_text("".join(line + "\n" for line in messages), "utf8")
print(len(messages), "files")
