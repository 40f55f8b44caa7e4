# landscape.gp: the loss of two networks in a plane through their weights, on one scale of colors, with the curvature that the
# plane shows and the largest eigenvalue of the Hessian. Reads landscape.csv (skip,a,b,loss) and landscape_curvature.csv
# (skip,pair,loss,largest,slice,length_a,length_b), which examples/landscape writes.
load ARG0[:strlen(ARG0) - strlen("landscape.gp")]."style.gp"

data = "landscape.csv"
numbers = "landscape_curvature.csv"
stats data using 2 name "A" nooutput
stats data using (log10(finite($4))) name "LOSS" nooutput
points = A_records / 2
# Of each network, with the first pair of directions.
array LOSS_OF[2]
array LARGEST[2]
array SLICE[2]
note(k) = ((LOSS_OF[k] = $3), (LARGEST[k] = $4), (SLICE[k] = $5))
stats numbers using ($2 == 0 ? note($1 + 1) : NaN) name "UNUSED" nooutput
array NAME[2] = ["f(x)", "x + f(x)"]
left(k) = 0.06 + 0.475 * (k - 1)
right(k) = left(k) + 0.238

do for [format in FORMATS] {
    eval open_slide(format, "landscape", 1360, 720)
    set multiplot
    eval "set palette defined (".rising.")"
    set cbrange [LOSS_min:(LOSS_max > LOSS_min ? LOSS_max : LOSS_min + 1)]
    set format cb "10^{%g}"
    set colorbox horizontal user origin screen 0.3, 0.12 size screen 0.4, 0.03
    unset key
    unset grid
    do for [k = 1:2] {
        eval panel(sprintf(say("%s: loss %.3g"), NAME[k], LOSS_OF[k]), left(k), right(k), 0.28, 0.73)
        if (k == 1) {
            eval heading("The loss in a plane, and the curvature that it misses", \
                "two random directions through the weights, each row scaled to its norm; color: loss")
        }
        set label 3 say("largest") at screen right(k) + 0.012, 0.69
        set label 4 say("eigenvalue") at screen right(k) + 0.012, 0.63
        set label 5 sprintf("%.3g", LARGEST[k]) at screen right(k) + 0.012, 0.56 textcolor rgb "#D55E00"
        set label 6 say("in the plane") at screen right(k) + 0.012, 0.42
        set label 7 sprintf("%.2g", SLICE[k]) at screen right(k) + 0.012, 0.35 textcolor rgb "#0072B2"
        set border 15
        set xtics A_max
        set ytics A_max
        set xrange [A_min:A_max]
        set yrange [A_min:A_max]
        plot data using 2:3:(log10(finite($4))) every ::((k - 1) * points)::(k * points - 1) with image
        unset colorbox
    }
    unset multiplot
    set colorbox
    eval curves
}
unset output
