# block.gp: the size of the vectors and of the gradients in a deep stack, pre-norm and post-norm, before training.
# Reads block.csv (layer,deviation_pre,deviation_post,gradient_pre,gradient_post), which examples/block writes.
load ARG0[:strlen(ARG0) - strlen("block.gp")]."style.gp"

data = "block.csv"
stats data using 1 name "LAYER" nooutput

do for [format in FORMATS] {
    eval open_picture(format, "block", 1800, 800)
    set multiplot
    eval panel("deviation of the vectors after a layer", 0.07, 0.45, 0.17, 0.74)
    eval heading("Post-norm scales the vectors back in each layer, pre-norm lets them grow", \
        "Before training. Post-norm: norm(x + f(x)), as in the first Transformer.  Pre-norm: x + f(norm(x)), as in GPT")
    eval curves
    set xlabel say("layer")
    set xrange [0:LAYER_max + 1]
    set yrange [0:*]
    set key top left Left reverse
    plot data using 1:3 with linespoints lt 1 title "post-norm", data using 1:2 with linespoints lt 2 title "pre-norm"
    eval panel("norm of the gradient of the parameters", 0.57, 0.96, 0.17, 0.74)
    eval curves
    set xlabel say("layer")
    set xrange [0:LAYER_max + 1]
    set yrange [0:*]
    set key off
    plot data using 1:5 with linespoints lt 1, data using 1:4 with linespoints lt 2
    unset multiplot
}
unset output
