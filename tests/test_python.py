"""test_python.py ROOT LIBRARY SKIP_CONNECTION: the program of docs/python.md, which calls the shared library by ctypes.

Its losses are those of the example, to the last digit. What the page says about errors is true."""
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

root, library, example = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
failures = []


def expect(what, found, expected):
    if found != expected:
        failures.append(f'{what}: found {found!r}, expected {expected!r}')


def program_of(page):
    text = (root / page).read_text(encoding='utf-8')
    return re.search(r'^```python\n(.*?)^```', text, re.M | re.S).group(1), text


program, page = program_of('docs/python.md')
expect('the program of docs/ja/python.md', program_of('docs/ja/python.md')[0], program)
expect('more than 60 lines', len(program.splitlines()) <= 60, True)
temporary = tempfile.TemporaryDirectory()
folder = pathlib.Path(temporary.name)
(folder / 'skip.py').write_text(program, encoding='utf-8')

# The same losses.
result = subprocess.run([sys.executable, folder / 'skip.py', library], capture_output=True, text=True)
expect('skip.py', (result.returncode, result.stderr), (0, ''))
subprocess.run([example, '--seeds', '1', '--depth', '0', '--out', folder / 'out'], check=True, stdout=subprocess.DEVNULL)
rows = [line.split(',') for line in (folder / 'out/skip_connection.csv').read_text().splitlines()[1:]]
expect('the losses', result.stdout.splitlines(), [f'{row[0]}: f(x) {row[1]}, x + f(x) {row[2]}' for row in rows])
expect('the number of steps', len(rows), 100)
expect('the last line in docs/python.md', re.findall(r'^99: .*', page, re.M), result.stdout.splitlines()[-1:])

# A usage error: no line, the line that a binding notes, and a handler in Python.
wrong = 'kaeru.nn_linear(kaeru.nn_linear_new_with(10, 128, True), kaeru.tensor_normal(AgShape(2, (3, 4)), 0, 1))'
declared, begun, _ = re.split(r'^(data = .*\n)', program, maxsplit=1, flags=re.M)
noted = 'kaeru.ag_in.argtypes = [ctypes.c_char_p, c_int]\nkaeru.ag_in(b"net.py", 42)\n'
handler = '''kind = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
handler = kind(lambda message: print('handler:', message.decode(), flush=True))
kaeru.ag_on_usage_error(handler)
'''
message = ('ag_linear: x (3, 4) and weight (128, 10) do not fit: expected x (..,in) and weight (out,in) '
           '(in nn_linear called at {})')
for before, begin, place in (('', 'kaeru: ', 'a line that is not known'), (noted, 'kaeru: ', 'net.py:42'),
                             (handler, 'handler: ', 'a line that is not known')):
    (folder / 'wrong.py').write_text(declared + begun + before + wrong, encoding='utf-8')
    result = subprocess.run([sys.executable, folder / 'wrong.py', library], capture_output=True, text=True)
    expect('status', result.returncode, -signal.SIGABRT)
    expect(begin, result.stdout + result.stderr, begin + message.format(place) + '\n')

print('\n'.join(failures) if failures else 'python: passed')
sys.exit(1 if failures else 0)
