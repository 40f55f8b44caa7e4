#!/usr/bin/env python3
"""Writes ops.h, the prototypes of all differentiable operations, from the list in ops.def.

    headers.py OPS_DEF OPS_H

A line OP(name, (parameters), NEEDS, "forward", "backward") becomes a comment with the two formulas, the prototype of
ag_<name>_at and the macro ag_<name> that passes the caller's line along. Comments of the list, but for the one at its
top, are carried over as headings.
"""
import re
import sys
import textwrap

WIDTH = 120

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


def arguments(path, text, stream):
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
            name, page = operation(path, text, at, arguments(path, text, stream))
            if name in names:
                refuse(path, text, at, f"{name} is listed twice")
            names.add(name)
            pages.append(page)
        else:
            refuse(path, text, at, f"expected OP(...) or a comment, found {value!r}")
        first = False
    pages.append("#endif\n")
    return "\n".join(pages)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as source:
        page = header(sys.argv[1], source.read())
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        out.write(page)


main()
