# positions_products.gp: inner products of positional encodings: all pairs, and measured and theoretical values by distance.
# Reads positions_products.csv (i,j,product) and positions_theory.csv (distance,theory,measured), which
# examples/positions writes.
load ARG0[:strlen(ARG0) - strlen("positions_products.gp")]."style.gp"

pairs = "positions_products.csv"
theory = "positions_theory.csv"
stats pairs using 1 name "POSITION" nooutput
length = POSITION_max + 1

stats theory using (abs($2 - $3)) name "OFF" nooutput
learned = OFF_max > 1e-2
# With few waves, positions beyond the first quarter of the distances can look as near as neighbors.
stats theory using 3 name "PRODUCT" nooutput
stats theory using ($1 > length / 4 ? $3 : NaN) name "FAR" nooutput
repeats = !learned && FAR_max > 0.8 * PRODUCT_max
TITLE = learned ? "Learned positions: before training, no two are alike" : \
    repeats ? "Few waves: distant positions can look near" : "The inner product depends only on the distance"

do for [format in FORMATS] {
    eval open_picture(format, "positions_products", 1600, 900)
    set multiplot
    eval panel("inner product of all pairs", 0.09, 0.44, 0.14, 0.76)
    eval heading(TITLE, \
        "Inner products of the positional encodings of positions i and j")
    eval heat_map(rising, length, length)
    set xlabel say("position i")
    set ylabel say("position j")
    set cbrange [*:*]
    plot pairs using 1:2:3 with image

    eval panel("by distance, from position 0", 0.645, 0.975, 0.14, 0.76)
    eval curves
    set xlabel say("distance in positions")
    set ylabel say("inner product")
    set xrange [-0.5:length]
    set xtics 20
    set yrange [*:PRODUCT_max + 0.25 * (PRODUCT_max - PRODUCT_min)]     # room for the legend
    plot theory using 1:(learned ? NaN : $2) with lines lt 2 title (learned ? "" : say("theory: sum of cosines")), \
         theory using 1:3 every (length > 60 ? 3 : 1) with points lt 1 title say("measured")
    set xtics autofreq
    unset multiplot
}
unset output
