# knobs_sampling.gp: the distribution of the next word for several ways of sampling.
# Reads knobs_sampling.csv (word and a column for each way), which examples/knobs writes.
load ARG0[:strlen(ARG0) - strlen("knobs_sampling.gp")]."style.gp"

data = "knobs_sampling.csv"
names = ""
stats data using (names = names." ".strcol(1), $2) name "WORD" nooutput
array NAME[6] = ["temperature 1", "temperature 0.5", "temperature 2", "top\\\\_k 3", "top\\\\_p 0.8", "temperature 0"]

do for [format in FORMATS] {
    eval open_picture(format, "knobs_sampling", 1800, 800)
    set multiplot
    do for [way = 1:6] {
        left = 0.085 + 0.154 * (way - 1)
        eval panel(NAME[way], left, left + 0.14, 0.16, 0.74)
        if (way == 1) {
            eval heading("Six ways to choose the next word", \
                "Probabilities of the word after “This is a” in each way of sampling")
        }
        eval curves
        set xrange [0:1.3]
        set yrange [WORD_records - 0.4:-0.6]
        set xtics ("0" 0, "0.5" 0.5, "1" 1)
        set ytics ()
        do for [n = 1:WORD_records] { set ytics add (way == 1 ? word(names, n) : "" n - 1) }
        set xlabel say("probability")
        plot data using (0.5 * column(1 + way)):0:(0.5 * column(1 + way)):(0.35) with boxxyerror \
            fillcolor rgb (way == 1 ? "#555555" : "#0072B2"), \
            data using (column(1 + way) + 0.02):0:(sprintf(column(1 + way) > 0 ? "%.2f" : "", column(1 + way))) \
            with labels left font ",16" textcolor rgb gray
    }
    unset multiplot
}
unset output
