# skip_depth.gp: the last loss by the number of blocks, with the range of all seeds. Reads skip_depth.csv
# (depth,zero,ffn,skip,ffn_least,ffn_most,skip_least,skip_most), which examples/skip_connection writes.
load ARG0[:strlen(ARG0) - strlen("skip_depth.gp")]."style.gp"

data = "skip_depth.csv"
stats data using 1 name "DEPTH" nooutput
stats data using 2 name "ZERO" nooutput
stats data using ($1 == DEPTH_max ? (valid(3) && valid(4) ? $3 - $4 : -1) : NaN) name "BETWEEN" nooutput
up = BETWEEN_max > 0 ? 0.4 : -0.4       # the two labels move apart
set logscale xy
set format y "10^{%L}"
set xlabel say("blocks")
set ylabel say("mean squared error")
set yrange [*:3 * ZERO_max]
set xtics (1, 2, 4, 8, 16, 32, 64)
# Room for the labels: a share of the axis.
set xrange [0.9 * DEPTH_min:(DEPTH_max > DEPTH_min ? 1.1 * (DEPTH_max / DEPTH_min) ** 0.55 : 2.6) * DEPTH_max]

do for [format in FORMATS] {
    eval open_slide(format, "skip_depth", 1200, 680)
    eval heading("Loss after training, by the number of blocks", "bars: all seeds")
    set tmargin at screen 0.78
    set bmargin at screen 0.21
    set lmargin at screen 0.16
    set rmargin at screen 0.97
    unset key
    plot data using 1:2 with lines lc rgb gray lw 2, \
         data using 1:3:5:6 with yerrorbars lt 1 dt solid lw 2 notitle, \
         data using 1:4:7:8 with yerrorbars lt 2 lw 2 notitle, \
         data using 1:3 with linespoints lt 1, \
         data using 1:4 with linespoints lt 2, \
         data using 1:2:(say("always answering 0")) every ::0::0 with labels left offset 0, 0.8 textcolor rgb gray, \
         data using ($1 == DEPTH_max ? 1.08 * $1 : NaN):3:(sprintf("%s: %.2g", say("without f(x)"), $3)) \
             with labels left offset 0, up textcolor lt 1, \
         data using ($1 == DEPTH_max ? 1.08 * $1 : NaN):4:(sprintf("%s: %.2g", say("with x + f(x)"), $4)) \
             with labels left offset 0, -up textcolor lt 2
}
unset output
