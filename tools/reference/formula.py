"""Formulas in the plain text of ops.def and of the headers, as MathML.

    typeset(text, names, every) -> HTML of the text, in which the formulas are <math> elements

The notation is that of the comments: a b is a product, a^b a power, x_i and x[i] have indices, a / b with spaces divides all
that stands before it in the product and a/b without spaces only the last factor. `names` are the words that are variables,
besides single letters. In a comment only what has an operator is a formula; with `every`, as in ops.def, each variable is one,
and so is a word beside an operator ("x - mean").
"""
import html
import re

GREEK = {"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "eps": "ε", "pi": "π", "phi": "φ", "Phi": "Φ"}
FUNCTIONS = {"ln", "log", "exp", "tanh", "sin", "cos", "erf", "sign", "softmax", "KL", "max", "min", "mean", "sum"}
PROSE = set("""a of where with and the else in is are to up from as or for if by at over on goes half each out times not than
    then that it its this only also both without what which down until so e i""".split())
TOKEN = re.compile(r"(?P<space>\s+)|(?P<number>\d+(?:\.\d+)?(?:e-?\d+)?)"
                   r"|(?P<word>[A-Za-z_]\w*(?:'+(?![A-Za-z']))?)"
                   r"|(?P<mark>\.\.+|->|<=|>=|\+-|\|\||.)", re.S)
SIGNS = {"-": "−", "<=": "≤", ">=": "≥", "+-": "±", "*": "·", "||": "∥", "=": "=", "<": "&lt;", ">": "&gt;", "+": "+"}
RELATIONS = ("=", "<", ">", "<=", ">=", "||")
BINARY = RELATIONS + ("+", "-", "/", "^", "*", "+-")


class Token:
    def __init__(self, kind, text, spaced):
        self.kind, self.text, self.spaced = kind, text, spaced      # spaced: white space before it


class NotAFormula(Exception):
    pass


def row(parts):
    return parts[0] if len(parts) == 1 else "<mrow>" + "".join(parts) + "</mrow>"


def mark(text, form=""):
    return f"<mo{form}>{text}</mo>"


class Parser:
    """A formula from its tokens, by recursive descent: relation, sum, product, power, atom."""

    def __init__(self, tokens, names):
        self.tokens, self.names, self.at = tokens, names, 0
        self.inside = {}                            # of each group in parentheses: what is between them
        self.in_bars = False                        # between |...|, where a | ends the group

    def next(self, *texts):
        token = self.tokens[self.at] if self.at < len(self.tokens) else None
        return token if token and (not texts or token.text in texts) else None

    def take(self, *texts):
        token = self.next(*texts)
        if not token:
            raise NotAFormula
        self.at += 1
        return token

    def whole(self):
        """One element for each part of a list, between which a line may break."""
        parts = [self.relation()]
        while self.next(","):
            self.take()
            parts.append(self.relation())
        if self.next():
            raise NotAFormula
        return "<math>" + "</math>, <math>".join(parts) + "</math>"

    def list(self):
        """Relations with commas between them."""
        parts = [self.relation()]
        while self.next(","):
            self.take()
            parts += [mark(","), self.relation()]
        return parts

    def relation(self):
        parts = [self.sum()]
        while self.next(*RELATIONS):
            parts += [mark(SIGNS[self.take().text]), self.sum()]
        return row(parts)

    def sum(self):
        parts = [mark(SIGNS[self.take().text], ' form="prefix"')] if self.next("-", "+-", "+") else []
        parts.append(self.product())
        while self.next("+", "-", "+-"):
            parts += [mark(SIGNS[self.take().text]), self.product()]
        return row(parts)

    def product(self):
        factors = [self.power()]
        while True:
            token = self.next()
            if token and token.text == "/":
                self.take()
                below = self.power(bare=token.spaced)
                if token.spaced:
                    above = row(factors)            # needs no parentheses above the line
                    factors = [f"<mfrac>{self.inside.get(above, above)}{below}</mfrac>"]
                else:
                    factors[-1] = row([factors[-1], mark("/"), below])
            elif token and token.text == "*":
                self.take()
                factors += [mark("·"), self.power()]
            elif token and (token.kind in ("word", "number") or token.text in "(|"):
                if token.text == "|" and self.in_bars:
                    break
                factors.append('<mspace width="0.17em"></mspace>')
                factors.append(self.power())
            else:
                break
        return row(factors)

    def power(self, bare=False):
        base = self.atom(bare)
        if self.next("^"):
            self.take()
            sign = mark("−", ' form="prefix"') if self.next("-") and self.take() else ""
            exponent = self.atom(bare=True)
            if sign and self.next("/") and not self.next().spaced:            # x^-1/2, but d^2/2
                self.take()
                exponent = row([exponent, mark("/"), self.atom()])
            return f"<msup>{base}<mrow>{sign}{exponent}</mrow></msup>"
        return base

    def group(self, closing, bare=False):
        outer, self.in_bars = self.in_bars, closing == "|"
        opening = self.take().text
        inside = self.list() if not self.next(closing) else []
        self.take(closing)
        self.in_bars = outer
        if bare:
            return row(inside)
        still = "" if "<mfrac" in "".join(inside) else ' stretchy="false"'
        group = row([mark(opening, still), *inside, mark(closing, still)])
        self.inside[group] = row(inside)
        return group

    def atom(self, bare=False):
        token = self.next()
        if not token:
            raise NotAFormula
        if token.text == "(":
            return self.group(")", bare)
        if token.text == "|":
            return self.group("|")
        if token.kind == "number":
            return f"<mn>{self.take().text}</mn>"
        if token.kind != "word":
            raise NotAFormula
        self.take()
        tight = self.next("(") and not self.next().spaced
        if token.text == "sqrt":
            return f"<msqrt>{self.group(')', True) if tight else self.power()}</msqrt>"
        name = self.name(token.text)
        if self.next("[") and not self.next().spaced:
            self.take()
            inside = self.list()
            self.take("]")
            name = f"<msub>{name}<mrow>{''.join(inside)}</mrow></msub>"
        if tight and token.text not in self.names - FUNCTIONS:
            return row([name, mark("&#x2061;"), self.group(")")])
        if token.text in FUNCTIONS and not tight and self.next() and (self.next().kind in ("word", "number")
                                                                     or self.next().text in "(|"):
            return row([name, mark("&#x2061;"), '<mspace width="0.17em"></mspace>', self.power()])
        return name

    def name(self, text):
        base, primes = text.rstrip("'"), "′" * text.count("'")
        if base in self.names or base in FUNCTIONS:
            symbol = f"<mi>{GREEK.get(base, html.escape(base))}</mi>"
        elif re.fullmatch(r"d[A-Za-z_]\w*", base) and (len(base) == 2 or base[1:] in self.names):
            symbol = f'<mrow><mi mathvariant="normal">d</mi>' + f"<mi>{GREEK.get(base[1:], html.escape(base[1:]))}</mi></mrow>"
        elif re.fullmatch(r"[A-Za-z]\d", base):
            symbol = f"<msub><mi>{base[0]}</mi><mn>{base[1]}</mn></msub>"
        elif re.fullmatch(r"[A-Za-z]_\w+", base):
            symbol = f"<msub><mi>{base[0]}</mi><mi>{html.escape(base[2:])}</mi></msub>"
        else:
            symbol = f"<mi>{GREEK.get(base, html.escape(base))}</mi>"
        return f'<mrow>{symbol}<mo lspace="0" rspace="0">{primes}</mo></mrow>' if primes else symbol


def tokens_of(text):
    found, spaced = [], False
    for match in TOKEN.finditer(text):
        if match.lastgroup == "space":
            spaced = True
        else:
            found.append(Token(match.lastgroup, match[0], spaced))
            found[-1].start, found[-1].end = match.span()
            spaced = False
    return found


def is_variable(token, names):
    base = token.text.rstrip("'")
    return (base in names or base in GREEK or base in ("sqrt", "dy", "dx") or len(base) == 1 and base not in "aAI"
            or re.fullmatch(r"[A-Za-z]\d|[A-Za-z]_[a-z]{1,5}|d[A-Z]", base) is not None
            or base[0] == "d" and base[1:] in names)


def in_formula(tokens, i, names, every):
    """Whether token i can be part of a formula."""
    token = tokens[i]
    before = tokens[i - 1] if i > 0 else None
    after = tokens[i + 1] if i + 1 < len(tokens) else None
    if token.kind == "number":
        return True
    if token.kind == "mark":
        return token.text in BINARY or token.text in "()[]|" or every and token.text == ","
    beside = (before and before.kind == "mark" and before.text in BINARY
              or after and after.kind == "mark" and after.text in BINARY)
    if before and before.text == "'" or token.text in PROSE and after and after.text == "+-":
        return False                                # the s of "Adam's", the in of "in +-1"
    if after and after.text == "of" and len(token.text) > 1 and token.text not in names:
        return False                                # "sum of x"
    if token.text in ("a", "A", "e", "I"):
        listed = (not before or before.text in "(,") and after and after.text in ",)"
        return token.text in names or bool(beside or every and listed)
    if token.text in FUNCTIONS:
        before_argument = after and (after.text == "(" and not after.spaced or after.kind != "mark" and token.text
                                     not in ("mean", "sum", "max", "min", "log"))
        return bool(before_argument or beside and every)
    if token.text == "sqrt":
        return after is not None and after.text == "("
    called = after and after.text == "(" and not after.spaced
    listed = before and before.text in "(," and after and after.text in ",)"
    return is_variable(token, names) or (every and bool(beside or called or listed) and token.text not in PROSE
                                         and token.text.isalnum())


def runs(tokens, names, every):
    """Splits the tokens into (whether a formula, tokens)."""
    i = 0
    while i < len(tokens):
        start = i
        while i < len(tokens) and in_formula(tokens, i, names, every):
            i += 1
        if i > start:                               # (B,T,D/heads) is a shape
            shape = (start > 0 and tokens[start - 1].text == "," and not tokens[start].spaced
                     or i + 1 < len(tokens) and tokens[i].text == "," and not tokens[i + 1].spaced)
            part = not every and (tokens[i - 1].text in BINARY or tokens[start].text in BINARY and tokens[start].text != "+-"
                                  and tokens[start].text != "-")        # of a formula with unknown words
            yield not shape and not part, tokens[start:i]
        else:
            i += 1
            yield False, tokens[start:i]


def formula(tokens, names, every):
    """MathML of the longest formula at the start of the tokens, and how many tokens it has; None, 1 if there is none."""
    for n in range(len(tokens), 0, -1):
        part = tokens[:n]
        operators = [t for t in part[:-1] if t.text in BINARY and t.text != "+-"]
        named = any(t.kind == "word" for t in part)
        if not named and not any(t.text == "^" for t in part):
            continue
        if not every and (not operators or operators == [part[0]]) and not any(t.text in ("sqrt", "+-") for t in part):
            continue
        if any(t.text == "[" for t in part) and not every and "y" not in names:
            continue
        try:
            return Parser(part, names).whole(), n
        except NotAFormula:
            continue
    return None, 1


def typeset(text, names, every=False, prose=html.escape):
    """`prose` makes HTML of the text between the formulas."""
    out, end, found = [], 0, list(runs(tokens_of(text), set(names), every))
    for is_formula, part in found:
        while is_formula and part:
            math, n = formula(part, set(names), every)
            if math:
                out += [prose(text[end:part[0].start]), math]
                end = part[n - 1].end
            part = part[n:]
    # No line begins with the full stop behind a formula.
    return re.sub(r"</math>(?=[.,:;)])", "</math>&#8288;", "".join(out) + prose(text[end:]))
