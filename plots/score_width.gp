# score_width.gp: right letters by the width of queries and keys, for three scores, with the range of three seeds.
# Reads score_width.csv (k,dot,dot_least,dot_most,scaled,scaled_least,scaled_most,additive,additive_least,
# additive_most), which examples/score_width writes.
load ARG0[:strlen(ARG0) - strlen("score_width.gp")]."style.gp"

data = "score_width.csv"
stats data using 1 name "K" nooutput

do for [format in FORMATS] {
    eval open_picture(format, "score_width", 1500, 840)
    eval heading("Wide queries and keys need the division by √K", \
        "Right letters after training: mean of three seeds, and from the worst seed to the best")
    set tmargin at screen 0.78
    set rmargin at screen 0.95
    set logscale x 4
    set xlabel say("K, width of queries and keys")
    set ylabel say("right letters in %")
    set xrange [3:1.15 * K_max]
    set yrange [0:105]
    set key bottom left Left reverse
    # Side by side, and with dashes over the solid line: at 100 % all are seen.
    plot data using 1:5:6:7 with yerrorlines lt 2 title say("dot product / √K"), \
         data using (0.94 * $1):2:3:4 with yerrorlines lt 1 title say("dot product"), \
         data using (1.06 * $1):8:9:10 with yerrorlines lt 3 title say("additive")
    unset logscale
}
unset output
