# knobs_rate.gp: the learning rate of the Transformer's paper for three pairs of width and warmup.
# Reads knobs_rate.csv (step,rate_512_4000,rate_512_8000,rate_256_4000), which examples/knobs writes.
load ARG0[:strlen(ARG0) - strlen("knobs_rate.gp")]."style.gp"

data = "knobs_rate.csv"

do for [format in FORMATS] {
    eval open_picture(format, "knobs_rate", 1200, 800)
    eval heading("The learning rate rises, then falls", \
        "Width of the model : steps of warmup")
    eval curves
    set tmargin at screen 0.8
    set rmargin at screen 0.93
    set xlabel say("training step")
    set ylabel say("learning rate")
    set yrange [0:*]
    set xtics 5000
    set format y "%.4f"
    plot data using 1:2 with lines lt 1 title "512:4000", \
         data using 1:3 with lines lt 2 title "512:8000", \
         data using 1:4 with lines lt 3 title "256:4000"
    set format y
}
unset output
