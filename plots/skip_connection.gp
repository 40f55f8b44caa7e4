# skip_connection.gp: the loss of f(x) and of x + f(x) while both learn to return x, with the range of all seeds.
# Reads skip_connection.csv (step,ffn,skip,ffn_least,ffn_most,skip_least,skip_most,zero), which examples/skip_connection writes.
load ARG0[:strlen(ARG0) - strlen("skip_connection.gp")]."style.gp"

data = "skip_connection.csv"
stats data using 1 name "STEP" nooutput
stats data using (finite($4)) name "LEAST" nooutput
stats data using (finite($5)) name "FFN" nooutput
stats data using (finite($6)) name "SKIP" nooutput
stats data using (finite($7)) name "MOST" nooutput
stats data using 8 name "ZERO" nooutput
low = smaller(LEAST_min, SKIP_min)
high = larger(larger(FFN_max, MOST_max), ZERO_max)
last = STEP_records - 1
# The last loss, at its place; ∞ at the top if it diverges.
number(c) = valid(c) ? sprintf("%.2g", column(c)) : "∞"
place(c) = valid(c) ? column(c) : high
every = ceil(STEP_records / 10.0)

set xlabel say("training step")
set xrange [0:STEP_records]
set xtics ceil(STEP_records / 4.0)

do for [format in FORMATS] {
    eval open_slide(format, "skip_connection", 1360, 680)
    set multiplot
    eval heading("Loss with and without a skip connection", "bands: all seeds")

    set key at screen 0.985, 0.88 right vertical maxrows 1 samplen 2
    set title say("linear scale")
    set lmargin at screen 0.12
    set rmargin at screen 0.48
    set tmargin at screen 0.69
    set bmargin at screen 0.21
    set ylabel say("mean squared error")
    set yrange [0:1.1 * high]
    plot data using 1:(band_low(4)):(band_high(4)) with filledcurves lc rgb "#F3CDB8", \
         data using 1:(band_low(6)):(band_high(6)) with filledcurves lc rgb "#B8D4E8", \
         data using 1:8 with lines lc rgb gray lw 2, \
         data using (STEP_records):8:(say("always answering 0")) every ::0::0 \
             with labels right offset 0, 0.8 textcolor rgb gray, \
         data using 1:2 with linespoints lt 1 pointinterval every title say("without f(x)"), \
         data using 1:3 with linespoints lt 2 pointinterval every title say("with x + f(x)")

    set title say("logarithmic scale")
    set lmargin at screen 0.58
    set rmargin at screen 0.89
    unset label
    unset ylabel
    unset key
    set logscale y
    set format y "10^{%L}"
    set yrange [0.7 * low:1.4 * high]
    plot data using 1:(band_low(4)):(band_high(4)) with filledcurves lc rgb "#F3CDB8", \
         data using 1:(band_low(6)):(band_high(6)) with filledcurves lc rgb "#B8D4E8", \
         data using 1:8 with lines lc rgb gray lw 2, \
         data using 1:2 with linespoints lt 1 pointinterval every, \
         data using 1:3 with linespoints lt 2 pointinterval every, \
         data using 1:(place(2)):(number(2)) every ::last::last with labels left offset 1 textcolor lt 1, \
         data using 1:(place(3)):(number(3)) every ::last::last with labels left offset 1 textcolor lt 2
    unset logscale y
    set format y
    unset multiplot
}
unset output
