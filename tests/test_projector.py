"""test_projector.py ROOT PROGRAM: each file of examples/projector fits on a slide, and PROGRAM, which is built of all of them,
finds the bits of the library."""
import pathlib
import re
import subprocess
import sys

root, program = pathlib.Path(sys.argv[1]), sys.argv[2]
folder = root / 'examples/projector'
LINES, COLUMNS = 25, 80
failures = []
sources = sorted(folder.glob('*.c'))
for path in sources:
    lines = path.read_text(encoding='utf-8').splitlines()
    if len(lines) > LINES:
        failures.append(f'{path.name}: {len(lines)} lines, expected {LINES} at most')
    failures += [f'{path.name}:{number}: {len(line)} columns, expected {COLUMNS} at most'
                 for number, line in enumerate(lines, 1) if len(line) > COLUMNS]
# Each file is compiled, named in the comparison, and shown by both pages of the lecture.
listed = re.search(r"projector_sources = \[\].*?foreach name : \[(.*?)\]", (root / 'tests/meson.build').read_text(), re.S)
if sorted(re.findall(r"'(\w+)'", listed[1])) != [path.stem for path in sources]:
    failures.append('tests/meson.build: expected the files of examples/projector')
for page in 'docs/ninety_minutes.md', 'docs/ja/ninety_minutes.md':
    text = (root / page).read_text(encoding='utf-8')
    failures += [f'{page}: there is no link to {path.name}' for path in sources
                 if f'examples/projector/{path.name})' not in text]
run = subprocess.run([program], capture_output=True, text=True, check=False)
if run.returncode != 0:
    failures.append(f'the comparison ended with status {run.returncode}:\n{run.stdout}{run.stderr}')
print('\n'.join(failures) or run.stdout.strip())
sys.exit(1 if failures else 0)
