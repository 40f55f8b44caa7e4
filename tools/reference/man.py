"""An entry of the reference as a man page."""
import re

from read_headers import OPERATIONS, blocks, is_table, narrow, notes_of, operation_texts, summary, with_remarks


def escape(text):
    return text.replace("\\", "\\e").replace("`", "")


def line_of(text):
    """A line of text that begins with no request."""
    text = escape(text)
    return "\\&" + text if text[:1] in ".'" else text


def fill(text):
    """Text as troff wants it: one sentence a line."""
    return "\n".join(line_of(s) for s in re.split(r"(?<=[.:;]) (?=[A-Z(])", " ".join(text.split())) if s)


def source(lines):
    return ".PP\n.in +4n\n.EX\n" + "\n".join(line_of(line).replace("-", "\\-") for line in lines) + "\n.EE\n.in\n"


def text(lines):
    out = ""
    for kind, value in blocks(lines):
        if kind == "text":
            out += f".PP\n{fill(value)}\n"
        elif is_table(value):
            out += source([re.sub(r"(?<=\S) {3,}", "   ", line) for line in value])
        else:
            out += source(narrow(with_remarks(value)).splitlines())
    return out


def prototype(declaration):
    lines = []
    for line in declaration.text.splitlines():
        line = escape(line).replace("-", "\\-")
        if declaration.functions and not line.startswith("#"):
            line = re.sub(r"(\w+)(\[\w*\])?(?=[,)])", r"\\fI\1\\fP\2", line)
        lines.append("\\&" + line if line[:1] in ".'" else line)
    return "\n".join(lines)


def bullet(item):
    return f".IP \\(bu 2\n{line_of(item)}\n"


def without_links(text):
    return re.sub(r"\[([^]]+)\]\([^)]+\)", r"see the page \1", text)


def listed(title, items):
    return (f".SH {title}\n" if items else "") + "".join(map(bullet, items))


def description(entry):
    if entry.page.name in OPERATIONS:
        forward, _, backward = operation_texts(entry.pieces[0])
        out = f".PP\n{line_of(forward)}\n.PP\nGradient: {line_of(backward)}\n"
        return out + "".join(bullet(note) for note in notes_of(entry))
    out = ""
    for number, piece in enumerate(entry.pieces):
        names = [name for d in piece.declarations for name in d.functions]
        body = text(piece.comment)
        if number > 0 and names and body:
            body = ".TP 4\n.BR " + " (),\n.BR ".join(names) + " ()\n" + re.sub(r"^\.PP\n", "", body).replace(".PP\n", ".IP\n")
        out += body
        for d in piece.declarations:
            if d.remark:
                out += f".TP 4\n.B {', '.join(d.functions or d.types or d.constants)}\n{fill(d.remark)}\n"
    return out


def related(entry):
    """The other functions of its section, for SEE ALSO."""
    names = [name for other in entry.section.entries if other is not entry for name in other.functions[:1]]
    return ",\n".join(f".BR {name} (3)" for name in names[:12]).replace("(3),\n", "(3),\n")


def page(entry, version):
    names = entry.functions
    what = re.sub(r"\s+", " ", summary(entry))
    out = (f'.TH {names[0]} 3 "" "kaeru {version}" "kaeru reference"\n.ad l\n.nh\n'
           f".SH NAME\n{', '.join(names)} \\- {escape(what)}\n.SH SYNOPSIS\n.nf\n#include <kaeru/{entry.page.name}>\n.PP\n"
           + "\n".join(prototype(d) for d in entry.declarations()) + "\n.fi\n.SH DESCRIPTION\n" + description(entry).replace(
               ".PP\n", "", 1))
    if not description(entry):
        out += text(entry.section.comment).replace(".PP\n", "", 1)
    out += listed("ERRORS", [("Usage error: " if not refused else "False or NULL: ") + message
                             for refused, message in entry.errors[:12]])
    if entry.torch:
        out += listed("PYTORCH", [theirs + (differs and ": " + without_links(differs)) for theirs, differs in entry.torch])
    for number, (code, printed) in enumerate(entry.examples):
        out += ".SH EXAMPLE\n" if number == 0 else ".PP\n"
        out += source(code.splitlines()).replace(".PP\n", "", 1)
        out += f".PP\nprints\n{source(printed.splitlines())}" if printed else ""
    see = related(entry)
    return out + (f".SH SEE ALSO\n{see}\n" if see else "")
