#!/usr/bin/env python3
"""Writes the macros that pass the caller's place: for each function NAME_at(AgSite at, ...) of the headers, NAME(...).

    at_header.py OUT HEADER...
"""
import os
import re
import sys

PROTOTYPE = re.compile(r"^[A-Za-z_][^;{}#]*?\b(\w+)_at\(AgSite at(,?)", re.M)


def macros(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"(?:^|\n)[ \t]*#(?:\\\n|[^\n])*", "\n", text)
    for name, more in PROTOTYPE.findall(text):
        yield f"#define {name}({'...' if more else ''}) {name}_at(AG_HERE{', __VA_ARGS__' if more else ''})\n"


def main():
    out, headers = sys.argv[1], sys.argv[2:]
    with open(out, "w", encoding="utf-8") as file:
        file.write(f"/* {os.path.basename(out)}: calls with the caller's place. Written by the build from "
                   f"{', '.join(os.path.basename(h) for h in headers)}. */\n")
        for header in headers:
            with open(header, encoding="utf-8") as source:
                file.writelines(macros(source.read()))


main()
