# attention_geometry.gp: the polygon of a sentence's words before and after self-attention: at several temperatures, and
# layer after layer. Reads attention_geometry.csv (token,temperature,x,y; temperature 0 is before attention) and
# attention_layers.csv (token,layer,x,y), which examples/attention_geometry writes.
JAPANESE = 1
load ARG0[:strlen(ARG0) - strlen("attention_geometry.gp")]."style.gp"

temperatures = "attention_geometry.csv"
layers = "attention_layers.csv"
WORDS = 4

# The value in the second column of each polygon of a file.
numbers(file) = sprintf("numbers = ''; stats '%s' using 2 nooutput; count = STATS_records / WORDS; ", file) \
    .sprintf("do for [n = 1:count] { stats '%s' using 2 every ::first(n)::last(n) nooutput; ", file) \
    ."numbers = numbers.sprintf(' %g', STATS_max) }"

# The rows, the color and the marker of polygon n. Polygon 1 is the one before attention.
first(n) = WORDS * (n - 1)
last(n) = WORDS * n - 1
color(n) = word("#777777 #56B4E9 #0072B2 #009E73 #E69F00 #D55E00", n > 6 ? 6 : n)
mark(n) = int(word("7 9 5 8 6 4", n > 6 ? 6 : n))

do for [format in FORMATS] {
    eval open_picture(format, "attention_geometry", 1600, 800)
    set multiplot
    set style line 1 lw 3 dt solid
    do for [side = 1:2] {
        eval panel(side == 1 ? "one layer, by temperature τ" : "layer after layer, τ = 1", \
            side == 1 ? 0.08 : 0.57, side == 1 ? 0.49 : 0.99, 0.165, 0.79)
        if (side == 1) {
            eval heading("Self-attention shrinks the sentence", \
                "Each word becomes a weighted mean of the values, so no word leaves their polygon")
        }
        eval curves
        data = side == 1 ? temperatures : layers
        eval numbers(data)
        set size ratio -1
        set xrange [-2.4:4.1]
        set yrange [-2.2:2.2]
        set xtics 1
        set ytics 1
        set xlabel "x_1"
        set ylabel "x_2"
        set key right top Left reverse samplen 1 spacing 1.2
        legend = side == 1 ? "τ = %s" : say("layer %s")
        plot for [n = 1:count] data using 3:4 every ::first(n)::last(n) with filledcurves closed \
                fillcolor rgb color(n) fillstyle transparent solid 0.2, \
            for [n = 1:count] data using 3:4 every ::first(n)::last(n) with linespoints ls 1 lc rgb color(n) pt mark(n) ps 1.4 \
                title n == 1 ? say("before") : sprintf(legend, word(numbers, n)), \
            for [n = 1:count] data using 3:4 every (WORDS - 1)::first(n)::last(n) with lines ls 1 lc rgb color(n), \
            data using (1.17 * $3):(1.19 * $4):1 every ::0::(WORDS - 1) with labels noenhanced
    }
    unset multiplot
}
unset output
