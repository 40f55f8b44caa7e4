# layer_norm.gp: the loss of deep networks with and without layer normalization, several of each.
# Reads layer_norm.csv (run,step,plain,normalized), which examples/layer_norm writes.
load ARG0[:strlen(ARG0) - strlen("layer_norm.gp")]."style.gp"

data = "layer_norm.csv"
stats data using 1 name "RUN" nooutput
stats data using 2 name "STEP" nooutput
steps = STEP_max + 1
first(run) = steps * (run - 1)
stats data using 3 name "PLAIN" nooutput
stats data using 4 name "NORM" nooutput
learns_sooner = NORM_mean < 0.9 * PLAIN_mean            # not if neither learns, as in very deep networks

do for [format in FORMATS] {
    eval open_picture(format, "layer_norm", 1200, 800)
    eval heading(learns_sooner ? "A normalized deep network learns sooner" : "Deep networks, plain and normalized", \
        sprintf(say("Loss of %d networks of each kind, each with its own initial weights"), RUN_max))
    set tmargin at screen 0.77
    set xlabel say("training step")
    set ylabel say("cross-entropy in nats")
    set xrange [0:STEP_max > 0 ? STEP_max : 1]             # not empty after one step
    set yrange [0:*]
    set key at screen 0.97, 0.835 right horizontal maxrows 1        # above the curves, which can be anywhere
    point = STEP_max > 0 ? 0 : 1                            # a line needs two steps
    plot for [run = 1:RUN_max] data using 2:3 every ::first(run)::(first(run) + steps - 1) with linespoints lt 1 lw 3 ps point \
            title run == 1 ? say("plain") : "", \
         for [run = 1:RUN_max] data using 2:4 every ::first(run)::(first(run) + steps - 1) with linespoints lt 2 lw 3 ps point \
            title run == 1 ? say("normalized") : ""
}
unset output
