#!/usr/bin/env python3
"""Writes the files that follow from the list of operations and from the declarations of kernels. They are files of the
sources: run this after a change of the list or of a declaration.

    headers.py ops OPS_DEF MORE_DEF OPS_H

OPS_H, the public header of the differentiable operations, from the list OPS_DEF (its form: see there). An entry gives a comment
and the prototype of ag_<name>. The comments between entries become headings. From MORE_DEF it has the operations IN_BOOK.

    headers.py more_ops MORE_DEF MORE_OPS_H

MORE_OPS_H, the public header of the other operations of MORE_DEF.

    headers.py entries OPS_DEF OP_ENTRIES_H

OP_ENTRIES_H, for ops/table.h, or ops/more/more_entries.h from more.def: the prototypes of the functions that the entries name,
and of each operation INPUTS_<name>, the names of its parameters that are tensors, and NUMBERS_<name>, the names of those that
are doubles; both end with NULL.

    headers.py kernels KERNELS_H KERNELS_DEF

KERNELS_DEF, one line KERNEL(...) for each kernel that the header declares. See there.

    headers.py same WHAT FROM... TO

Checks that TO is what the form `headers.py WHAT FROM... TO` writes.
"""
import collections
import os
import re
import sys
import textwrap

WIDTH, RULE = 128, 120      # the columns of a page, and of a heading

# ---- operations --------------------------------------------------------------------------------------------------------

# The operations of more.def that ops.h declares: without that folder the library computes them by others (ops/linear_loss.c).
IN_BOOK = {"linear_cross_entropy"}

OPS_TOP = """\
/* ops.h: the differentiable operations of kaeru. Written by autograd/headers.py from autograd/ops/ops.def and
 * autograd/ops/more/more.def; change these lists instead.
 *
 * y is what the operation returns, dy its gradient; dx is the gradient that an input x gets. Where inputs were
 * broadcast, gradients are summed down to each input's own shape.
 *
 * Tensors are AG_REAL, masks AG_BOOL, ids AG_INT. An operation changes none of its inputs. Its result belongs to the innermost
 * open scope, and has memory of its own, except that of reshape. The operation is recorded if the scope is AG_RECORD and an
 * input requires a gradient. A tensor of another type, and shapes that do not fit, are usage errors. More operations are in
 * more_ops.h. */
#ifndef KAERU_OPS_H
#define KAERU_OPS_H

#include "kaeru/tensor.h"

AG_PUBLIC_BEGIN
"""
OPS_END = """\
#include "kaeru/calls/ops.h"

AG_PUBLIC_END

#ifndef KAERU_INSIDE                    /* in earlier versions, this header had these, too */
#include "kaeru/more_ops.h"
#endif

#endif
"""
MORE_OPS_TOP = """\
/* more_ops.h: more differentiable operations: functions of a number, convolutions, choices, sums, copies, losses. Written by
 * autograd/headers.py from autograd/ops/more/more.def; change this list instead.
 *
 * ops.h says what all operations have in common. */
#ifndef KAERU_PUBLIC_MORE_OPS_H
#define KAERU_PUBLIC_MORE_OPS_H

#include "kaeru/shape.h"

AG_PUBLIC_BEGIN
"""
MORE_OPS_END = """\
#include "kaeru/calls/more_ops.h"

AG_PUBLIC_END

#endif
"""

TOKEN = re.compile(r'/\*(?P<comment>.*?)\*/|"(?P<text>(?:[^"\\]|\\.)*)"|(?P<word>\w+)|(?P<mark>[(),+*.=])'
                   r'|(?P<space>\s+|^\#[^\n]*)', re.S | re.M)


def read(path):
    with open(path, encoding="utf-8") as source:
        return source.read()


def refuse(path, text, at, what):
    sys.exit(f"{path}:{text.count(chr(10), 0, at) + 1}: {what}")


def tokens(path, text):
    """Yields (kind, value, place) and leaves white space and lines of the preprocessor out."""
    at = 0
    while at < len(text):
        found = TOKEN.match(text, at)
        if not found:
            refuse(path, text, at, f"unexpected character {text[at]!r}")
        if found.lastgroup != "space":
            yield found.lastgroup, found[found.lastgroup], at
        at = found.end()


def parts_of(path, text, stream):
    """Splits what stands between an entry's parentheses at its outer commas; each part is a list of tokens."""
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
            refuse(path, text, at, "expected (")
        parts[-1].append((kind, value))
    refuse(path, text, len(text), "the list ends inside an entry")


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
        wrapped += textwrap.wrap(line, WIDTH - 6, subsequent_indent="    ", break_long_words=False,
                                 break_on_hyphens=False, drop_whitespace=True)
    return "/* " + "\n * ".join(wrapped) + " */\n"


# parameters: C source; inputs, numbers: names of those that are Tensor * and double; rules: `backward` and `compute`, functions
# that the entry names.
Operation = collections.namedtuple("Operation", "name parameters inputs numbers forward backward notes rules")


def names_of_type(parameters, of_type):
    """The names of the parameters of one type."""
    return [parameter[len(of_type):] for parameter in parameters.split(", ")
            if parameter.startswith(of_type) and parameter[len(of_type):].isidentifier()]


# How many parts stand before the formulas; what the entry does not say: the parameters and the functions.
MACROS = {
    "OP": (2, "", []),
    "UNARY_OP": (2, "Tensor *x", ["unary_backward", "unary_values"]),
    "NUMBERS_OP": (3, "", ["unary_backward", "unary_values"]),
    "BINARY_OP": (3, "Tensor *a, Tensor *b", ["binary_backward", "binary_values"]),
}
FIELDS = {"backward", "compute", "needs"}           # that each OP must have; `compute` may be NULL


def operation(path, text, at, macro, parts):
    notes = " ".join(" ".join(value.split()) for part in parts for kind, value in part if kind == "comment")
    notes = re.sub(r" \* ", " ", notes).strip()
    parts = [[token for token in part if token[0] != "comment"] for part in parts]
    name = c_text(parts[0])
    before, parameters, rules = MACROS[macro]
    formulas, fields = parts[before:before + 2], parts[before + 2:]
    if len(formulas) != 2 or not all(part and all(kind == "text" for kind, _ in part) for part in formulas):
        refuse(path, text, at, f"{name}: expected two strings, the formulas of value and gradient")
    given = {part[1][1]: c_text(part[3:]) for part in fields if len(part) > 3 and (part[0][1], part[2][1]) == (".", "=")}
    if len(given) != len(fields) or (macro == "OP") != bool(fields) or fields and not FIELDS <= set(given):
        refuse(path, text, at, f"{name}: expected {', '.join('.' + field for field in sorted(FIELDS))} in each OP, "
                               "and nothing more in another entry")
    if not parameters:
        parameters = c_text(parts[1])[1:-1]
    if macro == "OP":
        rules = [given["backward"], given["compute"]]
    return Operation(name, parameters, names_of_type(parameters, "Tensor *"), names_of_type(parameters, "double "),
                     *("".join(value for _, value in part) for part in formulas), notes, rules)


def entries(path, text):
    """The list: its comments, except the first, as strings, and its operations."""
    names = set()
    stream = tokens(path, text)
    first = True
    for kind, value, at in stream:
        if kind == "comment":
            if not first:
                yield value
        elif kind == "word" and value in MACROS:
            entry = operation(path, text, at, value, parts_of(path, text, stream))
            if entry.name in names:
                refuse(path, text, at, f"{entry.name} is listed twice")
            names.add(entry.name)
            yield entry
        else:
            refuse(path, text, at, f"expected {', '.join(MACROS)} or a comment, found {value!r}")
        first = False


def heading(value):
    words = " ".join(line.strip().lstrip("*").strip() for line in value.strip().splitlines())
    start = f"/* ---- {words} "
    if len(start) + 7 > RULE:
        return comment([words])
    return start + "-" * (RULE - len(start) - 3) + " */\n"


def prototype(op):
    start = f"Tensor *ag_{op.name}("
    words = f"{op.parameters});".replace(" ", "\0").replace(",\0", ", ")       # no line breaks inside a parameter
    parameters = [line.replace("\0", " ") for line in textwrap.wrap(words, WIDTH - len(start), break_on_hyphens=False)]
    formulas = ["y = " + op.forward + (": " + op.notes if op.notes else ""), op.backward]
    if not op.notes and len(" ".join(formulas)) <= 80:          # short ones are on one line
        formulas = ["; ".join(formulas)]
    return comment(formulas) + start + ("\n" + " " * len(start)).join(parameters) + "\n"


def ops(book, more):
    in_book = [entry for entry in entries(*more) if isinstance(entry, Operation) and entry.name in IN_BOOK]
    return header(OPS_TOP, [*entries(*book), *in_book], OPS_END)


def more_ops(more):
    others = [entry for entry in entries(*more) if isinstance(entry, str) or entry.name not in IN_BOOK]
    return header(MORE_OPS_TOP, others, MORE_OPS_END)


def header(top, listed, end):
    pages = [heading(entry) if isinstance(entry, str) else prototype(entry) for entry in listed]
    return "\n".join([top, *pages, end])


def entries_page(one):
    path, text = one
    name, header = os.path.basename(path), {"ops.def": "op_entries.h"}.get(os.path.basename(path), "more_entries.h")
    page = f"/* {header}: what follows from the entries of {name}. Written by autograd/headers.py. */\n"
    operations = [entry for entry in entries(path, text) if isinstance(entry, Operation)]
    for i, parameters in enumerate(("Tensor *y", "Tensor *y, const OpCall *c")):
        functions = {op.rules[i] for op in operations} - {"NULL"}
        page += "".join(f"void {function}({parameters});\n" for function in sorted(functions))
    for op in operations:
        for what, names in (("INPUTS", op.inputs), ("NUMBERS", op.numbers)):
            items = ", ".join([f'"{name}"' for name in names] + ["NULL"])
            page += f"#define {what}_{op.name} (const char *const[]){{ {items} }}\n"
    return page


# ---- kernels -----------------------------------------------------------------------------------------------------------

COMMENT = re.compile(r"/\*.*?\*/", re.S)
FIRST = "/* ---- the kernels "                              # the heading of the declarations
DECLARATION = re.compile(r"^(?P<result>\w+) k_(?P<name>\w+)\((?P<parameters>[^()]*)\);\n", re.M)


def kernel(found):
    """KERNEL(result, name, (parameters), (arguments), RETURN) from a declaration."""
    parameters = " ".join(found["parameters"].split())
    arguments = ", ".join(re.search(r"\w+$", parameter)[0] for parameter in parameters.split(", "))
    after = "" if found["result"] == "void" else "return"
    entry = f"KERNEL({found['result']}, {found['name']}, ({parameters}), ({arguments}), {after})"
    breakable = re.sub(r"(?<!,) ", "\xa0", entry)          # only after a comma
    return textwrap.fill(breakable, 100, subsequent_indent=" " * 7).replace("\xa0", " ") + "\n"


def kernels(one):
    """A line for each declaration behind the heading, where nothing else stands."""
    path, text = one
    at = text.index(FIRST)
    declarations = COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text[at:text.rindex("#endif")])
    other = re.search(r"\S", DECLARATION.sub(lambda found: "\n" * found[0].count("\n"), declarations))
    if other:
        line = text.count("\n", 0, at) + declarations.count("\n", 0, other.start()) + 1
        sys.exit(f"{path}:{line}: expected `result k_name(parameters);` with a result of one word")
    lines = "".join(kernel(found) for found in DECLARATION.finditer(declarations))
    title = "/* kernels.def: the list of the kernels of kernels.h. Written by autograd/headers.py. */\n"
    return title + lines + "#undef KERNEL\n"


# ---- the command line --------------------------------------------------------------------------------------------------

PAGES = {"ops": ops, "more_ops": more_ops, "entries": entries_page, "kernels": kernels}


def main(what="", *paths):
    compares = what == "same" and len(paths) > 2
    if compares:
        what, paths = paths[0], paths[1:]
    if what not in PAGES or len(paths) != (3 if what == "ops" else 2):
        sys.exit(__doc__)
    *lists, out = paths
    page = PAGES[what](*((path, read(path)) for path in lists))
    if not compares:
        with open(out, "w", encoding="utf-8") as file:
            file.write(page)
    elif read(out) != page:
        command = f"python3 autograd/headers.py {what} {' '.join(paths)}"
        sys.exit(f"{out} is not what follows from {' '.join(lists)}: run `{command}`")


main(*sys.argv[1:])
