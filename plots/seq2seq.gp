# seq2seq.gp: a recurrent model with a fixed vector, one with attention, and a Transformer: share of correct letters and
# time by the length of the words. Reads seq2seq.csv and seq2seq_time.csv (length,fixed,attention,transformer), which
# examples/seq2seq writes.
load ARG0[:strlen(ARG0) - strlen("seq2seq.gp")]."style.gp"

right = "seq2seq.csv"
time = "seq2seq_time.csv"
stats right using 1 name "LENGTH" nooutput
stats time using 1 name "TIMED" nooutput
every = ceil(LENGTH_records / 10.0)

do for [format in FORMATS] {
    eval open_picture(format, "seq2seq", 1600, 800)
    set multiplot
    eval panel("share of correct letters, in new words", 0.08, 0.46, 0.16, 0.74)
    eval heading("A long word is hard to pass through one vector; attention looks back", \
        "Models that spell words backwards.  Left: correct letters.  Right: time to learn from 1024 letters")
    eval curves
    set xlabel say("letters in the word")
    set xrange [0:LENGTH_max + 0.5]
    set yrange [0:1.03]
    set format y "%h"
    unset key
    plot right using 1:2 with linespoints lt 1 pointinterval every, \
         right using 1:3 with linespoints lt 3 pointinterval every, \
         right using 1:4 with linespoints lt 2 pointinterval every

    eval panel("processor time of a training step", 0.57, 0.98, 0.16, 0.74)
    eval curves
    set xlabel say("letters in a word (1024 letters in all)")
    set ylabel say("milliseconds")
    set logscale x 2
    set xrange [7:1.15 * TIMED_max]
    set logscale y
    set key on top left Left reverse            # for both panels: in the other one, curves are everywhere
    plot time using 1:2 with linespoints lt 1 title say("fixed vector"), \
         time using 1:3 with linespoints lt 3 title say("attention"), \
         time using 1:4 with linespoints lt 2 title "Transformer"
    unset logscale
    unset multiplot
}
unset output
