# knobs_smoothing.gp: smoothed targets, and the loss by the model's confidence. Reads knobs_smoothing.csv
# (row,token,target) and knobs_penalty.csv (x,probability,smoothing_0,smoothing_0.1), which examples/knobs writes.
load ARG0[:strlen(ARG0) - strlen("knobs_smoothing.gp")]."style.gp"

targets = "knobs_smoothing.csv"
penalty = "knobs_penalty.csv"

do for [format in FORMATS] {
    eval open_picture(format, "knobs_smoothing", 1600, 850)
    set multiplot
    eval panel("targets, smoothing 0.4 (0 is padding)", 0.08, 0.42, 0.14, 0.75)
    eval heading("Smoothed targets give some probability to the other words", \
        "Left: targets for the tokens 2, 1, 0, 3, 3.  Right: with smoothing, too much certainty costs")
    eval heat_map(rising, 5, 5)
    unset colorbox
    set cbrange [0:0.6]
    set xlabel say("token")
    set ylabel say("row")
    set xtics 1
    set ytics 1
    plot targets using 2:1:(CELL):(CELL):3 with @BOXES, \
         targets using 2:1:(sprintf("%.2f", $3)):($3 > 0.3 ? 0x000000 : 0xFFFFFF) with labels textcolor rgb variable

    eval panel("loss", 0.56, 0.97, 0.14, 0.75)
    eval curves
    set xlabel say("probability of the correct token")
    set ylabel say("KL divergence in nats")
    set xrange [0.25:1]
    set yrange [0:1.4]
    set xtics 0.25
    plot penalty using 2:3 with lines lt 1 title say("no smoothing"), \
         penalty using 2:4 with lines lt 2 title say("smoothing 0.1")
    set colorbox
    unset multiplot
}
unset output
