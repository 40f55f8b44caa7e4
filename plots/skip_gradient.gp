# skip_gradient.gp: many blocks in a row, with and without skip connections: the loss, and the gradient at each block.
# Reads skip_deep.csv (step,ffn,skip) and skip_gradient.csv (step,block,ffn,skip: the norm of d loss / d output of the
# block; block 0 is the input), which examples/skip_connection writes.
load ARG0[:strlen(ARG0) - strlen("skip_gradient.gp")]."style.gp"

loss = "skip_deep.csv"
gradient = "skip_gradient.csv"
stats loss using 2 name "FFN" nooutput
stats loss using 3 name "SKIP" nooutput
low = FFN_min < SKIP_min ? FFN_min : SKIP_min
high = FFN_max > SKIP_max ? FFN_max : SKIP_max
every = ceil(FFN_records / 10.0)
stats gradient using 2 name "BLOCK" nooutput
blocks = BLOCK_max

# The mean factor by which one block multiplies the gradient, before the first step.
at(column, block) = sprintf("gradient using (column(1) == 0 && column(2) == %d ? column(%d) : NaN)", block, column)
factor(bottom, top) = (bottom / top) ** (1.0 / blocks)
eval "stats ".at(3, 0)." name 'F0' nooutput"
eval "stats ".at(3, blocks)." name 'F1' nooutput"
eval "stats ".at(4, 0)." name 'S0' nooutput"
eval "stats ".at(4, blocks)." name 'S1' nooutput"

do for [format in FORMATS] {
    eval open_picture(format, "skip_gradient", 1600, 800)
    set multiplot
    eval heading(sprintf("%d blocks: f'' loses the gradient, 1 + f'' carries it", blocks), \
        "Left: learning to return the input.  Right: the gradient on its way back, before training (thin: after)")

    set title "mean squared error"
    set lmargin at screen 0.09
    set rmargin at screen 0.44
    set tmargin at screen 0.74
    set bmargin at screen 0.16
    set xlabel "training step"
    set logscale y
    set format y "10^{%L}"
    set xrange [0:FFN_records]
    set yrange [0.7 * low:1.4 * high]
    set key bottom left Left reverse
    plot loss using 1:2 with linespoints lt 1 pointinterval every title "f(x)", \
         loss using 1:3 with linespoints lt 2 pointinterval every title "x + f(x)"

    set title "norm of the gradient at each block"
    set lmargin at screen 0.57
    set rmargin at screen 0.98
    unset label
    set xlabel "block (0: the input, ".sprintf("%d", blocks).": the output)"
    set xrange [0:blocks]
    set autoscale y
    unset mytics
    set key bottom right Right noreverse
    plot gradient using 2:($1 > 0 ? $3 : NaN) with lines lt 1 lw 1.5, \
         gradient using 2:($1 > 0 ? $4 : NaN) with lines lt 2 lw 1.5, \
         gradient using 2:($1 == 0 ? $3 : NaN) with linespoints lt 1 \
            title sprintf("f(x): × %.2g a block", factor(F0_max, F1_max)), \
         gradient using 2:($1 == 0 ? $4 : NaN) with linespoints lt 2 \
            title sprintf("x + f(x): × %.3g a block", factor(S0_max, S1_max))
    set mytics
    unset logscale y
    set format y
    unset multiplot
}
unset output
