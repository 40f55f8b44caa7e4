#!/usr/bin/env python3
"""Writes the headers of calls: for each public header NAME.h the file calls/NAME.h beside it, with one macro for each function.

    calls.py write

A macro has the name of its function and notes the line of the call: see AG_NAME_CALL in places.h. The files are part of the
sources: run this after a change of a prototype.

    calls.py same

Checks that the files are what the first form writes. Both refuse a header with text that they cannot read as declarations.
"""
import glob
import os
import re
import sys
import textwrap

# Functions without a macro, and why.
LEFT_OUT = {
    "ag_in": "the macros call it",
    "ag_out": "the macros call it",
    "ag_out_pointer": "the macros call it",
    "ag_layer_begin": "AG_LAYER calls it",
    "ag_layer_end": "AG_LAYER calls it",
    "ag_set_error": "it cannot fail",
    "ag_error": "it cannot fail, and a handler of errors may call it",
    "ag_on_usage_error": "it cannot fail, and its result is a pointer to a function",
}
# What a call without arguments lacks: the compiler tells it, in C.
EXPECTED = {"ag_begin": "AG_RECORD or AG_NO_GRAD"}
# Headers without calls.
HEADERS_LEFT_OUT = {"types.h": "its functions are arithmetic, which cannot fail"}

FOLDERS = ["autograd", "nn", "models"]
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

WIDTH = 128         # the columns of a page
COMMENT = re.compile(r"/\*.*?\*/", re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.M)
TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"')
ATTRIBUTES = re.compile(r"^(.*?)((?: (?:AG_MUST_CHECK|AG_PRINTF\(\d+, \d+\)))*)$", re.S)
PROTOTYPE = re.compile(r"^(?:AG_NORETURN )?(?P<type>(?:const )?(?:unsigned |struct )?\w+(?: \*|\*)*)\s*(?P<name>\w+)"
                       r"\((?P<parameters>.*)\)$", re.S)
# What else a header declares: types and variables.
OTHER = re.compile(r"typedef\b.*|(?:(?:struct|enum|union|extern)\b[^()]*)?", re.S)


def read(path):
    with open(path, encoding="utf-8") as source:
        return source.read()


def without_cpp(text):
    """The text without what only C++ compiles."""
    out, skipped = [], []           # of each open #if: whether its lines are left out, and whether it asks for C++
    for line in text.split("\n"):
        directive = re.match(r"\s*#\s*(\w+)\s*(.*)", line)
        kind, condition = directive.groups() if directive else ("", "")
        if kind.startswith("if"):
            cpp = condition == "__cplusplus"
            skipped.append((cpp and kind == "ifdef", cpp))
        elif kind in ("else", "elif"):
            skip, cpp = skipped[-1]
            skipped[-1] = (cpp and not skip, cpp)
        elif kind == "endif":
            skipped.pop()
        out.append("" if any(skip for skip, _ in skipped) else line)
    return "\n".join(out)


def statements(text):
    """Yields what stands between two semicolons outside of braces, or ends with a body in braces; the bodies are left out."""
    words, depth, start = [], 0, 0
    for i, c in enumerate(text):
        if c == "{":
            if depth == 0:
                words.append(text[start:i])
            depth += 1
        elif c == "}":
            depth -= 1
            if depth == 0:
                start = i + 1
                if re.search(r"\)\s*$", words[-1]):         # a function's body
                    yield "body", " ".join("".join(words).split())
                    words = []
        elif c == ";" and depth == 0:
            words.append(text[start:i])
            start = i + 1
            yield "declaration", " ".join("".join(words).split())
            words = []
    rest = " ".join("".join(words + [text[start:]]).split())
    if rest:
        yield "declaration", rest


def declarations(path):
    """Yields the functions of the header: name, result, parameters, attributes."""
    text = DIRECTIVE.sub("", TEXT.sub('""', COMMENT.sub(" ", without_cpp(read(path)))))
    text = re.sub(r"\bAG_PUBLIC_(?:BEGIN|END)\b", " ", text)
    for kind, statement in statements(text):
        if kind == "body" and statement.startswith("static inline "):
            continue
        if kind == "declaration" and OTHER.fullmatch(statement):
            continue
        head, after = ATTRIBUTES.match(statement).groups()
        found = PROTOTYPE.match(head)
        if not found:
            sys.exit(f"{path}: expected a prototype, a type or a variable: {statement!r}")
        result = " ".join(found["type"].replace("*", " *").split()).replace("* *", "**")
        yield found["name"], result, found["parameters"], after


def arguments(path, parameters):
    """The names of the parameters."""
    if parameters == "void":
        return []
    names, depth, start = [], 0, 0
    for i, c in enumerate(parameters + ","):
        depth += (c in "([") - (c in ")]")
        if depth < 0:
            sys.exit(f"{path}: expected one function in a declaration: {parameters!r}")
        if c == "," and depth == 0:
            name = re.search(r"\(\*(\w+)\)\(|(\w+)(?:\[\w+\])?$", parameters[start:i])
            if not name or len(parameters[start:i].split()) < 2:
                sys.exit(f"{path}: expected a type and a name: {parameters[start:i]!r}")
            names.append(name[1] or name[2])
            start = i + 1
    return names


def macro(path, name, result, parameters, attributes):
    """The macro of a function, with the function that it calls. An inline function cannot pass on a list of variable length."""
    if "..." in parameters:
        call = f"{name}(__VA_ARGS__)"
        form = {"void": f"AG_CALL_VOID({call})", "bool": f"AG_CALL_BOOL({call})"}.get(result)
        if "AG_MUST_CHECK" in attributes or not form and not result.endswith("*"):
            sys.exit(f"{path}: {name} takes a list of variable length, so it must return nothing, bool or a pointer")
        return wrap(f"#define {name}(...) ", form or f"AG_CALL_POINTER({result}, {call})")
    names = ", ".join(arguments(path, parameters))
    place, values = ("AG_PLACE", "") if parameters == "void" else (f"AG_PLACE, {parameters}", ", __VA_ARGS__")
    form = "AG_NAME_CALL_VOID(" if result == "void" else f"AG_NAME_CALL({result}, "
    checked = "AG_MUST_CHECK " if "AG_MUST_CHECK" in attributes else ""
    line = "__LINE__"
    if name in EXPECTED:
        line += f' + \\\n        AG_ASSERT(sizeof #__VA_ARGS__ > 1, "{name} takes {EXPECTED[name]}")'
    return (wrap(f"{checked}{form}{name}, ({place}),", f" ({names}))") +
            wrap(f"#define {name}({'...' if values else ''}) ", f"{name}_call(__FILE__, {line}{values})"))


def wrap(first, rest):
    """One line, or two if that is too long."""
    if len(first + rest) <= WIDTH:
        return first + rest + "\n"
    mark = " \\" if first.startswith("#") else ""
    lines = textwrap.wrap(first.strip(), WIDTH - len(mark), subsequent_indent="    ", break_on_hyphens=False)
    return "\n".join(lines) + mark + "\n    " + rest.strip() + "\n"


def page(path, seen):
    """The header of calls of the header `path`; None if it needs none. seen: the functions of the headers before."""
    functions = [function for function in declarations(path) if function[0] not in LEFT_OUT]
    base = os.path.basename(path)
    includes = f'#include "kaeru/calls/{base}"' in read(path)
    if bool(functions) != includes:
        sys.exit(f"{path}: " + (f'expected #include "kaeru/calls/{base}" at its end' if functions else
                                "includes calls, but declares no function with a macro"))
    if not functions:
        return None
    comment = f"/* calls/{base}: calls of the functions of {base}, which note their line. Written by autograd/calls.py. */"
    lines = [textwrap.fill(comment, WIDTH, subsequent_indent=" * ", break_on_hyphens=False) + "\n",
             "#if !defined KAERU_INSIDE && !defined KAERU_NO_LINES\n"]
    for function in functions:
        if function[0] in seen:
            sys.exit(f"{path}: {function[0]} is declared twice")
        seen.add(function[0])
        lines.append(macro(path, *function))
    return "".join(lines + ["#endif\n"])


def main(what=""):
    if what not in ("write", "same"):
        sys.exit(__doc__)
    os.chdir(ROOT)
    headers = [path for folder in FOLDERS for path in glob.glob(folder + "/**/include/kaeru/*.h", recursive=True)
               if os.path.basename(path) not in HEADERS_LEFT_OUT]
    seen, wrong = set(), []
    for header in sorted(headers):
        text = page(header, seen)
        path = os.path.join(os.path.dirname(header), "calls", os.path.basename(header))
        if what == "write" and text:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)
        elif what == "same" and text != (read(path) if os.path.exists(path) else None):
            wrong.append(path)
    if wrong:
        sys.exit(f"{', '.join(wrong)}: not what follows from the prototypes: run `python3 autograd/calls.py write`")


main(*sys.argv[1:])
