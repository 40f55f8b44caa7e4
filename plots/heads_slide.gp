# heads_slide.gp: where one head and two heads look.
# Reads heads_weights.csv (heads,head,query,key,weight), which examples/heads writes.
load ARG0[:strlen(ARG0) - strlen("heads_slide.gp")]."slide.gp"

data = "heads_weights.csv"
LENGTH = 8
GAP = 2
# The three maps in a row; all other heads are not shown.
map(heads, head) = heads == 1 ? 0 : heads == 2 ? head + 1 : NaN
left(n) = n * (LENGTH + GAP)

do for [format in FORMATS] {
    eval open_panel(format, "heads")
    eval slide("one head mixes two places; two heads look at both", 0.1, 0.86, 0.2, 0.78)
    eval heat_map(rising, 3 * LENGTH + 2 * GAP, LENGTH)
    set border 0
    set cbrange [0:1]
    set cbtics 0.5
    set ylabel say("position")
    set xlabel say("looks at position")
    set ytics 0, 2 scale 0
    set xtics () scale 0
    do for [n = 0:2] {
        do for [key = 0:LENGTH - 1:3] { set xtics add (sprintf("%d", key) left(n) + key) }
        set label 11 + n say(n == 0 ? "the one head" : n == 1 ? "of two: head 0" : "of two: head 1") \
            at left(n) + (LENGTH - 1) / 2.0, -1 center
    }
    set colorbox
    plot data using (left(map($1, $2)) + $4):3:(CELL):(CELL):5 with @BOXES
    set border 3
    unset multiplot
}
unset output
