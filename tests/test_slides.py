"""test_slides.py ROOT BUILD: the pictures for slides, which the option --slide draws, are legible in the back row of a room.

Each letter of an SVG has 4.4 % of the height of a slide on which the picture fits. Skipped (status 77) without gnuplot."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

root, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
SHARE = 0.044                               # 24 points of 540
PNG_POINT = 4 / 3                           # pixels of a point in gnuplot's PNG
# Each picture and its program, in a short form.
PROGRAMS = {'ablations': 'ablations --steps 1', 'architectures_transformer': 'architectures',
            'attention_by_hand': 'attention_by_hand', 'boundary': 'boundary', 'feed_forward': 'feed_forward',
            'heads': 'heads --steps 2', 'knobs_sampling': 'knobs', 'learning_step': 'learning_step',
            'text_to_numbers_order': 'text_to_numbers'}
failures = []


def run(command, language, folder):
    program, *options = command.split()
    return subprocess.run([build / 'examples' / program, *options, '--slide', '--language', language, '--out', folder],
                          capture_output=True, text=True, check=False)


def share_of_letters(svg):
    """The smallest letter's share of the height of a slide of 16:9 on which the picture fits."""
    width, height = map(float, re.search(r'viewBox="[\d.]+ [\d.]+ ([\d.]+) ([\d.]+)"', svg).groups())
    sizes = [float(size) for size in re.findall(r'font-size[=:]\s*"?([\d.]+)', svg)]
    return min(sizes, default=0) / max(height, width * 9 / 16), len(sizes)


def check(picture, folder, where):
    svg, png = folder / f'{picture}_slide.svg', folder / f'{picture}_slide.png'
    if not svg.exists():
        failures.append(f'{where}: not drawn')
        return
    share, letters = share_of_letters(svg.read_text(encoding='utf-8'))
    if share < SHARE or letters < 4:
        failures.append(f'{where}: {letters} texts, the smallest has {share:.2%} of the height, expected {SHARE:.1%}')
    if png.exists() and not picture.startswith('architectures'):        # by Graphviz it has the size of the SVG
        height = int.from_bytes(png.read_bytes()[20:24], 'big')
        points = re.search(r"^LETTERS = fine \? (\d+)", (root / 'plots/slide.gp').read_text(encoding='utf-8'), re.M)[1]
        if int(points) * PNG_POINT / height < SHARE:
            failures.append(f'{where}: PNG of {height} lines, letters of {points} points')


def main():
    if not shutil.which('gnuplot'):
        sys.exit(77)
    scripts = {path.stem[:-len('_slide')] for path in root.glob('plots/*_slide.gp')}
    if scripts != {picture for picture in PROGRAMS if not picture.startswith('architectures')}:
        failures.append(f'plots/*_slide.gp: {sorted(scripts)}, expected a program here for each')
    for path in root.glob('plots/*_slide.gp'):
        if re.search(r'\bfont\b', path.read_text(encoding='utf-8')):
            failures.append(f'{path.name}: sets a font, expected that of slide.gp')
    with tempfile.TemporaryDirectory() as name:
        for picture, command in PROGRAMS.items():
            if picture.startswith('architectures') and not shutil.which('dot'):
                print(f'no dot: {picture} is not tested')
                continue
            for language in 'en', 'ja':
                folder = pathlib.Path(name, f'{picture}.{language}')
                ran = run(command, language, folder)
                said = [line for line in ran.stderr.splitlines() if 'fonts-vlgothic' not in line]
                if ran.returncode != 0 or said:
                    failures.append(f'{command} --slide: status {ran.returncode}: {said}')
                check(picture, folder, f'{picture}_slide, {language}')
        # A program without such a picture says so in one line.
        ran = run('vectors', 'en', pathlib.Path(name, 'none'))
        told = 'vectors: --slide: none of the pictures of this program has a form for a slide\n'
        if (ran.returncode, ran.stderr) != (0, told):
            failures.append(f'vectors --slide: {ran.returncode}, {ran.stderr!r}')
    print('\n'.join(failures) or f'slides: {len(PROGRAMS)} pictures')
    sys.exit(1 if failures else 0)


main()
