#!/usr/bin/env python3
"""Checks the includes of the library: test_book.py ROOT

The book is what lies directly in the folders of BOOK, the parts are the other folders. Proves that
  - no circle of includes goes through the book's files,
  - no file of the book includes a part's header, public or private,
  - no floor includes a higher one.
A file and its header are one: tape.c and tape.h.
"""
import collections
import os
import re
import sys

BOOK = ["autograd", "autograd/ops", "autograd/plain", "nn", "models"]
FLOORS = ["autograd", "nn", "models"]
BASE = ["autograd/shared", "autograd/system"]   # what the book, the parts and all floors use: neither
# Headers for programs, which include those of parts, too.
FOR_PROGRAMS = ["kaeru/graph.h", "kaeru/kaeru.h", "kaeru/translation.h"]
# The folder whose functions a public header declares, if it is not that of the header's floor.
DOORS = {
    "kaeru/lora.h": "models/lora", "kaeru/recurrent.h": "nn/more", "kaeru/parallel.h": "nn/parallel",
    "kaeru/mpi.h": "nn/mpi", "kaeru/tensor_files.h": "nn/files", "kaeru/checkpoint.h": "nn/files",
    "kaeru/options.h": "nn/options", "kaeru/settings.h": "nn/options", "kaeru/more_optim.h": "nn/more",
    "kaeru/image_layers.h": "nn/more", "kaeru/summary.h": "nn/more", "kaeru/frozen.h": "nn/more",
    "kaeru/llama.h": "models/llama", "kaeru/seq2seq.h": "models/seq2seq", "kaeru/text.h": "models/text",
    "kaeru/lm.h": "models/lm", "kaeru/training.h": "models/train", "kaeru/debug.h": "autograd/debug",
    "kaeru/print.h": "autograd/debug", "kaeru/custom.h": "autograd/more", "kaeru/grad.h": "autograd/more",
    "kaeru/watch.h": "autograd/more", "kaeru/batches.h": "autograd/more", "kaeru/gradient_arrays.h": "autograd/more",
    "kaeru/values.h": "autograd/more", "kaeru/more_functions.h": "autograd/ops/more", "kaeru/more_ops.h": "autograd/ops/more",
    "kaeru/higher.h": "autograd/higher",
    "kaeru/gpt_files.h": "models/files", "kaeru/transformer_files.h": "models/files",
    "kaeru/generate.h": "models/lm",
    "kaeru/watch.h": "autograd/more", "kaeru/gpt_files.h": "models/files", "kaeru/transformer_files.h": "models/files",
    "kaeru/generate.h": "models/lm", "kaeru/rms_norm.h": "nn/more", "kaeru/cache.h": "nn/more",
    "kaeru/clone.h": "nn/more", "kaeru/json.h": "nn/files",
}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)


def sources(root):
    """{path: text} of the library's files."""
    found = {}
    for floor in FLOORS:
        for folder, _, names in os.walk(os.path.join(root, floor)):
            for name in names:
                if name.endswith((".c", ".h", ".def")):
                    path = os.path.join(folder, name)
                    with open(path, encoding="utf-8") as file:
                        found[os.path.relpath(path, root)] = file.read()
    return found


def target(path, name, files):
    """The file that `path` includes by this name."""
    near = os.path.normpath(os.path.join(os.path.dirname(path), name))
    if near in files:
        return near
    fits = [file for file in files if file.endswith("/" + name) and ("/include/" in file) == name.startswith("kaeru/")]
    if name == "kaeru/version.h":               # the build makes it
        return None
    if len(fits) != 1:
        sys.exit(f"{path}: include of {name}: expected one file, found {fits}")
    return fits[0]


def arrows(files):
    """{path: the files that it includes}"""
    return {path: {target(path, name, files) for name in INCLUDE.findall(text)} - {None} for path, text in files.items()}


def folder_of(path):
    """The folder whose code a file belongs to: that of a public header is the door's or the floor's."""
    if "/include/" in path:
        floor, header = path.split("/include/")
        return DOORS.get(header, floor)
    return os.path.dirname(path)


def circle(includes):
    """A list of names that include each other, or None."""
    state, stack = {}, []

    def visit(name):
        state[name] = "open"
        stack.append(name)
        for other in sorted(includes[name]):
            if state.get(other) == "open":
                return stack[stack.index(other):] + [other]
            if other not in state:
                found = visit(other)
                if found:
                    return found
        stack.pop()
        state[name] = "done"
        return None

    for name in sorted(includes):
        if name not in state:
            found = visit(name)
            if found:
                return found
    return None


def main(root):
    files = sources(root)
    includes = arrows(files)
    in_book = [path for path in files if folder_of(path) in BOOK and "/include/" not in path]
    errors = []

    errors += [f"{path} includes {other}, which is for programs: expected the headers that it needs"
               for path in files if "/include/" not in path for other in includes[path]
               if other.split("/include/")[-1] in FOR_PROGRAMS]

    for path in in_book:
        for other in includes[path]:
            folder = folder_of(other)
            if folder not in BOOK + BASE:
                errors.append(f"{path} is of the book and includes {other}, of a part")

    # nn/mpi is built last, on all floors.
    for path, others in includes.items():
        if path.startswith("nn/mpi/"):
            continue
        floor = FLOORS.index(path.split("/")[0])
        errors += [f"{path} includes {other}, of a higher floor" for other in others
                   if FLOORS.index(other.split("/")[0]) > floor]

    # Lists that are included for their entries are no arrows.
    units = collections.defaultdict(set)
    for path in in_book:
        unit = os.path.splitext(path)[0]
        units[unit] |= {os.path.splitext(other)[0] for other in includes[path] if other in in_book and other.endswith(".h")}
        units[unit].discard(unit)
    found = circle(units)
    if found:
        errors.append("a circle of includes: " + " -> ".join(found))

    for error in errors:
        print("FAILED: " + error)
    print(f"book: {len(in_book)} files, {len(errors)} failed")
    return 1 if errors else 0


sys.exit(main(*sys.argv[1:]))
