#!/usr/bin/env python3
"""Prints for Windows what a shared library exports: windows_exports.py NM SYMBOLS LIBRARY...

These are Debian's symbols, as far as the static libraries define them. A build without some parts has fewer. In
libkaeru_double, functions on arrays have other names.
"""
import re
import subprocess
import sys

nm, symbols, *libraries = sys.argv[1:]
public = set()
with open(symbols, encoding="utf-8") as file:
    for line in file:
        name, base, _ = line.strip().partition("@Base")
        if base:
            public.add(name)
# A line of nm -P is "NAME TYPE VALUE SIZE". On 32 bits, NAME begins with a _ that the list of exports does not have.
listing = subprocess.run([nm, "-P", "--defined-only", "--extern-only", *libraries], check=True, capture_output=True, text=True)
defined = {words[0] for words in map(str.split, listing.stdout.splitlines()) if len(words) > 1}
print("EXPORTS")
for name in sorted(defined | {name[1:] for name in defined if name.startswith("_")}):
    if re.sub("_double$", "", name) in public:
        # The tables of options are the only objects among them.
        print(name, "DATA" if name.endswith("_fields") else "")
