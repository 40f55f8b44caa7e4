# translate.gp: loss per token and BLEU over the epochs of learning to translate.
# Reads translate.csv (epoch,train_loss,valid_loss,bleu,learning_rate,tokens_per_second), which examples/translate
# writes.
load ARG0[:strlen(ARG0) - strlen("translate.gp")]."style.gp"

data = "translate.csv"
stats data using 1 name "EPOCH" nooutput
set xtics larger(1, ceil(EPOCH_max / 4.0))

do for [format in FORMATS] {
    eval open_picture(format, "translate", 1600, 800)
    set multiplot
    eval panel("loss per token", 0.08, 0.36, 0.16, 0.74)
    eval heading("A Transformer learns to translate", \
        "Training: with dropout and smoothed targets.  Held out: other sentences, without dropout")
    set xlabel say("epoch")
    set xrange [0:EPOCH_max + 1]
    set ylabel say("nats")
    set yrange [0:*]
    plot data using 1:2 with linespoints lt 1 title say("training"), \
         data using 1:3 with linespoints lt 2 title say("held out")

    eval panel("BLEU", 0.43, 0.66, 0.16, 0.74)
    set xlabel say("epoch")
    set yrange [0:100]
    plot data using 1:4 with linespoints lt 2

    eval panel("learning rate", 0.79, 0.98, 0.16, 0.74)
    set xlabel say("epoch")
    set yrange [0:*]
    set format y "%g"
    plot data using 1:5 with linespoints lt 3
    set format y
    unset multiplot
}
unset output
