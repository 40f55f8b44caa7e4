#!/usr/bin/env python3
"""Writes unicode_table.h, the classes of all characters that GPT-2's splitting rule asks for, or lower_table.h, their
small letters and what Python's rule for the final sigma asks for, or nfc_table.h, what the normal form C asks for.

    python3 models/text/make_unicode.py > models/text/unicode_table.h
    python3 models/text/make_unicode.py lower > models/text/lower_table.h
    python3 models/text/make_unicode.py nfc > models/text/nfc_table.h

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
    print(f"/* lower_table.h: written by make_unicode.py from Python's tables of Unicode {unicodedata.unidata_version};"
          " do not edit. */")
    write_array("struct { uint32_t first, last, step; int32_t distance; } lower_runs",
                ["{ 0x%04X, 0x%04X, %d, %d }" % run for run in runs])
    # What str.lower() makes of a capital sigma after a character tells what the rule sees in this character.
    cased = [(chr(code) + "\u03a3").lower()[-1] == "\u03c2" for code in range(0x110000)]
    cased_or_ignored = [("a" + chr(code) + "\u03a3").lower()[-1] == "\u03c2" for code in range(0x110000)]
    write_runs("cased", cased, True)
    write_runs("case_ignorable", [both and not one for both, one in zip(cased_or_ignored, cased)], True)


def write_runs(name, classes, wanted):
    """The lengths of runs of code points, in turn: of another class, of this class."""
    runs = [len(list(run)) for _, run in itertools.groupby(classes, lambda found: found == wanted)]
    assert classes[0] != wanted
    parts = []
    for length in runs[:len(runs) // 2 * 2]:                        # without the run after the last of the class
        cuts = (length - 1) // 65535
        parts += [65535, 0] * cuts + [length - cuts * 65535]
    write_array(f"uint16_t unicode_{name}", map(str, parts))


def write_classes():
    unicode = load()

    def class_of(code):
        return SPACE if code in SPACES else {"L": LETTER, "N": NUMBER}.get(unicode.category(chr(code))[0], OTHER)

    classes = [class_of(code) for code in range(0x110000)]
    end = max(code for code in range(0x110000) if classes[code] != OTHER) + 1
    print(f"/* unicode_table.h: written by make_unicode.py from the tables of Unicode {UNICODE}; do not edit. */")
    print(f"enum {{ UNICODE_END = 0x{end:X} }};")
    for name, wanted in ("letters", LETTER), ("numbers", NUMBER), ("spaces", SPACE):
        write_runs(name, classes, wanted)


def write_nfc():
    import tokenizers
    unicode, nfc = load(), tokenizers.normalizers.NFC().normalize_str
    classes = [0] * 0x110000
    pairs = []
    for code in range(0x110000):
        text, found = chr(code), unicode.combining(chr(code))
        if 0xD800 <= code < 0xE000:
            continue
        # A mark is known if it changes places with another one.
        low, high = "x" + text + "\u0334", "x\u0315" + text
        if found and (nfc(low) != low if found > 1 else nfc(high) != high):
            classes[code] = found
        found = unicode.decomposition(text)
        parts = [] if found.startswith("<") else [int(part, 16) for part in found.split()]
        if parts and nfc("".join(map(chr, parts))) == text:
            pairs.append((code, *parts, 1))
        elif parts and nfc(text) != text:
            pairs.append((code, *(parts + [0])[:2], 0))
    print(f"/* nfc_table.h: written by make_unicode.py from the tables of Unicode {UNICODE}, without what `tokenizers`\n"
          f" * {tokenizers.__version__} does not know; do not edit. */")
    write_array("struct { uint32_t code, first, second; bool composes; } nfc_pairs",
                ["{ 0x%X, 0x%X, 0x%X, %d }" % pair for pair in pairs])
    order = sorted((i for i in range(len(pairs)) if pairs[i][3]), key=lambda i: pairs[i][1:3])
    write_array("uint16_t nfc_order", map(str, order))
    runs = []
    for code in range(0x110000):
        if classes[code] and runs and runs[-1][1] == code - 1 and runs[-1][2] == classes[code]:
            runs[-1] = (runs[-1][0], code, classes[code])
        elif classes[code]:
            runs.append((code, code, classes[code]))
    write_array("struct { uint32_t first, last; uint8_t mark; } nfc_marks", ["{ 0x%X, 0x%X, %d }" % run for run in runs])


if sys.argv[1:] == ["lower"]:
    write_lower()
elif sys.argv[1:] == ["nfc"]:
    write_nfc()
else:
    write_classes()
