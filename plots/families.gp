# families.gp: loss per word of an encoder, a decoder and an encoder-decoder, and the lowest possible losses.
# Reads families.csv (step,fills,goes_on,rewrites), which examples/families writes.
load ARG0[:strlen(ARG0) - strlen("families.gp")]."style.gp"

data = "families.csv"
stats data using 1 name "STEP" nooutput
# A sentence contains one of 5 adjectives, 5 people, 4 verbs and 3 things for each verb. The decoder has to guess all of
# them, in 7 words. The encoder predicts one of 6 words, and the thing determines the verb.
guess_going_on = log(5 * 5 * 4 * 3) / 7
guess_filling = log(5 * 5 * 3) / 6

set xlabel say("step")
set ylabel say("cross-entropy in nats")
set xrange [0:STEP_max > 0 ? STEP_max : 1]             # not empty after one step
set yrange [1e-3:*]
set logscale y
set key top right horizontal maxrows 1 samplen 2 width 2
set tmargin at screen 0.80
every_tenth = STEP_max > 40 ? int(STEP_max / 10) : 1

do for [format in FORMATS] {
    eval open_picture(format, "families", 1600, 900)
    eval heading("An encoder, a decoder and both learn from the same text", \
        "Loss per word. Thin lines: the lowest loss without seeing more words, ln 75 / 6 and ln 300 / 7")
    plot data using 1:2 with linespoints lt 1 pointinterval every_tenth title say("encoder: fills in"), \
         data using 1:3 with linespoints lt 2 pointinterval every_tenth title say("decoder: continues"), \
         data using 1:4 with linespoints lt 3 pointinterval every_tenth title say("both: rewrite"), \
         guess_filling with lines lc rgb "#D55E00" lw 1.5 dt solid notitle, \
         guess_going_on with lines lc rgb "#0072B2" lw 1.5 dt solid notitle
}
unset output
