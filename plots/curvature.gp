# curvature.gp: steps to a bowl and to a saddle, and the curvature of a network's loss while it trains.
# Reads curvature.csv (newton,start,step,a,b,f) and curvature_training.csv (rate,step,curvature,loss), which
# examples/curvature writes.
load ARG0[:strlen(ARG0) - strlen("curvature.gp")]."style.gp"

paths = "curvature.csv"
training = "curvature_training.csv"
rates = system("awk -F, 'NR > 1 && $2 == 0 { printf \"%s \", $1 }' ".training)
rate(n) = word(rates, n) + 0
stats training using ($3 < 1e9 ? $3 : NaN) name "CURVATURE" nooutput
levels = "-0.24 -0.2 -0.1 0 0.15 0.4 0.8 1.4"
square(c, x) = c - x ** 4 / 4 + x ** 2 / 2                      # of b on the line f = c
half(c, x) = square(c, x) < 0 ? NaN : sqrt(square(c, x))

do for [format in FORMATS] {
    eval open_picture(format, "curvature", 1800, 900)
    set multiplot
    eval panel("f = a^4 / 4 − a^2 / 2 + b^2: bowls at a = ±1, a saddle at 0", 0.06, 0.46, 0.13, 0.74)
    eval heading("Second derivatives: where a step leads, and how large it may be", \
        "Left: gradient descent and Newton’s step from two starts.  Right: a network trains with three rates")
    eval curves
    set key bottom left samplen 1.5 font ",18"
    set xlabel "a"
    set ylabel "b"
    set xrange [-1.8:1.9]
    set yrange [-0.8:1.3]
    set samples 4000
    plot for [c in levels] half(c, x) with lines lw 1 dt solid lc rgb "#CCCCCC" notitle, \
         for [c in levels] -half(c, x) with lines lw 1 dt solid lc rgb "#CCCCCC" notitle, \
         paths using ($1 == 0 ? $4 : NaN):5 with linespoints lt 1 dt solid lw 2 ps 0.9 title say("gradient descent"), \
         paths using ($1 == 1 && $2 > 1 ? $4 : NaN):5 with linespoints lt 2 dt solid lw 2.5 ps 1.2 \
            title say("Newton"), \
         paths using ($1 == 1 && $2 < 1 ? $4 : NaN):5 with linespoints lt 2 dt solid lw 2.5 ps 1.2 notitle
    eval panel("curvature of the loss; dotted lines: 2 / rate", 0.56, 0.95, 0.13, 0.74)
    eval curves
    set key bottom right samplen 2 font ",18"
    set xlabel say("step")
    set ylabel say("curvature")
    top = larger(CURVATURE_max, 2 / rate(2)) * 1.15
    set yrange [0:top]
    plot for [n = 1:3] training using (abs($1 - rate(n)) < 1e-12 ? $2 : NaN):3 with lines lt n dt solid lw 3 \
            title sprintf(say("rate %g"), rate(n)), \
         for [n = 1:3] (2 / rate(n) < top ? 2 / rate(n) : NaN) with lines lt n dt (6, 6) lw 1.5 notitle
    unset multiplot
}
unset output
