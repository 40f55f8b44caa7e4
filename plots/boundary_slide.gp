# boundary_slide.gp: the probability of arm 1 over the plane after the last step, and the points.
# Reads boundary.csv (step,x,y,p) and boundary_points.csv (x,y,arm), which examples/boundary writes.
load ARG0[:strlen(ARG0) - strlen("boundary_slide.gp")]."slide.gp"

data = "boundary.csv"
points = "boundary_points.csv"
GRID = 61
stats data using 1 name "STEP" nooutput
first = STEP_records - GRID * GRID

do for [format in FORMATS] {
    eval open_panel(format, "boundary")
    eval slide(sprintf(say("step %d: blue and orange: probability of an arm"), STEP_max), 0.25, 0.75, 0.04, 0.88)
    set palette defined (0 "#0072B2", 1 "#FFFFFF", 2 "#D55E00")
    set cbrange [0:1]
    unset grid
    set border 15
    unset xtics
    unset ytics
    set cbtics 0.5
    set colorbox user origin screen 0.79, 0.04 size screen 0.03, 0.84
    set xrange [-1.15:1.15]
    set yrange [-1.15:1.15]
    plot data using 2:3:4 every ::first with image, \
         points using 1:2 with points pt 7 ps 1.8 lc rgb "white", \
         points using ($3 == 0 ? $1 : NaN):2 with points pt 7 ps 1.3 lc rgb "#00466E", \
         points using ($3 == 1 ? $1 : NaN):2 with points pt 5 ps 1.2 lc rgb "#7A3600"
    unset multiplot
    set border 3
}
unset output
