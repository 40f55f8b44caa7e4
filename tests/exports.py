#!/usr/bin/env python3
"""Compares what a library exports with what the public headers declare.

    exports.py LIBRARY HEADERS_FOLDER [SYMBOLS]

LIBRARY is a static or a shared library; HEADERS_FOLDER has kaeru.h. SYMBOLS is the list of the Debian package. Each function
and table that a header declares must be exported, and nothing else. The names of functions, macros and enumeration constants
must have one of kaeru's prefixes. Prints what is wrong.
"""
import os
import re
import subprocess
import sys

DECLARED = re.compile(r"^(?:AG_NORETURN |const |unsigned )?[A-Za-z_]\w*[ *][^;{}()=]*?\(?\b(\w+)\)?\(", re.M)
MORE = re.compile(r",\s*(\w+)\(")
# What a program may not expect that a header takes, in capital letters too. SHAPE and DIMS are in almost every line of a user.
PREFIXED = re.compile(r"(tensor|ag|nn|transformer|gpt|llama|seq2seq|lm|kaeru)_|SHAPE$|DIMS$", re.I)


def declared(folder, mpi):
    """The names of the functions, from the declarations at the left margin, and those of macros and constants."""
    names, others = set(), set()
    for file in sorted(os.listdir(folder)):
        if (file == "mpi.h") != mpi:
            continue
        with open(os.path.join(folder, file), encoding="utf-8") as source:
            text = source.read()
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        others.update(re.findall(r"^[ \t]*#[ \t]*define (\w+)", text, re.M))
        for constants in re.findall(r"\benum(?: \w+)? \{(.*?)\}", text, re.S):
            others.update(re.findall(r"(?:^|,)\s*(\w+)", constants))
        text = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*\n", "", text, flags=re.M)
        text = re.sub(r'extern "C\+\+" \{.*?^\}\n\}', "", text, flags=re.S | re.M)
        text = re.sub(r"^AG_PUBLIC_(BEGIN|END)$", "", text, flags=re.M)
        text = re.sub(r"^static inline .*?^\}$", "", text, flags=re.S | re.M)
        names.update(re.findall(r"^extern const \w+ (\w+);", text, re.M))
        for found in DECLARED.finditer(text):
            if re.match(r"typedef\b|struct \w+ \{|return\b", found[0]):
                continue
            names.add(found[1])
            # double f(double x), g(double x);
            names.update(MORE.findall(text[found.end():text.index(";", found.end())]))
    return names, others


def exported(library):
    how = ["-D"] if re.search(r"\.so[.\d]*$", library) else ["-g"]
    lines = subprocess.run(["nm", *how, "--defined-only", "--format=posix", library], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    return {words[0].split("@")[0] for words in map(str.split, lines) if len(words) > 1}


def main(library, folder, symbols=None):
    mpi = "mpi" in os.path.basename(library)
    functions, others = declared(folder, mpi)
    sides = [("exported by " + library, exported(library)), ("declared in " + folder, functions)]
    if symbols:
        with open(symbols, encoding="utf-8") as file:
            sides.append(("listed in " + symbols, set(re.findall(r"^ (\w+)@", file.read(), re.M))))
    every = set.union(*(names for _, names in sides))
    good = len(every) > (1 if mpi else 300)
    for what, names in sides:
        for name in sorted(every - names):
            print(f"{name} is not {what}")
            good = False
    for name in sorted(every | others):
        if not PREFIXED.match(name):
            print(f"{name} has no prefix")
            good = False
    print(f"{len(every)} functions and tables, {len(others)} macros and constants")
    return 0 if good else 1


sys.exit(main(*sys.argv[1:]))
