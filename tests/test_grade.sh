#!/bin/sh
# test_grade.sh PROGRAM PREFIX: the exercises report that they are not done, pass when they are solved, and name the usual
# mistakes. PREFIX.solution has the answers of tests/grade/solution.c, PREFIX.mistakes those of mistakes.c. The content of
# examples/grade/answers.c does not matter.

program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
prefix=$2
# shellcheck disable=SC2034 # expect runs $program
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"

expect 0 'Exercises that grade themselves.' '' --help
expect 2 '' '--only nonsense: expected adam, layer_norm, softmax, attention, causal_mask or interval' --only nonsense

program=$prefix.mistakes
with='MISTAKE=undone'
for exercise in adam layer_norm softmax attention causal_mask interval; do
    expect 1 "$exercise " "$exercise in examples/grade/answers.c is not right yet" --only $exercise
    that "$exercise is not written yet" grep -q "^$exercise *not written yet\$" stdout
done
for program in "$prefix.solution" "$prefix.mistakes"; do
    with='MISTAKE=none'
    expect 0 'attention    right' ''
    that "all are right" [ "$(grep -c ' right$' stdout)" -eq 6 ]
    expect 0 'softmax      right' '' --only softmax
    that "only softmax" [ "$(wc -l <stdout)" -eq 1 ]
done

# mistake EXERCISE MISTAKE "TEXT": the mistake is told, and nothing of the exercise is called right.
mistake() {
    with="MISTAKE=$2"
    expect 1 "$3" "$1 in examples/grade/answers.c is not right yet" --only "$1"
    that "$1, $2 is not called right" [ "$(grep -c ' right$' stdout)" -eq 0 ]
}
mistake softmax 'not divided' 'Divide by the sum: the weights must add up to 1.'
mistake softmax 'no exp' 'You divided x itself by its sum: take e^x.'
mistake softmax 'base 2' 'These are powers of 2: take e^x.'
mistake softmax 'sign' 'The sign is wrong: a larger x gets a larger weight.'
mistake softmax 'overflow' 'subtract the largest x first'
mistake softmax 'constant' 'subtract the largest x first'
mistake softmax 'start at 0' 'All numbers may be negative: start the maximum at x[0], not at 0.'
mistake softmax 'search without last' 'The search for the largest x leaves out the last number.'
mistake softmax 'numerator only' 'Subtract the largest x in the sum, too.'
mistake softmax 'sum only' 'Subtract the largest x in the numerator, too.'
mistake softmax 'added' 'y is not 0 at first: set it before you add.'
mistake softmax 'shifted sign' 'The sign is wrong: a larger x gets a larger weight.'
mistake softmax 'first' 'subtract the largest x first'
mistake softmax 'smallest' 'subtract the largest x first'
mistake softmax 'last' 'The sum leaves out the last number.'
mistake softmax 'mean' 'The sum is not divided by n'
mistake softmax 'percent' 'Each number is 100 times the expected one.'
mistake layer_norm 'variance' 'divide by its square root, the deviation'
mistake layer_norm 'n - 1' 'The variance divides by n here, not by n - 1.'
mistake layer_norm 'sum of squares' 'divide their sum by n'
mistake layer_norm 'sum' 'Subtract the mean, not the sum.'
mistake layer_norm 'mean in variance' 'The variance is the mean of (x - mean)^2, not of x^2.'
mistake layer_norm 'absolute' 'The variance is the mean of the squares'
mistake layer_norm 'no mean' 'Subtract the mean first.'
mistake layer_norm 'no divisor' 'Divide by the deviation.'
mistake layer_norm 'eps outside' '1e-5 is added to the variance, inside of the square root.'
mistake layer_norm 'no eps' '1e-5 is missing: add it to the variance.'
mistake layer_norm 'zero' 'The divisor must not be 0'
mistake attention 'no root' 'Divide the scores by sqrt(k).'
mistake attention 'k' 'Divide the scores by sqrt(k), not by k.'
mistake attention 'n' 'Divide the scores by sqrt(k), not by sqrt(n).'
mistake attention 'times root' 'Divide the scores by sqrt(k): you multiplied by it.'
mistake attention 'root of result' 'Divide the scores by sqrt(k), not the result.'
mistake attention 'no softmax' 'The weights are the softmax of the scores.'
mistake attention 'no sum' 'Divide the weights by their sum.'
mistake attention 'exchanged' 'You exchanged queries and keys.'
mistake attention 'columns' 'Softmax is over the keys of one query'
mistake attention 'weights' 'The weights are exchanged'
mistake attention 'own value' 'takes value[j], not value[i]'
mistake attention 'keys' 'not of the keys'
mistake attention 'queries' 'not of the queries'
mistake attention 'even' 'All words have the same weight'
mistake attention 'not set' 'y is not 0 at first: set it before you add.'
mistake attention 'mean again' 'do not divide by n again'
mistake attention 'value index' 'is value[j * k + d]'
mistake attention 'key index' 'is key[j * k + d]'
mistake attention 'query index' 'is query[i * k + d]'
mistake attention 'wrong softmax' 'attention    not checked: softmax must be right first'
mistake attention 'zero softmax' 'attention    not checked: softmax must be right first'
mistake causal_mask 'not itself' 'A position also sees itself.'
mistake causal_mask 'later' 'This shows the later positions and hides the earlier ones.'
mistake causal_mask 'only later' 'This shows the later positions and hides the earlier ones.'
mistake causal_mask 'only itself' 'A position also sees the earlier ones, not only itself.'
mistake causal_mask 'one too many' 'No position may see the next one.'
mistake causal_mask 'all' 'No position may see a later one.'
mistake adam 'uncorrected' 'Divide m by 1 - 0.9^step and v by 1 - 0.999^step.'
mistake adam 'm uncorrected' 'Divide m by 1 - 0.9^step, too.'
mistake adam 'v uncorrected' 'Divide v by 1 - 0.999^step, too.'
mistake adam 'square' 'v is the average of the squares, dw * dw.'
mistake adam 'descent' 'This is gradient descent: use m and v.'
mistake adam 'dw' 'The numerator is m, not dw.'
mistake adam 'uphill' 'Subtract the step: w must go down, against the gradient.'
mistake adam 'root' 'Divide by the square root of v.'
mistake adam 'no eps' '1e-8 is missing: add it to the square root of v.'
mistake adam 'eps in root' 'Add 1e-8 to the square root of v, not to v.'
mistake adam 'exchanged' '0.9 belongs to m, 0.999 to v.'
mistake adam 'share' 'The new gradient counts 0.1 in m, and its square 0.001 in v.'
mistake adam 'forgets' 'Store the new m and v in *m and *v for the next step.'
mistake adam 'late' 'step counts from 1: use it as it is.'
mistake adam 'early' 'step counts from 1.'
mistake adam 'half' 'number 0 of the result is 0.95'
mistake interval 'not moved' 'Move low behind the parts of the symbols before this one.'
mistake interval 'shares' 'multiply their sum by length, too'
mistake interval 'length first' 'Move low by parts of the old interval'
mistake interval 'length of one' 'multiply length by p.'
mistake interval 'too far' 'skip only the parts before it.'
mistake interval 'replaced' 'low must move on from where it was: add (+=).'
mistake interval 'length kept' 'length must shrink: multiply it by p of `symbol`.'
mistake interval 'from 1' 'start the sum at i = 0.'

summary grade
