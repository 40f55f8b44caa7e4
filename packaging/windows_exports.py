#!/usr/bin/env python3
"""Prints for Windows what the shared library exports: windows_exports.py SYMBOLS, with Debian's list of the symbols."""
import sys

print("EXPORTS")
with open(sys.argv[1], encoding="utf-8") as symbols:
    for line in symbols:
        name, base, _ = line.strip().partition("@Base")
        if base:
            # The tables of options are the only objects among them.
            print(name, "DATA" if name.endswith("_fields") else "")
