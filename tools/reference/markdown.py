"""The pages of docs/ as HTML: the part of Markdown that they use. Headings, paragraphs, lists, tables, source, pictures."""
import html
import os
import re

LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]*)\)")


def anchor(heading):
    """As the public forges make it, so that a link works in both."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


class Page:
    def __init__(self, path, name):
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.name, self.folder = name, os.path.dirname(path)
        self.title = next(line[2:] for line in lines if line.startswith("# "))
        self.lines = lines[lines.index("# " + self.title) + 1:]     # above it: the link to the other language
        self.headings = [line[3:] for line in lines if line.startswith("## ")]
        text = "\n".join(lines)
        self.pictures = {os.path.normpath(os.path.join(self.folder, path)) for mark, _, path in LINK.findall(text) if mark}

    def linked(self, path, pages):
        """Where a link of this page leads in the reference; None: to a file that is not part of it."""
        path, _, place = path.partition("#")
        if re.match(r"\w+:", path):
            return path
        target = pages.get(os.path.normpath(os.path.join(self.folder, path))) if path else self
        return target and f"{target.name}.html" + ("#" + place if place else "")


class Writer:
    """link(name): a name of the reference as HTML; code(text): C source as HTML; pages: the pages by path."""

    def __init__(self, words, code, pages):
        self.words, self.code, self.pages = words, code, pages

    def line(self, page, text):
        def linked(found):
            mark, label, path = found.groups()
            if mark:
                return f'<img src="{os.path.basename(path)}" alt="{html.escape(label)}">'
            to = page.linked(path, self.pages)
            return f'<a href="{to}">{self.plain(label)}</a>' if to else self.plain(label)
        out, end = [], 0
        for found in LINK.finditer(text):
            out += [self.plain(text[end:found.start()]), linked(found)]
            end = found.end()
        return "".join(out + [self.plain(text[end:])])

    def plain(self, text):
        parts = re.split(r"`([^`]*)`", text)
        return "".join(f"<code>{self.words(part)}</code>" if i % 2 else
                       re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", html.escape(part, quote=False))
                       for i, part in enumerate(parts))

    def table(self, page, rows):
        cells = [[cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", row.strip()[1:-1])] for row in rows]
        out = ["<tr>" + "".join(f"<th>{self.line(page, cell)}</th>" for cell in cells[0]) + "</tr>"]
        out += ["<tr>" + "".join(f"<td>{self.line(page, cell)}</td>" for cell in row) + "</tr>" for row in cells[2:]]
        return f'<div class="wide"><table>{"".join(out)}</table></div>'

    def items(self, page, lines):
        text = "\n".join(line.lstrip() if line.startswith("  ") else line for line in lines)
        items = re.split(r"^(?:- |\d+\. )", text, flags=re.M)
        kind = "ul" if lines[0].startswith("- ") else "ol"
        return f"<{kind}>" + "".join(f"<li>{self.line(page, item.strip())}</li>" for item in items[1:]) + f"</{kind}>"

    def body(self, page):
        out, lines = [], page.lines + [""]
        while lines:
            line = lines.pop(0)
            heading = re.match(r"(##+) (.*)", line)
            if heading:
                level = len(heading[1])
                out.append(f'<h{level} id="{anchor(heading[2])}">{self.line(page, heading[2])}</h{level}>')
            elif line.startswith("```"):
                end = lines.index("```")
                text = "\n".join(lines[:end])
                in_c = line[3:] in ("c", "cpp", "diff")
                out.append(f'<pre class="code">{self.code(text) if in_c else html.escape(text, quote=False)}</pre>')
                del lines[:end + 1]
            elif line.strip():
                part = [line]
                while lines[0].strip() and not lines[0].startswith(("```", "#")):
                    part.append(lines.pop(0))
                if line.startswith("|"):
                    out.append(self.table(page, part))
                elif re.match(r"- |\d+\. ", line):
                    out.append(self.items(page, part))
                else:
                    out.append(f"<p>{self.line(page, ' '.join(part))}</p>")
        return "".join(out)
