# learning_step_slide.gp: the weight in seven steps of gradient descent with four learning rates.
# Reads learning_step.csv (rate,step,w,loss), which examples/learning_step writes.
load ARG0[:strlen(ARG0) - strlen("learning_step_slide.gp")]."slide.gp"

data = "learning_step.csv"
rates = system("awk -F, 'NR > 1 && $2 == 0 { printf \"%s \", $1 }' ".data)
number(n) = word(rates, n) + 0
shown(n) = abs($1 - number(n)) < 1e-9 && $2 < 8

do for [format in FORMATS] {
    eval open_panel(format, "learning_step")
    eval slide("loss = (w − 3)²: the weight w with four learning rates", 0.1, 0.76, 0.19, 0.88)
    set xlabel say("step")
    set ylabel "w"
    set xrange [0:7]
    set yrange [-9:15]
    set xtics 1
    set ytics 3
    set key at screen 0.985, 0.72 right vertical spacing 1.6 samplen 2
    plot 3 with lines lw 2 dt solid lc rgb gray title say("lowest loss"), \
         for [n = 1:words(rates)] data using (shown(n) ? $2 : NaN):3 with linespoints lt (n == 4 ? 1 : n + 1) lw 5 ps 2 \
            title sprintf(say("lr %g"), number(n))
    unset multiplot
}
unset output
