"""Reads a public header as a page of the reference.

An entry is a paragraph of the header: comments and declarations without an empty line between them. Its text is that of the
comments. A comment that begins with "----" starts a section. Of #if and #else the part after #else is read.
"""
import re
import textwrap

OPERATIONS = ("ops.h", "more_ops.h")                # headers that are made of a list of operations


class Declaration:
    """text: C source; names: the functions, macros, types and constants that it declares; remark: the comment behind it."""

    def __init__(self, text, functions, types, constants):
        self.text, self.functions, self.types, self.constants, self.remark = text, functions, types, constants, ""
        self.is_layer = re.search(r"\{\s*Module module;", text) is not None


class Piece:
    """A comment, as lines, and the declarations that follow it."""

    def __init__(self, comment):
        self.comment, self.declarations = comment, []


class Entry:
    """functions: a layer comes before its constructors, a function before constants."""

    def __init__(self, page, section):
        self.page, self.section, self.pieces = page, section, []

    def declarations(self):
        return [d for piece in self.pieces for d in piece.declarations]

    def names(self, kind):
        found = []
        for declaration in self.declarations():
            found += [name for name in getattr(declaration, kind) if name not in found]
        return found

    functions = property(lambda self: sorted(self.names("functions"), key=lambda name: "_new" in name or name.isupper()))
    types = property(lambda self: self.names("types"))
    constants = property(lambda self: self.names("constants"))
    anchor = property(lambda self: (self.functions + self.types + self.constants)[0])
    is_layer = property(lambda self: any(d.is_layer for d in self.declarations()))


class Section:
    def __init__(self, title, comment):
        self.title, self.comment, self.entries = title, comment, []


class Page:
    """name: "tensor.h"; title: the first sentence of its first comment; comment: the rest of it, as lines."""

    def __init__(self, name, folder, title, comment):
        self.name, self.folder, self.title, self.comment = name, folder, title, comment
        self.stem = name[:-2]
        self.sections, self.includes = [Section("", [])], set()

    entries = property(lambda self: [entry for section in self.sections for entry in section.entries])


# ---- the lines of a header -------------------------------------------------------------------------------------------

ITEM = re.compile(r"(?P<comment>/\*.*?\*/)|(?P<define>\#define\b(?:\\\n|[^\n])*)|(?P<directive>\#(?:\\\n|[^\n])*)"
                  r"|(?P<empty>\n[ \t]*(?=\n))|(?P<space>\s+)|(?P<code>[^\s])", re.S)


def without_alternatives(text):
    """Of #if ... #else ... #endif only what follows #else, except for the include guard."""
    out, kept = [], []                              # kept: of each open #if, whether its lines are read
    for line in text.splitlines():
        word = re.match(r"#\s*(\w+)", line)
        if word and word[1] in ("if", "ifdef", "ifndef"):
            kept.append(word[1] == "ifndef")
        elif word and word[1] in ("else", "elif"):
            kept[-1] = not kept[-1]
        elif word and word[1] == "endif":
            kept.pop()
        elif all(kept):
            out.append(line)
    return "\n".join(out)


def comment_lines(text):
    lines = text[2:-2].split("\n")
    return [lines[0].strip()] + [re.sub(r"^\s*\* ?", "", line).rstrip() for line in lines[1:]]


NO_DECLARATION = re.compile(r"AG_PUBLIC_(?:BEGIN|END)")


def end_of_code(text, at):
    """The end of the declaration that starts at `at`: behind its ; or a macro that is no declaration; of an inline function, behind
    its body."""
    outer = NO_DECLARATION.match(text, at)
    if outer:
        return outer.end()
    if text.startswith("static inline", at):
        return text.index("\n}", at) + 2
    depth = 0
    while at < len(text):
        if text.startswith("/*", at):
            at = text.index("*/", at) + 1
        elif text[at] in "({":
            depth += 1
        elif text[at] in ")}":
            depth -= 1
        elif text[at] == ";" and depth == 0:
            return at + 1
        at += 1
    raise ValueError("a declaration without end")


# ---- declarations ----------------------------------------------------------------------------------------------------

WIDTH, CODE_WIDTH = 73, 68                          # of declarations and of examples, so that a man page has 80 columns


def plain(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def outside_parentheses(text):
    """The text with what is in parentheses or braces left out; their marks stay."""
    out, depth = "", 0
    for character in text:
        depth -= character in ")}"
        if depth == 0:
            out += character
        depth += character in "({"
    return out


def wrapped(prototype):
    """One line, or as many as fit, each parameter below the first."""
    if len(prototype) <= WIDTH:
        return prototype
    head, parameters = prototype.split("(", 1)
    lines, indent = [head + "("], " " * min(len(head) + 1, 16)
    for parameter in re.split(r"(?<=,) ", parameters):
        if len(lines[-1]) + len(parameter) + 1 > WIDTH:
            lines.append(indent + parameter)
        else:
            lines[-1] += parameter if lines[-1].endswith("(") else " " + parameter
    return "\n".join(lines)


def members(text):
    """A struct or enum with its comments beside the members or, where that is too wide, above them."""
    if "/*" not in text and max(map(len, text.splitlines())) <= WIDTH:
        return text
    line = re.fullmatch(r"(typedef struct \{) ([^{}]*;) (\} \w+;)", text)
    if line:
        return "\n".join([line[1], *("    " + member for member in re.findall(r"\S[^;]*;", line[2])), line[3]])
    out = []
    for code, comment in re.findall(r"([^\n]*?)[ ]*(?:/\*(.*?)\*/[ ]*)?(?:\n|$)", re.sub(
            r"/\*.*?\*/", lambda found: re.sub(r"\s*\n\s*\*?\s*", " ", found[0]), text, flags=re.S)):
        code, comment = code.rstrip(), re.sub(r"\s{3,}", "   ", comment.strip())
        indent = re.match(" *", code)[0] if code else "    "
        if comment and code.strip() and len(code) + len(comment) + 8 <= WIDTH:
            out.append(f"{code}  /* {comment} */")
            continue
        if comment:
            lines = textwrap.wrap(comment, WIDTH - len(indent) - 6, break_on_hyphens=False)
            out.append(f"{indent}/* " + f"\n{indent} * ".join(lines) + " */")
        if code.strip():
            out.append(code)
    return "\n".join(out)


def declaration(text):
    """None for what is no interface: where it begins and ends, and the include guard."""
    if NO_DECLARATION.match(text):
        return None
    if text.startswith("#"):
        return macro(text)
    bare, functions, types, constants = plain(text), [], [], []
    if bare.startswith("typedef") or re.match(r"(struct|enum)\b", bare):
        outside = outside_parentheses(bare)
        if re.match(r"typedef\b.*\w\s*\(\s*\)\s*;$", outside, re.S):
            types = re.findall(r"(\w+)\s*\(\)\s*;$", outside)
        elif bare.startswith("typedef"):
            types = re.findall(r"(\w+)\s*;$", outside)
        else:
            types = re.findall(r"^struct (\w+)", bare)
        enum = re.search(r"\benum\b\s*\w*\s*\{(.*)\}", bare, re.S)
        if enum:
            constants = [item.split("=")[0].strip() for item in enum[1].split(",") if item.strip()]
        return Declaration(members(text), functions, types, constants)
    if bare.startswith("extern const"):
        return Declaration(text, [], [], [re.search(r"(\w+);", bare)[1]])
    text = re.sub(r"^static inline (.*) \{.*", r"\1;", " ".join(bare.split()))
    text = re.sub(r"\s*\bAG_PRINTF\(\w+, \w+\)|\s*\bAG_MUST_CHECK\b|\b_Noreturn |\bAG_NORETURN ", "", text)
    text = re.sub(r"\bconst char text\[", "char text[", text)
    functions = [name for name in re.findall(r"\(?\b(\w+)\)?\(\)", outside_parentheses(text))]
    functions += [name for name in re.findall(r" \((\w+)\)\(", text) if name not in functions]
    return Declaration(wrapped(text), functions, types, constants)


def macro(text):
    text = re.sub(r"\s*\\\n\s*", " ", plain(text)).rstrip()
    found = re.match(r"#define\s+(\w+)(\([^)]*\))?\s*(.*)$", text)
    name, parameters, body = found[1], found[2] or "", found[3]
    if not body or re.fullmatch(r"\w+_H", name):
        return None
    shown = f"#define {name}{parameters}"
    if len(shown) + len(body) < 110 and not re.search(r"sizeof|__attribute__|\(void \*\*\)", body):
        short = f"{shown} {body}"
        shown = short if len(short) <= WIDTH else f"{shown} \\\n    {body}"
    is_constant = name.isupper() and not parameters
    return Declaration(shown, [] if is_constant else [name], [], [name] if is_constant else [])


# ---- the page --------------------------------------------------------------------------------------------------------

def section_of(lines):
    title = re.match(r"-+ ?(.*?) ?-*$", lines[0])[1]
    return Section(title[:1].upper() + title[1:], lines[1:])


class Reader:
    def __init__(self, page):
        self.page, self.entry = page, None

    def piece(self, comment):
        if not self.entry:
            section = self.page.sections[-1]
            self.entry = Entry(self.page, section)
            section.entries.append(self.entry)
        if comment or not self.entry.pieces:
            self.entry.pieces.append(Piece(comment))
        return self.entry.pieces[-1]

    def end(self):
        """An entry that declares nothing is text of its section; in a header of OPERATIONS it is the title of one."""
        if self.entry and not self.entry.declarations():
            self.page.sections[-1].entries.pop()
            lines = [line for piece in self.entry.pieces for line in piece.comment]
            if self.page.name in OPERATIONS:
                self.page.sections.append(self.list_heading(" ".join(lines)))
            elif lines:
                self.page.sections[-1].comment += ["", *lines]
        self.entry = None

    @staticmethod
    def list_heading(text):
        title, _, rest = " ".join(text.split()).partition(": ")
        return Section(title[:1].upper() + title[1:], [rest] if rest else [])

    def comment(self, text, behind):
        lines = comment_lines(text)
        if behind:
            self.entry.declarations()[-1].remark = " ".join(lines)
        elif lines[0].startswith("----"):
            self.end()
            section = section_of(lines)
            if self.page.name in OPERATIONS:
                section = self.list_heading(section.title)
            self.page.sections.append(section)
        else:
            self.piece(lines)

    def declaration(self, text):
        found = declaration(text)
        if found:
            self.piece([]).declarations.append(found)


def read(name, folder, text):
    first = ITEM.match(text)
    lines = comment_lines(first["comment"])
    whole = " ".join(lines)
    title = re.match(rf"{re.escape(name)}: (.*?(?<!et al)\.)(?= |$)", whole)[1]
    rest, said = [], ""
    for i, line in enumerate(lines):                # the comment without its title, which may have more than one line
        said = (said + " " + line).strip()
        if len(said) >= len(name) + 2 + len(title):
            rest = [said[len(name) + 2 + len(title):].strip()] + lines[i + 1:]
            break
    page = Page(name, folder, title, rest)
    text = re.sub(r"#ifndef KAERU_INSIDE.*?#endif", "", text[first.end():], flags=re.S)         # includes for old programs
    text = without_alternatives(text)
    reader, at, line_has_code = Reader(page), 0, False
    while at < len(text):
        item = ITEM.match(text, at)
        kind, end = item.lastgroup, item.end()
        if kind == "code":
            end = end_of_code(text, at)
            reader.declaration(text[at:end])
            line_has_code = True
        elif kind == "define":
            remark = re.search(r"/\*.*\*/\s*$", item[0])
            reader.declaration(item[0])
            if remark and reader.entry:
                reader.comment(remark[0].strip(), True)
        elif kind == "comment":
            reader.comment(item[0], line_has_code and reader.entry and reader.entry.declarations())
        elif kind == "empty":
            reader.end()
            line_has_code = False
        elif "\n" in item[0]:
            line_has_code = False
        at = end
    reader.end()
    page.includes = set(re.findall(r'#include "kaeru/(\w+\.h)"', text))
    page.sections = [s for s in page.sections if s.entries or s.comment]
    return page


# ---- the text of an entry ---------------------------------------------------------------------------------------------

def blocks(lines):
    """Splits a comment into ("text", string) and ("lines", [string]), which are indented in the comment."""
    found = []
    for line in lines:
        indented = line.startswith("    ") and line.strip()
        if not line.strip():
            found.append(("", ""))
        elif indented:
            if found and found[-1][0] == "lines":
                found[-1][1].append(line)
            elif len(found) > 1 and found[-1][0] == "" and found[-2][0] == "lines":
                found.pop()
                found[-1][1].extend(["", line])
            else:
                found.append(("lines", [line]))
        elif found and found[-1][0] == "text":
            found[-1] = ("text", found[-1][1] + " " + line.strip())
        else:
            found.append(("text", line.strip()))
    out = []
    for kind, value in found:
        if kind == "lines":
            least = min(len(line) - len(line.lstrip()) for line in value if line)
            value = [line[least:] for line in value]
        if kind:
            out.append((kind, value))
    return out


def operation_texts(piece):
    """Of an operation: the formula, what follows its colon, the rule of the gradient. Continued lines are indented."""
    whole = []
    for line in piece.comment:
        if line.startswith("    "):
            whole[-1] += " " + line.strip()
        else:
            whole.append(line)
    if len(whole) == 1:                                             # without notes: y = FORMULA; RULE
        whole = whole[0].split("; ", 1)
    forward, _, notes = whole[0].partition(": ")
    return forward.strip(), notes.strip(), whole[1].strip()


def first_sentence(text):
    found = re.match(r"(.*?(?<!et al)(?<!e\.g)[.:;])(?= |$)", text)
    return (found[1] if found else text).rstrip(".:;")


def summary(entry):
    """One line for lists."""
    if entry.page.name in OPERATIONS:
        return operation_texts(entry.pieces[0])[0]
    for piece in entry.pieces:
        texts = [value for kind, value in blocks(piece.comment) if kind == "text"]
        if texts:
            return first_sentence(texts[0])
    remarks = [d.remark for d in entry.declarations() if d.remark]
    return first_sentence(remarks[0] if remarks else entry.section.title)


def notes_of(entry):
    """What holds for the operations of the section, and the notes of this one, as clauses. A clause of the section that names
    some of its operations is about these alone."""
    others = {name.removeprefix("ag_") for other in entry.section.entries for name in other.functions}
    own = {name.removeprefix("ag_") for name in entry.functions}
    clauses = [part for text in entry.section.comment for part in text.split("; ") if part]
    about = [(part, set(re.findall(r"\w+", part)) & others) for part in clauses]
    return [part for part, named in about if not named or named & own] + [
        part for part in operation_texts(entry.pieces[0])[1].split("; ") if part]


def is_table(lines):
    """Whether indented lines are columns, such as formulas with what they mean, and no source."""
    columns = sum(re.search(r"\S {3,}\S", line) is not None for line in lines)
    return columns * 2 >= sum(map(bool, lines)) and not any(re.search(r"[;{}]|/\*", line) for line in lines)


def with_remarks(lines):
    """C source in a comment: what stands behind a line, at some distance, is a remark."""
    return "\n".join(re.sub(r"^(.*?\S) {3,}(?!/[*/])(\S.*)$", r"\1   /* \2 */", line) for line in lines)


def narrow(code):
    """Where a remark behind a line makes it too wide, it goes above. A line that is too wide itself continues on the next."""
    out = []
    for line in code.splitlines():
        found = re.match(r"( *)(\S.*?) +(/\*.*\*/)$", line)
        if found and len(found[1] + found[2] + found[3]) + 2 > CODE_WIDTH:
            out.append(found[1] + found[3])
            line = found[1] + found[2]
        elif found:
            line = f"{found[1]}{found[2]}  {found[3]}"
        indent = " " * (len(line) - len(line.lstrip()) + 8)
        while len(line) > CODE_WIDTH:
            gaps = [gap.start() + 1 for gap in re.finditer(r'(?:,|&&|\)) (?=(?:[^"]*"[^"]*")*[^"]*$)', line)
                    if len(indent) < gap.start() < CODE_WIDTH]
            if not gaps:
                break
            gaps = [gap for gap in gaps if gap > CODE_WIDTH // 3] or gaps
            gap = min(gaps, key=lambda at: (sum(map(line[:at].count, "({")) - sum(map(line[:at].count, ")}")), -at))
            out.append(line[:gap].rstrip())
            line = indent + line[gap:].strip()
        out.append(line)
    return "\n".join(out)
