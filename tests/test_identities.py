"""test_identities.py BUILD FIXTURES: what the files of the four programs recognize.

A compressed file belongs to one model and tokenizer; a run that is resumed belongs to its data, its vocabulary, its frozen
weights and its fixed options. Each of these is changed, one at a time: the program must refuse it with its message. The hashes
of the library: test_identities.c."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

build, fixtures = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
failures, checks = [], 0


def run(command):
    program, *words = command.split()
    return subprocess.run([str(build / program), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


def works(command):
    global checks
    checks += 1
    done = run(command)
    if done.returncode:
        failures.append(f'{command}: {done.stderr.decode()}')


def refused(command, part, what):
    """`what`: what has changed."""
    global checks
    checks += 1
    done = run(command)
    message = done.stderr.decode()
    if done.returncode not in (1, 2) or message.count('\n') != 1 or part not in message:
        failures.append(f'{what}: {command}: status {done.returncode}, expected the message "{part}", got: {message}')


def write(path, text):
    pathlib.Path(path).write_text(text, 'utf-8')


def change_json(path, change):
    value = json.loads(pathlib.Path(path).read_text('utf-8'))
    change(value)
    write(path, json.dumps(value, ensure_ascii=False))


def edit(path, change=lambda metadata: None):
    """Changes the metadata of a safetensors file, as a program would that knows no hashes: they are left out."""
    data = pathlib.Path(path).read_bytes()
    end = 8 + int.from_bytes(data[:8], 'little')
    head = json.loads(data[8:end])
    del head['__metadata__']['kaeru.hash']
    change(head['__metadata__'])
    text = json.dumps(head).encode()
    text += b' ' * (-len(text) % 8)
    pathlib.Path(path).write_bytes(len(text).to_bytes(8, 'little') + text + data[end:])


def weights(path):
    """Of a safetensors file: where the values begin, and the names with the places of their values."""
    data = path.read_bytes()
    end = 8 + int.from_bytes(data[:8], 'little')
    head = json.loads(data[8:end])
    return end, {name: item['data_offsets'] for name, item in head.items() if name != '__metadata__'}


def change_number(path, at):
    """Changes the lowest bit of a number's fraction."""
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


STORY = [f'The frog {i} goes back to the pond, and the pond is {i * 7 % 13} feet deep.\n' for i in range(30)]
TINY = '--layers 1 --heads 2 --width 8 --context 8 --batch 2 --steps 2 --every 1 --warmup 1 --sample 0'

# ---- compressed files --------------------------------------------------------------------------------------------------


def swap(vocab):
    vocab['e'], vocab['o'] = vocab['o'], vocab['e']


def compressed_files():
    write('note', ''.join(STORY[:4]))
    works(f'gpt train --data story {TINY} --out gpt')
    works('compress note note.k --model gpt/gpt_best.safetensors --window 8')
    works('compress -d note.k back --model gpt/gpt_best.safetensors')
    if pathlib.Path('back').read_bytes() != pathlib.Path('note').read_bytes():
        failures.append('the text is not the same after decompression')
    # each tensor of the model, in its last number
    edit('gpt/gpt_best.safetensors')
    end, places = weights(pathlib.Path('gpt/gpt_best.safetensors'))
    for name, (_, behind) in places.items():
        if name.startswith('optimizer.'):
            continue
        shutil.copytree('gpt', 'other')
        change_number(pathlib.Path('other/gpt_best.safetensors'), end + behind - 4)
        refused('compress -d note.k other/text --model other/gpt_best.safetensors',
                'note.k: was not made with other/gpt_best.safetensors', name)
        shutil.rmtree('other')
    # the tokens: the checkpoint of another run, with the same weights and two tokens exchanged
    works('gpt export --checkpoint gpt/gpt_best.safetensors --out exported')
    shutil.copy(fixtures / 'tokenizers' / 'llama3.json', 'llama3.json')
    shutil.copytree('model', 'other')
    works('compress note llama.k --model model --window 8')
    works('compress -d llama.k again --model model')
    # two letters exchange their ids
    change_json('other/tokenizer.json', lambda t: swap(t['model']['vocab']))
    refused('compress -d llama.k other/text --model other', 'llama.k: was not made with other', 'the tokens')
    shutil.rmtree('other')
    # the head does not have the model's config, but the hash of the text tells
    shutil.copytree('model', 'other')
    change_json('other/config.json', lambda c: c.update(rms_norm_eps=0.5))
    refused('compress -d llama.k other/text --model other', 'llama.k: ', 'the config')
    # a file of one kind is not read as one of the other kind
    works('compress note own.k --layers 1 --heads 1 --streams 1 --window 8')
    refused('compress -d own.k x --model model', 'own.k was made by a model that learns: expected no --model', 'a model')
    refused('compress -d note.k x', 'note.k was made with a model: expected --model', 'no model')
    # each byte
    data = pathlib.Path('own.k').read_bytes()
    for at in range(0, len(data), max(1, len(data) // 40)):
        pathlib.Path('bad.k').write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1:])
        refused('compress -d bad.k x', 'bad.k: ', f'byte {at}')
    pathlib.Path('bad.k').write_bytes(data[:-1])
    refused('compress -d bad.k x', 'bad.k: is damaged or cut', 'the last byte')


def exchange_in(key):
    """Changes metadata: two tokens of the vocabulary of that key exchange their ids."""
    def change(metadata):
        tokens = json.loads(metadata[key])
        first, second = list(tokens)[-2:]
        tokens[first], tokens[second] = tokens[second], tokens[first]
        metadata[key] = json.dumps(tokens)
    return change


# ---- runs ------------------------------------------------------------------------------------------------------------


def run_of_gpt():
    works(f'gpt train --data data {TINY} --out run')
    resume = 'gpt train --resume --steps 3 --out run'
    for option in ('--layers 2', '--heads 1', '--width 16', '--context 7', '--dropout 0.5', '--bias', '--vocab story',
                   '--merges story', '--weights story', '--config story'):
        refused(f'{resume} {option}', f'{option.split()[0]}: the run in this folder was started with', option)
    write('data', ''.join(STORY).replace('frog 9', 'frog 8'))
    refused(resume, 'run/gpt_last.safetensors has learned from other data', 'a character of the data')
    write('data', ''.join(STORY))
    # the vocabulary in the checkpoint, and that in the folder of a run of an earlier version, whose checkpoints have none
    for name, command in ('gpt_last', resume), ('gpt_best', 'gpt sample --out run'):
        path, kept = f'run/{name}.safetensors', pathlib.Path(f'run/{name}.safetensors').read_bytes()
        edit(path, exchange_in('settings.vocabulary.tokens'))
        refused(command, 'is not the vocabulary that', f'the vocabulary in {name}')
        pathlib.Path(path).write_bytes(kept)
        edit(path, lambda metadata: metadata.pop('settings.vocabulary.tokens'))
        shutil.copy('run/gpt_vocab.json', 'kept')
        change_json('run/gpt_vocab.json', swap)
        refused(command, 'run/gpt_vocab.json: is not the vocabulary that', f'the vocabulary beside {name}')
        shutil.copy('kept', 'run/gpt_vocab.json')
        pathlib.Path(path).write_bytes(kept)
    works(resume)


def run_of_llama():
    works('llama finetune --model base --data data --window 8 --batch 2 --steps 2 --every 1 --out tuned')
    resume = 'llama finetune --resume --steps 3 --out tuned'
    for option in ('--rank 4', '--alpha 3', '--dropout 0.5', '--targets q_proj', '--best', '--no-merge'):
        refused(f'{resume} {option}', f'{option.split()[0]}: the run in this folder was started with', option)
    write('data', ''.join(STORY).replace('frog 9', 'frog 8'))
    refused(resume, 'has learned from other data', 'a character of the data')
    write('data', ''.join(STORY))
    shutil.copy('base/tokenizer.json', 'kept')
    change_json('base/tokenizer.json', lambda t: swap(t['model']['vocab']))
    refused(resume, 'has learned from other data, or with another tokenizer', 'the tokens')
    shutil.copy('kept', 'base/tokenizer.json')
    path = pathlib.Path('base/model.safetensors')
    end, places = weights(path)
    for name, (begin, _) in places.items():
        change_number(path, end + begin)
        refused(resume, 'the model has other frozen weights than the one with which this run began', name)
        change_number(path, end + begin)
    works(resume)


def run_of_translate():
    source = ''.join(f'the frog {i} goes to the pond .\n' for i in range(12))
    target = source.replace('goes', 'jumps')
    texts = {'a': source, 'b': target, 'c': source, 'd': target}
    for name, text in texts.items():
        write(name, text)
    sizes = ('--layers 1 --width 8 --heads 1 --hidden 8 --vocab words --min-count 1 --batch-tokens 50 --average 1 '
             '--train-src a --train-tgt b --valid-src c --valid-tgt d')
    works(f'translate train {sizes} --epochs 1 --out german')
    resume = 'translate train --resume --epochs 2 --out german'
    for option in ('--layers 2', '--width 16', '--heads 2', '--hidden 16', '--dropout 0.5', '--lower-case',
                   '--vocab bpe', '--vocab-size 300', '--min-count 2', '--sentences 9', '--held-out 9'):
        refused(f'{resume} {option}', f'{option.split()[0]}: the run in this folder was started with', option)
    for option in '--train-src b', '--train-tgt a':
        refused(f'{resume} {option}', 'has learned from other data', option)
    for name, text in texts.items():
        write(name, text.replace('frog 9', 'frog 8'))
        refused(resume, 'has learned from other data', f'a character of {name}')
        write(name, text)
    vocabularies = sorted(str(path) for path in pathlib.Path('german').glob('*vocab.json'))
    if not vocabularies:
        failures.append('no vocabulary of translate')
    for beside in vocabularies:
        key = f"settings.vocabulary.{beside.split('_')[1]}.tokens"
        for name, command in ('translate_last', resume), ('translate', 'translate translate --out german'):
            path, kept = f'german/{name}.safetensors', pathlib.Path(f'german/{name}.safetensors').read_bytes()
            edit(path, exchange_in(key))
            refused(command, 'another vocabulary than the one in it or in its folder', f'{key} of {name}')
            pathlib.Path(path).write_bytes(kept)
            edit(path, lambda metadata: [metadata.pop(f'settings.vocabulary.{s}.tokens', None) for s in ('src', 'tgt')])
            shutil.copy(beside, 'kept')

            def exchange(tokens):
                tokens['frog'], tokens['pond'] = tokens['pond'], tokens['frog']
            change_json(beside, exchange)
            refused(command, 'another vocabulary than the one in it or in its folder', f'{beside} beside {name}')
            shutil.copy('kept', beside)
            pathlib.Path(path).write_bytes(kept)
    works(resume)


def main():
    os.environ.update(LC_ALL='C', PATH='/nonexistent')
    os.environ.pop('KAERU_PLOTS', None)
    write('story', ''.join(STORY))
    write('data', ''.join(STORY))
    for folder in ('model', 'base'):
        os.mkdir(folder)
        for name in ('config.json', 'model.safetensors'):
            shutil.copy(fixtures / 'llama' / 'writer' / name, folder)
        shutil.copy(fixtures / 'tokenizers' / 'llama3.json', f'{folder}/tokenizer.json')
    for part in (compressed_files, run_of_gpt, run_of_llama, run_of_translate):
        part()
    for failure in failures:
        print('FAILED:', failure)
    print(f'identities: {checks} runs, {len(failures)} failed')
    return 1 if failures else 0


if __name__ == '__main__':
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        STATUS = main()
        os.chdir('/')
    sys.exit(STATUS)
