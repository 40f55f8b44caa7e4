"""many_files.py FOLDER COUNT: writes COUNT small files of many kinds, 000_KIND, 001_KIND, ..., the same ones each time."""
import gzip
import json
import random
import struct
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORDS = {
    'english': 'the model reads each byte of a file and learns what comes next while it works',
    'japanese': 'モデル は ファイル の バイト を ひとつ ずつ 読み ながら 次 に 何 が 来る か を 学び ます 。',
    'german': 'Größere Wörter kosten am Anfang viel und am Ende fast nichts , weil übrig ist , was folgt',
    'french': 'où l’élève apprend à écrire , le modèle prédit déjà la lettre suivante du français',
    'russian': 'модель читает каждый байт файла и учится тому , что будет дальше',
    'greek': 'το μοντέλο διαβάζει κάθε γράμμα και μαθαίνει τι ακολουθεί',
    'arabic': 'يقرأ النموذج كل حرف في الملف ويتعلم ما يأتي بعده',
    'chinese': '模型 一边 阅读 文件 一边 学习 下一个 字节 是 什么 。',
    'korean': '모델 은 파일 의 바이트 를 하나 씩 읽으며 다음 을 배운다',
    'hindi': 'मॉडल फ़ाइल का हर अक्षर पढ़ता है और सीखता है कि आगे क्या आएगा',
    'emoji': '🐸 🐸🏽 👩‍👩‍👧 🇯🇵 e\u0301 ﷽ \u200b 😀 ✓ ∑',
}


def prose(words):
    def make(rng, n):
        text = ' '.join(rng.choice(words.split()) for _ in range(n // 4 + 1))
        return text.encode()[:n]                        # may end in the middle of a letter
    return make


def source(name):
    def make(rng, n):
        content = (ROOT / name).read_bytes()
        at = rng.randrange(max(1, len(content) - n))
        return content[at:at + n]
    return make


def table(rng, n):
    rows = ''.join(f'{i},{rng.gauss(0, 1):.4f},{rng.choice(["on", "off"])}\n' for i in range(n // 12 + 1))
    return ('step,loss,state\n' + rows).encode()[:n]


def objects(rng, n):
    return json.dumps([{'id': i, 'name': rng.choice(['a', 'b"', 'ü']), 'x': [rng.random(), None]}
                       for i in range(n // 40 + 1)]).encode()[:n]


def log(rng, n):
    return ''.join(f'2026-11-{rng.randrange(1, 31):02} 12:{i % 60:02} {rng.choice(["INFO", "WARN"])} done {i}\r\n'
                   for i in range(n // 20 + 1)).encode()[:n]


def numbers(rng, n):
    return b''.join(struct.pack('<if', i, rng.gauss(0, 1)) for i in range(n // 8 + 1))[:n]


def broken(rng, n):
    """Japanese in which some bytes are lost or changed."""
    content = bytearray(prose(WORDS['japanese'])(rng, n))
    for _ in range(len(content) // 20 + 1):
        if content:
            content[rng.randrange(len(content))] = rng.randrange(128, 256)
    return bytes(content)


KINDS = {
    'empty': lambda rng, n: b'',
    'one': lambda rng, n: rng.randbytes(1),
    'two': lambda rng, n: rng.randbytes(2),
    **{name: prose(words) for name, words in WORDS.items()},
    'c': source('nn/layers.c'),
    'python': source('tests/many_files.py'),
    'shell': source('tests/setup.sh'),
    'markdown': source('README.ja.md'),
    'binary': source('tests/fixtures/llama/writer/model.safetensors'),
    'csv': table,
    'json': objects,
    'log': log,
    'numbers': numbers,
    'random': lambda rng, n: rng.randbytes(n),
    'invalid': broken,
    'run': lambda rng, n: bytes([rng.randrange(256)]) * (9 * n),
    'period': lambda rng, n: (rng.randbytes(rng.randrange(2, 9)) * (3 * n))[:3 * n],
    'zeros': lambda rng, n: bytes(rng.randrange(256) if rng.random() < 0.02 else 0 for _ in range(n)),
    'ramp': lambda rng, n: bytes(i * rng.choice([1, 3]) % 256 for i in range(n)),
    'high': lambda rng, n: bytes(rng.randrange(128, 256) for _ in range(n)),
    'bits': lambda rng, n: bytes(rng.choice(b'01') for _ in range(n)),
    'dna': lambda rng, n: bytes(rng.choice(b'ACGT') for _ in range(n)),
    'utf16': lambda rng, n: prose(WORDS['greek'])(rng, n).decode(errors='ignore').encode('utf-16'),
    'gzip': lambda rng, n: gzip.compress(prose(WORDS['english'])(rng, 3 * n), mtime=0),
    'newlines': lambda rng, n: bytes(rng.choice(b'\n\r\t ') for _ in range(n)),
    'words': lambda rng, n: b' '.join(rng.choice([b'if', b'else', b'\xff\xfe', b'\x00']) for _ in range(n // 3)),
    'long': lambda rng, n: prose(WORDS['english'])(rng, 8192 + 8 * n),
}


def main():
    folder, count = Path(sys.argv[1]), int(sys.argv[2])
    for i in range(count):
        rng = random.Random(i)
        kind = list(KINDS)[i % len(KINDS)]
        size = rng.choice([3, 17, 100, 300, 600, 1000])
        (folder / f'{i:03}_{kind}').write_bytes(KINDS[kind](rng, rng.randrange(size, 2 * size)))


main()
