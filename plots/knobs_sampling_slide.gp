# knobs_sampling_slide.gp: the distribution of the next word for several ways of sampling, as a table of percentages.
# Reads knobs_sampling.csv (word and a column for each way), which examples/knobs writes.
load ARG0[:strlen(ARG0) - strlen("knobs_sampling_slide.gp")]."slide.gp"

data = "knobs_sampling.csv"
stats data using 2 name "WORD" nooutput
# The percentage of way n if its share is above `low` and at most `high`; white letters stand on dark cells.
number(n, low, high) = column(n + 2) > low && column(n + 2) <= high ? sprintf("%.0f", 100 * column(n + 2)) : ""
array WAY[6] = ["T = 1", "T = 0.5", "T = 2", "top_k 3", "top_p 0.8", "T = 0"]

do for [format in FORMATS] {
    eval open_panel(format, "knobs_sampling")
    eval slide("probability in % of the word after “This is a”", 0.13, 0.97, 0.03, 0.77)
    eval heat_map("0 'white', 1 '#0072B2'", 6, WORD_records)
    set border 0
    set cbrange [0:1]
    unset colorbox
    set xtics () scale 0 noenhanced
    set ytics scale 0 noenhanced
    do for [n = 0:5] { set label 11 + n WAY[n + 1] at n, graph 1.06 center noenhanced }
    plot for [n = 0:5] data using (n):0:(CELL):(CELL):(column(n + 2)):ytic(1) with @BOXES, \
         for [n = 0:5] data using (n):0:(number(n, 0, 0.5)) with labels, \
         for [n = 0:5] data using (n):0:(number(n, 0.5, 1)) with labels textcolor rgb "white"
    set border 3
    unset multiplot
}
unset output
