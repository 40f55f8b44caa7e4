# boundary.gp: the probability of arm 1 over the plane at six steps of training, and the points.
# Reads boundary.csv (step,x,y,p) and boundary_points.csv (x,y,arm), which examples/boundary writes.
load ARG0[:strlen(ARG0) - strlen("boundary.gp")]."style.gp"

data = "boundary.csv"
points = "boundary_points.csv"
GRID = 61
steps = system("awk -F, 'NR > 1 && !seen[$1]++ { printf \"%s \", $1 }' ".data)

do for [format in FORMATS] {
    eval open_picture(format, "boundary", 1800, 1000)
    set multiplot
    set palette defined (0 "#0072B2", 1 "#FFFFFF", 2 "#D55E00")
    set cbrange [0:1]
    unset colorbox
    unset key
    unset grid
    do for [n = 1:words(steps)] {
        i = (n - 1) % 3
        j = (n - 1) / 3
        eval panel(sprintf(say("step %s"), word(steps, n)), 0.06 + 0.32 * i, 0.26 + 0.32 * i, 0.45 - 0.42 * j, 0.77 - 0.42 * j)
        if (n == 1) {
            eval heading("The boundary between the spirals moves as the network learns", \
                "White: the network is undecided.  Blue and orange: its probability of one arm and of the other")
        }
        set border 15
        unset xtics
        unset ytics
        set xrange [-1.15:1.15]
        set yrange [-1.15:1.15]
        plot data using 2:3:4 every ::((n - 1) * GRID * GRID)::(n * GRID * GRID - 1) with image, \
             points using ($3 == 0 ? $1 : NaN):2 with points pt 7 ps 0.9 lc rgb "#00466E", \
             points using ($3 == 1 ? $1 : NaN):2 with points pt 5 ps 0.8 lc rgb "#7A3600"
    }
    unset multiplot
    eval curves
    set colorbox
}
unset output
