# gpt.gp: the training loss and the held-out loss of a GPT.
# Reads gpt.csv (step,train_loss,valid_loss,learning_rate,tokens_per_second), which examples/gpt writes.
load ARG0[:strlen(ARG0) - strlen("gpt.gp")]."style.gp"

data = "gpt.csv"
stats data using 1 name "STEP" nooutput
stats data using 3 name "VALID" nooutput
stats data using 1 every ::VALID_index_min::VALID_index_min name "BEST" nooutput
every = ceil(VALID_records / 10.0)

set xlabel say("training step")
set ylabel say("loss: mean of -log p(next token)")
set xrange [0:1.02 * STEP_max]
set key top right

do for [format in FORMATS] {
    eval open_picture(format, "gpt", 1200, 800)
    eval heading("A GPT learns to predict the next token", \
        sprintf(say("Best on text that it has not seen: %.3f at step %d"), VALID_min, BEST_min))
    set tmargin at screen 0.8
    plot data using 1:2 with linespoints lt 1 pointinterval every title say("training"), \
         data using 1:3 with linespoints lt 2 pointinterval every title say("held out")
}
unset output
