#!/usr/bin/env python3
"""Writes corpus.c, a text as a C string, which gpt train learns without --data.

    make_corpus.py CORPUS_C TEXT
"""
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


def main(out, text):
    with open(text, "rb") as f:
        lines = f.readlines()
    with open(out, "w", encoding="ascii", newline="\n") as f:
        f.write('/* Written by the build from examples/gpt/corpus.txt. */\n#include "gpt_commands.h"\n\n')
        f.write(f"const size_t corpus_size = {sum(map(len, lines))};\nconst char corpus[] =\n")
        f.write("\n".join(literal(line) for line in lines) + ";\n")


main(*sys.argv[1:])
