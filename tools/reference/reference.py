#!/usr/bin/env python3
"""Writes the reference: HTML with a search that works from disk, and man pages.

    reference.py VERSION HTML_FOLDER MAN_FOLDER HEADER...
    reference.py --install HTML_FOLDER HTML_TARGET MAN_TARGET       for `meson install`

An entry is a paragraph of a header (read_headers.py). Beside its text stand
    - its formulas, typeset (formula.py);
    - the errors that tests/test_mistakes.c makes each function report;
    - its examples, EXAMPLE(name) { ... } in tools/reference/examples/*.c, and what they print, from the .txt beside them;
    - its names in PyTorch, from the tables of docs/pytorch.md.
The pages of docs/ are a part of it (markdown.py).
A function without text, and an operation or a layer without an example, are errors.
"""
import glob
import json
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import man
import markdown
import pages
import read_headers

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
DOCS = os.path.join(ROOT, "docs")
NEED_EXAMPLES = (*read_headers.OPERATIONS, "autograd.h", "more_functions.h")        # and every layer of nn/
# What holds everywhere stands once, in the index.
EVERYWHERE = re.compile(r"\bis NULL$|was freed|\bscope has ended|^\w+ is AG_\w+(, expected AG_\w+)?$|^no memory")
# A row may have only a part of a message. Shown is what can be understood.
SENTENCE = re.compile(r"\b(is|are|was|do|does|not|no|expected|differs?|has|have|must|cannot|there|needs?|beyond|than)\b")
PART = re.compile(r"^and | (for|of|in|is|at|to|but|than)$")
TAIL = re.compile(r"(do|does|is|are|was|has|expected) ")


def source(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def shown_error(message):
    """"" for one that holds everywhere, or that says nothing without the rest of the message."""
    tail = TAIL.match(message)
    if EVERYWHERE.search(message) or PART.search(message) or not SENTENCE.search(message):
        return ""
    return "" if len(message.split()) < (4 if tail else 3) else "... " * bool(tail) + message


def in_order(pages):
    """Each header after those that it includes."""
    names, done = {page.name for page in pages}, []
    while len(done) < len(pages):
        done.append(next(page for page in pages if page not in done
                         and not (page.includes & names) - {page.name for page in done}))
    return done


def missing_names():
    """PyTorch's names without one here, from the tables of docs/pytorch_names.md: rows of the search."""
    anchor = ""
    for line in source(DOCS, "pytorch_names.md").splitlines():
        if line.startswith("## "):
            anchor = markdown.anchor(line[3:])
        row = re.match(r"\| `([^`]*)` \| (.*) \|$", line)
        if row:
            instead = row[2].replace("`", "")
            yield from (["torch." + name, "pytorch_names.html#" + anchor, instead] for name in row[1].split(", "))


# ---- what stands beside an entry -------------------------------------------------------------------------------------

class Reference:
    """pages, and by the name of a function, type or constant: its entry. The lists examples, errors and torch are kept in each
    entry."""

    def __init__(self, paths):
        self.pages = in_order([read_headers.read(os.path.basename(path), re.search(r"(\w+)(/kernels|/mpi)?/include/kaeru/",
                                                                                   path)[1], source(path)) for path in paths])
        self.entry = {}
        for page in self.pages:
            for entry in page.entries:
                entry.examples, entry.errors, entry.torch = [], [], []
                for name in entry.functions + entry.types + entry.constants:
                    self.entry[name] = entry
        self.functions = {name for page in self.pages for entry in page.entries for name in entry.functions}
        self.types = {name for page in self.pages for entry in page.entries for name in entry.types}
        self.add_examples()
        self.add_errors()
        self.add_torch()
        self.missing = list(missing_names())
        self.check()

    def add_examples(self):
        for path in sorted(glob.glob(os.path.join(HERE, "examples", "*.c"))):
            printed = dict(re.findall(r"^==== (\w+)\n(.*?)(?=^==== |\Z)", source(path[:-2] + ".txt"), re.M | re.S))
            for name, body in re.findall(r"^    EXAMPLE\((\w+)\)\s*\{\n(.*?)^    \}$", source(path), re.M | re.S):
                if name not in self.entry:
                    sys.exit(f"{path}: EXAMPLE({name}): no header declares this name")
                if name not in printed:
                    sys.exit(f"{path[:-2]}.txt: what EXAMPLE({name}) prints is missing")
                self.entry[name].examples.append((read_headers.narrow(re.sub(r"^ {8}", "", body, flags=re.M).rstrip()),
                                                  printed[name].rstrip("\n")))

    def add_errors(self):
        """Rows MISTAKE("part of the message", call) and REFUSED(...): each belongs to the outermost function of its last
        statement."""
        text = source(ROOT, "tests", "test_mistakes.c")
        for row in re.finditer(r'^    (MISTAKE|REFUSED)\(((?:\s*"(?:[^"\\]|\\.)*")+),', text, re.M):
            message = json.loads('"' + "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', row[2])) + '"')
            end, depth = row.end(), 1
            while depth > 0:
                depth += {"(": 1, ")": -1}.get(text[end], 0)
                end += 1
            last = [part for part in text[row.end():end - 1].split(";") if part.strip()][-1]
            called = next((name for name in re.findall(r"\b(\w+)\(", last) if name in self.functions), None)
            message = shown_error(re.sub(r"^\w+: ", "", message))
            if called and message and (row[1] == "REFUSED", message) not in self.entry[called].errors:
                self.entry[called].errors.append((row[1] == "REFUSED", message))

    def add_torch(self):
        """Rows | PyTorch's name | kaeru's names | what differs | of docs/pytorch.md."""
        for number, line in enumerate(source(DOCS, "pytorch.md").splitlines(), 1):
            row = re.match(r"\| `([^`]*)` \| (.*?) \| (.*?) ?\|$", line)
            if not row:
                continue
            words = [re.match(r"\w+", name)[0] for name in re.findall(r"`([^`]*)`", row[2])]
            for word in words:
                if word not in self.entry:
                    sys.exit(f"docs/pytorch.md:{number}: no header declares {word}")
            for entry in dict.fromkeys(self.entry[word] for word in words):
                entry.torch.append((row[1], row[3]))

    def check(self):
        for page in self.pages:
            for entry in page.entries:
                text = any(" ".join(piece.comment).strip() for piece in entry.pieces)
                if entry.functions and not (text or entry.section.comment or any(d.remark for d in entry.declarations())):
                    sys.exit(f"{page.name}: {entry.anchor} has no comment")
                layer = page.folder == "nn" and entry.is_layer and entry.functions
                if (layer or page.name in NEED_EXAMPLES) and entry.functions and not entry.examples:
                    sys.exit(f"{page.name}: {entry.anchor}: no EXAMPLE in tools/reference/examples/*.c")


# ---- files -----------------------------------------------------------------------------------------------------------

def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
        out.write(text)


def make(version, to_html, to_man, headers):
    reference = Reference(headers)
    for folder in (to_html, to_man):
        os.makedirs(folder, exist_ok=True)
        for name in os.listdir(folder):             # of entries that exist no longer
            if name.endswith((".html", ".png", ".3")):
                os.remove(os.path.join(folder, name))
    texts = {}
    for path in sorted(glob.glob(os.path.join(DOCS, "*.md")) + glob.glob(os.path.join(DOCS, "ja", "*.md"))):
        name = os.path.relpath(path, DOCS)[:-3].replace(os.sep, ".")
        texts[path] = markdown.Page(path, name)
        for picture in texts[path].pictures:
            shutil.copyfile(picture, os.path.join(to_html, os.path.basename(picture)))
    writer = pages.Html(reference, version, texts)
    for text in texts.values():
        write(to_html, text.name + ".html", writer.text_page(text))
    for page in reference.pages:
        if page.entries:
            write(to_html, page.stem + ".html", writer.header_page(page))
            for entry in page.entries:
                if entry.functions:
                    first, *others = entry.functions
                    write(to_man, first + ".3", man.page(entry, version))
                    for name in others:
                        write(to_man, name + ".3", f".so man3/{first}.3\n")
    write(to_html, "index.html", writer.index())
    write(to_html, "index.js", writer.search_index())
    for name in ("style.css", "search.js"):
        shutil.copyfile(os.path.join(HERE, name), os.path.join(to_html, name))
    os.utime(to_html)                               # for ninja, to which this folder is the output


def install(made, *folders):
    """Copies what was made to the folders of `meson install`, relative to the prefix: HTML, man pages."""
    prefix = os.environ["MESON_INSTALL_DESTDIR_PREFIX"]
    for ending, made_in, folder in zip((".3", ""), (os.path.join(made, "man3"), made), reversed(folders)):
        os.makedirs(os.path.join(prefix, folder), exist_ok=True)
        for name in os.listdir(made_in):
            if name.endswith(ending) and os.path.isfile(os.path.join(made_in, name)):
                shutil.copyfile(os.path.join(made_in, name), os.path.join(prefix, folder, name))


def main():
    if len(sys.argv) == 5 and sys.argv[1] == "--install":
        install(*sys.argv[2:])
    elif len(sys.argv) > 4:
        make(*sys.argv[1:4], sys.argv[4:])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
