# gradient_penalty.gp: points that a generator has made, and the circle that it has learned from.
# Reads gradient_penalty.csv (x,y), which examples/gradient_penalty writes.
load ARG0[:strlen(ARG0) - strlen("gradient_penalty.gp")]."style.gp"

do for [format in FORMATS] {
    eval open_picture(format, "gradient_penalty", 900, 1000)
    eval heading("A penalty on a gradient", "The circle of the data, and 1000 points that were made")
    set tmargin at screen 0.82
    set size ratio -1
    set key off
    set parametric
    set trange [0:2 * pi]
    set samples 200
    plot cos(t), sin(t) with lines lt 1 dt solid lw 3, \
         "gradient_penalty.csv" using 1:2 with points lt 2 ps 0.6
    unset parametric
}
unset output
