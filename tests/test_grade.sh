#!/bin/sh
# test_grade.sh PROGRAM SOLUTIONS: the exercises report that they are not done, pass when they are solved, and name the usual
# mistakes. The content of examples/grade/answers.c does not matter.

program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
solutions=$2
# shellcheck disable=SC2034 # expect runs $program
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"

expect 0 'Exercises that grade themselves.' '' --help
expect 2 '' '--only nonsense: expected adam, layer_norm, softmax, attention, causal_mask or interval' --only nonsense

program=$solutions.undone
expect 1 'adam         not written yet' 'adam in examples/grade/answers.c is not right yet' --only adam
for exercise in layer_norm softmax attention causal_mask interval; do
    expect 1 "$exercise " "$exercise in examples/grade/answers.c is not right yet" --only $exercise
    that "$exercise is not written yet" grep -q "^$exercise *not written yet\$" stdout
done
program=$solutions.none
expect 0 'attention    right' ''
that "all are right, softmax twice" [ "$(grep -c ' right$' stdout)" -eq 7 ]
expect 0 'softmax      right' '' --only softmax
that "only softmax" [ "$(wc -l <stdout)" -eq 2 ]

# mistake PROGRAM EXERCISE "TEXT": the mistake is told.
mistake() {
    program=$solutions.$1
    expect 1 "$3" "$2 in examples/grade/answers.c is not right yet" --only "$2"
}
mistake first softmax 'Divide by the sum: the weights must add up to 1.'
mistake second softmax 'You divided x itself by its sum: take e^x.'
mistake third softmax 'Subtract the largest x first'
mistake first layer_norm 'divide by its square root, the deviation'
mistake second layer_norm 'The variance divides by n here, not by n - 1.'
mistake third layer_norm 'Subtract the mean first.'
mistake fourth layer_norm 'Divide by the deviation.'
mistake first attention 'Divide the scores by sqrt(k).'
mistake second attention 'Divide the scores by sqrt(k), not by k.'
mistake third attention 'The weights are the softmax of the scores.'
mistake fourth attention 'You exchanged queries and keys.'
mistake first causal_mask 'A position also sees itself.'
mistake second causal_mask 'This shows the later positions and hides the earlier ones.'
mistake third causal_mask 'No position may see a later one.'
mistake fourth causal_mask 'This shows the later positions and hides the earlier ones.'
mistake first adam 'Divide m by 1 - 0.9^step and v by 1 - 0.999^step.'
mistake second adam 'v is the average of the squares, dw * dw.'
mistake third adam 'This is gradient descent: use m and v.'
mistake fourth adam 'Subtract the step: w must go down, against the gradient.'
mistake first interval 'Move low behind the parts of the symbols before this one.'
mistake second interval 'multiply their sum by length, too'
mistake third interval 'Move low by parts of the old interval'
mistake fourth interval 'multiply length by p.'

summary grade
