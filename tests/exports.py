#!/usr/bin/env python3
"""Compares what a library exports with what the public headers declare.

    exports.py LIBRARY HEADERS_FOLDER [SYMBOLS]

LIBRARY is a static or a shared library; HEADERS_FOLDER has kaeru.h. SYMBOLS is the list of the Debian package. Each function
that a header declares must be exported, and nothing else. Prints the differences.
"""
import os
import re
import subprocess
import sys

DECLARED = re.compile(r"^(?:AG_NORETURN |const |unsigned )?[A-Za-z_]\w*[ *][^;{}()=]*?\(?\b(\w+)\)?\(", re.M)
MORE = re.compile(r",\s*(\w+)\(")


def declared(folder):
    """The names of the functions, from the declarations at the left margin."""
    names = set()
    for file in sorted(os.listdir(folder)):
        if file == "mpi.h":
            continue
        with open(os.path.join(folder, file), encoding="utf-8") as source:
            text = source.read()
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        text = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*\n", "", text, flags=re.M)
        text = re.sub(r'extern "C\+\+" \{.*?^\}\n\}', "", text, flags=re.S | re.M)
        text = re.sub(r"^AG_PUBLIC_(BEGIN|END)$", "", text, flags=re.M)
        for found in DECLARED.finditer(text):
            if re.match(r"typedef\b|struct \w+ \{|return\b", found[0]):
                continue
            names.add(found[1])
            # double f(double x), g(double x);
            names.update(MORE.findall(text[found.end():text.index(";", found.end())]))
    return names


def exported(library):
    how = ["-D"] if re.search(r"\.so[.\d]*$", library) else ["-g"]
    lines = subprocess.run(["nm", *how, "--defined-only", "--format=posix", library], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    return {words[0].split("@")[0] for words in map(str.split, lines) if len(words) > 1}


def main(library, folder, symbols=None):
    sides = [("exported by " + library, exported(library)), ("declared in " + folder, declared(folder))]
    if symbols:
        with open(symbols, encoding="utf-8") as file:
            sides.append(("listed in " + symbols, set(re.findall(r"^ (\w+)@", file.read(), re.M))))
    every = set.union(*(names for _, names in sides))
    good = len(every) > 300
    for what, names in sides:
        for name in sorted(every - names):
            print(f"{name} is not {what}")
            good = False
    print(f"{len(every)} functions")
    return 0 if good else 1


sys.exit(main(*sys.argv[1:]))
