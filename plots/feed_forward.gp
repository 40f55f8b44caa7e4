# feed_forward.gp: which results change if the vector at one position is replaced, and where the parameters are.
# Reads feed_forward.csv (part,changed,position,change) and feed_forward_parameters.csv (model,feed_forward,attention,other),
# which examples/feed_forward writes.
load ARG0[:strlen(ARG0) - strlen("feed_forward.gp")]."style.gp"

data = "feed_forward.csv"
parameters = "feed_forward_parameters.csv"
LENGTH = 10
part(n) = n == 1 ? "feed-forward" : n == 2 ? "layer norm" : n == 3 ? "attention" : "batch norm"
percent(x) = 100.0 * x

do for [format in FORMATS] {
    eval open_picture(format, "feed_forward", 1800, 980)
    set multiplot
    do for [n = 1:4] {
        i = (n - 1) % 2
        j = (n - 1) / 2
        eval panel(part(n), 0.08 + 0.19 * i, 0.23 + 0.19 * i, 0.53 - 0.39 * j, 0.76 - 0.39 * j)
        if (n == 1) {
            eval heading("Above: each position by itself.  Below: together", \
                "Left: dark: the result (row) changes if the input (column) is replaced.  Right: where the parameters are")
        }
        eval heat_map("0 'white', 1 '#0072B2'", LENGTH, LENGTH)
        unset colorbox
        set cbrange [0:1]
        set tics font ",17"
        set xtics 3
        set ytics 3
        if (j == 1) { set xlabel say("replaced position") }
        if (i == 0) { set ylabel say("changed position") }
        plot data using (strcol(1) eq part(n) ? $2 : NaN):3:(CELL):(CELL):($4 > 0 ? 1 : 0) with @BOXES
    }
    eval panel("share of the parameters in %", 0.745, 0.985, 0.25, 0.76)
    eval curves
    set key at screen 0.98, 0.13 right horizontal maxrows 1 samplen 1 font ',18'
    set style fill solid noborder
    set xrange [0:100]
    set yrange [6.6:-0.6]
    set xtics 25
    set ytics font ",18" noenhanced
    plot parameters using (percent($2 / ($2 + $3 + $4)) / 2):0:(percent($2 / ($2 + $3 + $4)) / 2):(0.3):ytic(say(strcol(1))) \
            with boxxyerror fillcolor rgb "#0072B2" title say("feed-forward"), \
         parameters using (percent(($2 + $3 / 2) / ($2 + $3 + $4))):0:(percent($3 / ($2 + $3 + $4)) / 2):(0.3) \
            with boxxyerror fillcolor rgb "#E69F00" title say("attention"), \
         parameters using (100 - percent($4 / ($2 + $3 + $4)) / 2):0:(percent($4 / ($2 + $3 + $4)) / 2):(0.3) \
            with boxxyerror fillcolor rgb "#BBBBBB" title say("other"), \
         parameters using (percent($2 / ($2 + $3 + $4)) / 2):0:(sprintf("%.0f", percent($2 / ($2 + $3 + $4)))) \
            with labels textcolor rgb "white" font ",18"
    unset multiplot
}
unset output
