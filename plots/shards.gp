# shards.gp: the tree in which the gradients of shards are added, and who adds what; sums that change.
# Reads shards.csv (processes,lo,middle,hi,height,left,right,process) and shards_sums.csv (processes,plain,tree,of), which
# examples/shards writes.
load ARG0[:strlen(ARG0) - strlen("shards.gp")]."style.gp"

data = "shards.csv"
stats data using "hi" name "SHARDS" nooutput
stats data using "height" name "HEIGHT" nooutput
stats "shards_sums.csv" using "plain" name "SUMS" nooutput
stats "shards_sums.csv" using "of" name "OF" nooutput
shards = int(SHARDS_max)
colors = "0x0072B2 0xE69F00 0x009E73 0xCC79A7 0x56B4E9 0xD55E00"
color(process) = process < 0 ? 0xFFFFFF : int(word(colors, 1 + int(process) % 6))
x(lo, hi) = (lo + hi - 1) / 2.0
of(n) = column("processes") == n
size = shards <= 8 ? 4.4 : shards <= 16 ? 2.6 : 35.0 / shards

tree = "unset border; unset grid; unset xtics; unset ytics; set key off; " \
    .sprintf("set xrange [-0.6:%g]; set yrange [-0.8:%g]", shards - 0.4, HEIGHT_max + 0.5)

do for [format in FORMATS] {
    eval open_picture(format, "shards", 1800, 1200)
    set multiplot
    eval tree
    do for [i = 1:3] {
        n = int(word("2 3 5", i))
        if (n <= shards) {
            left = i == 2 ? 0.53 : 0.02
            bottom = i == 3 ? 0.03 : 0.46
            eval panel(sprintf(say("%d processes"), n), left, left + 0.45, bottom, bottom + 0.31)
            if (i == 1) {
                eval heading("The same tree for any number of processes", \
                    "Disk: one process has all shards of the node and adds them.  Ring: the owner adds what the processes send")
            }
            plot for [side in "left right"] data \
                using (of(n) && column("height") > 0 ? x(column("lo"), column("hi")) : NaN):"height" \
                :(side eq "left" ? x(column("lo"), column("middle")) - x(column("lo"), column("hi")) \
                                 : x(column("middle"), column("hi")) - x(column("lo"), column("hi"))) \
                :(column(side) - column("height")) with vectors nohead lw 3 dt solid lc rgb gray, \
                data using (of(n) ? x(column("lo"), column("hi")) : NaN):"height":(color(column("process"))) \
                with points pt 7 ps size lc rgb variable, \
                data using (of(n) && column("process") < 0 ? x(column("lo"), column("hi")) : NaN):"height" \
                with points pt 6 ps size lw 3 lc rgb gray, \
                data using (of(n) && column("height") == 0 && shards <= 12 ? column("lo") : NaN):"height":"lo" \
                :(int(column("process")) % 6 == 0 || int(column("process")) % 6 == 5 ? 0xFFFFFF : 0) \
                with labels textcolor rgb variable, \
                data using (of(n) && column("height") == 0 && shards <= 12 ? column("lo") : NaN):(-0.5) \
                :(sprintf("P%d", int(column("process")))) with labels textcolor rgb gray font ",18"
        }
    }
    eval panel("sums that differ from those of one process", 0.62, 0.97, 0.12, 0.34)
    eval curves
    set xtics nomirror
    set ytics nomirror
    set xlabel say("processes")
    set ylabel sprintf(say("of %d numbers"), int(OF_max))
    set key top right
    set xrange [0.4:shards + 0.6]
    set yrange [0:1.7 * SUMS_max + 1]
    plot "shards_sums.csv" using "processes":"plain":(0.6) with boxes lt 1 title say("left to right"), \
         "" using "processes":"tree" with linespoints lt 2 title say("the tree")
    unset multiplot
}
unset output
