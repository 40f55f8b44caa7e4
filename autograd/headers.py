#!/usr/bin/env python3
"""Writes the headers that follow from lists and from prototypes.

    headers.py ops OPS_DEF OPS_H

OPS_H, the prototypes of all differentiable operations, from the list OPS_DEF: a line OP(name, (parameters), NEEDS,
"forward", "backward") gives a comment with the two formulas, the prototype of ag_<name>_at and the macro ag_<name> that
passes the caller's line along. The comments of the list, except the first, become headings.

    headers.py kernels FOLDER HEADER...

For each HEADER of kernels, FOLDER/<its name>.def with one line KERNEL(...) for each prototype, and FOLDER/kernels.def with
the lines of all. See kernels.h.
"""
import os
import re
import sys
import textwrap

WIDTH = 120

# ---- operations --------------------------------------------------------------------------------------------------------

TOP = """\
/* ops.h: the differentiable operations of kaeru. Written by the build from autograd/ops/ops.def; change that list instead.
 *
 * y is what the operation returns, dy its gradient; dx is the gradient that an input x gets. Where inputs were
 * broadcast, gradients are summed down to each input's own shape. The result belongs to the innermost open scope. */
#ifndef KAERU_OPS_H
#define KAERU_OPS_H

#if !defined(KAERU_AUTOGRAD_H)
#error "include kaeru/autograd.h; it includes this file where its types are known"
#endif
"""

TOKEN = re.compile(r'/\*(?P<comment>.*?)\*/|"(?P<text>(?:[^"\\]|\\.)*)"|(?P<word>\w+)|(?P<mark>[(),+*])|(?P<space>\s+)',
                   re.S)


def refuse(path, text, at, what):
    sys.exit(f"{path}:{text.count(chr(10), 0, at) + 1}: {what}")


def tokens(path, text):
    """Yields (kind, value, place) and leaves white space out."""
    at = 0
    while at < len(text):
        found = TOKEN.match(text, at)
        if not found:
            refuse(path, text, at, f"unexpected character {text[at]!r}")
        if found.lastgroup != "space":
            yield found.lastgroup, found[found.lastgroup], at
        at = found.end()


def parts_of(path, text, stream):
    """Splits what stands between an OP's parentheses at its outer commas; each part is a list of tokens."""
    parts, depth = [[]], 0
    for kind, value, at in stream:
        if (kind, value) == ("mark", "("):
            depth += 1
            if depth == 1:
                continue
        elif (kind, value) == ("mark", ")"):
            depth -= 1
            if depth == 0:
                return parts
        elif (kind, value, depth) == ("mark", ",", 1):
            parts.append([])
            continue
        if depth == 0:
            refuse(path, text, at, "expected ( after OP")
        parts[-1].append((kind, value))
    refuse(path, text, len(text), "the list ends inside an OP(...)")


def c_text(part):
    """C source again: `Tensor *a, int dim` from its tokens."""
    out = ""
    for kind, value in part:
        if value == ",":
            out += ", "
        elif out and (kind == "word" or value == "*") and out[-1] not in " (*":
            out += " " + value
        else:
            out += value
    return out


def comment(lines):
    """A C comment of these lines, each wrapped to the page with its continuations indented."""
    wrapped = []
    for line in lines:
        wrapped += textwrap.wrap(line, WIDTH - 3, subsequent_indent="    ", break_long_words=False,
                                 break_on_hyphens=False, drop_whitespace=True)
    return "/* " + "\n * ".join(wrapped) + " */\n"


def operation(path, text, at, parts):
    if len(parts) != 5:
        refuse(path, text, at, f"OP takes 5 parts, this one has {len(parts)}")
    name, parameters, needs, forward, backward = parts
    if len(name) != 1 or name[0][0] != "word":
        refuse(path, text, at, "the first part of an OP is its name")
    name = name[0][1]
    if not needs or not all(value == "+" or value.startswith("NEEDS_") for _, value in needs):
        refuse(path, text, at, f"{name}: the third part of an OP is a sum of NEEDS_...")
    for part, what in ((forward, "fourth"), (backward, "fifth")):
        if not part or any(kind != "text" for kind, _ in part):
            refuse(path, text, at, f"{name}: the {what} part of an OP is a string")
    parameters = c_text(parameters)
    if not (parameters.startswith("(") and parameters.endswith(")")):
        refuse(path, text, at, f"{name}: the second part of an OP is its parameters in parentheses")
    formulas = ["y = " + "".join(value for _, value in forward), "".join(value for _, value in backward)]
    return name, (comment(formulas) +
                  f"Tensor *ag_{name}_at(Site at, {parameters[1:-1]});\n"
                  f"#define ag_{name}(...) ag_{name}_at(AG_HERE, __VA_ARGS__)\n")


def heading(value):
    words = " ".join(line.strip().lstrip("*").strip() for line in value.strip().splitlines())
    start = f"/* ---- {words} "
    if len(start) + 7 > WIDTH:
        return comment([words])
    return start + "-" * (WIDTH - len(start) - 3) + " */\n"


def header(path, text):
    pages, names = [TOP], set()
    stream = tokens(path, text)
    first = True
    for kind, value, at in stream:
        if kind == "comment":
            if not first:
                pages.append(heading(value))
        elif (kind, value) == ("word", "OP"):
            name, page = operation(path, text, at, parts_of(path, text, stream))
            if name in names:
                refuse(path, text, at, f"{name} is listed twice")
            names.add(name)
            pages.append(page)
        else:
            refuse(path, text, at, f"expected OP(...) or a comment, found {value!r}")
        first = False
    pages.append("#endif\n")
    return "\n".join(pages)


# ---- kernels -----------------------------------------------------------------------------------------------------------

COMMENT = re.compile(r"/\*.*?\*/", re.S)
PROTOTYPE = re.compile(r"^(?P<result>\w+) k_(?P<name>\w+)\((?P<parameters>[^()]*)\);", re.M)


def kernel(found):
    """KERNEL(result, name, (parameters), (arguments), RETURN) from a prototype."""
    parameters = " ".join(found["parameters"].split())
    arguments = ", ".join(re.search(r"\w+$", parameter)[0] for parameter in parameters.split(", "))
    after = "" if found["result"] == "void" else "return"
    return f"KERNEL({found['result']}, {found['name']}, ({parameters}), ({arguments}), {after})\n"


def kernels(path, text):
    """A line for each prototype of a header. A function with a body (static inline) is no kernel."""
    text = COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text)
    found = list(PROTOTYPE.finditer(text))
    starts = {prototype.start() for prototype in found}
    for line in re.finditer(r"^(?!static|typedef|#).*\bk_\w+\(", text, re.M):
        if line.start() not in starts:
            refuse(path, text, line.start(), "expected `result k_name(parameters);` with a plain type as result")
    return "".join(map(kernel, found))


def write_kernels(folder, paths):
    pages = {}
    for path in paths:
        with open(path, encoding="utf-8") as source:
            pages[os.path.splitext(os.path.basename(path))[0]] = kernels(path, source.read())
    pages["kernels"] = "".join(pages.values()) + "#undef KERNEL\n"
    for name, page in pages.items():
        write(os.path.join(folder, name + ".def"), page)


# ---- the command line --------------------------------------------------------------------------------------------------

def write(path, page):
    """A file that would not change keeps its time, so that nothing is compiled again because of it."""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as old:
            if old.read() == page:
                return
    with open(path, "w", encoding="utf-8") as out:
        out.write(page)


def main(what="", *arguments):
    if what == "ops" and len(arguments) == 2:
        with open(arguments[0], encoding="utf-8") as source:
            write(arguments[1], header(arguments[0], source.read()))
    elif what == "kernels" and len(arguments) > 1:
        write_kernels(arguments[0], arguments[1:])
    else:
        sys.exit(__doc__)


main(*sys.argv[1:])
