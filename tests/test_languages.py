"""test_languages.py ROOT: what is in English and in Japanese has the same captions, commands and figures.

plots/ja.txt: a Japanese line for each caption of the figures and graphs, with the same numbers, and no other line.
examples/ja/NAME.def: a Japanese text for each text that the examples print, with the same conversions, and no other. The
documents NAME.md and NAME.ja.md, and the pages docs/NAME.md and docs/ja/NAME.md, unless that one says that it is not
translated: the same blocks of code but for comments and lines that the library prints, commands in the text, pictures and
numbers of lessons. The lists examples/gallery.txt and gallery.ja.txt: the same lessons, commands and pictures, each with what
is seen."""
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
    slides = {path.stem for path in root.glob('plots/*_slide.gp')}
    for name in sorted(drawn | slides | {'attention_maps'}):
        script = re.sub(r'^ *#.*', '', read(f'plots/{name}.gp').replace('\\\n', ' '), flags=re.M)
        texts = [a for call in ('say', 'heading', 'panel', 'slide') for a in calls(script, call)]
        texts += re.findall(r'^(?:title|subtitle|TITLE) = .*|^array NAME.*|^part\(n\) = .*', script, flags=re.M)
        for text in texts:
            for words in re.findall(r'word\("([^"]*)"', text):
                yield from ((name, word) for word in words.split())
            for caption in re.findall(r'(?<!eq )"([^"]*)"', re.sub(r'word\("[^"]*"', '', text)):
                yield name, caption


def texts_of_graphs():
    """All pieces of the string literals from which graphs and data are made."""
    for name in ('examples/architectures/figures.c', 'examples/ablations.c', 'examples/feed_forward/parameters.c',
                 'examples/skip_connection.c', 'examples/skip_connection/setup.c'):
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
stays = re.compile(r'([^A-Za-z]|\b[A-Za-z]\b|\b(softmax|sin|cos|BLEU|Adam|Transformer|GPT|BERT-base|top_[kp])\b)*')
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

# ---- examples/ja: printed texts --------------------------------------------------------------------------------------

LITERAL = r'"(?:[^"\\\n]|\\.)*"'
TEXT = rf'{LITERAL}(?:\s*(?:{LITERAL}|PRI\w+|[A-Z][A-Z_]{{4,}}))*'       # macros of texts may follow a literal

# The C sources without comments, and the texts that are macros, by folder.
sources, macros = {}, {}
for path in sorted((root / 'examples').rglob('*.[ch]')):
    if path.parent.name not in ('course', 'engine', 'wasm') and path.name not in ('spiral.c', 'tiny.c'):
        sources[path] = re.sub(r'/\*.*?\*/', '', path.read_text().replace("'\"'", '0'), flags=re.S)
        for name, text in re.findall(rf'#define (\w+) +({LITERAL})\s*$', sources[path], flags=re.M):
            macros[path.parent.name, name] = text


def macro(folder, name):
    """The text of a macro of this folder, or else of the only folder that has one of that name."""
    others = [text for (_, other), text in macros.items() if other == name]
    return macros.get((folder, name)) or macros.get(('examples', name)) or (others[0] if len(others) == 1 else f'"{name}"')


def joined(text, folder):
    """The contents of adjacent literals and macros: as the compiler joins them, with escapes."""
    pieces = (piece if piece[0] == '"' else macro(folder, piece) for piece in re.findall(rf'{LITERAL}|\w+', text))
    return ''.join(piece[1:-1] for piece in pieces)


def texts_of(path, text):
    """All texts in a piece of a source. NAME.c also has the macros of the folder NAME."""
    folder = path.parent.name if path.parent.name != 'examples' or not path.with_suffix('').is_dir() else path.stem
    return [joined(found, folder) for found in re.findall(TEXT, text)]


CONVERSION = r'%[-+0]*[\d*]*(?:\.[\d*]+)?(?:PRI[dux]64|(?:ll?|z)?[cdefgsux])'


def conversions(text):
    """Those of printf, without widths, which differ if tables are aligned."""
    return [re.sub(r'(?<=%)[-+0]*\d*', '', c) for c in re.findall(CONVERSION, text.replace('%%', ''))]


def english(text):
    """Whether something in it is to be translated: two letters in a row, beside conversions, names and formulas."""
    text = re.sub(rf'\\033\S*|\\[a-z]|{CONVERSION}', ' ', text)
    stays = r'--\w+|[\w./%]+\.\w+|\b(pre|post|top_[kp]|ReLU|PyTorch|std|eps|max|norm|d[wxy]|annotated|Adam|Transformer)\b'
    return re.search(r'[A-Za-z]{2}', re.sub(stays, ' ', text))


def printed_texts(path, source):
    """The texts in the calls that translate, of options, of programs and of charts."""
    for name in ('say', 'say_to', 'tr', 'progress_show', 'progress_begin'):
        for arguments in calls(source, name):
            yield from texts_of(path, arguments)
    for name in ('NN_OPTION', 'NN_FLAG_OPTION', 'NN_TEXT_OPTION'):
        for arguments in calls(source, name):
            yield texts_of(path, arguments)[-1]
    for member in re.findall(rf'(?:\(Program\)|Program program =|Commands\)) *\{{ *{LITERAL},\s*({TEXT})', source):
        yield from texts_of(path, member)
    for title, x, curves in re.findall(rf'\(Chart\)\{{ *({LITERAL}|\w+), ({LITERAL}),([^;]*);', source):
        yield from texts_of(path, title + ',' + x)
        yield from (text for text in texts_of(path, ';'.join(re.findall(rf'\{{ {LITERAL}, ({LITERAL})', curves))))


def sentences(path, source):
    """Other texts of several words: arguments of the functions of a program that print them."""
    for name in ('example_fail', 'example_usage_error', 'example_complain', 'ag_set_error', 'ag_usage_error', 'csv_open',
                 'fprintf', 'printf', 'snprintf', 'strspn', 'nn_settings_set'):
        for arguments in calls(source, name):
            source = source.replace(arguments, '')
    # Not those of graphs, of data and of messages about files, and parts of help texts.
    if path.stem not in ('figures', 'grammar', 'sentences', 'options', 'setup'):
        yield from (text for text in texts_of(path, source) if re.search(r'[a-z]{2,} [a-z]{2,} ', text))


pairs, lines_of_library = {}, []
included = set(re.findall(r'"ja/(\w+)\.def"', read('examples/common/japanese.c')))
compare('examples/common/japanese.c: file', sorted(f.stem for f in (root / 'examples/ja').glob('*')), sorted(included))
for name in sorted(included):
    content = read(f'examples/ja/{name}.def')
    for english_text, japanese_text in re.findall(rf'\{{ ({TEXT}),\s*({TEXT}) \}},', content):
        english_text, japanese_text = joined(english_text, ''), joined(japanese_text, '')
        compare(f'examples/ja/{name}.def: conversions of {english_text!r}', conversions(english_text),
                conversions(japanese_text))
        if english_text in pairs and name != 'lines':
            fail(f'examples/ja/{name}.def: {english_text!r} is also in {pairs[english_text]}.def')
        pairs[english_text] = name
        if name == 'lines':
            lines_of_library.append((re.escape(english_text).replace('%s', '(.*)'), japanese_text.replace('%s', '{}')))
printed = {text for path in sources for text in texts_of(path, sources[path])}
for path in [*(root / 'models').glob('*_options.c'), root / 'models/lm/lm_options.c']:
    for arguments in calls(path.read_text(), 'FIELD'):
        helps = re.findall(LITERAL, arguments)
        printed |= {text[1:-1] for text in helps}
        help_text = [text[1:-1] for text in helps if ' ' in text]
        if help_text and 'llama' not in path.name and help_text[0] not in pairs:
            fail(f'examples/ja/library.def has no Japanese for {help_text[0]!r} of {path.name}')
library = ''.join(read(name) for name in ('autograd/debug/gradcheck.c', 'autograd/debug/explain.c', 'autograd/ops/ops.def',
                                          'autograd/ops/more/more.def', 'nn/fields.c', 'nn/options/options.c',
                                          'nn/more/summary.c', 'autograd/checks.c', 'autograd/errors.c'))
for text, name in pairs.items():
    if name != 'lines' and text not in printed:
        fail(f'examples/ja/{name}.def: no program prints {text!r}')
    for word in re.findall(r'[A-Za-z]{2,}', text.replace('%s', ' ')) if name == 'lines' else ():
        if word not in library:
            fail(f'examples/ja/lines.def: the library does not print {word!r} of {text!r}')
for path, source in sources.items():
    for text in {*printed_texts(path, source), *sentences(path, source)}:
        if english(text) and text not in pairs:
            fail(f'examples/ja has no Japanese for {text!r} of {path.relative_to(root)}')

# ---- documents -------------------------------------------------------------------------------------------------------

BLOCK = r'(?ms)^```.*?^```$'


def blocks_of(text):
    """The blocks of code without comments, which are in the language of the document."""
    return [re.sub(r'(?s)[ \t]*/\*.*?\*/|[ \t]+# [^\n]*', '', block) for block in re.findall(BLOCK, text)]


def as_printed(block):
    """A block of an English document with the lines that the library prints as --language ja prints them."""
    lines = block.split('\n')
    for pattern, japanese_text in lines_of_library:
        lines = [japanese_text.format(*m.groups()) if (m := re.fullmatch(pattern, line)) else line for line in lines]
    return '\n'.join(lines)


def commands_of(text):
    """How often each command is in the text, as `inline code`."""
    spans = (re.sub(r'\s+', ' ', span) for span in re.findall(r'`([^`]+)`', text.replace(' --language ja', '')))
    program = re.compile(r'(sh|meson|ninja|python3|gnuplot|cmake|apt|sudo|build/\S+) ')
    return collections.Counter(span for span in spans if program.match(span))


# Words that a reader looks for in the lessons: the field's, and those of textbooks.
TERMS = {
    'examples/README.md': """
        activation function, additive attention, automatic differentiation, autoregressive, backpropagation, computation graph,
        context, convolutional network, cross-attention, dimension, dot product, feature, fully connected layer, generalization,
        gradient check, hidden layer, hidden state, hyperparameter, identity mapping, internal covariate shift,
        Kullback-Leibler, layer normalization, linear layer, loss function, mean squared error, mini-batch,
        multi-head attention,
        numerical gradient, overfitting, positional embedding, residual connection, scaled dot-product attention,
        skip connection, stochastic gradient descent, subword""",
    'examples/README.ja.md': """
        KLダイバージェンス, アテンション機構, サブワード, スケール化内積注意, ハイパーパラメータ, ミニバッチ, 位置埋め込み,
        位置符号化, 加法注意, 加重和, 過学習, 隠れ状態, 隠れ層, 確率的勾配降下法, 活性化関数, 計算グラフ, 交差注意, 恒等写像,
        勾配確認, 誤差逆伝播法, 残差結合, 残差接続, 次元数, 自己回帰, 自己注意, 自動微分, 縮小付き内積, 順伝播型ニューラルネットワーク,
        数値微分, スキップ接続, 全結合層, 線形層, 線形変換, 層正規化, 損失関数, 畳み込みニューラルネットワーク, 多頭注意, 中間層,
        注意機構, 特徴量, トークン埋め込み, 内積注意, 内部共変量シフト, 汎化, 文脈, 平均二乗誤差""",
}
for name, words in TERMS.items():
    text = re.sub(r'\s+', ' ', read(name))
    for word in re.split(r',\s+', words.strip()):
        if word.lower() not in text.lower():
            fail(f'{name} does not have the word {word}')

pages = [(f'docs/{page.name}', f'docs/ja/{page.name}') for page in sorted((root / 'docs').glob('*.md'))]
course = [(f'examples/course/{page.with_suffix("").stem}.md', f'examples/course/{page.name}')
          for page in sorted((root / 'examples/course').glob('*.ja.md'))]
for english, japanese in [('README.md', 'README.ja.md'), ('examples/README.md', 'examples/README.ja.md'),
                          ('examples/ANSWERS.md', 'examples/ANSWERS.ja.md')] + course + pages:
    a = read(english)
    if f']({pathlib.Path(japanese).name})' not in a and not (root / japanese).exists():
        continue
    b = read(japanese)
    if f'](../{pathlib.Path(english).name})' in b and '日本語版はありません' in b:
        continue
    compare(f'{english} and {japanese}: block of code', [as_printed(block) for block in blocks_of(a)], blocks_of(b))
    a, b = re.sub(BLOCK, '', a), re.sub(BLOCK, '', b)
    for what, pattern in (('indented line', r'(?m)^    .+'), ('lesson', r'(?m)^## (\d+)\.'),
                          ('picture', r'!\[[^\]]*\]\((?:\.\./)*((?:[^)/]+/)*?)(?:ja/)?([^)/]*)\)')):
        compare(f'{english} and {japanese}: {what}', re.findall(pattern, a), re.findall(pattern, b))
    one, other = commands_of(a), commands_of(b)
    for command in sorted((one - other) + (other - one)):
        fail(f'{english} has `{command}` {one[command]} times, {japanese} {other[command]} times')

# ---- the page --------------------------------------------------------------------------------------------------------

def sections_of_page():
    """{id: (numbers of its lessons, (English, Japanese) name)} of each section that make.py lists."""
    found = {}
    listed = re.search(r'^SECTIONS = \[(.*?)\]', read('examples/page/make.py'), re.M | re.S)[1]
    for name in re.findall(r'"(\w+)"', listed):
        folder = f'examples/page/sections/{name}'
        numbers = re.search(rf'<section id="{name}" data-lesson="([\d ]+)">', read(f'{folder}/section.html'))
        names = re.search(rf"\b{name}_short:\s*\[\s*'(.*?)',\s*'(.*?)',?\s*\]", read(f'{folder}/texts.js'))
        if not numbers or not names:
            fail(f'{folder}: no data-lesson, or no {name}_short')
        else:
            found[name] = numbers[1].split(), names.groups()
    return found


# Each section names its lessons, each lesson its sections by name, and so does the lecture of 90 minutes.
sections = sections_of_page()
for i, (lessons, quote, plan, shown) in enumerate((
        ('examples/README.md', '“([^”]*)”', 'docs/ninety_minutes.md', r'page ((?:"[^"]*"(?:, )?)+)'),
        ('examples/README.ja.md', '「([^」]*)」', 'docs/ja/ninety_minutes.md', r'ページ((?:「[^」]*」)+)'))):
    told = {}
    for number, chapter in re.findall(r'^## (\d+)\. (.*?)(?=^## )', read(lessons), flags=re.M | re.S):
        line = re.search(r'^(?:On the page: |ページの節：)(.*)', chapter, re.M)
        told[number] = re.findall(quote, line[1]) if line else []
    for number, names in told.items():
        wanted = [names_of[i] for numbers, names_of in sections.values() if number in numbers]
        if sorted(names) != sorted(wanted):
            fail(f'{lessons}: lesson {number} names the sections {names} of the page, which has {wanted} for it')
    for number in {n for numbers, _ in sections.values() for n in numbers} - set(told):
        fail(f'{lessons}: there is no lesson {number}, which a section of the page names')
    known = {names_of[i] for _, names_of in sections.values()}
    named = [name for run in re.findall(shown, read(plan)) for name in re.findall('["「]([^"」]*)["」]', run)]
    if not named:
        fail(f'{plan}: no section of the page')
    for name in named:
        if name not in known:
            fail(f'{plan}: the page has no section {name}')

# ---- the gallery -----------------------------------------------------------------------------------------------------

def gallery_of(name):
    """Numbers of lessons, commands, names of pictures, "seen" and "text"."""
    return re.findall(r'^(?:## (?:\d+\.)?|[$!] .*|[a-z0-9_]+\*?: )', read(name), flags=re.M)


compare('examples/gallery.txt and gallery.ja.txt: line', *map(gallery_of, ('examples/gallery.txt', 'examples/gallery.ja.txt')))

print('\n'.join(failures) if failures else f'languages: {len(table)} captions, {len(pairs)} printed texts')
sys.exit(1 if failures else 0)
