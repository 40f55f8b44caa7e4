#!/bin/sh
# test_lessons.sh PROGRAMS PLOTS: each lesson in PROGRAMS, in a short form: what it prints, that its data has the header
# that --help names and supports what the lesson claims, the same bytes on any number of threads, and its pictures.

# shellcheck disable=SC2016 # programs of awk
programs=$(cd "$1" && pwd) || exit 1
KAERU_PLOTS=$(cd "$2" && pwd) || exit 1
export KAERU_PLOTS
program=$programs/backprop
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"
command -v gnuplot >/dev/null || echo "no gnuplot: pictures not tested"

wrong() { failed=$((failed + 1)); echo "FAILED: $name: $*"; }

# lesson NAME [ARGUMENT...]: runs it on 1 thread in English, and on 3 threads in Japanese, into the folders NAME.1 and NAME.3.
# Both must print the same numbers with decimals, except measured times. Leaves the English text in the file stdout.
lesson() {
    name=$1
    shift
    "$programs/$name" --help --language en >help || wrong "--help"
    "$programs/$name" --help --language ja >japanese_help || wrong "--help --language ja"
    for threads in 1 3; do
        case $threads in 1) language=en ;; *) language=ja; mv stdout english ;; esac
        if LC_ALL=C.UTF-8 "$programs/$name" "$@" --threads $threads --language $language --out "$name.$threads" \
            >stdout 2>stderr </dev/null
        then
            ok
        else
            wrong "status $? with $*"
            cat stderr
        fi
        grep -v "$no_font" stderr >told
        if [ -s told ]; then wrong "text on stderr"; cat told; else ok; fi
    done
    data=
    mv stdout japanese
    mv english stdout
    numbers_of() { sed '/ seconds of processor time/d; /プロセッサ時間は/d' "$1" | grep -oE '[0-9]+\.[0-9]+(e[-+][0-9]+)?'; }
    numbers_of stdout >english_numbers
    numbers_of japanese >japanese_numbers
    case $name in seq2seq | copy_task) ;; *) same english_numbers japanese_numbers ;; esac
    case $name in families) return ;; esac                      # it prints English sentences, its data
    speaks_japanese japanese
    speaks_japanese japanese_help
}

# prints TEXT: the lesson must print this.
prints() { that "'$1' on stdout" grep -qF -- "$1" stdout; }

# csv FILE HEADER: this data must have this header, which --help names, and the same bytes on any number of threads.
csv() {
    data=$name.1/$1
    that "header of $1" [ "$(head -n 1 "$data")" = "$2" ]
    tr '\n' ' ' <help >help_line
    that "$1 ($2 in --help" grep -qF "$1 ($2" help_line
    same "$data" "$name.3/$1"
}

# shows "CLAIM" AWK: the program of awk reads the data without its header and exits with 0 if the claim holds.
shows() {
    if tail -n +2 "$data" | awk -F, "function abs(x) { return x < 0 ? -x : x } $2"; then ok; else wrong "$1"; fi
}

# draws NAME...: these pictures must exist, also in Japanese.
draws() {
    command -v gnuplot >/dev/null || return
    for picture in "$@"; do
        has "$name.1/$picture.png"
        has "$name.1/$picture.svg"
        case $picture in
        attention_by_hand) words='bank|in|money|of|river|the' ;;
        knobs_mask) words=pad ;;
        shards) words='P[0-9]' ;;
        knobs_sampling) words='This|is|bird|book|cup|dog|house|pen|song|the|top_[kp]' ;;
        *) words='' ;;
        esac
        japanese "$name.3/$picture.svg" "$words"
    done
}

lesson backprop
prints 'du = 0.46212 + 0.39322 = 0.85534'
prints 'dc/da = 4                               dc/da = 6'
prints 'dW1    = [[-4.0601, -8.1201], [1.8323, 3.6646]]'
that "gradients by small steps" awk '
    /^  [A-Za-z0-9]+ +item [0-9]/ { n++; d = $4 - $5; if (d < 0) d = -d; if (d > 2e-3) bad = 1 }
    END { exit bad || n != 12 }' stdout
that "20 frames" [ "$(find backprop.1 -name '*.dot' | wc -l)" -eq 20 ]
if command -v dot >/dev/null; then
    for frame in formula_00 formula_09 network_00 network_09; do
        has "backprop.1/backprop_$frame.png"
        has "backprop.1/backprop_$frame.svg"
    done
    for frame in backprop.3/backprop_*.svg; do
        japanese "$frame" 'd?(loss|out|target|[a-zA-Z][0-9]?)|add|linear|mse_loss|mul|tanh'
    done
fi
with=PATH=$folder
expect 0 '' ''
with=LC_ALL=C
prints 'pictures: out/backprop_formula_00.dot to 09.dot need Graphviz'
mkdir bad
printf '#!/bin/sh\nprintf "first\\nno memory\\n\\n" >&2\nexit 3\n' >bad/dot
chmod +x bad/dot
PATH=$folder/bad "$programs/backprop" >stdout 2>stderr
that "status with a bad dot" [ $? -eq 1 ]
for picture in formula network; do
    echo "backprop: dot could not draw out/backprop_${picture}_00.dot (status 3): no memory"
done >want
same want stderr
printf '#!/no/such/interpreter\n' >bad/dot
PATH=$folder/bad "$programs/backprop" >stdout 2>stderr
that "status with a dot that cannot be started" [ $? -eq 1 ]
echo 'backprop: dot could not be started: No such file or directory' >want
same want stderr

lesson learning_step --lr 1
prints 'step 1: w = -0.2000, loss = 10.2400, dw = -6.4000; then w - 0.1 * dw = 0.4400'
csv learning_step.csv rate,step,w,loss
shows 'a step multiplies the error by 1 - 2 lr' \
    '$2 > 0 && abs(($3 - 3) - (1 - 2 * $1) * error) > 1e-4 { bad = 1 } abs($4 - ($3 - 3) ^ 2) > 1e-3 * $4 { bad = 1 }
     { error = $3 - 3 } END { exit bad || NR != 52 }'
csv learning_step_valley.csv optimizer,step,a,b,loss
shows 'momentum comes farthest; the first step of Adam is the same in both directions' \
    '{ gsub(/"/, "") } $1 == "Adam" && $2 == 1 && (abs($3 + 3.7) > 1e-3 || abs($4 - 0.7) > 1e-3) { bad = 1 } { last[$1] = $5 }
     END { exit bad || last["momentum"] > 0.02 || last["gradient descent"] < 2 * last["momentum"] || NR != 123 }'
draws learning_step
lesson learning_step --lr 0.5
lesson learning_step --lr 10
prints 'learning rate 10    after 5 steps: w = 9904399.0000'

lesson boundary
that "cross-entropy by hand" [ "$(sed -n 's/.*mean: \([0-9.]*\); nn_cross_entropy: \([0-9.]*\);.*/\1 \2/p' stdout |
    awk '$1 == $2' | wc -l)" -eq 1 ]
csv boundary_points.csv x,y,arm
csv boundary_loss.csv step,sgd,momentum,adam
shows 'Adam learns first, gradient descent last' 'END { exit !($4 < $3 / 2 && $3 < $2 / 2 && NR == 501) }'
csv boundary.csv step,x,y,p
shows 'at first the network knows nothing; in the end each arm is on its own side of the boundary' \
    'function cell(x) { return int((x / 1.15 + 1) * 30 + 0.5) } $1 == 0 || $1 == 500 { p[$1, (NR - 1) % 3721] = $4 }
     END { for (r = 0.2; r < 0.96; r += 0.05) for (arm = 0; arm < 2; arm++) { a = 6 * r + 3.14159265 * arm
               k = cell(r * sin(a)) * 61 + cell(r * cos(a)); if ((p[500, k] > 0.5) != arm) bad = 1
               wrong += (p[0, k] > 0.5) != arm }
           exit bad || wrong < 8 || NR != 6 * 61 * 61 }'
draws boundary boundary_loss

lesson text_to_numbers
prints '大森=6 さん=1 は=2 犬=3 を=4 、=5 井上=0'
prints 'From a table (100, 512) the ids 1, 2, 3 take a tensor (3, 512).'
prints 'takes the same rows: the difference is 0.'
csv text_to_numbers.csv matrix,row,column,value
shows 'the six vectors are rows 2, 1, 3, 12, 9, 5 of the table' \
    'BEGIN { split("2 1 3 12 9 5", id, " ") } { gsub(/"/, "") } $1 == "table" { t[$2, $3] = $4 }
     $1 == "one-hot" { ones += $4 * ($3 == id[$2 + 1]) }
     $1 == "rows" { n++; if ($4 != t[id[$2 + 1], $3]) bad = 1 } END { exit bad || n != 48 || ones != 6 || NR != 78 + 104 + 48 }'
csv text_to_numbers_positions.csv length,position,i,share,wave
shows 'i / N depends on the length' '$2 == 3 && abs($4 - 3 / $1) > 1e-9 { bad = 1 } END { exit bad || NR != 25 }'
csv text_to_numbers_order.csv token,without,with
shows 'without positions no vector moves, with them all do' '$2 > 1e-5 || $3 < 0.01 { bad = 1 } END { exit bad || NR != 14 }'
draws text_to_numbers text_to_numbers_order

lesson word_vectors
csv word_vectors_loss.csv step,loss
csv word_vectors.csv word,step,x,y
shows 'words of a group are in one direction, those of other groups are not' \
    'function cosine(i, j) { return (x[i] * x[j] + y[i] * y[j]) / sqrt((x[i] ^ 2 + y[i] ^ 2) * (x[j] ^ 2 + y[j] ^ 2)) }
     $2 == 400 { x[n] = $3; y[n] = $4; n++ }
     END { for (i = 0; i < 9; i++) for (j = 0; j < 9; j++) { c = cosine(i, j); same = int(i / 3) == int(j / 3)
               if (same && c < 0.95 || !same && c > 0.3) bad = 1 } exit bad || n != 11 || NR != 22 }'
draws word_vectors

lesson feed_forward
prints 'Feed-forward: (1, 10, 512) -> (1, 10, 512)'
prints 'layer norm, (x - mean) / deviation             mean 0.0000, deviation 1.0000'
prints 'ReLU(x) = max(0, x)     0.0000  0.0000  0.0000  0.5000  2.0000'
prints 'instance norm: over the words of one sentence  mean'
prints '3,152,384 parameters'
prints 'BERT-base (12 layers + embeddings)    56669184 of 108891648: 52.0 %'
that "a square too many is told" sh -c '! grep "divided by the variance" stdout | grep -q "deviation 1.0000"'
csv feed_forward.csv part,changed,position,change
shows 'feed-forward and layer norm work by position, attention and batch norm do not' \
    '{ alone = $1 ~ /feed|layer/ } ($4 > 0) != (!alone || $2 == $3) { bad = 1 } END { exit bad || NR != 400 }'
csv feed_forward_parameters.csv model,feed_forward,attention,other
shows 'two thirds of an encoder layer, half of a decoder layer, less of a model' \
    '{ share[NR] = $2 / ($2 + $3 + $4) } $1 ~ /GPT-2 .12/ && abs($2 + $3 + $4 - 124.439808) > 1e-5 { bad = 1 }
     $1 ~ /BERT-base/ && abs($2 + $3 + $4 - 108.891648) > 1e-5 { bad = 1 }
     END { exit bad || abs(share[1] - 2 / 3) > 0.01 || abs(share[2] - 0.5) > 0.01 || share[4] > 0.41 || NR != 7 }'
draws feed_forward

lesson heads --steps 200
prints 'scores Q_i K_i'"'"' / sqrt(64)                   (1, 8, 5, 5)'
prints 'Z_i: weighted means of the values            (1, 8, 5, 64)'
that "the steps are those of the layer, and a split matrix is eight matrices" \
    awk '/differ.* by at most/ { n++; if ($NF > 1e-5) bad = 1 } END { exit bad || n != 2 }' stdout
prints 'parameters: 1050624'
csv heads.csv step,heads_1,heads_2,heads_4,heads_8
shows 'one head is not enough' 'END { exit !($2 > 0.4 && $3 < 0.1 && $4 < 0.1 && $5 < 0.1 && NR == 200) }'
csv heads_weights.csv heads,head,query,key,weight
shows 'of two heads, one looks at the first letter, the other one at the letter before' \
    '$1 == 2 && $3 > 1 { first[$2] += ($4 == 0) * $5 / 6; before[$2] += ($4 == $3 - 1) * $5 / 6 }
     END { exit !((first[0] > 0.7 && before[1] > 0.4) || (first[1] > 0.7 && before[0] > 0.4)) || NR != 192 }'
draws heads
lesson heads --steps 200 --feed-forward
csv heads.csv step,heads_1,heads_2,heads_4,heads_8
shows 'with a feed-forward layer one head learns more' 'END { exit !($2 < 0.3) }'

lesson block --layers 4 --vocabulary 1000
that "the assembled block is that of the library" \
    awk '/differs by at most/ { n++; if ($NF > 1e-5) bad = 1 } END { exit bad || n != 2 }' stdout
prints 'decoder: attention to the source            6 x    1050624 =     6303744'
prints 'in 12 hours: 3.3e+18 operations'
that "the sum is that of the library's model" \
    awk '/  sum  / { sum = $2 } /nn_count of transformer_new:/ { exit sum != $4 }' stdout
csv block.csv layer,deviation_pre,deviation_post,gradient_pre,gradient_post
shows 'pre-norm vectors grow, post-norm vectors do not' \
    'abs($3 - 1) > 0.02 || $2 < last { bad = 1 } { last = $2 } END { exit bad || $2 < 1.5 || NR != 4 }'
draws block
lesson block --layers 16 --vocabulary 1000 --weights 0.1
csv block.csv layer,deviation_pre,deviation_post,gradient_pre,gradient_post
shows 'with small first weights all layers have nearly the same gradient' \
    '{ if (NR == 1) { pre = $4; post = $5 } } END { exit abs($4 / pre - 1) > 0.2 || abs($5 / post - 1) > 0.2 }'

lesson architectures
prints 'Transformer-base has D = 512, h = 8, K = 64, N = 6 layers'
for figure in seq2seq seq2seq_attention attention residual transformer gpt bert; do
    has architectures.1/architectures_$figure.dot
    command -v dot >/dev/null || continue
    has architectures.1/architectures_$figure.png
    has architectures.1/architectures_$figure.svg
    japanese architectures.3/architectures_$figure.svg '[a-z0-9_]*\(\)|[a-zA-Z]_?[a-zA-Z0-9]|Seq2Seq|This|is|pen'
done
# Each box links to a file that has its function; a link is a path from the folder of the picture.
sed -n 's|.*URL="\([^"]*\)".*tooltip="\([^ ]*\) (.*|\2 architectures.1/\1|p' architectures.1/*.dot | sort -u >links
that "20 links or more" [ "$(wc -l <links)" -ge 20 ]
while read -r function file; do
    that "$function in $file" grep -q "^[A-Za-z].*\b$function(" "$file"
done <links
program=$programs/architectures
with=PATH=$folder
expect 0 'picture: out/architectures_gpt.dot needs Graphviz' ''
with=LC_ALL=C
program=$programs/backprop

lesson attention_by_hand
prints 'x =  6   e^x = 403.4288   e^x / sum = 0.945383   ag_softmax: 0.945383'
prints '426.7358; e = 2.718281828459'
prints 'The weights add up to 1.000000.'
prints '0.116629, 0.861780, 0.005807, 0.000000, 0.015784'
prints 'the weights differ by at most 0.'
prints 'These weights add up to 1.7'
prints "x' = 0.353 これ + 0.118 は + 0.471 ペン + 0.059 です = (0.059, 0.318)"
csv attention_by_hand_softmax.csv score,exponential,weight
shows 'softmax' 'abs($2 - exp($1)) > 1e-3 { bad = 1 } { sum += $3 } END { exit bad || abs(sum - 1) > 1e-6 || NR != 5 }'
prints '  river  q·k = 3   x = q·k / sqrt(2) = 2.121   e^x = 8.342   weight = 0.507'
that "each weight of bank is e^x divided by the printed sum" awk '
    BEGIN { n = 0 }
    /q·k =/ { e[n] = $(NF - 3); w[n++] = $NF; next }
    /weight = e\^x \// { for (i = 0; i < n; i++) { d = w[i] - e[i] / $5; if (d < -1e-3 || d > 1e-3) bad = 1 } all += n; n = 0 }
    END { exit bad || all != 11 }' stdout
csv attention_by_hand_bank.csv sentence,x,y,new_x,new_y
shows 'bank is the same vector before, and goes toward river and toward money' \
    '$2 != 1 || $3 != 1 { bad = 1 } $1 == 0 { river = $4 > 1.5 && $5 < 0.5 } $1 == 1 { money = $5 > 1.5 && $4 < 0.5 }
     END { exit bad || !river || !money }'
csv attention_by_hand_next.csv word,score,probability
shows 'the next word is bank' '$1 ~ /bank/ && $3 > 0.95 { right = 1 } { sum += $3 } END { exit !right || abs(sum - 1) > 1e-5 }'
that "inner products give the model's probabilities" \
    awk '/the model:/ { n++; if ($4 != $7) bad = 1 } END { exit bad || n != 7 }' stdout
draws attention_by_hand

lesson exploding --layers 20
csv exploding.csv layer,gain_0.7,gain_1,gain_1.4
shows 'the gradient vanishes, stays or explodes by the factor of a layer' \
    'NR == 1 { a = $2; b = $3; c = $4 }
     END { exit !(abs(log(a / $2) / 20 - log(0.7)) < 0.1 && abs(log(b / $3)) < 2 &&
                  abs(log(c / $4) / 20 - log(1.4)) < 0.1) || NR != 21 }'
that "clipping limits the norm to 1" [ "$(awk '/^ +[01]\.[0-9]/ { print $5 }' stdout | tail -n 1)" = 1 ]
draws exploding

lesson score_width --widest 256 --steps 150
prints ' seconds of processor time.'
that 'it prints three times' \
    awk '/^At K = 256/ { found = $8 + 0 > 0 && $9 + 0 > 0 && $11 + 0 > 0 } END { exit !found }' stdout
csv score_width.csv k,dot,dot_least,dot_most,scaled,scaled_least,scaled_most,additive,additive_least,additive_most
shows 'at a large width the plain dot product is worse than the other scores' \
    '$3 > $2 || $2 > $4 { bad = 1 } END { exit bad || $1 != 256 || $2 > 90 || $5 < 99 || $8 < 99 || NR != 4 }'
draws score_width

lesson ablations --steps 120
csv ablations.csv setup,part,mean,least,most
shows 'one layer and no skip connections are bad; each mean is within its range' \
    '{ gsub(/"/, "") } $4 > $3 + 1e-6 || $3 > $5 + 1e-6 { bad = 1 } { m[$1] = $3 }
     END { exit bad || NR != 17 || m["layers: 1"] > m["layers: 2"] - 10 || m["skip: without"] > m["skip: with"] - 10 ||
           m["norm: post"] > m["norm: pre"] || m["dropout: 0"] > 90 }'
prints '2, 4, 6, 8 layers, BLEU 23.7, 25.3, 25.8, 25.5'
draws ablations

lesson families --steps 150
csv families.csv step,fills,goes_on,rewrites
shows 'all three learn; the decoder cannot predict the words after it' \
    'NR <= 5 { first += $4 / 5 } NR > 145 { fills += $2 / 5; goes_on += $3 / 5; rewrites += $4 / 5 }
     END { exit bad || NR != 150 || rewrites > first / 50 || fills > 1.5 || goes_on > 1.2 || goes_on < 0.6 }'
numbers() { sed -n "s/$1/\\1 \\2/p" stdout; }
numbers '.*right verbs in 60 held-out sentences: encoder \([0-9]*\), decoder \([0-9]*\)' >verbs
numbers '  \([0-9]*\) of \(60\) held-out sentences right' >passive
that "one line about verbs, one about the passive voice" [ "$(cat verbs passive | wc -l)" -eq 2 ]
that "verbs" awk '{ exit !($1 >= 55 && $2 <= 30) }' verbs
that "passive voice" awk '{ exit !($1 >= 55) }' passive
prints '-> the '
draws families
lesson families --steps 1

lesson norm_conventions
prints '-0.92582  -0.46291   0.00000   1.38873'
prints '-2.13809   9.46548   0.00000   0.80178'
csv norm_conventions.csv deviation,pytorch,annotated,std_eps,std
shows 'each convention gives the deviation of its formula' \
    'function off(got, want) { return abs(got - want) > 1e-4 }
     off($2, $1 / sqrt($1 * $1 + 1e-5)) || off($4, $1 / ($1 + 1e-6)) || off($5, 1) { bad = 1 }
     off($3, $1 / ($1 * sqrt(4 / 3) + 1e-6)) { bad = 1 } END { exit bad || NR != 41 }'
draws norm_conventions

lesson layer_norm --depth 8 --steps 40 --runs 2
csv layer_norm.csv run,step,plain,normalized
shows 'with normalization it learns sooner' '$2 == 30 && $4 > $3 { bad = 1 } END { exit bad || NR != 80 }'
csv layer_norm_layers.csv step,layer,value,plain,normalized
shows 'before training, values keep their deviation only with norms' \
    '$1 == 0 { plain[$2] += $3 * $3 * $4; normalized[$2] += $3 * $3 * $5 }
     END { exit !(sqrt(plain[8]) < 0.3 && abs(sqrt(normalized[8]) - 1) < 0.1) || NR != 2 * 8 * 80 }'
draws layer_norm layer_norm_layers
lesson layer_norm --depth 12 --steps 40 --runs 2 --he
csv layer_norm.csv run,step,plain,normalized
shows 'with weights by He it learns without normalization' '$2 == 39 && $3 > 0.2 { bad = 1 } END { exit bad || NR != 80 }'
lesson layer_norm --depth 2 --steps 1 --runs 1

lesson positions --width 16 --length 30
prints 'repeats after 6.2832 positions'
csv positions.csv position,dimension,value
shows 'row 0 is 0, 1, 0, 1' '$1 == 0 && $3 != $2 % 2 { bad = 1 } END { exit bad || NR != 480 }'
csv positions_products.csv i,j,product
shows 'products are symmetric and 8 on the diagonal' \
    '{ p[$1, $2] = $3 } $1 == $2 && abs($3 - 8) > 1e-5 { bad = 1 }
     END { for (i = 0; i < 30; i++) for (j = 0; j < i; j++) if (abs(p[i, j] - p[j, i]) > 1e-5) bad = 1
           exit bad || NR != 900 }'
csv positions_theory.csv distance,theory,measured
shows 'theory and measurement agree' 'abs($2 - $3) > 1e-4 { bad = 1 } END { exit bad || NR != 30 }'
draws positions positions_products
lesson positions --width 8 --length 20 --base 100
prints 'repeats after 19.869 positions'
csv positions_theory.csv distance,theory,measured
shows 'another base gives other inner products, which the theory has, too' \
    'abs($2 - $3) > 1e-4 { bad = 1 } $1 == 2 && abs($3 - 2.368499) > 1e-4 { bad = 1 } END { exit bad || NR != 20 }'

lesson vectors
prints '|a| w = 2.7600'
prints '(4, 2) times (2, 4) is (4, 4)'
csv vectors_words.csv token,x,y
csv vectors_map.csv x,y,mapped_x,mapped_y
shows 'the map is linear' 'NR <= 2 { x[NR] = $1; y[NR] = $2; X[NR] = $3; Y[NR] = $4; d = x[1] * y[2] - x[2] * y[1] }
    NR > 2 { s = ($1 * y[2] - x[2] * $2) / d; t = (x[1] * $2 - $1 * y[1]) / d
             if (abs(s * X[1] + t * X[2] - $3) > 1e-4 || abs(s * Y[1] + t * Y[2] - $4) > 1e-4) bad = 1 }
    END { exit bad || NR != 200 }'
csv vectors_projection.csv a_x,a_y,b_x,b_y,foot_x,foot_y
shows 'the projection lies on a, at a right angle' \
    '{ exit abs($1 * $6 - $2 * $5) > 1e-6 || abs($1 * ($3 - $5) + $2 * ($4 - $6)) > 1e-6 }'
draws vectors

lesson temperature --queries 256 --widest 256
prints '1.0499'
csv temperature.csv token,score,temperature,weight
shows 'weights add up to 1 and are softmax(score / temperature)' \
    '{ x[NR] = exp($2 / $3); e[$3] += x[NR]; t[NR] = $3; w[NR] = $4; sum[$3] += $4 }
    END { for (i in sum) if (abs(sum[i] - 1) > 1e-5) bad = 1
          for (i = 1; i <= NR; i++) if (abs(w[i] - x[i] / e[t[i]]) > 1e-5) bad = 1
          exit bad || NR != 28 }'
csv temperature_width.csv width,variance,variance_scaled,entropy,entropy_scaled,gradient,gradient_scaled
shows 'unscaled scores grow with K, harden softmax and lose the gradient; scaled ones do not' \
    'abs($2 - $1 * $3) > 1e-3 * $2 { bad = 1 } $1 == 8 { entropy = $4; gradient = $6 }
     $1 >= 8 && (abs($3 - 1) > 0.3 || abs($5 - 3) > 0.2) { bad = 1 }
     END { exit bad || NR != 9 || $4 > entropy / 4 || $6 > gradient / 2 || $7 < 2 * $6 }'
draws temperature temperature_width

lesson attention_geometry
prints '2.689   0.936  -2.516  -1.180     0.834   0.144   0.005   0.017  これ'
csv attention_geometry.csv token,temperature,x,y
shows 'the higher the temperature, the smaller the polygon' \
    '{ x[(NR - 1) % 4] = $3; y[(NR - 1) % 4] = $4 }
     NR % 4 == 0 { a = 0; for (i = 0; i < 4; i++) { j = (i + 1) % 4; a += x[i] * y[j] - x[j] * y[i] }
                   a = abs(a); if (NR > 4 && a > last * 0.95) bad = 1; last = a }
     END { exit bad || NR != 24 || last > 0.1 }'
csv attention_layers.csv token,layer,x,y
hull=$(sed -n 's/.*no point lies more than \([^ ]*\) beyond.*/\1/p' stdout)
that "outputs lie within the hull of the values, not $hull beyond" awk "BEGIN { exit !(${hull:-1} < 1e-5) }"
draws attention_geometry

lesson seq2seq --steps 150 --length 10 --word abcab --timed 16
prints 'attention     output: '
csv seq2seq.csv length,fixed,attention,transformer
shows 'on the longest words, attention is far above the fixed vector' \
    '{ gap = $3 - $2 } END { exit gap < 0.2 || NR != 10 }'
for file in seq2seq_attention.csv seq2seq_transformer.csv; do
    data=seq2seq.1/$file
    that "header of $file" [ "$(head -n 1 $data)" = said,a,b,c,a,b ]
    same $data seq2seq.3/$file
    shows 'the weights of a letter add up to 1' \
        '{ sum = 0; for (i = 2; i <= 6; i++) sum += $i } abs(sum - 1) > 1e-5 { bad = 1 } END { exit bad || NR != 6 }'
done
data=seq2seq.1/seq2seq_time.csv
shows 'times of 8 and 16 letters' \
    '$1 != 8 * NR || $2 <= 0 || $3 <= 0 || $4 <= 0 { bad = 1 } END { exit bad || NR != 2 }'
draws seq2seq seq2seq_alignment

lesson knobs --draws 2000
prints '# # # # # # . .'
prints '0.0000  0.1333  0.6000  0.1333  0.1333'
csv knobs_mask.csv query,key,seen
shows 'a position attends to itself and to earlier positions' '$3 != ($2 <= $1) { bad = 1 } END { exit bad || NR != 400 }'
csv knobs_mask_sentence.csv token,query,key,seen
shows 'no position attends to padding' '$4 != ($3 <= $2 && $3 < 6) { bad = 1 } END { exit bad || NR != 64 }'
csv knobs_rate.csv step,rate_512_4000,rate_512_8000,rate_256_4000
shows 'rates are those of the paper' \
    'function rate(d, w) { s = $1 ^ -0.5; r = $1 * w ^ -1.5; return d ^ -0.5 * (s < r ? s : r) }
     function off(got, want) { return abs(got / want - 1) > 1e-6 }
     off($2, rate(512, 4000)) || off($3, rate(512, 8000)) || off($4, rate(256, 4000)) { bad = 1 }
     END { exit bad || NR < 400 }'
csv knobs_smoothing.csv row,token,target
shows 'rows of targets add up to 1, that of padding to 0' '{ sum[$1] += $3 } $2 == 0 && $3 != 0 { bad = 1 }
    END { for (i = 0; i < 5; i++) if (abs(sum[i] - (i != 2)) > 1e-6) bad = 1; exit bad || NR != 25 }'
csv knobs_penalty.csv x,probability,smoothing_0,smoothing_0.1
shows 'the loss is 0, its minimum, where the model has the probability of the target' \
    'abs($3 + log($2)) > 1e-5 { bad = 1 } NR == 1 || $4 < least { least = $4; where = $2 }
     END { exit bad || abs(where - 0.9) > 0.01 || abs(least) > 1e-3 || $4 < 0.1 }'
csv knobs_sampling.csv 'word,temperature 1,temperature 0.5,temperature 2,top_k 3,top_p 0.8,temperature 0'
shows 'each way of sampling has probabilities that add up to 1, for the expected number of words' \
    '{ for (i = 2; i <= NF; i++) { sum[i] += $i; left[i] += $i > 0 } }
     END { for (i = 2; i <= 7; i++) if (abs(sum[i] - 1) > 1e-6) bad = 1
           exit bad || left[4] != 8 || left[5] != 3 || left[6] != 4 || left[7] != 1 }'
draws knobs_mask knobs_rate knobs_smoothing knobs_sampling

lesson shards --items 200
prints '(100000000 + 1) - 100000000 = 0'
csv shards_sums.csv processes,plain,tree,of
shows 'any number of processes has the same sums in the tree, and others from left to right' \
    '$3 != 0 || ($2 > 0) != ($1 > 1 && $1 < 8) { bad = 1 } END { exit bad || NR != 8 }'
csv shards.csv processes,lo,middle,hi,height,left,right,process
shows 'three processes: 0 has shards 0-1, 1 has 2-4, 2 has 5-7, and none has 4-5' \
    '$1 == 3 && $5 == 0 && $8 != ($2 > 1) + ($2 > 4) { bad = 1 } $1 == 3 && $2 == 4 && $4 == 6 && $8 == -1 { none = 1 }
     $1 == 3 { nodes++ } END { exit bad || !none || nodes != 15 || NR != 120 }'
draws shards

lesson digits --steps 60
csv digits.csv step,convolutional,linear
shows 'the convolutional network learns, the linear layer does not' \
    'NR > 50 { network += $2 / 10; layer += $3 / 10 } END { exit NR != 60 || network > 1.8 || layer < 2.1 }'

lesson curvature --steps 1000
prints 'Second derivatives, the Hessian: [[-0.7300, 0.0000], [0.0000, 2.0000]]'
csv curvature.csv newton,start,step,a,b,f
shows "gradient descent ends in the bowl twice, Newton's step in the bowl and at the saddle" \
    '{ a[$1 ($2 > 1)] = $4; if (abs($5) > 1e-3) far[$1 ($2 > 1)] = $3 }
     END { exit abs(a["00"] - 1) > 1e-2 || abs(a["01"] - 1) > 1e-2 || abs(a["11"] - 1) > 1e-3 || abs(a["10"]) > 1e-3 ||
                far["11"] > 1 || NR != 136 }'
csv curvature_training.csv rate,step,curvature,loss
shows 'the curvature rises to 2 / rate and stays; with a smaller rate it is not held there' \
    '$1 > 0.09 && $2 >= 500 { n++; if ($3 < 16 || $3 > 24) bad = 1 } $1 < 0.09 && $3 > 22 { above = 1 }
     END { exit bad || n != 51 || !above }'
that 'the curvature is that of three losses' awk '/three losses/ { n++; d = $(NF - 6) - $(NF - 2); if (d < 0) d = -d
    if (d > 0.01 * $(NF - 2)) bad = 1 } END { exit bad || n != 3 }' stdout
draws curvature
"$programs/curvature" --rate 5 --steps 100 --language en --out curvature.5 >stdout 2>stderr
prints 'the loss grows without limit'

lesson landscape --depth 4 --rows 200 --hidden 32 --steps 200 --grid 3 --range 0.05 --lr 0.01
csv landscape.csv skip,a,b,loss
cp "$data" map
csv landscape_curvature.csv skip,pair,loss,largest,slice,length_a,length_b
shows 'the curvature in the plane is that of the map, along both directions and between them' '
    BEGIN { while ((getline line <"map") > 0) { split(line, c, ","); map[c[1] "," c[2] "," c[3]] = c[4] } }
    function bend(from, to, length_) { return (map["1," from] + map["1," to] - 2 * map["1,0,0"]) / (0.05 * length_) ^ 2 }
    $1 == 1 && $2 == 0 { n++
        along_a = bend("-0.05,0", "0.05,0", $6); along_b = bend("0,-0.05", "0,0.05", $7)
        most = along_a > along_b ? along_a : along_b
        if (most > 1.05 * $5 || $5 > 1.3 * most) bad = 1 }
    END { exit bad || n != 1 || !map["1,0,0"] }'
shows 'each plane misses nearly all of the eigenvalue' '{ n++; if ($5 > 0.05 * $4) bad = 1 } END { exit bad || n != 6 }'
draws landscape
fails_with() { "$programs/landscape" "$@" --out landscape.9 >stdout 2>stderr; [ $? -eq 1 ]; }
that 'weights without a finite loss' fails_with --init he --optimizer sgd --depth 16 --rows 50 --hidden 64 --steps 20
that 'its message' grep -q 'is not finite after 20 steps: expected a smaller --lr' stderr
lacks landscape.9

lesson differential_equation --steps 1500
csv differential_equation.csv x,u,solution
shows 'u is the solution' \
    'abs($2 - $3) > 1e-3 || abs($3 - sin(3.14159265 * $1)) > 1e-5 { bad = 1 } END { exit bad || NR != 64 }'
draws differential_equation

lesson gradient_penalty --steps 400
csv gradient_penalty.csv x,y
that 'the norm of the gradient is near 1' \
    awk '/norm/ { n++; if ($NF < 0.8 || $NF > 1.2) bad = 1 } END { exit bad || n != 2 }' stdout
draws gradient_penalty

# Where the output folder cannot be made, they say so before they train, which takes longer than a minute.
: >file
for name in landscape differential_equation moons seq2seq skip_lab; do
    timeout 60 "$programs/$name" --steps 1000000 --language en --out file >stdout 2>stderr
    that 'no folder' [ $? -eq 1 ]
    that 'its message' grep -q 'out file: cannot make the folder file: a file of that name exists' stderr
    that 'nothing before it' [ ! -s stdout ]
done

lesson moons --steps 300
csv moons.csv left,x,y
shows 'the points contract' '$1 == 40 { before += abs($3 - 0.25) } $1 == 0 { after += abs($3 - 0.25) }
    END { exit NR != 5000 || after > 0.7 * before }'
draws moons

# ---- fonts -----------------------------------------------------------------------------------------------------------

# Without a Japanese font, Cairo draws wrong Japanese letters. Then the terminal png draws these pictures.
name=style.gp
terminal() { FONTCONFIG_FILE=$1 gnuplot -e "$2" -e "load '$KAERU_PLOTS/style.gp'" -e 'print png_terminal' 2>&1; }
cat >no_fonts <<'END'
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>/nowhere</dir></fontconfig>
END
if command -v gnuplot >/dev/null && command -v fc-list >/dev/null; then
    case $(terminal "$folder/no_fonts" 'JAPANESE = 1') in 'png '*) ok ;; *) wrong "Cairo without a font" ;; esac
    case $(terminal "$folder/no_fonts" 'x = 1') in 'pngcairo '* | 'png '*) ok ;; *) wrong "no terminal" ;; esac
fi

# Japanese captions without a font: one line says so.
if command -v dot >/dev/null && command -v fc-list >/dev/null; then
    for language in en ja; do
        FONTCONFIG_FILE=$folder/no_fonts "$programs/backprop" --language $language --out fonts >stdout 2>stderr
        case $language:$(grep -c "^backprop: $no_font.*fonts-vlgothic" stderr) in
        en:0 | ja:1) ok ;;
        *) wrong "the hint for a font in $language"; cat stderr ;;
        esac
    done
fi

lesson compress --curve --streams 1 --layers 1 --heads 1 --window 32
csv compress.csv byte,bits_per_byte,mean
shows 'the mean falls below two thirds of what the first bytes cost' '{ if (NR == 1) first = $2; mean = $3 }
    END { exit !(mean < first * 2 / 3 && mean > 1) }'
same compress.1/compress.k compress.3/compress.k
draws compress
# The smallest run: a picture of one epoch.
lesson copy_task --width 64 --layers 1 --batch 2 --epochs 1
draws copy_task

# ---- output through a pipe comes line by line ------------------------------------------------------------------------

name=copy_task
mkfifo pipe
"$programs/copy_task" --width 64 --layers 1 --epochs 100000 --out live >pipe 2>/dev/null &
child=$!
read -r line <pipe
case $line in 'A Transformer of '*) ok ;; *) wrong "first line: $line" ;; esac
lacks live/copy_task.csv                                # the first line comes before the end of the run

# ---- one program at a time writes into a folder ----------------------------------------------------------------------

while [ ! -e live/copy_task.csv.part ] && kill -0 $child; do sleep 0.01; done
for second in copy_task vectors; do
    "$programs/$second" --out ./live >stdout 2>stderr
    that "status of a second program" [ $? -eq 1 ]
    echo "$second: --out ./live: another program is writing into this folder: expected another folder" >want
    same want stderr
    lacks live/$second.csv
done
kill -9 $child
wait $child 2>/dev/null
"$programs/vectors" --out live >stdout 2>stderr
that "status after the first program was killed" [ $? -eq 0 ]

# ---- the README of the lessons ---------------------------------------------------------------------------------------

# Each program that the lessons name exists.
name=README.md
sed -n -e 's/^sh examples\/run.sh \(--processes [0-9]* \)*\([a-z_0-9]*\).*/\2/p' \
    -e 's/^|.*| `\([a-z_0-9]*\)`.*/\1/p' "$KAERU_PLOTS/../examples/README.md" "$KAERU_PLOTS/../examples/CONTENTS.md" |
    sort -u >names
that "25 programs or more" [ "$(wc -l <names)" -ge 25 ]
while read -r named; do
    case $named in '' | NAME | gallery) ;; *) has "$KAERU_PLOTS/../examples/$named.c" ;; esac
done <names

# ---- the gallery -----------------------------------------------------------------------------------------------------

# gallery STATUS "TEXT ON STDERR": runs it with the file `list`.
examples=$KAERU_PLOTS/../examples
name=gallery
gallery() {
    KAERU_PROGRAMS=$programs sh "$examples/gallery.sh" --out "a gallery" --list list >stdout 2>stderr
    status=$?
    that "status $status, expected $1" [ $status -eq "$1" ]
    that "'$2' on stderr" grep -qF -- "$2" stderr
}
printf '# a remark\n## A & B\n$ vectors --points 10\nseen: "x" > y\nvectors: a < b\n## C\n! write_backward\ntext: zeros\n' >list
if command -v gnuplot >/dev/null; then
    gallery 0 'gallery: vectors --points 10'
    for line in '<li><a href="#lesson1">A &amp; B</a></li>' '<h2 id="lesson1">A &amp; B</h2>' '<h2 id="lesson2">C</h2>' \
        '<pre class="command">sh examples/run.sh vectors --points 10</pre>' \
        '<img src="vectors/vectors.png" alt="&quot;x&quot; &gt; y">' '<figcaption>a &lt; b</figcaption>' \
        '<details><summary>Printed text</summary><pre>A word is a vector' '<figure><pre>The operation: y[i][j]' \
        '<figcaption>zeros</figcaption>' '</html>'
    do
        that "'$line' in the page" grep -qF -- "$line" 'a gallery/index.html'
    done
    that "no text twice" [ "$(grep -c 'The operation: y' 'a gallery/index.html')" -eq 1 ]
    printf "\$ positions --width 4 --length '3'\npositions: the caption\n\$ positions --width 6\n" >list
    gallery 0 "gallery: positions --width 4 --length '3'"
    that "pictures of a first run" [ -s 'a gallery/positions/positions.png' ]
    that "the caption as alternative text" grep -qF 'alt="the caption"' 'a gallery/index.html'
    printf '! vectors --points 0\n' >list
    gallery 1 'these failed: vectors'
    printf '$ vectors\nnone: Nothing.\n' >list
    gallery 1 'these failed: none'
    printf '$ vectors --points 0\n' >list
    gallery 1 'these failed: vectors'
fi
printf '$ missing\n' >list
gallery 1 'these failed: missing'
printf 'nonsense\n' >list
gallery 1 'cannot read the line: nonsense'
for option in --out --list --language --nonsense; do
    sh "$examples/gallery.sh" $option >stdout 2>stderr
    that "status with $option" [ $? -eq 2 ]
    that "one line on stderr with $option" [ "$(wc -l <stderr)" -eq 1 ]
done

if command -v dot >/dev/null; then
    printf '## 1. Backprop by hand\n$ backprop\nseen: Boxes.\nbackprop_formula_*: Frames.\n' >list
    gallery 0 'gallery: backprop'
    that "10 frames" [ "$(grep -c 'alt="Frame [0-9]*\. Boxes\."' 'a gallery/index.html')" -eq 10 ]
    that "the first paragraph of the lesson" grep -qF '<p>How can a program know' 'a gallery/index.html'
fi

# In Japanese, and without an option by the locale; the number of a lesson finds its text.
if command -v gnuplot >/dev/null; then
    printf '## 9. 見出し\n$ vectors --points 10\nseen: 矢印\nvectors: 単語は点\n' >list
    paragraph=$(awk '/^## 9\./ { here = 1; next } here && NF { printf "%s", $0; some = 1; next } some { exit }' \
        "$examples/README.ja.md" | sed 's/`//g')
    that "the first paragraph of lesson 9 in README.ja.md" [ -n "$paragraph" ]
    for locale in C ja_JP.UTF-8; do
        case $locale in C) language='--language ja' ;; *) language='' ;; esac
        # shellcheck disable=SC2086
        LC_ALL=$locale KAERU_PROGRAMS=$programs sh "$examples/gallery.sh" $language --out ja --list list >stdout 2>stderr
        that "status of a Japanese gallery" [ $? -eq 0 ]
        for line in '<html lang="ja">' '<nav aria-label="目次">' '<h2 id="lesson1">9. 見出し</h2>' "<p>$paragraph</p>" 'alt="矢印"' \
            '<figcaption>単語は点</figcaption>' '<summary>表示されたテキスト</summary>' '<pre>単語はベクトルです'
        do
            that "'$line' in the Japanese page" grep -qF -- "$line" ja/index.html
        done
        japanese ja/vectors/vectors.svg
        rm -r ja
    done
fi
sh "$examples/gallery.sh" --language fr >stdout 2>stderr
that "status with --language fr" [ $? -eq 2 ]
that "the message for --language fr" grep -qx 'gallery: --language fr: expected en or ja' stderr

# Programs with commands, and the verdicts of the exercises.
for words in 'gpt' 'gpt train' 'gpt tokenize' 'translate' 'translate train' 'translate score' 'llama' 'llama finetune' \
    'compress'; do
    # shellcheck disable=SC2086 # a program and its command
    "$programs/"$words --help --language ja >"$words.help"
    speaks_japanese "$words.help"
done
for name in write_backward grade; do
    "$programs/$name" --language ja --out verdicts >stdout 2>stderr
    that "status of $name" [ $? -eq 1 ]
    speaks_japanese stdout
    speaks_japanese stderr
done

# Every lesson and every picture of an example must be in the list, each picture with what is seen.
sed -n '/^## .*whole models/q; /^## /p' "$examples/README.md" | while read -r lesson; do
    grep -qxF -- "$lesson" "$examples/gallery.txt" || echo "$lesson"
done >missing
that "all lessons in examples/gallery.txt" [ ! -s missing ]
awk '/^[a-z0-9_]*\*?: / && !/^(seen|text): / && before !~ /^seen: / { print } { before = $0 }' "$examples/gallery.txt" >missing
that "what is seen in each picture" [ ! -s missing ]
sed -n 's/^\([a-z0-9_]*\): .*/\1/p' "$examples/gallery.txt" >listed
grep -hro 'picture_draw("[a-z0-9_]*")' "$examples" --include='*.c' | sed 's/.*"\(.*\)".*/\1/' >drawn
while read -r picture; do
    that "$picture in examples/gallery.txt" grep -qx "$picture" listed
done <drawn

summary lessons
