#!/usr/bin/env python3
"""Checks the style of the book's C files: test_style.py ROOT [all | list]

Prints how often each of RULES is broken. Fails if one of STRICT is, with each place. `all`: as if all rules were in STRICT.
`list`: prints all places and fails by none.
"""
import glob
import os
import re
import sys

BOOK = ["autograd", "autograd/ops", "autograd/plain", "nn", "models"]
GENERATED = ["op_entries.h"]
LIMIT = 100

RULES = {
    "columns": f"a line has at most {LIMIT} columns",
    "braces": "a body has braces, but that of a guard on one line: if (...) return x;",
    "statements": "a line has one statement; after a label on its line, only `return` may follow",
    "commas": "no statement a = 1, b = 2;",
    "ternaries": "no ?: within the result of another",
    "macros": "no macro defines a function",
    "comments": "a function's comment begins with its verb (Returns ...), or with shapes",
}
# The rules that hold for all files.
STRICT = ["columns", "braces", "statements", "commas", "ternaries", "macros", "comments"]
# Macros that may define functions, each with its reason.
MACROS = {
    "KERNEL": "the functions k_<name>, each a call of an entry of the table: kernels.h declares them",
}
# The first words of a function's comment that do not end with s.
FIRST_WORDS = {"Has"}
NOT_VERBS = {"This", "Its", "As", "Whereas", "Plus", "Unless", "Items", "Rows", "Bytes"}
JUMPS = ("return", "continue", "break", "goto")
CONTROLS = ("if", "for", "while", "switch")

TOKEN = re.compile(r"""
    (?P<directive>^[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])*)
  | (?P<space>\s+)
  | (?P<comment>/\*.*?\*/|//[^\n]*)
  | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
  | (?P<word>[A-Za-z_0-9][A-Za-z_0-9.]*)
  | (?P<operator>->|\+\+|--|<<=|>>=|[-+*/%&|^<>=!]=|.)
""", re.X | re.S | re.M)
PAIRS = {"(": ")", "[": "]", "{": "}"}


class Token:
    def __init__(self, kind, text, line):
        self.kind, self.text = kind, text
        self.line = line                        # of its first character
        self.last_line = line + text.count("\n")
        self.end = None                         # of an opening bracket: the index of the closing one
        self.comment = None                     # the comment that ends above it or beside it


class Statement:
    def __init__(self, kind, first, last):
        self.kind = kind                        # block, label, plain, or the word that begins it
        self.first, self.last = first, last     # indexes of tokens
        self.parts = []                         # of a block: its statements; of others: the body, that of else


class File:
    """A file's tokens without comments and directives, and the statements of its functions."""

    def __init__(self, text):
        self.text, self.code, self.directives, self.found = text, [], [], []
        line, comment = 1, None
        for m in TOKEN.finditer(text):
            token = Token(m.lastgroup, m.group(), line)
            line = token.last_line
            if token.kind == "directive":
                self.directives.append(token)
                comment = None
            elif token.kind == "comment":
                comment = token
            elif token.kind == "space":
                if token.text.count("\n") > 1:
                    comment = None
            else:
                token.comment, comment = comment, None
                self.code.append(token)
        opened = []
        for i, token in enumerate(self.code):
            if token.text in PAIRS:
                opened.append(token)
            elif token.text in PAIRS.values() and opened:
                opened.pop().end = i

    def text_of(self, i):
        return self.code[i].text if i < len(self.code) else ""

    def breaks(self, rule, line, why):
        self.found.append((rule, line, why))

    # ---- reading statements

    def statement(self, i):
        first = self.text_of(i)
        if first == "{":
            block = Statement("block", i, self.code[i].end)
            i += 1
            while i < block.last:
                block.parts.append(self.statement(i))
                i = block.parts[-1].last + 1
            return block
        if first in CONTROLS or self.is_loop_macro(i):
            body = self.statement(self.code[i + 1].end + 1)
            made = Statement(first if first in CONTROLS else "for", i, body.last)
            made.parts.append(body)
            if first == "if" and self.text_of(body.last + 1) == "else":
                made.parts.append(self.statement(body.last + 2))
                made.last = made.parts[1].last
            return made
        if first == "do":
            body = self.statement(i + 1)
            made = Statement("do", i, self.code[body.last + 2].end + 1)
            made.parts.append(body)
            return made
        if first == "case" or first == "default" or (self.code[i].kind == "word" and self.text_of(i + 1) == ":"):
            last, open_questions = i, 0
            while self.text_of(last) != ":" or open_questions:
                open_questions += (self.text_of(last) == "?") - (self.text_of(last) == ":")
                last += 1
            return Statement("label", i, last)
        last = i
        while self.text_of(last) != ";":
            last = (self.code[last].end or last) + 1
        return Statement("plain", i, last)

    def is_loop_macro(self, i):
        """EACH(...) statement"""
        if self.code[i].kind != "word" or self.text_of(i) in ("return", "sizeof") or self.text_of(i + 1) != "(":
            return False
        after = self.text_of(self.code[i + 1].end + 1)
        return after == "{" or (self.text_of(i).isupper() and re.match(r"\w", after))

    def functions(self):
        """(index of the first token, the body) of each function."""
        begin, i = 0, 0
        while i < len(self.code):
            text = self.text_of(i)
            if text == "{":
                head = [token.text for token in self.code[begin:i]]
                if self.text_of(i - 1) == ")" and "=" not in head:
                    yield begin, self.statement(i)
                    i = self.code[i].end
                    begin = i + 1
                else:
                    i = self.code[i].end
            elif text == ";":
                begin = i + 1
            i += 1

    # ---- rules

    def check(self):
        for number, line in enumerate(self.text.split("\n"), 1):
            if len(line) > LIMIT:
                self.breaks("columns", number, f"{len(line)} columns")
        for token in self.directives:
            self.check_macro(token)
        self.check_ternaries(0, len(self.code), False)
        for begin, body in self.functions():
            self.check_comment(begin)
            on_one_line = self.code[body.first].line == self.code[body.last].line
            if not on_one_line or len(body.parts) > 1:
                self.check_block(body)
        return self.found

    def check_block(self, block):
        """Each statement of a block begins a line."""
        before = self.code[block.first]
        for number, part in enumerate(block.parts):
            first, line = self.code[part.first], self.code[part.first].line
            after_label = number > 0 and block.parts[number - 1].kind == "label"
            if line == before.last_line and not (after_label and (part.kind == "label" or first.text in ("return", "{"))):
                self.breaks("statements", line, "a statement after another one")
            before = self.code[part.last]
            self.check_statement(part)
        if block.parts and self.code[block.last].line == before.last_line:
            self.breaks("statements", before.last_line, "} after a statement")

    def check_statement(self, s):
        if s.kind == "block":
            self.check_block(s)
        elif s.kind == "plain":
            self.check_commas(s)
        elif s.kind != "label":
            for number, body in enumerate(s.parts):
                is_chain = number == 1 and body.kind == "if"
                if body.kind != "block" and not is_chain and not self.is_guard(s):
                    self.breaks("braces", self.code[body.first].line, f"a body of {s.kind} without braces")
                self.check_statement(body)

    def is_guard(self, s):
        body = s.parts[0]
        return s.kind == "if" and len(s.parts) == 1 and self.text_of(body.first) in JUMPS and \
            self.code[s.first].line == self.code[s.last].last_line

    def check_commas(self, s):
        """An expression is told from a declaration by what follows its first name."""
        i, has_comma = s.first, False
        while i < s.last:
            has_comma = has_comma or self.text_of(i) == ","
            i = (self.code[i].end or i) + 1
        i = s.first
        while self.text_of(i) in ("*", "(", "++", "--"):
            i += 1
        is_expression = self.code[i].kind == "word" and self.text_of(i) not in JUMPS
        i += 1
        while self.text_of(i) in ("->", ".", "[", "("):
            i = self.code[i].end + 1 if self.code[i].end else i + 2
        if has_comma and is_expression and re.fullmatch(r"\+\+|--|,|[^\w\s]?=|<<=|>>=", self.text_of(i)):
            self.breaks("commas", self.code[s.first].line, "statements joined by a comma")

    def check_ternaries(self, i, end, within):
        """within: these tokens are in the result of a ?: around their brackets."""
        here = within                           # after a ? of this bracket
        while i < end:
            token = self.code[i]
            if token.text == "?":
                if here:
                    self.breaks("ternaries", token.line, "a ?: in the result of another")
                here = True
            elif token.text in (",", ";", "=") or (token.text == ":" and not here):
                here = within
            elif token.end:
                self.check_ternaries(i + 1, token.end, here and token.text != "{")
                if token.text == "{":
                    here = within
                i = token.end
            i += 1

    def check_macro(self, token):
        m = re.match(r"\s*#\s*define\s+(\w+)\([^)]*\)(.*)", token.text, re.S)
        # a type, a name, parameters, a body
        function = r"\w[\s*\\]+\**[\w#]+\s*\((?:[^()]|\([^()]*\))*\)[\s\\]*\{|\w##\w+\s+\w+[\s\\]*\{"
        if m and m[1] not in MACROS and re.search(function, m[2]) and \
                not re.search(r"\b(?:else|do)\s+(?:if|while|for)\s*\(", m[2]):
            self.breaks("macros", token.line, f"{m[1]} defines a function")

    def check_comment(self, begin):
        comment = self.code[begin].comment
        if not comment or comment.text.startswith("/* ----"):
            return
        first = re.match(r"/\*\s*`?([A-Za-z]+|.)", comment.text)[1]
        if first[0].isalpha() and (not first[0].isupper() or not first.endswith("s") or first in NOT_VERBS) and \
                first not in FIRST_WORDS:
            self.breaks("comments", comment.line, f"the comment begins with {first}")


# For each rule, lines of a function that break it once, and lines that do not.
SAMPLES = {
    "columns": (["a = " + "1 + " * 24 + "1;"], ["a = 1;"]),
    "braces": (["while (a)", "    a--;"],
               ["if (a) return;", "if (a) {", "    a = 0;", "} else if (b) {", "    b = 0;", "}"]),
    "statements": (["a = 1; b = 2;"],
                   ["switch (a) {", "case 1: return 2;", "case 2: case 3:", "    a = 1;", "}"]),
    "commas": (["a->b[1] = 1, b = 2;"], ["int a = 1, *b = f(1, 2);", "f(a, b);", "for (a = 1, b = 2;;) { }"]),
    "ternaries": (["a = b ? c : f(d ? e : g);"], ["f(a ? b : c, a ? b : c);", "a = (b ? c : d) ? e : g;"]),
    "macros": (["#define GET(name) int get_##name(void) { return name; }"],
               ["#define EACH(i) for (int i = 0; i < n; i++) {"]),
    "comments": (["/* A name. */"], ["/* Returns a name. */", "/* (B,T) -> (B) */"]),
}


def breaks_of_sample(rule, lines):
    if rule == "comments":
        text = "\n".join(line + "\nvoid f(void)\n{\n}\n" for line in lines)
    else:
        text = "void f(void)\n{\n" + "\n".join(line if line[0] == "#" else "    " + line for line in lines) + "\n}\n"
    return [found[0] for found in File(text).check()]


def main(root, mode=""):
    for rule, (bad, good) in SAMPLES.items():
        if breaks_of_sample(rule, bad) != [rule] or breaks_of_sample(rule, good):
            sys.exit(f"the samples of the rule {rule}: {breaks_of_sample(rule, bad)}, {breaks_of_sample(rule, good)}")
    strict = list(RULES) if mode == "all" else [] if mode == "list" else STRICT
    count, files = dict.fromkeys(RULES, 0), 0
    for folder in BOOK:
        for path in sorted(glob.glob(os.path.join(root, folder, "*.[ch]"))):
            if os.path.basename(path) in GENERATED:
                continue
            files += 1
            with open(path, encoding="utf-8") as file:
                found = File(file.read()).check()
            for rule, line, why in sorted(found, key=lambda one: one[1]):
                count[rule] += 1
                if rule in strict or mode == "list":
                    print(f"{os.path.relpath(path, root)}:{line}: {rule}: {why}")
    for rule, text in RULES.items():
        print(f"{count[rule]:6} {'' if rule in strict else 'not yet '}{rule}: {text}")
    failed = sum(count[rule] > 0 for rule in strict)
    print(f"{files} files")
    print(f"style: {len(strict) - failed} passed, {failed} failed")
    return 1 if failed or files == 0 else 0


sys.exit(main(*sys.argv[1:]))
