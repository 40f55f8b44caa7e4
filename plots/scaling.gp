# scaling.gp: the time of a training step by its number of operations, when one size of a GPT is doubled.
# Reads scaling.csv (dimension,factor,operations,seconds), which `bench --scaling` prints.
load ARG0[:strlen(ARG0) - strlen("scaling.gp")]."style.gp"

data = "scaling.csv"
header = "dimension,factor,operations,seconds"
if (system(sprintf("sed -n '1{/^%s/!q;}; 2p' %s 2>/dev/null", header, data)) eq "") {
    print sprintf("scaling.gp: no results in %s: expected lines below %s, as bench --scaling prints them", data, header)
    exit status 1
}
dimensions = "batch length width layers"

# For comparison: the time proportional to the operations, from the smallest size of the same row.
first = 0
relative(factor, operations, seconds) = \
    (factor == 1 ? first = seconds / operations : 0, seconds / operations / first)
of(dimension) = strcol("dimension") eq dimension

set logscale x
do for [format in FORMATS] {
    eval open_picture(format, "scaling", 1600, 800)
    set multiplot
    eval heading("Time of a training step as a GPT grows", \
        "One of its sizes doubled again and again, the others as in the smallest")

    set title "time"
    set lmargin at screen 0.1
    set rmargin at screen 0.47
    set tmargin at screen 0.74
    set bmargin at screen 0.16
    set xlabel "operations of a step"
    set ylabel "seconds"
    set logscale y
    set format "10^{%L}"
    set key bottom right
    plot for [i = 1:4] data using (of(word(dimensions, i)) ? column("operations") : NaN):"seconds" \
        with linespoints lt i title word(dimensions, i)
    unset logscale y
    set format

    set title "time ratio / operations ratio"
    set lmargin at screen 0.6
    set rmargin at screen 0.96
    unset label
    set xlabel "times as large"
    unset ylabel
    set xtics (1, 2, 4, 8)
    set xrange [0.9:9]
    set yrange [*<0.5:1.5<*]
    set key bottom left
    set object 1 rectangle from graph 0, first 0.9 to graph 1, first 1.1 back \
        fillcolor rgb "#EEEEEE" fillstyle solid noborder
    plot for [i = 1:4] data using (of(word(dimensions, i)) ? column("factor") : NaN) \
        :(of(word(dimensions, i)) ? relative(column("factor"), column("operations"), column("seconds")) : NaN) \
        with linespoints lt i, NaN with boxes fillcolor rgb "#EEEEEE" fillstyle solid noborder title "within a tenth"
    unset object 1
    set xtics auto
    set xrange [*:*]
    set yrange [*:*]
    unset multiplot
}
unset output
