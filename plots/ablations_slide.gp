# ablations_slide.gp: the best and the worst choice of each part: mean and range of three seeds.
# Reads ablations.csv (setup,part,mean,least,most), which examples/ablations writes.
load ARG0[:strlen(ARG0) - strlen("ablations_slide.gp")]."slide.gp"

data = "ablations.csv"
stats data using 4 name "LEAST" nooutput
rows = LEAST_records
array WORST[5]
array BEST[5]
do for [part = 0:4] {
    stats data using ($2 == part ? $3 : NaN) name "PART" nooutput
    WORST[part + 1] = PART_min
    BEST[part + 1] = PART_max
}
# The place of each row of the file; parts stand apart.
array PLACE[rows]
array NAME[rows]
is_shown(part, mean) = mean == WORST[part + 1] || mean == BEST[part + 1]
places = 0
place(part, mean) = is_shown(part, mean) ? (places = places + 1, places + 0.7 * part) : NaN
stats data using (PLACE[int($0) + 1] = place(int($2), $3), NAME[int($0) + 1] = strcol(1), 0) nooutput
color(part) = word("#0072B2 #E69F00 #009E73 #CC79A7 #D55E00", int(part) + 1)

do for [format in FORMATS] {
    eval open_panel(format, "ablations")
    eval slide("right answers in %: best and worst of each part", 0.36, 0.96, 0.12, 0.88)
    set xrange [10 * floor(LEAST_min / 10 - 0.5):101]
    set xtics 20
    set yrange [places + 3.4:0.4]
    set ytics () noenhanced
    do for [i = 1:rows] { if (PLACE[i] == PLACE[i]) { set ytics add (say(NAME[i]) PLACE[i]) } }
    plot for [part = 0:4] data using ($2 == part ? $3 : NaN):(PLACE[int($0) + 1]):4:5 with xerrorbars \
        lt 1 dt solid pt 7 ps 2 lw 4 lc rgb color(part)
    unset multiplot
}
unset output
