#!/usr/bin/env python3
"""Writes the library as two files, kaeru.c and kaeru.h.

    one_file.py KAERU_C KAERU_H DEPFILE --cc COMPILER... --folders FOLDER... --common FILE... --each FILE... --bf16 FILE...
        --rest FILE... --cold FILE...

The files of --each stand there once for each instruction set, those of --bf16 also for the sets that have products in bfloat16
alone, between pragmas that tell the compiler the instructions. Those of --cold come last. gcc optimizes them less, and the
portable set on x86-64, which takes less time. #define and #undef around a file give names of their own to what the files
declare for themselves. What other files of the library see, but no program, becomes static. DEPFILE tells ninja which files
were read, so that a change of a header writes the two files again.
"""
import os
import re
import subprocess
import sys
import tempfile

# name, condition, instructions, the macros that compilers define with them
SETS = [
    ("portable", "1", "", []),
    ("avx2", "defined(__x86_64__)", "avx2,fma", ["__AVX2__", "__FMA__"]),
    ("avx512", "defined(__x86_64__)", "avx2,fma,avx512f,avx512dq,avx512bw,avx512vl",
     ["__AVX2__", "__FMA__", "__AVX512F__", "__AVX512DQ__", "__AVX512BW__", "__AVX512VL__"]),
    ("avx512_bf16", "defined(HAVE_AVX512_BF16)", "avx2,fma,avx512f,avx512dq,avx512bw,avx512vl,avx512bf16",
     ["__AVX2__", "__FMA__", "__AVX512F__", "__AVX512DQ__", "__AVX512BW__", "__AVX512VL__", "__AVX512BF16__"]),
    ("amx", "defined(HAVE_AMX)", "avx2,fma,avx512f,avx512dq,avx512bw,avx512vl,amx-tile,amx-bf16,avx512bf16",
     ["__AVX2__", "__FMA__", "__AVX512F__", "__AVX512DQ__", "__AVX512BW__", "__AVX512VL__", "__AMX_TILE__", "__AMX_BF16__",
      "__AVX512BF16__"]),
]

# Headers that use what the file that includes them has declared, or whose macros a list ends: a copy for each include.
OF_EACH = ["gemm_pass.h", "table_entries.h"]

TOP = """\
/* kaeru.c: the library {version} in one file, with kaeru.h beside it. Written by packaging/one_file.py from the files of
 * the project; change those instead.
 *
 *     cc -O3 program.c kaeru.c -lm -pthread
 */
#define _GNU_SOURCE 1
#define _DARWIN_C_SOURCE 1
#define _FILE_OFFSET_BITS 64
#define KAERU_INSIDE 1
#ifndef NDEBUG
#define NDEBUG 1
#endif
#ifdef KAERU_DOUBLE
#error "kaeru.c computes in float"
#endif
#if defined(__FAST_MATH__) || (defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ == 2)
#error "kaeru.c: -ffast-math and x87 change results: expected -O3; on x86 of 32 bits with -msse2 -mfpmath=sse"
#endif
#if defined(__x86_64__) && (defined(__clang__) ? __clang_major__ >= 12 : __GNUC__ >= 11)
#define HAVE_AVX512_BF16 1
#if defined(__linux__)
#define HAVE_AMX 1
#endif
#endif
{includes}#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
#endif

/* As the library is compiled: the compiler fuses no product with a sum, and integers wrap around. (In
 * clang's vectors they always do.) */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#pragma clang diagnostic ignored "-Wunused-function"
#pragma clang diagnostic ignored "-Wpass-failed"          /* UNROLL where the processor has no vectors */
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off", "no-math-errno", "no-trapping-math", "wrapv")
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wformat-truncation"
#endif

#include "kaeru.h"
"""

# Around what gcc need not optimize beyond {level}, if the condition holds.
BEGIN_LESS = """
#if defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__) && !defined(__clang__){condition}
#define KAERU_LESS 1
#pragma GCC push_options
#pragma GCC optimize("{level}")
#endif
"""
END_LESS = """
#ifdef KAERU_LESS
#undef KAERU_LESS
#pragma GCC pop_options
#endif
"""

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>).*\n', re.M)
MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.M)
# A prototype or an object of a private header, at the left margin.
PROTOTYPE = re.compile(r"^(?!static|typedef|extern|enum|INLINE|LONG_FUNCTION|_Static_assert)"
                       r"(?=[A-Za-z_][\w *]*?[ *]\w+\()", re.M)

# Prototypes that macros write.
GENERATED = re.compile(r"(^    |^#define KERNEL\(.*\) )(?=(?:void|result) (?:ISA\(name\)|k_##name)[ (].*;)|"
                       r"(?<=^#define OP\(name, \.\.\.\) )(?=Tensor \*name##_tangent\(.*;)", re.M)
# Kernels have the name of the instruction set.
KERNEL = re.compile("k_(" + "|".join(name for name, _, _, _ in SETS) + ")_")


class Sources:
    """The project's files."""

    def __init__(self, cc, folders):
        self.cc, self.folders = cc, folders
        # System headers that are empty: the same names on each machine.
        self.empty = tempfile.TemporaryDirectory()
        self.system = {}
        self.files = set()

    def read(self, path):
        self.files.add(path)
        with open(path, encoding="utf-8") as file:
            # kaeru.h has all headers, without what some include for old programs.
            return re.sub(r"#ifndef KAERU_INSIDE [^\n]*\n(#include [^\n]*\n)+#endif\n\n?", "", file.read())

    def find(self, name, near):
        for folder in [near, *self.folders]:
            path = os.path.realpath(os.path.join(folder, name))
            if os.path.exists(path):
                return path
        return sys.exit(f"one_file.py: no {name} for {near}")

    def text(self, path, seen):
        """The text, with headers in the place of their first include. What is private becomes static."""
        if path.endswith(".h") and os.path.basename(path) not in OF_EACH:
            if path in seen:
                return ""
            seen.add(path)
        text, public = self.read(path), "/include/kaeru/" in path
        if not public:
            text = re.sub("^extern ", "static ", text, flags=re.M)
            text = GENERATED.sub(lambda found: (found[1] or "") + "static ", text)
            text = (PROTOTYPE if path.endswith(".h") else self.objects).sub("static ", text)
        inside = 0

        def include(line):
            nonlocal inside
            found = INCLUDE.match(line)
            inside += bool(re.match(r"\s*#\s*if(?!ndef KAERU_(\w+_)?H$)", line)) - bool(re.match(r"\s*#\s*endif", line))
            if not found:
                return line
            if found[1]:
                # In a branch that may not be compiled, a header does not count as included.
                return self.text(self.find(found[1], os.path.dirname(path)), set(seen) if inside > 0 else seen)
            if inside <= 0 and not public:
                # TOP includes the headers of processors, each on its own.
                if f"<{found[2]}>" not in TOP:
                    self.system[found[2]] = True
                return ""
            return line

        return "".join(map(include, text.splitlines(keepends=True)))

    def names(self, path, macros):
        """What the compiler sees declared outside of functions: {file: names}."""
        macros = ["__GNUC__", "__x86_64__", "__SSE__", "__SSE2__", "__ORDER_LITTLE_ENDIAN__", "__BYTE_ORDER__", "HAVE_AMX",
                  "HAVE_AVX512_BF16", "KAERU_INSIDE", *macros]
        command = [*self.cc, "-E", "-nostdinc", "-undef", "-I", self.empty.name, *(f"-I{folder}" for folder in self.folders),
                   *(f"-D{macro}" for macro in macros), path]
        while True:
            out = subprocess.run(command, capture_output=True, text=True, check=False,
                                 env={**os.environ, "LC_ALL": "C"})
            missing = re.search(r"fatal error: '?([\w/]+\.h)'?(?: file not found|: No such file)", out.stderr)
            if not missing:
                break
            header = os.path.join(self.empty.name, missing[1])
            os.makedirs(os.path.dirname(header), exist_ok=True)
            with open(header, "w", encoding="utf-8"):
                pass
        if out.returncode:
            sys.exit(out.stderr)
        pieces, where = {}, path
        for line in out.stdout.splitlines():
            marker = re.match(r'# \d+ "([^"]*)"', line)
            if marker:
                where = os.path.realpath(marker[1])
            else:
                pieces.setdefault(where, []).append(line)
        # clang also names what is no file, "<built-in>".
        return {where: declared("\n".join(lines)) for where, lines in pieces.items() if os.path.isfile(where)}


def declared(code):
    """The names that preprocessed code declares outside of functions."""
    code = re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'', "0", code)
    names = set()
    for constants in re.findall(r"\benum\b[^{};]*\{([^{}]*)\}", code):
        names.update(re.findall(r"(?:^|,)\s*(\w+)", constants))
    before = None
    while before != code:
        before = code
        code = re.sub(r"\{[^{}]*\}", "@", re.sub(r"\([^(){}]*\)|\[[^][{}]*\]", "~", code))
    code = re.sub(r"\b(__attribute__|_Static_assert)\s*~", "", code)
    names.update(re.findall(r"\b(?:struct|union|enum)\s+(\w+)\s*@", code))
    names.update(re.findall(r"\b(\w+)\s*~\s*(?:@|;|,)", code))                          # functions, arrays
    names.update(re.findall(r"\btypedef\b[^;]*?\b(\w+)\s*;", code))
    names.update(re.findall(r"\b(\w+)\s*~*\s*(?:=[^;]*)?;", re.sub(r"~\s*~|\*", " ", code)))
    return {name for name in names if not name[0].isdigit() and name not in ("return", "break")}


def defines(names):
    return "".join(f"#undef {name}\n#define {name} {new}\n" for name, new in sorted(names.items()))


def undefs(names):
    return "".join(f"#undef {name}\n" for name in sorted(set(names)))


def arguments(words):
    groups, key = {}, ""
    for word in words:
        if word.startswith("--"):
            key = word
        else:
            groups.setdefault(key, []).append(word)
    return groups


def main(*words):
    groups = arguments(words)
    sources = Sources(groups["--cc"], groups["--folders"])
    public = set()
    header = sources.text(sources.find("kaeru/kaeru.h", "."), public)
    units = [(path, "") for path in groups["--common"]]
    for name, _, _, _ in SETS:
        # The table names all kernels.
        group = groups["--bf16" if name in ("avx512_bf16", "amx") else "--each"]
        units += [(path, name) for path in sorted(group, key=lambda p: "isa_" in p)]
    units += [(path, "") for path in groups["--rest"] + groups["--cold"]]
    macros_of = {name: [*macros, "KERNEL_ISA=" + name] for name, _, _, macros in SETS}
    macros_of[""] = []
    found = {unit: sources.names(os.path.realpath(unit[0]), macros_of[unit[1]]) for unit in units}

    # The definitions of what private headers declare with extern.
    private = [file for file in set().union(*found.values()) if "/include/kaeru/" not in file]
    objects = re.findall(r"^extern [^;()]*?(\w+)(?:\[\w*\])?;", "".join(map(sources.read, private)), re.M)
    sources.objects = re.compile(r"^(?=(?!static|extern)[A-Za-z_][\w *]*[ *](?:%s)\b[^;(]*[=;])" % "|".join(objects), re.M)

    # A unit's own files are the .c file and the headers that no other unit of its part includes.
    base = set(public).union(*(found[unit] for unit in units if unit[0] in groups["--common"]))
    users = {}
    for unit, files in found.items():
        for file in files:
            users.setdefault((file, "" if file in base else unit[1]), set()).add(unit)
    shared, own, files_of, count = {part: set() for part in macros_of}, {}, {}, {}
    for unit, files in found.items():
        part_of = {file: "" if file in base else unit[1] for file in files}
        files_of[unit] = [file for file in files if file not in public and
                          (len(users[file, part_of[file]]) == 1 or os.path.basename(file) in OF_EACH)]
        others = set()
        for file in set(files) - set(files_of[unit]):
            shared[part_of[file]] |= files[file]
            others |= files[file]
        own[unit] = set().union(*(files[file] for file in files_of[unit])) - others
        for name in own[unit]:
            count[name] = count.get(name, 0) + 1
    taken = set().union(*(names for files in found.values() for file, names in files.items() if file in base))

    body, seen, inside = "", set(public), ""
    for unit in units:
        path, part = unit
        if part != inside:
            if inside:
                body += closed(inside, text_of_part, renamed)
            if part:
                part_seen, text_of_part = set(seen), ""
                renamed = {name: f"{name}_{part}" for name in shared[part] - taken if not KERNEL.match(name)}
                body += opened(part) + defines(renamed)
            inside = part
        if path == groups["--cold"][0]:
            body += BEGIN_LESS.format(condition="", level="O1")
        where = re.sub(r"\W", "_", "_".join(os.path.splitext(path)[0].split("/")[-2:])) + ("_" + part if part else "")
        names = {name: f"{name}_in_{where}" for name in own[unit]
                 if not KERNEL.match(name) if part or count[name] > 1 or name in shared[""]}
        text = sources.text(os.path.realpath(path), part_seen if part else seen)
        macros = [macro for file in files_of[unit] for macro in MACRO.findall(sources.read(file))]
        shown = os.path.normpath(path).replace("../", "")
        body += f"\n/* ==== {shown} ==== */\n" + defines(names) + text + undefs([*names, *macros])
        if part:
            text_of_part += text
    version = re.search(r'KAERU_VERSION "([^"]*)"', header)[1]
    includes = "".join(f"#include <{name}>\n" for name in sorted(sources.system))
    with open(groups[""][0], "w", encoding="utf-8") as file:
        file.write(TOP.replace("{version}", version).replace("{includes}", includes) + body + END_LESS)
    with open(groups[""][1], "w", encoding="utf-8") as file:
        file.write(f"/* kaeru.h: the headers of kaeru {version}, for kaeru.c. Written by packaging/one_file.py. */\n" + header)
    with open(groups[""][2], "w", encoding="utf-8") as file:
        file.write(groups[""][0] + ": " + " ".join(path.replace(" ", "\\ ") for path in sorted(sources.files)) + "\n")


def opened(part):
    _, condition, target, macros = next(one for one in SETS if one[0] == part)
    begin = f"\n/* ======== {part} ======== */\n#if {condition}\n" + undefs(SETS[-1][3])
    if target:
        begin += ("#if defined(__clang__)\n"
                  f'#pragma clang attribute push(__attribute__((target("{target}"))), apply_to = function)\n'
                  f'#else\n#pragma GCC push_options\n#pragma GCC target("{target}")\n#endif\n')
    else:
        # Few processors of x86-64 are without AVX2.
        begin += BEGIN_LESS.format(condition=" && defined(__x86_64__)", level="O2")
    return begin + defines({**dict.fromkeys(macros, "1"), "KERNEL_ISA": part})


def closed(part, text, renamed):
    end = undefs([*renamed, *MACRO.findall(text), "KERNEL_ISA"])
    if part == "portable":
        end += END_LESS
    else:
        end += "#if defined(__clang__)\n#pragma clang attribute pop\n#else\n#pragma GCC pop_options\n#endif\n"
    return end + "#endif\n"


main(*sys.argv[1:])
