# boundary_loss.gp: the loss of the same network with three optimizers.
# Reads boundary_loss.csv (step,sgd,momentum,adam), which examples/boundary writes.
load ARG0[:strlen(ARG0) - strlen("boundary_loss.gp")]."style.gp"

data = "boundary_loss.csv"
stats data using 1 name "STEP" nooutput
gap = ceil(STEP_records / 8.0)

do for [format in FORMATS] {
    eval open_picture(format, "boundary_loss", 1400, 800)
    eval heading("The same network, the same data, three optimizers", \
        "Cross-entropy of each batch; a coin has ln 2 = 0.69")
    set tmargin at screen 0.8
    set rmargin at screen 0.69
    set xlabel say("training step")
    set ylabel say("cross-entropy")
    set logscale y
    set format y "10^{%L}"
    set key outside right center Left reverse samplen 2
    plot data using 1:2 with linespoints lt 1 lw 2.5 dt solid pointinterval gap title say("gradient descent"), \
         data using 1:3 with linespoints lt 3 lw 2.5 dt solid pointinterval gap title say("momentum"), \
         data using 1:4 with linespoints lt 2 lw 2.5 pointinterval gap title "Adam", \
         log(2) with lines lw 1.5 dt (6, 6) lc rgb gray title say("a coin")
    unset logscale
    set format y
}
unset output
