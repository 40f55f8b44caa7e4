"""test_languages.py ROOT: what is in English and in Japanese has the same captions, commands and figures.

plots/ja.txt: a Japanese line for each caption of the figures and graphs, with the same numbers, and no other line. The
documents NAME.md and NAME.ja.md, and the pages docs/NAME.md and docs/ja/NAME.md, unless that one says that it is not
translated: the same blocks of code but for comments, commands in the text, pictures and numbers of lessons. The lists
examples/gallery.txt and gallery.ja.txt: the same lessons, commands and pictures, each with what is seen."""
import collections
import itertools
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
failures = []


def read(name):
    return (root / name).read_text(encoding='utf-8')


def fail(message):
    failures.append(message)


def compare(what, english, japanese):
    """Two lists must be the same; tells the first difference."""
    for i, (a, b) in enumerate(itertools.zip_longest(english, japanese)):
        if a != b:
            fail(f'{what}, number {i + 1}: English {a!r}, Japanese {b!r}')
            return


# ---- plots/ja.txt ----------------------------------------------------------------------------------------------------

def calls(text, name):
    """The arguments of each call NAME(...) in a gnuplot script."""
    for call in re.finditer(rf'\b{name}\(', text):
        depth, quote, end = 1, '', call.end()
        while depth:
            c = text[end]
            if quote:
                quote = '' if c == quote else quote
            elif c in '"\'':
                quote = c
            else:
                depth += (c in '([') - (c in ')]')
            end += 1
        yield text[call.end():end - 1]


def captions_of_figures():
    """The texts in the calls that translate, in the figures that programs draw, and in the variables given to them."""
    drawn = set(re.findall(r'picture_draw\("(\w+)"\)', ''.join(f.read_text() for f in root.glob('examples/**/*.c'))))
    for name in sorted(drawn | {'attention_maps'}):
        script = re.sub(r'^ *#.*', '', read(f'plots/{name}.gp').replace('\\\n', ' '), flags=re.M)
        texts = [a for call in ('say', 'heading', 'panel') for a in calls(script, call)]
        texts += re.findall(r'^(?:title|subtitle|TITLE) = .*|^array NAME.*|^part\(n\) = .*', script, flags=re.M)
        for text in texts:
            for words in re.findall(r'word\("([^"]*)"', text):
                yield from ((name, word) for word in words.split())
            for caption in re.findall(r'(?<!eq )"([^"]*)"', re.sub(r'word\("[^"]*"', '', text)):
                yield name, caption


def texts_of_graphs():
    """All pieces of the string literals from which graphs and data are made."""
    for name in ('examples/architectures/figures.c', 'examples/ablations.c', 'examples/feed_forward/parameters.c',
                 'examples/skip_connection.c'):
        for literal in re.findall(r'"((?:[^"\\]|\\.)*)"', read(name)):
            yield from (piece.strip() for piece in re.split(r'\\+n|\\"|<br/>|[<>]', literal))


def numbers_of(caption):
    return re.findall(r'%(?:\.\d)?[a-z]', caption)


lines = [line for line in read('plots/ja.txt').split('\n') if line and not line.startswith('#')]
table = dict(zip(lines[::2], lines[1::2]))
compare('plots/ja.txt: an English line and a Japanese line', [False, True] * len(table), [line[:2] == '= ' for line in lines])
if len(table) < len(lines) / 2:
    fail('plots/ja.txt: the same English line twice')
for english, japanese in table.items():
    compare(f'plots/ja.txt: numbers in {english!r}', numbers_of(english), numbers_of(japanese))

# A caption without two letters in a row, or only of these words, stays as it is.
stays = re.compile(r'([^A-Za-z]|\b[A-Za-z]\b|\b(softmax|sin|cos|BLEU|Adam|Transformer|top_[kp])\b)*')
figures = list(captions_of_figures())
for name, caption in figures:
    if caption not in table and not stays.fullmatch(caption.replace('\\', '')):
        fail(f'plots/ja.txt has no Japanese for {caption!r} of plots/{name}.gp')
used = {caption for _, caption in figures} | set(texts_of_graphs())
# The library writes these into the frames of backprop; ablations.c puts names and values together.
frames = {'forward %s of %s', 'backward %s of %s', '%s so far', '%s = mean of %s', '%s = sum of %s over rows',
          '%s, elementwise'}
ablations = re.findall(r'\{ "(\w+)", "([^"]+)", \d', read('examples/ablations.c'))
used |= frames | {f'{part}: {value}' for part, value in ablations} | {'times %s'}
for part, value in ablations:
    if f'{part}: {value}' not in table:
        fail(f'plots/ja.txt has no Japanese for {part}: {value} of examples/ablations.c')
for english in table:
    if english not in used:
        fail(f'plots/ja.txt: no picture has {english!r}')

# ---- documents -------------------------------------------------------------------------------------------------------

BLOCK = r'(?ms)^```.*?^```$'


def blocks_of(text):
    """The blocks of code without comments, which are in the language of the document."""
    return [re.sub(r'(?s)[ \t]*/\*.*?\*/|[ \t]+# [^\n]*', '', block) for block in re.findall(BLOCK, text)]


def commands_of(text):
    """How often each command is in the text, as `inline code`."""
    spans = (re.sub(r'\s+', ' ', span) for span in re.findall(r'`([^`]+)`', text.replace(' --language ja', '')))
    program = re.compile(r'(sh|meson|ninja|python3|gnuplot|cmake|apt|sudo|build/\S+) ')
    return collections.Counter(span for span in spans if program.match(span))


pages = [(f'docs/{page.name}', f'docs/ja/{page.name}') for page in sorted((root / 'docs').glob('*.md'))]
for english, japanese in [('README.md', 'README.ja.md'), ('examples/README.md', 'examples/README.ja.md'),
                          ('examples/ANSWERS.md', 'examples/ANSWERS.ja.md')] + pages:
    a = read(english)
    if f']({pathlib.Path(japanese).name})' not in a and not (root / japanese).exists():
        continue
    b = read(japanese)
    if f'](../{pathlib.Path(english).name})' in b and '日本語版はありません' in b:
        continue
    compare(f'{english} and {japanese}: block of code', blocks_of(a), blocks_of(b))
    a, b = re.sub(BLOCK, '', a), re.sub(BLOCK, '', b)
    for what, pattern in (('indented line', r'(?m)^    .+'), ('lesson', r'(?m)^## (\d+)\.'),
                          ('picture', r'!\[[^\]]*\]\((?:\.\./)*((?:[^)/]+/)*?)(?:ja/)?([^)/]*)\)')):
        compare(f'{english} and {japanese}: {what}', re.findall(pattern, a), re.findall(pattern, b))
    one, other = commands_of(a), commands_of(b)
    for command in sorted((one - other) + (other - one)):
        fail(f'{english} has `{command}` {one[command]} times, {japanese} {other[command]} times')

# ---- the gallery -----------------------------------------------------------------------------------------------------

def gallery_of(name):
    """Numbers of lessons, commands, names of pictures, "seen" and "text"."""
    return re.findall(r'^(?:## (?:\d+\.)?|[$!] .*|[a-z0-9_]+\*?: )', read(name), flags=re.M)


compare('examples/gallery.txt and gallery.ja.txt: line', *map(gallery_of, ('examples/gallery.txt', 'examples/gallery.ja.txt')))

print('\n'.join(failures) if failures else f'languages: {len(table)} captions')
sys.exit(1 if failures else 0)
