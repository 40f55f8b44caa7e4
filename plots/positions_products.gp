# positions_products.gp: inner products of positional encodings: all pairs, and measured and theoretical values by distance.
# Reads positions_products.csv (i,j,product) and positions_theory.csv (distance,theory,measured), which
# examples/positions writes.
load ARG0[:strlen(ARG0) - strlen("positions_products.gp")]."style.gp"

pairs = "positions_products.csv"
theory = "positions_theory.csv"
stats pairs using 1 name "POSITION" nooutput
length = POSITION_max + 1

do for [format in FORMATS] {
    eval open_picture(format, "positions_products", 1600, 900)
    set multiplot
    eval panel("inner product of all pairs", 0.09, 0.44, 0.14, 0.76)
    eval heading("Near positions are alike, and only their distance matters", \
        "Inner products of the positional encodings of positions i and j")
    eval heat_map(rising, length, length)
    set xlabel "position i"
    set ylabel "position j"
    set cbrange [*:*]
    plot pairs using 1:2:3 with image

    eval panel("by distance, from position 0", 0.62, 0.975, 0.14, 0.76)
    eval curves
    set xlabel "distance in positions"
    set ylabel "inner product"
    set xrange [-0.5:length]
    set xtics 20
    plot theory using 1:2 with lines lt 2 title "theory: sum of cosines", \
         theory using 1:3 every 3 with points lt 1 title "measured"
    set xtics autofreq
    unset multiplot
}
unset output
