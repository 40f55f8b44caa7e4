# score_width.gp: right letters by the width of queries and keys, for three scores, with the range of three seeds.
# Reads score_width.csv (k,dot,dot_least,dot_most,scaled,scaled_least,scaled_most,additive,additive_least,
# additive_most), which examples/score_width writes.
load ARG0[:strlen(ARG0) - strlen("score_width.gp")]."style.gp"

data = "score_width.csv"

do for [format in FORMATS] {
    eval open_picture(format, "score_width", 1500, 840)
    eval heading("Wide queries and keys need the division by √K", \
        "Right letters after training: mean of three seeds, and from the worst seed to the best")
    set tmargin at screen 0.78
    set rmargin at screen 0.95
    set logscale x 4
    set xlabel say("K, width of queries and keys")
    set ylabel say("right letters in %")
    set xrange [3:*]
    set yrange [0:105]
    set key bottom left Left reverse
    plot data using 1:2:3:4 with yerrorlines lt 1 dt solid title say("dot product"), \
         data using 1:8:9:10 with yerrorlines lt 3 dt solid title say("additive"), \
         data using 1:5:6:7 with yerrorlines lt 2 title say("dot product / √K")
    unset logscale
}
unset output
