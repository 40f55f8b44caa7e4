# skip_gradient.gp: many blocks in a row, with and without skip connections: the loss, and before training the gradient and
# the signal at each block. Reads skip_deep.csv (step,ffn,skip,ffn_least,ffn_most,skip_least,skip_most,zero) and
# skip_gradient.csv (step,block,ffn,skip,ffn_signal,skip_signal; block 0 is the input), which examples/skip_connection writes.
load ARG0[:strlen(ARG0) - strlen("skip_gradient.gp")]."style.gp"

loss = "skip_deep.csv"
blocks_data = "skip_gradient.csv"
stats loss using 1 name "STEP" nooutput
stats loss using (finite($4)) name "LEAST" nooutput
stats loss using (finite($5)) name "FFN" nooutput
stats loss using (finite($6)) name "SKIP" nooutput
stats loss using (finite($7)) name "MOST" nooutput
low = smaller(LEAST_min, SKIP_min)
high = larger(FFN_max, MOST_max)
every = ceil(STEP_records / 10.0)
# The label of the line is where x + f(x) does not end: above the line, or below it.
stats loss using (valid(3) && $3 < 1e30 ? $3 - $8 : 1) every ::(STEP_records - 1) name "LAST" nooutput
side = LAST_max < 0 ? 0.8 : -1.2
least = side > 0 ? 0.7 : 0.15           # below the line, the label needs more room
stats blocks_data using 2 name "BLOCK" nooutput
blocks = BLOCK_max

# The mean factor by which a block multiplies the gradient before the first step, over the blocks with a gradient: what is
# below 1e-38 counts as 0. In the file, block 0 comes first.
reached(c) = column(1) == 0 && column(c) > 0 ? (bottom = bottom > 0 ? bottom : column(c), top = column(c), column(2)) : NaN
factor(lowest) = lowest < blocks ? (bottom / top) ** (1.0 / (blocks - lowest)) : 0
bottom = 0
stats blocks_data using (reached(3)) name "PLAIN" nooutput
plain = factor(PLAIN_min)
bottom = 0
stats blocks_data using (reached(4)) name "WITH_SKIP" nooutput
skip = factor(WITH_SKIP_min)
markers = ceil(blocks / 8.0)

set xtics autofreq

do for [format in FORMATS] {
    eval open_slide(format, "skip_gradient", 1500, 680)
    set multiplot
    eval heading(sprintf(say("%d blocks: loss and gradient"), blocks), "middle and right: before training")

    set title say("mean squared error")
    set lmargin at screen 0.075
    set rmargin at screen 0.32
    set tmargin at screen 0.64
    set bmargin at screen 0.21
    set xlabel say("training step")
    set logscale y
    set format y "10^{%L}"
    set xrange [0:STEP_records]
    set xtics ceil(STEP_records / 2.0)
    set yrange [least * low:1.6 * high]
    set key at screen 0.985, 0.955 right vertical samplen 2 spacing 1.1
    plot loss using 1:(band_low(4)):(band_high(4)) with filledcurves lc rgb "#F3CDB8", \
         loss using 1:(band_low(6)):(band_high(6)) with filledcurves lc rgb "#B8D4E8", \
         loss using 1:8 with lines lc rgb gray lw 2 title say("always answering 0"), \
         loss using 1:2 with linespoints lt 1 pointinterval every title say("without f(x)"), \
         loss using 1:3 with linespoints lt 2 pointinterval every title say("with x + f(x)")

    # Factors of a block are below the curve's panel title, in the colors of the curves.
    set title say("norm of the gradient")."\n".sprintf(say("a block: × %.2g, × %.3g"), plain, skip)
    set lmargin at screen 0.42
    set rmargin at screen 0.66
    unset label
    set xlabel say("block (0: the input)")
    set label 3 say("← backward") at graph 0.5, 0.08 center textcolor rgb gray
    set xrange [0:1.02 * blocks]
    set xtics larger(1, ceil(blocks / 4.0))
    set autoscale y
    unset mytics
    unset key
    plot blocks_data using 2:($1 == 0 ? $3 : NaN) with linespoints lt 1 pointinterval markers, \
         blocks_data using 2:($1 == 0 ? $4 : NaN) with linespoints lt 2 pointinterval markers

    set title say("size of the signal")
    unset label
    set lmargin at screen 0.745
    set rmargin at screen 0.985
    plot blocks_data using 2:($1 == 0 ? $5 : NaN) with linespoints lt 1 pointinterval markers, \
         blocks_data using 2:($1 == 0 ? $6 : NaN) with linespoints lt 2 pointinterval markers
    set mytics
    unset logscale y
    set format y
    eval curves
    unset multiplot
}
unset output
