"""test_pictures.py ROOT BUILD [PICTURE...]: each picture in plots/, in both languages, is what the programs draw today.

Two versions of gnuplot draw the same script with other bytes, so the test does not draw. plots/drawn.txt has, for each picture,
a hash of the file and one of what it was drawn from: the script with those that it loads, their Japanese captions, and the data
that a program in BUILD writes in a few seconds; or the graph that it writes for Graphviz. A picture that was drawn again is
named as PICTURE, which writes its line. Skipped (status 77) without those programs."""
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

root, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
stamps = root / 'plots/drawn.txt'
HEADING = '# picture, a hash of its file, a hash of what it was drawn from: tests/test_pictures.py writes the lines.\n'
GRAPHS = ('backprop', 'architectures')                      # programs whose pictures are graphs
# Programs that write the data of a picture in a few seconds.
QUICK = ('attention_geometry', 'block', 'exploding', 'families', 'feed_forward', 'heads', 'layer_norm', 'learning_step',
         'positions', 'shards', 'temperature', 'text_to_numbers')


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def scripts(name):
    """The script of a figure and those that it loads, without comments and the form of lines."""
    path = root / f'plots/{name}.gp'
    text = re.sub(r'^ *#.*\n', '', path.read_text(encoding='utf-8'), flags=re.M)
    loaded = [other for other in re.findall(r'"(\w+)\.gp"', text) if other != name]
    return re.sub(r'\s+', ' ', text.replace('\\\n', ' ')) + ''.join(map(scripts, loaded))


def captions(text):
    """The pairs of plots/ja.txt whose English line is in the text."""
    lines = [line for line in (root / 'plots/ja.txt').read_text(encoding='utf-8').split('\n') if line and line[0] != '#']
    return ''.join(english + japanese for english, japanese in zip(lines[::2], lines[1::2]) if f'"{english}"' in text)


def run_programs(folder):
    """Writes the graphs in both languages, and the data, to the folders en and ja. Nothing is drawn: there is no script."""
    for program in GRAPHS + QUICK:
        for language in ('en', 'ja')[:2 if program in GRAPHS else 1]:
            subprocess.run([str(build / 'examples' / program), '--language', language, '--out', f'{folder}/{language}'],
                           env={**os.environ, 'PATH': '', **({'KAERU_PLOTS': folder} if program in QUICK else {})},
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def source(picture, folder):
    """What the picture is drawn from, as bytes."""
    language = 'ja' if '/ja/' in picture else 'en'
    name = pathlib.Path(picture).stem
    if name.startswith(GRAPHS):
        graph = pathlib.Path(folder, language, f'{name}.dot').read_bytes()
        return re.sub(rb' (URL|target|tooltip)="[^"]*"', b'', graph)        # paths depend on the folder
    text = scripts(name)
    data = b''
    if name.startswith(QUICK):
        data = b''.join(pathlib.Path(folder, 'en', file).read_bytes() for file in sorted(set(re.findall(r'\w+\.csv', text))))
    return (text + (captions(text) if language == 'ja' else '')).encode() + data


def main():
    if not all((build / 'examples' / program).exists() for program in GRAPHS + QUICK):
        sys.exit(77)
    pictures = sorted(path.relative_to(root).as_posix() for path in root.glob('plots/**/*.png'))
    written = [line.split(' ') for line in stamps.read_text().split('\n') if line and line[0] != '#'] if stamps.exists() else []
    old = {picture: tuple(hashes) for picture, *hashes in written}
    with tempfile.TemporaryDirectory() as folder:
        run_programs(folder)
        new = {picture: (digest((root / picture).read_bytes()), digest(source(picture, folder))) for picture in pictures}
    if len(sys.argv) > 3:
        named = [pathlib.Path(name).resolve().relative_to(root.resolve()).as_posix() for name in sys.argv[3:]]
        kept = {picture: new[picture] if picture in named else old.get(picture, new[picture]) for picture in pictures}
        stamps.write_text(HEADING + ''.join(f'{picture} {" ".join(kept[picture])}\n' for picture in pictures))
        return
    failed = [f'plots/drawn.txt has {picture}, which is not there' for picture in sorted(set(old) - set(pictures))]
    for picture in pictures:
        if new[picture] != old.get(picture):
            same_file = picture in old and new[picture][0] == old[picture][0]
            failed.append(f'{picture}: ' + ('what it is drawn from has changed: draw it again' if same_file else
                                            'the file has changed: it must show what is drawn today')
                          + f', then python3 tests/test_pictures.py . build {picture}')
    print('\n'.join(failed) or f'pictures: {len(pictures)} are up to date')
    sys.exit(1 if failed else 0)


main()
