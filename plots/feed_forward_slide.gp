# feed_forward_slide.gp: where the parameters are.
# Reads feed_forward_parameters.csv (model,feed_forward,attention,other), which examples/feed_forward writes.
load ARG0[:strlen(ARG0) - strlen("feed_forward_slide.gp")]."slide.gp"

data = "feed_forward_parameters.csv"
array NAME[7] = ["encoder layer", "decoder layer", "base: 6 + 6 layers", "base + embeddings", \
    "layer of GPT-2", "GPT-2", "BERT-base"]
percent(c) = 100.0 * column(c) / ($2 + $3 + $4)

do for [format in FORMATS] {
    eval open_panel(format, "feed_forward")
    eval slide("feed-forward layers: share of the parameters in %", 0.31, 0.96, 0.23, 0.88)
    set label 11 say("feed-forward") at screen 0.31, 0.06 textcolor rgb "#0072B2"
    set label 12 say("attention") at screen 0.57, 0.06 textcolor rgb "#E69F00"
    set label 13 say("other") at screen 0.8, 0.06 textcolor rgb "#888888"
    set style fill solid noborder
    set xrange [0:100]
    set yrange [6.6:-0.6]
    set xtics 25
    set ytics noenhanced
    plot data using (percent(2) / 2):0:(percent(2) / 2):(0.36):ytic(say(NAME[int($0) + 1])) \
            with boxxyerror fillcolor rgb "#0072B2", \
         data using (percent(2) + percent(3) / 2):0:(percent(3) / 2):(0.36) \
            with boxxyerror fillcolor rgb "#E69F00", \
         data using (100 - percent(4) / 2):0:(percent(4) / 2):(0.36) \
            with boxxyerror fillcolor rgb "#BBBBBB", \
         data using (percent(2) / 2):0:(sprintf("%.0f", percent(2))) with labels textcolor rgb "white"
    unset multiplot
}
unset output
