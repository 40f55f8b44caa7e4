# copy_task.gp: loss per token and learning rate over the epochs of the copy task.
# Reads copy_task.csv (epoch,train_loss,eval_loss,learning_rate,tokens_per_second), which examples/copy_task writes.
load ARG0[:strlen(ARG0) - strlen("copy_task.gp")]."style.gp"

data = "copy_task.csv"
stats data using 1 name "EPOCH" nooutput

set xlabel say("epoch")
set xrange [0:EPOCH_max > 0 ? EPOCH_max : 1]             # not empty after one epoch

do for [format in FORMATS] {
    eval open_picture(format, "copy_task", 1600, 800)
    set multiplot
    eval heading("A Transformer learns to repeat its input", \
        "Left: loss per token; evaluation is without dropout.  Right: the learning rate, in its warmup")

    set title say("loss per token")
    set lmargin at screen 0.135
    set rmargin at screen 0.47
    set tmargin at screen 0.74
    set bmargin at screen 0.16
    set ylabel say("cross-entropy in nats")
    set logscale y
    set key top right
    plot data using 1:2 with linespoints lt 1 title say("training"), \
         data using 1:3 with linespoints lt 2 title say("evaluation")
    unset logscale y

    set title say("learning rate at the start of each epoch")
    set lmargin at screen 0.62
    set rmargin at screen 0.96
    unset label
    unset ylabel
    set format y "%g"
    set yrange [0:*]
    plot data using 1:4 with linespoints lt 3
    set format y
    set yrange [*:*]
    unset multiplot
}
unset output
