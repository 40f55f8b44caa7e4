"""The reference as HTML: one page a header, the pages of docs/, an index, and the search's index."""
import html
import json
import re

import formula
import markdown
from read_headers import OPERATIONS, blocks, is_table, narrow, notes_of, operation_texts, summary, with_remarks

class Html:
    def __init__(self, reference, version, texts):
        self.reference, self.version, self.texts = reference, version, texts
        self.markdown = markdown.Writer(self.words, self.code, texts)
        self.stems = {page.name: page.stem for page in reference.pages if page.entries}

    def link(self, name, text=None):
        entry = self.reference.entry[name]
        return f'<a href="{entry.page.stem}.html#{name}">{text or name}</a>'

    def words(self, text):
        """Text without formulas: names become links."""
        def named(found):
            word = found[0]
            if found["header"]:
                return f'<a href="{self.stems[word]}.html">{word}</a>' if word in self.stems else word
            if word in self.reference.functions and ("_" in word or text[found.end():found.end() + 1] == "("):
                return self.link(word)
            camel = len(re.findall("[A-Z]", word)) > 1 and not word.isupper()
            if word in self.reference.types and camel or word in self.reference.entry and "_" in word:
                return self.link(word)
            return word
        text = html.escape(text, quote=False).replace(" -&gt; ", " → ")
        return re.sub(r"(?P<header>\b\w+\.h\b)|\b[A-Za-z]\w*\b", named, text)

    def prose(self, text, names=(), every=False):
        parts = re.split(r"`([^`]*)`", text)
        return "".join(f"<code>{self.words(part)}</code>" if i % 2 else formula.typeset(part, names, every, self.words)
                       for i, part in enumerate(parts))

    def code(self, text):
        """C source: names of other entries become links, comments are marked."""
        text = html.escape(text, quote=False)
        known = self.reference.entry
        text = re.sub(r"(?<![\w&.\"])[A-Za-z_]\w*(?![\w;]*&)(?!\.h)", lambda found: self.link(found[0])
                      if found[0] in known and (found[0] in self.reference.types or "_" in found[0]
                                                or text[found.end():found.end() + 1] == "(") else found[0], text)
        return re.sub(r"/\*.*?\*/", r"<i>\g<0></i>", text, flags=re.S)

    def block(self, lines, names=()):
        """Indented lines: a table if they have columns, else source."""
        if not is_table(lines):
            return f'<pre class="code">{self.code(narrow(with_remarks(lines)))}</pre>'
        out = []
        for line in filter(None, lines):
            cells = [self.prose(cell, names, re.search("[=+]", cell)) for cell in re.split(r"^ +| {3,}", line)]
            out.append("<tr><td>" + "</td><td>".join(cells) + "</td></tr>")
        return '<div class="wide"><table class="columns">' + "".join(out) + "</table></div>"

    def text(self, lines, names=()):
        return "".join(f"<p>{self.prose(value, names)}</p>" if kind == "text" else self.block(value, names)
                       for kind, value in blocks(lines))

    def synopsis(self, declarations):
        names = dict.fromkeys(name for d in declarations for name in d.functions + d.types + d.constants)
        anchors = "".join(f'<span id="{name}"></span>' for name in names)
        return f'{anchors}<pre class="synopsis">' + self.code("\n".join(d.text for d in declarations)) + "</pre>"

    @staticmethod
    def parameters(declarations):
        return {name for d in declarations if d.functions for name in re.findall(r"(\w+)(?=[,)])", d.text)}

    def remarks(self, declarations):
        items = [(d, d.remark) for d in declarations if d.remark]
        return "" if not items else "<ul>" + "".join(
            f"<li><code>{html.escape(', '.join(d.functions or d.types or d.constants))}</code>: {self.prose(remark)}</li>"
            for d, remark in items) + "</ul>"

    def operation(self, entry):
        piece = entry.pieces[0]
        forward, _, backward = operation_texts(piece)
        names = self.parameters(piece.declarations) | {"y"}
        out = self.synopsis(piece.declarations) + f'<p class="formula">{self.prose(forward, names, True)}</p>'
        rows = [("Gradient", self.prose(backward, names, True))]
        notes = notes_of(entry)
        if notes:
            rows.append(("Notes", "<ul>" + "".join(f"<li>{self.prose(note, names)}</li>" for note in notes) + "</ul>"))
        return out, rows

    def rows_of(self, entry):
        rows = []
        for refused, title in ((False, "Usage errors"), (True, "Returns false or NULL")):
            items = [f"<li>{html.escape(text, quote=False)}</li>" for is_refused, text in entry.errors if is_refused == refused]
            more = f"<details><summary>{len(items) - 6} more</summary><ul>{''.join(items[6:])}</ul></details>"
            if items:
                rows.append((title, f"<ul>{''.join(items[:6])}</ul>" + (more if len(items) > 6 else "")))
        if entry.torch:
            rows.append(("PyTorch", "".join(f"<p><code>{html.escape(theirs)}</code>{': ' if differs else ''}"
                                            f"{self.prose(differs)}</p>" for theirs, differs in entry.torch)))
        return rows

    def entry(self, entry):
        names = entry.functions or entry.types or entry.constants
        heading = ", ".join(names) if len(names) < 5 else ", ".join(names[:4]) + ", …"
        out, rows = [f'<section class="entry"><h3><a href="#{entry.anchor}">{heading}</a></h3>'], []
        if entry.page.name in OPERATIONS:
            text, rows = self.operation(entry)
            out.append(text)
        else:
            for piece in entry.pieces:
                names = self.parameters(piece.declarations)
                out += [self.synopsis(piece.declarations) if piece.declarations else "", self.text(piece.comment, names),
                        self.remarks(piece.declarations)]
        rows += self.rows_of(entry)
        if rows:
            out.append('<dl class="facts">' + "".join(f"<dt>{title}</dt><dd>{value}</dd>" for title, value in rows) + "</dl>")
        for code, printed in entry.examples:
            out.append(f'<div class="example"><pre class="code">{self.code(code)}</pre>'
                       f'<pre class="printed">{html.escape(printed, quote=False)}</pre></div>')
        return "".join(out) + "</section>"

    def page(self, title, body, contents=""):
        return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><link rel="stylesheet" href="style.css"></head><body>
<header><a class="home" href="index.html">kaeru {self.version}</a>
<div class="search"><input id="search" type="search" placeholder="Search: a name, or PyTorch's" autocomplete="off"
aria-label="Search"><ol id="found" hidden></ol></div><a href="pytorch.html">From PyTorch</a></header>
<div class="sheet"><nav>{contents}</nav><main>{body}</main></div>
<script src="index.js"></script><script src="search.js"></script></body></html>
"""

    def header_page(self, page):
        out = [f"<h1>{page.name}</h1><p class=\"lead\">{self.words(page.title[:1].upper() + page.title[1:])}</p>",
               f'<pre class="synopsis">#include &lt;kaeru/{page.name}&gt;</pre>', self.text(page.comment)]
        contents = []
        for number, section in enumerate(page.sections):
            if section.title:
                out.append(f'<h2 id="section{number}">{self.words(section.title)}</h2>')
                contents.append(f'<li class="title"><a href="#section{number}">{html.escape(section.title)}</a></li>')
            if page.name not in OPERATIONS:                # where each entry has it among its notes
                out.append(self.text(section.comment))
            for entry in section.entries:
                out.append(self.entry(entry))
                contents += [f'<li><a href="#{name}">{name}</a></li>' for name in entry.functions or entry.types]
        return self.page(f"{page.name} – kaeru", "".join(out), f"<ul>{''.join(contents)}</ul>")

    def index(self):
        out = ["<h1>kaeru's reference</h1>", self.text(INTRODUCTION), "<h2>Pages</h2><ul>"]
        out += [f'<li><a href="{text.name}.html">{html.escape(text.title)}</a></li>' for text in self.texts.values()]
        out.append("</ul>")
        for folder in dict.fromkeys(page.folder for page in self.reference.pages):
            out.append(f"<h2>{folder}</h2><dl class=\"contents\">")
            for page in self.reference.pages:
                if page.folder == folder and page.entries:
                    names = [name for entry in page.entries for name in entry.functions or entry.types]
                    links = " ".join(self.link(name) for name in names)
                    out.append(f'<dt><a href="{page.stem}.html">{page.name}</a></dt><dd><p>'
                               f"{self.words(page.title[:1].upper() + page.title[1:])}</p>"
                               f"<details><summary>{len(names)} names</summary><p class=\"names\">{links}</p></details></dd>")
            out.append("</dl>")
        return self.page("kaeru's reference", "".join(out))

    def text_page(self, text):
        contents = "".join(f'<li><a href="#{markdown.anchor(heading)}">{html.escape(heading)}</a></li>'
                           for heading in text.headings)
        return self.page(f"{text.title} – kaeru", f"<h1>{html.escape(text.title)}</h1>{self.markdown.body(text)}",
                         f"<ul>{contents}</ul>")

    def search_index(self):
        rows = [row for text in self.texts.values() for row in [[text.title, text.name + ".html", "page"]] + [
            [heading, f"{text.name}.html#{markdown.anchor(heading)}", text.title] for heading in text.headings]]
        for page in self.reference.pages:
            rows.append([page.name, page.stem + ".html", page.title])
            for entry in page.entries:
                line = summary(entry)
                rows += [[name, f"{page.stem}.html#{name}", line] for name in entry.functions + entry.types + entry.constants]
                rows += [[theirs, f"{page.stem}.html#{entry.anchor}", f"{entry.anchor}: {line}"] for theirs, _ in entry.torch]
        rows += self.reference.missing                      # behind the names of what is there
        return "const index = " + json.dumps(rows, ensure_ascii=False, separators=(",", ":")).replace("],[", "],\n[") + ";\n"


INTRODUCTION = """\
One page a header, and one entry for each function, operation and layer. The entries are the comments of the headers; formulas
are typeset, examples are compiled and run by the tests, and what they print stands beside them.

Everywhere: a pointer that is NULL where its entry does not admit NULL, an object that was freed, a tensor whose scope has ended
and a failed allocation are usage errors (ag_on_usage_error). The errors that an entry lists are further ones: each line is a
part of a message that a test expects. ops.h says what all operations have in common.

Each function is a man page as well: `man ag_attention`.""".splitlines()
