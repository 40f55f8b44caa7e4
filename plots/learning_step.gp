# learning_step.gp: gradient descent on a parabola with four learning rates, and three optimizers in a valley.
# Reads learning_step.csv (rate,step,w,loss) and learning_step_valley.csv (optimizer,step,a,b,loss), which
# examples/learning_step writes.
load ARG0[:strlen(ARG0) - strlen("learning_step.gp")]."style.gp"

data = "learning_step.csv"
valley = "learning_step_valley.csv"
# The steepness from the loss of the first row, (a^2 + s b^2) / 2.
stats valley using ((2 * $5 - $3 * $3) / ($4 * $4)) every ::0::0 name "VALLEY" nooutput
s = VALLEY_max
# Everything that the optimizers reach is seen.
stats valley using 3 name "A" nooutput
stats valley using 4 name "B" nooutput
rates = system("awk -F, 'NR > 1 && $2 == 0 { printf \"%s \", $1 }' ".data)
number(n) = word(rates, n) + 0
color(n) = word("#D55E00 #0072B2 #009E73", n)

do for [format in FORMATS] {
    eval open_picture(format, "learning_step", 1800, 980)
    set multiplot
    do for [n = 1:4] {
        i = (n - 1) % 2
        j = (n - 1) / 2
        eval panel(sprintf(say("lr %g: error × %.2g"), number(n), 1 - 2 * number(n)), \
            0.085 + 0.23 * i, 0.28 + 0.23 * i, 0.54 - 0.40 * j, 0.78 - 0.40 * j)
        if (n == 1) {
            eval heading("A learning step goes down, against the gradient", \
                "Left: loss = (w − 3)^2, seven steps of w −= lr dw.  Right: two weights, three optimizers")
        }
        eval curves
        set key off
        set tics font ",16"
        set title font ",18"
        set xrange [-4:10]
        set yrange [-2:40]
        set xtics 3
        set ytics 20
        if (j == 1) { set xlabel "w" }
        if (i == 0) { set ylabel say("loss") }
        plot (x - 3) ** 2 with lines lw 2 dt solid lc rgb "#AAAAAA", \
             data using (abs($1 - number(n)) < 1e-9 && $2 < 8 ? $3 : NaN):4 with linespoints dt solid lw 2.5 pt 7 ps 1.1 \
                lc rgb n == 4 ? color(1) : color(2)
    }
    eval panel(s == 1 ? "loss = (a^2 + b^2) / 2" : sprintf(say("loss = (a^2 + %g b^2) / 2"), s), 0.62, 0.98, 0.14, 0.78)
    eval curves
    set key top right samplen 1.5 font ",18"
    set xlabel "a"
    set ylabel "b"
    set xrange [A_min - 0.4 : (A_max > 1 ? A_max : 1) + 0.4]
    set yrange [(B_min < -0.9 ? B_min : -0.9) - 0.4 : 1.7]
    set xtics 1
    set ytics 0.5
    ellipse(c, t) = sqrt(2 * c / s) * sin(t)
    set parametric
    set trange [0:2 * pi]
    set samples 200
    plot for [c in "0.25 1 2.5 5 8 14 22"] sqrt(2 * c) * cos(t), ellipse(c, t) \
            with lines lw 1 dt solid lc rgb "#CCCCCC" notitle, \
         valley using 3:(strcol(1) eq "gradient descent" ? $4 : NaN) with linespoints lt 1 dt solid lw 3.5 ps 1.3 \
            title say("gradient descent"), \
         valley using 3:(strcol(1) eq "momentum" ? $4 : NaN) with linespoints lt 3 dt solid lw 2 ps 1 title say("momentum"), \
         valley using 3:(strcol(1) eq "Adam" ? $4 : NaN) with linespoints lt 2 lw 2 ps 0.9 title "Adam"
    unset parametric
    unset multiplot
}
unset output
