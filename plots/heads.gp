# heads.gp: the loss with 1, 2, 4 and 8 heads, and where one head and two heads look.
# Reads heads.csv (step,heads_1,heads_2,heads_4,heads_8) and heads_weights.csv (heads,head,query,key,weight), which
# examples/heads writes.
load ARG0[:strlen(ARG0) - strlen("heads.gp")]."style.gp"

data = "heads.csv"
weights = "heads_weights.csv"
LENGTH = 8
stats data using 1 name "STEP" nooutput
gap = ceil(STEP_records / 8.0)
of(heads, head) = sprintf("weights using ($1 == %d && $2 == %d ? $4 : NaN):3:(CELL):(CELL):5", heads, head)

do for [format in FORMATS] {
    eval open_picture(format, "heads", 1800, 840)
    set multiplot
    eval panel("loss", 0.07, 0.345, 0.16, 0.74)
    eval heading("One head mixes two places; two heads look at both", \
        "The task: at each position, name the letter before and the first letter.  Right: where the trained heads look")
    eval curves
    set logscale y
    set format y "10^{%L}"
    set xlabel say("training step")
    set xrange [0:*]
    set xtics 0, (STEP_max <= 4 ? 1 : STEP_max / 2.0)
    set key at graph 1.03, 0.74 samplen 1.5 font ",18"
    plot data using 1:2 with linespoints lt 1 lw 2.5 dt solid pointinterval gap title say("1 head"), \
         data using 1:3 with linespoints lt 2 lw 2.5 pointinterval gap title say("2 heads"), \
         data using 1:4 with linespoints lt 3 lw 2.5 dt solid pointinterval gap title say("4 heads"), \
         data using 1:5 with linespoints lt 4 lw 2.5 dt solid pointinterval gap title say("8 heads")
    unset logscale
    set format y
    do for [n = 1:3] {
        eval panel("", 0.435 + 0.168 * (n - 1), 0.58 + 0.168 * (n - 1), 0.32, 0.63)
        set title say(n == 1 ? "the one head" : n == 2 ? "of two: head 0" : "of two: head 1")
        eval heat_map(rising, LENGTH, LENGTH)
        set cbrange [0:1]
        set xtics 0, 2 font ",16"
        set ytics 0, 2 font ",16"
        set format y (n == 1 ? "%g" : "")
        set xlabel say("looks at position")
        if (n == 1) { set ylabel say("position") }
        unset colorbox
        if (n == 3) { set colorbox }
        eval "plot ".of(n == 1 ? 1 : 2, n == 3 ? 1 : 0)." with ".BOXES
    }
    set format y
    eval curves
    unset multiplot
}
unset output
