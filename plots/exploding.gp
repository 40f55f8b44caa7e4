# exploding.gp: the norm of the gradient at each layer of a deep network, for weights of three sizes.
# Reads exploding.csv (layer,gain_0.7,gain_1,gain_1.4), which examples/exploding writes.
load ARG0[:strlen(ARG0) - strlen("exploding.gp")]."style.gp"

data = "exploding.csv"
stats data using 1 name "LAYER" nooutput

do for [format in FORMATS] {
    eval open_picture(format, "exploding", 1400, 800)
    eval heading("A factor for each layer makes gradients vanish or explode", \
        "On its way back from the output (right) to the input (left)")
    set tmargin at screen 0.78
    set rmargin at screen 0.96
    set xlabel say("layer (0: the input)")
    set ylabel say("norm of the gradient")
    set xrange [0:LAYER_max]
    set logscale y
    set format y "10^{%L}"
    set key top right Right noreverse samplen 2
    plot data using 1:4 with linespoints lt 1 pointinterval 5 title say("gain 1.4: explodes"), \
         data using 1:3 with linespoints lt 2 pointinterval 5 title say("gain 1"), \
         data using 1:2 with linespoints lt 3 pointinterval 5 title say("gain 0.7: vanishes")
    unset logscale
    set format y
}
unset output
