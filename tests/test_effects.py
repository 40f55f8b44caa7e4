"""test_effects.py BUILD FIXTURES: each option of the four programs has an effect.

For each option that --help lists, a table here has a value with which a short run must give another result, or the reason why
it has none. An option without a row fails the test, so a new one cannot be forgotten. A result is what the program computes:
the tensors of files without their settings, columns of numbers, and for some commands the text. The options are not in it.
test_effects.c does the same for the options of the library."""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

build, fixtures = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
failures, runs = [], 0

# ---- rows ------------------------------------------------------------------------------------------------------------

SAME = object()                 # in front of arguments: the result must not change
MEMORY = object()               # in front of them: the result must not change, and the memory of the process must be smaller
AND = object()                  # the arguments before it are in both runs


def reason(text):
    """The option is not run here. Each reason says where its effect is tested, or that the row of another option has it."""
    return text


COMMON = {
    '--threads': [SAME, '--threads', '2'],
    '--out': reason('the place of the results'),
    '--language': reason('words alone: test_lessons.sh, test_languages.py'),
    '--slide': reason('pictures alone: test_slides.py'),
    '--help': reason('this test reads it'),
}
PROCESSES = {
    '--deadline': reason('only for several processes: test_hosts.sh'),
    '--resume': reason('needs a run: test_gpt.sh, test_translate.sh, test_llama.sh'),
    '--other-data': reason('with --resume'),
    '--overwrite': reason('needs an earlier result: test_gpt.sh, test_translate.sh, test_llama.sh'),
}
LM = {
    '--steps': ['--steps', '7'], '--batch': ['--batch', '3'], '--accumulate': ['--accumulate', '2'],
    '--window': ['--window', '5'], '--warmup': ['--warmup', '3'], '--lr': ['--lr', '0.002'], '--lr-min': ['--lr-min', '0.0005'],
    '--beta1': ['--beta1', '0.5'], '--beta2': ['--beta2', '0.5'], '--decay': ['--decay', '0.7'], '--clip': ['--clip', '0.01'],
    '--every': ['--every', '2'], '--held-out': ['--held-out', '20'], '--shards': ['--shards', '2'],
    '--precision': ['--precision', 'bf16'], '--seed': ['--seed', '5'], **PROCESSES, **COMMON,
}
SAMPLING = {
    '--prompt': ['--prompt', 'The pond'], '--tokens': ['--tokens', '9'], '--temperature': ['--temperature', '3'],
    '--top-k': ['--top-k', '2'], '--top-p': ['--top-p', '0.1'], '--precision': ['--tokens', '900', AND, '--precision', 'bf16'],
    '--seed': ['--seed', '5'], **COMMON,
}
SEARCH = {'--beam': ['--beam', '1'], '--length-penalty': ['--length-penalty', '10'], '--seed': [SAME, '--seed', '5'], **COMMON}
EXPORTED = ['--weights', 'exported/model.safetensors', '--config', 'exported/config.json', '--vocab', 'exported/vocab.json']
OTHERS = ['--weights', 'exported/other.safetensors', *EXPORTED[2:]]
PAIRS = ['--vocab', 'pairs/gpt_vocab.json', '--merges', 'pairs/gpt_merges.txt']

# By command: the arguments of the first run, what the result is (see `result`), and the rows.
GPT = '--layers 1 --heads 2 --width 8 --context 6 --batch 2 --warmup 2 --steps 6 --every 3 --held-out 0 --sample 0'.split()
LARGE = '--layers 8 --heads 2 --width 64 --context 128 --batch 24 --steps 1 --sample 0'.split()
TRANSLATE = ('--layers 1 --width 16 --heads 2 --hidden 16 --warmup 20 --beam 2 --sentences 80 --held-out 12 --epochs 2 '
             '--average 2').split()
LEARNED = '--width 32 --hidden 32 --warmup 60 --sentences 300 --epochs 8 --beam 4'.split()
SMALL = '--streams 2 --window 16 --layers 1 --heads 1 --curve --overwrite'.split()
COMMANDS = {
    'gpt train': (['--data', 'story.txt', *GPT], 'files', {
        **LM,
        '--data': ['--data', 'other.txt'], '--vocab': ['--vocab', 'characters/gpt_vocab.json'], '--merges': PAIRS,
        '--weights': ['--width', '16', AND, *EXPORTED], '--config': reason('with --weights'), '--sample': ['--sample', '9'],
        '--recompute': [MEMORY, *LARGE, AND, '--recompute'], '--layers': ['--layers', '2'], '--heads': ['--heads', '1'],
        '--width': ['--width', '10'], '--context': ['--context', '7'], '--dropout': ['--dropout', '0.3'], '--bias': ['--bias'],
    }),
    'gpt sample': (['--tokens', '30', '--out', 'gpt'], 'text', {
        **SAMPLING, '--checkpoint': ['--checkpoint', 'gpt/gpt_last.safetensors'],
    }),
    'gpt generate': ([*EXPORTED, '--tokens', '30', '--prompt', 'The'], 'text', {
        **SAMPLING, '--weights': ['--weights', 'exported/other.safetensors'], '--config': ['--config', 'exported/eps.json'],
        '--vocab': ['--vocab', 'exported/swapped.json'], '--merges': reason('with the --vocab of byte pairs: test_gpt.sh'),
    }),
    'gpt eval': (['--out', 'gpt'], 'text', {
        **COMMON, '--checkpoint': ['--checkpoint', 'gpt/gpt_last.safetensors'], '--data': ['--data', 'story.txt'],
        '--window': ['--window', '3'], '--batch': [SAME, '--batch', '5'], '--seed': [SAME, '--seed', '5'],
        '--weights': ['--data', 'other.txt', AND, *OTHERS], '--config': reason('with --weights'),
        '--vocab': reason('with --weights'), '--merges': reason('with the --vocab of byte pairs: test_gpt.sh'),
    }),
    'gpt tokenize': (['--data', 'story.txt'], 'files', {
        **COMMON, '--data': ['--data', 'other.txt'], '--vocab': ['--vocab', 'characters/gpt_vocab.json'], '--merges': PAIRS,
        '--size': ['--size', '270'], '--characters': ['--characters'], '--seed': [SAME, '--seed', '5'],
        '--overwrite': reason('needs an earlier result: test_gpt.sh'),
    }),
    'gpt export': (['--checkpoint', 'gpt/gpt_best.safetensors'], 'files', {
        **COMMON, '--checkpoint': ['--checkpoint', 'gpt/gpt_last.safetensors'], '--seed': [SAME, '--seed', '5'],
        '--overwrite': reason('needs an earlier result: test_gpt.sh'),
    }),
    'llama generate': (['--model', 'model', '--tokens', '20'], 'text', {
        **SAMPLING, '--model': ['--model', 'llama/model'], '--prompts': ['--tokens', '8', AND, '--prompts', 'src'],
        '--times': reason('tells a speed: test_llama.sh'),
        # products in bfloat16 round the weights in any case: less memory, and the same text
        '--weights': [SAME, '--model', 'llama/model', '--precision', 'bf16', AND, '--weights', 'bf16'],
    }),
    'llama finetune': (['--model', 'model', '--data', 'story.txt', *'--window 8 --batch 2 --steps 6 --every 3 --warmup 2 '
                        '--lr 0.01'.split()], 'files', {
        **LM, '--model': ['--model', 'llama/model'], '--data': ['--data', 'other.txt'], '--rank': ['--rank', '2'],
        '--alpha': ['--alpha', '3'], '--dropout': ['--dropout', '0.5'], '--targets': ['--targets', 'q_proj'],
        '--best': ['--lr', '10', '--clip', '0', AND, '--best'], '--no-merge': ['--no-merge'],
        '--float32-model': ['--weights', 'float32', AND, '--float32-model'],
        '--recompute': [MEMORY, '--model', 'deep', *'--batch 400 --window 33 --steps 1 --held-out 1'.split(), AND,
                        '--recompute'],
        '--weights': ['--model', 'llama/model', '--precision', 'bf16', AND, '--weights', 'bf16'],
    }),
    'translate train': (TRANSLATE, 'files', {
        **PROCESSES, **COMMON,
        '--train-src': ['--train-src', 'src', '--train-tgt', 'tgt', '--valid-src', 'src', '--valid-tgt', 'tgt'],
        '--train-tgt': reason('with --train-src'), '--valid-src': reason('with --train-src'),
        '--valid-tgt': reason('with --train-src'), '--lower-case': ['--lower-case'], '--vocab': ['--vocab', 'bpe'],
        '--vocab-size': ['--vocab', 'bpe', AND, '--vocab-size', '300'], '--min-count': ['--min-count', '1'],
        '--max-tokens': ['--max-tokens', '7'], '--sentences': ['--sentences', '60'], '--held-out': ['--held-out', '10'],
        '--smoothing': ['--smoothing', '0.3'], '--epochs': ['--epochs', '3'], '--batch-tokens': ['--batch-tokens', '100'],
        '--accumulate': ['--accumulate', '2'], '--factor': ['--factor', '2'], '--warmup': ['--warmup', '3'],
        '--average': ['--average', '1'], '--beam': ['--beam', '4'],
        '--length-penalty': [*LEARNED, AND, '--length-penalty', '10'],
        '--precision': ['--precision', 'bf16'], '--shards': ['--shards', '2'], '--layers': ['--layers', '2'],
        '--width': ['--width', '18'], '--hidden': ['--hidden', '18'], '--heads': ['--heads', '1'],
        '--dropout': ['--dropout', '0.5'], '--shared': ['--shared'], '--seed': ['--seed', '5'],
    }),
    'translate translate': (['--out', 'translate'], 'text', {
        **SEARCH, '--checkpoint': ['--checkpoint', 'translate/translate_last.safetensors'],
    }),
    'translate score': (['--out', 'translate', '--src', 'english', '--tgt', 'japanese'], 'text', {
        **SEARCH, '--checkpoint': ['--checkpoint', 'translate/translate_last.safetensors'],
        '--src': ['--src', 'japanese'], '--tgt': ['--tgt', 'english'],
    }),
    'translate show': (['--checkpoint', 'translate/translate.safetensors', '--sentence', 'I like dogs .'], 'files', {
        **COMMON, '--checkpoint': ['--checkpoint', 'translate/translate_last.safetensors'],
        '--sentence': ['--sentence', 'I like birds .'], '--seed': [SAME, '--seed', '5'],
    }),
    'compress': (['story.txt', 'packed.k', *SMALL], 'curve', {
        **COMMON, '--model': ['--model', 'gpt/gpt_last.safetensors'], '--show': reason('prints the text: test_compress.sh'),
        '--curve': reason('writes the result that this test compares'), '--overwrite': reason('test_compress.sh'),
        '--memory': reason('test_compress.sh'),
        '--precision': ['--precision', 'bf16'], '--streams': ['large.txt', AND, '--streams', '1'],
        '--window': ['--window', '24'],
        '--layers': ['--layers', '2'], '--heads': ['--heads', '2'], '--rate': ['--rate', '500'], '--order': ['--order', '2'],
        '--seed': ['--seed', '5'],
    }),
}

# ---- results ---------------------------------------------------------------------------------------------------------


def tensors(path):
    """The names, types, shapes and bytes of a safetensors file, without its settings."""
    data = path.read_bytes()
    end = 8 + int.from_bytes(data[:8], 'little')
    head = json.loads(data[8:end])
    head.pop('__metadata__', None)
    return json.dumps(head, sort_keys=True).encode() + data[end:]


def columns(path):
    """The rows of a CSV file without the speed."""
    rows = [line.split(',') for line in path.read_text('utf-8').splitlines()]
    kept = [i for i, name in enumerate(rows[0]) if name != 'tokens_per_second']
    return '\n'.join(','.join(row[i] for i in kept if i < len(row)) for row in rows).encode()


def result(kind, folder, text):
    """'text': what was written to stdout. 'files': tensors, numbers and texts of the folder, and the text that a trained model
    wrote. 'curve': the cost of each byte."""
    written = text.partition('Text written by the model:')[2]
    found = {'': text if kind == 'text' else written}
    for path in sorted(folder.rglob('*')) if kind != 'text' else []:
        name = str(path.relative_to(folder))
        if kind == 'curve' and name != 'compress.csv':
            continue
        if path.suffix == '.safetensors':
            found[name] = hashlib.sha256(tensors(path)).hexdigest()
        elif path.suffix == '.csv':
            found[name] = hashlib.sha256(columns(path)).hexdigest()
        elif path.is_file() and not path.name.endswith('config.json') and path.suffix not in ('.svg', '.png'):
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def run(command, arguments, kind):
    """Returns the result and the largest memory of the process in bytes."""
    with tempfile.TemporaryDirectory(dir='.') as out:
        program, *words = command.split()
        if kind != 'text' and '--out' not in arguments:
            arguments = [*arguments, '--out', out]
        if program == 'compress':                                   # beside the files of other runs
            arguments = [str(pathlib.Path(out) / a) if a == 'packed.k' else a for a in arguments]
        with open(pathlib.Path(out) / 'stdout.log', 'w+b') as stdout, open('src', 'rb') as stdin:
            process = subprocess.Popen([str(build / program), *words, *arguments], stdin=stdin, stdout=stdout,
                                       stderr=subprocess.PIPE)
            message = process.stderr.read().decode(errors='replace')
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = status
            process.stderr.close()
            stdout.seek(0)
            text = stdout.read().decode(errors='replace')
        (pathlib.Path(out) / 'stdout.log').unlink()
        if status:
            return f"{command} {' '.join(arguments)}: {message}", 0
        text = re.sub(r'\S+ tokens/s', '', text).replace(out, 'OUT')
        return result(kind, pathlib.Path(out), text), usage.ru_maxrss


def joined(base, more):
    """The arguments `base` without the options that `more` has, and then `more`. A first argument that is no option replaces
    the first one of `base`: the name of a file."""
    given = {a for a in more if a.startswith('--')}
    kept, skips = [], False
    for a in base:
        if a.startswith('--'):
            skips = a in given
        if not skips:
            kept.append(a)
    if more and not more[0].startswith('--'):
        kept[0], more = more[0], more[1:]
    return kept + more


# ---- files for the commands --------------------------------------------------------------------------------------------


def must(command, *arguments):
    found = subprocess.run([str(build / command.split()[0]), *command.split()[1:], *arguments], stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, check=False)
    if found.returncode:
        sys.exit(f"{command} {' '.join(arguments)}: {found.stdout.decode(errors='replace')}")


def deepen(folder):
    """Repeats the only layer of a Llama: recomputing saves the memory of all layers but one."""
    layers, path = 6, folder / 'model.safetensors'
    data = path.read_bytes()
    end = 8 + int.from_bytes(data[:8], 'little')
    head = json.loads(data[8:end])
    head.pop('__metadata__', None)
    new, parts, at = {}, [], 0
    for name, item in head.items():
        begin, behind = item['data_offsets']
        for i in range(layers if '.layers.0.' in name else 1):
            new[name.replace('.layers.0.', f'.layers.{i}.')] = {**item, 'data_offsets': [at, at + behind - begin]}
            parts.append(data[end + begin:end + behind])
            at += behind - begin
    text = json.dumps(new).encode()
    path.write_bytes(len(text).to_bytes(8, 'little') + text + b''.join(parts))
    config = json.loads((folder / 'config.json').read_text('utf-8'))
    (folder / 'config.json').write_text(json.dumps({**config, 'num_hidden_layers': layers}), 'utf-8')


def prepare():
    story = [f'The frog {i} goes back to the pond, and the pond is {i * 7 % 13} feet deep.\n' for i in range(40)]
    pathlib.Path('story.txt').write_text(''.join(story), 'utf-8')
    pathlib.Path('large.txt').write_text(''.join(story) * 4, 'utf-8')
    pathlib.Path('other.txt').write_text(''.join(f'{i} feet deep is the pond, and back to it goes The frog {i}.\n'
                                                 for i in range(40)), 'utf-8')
    words = 'I like dogs .,My mother likes the frog .,This is a fish .,He gives my friend a letter .'.split(',')
    pathlib.Path('src').write_text('\n'.join(words * 3) + '\n', 'utf-8')
    pathlib.Path('tgt').write_text('\n'.join(w.upper() for w in words * 3) + '\n', 'utf-8')
    pathlib.Path('english').write_text('I like dogs .\nMy mother likes the frog .\nThis is a fish .\n', 'utf-8')
    japanese = ('私 は 犬 が 好き です 。', '私 の 母 は かえる が 好き です 。', 'これ は 魚 です 。')
    pathlib.Path('japanese').write_text('\n'.join(japanese) + '\n', 'utf-8')
    os.mkdir('model')
    for name in ('config.json', 'model.safetensors'):
        shutil.copy(fixtures / 'llama' / 'writer' / name, 'model')
    shutil.copy(fixtures / 'tokenizers' / 'llama3.json', 'model/tokenizer.json')
    shutil.copytree('model', 'deep')
    deepen(pathlib.Path('deep'))
    must('gpt train', '--data', 'other.txt', *joined(GPT, ['--lr', '0.01', '--width', '16', '--out', 'gpt', '--steps', '60',
                                                          '--every', '30']))
    must('gpt train', '--data', 'other.txt', *joined(GPT, ['--lr', '0.5', '--width', '16', '--out', 'worse']))
    shutil.copy('worse/gpt_last.safetensors', 'gpt/gpt_last.safetensors')
    must('gpt export', '--checkpoint', 'gpt/gpt_best.safetensors', '--out', 'exported')
    must('gpt export', '--checkpoint', 'worse/gpt_last.safetensors', '--out', 'exported2')
    shutil.copy('exported2/model.safetensors', 'exported/other.safetensors')
    config = json.loads(pathlib.Path('exported/config.json').read_text('utf-8'))
    config['layer_norm_epsilon'] = 0.9
    pathlib.Path('exported/eps.json').write_text(json.dumps(config), 'utf-8')
    vocab = json.loads(pathlib.Path('exported/vocab.json').read_text('utf-8'))
    vocab['e'], vocab['o'] = vocab['o'], vocab['e']
    pathlib.Path('exported/swapped.json').write_text(json.dumps(vocab, ensure_ascii=False), 'utf-8')
    must('gpt tokenize', '--data', 'story.txt', '--size', '300', '--out', 'pairs')
    pathlib.Path('all.txt').write_text(''.join(story) + 'äöü', 'utf-8')
    must('gpt tokenize', '--data', 'all.txt', '--characters', '--out', 'characters')
    must('llama finetune', '--model', 'model', '--data', 'other.txt',
         *'--window 8 --steps 30 --lr 0.05 --weights float32 --float32-model --out llama'.split())
    must('translate train', *joined(TRANSLATE, LEARNED), '--out', 'translate')
    for program in ('gpt', 'llama', 'translate'):
        commands = re.findall('^  ([a-z]+) ', help_of(program).split(' COMMAND --help')[0], re.M)
        missing = {f'{program} {c}' for c in commands} - set(COMMANDS)
        if missing:
            failures.append(f"no rows for {', '.join(sorted(missing))}")


def help_of(command):
    return subprocess.run([str(build / command.split()[0]), *command.split()[1:], '--help'], stdout=subprocess.PIPE,
                          check=True).stdout.decode()


# ---- the comparison --------------------------------------------------------------------------------------------------


def check(command, option):
    """Returns what is wrong with an option, or None."""
    base, kind, rows = COMMANDS[command]
    row = rows[option]
    if isinstance(row, str):
        return None
    marks = [mark for mark in (SAME, MEMORY) if row[0] is mark]
    row = row[len(marks):]
    both, more = (row[:row.index(AND)], row[row.index(AND) + 1:]) if AND in row else ([], row)
    base = joined(base, both)
    (first, memory), (other, less) = run(command, base, kind), run(command, joined(base, more), kind)
    for found in (first, other):
        if isinstance(found, str):
            return found
    if (first == other) != bool(marks):
        return f"{command} {' '.join(more)}: {'another' if marks else 'the same'} result"
    if MEMORY in marks and less > 0.8 * memory and not os.environ.get('SHORT'):     # sanitizers keep what is freed
        return f'{command} {option}: {less} KB of memory, {memory} without it'
    return None


def main():
    os.environ['LC_ALL'] = 'C'
    os.environ['PATH'] = '/nonexistent'                             # without gnuplot, which takes longer than the runs
    os.environ.pop('KAERU_PLOTS', None)
    os.environ.pop('MALLOC_PERTURB_', None)                         # writes to memory that programs do not use
    prepare()
    work = []
    for command, (_, _, rows) in COMMANDS.items():
        options = re.findall(r'^  (--[a-z0-9-]+)', help_of(command), re.M)
        failures.extend(f'{command}: no row for {o} in test_effects.py' for o in options if o not in rows)
        failures.extend(f'{command}: a row for {o}, which --help does not have' for o in rows if o not in options)
        work += [(command, o) for o in options if o in rows]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        failures.extend(filter(None, pool.map(lambda item: check(*item), work)))
    for failure in failures:
        print('FAILED:', failure)
    print(f'effects: {len(work)} options, {len(failures)} failed')
    return 1 if failures else 0


if __name__ == '__main__':
    with tempfile.TemporaryDirectory() as work_folder:
        os.chdir(work_folder)
        STATUS = main()
        os.chdir('/')
    sys.exit(STATUS)
