#!/bin/sh
# test_programs.sh SOURCE BUILD CC...: programs that use an installed kaeru train what they should.

# shellcheck source=tests/installed.sh
. "$1/tests/installed.sh"

# program SOURCE [FLAG...]: compiles a program of at most 100 lines against the installed files, and runs it.
program() {
    name=$(basename "$1" .c) file=$1
    shift
    try "$name: at most 100 lines" [ "$(wc -l <"$file")" -le 100 ]
    try "$name: compile" compile kaeru "$file" "$folder/$name" -O2 -Wall -Wextra -Wshadow -Werror "$@"
    try "$name: run" run_there env KAERU_WARN=1 KAERU_PLOTS="$source/plots" \
        sh -c "./$name >printed 2>&1 || { cat printed; false; }"
    no_warning() { ! grep 'kaeru: warning' "$folder/printed"; }
    try "$name: no warning" no_warning
}

# learned "TEXT" '<' NUMBER: the program printed this text once, and behind it a number that is less; '>': more.
learned() {
    # shellcheck disable=SC2016 # a program of awk
    try "$name: $*" awk -v text="$1" -v sign="$2" -v limit="$3" '
        { print } at = index($0, text) { n++; value = substr($0, at + length(text)) + 0 }
        END { exit !(n == 1 && (sign == "<" ? value < limit : value > limit)) }' "$folder/printed"
}

# Untrained, they print 101 and 0.44; 0 and 0; 51; 1.1; with SGD instead of Muon 0.31; 0.2; 3.3; 2.5; 0.69 and 50; 10; 0.7.
program "$source/tests/programs/vae.c" -std=c11 -Wpedantic
learned 'loss for new images ' '<' 26
learned 'loss for new images ' '>' 24                           # a bound that is not one is lower
learned 'difference of made images from spots ' '<' 0.02
program "$source/tests/programs/gan.c" -std=c11 -Wpedantic
learned 'made points near a spot ' '>' 60
learned 'made points near the rarest spot ' '>' 2
program "$source/tests/programs/vit.c" -std=c11 -Wpedantic
learned 'new images right ' '>' 98
program "$source/tests/programs/experts.c" -std=c11 -Wpedantic
learned 'loss for new rows ' '<' 0.02
learned 'share of the expert that is used least ' '>' 2
program "$source/tests/programs/muon.c" -std=c11 -Wpedantic
learned 'loss with Muon ' '<' 0.12
try "muon: resumed" grep -qx 'resumed from a checkpoint: the same loss' "$folder/printed"
program "$source/tests/programs/unet.c" -std=c11 -Wpedantic
learned 'intersection over union in new images ' '>' 0.6
program "$source/tests/programs/lstm.c" -std=c11 -Wpedantic
learned 'loss of part 300: ' '<' 0.1
program "$source/tests/programs/alibi.c" -std=c11 -Wpedantic
learned 'loss at step 500: ' '<' 0.7
learned 'difference with the cache ' '<' 1e-5
# The numbers of PyTorch 2.13: tests/fixtures/make_programs.py.
near() {
    # shellcheck disable=SC2016 # a program of awk
    try "$name: $1$2" awk -v text="$1" -v expected="$2" '
        at = index($0, text) { n++; d = substr($0, at + length(text)) - expected; if (d < 0) d = -d }
        END { exit !(n == 1 && d < 1e-4 * (expected > 1 ? expected : 1)) }' "$folder/printed"
}
program "$source/tests/programs/ctc.c" -std=c11 -Wpedantic
near 'norm of the first gradient ' 7.527867
near 'loss at step 1: ' 8.158444
near 'loss at step 20: ' 1.381026
learned 'rows read right: ' '>' 7
program "$source/tests/programs/crf.c" -std=c11 -Wpedantic
near 'norm of the first gradient ' 1.984631
near 'loss at step 1: ' 7.418106
near 'loss at step 20: ' 0.456422
learned 'tags right: ' '>' 99
program "$source/tests/programs/flow.c" -std=c11 -Wpedantic
near 'norm of the first gradient ' 2.993315
near 'loss at step 1: ' 2.212406
near 'loss at step 20: ' 1.865761
learned 'loss at step 400: ' '<' 0.7
learned 'difference of points after there and back ' '<' 1e-4
learned 'difference from the Jacobian ' '<' 1e-4
program "$source/tests/programs/mamba.c" -std=c11 -Wpedantic
near 'norm of the first gradient ' 0.892764
near 'loss at step 1: ' 1.915499
near 'loss at step 20: ' 1.391372
learned 'loss at step 60: ' '<' 0.05
python3 - "$folder/points.npz" <<'END'
import math, random, struct, sys, zipfile

def npy(kind, shape, data):
    """The bytes of an array as NumPy writes them."""
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data

points, labels = [], []
for i in range(400):
    radius = 0.1 + 0.9 * random.Random(i).random()
    angle = 6 * radius + math.pi * (i % 2)
    points += [radius * math.cos(angle), radius * math.sin(angle)]
    labels.append(i % 2)
with zipfile.ZipFile(sys.argv[1], "w") as out:
    out.writestr("points.npy", npy("<f4", (400, 2), struct.pack("<800f", *points)))
    out.writestr("labels.npy", npy("<i8", (400,), struct.pack("<400q", *labels)))
END
program "$source/tests/programs/batches.c" -std=c11 -Wpedantic
learned 'epoch 40: loss ' '<' 0.25
learned 'held-out items right: ' '>' 90
if command -v gnuplot >/dev/null; then
    sed -n '/^gnuplot -e/,/"$/p' "$source/docs/data.md" >"$folder/draw.sh"
    draws() { run_there sh draw.sh && [ -s "$folder/losses.png" ]; }
    try "docs/data.md: gnuplot draws losses.csv" draws
fi
program "$source/tests/programs/elsewhere.c" -std=c11 -Wpedantic
try "elsewhere: the gradient check" grep -qx 'gradients are right' "$folder/printed"
learned 'same gradient with ' '<' 50
for word in first_nan shapes; do
    run_there sh -c "./elsewhere $word" 2>&1 | sed -n 's|(\(.*at \)/.*/tests/programs|(\1tests/programs|; /^kaeru: /p'
done >"$folder/said"
told() { sed -n '/^kaeru: /p' "$source/docs/elsewhere.md" | cmp - "$folder/said"; }
try "docs/elsewhere.md: the messages" told
# Two programs are examples, which share code of their own.
set -- -I"$source/examples" -DKAERU_PLOTS='""' "$source"/examples/common/*.c
program "$source/examples/digits.c" "$@"
learned 'the network reads ' '>' 98
program "$source/examples/moons.c" "$@"
learned ' 0 levels left: distance from the moons ' '<' 0.06
on_both_moons() { awk -F, '$1 == 0 { left += $2 < -0.2; right += $2 > 1.2 } END { exit left < 100 || right < 100 }' "$1"; }
try "moons: both" on_both_moons "$folder/out/moons.csv"

echo "programs: $passed passed, $failed failed"
[ $failed -eq 0 ]
