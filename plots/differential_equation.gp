# differential_equation.gp: what a network has found as the solution of u'' = -pi^2 sin(pi x), and its error.
# Reads differential_equation.csv (x,u,solution), which examples/differential_equation writes.
load ARG0[:strlen(ARG0) - strlen("differential_equation.gp")]."style.gp"

data = "differential_equation.csv"

do for [format in FORMATS] {
    eval open_picture(format, "differential_equation", 1600, 800)
    set multiplot
    eval panel("u(x), and sin(πx)", 0.07, 0.47, 0.14, 0.74)
    eval heading("A network solves a differential equation", \
        "u″ = −π^2 sin(πx), u = 0 at both ends; no value of the solution was given")
    eval curves
    set key bottom center
    set xlabel "x"
    set xrange [0:1]
    plot data using 1:3 with lines lt 1 title say("solution"), \
         data using 1:2 with points lt 2 ps 0.9 title say("network")
    eval panel("error of the network", 0.60, 0.96, 0.14, 0.74)
    eval curves
    set key off
    set xlabel "x"
    set xrange [0:1]
    set format y "%.0e"
    plot data using 1:($2 - $3) with lines lt 2
    set format y
    unset multiplot
}
unset output
