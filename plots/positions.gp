# positions.gp: the table of positional encodings as a heat map, and some of its columns as waves.
# Reads positions.csv (position,dimension,value), which examples/positions writes.
load ARG0[:strlen(ARG0) - strlen("positions.gp")]."style.gp"

data = "positions.csv"
stats data using 1 name "POSITION" nooutput
stats data using 2 name "DIMENSION" nooutput
length = POSITION_max + 1
width = DIMENSION_max + 1
# Some of the dimensions: a sine, its cosine, and two of lower frequency.
shown(n) = n == 1 ? 2 * floor(width / 12) : n == 2 ? shown(1) + 1 : n == 3 ? 2 * floor(width / 6) : 2 * floor(width / 4)

# Row 0 of the sinusoids is 0, 1, 0, 1, ...
stats data using ($1 == 0 ? abs($3 - int($2) % 2) : NaN) name "OFF" nooutput
learned = OFF_max > 1e-3
stats data using (abs($3)) name "VALUE" nooutput
reach = learned ? VALUE_max : 1

do for [format in FORMATS] {
    eval open_picture(format, "positions", 1600, 900)
    set multiplot
    eval panel("the table: a row for each position", 0.09, 0.44, 0.14, 0.76)
    eval heading(learned ? "Learned positions begin as random numbers" : \
            "Each position has its own pattern of fast and slow waves", \
        sprintf(say("Positional encodings PE of %d positions, %d numbers each"), length, width))
    eval heat_map(signed, width, length)
    set xlabel say(learned ? "dimension d" : "dimension d (even: sine, odd: cosine)")
    set ylabel say("position i")
    set cbrange [-reach:reach]
    if (learned) { set cbtics autofreq } else { set cbtics 0.5 }
    plot data using 2:1:3 with image

    eval panel(learned ? "two of its columns" : "four of its columns", 0.645, 0.975, 0.14, 0.76)
    eval curves
    set xlabel say("position i")
    set ylabel "PE(i, d)"
    set yrange [-1.05 * reach:1.75 * reach]
    if (length > 60) { set xtics 20 }
    if (!learned) { set ytics -1, 0.5, 1 }
    set key top center maxrows 2 samplen 4 width 2
    plot for [n = 1:(learned ? 2 : 4)] data using 1:3 every width::shown(n) with lines lt n \
        title sprintf("d = %d", shown(n))
    set ytics autofreq
    unset multiplot
}
unset output
