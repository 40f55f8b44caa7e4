#!/usr/bin/env python3
"""Mutation testing: plants small mistakes (mutants) in copies of the sources, one at a time, and runs the tests on each.

A mutant is killed if a test fails, crashes or does not end: first the suites that touch the file, then all others, in float
and in double, then the closest suites with sanitizers, at last the examples. With --programs there are also mutants of the four
programs, for which the tests of these programs run alone. A mutant that survives is either equivalent (no
test can see it: mutations.txt says why) or real: then a test is missing, and the exit status is 1.

The choice depends on --seed and on the texts of the functions alone, so an edit elsewhere does not change it. A mutant that
the compiler refuses, with its warnings as errors, or that makes the same program is not counted; another takes its place."""

import argparse
import collections
import filecmp
import functools
import hashlib
import json
import os
import queue
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EQUIVALENT = os.path.join(ROOT, 'tests', 'mutations.txt')
KINDS = ['border', 'bound', 'off by one', 'dropped term', 'sign', 'factor', 'arguments', 'condition', 'and/or',
         'dropped condition', 'choice', 'while to if', 'dropped statement', 'dropped update', 'dropped reset', 'dropped field',
         'dropped call', 'neighbor', 'passed through', 'zero argument', 'comparison', 'other function']
PROGRAMS = ['examples/common', 'examples/gpt', 'examples/llama', 'examples/translate', 'examples/compress']
FOLDERS = ['autograd', 'autograd/ops', 'autograd/ops/more', 'autograd/higher', 'autograd/memory', 'autograd/more',
           'autograd/debug', 'autograd/fast', 'nn', 'nn/files', 'nn/options', 'nn/more', 'nn/parallel', 'models',
           'models/files', 'models/llama', 'models/lora', 'models/seq2seq', 'models/text', 'models/lm', 'models/train',
           *PROGRAMS]

# The suites that touch a file, the closest first; the first pattern that fits counts. All other suites come after them.
CLOSE = [
    (r'autograd/(fast/.*(gemm|bf16)|bf16)', 'gemm precision bits kernels'),
    (r'autograd/fast/softmax', 'kernels kernel_rows tensor attention nn graph'),
    (r'autograd/(fast/(norm|gather|max|copy|strided)|ops/attention_blocks)', 'kernels kernel_rows attention nn graph'),
    (r'autograd/(fast/patches|ops/more/conv)', 'conv kernel_rows gradcheck torch'),
    (r'autograd/ops/more/(plain|more)_kernel', 'kernel_rows kernels conv torch'),
    (r'autograd/fast/(threads|scratch)', 'threads kernels gemm'),
    (r'autograd/(philox|fast/distributions)', 'random kernel_rows kernels bits sample'),
    (r'autograd/fast/optimizer', 'kernels optim torch'),
    (r'autograd/fast/', 'kernels kernel_rows gemm bits graph'),
    (r'autograd/debug/(explain)', 'explain errors'),
    (r'autograd/debug/(guard)', 'guard memory'),
    (r'autograd/debug/(gradcheck)', 'gradcheck custom'),
    (r'autograd/debug/(print)', 'print'),
    (r'autograd/debug/(warn)', 'warn'),
    (r'autograd/debug/', 'errors print explain build'),
    (r'autograd/random', 'random nn bits'),
    (r'autograd/(alloc|arena|buffers|scope|system|thread)', 'memory errors guard'),
    (r'autograd/recompute', 'recompute memory'),
    (r'autograd/memory', 'pool memory recompute'),
    (r'autograd/higher/', 'higher'),
    (r'autograd/ops/(more/)?(linear|ops_loss|ops_product)', 'linear_loss torch precision gradcheck graph'),
    (r'autograd/ops/more/', 'conv torch tensor gradcheck attention'),
    (r'autograd/updates', 'mistakes graph optim errors tensor'),
    (r'autograd/(tensor|shape|checks|errors)', 'tensor errors graph memory'),
    (r'autograd/', 'graph errors torch property gradcheck tensor attention nan custom'),
    (r'nn/(files/json|number|options/numbers)', 'json bad_files safetensors text bpe'),
    (r'nn/files/(safetensors|stored)', 'safetensors tensor_files load bad_files checkpoint'),
    (r'nn/files/(numpy|model_index|tensor_files)', 'tensor_files load safetensors bad_files'),
    (r'nn/files/(checkpoint)', 'checkpoint load parameters parallel'),
    (r'models/lora', 'lora load'),
    (r'nn/files/', 'files checkpoint safetensors gpt bad_files'),
    (r'nn/(adam|optimizer|schedule|more/more_optim)', 'optim parameters mistakes torch warn nn checkpoint load'),
    (r'nn/parameters', 'parameters nn decode twice optim checkpoint load'),
    (r'nn/(module|walk|more/summary)', 'nn parameters twice mistakes'),
    (r'nn/more/recurrent', 'recurrent dropout seq2seq'),
    (r'nn/(recompute)', 'recompute'),
    (r'nn/(fields|options/)', 'fields checkpoint effects gpt llama'),
    (r'nn/parallel/', 'parallel'),
    (r'nn/more/image_layers', 'conv attention nn'),
    (r'nn/(attention|layers)', 'attention dropout nn transformer gpt'),
    (r'nn/', 'nn attention transformer gpt seq2seq recurrent optim checkpoint load'),
    (r'models/text/(bpe|unicode)', 'bpe bpe_json bad_files text'),
    (r'models/text/text', 'text sample bad_files'),
    (r'models/text/', 'text identities bad_files bpe lm translation'),
    (r'models/lm/(generate|sampling)', 'sample effects twice lm llama'),
    (r'models/lm/', 'lm effects twice identities runs llama sample'),
    (r'models/train/', 'translation twice effects decode sample lm'),
    (r'models/(files/)?gpt', 'gpt dropout effects lm checkpoint'),
    (r'models/(llama|config)', 'llama dropout effects bpe_json gpt'),
    (r'models/language', 'gpt llama lm'),
    (r'models/train/decoding', 'decode effects seq2seq translation'),
    (r'models/seq2seq', 'seq2seq dropout effects translation decode'),
    (r'models/', 'transformer dropout effects gpt seq2seq translation checkpoint decode'),
]
# The tests of the examples that touch a file; they run only if all suites pass.
EXAMPLES = [
    (r'examples/common', ['examples identities', 'examples effects', 'examples gpt', 'examples llama', 'examples translate']),
    (r'examples/gpt', ['examples effects', 'examples gpt', 'examples identities']),
    (r'examples/llama', ['examples effects', 'examples llama', 'examples identities']),
    (r'examples/translate', ['examples effects', 'examples translate', 'examples identities']),
    (r'examples/compress', ['examples effects', 'examples identities', 'examples compress']),
    (r'models/((files/)?gpt|text/|lm/|train/epoch)',
     ['examples effects', 'examples identities', 'examples gpt', 'examples translate']),
    (r'models/', ['examples effects', 'examples translate', 'examples lessons']),
    (r'autograd/debug/', ['examples', 'examples lessons', 'examples write_backward']),
    (r'', ['examples lessons', 'examples gpt', 'examples translate']),
]

RUNNING = set()                 # the leaders of sessions with a test
STOPPED = threading.Event()
MEMORY = 10 << 30               # bytes of addresses that a test may have: one maps the file of 4 GiB
FILE_SIZE = 6 << 30             # a test makes a sparse file of 4 GiB


def first_fit(table, path):
    return next(value for pattern, value in table if re.match(pattern, path))


# ---- places --------------------------------------------------------------------------------------------------------

Mutant = collections.namedtuple('Mutant', 'path kind folder function line begin end text before after')


def mask(source):
    """The source with blanks for comments, texts, characters, preprocessor lines and static asserts; the same length."""
    token = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
                       r'|^[ \t]*#(?:\\\n|/\*.*?\*/|[^\n])*|\b_Static_assert\s*\([^;]*;|\b_Alignas\(\w+\)', re.S | re.M)

    def blank(match):
        text = match.group()
        if text[0] in '"\'':
            return text[0] + '_' * (len(text) - 2) + text[0]
        return re.sub(r'[^\n]', ' ', text)
    return token.sub(blank, source)


def functions(code):
    """Yields (name, begin, end) of each function's body in a masked source."""
    depth, begin, last = 0, 0, 0
    for match in re.finditer(r'[{};]', code):
        char, at = match.group(), match.start()
        if char == '{':
            if depth == 0:
                begin = at
            depth += 1
        elif char == '}':
            depth -= 1
            if depth == 0:
                head = code[last:begin]
                if head.rstrip().endswith(')'):
                    names = re.findall(r'(\w+)\s*\(', head)
                    name = names[1] if names[0] in ('ISA', '__attribute__') and len(names) > 1 else names[0]
                    yield name, begin + 1, at
                last = at + 1
        elif depth == 0:
            last = at + 1


def closing(code, at):
    """The index of the parenthesis that closes the one at `at`."""
    depth = 0
    for i in range(at, len(code)):
        depth += (code[i] == '(') - (code[i] == ')')
        if depth == 0:
            return i
    return len(code)


def split_arguments(code, begin, end):
    """[(begin, end)] of the arguments between two parentheses, without the blanks around them."""
    depth, parts, start = 0, [], begin
    for i in range(begin, end + 1):
        if i == end or (code[i] == ',' and depth == 0):
            text = code[start:i]
            parts.append((start + len(text) - len(text.lstrip()), start + len(text.rstrip())))
            start = i + 1
        else:
            depth += (code[i] in '([{') - (code[i] in ')]}')
    return parts


# What ends and begins an operand of && and ||, and an operand of a choice.
CONDITION = re.compile(r'&&|\|\||[?:,;})\]]'), re.compile(r'(?:&&|\|\||[?:,;{}(\[]|[^=!<>]=\s|\breturn)\s*$')
CHOICE = re.compile(r'[?:,;})\]]'), re.compile(r'(?:[?:,;{}(\[]|[^=!<>]=\s|\breturn)\s*$')


def operand_after(code, at, stops):
    """The end of the operand that begins at `at`."""
    depth = 0
    while depth > 0 or not stops[0].match(code, at):
        depth += (code[at] in '([{') - (code[at] in ')]}')
        at += 1
    return len(code[:at].rstrip())


def operand_before(code, at, stops):
    """The beginning of the operand that ends at `at`."""
    depth = 0
    while depth > 0 or not stops[1].search(code[max(0, at - 8):at]):
        at -= 1
        depth += (code[at] in ')]}') - (code[at] in '([{')
    return at + len(code[at:]) - len(code[at:].lstrip())


def arm_after(code, at):
    """The end of an arm of a choice, which may be a choice."""
    end = operand_after(code, at, CHOICE)
    question = re.compile(r'\s*\?\s+').match(code, end)
    return arm_after(code, colon_after(code, arm_after(code, question.end()))) if question else end


def colon_after(code, at):
    return re.compile(r'\s*:\s*').match(code, at).end()


def number_doubled(text):
    if re.fullmatch(r'\d+\.\d*f?|\d*\.\d+f?', text):
        return repr(float(text.rstrip('f')) * 2) + ('f' if text.endswith('f') else '')
    return str(int(text) * 2)


NEIGHBORS = {}
for pair in ('i j', 'a b', 'm n', 'x y', 'rows columns', 'row column', 'begin end', 'first last', 'outer inner', 'left right',
             'min max', 'width height', 'true false', 'in out', 'k n', 'from to', 'low high', 'dx dy', 'mean rstd',
             'heads width', 'batch length', 'train held_out', 'source target', 'count capacity', 'used size', 'data grad'):
    one, two = pair.split()
    NEIGHBORS.setdefault(one, two)
    NEIGHBORS.setdefault(two, one)

# Functions of the same arguments that do another thing.
OTHERS = {}
for pair in ('walk_tensor walk_slot', 'nn_train nn_eval', 'fmin fmax', 'nn_checkpoint_save nn_checkpoint_save_trained',
             'ag_add ag_mul', 'ag_matmul ag_mul'):
    one, two = pair.split()
    OTHERS.setdefault(one, two)
    OTHERS.setdefault(two, one)

WORD = r'[A-Za-z_][\w]*(?:(?:->|\.)\w+|\[\w+\])*'
OPERAND_BEFORE = r'(?<=[\w)\]])'
DROPPED = [('dropped reset', r' = (0|NULL|false|true|-1)$|^memset\('), ('dropped update', r'\+\+|--|[-+*/|&]= '),
           ('dropped statement', '')]


def places(code, begin, end):
    """Yields (kind, begin, end, new text) of the mutants in code[begin:end]."""
    def each(pattern):
        return re.compile(pattern, re.M).finditer(code, begin, end)

    for m in each(OPERAND_BEFORE + r' (<=|>=|<|>) '):
        yield 'border', m.start(1), m.end(1), {'<': '<=', '<=': '<', '>': '>=', '>=': '>'}[m.group(1)]

    for m in each(OPERAND_BEFORE + r'( (?:<|>=) )'):            # where `border` takes one number more, this takes one less
        yield 'bound', m.start(1), m.start(1), ' + 1'
    for m in each(OPERAND_BEFORE + r'( (?:<=|>) )'):
        yield 'bound', m.end(1), m.end(1), '1 + '

    for m in each(OPERAND_BEFORE + r' [+-] 1\b(?![.\w])'):
        yield 'off by one', m.start(), m.end(), ''
    for m in each(r'\[(\w+)\]'):
        if not m.group(1).isdigit() and not m.group(1).isupper():
            yield 'off by one', m.end(1), m.end(1), ' + 1'

    for m in each(OPERAND_BEFORE + r' (?:[+-] ' + WORD + r'|[*/%] (?:\d+|' + WORD + r'))(?![.\w(\[]|->)'):
        yield 'dropped term', m.start(), m.end(), ''
    for m in each(OPERAND_BEFORE + r' / ([\w.>-]+) \* \1\b'):   # rounding
        yield 'dropped term', m.start(), m.end(), ''

    for m in each(OPERAND_BEFORE + r' ([+-])=? '):
        yield 'sign', m.start(1), m.start(1) + 1, {'+': '-', '-': '+'}[m.group(1)]
    for m in each(r'(?:[=(,?:]|return) (-)(?=[\w(])'):
        yield 'sign', m.start(1), m.end(1), ''
    for m in each(r'(?<=\()(-)(?=[A-Za-z(])'):
        yield 'sign', m.start(1), m.end(1), ''

    for m in each(OPERAND_BEFORE + r' ([*/%])=? '):
        yield 'factor', m.start(1), m.start(1) + 1, {'*': '/', '/': '*', '%': '/'}[m.group(1)]
    for m in each(r'(?<![\w.])(\d+\.\d*f?|[2-9]|[1-9]\d+)(?![\w.\]])'):
        yield 'factor', m.start(1), m.end(1), number_doubled(m.group(1))

    for m in each(r'\b([A-Za-z_]\w*)\('):
        if m.group(1) in ('if', 'for', 'while', 'switch', 'return', 'sizeof', 'defined', 'do', 'else'):
            continue
        parts = split_arguments(code, m.end(), closing(code, m.end() - 1))
        for (a, b), (c, d) in zip(parts, parts[1:]):
            if code[a:b] != code[c:d]:
                yield 'arguments', a, d, (c, d, b, c, a, b)

    for m in each(r'\b(if|while) \('):
        close = closing(code, m.end() - 1)
        yield 'condition', m.end(), close, ('!(', (m.end(), close), ')')
        if m.group(1) == 'if':
            yield 'condition', m.end(), close, ('(', (m.end(), close), ') && 0')
            yield 'condition', m.end(), close, ('(', (m.end(), close), ') || 1')
    for m in each(r'(?:(?<![=!<>])= |return )([^;?{}]+?) \? '):
        yield 'condition', m.start(1), m.end(1), ('!(', (m.start(1), m.end(1)), ')')

    for m in each(r'&&|\|\|'):
        yield 'and/or', m.start(), m.end(), {'&&': '||', '||': '&&'}[m.group()]
        yield 'dropped condition', operand_before(code, m.start(), CONDITION), m.end() + 1, ''
        yield 'dropped condition', m.start() - 1, operand_after(code, m.end(), CONDITION), ''

    for m in each(r'\s\?\s+'):
        begin_choice, end_one = operand_before(code, m.start(), CHOICE), arm_after(code, m.end())
        two = colon_after(code, end_one)
        end_two = arm_after(code, two)
        yield 'choice', begin_choice, end_two, ('', (m.end(), end_one), '')
        yield 'choice', begin_choice, end_two, ('', (two, end_two), '')

    for m in each(r'\bwhile (?=\()'):
        yield 'while to if', m.start(), m.end(), 'if '

    for m in each(r'^ +(?:else |for \(.*\) )?((?:[\w\[\].*()-]|->)+(?: [-+*/|&]?= [^;{}=][^;{}]*|\([^;{}]*\)|\+\+|--);) *$'):
        if not re.match(r'(return|else|do|while|for|if)\b', m.group(1)):
            parts = split_arguments(code, m.start(1), m.end(1) - 1)
            for i, (a, b) in enumerate(parts):
                kind = next(k for k, pattern in DROPPED if re.search(pattern, code[a:b]))
                if len(parts) == 1:
                    yield kind, a, m.end(1), '{}'
                elif i == 0:
                    yield kind, a, parts[1][0], ''
                else:
                    yield kind, parts[i - 1][1], b, ''
    for m in each(r'\b(break|continue);'):
        yield 'dropped statement', m.start(), m.end(), '{}'

    for m in each(r'[{,]\s+\.\w+ = '):
        yield 'dropped field', m.end(), operand_after(code, m.end(), CHOICE), '0'

    for m in each(r'(?:[(!*]|(?:[=,&|:?]|return) )(?!sizeof)([a-z]\w*)(?=\()'):
        close = closing(code, m.end())
        argument = split_arguments(code, m.end() + 1, close)[-1]
        if re.fullmatch(WORD, code[slice(*argument)]):
            yield 'dropped call', m.start(1), close + 1, ('', argument, '')

    for m in each(r'(?:[(!*]|(?:[=,&|:?]|return) )(?!sizeof)([a-z]\w*)(?=\()'):      # f(x, g(y)) becomes g(y), or x
        close = closing(code, m.end())
        parts = split_arguments(code, m.end() + 1, close)
        if not re.fullmatch(WORD, code[slice(*parts[-1])]):
            yield 'passed through', m.start(1), close + 1, ('', parts[-1], '')
        if len(parts) > 1:
            yield 'passed through', m.start(1), close + 1, ('', parts[0], '')
    for m in each(r'\b([a-z]\w*)\('):                           # an option that is not passed on
        if m.group(1) in ('if', 'for', 'while', 'switch', 'return', 'sizeof', 'defined'):
            continue
        for part in split_arguments(code, m.end(), closing(code, m.end() - 1)):
            if re.fullmatch(WORD, code[slice(*part)]) and code[slice(*part)] != 'NULL':
                yield 'zero argument', *part, '0'
    for m in each(OPERAND_BEFORE + r' (<|>) (?=\d)'):
        if 'for (' not in code[code.rfind('\n', 0, m.start()):m.start()]:
            yield 'comparison', m.start(1), m.end(1), '!='
    for m in each(r'\b(\w+)(?=\()'):
        if m.group(1) in OTHERS:
            yield 'other function', m.start(1), m.end(1), OTHERS[m.group(1)]

    for m in each(r'(?<![\w.])([01])(?![\w.])'):
        yield 'neighbor', m.start(1), m.end(1), '1' if m.group(1) == '0' else '0'
    words = set(re.findall(r'\w+', code[begin:end]))
    for m in each(r'\b[a-z]\w*\b(?!\()'):
        if NEIGHBORS.get(m.group()) in words | {'true', 'false'}:
            yield 'neighbor', m.start(), m.end(), NEIGHBORS[m.group()]


def new_text(source, new):
    """The replacement: a text, parts of the source between texts, or two arguments in the other order."""
    if isinstance(new, str):
        return new
    if len(new) == 3:
        return new[0] + source[new[1][0]:new[1][1]] + new[2]
    c, d, b, c2, a, b2 = new
    return source[c:d] + source[b:c2] + source[a:b2]


def one_line(text):
    return ' '.join(text.split())


@functools.lru_cache(maxsize=None)
def source_of(path):
    """The text of a file, as it was when the run began."""
    with open(os.path.join(ROOT, path), encoding='utf-8') as file:
        return file.read()


def mutants_of(path):
    source = source_of(path)
    code = mask(source)
    folder = max((f for f in FOLDERS if path.startswith(f + '/')), key=len)
    seen = set()
    for name, body_begin, body_end in functions(code):
        for kind, begin, end, new in places(code, body_begin, body_end):
            text = new_text(source, new)
            mutated = source[:begin] + text + source[end:]
            if text == source[begin:end] or mutated in seen:
                continue
            seen.add(mutated)
            first = source.rfind('\n', 0, begin) + 1
            last = source.find('\n', end)
            before = one_line(source[first:last])
            after = one_line(source[first:begin] + text + source[end:last])
            yield Mutant(path, kind, folder, name, source.count('\n', 0, begin) + 1, begin, end, text, before, after)


def source_files():
    for top in ('autograd', 'nn', 'models', *PROGRAMS):
        for folder, folders, names in os.walk(os.path.join(ROOT, top)):
            folders.sort()
            for name in sorted(names):
                if name.endswith(('.c', '.h')):
                    yield os.path.relpath(os.path.join(folder, name), ROOT)


def changed_lines(revision):
    """The numbers of the lines that are new since a revision, by path."""
    result = subprocess.run(['git', '-C', ROOT, 'diff', '--unified=0', '--find-renames', revision, '--'],
                            stdout=subprocess.PIPE, check=False)
    if result.returncode:
        sys.exit(f"--since: expected a revision of git, found '{revision}'")
    diff = result.stdout.decode(errors='replace')
    lines, path = collections.defaultdict(set), None
    for m in re.finditer(r'^\+\+\+ b/(.*)|^@@ -\S+ \+(\d+),?(\d*) @@', diff, re.M):
        path = m.group(1) or path
        if m.group(2):
            lines[path].update(range(int(m.group(2)), int(m.group(2)) + int(m.group(3) or 1)))
    return lines


def choose(mutants, seed):
    """Yields all mutants: in turn one of each kind and folder. Within these, a hash of the texts decides."""
    cells = collections.defaultdict(list)
    for m in mutants:
        order = hashlib.sha256(repr((seed, m.path, m.function, m.before, m.after)).encode()).digest()
        cells[m.kind, m.folder].append((order, m))
    for cell in cells.values():
        cell.sort()
    n_kinds, n_folders = len(KINDS), len(FOLDERS)
    for turn in range(max(map(len, cells.values()), default=0)):
        for step in range(n_folders):                           # every folder and kind once in each n_kinds mutants or so
            for k in range(n_kinds):
                cell = cells.get((KINDS[k], FOLDERS[(k + step) % n_folders]), [])
                if turn < len(cell):
                    yield cell[turn][1]


# ---- equivalent mutants --------------------------------------------------------------------------------------------

def identity(m):
    return m.path, m.function, m.kind, m.before, m.after


def read_equivalent(mutants):
    """The reasons in mutations.txt by identity. Each paragraph: "FILE, FUNCTION, KIND", "- before", "+ after", reason."""
    known, reasons = set(map(identity, mutants)), {}
    with open(EQUIVALENT, encoding='utf-8') as file:
        text = re.sub(r'^#.*\n', '', file.read(), flags=re.M)
    for paragraph in filter(None, re.split(r'\n\s*\n', text.strip())):
        lines = paragraph.split('\n')
        if len(lines) < 4 or lines[1][:2] != '- ' or lines[2][:2] != '+ ':
            sys.exit('tests/mutations.txt: expected "FILE, FUNCTION, KIND", "- before", "+ after", reason: ' + lines[0])
        key = (*lines[0].split(', '), lines[1][2:], lines[2][2:])
        if key not in known:
            sys.exit('tests/mutations.txt: no mutant is like this: ' + ' | '.join(lines[:3]))
        reasons[key] = ' '.join(line.strip() for line in lines[3:])
    return reasons


# ---- a copy of the sources -----------------------------------------------------------------------------------------

class Copy:
    """A copy of the sources with its build folder."""

    def __init__(self, folder):
        self.source, self.build = os.path.join(folder, 'kaeru'), os.path.join(folder, 'build')
        self.asan = os.path.join(folder, 'build-asan')
        self.temporary = os.path.join(folder, 'tmp')
        self.restore = None
        self.update()
        # Without debug information the same code is the same program.
        if not os.path.exists(os.path.join(self.build, 'build.ninja')):
            run(['meson', 'setup', self.build, self.source, '-Dtests=enabled', '-Dwerror=true', '-Ddebug=false'])
        for target in ('tests/run_tests_float', 'tests/run_tests_double'):
            run(['ninja', '-j1', '-C', self.build, target])
        self.unchanged = self.programs()

    def update(self):
        """Makes the copy the same as the sources; writes only files that differ."""
        kept = set()
        for folder, folders, names in os.walk(ROOT):
            folders[:] = [f for f in folders if f not in ('.git', '__pycache__')
                          and not (folder == ROOT and f.startswith('build'))]
            target = os.path.join(self.source, os.path.relpath(folder, ROOT))
            os.makedirs(target, exist_ok=True)
            for name in names:
                original, copied = os.path.join(folder, name), os.path.join(target, name)
                kept.add(os.path.normpath(copied))
                if not (os.path.exists(copied) and filecmp.cmp(original, copied, shallow=False)):
                    shutil.copy(original, copied)
        for folder, _, names in os.walk(self.source):
            for name in names:
                if os.path.join(folder, name) not in kept:
                    os.remove(os.path.join(folder, name))

    def programs(self):
        hashes = []
        for precision in ('float', 'double'):
            with open(os.path.join(self.build, 'tests', 'run_tests_' + precision), 'rb') as file:
                hashes.append(hashlib.sha256(file.read()).digest())
        return hashes

    def write(self, path, text):
        with open(os.path.join(self.source, path), 'w', encoding='utf-8') as file:
            file.write(text)

    def plant(self, mutant):
        if self.restore and self.restore != mutant.path:
            self.write(self.restore, source_of(self.restore))
        self.restore = mutant.path
        source = source_of(mutant.path)
        self.write(mutant.path, source[:mutant.begin] + mutant.text + source[mutant.end:])

    def make(self, *targets):
        return self.limited(['ninja', '-j1', '-C', self.build, *targets], 900, memory=None)[0] == 0

    def limited(self, command, seconds, memory=MEMORY):
        """Runs the command with limits in a temporary folder and a session of its own. Returns its status (None: it did not
        end) and its output."""
        shutil.rmtree(self.temporary, ignore_errors=True)
        os.mkdir(self.temporary)

        def limits():
            if memory:
                resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
                resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_SIZE, FILE_SIZE))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        with tempfile.TemporaryFile() as out:
            process = subprocess.Popen(command, cwd=self.temporary, stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=limits,
                                       env=dict(os.environ, TMPDIR=self.temporary, CK_DEFAULT_TIMEOUT=str(int(seconds) + 1)))
            RUNNING.add(process.pid)
            if STOPPED.is_set():
                end_session(process.pid)
            try:
                status = process.wait(seconds)
            except subprocess.TimeoutExpired:
                status = None
                process.send_signal(signal.SIGTERM)             # Check then ends the test that runs
                time.sleep(0.2)
            end_session(process.pid)
            process.wait()
            RUNNING.discard(process.pid)
            if STOPPED.is_set():
                sys.exit()                                      # ends this thread alone
            out.seek(max(0, out.seek(0, os.SEEK_END) - 200000))
            return status, out.read().decode(errors='replace')

    def suite(self, precision, name, seconds):
        return self.limited([os.path.join(self.build, 'tests', 'run_tests_' + precision), name], seconds)

    def make_sanitized(self):
        """Builds the float tests with sanitizers; takes minutes the first time."""
        if not os.path.exists(os.path.join(self.asan, 'build.ninja')):
            run(['meson', 'setup', self.asan, self.source, '-Dtests=enabled', '-Dexamples=false', '-Ddebug=false',
                 '-Doptimization=1', '-Db_ndebug=false', '-Db_sanitize=address,undefined', '-Db_lundef=false'])
        return self.limited(['ninja', '-j1', '-C', self.asan, 'tests/run_tests_float'], 3600, memory=None)[0] == 0

    def sanitized_suite(self, name, seconds):
        """Whether a sanitizer reports something."""
        output = self.limited([os.path.join(self.asan, 'tests', 'run_tests_float'), name], seconds, memory=None)[1]
        return 'AddressSanitizer' in output or 'runtime error: ' in output

    def example(self, name):
        return self.limited(['meson', 'test', '-C', self.build, '--no-rebuild', name], 600, memory=None)


def end_session(leader):
    """Ends all processes of a session: Check runs each test in a process group of its own."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        pass
    if not os.path.isdir('/proc/self'):
        return
    for name in os.listdir('/proc'):
        try:
            if name.isdigit() and os.getsid(int(name)) == leader:
                os.kill(int(name), signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass


def run(command):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False)
    if result.returncode:
        print(result.stdout.decode(errors='replace')[-4000:] + '\nThis failed: ' + ' '.join(command), file=sys.stderr)
        sys.exit(1)


# ---- the run -------------------------------------------------------------------------------------------------------

class Run:
    def __init__(self, arguments, mutants, reasons):
        self.arguments, self.mutants, self.reasons = arguments, mutants, reasons
        self.share = -(-arguments.count // len(KINDS))          # of each kind
        self.lock = threading.Lock()
        self.table = collections.Counter()
        self.refused = self.same = 0
        self.failed = False
        self.seconds = {}                                       # of each suite without a mutant
        self.begin = time.monotonic()
        self.done = 0

    def measure(self, copy):
        """Runs all suites without a mutant; they must pass."""
        kept = os.path.join(os.path.dirname(copy.build), 'seconds.json')
        if os.path.exists(kept) and os.path.getmtime(kept) > max(
                os.path.getmtime(os.path.join(copy.build, 'tests', 'run_tests_' + p)) for p in ('float', 'double')):
            with open(kept, encoding='utf-8') as file:
                self.seconds = {tuple(key.split()): value for key, value in json.load(file).items()}
            return
        for precision in ('float', 'double'):
            with open(os.path.join(ROOT, 'tests', 'meson.build'), encoding='utf-8') as file:
                suites = re.findall(r"^    '(\w+)': \[(.*)\],$", file.read(), re.M)
            for name, builds in suites:
                if precision in builds:
                    begin = time.monotonic()
                    status, output = copy.suite(precision, name, 1200)
                    if status != 0:
                        sys.exit(f'{output}\nThe suite {name} {precision} fails without a mutant.')
                    self.seconds[precision, name] = time.monotonic() - begin
        with open(kept, 'w', encoding='utf-8') as file:
            json.dump({' '.join(key): value for key, value in self.seconds.items()}, file)

    def suites(self, precision, mutant):
        """The suites that touch the file first, then the others: the fast ones first. Only the first for equivalent mutants."""
        close = first_fit(CLOSE, mutant.path).split()
        seconds = {s: t for (p, s), t in self.seconds.items() if p == precision}
        names = sorted((s for s in seconds if s in close or seconds[s] < 3 or not self.arguments.quick), key=seconds.get)
        return [s for s in close if s in names] + [s for s in names if s not in close and not self.reason(mutant)]

    def limit(self, precision, name):
        return 20 + 10 * self.seconds[precision, name]

    def test(self, copy, mutant):
        """Returns (outcome, by what)."""
        copy.plant(mutant)
        if mutant.path.startswith('examples/'):
            return self.test_program(copy, mutant)
        for precision in ('float', 'double'):
            if not copy.make('tests/run_tests_' + precision):
                return 'refused', ''
            if precision == 'double' and copy.programs() == copy.unchanged:
                return 'same', ''
            if precision == 'float' and copy.programs()[0] == copy.unchanged[0]:
                continue
            if precision == 'double' and copy.programs()[1] == copy.unchanged[1]:
                continue
            for name in self.suites(precision, mutant):
                status, _ = copy.suite(precision, name, self.limit(precision, name))
                if status != 0:
                    return 'killed', f'{name} {precision}' + (', no end' if status is None else '')
        if self.reason(mutant):
            return 'equivalent', self.reason(mutant)
        by = self.sanitized(copy, mutant)
        if by:
            return 'killed', by + ' float, by a sanitizer'
        if self.arguments.quick:
            return 'survived', ''
        return self.test_program(copy, mutant)

    def test_program(self, copy, mutant):
        """The examples alone. Returns (outcome, by what)."""
        if not copy.make():
            return 'refused', ''
        if self.reason(mutant):
            return 'equivalent', self.reason(mutant)
        for name in first_fit(EXAMPLES, mutant.path):
            if copy.example(name)[0] != 0:
                return 'killed', name
        return 'survived', ''

    def sanitized(self, copy, mutant):
        """The closest suites with sanitizers, which report a read outside an array that changes no result."""
        if not copy.make_sanitized():
            return None
        for name in self.suites('float', mutant):
            if name in first_fit(CLOSE, mutant.path).split() and copy.sanitized_suite(name, 60 + self.limit('float', name)):
                return name
        return None

    def reason(self, m):
        return self.reasons.get(identity(m))

    def report(self, mutant, outcome, how):
        with self.lock:
            if outcome == 'refused':
                self.refused += 1
            elif outcome == 'same':
                self.same += 1
            else:
                self.done += 1
                self.table[mutant.kind, outcome] += 1
            wrong = outcome == 'killed' and self.reason(mutant)
            self.failed = self.failed or outcome == 'survived' or wrong
            self.clear()
            if outcome in ('killed', 'survived', 'equivalent') or self.arguments.verbose:
                how += '; but mutations.txt says that it is equivalent' if wrong else ''
                print(f'{outcome}: {mutant.path}:{mutant.line}, {mutant.function}, {mutant.kind}' +
                      (f': {how}' if how else '') + f'\n  - {mutant.before}\n  + {mutant.after}', flush=True)
            self.progress()

    def clear(self):
        if sys.stderr.isatty():
            sys.stderr.write('\r\033[K')

    def progress(self):
        if sys.stderr.isatty() and self.done:
            left = (time.monotonic() - self.begin) / self.done * max(0, self.arguments.count - self.done)
            sys.stderr.write(f'{self.done} of {self.arguments.count} mutants, {left / 60:.0f} minutes left')
            sys.stderr.flush()

    def next_mutants(self):
        """The mutants that are missing, the same number of each kind as far as there are enough."""
        counted = collections.Counter()
        for (kind, _), n in self.table.items():
            counted[kind] += n
        chosen, left = [], []
        for m in self.mutants:
            if self.done + len(chosen) < self.arguments.count and counted[m.kind] < self.share:
                counted[m.kind] += 1
                chosen.append(m)
            else:
                left.append(m)
        self.mutants = left
        self.share += not chosen
        return chosen

    def wave(self, copies, mutants):
        """Tests the mutants on all copies. Mutants of one file go to one copy, so that fewer files are compiled."""
        by_file = collections.defaultdict(list)
        for m in mutants:
            by_file[m.path].append(m)
        work = queue.Queue()
        for group in sorted(by_file.values(), key=len, reverse=True):
            work.put(group)

        def worker(copy):
            while True:
                try:
                    group = work.get_nowait()
                except queue.Empty:
                    return
                for m in group:
                    try:
                        self.report(m, *self.test(copy, m))
                    except Exception as error:                  # the mutant must not be lost
                        self.report(m, 'survived', f'the run failed: {error!r}')
                        raise

        threads = [threading.Thread(target=worker, args=(copy,), daemon=True) for copy in copies]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def print_table(self):
        rows = [('', 'killed', 'survived', 'equivalent')]
        rows += [(kind, *(self.table[kind, outcome] for outcome in rows[0][1:])) for kind in KINDS]
        rows.append(('all', *(sum(row[i] for row in rows[1:]) for i in (1, 2, 3))))
        for row in rows:
            print(f'{row[0]:<18}' + ''.join(f'{cell:>11}' for cell in row[1:]))
        print(f'not counted: {self.refused} that the compiler refuses, {self.same} that make the same program')

    def go(self, work):
        arguments = self.arguments
        copies = []

        def make(i):
            folder = os.path.join(work, str(i))
            os.makedirs(folder, exist_ok=True)
            copies.append(Copy(folder))

        makers = [threading.Thread(target=make, args=(i,), daemon=True) for i in range(arguments.jobs)]
        for maker in makers:
            maker.start()
        for maker in makers:
            maker.join()
        if len(copies) < arguments.jobs:
            return 1
        self.measure(copies[0])
        self.begin = time.monotonic()
        while self.done < arguments.count and self.mutants:
            self.wave(copies, self.next_mutants())
        self.clear()
        self.print_table()
        return 1 if self.failed else 0


def positive(text):
    if not re.fullmatch(r'[1-9]\d{0,8}', text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a count, expected 1 to 999999999")
    return int(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('count', nargs='?', type=positive, default=150, metavar='COUNT', help='mutants (150)')
    parser.add_argument('--seed', default='1', help='another seed chooses other mutants (1)')
    parser.add_argument('--jobs', type=positive, default=os.cpu_count() or 1, help='copies that work at once (processors)')
    parser.add_argument('--only', default='', metavar='PATTERN', help='only files whose path has this regular expression')
    parser.add_argument('--programs', action='store_true', help='also files of gpt, llama, translate and compress')
    parser.add_argument('--since', metavar='REVISION', help='only lines that are new since this revision of git')
    parser.add_argument('--quick', action='store_true',
                        help='without the examples and without suites of 3 seconds or more that do not touch the file')
    parser.add_argument('--work', metavar='FOLDER', help='keep the copies in this folder: the next run builds only changes')
    parser.add_argument('--list', action='store_true', help='print the chosen mutants and end')
    parser.add_argument('--verbose', action='store_true', help='print those that are not counted, too')
    arguments = parser.parse_args()
    mutants = [m for path in source_files() for m in mutants_of(path)]
    reasons = read_equivalent(mutants)
    changed = changed_lines(arguments.since) if arguments.since else None
    chosen = choose((m for m in mutants if re.search(arguments.only, m.path) and
                     (arguments.programs or not m.path.startswith('examples/')) and
                     (changed is None or m.line in changed[m.path])), arguments.seed)
    if arguments.list:
        for _, m in zip(range(arguments.count), chosen):
            print(f'{m.path}:{m.line}, {m.function}, {m.kind}\n  - {m.before}\n  + {m.after}')
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    work = os.path.abspath(arguments.work) if arguments.work else tempfile.mkdtemp(prefix='mutate.')
    try:
        return Run(arguments, list(chosen), reasons).go(work)
    except KeyboardInterrupt:
        return 130
    finally:
        STOPPED.set()
        for leader in list(RUNNING):
            end_session(leader)
        if not arguments.work:
            shutil.rmtree(work, ignore_errors=True)


if __name__ == '__main__':
    sys.exit(main())
