#!/usr/bin/env python3
"""Writes the headers that follow from lists and from prototypes.

    headers.py ops OPS_DEF OPS_H

OPS_H, the prototypes of all differentiable operations, from the list OPS_DEF: an entry OP(name, (parameters), NEEDS,
"forward", "backward") gives a comment with the two formulas, the prototype of ag_<name>_at and the macro ag_<name> that
passes the caller's line along. The comments of the list, except the first, become headings.

    headers.py parameters OPS_DEF OP_PARAMETERS_H

OP_PARAMETERS_H, for the table of operations in ops/table.c: of each operation <name>_inputs, the names of its parameters that
are tensors, and <name>_numbers, the names of those that are doubles; both end with NULL.

    headers.py kernels KERNELS_H KERNELS_DEF

KERNELS_DEF, one line KERNEL(...) for each prototype of KERNELS_H. See there.
"""
import collections
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
 * broadcast, gradients are summed down to each input's own shape.
 *
 * Tensors are AG_REAL, masks AG_BOOL, ids AG_INT. An operation changes none of its inputs. Its result belongs to the innermost
 * open scope, and has memory of its own, except that of reshape. The operation is recorded if the scope is AG_RECORD and an
 * input requires a gradient. A tensor of another type, and shapes that do not fit, are usage errors. */
#ifndef KAERU_OPS_H
#define KAERU_OPS_H

#include "kaeru/tensor.h"

AG_PUBLIC_BEGIN
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


# An entry of the list. parameters: C source; inputs, numbers: names of those that are Tensor * and double.
Operation = collections.namedtuple("Operation", "name parameters inputs numbers forward backward")


def names_of_type(parameters, *of_type):
    """The names of the parameters of one type, from the tokens between the parentheses."""
    names, parameter = [], []
    for _, value in parameters + [("mark", ",")]:
        if value != ",":
            parameter.append(value)
            continue
        if parameter[:-1] == list(of_type):
            names.append(parameter[-1])
        parameter = []
    return names


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
    if parameters[:1] != [("mark", "(")] or parameters[-1:] != [("mark", ")")]:
        refuse(path, text, at, f"{name}: the second part of an OP is its parameters in parentheses")
    parameters = parameters[1:-1]
    return Operation(name, c_text(parameters), names_of_type(parameters, "Tensor", "*"),
                     names_of_type(parameters, "double"),
                     *("".join(value for _, value in part) for part in (forward, backward)))


def entries(path, text):
    """The list: its comments, except the first, as strings, and its operations."""
    names = set()
    stream = tokens(path, text)
    first = True
    for kind, value, at in stream:
        if kind == "comment":
            if not first:
                yield value
        elif (kind, value) == ("word", "OP"):
            entry = operation(path, text, at, parts_of(path, text, stream))
            if entry.name in names:
                refuse(path, text, at, f"{entry.name} is listed twice")
            names.add(entry.name)
            yield entry
        else:
            refuse(path, text, at, f"expected OP(...) or a comment, found {value!r}")
        first = False


def heading(value):
    words = " ".join(line.strip().lstrip("*").strip() for line in value.strip().splitlines())
    start = f"/* ---- {words} "
    if len(start) + 7 > WIDTH:
        return comment([words])
    return start + "-" * (WIDTH - len(start) - 3) + " */\n"


def prototype(op):
    return (comment(["y = " + op.forward, op.backward]) +
            f"Tensor *ag_{op.name}_at(AgSite at, {op.parameters});\n"
            f"#define ag_{op.name}(...) ag_{op.name}_at(AG_HERE, __VA_ARGS__)\n")


def ops(path, text):
    pages = [heading(entry) if isinstance(entry, str) else prototype(entry) for entry in entries(path, text)]
    return "\n".join([TOP, *pages, "AG_PUBLIC_END\n#endif\n"])


def parameters_page(path, text):
    page = "/* op_parameters.h: the names of each operation's parameters. Written by the build from ops.def. */\n"
    for op in entries(path, text):
        if isinstance(op, Operation):
            for what, names in (("inputs", op.inputs), ("numbers", op.numbers)):
                items = ", ".join([f'"{name}"' for name in names] + ["NULL"])
                page += f"static const char *const {op.name}_{what}[] = {{ {items} }};\n"
    return page


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
    """A line for each prototype of kernels.h. A function with a body (static inline) is no kernel."""
    text = COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text)
    found = list(PROTOTYPE.finditer(text))
    starts = {prototype.start() for prototype in found}
    for line in re.finditer(r"^(?!static|typedef|#).*\bk_\w+\(", text, re.M):
        if line.start() not in starts:
            refuse(path, text, line.start(), "expected `result k_name(parameters);` with a plain type as result")
    return "".join(map(kernel, found)) + "#undef KERNEL\n"


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
    lists = {"ops": ops, "parameters": parameters_page, "kernels": kernels}
    if what in lists and len(arguments) == 2:
        with open(arguments[0], encoding="utf-8") as source:
            write(arguments[1], lists[what](arguments[0], source.read()))
    else:
        sys.exit(__doc__)


main(*sys.argv[1:])
