#!/usr/bin/env python3
"""Writes unicode_table.h: the classes of all characters that GPT-2's splitting rule asks for, the small letters, what the
normal forms ask for, the word characters of `tokenizers`, and what BERT's normalizer and pre-tokenizer ask for.

    python3 models/text/make_unicode.py > models/text/unicode_table.h

The classes must be those of the Unicode version below, the one in use by the `tokenizers` library (0.22, 0.23); where
Python's own unicodedata is older, `pip install unicodedata2==16.0.0`. Small letters are those of Python itself. The
normal forms are those of `tokenizers`, which is asked what it knows: its tables for this are those of an older Unicode.
It is also asked for the small letters that are newer than Python's, for the word characters, and for what it does in
BERT's normalizer and pre-tokenizer, whose categories are those of an older Unicode, too.
"""
import itertools
import re
import sys
import unicodedata

UNICODE = "16.0.0"
OTHER, LETTER, NUMBER, SPACE = range(4)
# The property White_Space, for which unicodedata has no function.
SPACES = [*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000]
WIDTH = 128


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


def write_text(name, characters):
    """Characters as one string literal, each line of whole groups, which are the strings of `characters`."""
    lines, width = [""], 0
    for group in characters:
        group = re.sub(r'(["\\?])', r"\\\1", group)
        columns = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in group)
        if width + columns > WIDTH - 6:
            lines.append("")
            width = 0
        lines[-1] += group
        width += columns
    print(f"static const char {name}[] =")
    print("\n".join(f'    "{line}"' for line in lines) + ";")


def write_lower_runs(name, small_of):
    """Runs of letters that have the same distance from their small ones, every one or every second of them. `small_of` returns
    the small letter, or the letter itself if it is not to be in the table. Returns the end of the last run."""
    runs = []
    for code in range(0x110000):
        small = small_of(chr(code))
        if len(small) != 1 or ord(small) == code:
            continue
        distance = ord(small) - code
        if runs and runs[-1][3] == distance:
            first, last, step, _ = runs[-1]
            if code - last == step or first == last and code - last == 2:
                runs[-1] = (first, code, code - last, distance)
                continue
        runs.append((code, code, 1, distance))
    items, end = [], 0
    for first, last, step, distance in runs:
        items.append(f"{first - end}, {(last - first) // step + 1}, {step}, {distance}")
        end = last + 1
    write_array(f"int32_t {name}", items)
    return end


def write_lower(lower):
    print(f"enum {{ LOWER_END = 0x{write_lower_runs('lower_runs', str.lower):X} }};")
    write_lower_runs("newer_lower_runs", lambda c: c if 0xD800 <= ord(c) < 0xE000 or lower(c) == c.lower() else lower(c))


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


def write_words(split):
    """The characters that the pre-tokenizer Whitespace does not separate from a letter."""
    surrogates = range(0xD800, 0xE000)
    write_runs("word", [code not in surrogates and len(split("a" + chr(code))) == 1 for code in range(0x110000)])


def write_bert(normal, split):
    """What BERT's normalizer takes away: characters when it cleans a text, and accents; and the characters that are words of
    their own. NUL, which a table does not hold, is taken away, too."""
    def normalizer(**rules):
        unset = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
        return normal.BertNormalizer(**unset | rules).normalize_str

    def write(name, in_set):
        write_runs(name, [code > 0 and not 0xD800 <= code < 0xE000 and in_set("a" + chr(code))
                          for code in range(0x110000)])

    clean, strip = normalizer(clean_text=True), normalizer(strip_accents=True)
    write("unclean", lambda text: clean(text + "b") == "ab")
    write("accents", lambda text: strip(text) == "a")
    write("alone", lambda text: len(split(text + "b")) == 3)


def write_compatibility(nfd, nfkd):
    groups = []
    for code in [*range(0xD800), *range(0xE000, 0x110000)]:
        parts = nfkd(chr(code))
        if parts != nfd(chr(code)):
            groups.append(chr(code) + chr(ord("0") + len(parts)) + parts)
    print(f"enum {{ N_COMPATIBILITY = {len(groups)} }};")
    write_text("unicode_compatibility", groups)


def write_nfc(unicode, nfc):
    marks, singles, pairs, apart = [0] * 0x110000, [], [], []
    for code in range(0x110000):
        text, mark = chr(code), unicode.combining(chr(code))
        if 0xD800 <= code < 0xE000:
            continue
        # A mark is known if it changes places with another one.
        low, high = "x" + text + "\u0334", "x\u0315" + text
        if mark and (nfc(low) != low if mark > 1 else nfc(high) != high):
            marks[code] = mark
        found = unicode.decomposition(text)
        found = "" if found.startswith("<") else "".join(chr(int(part, 16)) for part in found.split())
        composes = found and nfc(found) == text
        if composes or found and nfc(text) != text:
            (singles if len(found) == 1 else pairs if composes else apart).append(text + found)
    print(f"enum {{ N_SINGLES = {len(singles)}, N_PAIRS = {len(pairs)}, N_APART = {len(apart)} }};")
    write_text("unicode_singles", singles)
    write_text("unicode_pairs", pairs)
    write_text("unicode_apart", apart)
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
 * of Unicode {python}. The normal forms are those of Unicode {UNICODE} without what `tokenizers` {tokenizers_version} does
 * not know. newer_lower_runs has the small letters that `tokenizers` knows besides, and unicode_word its word characters. Of
 * BERT's tokenizer, unicode_unclean has what its normalizer takes away, unicode_accents the accents that it takes from letters,
 * and unicode_alone the characters that are words of their own.
 *
 * A set of code points is the lengths of runs, in turn: of code points outside of the set, of those in it. lower_runs and
 * mark_runs have for each run the number of code points before it, and the number of letters or marks; then, for letters, the
 * step from one to the next and the distance of the small letter, for marks their class.
 *
 * The texts are for the normal form: each character of unicode_singles is followed by the one that it consists of, each of the
 * other two by its two. The normal form composes unicode_pairs, but not unicode_apart. In unicode_compatibility, a number, 1 as
 * '1', 10 as ':' and so on, is between a character and its parts, which the forms NFKC and NFKD use. */""")
    normal = tokenizers.normalizers
    write_classes(unicode)
    write_words(tokenizers.pre_tokenizers.Whitespace().pre_tokenize_str)
    write_bert(normal, tokenizers.pre_tokenizers.BertPreTokenizer().pre_tokenize_str)
    write_lower(normal.Lowercase().normalize_str)
    write_nfc(unicode, normal.NFC().normalize_str)
    write_compatibility(normal.NFD().normalize_str, normal.NFKD().normalize_str)


main()
