"""damage_compressed.py PROGRAM FILE COUNT ARGUMENT...: decompresses COUNT damaged copies of FILE, which `compress` has made,
with these arguments. Each must be refused in one line, with status 1 or 2 and without a file, unless the text is right
all the same (the last bits of a file can be meaningless). Some copies get a right checksum, so that the decoder itself
meets the damage."""
import random
import subprocess
import sys
from pathlib import Path

HEAD = 32                       # the format, its checksum and two hashes; the number of tokens and the settings follow


def checksum(content):
    value = 0xcbf29ce484222325
    for byte in content:
        value = (value ^ byte) * 0x100000001b3 % 2 ** 64
    return value.to_bytes(8, 'little')


def settings_end(content):
    """Behind the number of tokens and nine settings, each of which ends with a byte below 128."""
    at, numbers = HEAD, 0
    while numbers < 10:
        numbers += content[at] < 128
        at += 1
    return at


def damaged(content, rng):
    signed = rng.random() < 0.7
    first = settings_end(content) if signed else 0
    new = bytearray(content)
    kind = rng.randrange(4)
    if kind == 0:
        new = new[:rng.randrange(first, len(new))]
    elif kind == 1:
        new += rng.randbytes(rng.randrange(1, 20))
    else:
        for _ in range(rng.choice([1, 1, 1, 2, 10])):
            at = rng.randrange(first, len(new))
            new[at] = new[at] ^ 1 << rng.randrange(8) if kind == 2 else rng.randrange(256)
    if signed:
        if rng.random() < 0.2:
            new[HEAD] = rng.randrange(128)                      # another number of tokens
        new[8:16] = checksum(new[16:])
    return bytes(new)


def main():
    program, name, count = sys.argv[1:4]
    content, text = Path(name).read_bytes(), Path(name).with_suffix('').read_bytes()
    rng, right = random.Random(1), 0
    path, out = Path('damaged.k'), Path('damaged')
    for i in range(int(count)):
        path.write_bytes(damaged(content, rng))
        done = subprocess.run([program, '-d', str(path), str(out), *sys.argv[4:]], capture_output=True, timeout=120)
        if done.returncode == 0 and out.exists() and out.read_bytes() == text:
            right += 1
            out.unlink()
        elif done.returncode not in (1, 2) or done.stderr.count(b'\n') != 1 or any(Path().glob('damaged[!.]*')) or out.exists():
            sys.exit(f'copy {i}: status {done.returncode}, {done.stderr!r}: expected one line and no file (see {path})')
    print(f'{count} damaged files: {int(count) - right} refused, {right} right')


main()
