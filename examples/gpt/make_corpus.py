#!/usr/bin/env python3
"""Writes corpus.c, the text of source files as a C string, which gpt train learns without --data.

    make_corpus.py CORPUS_C FILE...

Long rows of spaces and dashes are shortened: a small model with a short context would mostly learn to continue them.
"""
import re
import sys


def literal(line):
    """A line as a C string literal: other characters than printable ASCII in octal, and question marks, to avoid trigraphs."""
    text = ""
    for byte in line:
        if byte == ord("\n"):
            text += "\\n"
        elif byte in b'"\\?' or not 32 <= byte < 127:
            text += f"\\{byte:03o}"
        else:
            text += chr(byte)
    return f'"{text}"'


def shortened(line):
    return re.sub(rb"-{5,}", b"----", re.sub(rb"(?<=\S) {3,}", b"  ", line))


def main():
    out, files = sys.argv[1], sys.argv[2:]
    lines = [shortened(line) for name in files for line in open(name, "rb").readlines()]
    with open(out, "w", encoding="ascii", newline="\n") as f:
        f.write('/* Written by the build from the project\'s own sources. */\n#include "gpt_commands.h"\n\n')
        f.write(f"const size_t corpus_size = {sum(map(len, lines))};\nconst char corpus[] =\n")
        f.write("\n".join(literal(line) for line in lines) + ";\n")


main()
