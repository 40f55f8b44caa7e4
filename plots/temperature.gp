# temperature.gp: softmax of the same scores at several temperatures.
# Reads temperature.csv (token,score,temperature,weight), which examples/temperature writes.
JAPANESE = 1
load ARG0[:strlen(ARG0) - strlen("temperature.gp")]."style.gp"

data = "temperature.csv"
WORDS = 4
stats data using 3 nooutput
count = STATS_records / WORDS
numbers = ""
do for [n = 1:count] {
    stats data using 3 every ::(WORDS * (n - 1))::(WORDS * n - 1) nooutput
    numbers = numbers.sprintf(" %g", STATS_max)
}
color(n) = word("#D55E00 #0072B2 #009E73 #E69F00", n)

do for [format in FORMATS] {
    eval open_picture(format, "temperature", 1800, 800)
    set multiplot
    eval panel("e^x keeps the order, and is positive", 0.06, 0.33, 0.17, 0.74)
    eval heading("A low temperature chooses one word, a high one weights all alike", \
        "Left: softmax first computes e^x of each score.  Right: the weights, e^x divided by the sum, by temperature τ")
    eval curves
    set xlabel say("score")
    set ylabel "e^x"
    set xtics 1
    set xrange [-2:2.3]
    set yrange [0:10]
    plot exp(x) with lines lt -1 lw 3 lc rgb gray, \
        for [i = 1:WORDS] data using 2:(exp($2)) every ::(i - 1)::(i - 1) with points pt 7 ps 2 lc rgb color(i)

    eval panel("softmax(scores / τ)", 0.43, 0.89, 0.17, 0.74)
    set xlabel say("temperature τ")
    set ylabel say("weight")
    set xrange [0.4:count + 0.6]
    set yrange [0:1.02]
    set xtics ()
    do for [n = 1:count] { set xtics add (word(numbers, n) n) }
    set key outside right center Left reverse samplen 1.5
    plot for [i = 1:WORDS] data using (floor($0) + 1 + 0.2 * (i - 2.5)):4:(0.18) every WORDS::(i - 1) \
        with boxes fillcolor rgb color(i) title word("これ は ペン です", i)
    unset multiplot
}
unset output
