# moons.gp: how points of noise become points of two moons.
# Reads moons.csv (left,x,y), which examples/moons writes: the points when `left` levels of noise are left, at five times.
load ARG0[:strlen(ARG0) - strlen("moons.gp")]."style.gp"

data = "moons.csv"
stats data using 1 name "LEFT" nooutput
plane = "set size ratio -1; unset border; unset tics; unset grid; unset key; set xrange [-2.4:3.4]; set yrange [-2.6:2.9]"

do for [format in FORMATS] {
    eval open_picture(format, "moons", 1800, 560)
    set multiplot
    do for [i = 0:4] {
        left = LEFT_max * (4 - i) / 4
        eval panel(i == 0 ? "noise" : i == 4 ? "no noise left" : sprintf(say("%g levels left"), left), \
            0.01 + 0.197 * i, 0.19 + 0.197 * i, 0.03, 0.72)
        if (i == 0) {
            eval heading("A network that sees noise can make data", \
                "The same points, as the network removes the noise that it sees, level by level")
        }
        eval plane
        plot data using ($1 == left ? $2 : NaN):3 with points pt 7 ps 0.6 lc rgb "#0072B2"
    }
    unset multiplot
}
unset output
