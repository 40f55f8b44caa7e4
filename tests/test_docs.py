"""test_docs.py ROOT BUILD: README and the pages of docs/ keep their size, and what they name exists.

A command is one that is checked here (its program, options, test or target exists), or stands in RUN_BY with the test that
runs it. Links and pictures, also those of the lessons, lead to files, and to headings in them."""
import pathlib
import re
import subprocess
import sys

from commands import commands_of

root, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
failures = []
# A command that a test runs: the test's file, and a text in it by which it does.
RUN_BY = {
    'cc examples/spiral.c $(pkg-config --cflags --libs kaeru)': ('adopt.sh', 'docs/install.md'),
    'cc examples/spiral.c $(pkg-config --cflags --libs kaeru) -Wl,-rpath,"$(pkg-config --variable=libdir kaeru)"':
        ('adopt.sh', 'docs/install.md'),
    'cc spiral.c $(pkg-config --cflags --libs kaeru-mpi) && mpirun -n 3 ./a.out': ('test_install.sh', 'kaeru-mpi'),
    'cc tests/programs/batches.c $(pkg-config --cflags --libs kaeru)': ('test_programs.sh', 'tests/programs/batches.c'),
    "gnuplot -e \"set terminal png; set output 'losses.png'; set datafile separator ','; set xlabel 'epoch'; plot 'losses.csv' "
    "using 1:2 with lines title 'loss', '' using 1:3 with lines title 'held out'\"": ('test_programs.sh', 'docs/data.md'),
    'cc -O3 program.c kaeru.c -lm -pthread': ('test_one_file.sh', 'kaeru.c'),
    'meson setup build && meson compile -C build && sudo meson install -C build && sudo ldconfig':
        ('adopt.sh', 'docs/install.md'),
    'meson setup build-home --prefix="$HOME/.local" -Ddefault_library=static && meson install -C build-home':
        ('adopt.sh', 'docs/install.md'),
    'export PKG_CONFIG_PATH="$HOME/.local/lib/pkgconfig"': ('adopt.sh', 'docs/install.md'),
    'sudo meson install -C build && sudo ldconfig': ('fresh.sh', 'sudo meson install -C build'),
    'meson setup build': ('adopt.sh', 'docs/install.md'),
    'meson setup -Dparts= build-book': ('parts.sh', '"-Dparts=$1"'),
    'meson configure build -Dreference=enabled': ('test_reference.sh', '--install'),
    'python3 skip.py': ('test_python.py', 'skip.py'),
    'python3 skip.py build/libkaeru.so.3': ('test_python.py', 'skip.py'),
    'man -M build/reference ag_attention': ('test_reference.sh', 'man -M'),
    'python3 autograd/headers.py ops autograd/ops/ops.def autograd/ops/more/more.def autograd/include/kaeru/ops.h':
        ('meson.build', 'headers.py'),
    'python3 autograd/headers.py more_ops autograd/ops/more/more.def autograd/include/kaeru/more_ops.h':
        ('meson.build', 'headers.py'),
    'meson install': ('installed.sh', 'meson install'),
    'meson setup build-windows --cross-file packaging/windows.ini && meson compile -C build-windows':
        ('windows.sh', 'packaging/windows.ini'),
    'wine build-windows/examples/spiral.exe': ('windows.sh', 'both spiral'),
    'meson dist -C build': ('adopt.sh', 'meson dist'),
    'dpkg-buildpackage -us -uc -b': ('adopt.sh', 'dpkg-buildpackage'),
    'mpirun -n 4 build/examples/gpt train --shards 8': ('test_mpi.sh', 'gpt train'),
    'mpirun --oversubscribe -n 4': ('setup.sh', '--oversubscribe'),
    'mpirun -n 3 build/examples/gpt train --resume': ('test_mpi.sh', '--resume'),
    'meson test -C build --benchmark --verbose': ('test_bench.sh', 'bench'),
    'python3 tests/bench/compare.py': ('test_bench.sh', 'compare.py'),
    'python3 tests/bench/processes.py': ('test_bench.sh', 'processes.py'),
    'gnuplot plots/bench.gp': ('test_bench.sh', 'bench.gp'),
    'gnuplot plots/cost.gp': ('test_bench.sh', 'cost.gp'),
    'build/tests/bench/bench --scaling >scaling.csv': ('test_bench.sh', '--scaling'),
    'build/tests/bench/bench --help': ('test_bench.sh', '--help'),
    'build/tests/bench/threads': ('test_bench.sh', 'threads.csv'),
    'gnuplot plots/threads.gp': ('test_bench.sh', 'threads.gp'),
    'build/tests/bench/cost >cost.csv': ('test_bench.sh', 'cost.csv'),
}
# Slurm is not installed by the tests: they take the commands of its job apart (test_mpi.sh).
NOT_RUN = {'srun -n 64 build/examples/gpt train --batch 64 --shards 64'}


def fail(message):
    failures.append(message)


def printed(*command):
    return subprocess.run(command, capture_output=True, text=True, cwd=root, check=True).stdout


# Of tests and targets, some are not in every build (without MPI, with sanitizers), so these are the names in the sources.
named = {name for path in root.rglob('meson.build') for name in re.findall(r"'([^'\n]+)'", path.read_text(encoding='utf-8'))}
tests = named | {f'{suite} {number}' for suite in named for number in ('float', 'double')}
examples = printed('sh', 'examples/run.sh', '--list').split()
trust, run = printed('sh', 'tests/trust.sh', '--help'), printed('sh', 'tests/run.sh', '--help')


def check_example(where, words):
    """sh examples/run.sh [--processes N] [NAME [SUBCOMMAND] OPTION...]"""
    if words[:1] == ['--processes']:
        words = words[2:]
    name, *rest = words or ['skip_connection']
    if name not in examples and name not in ('course', 'gallery', 'page'):
        fail(f'{where}: there is no example {name}')
    options = {word for word in rest if word.startswith('--')}
    if options:
        subcommand = rest[:1] if not rest[0].startswith('-') else []
        program = ['sh', 'examples/run.sh', name] if name == 'gallery' else [str(build / 'examples' / name)]
        text = printed(*program, *subcommand, '--help')
        for option in sorted(options):
            if not re.search(rf'{option}\b', text):
                fail(f'{where}: {name} {" ".join(subcommand)} has no option {option}')


def check_command(where, command):
    words = re.sub(r'^meson setup build && (?=meson compile -C build \w)', '', command).split()
    if command in NOT_RUN:
        return
    if command in RUN_BY:
        name, text = RUN_BY[command]
        if text not in (root / 'tests' / name).read_text(encoding='utf-8'):
            fail(f'{where}: tests/{name} does not run: {command}')
    elif words[:2] == ['sh', 'examples/run.sh']:
        check_example(where, [word for word in re.findall(r"'[^']*'|\"[^\"]*\"|\S+", command)][2:])
    elif words[:2] == ['sh', 'tests/trust.sh']:
        if not re.search(rf'^  {words[2]} ', trust, re.M):
            fail(f'{where}: tests/trust.sh has no {words[2]}')
    elif words[:2] == ['sh', 'tests/run.sh']:
        for option in words[2:]:
            if f'  {option} ' not in run:
                fail(f'{where}: tests/run.sh has no option {option}')
    elif words[0] == 'sh' and len(words) == 2 and (root / words[1]).exists():
        pass
    elif words[:4] == ['meson', 'test', '-C', 'build']:
        for name in re.findall(r"'([^']*)'|(?<= )(\w+)(?= |$)", command.split('-C build', 1)[1]):
            if ''.join(name) not in tests:
                fail(f'{where}: there is no test {"".join(name)}')
    elif words[:4] == ['meson', 'compile', '-C', 'build']:
        if words[4] not in named:
            fail(f'{where}: there is no target {words[4]}')
    else:
        fail(f'{where}: no test runs: {command}')


def anchors(text):
    return {re.sub(r'[^\w\- ]', '', line.lower()).replace(' ', '-') for line in re.findall(r'^#+ (.*)', text, re.M)}


for name, lines, words in ('README.md', 199, 1900), ('README.ja.md', 199, None):
    text = (root / name).read_text(encoding='utf-8')
    if len(text.splitlines()) > lines or words and len(text.split()) > words:
        fail(f'{name}: {len(text.splitlines())} lines, {len(text.split())} words; at most {lines} and {words}')
english = sorted(path.name for path in (root / 'docs').glob('*.md'))
if english != sorted(path.name for path in (root / 'docs/ja').glob('*.md')):
    fail('docs and docs/ja have different pages')

pages = [root / 'README.md', root / 'README.ja.md', *sorted((root / 'docs').rglob('*.md'))]
# Their own tests run what stands in these.
lessons = [*sorted((root / 'examples').glob('*.md')), *sorted((root / 'examples/course').glob('*.md'))]
checked = 0
for page in pages + lessons:
    text, where = page.read_text(encoding='utf-8'), str(page.relative_to(root))
    for command in commands_of(text) if page in pages else []:
        checked += 1
        check_command(where, re.sub(r'^echo .* \| ', '', command))
    for name, link in re.findall(r'\[`(\w+)`\]\(([^)]*\.[ch])\)', text):
        if (page.parent / link).exists() and not re.search(rf'\b{name}\b', (page.parent / link).read_text(encoding='utf-8')):
            fail(f'{where}: {link} has no {name}')
    for link in re.findall(r'\]\(([^)\s]+)\)', re.sub(r'^```.*?^```|`[^`\n]*`', '', text, flags=re.M | re.S)):
        path, _, place = link.partition('#')
        target = page.parent / path if path else page
        if re.match(r'\w+:', link):
            continue
        if not target.exists():
            fail(f'{where}: the link {link} leads nowhere')
        elif place and place not in anchors(target.read_text(encoding='utf-8')):
            fail(f'{where}: {path} has no heading #{place}')


# The programs of the lectures exist.
for page in 'docs/ninety_minutes.md', 'docs/ja/ninety_minutes.md':
    for name in re.findall(r'(?<!\[)`(\w+)`', (root / page).read_text(encoding='utf-8')):
        checked += 1
        if name not in [*examples, 'page']:
            fail(f'{page}: there is no example {name}')

# What the page for users of PyTorch writes with several operations is compared with PyTorch, in the same words.
spaces = lambda text: re.sub(r'\s+', ' ', text)
compared = spaces((root / 'tests/test_torch.c').read_text(encoding='utf-8'))
recipes = (root / 'docs/pytorch.md').read_text(encoding='utf-8').split('## Without a function of its own')[1]
for recipe in re.findall(r'`((?:[a-z_]+ = )?ag_\w+\([^`]*\))`', recipes):
    checked += 1
    if spaces(recipe) not in compared:
        fail(f'docs/pytorch.md: tests/test_torch.c does not compare {recipe}')

# Each name of PyTorch is in a table, with what is written here, or with the reason why nothing is.
tables = [(root / 'docs' / page).read_text(encoding='utf-8')
          for page in ('pytorch.md', 'pytorch_names.md', 'ja/pytorch_names.md')]
words = [set(re.findall(r'\w+', ' '.join(re.findall(r'`([^`]*)`', table)))) for table in tables]
for name in (root / 'tests/fixtures/torch_names.txt').read_text(encoding='utf-8').split():
    checked += 1
    if name not in words[0] | words[1]:
        fail(f'docs/pytorch_names.md: expected a row with {name}')
first = [re.findall(r'^\| `([^`]*)`', table, re.M) for table in tables[1:]]
if first[0] != first[1]:
    fail('docs/pytorch_names.md and docs/ja/pytorch_names.md have different rows')

# Each line of C on the page of questions is a line of the program that the test "programs" runs.
program = (root / 'tests/programs/elsewhere.c').read_text(encoding='utf-8')
pieces = {line.split('/*')[0].strip() for line in program.splitlines()}
for page in 'docs/elsewhere.md', 'docs/ja/elsewhere.md':
    for block in re.findall(r'^```c\n(.*?)^```', (root / page).read_text(encoding='utf-8'), re.M | re.S):
        for line in block.splitlines():
            checked += 1
            if line.split('/*')[0].strip() not in pieces:
                fail(f'{page}: tests/programs/elsewhere.c does not have the line {line}')


# The doors of other frameworks' readers: each of DeZero's sixty steps once; both pages lead to the same functions.
doors = [(root / page).read_text(encoding='utf-8') for page in ('docs/doors.md', 'docs/ja/doors.md')]
for text in doors:
    rows = [(int(first), int(last or first)) for first, last in re.findall(r'^\| (\d+)(?:-(\d+))? \|', text, re.M)]
    if [step for first, last in rows for step in range(first, last + 1)] != list(range(1, 61)):
        fail('docs/doors.md or docs/ja/doors.md: expected each of the steps 1 to 60 once, in order')
for page in 'doors.md', 'arithmetic.md':
    texts = [(root / folder / page).read_text(encoding='utf-8') for folder in ('docs', 'docs/ja')]
    if len({tuple(sorted(re.findall(r'\[`(\w+)`\]\((?:\.\./)+', text))) for text in texts}) != 1:
        fail(f'docs/{page} and docs/ja/{page} name different functions')


def lines_of(name, sections):
    """The number of lines of a file, or of these sections of it, each of which begins with a line /* ---- NAME."""
    text = (root / name).read_text(encoding='utf-8')
    if not sections:
        return len(text.splitlines())
    parts = {re.split(r' -|:', part)[0]: len(part.splitlines()) for part in text.split('/* ---- ')[1:]}
    for section in sections:
        if section not in parts:
            fail(f'the path through the code: {name} has no section {section}')
    return sum(parts.get(section, 0) for section in sections)


# The path through the code, the table of each page: at most 3,000 lines, of files or of the sections named behind them.
paths = []
for page in 'docs/step.md', 'docs/ja/step.md':
    table = re.findall(r'^\| \d.*', (root / page).read_text(encoding='utf-8'), re.M)
    rows = [re.findall(r'\]\((?:\.\./)+([\w/.]+)\)(?: \(([^)]*)\))?', row) for row in table]
    paths.append(sum(rows, []))
    lines, first = (sum(lines_of(name, sections.split(', ') if sections else []) for name, sections in part)
                    for part in (paths[-1], rows[0]))
    if first > 1100:
        fail(f'{page}: the first evening has {first} lines, expected 1100 or fewer')
    if not 2000 < lines <= 3000:
        fail(f'{page}: the path has {lines} lines, expected 2000 to 3000')
if paths[0] != paths[1]:
    fail('docs/step.md and docs/ja/step.md have different paths')

print('\n'.join(failures) if failures else f'docs: {checked} commands')
sys.exit(1 if failures else 0)
