# boundary_loss.gp: the loss of the same network with three optimizers.
# Reads boundary_loss.csv (step,sgd,momentum,adam), which examples/boundary writes.
load ARG0[:strlen(ARG0) - strlen("boundary_loss.gp")]."style.gp"

data = "boundary_loss.csv"
stats data using 1 name "STEP" nooutput
# The loss of a small batch jumps from step to step: a pale line, below the mean of some steps.
some = ceil((STEP_records - 1) / 25.0)
middle(step) = step < floor(STEP_records / some) * some ? (floor(step / some) + 0.5) * some : NaN

do for [format in FORMATS] {
    eval open_picture(format, "boundary_loss", 1400, 800)
    eval heading("The same network, the same data, three optimizers", \
        sprintf(say("Cross-entropy. Pale: each batch; strong: the mean of %d steps. A coin has ln 2 = 0.69"), some))
    set tmargin at screen 0.8
    set rmargin at screen 0.69
    set xlabel say("training step")
    set ylabel say("cross-entropy")
    set xrange [0:STEP_max]
    set logscale y
    set format y "10^{%L}"
    set key outside right center Left reverse samplen 2
    plot data using 1:2 with lines lw 1 dt solid lc rgb "#F3CCB0", \
         data using 1:3 with lines lw 1 dt solid lc rgb "#B3E0D3", \
         data using 1:4 with lines lw 1 dt solid lc rgb "#B3D5EA", \
         data using (middle($1)):2 smooth unique with linespoints lt 1 lw 3 dt solid pointinterval 3 \
            title say("gradient descent"), \
         data using (middle($1)):3 smooth unique with linespoints lt 3 lw 3 dt solid pointinterval 3 title say("momentum"), \
         data using (middle($1)):4 smooth unique with linespoints lt 2 lw 3 pointinterval 3 title "Adam", \
         log(2) with lines lw 1.5 dt (6, 6) lc rgb gray title say("a coin")
    unset logscale
    set format y
}
unset output
