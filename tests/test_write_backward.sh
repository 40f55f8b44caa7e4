#!/bin/sh
# test_write_backward.sh PROGRAM SOLUTIONS: the exercise reports that it is not done, passes when it is solved, and names each
# of the usual errors. The content of exercise.c does not matter here.

program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
solutions=$2
# shellcheck disable=SC2034 # expect runs $program
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"
undone='the backward rule in examples/write_backward/exercise.c is not'

expect 0 'An exercise ' '' --help
program=$solutions.undone
expect 1 'input 0, x (2, 3): 6 of 6 entries are wrong: the gradient is 0' \
    "$undone written yet: nothing arrives at x and w"
that "w is reported, too" grep -qF 'input 1, w (3,): 3 of 3 entries are wrong: the gradient is 0' stdout
that "each entry is reported" grep -qF '  [1][2] gradient 0, numerical 0.969' stdout

program=$solutions.none
expect 0 'Every entry is right.' ''
that "the passes are explained" grep -qF 'gives   dw = [1.25, 1.5625, 2.5]' stdout
that "the rule is printed" grep -qF 'rule    dx = dy 2 w x, dw = sum of dy x^2 over rows' stdout
that "no message about a missing formula" sh -c '! grep -qF "no formula" stdout'
that "dy is shown" grep -qF 'tensor([[ 1.0000, -1.0000,  2.0000],' stdout
that "the gradients are shown" grep -qF 'tensor([0.7500, 0.6875, 4.0000])' stdout
program=$solutions.no_formula
expect 0 'It has no formula of the rule yet' ''
that "no rule is printed" sh -c '! grep -q "rule  .*dx" stdout'
program=$solutions.other_formula
expect 0 'Every entry is right.' ''
program=$solutions.wrong_formula
expect 1 'The formula of dx1 is not what the rule computes: compare the factors and their powers.' \
    'the formula of the rule in examples/write_backward/exercise.c is not right yet'
that "the formula of dx0 is right" sh -c '! grep -qF "The formula of dx0" stdout'
program=$solutions.half
expect 1 'x (2, 3): 6 of 6 entries are wrong: each is 0.5 times the correct value' "$undone right yet"
that "w is right" sh -c '! grep -qF "w (3,)" stdout'
program=$solutions.overwrites_x
expect 1 'x (2, 3): 6 of 6 entries are wrong: only one of two uses counts: a rule must add to the gradient' \
    "$undone right yet"
program=$solutions.last_row
expect 1 'w (3,): 3 of 3 entries are wrong: only the last of several entries of the result counts' \
    "$undone right yet"
that "x is right" sh -c '! grep -qF "x (2, 3)" stdout'
that "nothing is said about what is left in dw" sh -c '! grep -qF "Your rule computes" stdout'
program=$solutions.one_input
expect 1 'w (3,): 3 of 3 entries are wrong: the gradient is 0' "$undone right yet"
program=$solutions.undeclared
expect 1 'The rule stopped: weighted_square: its backward rule reads the value of input 1' "$undone right yet"
program=$solutions.not_a_number
expect 1 'w (3,): 3 of 3 entries are wrong: some are not finite' "$undone right yet"

# Each mistake leads to its reason. hint MISTAKE "TEXT"...: these lines are printed.
hint() {
    program=$solutions.$1
    expect 1 '' "$undone right yet"
    shift
    for line in "$@"; do
        that "'$line' on stdout" grep -qF -- "$line" stdout
    done
}
hint half 'Your rule computes dx[i][j] = dy[i][j] w[j] x[i][j].' 'The constant factor is 0.5 times the correct one.'
hint too_large 'The constant factor is 1.04 times the correct one.'
hint almost_right 'The constant factor is 1.004 times the correct one.'
that "the check's factor does not read as 1" sh -c '! grep -qF "each is 1 times" stdout'
hint one_input '  dx is right. dw is not written yet: nothing is added to it.'
that "nothing is fitted" sh -c '! grep -qF "Your rule computes" stdout'
hint only_w '  dw is right. dx is not written yet: nothing is added to it.'
hint one_input_half '  dw is not written yet: nothing is added to it.'
that "dx is not called right" sh -c '! grep -qF "dx is right" stdout'
hint adds_a_bit 'Your rule computes the correct dx plus 0.02 dy[i][j].'
hint no_dy 'Your rule computes dx[i][j] = 2 w[j] x[i][j].' 'dy is missing: the chain rule' \
    'Your rule computes dw[j] = the sum of all x[i][j]^2.' 'a rule must multiply by dy'
hint no_w 'the factor w is missing' 'w is missing: x^2 is multiplied by w in y.'
hint not_derived 'x has the wrong power: the derivative of x^2 is 2 x.'
hint not_squared 'x has the wrong power: w is multiplied by x^2 in y.'
hint transposed 'The index of x is wrong: i * rows + j.'
hint single_dy 'Your rule computes dx[i][j] = 2 dy[j] w[j] x[i][j].' 'The index of dy is wrong: j. A matrix' \
    'Your rule computes dw[j] = the sum of all dy[j] x[i][j]^2.'
hint single_x 'Your rule computes dx[i][j] = 2 dy[i][j] w[j] x[j].' 'The index of x is wrong: j. A matrix' \
    'Your rule computes dw[j] = the sum of all dy[i][j] x[j]^2.'
hint single_row 'The index of x is wrong: i. A matrix' 'Your rule computes dw[j] = the sum of all dy[i][j] x[j] x[i][j].'
hint signed_square 'The index of dy is wrong: i. A matrix' 'dw keeps the sign of x'
hint w_of_row 'The index of w is wrong: there is one w for each column j.'
hint mean 'as if divided by the number of columns: nothing is averaged here.'
hint changes_dy 'The rule changes x, w or dy, which others read'
hint keeps_sum 'A second call with the same numbers has another result'
hint fixed_shape 'The rule is right for x of 2 rows and 3 columns, but not for 4 and 5'
hint no_last_row '  dx leaves out the last row: the loop must reach it. (w and dw have one number for each column j.)' \
    '  dw leaves out the last row: the loop must reach it. (w and dw have one number for each column j.)'
hint every_column 'Each entry of dw adds up all columns'
hint row_of_dy 'dx takes the sum of a row of dy'
hint no_sign 'dx loses the sign of x'
hint int_slope 'is there a sum, or does an int cut off fractions?'
hint w_0 'w[0] stands there for all columns'
hint copied 'dw does not depend on x, w and dy'
hint first_row_of_w '  dw leaves out the first row'
hint half_is_0 'The result for dx is 0. In C, 1/2 divides integers and is 0: write 0.5.'
that "a result of 0 is written" sh -c '! grep -qF "not written" stdout'
hint all_is_0 'The result for dx is 0.' 'The result for dw is 0.'
hint sum_times_sum 'dw is a product of sums'
hint sum_times_squares 'dw is a product of sums'

# In Japanese nothing is left in English but names.
for program in "$solutions.none" "$solutions.undeclared" "$solutions.reads_y" "$solutions.half"; do
    status=0
    case $program in *.none) ;; *) status=1 ;; esac
    expect $status '' "$([ $status -eq 0 ] || echo 'の逆伝播の規則は、まだ正しくありません')" --language ja
    sed 's/weighted_square\|write_backward\|sum_dims\|tensor_from\|[a-z_/]*\.c:[0-9]*\|longjmp\|throw//g
         s/ag_[a-z_]*\|AG_NEEDS_.\|tensor(\|rows\|columns\|loss//g' stdout >words
    that "English: $(grep -m 1 '[a-z][a-z][a-z]' words)" sh -c '! grep -q "[a-z][a-z][a-z]" words'
done

summary write_backward
