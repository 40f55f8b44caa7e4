"""commands.py ROOT: runs the commands of the documents, each in a fresh clone of the last commit with nothing built.

So a command that works only after a full build fails here. Runs them in random order until the processor time is used;
what is COSTLY is run with --all only. A command must be of a RUNNABLE kind or in NOT_RUN with the reason. test_docs.py checks
that what a command names exists. What a clone compiles comes from ccache; where there is none, --built FOLDER has the programs,
and a clone gets those alone that it asks meson for. Skipped (status 77) if ROOT is not a clone."""
import argparse
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

SECONDS = 45                # of processor time; the last command may need more
LONGEST = 3600              # of a command, by the clock

RUNNABLE = re.compile(r'sh (examples/run|tests/\w+|tools/\w+|packaging/\w+)\.sh\b|meson (setup|compile|configure|test|dist) |'
                      r'python3 (\w+/)*\w+\.py |cc |gnuplot |man |mpirun |build/tests/bench/|\./relu$|echo ')

OTHER_SYSTEM = 'another system, or tools that this one need not have'
CHANGES_SYSTEM = 'installs into the system: tests/adopt.sh runs it'
PART = 'a part of a command, or its name'
HOURS = 'takes an hour or more; a run of the tests itself'
MEASURES = 'measures times for many minutes: tests/test_bench.sh runs it in a short form'
NOT_RUN = {
    './relu en': 'written for students; tests/test_course.py runs it',
    './relu ja': 'written for students; tests/test_course.py runs it',
    './relu skip': 'written for students; tests/test_course.py runs it',
    'build/tests/bench/bench --scaling >scaling.csv': MEASURES,
    'build/tests/bench/cost >cost.csv': MEASURES,
    'build/tests/bench/threads': MEASURES,
    'cc -E': PART,
    'dpkg-buildpackage -us -uc -b': 'needs the packages of debian/control: tests/adopt.sh runs it',
    'export PKG_CONFIG_PATH="$HOME/.local/lib/pkgconfig"': 'changes the shell for the next command, which is run after it',
    'gcc -O2 -mfma relu.c -o relu.exe': OTHER_SYSTEM,
    'git clang-format': OTHER_SYSTEM,
    'gnuplot plots/bench.gp': 'draws what tests/bench/compare.py writes, which needs PyTorch',
    'gnuplot plots/cost.gp': 'draws what a measurement writes: tests/test_bench.sh',
    'meson install': PART,
    'meson setup build && meson compile -C build && sudo meson install -C build && sudo ldconfig': CHANGES_SYSTEM,
    'meson setup build-windows --cross-file packaging/windows.ini && meson compile -C build-windows': OTHER_SYSTEM,
    'meson test -C build': HOURS,
    'meson test -C build --benchmark --verbose': MEASURES,
    'mpirun --oversubscribe -n 4': PART,
    'python3 examples/course/course.py grade FOLDER...': 'for Windows: the same as run.sh course grade',
    'python3 skip.py': 'needs the library in a folder of the system: tests/test_python.py runs it',
    'python3 tests/bench/compare.py': 'needs PyTorch',
    'python3 tests/bench/processes.py': 'needs PyTorch',
    'relu.exe': OTHER_SYSTEM,
    'sh examples/run.sh course grade': PART,
    'sh packaging/release.sh': 'needs a compiler for Windows; made for a release',
    'sh tests/adopt.sh': 'makes a bare system, from a network',
    'sh tests/fresh.sh': 'makes bare systems, from a network',
    'sh tests/machine.sh': MEASURES,
    'sh tests/parts.sh': HOURS,
    'sh tests/run.sh': HOURS,
    'sh tests/run.sh --all': HOURS,
    'sh tests/run.sh --asan': HOURS,
    'sh tests/run.sh --libraries': 'installs packages from a network',
    'sh tests/run.sh --oldest': 'installs packages from a network',
    'sh tests/trust.sh guard': HOURS,
    'sh tests/trust.sh hashes': HOURS,
    'sh tests/trust.sh planted': HOURS,
    'sh tests/trust.sh portable': 'needs packages of other processors, from a network',
    'sh tests/windows.sh': OTHER_SYSTEM,
    'srun -n 64 build/examples/gpt train --batch 64 --shards 64': 'needs Slurm',
    'sudo meson install -C build && sudo ldconfig': CHANGES_SYSTEM,
    'wine build-windows/examples/spiral.exe': OTHER_SYSTEM,
}

# What the reader has: a file that a command names, and how it is made here.
LLAMA = 'mkdir {0} && cp tests/fixtures/llama/writer/*.* {0} && cp tests/fixtures/tokenizers/llama3.json {0}/tokenizer.json'
GPT2 = ('sh examples/run.sh gpt tokenize --data README.md --size 300 --out pairs && sh examples/run.sh gpt train '
        '--data pairs/gpt.tokens --vocab pairs/gpt_vocab.json --merges pairs/gpt_merges.txt --steps 2 --layers 1 --heads 1 '
        '--width 16 --sample 0 --out learned && sh examples/run.sh gpt export --checkpoint learned/gpt_best.safetensors '
        '--out . && cp pairs/gpt_vocab.json vocab.json && cp pairs/gpt_merges.txt merges.txt')
PAIRS = '''printf '{"prompt": "1 + 1 =", "completion": " 2"}\\n%.0s' 1 2 3 4 5 6 7 8 >'''
READER = {
    r'\bFILE\b': 'head -c 3000 README.md >FILE',
    r'\bFOLDER\b': LLAMA.format('FOLDER'),
    r'SmolLM2-135M': LLAMA.format('SmolLM2-135M'),
    r'pairs\.jsonl': PAIRS + 'pairs.jsonl',
    r'shakespeare\.txt|plays/': 'cp examples/gpt/corpus.txt shakespeare.txt',
    r'model\.safetensors --config': GPT2,
    r'train\.de': 'for f in train.de train.en val.de val.en; do printf "a b c\\nd e f\\n" >$f; done',
    r'\bspiral\.c \$\(.*-mpi': 'cp examples/spiral.c .',
    r'skip\.py': "sed -n '/^```python$/,/^```$/{/^```/!p}' docs/python.md >skip.py",
    r'program\.c': 'cp examples/spiral.c program.c && cp build/packaging/kaeru.[ch] .',
    r'losses\.csv': 'printf "epoch,loss,held_out\\n0,1,2\\n1,0.5,1\\n" >losses.csv',
    r'students/\*': 'mkdir students && sh examples/run.sh course students/a',
}
# The commands after which another one stands in its document.
AFTER = [
    (r'^meson (compile|test|dist) -C build|skip\.py build|test_pictures', ['meson setup build']),
    (r'skip\.py build|test_pictures', ['meson compile -C build']),
    (r'build/tests/bench/bench', ['meson setup build && meson compile -C build bench threads']),
    (r'man -M|meson configure', ['meson setup build && meson compile -C build reference']),
    (r'program\.c', ['meson setup build && meson compile -C build onefile']),
    (r'cc .*pkg-config .* kaeru\)', ['meson setup build-home --prefix="$HOME/.local" -Ddefault_library=static && '
                                     'meson install -C build-home', 'export PKG_CONFIG_PATH="$HOME/.local/lib/pkgconfig"']),
    (r'\./relu|cc -O2 relu\.c', ['sh examples/run.sh course', 'cd out/course']),
    (r'\./relu', ['cc -O2 relu.c -o relu -lm']),
    (r'plays/', ['sh examples/run.sh gpt train --data shakespeare.txt --out plays']),
    (r'gpt_best\.safetensors$', ['sh examples/run.sh gpt train', 'cp out/gpt_* .']),
    (r'gpt sample$', ['sh examples/run.sh gpt train']),
    (r'translate (translate|show|train --resume)', ['sh examples/run.sh translate']),
    (r'FILE\.k', ['sh examples/run.sh compress FILE']),
    (r'finetune --resume', ['sh examples/run.sh llama finetune --model FOLDER --data FILE --out run']),
    (r'mpirun .*build/examples', ['sh examples/run.sh --processes 4 gpt train --out processes']),
    (r'mpirun .*--resume', ['mpirun -n 4 build/examples/gpt train --shards 8']),
    (r'-mpi\)', ['meson setup build-home --prefix="$HOME/.local" -Ddefault_library=static && meson install -C build-home',
                 'export PKG_CONFIG_PATH="$HOME/.local/lib/pkgconfig"']),
]
# Short forms: what is added to a command. It changes nothing of what is built.
SHORT = [
    (r'run\.sh (ablations|families|gradient_penalty|heads|layer_norm|score_width)\b', '--steps 2'),
    (r'run\.sh (curvature|differential_equation|moons)\b', '--steps 20'),
    (r'run\.sh seq2seq\b', '--steps 2 --timed 16'),
    (r'run\.sh skip_connection --depth', '--steps 2'),
    (r'run\.sh compress --curve', '--layers 1 --heads 1 --window 8'),
    (r'run\.sh copy_task\b', '--epochs 1 --width 64 --layers 1 --batch 2'),
    (r'run\.sh translate( train.*)?$', '--epochs 1 --width 16 --layers 1'),
    (r'translate train --resume', '--epochs 2'),
    (r'gpt train\b', '--steps 2'),
    (r'gpt train --resume', '--steps 4'),
    (r'llama finetune\b', '--steps 2 --window 16'),
    (r'llama finetune --resume', '--steps 3'),
    (r'gpt (sample|generate)', '--tokens 5'),
    (r'trust\.sh graphs$', '100'),
    (r'trust\.sh failures$', '1000'),
    (r'trust\.sh kills$|trust\.sh mpi$', '1'),
    (r'trust\.sh compress$', '1'),
    (r'trust\.sh fuzz$', '1000'),
    (r'mutate\.py 20', '--list'),
    (r'run\.sh gallery', '--list short.txt'),
]
# An exercise that is not solved has the exit status 1.
FAILS = r'run\.sh (grade|write_backward)\b|^\./relu$'
# Of more processor time than the sample has.
COSTLY = (r'run\.sh (page|gallery|--processes)|sh tests/|meson |mpirun|build/tests/bench/|mutate|program\.c|'
          r'pkg-config|man |test_pictures|skip\.py|architectures|backprop')


def pages(root):
    """The documents, from the folders in which readers look for them."""
    folders = ('.', 'docs', 'docs/ja', 'examples', 'examples/course', 'examples/page')
    found = [path for folder in folders for path in sorted((root / folder).glob('*.md'))]
    return [path for path in found if path.name != 'CHANGELOG.md']


def commands_of(text):
    """The commands in blocks of the shell and in code in the text."""
    for block in re.findall(r'^```sh\n(.*?)^```', text, re.M | re.S):
        for line in block.replace('\\\n', ' ').splitlines():
            line = re.sub(r'\s+', ' ', re.sub(r'\s+#.*', '', line)).strip()
            if line:
                yield line
    text = re.sub(r'^```.*?^```', '', text, flags=re.M | re.S)
    for code in re.findall(r'`([^`]+)`', text):
        code = re.sub(r'\s+', ' ', code)
        if re.match(r'(sh|meson|mpirun|cc|git|sudo|python3|build/\S+|gnuplot|dpkg-buildpackage|man|\./\S+) ', code):
            yield code


def shortened(command):
    for pattern, added in SHORT:
        if re.search(pattern, command):
            command = f'{command} {added}'
    return command


def script_of(root, command):
    """The lines of the shell that lead to the command, and the command."""
    before = [line for pattern, lines in AFTER if re.search(pattern, command) for line in lines]
    lines = [line for i, line in enumerate(before) if line not in before[:i]]
    made = [how for pattern, how in READER.items() if re.search(pattern, ' '.join([*lines, command]))]
    command = command.replace(' NAME', ' vectors').replace('PICTURE', 'plots/lessons/vectors.png')
    if 'gallery' in command:
        made.append(short_gallery(root))
    late = [how for how in made if 'build/' in how]                     # of files that the lines before make
    return [*(how for how in made if how not in late), *map(shortened, lines), *late, shortened(command)]


def short_gallery(root):
    """The gallery's list with its commands in their short forms: the same programs are built."""
    lines = (root / 'examples/gallery.txt').read_text(encoding='utf-8').splitlines()
    text = '\n'.join(re.sub(r'^([$!]) (.*)', lambda m: f'{m[1]} ' + shortened('run.sh ' + m[2])[7:], line) for line in lines)
    return f"cat >short.txt <<'END'\n{text}\nEND"


def check_tables(commands):
    """What is wrong with the tables: commands without a way to run, and rows that no document needs."""
    wrong = [f'{command}: neither RUNNABLE nor in NOT_RUN' for command in commands
             if command not in NOT_RUN and not RUNNABLE.match(command)]
    wrong += [f'{command}: in NOT_RUN, but no document has it' for command in NOT_RUN if command not in commands]
    run = [command for command in commands if command not in NOT_RUN]
    wrong += [f'{pattern}: no command needs it' for pattern in [*READER, *(row[0] for row in AFTER + SHORT)]
              if not any(re.search(pattern, command) for command in run)]
    parts = {part.strip() for command in commands for part in command.split('&&')} | set(commands)
    wrong += [f'{line}: before another command, but in no document' for _, lines in AFTER for line in lines
              if line not in parts and not line.startswith(('cd ', 'cp '))]
    return wrong


def write_program(path, text):
    path.write_text(f'#!/bin/sh\n{text}\n')
    path.chmod(0o755)


def environment(root, home, built):
    """As the reader's, with the compiler's cache of this one; what is installed for the user goes to another home. A command
    that wants to install packages is told that there is no network."""
    (home / 'bin').mkdir(parents=True)
    for name in 'apt-get', 'sudo':
        write_program(home / 'bin' / name, f'echo "E: {name}: this test installs nothing" >&2; exit 1')
    env = {**os.environ, 'HOME': str(home), 'PYTHONUSERBASE': os.environ.get('PYTHONUSERBASE', os.path.expanduser('~/.local')),
           'LC_ALL': 'C.UTF-8', 'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1',
           'OMPI_MCA_rmaps_base_oversubscribe': '1', 'PATH': f'{home}/bin:{os.environ["PATH"]}'}
    ccache = shutil.which('ccache')
    if ccache:
        cache = subprocess.run([ccache, '-k', 'cache_dir'], capture_output=True, text=True, check=False).stdout.strip()
        env.update(CCACHE_DIR=cache, CCACHE_BASEDIR='/', CCACHE_NOHASHDIR='yes')
    elif built:
        write_program(home / 'bin/meson', (root / 'tests/linking_meson.sh').read_text(encoding='utf-8'))
        env.update(BUILT=str(built), REAL_MESON=shutil.which('meson'))
    for name in 'DESTDIR', 'KAERU_PLOTS', 'KAERU_PROGRAMS', 'MESON_TEST_ITERATION', 'NINJA_STATUS':
        env.pop(name, None)
    return env


def used():
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r.ru_utime + r.ru_stime


def run(root, command, folder, built):
    """Runs a command in a fresh clone. Returns what is wrong, or None."""
    clone, home = folder / 'the clone', folder / 'home'
    subprocess.run(['git', 'clone', '-q', '--shared', root, clone], check=True)
    script = '\n'.join(line if line.startswith('export ') else f'{line} || exit 99' for line in script_of(root, command)[:-1])
    script += '\n' + script_of(root, command)[-1]
    with open(folder / 'log', 'w+', encoding='utf-8', errors='replace') as log:
        child = subprocess.Popen(['sh', '-c', script], cwd=clone, env=environment(root, home, built),
                                 stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = child.wait(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            status = 'none in time'
        log.seek(0)
        said = log.read().splitlines()
    shutil.rmtree(clone)
    shutil.rmtree(home)
    if status == (1 if re.search(FAILS, command) else 0) and not any(line.startswith('Traceback') for line in said):
        return None
    return f'status {status}\n' + '\n'.join(f'    {line}' for line in said[-12:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('root', type=pathlib.Path)
    parser.add_argument('--built', type=lambda name: pathlib.Path(name).resolve(), help='a build folder, used without ccache')
    parser.add_argument('--seed', type=int, default=random.SystemRandom().randrange(10 ** 6), help='of the order')
    parser.add_argument('--seconds', type=float, default=SECONDS, help='of processor time, after which no command begins')
    parser.add_argument('--all', action='store_true', help='all commands; takes hours')
    parser.add_argument('--only', help='the commands that this regular expression finds')
    parser.add_argument('--list', action='store_true', help='print the commands with what is run for them')
    options = parser.parse_args()
    root = options.root.resolve()
    if not (root / '.git').exists():
        print('not a clone: skipped')
        return 77
    commands = sorted({command for page in pages(root) for command in commands_of(page.read_text(encoding='utf-8'))})
    failures = check_tables(commands)
    chosen = [command for command in commands if command not in NOT_RUN]
    if options.only:
        chosen = [command for command in chosen if re.search(options.only, command)]
    elif not options.all:
        chosen = [command for command in chosen if not re.search(COSTLY, command)]
    if options.list:
        print('\n'.join(' ; '.join(line.split('\n')[0] for line in script_of(root, command)) for command in chosen))
        return 0
    for tool in {command.split()[0] for command in chosen} - {'./relu', 'build/tests/bench/bench'}:
        if not shutil.which(tool):
            print(f'no {tool}: its commands are not run')
            chosen = [command for command in chosen if command.split()[0] != tool]
    random.Random(options.seed).shuffle(chosen)
    print(f'--seed {options.seed}: {len(chosen)} of {len(commands)} commands to choose from', flush=True)
    ran, begin = 0, used()
    for command in [] if failures else chosen:
        if not options.all and not options.only and used() - begin > options.seconds:
            break
        before = used()
        with tempfile.TemporaryDirectory(prefix='commands.') as folder:
            wrong = run(root, command, pathlib.Path(folder), options.built)
        ran += 1
        print(f'{used() - before:6.1f} s  {"FAILED  " if wrong else ""}{command}', flush=True)
        if wrong:
            failures.append(f'{command}: {wrong}')
    print('\n'.join(failures))
    print(f'commands: {ran} run, {len(failures)} failed, {used() - begin:.0f} s of processor time')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
