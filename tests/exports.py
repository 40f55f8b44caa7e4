#!/usr/bin/env python3
"""Compares what a library exports with what the public headers declare, and checks the names in these headers.

    exports.py LIBRARY HEADERS_FOLDER [SYMBOLS]

LIBRARY is a static or a shared library; HEADERS_FOLDER has kaeru.h. SYMBOLS is the list of the Debian package. Each function
and table that a header declares must be exported, and nothing else. The names of functions, macros, enumeration constants and
types must follow the rule in CONTRIBUTING.md. Prints what is wrong.
"""
import collections
import os
import re
import subprocess
import sys

DECLARED = re.compile(r"^(?:AG_NORETURN |const |unsigned )?[A-Za-z_]\w*[ *][^;{}()=]*?\(?\b(\w+)\)?\(", re.M)
MORE = re.compile(r",\s*(\w+)\(")
BODY = r"\{(?:[^{}]|\{[^{}]*\})*\}"
# By layer, what the names of functions begin with, and those of macros and constants, in capital letters; and those of types.
# A function on objects of a layer below, and the struct of its options, have their prefix. SHAPE and DIMS are in almost every
# line of a user.
PREFIXES = {
    "autograd": (r"(tensor|ag|kaeru)_|SHAPE$|DIMS$", "Ag"),
    "nn": (r"(tensor|ag|nn|kaeru)_", "Nn"),
    "models": (r"(tensor|ag|nn|transformer|gpt|llama|seq2seq|lm|kaeru)_", "Nn|Lm|Kaeru"),
}
# Types with short names are these, ag_real, modules, and those that begin with such a name. Sequential is a module, too.
SHORT = {"Tensor", "Module", "ModuleList", "Optimizer", "Sequential"}
Header = collections.namedtuple("Header", "name functions others types modules")


def types_of(text):
    """The names of all types, and those of modules: structs that begin with `Module module`."""
    types = set(re.findall(r"\b(?:struct|union|enum) (\w+)", text))
    modules = set(re.findall(r"\bstruct (\w+) \{\s*Module module;", text))
    for definition in re.findall(rf"\btypedef\b((?:[^;{{}}]|{BODY})*);", text):
        names = re.sub(BODY, "", definition)
        names = re.sub(r"\(\*(\w+)\)", r"\1", names)                        # a pointer to a function
        names = re.findall(r"(\w+)\s*(?:,|$)", re.sub(r"\([^()]*\)|\[[^]]*\]", "", names))
        types.update(names)
        if re.match(r"\s*struct(?: \w+)? \{\s*Module module;", definition):
            modules.update(names)
    return types, modules


def read_header(path):
    """The names of the functions, from the declarations at the left margin, and those of macros, constants and types."""
    functions, others = set(), set()
    with open(path, encoding="utf-8") as source:
        text = source.read()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    others.update(re.findall(r"^[ \t]*#[ \t]*define (\w+)", text, re.M))
    for constants in re.findall(r"\benum(?: \w+)? \{(.*?)\}", text, re.S):
        others.update(re.findall(r"(?:^|,)\s*(\w+)", constants))
    text = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*\n", "", text, flags=re.M)
    text = re.sub(r"^namespace kaeru \{.*?^\}  // namespace", "", text, flags=re.S | re.M)    # the prefix of C++
    types, modules = types_of(text)
    cpp = re.findall(r'^extern "C\+\+" \{.*?^\}\n\}', text, flags=re.S | re.M)
    others.update(re.findall(r"\b(\w+)\([^()]*\)\s*\{", "".join(cpp)))      # templates and inline functions
    text = re.sub(r'^extern "C\+\+" \{.*?^\}\n\}', "", text, flags=re.S | re.M)
    text = re.sub(r"^AG_PUBLIC_(BEGIN|END)$", "", text, flags=re.M)
    text = re.sub(r"^static inline .*?^\}$", "", text, flags=re.S | re.M)
    functions.update(re.findall(r"^extern const \w+ (\w+);", text, re.M))
    for found in DECLARED.finditer(text):
        if re.match(r"typedef\b|struct \w+ \{|return\b", found[0]):
            continue
        functions.add(found[1])
        # double f(double x), g(double x);
        functions.update(MORE.findall(text[found.end():text.index(";", found.end())]))
    return Header(os.path.basename(path), functions, others, types, modules)


def layer_of(header):
    """The layer that has the header, or its template, in an include folder."""
    for layer in PREFIXES:
        for folder, _, files in os.walk(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", layer)):
            if folder.endswith("include/kaeru") and (header in files or header + ".in" in files):
                return layer
    sys.exit(f"{header}: expected it in an include folder of {', '.join(PREFIXES)}")


def wrong_names(headers):
    """The names that break the rule, each with its header."""
    short = "|".join(SHORT.union(*(header.modules for header in headers)))
    for header in headers:
        function, prefix = PREFIXES[layer_of(header.name)]
        for name in sorted(header.functions | header.others):
            if not re.match(function, name, re.I):
                yield name, header.name
        for name in sorted(header.types - {"ag_real"}):
            if not re.match(rf"(?:{prefix})[A-Z]|(?:{short})(?![a-z])", name):
                yield "the type " + name, header.name


def exported(library):
    how = ["-D"] if re.search(r"\.so[.\d]*$", library) else ["-g"]
    lines = subprocess.run(["nm", *how, "--defined-only", "--format=posix", library], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    return {words[0].split("@")[0] for words in map(str.split, lines) if len(words) > 1}


def main(library, folder, symbols=None):
    mpi = "mpi" in os.path.basename(library)
    headers = [read_header(os.path.join(folder, file)) for file in sorted(os.listdir(folder)) if "." in file]    # not calls/
    functions = set().union(*(header.functions for header in headers if (header.name == "mpi.h") == mpi))
    sides = [("exported by " + library, exported(library)), ("declared in " + folder, functions)]
    if symbols:
        with open(symbols, encoding="utf-8") as file:
            sides.append(("listed in " + symbols, set(re.findall(r"^ (\w+)@", file.read(), re.M))))
    every = set.union(*(names for _, names in sides))
    good = len(every) > (1 if mpi else 200)
    for what, names in sides:
        for name in sorted(every - names):
            print(f"{name} is not {what}")
            good = False
    for name, header in wrong_names(headers):
        print(f"{name} in {header} does not begin as its layer's names do")
        good = False
    print(f"{len(every)} functions and tables, {sum(len(h.others) for h in headers)} macros and constants, "
          f"{sum(len(h.types) for h in headers)} types")
    return 0 if good else 1


sys.exit(main(*sys.argv[1:]))
