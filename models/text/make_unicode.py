#!/usr/bin/env python3
"""Writes unicode_table.h: the classes of all characters that GPT-2's splitting rule asks for, the small letters and what
Python's rule for the final sigma asks for, and what the normal form C asks for.

    python3 models/text/make_unicode.py > models/text/unicode_table.h

The classes must be those of the Unicode version below, the one in use by the `tokenizers` library (0.22, 0.23); where
Python's own unicodedata is older, `pip install unicodedata2==16.0.0`. Small letters are those of Python itself, which
BLEU's reference implementation asks. The normal form is that of `tokenizers`, which is asked what it knows: its tables for
this are those of an older Unicode.
"""
import itertools
import sys
import unicodedata

UNICODE = "16.0.0"
OTHER, LETTER, NUMBER, SPACE = range(4)
# The property White_Space, for which unicodedata has no function.
SPACES = [*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000]
WIDTH = 120


def load():
    for name in "unicodedata", "unicodedata2":
        try:
            module = __import__(name)
        except ImportError:
            continue
        if module.unidata_version == UNICODE:
            return module
    sys.exit(f"make_unicode.py: needs the tables of Unicode {UNICODE}: pip install unicodedata2=={UNICODE}")


def write_array(declaration, items):
    lines = [""]
    for item in items:
        if len(lines[-1]) + len(item) + 2 > WIDTH - 3:
            lines.append("")
        lines[-1] += f" {item},"
    print(f"static const {declaration}[] = {{")
    print("\n".join("   " + line for line in lines))
    print("};")


def write_lower():
    """Runs of letters that have the same distance from their small ones, every one or every second of them."""
    runs = []
    for code in range(0x110000):
        small = chr(code).lower()
        if len(small) != 1 or ord(small) == code:
            continue
        distance = ord(small) - code
        if runs and runs[-1][3] == distance:
            first, last, step, _ = runs[-1]
            if code - last == step or first == last and code - last == 2:
                runs[-1] = (first, code, code - last, distance)
                continue
        runs.append((code, code, 1, distance))
    write_array("struct { uint32_t first, last, step; int32_t distance; } lower_runs",
                ["{ 0x%04X, 0x%04X, %d, %d }" % run for run in runs])
    # What str.lower() makes of a capital sigma after a character tells what the rule sees in this character.
    cased = [(chr(code) + "\u03a3").lower()[-1] == "\u03c2" for code in range(0x110000)]
    cased_or_ignored = [("a" + chr(code) + "\u03a3").lower()[-1] == "\u03c2" for code in range(0x110000)]
    write_runs("cased", cased)
    write_runs("case_ignorable", [both and not one for both, one in zip(cased_or_ignored, cased)])


def write_runs(name, in_set):
    """A set of code points as the lengths of runs, in turn: of code points outside of it, of those in it."""
    runs = [len(list(run)) for _, run in itertools.groupby(in_set)]
    assert not in_set[0]
    lengths = []
    for length in runs[:len(runs) // 2 * 2]:                        # without the run after the last one in the set
        cuts = (length - 1) // 65535
        lengths += [65535, 0] * cuts + [length - cuts * 65535]
    write_array(f"uint16_t unicode_{name}", map(str, lengths))


def write_classes(unicode):
    def class_of(code):
        return SPACE if code in SPACES else {"L": LETTER, "N": NUMBER}.get(unicode.category(chr(code))[0], OTHER)

    classes = [class_of(code) for code in range(0x110000)]
    end = max(code for code in range(0x110000) if classes[code] != OTHER) + 1
    print(f"enum {{ UNICODE_END = 0x{end:X} }};")
    for name, wanted in ("letters", LETTER), ("numbers", NUMBER), ("spaces", SPACE):
        write_runs(name, [found == wanted for found in classes])


def write_nfc(unicode, nfc):
    marks, parts, apart = [0] * 0x110000, [()] * 0x110000, [False] * 0x110000
    for code in range(0x110000):
        text, mark = chr(code), unicode.combining(chr(code))
        if 0xD800 <= code < 0xE000:
            continue
        # A mark is known if it changes places with another one.
        low, high = "x" + text + "\u0334", "x\u0315" + text
        if mark and (nfc(low) != low if mark > 1 else nfc(high) != high):
            marks[code] = mark
        found = unicode.decomposition(text)
        found = () if found.startswith("<") else tuple(int(part, 16) for part in found.split())
        composes = found and nfc("".join(map(chr, found))) == text
        if composes or found and nfc(text) != text:
            parts[code] = found
            apart[code] = len(found) == 2 and not composes
    for name, n in ("singles", 1), ("pairs", 2):
        write_runs(name, [len(found) == n for found in parts])
        write_array(f"uint32_t parts_of_{name}", [str(part) for found in parts if len(found) == n for part in found])
    write_runs("kept_apart", apart)
    runs = []
    for mark, run in itertools.groupby(marks):
        runs.append((len(list(run)), mark))
    items, gap = [], 0
    for length, mark in runs[:-1]:                                  # without the code points after the last mark
        if mark:
            items.append(f"{gap}, {length}, {mark}")
        gap = 0 if mark else length
    print(f"enum {{ MARKS_END = 0x{max(code for code, mark in enumerate(marks) if mark) + 1:X} }};")
    write_array("uint16_t mark_runs", items)


def main():
    import tokenizers
    unicode, python, tokenizers_version = load(), unicodedata.unidata_version, tokenizers.__version__
    print(f"""\
/* unicode_table.h: written by make_unicode.py; do not edit. The classes are those of Unicode {UNICODE}, the small letters those
 * of Unicode {python}. The normal form is that of Unicode {UNICODE} without what `tokenizers` {tokenizers_version} does not
 * know.
 *
 * unicode_NAME is a set of code points as the lengths of runs, in turn: of code points outside of the set, of those in it.
 * parts_of_NAME has what each code point of unicode_NAME consists of. mark_runs has for each run of marks the number of code
 * points before it, the number of marks, and their class. */""")
    write_classes(unicode)
    write_lower()
    write_nfc(unicode, tokenizers.normalizers.NFC().normalize_str)


main()
